"""`verikit.evaluate`: the command's run as a call, with rows or files, a spec or an engine."""

import asyncio
import json

import pytest
from click.testing import CliRunner

pytest.importorskip("lm_eval")

import verikit
from tests.conftest import ROOT
from tests.evals.scripted import MATH, Scripted, down
from tests.results.test_html import assert_harmless
from verikit.cli import cli
from verikit.errors import UsageError

EXAMPLE = ROOT / "examples" / "eval"
TASK = "verikit_math500"


def rows_of(name):
    return [json.loads(line) for line in (EXAMPLE / f"{name}.jsonl").read_text().splitlines()]


def test_a_file_or_rows_give_the_results_of_the_command(tmp_path):
    model = f"replay:{EXAMPLE / 'large.jsonl'}"
    options = ["--model", model, "--data", str(EXAMPLE / "math.jsonl"), "-q", "-o", str(tmp_path / "theirs")]
    assert CliRunner().invoke(cli, ["eval", TASK, *options]).exit_code == 0
    wanted = json.loads((tmp_path / "theirs" / "results.json").read_text())
    by_file = verikit.evaluate(model, TASK, data=EXAMPLE / "math.jsonl", out=tmp_path / "ours", quiet=True)
    by_rows = verikit.evaluate(model, [TASK], data={TASK: rows_of("math")}, quiet=True)
    assert by_file.summary == wanted
    assert by_rows.summary["tasks"][TASK]["metrics"] == wanted["tasks"][TASK]["metrics"]
    assert by_rows.metrics[TASK]["acc"].value == wanted["tasks"][TASK]["metrics"]["acc"]["value"]
    assert by_rows.folder is None
    assert TASK in repr(by_rows)


def test_names_are_also_separated_by_commas_as_for_lm_eval(tmp_path):
    options = ["--model", f"replay:{EXAMPLE / 'large.jsonl'}", "--data", str(EXAMPLE / "math.jsonl"), "-q"]
    words = ["eval", f"{TASK},verikit_mth500", *options, "-o", str(tmp_path / "run")]
    error = CliRunner().invoke(cli, words, standalone_mode=False).exception
    assert isinstance(error, UsageError)
    assert f"{TASK}," not in f"{error}"
    assert "verikit_mth500" in f"{error}"
    assert CliRunner().invoke(cli, ["eval", " , ", *options]).exit_code == 2
    assert CliRunner().invoke(cli, ["eval", f"{TASK},{TASK}", *options, "-o", str(tmp_path / "run")]).exit_code == 0


def engine(request):
    text = json.dumps(request.prompt if isinstance(request.prompt, str) else list(request.prompt))
    return "\\boxed{5}" if "2 + 3" in text else "\\boxed{7}"


def test_an_engine_is_asked_within_a_running_loop_and_every_reply_is_a_record():
    pytest.importorskip("pandas")

    async def notebook():
        return verikit.evaluate(Scripted(engine), TASK, data=MATH, repeats=2, quiet=True)

    run = asyncio.run(notebook())
    frame = run.to_pandas()
    assert list(zip(frame.id, frame["index"], frame.value, strict=True)) == [
        (id, index, float(id == "a")) for id in "abc" for index in (0, 1)
    ]
    assert set(frame.task) == {TASK}
    text = run._repr_html_()
    assert_harmless(text)
    assert "33.3 % [" in text


def test_replies_that_failed_have_no_value():
    run = verikit.evaluate(Scripted(down), TASK, data=MATH, quiet=True)
    records = list(run.records())
    assert len(records) == 3
    assert all(record["value"] is None and record["right"] is None for record in records)
    assert all("nobody is at home" in record["reason"] for record in records)
    assert run.metrics[TASK] == {}
    assert "nobody is at home" in run._repr_html_()


def test_two_models_are_compared_by_their_runs():
    runs = {
        name: verikit.evaluate(Scripted(answer), TASK, data=MATH, quiet=True)
        for name, answer in {"one": engine, "none": lambda request: "\\boxed{0}"}.items()
    }
    [row] = verikit.compare(runs).records()
    assert (row["first"], row["second"], row["task"]) == ("one", "none", TASK)
    assert row["value"] == pytest.approx(-1 / 3)


def test_what_can_not_be_run_is_refused_before_anything_is_asked(tmp_path):
    asked = Scripted(engine)
    for tasks, data in (("verikit_nonsense", MATH), (TASK, tmp_path / "nowhere.jsonl"), (TASK, [])):
        with pytest.raises(UsageError):
            verikit.evaluate(asked, tasks, data=data, quiet=True)
    with pytest.raises(UsageError, match="limit"):
        verikit.evaluate(asked, TASK, data=MATH, limit=0, quiet=True)
    with pytest.raises(UsageError, match="no task"):
        verikit.evaluate(asked, TASK, data=MATH, quiet=True).rows("other")
