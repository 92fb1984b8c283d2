"""Templates: `{{ item.key }}` and `{{ sample.output_json.names[0] }}` in a text, filled in once.

A path is a namespace and then keys separated by points, or in brackets as numbers or quoted strings. Inserted values
are never read as templates. If a path into `item` doesn't exist, the data is wrong. If a path into `sample` doesn't
exist, the candidate is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verikit.errors import UsageError

_HOLE = re.compile(r"\{\{([^{}]{0,500})\}\}")
_BRACES = re.compile(r"\{\{|\{\s{0,99}(?:item|sample)\b[^{}]{0,500}\}\}|[{}]")
_STEP = re.compile(
    r"""\.?([A-Za-z_][\w-]{0,99})|\[\s?(-?\d{1,6})\s?\]|\[\s?"([^"\]]{0,99})"\s?\]|\[\s?'([^'\]]{0,99})'\s?\]"""
)
NAMESPACES = ("item", "sample")
SAMPLE = ("output_text", "output_json", "output_tools", "choices", "output_audio")
"""The keys of `sample`."""


class NoValue(LookupError):
    """A path does not exist. `namespace` tells whether the data or the candidate caused it."""

    def __init__(self, namespace: str, path: str) -> None:
        super().__init__(f"{path} not found")
        self.namespace = namespace


Path = tuple[str | int, ...]


def parse(path: str) -> Path:
    """The steps of a path, starting with its namespace.

    Raises:
        UsageError: The text is not a path, or its namespace is unknown.
    """
    steps = _steps(path)
    if not steps or steps[0] not in NAMESPACES:
        raise UsageError(f"{path!r} names neither item nor sample", hint="{{item.key}}, {{sample.output_text}}")
    if steps[0] == "sample" and (len(steps) < 2 or steps[1] not in SAMPLE):
        raise UsageError(f"sample has no {path!r}", hint=f"available: {', '.join(SAMPLE)}")
    return tuple(steps)


def _steps(path: str) -> list[str | int]:
    text, at = path.strip(), 0
    steps: list[str | int] = []
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (not steps and match[1] is None):
            raise UsageError(f"can't read the path {path!r}", hint="{{item.key}}, {{sample.output_text}}")
        steps.append(int(match[2]) if match[2] is not None else match[1] or match[3] or match[4] or "")
        at = match.end()
    return steps


def check(text: str) -> None:
    """Reject a template that can't be filled in.

    JSON in a template is allowed. Its `}}` closes two open brackets.

    Raises:
        UsageError: An invalid path, or doubled brackets without a path between them.
    """
    for hole in _HOLE.finditer(text):
        parse(hole[1])
    rest, opened = _HOLE.sub("…", text), 0
    for brace in _BRACES.finditer(rest):
        sign, at = brace[0], brace.start()
        if len(sign) > 1 or (rest.startswith("}}", at) and opened < 2):
            problem = f"doubled brackets without a path between them, at {rest[at : at + 40]!r}"
            raise UsageError(problem, hint="{{item.key}}, of at most 500 characters")
        opened = max(0, opened + (1 if sign == "{" else -1))


def lookup(path: Path, values: Mapping[str, Any]) -> Any:
    """The value at a path.

    Raises:
        NoValue: The path does not exist or its value is null.
    """
    found: Any = values
    for step in path:
        try:
            if isinstance(step, int) and not (isinstance(found, Sequence) and not isinstance(found, str)):
                raise LookupError
            if isinstance(step, str) and not isinstance(found, Mapping):
                raise LookupError
            found = _at(found, step)
        except LookupError:
            raise NoValue(str(path[0]), ".".join(map(str, path))) from None
    if found is None:
        raise NoValue(str(path[0]), ".".join(map(str, path)))
    return found


def _at(held: Any, step: str | int) -> Any:
    return held[step]


def text_of(value: Any) -> str:
    """A value as shown in a template: strings unchanged, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def filled(text: str, values: Mapping[str, Any], show: Callable[[Path, str], str] = lambda path, text: text) -> str:
    """Fill a template with values.

    Args:
        text: The template.
        values: `item` and `sample`.
        show: Transforms each value's text, given its path.

    Raises:
        NoValue: A path does not exist.
    """

    def fill(hole: re.Match[str]) -> str:
        path = parse(hole[1])
        return show(path, text_of(lookup(path, values)))

    return _HOLE.sub(fill, text)
