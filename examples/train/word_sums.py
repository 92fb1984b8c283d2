"""Sums in words, of one and two steps: problems for `word_sums.toml`, with a held-out set that shares no sum.

    python examples/train/word_sums.py word-sums

writes `train.jsonl` and `held_out.jsonl` (`{"prompt", "answer", "steps", "working", "id"}` a line) to the folder, and
`demonstrations.jsonl` for the recipe `sft`, which shows the form of a reply: each step's sum on a line of its own.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

NAMES = ("Anna", "Ben", "Emma", "Jack", "Lucy", "Max", "Nina", "Tom")
THINGS = ("apples", "books", "cards", "coins", "eggs", "pencils", "shells", "stamps")
MOST = 20
"""The largest number in a question."""
SYSTEM = "Write each sum on a line."


def problem(rng: random.Random) -> dict[str, Any]:
    """Return one problem: a number and one or two changes of it, never below one, plainly or as a little story."""
    first, steps = rng.randint(2, MOST), rng.choice((1, 2))
    total, changes, lines = first, [], []
    for _ in range(steps):
        add = total < 3 or rng.random() < 0.5
        change = rng.randint(1, MOST if add else min(total - 1, MOST))
        after = total + change if add else total - change
        lines.append(f"{total} {'+' if add else '-'} {change} = {after}")
        changes.append((add, change))
        total = after
    prompt = (plain if rng.random() < 0.5 else story)(rng, first, changes)
    return {"prompt": prompt, "answer": str(total), "steps": steps, "working": "\n".join(lines)}


def plain(rng: random.Random, first: int, changes: list[tuple[bool, int]]) -> str:
    """Word a problem as a sum."""
    told = "".join(f" plus {change}" if add else f" minus {change}" for add, change in changes)
    return f"What is {first}{told}?"


def story(rng: random.Random, first: int, changes: list[tuple[bool, int]]) -> str:
    """Word a problem as a story."""
    name, things = rng.choice(NAMES), rng.choice(THINGS)
    told = " and then ".join(f"gets {change} more" if add else f"gives {change} away" for add, change in changes)
    return f"{name} has {first} {things}, {told}. How many {things} does {name} have now?"


def problems(seed: int) -> Iterator[dict[str, Any]]:
    """Yield problems without end, no question twice."""
    rng, seen = random.Random(seed), set[str]()
    while True:
        made = problem(rng)
        if made["prompt"] not in seen:
            seen.add(made["prompt"])
            yield made | {"id": f"sum-{len(seen)}"}


def write(folder: Path, train: int = 2000, held_out: int = 200, demonstrations: int = 320, seed: int = 0) -> None:
    """Write the files. No sum that is held out is in the others, in whatever words; nor are two questions the same."""
    folder.mkdir(parents=True, exist_ok=True)
    source = problems(seed)
    kept = list(islice(source, held_out))
    sums = {row["working"] for row in kept}
    others = (row for row in source if row["working"] not in sums)
    shown = [demonstration(row) for row in islice(others, demonstrations)]
    files = {"held_out": kept, "demonstrations": shown, "train": list(islice(others, train))}
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def demonstration(row: dict[str, Any]) -> dict[str, Any]:
    """Return a conversation that answers a problem in the form asked for."""
    turns = (("system", SYSTEM), ("user", row["prompt"]), ("assistant", row["working"]))
    return {"messages": [{"role": role, "content": content} for role, content in turns]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--held-out", type=int, default=200)
    parser.add_argument("--demonstrations", type=int, default=320)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write(given.folder, given.train, given.held_out, given.demonstrations, given.seed)
