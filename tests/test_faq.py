"""docs/faq.md does what it says: each answer has its own test here, an answer without one fails."""

import asyncio
import inspect
import itertools
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import requires
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import verikit
from tests.conftest import ROOT
from tests.engines.server import Server, chat_reply
from tests.judges.scripted import Scripted
from tests.processes import runs
from tests.waiting import until
from verikit.adapters import to_lm_eval, to_openrlhf, to_trl, to_verifiers, to_verl
from verikit.adapters.stacks import STACKS
from verikit.cli import cli
from verikit.errors import ConfigError, Unscored

TEXT = (ROOT / "docs/faq.md").read_text("utf-8")
CANDIDATES = str(ROOT / "examples/candidates.jsonl")
SECTIONS = {
    part.partition("\n")[0]: part for part in re.split(r"^### ", TEXT.partition("\n## What others")[0], flags=re.M)
}
QUESTIONS = list(SECTIONS)[1:]
WISHES = [int(number) for number in re.findall(r"^\| (\d+) \|", TEXT, re.M)]
ANSWERED = set()


def answers(*which):
    """The test holds the answers to these: numbers of the table's rows, or questions."""
    ANSWERED.update(which)
    return lambda test: test


@verikit.verifier
def broken(sample):
    return verikit.Score.error("no sandbox") if "broken" in sample.completion else 1.0


@verikit.verifier
def sleeping(sample):
    Path(sample.meta["pid"]).write_text(str(os.getpid()))
    time.sleep(600)


def command(*words, code=0):
    result = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    assert (result.exit_code or result.return_value or 0) == code, result.output
    return result.output


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def options_of(name):
    return {option for parameter in cli.get_command(None, name).params for option in parameter.opts}


def test_every_answer_is_held_by_a_test():
    assert list(range(1, 26)) == WISHES
    assert [which for which in [*WISHES, *QUESTIONS] if which not in ANSWERED] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_code_of_an_answer_runs(question):
    for code in re.findall(r"^```python\n(.*?)^```", SECTIONS[question], re.S | re.M):
        exec(compile(code, f"docs/faq.md {question}", "exec"), {"__name__": "faq"})


def test_options_commands_and_pages_that_are_named_are_there():
    text = re.sub(r"\]\([^)]*\)", "", TEXT)
    for name, options in re.findall(r"`verikit (\w+)([^`]*)`", text):
        known = options_of(name)
        assert set(re.findall(r"--[a-z][a-z-]+", options)) <= known, name
    for page, anchor in re.findall(r"\]\(([\w./-]*?\.(?:md|ipynb))?(?:#([\w-]+))?\)", TEXT):
        target = ROOT / "docs" / page if page else ROOT / "docs/faq.md"
        assert target.exists(), page
        titles = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.M)
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


# The table of wishes.


@answers(1)
def test_no_code_sets_an_alarm_and_answer_works_in_a_thread():
    for folder in ("verikit", "judges", "trainers", "evals"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"\b(signal\.alarm|setitimer|SIGALRM)\b", path.read_text("utf-8")), path
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(verikit.answer(), r"\frac{1}{0}", "4").result().value == 0.0
        assert thread.submit(verikit.answer(), "4", r"\frac{1}{0}").result().value is None


@answers(2)
def test_computer_algebra_ends_at_its_deadline():
    score = verikit.answer(tail_seconds=0.05)(r"\int_0^1 \sin(x^{x^{x}}) \ln(\tan(x^2+1))\,dx", r"\frac13")
    assert score.value == 0.0
    assert score.reason.startswith(("limit", "undecided"))


@answers(3, 4)
def test_a_samples_deadline_kills_the_process_and_another_takes_its_place(tmp_path):
    guarded = verikit.with_timeout(verikit.load("tests.test_faq:sleeping"), 2.0, workers=1)
    scores = [guarded("x", pid=str(tmp_path / name)) for name in ("first", "second")]
    assert [score.status for score in scores] == ["timeout", "timeout"]
    first, second = (int((tmp_path / name).read_text()) for name in ("first", "second"))
    assert first != second
    until(lambda: not runs(first) and not runs(second), "both processes to end")
    assert "--deadline" in options_of("serve")


@answers(5)
def test_rewards_are_called_from_threads_and_event_loops():
    call = STACKS["trl"].call | {"log_extra": None, "log_metric": None}
    with ThreadPoolExecutor(2) as threads:
        assert [made.result() for made in [threads.submit(to_trl("answer"), **call) for _ in range(4)]] == [
            [1.0, 0.0]
        ] * 4

    async def within_a_loop():
        return to_trl("answer")(**call)

    assert asyncio.run(within_a_loop()) == [1.0, 0.0]


