"""The role of a value in its sentence, decided first by the words before the value, then by those after it.

Words that deny, doubt or quote reach the value across a few words. If they apply to a belief ("I don't think that …",
"it is false that …"), they reach across a whole clause. A comma, "but", "so" and "because" end their reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from verikit.answers.claims.tokens import ClaimToken, after, before
from verikit.answers.claims.words import CHOOSES, EARLIER, GETS, PRONOUNS, WHOSE

Role = Literal["asserted", "denied", "hypothetical", "quoted", "alternative", "bounded", "withdrawn"]
"""`bounded` is a limit instead of the value: "at least 5", "between 3 and 5". `withdrawn` is taken back later."""
REACH = 3
"""Maximum number of words between a denial and the value that it denies."""
_SAYS: dict[str, Role] = {
    "not": "denied", "wrong": "denied", "refuse": "denied", "except": "denied", "bound": "bounded",
    "thought": "hypothetical",
    "if": "hypothetical", "maybe": "hypothetical", "might": "hypothetical",
    "say": "quoted", "think": "quoted",
    "they": "quoted", "answer": "quoted",
}  # fmt: skip
"""The role that words give to a value in their reach."""
_ENDS_CLAUSE = frozenset(("so", "because", "comma", "mark"))
_BELIEFS = frozenset(("think", "case", "right", "say"))
_INFINITIVES = frozenset(("be", "been", "being", "est", "soit", "sea", "seja"))
_VALUES = frozenset(("number", "letter"))
_LABEL = frozenset(("it", "that", "is", "sure"))
_LEADS = frozenset(("so", "we", "i", *GETS))
_WORDS = frozenset(
    ("word", "think", "case", "right", "say", "is", "answer", "option", "filler", "sure", "does", "it", "they", "after",
     "all", "choose", "that", "number", "se", "remains", "and")
)  # fmt: skip


def role(text: str, start: int, end: int) -> Role:
    """The role that the sentence around a value gives it."""
    return role_among(before(text, start), after(text, end))


def role_among(left: Sequence[ClaimToken], right: Sequence[ClaimToken]) -> Role:
    """The role of a value between its sentence's tokens on the left and on the right."""
    said = role_before(left)
    if said == "asserted":
        said = role_after(right)
    if said == "asserted" and any(token.text in ("?", "？") for token in right[-1:]):
        return "hypothetical"
    if said == "asserted" and is_counterfactual(left, right):
        return "hypothetical"
    return said


def role_before(left: Sequence[ClaimToken], reach: int = REACH) -> Role:
    """The role given by the words before a value. A plain "not" denies it over `reach` words."""
    seen = set[str]()
    words, at = 0, len(left)
    while at:
        at -= 1
        token = left[at]
        near = words <= reach
        if token.role == "comma" and "that" in seen:
            at = _start_of_aside(left, at)
        elif token.role == "but":
            return "denied" if near and _is_exception(left[:at]) else "asserted"
        elif token.role in _ENDS_CLAUSE and not _is_adverb(left, at):
            is_than = token.text in ("rather", "instead") and at + 1 < len(left) and left[at + 1].text in ("than", "of")
            return "denied" if near and is_than else "asserted"
        elif (said := _SAYS.get(token.role)) and _reaches(left, at, words, near, seen):
            return said
        else:
            seen = seen - _BELIEFS if token.text in (":", "：") else seen
            seen = {*seen, token.role}
            if token.role == "is" and token.text not in _INFINITIVES:
                seen.add("finite")
            words += token.role in _WORDS
    return "asserted"


def _reaches(left: Sequence[ClaimToken], at: int, words: int, near: bool, seen: set[str]) -> bool:
    """Whether a word that denies, doubts or quotes reaches the value across the words `seen` between them."""
    kind, behind = left[at].role, left[max(0, at - 3) : at]
    if kind == "wrong" and _is_label(left, at):
        return True
    if _SAYS[kind] in ("denied", "bounded"):
        return _denies(kind, behind, words, near, seen)
    if _SAYS[kind] == "quoted":
        return _quotes(kind, behind, seen)
    if kind == "might":
        return not seen.isdisjoint(_BELIEFS | {"is", "choose"}) and not {"that", "word"} <= seen
    return kind != "thought" or near or "is" in seen


def _is_label(left: Sequence[ClaimToken], at: int) -> bool:
    """Whether the word at a position and a colon are all of a label, except "it is", "so we get": "It is wrong: 5"."""
    is_whole = all(token.role in _LABEL or token.text in _LEADS for token in left[:at])
    return is_whole and [token.text for token in left[at + 1 :]] in ([":"], ["："])


