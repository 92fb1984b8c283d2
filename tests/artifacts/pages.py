"""Pages for tests: samples whose agent left one, and observations as a browser's reader returns them."""

import pytest

from verikit.types import Sample
from verikit.workspaces import Workspace


def need_browser():
    """Skip where no page can be opened, with the reason."""
    pytest.importorskip("numpy")
    pytest.importorskip("PIL")
    from verikit.artifacts.browser.report import browser_refusal

    if refusal := browser_refusal():
        pytest.skip(refusal)


def left(page, **files):
    """A sample whose agent left a page, and other files by their names with `__` for the dot."""
    others = {name.replace("__", "."): text for name, text in files.items()}
    after = {"index.html": f"<!doctype html>{page}"} | others
    return Sample("Make a page.", "", id="t1", workspace=Workspace(after))


def piece(text, left=0, top=0, wide=8, high=16, **more):
    """A run of text as the reader returns it: one box for each letter, from left to right."""
    rects = [edge for at in range(len(text)) for edge in (left + at * wide, top, left + (at + 1) * wide, top + high)]
    told = {
        "text": text, "rects": rects, "ranks": [0] * len(text), "field": False, "block": 1, "owners": [],
        "fonts": [], "opacity": 1.0, "out": False,
    }  # fmt: skip
    return told | more


def observed(*pieces, **more):
    """What the reader returns of a page with these runs."""
    told = {
        "pieces": list(pieces), "elements": [], "clips": [], "fonts": [], "moving": 0, "whole": True, "height": 100,
        "address": "http://localhost/index.html", "title": "",
    }  # fmt: skip
    return told | more
