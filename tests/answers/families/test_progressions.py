"""Congruence classes and general solutions: texts match where the sets of numbers, listed one by one, are the same."""

import random

import pytest

from verikit.answers import verify
from verikit.answers.families import progressions


def classes(rng):
    modulus = rng.randint(2, 12)
    return modulus, frozenset(rng.sample(range(modulus), rng.randint(1, min(2, modulus - 1))))


def listed(modulus, residues):
    return {n for n in range(-60, 60) if n % modulus in residues}


def congruences(modulus, residues, rng):
    some = [r + modulus * rng.randint(-2, 2) for r in sorted(residues)]
    for mod in (rf"\pmod{{{modulus}}}", rf"\pmod {modulus}", f"(mod {modulus})", rf"\bmod {modulus}"):
        yield rf"x \equiv {', '.join(map(str, some))} {mod}"
    yield f"x ≡ {' or '.join(map(str, some))} (mod {modulus})"
    yield rf"x \equiv {some[0]} \pmod{{{modulus}}}" + "".join(
        rf" \text{{ or }} x \equiv {s} \pmod{{{modulus}}}" for s in some[1:]
    )


def formulas(modulus, residues, rng):
    some = [r + modulus * rng.randint(-2, 2) for r in sorted(residues)]
    parts = [f"{modulus}k{r:+d}" if r else f"{modulus}k" for r in some]
    yield ", ".join(f"x = {p}" for p in parts) + r", k \in \mathbb{Z}"
    yield " or ".join(f"{r}+{modulus}n" for r in some) + r" \text{ where } n \text{ is an integer}"
    yield " or ".join(f"x={r}-{modulus}m" for r in some)
    yield rf"\{{{', '.join(parts)} \mid k \in \mathbb{{Z}}\}}"
    if residues == {0}:
        yield f"multiples of {modulus}"
        yield f"all integers divisible by {modulus}"
    if (modulus, residues) == (2, {1}):
        yield "odd numbers"


@pytest.mark.parametrize("seed", range(60))
def test_classes_match_exactly_where_their_members_do(seed):
    rng = random.Random(seed)
    modulus, residues = classes(rng)
    other = rng.choice(
        [classes(rng), (2 * modulus, residues), (modulus, frozenset((r + 1) % modulus for r in residues))]
    )
    double = (2 * modulus, residues | {r + modulus for r in residues})
    golds = [*congruences(modulus, residues, rng), *list(formulas(modulus, residues, rng))[:2]]
    for kind in ((modulus, residues), other, double):
        same = listed(*kind) == listed(modulus, residues)
        for answer in (*congruences(*kind, rng), *formulas(*kind, rng)):
            gold = rng.choice(golds)
            assert verify(rf"\boxed{{{answer}}}", gold).equal is same, (gold, answer)


SAME = [
    (r"x = \frac{\pi}{4} + k\pi", r"x=\frac{5\pi}{4}+n\pi, n\in\mathbb{Z}", r"x=-\frac{3\pi}{4}+n\pi",
     r"45^\circ+180^\circ k"),
    (r"x=\pm\frac{\pi}{3}+2k\pi", r"x=\frac{\pi}{3}+2n\pi \text{ or } x=\frac{5\pi}{3}+2n\pi"),
    (r"x=\frac{k\pi}{2}", r"x=k\pi, x=\frac{\pi}{2}+k\pi", r"x = \frac{\pi n}{2} \text{ for any integer } n"),
    (r"\{x \mid x=3k, k\in \mathbb{Z}\}", "multiples of 3", "3n"),
    (r"n = 4k+2 \text{ or } n = 4k+3, k \in \mathbb{Z}", "those congruent to 2 or 3 modulo 4"),
    (r"x \equiv \pm 1 \pmod 5", r"x \equiv 1, 4 \pmod 5"),
    (r"x \equiv 3 \pmod 5", "numbers that leave a remainder of 3 when divided by 5", "5k-2"),
]  # fmt: skip
OTHER = [
    (r"x = \frac{\pi}{4} + k\pi", r"\frac{\pi}{4}+2k\pi", r"\frac{3\pi}{4}+k\pi", r"\frac{\pi}{4}", r"\frac{\pi}{4}+k"),
    (r"x=\pm\frac{\pi}{3}+2k\pi", r"x=\frac{\pi}{3}+2k\pi", r"x=\pm\frac{\pi}{6}+2k\pi"),
    ("5k+3", "5n-2"), (r"(n-2)\pi", r"n\pi"), (r"S = (n-2)\pi", r"S = n\pi"), (r"2\pi r", r"2\pi n"), ("2k+1", "2k-1"),
    (r"x \equiv 3 \pmod 5", r"x \equiv 3 \pmod 6", r"x \equiv 3 \pmod{10}", "5k+2", "odd numbers",
     "not congruent to 3 mod 5"),
    ("odd numbers", "odd primes", "even numbers", "odd positive numbers"),
]  # fmt: skip


@pytest.mark.parametrize("forms", SAME)
def test_general_solutions_match(forms):
    for gold in forms[:1]:
        for answer in forms:
            assert verify(rf"\boxed{{{answer}}}", gold).equal, (gold, answer)


@pytest.mark.parametrize("forms", OTHER)
def test_other_numbers_and_formulas_in_n_do_not(forms):
    for answer in forms[1:]:
        assert not verify(rf"\boxed{{{answer}}}", forms[0]).equal, answer


@pytest.mark.parametrize("unit", " 1,+-ak(")
def test_work_on_hostile_texts_is_linear(linear, unit):
    for start, end in (("", "!"), ("x ≡ ", ""), ("integers ", ""), (r"\pi ", "")):
        linear(lambda text, start=start, end=end: progressions.read(start + text + end), unit, most=380)
    linear(progressions.read, unit, most=16_000)


@pytest.mark.parametrize("formula", ["k\\pi", "\\frac{\\pi}{2} + k\\pi", "2k\\pi"])
def test_solutions_for_another_unknown_are_none(formula):
    assert not verify(f"y = {formula}", f"x = {formula}").equal
    assert verify(f"x = {formula.replace('k', 'n')}", f"x = {formula}").equal
    assert verify(formula, f"x = {formula}").equal
