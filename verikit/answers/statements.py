"""Stated answers: "the answer is …", "#### …", "答案：…", "la réponse est donc …".

A cheap look for the nouns from the end of the text; only what follows one is read, the last one first. A statement that
its sentence denies, doubts or makes a condition of ("I don't think that the answer is 5") asserts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from verikit.answers.closing import MAX_LINE, bullets
from verikit.answers.denials import asserted_part, unasserted


class FoundAnswer(NamedTuple):
    """An extracted answer: its text, the form it was found in, where it starts, and whether the text negates it."""

    text: str
    form: str
    start: int = 0
    negated: bool = False
    pieces: tuple[str, ...] = ()
    """The texts of neighbouring boxes or statements, where it is a list of several."""


MAX_KEPT = 24
"""Boxes or statements looked at, from the end."""
_NEAR = 8
"""Characters between two statements that make them one list."""

_NOUNS = (
    "answer", "final result", "antwort", "respuesta", "resposta", "risposta", "antwoord", "jawaban", "cevap",
)  # fmt: skip
_OTHER_NOUNS = (
    "答案", "答え", "réponse", "ответ", "الجواب", "الإجابة", "उत्तर", "정답", "đáp án", "đáp số", "odpowiedź",
    "απάντηση",
)  # fmt: skip
_FINAL = re.compile(r"(?:final|endgültige|finale|最终|最終)\W{0,3}$", re.IGNORECASE)
_CONNECTOR = re.compile(
    r"s?(?:[^.\n:：=$\\*]{0,60}?(?:\b(?:is|are|was|be|becomes|equals|est|es|ist|lautet|é|è|sera|será)(?!\w)|[:：=]"
    r"|[为為是は]|है|는|은)|(?=\s*(?:\\\(|\\\[|\$|\*\*\S)))(?:\*\*|[\s:：]|\*(?!\s))*",
    re.IGNORECASE,
)
_ADVERBS = re.compile(
    r"[,，]?\s*(?:(?:therefore|thus|hence|so|then|simply|just|exactly|precisely|clearly|indeed|equal to"
    r"|as follows|donc|alors"
    r"|ainsi|exactement|égale à|also|somit|daher|folglich|genau|gleich|entonces|por (?:lo )?tanto|exactamente|igual a"
    r"|quindi|dunque|pertanto|portanto|logo|então|因此|所以|应该是|就是)(?:(?!\w)|(?<=[^\x00-\x7f]))[\s,:：]*){1,3}",
    re.IGNORECASE,
)
_DENIED_LINK = re.compile(
    r"(?:\b(?:might|may|could)|可能|也许|\bcannot|\bnot|n['’]t|\bnever|\bnicht|\bpas|\bno|\bnon|\bnão|\bне|不|नहीं)\s*(?:\w{1,9}\s+)?"
    r"(?:be|been|is|was|equals?|est|es|ist|è|é|sein|être|ser|essere|[是为為])?[\s*:：]*$",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"(?:(?:indeed|thus|therefore|also|now|very|quite|both|already|clearly|definitely)\s+)*(?:reasonable"
    r"|correct|right"
    r"|verified|consistent|confirmed|plausible|valid|sensible|unique|simplified|boxed|above|below|shown|given"
    r"|in the box|in (?:its )?simplest|as (?:expected|required|above|shown|given)|obtained|what we|checked|complete"
    r"|ready)\b",
    re.IGNORECASE,
)
"""What is said of an answer rather than being one: "the final answer is reasonable"."""
_STOP = re.compile(r"\n|(?<![A-Z])[.!?](?=\s|$|</)|(?:です)?[。！？।]|\s+I hope\b|</")
_FORMULA = re.compile(
    r"\$\$(?:.{1,2000}?)\$\$|\$(?:(?:[^$\\]|\\.){1,2000})\$|\\\((?:.{1,2000}?)\\\)|\\\[(?:.{1,2000}?)\\\]", re.DOTALL
)
_REASON = re.compile(r"\s*[,(]?\s?\b(?:because|since|weil|car|parce que|porque)\b|\s*[,，(]?因为", re.IGNORECASE)
_LEADING_BOLD = re.compile(r"[^\d*$\\\n.A-Z]{1,40}?\*\*([^*\n]{1,200})\*\*")
_HASHES = re.compile(r"####[ \t]*([^\n]{1,400})")
_HEADINGS = ("solution", "answer", "step", "conclusion", "final")


def statements(text: str, every: bool = False) -> list[FoundAnswer]:
    """The last stated answer, or `every` one of the last `MAX_KEPT`; neighbours that differ are one list."""
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
        if found and not found[-1].negated and found[-1].start - end <= _NEAR:
            last = found.pop()
            if last.text != item.text:
                pieces = (item.text, *(last.pieces or (last.text,)))
                last = last._replace(text=f"{item.text} , {last.text}", pieces=pieces)
            found.append(last._replace(start=start, negated=item.negated))
        elif found and not every and not found[-1].negated:
            break
        else:
            found.append(item)
    return found[::-1] or remarks[:1]


def _nouns(text: str) -> Iterator[tuple[int, int]]:
    """Where the nouns that announce an answer start and end, from the last to the first."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = text
    ascii_only = folded.isascii()
    places: list[tuple[int, int]] = []
    for noun in _NOUNS if ascii_only else _NOUNS + _OTHER_NOUNS:
        at = folded.rfind(noun)
        for _ in range(MAX_KEPT):
            if at < 0:
                break
            places.append((at, at + len(noun)))
            at = folded.rfind(noun, 0, at)
    if len(places) > 1:
        places.sort(reverse=True)
    for at, end in places[:MAX_KEPT]:
        if not (at and text[at - 1].isalpha() and folded[at].isascii()):
            yield at, end


