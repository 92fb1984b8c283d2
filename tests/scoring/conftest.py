import io
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from verikit.cli import main

HOSTILE = str(Path(__file__).with_name("hostile.py"))


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def score(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Outcome]:
    """`verikit score` in this process, in an empty folder; without `-v`, by `exact`."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, stdin: bytes = b"") -> Outcome:
        default = () if "-v" in arguments else ("-v", "exact")
        monkeypatch.setattr(sys, "argv", ["verikit", "score", *default, *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), out, err)

    return run


def row(i: int, *completions: str, **keys: Any) -> dict[str, Any]:
    return {
        "id": f"r{i}",
        "prompt": f"{i}?",
        "completions": list(completions or (str(i), "no")),
        "answer": str(i),
    } | keys


def write(path: Path, rows: Iterable[dict[str, Any] | bytes]) -> Path:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def content(folder: Path) -> dict[str, bytes]:
    """What a finished run leaves, by file."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}
