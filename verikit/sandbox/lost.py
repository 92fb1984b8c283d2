"""Failures of the program that no test met: what is left of them once the tests have run.

A call that failed raises in the tests what it raised in the program, and test code may expect that and catch it. But
`for`, `zip`, `map` and `iter` take some exceptions for an end, and would leave out what was to be tested. So each
failure of a call is kept. In the end its traceback tells whether a handler in Python's source met it, or the
interpreter itself let it vanish (`IndexError` out of `__getitem__`).
"""

from __future__ import annotations

import dis
import os


class EndedCallError(RuntimeError):
    """The program broke a limit or ended itself during a call: nothing that a test may expect."""


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
    return _is_ours(code.co_filename) or not protected


def _is_ours(filename: str) -> bool:
    """Whether code belongs to the proxies: it lies beside this module, or came in the same bundle."""
    own = _is_ours.__code__.co_filename
    folder = os.path.dirname(own)
    return filename == own or bool(folder and filename.startswith(folder + os.sep))


def why_lost(error: BaseException) -> str:
    """What is wrong with a failure that `swallowed` tells."""
    if isinstance(error, EndedCallError):
        return f"a call did not end well: {error}"
    return f"a call raised {type(error).__name__}, taken for the end of an iteration"
