"""Small problems whose tests touch objects of the program, read from `problems/*.txt`.

A file holds problems. `=== name | form | kind, kind | key=value` starts one, `--- title` a section of it:

    tests           the tests; in the forms `asserts` and `mbpp` an empty line ends a test
    setup           MBPP's `test_setup_code`
    right           a right program
    right edit      a right program, written as changes to the first one
    wrong LABEL     a near miss
    edit LABEL      a near miss, written as changes to the first right program
    forged LABEL    a program that knows no answer and tries to pass

A change is the old lines, a line `=>` and the new lines. A line `&` separates changes.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FORMS = ("asserts", "text", "mbpp", "humaneval", "pytest", "unittest", "doctest")
FOLDER = Path(__file__).with_name("problems")


@dataclass(frozen=True, slots=True)
class Problem:
    """A task, with programs that solve it and programs that do not."""

    name: str
    form: str
    kinds: tuple[str, ...]
    meta: dict[str, Any]
    right: tuple[str, ...]
    wrong: tuple[tuple[str, str], ...]
    """Each with its label."""
    forged: tuple[tuple[str, str], ...] = ()
    needs: tuple[str, ...] = ()
    """Packages that the tests or programs import."""
    hard: str = ""
    """Why the tests inspect the program's source or the interpreter; empty if they do not."""
    theme: str = "main parts"
    """The file it is from."""

    @property
    def tests(self) -> str:
        """The tests as one text, whatever their form."""
        for key in ("tests", "test", "test_list"):
            if key in self.meta:
                held = self.meta[key]
                return held if isinstance(held, str) else "\n\n".join(held)
        raise KeyError(self.name)


def problems() -> list[Problem]:
    """All problems of the folder, in a fixed order."""
    found: list[Problem] = []
    for path in sorted(FOLDER.glob("*.txt")):
        theme = path.stem.partition("_")[2].replace("_", " ")
        found += [replace(problem, theme=theme) for problem in _read(path.read_text("utf-8"))]
    names = [problem.name for problem in found]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"Problem names must be unique, repeated: {sorted(repeated)}")
    return found


def _read(text: str) -> Iterator[Problem]:
    for block in ("\n" + text).split("\n=== ")[1:]:
        head, _, rest = block.partition("\n")
        name, form, kinds, *options = (part.strip() for part in head.split("|"))
        settings = dict(option.split("=", 1) for option in options)
        sections = []
        for section in ("\n" + rest).split("\n--- ")[1:]:
            title, _, body = section.partition("\n")
            sections.append((title.strip(), body.strip("\n") + "\n"))
        try:
            yield _problem(name, form, tuple(kind.strip() for kind in kinds.split(",")), settings, sections)
        except (ValueError, KeyError, IndexError) as error:
            raise ValueError(f"Problem {name!r} can't be read: {error!r}") from error


def _problem(
    name: str, form: str, kinds: tuple[str, ...], settings: dict[str, str], sections: list[tuple[str, str]]
) -> Problem:
    single = {title: body for title, body in sections if title in ("tests", "setup")}
    right: list[str] = []
    wrong: list[tuple[str, str]] = []
    forged: list[tuple[str, str]] = []
    for title, body in sections:
        word, _, label = title.partition(" ")
        if title == "right edit":
            right.append(edited(right[0], body))
        elif word == "right":
            right.append(body)
        elif word == "wrong":
            wrong.append((label, body))
        elif word == "edit":
            wrong.append((label, edited(right[0], body)))
        elif word == "forged":
            forged.append((label, body))
        elif title not in single:
            raise ValueError(f"unknown section {title!r}")
    meta = meta_of(form, single["tests"], single.get("setup", ""), settings.get("entry", ""))
    needs = tuple(settings.get("needs", "").split())
    return Problem(name, form, kinds, meta, tuple(right), tuple(wrong), tuple(forged), needs, settings.get("hard", ""))


def edited(program: str, changes: str) -> str:
    """A program with changes made; each must be possible in one place only."""
    for change in changes.split("\n&\n"):
        old, _, new = ("\n" + change.strip("\n") + "\n").partition("\n=>\n")
        old, new = old.strip("\n"), new.strip("\n")
        if program.count(old) != 1:
            raise ValueError(f"{old!r} must be in the right program once, is {program.count(old)} times")
        program = program.replace(old, new)
    return program


def meta_of(form: str, tests: str, setup: str = "", entry: str = "") -> dict[str, Any]:
    """A row's meta, as data sets of that form have it."""
    parts = [part.strip("\n") for part in tests.split("\n\n") if part.strip()]
    if form == "asserts":
        return {"tests": parts}
    if form == "mbpp":
        return {"test_list": parts, "test_setup_code": setup, "challenge_test_list": []}
    if form == "humaneval":
        return {"test": tests, "entry_point": entry}
    if form not in FORMS:
        raise ValueError(f"form is one of {', '.join(FORMS)}, not {form!r}")
    return {"tests": tests}


def recast(problem: Problem) -> list[Problem]:
    """The same problem in the other forms; empty unless its tests are a list of asserts."""
    if problem.form != "asserts":
        return []
    parts: list[str] = problem.meta["tests"]
    used = sorted(top_names(problem.right[0]) & _names_read("\n".join(parts)))
    entry = used[0]
    bodies = [textwrap.indent(part, "    ") for part in parts]
    indented = [textwrap.indent(part, "        ") for part in parts]
    importing = f"from solution import {', '.join(used)}\n\n\n"
    texts = {
        "text": "\n".join(parts) + "\n",
        "mbpp": "\n\n".join(parts),
        "humaneval": f"def check(candidate):\n    {entry} = candidate\n" + "\n".join(bodies) + "\n",
        "pytest": importing + "\n\n\n".join(f"def test_{at}():\n{body}" for at, body in enumerate(bodies)) + "\n",
        "unittest": f"import unittest\n{importing}class TestSolution(unittest.TestCase):\n"
        + "\n\n".join(f"    def test_{at}(self):\n{body}" for at, body in enumerate(indented)) + "\n",
    }  # fmt: skip
    return [
        replace(problem, name=f"{problem.name}-{form}", form=form, meta=meta_of(form, text, entry=entry))
        for form, text in texts.items()
    ]


def top_names(program: str) -> set[str]:
    """Names that a program defines at its top level, without those it imports."""
    found: set[str] = set()
    for node in ast.parse(program).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def _names_read(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
