"""Failures of the program that no test handled: which of them remain after the tests have run.

A failed call raises the program's exception in the tests, and test code may expect and catch it. But `for`, `zip`,
`map` and `iter` treat some exceptions as an end, and would skip the code under test. So each failure of a call is
stored. In the end its traceback shows whether a handler in Python's source caught it, or the interpreter itself
discarded it (`IndexError` out of `__getitem__`).
"""

from __future__ import annotations

import dis
import os


class EndedCallError(RuntimeError):
    """The program broke a limit or ended itself during a call. Tests can't expect this."""


def swallowed(error: BaseException) -> bool:
    """Whether an exception that is no longer raised was never caught by a handler in Python's source, or must not be.

    Its last frame is then the call's own frame, or one that does not protect the line (Python 3.11 adds a frame to a
    traceback only when a handler catches it).
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
    """Whether code belongs to the proxies: it is in this module's folder, or in the same bundle."""
    own = _is_ours.__code__.co_filename
    folder = os.path.dirname(own)
    return filename == own or bool(folder and filename.startswith(folder + os.sep))


def why_lost(error: BaseException) -> str:
    """The description of a failure that `swallowed` found."""
    if isinstance(error, EndedCallError):
        return f"a call did not end well: {error}"
    return f"a call raised {type(error).__name__}, taken for the end of an iteration"
