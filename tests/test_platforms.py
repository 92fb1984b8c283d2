"""macOS and Windows, played by Linux: what a person meets there is a result or a sentence, never a traceback."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.platforms import environment

ROWS = [
    {"id": "a", "prompt": "1+1?", "answer": "2", "completions": ["The answer is 2.", "3"]},
    {"id": "b", "prompt": "2+2?", "answer": "4", "completions": ["\\boxed{4}", "5"]},
]
WSL = "Hint: on Windows run verikit inside WSL 2"


@pytest.fixture(scope="module", params=["darwin", "win32"])
def system(request):
    return request.param


@pytest.fixture
def there(system, tmp_path):
    """Runs Python on that system and returns what came of it."""
    variables = environment(system, tmp_path)

    def run(*arguments):
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)

    return run


def test_the_play_takes_away_what_the_system_lacks(system, there):
    done = there("-c", "import os, sys; print(sys.platform, hasattr(os, 'sched_getaffinity'), hasattr(os, 'fork'))")
    assert done.stdout.split() == [system, "False", str(system == "darwin")]
    assert "FileNotFoundError" in there("-c", "open('/proc/self/status')").stderr
    assert ("ModuleNotFoundError" in there("-c", "import fcntl").stderr) == (system == "win32")


def test_verifiers_score_in_python_and_help_is_there(there):
    code = (
        "import verikit; print(verikit.answer()('The answer is 4.', '4').value, verikit.load('0.5*f1')('a', 'a').value)"
    )
    assert there("-c", code).stdout.split() == ["1.0", "0.5"], there("-c", code).stderr
    assert "Usage: verikit" in there("-m", "verikit", "--help").stdout
    assert there("-m", "verikit", "explain", "--completion", "4", "--answer", "4").stdout.startswith("answer: 1")
    assert "policy" in there("-m", "verikit", "list", "answer").stdout


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_is_scored_on_macos_and_refused_in_a_sentence_on_windows(system, there, tmp_path, jobs):
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    done = there("-m", "verikit", "score", "rows.jsonl", "--by", "answer", "-o", "run", "-q", "--jobs", jobs)
    if system == "win32":
        told = done.stderr.splitlines()
        assert (done.returncode, len(told)) == (1, 2), done.stderr
        assert told[0] == "Error: writing a folder of results needs Linux or macOS, not win32"
        assert told[1].startswith(WSL)
        return
    assert done.returncode == 0, done.stderr
    values = [json.loads(line)["value"] for line in (tmp_path / "run" / "scores.jsonl").read_text().splitlines()]
    assert values == [1.0, 0.0, 1.0, 0.0]


def test_programs_are_refused_by_name(system, there):
    done = there("-m", "verikit", "explain", "-v", "code", "--completion", "```python\nprint(1)\n```")
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    if system == "win32":
        assert told.startswith("Error: programs can't be run on win32\n" + WSL)
    else:
        assert "SandboxUnavailable: the local sandbox needs Linux on x86-64, got darwin on arm64" in told
        assert "http://HOST" in told


def test_doctor_and_serve_end_in_words(system, there):
    told = there("-m", "verikit", "serve", "--sandbox", "--port", "0")
    assert told.returncode == 1
    assert told.stderr.startswith("Error: ")
    assert "Traceback" not in told.stderr
    done = there("-m", "verikit", "doctor")
    assert "Traceback" not in done.stderr
    if system == "darwin":
        assert "sandbox not available: the local sandbox needs Linux" in done.stdout


LIGHT = """
import importlib, pkgutil, sys
import verikit
heavy = ("verikit.engines.hf", "verikit.trainers", "verikit.evals", "verikit.retrieval", "verikit.judges.genprm",
         "verikit.judges.rewards", "verikit.__main__", "verikit.sandbox.boot", "verikit.sandbox.guest")
def names(package):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not module.name.startswith(heavy):
            yield module.name
            if module.ispkg:
                yield from names(importlib.import_module(module.name))
failed = []
for name in names(verikit):
    try:
        importlib.import_module(name)
    except ImportError as error:
        if error.name and not error.name.startswith("verikit"):
            failed.append((name, error.name))
    except Exception as error:
        failed.append((name, repr(error)))
import json; print(json.dumps(failed))
"""


def test_every_light_module_can_be_imported_on_macos(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=ROOT, env=environment("darwin", tmp_path), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    servers = ("starlette", "uvicorn", "httptools", "prometheus_client", "python_multipart")
    extras = (*servers, "mcp", "torch", "numpy", "ray", "wandb")
    failed = json.loads(done.stdout)
    assert [name for name, missing in failed if not missing.startswith(extras)] == [], failed
