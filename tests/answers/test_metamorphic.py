"""Rewriting a gold so that it means the same keeps the verdict, changing a digit, sign, bound or unit flips it."""

import json
import random
import re

from verikit.answers import check_gold, verify

GOLDS = [
    "42", "-17", "3.25", r"\frac{3}{7}", r"2\sqrt{13}", r"\frac{\sqrt{6}-\sqrt{2}}{4}", "x^2+3x-4", "xy^2-2x",
    r"\sin 2x+7", r"e^{3x}-5", r"(2,5)", "(-3,7]", r"[0,4)\cup(6,9]", r"x\le 5", "2<x<8", r"\{1,4,9\}", "3, 8",
    r"\begin{pmatrix}1&2\\3&5\end{pmatrix}", "y=2x+3", r"5\text{ cm}", r"30^\circ", r"45\%", "1,234", "10^{12}+1",
    r"\log_2 5", r"inom{9}{2}", "7:3", "1011_2", r"x=3\text{ or }x=-8", r"\sqrt{x^2+1}-x", "12!", r"|x-6|", "3+4i",
]  # fmt: skip
KEEP = {
    "spaced": lambda g: re.sub(r"(?<=[\w})\]])([+=])(?=[\w\\({\[])", r" \1 ", g),
    "sized": lambda g: re.sub(r"(?<![\\\w])([(\[])(.*)([)\]])$", r"\\left\1\2\\right\3", g),
    "dfrac": lambda g: g.replace(r"\frac", r"\dfrac"),
    "dollars": lambda g: f"${g}$",
    "braced": lambda g: re.sub(r"\^(\w)(?!\w)", r"^{\1}", g),
    "stop": lambda g: f"{g}.",
}
FLIPS = {
    "digit": (r"\d", lambda m: str((int(m[0]) + 1) % 10)),
    "sign": (r"(?<=[\w})])[-+](?=[\w\\({])(?![Cc])", lambda m: "-" if m[0] == "+" else "+"),
    "bracket": (r"^[(\[](?!-?\\infty|-?\u221e)(?=.*,.*[)\]]$)", lambda m: "[" if m[0] == "(" else "("),
    "strictness": (r"\\le\b|\\ge\b|[<>](?!=)", lambda m: {r"\le": "<", r"\ge": ">"}.get(m[0], rf"{m[0]}=")),
    "direction": (r"\\le\b|\\ge\b|[<>]", lambda m: {r"\le": r"\ge", r"\ge": r"\le", "<": ">"}.get(m[0], "<")),
    "unit": (r"\bcm\b|\bm\b|\bkm\b", lambda m: "km" if m[0] != "km" else "mm"),
    "set": (r"\\cup|\\cap", lambda m: r"\cap" if m[0] == r"\cup" else r"\cup"),
    "function": (r"\\(?:sin|cos|tan|log|ln)\b", lambda m: r"\tan" if m[0] != r"\tan" else r"\cos"),
}


def flipped(gold, name, rng):
    """The gold with one place changed; None if there is none."""
    pattern, change = FLIPS[name]
    found = list(re.finditer(pattern, gold))
    if not found:
        return None
    match = rng.choice(found)
    return gold[: match.start()] + change(match) + gold[match.end() :]


def verdicts(golds, rng):
    """What went wrong: rewritings that lost the verdict and changes that kept it."""
    lost, kept, tried = [], [], 0
    for gold in golds:
        if check_gold(gold):
            continue
        for rewrite in KEEP.values():
            text = rewrite(gold)
            tried += 1
            if not verify(rf"\boxed{{{text}}}", gold).equal:
                lost.append((gold, text))
        for name in FLIPS:
            text = flipped(gold, name, rng)
            tried += text is not None
            if text is not None and text != gold and verify(rf"\boxed{{{text}}}", gold).equal:
                kept.append((gold, text))
    return lost, kept, tried


def test_rewriting_keeps_and_changing_flips_the_verdict():
    lost, kept, tried = verdicts(GOLDS * 3, random.Random(1))
    assert not lost
    assert not kept
    assert tried > 500


def test_golds_at_hand_keep_and_flip_as_well(data):
    rows = [json.loads(line) for line in (data / "answers" / "gold_self.jsonl").read_text("utf-8").splitlines()]
    golds = sorted({row["gold"] for row in rows if row["kind"] in ("numeric", "expr", "interval", "set", "tuple")})
    rng = random.Random(2)
    lost, kept, tried = verdicts(rng.sample(golds, min(250, len(golds))), rng)
    assert len(lost) <= tried / 200, lost
    assert len(kept) <= tried / 1000, kept
