"""Rows of any benchmark file as documents of one form, told by their keys.

A document has `id`, `question`, `answer` (the accepted ones; empty where the row's gold can't be read), `category`,
and what its kind needs beside. Files of the same benchmark differ in the names of their columns; the names here are
those of the published files and of the collections that repackage them.
"""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verikit.errors import SchemaError
from verikit.text import boxes

Row = Mapping[str, Any]
Doc = dict[str, Any]
MISSING: tuple[Any, ...] = (None, "", [])

QUESTION = ("question", "problem", "Question", "Problem", "input", "prompt", "text", "instruction")
GOLD = ("answer", "final_answer", "Answer", "gold", "target", "ground_truth", "expected_answer", "golden_answers")
ALIASES = ("answer_aliases", "answer_alias", "possible_answers", "aliases", "golden_answers")
OPTIONS = ("options", "choices", "Options")
LETTER = ("answer_letter", "answer", "answer_index", "answerKey", "target", "label", "gold")
WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
ID = ("id", "question_id", "prompt_id", "unique_id", "_id", "idx", "task_id", "key", "uuid", "Record ID", "i")
CATEGORY = ("category", "subject", "type", "task", "discipline", "field", "Subdomain", "level")
INSTRUCTIONS = ("instruction_id_list", "kwargs", "ground_truth")
TESTS = ("tests", "test", "entry_point", "test_list", "test_setup_code", "test_imports", "public_test_cases", "inputs")


def math_doc(row: Row) -> Doc:
    r"""A problem with a final answer: MATH, GSM8K (behind `####`), Minerva (boxed in the solution), AIME, Olympiad."""
    doc = _doc(row)
    if (gold := _first(row, GOLD)) is not None:
        doc["answer"] = [_gsm8k(text) for text in _texts(gold)]
    else:
        doc["answer"] = boxes(str(_need(row, ("answer", "solution"))))[-1:]
    shown = row.get("solution") or row.get("answer")
    doc["solution"] = shown if isinstance(shown, str) else f"The answer is {' '.join(doc['answer'])}."
    return doc


def choice_doc(row: Row) -> Doc:
    """A question with lettered options: MMLU-Pro, SuperGPQA, and GPQA, whose four answers are shuffled by the question.

    `answer` is a letter; it is empty where the row's gold names none of the options.
    """
    doc = _doc(row)
    if "Correct Answer" in row:
        options = [str(row["Correct Answer"]).strip(), *(str(_need(row, (key,))).strip() for key in WRONG)]
        order = sorted(range(len(options)), key=lambda i: hashlib.sha256(f"{doc['question']}{i}".encode()).digest())
        doc |= {"options": [options[i] for i in order], "answer": [string.ascii_uppercase[order.index(0)]]}
    else:
        found = _need(row, OPTIONS)
        listed = found.get("text", list(found.values())) if isinstance(found, Mapping) else found
        doc["options"] = [str(option) for option in listed]
        doc["answer"] = _letters(_need(row, LETTER), doc["options"])
    doc["solution"] = str(row.get("cot_content") or f"The answer is ({''.join(doc['answer'])}).")
    return doc


def open_doc(row: Row) -> Doc:
    """A question with a short answer of any type: BBEH's `input` and `target`."""
    doc = _doc(row)
    return doc | {"answer": _texts(_need(row, GOLD)), "solution": f"The answer is {_texts(_need(row, GOLD))[0]}."}


def qa_doc(row: Row) -> Doc:
    """A question with short accepted answers: HotpotQA, 2WikiMultihopQA, MuSiQue, Bamboogle."""
    doc = _doc(row)
    golds = _texts(_need(row, GOLD)) + [text for key in ALIASES for text in _texts(row.get(key) or ())]
    doc["answer"] = list(dict.fromkeys(text for text in golds if text.strip()))
    doc["solution"] = f"<answer>{(doc['answer'] or [''])[0]}</answer>"
    return doc


def pair_doc(row: Row) -> Doc:
    """An instruction with the answer that the model is compared with: alpaca_eval's outputs, Arena-Hard's questions."""
    doc = _doc(row, ("instruction", *QUESTION))
    opponent = _need(row, ("opponent", "baseline", "output", "output_1", "answer"))
    return doc | {"answer": [], "opponent": str(opponent), "category": str(row.get("dataset") or doc["category"])}


