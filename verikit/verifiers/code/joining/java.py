"""A Java program and its appended tests as one file, regardless of the program's classes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verikit.verifiers.code.joining.brackets import blanked, closing, depth, match, tops
from verikit.verifiers.code.joining.java_tuples import with_tuples

_PACKAGE = re.compile(r"^[ \t]*package[ \t]+[\w.]+[ \t]*;", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+(?:static[ \t]+)?[\w.]+(?:\.\*)?[ \t]*;", re.MULTILINE)
_CLASS = re.compile(r"\bclass[ \t\n]+(\w+)[^{};()]{0,300}\{")
_PUBLIC = re.compile(
    r"\bpublic[ \t\n]+(?=(?:(?:final|abstract|strictfp|sealed)[ \t\n]+){0,3}(?:class|interface|enum|record)\b)"
)
_MAIN = re.compile(r"\b(static[ \t\n]+(?:final[ \t\n]+)?void[ \t\n]+)main\b")


def whole(prompt: str, program: str, tests: str, stops: Sequence[str], name: str) -> str:
    """One source of a program and its tests.

    Args:
        prompt: opens a class and the method in it.
        program: the candidate's program.
        tests: the row's tests; they may close the method and the class that the prompt opens.
        stops: strings that end a program which continues the prompt.
        name: the method's name if the program has all of it; otherwise empty.
    """
    prompt, program = _PACKAGE.sub("", prompt), _renamed_main(_PACKAGE.sub("", program))
    closes = tests.lstrip().startswith("}")
    if name:
        imports, program = _imports(prompt, program)
        text = imports + _joined(prompt, _closed_up(program), tests, name, closes=closes)
    else:
        program = goes_on("java", prompt, program, stops, closes=closes)
        text = prompt + program + "\n" + tests
    return with_tuples(text)


def goes_on(language: str, prompt: str, program: str, stops: Sequence[str], *, closes: bool) -> str:
    """The continuation of a prompt, up to the end of the prompt's function.

    Args:
        language: the language of both.
        prompt: opens the function.
        program: continues it, possibly beyond the function.
        stops: strings that end it, unless its braces show the end.
        closes: whether the tests close the function.
    """
    blank = blanked(language, prompt + program)[len(prompt) :]
    if closes and (end := closing(blank)) >= 0:
        return program[:end]
    ends = [at for stop in stops if stop and (at := program.find(stop)) >= 0]
    program, blank = program[: min(ends, default=None)], blank[: min(ends, default=None)]
    opened = depth(blanked(language, prompt))
    if closes or depth(blank) == -opened:
        return program
    if (end := closing(blank, level=opened - 1)) >= 0:  # a base model continues until it is cut off
        return program[: end + 1]
    return program + "\n" + "}" * max(0, opened + depth(blank))


def _renamed_main(program: str) -> str:
    """A program with its own main method renamed, since the tests have one."""
    places = [found.end() for found in _MAIN.finditer(blanked("java", program))]
    for end in reversed(places):
        program = f"{program[: end - 4]}verikitMain{program[end:]}"
    return program


def _imports(prompt: str, program: str) -> tuple[str, str]:
    """The imports of both, and the program without its own."""
    found = [text.strip() for text in (*_IMPORT.findall(prompt), *_IMPORT.findall(program))]
    return "\n".join([*dict.fromkeys(found), ""]), _IMPORT.sub("", program)


def _closed_up(program: str) -> str:
    """A program whose classes are not public: a file has one such class at most."""
    for found in reversed(tops(blanked("java", program), _PUBLIC)):
        program = program[: found.start()] + program[found.end() :]
    return program


def _joined(prompt: str, program: str, tests: str, name: str, *, closes: bool) -> str:
    """A program that has the method, with the tests in the prompt's class or after it."""
    blank = blanked("java", program)
    opening = _CLASS.search(blanked("java", prompt))
    own = tops(blank, _CLASS)
    wanted = opening[1] if opening else ""
    if any(found[1] == "Main" for found in own):
        tests = re.sub(r"\bclass[ \t]+Main\b", "class VerikitMain", tests)
    if not wanted:
        return f"{program}\n{tests}"
    if not own:
        return _in_class(f"class {wanted} {{\n{program}", tests, wanted, closes=closes)
    if any(found[1] == wanted for found in own):
        return _in_class(program, tests, wanted, closes=closes)
    method = re.search(rf"\b{re.escape(name)}[ \t\n]*\(", blank)
    around = [found for found in own if method and found.start() < method.start()] or own
    heir = f"class {wanted} extends {around[-1][1]} {{\n"
    return f"{program}\n" + _in_class(heir, tests, wanted, closes=closes)


def _in_class(text: str, tests: str, wanted: str, *, closes: bool) -> str:
    """The text with the class, which may be open, and the tests: inside it if they close it, otherwise after it."""
    blank = blanked("java", text)
    opened = max(0, depth(blank))
    if not closes:
        return f"{text}\n{'}' * opened}\n{tests}"
    if opened > 1:
        return f"{text}\n{tests}"
    inner = tests.lstrip()[1:]
    if opened:
        return f"{text}\n{inner}"
    ends = (match(blank, found.end() - 1) for found in tops(blank, _CLASS) if found[1] == wanted)
    at = max(0, next(ends, 0))
    return f"{text[:at]}\n{inner.rstrip().removesuffix('}')}\n{text[at:]}"
