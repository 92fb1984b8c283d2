r"""Mathematics with a final answer. Gold answers are kept unchanged: no backslash is read as an escape.

Sources: openai/gsm8k, hendrycks/competition_math and HuggingFaceH4/MATH-500, AI-MO/NuminaMath-CoT and -1.5,
agentica-org/DeepScaleR-Preview-Dataset, Skywork/Skywork-OR1-RL-Data and other datasets in verl's format
(`verl/examples/data_preprocess`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verikit.convert.parts import LeftOut, decoded, formula, gold, made, need, text, texts, whole
from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow, kind
from verikit.replies.text import boxes

SOLUTION = "reference_solution"
NO_ANSWERS = ("proof", "notfound")
"""NuminaMath-1.5's answers for problems without a checkable answer."""


def gsm8k(row: JsonRow) -> Iterator[JsonRow]:
    """A question whose answer ends in `#### 18`. Commas within the number are removed."""
    solution = formula(row, "answer")
    before, mark, after = solution.rpartition("####")
    answer = after.strip().replace(",", "")
    if not mark or not answer:
        raise SchemaError("no #### before a final answer", field="answer")
    yield made(row, formula(row, "question"), answer, taken=("question",), **{SOLUTION: before.strip()})


def math(row: JsonRow) -> Iterator[JsonRow]:
    """A problem with its `answer`, or with a solution whose last box contains it (as in DeepScaleR and MATH)."""
    yield _solved(row, formula(row, "problem", "question"))


def numinamath(row: JsonRow) -> Iterator[JsonRow]:
    """A problem of NuminaMath. Proofs, and rows that its own checks call invalid, are skipped."""
    unfit = _unfit(row)
    if unfit:
        raise LeftOut(unfit)
    if row.get("answer") in (None, "") and not boxes(str(row.get("solution") or "")):
        raise LeftOut("no box in the solution")
    yield _solved(row, formula(row, "problem"))


def _unfit(row: JsonRow) -> str:
    """The reason to leave a problem of NuminaMath out, according to the row's own labels. Empty if there is none."""
    kinds = {str(row.get(key) or "").strip().lower() for key in ("answer", "question_type", "problem_type")}
    for name in NO_ANSWERS:
        if name in kinds:
            return f"no answer to check ({name})"
    for key in ("problem_is_valid", "solution_is_valid"):
        if row.get(key) not in (None, "", "Yes", True):
            return f"{key} is {row[key]}"
    return "multiple choice (MCQ): the options stand in the problem" if row.get("question_type") == "MCQ" else ""


def _solved(row: JsonRow, problem: str) -> JsonRow:
    solution = row.get("solution")
    if row.get("answer") not in (None, "", []):
        answers = texts(row["answer"], "answer")
    elif isinstance(solution, str) and solution.strip():
        answers = boxes(formula(row, "solution"))[-1:]
        if not answers or not answers[0].strip():
            raise SchemaError(r"no \boxed{} answer", field="solution")
    else:
        need(row, "answer", "solution")
        raise SchemaError("must be a string", field="solution")
    for answer in answers:
        whole(answer, "answer")
    more = {SOLUTION: solution} if isinstance(solution, str) and solution.strip() else {}
    return made(row, problem, gold(answers), taken=("problem", "question"), **more)


def verl(row: JsonRow) -> Iterator[JsonRow]:
    """A row as verl's trainers read it: messages, and `reward_model.ground_truth`, which may be a list as JSON text."""
    prompt, model = need(row, "prompt"), need(row, "reward_model")
    if not isinstance(model, dict):
        raise SchemaError(f"is {kind(model)}, not an object", field="reward_model")
    if model.get("ground_truth") in (None, "", []):
        raise SchemaError("is missing", field="reward_model.ground_truth")
    info = row.get("extra_info")
    index = info.get("index") if isinstance(info, dict) else None
    source = str(row.get("data_source") or "")
    named = f"{source}-{index}" if source and index not in (None, "") else ""
    found = made(row, _asked(prompt), _truth(model["ground_truth"]), taken=("ability",))
    ability = {"ability": row["ability"]} if row.get("ability") else {}
    # The reader treats rows with `data_source` and a prompt as verl's own format.
    found.pop("data_source", None)
    yield found | ability | ({"source": source} if source else {}) | {"id": found["id"] or named}


def _asked(prompt: Any) -> Any:
    """Return the prompt, which must be a string or messages."""
    if isinstance(prompt, str):
        return text({"prompt": prompt}, "prompt")
    if not isinstance(prompt, list) or not all(
        isinstance(turn, dict) and isinstance(turn.get("role"), str) and isinstance(turn.get("content"), str)
        for turn in prompt
    ):
        raise SchemaError("must be a string or messages", field="prompt")
    return [{"role": turn["role"], "content": turn["content"]} for turn in prompt]


def _truth(value: Any) -> Any:
    """Return the accepted answers. Tests of a program stay JSON text."""
    field = "reward_model.ground_truth"
    value = _listed(value, field)
    if isinstance(value, dict):
        raise SchemaError("is an object, not an answer", field=field, hint="tests go there as JSON text")
    answers = texts(value, field)
    if not answers:
        raise SchemaError("is empty", field=field)
    for answer in answers:
        whole(answer, field)
    return gold(answers)


def _listed(value: Any, field: str) -> Any:
    """Return the items of a JSON list given as a string. Anything else is returned unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        listed = decoded(value, field)
    except SchemaError:
        return value  # an interval such as [0, \infty)
    is_texts = isinstance(listed, list) and listed and all(isinstance(item, str) for item in listed)
    return listed if is_texts else value
