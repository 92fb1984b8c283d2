"""Second stage: estimate the value of each step of a solution from many completions after it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

from verikit.base import Verifier
from verikit.engines.types import Engine
from verikit.errors import raise_if_gone
from verikit.judges.genprm.synth.labels import completions_for
from verikit.judges.genprm.synth.sampling import Asking
from verikit.types import Sample


def estimate_values(
    rows: Sequence[dict[str, Any]],
    engine: Engine,
    verifier: Verifier,
    asking: Asking,
    completions: tuple[int, int, int] | None = None,
) -> list[list[dict[str, Any]]]:
    """Estimate the value after every step of every path of every row.

    Each step completes all live paths in one call. A path stops at a step with no right completion, since it can't
    recover. The last step's value is whether the solution is right.

    Args:
        rows: Rows of the first stage.
        engine: Completes partial solutions.
        verifier: Decides which completions are right. Unscored completions do not count.
        asking: The format of the requests.
        completions: K for problems that are rarely, sometimes and mostly solved. None uses the paper's values.

    Returns:
        For each row its paths, each with `values`: (right, counted) for every step. If no completion of a step was
        counted (the engine or the verifier failed), that step and all later ones have (0, 0): the path has no labels.
    """
    by_row = [_paths(row) for row in rows]
    live = list(chain.from_iterable(by_row))
    depth = 0
    while live:
        for path in live:
            if len(path["steps"]) == depth + 1:
                path["values"].append([int(path["right"]), 1])
        going = [path for path in live if len(path["steps"]) > depth + 1]
        _complete(going, depth + 1, engine, verifier, asking, completions)
        live = [path for path in going if path["values"][-1][0] > 0]
        for path in going:
            _end_if_lost(path, depth)
        depth += 1
    return by_row


def _paths(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row's paths, without values yet."""
    return [
        {**path, "id": f"{row['id']}/{number}", "problem": row["id"], "prompt": row["prompt"], "answer": row["answer"],
         "pass_at_1": [row["right"], row["tried"]], "values": [], "unscored": 0}
        for number, path in enumerate(row["paths"])
    ]  # fmt: skip


def _end_if_lost(path: dict[str, Any], depth: int) -> None:
    """Give the steps after one with no right completion its value."""
    right, counted = path["values"][-1]
    if not right:
        path["values"] += [[0, min(counted, 1)]] * (len(path["steps"]) - depth - 1)


def _complete(
    paths: Sequence[dict[str, Any]],
    depth: int,
    engine: Engine,
    verifier: Verifier,
    asking: Asking,
    completions: tuple[int, int, int] | None,
) -> None:
    requests = [
        asking.request(
            path["prompt"],
            asking.begun(path["steps"][:depth]),
            completions_for(Fraction(*path["pass_at_1"]), completions),
            "completion",
            path["id"],
            depth,
        )
        for path in paths
    ]
    samples, of = [], []
    generations = engine.generate(requests) if requests else []
    raise_if_gone([generation.error for generation in generations])
    for path, generation in zip(paths, generations, strict=True):
        path["values"].append([0, 0])
        for output in generation.outputs:
            text = asking.begun(path["steps"][:depth]) + output.text
            samples.append(Sample(path["prompt"], text, path["answer"], path["problem"]))
            of.append(path)
    for path, score in zip(of, verifier.score(samples), strict=True):
        if score.value is None:
            path["unscored"] += 1
        else:
            path["values"][-1][0] += score.value >= 0.5
            path["values"][-1][1] += 1
