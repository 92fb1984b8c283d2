"""Random edits of random files, written in each form in which models write patches. Nothing here reads a form."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Mapping

Files = Mapping[str, str]

WORDS = ["def f(a):", "    return a", "", "x = 1", "# note", "    if a:", "        pass", "======= =", "é", "+ b",
         "- c", "@@ d", "*** e", "~~~", "<tag>", "> quoted", "\ttab"]  # fmt: skip


def files(draw: random.Random) -> dict[str, str]:
    """A few files; most lines are told apart by a number."""
    names = draw.sample(["a.py", "src/b.py", "src/deep/c.txt", "Makefile", "d-e.js", "README.md"], draw.randint(1, 4))
    return {name: text(draw) for name in names}


def text(draw: random.Random, most: int = 25) -> str:
    return "".join(f"{line(draw)}\n" for _ in range(draw.randint(1, most)))


def line(draw: random.Random) -> str:
    return draw.choice(WORDS) + (f" {draw.randint(0, 999)}" if draw.random() < 0.8 else "")


def edited(before: Files, draw: random.Random) -> dict[str, str]:
    """The files with some lines added, changed and taken away, one file new, and one gone."""
    after: dict[str, str] = {}
    for name, content in before.items():
        lines = content.splitlines()
        for _ in range(draw.randint(1, 3)):
            at = draw.randint(0, len(lines))
            lines[at : at + draw.randint(0, 2)] = [line(draw) for _ in range(draw.randint(0, 3))]
        after[name] = "".join(f"{each}\n" for each in lines)
    if draw.random() < 0.4:
        after["src/new.py"] = text(draw)
    return after


def as_diff(before: Files, after: Files, draw: random.Random) -> str:
    parts = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        lines = difflib.unified_diff(
            (old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True),
            "/dev/null" if old is None else f"a/{name}", "/dev/null" if not new else f"b/{name}", n=draw.randint(1, 4),
        )  # fmt: skip
        parts.append("".join(lines))
    return "".join(parts)


def changes(old: str, new: str) -> list[tuple[list[str], list[str]]]:
    """Runs of old lines, each in one place of the text, and what they become, to be applied in order."""
    lines, found = old.splitlines(), []
    groups = difflib.SequenceMatcher(None, lines, new.splitlines(), autojunk=False).get_opcodes()
    edits = [(a, b, new.splitlines()[c:d]) for tag, a, b, c, d in groups if tag != "equal"]
    for start, end, put in reversed(edits):  # from the end: what comes before keeps its lines
        first, last = start, end
        while not _once(lines, first, last) and (first, last) != (0, len(lines)):
            first, last = max(0, first - 1), min(len(lines), last + 1)
        if (first, last) == (0, len(lines)) and not _once(lines, first, last):
            return []
        found.append((lines[first:last], [*lines[first:start], *put, *lines[end:last]]))
        lines[start:end] = put
    return found


def _once(lines: list[str], first: int, last: int) -> bool:
    run = lines[first:last]
    places = [
        at
        for at in range(len(lines) - len(run) + 1)
        if [x.rstrip() for x in lines[at : at + len(run)]] == [x.rstrip() for x in run]
    ]
    return any(line.strip() for line in run) and places == [first]


def aider(path: str, old: list[str], new: list[str]) -> str:
    return f"{path}\n```python\n{block(old, new)}```\n"


def fenced_path(path: str, old: list[str], new: list[str]) -> str:
    return f"```\n{path}\n{block(old, new)}```\n"


def agentless(path: str, old: list[str], new: list[str]) -> str:
    return f"```python\n### {path}\n{block(old, new)}```\n"


def bare(path: str, old: list[str], new: list[str]) -> str:
    return f"**`{path}`**:\n\n{block(old, new)}"


BLOCKS: tuple[Callable[[str, list[str], list[str]], str], ...] = (aider, fenced_path, agentless, bare)


def block(old: list[str], new: list[str]) -> str:
    return "".join(f"{line}\n" for line in ("<<<<<<< SEARCH", *old, "=======", *new, ">>>>>>> REPLACE"))


def as_blocks(before: Files, after: Files, write: Callable[[str, list[str], list[str]], str]) -> str | None:
    """SEARCH/REPLACE blocks; None where a run of lines can't be told apart."""
    reply = "Here is the fix.\n\n"
    for name, new in after.items():
        if name not in before:
            reply += write(name, [], new.splitlines()) + "\n"
            continue
        runs = changes(before[name], new)
        if not runs and before[name] != new:
            return None
        reply += "".join(write(name, *run) + "\n" for run in runs)
    return reply


def as_begin_patch(before: Files, after: Files, draw: random.Random) -> str:
    """OpenAI's form, with all of a file as context so that no line is ambiguous."""
    parts = ["*** Begin Patch"]
    for name in sorted({*before, *after}):
        if name not in after:
            parts.append(f"*** Delete File: {name}")
        elif name not in before:
            parts += [f"*** Add File: {name}", *(f"+{line}" for line in after[name].splitlines())]
        elif before[name] != after[name]:
            parts.append(f"*** Update File: {name}")
            if draw.random() < 0.5:
                parts.append("@@")
            old, new = before[name].splitlines(), after[name].splitlines()
            for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
                parts += [f" {line}" if tag == "equal" else f"-{line}" for line in old[a:b]]
                parts += [] if tag == "equal" else [f"+{line}" for line in new[c:d]]
    return "\n".join([*parts, "*** End Patch"])
