"""What docs/retrieval.md shows first is run as it stands, on the example's corpus."""

import re
import shlex

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from verikit.cli import cli

pytest.importorskip("bm25s")

BLOCK = re.search(r"```\n(.*?)```", (ROOT / "docs/retrieval.md").read_text("utf-8"), re.DOTALL)


def test_the_first_commands_of_the_page_run(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    printed = []
    for line in BLOCK[1].splitlines():
        if line.startswith(("verikit index build", "verikit index search")):
            done = CliRunner().invoke(cli, shlex.split(line)[1:], standalone_mode=False)
            assert done.exception is None, done.output
            printed.append(done.output)
    assert [text.split("\n")[0] for text in printed] == [
        "16 passages. Search with bm25:wiki",
        "director of The Glass Harbour",
        "recall@1      0.5000",
    ]
    assert "\n  1. The Glass Harbour The Glass Harbour is a 1962 drama film" in printed[1]
