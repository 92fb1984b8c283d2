"""Stated answers: "the answer is …", "#### …", "答案：…", "la réponse est donc …".

The nouns are searched for from the end of the text, which is cheap, and only the text after one is read. A statement
that its sentence denies, doubts or makes a condition of ("I don't think that the answer is 5") asserts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from verikit.answers.claims.closing import MAX_LINE, bullets
from verikit.answers.claims.predicates import predicate
from verikit.answers.claims.roles import Role, belongs_to_another, is_counterfactual, role_before
from verikit.answers.claims.sentences import without_reasons
from verikit.answers.claims.tokens import ClaimToken, another_offer, asserts_all, sentence_before, sentence_end, tokens
from verikit.answers.claims.withdrawals import another_answer, is_taken_back
from verikit.answers.claims.words import ROLES


class FoundAnswer(NamedTuple):
    """An extracted answer: its text, the form it was found in, its start, and its role in the reply."""

    text: str
    form: str
    start: int = 0
    role: Role = "asserted"
    pieces: tuple[str, ...] = ()
    """The texts of adjacent boxes or statements, if it is a list of several."""
    denies: bool = False
    """Whether only its own text negates it ("not independent"). The gold answer may be such a text."""

    @property
    def negated(self) -> bool:
        """Whether the reply does not assert it."""
        return self.role != "asserted"


MAX_REPLACEMENT = 120
"""Characters after a denied statement within which another answer may begin."""
MAX_KEPT = 24
"""Maximum number of boxes or statements read, counted from the end."""
_NEAR = 8
"""Maximum number of characters between two statements of one list."""

_NOUNS = (
    "answer", "final result", "antwort", "respuesta", "resposta", "risposta", "antwoord", "jawaban", "cevap",
)  # fmt: skip
_OTHER_NOUNS = (
    "答案", "答え", "réponse", "ответ", "الجواب", "الإجابة", "उत्तर", "정답", "đáp án", "đáp số", "odpowiedź",
    "απάντηση",
)  # fmt: skip
_FINAL = re.compile(r"(?:final|endgültige|finale|最终|最終)\W{0,3}$", re.IGNORECASE)
_CONNECTOR = re.compile(
    r"s?(?:,[^,.\n]{1,60},\s)?(?:[^.\n:：=$\\*]{0,60}?(?:\b(?:is|are|was|be|becomes|equals|est|es|ist|lautet|é|è|sera|será)(?!\w)|[:：=]"
    r"|[为為是は]|है|는|은)|(?=\s*(?:\\\(|\\\[|\$|\*\*\S)))(?:\*\*|[\s:：]|\*(?!\s))*",
    re.IGNORECASE,
)
_SUBJECT = ClaimToken("answer", "answer", 0)
_ADVERBS = ("sure", "so", "comma")
_AFTER_ADVERBS = ("to", "à", "a", "por", "lo", "tanto")
_ADVERBIAL = {word for word, role in ROLES.items() if role in _ADVERBS} | set(_AFTER_ADVERBS)
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)")
_REMARK = re.compile(
    r"(?:(?:indeed|thus|therefore|also|now|very|quite|both|already|clearly|definitely)\s+)*(?:reasonable"
    r"|correct|right"
    r"|verified|consistent|confirmed|plausible|valid|sensible|unique|simplified|boxed|above|below|shown|given"
    r"|in the box|in (?:its )?simplest|as (?:expected|required|above|shown|given)|obtained|what we|checked|complete"
    r"|ready)\b",
    re.IGNORECASE,
)
"""Remarks about an answer that are not an answer: "the final answer is reasonable"."""
_STOP = re.compile(
    r"\n|(?<![A-Z])(?!(?<=[ap]\.m)\.\s(?:plus|minus|is|isn|does|fails|except)\b)[.!?](?=\s|$|</)"
    r"|(?:です)?[。！？।]|\s+I hope\b|</"
)
_SENTENCE_BEFORE = re.compile(r"[.!?。！？।][ *_]*$")
_FORMULA = re.compile(
    r"\$\$(?:.{1,2000}?)\$\$|\$(?:(?:[^$\\]|\\.){1,2000})\$|\\\((?:.{1,2000}?)\\\)|\\\[(?:.{1,2000}?)\\\]", re.DOTALL
)
_LEADING_BOLD = re.compile(r"[^\d*$\\\n.A-Z]{1,40}?\*\*([^*\n]{1,200})\*\*")
_DIGIT = re.compile(r"\d")
_HASHES = re.compile(r"####[ \t]*([^\n]{1,400})")
_HEADINGS = ("solution", "answer", "step", "conclusion", "final")


def statements(text: str, every: bool = False) -> list[FoundAnswer]:
    """The last stated answer, or with `every` each of the last `MAX_KEPT`. Adjacent different ones are one list."""
    found: list[FoundAnswer] = []
    remarks: list[FoundAnswer] = []
    following: tuple[int, int] | None = None
    for start, noun_end in _nouns(text):
        link = _CONNECTOR.match(text, noun_end)
        if link is None:
            continue
        item, end = _stated(text, start, link.start(), link.end())
        if following is not None and following[0] < end:
            if following[1] <= end:
                continue  # "Final Answer: The final answer is …": the inner statement counts.
            end = following[0]
            item = item._replace(text=text[link.end() : end].strip(" .\n"))
        following = (start, link.end())
        if not item.text:
            continue
        if _REMARK.match(item.text):
            remarks.append(item)
            continue
        if found and not (item.negated or found[-1].negated) and found[-1].start - end <= _NEAR:
            last = found.pop()
            if last.text != item.text:
                pieces = (item.text, *(last.pieces or (last.text,)))
                last = last._replace(text=f"{item.text} , {last.text}", pieces=pieces)
            found.append(last._replace(start=start, role=item.role))
        elif found and not every and not found[-1].negated:
            break
        else:
            found.append(item)
    return found[::-1] or remarks[:1]


def _places(folded: str, noun: str) -> Iterator[tuple[int, int]]:
    """The last places of a noun, from the last on."""
    at = len(folded)
    for _ in range(MAX_KEPT):
        at = folded.rfind(noun, 0, at)
        if at < 0:
            return
        yield at, at + len(noun)


def _nouns(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of the nouns that announce an answer, from the last to the first."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = text
    ascii_only = folded.isascii()
    nouns = [noun for noun in (_NOUNS if ascii_only else _NOUNS + _OTHER_NOUNS) if noun in folded]
    places = [place for noun in nouns for place in _places(folded, noun)]
    if len(places) > 1:
        places.sort(reverse=True)
    for at, end in places[:MAX_KEPT]:
        if not (at and text[at - 1].isalpha() and folded[at].isascii()):
            yield at, end


def _stated(text: str, start: int, link: int, content_start: int) -> tuple[FoundAnswer, int]:
    """The statement whose noun starts at `start` and whose content starts at `content_start`, and its end."""
    content, end = _content(text, content_start)
    left = _clause_before(text, start)
    form = "final statement" if text[start] in "fF" or _FINAL.search(text, max(0, start - 14), start) else "statement"
    stop = _STOP.search(text, content_start, content_start + MAX_LINE)
    sentence = text[content_start : stop.end() if stop else content_start + MAX_LINE].replace("**", "")
    link_words = text[link:content_start].rpartition(",")[2]
    if asserts_all(f"{left} {link_words} {sentence}") and not (stop and another_offer(text, stop.end())):
        return FoundAnswer(content, form, start), end
    denied = any(token.role in ("not", "might", "maybe") for token in tokens(link_words))
    said = predicate(("not " if denied else "") + sentence)
    around = _role_around(left, link_words, sentence)
    if around != "hypothetical" and stop is not None and another_offer(text, stop.end()):
        around = "alternative"
    own: Role = "denied" if said.role == "negation" else said.role
    doubted = around != "asserted" or own == "hypothetical"
    if said.role == "asserted" and said.start:
        content, end = _content(sentence[said.start - 4 * denied :], 0)[0], content_start + len(sentence)
    denies = said.role == "negation" and not doubted
    if denies:  # the denial itself is stated
        content = ("not " if denied else "") + without_reasons(sentence.strip(" \n.。"))
    return FoundAnswer(content, form, start, own if around == "asserted" else around, denies=denies), end


def _clause_before(text: str, start: int) -> str:
    """The text before a noun in its sentence. Empty if the noun begins it: "Suppose x = 2. Answer: 5."."""
    begins = not text[start].islower() and _SENTENCE_BEFORE.search(text, max(0, start - 20), start)
    return "" if begins else sentence_before(text, start)


def _role_around(left: str, link_words: str, sentence: str) -> Role:
    """The role that the words before a statement's noun give to the whole statement."""
    before = tokens(left)
    if is_counterfactual((*before, _SUBJECT, *tokens(link_words)), tokens(sentence)):
        return "hypothetical"
    if belongs_to_another(before):
        return "quoted"
    role = role_before(before)
    # Something else is limited: "at least we know that the answer is 5".
    return "asserted" if role == "bounded" else role


