"""Finds errors in a row's gold answer that are visible from the row itself."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from functools import cache

from verikit.answers import choices
from verikit.answers.claims import extract
from verikit.answers.gold import NUMERAL, read_gold
from verikit.audit.findings import Finding
from verikit.audit.rows import AuditRow
from verikit.replies import text
from verikit.verifiers.answer import Answer

MAX_SOLUTION = 20_000
"""Characters of a solution's end that are searched for its final answer."""
_NONE = ("the gold is empty", "the gold states that there is no answer")
_DAMAGED = re.compile("\ufffd|â€|Ã[©¨¤¶¼]|[\x00-\x08\x0e-\x1f]|&(?:amp|lt|gt|quot|nbsp);")
"""The replacement character, UTF-8 read as Latin-1, control characters, HTML entities."""
_CUT = re.compile(r"(?:\.\.\.|…|[=+*/^_\\({\[<]|\\(?:frac|sqrt|text|left|cdot|times))\s*\$?$")
_OR = re.compile(r"^(.{1,60}?)\s*(?:\bor\b|\\text\{\s*or\s*\}|\\textrm\{\s*or\s*\}|\\mbox\{\s*or\s*\})\s*(.{1,60})$")
_PENDING = re.compile(r"t\.?b\.?[a-z]\.?|to be \w+(?:ed|en|wn)", re.IGNORECASE)
"""`TBD` and similar: "to be" with a participle, or its initials."""
_WITHHELD = re.compile(
    r"(?:no|not|none)(?: (?!longer|more)\w{3,12}){0,2} (?P<participle>\w+(?:ed|en|wn|able|ible))", re.IGNORECASE
)
"""`none given`, `no answer provided`, `not yet available`: a negation that ends in a participle."""
_ESCAPED = re.compile(r"\\[()\[\]{}]")
"""Brackets that open nothing."""
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?|-?\.\d+")
_RESULT = re.compile(r"[=>]\s*\$?(-?\d[\d,]*(?:\.\d+)?|-?\.\d+)")
_MARK = "####"


def check_gold(row: AuditRow) -> Iterator[Finding]:
    """Yield the findings about one row's gold answer. There may be several."""
    golds = row.golds
    problems = [read_gold(gold).problem for gold in golds]
    if all(problem in _NONE for problem in problems):  # or there are no golds
        yield Finding("empty", row.line, row.id, problems[0] if problems else "no gold answer")
        return
    shown = golds[0][:200]
    if all(_is_withheld(read_gold(gold).text, row) for gold in golds):
        yield Finding("empty", row.line, row.id, "the gold states that there is no answer", text=shown)
        return
    checks = (
        ("unreadable", _unreadable(golds, problems), shown),
        ("several", _several(row), shown),
        ("contradiction", _contradiction(row), ""),
        ("prompt", "the gold is the prompt" if _is_prompt(golds, row.question) else "", shown),
        ("option", _no_option(row), ""),
    )
    for check, problem, quote in checks:
        if problem:
            yield Finding(check, row.line, row.id, problem, text=quote)


def _is_withheld(gold: str, row: AuditRow) -> bool:
    """Whether a gold answer only states that the answer is missing, in words that the row does not offer as an answer.

    "Not given" is an answer if the question lists it, and "not differentiable" if the question asks about that.
    """
    text = gold.strip(" .!\"'[]()<>")
    if _PENDING.fullmatch(text):
        named = text
    elif match := _WITHHELD.fullmatch(text):
        named = match["participle"]
    else:
        return False
    offered = "\n".join((row.question, row.solution, *row.options)).casefold()
    return re.search(rf"\b{re.escape(named.casefold())}\b", offered) is None


def _unreadable(golds: list[str], problems: list[str]) -> str:
    if all(problems):
        return problems[0]
    return next(filter(None, (_damage(read_gold(gold).text) for gold in golds)), "")


def _damage(gold: str) -> str:
    """Return the sign that a gold answer is incomplete or damaged, or "" if there is none."""
    if found := _DAMAGED.search(gold):
        return f"the gold contains damaged characters: {found[0]!r}"
    if _CUT.search(gold) and len(gold) > 1:
        return "the gold breaks off"
    brackets = _ESCAPED.sub("", gold)
    if sum(map(brackets.count, "([{")) > sum(map(brackets.count, ")]}")):
        return "the gold opens a bracket that it doesn't close"
    if _is_signs_only(gold):
        return "the gold has only signs"
    if gold.count("$") % 2 and "\\$" not in gold and not re.match(r"\$\s?[\d.,]", gold):
        return "the gold opens a formula that it doesn't close"
    return ""


def _is_signs_only(gold: str) -> bool:
    return "\\" not in gold and not any(char.isalnum() or char in "∅∞√π" for char in gold)


