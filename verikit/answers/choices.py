"""Option letters: the one that a gold answer names, and those on which a text settles.

A sentence settles on the letters it asserts. It must call them the answer, right or chosen, in any order:
"The answer is (B)", "B is correct", "I choose B", "Die richtige Antwort ist B", "答案是B".
It must not deny, doubt or suppose it. The last such sentence is used. `answer` and `choice` read letters with the same
function, `settled`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from verikit.answers.claims.extract import boxes
from verikit.answers.claims.statements import FoundAnswer
from verikit.answers.claims.withdrawals import after_withdrawal
from verikit.answers.option_sentences import NONE, read_sentence

ALTERNATIVES = "the text offers alternatives"
UNARGUED = "several answers without an argument between them"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_READ = 20_000
"""Number of characters at the end of a text that are searched for letters."""
_WRAP = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textrm|mbox|textit|rm|bf)\s?\{([^{}]{0,400})\}")
_LETTER_GOLD = re.compile(r"\(?([A-Z])\)?[.:)]?")
_LETTER_TEXT_GOLD = re.compile(r"\(([A-Z])\)\s+(\S.{0,300})", re.DOTALL)
_MARKS = str.maketrans(
    dict.fromkeys('*$"“”`「」『』{}') | {"（": "(", "）": ")", "，": ",", "：": ":", "’": "'", "．": "."}
    | {chr(0xFF21 + i): chr(0x41 + i) for i in range(26)}
)  # fmt: skip
_SEVERAL = re.compile(
    r"[A-J]{2,10}|\(?[A-J]\)?(?:\s?(?:[,;/&]\s?(?:and\s)?|and\s|or\s|和|及|、|\s)\s?\(?[A-J]\)?){1,9}"
)
_EITHER = re.compile(r"\(?[A-J]\)?(?:\s?(?:,\s?)?or\s\(?[A-J]\)?){1,9}\.?", re.IGNORECASE)
_SHORT = re.compile(
    r"(?:(?:option|choice|answer|letter|选项)\s{1,2})?[(\[]?\s?([A-Za-z])\s?[)\]]?[.:,]?", re.IGNORECASE
)
_LED = re.compile(r"[(\[]?([A-Z])(?:[)\]]|[.:,](?!\w)|(?=[^\x00-\x7f]))|\(?([a-z])\)")
_COLON_BREAK = re.compile(r"([:：]|\b(?:is|are|est|ist|es)|是)[ \t]*\n\s*")
_ASIDE = re.compile(r",\s?(?:I|we)\s(?:think|believe|guess|suppose|feel|would say)\s?,(?=\s)")
_HEADING = re.compile(r"\b(answer|antwort|réponse|respuesta|答案)[ \t]*\n\s*(?=\(?[A-Z]\b)", re.IGNORECASE)
_ANNOUNCING = (
    ":", "：", "is", "are", "est", "ist", "es", "是", "answer", "antwort", "réponse", "respuesta", "答案",
)  # fmt: skip
"""Ends of lines, in any case, that `_COLON_BREAK` or `_HEADING` joins with the next line."""
_TAGS = re.compile(r"</?(?:b|i|em|strong|u|p)>")
_SENTENCE = re.compile(r"(?<=[?？])|[.!;](?=\s|$)|[。；！।\n]")
_ASCII_SENTENCE = re.compile(r"[.!;\n](?:(?<=\n)|(?=\s|$))")
"""The same for text without questions. Many times as fast, since it starts with one of a few characters."""
_RETRACTS = re.compile(
    r"\s*(?:\w{1,8},?\s+)?(?:no|wait|actually|instead|rather|correction|sorry|however|but|therefore|so|thus|hence|on "
    r"second|looking|after|then|finally|in conclusion)\b",
    re.IGNORECASE,
)


_BEFORE_OPTION = re.compile(r"(?<![A-Za-z])[(\[]?[A-Z](?:[)\]]\**[.:,]?|\**[.:,])[\s*\"“$]{0,4}$")
MAX_MENTIONS = 64
"""Maximum number of places checked where a reply repeats the text of one option."""


class Settled(NamedTuple):
    """The option letters on which a text settles and the rule that found them, or the reason why there are none."""

    letters: frozenset[str]
    rule: str

    @property
    def alternatives(self) -> bool:
        """Whether the text offers several letters instead of choosing."""
        return self.rule in (ALTERNATIVES, UNARGUED)

    @property
    def letter(self) -> str:
        """The letter. Empty if there is none or there are several."""
        return next(iter(self.letters)) if len(self.letters) == 1 else ""


def unwrap(text: str) -> str:
    """Remove LaTeX text commands, dollar signs and surrounding punctuation."""
    text = text.strip().strip("$").strip()
    for _ in range(3):
        text, count = _WRAP.subn(r"\1", text)
        if not count:
            break
    return text.strip()


def gold_letter(gold: str) -> tuple[str, str]:
    """The letter that a gold answer names and the text that follows it. ('', '') if it names none."""
    text = unwrap(gold)
    if match := _LETTER_GOLD.fullmatch(text):
        return match[1], ""
    if match := _LETTER_TEXT_GOLD.fullmatch(text):
        return match[1], match[2].strip()
    return "", ""


def offers(question: str, letter: str) -> bool:
    """Whether a question lists an option of this letter. True if its options can't be found."""
    return not question or re.search(rf"(?<![A-Za-z0-9]){letter}\s?[).:]|[(\[]{letter}\b", question) is not None


