"""Values that are right only elsewhere: the opposite of the answer, the answer in some cases, or a limit or a part."""

from __future__ import annotations

import re
from itertools import dropwhile

_OPPOSITE = re.compile(
    r"(?:\W*\b(?:so|thus|hence|therefore|it|this|that|is|was|we|i|get|have|find|the|its|answer)\b)*\W*"
    r"\b(opposite|contrary|negation)\s*[:：](?!\s*(?:it|this|that|the|we|there|yes|no)\b)",
    re.IGNORECASE,
)
_CASES = frozenset("even odd prime composite divisible".split())
_CONDITIONS = frozenset("when whenever if for where".split())
_BETWEEN = frozenset("is are a an all every any".split())
_LEADS = frozenset("the answer it is so thus hence therefore we get have find this that final".split())
"""Words before a value that only introduce it. "The maximum is 5 when n is even" is about more than its value."""
_TEXT, _COMMAND = re.compile(r"\\text\s*\{"), re.compile(r"\\[a-zA-Z]+")
_BLANKS = str.maketrans(dict.fromkeys("\\$(){}.", " "))
_LIMITS = """mindestens|höchstens|(?:mehr|weniger|größer|kleiner) als|au (?:moins|plus)|(?:plus|moins) de|al menos
|por lo menos|a lo sumo|como (?:máximo|mínimo)|(?:más|menos) de|(?:mayor|menor) que|almeno|al (?:massimo|minimo)
|(?:più|meno|maggiore|minore) di|pelo menos|no (?:máximo|mínimo)|mais de|maior que|minstens|hoogstens|ten minste
|(?:meer|minder|groter|kleiner) dan|co naj(?:mniej|wyżej)|(?:więcej|mniej) niż|minst|högst|(?:mer|mindre|fler) än
|en (?:az|fazla)|(?:более|менее|больше|меньше)(?:,? чем)?|как минимум|أكثر من|أقل من|على الأقل"""
_MULTIPLES = "hälfte|doppelte|dreifache|moitié|double|triple|mitad|doble|metà|doppio|triplo|metade|dobro|helft|dubbele"
_PARTS = rf"(?:{_MULTIPLES}) (?:von|der|de|di|van)|połow[aęy] z|половин[аыу](?: от)?|удвоенн[а-я]{{2}}"
_NUMBER = re.compile(r"[-−]?\d+(?:[.,/]\d+)*")
_BEFORE = re.compile(
    rf"(?:(?<![^\W\d_])(?P<word>{_LIMITS}|{_PARTS})\s|(?P<sign>至少|最多|超过|大于|小于|不到|不足|多于|少于|少なくとも|多くとも|적어도)\s?)"
    rf"[\s}}(\\$€£¥]{{0,4}}{_NUMBER.pattern}".replace("\n", ""),
    re.IGNORECASE,
)
"""Words of other languages than English before a number. `operations` has the English ones."""
_BEHIND = re.compile(
    rf"{_NUMBER.pattern}[$)\\]{{0,3}}[^\W\d_]?"
    r"(?P<word>的(?:一半|[2-9两二三]倍)|の(?:半分|[2-9二三]倍)|未満|未满|より(?=[大小多少高低])|보다|이하|미만|초과"
    r"|(?:以上|以下|이상)(?!で|は|是|为|입니다|\s?끝)|'[dt][ea]n (?:az|fazla))"
)
"""Words right behind a number. After a comma or a space, "以上" and "이상" end a solution."""
_EXTREME = re.compile(
    r"(?<![^\W\d_])(?:m[ií]nim|m[aá]xim|massim|least|most|fewest|small|larg|great|high|low|mindest|höchst|klein|größt|gross"
    r"|moins|plus|menos|menor|mayor|maior|meno|maggior|minor|piccol|grand|sumo|almeno|minst|hoogst|groot|naj"
    r"|наи|миним|максим|en (?:az|fazla|küçük|büyük))|最|至[少多]|少なくとも|多くとも|적어도|최[소대]|أ[قك]",
    re.IGNORECASE,
)
"""Beginnings of words by which a question has a limit as its answer."""
_DENIED = re.compile(
    r"(?<![^\W\d_])(?:n['’]|(?:nicht|keine?|nie|ne|pas|no|non|nunca|não|niet|geen|не|нет|нельзя|değil)(?![^\W\d_]))"
    r"|不|没|無|ない|ません|않|없",
    re.IGNORECASE,
)
MAX_CONDITIONED = 100
"""Maximum number of characters of an answer that is read as a value and its condition."""


def opposite(text: str) -> str:
    """The word by which the label of a value calls it the opposite: "the opposite: 5". Empty if there is none."""
    found = _OPPOSITE.match(text) if ":" in text or "：" in text else None
    return found[1].lower() if found else ""


def only_case(text: str, gold: str) -> str:
    """The class of numbers in a condition right after a value: "5 when n is even". Empty if there is none."""
    said = text.lower()
    if len(said) > MAX_CONDITIONED or " " not in said or not any(case in said for case in _CASES):
        return ""
    parts = _parts(said)
    at = next((at for at in range(len(parts) - 1, 0, -1) if parts[at] in _CASES), 0)
    is_end = parts[at + 1 : at + 2] == ["by"] or all(len(part) == 1 for part in parts[at + 1 :])
    return parts[at] if is_end and _is_conditioned(parts[:at], _parts(gold.lower())) else ""


def _parts(said: str) -> list[str]:
    """The words and numbers of a text, without LaTeX."""
    return _COMMAND.sub(" 1 ", _TEXT.sub(" ", said)).translate(_BLANKS).split()


def limited(text: str, gold: str, question: str) -> str:
    """The words of a language other than English that make the gold answer a limit, a part or a multiple.

    Empty for a text with a denial or another number, and if the question or the gold answer names an extreme.
    """
    found = (_BEFORE.search(text) or _BEHIND.search(text)) if len(text) <= MAX_CONDITIONED else None
    numbers = _values(text)
    if found is None or len(numbers) != 1 or numbers != _values(gold):
        return ""
    word = found.groupdict().get("sign") or found["word"]
    return "" if _is_undone(text, word) or _EXTREME.search(f"{question} {gold}") else word


def _is_undone(text: str, word: str) -> bool:
    """Whether a text denies its limit, or names several multiples: the double of the half of a number."""
    return _DENIED.search(text.replace(word, " ")) is not None or len(re.findall(_MULTIPLES, text.lower())) > 1


def _values(text: str) -> list[str]:
    return list(map(_value, _NUMBER.findall(text)))


def _value(number: str) -> str:
    """A number without the commas between its thousands and the zeros of its fraction."""
    plain = re.sub(r",(?=\d{3}(?!\d))", "", number.replace("−", "-")).replace(",", ".")
    return plain.rstrip("0").rstrip(".") if plain.count(".") == 1 else plain


def _is_conditioned(parts: list[str], gold: list[str]) -> bool:
    """Whether words are a value, or the gold answer, and the start of a condition: "it is 5 when n is"."""
    rest = list(dropwhile(lambda part: len(part) == 1 or part in _BETWEEN, reversed(parts)))
    if not rest or rest[0] not in _CONDITIONS:
        return False
    value = list(dropwhile(_LEADS.__contains__, reversed(rest[1:])))
    is_value = value == gold or all(len(part) == 1 or not part.isalpha() for part in value)
    return bool(value) and is_value and not value[-1].endswith(",")
