"""Parse the three replies of a Challenger: the suitable format, a multiple-choice question, a free-form one.

Replies are hostile. The standard library reads the JSON, and all limits are in this module.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from verikit.platform.numbers import refuse_constant
from verikit.replies.split import split
from verikit.trainers.recipes.spice.expressions import is_expression
from verikit.trainers.recipes.spice.latex import mended
from verikit.trainers.recipes.spice.options import Format

AnswerType = Literal["Integer", "Expression", "String", "Choice"]
LETTERS = "ABCD"
LONGEST = 100_000
"""Maximum characters of a reply."""
TRIES = 64
"""Maximum positions in a reply to try for a JSON object."""
STRING_WORDS = 3
REASON = 100
_INTEGER = re.compile(r"[+-]?\d{1,100}")
_LABEL = r"\([A-Z]\)|[A-Z]\)|[A-Z][.:](?=[ \t]|$)"
_OPTION = re.compile(rf"^[ \t]{{0,20}}({_LABEL})[ \t]{{0,20}}(.*)$", re.MULTILINE)
_LETTER = re.compile(rf"{_LABEL}|[A-Z]")
_LETTERS = re.compile("[A-Z]")


class InvalidQuestion(ValueError):
    """A reply breaks a rule. The message names the rule."""


@dataclass(frozen=True, slots=True)
class CorpusQuestion:
    """A self-contained question with its gold answer."""

    text: str
    """The whole question that a Reasoner sees."""
    answer: str
    answer_type: AnswerType
    options: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    """Quotes that the Challenger claims to have found in the document."""

    @property
    def format(self) -> Format:
        """Its task format."""
        return "mcq" if self.answer_type == "Choice" else "free_form"


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """The format a Challenger chose for a document."""

    format: Format
    answer_type: AnswerType


def _bare_object(reply: str, keys: set[str]) -> dict[str, Any]:
    """Parse a reply that is a single JSON object with exactly these keys."""
    try:
        row = json.loads(mended(split(reply).reply[:LONGEST]))
    except (ValueError, RecursionError):
        raise InvalidQuestion("no bare JSON object") from None
    if not isinstance(row, dict) or set(row) != keys:
        raise InvalidQuestion(f"the keys are not {', '.join(sorted(keys))}")
    return row


def parse_kind(reply: str) -> QuestionKind:
    """Read the choice of a format: a bare JSON object of exactly four keys.

    Raises:
        Invalid: It is anything else, including fenced JSON.
    """
    row = _bare_object(reply, {"suitable_for_mcq", "suitable_for_free_form", "best_answer_type", "reason"})
    mcq, free, answer_type = row["suitable_for_mcq"], row["suitable_for_free_form"], row["best_answer_type"]
    if not (isinstance(mcq, bool) and isinstance(free, bool)) or mcq == free:
        raise InvalidQuestion("exactly one format is suitable")
    if not isinstance(row["reason"], str) or len(row["reason"]) >= REASON:
        raise InvalidQuestion(f"the reason is a string of less than {REASON} characters")
    if mcq:
        if answer_type not in (None, "Integer", "Expression", "String"):
            raise InvalidQuestion("best_answer_type is not one of the types")
        return QuestionKind("mcq", "Choice")
    if answer_type not in ("Integer", "Expression", "String"):
        raise InvalidQuestion("a free-form question has an answer type")
    return QuestionKind("free_form", answer_type)


def parse_mcq(reply: str) -> CorpusQuestion:
    """Read a multiple-choice question: thoughts, then one JSON object. Its options' labels become `A)` to `D)`.

    Raises:
        Invalid: A key is missing or empty, there are not four options A) to D), or the gold answer is not one letter.
    """
    row = last_object(reply)
    text = _text(row, "multiple_choice_question")
    _text(row, "identified_answer")
    gold = _text(row, "multiple_choice_correct")
    listed = _option_lines(text)
    if not listed:
        raise InvalidQuestion("the options are not A), B), C), D), each once and in order")
    options = tuple(line[2].strip() for line in listed)
    if not all(options):
        raise InvalidQuestion("an option is empty")
    if len({option.casefold() for option in options}) < len(options):
        raise InvalidQuestion("two options are the same")
    letter = option_letter(gold)
    if not letter:
        raise InvalidQuestion(f"multiple_choice_correct is {gold[:20]!r}, not one of A, B, C, D")
    if not text[: listed[0].start()].strip():
        raise InvalidQuestion("there are options, but no question")
    return CorpusQuestion(_with_options(text, options), letter, "Choice", options, _quotes(row, "answer_quote"))


def shuffled(question: CorpusQuestion, draw: random.Random) -> CorpusQuestion:
    """Shuffle a choice's options. The gold letter follows its option."""
    order = draw.sample(range(len(LETTERS)), len(LETTERS))
    options = tuple(question.options[index] for index in order)
    text, answer = _with_options(question.text, options), LETTERS[order.index(LETTERS.index(question.answer))]
    return replace(question, text=text, answer=answer, options=options)


