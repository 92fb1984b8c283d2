import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

pytest.importorskip("lm_eval")

from tests.evals.scripted import MATH, ROWS, Scripted, down, write
from verikit.cli import cli
from verikit.engines import Recorder
from verikit.errors import SchemaError, UsageError
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.models import opened_model, read_options
from verikit.evals.run import run_tasks
from verikit.evals.stored import Stored

STORED = [
    {
        "id": "a",
        "problem": "What is 2 + 3?",
        "completions": [{"text": "\\boxed{5}", "rm": 0.9}, {"text": "4", "rm": 0.1}],
    },
    {"id": "b", "problem": "What is half of 1?", "completions": ["\\boxed{0.5}", "\\boxed{2}"]},
]


JUNIT = ("--junit", "ci.xml")


def invoke(*arguments):
    result = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False, standalone_mode=False)
    return result


def test_the_command_runs_stored_outputs_and_score_reads_its_samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, stored = write(tmp_path / "rows.jsonl", MATH), write(tmp_path / "stored.jsonl", STORED)
    done = invoke(
        "eval", "verikit_math500", "--model", f"replay:{stored}", "--data", data, "--repeats", 2, "-q", *JUNIT
    )
    assert done.return_value == 3
    assert "only" not in done.output
    assert done.output.count("2 of 6 have no score") == 1
    assert ">2 of 6 replies have no score</failure>" in (tmp_path / "ci.xml").read_text()
    assert "2 of 6 replies have no acc" in done.output
    assert "contains no output for this question" in done.output
    results = json.loads((tmp_path / "runs/eval-stored-math500/results.json").read_text())["tasks"]["verikit_math500"]
    assert results["metrics"]["acc"]["value"] == 0.5
    assert results["metrics"]["acc"]["n"] == 2
    assert "| verikit_math500 | acc (mean@2) | 50.00 |" in (tmp_path / "runs/eval-stored-math500/report.md").read_text()
    scored = invoke("score", "runs/eval-stored-math500/samples_verikit_math500.jsonl", "--json", "-q", "--k", "2")
    summary = json.loads(scored.stdout)
    assert summary["metrics"]["mean"]["value"] == 0.5
    assert summary["candidates"] == 4


@pytest.mark.parametrize(("task", "verifier"), [("humaneval", "code"), ("mmlu_pro_law", "choice"), ("bbeh", "answer")])
def test_samples_are_scored_again_to_the_same_result(task, verifier, tmp_path):
    rows = ROWS["mmlu_pro"][:1] if task.startswith("mmlu") else ROWS[task]
    replies = {"humaneval": "```python\ndef add(a, b):\n    return a + b\n```", "mmlu_pro_law": "the answer is (B)"}
    engine = Scripted(lambda request: replies.get(task, "The answer is: yes"))
    data = write(tmp_path / "rows.jsonl", rows)
    run_tasks([f"verikit_{task}"], "m", EngineLM(engine), Settings(data=data), tmp_path / "run")
    samples = tmp_path / f"run/samples_verikit_{task}.jsonl"
    done = invoke("score", samples, "-v", verifier, "--json", "-q", "-o", tmp_path / "scores")
    assert json.loads(done.stdout)["metrics"]["mean"]["value"] == 1.0


def test_a_stored_reward_ranks_the_repeats(tmp_path):
    data, stored = write(tmp_path / "rows.jsonl", MATH[:1]), write(tmp_path / "stored.jsonl", STORED[:1])
    settings = Settings(data=data, repeats=2, by="column('rm')")
    results = run_tasks(["verikit_math500"], "s", Stored(stored), settings, tmp_path / "run")
    metrics = results["tasks"]["verikit_math500"]["metrics"]
    assert metrics["bon@2"]["value"] == 1.0
    assert metrics["acc"]["value"] == 0.5


def test_a_rank_that_no_reply_has_is_counted_by_its_reason(tmp_path):
    stored, data = write(tmp_path / "stored.jsonl", STORED[:1]), write(tmp_path / "rows.jsonl", MATH[:1])
    settings = Settings(data=data, repeats=2, by="column('nosuch')")
    found = run_tasks(["verikit_math500"], f"replay:{stored}", Stored(stored), settings, tmp_path / "run")
    task = found["tasks"]["verikit_math500"]
    assert "bon@2" not in task["metrics"]
    assert task["unscored"] == {"rank": 2}
    assert any("nosuch" in reason for reason in task["reasons"])


def test_a_recording_of_requests_is_replayed(tmp_path):
    data, record = write(tmp_path / "rows.jsonl", MATH), tmp_path / "record.jsonl"
    engine = Recorder(Scripted(lambda request: "\\boxed{5}"), record)
    first = run_tasks(["verikit_math500"], "m", EngineLM(engine), Settings(data=data), tmp_path / "one")
    with opened_model(f"replay:{record}", {}, told=lambda done, of: None) as lm:
        second = run_tasks(["verikit_math500"], "m", lm, Settings(data=data), tmp_path / "two")
    values = [run["tasks"]["verikit_math500"]["metrics"] for run in (first, second)]
    assert values[0] == values[1]
    samples = [(tmp_path / name / "samples_verikit_math500.jsonl").read_bytes() for name in ("one", "two")]
    assert samples[0] == samples[1]


def test_a_task_that_is_done_is_kept_under_the_same_settings_and_data_only(tmp_path):
    rows = [dict(row) for row in MATH]
    data = write(tmp_path / "rows.jsonl", rows)
    engine = Scripted(lambda request: "\\boxed{5}")

    def run(**settings):
        return run_tasks(["verikit_math500"], "m", EngineLM(engine), Settings(data=data, **settings), tmp_path / "run")

    assert run() == run()
    assert len(engine.calls) == 1
    run(limit=2)
    assert len(engine.calls) == 2
    rows[0]["answer"] = "6"
    write(tmp_path / "rows.jsonl", rows)
    run()
    assert len(engine.calls) == 3


