"""Scores an answer by reasoning_gym's own scorer. Text of the answer is never executed.

Some scorers of the package evaluate the answer as Python (n_queens, spiral_matrix, …) or by sympy's parser, which does
the same. Here the former only read literals. The latter only gets numbers, variables, arithmetic and elementary
functions: no attribute, no text, no name that lets sympy solve the task (Integral, expand, solve).
"""

import ast
import importlib
import json
import re
from collections.abc import Mapping
from typing import Any, cast

import reasoning_gym.factory
import sympy

LITERALS = ("algorithmic.string_insertion", "algorithmic.spiral_matrix", "algorithmic.binary_matrix", "games.n_queens")
PARSERS = ("games.puzzle24", "games.countdown")
FUNCTIONS = frozenset(
    "sin cos tan cot sec csc sinh cosh tanh asin acos atan asinh acosh atanh exp log ln sqrt Abs pi E I".split()
)
TOKEN = re.compile(r"\s+|(?P<name>[A-Za-z_]\w*)|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+|\*\*|[-+*/^(),]")
WHOLE = ("sokoban", "word_ladder")
"""Datasets whose scorer needs the data that they load."""
VARIABLE = re.compile(r"[a-z]|[A-Za-z]\d+")
MOST = 2000
parse = sympy.parse_expr


def plain_parse(text: Any, *args: Any, **options: Any) -> Any:
    """Parse a plain formula by sympy's parser.

    Raises:
        ValueError: It is more than that.
    """
    at, known = 0, {**(options.get("local_dict") or {})}
    if not isinstance(text, str) or len(text) > MOST:
        raise ValueError("no formula")
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"no formula: {text[at : at + 20]!r}")
        name = token["name"]
        if name and name not in FUNCTIONS and name not in known and not VARIABLE.fullmatch(name):
            raise ValueError(f"no formula: {name}")
        at = token.end()
    return parse(text, *args, **options)


class JsonList(list[Any]):
    """A list of a row, equal to a tuple with the same items. The package's entries have tuples, which JSON lacks."""

    def __eq__(self, other: object) -> bool:
        return super().__eq__(list(other) if isinstance(other, tuple) else other)

    def __ne__(self, other: object) -> bool:
        return super().__ne__(list(other) if isinstance(other, tuple) else other)


def from_json(value: Any) -> Any:
    """A value read from JSON, with lists that are also equal to tuples."""
    if isinstance(value, list):
        return JsonList(map(from_json, value))
    if isinstance(value, dict):
        return {key: from_json(item) for key, item in value.items()}
    return value


def guard() -> None:
    """Let the package's scorers run no text."""
    for name in LITERALS:
        vars(importlib.import_module(f"reasoning_gym.{name}"))["eval"] = ast.literal_eval
    for name in PARSERS:
        vars(importlib.import_module(f"reasoning_gym.{name}"))["parse_expr"] = plain_parse
    sympy.parse_expr = plain_parse


def scorer(name: str, config: Mapping[str, Any]) -> Any:
    """A dataset that scores, without its words and puzzles unless its scorer reads them."""
    made_by, config_of = reasoning_gym.factory.DATASETS[name]
    settings = config_of(**config)
    if name in WHOLE:
        return made_by(config=settings)
    bare = cast("Any", made_by.__new__(made_by))
    bare.config, bare.seed, bare.size = settings, 0, 1
    if hasattr(settings, "board_format_opts"):
        bare.board_format_opts = settings.board_format_opts
    return bare


def score(name: str, answer: str, given: str, settings: str) -> list[Any]:
    """Score an answer to an entry with its dataset's settings, both as JSON.

    Returns ["score", number], ["row", why] if the row is invalid, or ["answer", why] if the answer is.

    If a scorer also fails on the row's own answer, the row is invalid.
    """
    try:
        entry, config = from_json(json.loads(given)), json.loads(settings)
    except RecursionError:
        return ["row", "its entry nests too deeply"]
    if name not in reasoning_gym.factory.DATASETS:
        return ["row", f"reasoning_gym has no data set {name!r}"]
    try:
        dataset = scorer(name, config)
    except (TypeError, ValueError, AssertionError) as error:
        return ["row", f"its settings make no data set {name}: {error}"]
    guard()
    try:
        return ["score", float(dataset.score_answer(answer, entry))]
    except Exception as error:  # noqa: BLE001 - the package's scorers raise anything
        problem = f"{type(error).__name__}: {error}"
    try:
        dataset.score_answer(entry["answer"], entry)
    except Exception as error:  # noqa: BLE001
        return ["row", f"the scorer of {name} fails on the row's own answer: {type(error).__name__}: {error}"]
    return ["answer", f"the scorer of {name} fails on it: {problem}"]
