"""Short texts: names, dates, places, phrases, compared word by word.

Strict equality ignores differences that carry no information: case, accents, articles, quotes, honorifics, and the
order of a date. It also ignores a middle initial, a counted noun and a generic word ("company", "county"). A place's
surroundings are ignored if only the gold answer has them. Lenient equality also accepts the gold answer inside the
answer or vice versa, unless the extra words are numbers, dates or more answers.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from verikit.answers.algebra.equality import Equality, EqualityResult, different, equal
from verikit.answers.families.plain import has_digit
from verikit.answers.parser.lexer import SKIPPED, TEXT

MAX_CHARS = 2_000
MAX_CACHED = 200
"""Maximum number of characters of a text whose words are cached."""
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?")
_WORD = re.compile(
    r"(?<![\w)\]])[-−]?\d+(?:[.,]\d+)*|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\W_]+|(?<=[a-g])#|[♯♭<>=≤≥≠^+*±]"
)
"""A number with its sign, a word, or a meaningful sign: a comparison, a sharp, a flat."""
_OPERATOR = re.compile(r"(?<=[^\W\d_])(?P<gap> ?)(?P<sign>[*×·⋅/÷+=^])(?P=gap)(?=[^\W\d_])")
_SAME_OPERATOR = {"×": "*", "·": "*", "⋅": "*", "÷": "/"}
_SIGNS = {"#": "sharp", "♯": "sharp", "♭": "flat"}
_SIGNED = re.compile(
    r"(?:[\s${(]|(?:it|that|this|he|she|they|is|was|are|were|the|so|we|i|get|have|find)\s)*(?:[-−](?!\s)|[¬~+!∂∫√Δ∇]|\\(?:neg|lnot))",
    re.IGNORECASE,
)
"""A text with a sign before its first word, ignoring "it is"."""
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_MARKUP = str.maketrans(dict.fromkeys('{}$*"“”„«»`\\', " "))
_HALF_DAY = re.compile(r"\b([aApP])\.\s?[mM]\.?")
_PARTS = re.compile(r"[,;&]|\band\b")
_ARTICLES = frozenset(("a", "an", "the"))
_FUNCTION = frozenset(
    "from by in on at of to as for around about approximately circa into during since until is was were are it he "
    "she they that this".split()
)
_HONORIFICS = frozenset(
    "mr mrs ms dr sir dame lord lady king queen prince princess emperor empress pope saint st president prime minister "
    "senator governor captain capt colonel col general gen major sergeant lieutenant lt professor prof reverend rev "
    "duke duchess earl count countess baron baroness margrave chancellor judge justice admiral sultan tsar".split()
)
_KINDS = frozenset(
    "company corporation corp inc incorporated ltd limited llc county municipality municipalities district unit units "
    "class type band film movie novel book song album station stations".split()
)
_MONTHS = {m[:n]: i for i, m in enumerate(
    "january february march april may june july august september october november december".split(), 1
) for n in (3, len(m))} | {"sept": 9}  # fmt: skip
_NUMBER_WORDS = {w: str(i) for i, w in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty".split()
)}  # fmt: skip
_NEGATIVE = frozenset(("not", "no", "never", "neither", "nor", "none", "isn't", "wasn't", "without", "cannot"))
_JOINING = frozenset(("or", "and", "versus", "vs"))


def words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without accents, articles and punctuation, with normalised numbers."""
    return _words_of_short(text) if len(text) <= MAX_CACHED else _words(text)


def _words(text: str) -> tuple[str, ...]:
    text = _HALF_DAY.sub(r"\1m", _COMMAND.sub(_command, text[:MAX_CHARS]).translate(_MARKUP))
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    found = []
    for match in _WORD.finditer(text.lower()):
        word = match[0].replace("’", "'")
        if word[-1].isdigit() and (word[0].isdigit() or word[0] in "-−"):
            word = _number(word)
        elif word.endswith("'s"):
            word = word[:-2]
        word = word.replace("'", "")
        if word and word not in _ARTICLES:
            found.append(_SIGNS.get(word) or _NUMBER_WORDS.get(word, word))
    return tuple(found)


_words_of_short = lru_cache(maxsize=4096)(_words)


def _command(match: re.Match[str]) -> str:
    """Replace a LaTeX command with a separate word, unless it only sets type or space."""
    name = match[0][1:]
    return " " if name in TEXT or name in SKIPPED or name in ("textcolor", "color", "begin", "end") else f" {name} "