def _several(row: AuditRow) -> str:
    golds = row.golds
    numbers = {read_gold(gold).tree for gold in golds if read_gold(gold).numeral}
    if len(numbers) > 1:
        return f"accepts {len(numbers)} numbers that differ: {', '.join(golds[:4])[:100]}"
    boxes = _boxes(golds[0]) if len(golds) == 1 else []
    if any(_differ(boxes[-1], box) for box in boxes[:-1]):
        return f"boxes {len(boxes)} answers that differ"
    read = read_gold(golds[0])
    letters = choices.several_letters(read.text) if row.options or read.kind == "letter" else frozenset()
    if len(letters) > 1:
        return f"names the options {', '.join(sorted(letters))}"
    return _two_offered(row, read.text)


def _boxes(gold: str) -> list[str]:
    return [box.strip() for box in text.boxes(gold)] if "boxed" in gold else []


def _two_offered(row: AuditRow, gold: str) -> str:
    match = _OR.match(gold.strip("$ "))
    if not match or _asks_either(row.question, gold):
        return ""
    first, second = (part.strip(" $,;\\(){}") for part in match.groups())
    return f"offers {first!r} or {second!r}" if first and second and _differ(first, second) else ""


def _asks_either(question: str, gold: str) -> bool:
    """Whether the gold answer's words are in the question, which then has its own `or`."""
    return gold.casefold() in question.casefold()


def _option(options: Sequence[str], letter: str) -> str:
    """The text of an option; empty if there is no such letter."""
    index = string.ascii_uppercase.find(letter)
    return options[index] if 0 <= index < len(options) else ""


def _contradiction(row: AuditRow) -> str:
    gold, final = row.golds[0], _final(row.solution)
    if not final and _MARK in gold:
        body, _, stated = gold.rpartition(_MARK)
        return _last_number_differs(body, stated.strip())
    stated = _stated_gold(row, final) if final else ""
    if not stated or not all(_differ(gold, final) for gold in (*row.golds, stated)):
        return ""
    return f"the solution ends in {final[:60]!r}, the gold is {stated[:60]!r}"


def _stated_gold(row: AuditRow, final: str) -> str:
    """The first gold as a solution would state it: the text of its option, unless the solution ends in a letter."""
    read = read_gold(row.golds[0])
    if read.problem:
        return ""
    if read.letters and row.options and not choices.gold_letter(final)[0]:
        return _option(row.options, min(read.letters))
    return read.text


def _final(solution: str) -> str:
    """Return the answer that a solution marks as final. Empty if there is none, or several that differ."""
    tail = solution[-MAX_SOLUTION:]
    if _MARK in tail:
        return tail.rpartition(_MARK)[2].strip().split("\n")[0]
    if texts := [box.strip() for box in text.boxes(tail)] if "boxed" in tail else []:
        return texts[-1] if not any(_differ(box, texts[-1]) for box in texts) else ""
    found = extract.marked(tail)
    return found[-1].text.strip() if found else ""


def _last_number_differs(body: str, stated: str) -> str:
    """GSM8K's format: the number after the mark should be a result of the solution, or appear in its last line."""
    wanted = stated.replace(",", "").lstrip("$")
    if not NUMERAL.fullmatch(wanted):
        return ""
    lines = [line for line in body.strip().split("\n") if _NUMBER.search(line)]
    if not lines or any(
        _same_number(number, wanted) for number in (*_RESULT.findall(body), *_NUMBER.findall(lines[-1]))
    ):
        return ""
    return f"the solution's results do not include the gold's {wanted}"


def _same_number(a: str, b: str) -> bool:
    try:
        return abs(float(a.replace(",", ""))) == abs(float(b))
    except ValueError:
        return False


def _is_prompt(golds: list[str], question: str) -> bool:
    asked = _plain(question)
    for gold in golds:
        held = _plain(gold)
        if held and held == asked:
            return True
        shorter, longer = sorted((held, asked), key=len)
        if len(shorter) >= 30 and shorter in longer and len(shorter) > 0.8 * len(longer):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _no_option(row: AuditRow) -> str:
    options, golds = row.options, row.golds
    if not options:
        return ""
    last = string.ascii_uppercase[min(len(options), 26) - 1]
    for gold in golds:
        letters = choices.several_letters(gold) or choices.gold_letter(gold)[0]
        if letters and max(letters) <= last:
            return ""
        if any(not _differ(gold, option) for option in options):
            return ""
        if gold.strip().isdigit() and int(gold) <= len(options):
            return ""
    return f"the gold {golds[0][:40]!r} is none of the {len(options)} options"


def _differ(a: str, b: str) -> bool:
    """Whether two answers are shown to differ; undecided pairs are not."""
    return a.strip() != b.strip() and _equality().equal(a, b) is False


@cache
def _equality() -> Answer:
    return Answer(policy="lenient", tail_seconds=0)
