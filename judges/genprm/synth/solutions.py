"""First stage: solutions of each problem, right and wrong ones in balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verikit.engines.errors import raise_if_gone
from verikit.engines.types import Engine
from verikit.judges.genprm.steps import split_steps
from verikit.judges.genprm.synth.sampling import Asking
from verikit.types import Group, Sample
from verikit.verifier import Verifier, score_all


@dataclass(frozen=True, slots=True)
class Balance:
    """How many solutions are drawn and kept of a problem."""

    paths: int = 16
    """Most kept: half of them right where both kinds allow it."""
    attempts: int = 2048
    """Most drawn until a right and a wrong one are found; a problem with one kind only is dropped."""
    draws: int = 64
    """Drawn at a time."""


@dataclass(slots=True)
class _Drawn:
    """One problem while solutions are drawn."""

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
    """Draw solutions until each problem has a right and a wrong one, or its attempts are used up.

    All problems that go on are asked in one call. A solution that can't be scored counts neither way.

    Raises:
        EngineError: the engine is gone.

    Returns:
        A row a problem: how many were `tried` and `right` (pass@1), and its `paths`, none if it is dropped.
    """
    drawn = [_Drawn(problem) for problem in problems]
    while live := [one for one in drawn if not one.done(balance)]:
        _draw(live, engine, verifier, asking, balance)
    return [_row(one, balance) for one in drawn]


def _draw(live: Sequence[_Drawn], engine: Engine, verifier: Verifier, asking: Asking, balance: Balance) -> None:
    requests = []
    for one in live:
        spent = one.tried + one.unscored + one.errors
        count = min(balance.draws, balance.attempts - spent)
        requests.append(asking.request(str(one.problem.prompt), asking.lead, count, "solution", one.problem.id, spent))
    samples: list[Sample] = []
    of: list[_Drawn] = []
    generations = engine.generate(requests)
    raise_if_gone([generation.error for generation in generations])
    for one, request, generation in zip(live, requests, generations, strict=True):
        if generation.error is not None:
            one.errors += request.n
        for output in generation.outputs:
            text = asking.lead + output.text
            samples.append(Sample(one.problem.prompt, text, one.problem.answer, one.problem.id, one.problem.meta))
            of.append(one)
    for one, sample, score in zip(of, samples, score_all(verifier, samples), strict=True):
        if score.value is None:
            one.unscored += 1
            continue
        right = score.value >= 0.5
        one.tried += 1
        one.right += right
        texts = one.found[right]
        if sample.completion not in texts and len(texts) < balance.paths:
            texts.append(str(sample.completion))


def _row(one: _Drawn, balance: Balance) -> dict[str, Any]:
    counts: Mapping[str, Any] = {
        "id": one.problem.id, "tried": one.tried, "right": one.right, "unscored": one.unscored, "errors": one.errors
    }  # fmt: skip
    right, wrong = one.found[True], one.found[False]
    if not right or not wrong:
        return {**counts, "paths": []}
    half = balance.paths // 2
    many_right = max(half, balance.paths - len(wrong))
    kept = [(text, True) for text in right[:many_right]]
    kept += [(text, False) for text in wrong[: balance.paths - len(kept)]]
    paths = [{"steps": list(split_steps(text)), "right": good} for text, good in kept]
    return {**counts, "prompt": one.problem.prompt, "answer": one.problem.answer, "paths": paths}
