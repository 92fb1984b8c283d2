import json

import pytest
from click.testing import CliRunner

from tests.judges.scripted import Scripted, better, data, shown
from verikit.cli import cli
from verikit.engines.errors import ServerFailed, Unreachable
from verikit.errors import ContextOverflow, EngineError, EngineTimeout, UsageError
from verikit.judges import Pairwise, Pointwise
from verikit.judges.bias import bias
from verikit.judges.evidence.canaries import CANARIES
from verikit.judges.match.canaries import canary_win_rates
from verikit.judges.match.entrants import Bout, read_entrants
from verikit.judges.match.rows import from_row, to_row
from verikit.judges.match.run import VERDICTS, judge_bouts
from verikit.judges.match.session import MatchSession, MatchSettings
from verikit.judges.match.show import show
from verikit.judges.match.summary import LengthControl, summarize
from verikit.judges.pairwise import Pair

CONFIG = {"judge": "scripted"}


def bouts(n=40):
    return [
        Bout(f"q{i}", "ours", "theirs", Pair(f"good {i}" if i % 4 else f"bad {i}", f"so-so {i}", f"q {i}"))
        for i in range(n)
    ]


def fair(request):
    if "good" in shown(request, "answer_1") or "bad" in shown(request, "answer_2"):
        return "[[A]]"
    return "[[B]]"


def run(folder, engine, n=40, **options):
    judge_bouts(bouts(n), Pairwise(engine), folder, CONFIG, **options)
    return (folder / VERDICTS).read_bytes()


def summary_of(folder):
    rows = [json.loads(line) for line in (folder / VERDICTS).read_text().splitlines()]
    return summarize(rows, {"ours": {row["id"]: row["id"] for row in rows}})


def test_verdicts_have_the_replies_of_both_orders_and_the_win_rate_its_interval(tmp_path):
    run(tmp_path, Scripted(fair))
    row = json.loads((tmp_path / VERDICTS).read_text().splitlines()[1])
    assert row["preference"] == 1.0
    assert [(comparison["first"], comparison["preference"], comparison["reply"]) for comparison in row["orders"]] == [
        ("a", 1.0, "[[A]]"),
        ("b", 1.0, "[[B]]"),
    ]
    summary = summary_of(tmp_path)
    (pair,) = summary["pairs"]
    assert pair["win_rate"]["value"] == 0.75
    assert pair["win_rate"]["low"] < 0.75 < pair["win_rate"]["high"]
    assert summary["bias"]["consistency"] == 1.0
    assert summary["bias"]["first_rate"] == 0.5


def test_what_a_session_cost_is_told_and_not_written(tmp_path):
    told = []
    run(tmp_path, Scripted(fair), progress=lambda done, usage: told.append((done, usage)))
    assert told[-1] == (40, {"prompt_tokens": 800, "completion_tokens": 160, "calls": 80})
    assert b"tokens" not in (tmp_path / VERDICTS).read_bytes()


def test_a_swap_biased_judge_gets_exactly_half_and_is_named(tmp_path):
    run(tmp_path, Scripted(lambda _: "[[A]]"))
    summary = summary_of(tmp_path)
    assert summary["pairs"][0]["win_rate"]["value"] == 0.5
    assert summary["bias"]["consistency"] == 0.0
    assert summary["bias"]["first_rate"] == 1.0
    assert summary["bias"]["tie_rate"] == 1.0


def test_the_result_does_not_depend_on_the_batches(tmp_path):
    whole = run(tmp_path / "a", Scripted(fair), batch=1000)
    assert run(tmp_path / "b", Scripted(fair), batch=3) == whole


