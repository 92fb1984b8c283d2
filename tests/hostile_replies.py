"""Replies that are hostile or merely odd, made from a seed: what a policy may write to have no score at all."""

from __future__ import annotations

import random

LABELS = """
    python ruby go sql matlab php awk kotlin c cpp java javascript typescript rust haskell r julia perl swift
    scala lua lean coq json yaml toml xml csv diff patch bash powershell output input text markdown latex
    tool_call html graphql nix zig prolog cobol
""".split()
PIECES = [
    "{", "}", "[", "]", "(", ")", "<", ">", "\\", "$", "$$", '"', "'", "`", "#", "%", "&", "_", "^", "~", "|", ";", ",",
    "\\boxed{", "\\frac{", "\\sqrt{", "\\begin{pmatrix}", "\\int_", "\\sum_{", "\\left(", "\\text{", "\\", "^^", "__",
    "<answer>", "</answer>", "<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<function=f>",
    "<|python_tag|>", "<|im_start|>assistant\n", "<|im_end|>", "</s>", "[INST]", "<start_of_turn>", "[[10]]", "[[A]]",
    '{"a": ', '{"name": "f", "arguments": ', "{{item.a}}", "{{sample.output_text}}", "{0}", "%s", "${x}", "{{", "#{",
    "null", "NaN", "Infinity", "-0", "1e999", "1e-999", "0x1p3", "٣", "１２", "²", "½", "Ⅷ", "1_000", "1,000,00", "--1",
    "def f(x):\n", "import os\n", "raise SystemExit\n", "while True: pass\n", "SELECT ", "DROP TABLE t; ", "--", "/*",
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "Step 1: ", "The answer is ", "Answer: ", "#### ", "(A)", "A or B", "not A",
    "[1]", '"a quotation of several words"', "&amp;", "<!DOCTYPE x [<!ENTITY e '&e;'>]>", "<?xml version='9'?>",
    "a: &a [*a]", "!!python/object:os.system ", "- - - ", "? : ", "[a.b]\n", 'a = """', "\r", "\r\n", "\t", "\x0b",
]  # fmt: skip
ODD = [
    "\x00", "\x1b[2J", "\x7f", "\x85", "\ud800", "\udfff\ud800", "\u200b", "\u200d", "\u202e", "\u2066", "\u2028",
    "\ufeff", "\ufffe", "\U0010ffff", "\U000e0041", "e\u0301" * 20, "\u0e33", "İ", "ß", "ﬁ", "\u1160", "\u3164", "🏳️‍🌈",
]  # fmt: skip
BOMBS = [
    "a" * 40 + "!", "aaaa" * 300, "(" * 300, "[" * 3000, '{"a":' * 900, "{" * 5000, "<a>" * 3000, "- " * 2000,
    "9" * 10_000, "-" * 5000, "1/" * 2000 + "1", "2^" * 400 + "2", "9" * 400 + "^" + "9" * 400,
    "((((x+1)^99)^99)^99)^99",
    "\\frac{1}" * 500, "\\sqrt{" * 500, "\\boxed{" * 1000, "\\boxed{" + "{" * 500 + "1" + "}" * 501, "x^" * 500 + "x",
    "1," * 5000, "a=" * 2000, "0." + "0" * 5000 + "1", "!" * 2000, "9!!!!!!", "10^{10^{10}}", "f(" * 500 + ")" * 500,
    "import re; re.match('(a+)+$', 'a' * 99 + 'b')", "x" * 20_000, "the " * 4000, "\n" * 5000, " " * 5000, "'" * 5000,
    "\u0301" * 3000, "<think>" * 500, "</think>" * 500, "```" * 999, "~~~\n" * 999, "> " * 2000, "|" * 5000,
    "&a " * 900,
]  # fmt: skip


HUGE = ["9" * 100_000, "[" * 100_000, "word " * 20_000, '{"a": "' + "b" * 100_000, "a" * 100_000]
FORMS = ("{}", "{}", "```LABEL\n{}\n```", "\\boxed{{{}}}", "<answer>{}</answer>", "<think>x</think>{}")


def replies(count: int = 200, seed: int = 1) -> list[str]:
    """So many replies: each kind once as far as they go, then mixtures of them."""
    draw = random.Random(seed)
    made = ["", " ", "\n", "0", "a", "None", "True", *(f"```{label}\nx = 1\nprint(x)\n" for label in LABELS)]
    made += [*ODD, *BOMBS]
    made += ["\ud800" * 1000, "\x00" * 1000]
    draw.shuffle(made)
    while len(made) < count:
        parts = [draw.choice(draw.choice((PIECES, PIECES, ODD, ["4", "f", "x = 4", "yes"]))) for _ in range(8)]
        text = draw.choice(("", " ", "\n")).join(parts[: draw.randint(1, 8)])
        made.append(_in_form(draw, text))
    return made[:count]


def mutants(right: str, count: int, seed: int = 1) -> list[str]:
    """A right reply with something put in, left out or repeated: what gets further than a text of no form."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        text = right
        for _ in range(draw.randint(1, 3)):
            start, end = sorted(draw.randint(0, len(text)) for _ in "12")
            new = draw.choice(
                (draw.choice(PIECES), draw.choice(PIECES), draw.choice(ODD), text[start:end] * 2, "", "9" * 5000)
            )
            text = text[:start] + new + text[draw.choice((start, end)) :]
        made.append(_in_form(draw, text))
    return made


def _in_form(draw: random.Random, text: str) -> str:
    return draw.choice(FORMS).format(text).replace("LABEL", draw.choice(LABELS), 1)
