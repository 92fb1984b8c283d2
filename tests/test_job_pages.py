"""The pages of the six jobs start with commands on the reader's own data. Their output is the one that the page shows.

`UPDATE=1 pytest tests/test_job_pages.py` writes what was printed into the pages.
"""

import os
import shutil

import pytest

from tests.conftest import ROOT
from tests.test_tutorial import BLOCK, printed_by, shown

PAGES = {"score": None, "audit": None, "rewards": None, "judges": None, "eval": "lm_eval"}
"""Each page with the package that its commands need. `tests/test_tutorial.py` trains like docs/train.md."""
SLOW = {"audit": 3, "eval": 15}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow(seconds=SLOW[name])] if name in SLOW else []) for name in PAGES]
)
def test_the_first_commands_of_a_page_print_what_it_shows(name, tmp_path):
    if PAGES[name]:
        pytest.importorskip(PAGES[name])
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    page = ROOT / "docs" / f"{name}.md"
    text = page.read_text("utf-8")
    first = text[: text.index("\n## ", text.index("\n## ") + 1)]
    blocks = BLOCK.findall(first)
    assert blocks
    printed = printed_by([(language, code) for language, code, _ in blocks], tmp_path)
    if os.environ.get("UPDATE"):
        outputs = iter(printed)
        page.write_text(BLOCK.sub(lambda found: shown(found, next(outputs)), first) + text[len(first) :], "utf-8")
    else:
        assert printed == [output for _, _, output in blocks]
