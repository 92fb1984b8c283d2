"""Held-out questions from a file."""

from __future__ import annotations

from pathlib import Path

from verikit.errors import SchemaError
from verikit.readers.problems import read_problems
from verikit.trainers.recipes.spice.formats import CorpusQuestion


def read_held_out(path: Path) -> list[CorpusQuestion]:
    """Read questions from JSON lines with a prompt, its answer and, in `meta`, the fields of `verikit synth spice`.

    Without an `answer_type` an answer is compared as mathematics, or by its letter if there are `options`.

    Raises:
        ConfigError: The file can't be read, or has no rows.
        SchemaError: A row has no prompt or no answer.
    """
    questions = []
    for number, problem in enumerate(read_problems(path, {}), 1):
        options = problem.meta.get("options", ())
        answer_type = problem.meta.get("answer_type", "Choice" if options else "Expression")
        if not isinstance(problem.answer, str) or not isinstance(problem.prompt, str):
            raise SchemaError("a question must be a string with one answer", file=path, line=number)
        if answer_type not in ("Integer", "Expression", "String", "Choice"):
            raise SchemaError(f"answer type {answer_type!r} not found", file=path, line=number, field="answer_type")
        questions.append(CorpusQuestion(problem.prompt, problem.answer, answer_type, tuple(options)))
    return questions
