"""Functions that live in another sandbox, as the test code of a session finds them: each call is a question.

A call that failed raises here what it raised there, and test code may expect that and catch it. But `for`, `zip`, `map`
and `iter` take some exceptions for an end, and would leave out what was to be tested. So `StopIteration` arrives as
RuntimeError, as it does out of a generator (PEP 479); and each failure is kept: in the end its traceback tells whether
a handler in Python's source met it, or the interpreter itself let it vanish (`IndexError` out of `__getitem__`).
"""

from __future__ import annotations

import builtins
import dis
import json
from collections.abc import Callable
from typing import Any

from verikit.sandbox import values
from verikit.sandbox.foreign import Array, Symbolic
from verikit.sandbox.plain import plain

_ENDS = (StopIteration, StopAsyncIteration)


class EndedCallError(RuntimeError):
    """The program broke a limit or ended itself during a call: nothing that a test may expect."""


class Remote:
    """A function that lives elsewhere.

    Args:
        name: of the function.
        ask: puts a question, a JSON object, and returns the answer's line.
        failed: where exceptions of calls are kept.
    """

    def __init__(self, name: str, ask: Callable[[dict[str, Any]], str], failed: list[Exception]) -> None:
        self._name, self._ask, self._failed = name, ask, failed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            Exception: what the call raised, or RuntimeError if that is no exception that Python itself has.
        """
        try:
            return self._call(args, kwargs)
        except Exception as error:
            self._failed.append(error)
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        question = {"status": "call", "value": values.encode([self._name, list(args), kwargs])}
        answer = json.loads(self._ask(question))
        if answer["status"] == "ok":
            return thawed(values.decode(answer["value"]))
        if answer["status"] != "error":
            raise EndedCallError(f"{answer['status']}: {answer['message']}")
        kind = getattr(builtins, str(answer["type"]), None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, _ENDS):
            raise RuntimeError(f"{answer['type']}: {answer['message']}")
        try:
            error = kind(answer["message"])
        except TypeError:  # some take more than a message
            error = RuntimeError(answer["message"])
        raise error


def thawed(value: Any) -> Any:
    """A value with its numpy data as numpy has it, and sympy's numbers as Python's, at any depth."""
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(map(thawed, value))
    if isinstance(value, dict):
        return {thawed(key): thawed(item) for key, item in value.items()}
    if isinstance(value, Symbolic):
        return plain(value)
    if not isinstance(value, Array):
        return value
    import numpy

    array = numpy.array(value.items, dtype=value.dtype)
    return array[0] if value.shape is None else array.reshape(value.shape)


def swallowed(error: BaseException) -> bool:
    """Whether an exception that nobody raises any more was met by no handler in Python's source, or must not be.

    Its last frame is then that of the call itself, or one that does not protect the line (Python 3.11 tells a frame of
    a traceback only when a handler meets it).
    """
    if isinstance(error, EndedCallError):
        return True
    last = error.__traceback__
    if last is None:
        return False
    code = last.tb_frame.f_code
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    protected = any(entry.start <= last.tb_lasti < entry.end for entry in entries)
    return code is Remote.__call__.__code__ or not protected


def why_lost(error: BaseException) -> str:
    """What is wrong with a failure that `swallowed` tells."""
    if isinstance(error, EndedCallError):
        return f"a call did not end well: {error}"
    return f"a call raised {type(error).__name__}, taken for the end of an iteration"