def several_letters(text: str) -> frozenset[str]:
    """The letters of an answer with several options ("A, C" or "ACD"). Empty for other answers."""
    plain = unwrap(text)
    letters = _SEVERAL.fullmatch(plain) and re.findall(r"[A-J]", plain.replace("and", ""))
    return frozenset(letters) if letters and len(set(letters)) == len(letters) and "or" not in plain else NONE


def named(text: str, letters: str = LETTERS) -> frozenset[str]:
    """The letters a short answer is or begins with: "(B)", "c)", "B. because …", "A and C". Empty if there are none."""
    plain = _plain_marks(unwrap(text)).strip()
    if match := _SHORT.fullmatch(plain):
        return _offered({match[1].upper()}, letters)
    if _SEVERAL.fullmatch(plain):
        return _offered(several_letters(plain), letters)
    if (match := _LED.match(plain)) and plain[0] not in "-+=\\":
        letter = (match[1] or match[2]).upper()
        stop = _SENTENCE.search(plain, match.end(), 400)
        said = read_sentence(plain[: stop.start() if stop else 400])
        if letter in said.denied | said.unsettled:
            return NONE
        return _offered({letter}, letters)
    return NONE


def _plain_marks(text: str) -> str:
    """Remove the marks of formulas and emphasis."""
    text = text.replace("\\(", "").replace("\\)", "")
    return (_TAGS.sub("", text) if "<" in text else text).translate(_MARKS)


def _offered(found: set[str] | frozenset[str], letters: str) -> frozenset[str]:
    return frozenset(found) if found <= set(letters) else NONE


def _boxed(box: FoundAnswer, letters: str) -> Settled | None:
    """What a box settles. None if it names no option, so that the text after it is read."""
    if box.negated:
        return Settled(NONE, "the box is negated")
    if box.form == "open box":
        return Settled(NONE, "the last box is not closed")
    inside = named(box.text, letters)
    return Settled(inside, "last box") if inside else None


def settled(text: str, letters: str = LETTERS, options: Sequence[str] = ()) -> Settled:
    """The option letters on which a reply settles: its last box, its last choosing sentence, or its last line.

    If a letter is followed by its own text from `options`, the text is ignored.
    """
    text = _without_texts(text[-MAX_READ:], options) if options else text
    found = boxes(text)
    if found:
        boxed = _boxed(found[-1], letters)
        if boxed is not None:
            return boxed
        text = text[found[-1].start :]
    text = _plain_marks(unwrap(text[-MAX_READ:]))
    text = _ASIDE.sub("", _without_breaks(text))
    rest = after_withdrawal(text, 1)
    if rest is not None and not found:
        again = settled(rest, letters)
        return again if again.letters else Settled(NONE, "the text takes its letter back")
    stated, denied = _stated(text, letters)
    if stated is not None:
        return stated
    if found:
        return Settled(NONE, "no option letter in the last box")
    return _closing(text.strip(), letters, denied)