@answers(6)
def test_single_calls_that_wait_become_one_batch_and_jobs_change_nothing(tmp_path):
    sizes = []

    class Batches(verikit.Verifier):
        name, batch = "batches", 8

        def score_batch(self, samples):
            sizes.append(len(samples))
            time.sleep(0.2)
            return [verikit.Score(1.0)] * len(samples)

    reward = to_verl(Batches(), asynchronous=True)

    async def at_once():
        await asyncio.gather(*(reward(**STACKS["verl"].call) for _ in range(8)))

    asyncio.run(at_once())
    assert sum(sizes) == 8
    assert max(sizes) > 1
    command("score", CANDIDATES, "-o", tmp_path / "1", "-q")
    several = ["score", CANDIDATES, "--jobs", "2", "-o", str(tmp_path / "2"), "-q"]
    subprocess.run([sys.executable, "-m", "verikit", *several], check=True)
    assert (tmp_path / "1/scores.jsonl").read_bytes() == (tmp_path / "2/scores.jsonl").read_bytes()
    assert "--workers" in options_of("serve")


@answers(7)
def test_asynchronous_rewards_are_coroutines():
    for make in (to_trl, to_verl):
        reward = make("answer", asynchronous=True)
        assert inspect.iscoroutinefunction(type(reward).__call__)


@answers(8, "How do I mask such rows in my RL stack?")
def test_each_stack_learns_in_its_own_form_that_there_is_no_score():
    logged = {}
    call = {"prompts": ["q"] * 2, "completions": ["broken", "fine"]}
    assert to_trl(broken, name="good")(**call, log_extra=None, log_metric=logged.__setitem__) == [None, 1.0]
    assert logged["good/unscored"] == 0.5
    told = to_verl(broken)(data_source="x", solution_str="broken", ground_truth="1")
    assert (told["score"], told["scored"]) == (0.0, 0.0)
    asked = [verikit.Sample("q", "broken"), verikit.Sample("q", "fine")]
    told = to_openrlhf(broken).reply(asked, [broken("broken"), broken("fine")])
    assert told["rewards"] == [1.0, 1.0]
    assert told["extra_logs"]["scored"] == [0.0, 1.0]
    assert to_openrlhf(broken, unscored=0.0).reply(asked, [broken("broken"), broken("fine")])["rewards"] == [0.0, 1.0]
    for make in (to_trl, to_verl, to_openrlhf, to_verifiers, to_lm_eval):
        assert "unscored" in inspect.signature(make).parameters
    with pytest.raises(Unscored):
        asyncio.run(to_verifiers(broken)(prompt="q", completion="broken", answer="1"))
    assert asyncio.run(to_verifiers(broken, unscored=0.0)(prompt="q", completion="broken", answer="1")) == 0.0


@answers("How do I mask such rows in my RL stack?")
def test_nemo_gyms_reply_masks_such_a_row():
    from verikit.serve.protocols import PROTOCOLS

    protocol = PROTOCOLS["nemo-gym-mask"]
    row = json.dumps({"value": None, "status": "error", "reason": "no sandbox"}).encode()
    assert json.loads(protocol.reply({}, [row], 0.0))["mask_sample"] is True
    row = json.dumps({"value": 1.0, "status": "ok"}).encode()
    assert "mask_sample" not in json.loads(protocol.reply({}, [row], 0.0))


@answers("How do I mask such rows in my RL stack?")
def test_the_trainer_leaves_such_rows_out_of_the_batch_and_of_the_groups_statistics():
    pytest.importorskip("torch")
    from verikit.trainers.config import load_config
    from verikit.trainers.experience import experience
    from verikit.trainers.recipe import Trajectory

    made = [Trajectory([1, 2, 3], [False, True, True], [0, -1, -1], reward, 0) for reward in (1.0, None, 0.0)]
    learnt = experience(made, load_config("arithmetic"), None)
    assert learnt.metrics["unscored"] == 1
    assert len(learnt.rows) == 2
    assert learnt.metrics["reward"] == 0.5


