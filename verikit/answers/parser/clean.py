"""Normalises the many spellings of the same mathematics: unicode, spacing commands, digit groups, wrappers.

`clean` is linear in the text: character maps and regular expressions without nested repetition. Unmapped characters are
left to the lexer.
"""

from __future__ import annotations

import re
import unicodedata

from verikit.replies.unseen import without_unseen

_PLAIN = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "﹣": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ",
    "∙": r"\cdot ", "∗": "*", "÷": r"\div ", "⁄": "/", "∕": "/", "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ",
    "≥": r"\ge ", "⩾": r"\ge ", "≧": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "∈": r"\in ", "∉": r"\notin ",
    "∪": r"\cup ", "∩": r"\cap ", "∖": r"\setminus ", "∞": r"\infty ", "√": r"\sqrt ", "∛": r"\cbrt ",
    "±": r"\pm ", "∓": r"\mp ", "°": r"^{\circ}", "º": r"^{\circ}", "∘": r"\circ ", "′": "'", "’": "'", "‘": "'",
    "″": "''", "”": '"', "“": '"', "⟨": r"\langle ", "⟩": r"\rangle ", "〈": r"\langle ", "〉": r"\rangle ",
    "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ", "∑": r"\sum ", "∏": r"\prod ",
    "∫": r"\int ", "∀": r"\forall ", "∃": r"\exists ", "→": r"\to ", "∅": r"\emptyset ", "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}", "，": ",", "、": ",", "；": ";",
    "：": ":", "（": "(", "）": ")", "［": "[", "］": "]", "｛": "{", "｝": "}", "＝": "=", "＜": "<", "＞": ">",
    "％": "%", "．": ".", "。": ".", "＋": "+", "－": "-", "∣": "|", "‖": "|", "￥": "¥", "٫": ".", "٬": ",",
    "\u2009": r"\,", "\u202f": r"\,", "\xa0": " ", "\u2003": " ", "\u2002": " ",
}  # fmt: skip
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωϕϵϑΓΔΘΛΞΠΣΦΨΩ",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
        "omega phi epsilon theta Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split(),
        strict=True,
    )
)
_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n", strict=True))
_SUB = dict(zip("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n", strict=True))
_FRACTIONS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5",
              "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}  # fmt: skip
_TABLE = str.maketrans(
    _PLAIN
    | {letter: rf"\{name} " for letter, name in _GREEK.items()}
    | {mark: rf"\frac{{{pair[0]}}}{{{pair[2]}}}" for mark, pair in _FRACTIONS.items()}
)
_SUPERS = re.compile(f"[{''.join(_SUPER)}]+")
_SUBS = re.compile(f"[{''.join(_SUB)}]+")

# JSON decoders turned these LaTeX commands into control characters.
_DAMAGED = [
    (re.compile(r"\x0c(?=rac|box|lo|or)"), r"\\f"),
    (re.compile(r"\x08(?=oxed|inom|egin|eta|ig|ar|m[od])"), r"\\b"),
    (re.compile(r"\t(?=ext|imes|heta|an|frac|au|riangle|o\b|binom)"), r"\\t"),
    (re.compile(r"\r(?=ight|ho|angle|floor|ceil|m\b)"), r"\\r"),
    (re.compile(r"\n(?=eq\b|u\b|e\b|ot\b)"), r"\\n"),
    (re.compile(r"\x0b(?=ec|arphi|ert|dots)"), r"\\v"),
]
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_DOUBLE = re.compile(r"\\\\(?=[a-zA-Z(){}\[\],!;])")
_GROUP = r"(?:\{,\}|\s?,\s*\\!|,?\\[,! ;:](?:\\!)?|,\s?\\!|,\\,|\{\\,\})\s*"
_DIGIT_GAP = re.compile(rf"(?<=\d){_GROUP}(?=\d{{3}}(?!\d))")
_BRACED_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")
_SPACED_DIGITS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d,])")
_FACTORIAL = re.compile(r"(?<=[\d)}])!=(?!=)")
_HTML_SCRIPT = re.compile(r"<(sup|sub)>([^<>]{0,80})</\1>")
_ALL_REALS = re.compile(r"^\s*(?:\\text\s*\{)?\s*all real (?:numbers?|values)\s*\}?\s*$", re.IGNORECASE)
_MIXED = re.compile(r"(?<![\d.^_/{])(\d{1,9})\s+(?:and\s+)?(\d{1,9})\s*/\s*(\d{1,9})(?![\d.])")


