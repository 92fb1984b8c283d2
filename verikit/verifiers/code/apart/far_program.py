"""A program as test code in another sandbox uses it: its objects stay in their own child (`sandbox.proxies`).

The tests and the program talk line by line, and every line passes through here. The program's child lives for one run
of the tests, so objects live as long as the tests use them. Tests that passed run again with other expected values
(`changed_tests`), and have to fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from verikit.sandbox import FunctionCall, LocalSandbox, RunLimits, RunResult, values
from verikit.sandbox.budget import Budget
from verikit.sandbox.session import Conversation
from verikit.verifiers.code.apart.equality import Asked, ObjectEquality, question_of
from verikit.verifiers.falsified.changed_tests import ALARM, VARIANTS, changed, still_passing

_LINE_KB = values.MAX_LINE >> 10
"""Maximum size of one message, in KiB; it includes data of the tests."""
ANY_PROGRAM = """
class Anything(Exception):
    def __init__(self, *args, **kwargs): pass
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()
    def __call__(self, *args, **kwargs): return Anything()
    def __getitem__(self, key): return Anything()
    def __iter__(self): return iter(())
    def __enter__(self): return self
    def __exit__(self, *error): return False

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything
"""
"""A program that has every name: if tests don't even start next to it, the tests are wrong."""


class FarProgram:
    """A program that test code uses from afar.

    Args:
        program: its source.
        box: runs the program and the tests.
        budget: the row's budget.
        tests: the test code, which determines the modules to load.
    """

    def __init__(self, program: str, box: LocalSandbox, budget: Budget, tests: str) -> None:
        self._program, self._box, self._budget = program, box, budget
        self._science = any(name in text for name in ("numpy", "sympy", "pandas") for text in (tests, program))
        self._loaded = [*(["pandas"] if "pandas" in tests + program else []), "talking"]
        self._compared_by_numpy = "numpy" in tests
        self._plain = True
        self.met = False
        """Whether the tests used the program at all."""

    def run(self, code: str, names: tuple[str, ...] = (), call: FunctionCall | None = None) -> RunResult:
        """Run test code next to the program, each in its own child.

        Args:
            code: the tests.
            names: names of the program, even if Python defines them too.
            call: a function of the tests to call then.
        """

        def drive(limits: RunLimits) -> RunResult:
            with ExitStack() as open_sessions:
                limits = replace(limits, value_kb=_LINE_KB)
                talk = _Talk(self, limits, open_sessions)
                runners = ["testing"] if call is not None else []
                tests = self._box.session(limits, science=self._science, loaded=[*runners, *self._loaded])
                result = open_sessions.enter_context(tests).run(
                    code, call=call, role="tests", names=names, relay=talk.relay
                )
            self.met = self.met or talk.met
            self._plain = self._plain and talk.plain
            if talk.unfounded and result.error is not None:
                result = replace(
                    result, error=replace(result.error, message=f"{result.error.message} {talk.unfounded}".strip())
                )
            return talk.infra or result

        result = self._budget.run(drive)
        told = result.status == "infra_error" or (call is not None and result.status == "ok")
        return self._budget.late() if self._budget.is_spent and not told else result

    def outlasts(self, text: str, rerun: Callable[[str], RunResult]) -> RunResult | dict[str, str]:
        """The names of tests that also pass with other expected values, each with the evidence.

        Args:
            text: the source of tests that passed.
            rerun: runs other tests.

        Returns:
            A result instead if a run did not end; its status shows the cause.
        """
        found: dict[str, str] | None = None
        for variant in range(VARIANTS if self._compared_by_numpy or not self._plain else 0):
            other = changed(text, guarded=True, variant=variant)
            result = rerun(other) if other else RunResult("ok", [])
            if result.status in ("infra_error", "timeout"):
                return result
            found = still_passing(found, _alarms(result))
            if not found:
                break
        return found or {}

    def open(self, limits: RunLimits) -> Conversation:
        """A fresh child for the program."""
        return self._box.session(limits, science=self._science, loaded=self._loaded)

    @property
    def program(self) -> str:
        """Its text."""
        return self._program

    @property
    def budget(self) -> Budget:
        """Of the row."""
        return self._budget


