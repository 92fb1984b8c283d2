"""Patches in the forms in which models write them, against the edits that they were written from, git and patch."""

# ruff: noqa: E501 - replies are lines as they are
from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.verifiers.patches import rendered
from verikit.verifiers.patch.replies import patched
from verikit.verifiers.patch.tree import PatchError, Tree, TreeFile

SEEDS = st.integers(0, 2**32)


def tree(files: Mapping[str, str]) -> Tree:
    return {name: TreeFile(text.encode()) for name, text in files.items()}


def texts(found: Tree) -> dict[str, str]:
    return {name: file.content.decode() for name, file in found.items()}


# ---- what was written is what is read -----------------------------------------------------------------------------


@settings(max_examples=examples(150), deadline=None)
@given(SEEDS, st.sampled_from(rendered.BLOCKS), st.booleans())
def test_search_replace_blocks_give_the_edited_files(seed: int, write: object, crlf: bool) -> None:
    draw = random.Random(seed)
    before = rendered.files(draw)
    after = rendered.edited(before, draw)
    reply = rendered.as_blocks(before, after, write)  # type: ignore[arg-type]
    if reply is None or "<<<<<<< SEARCH" not in reply:
        return
    assert texts(patched(tree(before), reply.replace("\n", "\r\n") if crlf else reply)) == after


@settings(max_examples=examples(150), deadline=None)
@example(40528713, False)
@given(SEEDS, st.booleans())
def test_begin_patch_gives_the_edited_files(seed: int, crlf: bool) -> None:
    draw = random.Random(seed)
    before = rendered.files(draw)
    after = rendered.edited(before, draw)
    gone = draw.choice(sorted(before))
    after = {name: text for name, text in after.items() if name != gone or draw.random() < 0.5}
    if before == after:
        return
    reply = f"Done:\n{rendered.as_begin_patch(before, after, draw)}\nThat is all."
    found = texts(patched(tree(before), reply.replace("\n", "\r\n") if crlf else reply))
    assert found == after


def test_begin_patch_takes_a_blank_for_context_and_an_empty_line_for_what_sets_chunks_apart() -> None:
    reply = "*** Begin Patch\n*** Update File: a\n+one\n{}\n*** End Patch"
    assert texts(patched(tree({"a": "\n"}), reply.format(" ")))["a"] == "one\n\n"
    assert texts(patched(tree({"a": "\n"}), reply.format("")))["a"] == "\none\n"


@settings(max_examples=examples(150), deadline=None)
@given(SEEDS, st.sampled_from(["plain", "fenced", "crlf", "crlf fenced"]))
def test_diffs_give_the_edited_files_also_with_crlf(seed: int, how: str) -> None:
    draw = random.Random(seed)
    before = rendered.files(draw)
    after = rendered.edited(before, draw)
    diff = rendered.as_diff(before, after, draw)
    if not diff:
        return
    reply = f"So:\n```diff\n{diff}```\n" if "fenced" in how else diff
    found = texts(patched(tree(before), reply.replace("\n", "\r\n") if "crlf" in how else reply))
    assert found == {name: text for name, text in after.items() if text}


@settings(max_examples=examples(100), deadline=None)
@given(SEEDS)
def test_whole_files_in_fences_are_written(seed: int) -> None:
    draw = random.Random(seed)
    before, after = rendered.files(draw), {}
    reply = "I changed these files.\n\n"
    for name in before:
        after[name] = "start\n" + "".join(f"{rendered.line(draw)}\n" for _ in range(5)).replace("@@", "@").replace(
            "***", "**"
        )
        if "~~~" in after[name]:
            return
        how = draw.randint(0, 2)
        reply += [f"```{name}\n", f"### `{name}`\n```python\n", f"File: {name}\n\n```\n"][how] + f"{after[name]}```\n\n"
    assert texts(patched(tree(before), reply)) == after


# ---- against git and patch ------------------------------------------------------------------------------------------


