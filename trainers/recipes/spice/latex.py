r"""Repair LaTeX in a model's JSON: `"\frac{1}{2}"` means a fraction, not a form feed and `rac{1}{2}`.

In `\\`, `\"`, `\/` and `\uXXXX`, a backslash is JSON's own. In all other places it is LaTeX, except for `\n`, `\r` and
`\t`, which are ambiguous. They are LaTeX if the whole run of letters is a command (`\nabla`, `\rho`, `\theta`) and the
reply doubles no other command's backslash. A model that writes `\\frac` escapes JSON correctly, and means a line break.
"""

from __future__ import annotations

import re

COMMANDS = frozenset(
    # Commands that start with the letters of JSON's own escapes.
    "nabla natural ncong ne nearrow neg neq newline nexists ngeq ngeqslant ngtr ni nLeftarrow nleftarrow "
    "nleftrightarrow nleq nleqslant nless nmid nobreak nolimits nonumber norm not notin nparallel nprec npreceq "
    "nRightarrow nrightarrow nsim nsubseteq nsucc nsucceq nsupseteq ntriangleleft ntriangleright nu num nvdash "
    "nwarrow raisebox rangle rank rbrace rbrack rceil ref renewcommand restriction rfloor rgroup rho right rightarrow "
    "rightharpoondown rightharpoonup rightleftarrows rightleftharpoons rightrightarrows rightsquigarrow risingdotseq "
    "rlap rm rmoustache root rtimes rule rVert rvert tag tan tanh tau tbinom text textbf textcolor textdegree textit "
    "textmu textnormal textrm textsc textsf textstyle textsubscript textsuperscript texttt textup tfrac therefore "
    "theta thetasym thickapprox thicksim thickspace thinspace tilde times tiny to top triangle triangledown "
    "triangleleft trianglelefteq triangleq triangleright trianglerighteq "
    # The other commands that are common in formulas.
    "alpha angle approx arccos arcsin arctan bar begin beta Big big binom bmod boldsymbol boxed bullet cap cdot cdots "
    "chi circ colon cong cos cosh cot csc cup dagger ddot ddots deg Delta delta det dfrac dim displaystyle div dot "
    "dots ell emptyset end epsilon equiv eta exists exp forall frac Gamma gamma gcd ge geq gg hat hbar iff iint im "
    "implies in inf infty int iota kappa ker Lambda lambda langle lbrace lceil ldots le left leq lfloor lim limits ll "
    "ln log lvert mapsto mathbb mathbf mathcal mathfrak mathrm mathsf max mid min mp mu odot oint Omega omega "
    "operatorname oplus otimes overline partial perp Phi phi Pi pi pm pmod prime prod propto Psi psi qquad quad sec "
    "setminus Sigma sigma sim simeq sin sinh sqrt stackrel star subset subseteq sum sup supset supseteq underbrace "
    "underline varepsilon varphi vartheta vdots vec vee vert wedge widehat widetilde Xi xi zeta".split()
)
_ESCAPE = re.compile(r"\\(?:\\([A-Za-z]*)|u[0-9a-fA-F]{4}|([A-Za-z]+)|.|$)", re.DOTALL)
_SHORT = frozenset(("ne", "ni", "nu"))
"""Also a line break followed by e, i or u, as in the items of a list."""
_AFTER_TEXT, _LISTED = frozenset(".:;?!"), frozenset(").:")
_OPENERS = frozenset('"$([{=+-*/^_|,<>&')


def mended(text: str) -> str:
    r"""Return JSON text with valid backslashes: single backslashes of LaTeX are doubled.

    In a reply that writes LaTeX with single backslashes, the `\\` between `\begin{…}` and `\end{…}` is the end of a
    row, and is doubled too.
    """
    doubles = any(match[1] in COMMANDS for match in _ESCAPE.finditer(text))
    inside = 0

    def mend(match: re.Match[str]) -> str:
        nonlocal inside
        escape, name = match[0], match[2]
        if name in ("begin", "end"):
            inside = max(0, inside + (1 if name == "begin" else -1))
        if escape.startswith("\\\\"):
            return f"\\\\{escape}" if inside and not doubles else escape
        if name is None:  # a mark, or u and four digits
            return escape if escape[1:2] in ('"', "/", "u") else f"\\{escape}"
        if name[0] in "nrt":
            latex = name in COMMANDS and not doubles and not _begins_line(match)
        else:
            latex = name not in ("b", "f")
        return f"\\{escape}" if latex else escape

    return _ESCAPE.sub(mend, text)


def _begins_line(match: re.Match[str]) -> bool:
    r"""Whether a name is probably a line break and the first letter of the next line, as in a list's item `i)`."""
    if match[2] not in _SHORT:
        return False
    text, start, end = match.string, match.start(), match.end()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    if before in _OPENERS or text[max(0, start - 2) : start - 1] == "\\":
        return False
    return before in _AFTER_TEXT or after in _LISTED
