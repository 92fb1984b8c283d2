"""`verify`: compares one answer with one or several gold answers, with all the details that `explain` shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from verikit.answers import choices
from verikit.answers.algebra.compare import compare
from verikit.answers.algebra.equality import Equality, EqualityResult, undecided
from verikit.answers.aliases import Aliases
from verikit.answers.claims import extract
from verikit.answers.claims.refusals import is_refused, may_be_refused
from verikit.answers.claims.statements import FoundAnswer
from verikit.answers.families.text import compare_texts
from verikit.answers.gold import ReadGold, read, read_gold
from verikit.answers.judging import STRICT, AnswerVerdict, Tail, Terms, judge
from verikit.answers.parser.clean import same_but_spacing
from verikit.answers.parser.tree import MAX_CHARS, Node, TooBig
from verikit.replies.unseen import without_phantoms, without_unseen

MAX_TEXT = 20_000_000
"""Maximum number of characters of a completion. A longer one is not read."""
MAX_REMEMBERED = 400
"""Maximum number of characters of a gold answer and an answer together for their verdict to be cached."""
_RANK = {"undecided": 1, "limit": 2, "different": 3, "bad gold": 4}
"""Order in which one of the verdicts on several gold answers is selected."""
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2}")


def verify(
    prediction: str,
    gold: str | Sequence[str],
    *,
    question: str = "",
    options: Sequence[str] = (),
    equality: Equality = STRICT,
    tail: Tail | None = None,
    letters: bool = True,
    aliases: Aliases | bool = True,
) -> AnswerVerdict:
    """Extract the answer of `prediction` and compare it with the gold answer, or with each of several accepted ones.

    Never raises on any text. `question` helps to distinguish an answer from a quotation. `options` are the option texts
    of multiple choice. `tail` decides pairs that the in-process stages leave undecided. With `letters` off, a gold
    answer that is a single capital is a symbol, not an option. `aliases` sets whether other names of the same thing are
    accepted, and may add names to the built-in ones.
    """
    golds = (gold,) if isinstance(gold, str) else gold
    if len(prediction) > MAX_TEXT:
        return AnswerVerdict("limit", "the completion is too long")
    if not prediction.isascii():  # in ASCII only controls are invisible, and `clean` drops or repairs them
        prediction = without_unseen(prediction)
    if "phantom" in prediction:
        prediction = without_phantoms(prediction)
    terms = Terms(question, options, equality, tail, letters, aliases)
    part = extract.final_part(prediction)
    found = extract.marked(part, every=equality.several != "last")
    best: AnswerVerdict | None = None
    for accepted in golds:
        try:
            verdict = _verify(part, found, accepted, terms)
        except RecursionError:
            verdict = AnswerVerdict("limit", "the caller's stack is too deep", gold=accepted)
        if verdict.outcome == "equal":
            return verdict
        if best is None or _RANK[verdict.outcome] < _RANK[best.outcome]:
            best = verdict
    return best or AnswerVerdict("bad gold", "no gold answer")


def _verify(part: str, found: list[FoundAnswer], gold_text: str, terms: Terms) -> AnswerVerdict:
    """Compare the answers found in a part of a reply with one gold answer."""
    several = terms.equality.several
    if found and several == "last" and _is_right_box(part, found[-1], gold_text, terms):
        return AnswerVerdict("equal", "same text", "text", found[-1].text, "box", gold_text)
    gold = read_gold(gold_text)
    if gold.problem:
        return AnswerVerdict("bad gold", gold.problem, gold=gold.text)
    found = _without_description(part, found, gold)
    if found and found[-1].form == "open box":
        return AnswerVerdict("different", "the last box is not closed", form="open box", gold=gold.text)
    if gold.letters and terms.letters and _is_option(gold, terms) and (chosen := _letters(part, found, gold, terms)):
        return chosen
    if not found and _is_one_long_line(part):
        return AnswerVerdict("limit", "one line too long to be an answer", gold=gold.text)
    if len(found) > 1 and several != "last" and (refused := _several(found, gold, terms.equality)):
        return refused
    candidate = _decisive(found[-1] if found else extract.last_line(part), terms.equality)
    if _is_refused(part, candidate, gold_text, terms):
        return AnswerVerdict(
            "different", "the reply calls its answer wrong", "", candidate.text, candidate.form, gold.text
        )
    return _judged(candidate, gold, gold_text, terms)


def _decisive(found: FoundAnswer, equality: Equality) -> FoundAnswer:
    """An answer whose pieces are all the same is its last piece."""
    if found.pieces and all(_same(piece, found.pieces[-1], equality) for piece in found.pieces):
        return found._replace(text=found.pieces[-1])
    return found


def _without_description(part: str, found: list[FoundAnswer], gold: ReadGold) -> list[FoundAnswer]:
    return extract.without_description(part, found, Fraction(gold.text)) if gold.numeral else found


def _judged(candidate: FoundAnswer, gold: ReadGold, gold_text: str, terms: Terms) -> AnswerVerdict:
    """`judge`, cached by content for short texts, since the samples of a group often end in the same answer."""
    question = terms.question
    if len(candidate.text) + len(gold_text) > MAX_REMEMBERED or len(question) > 10 * MAX_REMEMBERED:
        return judge(candidate, gold, terms)
    said = candidate if not candidate.start else candidate._replace(start=0)
    known = _remembered(said, gold_text, question, tuple(terms.options), terms.equality, terms.letters, terms.aliases)
    return known or judge(candidate, gold, terms)


@lru_cache(maxsize=2048)
def _remembered(
    candidate: FoundAnswer,
    gold: str,
    question: str,
    options: tuple[str, ...],
    equality: Equality,
    letters: bool,
    aliases: Aliases | bool,
) -> AnswerVerdict | None:
    """The verdict on a pair if the rules alone decide it. None if the tail would be called."""
    asked: list[Node] = []

    def tail(gold: Node, answer: Node) -> EqualityResult:
        asked.append(gold)
        return undecided("not asked yet")

    verdict = judge(candidate, read_gold(gold), Terms(question, options, equality, tail, letters, aliases))
    return None if asked else verdict


def _is_refused(part: str, found: FoundAnswer, gold: str, terms: Terms) -> bool:
    """Whether a reply ends by calling the answer found in it wrong. The options of a row may be such sentences."""
    return may_be_refused(part) and not terms.options and is_refused(part, found.start, gold, terms.question)


def _is_right_box(part: str, found: FoundAnswer, gold: str, terms: Terms) -> bool:
    """Whether the answer is a box with exactly the gold answer's text, which the reply does not take back."""
    return _is_boxed(found, gold) and not _is_refused(part, found, gold, terms)