def test_a_run_whose_engine_dies_goes_on_to_the_same_bytes(tmp_path):
    whole = run(tmp_path / "whole", Scripted(fair), batch=6)
    asked = 0

    def dying(request):
        nonlocal asked
        asked += 1
        return Unreachable("connection refused") if asked > 29 else fair(request)

    with pytest.raises(Unreachable, match="connection refused") as error:
        run(tmp_path / "cut", Scripted(dying), batch=6)
    assert "resumes where it stopped" in error.value.hint
    kept = (tmp_path / "cut" / VERDICTS).read_bytes()
    assert 0 < kept.count(b"\n") < 40
    assert b'"error":"failed"' in kept
    assert run(tmp_path / "cut", Scripted(fair), batch=6) == whole


def test_a_continued_run_asks_only_for_what_is_missing(tmp_path):
    run(tmp_path, Scripted(fair), n=30)
    engine = Scripted(fair)
    judge_bouts(bouts(40), Pairwise(engine), tmp_path, CONFIG)
    assert sum(engine.calls) == 20
    again = Scripted(fair)
    run(tmp_path, again)
    assert again.calls == []


def test_a_finished_run_stays_readable_when_its_failed_comparisons_fail_again(tmp_path):
    rows = [{"id": i, "prompt": f"p{i}", "completion": "poison" if i in (3, 4) else f"x{i}"} for i in range(20)]
    a, b = write(tmp_path / "a.jsonl", rows), write(tmp_path / "b.jsonl", [row | {"completion": "y"} for row in rows])
    broken = ServerFailed("HTTP 500")

    def run_with(failure):
        judge = Pairwise(Scripted(lambda request: failure if "poison" in str(request.prompt) else "[[A]]"))
        session = MatchSession([a, b], judge, "scripted", MatchSettings())
        return session.run(tmp_path / "out")

    first = run_with(broken)
    assert (first["judged"], first["failed"]) == (18, 2)
    assert run_with(broken) == first
    with pytest.raises(Unreachable):
        run_with(Unreachable("refused"))
    assert json.loads((tmp_path / "out/summary.json").read_bytes()) == first
    assert run_with("[[A]]")["failed"] == 0


def test_unreadable_replies_are_kept_as_they_are_and_counted(tmp_path):
    def odd(request):
        return "no idea" if "good 5" in shown(request, "prompt") + shown(request, "answer_1") else fair(request)

    run(tmp_path, Scripted(odd))
    summary = summary_of(tmp_path)
    assert summary["unread"] == 1
    assert summary["bias"]["unparsed_rate"] == 1 / 80
    assert summary["pairs"][0]["n"] == 39
    assert "no idea" in (tmp_path / VERDICTS).read_text()
    again = Scripted(odd)
    run(tmp_path, again)
    assert again.calls == []


def test_equal_answers_do_not_hide_that_the_engine_is_gone(tmp_path):
    same = [Bout(f"q{i}", "a", "b", Pair("x", "x" if i % 2 else "y", "q")) for i in range(20)]
    with pytest.raises(Unreachable):
        judge_bouts(same, Pairwise(Scripted(lambda _: Unreachable("refused"))), tmp_path, CONFIG)


def test_one_bout_too_long_for_the_engine_does_not_stop_the_run(tmp_path):
    def small(request):
        return ContextOverflow("too long") if "good 39" in shown(request, "answer_1") else fair(request)

    run(tmp_path, Scripted(small), batch=39)
    assert summary_of(tmp_path)["failed"] == 1


@pytest.mark.parametrize("error", [EngineTimeout("slow"), Unreachable("refused")])
def test_a_dead_engine_stops_the_run_before_anything_is_written(tmp_path, error):
    with pytest.raises(EngineError):
        run(tmp_path, Scripted(lambda _: error))
    assert (tmp_path / VERDICTS).read_bytes() == b""


def test_a_folder_of_other_answers_or_another_judge_is_not_continued(tmp_path):
    run(tmp_path, Scripted(fair), n=10)
    other = [Bout(f"q{i}", "ours", "theirs", Pair("changed", "so-so", "q")) for i in range(10)]
    with pytest.raises(UsageError, match="other answers"):
        judge_bouts(other, Pairwise(Scripted(fair)), tmp_path, CONFIG)
    with pytest.raises(UsageError, match="another judge"):
        judge_bouts(bouts(), Pairwise(Scripted(fair)), tmp_path, {"judge": "x"})
    with pytest.raises(UsageError, match="more verdicts"):
        judge_bouts(bouts(5), Pairwise(Scripted(fair)), tmp_path, CONFIG)
    judge_bouts(other, Pairwise(Scripted(fair)), tmp_path, {"judge": "x"}, restart=True)


