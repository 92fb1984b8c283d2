"""Does `answer` accept unequal formulas? Pairs of formulas a few small changes apart, judged by mpmath.

    python -m benchmarks.answer_pairs [UNEQUAL] [--log FILE] [--seed N]

A block is a formula, pair, set or matrix and changes of it. All pairs of a block are compared. A pair is unequal if
mpmath finds real points where both have values that differ. The log gets a line for every few blocks, and a later call
with the same log continues after its last line. Letters that stand for any number ("C", "k" with its integers) have
their own equality, and so do lines and planes by parameters. Pairs accepted by these rules are not counted.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import mpmath

from tests.answers.mutations import SIZES, differ, mutate, names, value
from tests.answers.test_soundness_fuzz import BY_CUSTOM
from tests.answers.trees import STYLES, Printer, grow
from verikit.answers import verify

Tree = tuple[Any, ...]
Signature = list[Any]
WRAPPERS = {
    "formula": "{}", "pair": "({}, {})", "set": r"\{{{}, {}, {}\}}",
    "matrix": r"\begin{{pmatrix}} {} & {} \\ {} & {} \end{{pmatrix}}",
}  # fmt: skip
VARIANTS = 24
POINTS = 10
BLOCKS_PER_LINE = 20


def real_tree(rng: random.Random) -> Tree:
    """A random tree without the imaginary unit."""
    while True:
        tree: Tree = grow(rng, rng.randint(1, 3))
        if "('const', 'i')" not in str(tree):
            return tree


def block(rng: random.Random) -> tuple[str, list[tuple[Tree, ...]]]:
    """A kind of answer and several answers of that kind, each with its entries."""
    kind = rng.choice(["formula", "formula", *WRAPPERS])
    answers = [tuple(real_tree(rng) for _ in range(WRAPPERS[kind].count("{}")))]
    while len(answers) < VARIANTS:
        entries = list(rng.choice(answers))
        at = rng.randrange(len(entries))
        entries[at] = mutate(entries[at], rng)
        if rng.random() < 0.2:
            rng.shuffle(entries)
        if tuple(entries) not in answers or rng.random() < 0.1:
            answers.append(tuple(entries))
    return kind, answers


def signature(tree: Tree, points: list[dict[str, Any]]) -> Signature:
    """The values of a tree at some points. None where it has no real value."""
    found: Signature = []
    for point in points:
        try:
            found.append(value(tree, point))
        except (ValueError, ZeroDivisionError, OverflowError):
            found.append(None)
    return found


def apart(a: Signature, b: Signature) -> bool:
    """Whether two trees have values that differ at a point."""
    for left, right in zip(a, b, strict=True):
        if left is None or right is None:
            continue
        size = max(abs(left), abs(right))
        if size < 1e60 and abs(left - right) > 1e-9 * max(size, 1e-9):
            return True
    return False


def unequal(kind: str, a: list[Signature], b: list[Signature]) -> bool:
    """Whether two answers are shown to differ, a set by a member that no member of the other may equal."""
    if kind != "set":
        return any(apart(x, y) for x, y in zip(a, b, strict=True))
    return any(all(apart(x, y) for y in other) for one, other in ((a, b), (b, a)) for x in one)


def confirmed(kind: str, a: tuple[Tree, ...], b: tuple[Tree, ...], rng: random.Random) -> bool:
    """The same at other points and with 200 digits."""
    if kind != "set":
        return any(differ(x, y, rng) for x, y in zip(a, b, strict=True))
    return any(all(differ(x, y, rng) for y in other) for one, other in ((a, b), (b, a)) for x in one)


def run_block(seed: int) -> Iterator[tuple[str, str, str, str]]:
    """The pairs of a block: whether each is unequal, accepted, or accepted though unequal."""
    rng = random.Random(seed)
    kind, answers = block(rng)
    symbols = sorted(set().union(*(names(tree) for entries in answers for tree in entries)))
    points = [
        {name: mpmath.mpf(rng.choice(SIZES) * rng.uniform(0.9, 1.1) * rng.choice((1, -1))) for name in symbols}
        for _ in range(POINTS)
    ]
    with mpmath.workdps(20):
        known = {tree: signature(tree, points) for tree in {tree for entries in answers for tree in entries}}
    signatures = [[known[tree] for tree in entries] for entries in answers]
    texts = [
        WRAPPERS[kind].format(*(Printer(rng.choice(STYLES), rng).text(tree) for tree in entries)) for entries in answers
    ]
    for i, j in combinations(range(len(answers)), 2):
        differs = unequal(kind, signatures[i], signatures[j])
        verdict = verify(rf"\boxed{{{texts[j]}}}", texts[i], letters=False)
        accepted = verdict.equal and verdict.rule not in (*BY_CUSTOM, "same line or plane")
        state = "unequal" if differs else "not shown unequal"
        if accepted:
            wrong = differs and confirmed(kind, answers[i], answers[j], rng)
            state = "unequal, accepted" if wrong else "accepted"
        yield kind, state, texts[i], texts[j]


def main(wanted: int, log: Path, first: int) -> None:
    """Run blocks until so many unequal pairs were compared, and print the counts."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    counts = sum((Counter(line["counts"]) for line in lines), Counter[str]())
    seed = lines[-1]["next"] if lines else first
    while counts["unequal"] < wanted:
        found = Counter[str]()
        for _ in range(BLOCKS_PER_LINE):
            for kind, state, gold, answer in run_block(seed):
                found.update((state, f"{state}: {kind}"))
                if state == "unequal, accepted":
                    print(json.dumps({"seed": seed, "gold": gold, "answer": answer}), flush=True)
            seed += 1
        counts += found
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"next": seed, "counts": found}) + "\n")
    for state, count in sorted(counts.items()):
        print(f"{count:>9,} {state}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unequal", nargs="?", type=int, default=20_000)
    parser.add_argument("--log", type=Path, default=Path("answer_pairs.jsonl"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    main(options.unequal, options.log, options.seed)
