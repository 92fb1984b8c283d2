"""Unified diffs against difflib, and git where it is installed."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verikit.verifiers.patch.tree import PatchError, TreeFile
from verikit.verifiers.patch.unified_diff import applied, parse

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-- x", "++ y", "@@ z", " d", "\\ e", "é"]), max_size=12)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + ("\n" if end and lines else ""), LINES, st.booleans())


def diff(old: str, new: str) -> str:
    """What `diff -u` writes."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True),
        "a/f" if old else "/dev/null", "b/f" if new else "/dev/null", n=2,
    )  # fmt: skip
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def tree(**files: str) -> dict[str, TreeFile]:
    return {name: TreeFile(text.encode()) for name, text in files.items()}


def texts(found: dict[str, TreeFile]) -> dict[str, str]:
    return {name: file.content.decode() for name, file in found.items()}


@given(TEXTS, TEXTS)
def test_what_difflib_writes_gives_the_new_text(old: str, new: str) -> None:
    if old == new:
        return
    before = tree(f=old) if old else {}
    after = texts(applied(before, parse(diff(old, new))))
    assert after == ({"f": new} if new else {})


@given(TEXTS.filter(bool), TEXTS, st.text("abc\n", max_size=6).map(lambda text: text + "\n"))
def test_a_hunk_is_found_where_lines_came_before_it_or_does_not_apply(old: str, new: str, before: str) -> None:
    if not new or old == new:
        return
    try:
        after = applied(tree(f=before + old), parse(diff(old, new)))
    except PatchError:
        return
    assert len(after["f"].content) == len((before + new).encode())


@settings(max_examples=25, deadline=None)
@given(old=TEXTS.filter(bool), new=TEXTS.filter(bool))
def test_results_are_those_of_git(tmp_path_factory: pytest.TempPathFactory, old: str, new: str) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    if old == new:
        return
    folder = tmp_path_factory.mktemp("git")
    (folder / "f").write_bytes(old.encode())
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=diff(old, new).encode(), cwd=folder, check=True)
    assert applied(tree(f=old), parse(diff(old, new)))["f"].content == (folder / "f").read_bytes()


def test_what_git_writes_beside_hunks_is_understood(tmp_path: Path) -> None:
    text = (
        "From 0 Mon Sep 17\nSubject: x\n---\n"
        "diff --git a/old name.py b/new name.py\nsimilarity index 90%\nrename from old name.py\nrename to new name.py\n"
        "index 1..2 100644\n--- a/old name.py\t\n+++ b/new name.py\t\n@@ -1,2 +1,2 @@ def f():\n one\n-two\n+2\n"
        "diff --git a/moved b/there/moved\nsimilarity index 100%\nrename from moved\nrename to there/moved\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\nindex 1..0\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0..e\n"
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
        "diff --git a/kept b/copied\nsimilarity index 100%\ncopy from kept\ncopy to copied\n-- \n2.39\n"
    )
    before = tree(**{"old name.py": "one\ntwo\n", "moved": "m", "gone": "x\n", "run.sh": "r", "kept": "k"})
    after = applied(before, parse(text))
    assert texts(after) == {"new name.py": "one\n2\n", "there/moved": "m", "empty": "", "run.sh": "r", "kept": "k",
                            "copied": "k"}  # fmt: skip
    assert after["run.sh"].executable


@pytest.mark.parametrize(
    "text",
    [
        "", "no diff", "@@ -1 +1 @@\n-a\n+b\n", "--- a/f\n+++ b/f\n@@ -1,3 +1 @@\n-a\n",
        "--- a/f\n+++ b/f\n@@ nonsense\n",
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "--- a/f\n+++ b/../f\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/f\n+++ b/.GIT/config\n@@ -0,0 +1 @@\n+b\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-b\n+a\n",
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", "--- /dev/null\n+++ b/f/g\n@@ -0,0 +1 @@\n+b\n",
        "diff --git a/f b/f\nold mode 100644\nnew mode 120000\n", "diff --git a/x b/y\nrename from x\nrename to y\n",
        "diff --git a/f b/g\nBinary files a/f and b/g differ\n", "--- a/f\n+++ /dev/null\n@@ -0,0 +0,0 @@\n",
        "diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+Subproject commit 0\n",
        '--- a/f\n+++ "b/\\056\\056/f"\n@@ -1 +1 @@\n-a\n+b\n', "--- a/f\n+++ b/a\\b\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)  # fmt: skip
def test_what_is_malformed_or_refused_changes_nothing(text: str) -> None:
    before = tree(f="a\n")
    with pytest.raises(PatchError):
        applied(before, parse(text))
    assert texts(before) == {"f": "a\n"}


@pytest.mark.parametrize(
    ("line", "most"), [("x", 40_000), ("", 20_000), ("diff --git a/" + "b/" * 1000, 20_000_000)], ids=["x", "", "git"]
)
def test_work_is_linear(linear: Callable[..., None], line: str, most: int) -> None:
    def work(lines: str) -> None:
        count = lines.count("\n")
        body = "".join(f" {line}\n" for _ in range(count))
        text = f"--- a/f\n+++ b/f\n@@ -9,{count} +9,{count + 1} @@\n{body}+y\n" + f"{line}\n" * 100
        with suppress(PatchError):
            applied(tree(f=(f"{line}\n" * (count + 5_000))), parse(text))

    linear(work, f"{line}\n", most=most)
