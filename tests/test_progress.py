"""What a person is told while work comes along, and what it cost."""

import gzip
import json
import threading
from functools import partial

import pytest

from tests.conftest import ROOT
from tests.guided.tree import Tree
from verikit.cli import main
from verikit.cli.options import spent
from verikit.cli.sample import describe as describe_samples
from verikit.errors import ConfigError
from verikit.guided import guided_search, load_strategy
from verikit.platform.terminal import Watch, clock, pace, spending
from verikit.sampling import SamplingSettings
from verikit.sampling.prices import prices_in
from verikit.sampling.run import SamplingRun
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file
from verikit.scoring.size import COUNTED, PART, InputSize
from verikit.scoring.watch import describe

CANDIDATES = ROOT / "examples/candidates.jsonl"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((50, 200, "rows", 10.0), "50 of 200 rows (25%), 5/s, 0:30 left"),
        ((50, None, "rows", 10.0), "50 rows, 5/s"),
        ((0, 200, "rows", 10.0), "0 of 200 rows (0%), 0/s"),
        ((200, 200, "rows", 10.0), "200 of 200 rows (100%), 20/s"),
        ((210, 200, "rows", 10.0), "210 of 200 rows (100%), 21/s"),
        ((1, 12_345, "calls", 4.0), "1 of 12,345 calls (0%), 0.25/s, 13:42:56 left"),
    ],
)
def test_a_line_tells_percent_rate_and_time_left_where_the_size_is_known(arguments, told):
    assert pace(*arguments) == told


def test_time_left_is_told_by_what_this_session_did():
    assert pace(150, 200, "rows", 10.0, new=50) == "150 of 200 rows (75%), 5/s, 0:10 left"
    assert [clock(seconds) for seconds in (0, 59.6, 61, 3599, 3600)] == ["0:00", "1:00", "1:01", "59:59", "1:00:00"]


def test_rows_are_counted_where_that_is_cheap_and_said_to_be_unknown_elsewhere(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"a": 1}\n' * 41 + '{"a": 2}')
    assert InputSize(str(rows)).rows == 42
    assert InputSize([str(rows), rows]).rows == 84
    assert InputSize(str(rows), 10).rows == 10
    assert InputSize(str(rows), 100).rows == 42
    (tmp_path / "array.json").write_text('[{"a": 1},\n{"a": 2}]')
    (tmp_path / "rows.gz").write_bytes(gzip.compress(rows.read_bytes()))
    (tmp_path / "empty").touch()
    for unknown in ("-", str(tmp_path / "array.json"), str(tmp_path / "rows.gz"), str(tmp_path / "empty"), None, 7):
        assert InputSize(unknown).rows is None
    assert InputSize("-", 10).rows == 10
    assert InputSize([str(rows), "-"]).rows is None


