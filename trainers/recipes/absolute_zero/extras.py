"""Extra terms of the proposer's reward, all off by default: measures of a program's text and output."""

from __future__ import annotations

from collections.abc import Sequence

from verikit.trainers.recipes.absolute_zero.environment import Environment
from verikit.trainers.recipes.absolute_zero.options import ExtraReward
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.verifiers.proposals.proposal import InvalidProposal, OurFault


def extra_rewards(
    environment: Environment,
    terms: Sequence[ExtraReward],
    problem: Problem,
    references: Sequence[Problem],
    seen: Sequence[Problem],
) -> list[float] | None:
    """Return each term: min(coefficient * measure, maximum); None if the sandbox fails.

    The measure is 0 for a program that can't be measured.

    Args:
        environment: Runs the measures.
        terms: The measures.
        problem: The valid proposal.
        references: The problems shown to the proposer.
        seen: The buffer, for `diversity`: 1 - the fraction of its problems with the same output.
    """
    values = []
    for term in terms:
        try:
            measure = _measure(environment, term.kind, problem, references, seen)
        except InvalidProposal:
            measure = 0.0
        except OurFault:
            return None
        values.append(min(term.coefficient * measure, term.maximum))
    return values


def _measure(
    environment: Environment, kind: str, problem: Problem, references: Sequence[Problem], seen: Sequence[Problem]
) -> float:
    if kind == "diversity":
        same = sum((other.output, other.pairs) == (problem.output, problem.pairs) for other in seen)
        return 1 - same / len(seen) if seen else 1.0
    if kind == "edit_distance":
        programs = [reference.program for reference in references]
        return float(environment.measure("edit_distance", [problem.program, programs]))
    return float(environment.measure(kind, [problem.program]))
