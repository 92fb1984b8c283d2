"""Compares one extracted answer with one gold answer in stages: by text, as numbers, by family, by tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from verikit.answers import aliases, choices, other_claims, residues
from verikit.answers.algebra.compare import compare
from verikit.answers.algebra.equality import Equality, EqualityResult, Outcome, different, equal
from verikit.answers.claims import closing
from verikit.answers.claims.predicates import is_negation
from verikit.answers.claims.sentences import claimed, stated_value, without_reasons
from verikit.answers.claims.statements import FoundAnswer
from verikit.answers.decimal_commas import are_decimal_in, may_be_decimal
from verikit.answers.families import compare_meanings, words
from verikit.answers.families.base import Context
from verikit.answers.families.text import compare_texts
from verikit.answers.gold import NUMERAL, ReadGold, read, read_gold
from verikit.answers.gold_readings import gold_readings, with_unit
from verikit.answers.parser.clean import same_but_spacing, trimmed
from verikit.answers.parser.tree import MAX_CHARS, SCALARS, Node, TooBig, show
from verikit.answers.percent import wrong_sense

Tail = Callable[[Node, Node], EqualityResult]
"""Decides two scalar trees that are still undecided. The only implementation is `verikit.answers.tail.Tail`."""
STRICT = Equality()
_UNMARKED = ("whole text", "last line", "last lines")
"""Forms in which the answer is not marked as such."""
_IN_PROSE = (*_UNMARKED, "statement", "final statement")
"""Forms in which the answer may be part of a sentence."""
_WHOLE = ("box", "sentence")
"""Forms that contain the answer and nothing else."""
_PHRASE = re.compile(r"[^\W\d_]{3,20}(?:[ -][^\W\d_]{2,20}){0,5}")
_SIGNED_ZERO = re.compile(r"[-−]\s?0,\d{1,40}")
"""A decimal comma, since lists do not begin with a signed zero."""
_CAPITALS = re.compile(r"[A-Z]{3,12}")
"""An abbreviation or the corners of a figure, whose letters are ordered, as opposed to a product of symbols."""
_PERCENT = re.compile(r"%|per ?cent|pct")
_QUALIFIER = re.compile(r"[\s,]*(?:\\text\s*\{\s*,?\s*)?\b(?:where|for all|for any|for every|for some|when|not)\b")
_LETTER_UNIT = re.compile(r"(-?[\d.,]+)(?:\s+K|\s*(?:[mgsLlhNJWV]|[kcm]m|kg)(?:\^\{?[23]\}?)?)")


class AnswerVerdict(NamedTuple):
    """The result and its reason. `str` gives one line per part, with trees in prefix notation."""

    outcome: Outcome
    rule: str
    stage: str = ""
    extracted: str | None = None
    form: str = ""
    """The place of the answer: box, statement, ####, answer tag, last line, and others."""
    gold: str = ""
    gold_tree: Node | None = None
    answer_tree: Node | None = None
    note: str = ""
    """The part of the answer that was not understood, if any."""

    @property
    def equal(self) -> bool:
        """Whether the answer is right."""
        return self.outcome == "equal"

    def __str__(self) -> str:
        lines = {
            "outcome": self.outcome, "rule": self.rule, "stage": self.stage, "found in": self.form,
            "answer": self.extracted, "gold": self.gold, "answer tree": show(self.answer_tree),
            "gold tree": show(self.gold_tree), "not understood": self.note,
        }  # fmt: skip
        return "\n".join(f"{name}: {text}" for name, text in lines.items() if text)


class Terms(NamedTuple):
    """The terms of the comparison, the same for each gold answer. `verify` documents them."""

    question: str = ""
    options: Sequence[str] = ()
    equality: Equality = STRICT
    tail: Tail | None = None
    letters: bool = True
    aliases: aliases.Aliases | bool = True


