"""A standing search for texts whose work grows with the square of their length, in every rule that reads a text.

Work is counted, never timed: Python's calls for the rules themselves. What a pattern does within one call is not seen
there, so its form is checked: one that is searched for and begins with a repeat starts anew at each character of it.
"""

from __future__ import annotations

import ast
import importlib
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile_texts import HOSTILE
from verikit.names.spec import load
from verikit.types import Sample

SEED = 20
UNITS = 24
SMALL, FACTOR = 1_500, 4
MOST_GROWTH = 2.0 * FACTOR
"""Linear work grows by `FACTOR`, quadratic work by its square."""
NOISE = 20_000
"""Calls that are not judged: what is done once, and what a cap lets through."""
RULES = [
    "answer(tail_seconds=0)", "math(tail_seconds=0)", "boxed", "boxed(once=True)", "choice", "numeric", "exact", "f1",
    "cover_em", "citations", "refusal", "length(max=100)", "length(max=100, unit='words')", "repetition",
    "tags('think', 'answer')", "json_schema(schema={'type': 'object'})", "yaml", "toml", "csv", "tool_calls",
    "instructions", "json_match(unordered=True, abs_tol=0.1)", "regex('x[0-9]y')",
]  # fmt: skip
GOLDS = {
    "choice": "B",
    "json_match(unordered=True, abs_tol=0.1)": "[1, 2]",
    "tool_calls": '[{"name": "f", "arguments": {"a": 1}}]',
}
META = {
    "options": ["one", "two", "three"], "passages": ["the quick brown fox", "a lazy dog"],
    "tool_calls": [{"name": "f", "arguments": {"a": 1}}], "instruction_id_list": ["punctuation:no_comma"],
    "kwargs": [{}],
}  # fmt: skip
PACKAGES = ("verifiers", "answers", "graders", "readers")
SEARCHES = {"search", "sub", "subn", "split", "finditer", "findall"}
BOUNDED = {
    ("verikit.verifiers.reading.stated", "_ITEMS"),
    ("verikit.answers.extra.piecewise", "_LABEL"), ("verikit.answers.judging", "_QUALIFIER"),
    ("verikit.replies.split", "_END_OF_TURN"),
}  # fmt: skip
"""Patterns that begin with a repeat and are searched for in texts that are short by then, or stripped."""


def calls(work: Callable[[], Any]) -> int:
    """How many calls and returns of functions it takes."""
    taken = 0

    def count(*_: Any) -> None:
        nonlocal taken
        taken += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return taken


def units() -> list[str]:
    """Texts to repeat: the known ones, and new ones made of two of them."""
    draw = random.Random(SEED)
    return [*HOSTILE, "a = 1\n", "- a\n", "a: ", "<tool_call>", "“a b c d”", "[1] ", "a.", "a,b\n", "\\frac{", "x^",
            *("".join(draw.sample(HOSTILE, 2)) for _ in range(UNITS))]  # fmt: skip


def sample(rule: str, text: str) -> Sample:
    """A text in a row that is sound for the rule."""
    return Sample(prompt="What is it?", completion=text, answer=GOLDS.get(rule, "12"), meta=META)


@pytest.mark.parametrize("rule", RULES)
def test_calls_grow_with_the_length_of_a_text_and_not_with_its_square(rule: str) -> None:
    verifier = load(rule)
    assert verifier.score([sample(rule, "The answer is 12.")])[0].scored

    def work(text: str) -> int:
        return calls(lambda: verifier.score([sample(rule, text)]))

    for unit in units():
        small = work((unit * (SMALL // len(unit) + 1))[:SMALL])
        large = work((unit * (FACTOR * SMALL // len(unit) + 1))[: FACTOR * SMALL])
        assert large <= MOST_GROWTH * small + NOISE, f"{unit!r}: {small} calls, {large} for {FACTOR} times the text"


def searched(module: Any) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The patterns of a module that it searches for, rather than matches at a place."""
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    used = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in SEARCHES and isinstance(node.value, ast.Name)
    }
    yield from ((name, value) for name, value in vars(module).items() if name in used and isinstance(value, re.Pattern))


def begins_with_a_repeat(pattern: re.Pattern[Any]) -> bool:
    """Whether it begins with an unbounded repeat, after which something may fail."""
    parser, codes = importlib.import_module("re._parser"), importlib.import_module("re._constants")
    items = list(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    while items and items[0][0] is codes.SUBPATTERN:
        items = [*items[0][1][3], *items[1:]]
    repeats = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
    return len(items) > 1 and items[0][0] in repeats and items[0][1][1] is codes.MAXREPEAT


def test_no_pattern_that_is_searched_for_starts_anew_within_its_first_repeat() -> None:
    found, seen = set(), 0
    root = Path(importlib.import_module("verikit").__file__ or "").parent
    files = [file for name in PACKAGES for file in (root / name).rglob("*.py")] + list(root.glob("*.py"))
    for file in files:
        name = ".".join(("verikit", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        if name.endswith("__main__"):
            continue
        for pattern, compiled in searched(importlib.import_module(name)):
            seen += 1
            if begins_with_a_repeat(compiled):
                found.add((name, pattern))
    assert seen > 100
    assert found <= BOUNDED, "put a look-behind before the repeat, as `_LONG_KEY` of verifiers/toml.py has"


def test_the_search_sees_a_pattern_that_starts_anew() -> None:
    assert begins_with_a_repeat(re.compile(r"[\w-]++\."))
    assert begins_with_a_repeat(re.compile(r"((\w+)\.)"))
    assert not begins_with_a_repeat(re.compile(r"(?<![\w-])[\w-]++\."))
    assert not begins_with_a_repeat(re.compile(r"\w+"))