def _without_breaks(text: str) -> str:
    """Join a line that announces an answer with the line of that answer."""
    *lines, _ = text.split("\n")
    for line in lines:
        if line.rstrip(" \t")[-9:].casefold().endswith(_ANNOUNCING):
            return _HEADING.sub(r"\1: ", _COLON_BREAK.sub(r"\1 ", text))
    return text


def _sentences(text: str) -> list[str]:
    """The sentences of a text."""
    breaks = _ASCII_SENTENCE if text.isascii() and "?" not in text else _SENTENCE
    return [piece for piece in breaks.split(text) if piece and not piece.isspace()]


def _stated(text: str, letters: str) -> tuple[Settled | None, set[str]]:
    """The result of the last sentence that chooses, and the letters denied after it."""
    denied: set[str] = set()
    last: frozenset[str] | None = None
    opening = ""
    sentences = _sentences(text)
    for at in range(len(sentences) - 1, -1, -1):
        said = read_sentence(sentences[at], closing=at == len(sentences) - 1)
        if last is not None:
            chosen_from = said.alternatives and last <= said.asserted
            if said.asserted and said.asserted != last and not chosen_from and not _RETRACTS.match(opening):
                return Settled(NONE, UNARGUED), denied
            break
        if said.asserted and said.asserted <= set(letters):
            if said.alternatives:
                return Settled(NONE, ALTERNATIVES), denied
            if said.asserted & denied:
                return Settled(NONE, "the text takes its letter back"), denied
            last, opening = said.asserted, sentences[at]
        denied |= said.denied
    return (None, denied) if last is None else (Settled(last, "last stated answer"), denied)


def _closing(text: str, letters: str, denied: set[str]) -> Settled:
    """The letters that the last line is or begins with, used if no sentence chooses."""
    *before, line = text.rsplit("\n", 2)[-2:]
    line = line.strip()
    if _EITHER.fullmatch(line):
        return Settled(NONE, ALTERNATIVES)
    listed = bool(before) and _LED.match(before[0].strip()) is not None
    short = _SHORT.fullmatch(line) or _SEVERAL.fullmatch(line) or "\n" not in text
    if not listed and short and len(line) <= 400 and (found := named(line, letters)) and not found & denied:
        return Settled(found, "the last line")
    return Settled(NONE, "no option letter found")


def option_letter(text: str, options: Sequence[str]) -> str:
    """The letter of the option that a text repeats word for word. Empty if it repeats none or several."""
    wanted = _plain(text)
    hits = [index for index, option in enumerate(options) if wanted and _plain(str(option)) == wanted]
    return chr(ord("A") + hits[0]) if len(hits) == 1 else ""


def _without_texts(text: str, options: Sequence[str]) -> str:
    """Remove the option's text after each option's letter: "(B) not guilty" becomes "(B)"."""
    for letter, option in zip(LETTERS, options, strict=False):
        option = option.strip().rstrip(".")
        start = text.find(option) if option else -1
        pieces, end = [], 0
        for _ in range(MAX_MENTIONS):
            if start < 0:
                break
            if _BEFORE_OPTION.search(text, max(end, start - 12), start) and _letter_before(text, start) == letter:
                pieces.append(text[end:start].rstrip(" :"))
                end = start + len(option)
            start = text.find(option, start + len(option))
        text = "".join((*pieces, text[end:])) if pieces else text
    return text


def _letter_before(text: str, start: int) -> str:
    """The option letter right before a position."""
    return next((char for char in reversed(text[max(0, start - 12) : start]) if char.isalpha()), "")


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w.%/+\-]+", " ", unwrap(text).lower()).split()).rstrip(".")
