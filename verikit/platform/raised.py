"""Exceptions as text: one line for a reason, the user's line that raised, and the traceback of the user's code."""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path

from verikit.errors import VerikitError, with_hint
from verikit.platform.secrets import strike

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_FRAMES = 10
"""Frames of a traceback that are kept, the innermost ones."""


def describe(error: BaseException) -> str:
    """One line for a reason: the type, the message, and the hint of our own errors; cut at 500 characters."""
    # The library's own way of saying it: it copes with an exception that can't be turned into text.
    text = " ".join(traceback.format_exception_only(error)[-1].split()).removeprefix(f"{type(error).__module__}.")
    text = strike(with_hint(text, error.hint) if isinstance(error, VerikitError) else text)
    return text if len(text) <= 500 else text[:499] + "…"


def raised_at(error: BaseException) -> str:
    """Behind a reason, the line of the user's code that an exception came from: ` (reward.py:12)`; else nothing."""
    frames = _foreign(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({os.path.basename(error.filename)}:{error.lineno})"
    within = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({os.path.basename(within[-1].filename)}:{within[-1].lineno})" if within else ""


def traced(error: BaseException) -> str:
    """The traceback of what the user's code raised, from where verikit called it; "" if it was verikit itself.

    Files are relative to the current folder, and outside of it they have only their package or name. So a published run
    does not contain the paths of the machine.
    """
    frames = _foreign(error)[-_FRAMES:]
    lines = traceback.format_list(frames)
    for i, frame in enumerate(frames):
        lines[i] = lines[i].replace(f'"{frame.filename}"', f'"{_short(frame.filename)}"', 1)
    return strike("".join(lines)) if frames else ""


def _short(filename: str) -> str:
    """A file's path from the current folder or from the folder of installed packages; otherwise its name."""
    packages = sysconfig.get_paths()
    for folder in (_current(), packages["purelib"], packages["platlib"], packages["stdlib"], _PACKAGE):
        if folder and Path(filename).is_relative_to(folder):
            return str(Path(filename).relative_to(folder))
    return os.path.basename(filename)


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was deleted
        return ""


def _foreign(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames of a traceback from the first on that is not of this package; none for what it raises on purpose."""
    if isinstance(error, VerikitError):
        return []
    frames = traceback.extract_tb(error.__traceback__)
    outside = (i for i, frame in enumerate(frames) if not frame.filename.startswith((_PACKAGE, "<frozen importlib")))
    return frames[next(outside, len(frames)) :]