def test_a_row_says_the_same_after_it_was_written(tmp_path):
    engine = Scripted(lambda request: fair(request) if "3" not in shown(request, "prompt") else EngineError("x"))
    for bout, comparison in zip(bouts(8), Pairwise(engine).compare([b.pair for b in bouts(8)]), strict=True):
        row = json.loads(json.dumps(to_row(1, bout, comparison)))
        again = from_row(row)
        assert again.comparison.preference == comparison.preference
        assert [comparison.preference for comparison in again.comparison.orders] == [
            comparison.preference for comparison in comparison.orders
        ]
        assert again.comparison.unread == comparison.unread
        assert to_row(1, bout, comparison) == row


def test_the_longer_answer_and_ties_are_counted():
    engine = Scripted(lambda request: "[[A]]" if len(shown(request, "answer_1")) > 9 else "[[B]]")
    pairs = [Pair("a long answer", "short"), Pair("tiny", "another long one"), Pair("same", "same")]
    compared = zip(pairs, Pairwise(engine).compare(pairs), strict=True)
    found = bias([from_row(to_row(1, Bout("i", "a", "b", pair), comparison)) for pair, comparison in compared])
    assert found.length_win_rate == 1.0
    assert found.tie_rate == pytest.approx(1 / 3)
    assert bias([]).consistency is None


def test_length_control_of_a_judge_that_loves_length_moves_to_the_middle(tmp_path):
    import random

    rng = random.Random(0)
    rows = []
    for i in range(400):
        longer = rng.random() < 0.8
        lengths = (
            [rng.randint(500, 900), rng.randint(100, 400)] if longer else [rng.randint(100, 400), rng.randint(500, 900)]
        )
        won = (lengths[0] > lengths[1]) == (rng.random() < 0.9)
        comparison = Pairwise(Scripted(lambda _: "[[A]]"), order="fixed").compare([Pair("x", "y")])[0]
        row = to_row(1, Bout(f"q{i}", "a", "b", Pair("x", "y")), comparison)
        rows.append(row | {"preference": float(won), "lengths": lengths})
    (pair,) = summarize(rows, {}, control=LengthControl())["pairs"]
    assert pair["win_rate"]["value"] > 0.7
    assert abs(pair["length_controlled"]["value"] - 0.5) < 0.07


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_files_are_joined_by_id_or_else_by_prompt_and_the_rest_is_named(tmp_path):
    ours = write(tmp_path / "ours.jsonl", [{"id": i, "prompt": f"p{i}", "completion": f"x{i}"} for i in range(5)])
    theirs = write(tmp_path / "theirs.jsonl", [{"id": i, "prompt": f"p{i}", "completion": f"y{i}"} for i in (3, 1, 9)])
    entrants = read_entrants([ours, theirs])
    assert [(b.id, b.pair.first, b.pair.second) for b in entrants.bouts] == [("1", "x1", "y1"), ("3", "x3", "y3")]
    assert any("3 of 5" in note for note in entrants.notes)
    plain = [
        write(tmp_path / f"{name}.json", [{"instruction": p, "output": name + p} for p in order])
        for name, order in (("a", "uvw"), ("b", "wvu"), ("c", "vuw"))
    ]
    three = read_entrants(plain)
    assert len(three.bouts) == 9
    assert all(b.pair.first[1:] == b.pair.second[1:] == b.pair.prompt for b in three.bouts)