def _is_boxed(found: FoundAnswer, gold: str) -> bool:
    """Whether a box contains exactly the text of the gold answer."""
    if found.form != "box" or found.negated or not gold:
        return False
    return (found.text == gold and not gold.isspace()) or same_but_spacing(found.text, gold)


def _is_one_long_line(part: str) -> bool:
    return len(part) > MAX_CHARS and len(part.strip()) > MAX_CHARS and "\n" not in part.strip()


def _is_option(gold: ReadGold, terms: Terms) -> bool:
    """Whether a gold answer names option letters. "(B) …" does only if the row or the question has options."""
    letter, text = choices.gold_letter(gold.text) if gold.kind == "letter" else ("", "")
    return not text or bool(terms.options) or choices.offers(terms.question, letter)


def _several(found: list[FoundAnswer], gold: ReadGold, equality: Equality) -> AnswerVerdict | None:
    """Reject a text that marks several different answers."""
    last = found[-1]
    for other in found[:-1]:
        if _same(other.text, last.text, equality):
            continue
        rule = "several different answers" if equality.several == "reject" else "answers that are not unanimous"
        return AnswerVerdict("different", rule, extracted=last.text, form=last.form, gold=gold.text)
    return None


def _same(a: str, b: str, equality: Equality) -> bool:
    if a.strip() == b.strip():
        return True
    left, right = read(a).tree, read(b).tree
    if left is None or right is None:
        return bool(compare_texts(a, b, equality.strict))
    return _shown_equal(left, right, equality)


def _shown_equal(a: Node, b: Node, equality: Equality) -> bool:
    """Whether two trees are shown to be equal. False if the comparison exceeds its budget."""
    try:
        return bool(compare(a, b, equality))
    except TooBig:
        return False


def _letters(part: str, found: list[FoundAnswer], gold: ReadGold, terms: Terms) -> AnswerVerdict | None:
    """Compare option letters with those in the text. None if a gold answer of several letters may be something else."""
    candidate = found[-1] if found else extract.last_line(part)
    settled = choices.settled(part, options=terms.options)
    if not settled.letters and candidate.form in ("####", "box") and not candidate.negated:
        settled = choices.Settled(choices.named(candidate.text), candidate.form)
    if letters := settled.letters or frozenset(choices.option_letter(candidate.text, terms.options)):
        said = ", ".join(sorted(letters))
        if letters == gold.letters:
            return AnswerVerdict("equal", "same option letters", "letters", said, settled.rule, gold.text)
        return AnswerVerdict("different", "other option letters", "letters", said, settled.rule, gold.text)
    if gold.kind != "letter":
        return AnswerVerdict("different", settled.rule, "letters", gold=gold.text) if settled.alternatives else None
    same = None if candidate.negated else _same_symbol_or_option(candidate, gold, terms.equality)
    return same or AnswerVerdict("different", settled.rule, "letters", candidate.text[:200], candidate.form, gold.text)


def _same_symbol_or_option(candidate: FoundAnswer, gold: ReadGold, equality: Equality) -> AnswerVerdict | None:
    """Equality of a reply without option letters: with the gold letter as a symbol, or with the option's text."""
    is_formula = not _WORD.search(candidate.text) and not choices.named(candidate.text)
    tree = read(candidate.text).tree if is_formula else None
    if tree is not None and gold.tree is not None and _shown_equal(gold.tree, tree, equality):
        return AnswerVerdict("equal", "same letter", "same tree", candidate.text, candidate.form, gold.text)
    _, text = choices.gold_letter(gold.text)
    if text and compare_texts(text, candidate.text, equality):
        return AnswerVerdict("equal", "the option's text", "text", candidate.text, candidate.form, gold.text)
    return None