def turns_doc(row: Row) -> Doc:
    """A question of two turns: MT-Bench's `turns`, with `reference` where it has one."""
    turns = _need(row, ("turns", "prompt"))
    if not isinstance(turns, list) or len(turns) != 2 or not all(isinstance(turn, str) for turn in turns):
        raise SchemaError("two texts are expected", field="turns")
    doc = _doc({**row, "question": turns[0]})
    return doc | {"turns": turns, "answer": _texts(row.get("reference") or ())}


def process_doc(row: Row) -> Doc:
    """A solution in steps with the 0-based index of its first wrong one, -1 for none: ProcessBench."""
    doc = _doc(row, ("problem", *QUESTION))
    steps, label = _need(row, ("steps",)), row.get("label")
    if not isinstance(steps, list) or not steps:
        raise SchemaError("a list of texts is expected", field="steps")
    if not isinstance(label, int) or not -1 <= label < len(steps):
        raise SchemaError(f"an index of one of the {len(steps)} steps or -1 is expected, not {label!r}", field="label")
    config = str(row.get("config") or row.get("split") or doc["id"].rpartition("-")[0])
    return doc | {"steps": [str(step) for step in steps], "answer": [str(label)], "category": config}


def code_doc(row: Row) -> Doc:
    """A programming task with its tests, as `code` reads them: HumanEval, MBPP, LiveCodeBench."""
    doc = _doc(row, ("prompt", "text", "question_content", "question"))
    tests = {key: row[key] for key in TESTS if row.get(key) not in MISSING}
    if not tests:
        raise SchemaError(f"no tests among the keys {_keys(row)}", field="test")
    # One column of text, as columns of a data set have one type each and tests come in many.
    return doc | {"answer": [], "tests": json.dumps(tests, default=str)}


def instructions_doc(row: Row) -> Doc:
    """A prompt with the ids and arguments of its instructions: IFEval, IFBench, IF-RLVR."""
    given = {key: row[key] for key in INSTRUCTIONS if row.get(key) not in MISSING}
    if not given:
        raise SchemaError(f"no instructions among the keys {_keys(row)}", field=INSTRUCTIONS[0])
    return _doc(row, ("prompt", *QUESTION)) | {"answer": [], "tests": json.dumps(given, default=str)}


KINDS: dict[str, Callable[[Row], Doc]] = {
    "math": math_doc,
    "choice": choice_doc,
    "open": open_doc,
    "qa": qa_doc,
    "pair": pair_doc,
    "turns": turns_doc,
    "process": process_doc,
    "code": code_doc,
    "instructions": instructions_doc,
}


def _doc(row: Row, question: Sequence[str] = QUESTION) -> Doc:
    text, id, category = _need(row, question), _first(row, ID), _first(row, CATEGORY)
    if not isinstance(text, str):
        raise SchemaError(f"a text is expected, not a {type(text).__name__}", field=question[0])
    return {"id": "" if id is None else str(id), "question": text.strip(), "category": str(category or "")}


def _first(row: Row, keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) not in MISSING), None)


def _need(row: Row, keys: Sequence[str]) -> Any:
    """The first of some columns that holds something.

    Raises:
        SchemaError: none does.
    """
    found = _first(row, keys)
    if found is None:
        raise SchemaError(
            f"none of {', '.join(keys)} among the keys {_keys(row)}",
            field=keys[0],
            hint=f"rename the column to {keys[0]}, or is the file another task's?",
        )
    return found


def _keys(row: Row) -> str:
    return ", ".join(map(str, row)) or "(none)"


def _texts(value: Any) -> list[str]:
    """A value or list of values as texts; whole floats as whole numbers."""
    items = value if isinstance(value, (list, tuple)) else [value]
    flat = [value for item in items for value in (item if isinstance(item, (list, tuple)) else [item])]
    return [str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in flat]


def _gsm8k(text: str) -> str:
    return text.rpartition("####")[2].strip() if "####" in text else text.strip()


def _letters(gold: Any, options: Sequence[str]) -> list[str]:
    letters = string.ascii_uppercase[: len(options)]
    if isinstance(gold, int) and not isinstance(gold, bool):
        return [letters[gold]] if 0 <= gold < len(letters) else []
    text = str(gold).strip()
    letter = text.strip("().").upper()
    if len(letter) == 1 and letter in letters:
        return [letter]
    return [letters[options.index(text)]] if text in options else []
