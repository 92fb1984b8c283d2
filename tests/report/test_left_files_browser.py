"""The files that an agent left, on the page in headless Chromium: nothing is cut, and no name does anything."""

import pytest

from tests.report.test_browser import chromium, opened  # noqa: F401 - fixtures
from tests.report.test_left_files import BEFORE, HOSTILE_NAME, RIGHT, scored


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_tree_fits_its_screen_with_nothing_cut(opened, verikit, tmp_path, width):  # noqa: F811
    deep = "/".join(["a" * 40] * 40) + "/x.txt"
    after = {**RIGHT, HOSTILE_NAME: "", deep: "", "w" * 250: ""}
    page = opened(scored(verikit, tmp_path, {"before": BEFORE, "after": after}), width=width)
    tree = page.locator(".detail .files")
    assert tree.locator(".file").count() == len(after) + 1
    assert tree.locator(".unread").count() == len(after) - 1
    assert tree.locator(".file", has_text="a.csv").locator(".check").all_text_contents() == [
        "✓ files exist out/a.csv 1", "✓ table 1",
    ]  # fmt: skip
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = (
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline')"
    )
    assert page.locator(".files, .files *").evaluate_all(f"all => ({wide})(all).length") == 0
    assert page.evaluate("window.pwned ?? null") is None