class _Talk:
    """One conversation: lines of the tests go to the program's child, and its lines come back."""

    def __init__(self, far: FarProgram, limits: RunLimits, sessions: ExitStack) -> None:
        self._far, self._limits, self._sessions = far, limits, sessions
        self._children: list[Conversation] = []
        self._said: list[str] = []
        self._questions: list[str] = []
        """Questions that the program sent instead of the answer to a line (`question_of`)."""
        self._ended = ""
        self._equality = ObjectEquality(self._fresh, self._late, limits.wall_s)
        self._charged_s = 0.0
        """Seconds of the children already charged to the row's budget."""
        self.met = False
        self.plain = True
        """Whether the program returned only values that equal a single value under any comparison."""
        self.infra: RunResult | None = None

    @property
    def unfounded(self) -> str:
        """The problem with the program's claims of equality; empty if there isn't one."""
        return "an object of the program equals whatever it is compared with" if self._equality.unfounded else ""

    def relay(self, line: str) -> str:
        """The program's answer to a line of the tests."""
        message = json.loads(line)
        operation = str(message.get("op", [""])[0])
        self.met = self.met or operation != "names"
        if self._ended or self._far.budget.is_spent:
            return _gone(self._ended or "timeout: the row has no time left")
        compared = message.pop("compare", None)
        answer = self._say(line) if compared is None else self._compare(message, compared)
        self._charge()
        if isinstance(answer, RunResult):
            self._end(answer)
            return _gone(self._ended)
        if operation not in ("names", "global"):
            self.plain = self.plain and is_plain_line(answer)
        return answer

    def _charge(self) -> None:
        used_s = sum(child.used_s for child in self._children)
        self._far.budget.spend(used_s - self._charged_s)
        self._charged_s = used_s

    def _late(self) -> RunResult | None:
        """The result of a row without time left; None if there is time left."""
        self._charge()
        return self._far.budget.late() if self._far.budget.is_spent else None

    def _say(self, line: str) -> str | RunResult:
        if not self._children:
            self._sessions.enter_context(self._fresh())
        self._said.append(line)
        answer = _gone(self._ended) if self._ended else self._children[0].exchange(line)
        self._questions.append(question_of(answer) if isinstance(answer, str) else "")
        return answer

    def _compare(self, message: dict[str, Any], compared: list[Any]) -> str | RunResult:
        """Answer whether two values are equal, or whether a claim of the program's own child is founded."""
        before = len(self._said)
        answer = self._say(json.dumps(message | {"op": ["nothing"]}))
        if not isinstance(answer, str):
            return answer
        kind, *operands = compared
        if kind == "equal":
            return self._equality.judged(self._said, *operands)
        *claim, start = operands
        at = min(int(start), before)
        asked = [
            Asked(*pair) for pair in zip(self._questions[at : before - 1], self._said[at + 1 : before], strict=True)
        ]
        return self._equality.founded(self._said[:at], asked, *claim)

    def _fresh(self) -> Conversation:
        """A child that has the program's text and waits for the first line."""
        session = self._far.open(self._limits)
        self._children.append(session)
        ready = session.begin(self._far.program, "program")
        if isinstance(ready, RunResult):
            self._end(ready)
        return session

    def _end(self, result: RunResult) -> None:
        """Keep how the program ended."""
        if result.status == "infra_error":
            self.infra = result
        if not self._ended:
            status = "no result" if result.status == "ok" else result.status
            self._ended = f"{status}: {result.error or 'the program ended its part of the conversation'}"


def _gone(why: str) -> str:
    return json.dumps({"status": "turn", "ended": why})


def is_plain_line(line: str) -> bool:
    """Whether a program's line has only values that can't appear equal to several others."""
    message = json.loads(line)
    if "value" not in message:
        return True
    try:
        return not message.get("sync") and is_plain(message["value"])
    except (ValueError, TypeError, IndexError, KeyError, RecursionError):
        return False  # not well-formed: the tests reject it


def is_plain(node: Any) -> bool:
    """Whether a packed value contains only plain values and finite numbers: no objects, arrays or empty values."""
    tag, *fields = node
    if tag in ("tuple", "frozenset"):
        return bool(fields[0]) and all(map(is_plain, fields[0]))
    if tag == "new":
        _, kind, cells, _ = fields
        return kind in ("list", "dict", "set", "deque") and bool(cells) and all(map(is_plain, cells))
    if tag == "value":
        return _is_plain_scalar(fields[0])
    return False


def _is_plain_scalar(node: Any) -> bool:
    if not isinstance(node, list):
        return node is None or isinstance(node, bool) or bool(node)
    if node[0] == "float":
        return node[1] not in ("nan", "inf", "-inf")
    return node[0] in ("int", "fraction", "decimal")


def _alarms(result: RunResult) -> dict[str, str]:
    """The alarms of changed tests: unnamed for a whole program, by test name for a test file."""
    if result.error is not None:
        return {"": result.error.message} if result.error.type == ALARM else {}
    told = {name: message.partition(f"{ALARM}: ") for name, _, message in result.value or ()}
    return {name: why for name, (_, found, why) in told.items() if found}
