"""Chemical formulas, ions, hydrates, isotopes, equations and electron configurations.

Case matters (Co is not CO), and so does the order of atoms. The order of species on one side of an equation does not
matter, and states of matter are ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.extra.elements import BY_NAME, CORES, NUMBER
from verikit.answers.families.base import Context, Family
from verikit.answers.families.plain import plain, stated


class Species(NamedTuple):
    """One formula: its coefficient, its atoms and groups with counts in order, its charge. Or an isotope's numbers."""

    amount: Fraction
    atoms: tuple[tuple[str, int], ...]
    charge: int
    mass: int = 0
    number: int = 0
    """The atomic number that an isotope shows, or 0 if it is omitted."""


_STATE = re.compile(r"\s?_?\{?\((?:s|l|g|aq|solid|gas|liquid|aqueous)\)\}?|[↑↓]")
_COUNT = re.compile(r"(\d{1,4}(?:/\d{1,3}|\.\d{1,3})?)\s?(?=[A-Z(\[^e{])")
_ATOM = re.compile(r"([A-Z][a-z]?)(?:_?\{?(\d{1,3})\}?)?|([(\[])|([)\]])(?:_?\{?(\d{1,3})\}?)?")
_CHARGE = re.compile(
    r"\^\s?[{(]?\s?(?:(\d{0,2})([+-]{1,3})|([+-])(\d{1,2}))\s?[})]?$|(?<=[\w)\]}])\s(\d?)([+-])$|(\d?)([+-])$"
)
_GLUED = re.compile(r"^[A-Z][a-z]?$")
_ISOTOPE = re.compile(
    r"(?:\^\{?(?P<mass>\d{1,3})\}?\s?(?:_\{?(?P<number>\d{1,3})\}?)?|_\{?(?P<low>\d{1,3})\}?\s?\^\{?(?P<high>\d{1,3})\}?)"
    r"\s?(?P<symbol>[A-Z][a-z]?)"
)
_NAMED = re.compile(r"([A-Z][a-z]?|[A-Za-z]{3,14})[- ](\d{1,3})")
_DOT = re.compile(r"\s?[*·•]\s?|\s\.\s")
_ARROW = re.compile(r"\s?(?:<?-{1,2}>|<=>|⟶|⇌|=)\s?")
_PLUS = re.compile(r"\s\+\s?|(?<=[\w)}\]])\+(?=\s?\d{0,3}[A-Z(])")
MAX_CHARS = 200


def read_species(text: str) -> Species | None:
    """The only formula, ion, hydrate or isotope in a plain text."""
    text = _STATE.sub("", text).strip()
    if not text or len(text) > MAX_CHARS or text[0] in "+-":
        return None
    count = Fraction(1)
    if (match := _COUNT.match(text)) is not None and "/0" not in match[1]:
        count, text = Fraction(match[1]), text[match.end() :]
    if text in ("e^-", "e^{-}", "e-"):
        return Species(count, (("e", 1),), -1)
    if isotope := _isotope(text):
        return isotope._replace(amount=count)
    text, charge = _charge(text)
    atoms: list[tuple[str, int]] = []
    for index, part in enumerate(_DOT.split(text)):
        hydrate = re.match(r"\d{1,3}", part) if index else None
        found = _atoms(part[hydrate.end() :].strip() if hydrate else part)
        if found is None:
            return None
        if index:
            atoms.append(("*", int(hydrate[0]) if hydrate else 1))
        atoms += found
    return Species(count, tuple(atoms), charge)


def _isotope(text: str) -> Species | None:
    """An isotope, possibly with a wrong atomic number. If so, it is not an isotope of that element."""
    if match := _ISOTOPE.fullmatch(text):
        symbol, mass = match["symbol"], int(match["mass"] or match["high"])
        number = int(match["number"] or match["low"] or 0)
    elif named := _NAMED.fullmatch(text):
        symbol = named[1] if named[1] in NUMBER else BY_NAME.get(named[1].lower(), "")
        mass, number = int(named[2]), 0
    else:
        return None
    if symbol not in NUMBER or not NUMBER[symbol] <= mass <= 3 * NUMBER[symbol] + 1:
        return None
    return Species(Fraction(1), ((symbol, 1),), 0, mass, number)


def _charge(text: str) -> tuple[str, int]:
    """A formula without its charge, and the charge: ^{2-}, ^-, 2-, SO42-, Fe3+."""
    match = _CHARGE.search(text)
    if match is None:
        return text, 0
    digits = match[1] or match[4] or match[5] or ""
    signs = match[2] or match[3] or match[6] or match[8]
    rest = text[: match.start()].rstrip()
    if match[8]:  # Nothing separates the charge. After a bare atom or a count, the last digit is the charge.
        glued = match[7] and (_GLUED.fullmatch(rest) or rest[-1:].isdigit())
        digits, rest = (match[7], rest) if glued else ("", text[: match.start(8)])
    size = int(digits) if digits else len(signs)
    return rest, size if signs[0] == "+" else -size


def _atoms(text: str) -> list[tuple[str, int]] | None:
    """Atoms and groups with their counts, in order. None if the text contains anything else."""
    text = text.replace(" ", "") if " " in text and text.replace(" ", "").isascii() else text
    found: list[tuple[str, int]] = []
    depth, end = 0, 0
    for match in _ATOM.finditer(text):
        if match.start() != end and text[end : match.start()] not in ("-", "_", "{}"):
            return None
        end = match.end()
        symbol, count, opens, closes, times = match.groups()
        if symbol:
            if symbol not in NUMBER or count == "0":
                return None
            found.append((symbol, int(count or 1)))
        elif opens:
            depth += 1
            found.append(("(", 1))
        else:
            depth -= 1
            found.append((")", int(times or 1)))
        if depth < 0 or closes == "" or len(found) > 80:
            return None
    return found if found and end == len(text) and not depth else None


