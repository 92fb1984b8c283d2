"""Tables in LaTeX, by the package booktabs. Every text is escaped: a name or a reason can't become a command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verikit.platform.terminal import printable

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": "{-}",  # two of them would become a dash
    "[": "{[}",  # after \\ it would be an option
    "]": "{]}",
    "\u2013": r"\textendash{}",
    "\u2014": r"\textemdash{}",
    "\u2026": r"\ldots{}",
    "\u2212": "$-$",
    "\u2264": r"$\leq$",
    "\u2265": r"$\geq$",
    "\u2260": r"$\neq$",
    "\u00d7": r"$\times$",
    "\u00b1": r"$\pm$",
    "\u2192": r"$\rightarrow$",
}
"""Characters that are special in LaTeX, or missing from pdflatex's fonts. Other characters are kept, in UTF-8."""
_TABLE = str.maketrans(SPECIAL)
_NUMBER = re.compile(r"[-+\u2212]?[\d.,]+(e[-+]?\d+)?( %)?( \[.{1,40}\])?|\u2013|")


def escape(text: str) -> str:
    """Return a string escaped for LaTeX, in one line."""
    return printable(" ".join(text.split())).translate(_TABLE)


def latex_table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", label: str = "") -> str:
    r"""Return a `table` with a `tabular` in booktabs' style. Columns of numbers are right-aligned.

    It requires `\usepackage{booktabs}`. Letters missing from pdflatex's fonts require xelatex or lualatex.
    """
    numeric = [all(_NUMBER.fullmatch(row[at]) for row in rows) and at > 0 for at in range(len(columns))]
    lines = [
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{escape(caption)}}}"] if caption else []),
        *([rf"\label{{{label}}}"] if label else []),
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"\toprule",
        _row(columns),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(escape, cells)) + r" \\"
