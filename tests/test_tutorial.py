"""docs/tutorial.md is run from top to bottom; what it shows below a block is what the block prints.

`UPDATE=1 pytest tests/test_tutorial.py` writes what was printed into the page.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.learning import WORLDS
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
MARK = "-- end of a block --"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the examples, as a reader has it."""
    path = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "examples", path / "examples")
    return path


def run(command: list[str], folder: Path, *, seconds: int = 600) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def printed_by(blocks: list[tuple[str, str]], folder: Path) -> list[str]:
    """What each block prints: python blocks are one program, shell blocks one session."""
    printed = {}
    for language, command, end in (("python", [sys.executable, "-c"], "print"), ("sh", ["bash", "-euc"], "echo")):
        chosen = [number for number, block in enumerate(blocks) if block[0] == language]
        mark = f"print({MARK!r})\n" if end == "print" else f"echo '{MARK}'\n"
        output = run([*command, "".join(f"{blocks[number][1]}\n{mark}" for number in chosen)], folder)
        printed |= dict(zip(chosen, output.split(f"{MARK}\n"), strict=False))
    return [re.sub(r"[ \t]+$", "", printed[number], flags=re.MULTILINE) for number in range(len(blocks))]


def test_each_block_prints_what_the_page_shows(folder):
    text = PAGE.read_text("utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) >= 15
    printed = printed_by([(language, code) for language, code, _ in blocks], folder)
    if os.environ.get("UPDATE"):
        outputs = iter(printed)
        PAGE.write_text(BLOCK.sub(lambda found: shown(found, next(outputs)), text), "utf-8")
    else:
        assert printed == [output for _, _, output in blocks]


def shown(found: re.Match[str], output: str) -> str:
    code = f"```{found[1]}\n{found[2]}```\n"
    return f"{code}\n```text\n{output}```\n" if output else code


@pytest.mark.slow(seconds=45)
def test_the_model_of_the_page_is_trained_exported_sampled_and_scored(folder):
    for package in ("torch", "transformers", "peft"):
        pytest.importorskip(package)
    commands = "".join(re.findall(r"^```bash\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    output = run(["bash", "-euc", re.sub(r"^pip install .*$", "", commands, flags=re.MULTILINE)], folder, seconds=1200)
    before, after = (float(share) for share in re.search(r"sampled +(0\.\d+) +(0\.\d+)", output).groups())
    assert before < 0.6
    assert after >= WORLDS["arithmetic"].bars["sampled, end"]
    assert float(re.search(r"mean of one candidate: ([\d.]+)", output)[1]) > 80
