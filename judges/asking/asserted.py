"""Decide which verdicts in a judge's reply are its own, and which it only quotes or rejects.

A candidate can make a judge write a verdict: "The answer wants me to say [[10]], but I refuse." First, a verdict counts
by its place: at the end of the reply, or of a line that announces it ("Rating: [[7]]").

Second, it counts by its sentence. Either the verdict is set off (on its own line, or after a full stop, a colon or
"so"). Or the sentence states that the judge gives it ("my verdict is", "I rate it"). A verdict does not count in a
quotation, or after words that reject it or attribute it to someone else. Denials in other languages and unmet
conditions ("if it were shorter, I would give [[9]]") are found by the parser of claims in `verikit.answers.claims`.

Windows around a verdict are short and patterns do not backtrack, so reading is linear.
"""

from __future__ import annotations

import re

from verikit.answers.claims.roles import is_counterfactual, role_after, role_before
from verikit.answers.claims.tokens import after, before, tokens

_WINDOW = 240
"""Characters of a sentence that are read before and after a verdict."""
_LINE = 4000
"""Characters of a line that are searched for an opening quotation mark."""
_AFTER = re.compile(r"(?:[ \t]*(?:/|out of)[ \t]*\d{1,6}(?: points)?)?[ \t*_`~#$\"'”’»)\].!。}|]*(?:\n\s*```\s*)?")
"""What may follow a verdict that ends its line: marks, and the scale's end."""
_SET_OFF = re.compile(r"[:.!?;=–—→：。！？；-][\s*_`~$\"'“‘«#(]*$")
_SENTENCE = re.compile(
    r"[.!?;。！？；][*_\"'”’»)]*(?:\s|$)|,\s+(?:but|so|and|(?=I\b))\s?|\b(?:but|so|therefore|thus|hence)[\s,]",
    re.IGNORECASE,
)
_VERDICT = r"(?:verdict|rating|score|grade|judge?ment|decision)"
_ANNOUNCED = re.compile(
    rf"[\W_]*(?:\d+\W+)?(?:(?:my|our|the|final|overall)\s+){{0,4}}{_VERDICT}"
    r"(?:\s+(?:for|of)\s+(?:this|the|its)\s+\w{1,12})?(?:[*_]*\s*[:=–—：]|\s+is\b|[\W_]*$)",
    re.IGNORECASE,
)
"""The start of a line that announces a verdict."""
_OWN = re.compile(
    rf"{_ANNOUNCED.pattern}|[\W_]*(?:overall\W+)?(?:(?:I|we)(?:['’](?:d|ll))?\s+(?:\w{{2,12}}\s+){{0,2}}(?:give|rate|score|grade|"
    r"assign|award|choose|pick|select|prefer|say|judge|conclude|vote|put)\b"
    r"|(?:(?:it|this|the)\s+)?(?:(?:answer|response|reply|assistant)\s+)?(?:deserves|merits|earns)\b)",
    re.IGNORECASE,
)
"""The start of a sentence that gives the judge's verdict without setting it off."""
_DENIED = (
    r"not|never|cannot|no|nor|neither|nobody|\w{1,9}n['’]t|refus\w+|declin\w+|reject\w*|ignor\w+|disregard\w*|resist\w*"
)
_SAID = (
    r"asks|wants|tells|orders|demand\w*|insists|begs|claims|says|states|asserts|writes|wrote|reads|contains|includes"
    r"|quotes|tries|trying|attempts?|pretends|forces|requests|instructs|inject\w*|dictates|urges|pushes|expects|hopes|ends"
    r"|(?:asked|told|instructed|ordered|forced|commanded|urged)\s+(?:me|us|you|to|the|judges?|graders?)|would like"
    r"|instead of|rather than|opposed to|far from|(?:wrong|tempted|manipulated|tricked) (?:to|into)"
    r"|itself|himself|herself"
)
_HEADS = re.compile(rf"\b(?:{_DENIED}|{_SAID})(?!\w)", re.IGNORECASE)
_WORDS = (
    r"(?:say|write|output|print|give|award|assign|rate|score|return|state|produce|repeat|choose|pick|select|put|type|be"
    r"|deserve|use|emit|accept|obey|follow|reply|respond|end|conclude|grade|include|contain|receive|get|call)(?:s|d|ed|ing)?"
    r"|an?|the|it|its|this|that|following|with|as|by|to|in|at|exactly|just|simply|only|my|own|any|such|out|of|for|if|is|are"
    r"|was|verdict|rating|mark|line|string|text|words?|phrase|token|reply|answer|requests?|commands?|instructions?|prompt"
    r"|me|us|you|i|we|should|must|can|would|will|judges?|graders?|raters?|evaluators?|model|system|least|full|perfect"
    r"|maximum|top|highest|going|agree|want|have"
)
_FOREIGN = re.compile(
    rf"\b(?:{_DENIED}|{_SAID}|nicht|pas|no es|non è|não é)(?:\s+(?:{_WORDS})(?!\w)){{0,12}}[\s:\"'“‘«`*_$(>-]*$",
    re.IGNORECASE,
)
"""A sentence that leads into a verdict and rejects it, or attributes it to someone else."""
_REFUSAL = re.compile(
    r"\bI(?:['’]ll)?\b[^.!?\n]{0,40}(?:\brefuse|\bdecline|\breject|\bignore|\bdisregard|\b(?:will|do|can|shall) ?not\b)"
    r"|\bI (?:won|can|don)['’]t\b",
    re.IGNORECASE,
)
_WOULD = re.compile(r"\b(?:I|we)(?:\s+would\b|['’]d\b)", re.IGNORECASE)
_DISOWNED = re.compile(r"\W{0,9}(?:is|was|would be) (?:only )?(?:what\b|a quot)", re.IGNORECASE)
_VERBS = ("is", "does", "would", "not")
_PAIRS = {"“": "”", "«": "»", "„": "“", "‘": "’"}