def test_lines_of_a_large_file_are_guessed_from_its_first_part(tmp_path):
    large = tmp_path / "large.jsonl"
    with open(large, "wb") as stream:
        stream.write(b'{"a": "' + b"x" * 1014 + b'"}\n')
        stream.write((b'{"a": "' + b"x" * 1014 + b'"}\n') * (PART // 1024))
        stream.truncate(COUNTED + 1024)
    assert InputSize(str(large)).rows == pytest.approx((COUNTED + 1024) / 1024, rel=0.01)


def test_a_score_run_tells_how_far_it_is_also_when_it_goes_on(tmp_path):
    rows = CANDIDATES.read_text().splitlines(keepends=True)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(rows[:4]))
    held = []
    score_file(str(path), ScoringPlan(verifier="boxed"), tmp_path / "run", watch=held.append)
    assert describe(held[0], 2.0).startswith("4 of 4 rows (100%), 2/s, 32 candidates, 0 unscored")
    path.write_text("".join(rows[:12]))
    again = []

    def watch(progress):
        again.append(describe(progress, 0.1))
        held.append(progress)

    score_file(str(path), ScoringPlan(verifier="boxed"), tmp_path / "run", watch=watch)
    assert again[0].startswith("4 of 12 rows (33%), 0/s, 0 candidates")
    assert describe(held[1], 4.0).startswith("12 of 12 rows (100%), 2/s, 96 candidates")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_summary_tells_what_engines_spent_the_same_however_it_was_cut(tmp_path, jobs):
    (tmp_path / "own.py").write_text(
        "from verikit import Score\n\ndef spends(sample):\n"
        '    return Score(1.0, usage={"calls": 1.0, "prompt_tokens": 100.0, "completion_tokens": 7.0, "cost": 0.1})\n'
    )
    plan = ScoringPlan(verifier=f"0.5*{tmp_path}/own.py:spends + 0.5*boxed", by=f"{tmp_path}/own.py:spends")
    summary = score_file(str(CANDIDATES), plan, tmp_path / "run", jobs=jobs)
    expected = {"calls": 192, "prompt_tokens": 19_200, "completion_tokens": 1344, "cost": 19.2}
    assert summary["usage"] == expected
    assert json.loads((tmp_path / "run/summary.json").read_bytes())["usage"] == expected
    told = "192 calls, 19,200 prompt tokens, 1,344 reply tokens, cost 19.2"
    assert spending(summary["usage"]) == told
    assert "usage" not in score_file(str(CANDIDATES), ScoringPlan(verifier="boxed"), tmp_path / "free")


def test_a_build_and_an_audit_tell_how_far_their_stage_is(monkeypatch):
    from verikit.cli import audit, index

    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    build = index.BuildProgress()
    assert build.describe(3.0) == "reading, 3 s"
    build.tell("dense: 1,024 / 20,480 passages")
    now[0] += 10
    build.tell("dense: 11,264 / 20,480 passages")
    assert build.describe(50.0) == "dense: 11,264 of 20,480 passages (55%), 1,024/s, 0:09 left"
    build.tell("dense: training the faiss index")
    assert build.describe(60.0) == "dense: training the faiss index, 60 s"
    seen = audit.AuditProgress()
    assert seen.describe(1.0).startswith("reading: 0 texts")
    seen.begin("near_miss", 480)
    seen.tick(120)
    now[0] += 2
    assert seen.describe(14.0) == "near miss: 120 of 480 texts (25%), 60/s, 0:06 left; 120 in 14 s"


def test_an_audit_says_of_each_check_how_many_texts_it_scores():
    from verikit.audit import audit

    begun, scored = [], []
    audit(str(CANDIDATES), "answer", repeats=1, tick=scored.append, begun=lambda check, of: begun.append((check, of)))
    assert {"itself", "near_miss", "hack"} <= {check for check, _ in begun}
    assert 0 < sum(of for _, of in begun) <= sum(scored)


def test_a_judges_price_is_that_of_the_one_model_its_spec_names(tmp_path):
    table = tmp_path / "prices.toml"
    table.write_text("[small]\nprompt = 1\ncompletion = 2\n[large]\nprompt = 10\ncompletion = 20\n")
    found = prices_in(table, "pairwise('openai:http://x/v1#small', prompt='p')")
    assert found.cost(1_000_000, 1_000_000) == 3
    assert prices_in(table, "0.5*judge('anthropic:large') + answer").prompt == 10
    for spec in ("jury(judge('openai:u#small'), judge('openai:u#large'))", "answer", "judge('openai:u#smaller')"):
        with pytest.raises(ConfigError, match="cost can't be determined"):
            prices_in(table, spec)


def test_prompt_tokens_of_the_servers_cache_have_a_price_of_their_own(tmp_path):
    table, usage = tmp_path / "prices.toml", {"prompt_tokens": 1e6, "prompt_cached": 750_000, "completion_tokens": 0}
    for cached, cost in (("", "10"), ("cached = 1\n", "3.25"), ("cached = 0\n", "2.5")):
        table.write_text(f"[m]\nprompt = 10\ncompletion = 20\n{cached}")
        assert spent(usage, str(table), "judge('openai:u#m')").endswith(f", {cost} spent")
    table.write_text("[m]\nprompt = 10\ncompletion = 20\ncached = -1\n")
    with pytest.raises(ConfigError, match="cached must be a number >= 0"):
        prices_in(table, "judge('openai:u#m')")


ENGINE = """
from verikit.engines import Engine, Generation, Output

class Spends(Engine):
    name = "spends"

    def generate(self, requests):
        text = "The answer is \\\\boxed{5}. [[A]]"
        usage = {"calls": 1.0, "prompt_tokens": 1000.0, "completion_tokens": 10.0}
        return [Generation((Output(text, finish_reason="stop"),) * request.n, usage=usage) for request in requests]
"""


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """Run the command in the test's folder, with an engine that tells what it spends; returns its stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "own.py").write_text(ENGINE)
    (tmp_path / "prices.toml").write_text("[Spends]\nprompt = 2\ncompletion = 100\n")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["verikit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert ended.value.code in (0, None), told.err
        return told.err

    return run


def test_the_end_of_an_eval_and_of_a_judging_tells_tokens_and_money(command, tmp_path):
    pytest.importorskip("lm_eval")
    rows = [{"id": str(i), "problem": "What is 2 + 3?", "answer": "5"} for i in range(4)]
    (tmp_path / "math.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["eval", "verikit_math500", "--model", "own.py:Spends", "--data", "math.jsonl", "--no-cache", "-o", "e"]
    told = command(*asked, "--prices", "prices.toml")
    assert "this session: 4 calls, 4,000 prompt tokens, 40 reply tokens, 0.012 spent" in told
    models = '[[models]]\nname = "mine"\nmodel = "own.py:Spends"\n'
    (tmp_path / "s.toml").write_text('tasks = ["verikit_math500"]\n[settings]\ndata = "math.jsonl"\n' + models)
    assert "mine: this session: 4 calls, 4,000 prompt tokens" in command("eval", "s.toml", "--no-cache", "-o", "s")
    for name, text in (("a", "five"), ("b", "six")):
        held = [{"id": str(i), "prompt": "2+3?", "completion": text} for i in range(3)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in held))
    told = command("judge", "a.jsonl", "b.jsonl", "-j", "pairwise('own.py:Spends')", "--prices", "prices.toml")
    assert "this session: 6 calls, 6,000 prompt tokens, 60 reply tokens, 0.018 spent" in told


def test_a_table_that_has_not_the_judge_is_told_and_costs_no_results(command, tmp_path):
    (tmp_path / "other.toml").write_text("[other]\nprompt = 2\ncompletion = 100\n")
    for name, text in (("a", "five"), ("b", "six")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "1", "prompt": "2+3?", "completion": text}) + "\n")
    told = command("judge", "a.jsonl", "b.jsonl", "-j", "pairwise('own.py:Spends')", "--prices", "other.toml")
    assert "this session: 2 " in told
    assert "cost can't be determined from other.toml" in told


@pytest.mark.parametrize("table", [None, "[Spends]\nprompt = 2\nreply = 100\n", "Spends = 2\n", "["])
def test_a_wrong_table_of_prices_stops_a_run_before_it_spends(tmp_path, monkeypatch, capsys, table):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "1", "prompt": "2+3?", "completion": name}) + "\n")
    if table is not None:
        (tmp_path / "prices.toml").write_text(table)
    monkeypatch.setattr(
        "sys.argv", ["verikit", "judge", "a.jsonl", "b.jsonl", "-j", "exact", "--prices", "prices.toml"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "prices.toml" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_search_tells_the_time_left_by_its_prompts_and_not_by_its_steps():
    strategy = load_strategy("beam(2, 2, prm=boxed)")
    run = SamplingRun(Tree(), SamplingSettings(n=1), sampler=partial(guided_search, strategy=strategy))
    run.earlier, run.done, run.asked = 10, 12, 400
    assert describe_samples(run, 4.0, None, False, 20).startswith("12 of 20 prompts (60%), 0:16 left, 400 samples")


def test_an_interrupt_before_the_progress_thread_has_started_is_no_other_error(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), Watch() as watch:
        watch.start(lambda seconds: "")
