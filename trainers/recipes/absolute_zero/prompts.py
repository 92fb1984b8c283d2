"""Prompts for proposer and solver, from a file of prompts."""

from __future__ import annotations

from collections.abc import Sequence

from verikit.trainers.recipes.absolute_zero.options import Task
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.trainers.recipes.prompts import PromptSet, fill
from verikit.verifiers.proposals.proposal import BANNED


class AbsoluteZeroPrompts(PromptSet):
    """A set of prompts: templates with {names}, which are filled in once."""

    transcript: str
    """Template around a {question}, used without a chat template."""
    opening: str
    """End of the transcript's prompt: the format's first tag, already written."""
    reference: str
    pair: str
    function: str
    composite: str
    propose: dict[Task, str]
    solve: dict[Task, str]

    def proposal(self, task: Task, references: Sequence[Problem], functions: Sequence[Problem] = ()) -> str:
        """Return a prompt for a program and an input, given references and, if composite, functions to build on."""
        shown = [
            fill(
                self.reference,
                number=str(number),
                program=reference.program,
                input=reference.input,
                output=reference.output,
            )
            for number, reference in enumerate(references, 1)
        ]
        given = [
            fill(self.function, number=str(number), program=function.program)
            for number, function in enumerate(functions)
        ]
        demand = fill(self.composite, functions="".join(given)) if given else ""
        banned = ", ".join(BANNED)
        return fill(self.propose[task], references="".join(shown), composite=demand, banned=banned)

    def inputs(self, program: str, count: int) -> str:
        """Return a prompt for inputs of a program, and a message about it."""
        return fill(self.propose["induction"], program=program, count=str(count))

    def solution(self, problem: Problem) -> str:
        """Return a prompt for a problem's solution."""
        pairs = "".join(fill(self.pair, input=given, output=output) for given, output in problem.shown)
        values = {"input": problem.input, "output": problem.output, "message": problem.message, "pairs": pairs}
        return fill(self.solve[problem.task], program=problem.program, **values)

    def text(self, question: str) -> str:
        """Insert a question into the transcript."""
        return fill(self.transcript, question=question) + self.opening