def option_letter(text: str) -> str:
    """Return the letter of a string that is only `B`, `(B)`, `B)`, `B.` or `B:`; "" for all other strings."""
    found = _LETTER.fullmatch(text.strip())
    letter = found[0].strip("().:") if found else ""
    return letter if letter in LETTERS else ""


def _option_lines(text: str) -> list[re.Match[str]]:
    """Return the four lines A to D with labels in the same style (`A)`, `(A)`, `A.` or `A:`), or []."""
    styles: dict[str, list[re.Match[str]]] = {}
    for line in _OPTION.finditer(text):
        styles.setdefault(_LETTERS.sub("", line[1]), []).append(line)
    whole = [lines for lines in styles.values() if [line[1].strip("().:") for line in lines] == list(LETTERS)]
    return max(whole, key=lambda lines: lines[-1].start(), default=[])


def _with_options(text: str, options: Sequence[str]) -> str:
    """Return a question with other options in its lines A) to D)."""
    for line, letter, option in reversed([*zip(_option_lines(text), LETTERS, options, strict=True)]):
        text = f"{text[: line.start()]}{letter}) {option}{text[line.end() :]}"
    return text


def _check_answer(text: str, answer_type: AnswerType) -> None:
    """Raise if an answer is not of its type."""
    if answer_type == "Integer" and not _INTEGER.fullmatch(text):
        raise InvalidQuestion("the answer is not an integer")
    if answer_type == "Expression" and not is_expression(text):
        raise InvalidQuestion("the answer is not a mathematical expression")
    if answer_type == "String" and len(text.split()) > STRING_WORDS:
        raise InvalidQuestion(f"the answer has more than {STRING_WORDS} words")


def parse_free_form(reply: str, answer_type: AnswerType) -> CorpusQuestion:
    """Read a free-form question of a requested answer type: thoughts, then one JSON object.

    Raises:
        Invalid: Question or answer is missing, empty, or of the wrong type.
    """
    row = last_object(reply)
    question = _text(row, "question")
    if row.get("answer_type") != answer_type:
        raise InvalidQuestion(f"answer_type is not {answer_type}, which was requested")
    answer = row.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        raise InvalidQuestion("the answer is not a single value")
    text = str(answer).strip()
    if not text or len(text) > 200:
        raise InvalidQuestion("the answer is empty, or of more than 200 characters")
    _check_answer(text, answer_type)
    return CorpusQuestion(question, text, answer_type, quotes=_quotes(row, "relevant_quotes"))


def last_object(reply: str) -> dict[str, Any]:
    """Return the last top-level JSON object in a reply.

    Raises:
        Invalid: There is no object, or too many braces precede it.
    """
    if len(reply) > LONGEST:
        raise InvalidQuestion(f"a reply of more than {LONGEST} characters")
    decoder, found, position = json.JSONDecoder(parse_constant=refuse_constant), None, 0
    reply = mended(reply)
    for _ in range(TRIES):
        start = reply.find("{", position)
        if start < 0:
            break
        try:
            row, position = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            position = start + 1
        else:
            found = row
    if not isinstance(found, dict):
        raise InvalidQuestion("no JSON object in the reply")
    return found


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InvalidQuestion(f"{key} is missing or empty")
    return value.strip()


def _quotes(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(quote, str) for quote in value):
        raise InvalidQuestion(f"{key} is not a list of strings")
    return tuple(quote.strip() for quote in value if quote.strip())
