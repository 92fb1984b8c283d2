"""Scripts within commands: the files and texts that shells and interpreters run, and what options of pytest write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from verikit.verifiers.tools.commands import SimpleCommand, Word

SHELLS = frozenset("sh bash zsh dash ksh ash fish".split())
INTERPRETERS = frozenset("python perl ruby node php lua Rscript pypy deno bun".split())
_JOINED_CODE = re.compile(r"-[bBdEiIOPqsSuvx]*c")
"""Letters of Python that take no value, then its `-c`."""
_PYTEST_READS = frozenset(
    """--tb --maxfail --no-header --no-summary --lf --ff --durations --durations-min --disable-warnings --collect-only
    --verbose --quiet --exitfirst --color --timeout --timeout-method --capture --show-capture --showlocals --ignore
    --ignore-glob --deselect --no-cov --co --last-failed --failed-first --sw --stepwise --nf --verbosity
    --strict-markers --full-trace --runxfail --disable-pytest-warnings --reruns --numprocesses --dist""".split()
)
"""Long options of pytest that write nothing."""
_PYTEST_SHORT = re.compile(r"-[qvxsl]*[kmnWr]|-[qvxsl]+$")


def _code_flag(arguments: Sequence[Word]) -> int | None:
    """The position of a shell's `-c`, which may be one of several letters."""
    return next((n for n, word in enumerate(arguments) if word.text.startswith("-") and "c" in word.text), None)


def script_file(arguments: Sequence[Word]) -> Word | None:
    """The file that a shell runs."""
    files = [word for word in arguments if not word.text.startswith("-")]
    return files[0] if _code_flag(arguments) is None and files and files[0].known else None


def script_text(program: str, arguments: Sequence[Word], given: str | None) -> str | None:
    """The script that a program runs, from its arguments or its input. None if the text doesn't contain it."""
    if program == "eval":
        return " ".join(word.text for word in arguments) if all(word.known for word in arguments) else None
    if program not in SHELLS:
        return None
    flag = _code_flag(arguments)
    if flag is None:
        return given
    script = arguments[flag + 1 : flag + 2]
    return script[0].text if script and script[0].known else None


def has_code(arguments: Sequence[Word]) -> bool:
    """Whether an interpreter gets code in its arguments or its input instead of a file."""
    options = takewhile(lambda word: word.text.startswith("-"), arguments)
    joined = any(_JOINED_CODE.match(word.text) for word in options)
    return joined or not arguments or any(word.text in ("-c", "-e", "-r", "-p", "-") for word in arguments)


def hides_input(command: SimpleCommand) -> bool:
    """Whether the text does not show the input of a command, or the shell may put something else into it."""
    given = command.given
    if given is None:
        return command.piped
    return command.altered and ("$" in given or "`" in given)


def writes_nothing(flag: str) -> bool:
    """Whether an option of pytest writes nothing."""
    if not flag.startswith("--"):
        return bool(_PYTEST_SHORT.match(flag))
    return flag.partition("=")[0] in _PYTEST_READS or flag.startswith(("--cov=", "--cov-report=term"))


def shown_code(arguments: Sequence[Word], command: SimpleCommand) -> str | None:
    """The arguments and the input that contain the code of a program in another language; None if they are hidden."""
    in_arguments = any(word.text in ("-c", "-e") for word in arguments)
    filled_in = any("$file" in word.text and not word.known for word in arguments)
    if filled_in or (not in_arguments and hides_input(command)):
        return None
    return "\n".join([*(word.text for word in arguments), command.given or ""])
