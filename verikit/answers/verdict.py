"""`verify`: one answer against one or several golds, with everything `explain` shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from verikit.answers import choices, closing, extract
from verikit.answers.clean import same_but_spacing, trimmed
from verikit.answers.compare import compare
from verikit.answers.families import compare_meanings
from verikit.answers.families.base import Context
from verikit.answers.gold import NUMERAL, ReadGold, read, read_gold
from verikit.answers.percent import wrong_sense
from verikit.answers.policy import Match, Outcome, Policy, different, equal
from verikit.answers.statements import Found
from verikit.answers.text import compare_texts
from verikit.answers.tree import MAX_CHARS, SCALARS, Node, TooBig, show

Tail = Callable[[Node, Node], Match]
"""Decides two scalar trees that stayed undecided; `verikit.answers.tail.Tail` is the one there is."""
STRICT = Policy()
MAX_TEXT = 20_000_000
"""Characters of a completion; beyond it nothing is read."""


class Verdict(NamedTuple):
    """What was decided and by what; as text, a line for each part, the trees in prefix notation."""

    outcome: Outcome
    rule: str
    stage: str = ""
    extracted: str | None = None
    form: str = ""
    """Where the answer stood: box, statement, ####, answer tag, last line…"""
    gold: str = ""
    gold_tree: Node | None = None
    answer_tree: Node | None = None
    note: str = ""
    """What of the answer was not understood, if anything."""

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


def verify(
    prediction: str,
    gold: str | Sequence[str],
    *,
    question: str = "",
    options: Sequence[str] = (),
    policy: Policy = STRICT,
    tail: Tail | None = None,
    letters: bool = True,
) -> Verdict:
    """Extract the answer of `prediction` and compare it with the gold, or with each of several accepted golds.

    Never raises on any text. `question` helps to tell an answer from a quotation, `options` are the option texts of
    multiple choice; `tail` decides pairs the in-process stages leave undecided; with `letters` off a gold that is a
    single capital is a symbol, not an option.
    """
    golds = (gold,) if isinstance(gold, str) else gold
    if len(prediction) > MAX_TEXT:
        return Verdict("limit", "the completion is too long")
    part = extract.final_part(prediction)
    found = extract.marked(part, every=policy.several != "last")
    best: Verdict | None = None
    for one in golds:
        try:
            verdict = _verify(part, found, one, question, options, policy, tail, letters)
        except RecursionError:
            verdict = Verdict("limit", "the caller's stack is too deep", gold=one)
        if verdict.equal:
            return verdict
        if best is None or _RANK[verdict.outcome] < _RANK[best.outcome]:
            best = verdict
    return best or Verdict("bad gold", "no gold answer")


_RANK = {"undecided": 1, "limit": 2, "different": 3, "bad gold": 4}


def _verify(
    part: str,
    found: list[Found],
    gold_text: str,
    question: str,
    options: Sequence[str],
    policy: Policy,
    tail: Tail | None,
    letters: bool,
) -> Verdict:
    if found and found[-1].form == "box" and policy.several == "last" and not found[-1].negated and gold_text:
        text = found[-1].text
        if (text == gold_text and not text.isspace()) or same_but_spacing(text, gold_text):
            return Verdict("equal", "same text", "text", text, "box", gold_text)
    gold = read_gold(gold_text)
    if gold.problem:
        return Verdict("bad gold", gold.problem, gold=gold.text)
    if found and found[-1].form == "open box":
        return Verdict("different", "the last box is not closed", form="open box", gold=gold.text)
    if letters and gold.letters and (chosen := _letters(part, found, gold, options, policy)):
        return chosen
    if not found and len(part) > MAX_CHARS and len(part.strip()) > MAX_CHARS and "\n" not in part.strip():
        return Verdict("limit", "one line too long to be an answer", gold=gold.text)
    if len(found) > 1 and policy.several != "last" and (refused := _several(found, gold, policy)):
        return refused
    candidate = found[-1] if found else extract.last_line(part)
    if candidate.pieces and all(_same(piece, candidate.pieces[-1], policy) for piece in candidate.pieces):
        candidate = candidate._replace(text=candidate.pieces[-1])
    return _judge(candidate, gold, question, options, policy, tail)


def _several(found: list[Found], gold: ReadGold, policy: Policy) -> Verdict | None:
    """Refuse a text that marks several answers that are not the same."""
    last = found[-1]
    for other in found[:-1]:
        if _same(other.text, last.text, policy):
            continue
        rule = "several different answers" if policy.several == "reject" else "answers that are not unanimous"
        return Verdict("different", rule, extracted=last.text, form=last.form, gold=gold.text)
    return None


def _same(a: str, b: str, policy: Policy) -> bool:
    if a.strip() == b.strip():
        return True
    left, right = read(a).tree, read(b).tree
    if left is None or right is None:
        return bool(compare_texts(a, b, replace(policy, strictness="strict")))
    return _shown_equal(left, right, policy)