@answers(9, "What is a row without a value?")
def test_what_has_no_score_is_left_out_counted_and_scored_again_on_request(tmp_path):
    rows = [{"id": f"q{i}", "prompt": "q", "completion": text} for i, text in enumerate(["fine", "broken", "fine"])]
    run = verikit.score(rows, broken, k=1)
    assert run.metrics["mean"].value == 1.0
    assert run.summary["status"]["error"] == 1
    file = write(tmp_path / "rows.jsonl", {"prompt": "q", "completion": "4", "answer": r"\frac{1}{0}"})
    command("score", file, "-o", tmp_path / "run", "-q", code=3)
    command("score", file, "-o", tmp_path / "run", "-q", "--fail-over", "100%")
    command("score", file, "-o", tmp_path / "run", "-q", "--retry-errors", code=3)
    prose = write(tmp_path / "prose.jsonl", {"prompt": "q", "completion": "4", "answer": "It is the one in France"})
    assert "1 abstained" in command("score", prose, "-v", "math", "-o", tmp_path / "abstained", "-q")


@answers(10)
def test_a_reply_without_a_verdict_or_off_the_scale_has_no_score():
    for reply in ("I would rather not say.", "[[11]]", "[[3]] or [[4]]"):
        score = verikit.judge(Scripted(lambda _, reply=reply: reply), probe=0, structured=False)("text", prompt="q")
        assert (score.value, score.status) == (None, "error")
        assert "UnparseableVerdict" in score.reason


@answers(11, "Why was this row refused?")
def test_explain_names_what_was_read_the_rule_and_both_trees():
    told = command("explain", CANDIDATES, "-v", "answer", "--id", "ex02", "--index", "0")
    assert r"\frac{5}{6}" in told
    assert "different" in told
    assert "answer" in told
    assert "gold" in told
    frame = verikit.score(CANDIDATES, "answer", k=1).to_pandas()
    assert frame["reason"].str.len().min() > 0


@answers(12)
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    pid = tmp_path / "pid"
    code = f"import verikit; verikit.with_timeout(verikit.load('tests.test_faq:sleeping'), 500)('x', pid={str(pid)!r})"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        until(lambda: pid.exists() and pid.read_text(), "the worker to start")
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until(lambda: not runs(int(pid.read_text())), "the worker to end")


@answers(13)
def test_no_parser_generator_or_configuration_framework_is_a_dependency():
    needed = [re.match(r"[\w.-]+", line)[0].lower() for line in requires("verikit") if "extra ==" not in line]
    assert sorted(needed) == ["click", "httpx", "jsonschema", "pebble", "pydantic", "regex", "sympy"]


@answers(14)
def test_the_same_command_goes_on_and_ends_in_the_same_bytes(tmp_path):
    rows = Path(CANDIDATES).read_text().splitlines(keepends=True)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(rows[:5]))
    command("score", file, "-o", tmp_path / "part", "-q")
    file.write_text("".join(rows))
    for out in ("part", "whole"):
        command("score", file, "-o", tmp_path / out, "-q")
    assert (tmp_path / "part/scores.jsonl").read_bytes() == (tmp_path / "whole/scores.jsonl").read_bytes()


@answers(15)
def test_a_finished_run_and_a_full_cache_ask_no_engine(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = write(tmp_path / "rows.jsonl", {"prompt": "q", "completion": "Paris.", "answer": "Paris"})
    with Server(lambda body, k: chat_reply("True")) as server:
        spec = f"reference_judge('openai:{server.url}#judge')"
        command("score", file, "-v", spec, "-o", tmp_path / "run", "-q")
        asked = len(server.bodies)
        assert asked
        command("score", file, "-v", spec, "-o", tmp_path / "run", "-q")
        command("score", file, "-v", spec, "-o", tmp_path / "again", "-q")
        assert len(server.bodies) == asked


@answers(16)
def test_intervals_hold_at_the_edges_and_name_their_method():
    for said, value in (("4", 1.0), ("5", 0.0)):
        mean = verikit.score([{"prompt": f"q{i}", "completion": said, "answer": "4"} for i in range(5)], k=1).metrics[
            "mean"
        ]
        assert mean.value == value
        assert mean.high - mean.low > 0.1
        assert mean.method


@answers(17)
def test_several_k_are_estimated_exactly_from_one_n(tmp_path):
    rows = [{"prompt": "q", "completions": ["4", "5", "4", "6", "7"], "answer": "4"}]
    found = verikit.score(rows, k=[1, 2, 3]).metrics
    right = [True, False, True, False, False]
    for k, name in ((2, "pass@2"), (3, "pass@3")):
        subsets = list(itertools.combinations(right, k))
        assert math.isclose(found[name].value, sum(map(any, subsets)) / len(subsets))
    told = command("score", write(tmp_path / "rows.jsonl", *rows), "--k", "1,2,3", "-o", tmp_path / "run")
    assert re.search(r"^ +3 +90\.0 ", told, re.M)


@answers(18, "There is no GPU here. What works?")
def test_scoring_loads_no_model_and_no_torch():
    code = "import sys, verikit; verikit.score(sys.argv[1], k=1); print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code, CANDIDATES], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False"]
    assert "arithmetic" in command("list", "recipes")