def _content(text: str, start: int) -> tuple[str, int]:
    """The text from a statement's connector to the end of its formula or sentence."""
    start = _after_adverbs(text, start)
    window = text[start : start + MAX_LINE]
    if "\n" in window and (items := bullets(window.split("\n"))):
        return ", ".join(items), start + len(window)
    if window.startswith(("\\[", "\\(", "$")) and (match := _FORMULA.match(window)):
        tail = _tail_of_formula(window[match.end() :])
        return (match[0] + tail).strip(), start + match.end() + len(tail)
    if bold := _LEADING_BOLD.match(window):
        return bold[1].strip(), start + bold.end()
    mark = window.find("**")
    stop = _STOP.search(window)
    end = stop.start() if stop else len(window)
    if 0 < mark < end:
        end = mark
    content = window[:end].strip().strip("*").strip()
    return without_reasons(content, attributes=False), start + end


def _tail_of_formula(rest: str) -> str:
    """The rest of the sentence after a formula, if that is short or goes on with formulas."""
    stop = _STOP.search(rest)
    tail = rest[: stop.start()] if stop else rest
    return tail if len(tail) <= 40 or "$" in tail or "\\" in tail else ""


def _is_adverb(token: ClaimToken) -> bool:
    return token.text != "no" and (token.role in _ADVERBS or token.text in _AFTER_ADVERBS)


