"""Check that a question is self-contained and based on its document, and whether two answers are equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from verikit.answers.choices import settled
from verikit.replies.split import split
from verikit.replies.text import boxes
from verikit.trainers.recipes.spice.expressions import is_formula_of_words
from verikit.trainers.recipes.spice.formats import LETTERS, CorpusQuestion, InvalidQuestion, option_letter
from verikit.trainers.recipes.spice.options import Check, SpiceOptions
from verikit.types import Score
from verikit.verifiers.answer import Answer, Math

_REFERENCE = re.compile(
    r"\b(?:the|this|that|above|given|provided) (?:text|document|passage|article|excerpt|paragraph|author|context)s?\b"
    r"|\baccording to the (?:text|source|author)\b|\bas (?:stated|described|mentioned) (?:above|in the)\b",
    re.IGNORECASE,
)
_COMMAND_OR_WORD = re.compile(r"\\[A-Za-z]+|[^\W\d_]{2,}")
_SYMBOL = re.compile(r"\w+")
_RESTATED = 4
"""Factor on `copied_words` for symbols of any type in a row. A question may repeat a formula, but not a page."""


def check(question: CorpusQuestion, document: str, options: SpiceOptions) -> None:
    """Check a question against the enabled rules.

    Raises:
        Invalid: It breaks one.
    """
    rules: Mapping[Check, Callable[[], str | None]] = {
        "self_reference": lambda: _self_reference(question),
        "quotes": lambda: _quotes(question, document),
        "copied": lambda: _copied(question, document, options.copied_words),
        "balance": lambda: _balance(question, options.balance),
    }
    for name in options.checks:
        if problem := rules[name]():
            raise InvalidQuestion(f"{name}: {problem}")


def _self_reference(question: CorpusQuestion) -> str | None:
    found = _REFERENCE.search(question.text)
    return f"speaks of {found[0]!r}, which is not seen by who answers" if found else None


def _quotes(question: CorpusQuestion, document: str) -> str | None:
    if not question.quotes:
        return "nothing is quoted"
    held = " ".join(document.split())
    missing = [quote for quote in question.quotes if " ".join(quote.split()) not in held]
    return f"{missing[0][:80]!r} does not occur in the document" if missing else None


def _copied(question: CorpusQuestion, document: str, words: int) -> str | None:
    """Whether more consecutive words than allowed are copied from the document; a whole document is not a question.

    Words are runs of letters outside LaTeX commands, because a formula must be restated exactly.
    """
    text, source = question.text.casefold(), document.casefold()
    if _shared_run(_words(text), _words(source), words + 1):
        return f"copies more than {words} words in a row"
    symbols = words * _RESTATED
    if _shared_run(_SYMBOL.findall(text), _SYMBOL.findall(source), symbols + 1):
        return f"copies more than {symbols} words, numbers and symbols in a row"
    return None


def _words(text: str) -> list[str]:
    return [word for word in _COMMAND_OR_WORD.findall(text) if not word.startswith("\\")]


def _shared_run(own: Sequence[str], others: Sequence[str], length: int) -> bool:
    """Whether a run of `length` items appears in both."""
    runs = {tuple(others[at : at + length]) for at in range(len(others) - length + 1)}
    return any(tuple(own[at : at + length]) in runs for at in range(len(own) - length + 1))


def _balance(question: CorpusQuestion, share: float) -> str | None:
    lengths = [len(option) for option in question.options]
    if lengths and max(lengths) > min(lengths) * (1 + share) / (1 - share):
        return f"the options' lengths differ by more than {share:.0%}"
    return None


@dataclass(frozen=True)
class TypedEquality:
    """Scores an answer according to the type of the reference: mathematics, an exact string, or an option letter."""

    letter_only: bool = False
    _math: Math = field(default_factory=Math)
    _words: Answer = field(default_factory=Answer)

    def score(self, question: CorpusQuestion, reply: str) -> Score:
        """Compare a Reasoner's reply with the gold answer: its last box, and for a choice also a stated letter."""
        reply = split(reply).reply
        if question.answer_type == "Choice":
            return self._choice(question, reply)
        if question.answer_type == "String":
            found = boxes(reply)
            if not found:
                return Score(0.0, reason="no box")
            said = _plain(found[-1])
            return Score(float(said == _plain(question.answer)), answer=said, reason="exact text")
        compared = self._words if is_formula_of_words(question.answer) else self._math
        return compared(reply, question.answer, prompt=question.text)

    def _choice(self, question: CorpusQuestion, reply: str) -> Score:
        chosen = settled(reply, LETTERS)
        letter: str | None = chosen.letter
        said = _plain(boxes(reply)[-1]) if boxes(reply) else ""
        if self.letter_only:
            letter = option_letter(said)
        elif said in map(_plain, question.options):
            letter = LETTERS[[_plain(option) for option in question.options].index(said)]
        if not letter:
            return Score(0.0, reason=chosen.rule)
        return Score(float(letter == question.answer), answer=letter, reason="option letter")


def _plain(text: str) -> str:
    """Return the string without TeX's text command, outer quotes and doubled spaces."""
    text = re.sub(r"^\\text\{(.*)\}$", r"\1", text.strip(), flags=re.DOTALL)
    return " ".join(text.strip("\"'$ ").split())
