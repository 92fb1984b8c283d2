"""The claims of plain sentences without a marked answer: "The capital is Ottawa.", "That would be **Oslo**!".

A claim may be the only bold words, or the predicate of the last sentence. It may also be the subject of a sentence that
only repeats the question ("Ottawa is the capital."). A short answer followed by its reasons ("Yes. It converges.") is
read too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from verikit.answers.claims.echoes import echoed, may_echo
from verikit.answers.claims.predicates import is_negation, predicate
from verikit.answers.claims.roles import is_counterfactual, role, role_before
from verikit.answers.claims.tokens import ClaimToken, holds_no, tokens
from verikit.answers.claims.words import COPULAS, GETS, ROLES, SUBJECTS
from verikit.answers.parser.units import is_unit

MAX_CHARS = 600
MAX_WORDS = 8
"""Maximum number of words of a sentence that is a bare answer."""
_BOLD = re.compile(r"(?<![*\w])\*\*(?=\S)([^*\n]{1,200})(?<=\S)\*\*(?![*\w])")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?])\s+(?=\S)|(?<=[)\"”*\d][.!?])\s+(?=[^\W\d_])|\n+|(?<=[。！？।])")
_LEAD = re.compile(
    r"^(?:(?:so|therefore|thus|hence|also|donc|entonces|quindi|portanto|所以|因此)\b[\s,:：]*)+", re.IGNORECASE
)
_REMARK = re.compile(r"(?:let me know|hope|feel free|please|i hope|happy to|if you)\b|[^\n]*!\W*$", re.IGNORECASE)
_LINKING = frozenset("called named remains became becomes heißt s'appelle".split())
_REASONS = frozenset(("because", "since", "weil", "car", "porque"))
_VERBS_AND_REASONS = (
    _REASONS | {word for word, role in ROLES.items() if role in ("is", "so")} | _LINKING | GETS | {"s", "t"}
)
_OPENERS = SUBJECTS | COPULAS | {word for word, role in ROLES.items() if role in ("so", "sure")}
"""Words that may begin a sentence such as "So it's 5"."""
_MARK_WITHIN = re.compile(r"[*\n,:;=!?()/\"\[]|[.]\s")
_VALUE = re.compile(r"(?![-−–—]\s)(?:[-−+$\\\d(\[{£€¥√]|[a-zA-Z]\s?=)")
_DOTS = re.compile(r"\.\.|…")
_DIGIT = re.compile(r"\d")
MAX_LEAD = 60
"""Maximum number of characters of the words before the value in "So it would be 5"."""
_EDGE = " \t.,;:。，*\"“”'`"


def claimed(text: str, question: str = "") -> Iterator[str]:
    """The claims of an unmarked reply's sentences, most likely first. Claims that are denied or doubted are skipped."""
    is_bare = not _MARK_WITHIN.search(text) and holds_no(_VERBS_AND_REASONS, text) and not may_echo(text, question)
    if is_bare or len(text) > MAX_CHARS:
        return  # a bare answer claims itself
    bold = [match for match in _BOLD.finditer(text) if not match[1].endswith((":", "："))] if "**" in text else []
    if len({match[1].casefold() for match in bold}) == 1:
        if any(role(text, *match.span()) == "asserted" for match in bold):
            yield bold[-1][1].strip(_EDGE)
        return
    sentences = [_LEAD.sub("", part.strip()) for part in _SENTENCE_END.split(text.replace("**", "")) if part.strip()]
    if short := _before_reasons(sentences):
        yield short
    said = [sentence for sentence in sentences if not _REMARK.match(sentence)]
    if said:
        yield from _of_sentence(said[-1], question)


def stated_value(text: str) -> str:
    """The number or formula of a last sentence "It's 5.", "Son 5" or "它是5". Empty if the sentence has other words.

    Only units and reasons may follow the value. It must be neither denied nor asked for.
    """
    sentence = next(
        (part for part in reversed(_SENTENCE_END.split(text.replace("**", ""))) if part.strip()), ""
    ).strip()
    said = sentence[_end_of_lead(sentence) :].lstrip() if len(sentence) <= MAX_CHARS else ""
    if said == sentence or _DOTS.search(said) or not _VALUE.match(said) or predicate(said).role != "asserted":
        return ""
    value = without_reasons(said, attributes=False)
    rest = said.removeprefix(value)
    if any(token.role == "not" for token in tokens(rest)) and (value in rest or not _DIGIT.search(rest)):
        return ""  # "5, not true" rather than "5, not 6"
    words = (value[token.start : token.start + len(token.text)] for token in tokens(value))
    return value if all(map(_may_be_in_value, words)) else ""


def _may_be_in_value(word: str) -> bool:
    """Whether a word is a letter, a unit or no word."""
    return not word.isalpha() or (len(word) == 1 and word.isascii()) or is_unit(word)


def _end_of_lead(sentence: str) -> int:
    """The end of "It's", "So that would be" or "Son" at the start of a sentence, or 0."""
    lead = sentence[:MAX_LEAD]
    if lead.isascii() and _OPENERS.isdisjoint(lead.lower().replace("'", " ").replace(",", " ").split(maxsplit=1)[:1]):
        return 0
    found = tokens(lead)
    if not found or found[0].start:
        return 0
    subject = _skip(found, 0, _is_adverb)
    verb = _skip(found, _skip(found, subject, lambda token: token.text in SUBJECTS), _is_adverb)
    start = verb if verb < len(found) and found[verb].text in COPULAS else subject  # Spanish "es" may be the verb
    end = _skip(found, start, lambda token: token.text in COPULAS)
    if end == start:
        return 0
    last = found[_skip(found, end, _is_adverb) - 1]
    return last.start + len(last.text)


