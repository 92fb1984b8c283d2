"""The verifier `reasoning_gym` beside the package's own `score_answer`, over every data set of the package.

    python benchmarks/gym.py [--rows 3] [--seed 0]

The verifier reads rows that went through JSON, as files have them. The package reads its own entries in memory.

Both score each row's own solution and mutants of it (cut, doubled, padded, other case, other digits, another row's
answer, the question, Python forms of it). Printed: data sets, answers, differences by kind with their reason; own
solutions below a full score; then the scorers that can be gamed: those that pay an answer made without reading the
question, by the most it gets.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import reasoning_gym as package

import verikit
from verikit.cli.reasoning_gym import data_sets, rows
from verikit.types import Sample

CANARIES: dict[str, Callable[[dict[str, Any]], str]] = {
    "empty": lambda row: "",
    "a space": lambda row: " ",
    "0": lambda row: "0",
    "1": lambda row: "1",
    "yes": lambda row: "yes",
    "True": lambda row: "True",
    "[]": lambda row: "[]",
    "the question": lambda row: row["prompt"],
    "the question's last line": lambda row: row["prompt"].strip().splitlines()[-1],
    "0 to 100": lambda row: " ".join(map(str, range(101))),
    "A to Z": lambda row: " ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "yes no True False": lambda row: "yes no True False",
    "6*4*1*1": lambda row: "6*4*1*1",
    "Integral": lambda row: f"Integral({row['metadata'].get('integrand', 'x')}, x)",
}
"""Answers made without solving anything."""


def own_solution(row: dict[str, Any]) -> str | None:
    """A row's answer; where many are right, the one that its metadata shows, if any."""
    metadata = row["metadata"]
    if "possible_answer" in metadata:
        return json.dumps(metadata["possible_answer"])
    found: str | None = row["answer"] or metadata.get("example_correct_answer") or metadata.get("example_answer")
    return found


def mutants(row: dict[str, Any], other: str, rng: random.Random) -> dict[str, str]:
    """Answers near a row's own."""
    own = own_solution(row) or other or "0"
    digits = [i for i, character in enumerate(own) if character.isdigit()]
    at = rng.choice(digits) if digits else 0
    words = own.split()
    return {
        "own": own,
        "padded": f" {own}\n",
        "cut": own[:-1],
        "headless": own[1:],
        "doubled": f"{own} {own}",
        "upper": own.upper(),
        "lower": own.lower(),
        "digit": f"{own[:at]}{(int(own[at]) + 1) % 10}{own[at + 1 :]}" if digits else own + "1",
        "swapped": " ".join(words[1:] + words[:1]),
        "reversed": own[::-1],
        "lines reversed": "\n".join(own.splitlines()[::-1]),
        "other": other,
        "list": repr(words),
        "matrix": repr([line.split() for line in own.splitlines()]),
        "numbers": repr([[int(w) if w.isdigit() else w for w in line.split()] for line in own.splitlines()]),
        "prose": f"The answer is {own}.",
        "sum": f"{own} + 0",
        "braced": f"({own})",
    }


def theirs(data: Any, answer: str, entry: dict[str, Any]) -> float | str:
    """The package's own score of an entry as the package made it, or the type of what it raises."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return float(data.score_answer(answer.strip(), entry))  # as the verifier reads a whole reply
    except Exception as error:  # noqa: BLE001 - the package's scorers raise what they like
        return type(error).__name__


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", default=["all"])
    options = parser.parse_args()
    rng, names = random.Random(options.seed), data_sets(options.names or ["all"])
    sets = {name: package.create_dataset(name, seed=options.seed, size=options.rows) for name in names}
    in_memory = {f"{name}-{options.seed}-{at}": sets[name][at] for name in names for at in range(options.rows)}
    asked: list[tuple[str, str, str, dict[str, Any]]] = []
    for name in names:
        made = [json.loads(json.dumps(row)) for row in rows(name, options.rows, options.seed)]
        for index, row in enumerate(made):
            other = made[index - 1]["answer"] or ""
            asked += [(name, kind, text, row) for kind, text in mutants(row, other, rng).items()]
            asked += [(name, f"canary: {kind}", make(row), row) for kind, make in CANARIES.items()]
    verifier = verikit.reasoning_gym(tag="")
    start = time.perf_counter()
    scores = verifier.score([Sample(row["prompt"], text, row["answer"], meta=row) for _, _, text, row in asked])
    ours_s, start = time.perf_counter() - start, time.perf_counter()
    others = [theirs(sets[name], text, in_memory[row["id"]]) for name, _, text, row in asked]
    theirs_s = time.perf_counter() - start
    report(asked, scores, others)
    ours_ms, theirs_ms = 1000 * ours_s / len(asked), 1000 * theirs_s / len(asked)
    print(f"\nours {ours_ms:.1f} ms an answer, the package in process {theirs_ms:.1f}")


def report(asked: list[tuple[str, str, str, dict[str, Any]]], scores: list[Any], others: list[Any]) -> None:
    differing: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], str] = {}
    own, full, gamed = Counter[str](), Counter[str](), dict[str, tuple[float, str]]()
    for (name, kind, text, row), score, other in zip(asked, scores, others, strict=True):
        raised = isinstance(other, str)
        same = score.value == 0.0 and raised if raised else score.value is not None and abs(score.value - other) < 1e-9
        if not same:
            key = (name, kind.partition(":")[0])
            differing[key] += 1
            shown.setdefault(key, f"{text[:60]!r}: {score.value} {score.status} ({score.reason[:80]}), package {other}")
        if kind == "own" and own_solution(row) is not None:
            own[name] += 1
            full[name] += score.value == 1.0
        if kind.startswith("canary") and (score.value or 0) > gamed.get(name, (0.0, ""))[0] and text != row["answer"]:
            gamed[name] = (score.value, kind.removeprefix("canary: "))
    print(f"{len({name for name, *_ in asked})} data sets, {len(asked)} answers, {sum(differing.values())} differences")
    for (name, kind), count in sorted(differing.items()):
        print(f"  {name} {kind} x{count}: {shown[name, kind]}")
    print(f"own solutions with a full score: {sum(full.values())} of {sum(own.values())}, in {len(own)} data sets")
    for name in sorted(own):
        if full[name] < own[name]:
            print(f"  {name}: {full[name]} of {own[name]}")
    print("paid without a solution:")
    for name, (value, kind) in sorted(gamed.items(), key=lambda pair: (-pair[1][0], pair[0])):
        print(f"  {name}: {value:.3g} for {kind}")


if __name__ == "__main__":
    main()