def _shown_equal(a: Node, b: Node, policy: Policy) -> bool:
    """Whether two trees are equal; a comparison over its budget shows nothing."""
    try:
        return bool(compare(a, b, policy))
    except TooBig:
        return False


def _letters(part: str, found: list[Found], gold: ReadGold, options: Sequence[str], policy: Policy) -> Verdict | None:
    """Option letters against what the text settles on; None where a gold of several may be something else."""
    candidate = found[-1] if found else extract.last_line(part)
    settled = choices.settled(part)
    if not settled.letters and candidate.form in ("####", "box") and not candidate.negated:
        settled = choices.Settled(choices.named(candidate.text), candidate.form)
    if letters := settled.letters or frozenset(choices.option_letter(candidate.text, options)):
        said = ", ".join(sorted(letters))
        if letters == gold.letters:
            return Verdict("equal", "same option letters", "letters", said, settled.rule, gold.text)
        return Verdict("different", "other option letters", "letters", said, settled.rule, gold.text)
    if gold.kind != "letter":
        return Verdict("different", settled.rule, "letters", gold=gold.text) if settled.alternatives else None
    formula = not candidate.negated and not _WORD.search(candidate.text) and not choices.named(candidate.text)
    tree = read(candidate.text).tree if formula else None
    if tree is not None and gold.tree is not None and _shown_equal(gold.tree, tree, policy):
        return Verdict("equal", "same letter", "same tree", candidate.text, candidate.form, gold.text)
    _, text = choices.gold_letter(gold.text)
    if text and not candidate.negated and compare_texts(text, candidate.text, policy):
        return Verdict("equal", "the option's text", "text", candidate.text, candidate.form, gold.text)
    return Verdict("different", settled.rule, "letters", candidate.text[:200], candidate.form, gold.text)


def _judge(
    found: Found, gold: ReadGold, question: str, options: Sequence[str], policy: Policy, tail: Tail | None
) -> Verdict:
    """Compare one extracted answer with the gold."""
    form = found.form
    if found.negated:
        return Verdict("different", "the answer is negated", "", found.text, form, gold.text)
    if len(found.text) > 2 * MAX_CHARS:
        return Verdict("limit", "the answer is too long", "", found.text[:200], form, gold.text)
    text = trimmed(found.text)
    if text == gold.text or same_but_spacing(text, gold.text):
        return Verdict("equal", "same text", "text", text, form, gold.text)
    if len(text) > MAX_CHARS:
        return Verdict("limit", "the answer is too long", "", text[:200], form, gold.text)
    if gold.numeral and form not in _UNMARKED and NUMERAL.fullmatch(text):
        answer = read(text).tree
        assert gold.tree is not None
        assert answer is not None
        match = compare(gold.tree, answer, policy)
        return Verdict(match.outcome, match.rule, match.stage, text, form, gold.text, gold.tree, answer)
    if gold.letters and gold.letters == choices.several_letters(text):
        return Verdict("equal", "same option letters", "letters", text, form, gold.text)
    if form in _UNMARKED and gold.numeral and closing.denies_its_last(text):
        return Verdict("different", "the answer is denied or doubted", "", text, form, gold.text)
    if question and gold.tree is not None and (_PERCENT.search(text) or _PERCENT.search(gold.text)):
        answer = read(text).tree
        if answer is not None and wrong_sense(gold.tree, answer, question, policy):
            rule = "a percentage or a share, and the question asks for the other"
            return Verdict("different", rule, "", text, form, gold.text, gold.tree, answer)
    if gold.meanings:
        context = Context(
            question, policy, partial(_part, question=question, options=options, policy=policy, tail=tail)
        )
        if (meant := compare_meanings(gold.meanings, text, context)) is not None:
            return Verdict(meant.outcome, meant.rule, "family", text, form, gold.text, gold.tree)
    if gold.tree is None:
        match = _against_text(text, gold, question, options, policy)
        return Verdict(match.outcome, match.rule, "text", text, form, gold.text)
    note = ""
    for piece in _readings(text, form):
        reading = read(piece)
        if reading.too_big:
            return Verdict("limit", reading.problem, "", piece[:200], form, gold.text)
        if reading.tree is None:
            note = note or reading.problem
            continue
        match = _trees(gold, piece, reading.tree, policy, tail)
        if match and form in _UNMARKED and _quoted(found.text, question):
            match = different("quoted from the question")
        return Verdict(match.outcome, match.rule, match.stage, piece, form, gold.text, gold.tree, reading.tree, note)
    match = different("")
    if (
        len(text) < 2 * len(gold.text) + 40
        and text[-1:] not in ("?", "？")
        and not _FORMULA.search(choices.unwrap(text))
    ):
        match = compare_texts(gold.text, text, replace(policy, strictness="strict"))
    rule = match.rule if match else "the answer is no mathematics that is understood"
    return Verdict(match.outcome, rule, "text", text, form, gold.text, gold.tree, None, note)