class _Case(NamedTuple):
    """One extracted answer and one gold."""

    found: FoundAnswer
    text: str
    """The answer's text, trimmed."""
    gold: ReadGold
    terms: Terms

    def verdict(
        self, result: EqualityResult, tree: Node | None = None, text: str | None = None, note: str = ""
    ) -> AnswerVerdict:
        """The verdict with all that is known of the pair. `text` is the part of the answer that was read."""
        text, form, gold = self.text if text is None else text, self.found.form, self.gold
        return AnswerVerdict(result.outcome, result.rule, result.stage, text, form, gold.text, gold.tree, tree, note)


def judge(found: FoundAnswer, gold: ReadGold, terms: Terms) -> AnswerVerdict:
    """Compare one extracted answer with the gold answer. A stage that can't decide passes it to the next."""
    if found.negated and not found.denies:
        return AnswerVerdict("different", "the answer is negated", "", found.text, found.form, gold.text)
    if len(found.text) > 2 * MAX_CHARS:
        return AnswerVerdict("limit", "the answer is too long", "", found.text[:200], found.form, gold.text)
    case = _Case(found, trimmed(found.text), gold, terms)
    verdict = _compared(case)
    if verdict.outcome == "equal" or found.form not in _IN_PROSE:
        return verdict
    return (_of_claims(case) if _is_in_words(gold) else _of_stated_value(case)) or verdict


def _of_stated_value(case: _Case) -> AnswerVerdict | None:
    """Equality of the value in "It's 5.", which must be the whole answer as in a box."""
    value = stated_value(case.found.text)
    if not value or _other_claim(case):
        return None
    said = trimmed(value)
    last = closing.last_value(case.text)
    if last is not None and (last.role != "asserted" or not said.startswith(last.text)):
        return None
    verdict = _compared(case._replace(text=said, found=case.found._replace(form="sentence")))
    return verdict if verdict.equal else None


def _of_claims(case: _Case) -> AnswerVerdict | None:
    """Equality of a claim in a sentence, other than the whole sentence."""
    if _other_claim(case):
        return None
    for claim in _claims(case.found, case.terms.question):
        said = trimmed(claim)
        if said not in (case.text, "") and (other := _compared(case._replace(text=said))).equal:
            return other
    return None


def _claims(found: FoundAnswer, question: str) -> Iterable[str]:
    """The claims in a sentence that may state an answer in words."""
    return claimed(found.text, question) if found.form in _UNMARKED else (without_reasons(found.text),)


def _is_in_words(gold: ReadGold) -> bool:
    """Whether a gold answer is a name, a place or a word such as "no solution", and not a formula or a number."""
    if gold.tree is None or _PHRASE.fullmatch(gold.text):
        return True
    return any(family is words.FAMILY for family, _ in gold.meanings)


def _compared(case: _Case) -> AnswerVerdict:
    return (
        _same_text(case)
        or _numerals(case)
        or _other_claim(case)
        or _negation(case)
        or _another_name(case)
        or _letters_or_denial(case)
        or _share_for_percentage(case)
        or _by_family(case)
        or (_by_text(case) if case.gold.tree is None else _by_tree(case, case.gold.tree))
    )


def _same_text(case: _Case) -> AnswerVerdict | None:
    text, form, gold = case.text, case.found.form, case.gold
    if text == gold.text or same_but_spacing(text, gold.text):
        return AnswerVerdict("equal", "same text", "text", text, form, gold.text)
    if len(text) > MAX_CHARS:
        return AnswerVerdict("limit", "the answer is too long", "", text[:200], form, gold.text)
    return None


def _numerals(case: _Case) -> AnswerVerdict | None:
    """Compare two numbers in digits, if the answer is marked as such. No other readings are tried."""
    if not case.gold.numeral or case.found.form in _UNMARKED or not NUMERAL.fullmatch(case.text):
        return None
    answer = read(case.text).tree
    assert case.gold.tree is not None
    assert answer is not None
    return case.verdict(compare(case.gold.tree, answer, case.terms.equality), answer)


