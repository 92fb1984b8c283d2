import json
import sys

import pytest

from verikit.cli import main


@pytest.fixture
def write(tmp_path):
    """Write rows to a file and return its path."""

    def written(rows, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return str(path)

    return written


@pytest.fixture
def verikit(monkeypatch, tmp_path):
    """The command in this process, in the folder of the test; returns its exit code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["verikit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return run