def _part(gold: str, answer: str, question: str, options: Sequence[str], policy: Policy, tail: Tail | None) -> Match:
    """Compare a part of an answer with a part of a gold."""
    part = read_gold(gold)
    if part.problem:
        return Match("bad gold", part.problem)
    verdict = _judge(Found(answer, "part", 0), part, question, options, policy, tail)
    return Match(verdict.outcome, verdict.rule, verdict.stage)


_PERCENT = re.compile(r"%|per ?cent|pct")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2}")
_UNMARKED = ("whole text", "last line", "last lines")
_FORMULA = re.compile(r"[\\^_=+*/<>()|{}\[\]]")


def _readings(text: str, form: str) -> Iterator[str]:
    """What of an extracted text may be the answer: all of it, all but a qualifier, its last formula or number."""
    yield text
    cut = _QUALIFIER.search(text)
    if cut and cut.start() > 0:
        yield text[: cut.start()].rstrip(" ,")
    if form != "box" and (item := closing.last_item(text)) is not None:
        yield item


_QUALIFIER = re.compile(r"[\s,]*(?:\\text\s*\{\s*,?\s*)?\b(?:where|for all|for any|for every|for some|when|not)\b")


def _quoted(text: str, question: str) -> bool:
    """Whether a sentence that no form marks as the answer stands in the question word for word."""
    return len(text) > 8 and text.strip() in question


def _against_text(text: str, gold: ReadGold, question: str, options: Sequence[str], policy: Policy) -> Match:
    letter = "".join(choices.named(text)) if options else ""
    if len(letter) == 1 and ord(letter) - ord("A") < len(options):
        match = compare_texts(gold.text, str(options[ord(letter) - ord("A")]), policy)
        if match:
            return equal("the option the letter names")
    match = compare_texts(gold.text, text, policy)
    if match and policy.lenient and match.rule.endswith("(lenient)") and _quoted(text, question):
        return different("quoted from the question")
    return match


_DECIMAL_COMMA = re.compile(r"-?(?:0,\d+|\d+,(?!\d{3}$)\d*[1-9]\d*)")
"""A comma may be a decimal one, but not before zeros alone (35,000 and -3,0) or where it groups digits (1,234)."""
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)")
_SPACED_POWER = re.compile(r"(\d)\s*e\s*(?:\\,)?([-+])\s*(?:\\,)?(\d)")
_PLAIN_UNIT = re.compile(
    r"(.{0,60}[\d})])\s+([a-zA-Z]{1,3}(?:\s*\^\s*\{?-?\d\}?)?(?:\s*[/*]\s*[a-zA-Z]{1,3}(?:\s*\^\s*\{?-?\d\}?)?)?)"
)
_LETTER_UNIT = re.compile(r"(-?[\d.,]+)\s*(?:[mgsLlhNJWVK]|[kcm]m|kg)(?:\^\{?[23]\}?)?")


def other_readings(text: str) -> list[Node]:
    """Other trees a text may stand for: a decimal comma, grouped digits or a list, a plain unit, a power of ten."""
    texts: list[str] = []
    if _DECIMAL_COMMA.fullmatch(text):
        texts.append(text.replace(",", "."))
    if _GROUPED.search(text):
        texts.append(_GROUPED.sub(lambda m: m[0].replace(",", ", "), text))
        texts.append(_GROUPED.sub(lambda m: m[0].replace(",", ""), text))
    if unit := _PLAIN_UNIT.fullmatch(text):
        texts.append(f"{unit[1]} \\text{{{unit[2]}}}")
    if _SPACED_POWER.search(text):
        texts.append(_SPACED_POWER.sub(r"\1e\2\3", text))
    return [tree for t in texts if t != text and (tree := read(t).tree) is not None]


def _trees(gold: ReadGold, text: str, answer: Node, policy: Policy, tail: Tail | None) -> Match:
    """Compare trees; where they differ, the other readings of both texts; where undecided, the tail."""
    assert gold.tree is not None
    try:
        match = compare(gold.tree, answer, policy)
        if match:
            return match
        for g in (gold.tree, *other_readings(gold.text)):
            for a in (answer, *other_readings(text)):
                if (g is not gold.tree or a is not answer) and (other := compare(g, a, policy)):
                    return Match("equal", f"{other.rule}, read otherwise", other.stage)
        unit = _LETTER_UNIT.fullmatch(text) if gold.tree.op == "num" and policy.units != "required" else None
        if unit and (bare := read(unit[1]).tree) is not None and (other := compare(gold.tree, bare, policy)):
            return Match("equal", f"{other.rule}, a unit left out", other.stage)
        if match.outcome == "undecided" and tail is not None and gold.tree.op in SCALARS and answer.op in SCALARS:
            return tail(gold.tree, answer)
    except TooBig as error:
        return Match("limit", str(error))
    return match