@answers(19, 20)
def test_pairs_are_asked_in_both_orders_and_the_flips_are_printed():
    first = Scripted(lambda request: "[[A]]")
    rows = {name: [{"id": "q", "prompt": "q", "completion": f"{name} says so"}] for name in ("ours", "theirs")}
    run = verikit.judge_answers(rows, verikit.pairwise(first, cache=False), quiet=True)
    assert len(first.requests) == 2
    assert run.win_rates == {("ours", "theirs"): 0.5}
    told = repr(run)
    assert "0.0 % same verdict in both orders" in told
    longer = {"ours": [{"id": "q", "prompt": "q", "completion": "very much longer"}], "theirs": rows["theirs"][:1]}
    wins = Scripted(lambda request: "[[A]]" if _first_is(request, "very much longer") else "[[B]]")
    run = verikit.judge_answers(longer, verikit.pairwise(wins, cache=False), quiet=True)
    assert "won by the longer answer" in repr(run)
    assert "--length-control" in options_of("judge")


def _first_is(request, word):
    asked = request.prompt[-1]["content"]
    return asked.index(word) < asked.index("theirs says so")


@answers(21)
def test_a_judge_whose_first_replies_hold_no_verdict_stops_the_run():
    judge = verikit.judge(Scripted(lambda _: "Well."), structured=False)
    rows = [verikit.Sample(f"q{i}", "text") for i in range(20)]
    with pytest.raises(ConfigError, match="contain no verdict"):
        judge.score(rows)


@answers(22)
def test_the_adapter_shows_what_a_stack_passes():
    told = command("adapter", "show", "openrlhf")
    assert all(name in told for name in ("queries", "prompts", "labels"))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@answers(23, "What leaves the machine?")
def test_rules_on_files_connect_to_nobody(no_network, tmp_path):
    run = verikit.score(CANDIDATES, "0.9*answer + 0.1*boxed", by="column('rm')", select="best", out=tmp_path / "run")
    run.report(tmp_path / "page.html")
    assert run.metrics["mean"].value > 0
    assert {"--data"} <= options_of("eval")


@answers(24)
def test_each_part_has_its_own_score_and_each_adapter_tells_it():
    spec = "0.9*answer + 0.1*boxed"
    assert {name: part.value for name, part in verikit.load(spec)("4", "4").parts.items()} == {
        "answer": 1.0,
        "boxed": 0.0,
    }
    logged = {}
    to_trl(spec, name="good")(
        prompts=["q"], completions=["4"], answer=["4"], log_extra=None, log_metric=logged.__setitem__
    )
    assert (logged["good/answer"], logged["good/boxed"]) == (1.0, 0.0)
    told = to_verl(spec)(data_source="x", solution_str="4", ground_truth="4")
    assert (told["part/answer"], told["part/boxed"]) == (1.0, 0.0)
    told = to_openrlhf(spec)
    told = told.reply([verikit.Sample("q", "4", "4")], [verikit.load(spec)("4", "4")])
    assert told["extra_logs"]["part/answer"] == [1.0]


@answers(25)
def test_progress_names_the_slowest_line_and_usage_is_kept(monkeypatch):
    from verikit.scoring import watch
    from verikit.scoring.size import InputSize

    chunk = SimpleNamespace(rows=[(17, b"")], last_line=17)
    tally = SimpleNamespace(counts={"prompts": 20, "bad_rows": 0, "candidates": 20}, unscored=0)
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: 130.0))
    waiting = {0: (chunk, 100.0)}
    progress = SimpleNamespace(tally=tally, rows=20, line=20, size=InputSize("-"), in_flight=waiting)
    assert "slowest: line 17 for 30 s" in watch.describe(progress, 40.0)
    score = verikit.reference_judge(Scripted(lambda _: "True"))("Paris", "Paris", prompt="q")
    assert score.usage["prompt_tokens"] == 10.0


# What newcomers ask.


@answers("Where do I begin?")
def test_every_notebook_is_named():
    named = set(re.findall(r"notebooks/(\w+)\.ipynb", SECTIONS["Where do I begin?"]))
    assert named == {path.stem for path in (ROOT / "examples/notebooks").glob("*.ipynb")}


