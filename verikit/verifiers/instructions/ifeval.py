"""IFEval's 25 checks (J. Zhou et al., "Instruction-Following Evaluation for Large Language Models", 2023).

Each gives the verdict of google-research's `instruction_following_eval`, as lm-eval 0.4.13 ships it, without its
quadratic patterns.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from verikit.verifiers.instructions import sentences, words
from verikit.verifiers.instructions.arguments import (
    Arguments,
    BadArgument,
    count,
    holds,
    letter,
    number,
    occurrences,
    occurs,
    text,
    texts,
)
from verikit.verifiers.instructions.language import language

OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_BOLD = re.compile(r"\*\*[^\n*]*\*\*")
DIVIDER = re.compile(r"\s?\*\*\*\s?")
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}


def existence(value: str, arguments: Arguments) -> bool:
    """Each keyword, as a pattern, occurs."""
    return all(occurs(keyword, value) for keyword in texts(arguments, "keywords"))


def frequency(value: str, arguments: Arguments) -> bool:
    """A keyword, read as a pattern and also found inside words, occurs N times."""
    return holds(count(text(arguments, "keyword").strip(), value), arguments, "frequency")


def forbidden_words(value: str, arguments: Arguments) -> bool:
    """None of the given words occurs as a word."""
    return not any(occurs(rf"\b{word}\b", value) for word in texts(arguments, "forbidden_words"))


def letter_frequency(value: str, arguments: Arguments) -> bool:
    """A letter occurs N times, ignoring case. For other characters the official scorer selects a random letter."""
    return holds(Counter(value.lower())[letter(arguments, "letter")], arguments, "let_frequency", "let_relation")


def response_language(value: str, arguments: Arguments) -> bool:
    """The text is in a language; text without a detectable language passes."""
    return language(value) in (text(arguments, "language"), None)


def number_sentences(value: str, arguments: Arguments) -> bool:
    """N sentences, by Punkt."""
    return holds(sentences.count(value), arguments, "num_sentences")


def divided(value: str) -> int:
    """The number of paragraphs divided by `***`; -1 if one inside is empty."""
    return filled(DIVIDER.split(value))


def filled(paragraphs: Sequence[str]) -> int:
    """The number of paragraphs, ignoring empty ones at the ends; -1 if one inside is empty."""
    if any(not paragraph.strip() for paragraph in paragraphs[1:-1]):
        return -1
    ends = [*paragraphs[:1], *paragraphs[1:][-1:]]
    return len(paragraphs) - sum(not paragraph.strip() for paragraph in ends)


def number_paragraphs(value: str, arguments: Arguments) -> bool:
    """Exactly N paragraphs, divided by `***`."""
    return divided(value) == number(arguments, "num_paragraphs")


def number_words(value: str, arguments: Arguments) -> bool:
    """N runs of word characters."""
    return holds(len(words.runs(value)), arguments, "num_words")


def nth_paragraph_first_word(value: str, arguments: Arguments) -> bool:
    """Exactly N paragraphs between empty lines; the given one starts with a given word."""
    wanted, nth = nth_of(arguments)
    paragraphs = value.split("\n\n")
    present = sum(1 for paragraph in paragraphs if paragraph.strip())
    if nth > present or not (chosen := paragraphs[nth - 1].split()):
        return False
    head = re.split(r"[.,?!'\"]", chosen[0].lstrip("'").lstrip('"'), maxsplit=1)[0]
    return present == wanted and head.lower() == text(arguments, "first_word").lower()


def nth_of(arguments: Arguments) -> tuple[int, int]:
    """The required number of paragraphs, and the position of the given one."""
    wanted, nth = number(arguments, "num_paragraphs"), number(arguments, "nth_paragraph")
    if not 0 < nth <= wanted:
        raise BadArgument(f"there is no paragraph {nth} of {wanted}")
    return wanted, nth


def number_placeholders(value: str, arguments: Arguments) -> bool:
    """At least N `[…]`."""
    return len(brackets(value)) >= number(arguments, "num_placeholders")


def brackets(value: str) -> list[tuple[str, str]]:
    """The text between square brackets on one line, and the text after them on that line."""
    found = []
    for line in value.split("\n"):
        start = line.find("[")
        while start >= 0 and (end := line.find("]", start)) >= 0:
            found.append((line[start + 1 : end], line[end + 1 : end + 2]))
            start = line.find("[", end)
    return found


def postscript(value: str, arguments: Arguments) -> bool:
    """A postscript's mark occurs."""
    marker = text(arguments, "postscript_marker").strip()
    return occurs(_POSTSCRIPTS.get(marker, marker.lower()), value.lower())


