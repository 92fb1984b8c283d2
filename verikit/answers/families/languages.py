"""The number words of European languages: tables below a thousand, larger scales, denominators, ordinals."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class NumberWords(NamedTuple):
    """Number words below a thousand, scales from the largest, and other words of the language."""

    table: dict[str, int]
    scales: tuple[tuple[str, int], ...]
    joiner: str
    denominators: dict[str, int]
    percent: tuple[str, ...]


def squeezed(text: str) -> str:
    """Lower case without accents, spaces and hyphens."""
    text = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in text if c not in " -\u2010\u2011’'" and not unicodedata.combining(c))


def _table(below: dict[str, int], hundreds: dict[str, int], joiner: str = "") -> dict[str, int]:
    """All numbers below a thousand, built from those below a hundred and the hundreds."""
    found = dict(below)
    for word, hundred in hundreds.items():
        found[word] = hundred
        for small, value in below.items():
            if value:
                found[word + small] = hundred + value
                if joiner:
                    found[word + joiner + small] = hundred + value
    return found


def _regular(units: Sequence[str], teens: Sequence[str], tens: Sequence[str], joiner: str = "") -> dict[str, int]:
    """Zero to 99 where tens come before units: `units` from zero, `teens` from ten, `tens` from twenty."""
    below = {word: value for value, word in enumerate(units)} | {word: 10 + i for i, word in enumerate(teens)}
    for i, ten in enumerate(tens):
        below[ten] = 20 + 10 * i
        below |= {f"{ten}{joiner}{unit}": 20 + 10 * i + value for value, unit in enumerate(units) if value}
    return below


def english() -> NumberWords:
    """English, including its ordinals."""
    units = "zero one two three four five six seven eight nine".split()
    teens = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    below = _regular(units, teens, tens)
    hundreds = {f"{unit}hundred": 100 * i for i, unit in enumerate(units) if i} | {"hundred": 100, "ahundred": 100}
    places = {ordinal: value for ordinal, value in ordinals(below).items() if value > 2}
    denominators = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}
    denominators |= places | {f"{ordinal}s": value for ordinal, value in places.items()}
    scales = (("trillion", 10**12), ("billion", 10**9), ("million", 10**6), ("thousand", 1000))
    return NumberWords(_table(below, hundreds, "and"), scales, "and", denominators, ("percent", "percents"))


_IRREGULAR = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
              "twelve": "twelfth"}  # fmt: skip


def ordinals(cardinals: dict[str, int]) -> dict[str, int]:
    """The English ordinals of squeezed cardinals."""
    found = {}
    for word, value in cardinals.items():
        ending = next((end for end in _IRREGULAR if word.endswith(end)), None)
        if ending is not None:
            found[word[: -len(ending)] + _IRREGULAR[ending]] = value
        elif value:
            found[word[:-1] + "ieth" if word.endswith("y") else word + "th"] = value
    return found


def _german() -> NumberWords:
    units = "null ein zwei drei vier funf sechs sieben acht neun".split()
    teens = "zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn".split()
    tens = "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig".split()
    below = {word: value for value, word in enumerate(units)} | {word: 10 + i for i, word in enumerate(teens)}
    for i, ten in enumerate(tens):
        below[ten] = 20 + 10 * i
        below |= {f"{unit}und{ten}": 20 + 10 * i + value for value, unit in enumerate(units) if value}
    below["eins"] = 1
    denominators = {f"{word}tel": value for word, value in below.items() if 4 <= value < 20}
    denominators |= {f"{word}stel": value for word, value in below.items() if value >= 20}
    denominators |= {"drittel": 3, "siebtel": 7, "achtel": 8, "halb": 2, "halbe": 2}
    hundreds = {f"{unit}hundert": 100 * i for i, unit in enumerate(units) if i} | {"hundert": 100}
    table = _table(below, hundreds)
    table |= {w.replace("funf", "fuenf").replace("zwolf", "zwoelf"): v for w, v in table.items()}
    scales = (("milliarden", 10**9), ("milliarde", 10**9), ("millionen", 10**6), ("million", 10**6), ("tausend", 1000))
    return NumberWords(table, scales, "und", denominators, ("prozent",))


def _french() -> NumberWords:
    small = ("zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dixsept "
             "dixhuit dixneuf").split()  # fmt: skip
    below = {word: value for value, word in enumerate(small)} | {"une": 1, "quatrevingts": 80}
    tens = {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "septante": 70, "huitante": 80, "nonante": 90}
    for ten, base in (tens | {"soixante": 60, "quatrevingt": 80}).items():
        below[ten] = base
        for word, value in list(below.items()):
            if 0 < value < (20 if ten in ("soixante", "quatrevingt") else 10):
                below[ten + word] = base + value
                if value in (1, 11):
                    below[f"{ten}et{word}"] = base + value
    hundreds = {f"{small[i]}cent{s}": 100 * i for i in range(2, 10) for s in ("", "s")} | {"cent": 100}
    denominators = {word.removesuffix("e") + "iemes": value for word, value in below.items() if value > 4}
    denominators |= {"cinquiemes": 5, "neuviemes": 9, "tiers": 3, "quarts": 4, "quart": 4, "demi": 2, "demie": 2}
    denominators |= {word.removesuffix("s"): value for word, value in denominators.items() if word.endswith("iemes")}
    scales = (("milliards", 10**9), ("milliard", 10**9), ("millions", 10**6), ("million", 10**6), ("mille", 1000))
    return NumberWords(_table(below, hundreds), scales, "et", denominators, ("pourcent", "pourcents"))


def _spanish() -> NumberWords:
    units = "cero uno dos tres cuatro cinco seis siete ocho nueve".split()
    teens = "diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve".split()
    tens = "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
    below = _regular(units, teens, tens, "y")
    below |= {f"veinti{unit}": 20 + value for value, unit in enumerate(units) if value}
    below |= {word[:-1] + "a": value for word, value in below.items() if word.endswith("uno")} | {
        "un": 1,
        "veintiun": 21,
    }
    named = "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos"
    hundreds = {word: 100 * i for i, word in enumerate(named.split(), 1)}
    hundreds |= {word[:-2] + "as": value for word, value in hundreds.items() if value > 100}
    denominators = {f"{word}{s}": value for word, value in {
        "medio": 2, "media": 2, "tercio": 3, "cuarto": 4, "quinto": 5, "sexto": 6, "septimo": 7, "octavo": 8,
        "noveno": 9, "decimo": 10,
    }.items() for s in ("", "s")}  # fmt: skip
    table = _table(below, hundreds) | {"cien": 100}
    return NumberWords(
        table, (("millones", 10**6), ("millon", 10**6), ("mil", 1000)), "y", denominators, ("porciento",)
    )


def _italian() -> NumberWords:
    units = "zero uno due tre quattro cinque sei sette otto nove".split()
    teens = ("dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove").split()
    tens = "venti trenta quaranta cinquanta sessanta settanta ottanta novanta".split()
    below = _regular(units, teens, tens)
    for i, ten in enumerate(tens):
        below |= {f"{ten[:-1]}{unit}": 20 + 10 * i + value for unit, value in (("uno", 1), ("otto", 8))}
    hundreds = {f"{unit}cento": 100 * i for i, unit in enumerate(units) if i > 1} | {"cento": 100}
    denominators = {f"{stem}{o}": value for stem, value in {
        "mezz": 2, "terz": 3, "quart": 4, "quint": 5, "sest": 6, "settim": 7, "ottav": 8, "non": 9, "decim": 10,
    }.items() for o in ("o", "i")}  # fmt: skip
    scales = (("milioni", 10**6), ("milione", 10**6), ("mila", 1000), ("mille", 1000))
    return NumberWords(_table(below, hundreds), scales, "e", denominators, ("percento",))


def _portuguese() -> NumberWords:
    units = "zero um dois tres quatro cinco seis sete oito nove".split()
    teens = "dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove".split()
    tens = "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa".split()
    below = _regular(units, teens, tens, "e") | {"uma": 1, "duas": 2, "dezasseis": 16, "dezassete": 17, "dezanove": 19}
    named = "cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos"
    hundreds = {word: 100 * i for i, word in enumerate(named.split(), 1)}
    denominators = {f"{word}{s}": value for word, value in {
        "meio": 2, "terco": 3, "quarto": 4, "quinto": 5, "sexto": 6, "setimo": 7, "oitavo": 8, "nono": 9, "decimo": 10,
    }.items() for s in ("", "s")}  # fmt: skip
    table = _table(below, hundreds, "e") | {"cem": 100}
    return NumberWords(table, (("milhoes", 10**6), ("milhao", 10**6), ("mil", 1000)), "e", denominators, ("porcento",))


@lru_cache(maxsize=1)
def languages() -> tuple[NumberWords, ...]:
    """The supported languages, built at the first use."""
    return english(), _german(), _french(), _spanish(), _italian(), _portuguese()
