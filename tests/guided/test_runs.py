"""Search runs: whatever is cut off, killed or failing, the same command ends in the rows of a run left alone."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.guided.tree import StepScores, Tree, child_seed, next_step
from verikit.engines.errors import Unsupported
from verikit.errors import EngineError, UsageError
from verikit.guided import DVTS, Beam, BestOf, CriticLoop, Stepwise, guided_search
from verikit.guided import run as guided_run
from verikit.guided.files import SearchFile
from verikit.readers import read
from verikit.sampling import SamplingSettings, sample
from verikit.sampling import core as sampling_core
from verikit.sampling.run import SamplingRun
from verikit.types import Group

PROMPTS = [(line, Group(f"p{line} ü=", id=f"q{line}", answer="1")) for line in range(1, 8)]
STRATEGIES = (
    Beam(2, 2, prm=StepScores()),
    Stepwise(3, prm=StepScores()),
    DVTS(2, 2, prm=StepScores()),
    BestOf(3, prm=StepScores()),
    CriticLoop(2, 2, prm=StepScores()),
)
SETTINGS = SamplingSettings(max_tokens=60, chat=False)


def run(path, strategy, budget, failing=0.0, order=0, rows=None, prompts=PROMPTS):
    """One run; ends after some rows, as by a kill, where `rows` says so. Returns the requests answered."""
    engine = Tree(failing, order)
    sampler = partial(guided_search, strategy=strategy, budget=budget)
    with SearchFile(path, {"n": 1, "budget": budget}) as out:
        going = SamplingRun(engine, SETTINGS, sampler=sampler).rows(prompts, out)
        with suppress(EngineError if failing else ()):  # a wave that fails whole, with nothing before it, ends the run
            for count, _ in enumerate(going, 1):
                if count == rows:
                    break
        journal = path.with_name(path.name + ".run").read_bytes()
        going.close()
    return engine.answered, journal


@settings(max_examples=40, deadline=None)
@given(
    strategy=st.sampled_from(STRATEGIES),
    budget=st.sampled_from([None, 40, 200]),
    breaks=st.lists(
        st.tuples(st.floats(0, 0.4), st.integers(1, 7), st.integers(0, 400), st.integers(0, 900), st.integers()),
        max_size=3,
    ),
)
def test_any_row_of_failures_kills_and_cuts_ends_in_the_same_bytes(strategy, budget, breaks):
    with tempfile.TemporaryDirectory() as folder:
        whole, path = Path(folder) / "whole", Path(folder) / "out"
        run(whole, strategy, budget)
        for failing, rows, cut, cut_journal, order in breaks:
            _, journal = run(path, strategy, budget, failing, order, rows)
            head = journal.index(b"\n") + 1
            path.write_bytes(path.read_bytes()[: max(0, path.stat().st_size - cut)])
            path.with_name("out.run").write_bytes(journal[: max(head, len(journal) - cut_journal)])
        run(path, strategy, budget, order=5)
        assert path.read_bytes() == whole.read_bytes()
        assert path.with_name("out.run").read_bytes() == whole.with_name("whole.run").read_bytes()
        assert run(path, strategy, budget)[0] == []


def test_what_was_paid_for_is_not_asked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(Tree, "tokenizer", object())  # a model in this process: nothing is under way when it is stopped
    whole, _ = run(tmp_path / "whole", STRATEGIES[0], None)
    first, _ = run(tmp_path / "out", STRATEGIES[0], None, rows=3)
    second, _ = run(tmp_path / "out", STRATEGIES[0], None)
    assert len(first) + len(second) == len(whole)


def test_a_failed_request_empties_its_row_and_only_what_failed_is_asked_again(tmp_path):
    first, _ = run(tmp_path / "out", STRATEGIES[2], None, failing=0.1, order=3)
    rows = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    failed = [row for row in rows if "failed" in row]
    assert 0 < len(failed) < 7
    assert all(row["completions"] == [] for row in failed)
    second, _ = run(tmp_path / "out", STRATEGIES[2], None)
    whole, _ = run(tmp_path / "whole", STRATEGIES[2], None)
    lost = sum(len(row["failed"]) for row in failed)
    assert len(first) - lost + len(second) == len(whole)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_drafts_that_could_not_be_judged_are_judged_again_by_the_same_run(tmp_path):
    run(tmp_path / "whole", STRATEGIES[1], None)
    firsts = [next_step("", child_seed("q2", "", number))[0] for number in range(3)]
    lame = Stepwise(3, prm=StepScores(broken=frozenset(firsts)))
    first, _ = run(tmp_path / "out", lame, None)
    rows = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert rows[1]["completions"] == []
    assert rows[1]["failed"][0]["error"]["type"] == "Unscored"
    second, _ = run(tmp_path / "out", STRATEGIES[1], None)
    assert json.loads((tmp_path / "out").read_bytes().splitlines()[1]) == json.loads(
        (tmp_path / "whole").read_bytes().splitlines()[1]
    )
    assert not {request.prompt for request in second} & {request.prompt for request in first}


def test_more_prompts_than_are_searched_at_once_all_have_rows_also_when_all_is_known(tmp_path, monkeypatch):
    """A run that goes on from rows with a failed one has all events of the rows behind it."""
    monkeypatch.setattr(guided_run, "OPEN", 2)
    run(tmp_path / "whole", STRATEGIES[1], None)
    run(tmp_path / "out", STRATEGIES[1], None)
    lines = (tmp_path / "out").read_bytes().splitlines(keepends=True)
    assert len(lines) == 7
    _, journal = run(tmp_path / "again", STRATEGIES[1], None, rows=7)
    (tmp_path / "again").write_bytes(b"")
    (tmp_path / "again.run").write_bytes(journal)
    asked, _ = run(tmp_path / "again", STRATEGIES[1], None)
    assert asked == []
    assert (tmp_path / "again").read_bytes() == b"".join(lines)


def test_sampling_goes_through_all_prompts_when_all_samples_are_known(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling_core, "OPEN", 2)
    known = {group.id: {index: {"text": "x", "index": index} for index in range(2)} for _, group in PROMPTS}
    rows = list(sample(Tree(), PROMPTS, SamplingSettings(n=2, chat=False), kept=lambda line, group: known[group.id]))
    assert [row.group.id for row in rows] == [f"q{i}" for i in range(1, 8)]


def test_settings_that_do_not_go_with_a_search_are_refused():
    engine = Tree()
    for wrong in ({"settings": SamplingSettings(logprobs=0)}, {"budget": 0}):
        given_ = {"settings": SETTINGS, "budget": None, **wrong}
        with pytest.raises(UsageError):
            list(guided_search(engine, PROMPTS, given_["settings"], STRATEGIES[0], budget=given_["budget"]))
    engine.batched = True
    with pytest.raises(UsageError, match="batch"):
        list(guided_search(engine, PROMPTS, SETTINGS, STRATEGIES[0]))


def test_drafts_of_all_prompts_are_judged_in_one_call_only_where_an_engine_judges():
    class Counting(StepScores):
        calls: list = []  # noqa: RUF012

        def score_batch(self, samples):
            self.calls.append({sample.id for sample in samples})
            return super().score_batch(samples)

    class Asking(Counting):
        calls: list = []  # noqa: RUF012
        engine = "openai:x"

    rows = [list(guided_search(Tree(), PROMPTS, SETTINGS, Stepwise(3, prm=prm()))) for prm in (Counting, Asking)]
    assert {len(ids) for ids in Counting.calls} == {1}
    assert len(Asking.calls) < len(Counting.calls)
    assert [row.to_json() for row in rows[0]] == [row.to_json() for row in rows[1]]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A tiny policy and a tiny process reward model of real classes, saved."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tests.engines import tiny

    folder = tmp_path_factory.mktemp("models")
    tiny.save(folder / "policy", template=True)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tiny.tokenizer()), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=256, initializer_range=0.2,
        num_labels=2, pad_token_id=0,
    )  # fmt: skip
    transformers.LlamaForTokenClassification(config).eval().save_pretrained(folder / "prm")
    tiny.tokenizer().save_pretrained(folder / "prm")
    return folder


LIMITS = SamplingSettings(max_tokens=24, seed=3)


@pytest.mark.parametrize("make", [Beam, DVTS])
def test_a_real_model_continues_its_own_begun_reply_and_a_real_prm_judges_it(models, make):
    from verikit.engines import load_engine
    from verikit.judges.genprm import Classifier
    from verikit.types import Sample

    prm = Classifier(str(models / "prm"))
    strategy = make(2, 2, prm=prm, step="o", step_tokens=8)
    prompts = [(1, Group("yes no maybe", id="a")), (2, Group("0 + 1 =", id="b"))]
    with load_engine(f"hf:{models / 'policy'}") as engine:
        rows, again = (list(guided_search(engine, prompts, LIMITS, strategy)) for _ in range(2))
        assert [row.to_json() for row in rows] == [row.to_json() for row in again]
        alone = list(guided_search(engine, prompts[1:], LIMITS, strategy))
    assert [c["text"] for c in alone[0].candidates] == [c["text"] for c in rows[1].candidates]
    for row in rows:
        assert row.search["judged"] > 0
        for candidate in row.candidates:
            assert candidate["usage"]["completion_tokens"] <= 24
            given_ = Sample(row.group.prompt, candidate["text"], meta={"steps": candidate["steps"]})
            (score,) = prm.score([given_])
            assert [float(step) for step in score.steps] == pytest.approx(candidate["step_scores"], abs=1e-5)
            assert score.value == pytest.approx(candidate["value"], abs=1e-5)


COMMAND = """
import sys
sys.argv[0] = "verikit"
from verikit.cli import main
main()
"""


def command(folder, *words):
    """`verikit` as a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return {"args": [sys.executable, "-c", COMMAND, *map(str, words)], "cwd": folder, "env": env}