def number_bullet_lists(value: str, arguments: Arguments) -> bool:
    """Exactly N lines that start with `*` or `-`."""
    return _lines_with("*", value) + _lines_with("-", value) == number(arguments, "num_bullets")


def _lines_with(mark: str, value: str) -> int:
    r"""The matches of `^\s*\*[^\*].*$` or `^\s*-.*$`, which may span lines, in linear time."""
    found = begin = 0
    while begin < len(value):
        head = begin
        while head < len(value) and value[head].isspace():
            head += 1
        if head == len(value):
            break
        end = head + 1
        if value[head] == mark and (mark == "-" or value[end : end + 1] not in ("", "*")):
            found += 1
            end += mark == "*"
        # The next match starts at a line; this one ends at one if the star's second character was the line break.
        if end < len(value) and end > head + 1 and value[end - 1] == "\n" and value[end] == "\n":
            begin = end
            continue
        line = value.find("\n", end)
        begin = len(value) if line < 0 else line + 1
    return found


def constrained_response(value: str, arguments: Arguments) -> bool:
    """One of three set answers occurs."""
    return any(option in value for option in OPTIONS)


def number_highlighted_sections(value: str, arguments: Arguments) -> bool:
    """At least N `*…*` and `**…**`."""
    slanted = sum(1 for match in _HIGHLIGHT.findall(value) if match.strip("*").strip())
    bold = sum(1 for match in _BOLD.findall(value) if match[2:-2].strip())
    return slanted + bold >= number(arguments, "num_highlights")


def multiple_sections(value: str, arguments: Arguments) -> bool:
    """At least N numbered section marks."""
    splitter = text(arguments, "section_spliter").strip()
    marks = sum(1 for _ in occurrences(splitter, value, cased=True, then=r"\s?\d+"))
    return marks >= number(arguments, "num_sections")


def json_format(value: str, arguments: Arguments) -> bool:
    """The whole text is JSON, ignoring a fence around it."""
    body = value.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        body = body.removeprefix(fence)
    try:
        json.loads(body.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def title(value: str, arguments: Arguments) -> bool:
    """A non-empty title in `<<…>>`."""
    for line in value.split("\n"):
        start, end = line.find("<<"), line.rfind(">>")
        if 0 <= start < end - 2 and line[start : end + 2].lstrip("<").rstrip(">").strip():
            return True
    return False


def two_responses(value: str, arguments: Arguments) -> bool:
    """Two different responses with `******` between them."""
    parts = value.split("******")
    if any(not part.strip() for part in parts[1:-1]):
        return False
    answers = [part.strip() for part in parts if part.strip()]
    return len(answers) == 2 and answers[0] != answers[1]


def repeat_prompt(value: str, arguments: Arguments) -> bool:
    """The text starts with the request, ignoring case."""
    return value.strip().lower().startswith(text(arguments, "prompt_to_repeat").strip().lower())


def end_checker(value: str, arguments: Arguments) -> bool:
    """The text ends with a phrase, ignoring case and quotes."""
    return value.strip().strip('"').lower().endswith(text(arguments, "end_phrase").strip().lower())


def capital_word_frequency(value: str, arguments: Arguments) -> bool:
    """N words in capitals."""
    capitals = sum(word.isupper() for word in words.tokenize(value))
    return holds(capitals, arguments, "capital_frequency", "capital_relation")


def english_capital(value: str, arguments: Arguments) -> bool:
    """In capitals only, and in English as far as that can be detected."""
    return value.isupper() and language(value) in ("en", None)


def english_lowercase(value: str, arguments: Arguments) -> bool:
    """In lower case only, and in English as far as that can be detected."""
    return value.islower() and language(value) in ("en", None)


def no_comma(value: str, arguments: Arguments) -> bool:
    """No comma."""
    return "," not in value


def quotation(value: str, arguments: Arguments) -> bool:
    """The text is in double quotation marks."""
    body = value.strip()
    return len(body) > 1 and body[0] == body[-1] == '"'