def tools(folder: Path, before: str, diff: str) -> str | None:
    """What SWE-bench's tries make of a file: git apply, else patch with fuzz; None if none applies."""
    tries = (["git", "apply", "--whitespace=nowarn", "-"], ["patch", "--batch", "--forward", "--fuzz=5", "-p1"])
    for command in tries:
        (folder / "f").write_bytes(before.encode())
        if subprocess.run(command, input=diff.encode(), cwd=folder, capture_output=True, check=False).returncode == 0:
            return (folder / "f").read_bytes().decode()
    return None


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_shifted_and_stale_diffs_apply_as_git_and_patch_apply_them(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    if shutil.which("git") is None or shutil.which("patch") is None:
        pytest.skip("git or patch is not installed")
    draw = random.Random(seed)
    lines = [f"line {number}\n" for number in range(draw.randint(4, 25))]
    new = list(lines)
    at = draw.randint(0, len(new) - 1)
    new[at : at + draw.randint(0, 2)] = [f"new {number}\n" for number in range(draw.randint(1, 2))]
    diff = rendered.as_diff({"f": "".join(lines)}, {"f": "".join(new)}, draw)
    held = list(lines)  # the file has moved on since the diff was made
    for _ in range(draw.randint(0, 3)):
        where = draw.randint(0, len(held))
        held[where : where + draw.randint(0, 1)] = [f"other {draw.random()}\n" for _ in range(draw.randint(0, 2))]
    if draw.random() < 0.3:
        diff = diff.replace("\n", "\r\n")
    want = tools(tmp_path_factory.mktemp("tools"), "".join(held), diff)
    try:
        found = texts(patched(tree({"f": "".join(held)}), diff))["f"]
    except PatchError:
        found = None
    hunk = [line for line in diff.replace("\r", "").split("\n")[3:] if line]
    old, put = ("".join(f"{line[1:]}\n" for line in hunk if line[0] in marks) for marks in (" -", " +"))
    if f"\n{old}" in "\n" + "".join(held):  # word for word elsewhere comes before fuzz at the stated line
        want = "".join(held).replace(old, put, 1)
    assert found == want


# ---- what is ambiguous or no patch ----------------------------------------------------------------------------------

FILES = {"a.py": "x = 1\ny = 2\nx = 1\n", "b.py": "b = 1\n", "crlf.txt": "one\r\ntwo\r\n", "open.txt": "one\ntwo",
         "doc.rst": "Title\n=======\ntext\n"}  # fmt: skip
BLOCK = "<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    ("reply", "name", "text"),
    [
        ("b.py\n" + BLOCK.format("b = 1", "b = 2"), "b.py", "b = 2\n"),
        ("b.py\n" + BLOCK.format("b = 1  ", "b = 2"), "b.py", "b = 2\n"),
        ("b.py\n<<<<<<< SEARCH\nb = 1\n=======\n>>>>>>> REPLACE", "b.py", ""),
        ("b.py\n" + BLOCK.format("b = 1", "b = 2") + "Then:\n\n" + BLOCK.format("b = 2", "b = 3"), "b.py", "b = 3\n"),
        ("crlf.txt\n" + BLOCK.format("two", "2"), "crlf.txt", "one\r\n2\r\n"),
        ("open.txt\n" + BLOCK.format("two", "2"), "open.txt", "one\n2"),
        ("new/c.py\n<<<<<<< SEARCH\n=======\nc = 1\n>>>>>>> REPLACE", "new/c.py", "c = 1\n"),
        ("doc.rst\n" + BLOCK.format("Title\n=======", "Name\n======="), "doc.rst", "Name\n=======\ntext\n"),
        ("<think>b.py</think>```python\n### b.py\n" + BLOCK.format("b = 1", "b = 2") + "```", "b.py", "b = 2\n"),
        ("--- a/n/new.py\n+++ b/n/new.py\n@@ -0,0 +1 @@\n+x\n", "n/new.py", "x\n"),
        ("```b.py\nprint(...)\n# ...\n```", "b.py", "print(...)\n# ...\n"),
        ("*** Begin Patch\n*** Update File: a.py\n@@ y = 2\n-x = 1\n+x = 3\n*** End Patch", "a.py", "x = 1\ny = 2\nx = 3\n"),
        ("*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 3\n*** End of File\n*** End Patch", "a.py",
         "x = 1\ny = 2\nx = 3\n"),
        ("*** Begin Patch\n*** Update File: b.py\n*** Move to: d/c.py\n@@\n-b = 1\n+b = 2\n*** End Patch", "d/c.py", "b = 2\n"),
        ("*** Begin Patch\n*** Update File: b.py\n@@\n+c = 1\n*** End Patch", "b.py", "b = 1\nc = 1\n"),
        ("*** Begin Patch\n*** Update File: b.py\n b = 1\n+c = 1\n\n*** Add File: n.py\n+n\n*** End Patch", "b.py", "b = 1\nc = 1\n"),
    ],
)  # fmt: skip
def test_forms_at_their_edges(reply: str, name: str, text: str) -> None:
    assert texts(patched(tree(FILES), reply))[name] == text


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("a.py\n" + BLOCK.format("x = 1", "x = 2"), "is in several places"),
        ("a.py\n" + BLOCK.format("z = 1", "x = 2"), "is not found"),
        ("b.py\n" + BLOCK.format("  b = 1", "b = 2"), "is not found"),
        ("c.py\n" + BLOCK.format("z = 1", "x = 2"), "c.py does not exist"),
        (BLOCK.format("b = 1", "b = 2"), "no path before"),
        ("b.py\n<<<<<<< SEARCH\n=======\nc = 1\n>>>>>>> REPLACE", "an empty SEARCH part makes a new file"),
        ("b.py\n<<<<<<< SEARCH\nb = 1\n=======\nb = 2\n", "has no end"),
        ("b.py\n<<<<<<< SEARCH\nb = 1\n>>>>>>> REPLACE", "no dividing line"),
        ("b.py\n<<<<<<< SEARCH\nb = 1\n<<<<<<< SEARCH\n=======\nb = 2\n>>>>>>> REPLACE", "has no end"),
        ("../x.py\n<<<<<<< SEARCH\n=======\nc = 1\n>>>>>>> REPLACE", "not a path within"),
        ("/etc/x.py\n<<<<<<< SEARCH\n=======\nc = 1\n>>>>>>> REPLACE", "not a path within"),
        (".git/hooks/x.py\n<<<<<<< SEARCH\n=======\nc = 1\n>>>>>>> REPLACE", "not a path within"),
        ("*** Begin Patch\n*** Update File: b.py\n-b = 1\n+b = 2\n", "no end"),
        ("*** Begin Patch\n*** End Patch", "no change"),
        ("*** Begin Patch\n*** Update File: b.py\n*** End Patch", "is empty"),
        ("*** Begin Patch\n*** Update File: b.py\n-z\n+b\n*** End Patch", "are not found"),
        ("*** Begin Patch\n*** Update File: b.py\n@@ nowhere\n-b = 1\n+b\n*** End Patch", "is not found"),
        ("*** Begin Patch\n*** Update File: b.py\n@@ b = 1\n+c\n*** End Patch", "need a line of context"),
        ("*** Begin Patch\n*** Update File: c.py\n-b\n*** End Patch", "c.py does not exist"),
        ("*** Begin Patch\n*** Delete File: c.py\n*** End Patch", "c.py does not exist"),
        ("*** Begin Patch\n*** Add File: b.py/x\n+b\n*** End Patch", "conflicts with an existing"),
        ("*** Begin Patch\n*** Add File: /etc/passwd\n+b\n*** End Patch", "not a path within"),
        ("*** Begin Patch\n*** Update File: b.py\n*** Move to: ../b\n-b = 1\n*** End Patch", "not a path within"),
        ("*** Begin Patch\n*** Add File: n\nno plus\n*** End Patch", "does not belong there"),
        ("*** Begin Patch\n*** Add File: a\0b\n+x\n*** End Patch", "not a path within"),
        ("*** Begin Patch\n*** Add File: " + "n" * 300 + "\n+x\n*** End Patch", "not a path within"),
        ("b.py\n```python\n<<<<<<< ORIGINAL\nb = 1\n=======\nb = 2\n>>>>>>> UPDATED\n```", "is an edit that can't be read"),
        ("b.py\n```\n@@\n-b = 1\n+b = 2\n```", "is an edit that can't be read"),
        ("b.py\n```\n*** Update File: b.py\n-b = 1\n```", "is an edit that can't be read"),
        ("```python b.py\n-b = 1\n+b = 2\n```", "is an edit that can't be read"),
        ("```python b.py\nb = 2\n# ... existing code ...\n```", "omits parts of the file"),
        ('{"b.py": "<<<<<<< SEARCH\\nb = 1\\n=======\\nb = 2\\n>>>>>>> REPLACE"}', "is an edit that can't be read"),
        ("1. b.py\n   ```\n   <<<<<<< SEARCH\n   b = 1\n   =======\n   b = 2\n   >>>>>>> REPLACE\n   ```", "neither a diff|can't be read"),
        ("nothing of a patch", "neither a diff nor a file"),
    ],
)  # fmt: skip
def test_what_is_ambiguous_or_cannot_be_read_changes_nothing(reply: str, told: str) -> None:
    before = tree(FILES)
    with pytest.raises(PatchError, match=told):
        patched(before, reply)
    assert texts(before) == FILES


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.sampled_from("<>=*@+- \n`#SEARCHbBeginPatch.py=1"), max_size=400), st.randoms())
def test_no_text_raises_anything_but_its_reason(noise: str, draw: random.Random) -> None:
    marks = ["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "*** Begin Patch", "*** Update File: b.py", "*** End Patch", "@@",
             "b.py", "```", "b = 1", "-b = 1", "+c", "--- a/b.py", "+++ b/b.py", "@@ -1 +1 @@"]  # fmt: skip
    reply = "\n".join([*draw.choices(marks, k=12), noise])
    try:
        found = patched(tree(FILES), reply)
    except PatchError:
        return
    assert all(name and not name.startswith("/") and ".." not in name.split("/") for name in found)
    assert all(not line.startswith(("<<<<<<< ", ">>>>>>> ", "*** Begin")) for name in found.keys() - FILES.keys() for line in
               texts(found)[name].split("\n"))  # fmt: skip


