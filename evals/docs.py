"""Converts rows of benchmark files to documents of one format, recognised by their keys.

A document has `id`, `question`, `answer`, `category`, and the further fields that its kind needs. `answer` lists the
accepted answers and is empty if the row's gold answer can't be read. Files of the same benchmark differ in their column
names. The names here are those of the published files and of the collections that repackage them.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from verikit.errors import SchemaError
from verikit.evals.long_tests import keep
from verikit.evals.tables import text_list
from verikit.judges.rubric.read import read
from verikit.replies.text import boxes

Row = Mapping[str, Any]
Doc = dict[str, Any]
MISSING: tuple[Any, ...] = (None, "", [])

QUESTION = ("question", "problem", "Question", "Problem", "input", "prompt", "text", "instruction")
GOLD = (
    "answer", "final_answer", "Answer", "gold", "target", "ground_truth", "expected_answer", "golden_answers",
    "Short Answer",
)  # fmt: skip
ALIASES = ("answer_aliases", "answer_alias", "possible_answers", "aliases", "golden_answers")
OPTIONS = ("options", "choices", "Options")
LETTER = ("answer_letter", "answer", "answer_index", "answerKey", "target", "label", "gold")
WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
ID = (
    "id", "question_id", "prompt_id", "unique_id", "_id", "idx", "task_id", "key", "uuid", "Record ID", "i",
    "problem_idx", "Problem ID",
)  # fmt: skip
CATEGORY = (
    "category", "subject", "type", "task", "discipline", "field", "Subdomain", "level", "Category", "problem_type",
)  # fmt: skip
ANSWERED = ("math", "choice", "open", "qa")
"""Kinds whose documents are graded only by an accepted answer."""
REDUX_OPTIONS = 4
REDUX_LABELS = frozenset(
    (
        *("ok", "expert", "wrong_groundtruth", "bad_question_clarity", "bad_options_clarity"),
        *("no_correct_answer", "multiple_correct_answers"),
    )
)
DIGITS = tuple("0123")
INSTRUCTIONS = ("instruction_id_list", "kwargs", "ground_truth")
TESTS = ("tests", "test", "entry_point", "test_list", "test_setup_code", "test_imports", "public_test_cases", "inputs")
KEPT = "tests_digest"
"""Key of the digest of tests that are stored outside the document."""


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

    `answer` is a letter. It is empty if the row's gold answer names none of the options.
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


def redux_doc(row: Row) -> Doc:
    """A question of MMLU-Redux with its annotated label. `counted` is `no` if the benchmark excludes it.

    As in ZeroEval's evaluation, a question counts if it is `ok`, or if its wrong gold answer has a corrected letter
    (`corrected`). lm-eval counts only the `ok` questions.

    Raises:
        SchemaError: There are not exactly four options, the row's label is unknown, or the gold answer of an `ok` row
            names none of the options.
    """
    kind = str(_need(row, ("error_type",)))
    if kind not in REDUX_LABELS:
        raise SchemaError(f"expected one of {', '.join(sorted(REDUX_LABELS))}, got {kind!r}", field="error_type")
    doc = choice_doc(_redux_row(row, counts=kind in ("ok", "wrong_groundtruth")))
    if len(doc["options"]) != REDUX_OPTIONS:
        raise SchemaError(f"expected {REDUX_OPTIONS} options, got {len(doc['options'])}", field="choices")
    label = str(row.get("correct_answer") or "")
    if kind == "wrong_groundtruth" and label in tuple(string.ascii_uppercase[:REDUX_OPTIONS]):
        return doc | {
            "answer": [label],
            "solution": f"The answer is ({label}).",
            "label": "corrected",
            "counted": "yes",
        }
    if kind == "ok" and not doc["answer"]:
        raise SchemaError(f"expected an index or letter of an option, got {row.get('answer')!r}", field="answer")
    return doc | {"label": kind, "counted": "yes" if kind == "ok" else "no"}


def _redux_row(row: Row, *, counts: bool) -> Row:
    """Return the row with its index and options parsed from strings. An excluded row needs no gold answer."""
    found, index, options = dict(row), row.get("answer"), row.get("choices")
    if isinstance(index, str) and index in DIGITS:
        found["answer"] = int(index)
    if index in MISSING and not counts:
        found["answer"] = 0
    if isinstance(options, str):
        found["choices"] = text_list(options)
    return found


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
    """A question of two turns: MT-Bench's `turns`, with `reference` if it has one."""
    turns = _need(row, ("turns", "prompt"))
    if not isinstance(turns, list) or len(turns) != 2 or not all(isinstance(turn, str) for turn in turns):
        raise SchemaError("expected two strings", field="turns")
    doc = _doc({**row, "question": turns[0]})
    return doc | {"turns": turns, "answer": _texts(row.get("reference") or ())}


STEP_SCORES = "step_scores"
"""Key of a solution's stored step scores, and of those that a verifier gave."""
THRESHOLD = "threshold"
"""Key of the step score below which a step is called wrong."""