def _denies(kind: str, behind: Sequence[ClaimToken], words: int, near: bool, seen: set[str]) -> bool:
    """Whether a denial, with the words after it, reaches the value."""
    if kind in ("not", "except"):
        is_of_subject = {"word", "finite"} <= seen  # "the number that is not prime is 8"
        direct = near and not is_of_subject and seen.isdisjoint(_VALUES)
        return direct or (kind == "not" and not seen.isdisjoint(_BELIEFS))
    if kind == "wrong":
        is_of_another = any(token.role in _VALUES for token in behind)
        direct = near and ("is" not in seen or not seen.isdisjoint(("answer", "it", "option")))
        return (direct or not seen.isdisjoint(_BELIEFS | {"that"})) and not is_of_another
    if kind == "refuse":
        return "choose" in seen
    return words <= 1 and seen.isdisjoint(("word", "is")) and not (behind and behind[-1].role == "but")


def _quotes(kind: str, behind: Sequence[ClaimToken], seen: set[str]) -> bool:
    """Whether another person's statement, with the words after the verb, reaches the value."""
    if kind == "they":
        return len(behind) > 1 and any(token.text == "according" for token in behind)
    if not behind or behind[-1].role != "they":
        return False
    if kind == "answer":
        return behind[-1].text not in ("one", "many", "others")
    return "word" not in seen or "is" in seen


def _is_adverb(left: Sequence[ClaimToken], at: int) -> bool:
    """Whether a word that may conclude is inside a verb: "it could also be"."""
    return left[at].text == "also" and at > 0 and left[at - 1].role in ("might", "is", "does")


def _start_of_aside(left: Sequence[ClaimToken], comma: int) -> int:
    """The start of the aside that ends at a comma before "that": "I do not believe, however, that …"."""
    return next((at for at in range(comma - 1, max(-1, comma - 8), -1) if left[at].role == "comma"), comma)


def belongs_to_another(left: Sequence[ClaimToken]) -> bool:
    """Whether the words before "answer" make it another's or an earlier one: "your", "my first", "they claim the"."""
    if any(token.text in WHOSE or token.text in EARLIER for token in left[-2:]):
        return True
    says = next((at for at in range(len(left) - 1, 0, -1) if left[at].role in ("say", "think", "comma", "so")), 0)
    return left[says : says + 1] != () and says > 0 and left[says].role != "comma" and left[says - 1].text in PRONOUNS


def is_alternative(left: Sequence[ClaimToken]) -> bool:
    """Whether the words before a value offer it as an alternative: "or", "or maybe", "between … and"."""
    at = len(left) - 1
    while at >= 0 and at > len(left) - 4 and left[at].role in ("filler", "it", "is", "maybe", "sure", "after"):
        at -= 1
    if at < 0 or left[at].role not in ("or", "and"):
        return False
    return left[at].role == "or" or any(token.text == "between" for token in left[:at])


def _is_exception(left: Sequence[ClaimToken]) -> bool:
    """Whether the "but" after some words makes an exception: "all numbers but", "anything but"."""
    for token in reversed(left):
        if token.role in ("comma", "not", "wrong", "is", "if", "maybe"):
            return False
        if token.role == "all":
            return True
    return False


_UNREAL = frozenset(
    """were had wäre wären hätte fosse fossi fuera fuese fosse était étaient avait sería seria serait sarebbe""".split()
)
"""Verbs of unmet conditions. Some languages use the form of "would" for them."""
_RESULTS = frozenset("we i es result ergebnis lösung résultat resultado risultato solution результат".split())


def _after_turn(left: Sequence[ClaimToken]) -> Sequence[ClaimToken]:
    """The tokens after the last ", but"."""
    for at in range(len(left) - 1, 0, -1):
        if left[at].role == "but" and left[at - 1].role == "comma":
            return left[at + 1 :]
    return left


def _is_unmet(condition: Sequence[ClaimToken]) -> bool:
    """Whether words are an unmet condition: "if it were even", "had it been even". "If I had to choose" is not one."""
    said = [token.text for token in condition]
    if _UNREAL.isdisjoint(said) or _has_to_choose(said):
        return False
    return condition[0].text in _UNREAL or any(token.role in ("if", "se") for token in condition)


def _has_to_choose(said: list[str]) -> bool:
    """Whether words begin with "if I had to choose", "if we were to guess" or "were I to say"."""
    if said[0] == "if":
        subject, verb = said[1:2], said[2:3]
        does = said[3:5]
    else:
        subject, verb = said[1:2], said[:1]
        does = said[2:4]
    is_own = subject in (["i"], ["we"]) and verb in (["had"], ["were"])
    return is_own and does[:1] == ["to"] and not CHOOSES.isdisjoint(does)


def _follows_from_the_unreal(left: Sequence[ClaimToken]) -> bool:
    """Whether an unmet condition comes first: "if it were even, the answer would be", "had it been even, we would get".

    The outcome in a story ("if they had 2 more, they would have") is not counterfactual but the requested answer.
    """
    would = next((at for at in range(len(left) - 1, 0, -1) if left[at].role == "would"), 0)
    condition = left[:would]
    if not _is_unmet(condition):
        return False
    start = next((at for at in range(would - 1, -1, -1) if left[at].role == "comma"), -1)
    around = left[start + 1 :]
    return any(token.role in ("it", "answer") or token.text in _RESULTS for token in around)


