"""A reply's patch, in any supported format.

One format is read per reply, the first that it contains. The order is JSON of whole files, `*** Begin Patch`,
SEARCH/REPLACE blocks, a unified diff, whole files in blocks.
"""

from __future__ import annotations

from itertools import pairwise

from verikit.verifiers.patch import begin_patch, search_replace, unified_diff, whole_files
from verikit.verifiers.patch.tree import MOST_WRITTEN, PatchError, Tree, TreeFile
from verikit.verifiers.reading.fences import fenced

_DIFFS = ("diff", "patch", "udiff")


def patched(tree: Tree, reply: str) -> dict[str, TreeFile]:
    """The tree with the patch of a reply.

    Raises:
        PatchError: The patch is missing, can't be read, or does not apply.
    """
    if len(reply) > MOST_WRITTEN:
        raise PatchError(f"longer than {MOST_WRITTEN} characters")
    if files := whole_files.as_json(reply, tree):
        return whole_files.written(tree, files)
    lines = reply.replace("\r\n", "\n").split("\n")
    if begin_patch.is_in(lines):
        return begin_patch.applied(tree, begin_patch.parse(lines))
    if search_replace.is_in(lines):
        return search_replace.applied(tree, search_replace.parse(lines, tree))
    diff = _diff(reply)
    if diff is not None:
        return unified_diff.patched(tree, diff if diff.endswith("\n") else diff + "\n")
    files = whole_files.in_blocks(reply, tree)
    if not files:
        raise PatchError("the completion contains neither a diff nor a file with its path")
    return whole_files.written(tree, files)


def _diff(reply: str) -> str | None:
    """The blocks labelled as a diff, or the whole reply if it is one."""
    blocks = [content for label, content in fenced(reply) if label in _DIFFS]
    if blocks:
        return "\n".join(blocks)
    return reply if _is_diff(reply) else None


def _is_diff(text: str) -> bool:
    lines = text.split("\n")
    return any(line.startswith("diff --git ") for line in lines) or any(
        line.startswith("--- ") and after.startswith("+++ ") for line, after in pairwise(lines)
    )
