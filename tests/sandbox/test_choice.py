"""A choice of sandbox: by option and environment, refused by name where it can't be had, with the same verdicts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verikit import load
from verikit.errors import SandboxUnavailable, UsageError
from verikit.sandbox import RunLimits, backends
from verikit.sandbox.docker import DockerSandbox, DockerServer
from verikit.types import Sample
from verikit.verifiers.code.verifier import Code

HERE = Path(__file__).parent
LOOP = "def double(x):\n    while True: pass"
FORGED = """
import os, sys
class Same:
    def __eq__(self, other): return True
def double(x):
    return Same()
print("passed")
"""
EXPLODES = "def double(x): return [0] * (1 << 40)"
FORGED_RECORD = """
import os
def double(x):
    os.write(3, b'{"status":"ok","value":["list",[["int","0x4"]]]}\\n' * 2)
    os._exit(0)
"""
FUNCTIONS = {
    "right": "def double(x): return x * 2", "wrong": "def double(x): return x + 2", "hangs": LOOP, "forges": FORGED,
    "explodes": EXPLODES, "forges a record": FORGED_RECORD, "ends": "import os; os._exit(0)", "breaks": "def double(:",
}  # fmt: skip
PIPED = {
    "right": "print(int(input()) * 2)", "wrong": "print(int(input()) + 2)", "hangs": "while True: pass",
    "floods": "while True: print('x' * 1000)", "fails": "print(4); raise SystemExit(3)",
}  # fmt: skip
FORMS: dict[str, dict[str, Any]] = {
    "lifted": {"test_list": ["assert double(2) == 4", "assert double('a') == 'aa'"]},
    "driven": {"test_list": ["for x in (1, 2, 'a'):\n    assert double(x) == x * 2"]},
    "together": {"entry_point": "double", "test": "def check(f):\n    assert f(2) == 4\n    assert f(0) == 0"},
}


def samples() -> list[Sample]:
    """Each kind of program once, and each form of tests with the programs that end soon."""
    tests = {"tests": [{"input": "2\n", "output": "4\n"}, {"input": "5\n", "output": "10\n"}]}
    judged = {
        "tests": [{"input": "2\n", "output": "4\n"}],
        "checker": "def check(i, e, o): return int(o) == 2 * int(i)",
    }
    soon = ("right", "wrong", "forges", "forges a record", "fails")
    tried = [(FORMS["lifted"], FUNCTIONS, [*FUNCTIONS]), (FORMS["driven"], FUNCTIONS, soon)]
    tried += [(FORMS["together"], FUNCTIONS, soon), (tests, PIPED, [*PIPED]), (judged, PIPED, soon)]
    return [Sample(completion=code[name], meta=meta) for meta, code, names in tried for name in names if name in code]


def verdicts(rows: list[Sample], wall_s: float = 1.5, **options: Any) -> list[tuple[float | None, str]]:
    return [(score.value, score.status) for score in Code(wall_s=wall_s, **options).score(rows)]


@pytest.fixture(scope="module")
def local_verdicts() -> list[tuple[float | None, str]]:
    found = verdicts(samples(), sandbox="local")
    assert [value for value, _ in found].count(1.0) == 6
    assert {status for _, status in found} == {"ok"}
    return found


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for docker on PATH."""
    command = tmp_path / "docker"
    command.write_text(
        f'#!/bin/sh\nexec env PYTHONPATH={HERE.parents[1]} {sys.executable} {HERE}/fake_docker.py "$@"\n'
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_DOCKER", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No sandbox is left over from another test."""
    yield
    for box in backends._started.values():
        box.close()
    backends._started.clear()


@pytest.mark.parametrize("name", ["process", "bwrap", "docker:python:3.12"])
def test_every_backend_gives_the_verdicts_of_the_local_one(
    name: str, local_verdicts: list[tuple[float | None, str]], request: pytest.FixtureRequest
) -> None:
    if name == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed")
    if name.startswith("docker"):
        request.getfixturevalue("docker")
    found = verdicts(samples(), sandbox=name)
    differ = [i for i, (own, local) in enumerate(zip(found, local_verdicts, strict=True)) if own != local]
    # A busy machine may cut a right program short: what differs is run once more, with more time.
    again = verdicts([samples()[i] for i in differ], wall_s=8.0, sandbox=name) if differ else []
    assert again == [local_verdicts[i] for i in differ]


def test_the_environment_chooses_and_the_option_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIKIT_SANDBOX", "process")
    assert Code().environment()["sandbox"]["backend"] == "process"
    assert load("code(sandbox='local')").environment()["sandbox"]["backend"] == "local"
    monkeypatch.setenv("VERIKIT_SANDBOX", "")
    assert backends.backend_name() == "local"


@pytest.mark.parametrize("name", ["dockerr", "docker:", "http:", "http://", "local:x", "ftp://x", "bwrap:1"])
def test_a_name_that_is_none_is_refused_when_it_is_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="names no sandbox"):
        Code(sandbox=name)
    monkeypatch.setenv("VERIKIT_SANDBOX", name)
    with pytest.raises(UsageError, match="VERIKIT_SANDBOX names no sandbox"):
        Code().score(samples()[:1])