def process_doc(row: Row) -> Doc:
    """A solution in steps with the 0-based index of its first wrong one, -1 for none: ProcessBench."""
    doc = _doc(row, ("problem", *QUESTION))
    steps, label = _need(row, ("steps",)), row.get("label")
    if not isinstance(steps, list) or not steps:
        raise SchemaError("expected a list of strings", field="steps")
    if not isinstance(label, int) or not -1 <= label < len(steps):
        raise SchemaError(f"expected an index of one of the {len(steps)} steps or -1, got {label!r}", field="label")
    config = str(row.get("config") or row.get("split") or doc["id"].rpartition("-")[0])
    stored = [float(score) for score in row.get(STEP_SCORES) or ()]
    return doc | {
        "steps": [str(step) for step in steps],
        "answer": [str(label)],
        "category": config,
        STEP_SCORES: stored,
    }


def code_doc(row: Row) -> Doc:
    """A programming task with its tests, as `code` reads them: HumanEval, MBPP, LiveCodeBench."""
    keys = ("prompt", "text", "question_content", "question")
    doc = _doc(row, keys) | {"question": str(_need(row, keys))}  # unchanged: completions continue it
    tests = {key: row[key] for key in TESTS if row.get(key) not in MISSING}
    if not tests:
        raise SchemaError(f"tests not found among the keys {_keys(row)}", field="test")
    # One string column, since dataset columns have one type each and tests come in many.
    return doc | {"answer": [], "tests": json.dumps(tests, default=str)}


def contest_doc(row: Row) -> Doc:
    """A programming task of a dated contest (LiveCodeBench's code generation). Its long tests are stored separately.

    Raises:
        SchemaError: A column is missing, or the contest's date is invalid.
    """
    doc = _doc(row, ("question_content",))
    tests = {key: _need(row, (key,)) for key in ("public_test_cases", "private_test_cases", "metadata")}
    date = _need(row, ("contest_date",))
    try:
        day = date if isinstance(date, datetime) else datetime.fromisoformat(str(date))
    except ValueError:
        raise SchemaError(f"expected a date such as 2024-08-03T00:00:00, got {date!r}", field="contest_date") from None
    return doc | {
        "answer": [],
        "category": str(row.get("difficulty") or ""),
        "date": day.isoformat(),
        "platform": str(row.get("platform") or ""),
        "starter": str(row.get("starter_code") or ""),
        KEPT: keep(json.dumps(tests)),
    }


def sql_doc(row: Row) -> Doc:
    """A question about a database with the query that answers it: BIRD's `SQL`, Spider's `query`."""
    doc = _doc(row)
    gold, name = _need(row, ("SQL", "query", "sql", "gold_sql")), _need(row, ("db_id",))
    texts = _texts(gold)
    category = str(row.get("difficulty") or row.get("hardness") or "")
    return doc | {
        "answer": texts,
        "solution": f"```sql\n{texts[0]}\n```",
        "db_id": str(name),
        "evidence": str(row.get("evidence") or ""),
        "category": category,
    }


def rubric_doc(row: Row) -> Doc:
    """A conversation whose reply is judged by the row's own rubric: HealthBench. The category is its theme.

    Raises:
        SchemaError: The prompt is not a conversation, or the rubric can't be read.
    """
    turns = _need(row, ("prompt", "messages"))
    known = isinstance(turns, list) and all(isinstance(turn, Mapping) for turn in turns)
    if not (turns and known and all(isinstance(turn.get("content"), str) for turn in turns)):
        raise SchemaError("a list of messages is expected", field="prompt")
    told = [{"role": str(turn.get("role", "user")), "content": turn["content"]} for turn in turns]
    rubrics = _need(row, ("rubrics", "rubric"))
    read(rubrics)
    doc = _doc({**row, "question": turns[-1]["content"]}, ("question",))
    tags = _texts(row.get("example_tags") or ())
    doc["category"] = next((tag.removeprefix("theme:") for tag in tags if tag.startswith("theme:")), doc["category"])
    # Both as strings: dataset columns have one type each.
    return doc | {"answer": [], "conversation": json.dumps(told), "rubrics": json.dumps(rubrics)}


def calls_doc(row: Row) -> Doc:
    """Tools and a request that needs them: BFCL's single-turn items, with the `ground_truth` of their answer file.

    Irrelevance and relevance items need no ground truth: no call is right in the first, and any call in the second.
    """
    asked = _need(row, ("question",))
    turn = asked[0] if isinstance(asked, list) and isinstance(asked[0], list) else asked
    messages = [message for message in turn if isinstance(message, Mapping)] if isinstance(turn, list) else []
    texts = [str(message["content"]) for message in messages if message.get("content")]
    doc = _doc({**row, "question": "\n\n".join(texts) if messages else asked})
    category = str(_first(row, CATEGORY) or doc["id"].rpartition("_")[0])
    calls = row.get("ground_truth")
    if calls is None and "relevance" in category:
        calls = [] if "irrelevance" in category else "any"
    if calls is None:
        raise SchemaError(
            "expected calls not found in the row or in possible_answer next to its file", field="ground_truth"
        )
    # String columns, since dataset columns have one type each and arguments come in many.
    tools = json.dumps(_need(row, ("function", "tools")))
    return doc | {
        "answer": [], "category": category, "tools": tools, "calls": calls if calls == "any" else json.dumps(calls)
    }  # fmt: skip


