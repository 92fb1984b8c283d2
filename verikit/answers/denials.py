"""What a sentence takes away from a value it names: denials, doubts, conditions, questions, alternatives.

"It is not 5", "I don't think that the answer is 5", "if the answer is 5", "5, or maybe 6",
"not 4 but 5": which of the
values a sentence asserts, for numbers and option letters alike. Words of several languages, every repetition bounded.
"""

from __future__ import annotations

import re

_NEGATIONS = (
    r"(?:\b(?:not|never|neither|nor|cannot|cant|nicht|kein\w{0,2}|weder|pas|jamais|non|não|nunca|ni|не|нет|geen"
    r"|niet)\b"
    r"|n['’]t\b|不|没|沒|नहीं|ليس)"
)
_HALF_NEGATIONS = (
    r"\b(?:no(?!,)|except|excluding|anything but|all but|everything but|far from|other than|rather than)\b"
)
_DENIED_BEFORE = re.compile(
    rf"(?:{_NEGATIONS}|{_HALF_NEGATIONS}|\bbut\b)[\s*:：]*(?:[^\W\d_]{{1,12}}\s+){{0,3}}[\s(*$\"'“]*$"
    r"|\b(?:at\s+(?:least|most)|(?:more|less|fewer|greater|smaller|larger)\s+than|between)\s+[$(\\]{0,4}$",
    re.IGNORECASE,
)
_HEDGED_BEFORE = re.compile(
    r"(?:\b(?:maybe|perhaps|possibly|vielleicht|peut-être|quizás?|talvez|forse)|也许|可能)"
    r"(?:\s+(?:even|rather|it is|is|be))?[\s(*$,\\]*$",
    re.IGNORECASE,
)
_HEDGED_AFTER = re.compile(
    r"[\s*$)\\,，]*(?:(?:or|oder|ou|maybe|perhaps|i guess|i think not)\b|或|\?|？)", re.IGNORECASE
)
_NOT = re.compile(
    rf"\s*(?:definitely|certainly|clearly|surely|probably)?\s*(?:{_NEGATIONS}|{_HALF_NEGATIONS}"
    r"|\b(?:none of|wrong|false|incorrect|unlikely)\b)",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"[\s,，;*$]{0,6}(?:(?<!\w)(?:but(?: rather| it is| is)?|sondern|mais(?: plutôt)?|sino(?: que)?|bensì"
    r"|mas(?: sim)?|ma|а)"
    r"(?!\w)|而是)[\s,:]*",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:is|are|was|be|looks|seems|ist|est|es|è|é)\s+(?:\w{1,12}\s+)?(?:wrong|false|incorrect|untrue|impossible"
    r"|falsch|faux|fausse|incorrecte?|falso|errad\w|sbagliat\w|not\s+(?:\w{1,9}\s+)?(?:right|correct|true"
    r"|possible|it))\b"
    r"|नहीं|ではない|ではありません|じゃない|아니|아닙|\bdeğil\b|[是]错",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？](?=[\s*\"”]|$)")
_UNASSERTED = re.compile(
    rf"(?:(?:{_NEGATIONS}|\bhardly|\bno(?!,))[^,]{{0,40}}"
    r"\b(?:think|believe|say|claim|agree|accept|suppose|conclude|certain|sure|convinced|follow|true|right"
    r"|correct|case"
    r"|possible|way|chance|see|know|imply|mean|show|prove|glaube|denke|crois|pense|creo|pienso|acho|credo"
    r"|penso)\w{0,4}"
    r"|\b(?:false|untrue|wrong|incorrect|unlikely|impossible|doubt\w{0,3}|den(?:y|ies)|mistaken?|nobody|no one"
    r"|disagree"
    r"|reject|contrary|pretend|if|unless|whether|suppose|assum\w{1,3}|imagine|ob|falls|wenn|falsch|faux|falso)\b)"
    r"[^,;]{0,60}$|\b(?:glaube|denke|crois|pense|acho)\w{0,3}\s+(?:nicht|pas|não)\b[^;]{0,60}$|如果|假如|若|(?:我)?不认为",
    re.IGNORECASE,
)
_DISBELIEVED = re.compile(
    rf"(?:{_NEGATIONS}[^,;.]{{0,20}}\b(?:think|believe|say|claim|agree|true|correct)\w{{0,3}}"
    r"|\b(?:false|untrue|doubt\w{0,3}))(?:\s+(?:that|if|whether))?[^,;.\d]{0,40}$",
    re.IGNORECASE,
)
_SURE = re.compile(r"\b(?:no|without(?: a| any)?|beyond(?: a| any)?|not) (?:doubt|question|only)\b", re.IGNORECASE)
_RESUMED = re.compile(
    r"\b(?:so|but|thus|hence|therefore|then|instead|rather|because|since|now|also|donc|mais|entonces|por tanto"
    r"|aber)\b|：|所以|因此",
    re.IGNORECASE,
)
_THAT = re.compile(r"\b(?:that|if|whether|how|why|dass|que|che)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;。！？；।\n](?!\d)")


def unasserted(before: str) -> bool:
    """Whether the start of a sentence denies, doubts or makes a condition of what follows it."""
    before = _SURE.sub("", _SENTENCE.split(before[-160:])[-1])
    if not _UNASSERTED.search(before.replace(",", " ")):
        return False
    comma = max(before.rfind(","), before.rfind("，"))
    clause = before[comma + 1 :]
    if comma >= 0 and not _THAT.search(clause):
        before = clause
    resumed = list(_RESUMED.finditer(before))
    before = before[resumed[-1].end() :] if resumed else before
    return _UNASSERTED.search(before.replace(",", " ")) is not None


def disbelieved(before: str) -> bool:
    """Whether what follows is said to be false or not believed: `unasserted` without conditions and suppositions."""
    return _DISBELIEVED.search(_SURE.sub("", _SENTENCE.split(before[-160:])[-1])) is not None


def asserted_part(said: str) -> str | None:
    """What a sentence says of its subject: all of it, what follows "not … but", None where it denies or doubts it."""
    if _QUESTION.search(said) or _TAKEN_BACK.search(said):
        return None
    if denial := _NOT.match(said):
        turn = _CONTRAST.search(said, denial.end())
        return said[turn.end() :] if turn and turn.end() < len(said) else None
    return said


def doubtful(before: str, after: str) -> bool:
    """Whether the words directly before or after a value deny it or offer it as one of several."""
    before, after = before[-100:], after[:60]
    if _HEDGED_BEFORE.search(before) or _HEDGED_AFTER.match(after):
        return True
    if not (denied := _DENIED_BEFORE.search(before)):
        return False
    turn = _CONTRAST.search(before, denied.start())
    return turn is None or turn.end() < len(before.rstrip(" *$(\\")) or not _NOT.search(before, 0, turn.start() + 1)