def _number(word: str) -> str:
    word = word.replace("−", "-")
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", word):
        word = word.replace(",", "")
    return word.rstrip(".,")


def date(parts: tuple[str, ...]) -> tuple[int, int, int] | None:
    """(year, month, day) of a text that is only a date in words, with 0 for omitted parts."""
    if not 2 <= len(parts) <= 4 or _MONTHS.keys().isdisjoint(parts):
        return None
    month = [p for p in parts if p in _MONTHS]
    numbers = [re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", p) for p in parts if p not in _MONTHS and p != "of"]
    found = _year_and_day(numbers) if len(month) == 1 else None
    return found and (found[0], _MONTHS[month[0]], found[1])


def _year_and_day(numbers: list[str]) -> tuple[int, int] | None:
    """A year of three digits or more and a day, one of which may be left out (0)."""
    if not 1 <= len(numbers) <= 2 or not all(map(str.isdigit, numbers)):
        return None
    years = [int(number) for number in numbers if len(number) >= 3]
    days = [int(number) for number in numbers if len(number) <= 2]
    return None if len(years) > 1 or len(days) > 1 else (sum(years), sum(days))


def compare_texts(gold: str, answer: str, equality: Equality) -> EqualityResult:
    """Compare two short texts."""
    g, a = words(gold), words(answer)
    if not a:
        same = gold.strip() == answer.strip() != ""
        return equal("same text") if same else different("no words in the answer")
    if is_signed(gold) != is_signed(answer):
        return different("one has a sign before it")
    if _differ_in_operators(gold, answer):
        return different("another operator between the words")
    if g == a:
        return equal("same words")
    if not g:
        return different("the gold has no words")
    if "".join(g) == "".join(a) and not any(w.isdigit() for w in (*g, *a)):
        return equal("same letters")
    if (day := date(g)) and (other := date(a)):
        return equal("same date") if day == other else different("another date")
    return _by_rules(gold, g, answer, a, equality)


def _by_rules(gold: str, g: tuple[str, ...], answer: str, a: tuple[str, ...], equality: Equality) -> EqualityResult:
    """Compare texts of other words."""
    if len(parts := _parts(gold)) > 1 and parts == _parts(answer):
        return equal("same list of words")
    if (rule := _loosely(gold, g, answer, a)) is not None:
        return equal(rule)
    return _leniently(gold, g, answer, a) if equality.lenient else different("other words")


def _differ_in_operators(gold: str, answer: str) -> bool:
    """Whether both texts have operators between words, and these are not the same ones."""
    wanted = _operators(gold)
    return bool(wanted) and _operators(answer) not in ([], wanted)


def _operators(text: str) -> list[str]:
    """The arithmetic signs between words, in order. Hyphens and the asterisks of bold type are excluded."""
    return [_SAME_OPERATOR.get(match["sign"], match["sign"]) for match in _OPERATOR.finditer(text[:MAX_CHARS])]


def _parts(text: str) -> list[tuple[str, ...]]:
    """The members of a list in words, sorted."""
    return sorted(w for part in _PARTS.split(text[:MAX_CHARS]) if (w := words(part)))


def is_signed(text: str) -> bool:
    """Whether a sign is before the first word."""
    return _SIGNED.match(text) is not None


def _loosely(gold: str, g: tuple[str, ...], answer: str, a: tuple[str, ...]) -> str | None:
    """The strict rules beyond equal words. None if none of them applies."""
    if (g_negative := _NEGATIVE & set(g)) != _NEGATIVE & set(a) and (g_negative or set(g) & set(a)):
        return None
    core, other = _core(g), _core(a)
    if core == other and core:
        return "same words but for titles and kinds"
    if a == g[:1] and _is_counted(g) and _NUMERAL.fullmatch(answer.strip(" $.")):
        return "same number, the noun left out"
    if _aliases(gold, a):
        return "an alias the gold gives"
    if _same_person(core, other):
        return "same name, middle names short or left out"
    if "," in gold and a == words(gold.split(",", 1)[0]) and _is_place(gold):
        return "same place, its surroundings left out"
    return None


def _is_counted(parts: tuple[str, ...]) -> bool:
    """Whether words are a number and a counted noun of one or two words."""
    nouns = parts[1:]
    return parts[0].isdigit() and 1 <= len(nouns) <= 2 and all(w.isalpha() and w not in _MONTHS for w in nouns)


def _is_place(text: str) -> bool:
    """Whether a text with a comma may be a place and its surroundings, without numbers and not a list."""
    return not has_digit(text) and not _lists(text)


def _lists(text: str) -> bool:
    return bool(_JOINING & set(words(text)))


def _core(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Words without leading function words and titles, and without a generic word at either end."""
    found = list(parts)
    while len(found) > 1 and (found[0] in _FUNCTION or found[0] in _HONORIFICS):
        found.pop(0)
    if len(found) > 1 and found[-1] in _KINDS:
        found.pop()
    elif len(found) > 1 and found[0] in _KINDS:
        found.pop(0)
        if len(found) > 1 and found[0] == "of":
            found.pop(0)
    return tuple(found)


def _aliases(gold: str, a: tuple[str, ...]) -> bool:
    """Whether the answer is a name that the gold offers: in brackets, or a nickname in quotes with the family name."""
    bracket = re.search(r"^(.{2,200}?)\s*\(([^()]{2,80})\)\s*$", gold.strip())
    if bracket and a in (words(bracket[1]), words(bracket[2])):
        return True
    quoted = re.search(r"[\"“]([^\"“”]{2,40})[\"”]", gold)
    if quoted:
        after = words(gold[quoted.end() :])
        return bool(after) and a == words(quoted[1]) + after
    return False


def _same_person(g: tuple[str, ...], a: tuple[str, ...]) -> bool:
    """Whether first and last name agree and the middle differs only by initials or an omitted initial."""
    if len(g) < 2 or len(a) < 2 or g[0] != a[0] or g[-1] != a[-1] or len(g[0]) < 2:
        return False
    if any(not w[0].isalpha() or w in _JOINING or w in _FUNCTION for w in (*g, *a)):
        return False
    short, long = sorted((g[1:-1], a[1:-1]), key=len)
    if len(short) == len(long):
        return bool(short) and all(_may_be_initial(x, y) for x, y in zip(short, long, strict=True))
    return not short and all(len(w) == 1 for w in long)


def _may_be_initial(a: str, b: str) -> bool:
    """Whether two names are the same, or one is the other's initial."""
    return a == b or (1 in (len(a), len(b)) and a[0] == b[0])


def _leniently(gold: str, g: tuple[str, ...], answer: str, a: tuple[str, ...]) -> EqualityResult:
    """Accept one inside the other, or most words shared, unless the rest is a number, a date or another answer."""
    if _NEGATIVE & (set(g) ^ set(a)):
        return different("one is negated")
    short, long = sorted((g, a), key=len)
    if _JOINING & set(long) and not _JOINING & set(short):
        return different("one lists more")
    if not _inside(short, long):
        return _mostly_shared(g, a)
    if (_numbers(short) or not _MONTHS.keys().isdisjoint(set(long) - set(short))) and _numbers(g) != _numbers(a):
        return different("other numbers")
    if _longer_name(gold, answer):
        return different("a longer name")
    if len(long) > 3 * len(short) + 8:
        return different("a small part of a long text")
    return equal("one contains the other (lenient)")


def _numbers(parts: tuple[str, ...]) -> set[str]:
    return {word for word in parts if word[0].isdigit()}


def _mostly_shared(g: tuple[str, ...], a: tuple[str, ...]) -> EqualityResult:
    """Whether two texts share most of their words, and all their numbers."""
    if _numbers(g) != _numbers(a):
        return different("other numbers")
    shared = len(set(g) & set(a) - _FUNCTION)
    if shared and 2 * shared / (len(set(g) - _FUNCTION) + len(set(a) - _FUNCTION)) >= 0.6 and len(g) > 1 and len(a) > 1:
        return equal("most words shared (lenient)")
    return different("other words")


def _inside(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Whether the words of one are consecutive in the other. A single word must be at an end."""
    size = len(short)
    if size == 1:
        core = [word for word in long if word not in _FUNCTION]
        return bool(core) and short[0] in (core[0], core[-1], long[-1])
    return any(long[i : i + size] == short for i in range(len(long) - size + 1))


def _longer_name(gold: str, answer: str) -> bool:
    """Whether the answer extends a one-word name to another name: Quebec, Quebec City."""
    name, parts = gold.strip(), answer.split()
    return len(parts) == 2 and parts[0] == name and parts[1][:1].isupper() and name[:1].isupper()