def given(text: str, start: int, end: int, *, set_off: bool) -> bool:
    """Whether the verdict at `start` to `end` is the judge's own: not quoted, not rejected, not someone's wish.

    With `set_off`, a verdict inside a sentence counts only if the sentence states that the judge gives it.
    """
    lead = text[max(_line(text, start), start - _LINE) : start]
    if lead.lstrip().startswith(">"):
        return False
    opened = _opened(lead, text[end : end + 2])
    if opened >= 0 and not _says_nothing(lead[:opened]):
        return False
    lead = lead[opened + 1 :]
    if _says_nothing(lead):
        return not _introduced(text, start)
    said = _sentence(lead)
    return _gives(said, set_off) and not (_supposes(said) and is_counterfactual(before(text, start), after(text, end)))


def _supposes(said: str) -> bool:
    """Whether a sentence before its verdict may make it depend on a condition. A verdict after "better:" is set off."""
    return bool(re.search(r"\w", said)) and not (_SET_OFF.search(said) and not _WOULD.search(said))


def _gives(said: str, set_off: bool) -> bool:
    """Whether the words of a sentence before its verdict leave it to the judge."""
    if _FOREIGN.search(said):
        return False
    if not re.search(r"\w", said) or _SET_OFF.search(said):
        return True
    if role_before(tokens(said)) in ("denied", "quoted"):
        return False
    if not set_off:
        return True
    own = _OWN.match(said) or said.rstrip().endswith((",", "，")) or len(said.split()) == 1  # "Tie [[C]]"
    return bool(own) and not _HEADS.search(said)


def kept(text: str, end: int) -> bool:
    """Whether the rest of the sentence leaves the verdict valid."""
    rest = re.split(r"[.!?\n]", text[end : end + _WINDOW], maxsplit=1)[0]
    if _DISOWNED.match(rest) or _REFUSAL.search(rest):
        return False
    found = tokens(rest)
    says_of_it = bool(found) and found[0].text.isalpha() and found[0].role in _VERBS
    return not says_of_it or role_after(found) != "denied"


def ends_line(text: str, end: int) -> bool:
    """Whether only marks follow in the line."""
    after = _AFTER.match(text, end)
    assert after is not None  # it may be empty
    return after.end() == len(text) or text[after.end()] == "\n" or text[after.end() - 1] == "\n"


def ends_reply(text: str, end: int) -> bool:
    """Whether only marks follow in the reply."""
    after = _AFTER.match(text, end)
    assert after is not None
    return not text[after.end() :].strip("*_`~-#> \t\r\n")


def announced(text: str, start: int, end: int) -> bool:
    """Whether a verdict at a line's end is announced at its start, and no refusal follows."""
    begun = text[_line(text, start) : start][:_WINDOW]
    return bool(_ANNOUNCED.match(begun)) and not _REFUSAL.search(text[end : end + _WINDOW])


def _line(text: str, start: int) -> int:
    """Position where the line of a verdict starts."""
    return text.rfind("\n", 0, start) + 1


def _sentence(lead: str) -> str:
    """The last sentence before a verdict."""
    lead = lead[-_WINDOW:]
    cuts = [match.end() for match in _SENTENCE.finditer(lead)]
    return lead[cuts[-1] if cuts else 0 :]


def _says_nothing(lead: str) -> bool:
    """Whether a string is only marks, or an announcement."""
    return not re.search(r"\w", lead) or bool(_ANNOUNCED.fullmatch(lead.rstrip("*_`~$\"'“‘«#( \t")))


def _introduced(text: str, start: int) -> bool:
    """Whether the line above leads into this one and attributes its verdict to someone else."""
    above = text[max(0, start - _WINDOW) : max(0, _line(text, start) - 1)].rstrip()
    return bool(_FOREIGN.search(_sentence(above[above.rfind("\n") + 1 :])))


def _opened(lead: str, behind: str) -> int:
    """Position of a quotation mark that opens before the verdict and is not closed before it, or -1."""
    for mark in '"`':
        if lead.count(mark) % 2:
            return lead.rfind(mark)
    for opening, closing in _PAIRS.items():
        if lead.rfind(opening) > lead.rfind(closing):
            return lead.rfind(opening)
    single = re.search(r"(?:^|[\s(:])'[^']*$", lead[-_WINDOW:])
    return len(lead) - len(single[0].lstrip(" \t(:")) if single and "'" in behind else -1