def ran(folder, *words):
    """Run it to its end."""
    done = subprocess.run(**command(folder, *words), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_the_command_goes_on_after_a_kill_to_the_same_rows(models, tmp_path):
    problems = "".join(json.dumps({"id": f"q{i}", "prompt": f"{i} + {i} =", "answer": "1"}) + "\n" for i in range(24))
    (tmp_path / "problems.jsonl").write_text(problems)
    spec = f"beam(2, 2, prm=prm('{models / 'prm'}'), step='o', step_tokens=8)"
    words = ["sample", f"hf:{models / 'policy'}", "problems.jsonl", "--search", spec, "--max-tokens", 48, "-q"]
    ran(tmp_path, *words, "-o", "whole.jsonl")
    journal = tmp_path / "out.jsonl.run"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(**command(tmp_path, *words, "-o", "out.jsonl"), **quiet) as killed:
        while killed.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > 60):
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert (tmp_path / "out.jsonl").stat().st_size < (tmp_path / "whole.jsonl").stat().st_size
    ran(tmp_path, *words, "-o", "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.fixture
def verikit(monkeypatch, capsys, tmp_path):
    """Run a command in this process; returns its exit code and what it printed."""
    from verikit.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["verikit", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out + err

    return call


def test_the_command_searches_tells_what_it_took_and_score_chooses_by_the_searchs_own_scores(verikit, tmp_path):
    (tmp_path / "p.jsonl").write_text("".join(json.dumps({"prompt": f"p{i}=", "answer": "1"}) + "\n" for i in range(5)))
    spec = "beam(2, 2, prm=tests.guided.tree:StepScores)"
    words = ["sample", "tests.guided.tree:Tree", "p.jsonl", "--text", "--search", spec, "-o", "out.jsonl"]
    code, told = verikit(*words)
    assert code == 0, told
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert len(rows) == 5
    assert f"{sum(row['search']['judged'] for row in rows):,} for judging" in told
    assert f"{sum(row['search']['generated'] for row in rows):,} reply tokens" in told
    code, told = verikit(
        "score", "out.jsonl", "-v", "answer", "--by", "step_column('step_scores')", "--select", "best", "-q"
    )
    assert code == 0, told
    right = sum("{1}" in row["completions"][0]["text"] for row in rows)
    assert f"selected by best: {20.0 * right:.0f}" in told.replace(".0 ", " ")
    code, told = verikit(*words, "--budget", 9)
    assert code == 2
    assert "budget was null, is 9" in told


def test_score_reads_the_rows_with_the_searchs_own_step_scores(tmp_path):
    from verikit import load

    run(tmp_path / "out", STRATEGIES[0], None)
    items = [item.group if hasattr(item, "group") else item for item in read(tmp_path / "out")]
    by = load("step_column('step_scores')")
    for group, line in zip(items, (tmp_path / "out").read_bytes().splitlines(), strict=True):
        values = [float(score) for score in by.score(group.samples())]
        assert values == [candidate["value"] for candidate in json.loads(line)["completions"]]
        assert values == sorted(values, reverse=True)


def test_options_of_sampling_alone_are_refused_beside_a_search(verikit, tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "1"}\n')
    for words, told in (
        (["-n", "3", "--search", "beam(prm=column('x'))"], "-n does not go"),
        (["--until", "majority", "--search", "beam(prm=column('x'))"], "--until does not go"),
        (["--budget", "9"], "--budget goes with --search"),
        (["--search", "beam(prm=column('x'))", "--logprobs", "0"], "--logprobs does not go"),
    ):
        code, shown = verikit("sample", "hf:nowhere", "p.jsonl", *words)
        assert code == 2
        assert told in shown


def test_servers_that_tell_what_ended_a_step_are_read_and_others_are_not():
    from verikit.engines import Request
    from verikit.engines.openai.reply import generation_of

    def told(finish="stop", stop=("\n\n",), **more):
        reply = {"choices": [{"text": "a", "finish_reason": finish, **more}]}
        return generation_of(reply, Request("p", stop=stop)).outputs[0].stopped_by

    assert told(stop_reason="\n\n") == told(matched_stop="\n\n") == "\n\n"
    assert told(stop_reason=None) == told(stop_reason=128001) == told(matched_stop=2) == ""
    assert told() is told(finish="length", stop_reason=None) is told(stop=(), stop_reason=None) is None


def test_the_error_of_a_server_that_continues_no_reply_ends_the_run():
    class NoContinuing(Tree):
        def answer(self, request):
            from verikit.engines import Generation

            return Generation(error=Unsupported("only vLLM continues"))

    with pytest.raises(Unsupported):
        list(guided_search(NoContinuing(), PROMPTS, SETTINGS, STRATEGIES[0]))
