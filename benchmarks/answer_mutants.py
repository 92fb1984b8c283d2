"""Is a gold answer with one edit still accepted? Counts the accepted edits that an independent oracle can't explain.

    python benchmarks/answer_mutants.py [--seed N] [--per N] [--data DIR]

An edit puts words or signs before or after a gold answer, or inserts, deletes, swaps or changes a character. An
accepted edit is sound if the written forms are the same but for marks, if both have the same numeric value, or if the
documentation of `answer` declares the edit neutral (a counted noun, a percent sign, an approximation, a domain). All
other accepted edits are printed, to be read by a person.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import mpmath
from answers import data_folder

from verikit.answers import verify

GOLDS = r"""
5|-7|0|12|100|2024|3.14|-0.5|0.05|1,234|135,000|1e6|2^{10}|7!|\frac{3}{4}|-\frac{1}{2}|\frac{2}{3}\pi|\sqrt{2}|
2\sqrt{3}|3+2\sqrt{5}|1:2|3:1|2:3:5|9:3:3:1|x = 4|x=-3|y = 2x + 1|x = 2, y = 3|a = 1, b = 2, c = 3|(2, 3)|
(1, -2, 3)|[1, 2]|(0, 1]|(-\infty, 3)|[2, \infty)|{1, 2, 3}|\{1,2,3\}|{2, 4}|x > 3|x \le 5|-2 < x < 4|x \ne 0|
3 \mod 5|x \equiv 3 \pmod{5}|n \equiv 2 \pmod 7|n^2 + 1|x^2 - 4|2x+3|\sin x|\cos(2x)|e^{x}|\ln 2|\log_2 8|50%|
12.5\%|$5|$1,200|5 km|3.2 m/s|9.8 m/s^2|20 kg|45^\circ|90 degrees|30 minutes|2 hours|5 apples|12 students|\pi|
2\pi|4\pi r^2|3i|2+3i|1-2i|i|\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}|\binom{5}{2}|0x1F|1011_2|A3_{16}|
244_8|twelve|twenty-one|three quarters|one third|minus two|half|first|third|December 13, 1877|5 March 2021|1974|
July 1999|12:30|4:30 p.m.|Monday|Ottawa|New York|George Washington|WB Television Network|UDC|NASA|C#|F# minor|
C sharp minor|B flat major|Yes|No|True|False|no solution|none|infinitely many|independent|not independent|
convergent|H2O|NaCl|CO_2|Fe^{3+}|red|even|odd|positive|negative|B|(C)|A, C|2 to 3|between 3 and 5|3-5|10 to 20|
at least 3|f(x)=2x|f(x) = x^2 + C|y = C e^{x}|\frac{x^3}{3}+C|n=2k|k\pi|x = \frac{\pi}{4} + k\pi|1 million|
3 billion|2.5 million|3 dozen|6.02 \times 10^{23}|1.6 \times 10^{-19}|3 \times 10^8|10^5|p = 3/8|P(A) = 0.3|
AB = 5|\angle ABC = 60^\circ|\triangle ABC|ABCD|x^2+y^2=25|y=x|x=1|3x - 2y = 7|2, 3|1, 2, 3|-1, 4|3 and 5|
2 or 7|x = 1 or x = 2|\pm 3|\pm\sqrt{2}|x = \pm 2|12 cm^2|36\pi \text{ cm}^3|5\text{ m}|
\frac{7}{2}\text{ hours}|(x-1)(x+2)|(a+b)^2|\{x | x > 2\}|\mathbb{R}|\emptyset|\infty|-\infty|\frac{1}{n+1}|
\frac{n(n+1)}{2}|3^n - 1|2^n|n!|\lfloor x \rfloor|\lvert x \rvert|10 \text{ mod } 3|5 mod 7|Paris, France|
the Netherlands|Albert Einstein|red and blue|blue, green|apples and pears|Theodore Roosevelt|World War II|2nd|
21st century|Route 66|Apollo 11|Windows 95|Henry VIII|Elizabeth II
""".replace("\n", "").split("|")
BEFORE = r"""
at least|at most|more than|less than|not|non-|minus|-|+|±|half|twice|double|half of|the square of|
the square root of|the negative of|the opposite of|one less than|under|over|about twice|two times|a third of|no|
never|anything but|multiple of|multiples of|less than or equal to|up to|greater than|fewer than|nearly|1/|2|10^|
~|!|¬|<|>|≥|≤|≠|0x|sqrt|\sqrt|log|sin|1 + |2 \cdot |ln |no more than|the reciprocal of|all but|except|
other than|strictly between|different from|the complement of|the inverse of|anti|pre-|mid-|post-|ex-|un|early|
late|before|after|north of|neither|not quite|mod|d/dx |-(|wrong:|not equal to|the number after|the opposite: |
5 more than|five less than|false:|it is false that|unlike|instead of|square of|cube of|the absolute value of|
the logarithm of|1 - |Δ|∂|∫|\int |\neg |\lnot |no longer|the sum of|the difference of|20% of|10% more than|
the first digit of|a multiple of|a divisor of|a factor of
""".replace("\n", "").split("|")
AFTER = r"""
is wrong|is not right|is incorrect|isn't correct|mod 5|(mod 5)|modulo 7|\pmod{3}|\bmod 4|squared|cubed|
factorial|!|^2|²|_2|%|or more|or less|and above|and below|minus one|plus one|million|thousand|hundred|x|i|0|1|'|
+1|-1|+ C|/2|* 2|times two|negated|at least|at most|or 7|and 7|, 7|is false|does not hold|fails|is impossible|
is excluded|would be wrong|was my first guess, but it is 99|inverse|^{-1}|reversed|halved|doubled|dozen|
is too large|is too small|is not enough|BC|below zero|in base 7|_{7}|e|e5|e-3|π|\pi|sqrt 2|degrees below zero|
per cent less|or so more|is out|is ruled out|is not the answer|is a wrong answer|is denied|can't be|
cannot be right|is rejected|times|to the power of 2|^3|≠|<|>|= 9|> 2|< 100|≥|per second|for x > 2|if x > 2|
when n is even|only if n = 2|unless n = 3|where x ≠ 4|Jr.|junior|City|University|except 3|excluding 3|without 2|
\setminus \{3\}|and others|etc.|...|or none|ish|-ish|-like|er|s|less|-free|-1/2|too few|too many|more|fewer|off|
each|apart|away|ago|left|remaining
""".replace("\n", "").split("|")
FORMS = (
    "{}", r"\boxed{{{}}}", "The answer is {}.", "The answer is ${}$.", "**Answer:** {}", "#### {}", "So we get ${}$.",
    "It is {}.",
)  # fmt: skip
CHARACTERS = "0123456789-+=<>!.,:/^%()x'_|~ "
NEUTRAL = frozenset(
    "before:nearly before:~ before:+ before:late before:early after:each after:left after:remaining after:apart "
    "after:away after:ago after:off after:more after:fewer after:times after:University after:City after:Jr. "
    "after:junior after:s after:% after:... after:! after:per~second after:per~cent~less after:too~few "
    "after:where~x~≠~4 after:for~x~>~2 after:if~x~>~2 before:north~of before:after before:un after:less after:er "
    "insert:% delete:% insert:~ insert:+".replace("~", "\0").split()
)
"""Edits that the documentation calls neutral beside a number or formula."""
LETTERS = re.compile(r"[^\W\d_]+")
MARKS = re.compile(
    r"\\(?:left|right|text|mathrm|textbf|[,;:! ()\[\]])|\\(?=[a-z])"
    r"|[\s$~{}'\"“”`|_]|(?<=[^\d])[.,:;!/()-]|[.,:;!/]+$|^[.,:;/)]+"
)
TOKENS = re.compile(r"\\[a-zA-Z]+|\d[\d,]*\.?\d*|\.\d+|[a-zA-Z]|[-+*/^(){}%]")
POINTS: tuple[dict[str, float], ...] = ({}, {"x": 1.37, "n": 2.91}, {"x": -0.83, "n": 0.41})


def glued(words: str) -> bool:
    """Whether an edit touches the gold answer, without a space."""
    return not words[0].isalpha() and len(words) < 5


def mutants(gold: str, rng: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Edits of a gold answer, each with its kind."""
    for _ in range(count):
        kind, at = rng.random(), rng.randrange(len(gold))
        digits = [index for index, char in enumerate(gold) if char.isdecimal()]
        if kind < 0.32:
            words = rng.choice(BEFORE)
            yield f"before:{words}", words + ("" if glued(words[::-1]) else " ") + gold
        elif kind < 0.64:
            words = rng.choice(AFTER)
            yield f"after:{words}", gold + ("" if glued(words) else " ") + words
        elif kind < 0.74:
            yield f"delete:{gold[at]}", gold[:at] + gold[at + 1 :]
        elif kind < 0.84:
            yield "swap", gold[:at] + gold[at + 1 : at + 2] + gold[at] + gold[at + 2 :]
        elif kind < 0.94:
            char = rng.choice(CHARACTERS)
            yield f"insert:{char}", gold[:at] + char + gold[at:]
        elif digits:
            at = rng.choice(digits)
            yield "digit", gold[:at] + str((int(gold[at]) + rng.randint(1, 9)) % 10) + gold[at + 1 :]


def explained(kind: str, gold: str, mutant: str) -> str:
    """Why an accepted edit is sound. Empty if nothing shows it."""
    forms = [MARKS.sub("", text.casefold()) for text in (gold, mutant)]
    letters = [re.sub(r"[\W_]", "", text) for text in forms]
    if forms[0] == forms[1] or (letters[0] == letters[1] != "" and letters[0].isalpha()):
        return "same writing"
    numbers = [re.sub(r"[^\W\d]{3,}", "", text).strip() for text in forms]
    if numbers[0] == numbers[1] and re.match(r"\d", numbers[0]) and kind[:5] in ("delet", "inser", "swap"):
        return "documented"  # a misspelt noun
    if same_value(gold, mutant):
        return "same value"
    is_words = LETTERS.fullmatch(gold.replace(" ", "")) is not None
    return "" if is_words or kind.replace(" ", "\0") not in NEUTRAL else "documented"


def same_value(gold: str, mutant: str) -> bool:
    """Whether two formulas, or lists of formulas, have the same values at some points."""
    left, right = ([part.split("=")[-1] for part in re.split(r",(?!\d{3})|\bor\b", text)] for text in (gold, mutant))
    try:
        for point in POINTS:
            values = [[Formula(part, point).value() for part in parts] for parts in (left, right)]
            if len(values[0]) != len(values[1]) or any(abs(a - b) > 1e-12 for a, b in zip(*values, strict=True)):
                return False
    except (ValueError, ZeroDivisionError, IndexError, OverflowError):
        return False
    return True


class Formula:
    """Evaluates a formula of numbers, letters, fractions, roots and powers. Raises `ValueError` for anything else."""

    def __init__(self, text: str, point: dict[str, float]) -> None:
        text = text.replace("$", " ").replace("\\left", "").replace("\\right", "").replace("π", "\\pi ").rstrip(". ")
        self.tokens: list[str] = TOKENS.findall(text)
        if "".join(self.tokens) != re.sub(r"\s", "", text):
            raise ValueError(text)
        self.point, self.at = point, 0

    def value(self) -> mpmath.mpc:
        """The value of all tokens."""
        found = self.sum()
        if self.at != len(self.tokens) or not self.tokens:
            raise ValueError("tokens left")
        return found

    def next(self) -> str:
        """The next token, empty at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        """Take the next token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> mpmath.mpc:
        """Read terms with signs."""
        total = mpmath.mpc(0)
        sign = 1
        while self.next() in ("+", "-"):
            sign *= -1 if self.take() == "-" else 1
        total += sign * self.product()
        while self.next() in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
            while self.next() in ("+", "-"):
                sign *= -1 if self.take() == "-" else 1
            total += sign * self.product()
        return total

    def product(self) -> mpmath.mpc:
        """Read factors."""
        total = self.power()
        while (token := self.next()) and token not in ("+", "-", ")", "}"):
            if token in ("*", "/", "\\cdot", "\\times"):
                self.take()
            total = total / self.power() if token == "/" else total * self.power()
        return total

    def power(self) -> mpmath.mpc:
        """Read an atom and its exponent."""
        base = self.atom()
        if self.next() == "^":
            self.take()
            exponent = -self.atom() if self.next() == "-" and self.take() else self.atom()
            base = mpmath.power(base, exponent)
        if self.next() == "%":
            self.take()
            base /= 100
        return base

    def atom(self) -> mpmath.mpc:
        """Read a number, a letter, a bracket, a fraction or a root."""
        token = self.take()
        if token[0].isdigit() or token[0] == ".":
            return mpmath.mpc(token.replace(",", ""))
        if token in ("(", "{"):
            found = self.sum()
            if self.next() not in (")", "}"):
                raise ValueError("an open bracket")
            self.take()
            return found
        if token in ("\\frac", "\\dfrac", "\\tfrac"):
            return self.atom() / self.atom()
        if token == "\\sqrt":
            return mpmath.sqrt(self.atom())
        constants = {"\\pi": mpmath.pi, "e": mpmath.e, "i": mpmath.mpc(0, 1)}
        if token in constants:
            return mpmath.mpc(constants[token])
        if len(token) == 1 and token.isalpha():
            return mpmath.mpc(self.point.get(token, 0.57 + ord(token) / 97))
        raise ValueError(token)


def golds_of(folder: Path, rng: random.Random, count: int) -> list[str]:
    """A sample of the short gold answers of the corpora."""
    files = [folder / f"{name}.jsonl" for name in ("equiv_real", "gold_self", "equiv_peer")]
    rows = [json.loads(line) for file in files if file.exists() for line in file.read_text("utf-8").splitlines()]
    found = sorted(
        {
            row["gold"]
            for row in rows
            if isinstance(row["gold"], str) and 0 < len(row["gold"]) < 60 and "box" not in row["gold"]
        }
    )
    return rng.sample(found, min(count, len(found)))


def main(seed: int, per: int, folder: Path) -> None:
    """Print the accepted edits that nothing explains, and the counts."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for gold in [*filter(None, GOLDS), *golds_of(folder, rng, 200)]:
        for kind, mutant in mutants(gold, rng, per):
            if mutant == gold or not mutant.strip():
                continue
            reply = rng.choice(FORMS).format(mutant)
            verdict = verify(reply, gold)
            why = explained(kind, gold, mutant) if verdict.equal else "refused"
            counts[why or "to be read"] += 1
            if not why:
                print(kind, gold, reply, verdict.rule, sep=" | ")
    print(f"{counts.total()} edits with seed {seed}:", ", ".join(f"{n} {why}" for why, n in counts.most_common()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per", type=int, default=11, help="edits of each gold answer")
    parser.add_argument("--data", help="folder of the corpora")
    options = parser.parse_args()
    main(options.seed, options.per, data_folder(options.data))