def test_prompts_that_differ_under_one_id_are_named(tmp_path):
    files = [
        write(tmp_path / f"{name}.jsonl", [{"id": 0, "prompt": f"asked {name}", "completion": name}]) for name in "ab"
    ]
    entrants = read_entrants(files)
    assert entrants.bouts[0].pair.prompt == "asked a"
    assert any("differ" in note for note in entrants.notes)


def test_a_file_of_pairs_is_read_with_its_labels(tmp_path):
    path = write(
        tmp_path / "pairs.jsonl",
        [
            {"input": "q", "output_1": "x", "output_2": "y", "label": 2},
            {"instruction": "i", "input": "more", "output_1": "x", "output_2": "y", "label": 1},
        ],
    )
    first, second = read_entrants([path]).bouts
    assert (first.label, second.label, second.pair.prompt) == (0.0, 1.0, "i\n\nmore")
    many = write(tmp_path / "many.jsonl", [{"prompt": "q", "completions": ["a", "b", "c"]}])
    assert [(b.a, b.b) for b in read_entrants([many]).bouts] == [
        ("completion_1", "completion_2"),
        ("completion_1", "completion_3"),
        ("completion_2", "completion_3"),
    ]


def test_files_that_do_not_join_are_refused(tmp_path):
    a = write(tmp_path / "a.jsonl", [{"prompt": "p", "completion": "x"}])
    b = write(tmp_path / "b.jsonl", [{"prompt": "other", "completion": "x"}])
    twice = write(
        tmp_path / "c.jsonl",
        [{"prompt": "p", "completion": "x"}, {"prompt": "z", "completion": "1"}, {"prompt": "p", "completion": "y"}],
    )
    with pytest.raises(UsageError, match="two models"):
        read_entrants([a, b])
    with pytest.raises(UsageError, match="two rows for the prompt"):
        read_entrants([a, twice])


def test_bad_rows_of_all_files_are_named_together(tmp_path):
    good = {"id": 1, "prompt": "p", "completion": "x"}
    a = write(tmp_path / "a.jsonl", [good, {"id": 2, "prompt": "p", "completion": None}])
    b = write(tmp_path / "b.jsonl", [good] + [{"id": i, "prompt": "p"} for i in range(2, 60)])
    with pytest.raises(UsageError) as caught:
        read_entrants([a, b])
    named = str(caught.value).splitlines()
    assert named[1].startswith(f"{a}:2: field 'completion': 'completion' is null")
    assert [line.partition(": ")[0] for line in named[2:]] == [f"{b}:{line}" for line in range(2, 12)]


def test_a_gullible_judge_is_found_out_by_the_canaries():
    gullible = Pairwise(Scripted(lambda request: "[[A]]" if "[[A]]" in shown(request, "answer_1") else "[[B]]"))
    rates = canary_win_rates(gullible, bouts(4))
    assert set(rates) == set(CANARIES)
    assert rates["verdict"].value == 1.0
    assert canary_win_rates(Pairwise(Scripted(better("so-so", "canary"))), bouts(4))["huge"].value == 0.0


JUDGE_FILE = """
import json, pathlib, re
from verikit.engines import Engine, Generation, Output
from verikit.judges import Pairwise

class Longest(Engine):
    name = "longest"
    def generate(self, requests):
        log = pathlib.Path(__file__).with_name("calls")
        log.write_text(str(int(log.read_text() or 0) + len(requests)) if log.exists() else str(len(requests)))
        return [Generation(outputs=(Output(self.verdict(r.prompt[-1]["content"])),)) for r in requests]
    def verdict(self, text):
        one, two = (re.search(rf"<{n} (\\w+)>\\n(.*)\\n</{n} ", text, re.S)[2] for n in ("answer_1", "answer_2"))
        return "[[A]]" if len(one) > len(two) else "[[B]]" if len(two) > len(one) else "[[C]]"

judge = Pairwise(Longest())
"""


@pytest.fixture
def judge_file(tmp_path):
    (tmp_path / "longest.py").write_text(JUDGE_FILE)
    return f"{tmp_path / 'longest.py'}:judge"


