"""The README's examples are run as they stand, the first output compared, and the examples folder is all used."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
PYTHON = [text for language, text in BLOCKS if language == "python"]
SHELL = [text for language, text in BLOCKS if language == "sh"]


@pytest.fixture
def copy(tmp_path):
    """A folder with the examples, as a reader of the README has it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "samples.jsonl").write_text('{"problem": "1+1?", "candidates": ["\\\\boxed{2}"], "gold": "2"}\n')
    return tmp_path


def run(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_first_command_prints_what_the_readme_shows(copy):
    command = SHELL[0].split("&&")[-1].replace(".venv/bin/", "")
    shown = next(text for language, text in BLOCKS if language == "text")
    printed = [line.rstrip() for line in run(command, copy).splitlines()]
    assert printed == shown.splitlines()


@pytest.mark.parametrize("command", SHELL[2:], ids=lambda text: text.splitlines()[0][:60])
def test_each_shell_example_runs(command, copy):
    run(command, copy)


@pytest.mark.parametrize("code", PYTHON, ids=lambda text: text.splitlines()[0][:60])
def test_each_python_example_runs_and_prints(code, copy):
    (copy / "example.py").write_text(code)
    assert run(f"{sys.executable} example.py", copy).strip()


def test_it_is_read_in_four_minutes():
    prose = re.sub(r"^```.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= 900
    measured = README.partition("## Measured")[2].partition("## ")[0]
    assert len(re.findall(r"^\| .* \| \[`\w+\.py`\]\(benchmarks/\w+\.py\) \|", measured, re.MULTILINE)) <= 8


def test_every_figure_of_the_readme_names_a_script_and_stands_on_the_page_of_figures():
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    measured = README.partition("## Measured")[2]
    rows = re.findall(r"^\| (.*) \| \[`(\w+\.py)`\]\(benchmarks/\2\) \|", measured, re.MULTILINE)
    assert rows
    for row, script in rows:
        assert (ROOT / "benchmarks" / script).is_file()
        assert f"`{script}" in page
        for figure in re.findall(r"\d+(?:[.,]\d+)*", row.split("|", 1)[1]):
            assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)", page), row
    for script in re.findall(r"`((?:examples/)?[\w/]+\.py)[ `]", page):
        assert (ROOT / ("" if script.startswith("examples/") else "benchmarks") / script).is_file(), script


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(((?!http)[^)#]+)", README):
        assert (ROOT / target).exists(), target
