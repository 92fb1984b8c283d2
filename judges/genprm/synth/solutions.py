"""First stage: solutions of each problem, with right and wrong ones in balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verikit.base import Verifier
from verikit.engines.types import Engine
from verikit.errors import raise_if_gone
from verikit.judges.genprm.steps import split_steps
from verikit.judges.genprm.synth.sampling import Asking
from verikit.types import Group, Sample


@dataclass(frozen=True, slots=True)
class Balance:
    """How many solutions of a problem are sampled and stored."""

    paths: int = 16
    """Maximum stored solutions. Half of them are right if both kinds suffice."""
    attempts: int = 2048
    """Maximum samples until a right and a wrong one are found. A problem with only one kind is dropped."""
    draws: int = 64
    """Samples per request."""


@dataclass(slots=True)
class _Drawn:
    """One problem while solutions are sampled."""

    problem: Group
    tried: int = 0
    right: int = 0
    unscored: int = 0
    errors: int = 0
    found: dict[bool, list[str]] = field(default_factory=lambda: {True: [], False: []})

    def done(self, balance: Balance) -> bool:
        enough = all(self.found.values()) and self.tried >= balance.draws
        return enough or self.tried + self.unscored + self.errors >= balance.attempts


def sample_solutions(
    problems: Sequence[Group], engine: Engine, verifier: Verifier, asking: Asking, balance: Balance
) -> list[dict[str, Any]]:
    """Sample solutions until each problem has a right and a wrong one, or its attempts are used up.

    All unfinished problems are sent in one call. An unscored solution does not count.

    Raises:
        EngineError: The engine is unreachable.

    Returns:
        One row per problem: the numbers `tried` and `right` (pass@1), and its `paths`, which are empty if it is
            dropped.
    """
    drawn = [_Drawn(problem) for problem in problems]
    while live := [drawing for drawing in drawn if not drawing.done(balance)]:
        _draw(live, engine, verifier, asking, balance)
    return [_row(drawing, balance) for drawing in drawn]


def _draw(live: Sequence[_Drawn], engine: Engine, verifier: Verifier, asking: Asking, balance: Balance) -> None:
    requests = []
    for drawn in live:
        spent = drawn.tried + drawn.unscored + drawn.errors
        count = min(balance.draws, balance.attempts - spent)
        requests.append(
            asking.request(str(drawn.problem.prompt), asking.lead, count, "solution", drawn.problem.id, spent)
        )
    samples: list[Sample] = []
    of: list[_Drawn] = []
    generations = engine.generate(requests)
    raise_if_gone([generation.error for generation in generations])
    for drawn, request, generation in zip(live, requests, generations, strict=True):
        if generation.error is not None:
            drawn.errors += request.n
        for output in generation.outputs:
            text = asking.lead + output.text
            samples.append(
                Sample(drawn.problem.prompt, text, drawn.problem.answer, drawn.problem.id, drawn.problem.meta)
            )
            of.append(drawn)
    for drawn, sample, score in zip(of, samples, verifier.score(samples), strict=True):
        if score.value is None:
            drawn.unscored += 1
            continue
        right = score.value >= 0.5
        drawn.tried += 1
        drawn.right += right
        texts = drawn.found[right]
        if sample.completion not in texts and len(texts) < balance.paths:
            texts.append(str(sample.completion))


def _row(drawn: _Drawn, balance: Balance) -> dict[str, Any]:
    counts: Mapping[str, Any] = {
        "id": drawn.problem.id,
        "tried": drawn.tried,
        "right": drawn.right,
        "unscored": drawn.unscored,
        "errors": drawn.errors,
    }
    right, wrong = drawn.found[True], drawn.found[False]
    if not right or not wrong:
        return {**counts, "paths": []}
    half = balance.paths // 2
    many_right = max(half, balance.paths - len(wrong))
    kept = [(text, True) for text in right[:many_right]]
    kept += [(text, False) for text in wrong[: balance.paths - len(kept)]]
    paths = [{"steps": list(split_steps(text)), "right": good} for text, good in kept]
    return {**counts, "prompt": drawn.problem.prompt, "answer": drawn.problem.answer, "paths": paths}
