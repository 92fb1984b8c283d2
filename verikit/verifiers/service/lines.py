"""A row's lines to a service that speaks a line protocol over TCP, and checks of its replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verikit.answers.claims.json_fields import JsonRules, unfit
from verikit.errors import AgentFault, UsageError
from verikit.verifiers.service.replies import json_fault, json_of
from verikit.verifiers.service.values import filled, filled_text

_KEYS = {"line", "same", "expect", "keep"}
_HINT = '{"line": "GET a", "expect": {"line": "1"}}, {"line": {"get": "a"}, "same": true, "expect": {"json": {"a": 1}}}'
_MOST_LINES, _MOST_BYTES = 1000, 64 << 10


@dataclass(frozen=True)
class DeclaredLine:
    """A line to send, and what the lines of its reply must be."""

    line: str | Mapping[str, Any] | None
    """JSON is sent as one line. None: the service speaks first."""
    same: bool = False
    """Whether it is sent over the connection of the line before."""
    expect: Mapping[str, Any] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    """Names, each with the path of a value in the reply's JSON."""

    def __str__(self) -> str:
        shown = self.line if isinstance(self.line, str) else json.dumps(self.line, default=str)
        return f"line {shown}"[:80]

    @property
    def count(self) -> int:
        """The number of lines of the reply."""
        wanted = self.expect.get("line")
        return 1 if wanted is None or isinstance(wanted, str) else len(wanted)

    def encoded(self, kept: Mapping[str, str | int]) -> bytes | None:
        """The line to send, with values kept from earlier replies."""
        if self.line is None:
            return None
        if isinstance(self.line, str):
            return filled_text(self.line, kept).encode()
        return json.dumps(filled(self.line, kept)).encode()

    def fault(self, reply: Sequence[bytes], kept: Mapping[str, str | int], rules: JsonRules) -> str:
        """The problem with the lines of a reply, "" if there isn't one.

        Raises:
            AgentFault: They can't be read.
        """
        texts = [_text(line) for line in reply]
        wanted = self.expect.get("line")
        lines = [wanted] if isinstance(wanted, str) else wanted
        if lines is not None and texts != [filled_text(line, kept) for line in lines]:
            return f"the reply is {str(texts)[:160]}"
        return json_fault(texts[0], self.expect["json"], kept, rules) if "json" in self.expect else ""

    def kept(self, reply: Sequence[bytes]) -> Any:
        """The JSON of a reply, from which values are kept."""
        return json_of(_text(reply[0]))


def read_line(told: Mapping[str, Any]) -> DeclaredLine:
    """A row's line.

    Raises:
        UsageError: It has another format.
    """
    if not set(told) <= _KEYS:
        raise UsageError(f"{told!r:.200} is not a line with an expected reply", hint=_HINT)
    ask = DeclaredLine(told["line"], told.get("same", False), told.get("expect", {}), told.get("keep", {}))
    problem = _problem(ask) or _expected_problem(ask.expect)
    if not problem and ask.keep and ask.count != 1:
        problem = "values are kept from a reply of one line"
    if problem:
        raise UsageError(f"{ask}: {problem}", hint=_HINT)
    return ask


def _problem(ask: DeclaredLine) -> str:
    if not (ask.line is None or isinstance(ask.line, str | Mapping)) or not isinstance(ask.same, bool):
        return "line must be a string, an object or null, and same true or false"
    if not isinstance(ask.keep, Mapping) or not all(isinstance(one, str) for pair in ask.keep.items() for one in pair):
        return "keep must map strings to strings"
    try:
        sent = ask.encoded({}) or b""
    except (TypeError, ValueError, RecursionError) as error:
        return f"it can't be sent: {error}"
    return "it must be one line of at most 64 KiB" if b"\n" in sent or len(sent) > _MOST_BYTES else ""


def _expected_problem(expect: Mapping[str, Any]) -> str:
    if not isinstance(expect, Mapping) or not set(expect) <= {"line", "json"} or len(expect) > 1:
        return "expect has the key line or json"
    wanted = expect.get("line", "")
    lines = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(lines, list | tuple) or len(lines) > _MOST_LINES:
        return f"the expected line must be a string, or a list of at most {_MOST_LINES}"
    if not all(isinstance(line, str) and "\n" not in line for line in lines):
        return "the expected lines must be strings without line ends"
    return unfit(expect.get("json"))


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise AgentFault("the reply is not UTF-8") from None