BEGIN = "*** Begin Patch\n"
LONG = {
    "blank lines": "b.py\n" + BLOCK.format("\n" * 5, "b") * 15_000,
    "lines to look below": BEGIN + "*** Update File: b.py\n" + "@@ x\n" * 120_000 + "*** End Patch",
    "chunks that are nowhere": BEGIN + "*** Update File: big\n" + "@@\n-no\n" * 50_000 + "*** End Patch",
    "chunks": BEGIN + "*** Update File: big\n" + "@@\n-l\n+m\n" * 50_000 + "*** End Patch",
    "blocks": "big\n" + BLOCK.format("l 1", "l 1") * 12_000,
    "starts": "<<<<<<< SEARCH\n" * 50_000,
    "dividers": "b.py\n<<<<<<< SEARCH\n" + "=======\n" * 100_000 + ">>>>>>> REPLACE",
    "fences": "```\n" * 200_000,
    "hunks": "--- a/big\n+++ b/big\n" + "".join(f"@@ -{n} +{n} @@\n-l\n+l\n" for n in range(40_000)),
    "hunks with fuzz": "--- a/big\n+++ b/big\n" + "@@ -1,7 +1,7 @@\n l\n l\n l\n-l\n+l\n l\n l\n z\n" * 12_000,
    "files": BEGIN + "".join(f"*** Add File: d{n}/f\n+x\n" for n in range(25_000)) + "*** End Patch",
    "one line": "x" * 1_000_000,
}


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("name", LONG)
def test_work_is_bounded(name: str) -> None:
    """Each ends in a second or two, whatever it ends in; a quadratic reader would not end in the test's time."""
    before = {**tree(FILES), "big": TreeFile(b"l\n" * 200_000)}
    told = ""
    try:
        patched(before, LONG[name])
    except PatchError as problem:
        told = str(problem)
    assert len(told) < 1500
