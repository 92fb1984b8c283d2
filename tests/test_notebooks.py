"""The notebooks run, and what they show is what they hold; `UPDATE=1 pytest tests/test_notebooks.py` shows it anew."""

import os
import re
import shutil

import pytest

from tests.conftest import ROOT

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.filterwarnings("ignore")
FOLDER = ROOT / "examples/notebooks"
NEEDS = {
    "score_and_plot": ("matplotlib", "pandas"),
    "your_own_verifier": ("pandas",),
    "judge_calibration": ("matplotlib", "pandas"),
    "suite_two_models": ("lm_eval", "matplotlib", "pandas"),
}
TRAINS = "grpo_small_model"
"""Run by tests/real/test_notebook.py."""
HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
LARGEST = 200_000
"""Bytes of a notebook with its outputs."""
ELSEWHERE = re.compile(r"/(?:root|home|tmp|work|Users|opt|var)/\S*|\x1b\[")
"""What a stored output may not hold: paths of the machine it was made on, and terminals' colours."""


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def execute(name, tmp_path, monkeypatch, model=""):
    """Run a notebook anew in a copy of the examples, in a kernel of this Python; `model` is a folder for `HUB_NAME`."""
    for key, value in {"IPYTHONDIR": tmp_path, "JUPYTER_RUNTIME_DIR": tmp_path / "runtime"}.items():
        monkeypatch.setenv(key, str(value))
    if model:
        monkeypatch.setenv("VERIKIT_MODEL", model)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:IProgress not found")  # of tqdm, where ipywidgets is missing
    monkeypatch.setenv("NO_COLOR", "1")  # the kernel forces colours
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    notebook = read(name)
    for cell in code(notebook):
        cell.outputs, cell.execution_count = [], None
    resources = {"metadata": {"path": str(tmp_path / "examples/notebooks")}}
    nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    if model:
        notebook = nbformat.reads(nbformat.writes(notebook).replace(model, HUB_NAME), as_version=4)
    if os.environ.get("UPDATE"):
        nbformat.write(notebook, FOLDER / f"{name}.ipynb")
    return notebook


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """What a person reads of a cell's outputs; of a picture that there is one."""
    return [text for output in cell.outputs for text in _told(output)]


def _told(output):
    if output.output_type == "stream":
        yield output.name, output.text
    for kind, content in output.get("data", {}).items():
        yield kind, content if kind.startswith("text/") else ""


def told(cell):
    """What must stay: kinds of outputs, and texts but for their spaces. How a page is marked up is another's test."""
    return sorted((kind, "" if kind == "text/html" else " ".join(text.split())) for kind, text in shown(cell))


@pytest.mark.parametrize("name", NEEDS)
def test_a_notebook_shows_what_it_holds(name, tmp_path, monkeypatch):
    for package in NEEDS[name]:
        pytest.importorskip(package)
    again = execute(name, tmp_path, monkeypatch)
    for cell, kept in zip(code(again), code(read(name)), strict=True):
        assert told(cell) == told(kept), cell.source


@pytest.mark.parametrize("name", [*NEEDS, TRAINS])
def test_what_is_stored_is_whole_small_and_of_no_machine(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    assert any(cell.outputs for cell in code(notebook))
    for cell in code(notebook):
        assert not [output for output in cell.outputs if output.output_type == "error"]
        assert "stderr" not in dict(shown(cell))
        assert [text for _, text in shown(cell) if ELSEWHERE.search(text)] == []
    assert (FOLDER / f"{name}.ipynb").stat().st_size < LARGEST


def test_every_notebook_is_run():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*NEEDS, TRAINS}