def _other_claim(case: _Case) -> AnswerVerdict | None:
    """Reject the opposite of an answer, and an answer in some cases, unless question or gold answer name them."""
    for word, rule in (
        (other_claims.opposite(case.text), "the opposite of the answer"),
        (other_claims.only_case(case.text, case.gold.text), "the answer in some cases only"),
        (
            other_claims.limited(case.text, case.gold.text, case.terms.question),
            "a limit, part or multiple of the answer",
        ),
    ):
        asked = f"{case.terms.question} {case.gold.text}"
        if word and not re.search(rf"(?<![a-z]){re.escape(word)}", asked, re.IGNORECASE):
            return case.verdict(different(rule))
    return None


def _negation(case: _Case) -> AnswerVerdict | None:
    """Compare an answer that denies a value, such as "not independent". Only the same denial equals it."""
    if not is_negation(case.text):
        return None
    if case.found.form in _UNMARKED and closing.last_item(case.text) is not None:
        return None  # "Not ten: it is 10." denies, then asserts
    meanings = tuple(meant for meant in case.gold.meanings if meant[0] is words.FAMILY)
    context = Context(case.terms.question, case.terms.equality, partial(_part, terms=case.terms))
    result = compare_meanings(meanings, case.text, context)
    if result is None and case.gold.tree is None:
        result = compare_texts(case.gold.text, case.text, case.terms.equality)
    return case.verdict(result or different("the answer is negated"))


def _another_name(case: _Case) -> AnswerVerdict | None:
    """Accept another name of the gold answer, except for option letters and numbers."""
    gold, terms = case.gold, case.terms
    if gold.numeral or terms.aliases is False or terms.options or len(gold.text) < 2:
        return None
    more = None if terms.aliases is True else terms.aliases
    rule = aliases.same_thing(gold.text, case.text, terms.question, more)
    return case.verdict(equal(rule, "aliases")) if rule else None


def _letters_or_denial(case: _Case) -> AnswerVerdict | None:
    text, form, gold = case.text, case.found.form, case.gold
    if gold.letters and gold.letters == choices.several_letters(text):
        return AnswerVerdict("equal", "same option letters", "letters", text, form, gold.text)
    last = closing.last_value(text) if form in _UNMARKED and gold.tree and gold.tree.op in SCALARS else None
    if last is not None and last.role not in (("asserted",) if gold.numeral else ("asserted", "bounded")):
        return AnswerVerdict("different", "the answer is denied or doubted", "", text, form, gold.text)
    return None


def _share_for_percentage(case: _Case) -> AnswerVerdict | None:
    """Reject a fraction if the question asks for a percentage, and vice versa."""
    text, gold, terms = case.text, case.gold, case.terms
    if gold.tree is None or not (_PERCENT.search(text) or _PERCENT.search(gold.text)):
        return None
    answer = read(text).tree
    if answer is None or not wrong_sense(gold.tree, answer, terms.question, terms.equality):
        return None
    return case.verdict(different("a percentage against a share"), answer)


def _by_family(case: _Case) -> AnswerVerdict | None:
    """Compare by the families of the gold answer (dates, ranges, formulas of chemistry, …)."""
    if not case.gold.meanings:
        return None
    context = Context(case.terms.question, case.terms.equality, partial(_part, terms=case.terms))
    meant = compare_meanings(case.gold.meanings, case.text, context)
    return None if meant is None else case.verdict(EqualityResult(meant.outcome, meant.rule, "family"))


def _part(gold: str, answer: str, terms: Terms) -> EqualityResult:
    """Compare a part of an answer with a part of a gold answer."""
    part = read_gold(gold)
    if part.problem:
        return EqualityResult("bad gold", part.problem)
    verdict = judge(FoundAnswer(answer, "part", 0), part, terms)
    return EqualityResult(verdict.outcome, verdict.rule, verdict.stage)


def _by_text(case: _Case) -> AnswerVerdict:
    """Compare with a gold answer that is not mathematics."""
    result = _against_text(case.text, case.gold, case.terms)
    return case.verdict(EqualityResult(result.outcome, result.rule, "text"))


def _against_text(text: str, gold: ReadGold, terms: Terms) -> EqualityResult:
    letter = "".join(choices.named(text)) if terms.options else ""
    if len(letter) == 1 and ord(letter) - ord("A") < len(terms.options):
        option = str(terms.options[ord(letter) - ord("A")])
        if compare_texts(gold.text, option, terms.equality):
            return equal("the option the letter names")
    result = compare_texts(gold.text, text, terms.equality)
    if result and terms.equality.lenient and result.rule.endswith("(lenient)") and _quoted(text, terms.question):
        return different("quoted from the question")
    return result


