"""The example tasks of `examples/workspace`: the right trial of each kind gets 1.0, the forged one 0.0."""

import importlib.util
import json
import shlex

import pytest
from click.testing import CliRunner

from tests.artifacts.pages import need_browser
from tests.conftest import ROOT
from verikit.cli import cli

EXAMPLE = ROOT / "examples" / "workspace"
KINDS = ("files", "table", "state", "docx", "trajectory", "rubric", "xlsx", "pptx", "html", "osworld", "harbor")


@pytest.mark.slow(seconds=6)
def test_the_command_of_the_page_pays_every_right_trial_and_no_forged_one(tmp_path, monkeypatch):
    for package in ("openpyxl", "formulas", "formualizer"):
        pytest.importorskip(package)
    need_browser()
    page = (ROOT / "docs" / "workspaces.md").read_text("utf-8")
    (command,) = [line for line in page.splitlines() if line.startswith("verikit score examples/workspace/")]
    monkeypatch.chdir(ROOT)
    arguments = [*shlex.split(command)[1:], "-o", str(tmp_path / "run"), "-q"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)
    assert not result.return_value
    scores = [json.loads(line) for line in (tmp_path / "run/scores.jsonl").read_text().splitlines()]
    assert {score["id"]: score["value"] for score in scores} == {
        f"{kind}-{trial}": value for kind in KINDS for trial, value in (("right", 1.0), ("forged", 0.0))
    }


def test_the_recording_is_that_of_the_prompt_and_the_trials_as_they_are(tmp_path):
    spec = importlib.util.spec_from_file_location("make_workspace_example", EXAMPLE / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.record(tmp_path / "judge.jsonl")
    assert (tmp_path / "judge.jsonl").read_bytes() == (EXAMPLE / "judge.jsonl").read_bytes()
