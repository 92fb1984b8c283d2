"""`bfcl_multi_turn` beside bfcl-eval's multi-turn checker: the same verdicts on expected calls and their mutants.

    python benchmarks/bfcl_multi_turn.py [--rows N] [--category base]

bfcl-eval is installed in the same environment (`pip install --no-deps bfcl-eval mpmath`). From each row's expected
calls come the right conversation and mutants: a call dropped, its argument changed, a call twice, a turn left out.
Both decide on the same calls; each disagreement is printed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verikit.types import Sample
from verikit.verifiers.tools.bfcl_multi_turn import BfclMultiTurn

Turns = list[list[str]]


def rows(category: str) -> Iterator[tuple[dict[str, Any], Turns]]:
    """A category's rows with their expected calls."""
    folder = Path(importlib.import_module("bfcl_eval").__file__ or "").parent / "data"
    name = f"BFCL_v4_multi_turn_{category}.json"
    asked, golds = ((folder / part / name).read_text().splitlines() for part in ("", "possible_answer"))
    for line, gold in zip(asked, golds, strict=True):
        yield json.loads(line), json.loads(gold)["ground_truth"]


def named(call: str, row: dict[str, Any]) -> str:
    """A call with its positional arguments by name, as a model writes it."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    if not node.args:
        return call
    names = parameters(ast.unparse(node.func), row["involved_classes"])
    given = [f"{name}={ast.unparse(value)}" for name, value in zip(names, node.args, strict=False)]
    given += [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords]
    return f"{ast.unparse(node.func)}({', '.join(given)})"


def parameters(method: str, classes: list[str]) -> list[str]:
    """The names of a method's parameters, in the services' documents."""
    config = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    folder = Path(importlib.import_module("bfcl_eval").__file__ or "").parent / "data/multi_turn_func_doc"
    for service in classes:
        for line in (folder / config.MULTI_TURN_FUNC_DOC_FILE_MAPPING[service]).read_text().splitlines():
            if (doc := json.loads(line))["name"] == method:
                return list(doc["parameters"]["properties"])
    raise LookupError(method)


def outputs(turns: Turns) -> Iterator[tuple[str, Turns]]:
    """The expected calls, and mutants of the first, middle and last call."""
    yield "right", turns
    places = [(turn, call) for turn, calls in enumerate(turns) for call in range(len(calls))]
    for turn, call in sorted({places[0], places[len(places) // 2], places[-1]}):
        changed = [list(calls) for calls in turns]
        text = changed[turn].pop(call)
        yield "dropped call", changed
        if (other := mutated(text)) != text:
            yield (
                "changed argument",
                [[*calls] for calls in changed[:turn]]
                + [
                    [*turns[turn][:call], other, *turns[turn][call + 1 :]],
                    *changed[turn + 1 :],
                ],
            )
        yield "call twice", [[*calls, text] if number == turn else calls for number, calls in enumerate(turns)]
    yield "turn left out", turns[:-1]


def mutated(call: str) -> str:
    """A call with another value of its first argument."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    for keyword in node.keywords[:1]:
        value = ast.literal_eval(keyword.value)
        other: Any = f"{value} zzq"
        if isinstance(value, bool):
            other = not value
        elif isinstance(value, (int, float)):
            other = value + 7
        elif isinstance(value, list):
            other = [*value, "zzq"]
        keyword.value = ast.parse(repr(other), mode="eval").body
    return ast.unparse(node)


class Peer:
    """bfcl-eval's checker, with services of their own for each question: it keeps them by name."""

    def __init__(self) -> None:
        self._check = importlib.import_module(
            "bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker"
        ).multi_turn_checker
        self._count = 0

    def __call__(self, row: dict[str, Any], expected: Turns, made: Turns) -> bool:
        """Whether the leaderboard counts a conversation as right; one of another length is not, as in its runner."""
        if len(made) != len(expected):
            return False
        self._count += 1
        steps = [[calls] if calls else [] for calls in made]
        try:
            found = self._check(steps, expected, row, "multi_turn_base", f"m{self._count}")
        except AssertionError:
            return False
        return bool(found["valid"])


def main() -> None:
    """Compare verdicts, then time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--category", default="base", choices=("base", "miss_func", "miss_param", "long_context"))
    args = parser.parse_args()
    peer, verifier = Peer(), BfclMultiTurn()
    made = [
        (row, expected, kind, turns)
        for row, expected in list(rows(args.category))[: args.rows]
        for kind, turns in outputs([[named(call, row) for call in calls] for calls in expected])
    ]
    start = time.perf_counter()
    theirs = [peer(row, expected, turns) for row, expected, _, turns in made]
    middle = time.perf_counter()
    ours = verifier.score([sample(row, expected, turns) for row, expected, _, turns in made])
    end = time.perf_counter()
    table = Counter(
        (kind, other, own.value, own.status) for (_, _, kind, _), other, own in zip(made, theirs, ours, strict=True)
    )
    for (kind, other, own, status), count in sorted(table.items(), key=str):
        print(f"{kind:18} bfcl-eval {other!s:6} bfcl_multi_turn {own} ({status}) {count}")
    for (row, _, kind, turns), other, score in zip(made, theirs, ours, strict=True):
        if other is not (score.value == 1.0):
            print(f"{row['id']} {kind}: bfcl-eval {other}, {score.value} {score.reason}\n  {turns}")
    count = len(made)
    print(f"ms a conversation: bfcl-eval {(middle - start) / count * 1e3:.1f}, here {(end - middle) / count * 1e3:.1f}")


def sample(row: dict[str, Any], expected: Turns, turns: Turns) -> Sample:
    """A conversation as bfcl-eval stores a result: each turn's replies."""
    completion = json.dumps([[f"[{', '.join(calls)}]"] if calls else [] for calls in turns])
    kept = {key: row[key] for key in ("initial_config", "involved_classes")}
    return Sample("", completion, id=row["id"], meta=kept | {"ground_truth": expected})


if __name__ == "__main__":
    main()