def _after_adverbs(text: str, start: int) -> int:
    """The start of a statement's value after "therefore", "exactly", "equal to", "as follows"."""
    first = _FIRST_WORD.match(text, start, start + 60)
    if first is None or (first[0].isascii() and first[1].lower() not in _ADVERBIAL):
        return start
    said = tokens(text[start : start + 60])
    adverbs = list(takewhile(_is_adverb, said))
    at = len(adverbs)
    if at == len(said) or said[at].role == "because" or not any(t.role in ("sure", "so") for t in adverbs):
        return start
    end = start + said[at - 1].start + len(said[at - 1].text)
    while end < len(text) and text[end] in " ,:：，":
        end += 1
    return end


def replacement(text: str, stated: FoundAnswer) -> str:
    """The other answer given after a statement that is not the reply's own: "… is not 5. It is 6.". Empty if none."""
    at = max(stated.start, text.find(stated.text, stated.start) + len(stated.text))
    rest = text[sentence_end(text, at) :].lstrip()
    if not rest:
        return ""
    following = tokens(rest[:MAX_REPLACEMENT])
    if not stated.negated and not is_taken_back(following):
        return ""
    value = another_answer(following)
    if value is None:
        return ""
    is_remark = stated.denies and not _DIGIT.search(stated.text) and rest[value.start].islower()
    return "" if is_remark else rest  # "It is not independent. It is easy to see."


def asserted(found: list[FoundAnswer]) -> list[FoundAnswer]:
    """The marked answers that are valid, without remarks about an answer and denials of other answers.

    A denial of the given answer takes it back.
    """
    kept: list[FoundAnswer] = []
    for item in found:
        if kept and item.form != "box" and _REMARK.match(item.text):
            continue
        if kept and item.negated and not kept[-1].negated and item.text.removeprefix("not ") != kept[-1].text:
            continue
        kept.append(item)
    return kept


def hash_mark(text: str) -> FoundAnswer | None:
    """GSM8K's ``#### answer``: the last one that is not a heading."""
    at = len(text)
    for _ in range(MAX_KEPT):
        at = text.rfind("####", 0, at)
        if at < 0:
            return None
        if match := _HASHES.match(text, at):
            heading = match[1].strip().lower().startswith(_HEADINGS)
            return None if heading else FoundAnswer(match[1].strip(), "####", at)
    return None