def to_ascii(text: str) -> str:
    """Convert mathematical unicode to LaTeX, and compatibility forms (𝟒, Ⅳ, ४) to the characters they represent."""
    text = _SUPERS.sub(lambda m: "^{" + "".join(_SUPER[c] for c in m[0]) + "}", without_unseen(text))
    text = _SUBS.sub(lambda m: "_{" + "".join(_SUB[c] for c in m[0]) + "}", text)
    text = text.translate(_TABLE)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_TABLE)
        text = "".join(str(unicodedata.digit(c, c)) if not c.isascii() else c for c in text)
    return text


def clean(text: str) -> str:
    """Normalise the spelling of a mathematical answer. See the module's docstring."""
    if not text.isascii():
        text = to_ascii(text)
    if _CONTROL.search(text) or "\t" in text or "\r" in text or "\n" in text:
        for pattern, repair in _DAMAGED:
            text = pattern.sub(repair, text)
        text = _CONTROL.sub("", text)
    if "\\\\" in text and "\\begin" not in text:
        text = _DOUBLE.sub(r"\\", text)
    if "<s" in text:
        text = _HTML_SCRIPT.sub(lambda m: ("^{" if m[1] == "sup" else "_{") + m[2] + "}", text)
    if "!=" in text:
        text = _FACTORIAL.sub("! =", text)
    if "\\" in text or "{" in text:
        text = _BRACED_COMMA.sub(".", _DIGIT_GAP.sub("", text))
    if " " in text:
        text = _ALL_REALS.sub(r"\\mathbb{R}", text)
        text = _MIXED.sub(_mixed, text)
        text = _SPACED_DIGITS.sub(lambda m: m[0].replace(" ", ""), text)
    return text.strip()


def _mixed(match: re.Match[str]) -> str:
    whole, top, bottom = match.groups()
    return f"({whole}+{top}/{bottom})" if int(top) < int(bottom) else match[0]


_SPACING = re.compile(r"\s+|\\(?:left|right)(?![a-z])|\\[,!;: ]|(?<!\d)\$|\$(?!\d)")
_MEANT_SPACE = re.compile(r"\d\s+\d|[a-zA-Z]{2}\s+[a-zA-Z]")


def same_but_spacing(a: str, b: str) -> bool:
    """Whether two texts differ only in spacing and size commands. False if spaces may carry meaning."""
    if not a or not b or not -60 < len(a) - len(b) < 60 or (a[0] != b[0] and a[0] not in " $\\" and b[0] not in " $\\"):
        return False
    if a.isalnum() and b.isalnum():
        return a == b  # only letters and digits
    if _MEANT_SPACE.search(a) or _MEANT_SPACE.search(b):
        return False
    squeezed = _SPACING.sub("", a.replace("dfrac", "frac"))
    return squeezed != "" and squeezed == _SPACING.sub("", b.replace("dfrac", "frac"))


_EDGES = re.compile(r"^[\s*]+|[\s*]+$")
_DOLLAR_PAIR = re.compile(r"\$([^$]*)\$")


def trimmed(text: str) -> str:
    """Strip spaces, asterisks, dollar signs and a full stop from a text."""
    text = _EDGES.sub("", text)
    if text.endswith(".") and not text[:-1].endswith("."):
        text = text[:-1].rstrip()
    match = _DOLLAR_PAIR.fullmatch(text)
    return match[1].strip() if match else text