def test_settings_that_no_task_can_be_made_with_leave_a_folder_with_the_config_of_its_results(tmp_path):
    data = write(tmp_path / "rows.jsonl", MATH)

    def run(**settings):
        lm = EngineLM(Scripted(lambda request: "\\boxed{5}"))
        return run_tasks(["verikit_math500"], "m", lm, Settings(data=data, **settings), tmp_path / "run")

    run()
    before = (tmp_path / "run/config.json").read_bytes()
    with pytest.raises(UsageError, match="no 2 examples"):
        run(fewshot=2)
    assert (tmp_path / "run/config.json").read_bytes() == before


def test_another_models_results_are_not_replaced_unless_asked_to(tmp_path):
    settings = Settings(data=write(tmp_path / "rows.jsonl", MATH))

    def run(model, text, **options):
        return run_tasks(
            ["verikit_math500"], model, EngineLM(Scripted(lambda request: text)), settings, tmp_path / "run", **options
        )

    first = run("one", "\\boxed{5}")
    held = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    with pytest.raises(UsageError, match="contains the results of one"):
        run("two", "none")
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == held
    assert run("two", "none", restart=True)["tasks"] != first["tasks"]


def test_an_interrupted_run_keeps_the_tasks_that_were_done(tmp_path):
    data = {
        "verikit_math500": write(tmp_path / "m.jsonl", MATH),
        "verikit_bbeh": write(tmp_path / "b.jsonl", ROWS["bbeh"]),
    }
    prompts = []

    def answer(request):
        prompts.append(request.prompt)
        if "true" in request.prompt and len(prompts) < 5:
            raise KeyboardInterrupt
        return "\\boxed{5}"

    def run():
        names = ["verikit_math500", "verikit_bbeh"]
        return run_tasks(names, "m", EngineLM(Scripted(answer)), Settings(data=data), tmp_path / "run")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert list(run()["tasks"]) == ["verikit_math500", "verikit_bbeh"]
    assert len(prompts) == 5


def test_a_prompt_that_cant_be_read_back_and_a_row_without_outputs_are_named(tmp_path):
    with pytest.raises(SchemaError, match=r"bad.jsonl:1: field 'completions': completions, .* not found"):
        Stored(write(tmp_path / "bad.jsonl", [{"question": "Who?", "answer": "I"}]))
    with pytest.raises(SchemaError, match=r"bad.jsonl:1: field 'question'"):
        Stored(write(tmp_path / "bad.jsonl", [{"output": "I"}]))
    with (
        pytest.raises(UsageError, match="lm-eval can't make a model 'nothing'"),
        opened_model("nothing", {}, told=lambda done, of: None),
    ):
        pass
    with pytest.raises(UsageError, match="not KEY=VALUE"):
        read_options(("temperature",))
    assert read_options(("temperature=0.5,until=Q:", "do_sample=true")) == {
        "temperature": 0.5,
        "until": "Q:",
        "do_sample": True,
    }
    assert read_options(('until=["Q:","A:"]',)) == {"until": ["Q:", "A:"]}


def test_another_process_knows_a_done_task_by_the_same_fingerprint(tmp_path):
    tasks = ("hotpotqa", "processbench_math", "alpaca")
    data = {f"verikit_{task}": write(tmp_path / f"{task}.jsonl", ROWS[task]) for task in tasks}
    code = (
        "from verikit.evals.loading import Settings, build; from verikit.evals.run import fingerprint\n"
        f"settings = Settings(data={data!r}, judge='exact')\n"
        f"print([fingerprint('m', build(name, settings), settings) for name in {list(data)!r}])"
    )
    python = [sys.executable, "-c", code]
    found = [subprocess.run(python, check=True, capture_output=True, text=True).stdout for _ in range(2)]
    assert found[0] == found[1]
    assert len(set(found[0].split())) == len(tasks)


def test_what_failed_is_asked_again_by_the_same_command(tmp_path):
    data = write(tmp_path / "rows.jsonl", MATH)
    up = []

    def answer(request):
        return "\\boxed{5}" if up or "half" in request.prompt else down(request)

    def run():
        engine = EngineLM(Scripted(answer))
        return run_tasks(["verikit_math500"], "m", engine, Settings(data=data), tmp_path / "run")["tasks"]

    assert run()["verikit_math500"]["unscored"] == {"acc": 2}
    up.append(True)
    assert run()["verikit_math500"]["unscored"] == {}


def test_stored_rows_of_one_question_are_told_apart_by_their_ids(tmp_path):
    rows = [{"question_id": n, "question": "Same?", "text": f"the answer is {n}"} for n in (1, 2)]
    stored = Stored(write(tmp_path / "stored.jsonl", rows))
    assert stored.outputs({"id": "2", "question": "Same?"}) == ["the answer is 2"]
    assert stored.outputs({"id": "row-9", "question": "Same? "}) == ["the answer is 1", "the answer is 2"]


def test_data_may_be_given_by_task_and_a_missing_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, stored = write(tmp_path / "rows.jsonl", MATH[:2]), write(tmp_path / "stored.jsonl", STORED)
    model = ("--model", f"replay:{stored}", "-q", "--json")
    done = invoke("eval", "verikit_math500", *model, "--data", f"verikit_math500={data}")
    assert json.loads(done.stdout)["tasks"]["verikit_math500"]["metrics"]["acc"]["value"] == 1.0
    with pytest.raises(UsageError, match=r"nowhere.jsonl: the file does not exist"):
        invoke("eval", "verikit_math500", *model, "--data", "nowhere.jsonl")
