"""Sentences that repeat a question with the answer filled in, such as "Marie Curie discovered it".

The words that are not in the question must be consecutive, and their position decides. A question for the subject ("Who
discovered radium?") is answered at the start, one for the object ("What does it print?") at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from verikit.answers.claims.tokens import ClaimToken, asserts_all, tokens

MAX_QUESTION = 300
"""Number of characters read at the end of a question."""
_ASKING = frozenset("who whom what which wer wen was qui quién quien chi cosa quem кто кого".split())
_SHORT = ("did", "does", "do")
_KNOWN_ROLES = frozenset(("is", "does", "it", "filler", "after", "that", "sure", "comma", "mark"))
_PRONOUNS = frozenset("him her them us he she they".split())
_TURNED = frozenset(("by", "of", "from"))
"""Words that may swap the subject and the object."""
_ENDINGS = ("ing", "ed", "es", "s", "e", "d")


def may_echo(text: str, question: str) -> bool:
    """A cheap test whether a text contains words of the question in addition to others."""
    words = text.lower().rstrip(" .").split()
    if len(words) < 2 or not question:
        return False
    folded = question[-MAX_QUESTION:].lower()
    return words[-1] in _SHORT or any(len(word) > 3 and word[:4] in folded for word in words)


def echoed(sentence: str, question: str) -> str:
    """The words that a sentence fills in for the question. Empty if it is uncertain that it repeats the question."""
    if not question or not asserts_all(sentence):
        return ""
    said, asked = tokens(sentence), _after_asking(question)
    new = _new_words(said, asked) if asked else None
    if new is None:
        return ""
    first, last = new
    verb = _asked_word(said, asked, new)
    if any(token.text in _TURNED for token in said):
        asks_for_subject = asked[0].role not in ("does", "is") and verb < first
        return _between(sentence, said, first, last) if asks_for_subject and _is_doer(said, first, last) else ""
    if asked[0].role == "does":
        asks_for_object = verb < first and last == len(said) - 1
        return _between(sentence, said, _last_asked(said, asked, first) + 1, last) if asks_for_object else ""
    if asked[0].role == "is" or {token.role for token in said[:first]} - {"filler"}:
        return ""
    is_short = last + 2 == len(said) and said[-1].text in _SHORT
    return _between(sentence, said, 0, last) if is_short or verb == last + 1 else ""


def _asked_word(said: Sequence[ClaimToken], asked: Sequence[ClaimToken], new: tuple[int, int]) -> int:
    """Position of the first word of the question outside the new words. Beyond all words if there is none."""
    first, last = new
    outside = (at for at, token in enumerate(said) if not first <= at <= last and _is_asked(token, asked))
    return next(outside, len(said) + 1)


def _new_words(said: Sequence[ClaimToken], asked: Sequence[ClaimToken]) -> tuple[int, int] | None:
    """The first and the last word that are not in the question, if all such words are consecutive."""
    new = [at for at, token in enumerate(said) if not _is_known(token, asked)]
    if not new or new != list(range(new[0], new[-1] + 1)):
        return None
    return new[0], new[-1]


def _is_doer(said: Sequence[ClaimToken], first: int, last: int) -> bool:
    """Whether the new words end a passive sentence, after its only "by", and so name the agent."""
    turned = [at for at, token in enumerate(said) if token.text in _TURNED]
    return turned == [first - 1] and said[first - 1].text == "by" and last == len(said) - 1


def _after_asking(question: str) -> Sequence[ClaimToken]:
    """The words after "who" or "which city" in a question's last sentence."""
    asked = tokens(question[-MAX_QUESTION:].rstrip(" ?\n").rpartition("\n")[2].rpartition(". ")[2])
    at = next((at for at, token in enumerate(asked) if token.text in _ASKING), len(asked))
    if asked[at : at + 1] and asked[at].text == "which":
        at += 1
    return asked[at + 1 :]


def _is_asked(token: ClaimToken, asked: Sequence[ClaimToken]) -> bool:
    stem = _stem(token.text)
    return token.role not in _KNOWN_ROLES and any(stem == _stem(other.text) for other in asked)


def _is_known(token: ClaimToken, asked: Sequence[ClaimToken]) -> bool:
    return token.role in _KNOWN_ROLES or token.text in _PRONOUNS or _is_asked(token, asked)


def _last_asked(said: Sequence[ClaimToken], asked: Sequence[ClaimToken], end: int) -> int:
    return max(at for at in range(end) if _is_asked(said[at], asked))


def _between(sentence: str, said: Sequence[ClaimToken], first: int, last: int) -> str:
    end = said[last + 1].start if last + 1 < len(said) else len(sentence)
    return sentence[said[first].start : end]


def _stem(word: str) -> str:
    """A verb without the ending of its person or tense."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
