"""Other inputs for a workbook's formulas, sampled from a seed that is hidden from the agent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits

Content = str | bool | float | None


def generator(*parts: str) -> Random:
    """A random generator with a seed derived from the parts."""
    return Random(hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest())


def drawn(values: Mapping[str, Content], random: Random, count: int) -> list[dict[str, Content]]:
    """`count` sets of other inputs: near, far, with a zero and another sign, and mixed. Strings and empty cells stay.

    Integers stay integers, and numbers change except by chance.
    """
    numbers = {key: value for key, value in values.items() if isinstance(value, float)}
    kinds = (_near, _far, _signs, _mixed)
    cases: list[dict[str, Content]] = []
    for index in range(count if numbers else 0):
        changed = kinds[index % len(kinds)](numbers, random)
        flags = {key: not value for key, value in values.items() if isinstance(value, bool) and random.random() < 0.5}
        cases.append({**changed, **flags})
    return cases


def hidden(
    areas: Sequence[Sequence[tuple[str, Content]]], shown: Callable[[], str], random: Random, count: int
) -> list[dict[str, Content]]:
    """`count` sets of other inputs: numbers as in `drawn`, and strings in cells of their own as in `_reworded`.

    Args:
        areas: The cells of each reference, with their values.
        shown: Computes the result for these values.
        random: The generator.
        count: How many.
    """
    cases = drawn({key: value for cells in areas for key, value in cells}, random, count)
    texts, lists = _single_texts(areas), _lists(areas)
    if not texts:
        return cases
    listed = [value for entries in lists for value in entries]
    result = "" if set(texts.values()).issubset(listed) else shown()
    others = [_reworded(texts, lists, result, random) for _ in range(count)]
    return [case | other for case, other in zip(cases or [{}] * count, others, strict=True)]


def _single_texts(areas: Sequence[Sequence[tuple[str, Content]]]) -> dict[str, str]:
    single = [cells[0] for cells in areas if len(cells) == 1]
    return {key: value for key, value in single if isinstance(value, str)}


def _lists(areas: Sequence[Sequence[tuple[str, Content]]]) -> list[list[Content]]:
    return [[value for _, value in cells] for cells in areas if len(cells) > 1]


def _reworded(
    texts: Mapping[str, str], lists: Sequence[Sequence[Content]], shown: str, random: Random
) -> dict[str, Content]:
    """Other strings for single inputs, which lookups would not notice otherwise.

    A string of a list becomes another of its entries. Strings of lists with one length become entries of one row, since
    they may select it together. A string that the result shows gets other letters and digits. All others stay.
    """
    changed: dict[str, Content] = {}
    rows: dict[int, int] = {}
    for key, text in texts.items():
        entries = next((entries for entries in lists if text in entries), None)
        if entries is not None:
            row = rows.setdefault(len(entries), random.choice(_other_rows(text, entries) or [entries.index(text)]))
            changed[key] = entries[row]
        elif text and text in shown:
            changed[key] = "".join(_other_letter(letter, random) for letter in text)
    return changed


def _other_rows(text: str, entries: Sequence[Content]) -> list[int]:
    """Rows with other strings. The first may be a heading. If the text occurs once, so must they."""
    once = entries.count(text) == 1
    return [row for row, entry in enumerate(entries) if row and isinstance(entry, str) and entry != text
            and not (once and entries.count(entry) > 1)]  # fmt: skip


def _other_letter(letter: str, random: Random) -> str:
    for letters in (ascii_lowercase, ascii_uppercase, digits):
        if letter in letters:
            return random.choice(letters)
    return letter


def blanked(values: Mapping[str, Content], random: Random) -> list[dict[str, Content]]:
    """Sets with one input emptied, all emptied, and strings exchanged, which affect formulas over strings or counts."""
    keys = [key for key, value in values.items() if value is not None]
    cases: list[dict[str, Content]] = [{key: None} for key in random.sample(keys, min(3, len(keys)))]
    texts = [key for key in keys if isinstance(values[key], str)]
    if texts:
        cases.append({key: f"{values[key]} {random.randrange(10**6)}" for key in texts})
    return [*cases, dict.fromkeys(keys)]


def _near(numbers: Mapping[str, float], random: Random) -> dict[str, Content]:
    return {key: value + random.randint(1, 9) * _grain(value) for key, value in numbers.items()}


def _far(numbers: Mapping[str, float], random: Random) -> dict[str, Content]:
    return {key: round(abs(value) * random.randint(2, 9) + random.randint(1, 99), 6) for key, value in numbers.items()}


def _signs(numbers: Mapping[str, float], random: Random) -> dict[str, Content]:
    changed: dict[str, Content] = dict(_near(numbers, random))
    keys = random.sample(sorted(numbers), min(2, len(numbers)))
    changed[keys[0]] = 0.0
    if len(keys) > 1:
        changed[keys[1]] = -numbers[keys[1]] or -1.0
    return changed


def _mixed(numbers: Mapping[str, float], random: Random) -> dict[str, Content]:
    keys = sorted(numbers)
    order = random.sample(keys, len(keys))
    return {key: numbers[other] + random.randint(1, 3) * _grain(numbers[key])
            for key, other in zip(keys, order, strict=True)}  # fmt: skip


def _grain(value: float) -> float:
    """The step that a number may change by: 1 for a whole one, less for a fraction."""
    if value == int(value):
        return 1.0
    return 0.01 if abs(value) < 1 else 0.25