def _skip(found: Sequence[ClaimToken], at: int, is_skipped: Callable[[ClaimToken], bool]) -> int:
    while at < len(found) and is_skipped(found[at]):
        at += 1
    return at


def _is_adverb(token: ClaimToken) -> bool:
    return token.role in ("so", "sure", "comma") and token.text not in COPULAS


def _before_reasons(sentences: Sequence[str]) -> str:
    """A first sentence that is only an answer, if the following sentences neither doubt it nor are another answer."""
    if len(sentences) < 2 or not (short := _bare(sentences[0])):
        return ""
    return "" if any(doubts(sentence) or _is_another(sentence) for sentence in sentences[1:]) else short


def _of_sentence(sentence: str, question: str) -> Iterator[str]:
    if answer := echoed(sentence, question):
        yield answer.strip(_EDGE)
    whole, sentence = sentence, without_reasons(sentence)
    found = tokens(sentence)
    copulas = [at for at in range(len(found)) if _is_copula(found, at)]
    if not copulas:
        if short := _bare(whole):
            yield short
        return
    last = copulas[-1]
    complement = sentence[found[last].start + len(found[last].text) :].strip()
    if len(copulas) > 1 and last == len(found) - 1 and not complement.strip(_EDGE):  # "首都はオタワです"
        last = copulas[-2]
        complement = sentence[found[last].start + len(found[last].text) : found[copulas[-1]].start]
    if role_before(found[: last + 1]) != "asserted" or is_counterfactual(found[: last + 1], found[last + 1 :]):
        return
    if not complement:
        return
    said = predicate(complement)
    if said.role == "asserted":
        yield complement[said.start :].strip(_EDGE)
        subject = sentence[: found[last].start].strip(_EDGE)
        if len(copulas) == 1 and subject and not is_negation(subject) and _adds_nothing(complement, subject, question):
            yield subject
    elif said.role == "negation":
        yield complement.strip(_EDGE)


def _is_copula(found: Sequence[ClaimToken], at: int) -> bool:
    """Whether a token links a subject and its complement: "is", "is called", "we get"."""
    token = found[at]
    if token.role == "is":
        return token.text not in ("=", "—", "–")
    if token.text in _LINKING:
        return True
    return token.text in GETS and at > 0 and found[at - 1].text in ("i", "we")


def _bare(sentence: str) -> str:
    """A sentence that is only an answer, without its reasons. Empty for any other sentence."""
    kept = without_reasons(sentence)
    if kept != sentence and predicate(sentence).role in ("denied", "quoted", "hypothetical"):
        return ""
    answer = kept.strip(_EDGE)
    found = tokens(answer)
    return answer if len(found) <= MAX_WORDS and all(token.role != "is" for token in found) and found else ""


def without_reasons(sentence: str, attributes: bool = True) -> str:
    """A sentence up to its "because …", ", not …", ", I think", and with `attributes` its ", which …"."""
    if "," not in sentence and ";" not in sentence and holds_no(_REASONS, sentence):
        return sentence
    found = tokens(sentence)
    for at, token in enumerate(found[1:], 1):
        behind_comma = _is_pause(found[at - 1])
        if token.text in _REASONS or (behind_comma and at > 1 and _is_aside(found[at:], attributes)):
            return sentence[: found[at - 1].start if behind_comma else token.start].rstrip(" ,(")
    return sentence


def _is_pause(token: ClaimToken) -> bool:
    return token.role == "comma" or token.text == ";"


def _is_aside(found: Sequence[ClaimToken], attributes: bool) -> bool:
    """Whether the words after a comma comment on the answer before it."""
    first, roles = found[0], [token.role for token in found[:4]]
    if first.text in ("i", "we"):
        return all(token.role not in ("is", "number") for token in found[1:])
    if first.role == "it":
        return "not" in roles
    if first.text == "even":
        return roles[1:2] == ["if"]
    if attributes and (first.role == "after" or first.text == "as"):
        return True
    if first.role == "not":
        return roles[1:2] != ["comma"] or first.text in ("not", "nicht")  # others begin a correction: "5, non, 6"
    return roles[:2] == ["and", "not"]


def doubts(text: str) -> bool:
    """Whether the text after an answer doubts it or takes it back."""
    found = tokens(text)
    if any(token.role in ("wrong", "maybe", "might", "or", "if") or token.text == "wait" for token in found):
        return True
    nots = [at for at, token in enumerate(found) if token.role == "not"]
    return any(token.role in ("think", "right", "case", "it") for at in nots for token in found[at + 1 : at + 4])


def _is_another(sentence: str) -> bool:
    """Whether a sentence is an answer on its own, so that there are two with the one before."""
    return bool(_bare(sentence)) and not _REMARK.match(sentence) and len(tokens(sentence)) < 4


def _adds_nothing(complement: str, subject: str, question: str) -> bool:
    """Whether the complement of a subject is only "the right answer", or only repeats the question."""
    found = tokens(complement)
    roles = {token.role for token in found}
    if roles & {"answer", "right"} and roles <= {"answer", "right", "filler", "option", "sure"}:
        return True
    asked = {token.text for token in tokens(question[-MAX_CHARS:])}
    in_question = [all(token.text in asked for token in tokens(text)) for text in (complement, subject)]
    return bool(asked) and in_question == [True, False]
