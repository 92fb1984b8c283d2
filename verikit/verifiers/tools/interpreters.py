"""Programs that run code in another language: the code or the file that they run, and what they edit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import takewhile

from verikit.verifiers.tools.shell import SimpleCommand, Word

INTERPRETERS = frozenset("python perl ruby node php lua Rscript pypy deno bun".split())
_CODE = re.compile(r"-[bBdEiIOPqsSuvx]*c|-[0-9aFilnpsSwWx.]*[eErp]$|--eval|--print|--expression")
"""Letters of Python that take no value, then its `-c`; the `-e` of other languages; `-r` of PHP."""
_SHELL_START = re.compile(r"#!\s*\S*/(?:env\s+)?(?:ba|z|da|k|a)?sh\b")
_CODE_WORDS = frozenset(("-c", "-e", "-r", "-p", "eval"))


def code_of(program: str, arguments: Sequence[Word], command: SimpleCommand) -> str | None:
    """The code that an interpreter gets in its arguments or its input; "" if the text doesn't show it.

    None if it runs a file.
    """
    options = list(takewhile(partial(_is_option, program), (word.text for word in arguments)))
    in_arguments = any(map(_CODE.match, options)) or bool(_CODE_WORDS & {word.text for word in arguments})
    if not in_arguments and (_has_file(command) or (arguments and "-" not in options)):
        return None
    piped = command.given is None and command.piped and not in_arguments
    if piped or _filled_in(arguments):
        return ""
    return "\n".join([*(word.text for word in arguments), command.given or ""])


def _is_option(program: str, text: str) -> bool:
    return text.startswith("-") and not (text == "-m" and program == "python")


def _filled_in(arguments: Sequence[Word]) -> bool:
    """Whether `find` or `xargs` fills in a path."""
    return any("$file" in word.text and not word.known for word in arguments)


def _has_file(command: SimpleCommand) -> bool:
    """Whether the standard input is a file."""
    return command.given is None and any(sign == "<" for sign, _ in command.redirects)


def edits_in_place(program: str, arguments: Sequence[Word]) -> list[Word] | None:
    """The files that `perl -i` and `ruby -i` change; None without this option."""
    if program not in ("perl", "ruby"):
        return None
    flags = [word.text for word in arguments if word.text.startswith("-")]
    if not any(re.match(r"-[0-9lnpaw]*i", flag) for flag in flags):
        return None
    found, skip = list[Word](), False
    for word in arguments:
        is_option = word.text.startswith("-")
        if not is_option and not skip:
            found.append(word)
        skip = is_option and bool(re.search(r"^-[^-]*[eE]$", word.text))
    return found


def run_file(arguments: Sequence[Word], command: SimpleCommand) -> tuple[Word | None, list[Word]]:
    """The file that an interpreter runs, if there is one, and its other words that may be paths."""
    files = [word for word in arguments if not word.text.startswith("-")]
    if "-m" in {word.text for word in arguments}:
        return None, files[1:]
    if not files:
        return next((word for sign, word in command.redirects if sign == "<"), None), []
    return files[0], files[1:]


def is_shell(text: str) -> bool:
    """Whether a script is one of a shell: it has no other `#!` line."""
    return not text.startswith("#!") or bool(_SHELL_START.match(text))


def output_of(command: SimpleCommand) -> str | None:
    """What a command prints; None if it is not known."""
    words = command.words
    name = words[0].text if words else ""
    if name == "cat" and len(words) == 1:
        return command.given
    if name not in ("echo", "printf") or not all(word.known for word in words):
        return None
    texts = [word.text for word in words[1:] if not (name == "echo" and word.text in ("-e", "-n", "-ne", "-en"))]
    return " ".join(texts).replace("\\n", "\n")
