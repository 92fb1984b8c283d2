"""A test program made false: one of its expectations is changed, so a right program fails it.

A program that passes both this and the true one was not tested by either. It skipped its tests, disabled `assert`, read
the expected values, or returned objects equal to everything.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

_STRING, _CHARACTER = r'"(?:[^"\\\n]|\\.)*"', r"'(?:[^'\\\n]|\\[^\n]{1,8}?)'"
_COMMENT = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"
_SCRIPT = re.compile(rf"{_STRING}|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|{_COMMENT}")
_OPAQUE = {
    "javascript": _SCRIPT, "typescript": _SCRIPT, "go": re.compile(rf"{_STRING}|{_CHARACTER}|`[^`]*`|{_COMMENT}"),
}  # fmt: skip
_OPAQUE_ELSE = re.compile(rf"{_STRING}|{_CHARACTER}|{_COMMENT}")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_ASSERTION = re.compile(r"(?<![\w.])(console\.assert|assert\.\w+|assert_eq!|assert!|assert)\s*\(")
_EQUALITIES = frozenset({"equal", "equals", "deepequal", "strictequal", "deepstrictequal", "assert_eq!"})
_TRUTHS = frozenset({"assert", "assert!", "console.assert", "assert.ok"})
_JAVA_LIST = re.compile(r"\bList<Boolean>\s+\w+\s*=\s*\w+\.(?:asList|of)\s*\(")
_GO_TABLE = re.compile(r"\bexpected:[ \t]*")
_SHELL_CHECK = re.compile(
    r"""^[ \t]*\[\[ \$\(candidate\b(.*)\) ==? ("(?:[^"\\]|\\.)*"|\$?'(?:[^'\\]|\\.)*') \]\]""", re.MULTILINE
)
_OPENING = r"[(\[{]"
_OPERATOR, _COMMA, _MINUS, _FIELD_END = (
    re.compile(rf"{_OPENING}|{marks}") for marks in (r"===?|!==?|&&|\|\||<=|>=|=>|->|[<>?]", ",", "-", "[,}]")
)
_BRACKET = re.compile(_OPENING)
_PARENTHESIS = re.compile(r"\(")
_SAME = re.compile(r"(?:same|equals?|eq)\Z", re.IGNORECASE)
_DISTANCE = re.compile(r"\bf?abs\Z", re.IGNORECASE)
_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)[ \t]*(.?)")
_MEANT = frozenset(
    "true false null nullptr nil undefined new std long int short char bool float double unsigned string size_t auto "
    "const boolean byte vec".split()
)
"""Lower-case names that mean the same in every part of a program."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,300}(?:\.\d{1,300})?(?!\w*x)")
_CONSTANT = re.compile(
    rf"""\b(?:true|false)\b|{_NUMBER.pattern}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`"""
)
_TOKEN = re.compile(rf"{_CONSTANT.pattern}|\w+|[^\w\s()]")
_SUFFIXES = frozenset({"l", "L", "f", "F", "d", "u", "long"})
_LONGEST = 200
"""Of a name, in characters."""
_COMMA_OPERATOR = frozenset({"javascript", "typescript", "c", "cpp"})
_EXACT_DIGITS = 15
"""Maximum digits of an integer: two longer ones may be the same `double`."""
_MOST = 100
"""Maximum expectations searched for one that can be made false."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The place of an expectation in a test: an equal value, a near number, or (by `!` or nothing) a call's truth.

    Another value in any of these places makes the test fail for a program that passed it.
    """

    start: int
    end: int
    kind: Literal["value", "number", "truth"]
    call: str
    """The call, starting at its arguments, without whitespace."""


def falsified(language: str, tests: str, names: Sequence[str], draw: random.Random, prompt: str = "") -> str:
    """The tests with one expectation changed or two exchanged; empty if no expectation can be.

    They look like the true tests, so only a program that computes the right values can distinguish them. Calls that the
    prompt shows are skipped if there are others, since the prompt shows their results.

    Args:
        language: the language of the tests.
        tests: a test program.
        names: the names of the functions that it tests.
        draw: selects the expectation at random.
        prompt: the prompt of the program.
    """
    found = expectations(language, tests, names)
    found = draw.sample(found, min(len(found), _MOST))
    shown = _close(prompt)
    hidden = [one for one in found if one.call not in shown]
    for pool in (hidden, found):
        for one in pool:
            if places := _falsehood(one, pool, tests, draw):
                for place in sorted(places, key=lambda place: place.start, reverse=True):
                    tests = tests[: place.start] + places[place] + tests[place.end :]
                return tests
    return ""


def _falsehood(one: Expected, pool: Sequence[Expected], tests: str, draw: random.Random) -> dict[Expected, str]:
    """The replacement text of each expectation that makes it false; empty if there isn't one."""
    own = tests[one.start : one.end]
    if one.kind == "truth":
        return {one: "" if own else "!"}
    changed = _changed(own, draw, first=one.kind == "number")
    others = [other for other in pool if other.kind == one.kind and _differ(own, tests[other.start : other.end])]
    if others and (not changed or draw.random() < 0.5):
        other = draw.choice(others)
        return {one: tests[other.start : other.end], other: own}
    return {one: changed} if changed else {}


def expectations(language: str, tests: str, names: Sequence[str]) -> list[Expected]:
    """The expectations of a test program for functions of these names, if they are certain."""
    if language == "bash":
        return [Expected(*found.span(2), "value", _close(found[1])) for found in _SHELL_CHECK.finditer(tests)]
    return list(dict.fromkeys(_Reader(language, tests, names).read()))


@dataclass(slots=True)
class _Reader:
    """Finds expectations in a test program of a C-like language."""

    language: str
    tests: str
    names: Sequence[str]
    text: str = ""
    """The tests with the contents of strings and comments blanked."""
    closing: dict[int, int] = field(default_factory=dict)
    """The closing position of each opening bracket."""

    def __post_init__(self) -> None:
        self.text = _OPAQUE.get(self.language, _OPAQUE_ELSE).sub(_blank, self.tests)
        opened: list[int] = []
        for found in re.finditer(r"[()\[\]{}]", self.text):
            if found[0] in _PAIRS:
                opened.append(found.start())
            elif opened and _PAIRS[self.text[opened[-1]]] == found[0]:
                self.closing[opened.pop()] = found.start()

    def read(self) -> Iterator[Expected]:
        """All expectations."""
        yield from self._of_assertions()
        if self.language == "java":
            yield from self._of_java_lists()
        if self.language == "go":
            yield from self._of_go_tables()

    def _of_assertions(self) -> Iterator[Expected]:
        for found in _ASSERTION.finditer(self.text):
            arguments = self._arguments(found.end() - 1)
            if arguments and self._shown(arguments[0]) == "t":  # Go's, which is not a value
                arguments = arguments[1:]
            name = found[1]
            if name.removeprefix("assert.").lower() in _EQUALITIES and len(arguments) > 1:
                yield from self._of_pair(arguments[0], arguments[1], "value")
            elif name in _TRUTHS and arguments and self._ends_statement(found.end() - 1):
                yield from self._of_condition(arguments[0])

    def _of_java_lists(self) -> Iterator[Expected]:
        for found in _JAVA_LIST.finditer(self.text):
            for argument in self._arguments(found.end() - 1):
                yield from self._of_condition(argument)

    def _of_go_tables(self) -> Iterator[Expected]:
        for found in _GO_TABLE.finditer(self.text):
            ends = self._outside((found.end(), len(self.text)), _FIELD_END)
            written = (found.end(), next(ends, found).start())
            if self._is_closed(written):
                before = self.text.rfind("actual:", 0, found.start())
                yield Expected(*self._stripped(written), "value", self._call((max(before, 0), found.start())))

    def _of_condition(self, span: tuple[int, int]) -> Iterator[Expected]:
        """The expectations of an asserted condition."""
        start, end = self._stripped(span)
        while self.text[start] == "(" and self.closing.get(start) == end - 1 and end - start > 2:
            start, end = self._stripped((start + 1, end - 1))
        operators = list(self._outside((start, end), _OPERATOR))
        if not operators:
            yield from self._of_call(start, end)
        elif len(operators) == 1:
            left, right = (start, operators[0].start()), (operators[0].end(), end)
            if operators[0][0] in ("==", "==="):
                yield from self._of_pair(left, right, "value")
            elif operators[0][0] in ("<", "<="):
                yield from self._of_distance(left)

    def _of_call(self, start: int, end: int) -> Iterator[Expected]:
        """The expectations of an asserted call: that it is true, or that two values are the same."""
        bare = start + (self.text[start] == "!")
        name, named, opening = self._last_call((bare, end))
        if name in self.names:
            yield Expected(start, bare, "truth", self._call((bare, end)))
        elif _SAME.search(name) and bare == start:
            arguments = self._arguments(opening)
            if len(arguments) == 2:
                yield from self._of_pair(arguments[0], arguments[1], "value")
            elif len(arguments) == 1 and self.text[named - 1] == ".":
                yield from self._of_pair((start, named - 1), arguments[0], "value")

    def _of_distance(self, span: tuple[int, int]) -> Iterator[Expected]:
        """What `abs(f(x) - 3.0)` expects."""
        name, _, opening = self._last_call(self._stripped(span))
        if _DISTANCE.search(name):
            inside = opening + 1, self.closing[opening]
            minus = [found.start() for found in self._outside(inside, _MINUS)]
            if len(minus) == 1:
                yield from self._of_pair((inside[0], minus[0]), (minus[0] + 1, inside[1]), "number")

    def _of_pair(
        self, one: tuple[int, int], other: tuple[int, int], kind: Literal["value", "number"]
    ) -> Iterator[Expected]:
        """The literal operand of two, if the other one calls a tested function."""
        for called, written in ((one, other), (other, one)):
            if self._calls(called) and not self._calls(written) and self._is_closed(written, ratio=kind == "number"):
                yield Expected(*self._stripped(self._that_counts(written)), kind, self._call(called))

    def _that_counts(self, span: tuple[int, int]) -> tuple[int, int]:
        """A span, or the last operand of a comma operator in it (`(a, b)` is `b`)."""
        if self.language not in _COMMA_OPERATOR:
            return span
        at, end = span
        while found := _PARENTHESIS.search(self.text, at, end):
            operands = self._arguments(found.start())
            at = found.end()
            if len(operands) > 1 and not self._is_called(found.start()):
                span = at, end = operands[-1]
        return span

    def _is_called(self, opening: int) -> bool:
        """Whether a name or a bracket precedes a bracket."""
        before = self.text[max(0, opening - _LONGEST) : opening].rstrip()[-1:]
        return before.isalnum() or before in ("_", "$", ")", "]", ">")

    def _calls(self, span: tuple[int, int]) -> bool:
        return any(re.search(rf"\b{re.escape(name)}\b", self.text[slice(*span)]) for name in self.names)

    def _call(self, span: tuple[int, int]) -> str:
        """The arguments of the first call of a tested function."""
        names = "|".join(map(re.escape, self.names))
        found = re.compile(rf"\b(?:{names})\s*\(").search(self.text, *span)
        return _close(self.tests[found.end() - 1 : self.closing.get(found.end() - 1, span[1]) + 1]) if found else ""

    def _is_closed(self, span: tuple[int, int], *, ratio: bool = False) -> bool:
        """Whether a span has the same value everywhere: it consists of constants, types and calls."""
        text = self._shown(span)
        if not text or text.count("<") != text.count(">") or (re.search(r"[*/%]", text) and not ratio):
            return False
        return all(
            name in _MEANT or name[0].isupper() or follows in ("(", "!", "{", "<", ":")
            for name, follows in _NAME.findall(text)
        )

    def _last_call(self, span: tuple[int, int]) -> tuple[str, int, int]:
        """The called name, its position and its bracket, for a span that ends like a call; otherwise an empty name."""
        start, end = span
        opening = start
        while (found := _BRACKET.search(self.text, opening, end)) and self.closing.get(found.start(), end) < end - 1:
            opening = self.closing[found.start()] + 1
        if found is None or found[0] != "(" or self.closing.get(found.start()) != end - 1:
            return "", start, start
        named = re.compile(r"\w*\s*\Z").search(self.text, max(start, found.start() - _LONGEST), found.start())
        return (named[0].strip(), named.start(), found.start()) if named else ("", start, start)

    def _arguments(self, opening: int) -> list[tuple[int, int]]:
        """The spans between the commas of a bracket; empty if it is not closed."""
        end = self.closing.get(opening, opening)
        commas = [found.start() for found in self._outside((opening + 1, end), _COMMA)]
        spans = zip([opening, *commas], [*commas, end], strict=True)
        return [(before + 1, after) for before, after in spans if self._shown((before + 1, after))]

    def _outside(self, span: tuple[int, int], marks: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Marks of a span outside all of its brackets."""
        at, end = span
        while found := marks.search(self.text, at, end):
            at = found.end()
            if found[0] in _PAIRS:
                at = max(at, self.closing.get(found.start(), end) + 1)
            else:
                yield found

    def _ends_statement(self, opening: int) -> bool:
        """Whether the assertion ends after a bracket."""
        after = self.text[self.closing.get(opening, opening) + 1 :][:_LONGEST].lstrip()
        return after[:1] not in ("=", "<", ">", "!", "&", "|", "+", "-", "*", "/", "?", ".")

    def _shown(self, span: tuple[int, int]) -> str:
        return self.text[slice(*span)].strip()

    def _stripped(self, span: tuple[int, int]) -> tuple[int, int]:
        """A span without the whitespace around its content."""
        text = self.text[slice(*span)]
        start = span[0] + len(text) - len(text.lstrip())
        return start, max(start, span[1] - len(text) + len(text.rstrip()))


def _close(text: str) -> str:
    """The text without whitespace."""
    return "".join(text.split())


def _blank(found: re.Match[str]) -> str:
    """Whitespace of the same length as a comment or the content of a string."""
    text = found[0]
    return " " * len(text) if text.startswith("/") else text[0] + " " * (len(text) - 2) + text[-1]


def _differ(one: str, other: str) -> bool:
    """Whether two expectations are different values of one type under any comparison.

    Sets, near numbers, and values that an untyped language treats as equal (`0`, `""`, `false`) are not different.
    """
    first, second = _essence(one), _essence(other)
    return sorted(first) != sorted(second) and _begins(first) == _begins(second)


def _begins(tokens: Sequence[str]) -> str:
    """The type of a value as far as its first token shows."""
    first = next(iter(tokens), "")
    if first in ("true", "false"):
        return "truth"
    return "number" if first[:1].isdigit() or first == "-" else first[:1]


def _essence(text: str) -> list[str]:
    tokens = [token for token in _TOKEN.findall(text) if token not in _SUFFIXES]
    return [f"{float(token):.2f}" if _NUMBER.fullmatch(token) else token for token in tokens]


def _changed(text: str, draw: random.Random, *, first: bool) -> str:
    """A written value with one of its constants changed, the first one if `first`; empty if there isn't one."""
    places = list(_CONSTANT.finditer(text))
    for place in places[:1] if first else draw.sample(places, len(places)):
        if new := _other_constant(place[0], text, draw):
            return text[: place.start()] + new + text[place.end() :]
    return ""


def _other_constant(constant: str, text: str, draw: random.Random) -> str:
    """Another constant of the same type, which the text does not contain; empty if there isn't one."""
    if constant in ("true", "false"):
        return "false" if constant == "true" else "true"
    if _NUMBER.fullmatch(constant):
        whole, point, rest = constant.partition(".")
        held = set(_NUMBER.findall(text))
        step = 10 ** max(0, len(whole) - _EXACT_DIGITS)
        near = (int(whole) + by * step for by in draw.sample((1, 2, 3, -1), 4))
        texts = [f"{number}{point}{rest}" for number in near if number >= 0]
        return next((text for text in texts if text not in held), f"{int(whole) + 11 * step}{point}{rest}")
    return _other_text(constant, draw)


def _other_text(quoted: str, draw: random.Random) -> str:
    """A quoted string with one letter replaced; empty if all of its characters have a special meaning."""
    quote, inside = quoted[0], quoted[1:-1]
    plain = re.split(r"[\\$]", inside, maxsplit=1)[0]
    letters = [at for at, letter in enumerate(plain) if letter.isalnum()]
    if letters:
        at = draw.choice(letters)
        others = sorted({letter for letter in inside if letter.isalnum()} - {inside[at]})
        alphabet = "0123456789" if inside[at].isdigit() else "abcdefghij"
        new = draw.choice(others or sorted(set(alphabet) - {inside[at]}))
        return f"{quote}{inside[:at]}{new}{inside[at + 1 :]}{quote}"
    if len(inside) < 2:
        return f"{quote}a{quote}" if plain == inside else ""
    return f"{quote}{plain[0]}{inside}{quote}" if plain else ""