def is_counterfactual(left: Sequence[ClaimToken], right: Sequence[ClaimToken]) -> bool:
    """Whether a value only holds under an unmet condition."""
    left = _after_turn(left)
    if _follows_from_the_unreal(left):
        return True
    clause = next((at for at, token in enumerate(right) if token.role in ("because", "so")), len(right))
    near = (*left, *right[: min(3, clause)])
    would = [at for at, token in enumerate(near) if token.role == "would"]
    if any(token.text == "have" for at in would if at + 2 != len(left) for token in near[at + 1 : at + 2]):
        return True
    return bool(would) and _is_unreal(right[:clause])


def _is_unreal(clause: Sequence[ClaimToken]) -> bool:
    """Whether an unmet condition follows in the clause: "if it were", "only if"."""
    condition = next((at for at, token in enumerate(clause) if token.role == "if"), None)
    if condition is None:
        return False
    return any(token.text in ("were", "had", "only") for token in clause[max(0, condition - 1) :])


def role_after(right: Sequence[ClaimToken]) -> Role:
    """The role given by the words after a value."""
    if _offers_another(right):
        return "alternative"
    if any(token.text == "according" for token in right[:2]) and any(token.role == "they" for token in right[:6]):
        return "quoted"
    is_seen = clause = False
    for at, token in enumerate(right):
        kind = token.role
        if kind in ("because", "so", "number", "letter") or token.text == ";":
            break
        if token.text == "unless" or (kind == "if" and at and right[at - 1].text == "only"):
            return "hypothetical"
        if _is_denial(right, at, is_seen, clause):
            return "denied"
        if kind in ("comma", "but"):
            if _is_new_subject(right, at + 1):
                break
            clause, is_seen = True, False
        is_seen = is_seen or kind in ("is", "does")
    return "asserted"


def _is_denial(right: Sequence[ClaimToken], at: int, is_seen: bool, clause: bool) -> bool:
    """Whether a word after a value denies it. `is_seen` is a verb before it, `clause` a comma that starts a clause."""
    kind, behind = right[at].role, right[at - 1].role if at else ""
    if kind == "wrong":
        return is_seen or _fails(right, at) or behind in ("but", "sure")
    if kind == "not":
        return _denies_before(right, at, is_seen, clause)
    if right[at].text == "too":
        return behind == "is" and at + 1 < len(right)  # "5 is too large"
    return kind == "out" and is_seen and behind in ("is", "sure")


def _fails(right: Sequence[ClaimToken], at: int) -> bool:
    """Whether a word right after a value and its noun is a whole predicate: "B fails", "5 apples fails".

    The singular is a claim about the value. "5 students failed" counts them.
    """
    noun = at > 0 and right[0].role == "word" and right[0].text.endswith("s") and right[at].text == "fails"
    follows = all(token.role in ("sure", "does", "option") for token in right[noun:at])
    return (right[at].text.startswith("fail") and follows) or not right[at].text.isascii()


def _offers_another(right: Sequence[ClaimToken]) -> bool:
    """Whether "or", "maybe", "but it could also be" or "not sure" follows immediately."""
    for at, token in enumerate(right[:5]):
        if token.role in ("or", "maybe"):
            return True
        if token.role == "might":
            return at + 1 < len(right) and right[at + 1].role != "number"
        if token.role == "if":
            return any(other.role == "not" for other in right[1:3])
        if token.role not in ("comma", "but", "because", "and", "it", "filler", "that") and token.text != ";":
            break
    return _is_unsure(right)


def _is_unsure(right: Sequence[ClaimToken]) -> bool:
    """Whether "not sure" follows."""
    sure = next((at for at, token in enumerate(right[:6]) if token.text in ("sure", "certain")), 0)
    return any(token.role == "not" for token in right[:sure])


def _denies_before(right: Sequence[ClaimToken], at: int, is_seen: bool, clause: bool) -> bool:
    """Whether a "not" denies the value before it, as in "17 isn't right", "17 doesn't work", "A 不正确"."""
    following = next((token for token in right[at + 1 :] if token.role not in ("filler", "sure", "option")), None)
    if following is None or following.role in ("right", "answer", "case", "it"):
        return is_seen or not clause or following is None
    if clause or following.role in ("number", "letter"):
        return False
    leading = right[:at]
    is_auxiliary = all(token.role in ("is", "does", "sure") for token in leading)
    return (bool(leading) and is_auxiliary) or following.role == "is" or not following.text.isascii()


def _is_new_subject(right: Sequence[ClaimToken], at: int) -> bool:
    """Whether the clause that starts here has a different subject than the value before it."""
    if right[at : at + 1] and right[at].text in ("which", "who"):
        return False
    for token in right[at : at + 4]:
        if token.role in ("wrong", "not"):
            return False
        if token.role in ("word", "they", "number", "letter", "option", "all", "answer"):
            end = next((i for i, other in enumerate(right[at : at + 4]) if other.role == "comma"), None)
            return end is None
    return False