_CASE_ONLY = re.compile(r"(?:[A-Z][a-z]?){1,4}")
_WORDS = frozenset(("no", "in", "os", "as", "at", "he", "be", "i", "us", "on", "un", "am"))
_MAY_BE = re.compile(r"[A-Z]|[a-z]{3}-\d")
_PROSE = re.compile(r"[a-z]{3}(?![a-z]{0,11}[ -]\d)")


def _bare(text: str) -> str:
    return plain(text).replace("→", "->")


def _gold(text: str) -> Species | None:
    if len(text) > 120 or not _MAY_BE.search(text) or ("\\" not in text and _PROSE.search(text)):
        return None
    shown = _bare(text)
    species = read_species(shown)
    if species is None or "+ " in shown:
        return None
    if species.mass or species.charge or any(count > 1 for _, count in species.atoms) or ("*", 1) in species.atoms:
        subscripts = "_" in shown or species.charge or species.mass or len(species.atoms) > 1
        return species if subscripts else None
    whole = _CASE_ONLY.fullmatch(shown) and shown.casefold() not in _WORDS and len(shown) > 1
    return species if whole else None


def _match(gold: Species, text: str, context: Context) -> EqualityResult | None:
    plainly = not gold.mass and not gold.charge and all(count == 1 for _, count in gold.atoms)
    for part in stated(_bare(text), context.equality.assignment):
        answer = read_species(part)
        if answer is None:
            continue
        if _same(gold, answer):
            return equal("same formula")
        if plainly and _letters(gold) != _letters(answer):
            return None
        return different("another formula")
    return None


def _letters(species: Species) -> str:
    return "".join(symbol for symbol, _ in species.atoms).casefold()


def _same(gold: Species, answer: Species) -> bool:
    if gold.mass or answer.mass:
        shown = {gold.number or NUMBER[gold.atoms[0][0]], answer.number or NUMBER.get(answer.atoms[0][0], -1)}
        return gold[:4] == answer[:4] and shown == {NUMBER[gold.atoms[0][0]]}
    return gold == answer


FORMULA = Family("chemical formula", _gold, _match)

Equation = tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]


def read_equation(text: str) -> Equation | None:
    """The species on both sides of a chemical equation."""
    sides = _ARROW.split(text)
    if len(sides) != 2 or len(text) > MAX_CHARS:
        return None
    left, right = (_side(side) for side in sides)
    return (left, right) if left and right else None


def _side(text: str) -> Counter[tuple[object, ...]] | None:
    found: Counter[tuple[object, ...]] = Counter()
    for part in _PLUS.split(text):
        species = read_species(part)
        if species is None:
            return None
        number = species.number or (NUMBER.get(species.atoms[0][0], 0) if species.mass else 0)
        found[(species.amount, species.atoms, species.charge, species.mass, number)] += 1
    return found


def _gold_equation(text: str) -> Equation | None:
    if len(text) > MAX_CHARS or not _MAY_BE.search(text) or not re.search(r"arrow|\\to\b|[=→⟶⇌>]|harpoons", text):
        return None
    shown = _bare(text)
    equation = read_equation(shown)
    return (
        equation if equation and (">" in shown or sum(equation[0].values()) + sum(equation[1].values()) > 2) else None
    )


def _match_equation(gold: Equation, text: str, context: Context) -> EqualityResult | None:
    shown = _bare(text)
    label = re.match(r"[A-Za-z ]{3,60}:\s", shown)
    answer = read_equation(shown[label.end() :] if label else shown)
    if answer is None:
        return None
    return equal("same chemical equation") if answer == gold else different("another chemical equation")


EQUATION = Family("chemical equation", _gold_equation, _match_equation)

_CORE = re.compile(r"\s?\[\s?([A-Z][a-z])\s?\]\s?")
_ORBITAL = re.compile(
    r"([1-7])\s?([spdf])\s?(?:\^\s?\{?\s?(\d{1,2})\s?\}?|(1[0-4]|\d)(?=\s|,|$|[1-7]\s?[spdf]))[\s,]{0,2}"
)  # fmt: skip
_ROOM = {"s": 2, "p": 6, "d": 10, "f": 14}


def read_configuration(text: str) -> dict[str, int] | None:
    """The electrons in each orbital, with a noble gas's core written out."""
    core = _CORE.match(text)
    found: dict[str, int] = {}
    if core:
        if core[1] not in CORES:
            return None
        name: str | None = core[1]
        while name:
            first, *rest = CORES[name].split()
            orbitals, name = (rest, first) if first in CORES else ([first, *rest], None)
            found |= {orbital[:2]: int(orbital[2:]) for orbital in orbitals}
    end = core.end() if core else 0
    for _ in range(24):
        match = _ORBITAL.match(text, end)
        if match is None:
            break
        orbital, electrons = match[1] + match[2], int(match[3] or match[4])
        if orbital in found or electrons > _ROOM[match[2]]:
            return None
        found[orbital], end = electrons, match.end()
    shown = len(found) > 1
    return found if end == len(text) and end and shown else None


def _gold_configuration(text: str) -> dict[str, int] | None:
    return read_configuration(plain(text)) if len(text) <= MAX_CHARS and re.search(r"[1-7]\s?[spdf]", text) else None


def _match_configuration(gold: dict[str, int], text: str, context: Context) -> EqualityResult | None:
    for part in stated(plain(text), context.equality.assignment):
        answer = read_configuration(part)
        if answer is not None:
            return equal("same configuration") if answer == gold else different("another configuration")
    return None


CONFIGURATION = Family("electron configuration", _gold_configuration, _match_configuration)
FAMILIES = (CONFIGURATION, EQUATION, FORMULA)