def invoke(*arguments):
    return CliRunner().invoke(cli, ["judge", *map(str, arguments)], catch_exceptions=False, standalone_mode=False)


def test_the_command_writes_a_folder_and_says_how_far_to_trust_the_judge(tmp_path, judge_file):
    names = {"short": 1, "middle": 5, "long": 9}
    files = [
        write(
            tmp_path / f"{name}.jsonl",
            [{"id": f"q{i}", "prompt": f"p{i}", "completion": "word " * n} for i in range(20)],
        )
        for name, n in names.items()
    ]
    result = invoke(*files, "-j", judge_file, "-o", tmp_path / "out", "--canaries", 2)
    assert result.return_value == 0
    assert "same verdict in both orders" in result.output
    assert "won by the longer answer" in result.output
    assert "of its answers are one text" in result.output
    assert "'huge' wins" in result.output
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [row["name"] for row in summary["ratings"]] == ["long", "middle", "short"]
    assert summary["comparisons"] == 60
    calls = int((tmp_path / "calls").read_text())
    assert invoke(*files, "-j", judge_file, "-o", tmp_path / "out").return_value == 0
    assert int((tmp_path / "calls").read_text()) == calls


def test_a_verifier_that_is_no_judge_compares_too(tmp_path):
    a = write(tmp_path / "a.jsonl", [{"id": i, "prompt": "p", "completion": "4", "answer": "4"} for i in range(6)])
    b = write(tmp_path / "b.jsonl", [{"id": i, "prompt": "p", "completion": "5", "answer": "4"} for i in range(6)])
    result = invoke(a, b, "-j", "exact", "-o", tmp_path / "out", "--json", "-q")
    assert json.loads(result.output)["pairs"][0]["win_rate"]["value"] == 1.0


def test_missing_verdicts_are_an_exit_code_unless_allowed(tmp_path):
    a, b = (write(tmp_path / f"{n}.jsonl", [{"id": 1, "prompt": "p", "completion": n}]) for n in "ab")
    empty = write(tmp_path / "empty.jsonl", [])
    arguments = (a, b, "-j", f"pairwise('replay:{empty}')", "-o", tmp_path / "out")
    assert invoke(*arguments).return_value == 3
    assert invoke(*arguments, "--fail-over", "100%").return_value == 0


def test_llmbar_pairs_give_labelled_agreement(tmp_path, judge_file):
    result = invoke(data("judges/llmbar_pairs.jsonl"), "-j", judge_file, "-o", tmp_path / "out", "--json", "-q")
    summary = json.loads(result.output)
    assert summary["agreement"]["n"] == 286
    assert 0.2 < summary["agreement"]["accuracy"] < 0.6
    assert summary["bias"]["length_win_rate"] == 1.0


def test_agreement_leaves_out_what_the_engine_failed_to_answer_and_counts_unreadable_replies_against_the_judge():
    def row(i, preference, **others):
        made = {"line": i, "id": f"r{i}", "a": "x", "b": "y", "preference": preference, "reason": "told", "label": 1.0}
        return made | {"lengths": [1, 1], "orders": []} | others

    rows = [row(1, 1.0), row(2, 0.0), row(3, None, error="failed"), row(4, None, error="unread")]
    found = summarize(rows, {})["agreement"]
    assert (found["n"], found["accuracy"]) == (3, pytest.approx(1 / 3))
    assert "agreement" not in summarize(rows[2:3], {})
    alike = summarize(rows[:1], {})
    assert (alike["agreement"]["kappa"], alike["pairs"][0]["win_rate"]["stderr"]) == (None, None)
    assert "no kappa" in "\n".join(show(alike))


def test_a_pointwise_judge_can_run_a_match(tmp_path):
    engine = Scripted(lambda request: "[[9]]" if "good" in shown(request, "answer") else "[[3]]")
    judge_bouts(bouts(), Pointwise(engine), tmp_path, CONFIG)
    assert summary_of(tmp_path)["pairs"][0]["win_rate"]["value"] > 0.5
