"""The table of docs/answer.md: every accepted example matches its gold, no refused one does."""

import re

from verikit.answers import verify

SECTION = "## Which answers are equal"
CELLS = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"`([^`]+)`")


def rows(root):
    """(family, gold, accepted, refused) of every row; a bar in a cell is written with a backslash."""
    text = (root / "docs" / "answer.md").read_text("utf-8").split(SECTION, 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    for line in lines:
        family, *cells = (cell.strip().replace("\\|", "|") for cell in CELLS.split(line)[1:-1])
        gold, accepted, refused = (CODE.findall(cell) for cell in cells)
        yield family, gold[0], accepted, refused


def test_every_row_holds(root):
    found = list(rows(root))
    assert len(found) > 10
    for family, gold, accepted, refused in found:
        assert accepted
        assert refused
        for answer in accepted:
            assert verify(rf"\boxed{{{answer}}}", gold).equal, (family, gold, answer)
        for answer in refused:
            assert not verify(rf"\boxed{{{answer}}}", gold).equal, (family, gold, answer)
