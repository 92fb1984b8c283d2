import json

import pytest
from click.testing import CliRunner

pytest.importorskip("lm_eval")

from tests.evals.scripted import MATH, write
from verikit.cli import cli
from verikit.errors import ConfigError, UsageError
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks
from verikit.evals.stored import Stored
from verikit.evals.suite import read_suite, run_suite
from verikit.report.differences import compare_runs


def made(tmp_path, name, answers):
    data = write(tmp_path / "rows.jsonl", [{"id": str(i), "problem": f"{i}?", "answer": "5"} for i in range(12)])
    outputs = [{"id": str(i), "question": f"{i}?", "output": f"\\boxed{{{a}}}"} for i, a in enumerate(answers)]
    run_tasks(
        ["verikit_math500"],
        name,
        Stored(write(tmp_path / name, outputs)),
        Settings(data=data),
        tmp_path / f"run-{name}",
    )
    return tmp_path / f"run-{name}"


def test_the_command_tells_which_differences_are_real(tmp_path):
    bad, good = made(tmp_path, "bad", [5, 5] + [4] * 10), made(tmp_path, "good", [5] * 11 + [4])
    told = CliRunner().invoke(cli, ["compare", str(bad), str(good)]).output
    assert "+75.00" in told
    assert "significant at 5%: run-good beats run-bad by 75.00 on verikit_math500" in told
    assert "9 questions changed" in told
    (plain,) = json.loads(CliRunner().invoke(cli, ["compare", str(bad), str(good), "--json"]).output)["differences"]
    assert (plain["gained"], plain["lost"], len(plain["changed"])) == (9, 0, 9)
    same = compare_runs(bad, bad)
    assert (same[0].value, same[0].p) == (0.0, 1.0)
    (kept,) = compare_runs(bad, good, "acc")
    assert kept.value == 0.75
    with pytest.raises(UsageError, match="no metric 'speed'"):
        compare_runs(bad, good, "speed")


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not a run that can be compared"):
        compare_runs(tmp_path, tmp_path)


SUITE = """
tasks = ["verikit_math500"]
[settings]
data = "{data}"
repeats = {{ verikit_math500 = 2 }}
[[models]]
name = "one"
model = "replay:{one}"
[[models]]
name = "two"
model = "replay:{two}"
"""


def test_a_suite_gives_a_table_of_models_by_tasks_and_their_differences(tmp_path):
    data = write(tmp_path / "rows.jsonl", MATH[:2])
    files = {
        name: write(tmp_path / f"{name}.jsonl", [{"problem": row["problem"], "completions": texts} for row in MATH[:2]])
        for name, texts in (("one", ["\\boxed{5}", "\\boxed{4}"]), ("two", ["\\boxed{1}", "\\boxed{0.5}"]))
    }
    (tmp_path / "suite.toml").write_text(SUITE.format(data=data, **files))
    found = run_suite(read_suite(tmp_path / "suite.toml"), tmp_path / "out")
    assert [found["models"][name]["tasks"]["verikit_math500"]["metrics"]["acc"]["value"] for name in files] == [
        0.25
    ] * 2
    (pair,) = found["differences"]
    assert (pair["first"], pair["second"], pair["gained"], pair["lost"]) == ("one", "two", 1, 1)
    table = (tmp_path / "out/suite.md").read_text()
    assert "| one | 25.00" in table
    assert "| two - one | verikit_math500 | +0.00 |" in table


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tasks = [", "suite.toml"),
        ("tasks = []\nmodels = []", "tasks"),
        ('tasks = ["a"]\n[[models]]\nname = "../x"\nmodel = "m"', "models.0.name"),
        ('tasks = ["a"]\n[settings]\nbeams = 4\n[[models]]\nname = "x"\nmodel = "m"', "settings.beams"),
        ('tasks = ["a"]\n' + '[[models]]\nname = "x"\nmodel = "m"\n' * 2, "two models are named x"),
    ],
)
def test_a_suite_that_is_none_names_the_field(tmp_path, text, problem):
    (tmp_path / "suite.toml").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        read_suite(tmp_path / "suite.toml")