def ranking_doc(row: Row) -> Doc:
    """A question with right and wrong replies to be scored, the right ones first: RewardBench 2."""
    doc = _doc(row, ("prompt", *QUESTION))
    right, wrong = _need(row, ("chosen",)), _need(row, ("rejected",))
    if not all(isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in (right, wrong)):
        raise SchemaError("expected lists of strings", field="chosen")
    counts = (len(right), int(row.get("num_correct") or len(right)))
    if counts[0] != counts[1]:
        raise SchemaError(f"expected {counts[1]} right replies, got {counts[0]}", field="num_correct")
    category = str(row.get("subset") or doc["category"])
    if category.lower() == "ties" and not re.fullmatch(r"(ref|tied):\d+", doc["id"]):
        raise SchemaError(f"expected ref:N or tied:N, got {doc['id']!r}", field="id")
    return doc | {"answer": [], "category": category, "candidates": [*right, *wrong], "correct": len(right)}


def gym_doc(row: Row) -> Doc:
    """A problem of reasoning_gym, as `verikit synth reasoning-gym` writes it or as the package makes it."""
    metadata = _need(row, ("metadata",))
    doc = _doc(row)
    name = row.get("dataset") or (metadata.get("source_dataset") if isinstance(metadata, Mapping) else None)
    if not isinstance(name, str):
        raise SchemaError("expected the dataset's name", field="dataset")
    entry = {"dataset": name, "metadata": metadata, "config": row.get("config") or {}}
    answer = row.get("answer")
    # One string column, as in code_doc: the metadata's format differs between datasets.
    return doc | {"category": name, "answer": [] if answer is None else [str(answer)], "tests": json.dumps(entry)}


def instructions_doc(row: Row) -> Doc:
    """A prompt with the ids and arguments of its instructions: IFEval, IFBench, IF-RLVR."""
    given = {key: row[key] for key in INSTRUCTIONS if row.get(key) not in MISSING}
    if not given:
        raise SchemaError(f"instructions not found among the keys {_keys(row)}", field=INSTRUCTIONS[0])
    return _doc(row, ("prompt", *QUESTION)) | {"answer": [], "tests": json.dumps(given, default=str)}


KINDS: dict[str, Callable[[Row], Doc]] = {
    "math": math_doc,
    "choice": choice_doc,
    "redux": redux_doc,
    "open": open_doc,
    "qa": qa_doc,
    "pair": pair_doc,
    "turns": turns_doc,
    "process": process_doc,
    "rubric": rubric_doc,
    "code": code_doc,
    "contest": contest_doc,
    "sql": sql_doc,
    "calls": calls_doc,
    "gym": gym_doc,
    "ranking": ranking_doc,
    "instructions": instructions_doc,
}


def gradable(doc: Doc, kind: str) -> bool:
    """Whether a document's gold answer fits its kind: at least one answer, and for `math` a number or formula."""
    if kind not in ANSWERED:
        return True
    return any(kind != "math" or _is_formula(gold) for gold in doc["answer"])


def _is_formula(gold: str) -> bool:
    """Whether the gold answer is a formula, so neither just words nor an option's letter."""
    return (len(gold) == 1 and gold.islower()) or any(not char.isalpha() and char not in " .,'()-" for char in gold)


def _doc(row: Row, question: Sequence[str] = QUESTION) -> Doc:
    text, id, category = _need(row, question), _first(row, ID), _first(row, CATEGORY)
    if not isinstance(text, str):
        raise SchemaError(f"expected a string, got {type(text).__name__}", field=question[0])
    named = ", ".join(map(str, category)) if isinstance(category, list) else str(category or "")
    return {"id": "" if id is None else str(id), "question": text.strip(), "category": named}


def _first(row: Row, keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) not in MISSING), None)


def _need(row: Row, keys: Sequence[str]) -> Any:
    """Return the first non-empty value of some columns.

    Raises:
        SchemaError: All of them are empty or missing.
    """
    found = _first(row, keys)
    if found is not None:
        return found
    if keys[0] in row:
        raise SchemaError("is empty", field=keys[0], hint="fill it in, or delete the row")
    hint = f"rename the column to {keys[0]}, or is the file another task's?"
    raise SchemaError(f"{', '.join(keys)} not found among the keys {_keys(row)}", field=keys[0], hint=hint)


def _keys(row: Row) -> str:
    return ", ".join(map(str, row)) or "(none)"


def _texts(value: Any) -> list[str]:
    """Return a value or list of values as strings. Whole floats are written as integers."""
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