def _stated(text: str, start: int, link: int, content_start: int) -> tuple[FoundAnswer, int]:
    """The statement whose noun starts at `start` and whose content starts at `content_start`, and where it ends."""
    content, end = _content(text, content_start)
    before = text[max(0, start - 160) : start]
    form = "final statement" if text[start] in "fF" or _FINAL.search(before[-14:]) else "statement"
    stop = _STOP.search(text, content_start, content_start + MAX_LINE)
    sentence = text[content_start : stop.end() if stop else content_start + MAX_LINE]
    denied = _DENIED_LINK.search(text, link, content_start) is not None
    said = asserted_part(("not " if denied else "") + sentence.replace("**", ""))
    negated = said is None or unasserted(before)
    if said is not None and (denied or not sentence.replace("**", "").startswith(said)):
        content, end = _content(said, 0)[0], content_start + len(sentence)
    return FoundAnswer(content, form, start, negated), end


def _content(text: str, start: int) -> tuple[str, int]:
    """From a statement's connector to the end of its formula or sentence."""
    start = adverbs.end() if (adverbs := _ADVERBS.match(text, start)) else start
    window = text[start : start + MAX_LINE]
    if "\n" in window and (items := bullets(window.split("\n"))):
        return ", ".join(items), start + len(window)
    if window.startswith(("\\[", "\\(", "$")) and (match := _FORMULA.match(window)):
        rest = window[match.end() :]
        stop = _STOP.search(rest)
        tail = rest[: stop.start()] if stop else rest
        if len(tail) <= 40 or "$" in tail or "\\" in tail:
            return (match[0] + tail).strip(), start + match.end() + len(tail)
        return match[0], start + match.end()
    if bold := _LEADING_BOLD.match(window):
        return bold[1].strip(), start + bold.end()
    mark = window.find("**")
    stop = _STOP.search(window)
    end = stop.start() if stop else len(window)
    if 0 < mark < end:
        end = mark
    content = window[:end].strip().strip("*").strip()
    reason = _REASON.search(content)
    return content[: reason.start()] if reason and reason.start() else content, start + end


def asserted(found: list[FoundAnswer]) -> list[FoundAnswer]:
    """What of marked answers stands: not remarks about an answer, nor a denial of another one than was given.

    A denial of the answer that stands takes it back.
    """
    kept: list[FoundAnswer] = []
    for item in found:
        if kept and item.form != "box" and _REMARK.match(item.text):
            continue
        if kept and item.negated and not kept[-1].negated and item.text != kept[-1].text:
            continue
        kept.append(item)
    return kept


def hash_mark(text: str) -> FoundAnswer | None:
    """GSM8K's ``#### answer``, the last one that is no heading."""
    at = len(text)
    for _ in range(MAX_KEPT):
        at = text.rfind("####", 0, at)
        if at < 0:
            return None
        if match := _HASHES.match(text, at):
            heading = match[1].strip().lower().startswith(_HEADINGS)
            return None if heading else FoundAnswer(match[1].strip(), "####", at)
    return None