@answers("What does it cost?")
def test_a_judges_usage_has_its_price(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with Server(lambda body, k: chat_reply("True")) as server:
        options = {"prices": (1_000_000.0, 2_000_000.0)}
        judge = verikit.reference_judge(f"openai:{server.url}#judge", options=options, cache=False)
        score = judge("Paris", "Paris", prompt="q")
    assert score.usage["cost"] == 3 * 1.0 + 1 * 2.0
    assert score.usage["calls"] == 1.0
    assert "--prices" in options_of("sample")


@answers("How do I use my own judge endpoint?")
def test_a_judge_is_asked_at_its_address_with_the_key_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-of-the-faq")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = write(tmp_path / "rows.jsonl", {"prompt": "q", "completion": "Paris."})
    with Server(lambda body, k: chat_reply("Good. [[8]]")) as server:
        spec = re.search(r'-v "(judge\(.*\))"', SECTIONS["How do I use my own judge endpoint?"])[1]
        assert "http://localhost:8000/v1#judge" in spec
        spec = spec.replace("http://localhost:8000/v1", server.url)
        command("score", file, "-v", spec, "-o", tmp_path / "run", "-q")
    assert server.bodies[-1]["model"] == "judge"
    assert any(
        headers.get("authorization", headers.get("Authorization")) == "Bearer sk-test-key-of-the-faq"
        for headers in server.headers
    )
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-test-key" not in held


@answers("How do I add a task of my own?")
def test_rows_with_other_keys_are_scored_by_naming_them(tmp_path):
    file = write(tmp_path / "rows.jsonl", {"ask": "2 + 2", "said": "4", "right": "4"})
    told = command(
        "score",
        file,
        "--map",
        "prompt=ask",
        "--map",
        "completion=said",
        "--map",
        "answer=right",
        "-o",
        tmp_path / "run",
    )
    assert "100.0" in told
    page = (ROOT / "docs/eval.md").read_text("utf-8").partition("## In plain lm-eval")[2]
    assert "process_results: !function verikit.evals.grade.results" in page  # run by tests/evals/test_own_tasks.py


@answers("My model thinks aloud. What is scored?")
def test_further_tags_of_thoughts_are_named_in_the_environment(monkeypatch):
    text = "<plan>It may be 5, or 6.</plan>4"
    assert verikit.length(max=1)(text).value == 0.0
    monkeypatch.setenv("VERIKIT_THOUGHT_TAGS", "<plan> </plan>")
    assert verikit.length(max=1)(text).value == 1.0
    assert verikit.length(max=1, reads="all")(text).value == 0.0


@answers("What leaves the machine?")
def test_scores_hold_no_texts_and_what_was_selected_and_the_page_do(tmp_path):
    secret, told = "a question nobody may see", "We call it forty-two, as always: \\boxed{42}"
    run = verikit.score([{"prompt": secret, "completion": told, "answer": "42"}], select="best", out=tmp_path / "run")
    assert "as always" not in (tmp_path / "run/scores.jsonl").read_text()
    assert secret not in (tmp_path / "run/scores.jsonl").read_text()
    assert "as always" in (tmp_path / "run/selected.jsonl").read_text()
    assert "as always" in run.report(tmp_path / "page.html").read_text("utf-8")


@answers("Is my reward hackable?")
def test_the_audit_finds_a_reward_that_pays_for_the_gold_anywhere(tmp_path):
    loose = tmp_path / "loose.py"
    loose.write_text(
        "import verikit\n\n\n@verikit.verifier\ndef loose(sample):\n    return sample.answer in sample.completion\n"
    )
    told = command("audit", CANDIDATES, "--by", f"{loose}:loose", "--no-programs", "-q")
    assert re.search(r"near_miss +\d*[1-9] ", told)
    assert verikit.load("answer")(r"\boxed{x^2-1}", "(x-1)(x+1)", prompt="Factor $x^2-1$.").value == 1.0
    call = {"prompts": ["Factor $x^2-1$."], "completions": [r"\boxed{x^2-1}"], "answer": ["(x-1)(x+1)"]}
    assert to_trl("answer")(**call) == [0.0]


@answers("How far can I trust a judge?")
def test_calibrate_tells_a_judges_error_by_labels(tmp_path):
    rows = [{"id": f"q{i}", "prompt": "q", "completion": "right" if i % 2 else "wrong"} for i in range(20)]
    verikit.score(rows, verikit.regex("right|wrong"), k=1, out=tmp_path / "run")
    labels = [{"id": row["id"], "label": row["completion"]} for row in rows]
    told = command("calibrate", tmp_path / "run", "--labels", write(tmp_path / "labels.jsonl", *labels))
    assert "specificity" in told
    assert "corrected, by verdict" in told