@pytest.mark.parametrize(
    ("name", "said"),
    [("bwrap", "apt-get"), ("docker:python:3.12", "docs.docker.com"), ("docker+http", "docs.docker.com"),
     ("http://127.0.0.1:9", "verikit serve --sandbox")],
)  # fmt: skip
def test_a_sandbox_that_can_t_be_had_is_named_with_what_to_do_and_scores_nothing(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("verikit.sandbox.http._PAUSES", ())
    with pytest.raises(SandboxUnavailable, match="the sandbox") as caught:
        Code(sandbox=name).score_batch(samples()[:2])
    assert said in caught.value.hint
    score = load(f"code(sandbox={name!r})")("print(1)", meta=samples()[0].meta)
    assert (score.value, score.status) == (None, "error")


def test_a_container_is_locked_down_and_proved_to_hold(docker: Path) -> None:
    with DockerSandbox("python:3.12") as box:
        assert not set(box.report.unproved()) - {"disk_total", "file_reads"}
        assert box.run("print(input())", stdin="hi").stdout == "hi\n"
        assert box.run("x = bytearray(1 << 34)").status == "memory"
        assert box.run("import os; os.kill(os.getpid(), 11)").status == "killed"
        assert box.run("while True: print('x' * 1000)").status == "output"
        assert box.run("import os; os._exit(7)").exit_code == 7
        assert box.run("while True: pass", limits=RunLimits(wall_s=0.5)).status == "timeout"
    given = [json.loads(line)["options"] for line in (docker / "log.jsonl").read_text().splitlines()]
    assert all(run["--network"] == ["none"] and "--read-only" in run and run["--cap-drop"] == ["ALL"] for run in given)
    assert all(run["--user"] == ["65534:65534"] and run["--security-opt"] == ["no-new-privileges"] for run in given)
    assert not any("--volume" in run or "--privileged" in run for run in given)


def test_the_real_docker_takes_the_command_line() -> None:
    if shutil.which("docker") is None:
        pytest.skip("docker is not installed")
    box = DockerSandbox.__new__(DockerSandbox)
    box._docker, box._image = "docker", "verikit/there-is-none:0"
    done = subprocess.run(
        box.command("verikit-test", RunLimits()), input="", capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "unknown" not in done.stderr
    assert "invalid" not in done.stderr
    assert "daemon" in done.stderr or "No such image" in done.stderr


@pytest.mark.parametrize(("image", "said"), [("nope:1", "No such image: nope:1"), ("python:3.9", "3.11 or newer")])
def test_an_image_that_is_absent_or_too_old_is_named(image: str, said: str, docker: Path) -> None:
    with pytest.raises(SandboxUnavailable) as caught:
        DockerSandbox(image)
    assert said in str(caught.value)
    assert f"docker pull {image}" in caught.value.hint


def test_a_server_in_a_container_is_started_asked_and_taken_away(docker: Path) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("prometheus_client")
    with DockerServer("fusion") as box:
        assert box.run("def f(x): return (x, 2.5)", call=("f", [1], {})).value == (1, 2.5)
        assert box.run("while True: pass", limits=RunLimits(wall_s=0.5)).status == "timeout"
        (name,) = (path.name for path in docker.iterdir() if path.name.startswith("verikit-") and not path.suffix)
    assert not (docker / name).exists()
    with pytest.raises(SandboxUnavailable, match="No such image"):
        DockerServer("nope:2")