def _quoted(text: str, question: str) -> bool:
    """Whether the question contains this unmarked sentence word for word."""
    return len(text) > 8 and text.strip() in question


def _by_tree(case: _Case, gold: Node) -> AnswerVerdict:
    """Compare with a mathematical gold answer. The first mathematical reading of the answer decides."""
    note = ""
    if _CAPITALS.fullmatch(case.gold.text) and _CAPITALS.fullmatch(case.text):
        return case.verdict(different("other letters", "text"))  # the same text is equal already
    for piece in _readings(case.text, case.found.form):
        if _has_decimal_comma(piece, case.terms.question):
            piece = piece.replace(",", ".")
        answer = read(piece)
        if answer.too_big:
            return AnswerVerdict("limit", answer.problem, "", piece[:200], case.found.form, case.gold.text)
        if answer.tree is None:
            note = note or answer.problem
            continue
        if residues.is_another_class(answer.tree, piece, case.gold, case.terms.question):
            return case.verdict(different("a class of residues against a value"), answer.tree, piece)
        result = _trees(gold, case.gold.text, piece, answer.tree, case.terms)
        if result and _is_quotation(case):
            result = different("quoted from the question")
        return case.verdict(result, answer.tree, piece, note)
    return case.verdict(different("the answer is not understood as mathematics", "text"), note=note)


def _has_decimal_comma(piece: str, question: str) -> bool:
    return (may_be_decimal(piece) and are_decimal_in(question)) or _SIGNED_ZERO.fullmatch(piece) is not None


def _is_quotation(case: _Case) -> bool:
    return case.found.form in _UNMARKED and _quoted(case.found.text, case.terms.question)


def _readings(text: str, form: str) -> Iterator[str]:
    """Parts of an extracted text that may be the answer: all, all without a qualifier, the last formula or number."""
    yield text
    cut = _QUALIFIER.search(text)
    if cut and cut.start() > 0:
        yield text[: cut.start()].rstrip(" ,")
    if form not in _WHOLE:
        if (item := closing.last_item(text)) is not None:
            yield item
        if (answer := without_reasons(text)) != text:
            yield answer


def _trees(gold: Node, gold_text: str, text: str, answer: Node, terms: Terms) -> EqualityResult:
    """Compare trees. If they differ, try the gold answer's other readings and units. If undecided, use the tail."""
    equality = terms.equality
    try:
        if residues.are_classes(text, gold_text) and residues.has_another_modulus(gold, answer):
            return different("a class of residues of another modulus")
        result = compare(gold, answer, equality)
        if not result:
            other = _read_otherwise(gold, gold_text, text, answer, equality) or _without_unit(gold, text, equality)
            result = other or result
        if result.outcome == "undecided" and terms.tail is not None and gold.op in SCALARS and answer.op in SCALARS:
            return terms.tail(gold, answer)
    except TooBig as error:
        return EqualityResult("limit", str(error))
    return result


def _read_otherwise(gold: Node, gold_text: str, text: str, answer: Node, equality: Equality) -> EqualityResult | None:
    """Equality under another reading of the gold answer or of the answer's unit."""
    for g in (gold, *gold_readings(gold_text)):
        for a in (answer, *with_unit(text)):
            if (g is not gold or a is not answer) and (match := compare(g, a, equality)):
                return EqualityResult("equal", f"{match.rule}, read otherwise", match.stage)
    return None


def _without_unit(gold: Node, text: str, equality: Equality) -> EqualityResult | None:
    """Equality of a number with an answer that has a letter for a unit behind it."""
    unit = _LETTER_UNIT.fullmatch(text) if gold.op == "num" and equality.units != "required" else None
    bare = read(unit[1]).tree if unit else None
    match = compare(gold, bare, equality) if bare is not None else None
    return EqualityResult("equal", f"{match.rule}, a unit left out", match.stage) if match else None
