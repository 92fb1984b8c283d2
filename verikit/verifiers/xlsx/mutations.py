"""Other inputs for a workbook's formulas, sampled from a seed that is hidden from the agent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits

from verikit.artifacts.readers.references import pieces, reference

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


def other_inputs(
    areas: Sequence[Sequence[tuple[str, Content]]], shown: Callable[[], str], random: Random, count: int
) -> list[dict[str, Content]]:
    """`count` sets of other inputs: numbers as in `drawn`, and strings as in `_reworded` and `_columns_reworded`.

    Args:
        areas: The cells of each reference, with their values.
        shown: Computes the result for these values, or "" if it is no string.
        random: The generator.
        count: How many.
    """
    values = {key: value for cells in areas for key, value in cells}
    cases = drawn(values, random, count) or _flipped(values, random, count)
    texts, tables = _single_texts(areas), [cells for cells in areas if len(cells) > 1]
    strings = any(isinstance(value, str) for value in values.values())
    result = shown() if strings else ""
    lists = {key: _list_of(text, tables) for key, text in texts.items()}
    others = [_columns_reworded(tables, texts, result, random) | _reworded(texts, lists, result, random)
              for _ in range(count)]  # fmt: skip
    return [case | other for case, other in zip(cases or [{}] * count, others, strict=True)]


def _flipped(values: Mapping[str, Content], random: Random, count: int) -> list[dict[str, Content]]:
    """Sets of other truth values, of which the first negates them all."""
    flags = {key: value for key, value in values.items() if isinstance(value, bool)}
    return [{key: not value if not case else random.random() < 0.5 for key, value in flags.items()}
            for case in range(count if flags else 0)]  # fmt: skip


def _single_texts(areas: Sequence[Sequence[tuple[str, Content]]]) -> dict[str, str]:
    single = [cells[0] for cells in areas if len(cells) == 1]
    return {key: value for key, value in single if isinstance(value, str)}


def _list_of(text: str, tables: Sequence[Sequence[tuple[str, Content]]]) -> list[Content]:
    """The list that a string may be looked up in: the column, or else the row, of the first table that contains it.

    In a table it must be in the first column or the first row, since lookups search these. A string in both stays.
    """
    for cells in tables:
        columns, rows = _lines(cells, 1), _lines(cells, 0)
        found = [line for line in (columns[0], rows[0]) if len(line) > 1 and text in line]
        if found:
            return found[0] if len(found) == 1 else []
    return []


def _lines(cells: Sequence[tuple[str, Content]], axis: int) -> list[list[Content]]:
    """The columns (axis 1) or rows (axis 0) of an area, in order."""
    lines: dict[int, list[Content]] = {}
    for key, value in cells:
        lines.setdefault(_place(key)[axis], []).append(value)
    return list(lines.values())


def _place(key: str) -> tuple[int, int]:
    area = reference(key)
    assert area is not None
    return area.top, area.left


def _columns_reworded(
    tables: Sequence[Sequence[tuple[str, Content]]], texts: Mapping[str, str], shown: str, random: Random
) -> dict[str, Content]:
    """Other strings in columns of which the result shows one. Columns that a lookup searches stay."""
    columns: dict[tuple[str, int], dict[str, str]] = {}
    for key, value in (cell for cells in tables for cell in cells):
        if isinstance(value, str) and value:
            columns.setdefault((key.partition("!")[0], _place(key)[1]), {})[key] = value
    shown_columns = [one for one in columns.values() if _is_shown(set(one.values()), set(texts.values()), shown)]
    return {key: _other_text(value, random) for entries in shown_columns for key, value in entries.items()}


def _is_shown(entries: set[str], searched: set[str], shown: str) -> bool:
    return any(value in shown for value in entries) and not entries & searched


def _reworded(
    texts: Mapping[str, str], lists: Mapping[str, Sequence[Content]], shown: str, random: Random
) -> dict[str, Content]:
    """Other strings for single inputs, which lookups would not notice otherwise.

    A string of a list becomes another of its strings. Strings of lists with one length become entries of one row, since
    they may select it together. A string that the result shows gets other letters and digits. All others stay.
    """
    changed: dict[str, Content] = {}
    rows: dict[int, int] = {}
    for key, text in texts.items():
        entries = lists[key]
        others = _other_rows(text, entries)
        if others:
            row = rows.setdefault(len(entries), random.choice(others))
            changed[key] = entries[row if isinstance(entries[row], str) else random.choice(others)]
        elif text and text in shown and text not in entries:
            changed[key] = _other_text(text, random)
    return changed


def _other_rows(text: str, entries: Sequence[Content]) -> list[int]:
    """Rows with other strings. The first may be a heading. If the text occurs once, so must they."""
    once = entries.count(text) == 1
    return [row for row, entry in enumerate(entries) if row and isinstance(entry, str) and entry not in ("", text)
            and not (once and entries.count(entry) > 1)]  # fmt: skip


def _other_text(text: str, random: Random) -> str:
    return "".join(_other_letter(letter, random) for letter in text)


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


def areas_of(formula: str, name: str) -> list[str]:
    """The references of a row's formula, with the sheet of its cell."""
    sheet = name.rpartition("!")[0]
    found = []
    for piece in pieces(formula):
        if piece.kind == "area":
            own = "!" in piece.text or not sheet
            found.append(piece.text if own else f"{sheet}!{piece.text}")
    return list(dict.fromkeys(found))
