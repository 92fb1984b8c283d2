"""Tasks of `verikit eval` beside the scorers of their benchmarks, on made outputs: every difference by its name.

    python -m benchmarks.official_scorers [simpleqa] [mmlu_redux] [matharena] [imo]

The rules are those of the benchmarks' own scripts, put down again here: the grades and figures of SimpleQA in
openai/simple-evals; which rows of MMLU-Redux count in ZeroEval and in lm-eval; the answers of MathArena (AIME, HMMT);
the verdicts of IMO-Bench's AnswerAutoGrader. Replies are made at random, near misses among them, and scored by whole
runs of the tasks, with an engine that gives them and, for judged tasks, one that gives a judge's replies.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import sympy

from verikit.engines import Engine, Generation, Output, Request
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.prompts import choice_prompt, math_prompt
from verikit.evals.run import run_tasks
from verikit.judges import Reference
from verikit.judges.evidence import as_text

Row = dict[str, Any]
Metrics = dict[str, float]
DRAWS = 2_000


class Answers(Engine):
    """Answers each request by a function of its text."""

    name = "made"

    def __init__(self, answer: Callable[[str], str | list[str]]) -> None:
        self.answer: Callable[[str], str | list[str]] = answer

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """One generation for each request."""
        return [Generation(tuple(Output(text, finish_reason="stop") for text in self._texts(r))) for r in requests]

    def _texts(self, request: Request) -> list[str]:
        assert request.kind != "ids", "tasks ask texts and conversations"
        said = self.answer(as_text(request.prompt))
        return [said] * request.n if isinstance(said, str) else said


JUDGES: dict[str, Reference] = {}
"""By prompt: the judges of the runs under way."""


class SimpleQAJudge:
    """A judge's spec names what is imported: the one that a run has put there."""

    def __new__(cls) -> Reference:  # type: ignore[misc]  # a factory that specs can name
        """The judge."""
        return JUDGES["simpleqa"]


class IMOJudge:
    """Likewise."""

    def __new__(cls) -> Reference:  # type: ignore[misc]
        """The judge."""
        return JUDGES["imo-answer"]


def run(task: str, rows: Sequence[Row], answer: Callable[[str], str | list[str]], **settings: Any) -> Row:
    """What results.json holds of a task that was run on these rows, and under `rows` its sample rows."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        told = Settings(data=str(file), **settings)
        found = run_tasks([task], "made", EngineLM(Answers(answer)), told, Path(folder) / "run")["tasks"][task]
        samples = (Path(folder) / "run" / f"samples_{task}.jsonl").read_text("utf-8").splitlines()
    return {**found, "rows": [json.loads(line) for line in samples]}


# SimpleQA


def simple_evals_grade(reply: str) -> str:
    """The first of the three letters anywhere in the grader's reply; C where there is none."""
    match = re.search(r"(A|B|C)", reply)
    return match[0] if match else "C"


def simple_evals_figures(grades: Sequence[str]) -> Metrics:
    """The figures of SimpleQAEval."""
    shares = {letter: grades.count(letter) / len(grades) for letter in "ABC"}
    attempted = shares["A"] + shares["B"]
    accuracy = shares["A"] / attempted if attempted > 0 else 0.0
    both = accuracy + shares["A"]
    f1 = 2 * accuracy * shares["A"] / both if both > 0 else 0.0
    names = {"correct": "A", "incorrect": "B", "not_attempted": "C"}
    return {name: shares[letter] for name, letter in names.items()} | {"accuracy_given_attempted": accuracy, "f1": f1}


def simpleqa_run(replies: Sequence[str]) -> Row:
    """A run of as many questions, graded by a judge that gives these replies."""
    rows = [{"problem": f"Which is number {n}?", "answer": f"gold {n}"} for n in range(len(replies))]

    def judge(text: str) -> str:
        found = re.search(r"reply (\d+) ends", text)
        assert found is not None
        return replies[int(found[1])]

    JUDGES["simpleqa"] = Reference(Answers(judge), "simpleqa", probe=0)
    numbers = {row["problem"]: n for n, row in enumerate(rows)}
    spec = "benchmarks.official_scorers:SimpleQAJudge"
    return run("verikit_simpleqa", rows, lambda text: f"reply {numbers[text]} ends", judge=spec)


def simpleqa() -> None:
    """Figures on bare letters must be equal; other replies have no grade here, a guessed one there."""
    draw, worst = random.Random(0), 0.0
    for _ in range(5):
        weights = [draw.random() for _ in "ABC"]
        replies = draw.choices(["A", "B", "C", '"A"', " B\n", "C."], [*weights, *weights], k=DRAWS // 10)
        found = simpleqa_run(replies)["metrics"]
        wanted = simple_evals_figures(list(map(simple_evals_grade, replies)))
        worst = max(worst, *(abs(found[name]["value"] - value) for name, value in wanted.items()))
    print(f"simpleqa: figures differ by at most {worst:.1g}")
    texts = ["CORRECT", "INCORRECT", "NOT_ATTEMPTED", "A: CORRECT", "I can't tell.", "", "A or B", "d"]
    found = simpleqa_run(texts)
    graded = [row["filtered_resps"][0][0]["correct"]["value"] for row in found["rows"]]
    official = {text: simple_evals_grade(text) for text in texts}
    print(f"  no grade here, guessed there: {official}")
    assert graded == [None] * len(texts), graded


# MMLU-Redux


def zero_eval_gold(row: Row) -> str | None:
    """The letter that ZeroEval grades a row by; None for a row that it leaves out."""
    if row["error_type"] == "ok":
        return string.ascii_uppercase[int(row["answer"])]
    if row["error_type"] == "wrong_groundtruth" and row["correct_answer"] in list("ABCD"):
        return str(row["correct_answer"])
    return None


def redux_rows(draw: random.Random, count: int) -> list[Row]:
    """Rows of every error type, with labels as annotators wrote them."""
    kinds = ["ok", "wrong_groundtruth", "no_correct_answer", "multiple_correct_answers", "bad_question_clarity"]
    labels = [None, "", "A", "C", "D", "b", "2", "B or D", "seven", "E"]
    return [
        {
            "question": f"Question {n}?",
            "choices": [f"{n}{letter}" for letter in "wxyz"],
            "answer": draw.randrange(4),
            "error_type": draw.choices(kinds, [6, 3, 1, 1, 1])[0],
            "correct_answer": draw.choice(labels),
            "subject": draw.choice(["anatomy", "virology"]),
        }
        for n in range(count)
    ]


def redux_figures(rows: Sequence[Row], said: Mapping[str, str]) -> tuple[Metrics, dict[str, int]]:
    """ZeroEval's and lm-eval's accuracies of the letters said, by question; and how many rows count."""
    golds = {row["question"]: zero_eval_gold(row) for row in rows}
    counted = [question for question, gold in golds.items() if gold is not None]
    right = {question: said[question] == golds[question] for question in counted}
    ok = [row["question"] for row in rows if row["error_type"] == "ok"]
    values = {"acc": sum(right.values()) / len(counted), "acc_ok": sum(right[question] for question in ok) / len(ok)}
    return values, {"acc": len(counted), "acc_ok": len(ok)}


def redux_run(rows: Sequence[Row], said: Mapping[str, str]) -> Row:
    """A run whose model says these letters."""
    by_prompt = {
        choice_prompt({"question": row["question"], "options": row["choices"]}): said[row["question"]] for row in rows
    }
    return run("verikit_mmlu_redux", rows, lambda text: f"So the answer is ({by_prompt[text]}).")


def mmlu_redux() -> None:
    """Which rows count, and both accuracies."""
    draw = random.Random(0)
    for _ in range(5):
        rows = redux_rows(draw, DRAWS // 10)
        said = {row["question"]: draw.choice("ABCD") for row in rows}
        found = redux_run(rows, said)["metrics"]
        values, counts = redux_figures(rows, said)
        for name, value in values.items():
            assert abs(found[name]["value"] - value) < 1e-12, (name, found[name], value)
            assert found[name]["n"] == counts[name], (name, found[name], counts)
    print(f"mmlu_redux: acc and acc_ok are ZeroEval's and lm-eval's on 5 x {DRAWS // 10} made rows")


# MathArena: AIME and HMMT


def matharena_answer(reply: str) -> str | None:
    """What MathArena reads: the last box, else the last whole number (its parsing is not strict for these)."""
    boxes = re.findall(r"(?:boxed|fbox)\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", reply)
    if boxes:
        return str(boxes[-1])
    numbers = re.findall(r"\b\d+\b", reply)
    return numbers[-1] if numbers else None


def matharena_value(text: str) -> Any:
    """A number or expression as its parser has it: fractions, roots and powers by sympy, lists at the top level."""
    text = re.sub(r"\\[;:,!]", "", text).replace("\\left", "").replace("\\right", "").replace("$", "")
    text = text.replace("^{\\circ}", " ").replace("^\\circ", " ")
    text = re.sub(r"\\text\{.*?\}", "", text).rpartition("=")[2].strip().removesuffix(".")
    text = re.sub(r"(\d+),(\d+)", r"\1\2", text)
    if re.fullmatch(r"\s*-?\d+(\.\d*)?\s*", text):
        return sympy.nsimplify(float(text), rational=True)
    for step in range(10):
        if step >= 5:
            text = re.sub(r"\{(\d+)\}", r"(\1)", text)
        text = re.sub(r"\\*(?:dfrac|tfrac|frac)\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        text = re.sub(r"\\*sqrt\{([^{}]*)\}", r"((\1)**(1/2))", text)
        text = text.replace("^", "**").replace("\\cdot", "*").replace("\\times", "*").replace("\\pi", " pi ")
    text = re.sub(r"(\d)\s*(?=\(|pi)", r"\1*", text)
    text = re.sub(r"\)\s*(?=\(|pi|\d)", ")*", text)
    return sympy.sympify(text, locals={"pi": sympy.pi})


def matharena_right(reply: str, gold: str) -> bool:
    """MathArena's verdict."""
    said = matharena_answer(reply)
    if said is None:
        return False
    listed = "," in gold
    texts = [text.strip("()").split(",") if listed else [text] for text in (said, gold)]
    try:
        got, wanted = ([matharena_value(text) for text in side] for side in texts)
        # In any order, tuples too.
        return len(got) == len(wanted) and any(
            all(a.equals(b) for a, b in zip(got, order, strict=True)) for order in permutations(wanted)
        )
    except (sympy.SympifyError, TypeError, SyntaxError, AttributeError):
        return False


GOLDS = [
    "277",
    "70",
    "5",
    "113",
    "\\frac{3}{4}",
    "\\frac{9\\sqrt{23}}{23}",
    "2^{99}",
    "8\\sqrt{10}",
    "1-\\frac{2}{\\pi}",
    "-2,5",
]
EQUAL = {
    "\\frac{3}{4}": ["0.75", "\\dfrac{6}{8}", "\\frac{ 3 }{ 4 }"],
    "\\frac{9\\sqrt{23}}{23}": ["\\frac{9}{23}\\sqrt{23}", "\\frac{9}{\\sqrt{23}}"],
    "2^{99}": ["2^{100}/2", "4\\cdot 2^{97}"],
    "8\\sqrt{10}": ["\\sqrt{640}", "4\\sqrt{40}"],
    "1-\\frac{2}{\\pi}": ["-\\frac{2}{\\pi}+1", "\\frac{\\pi-2}{\\pi}"],
    "-2,5": ["5,-2", "5, -2"],
    "277": ["277.0", "0277", "276+1"],
    "70": ["70^\\circ", "\\frac{140}{2}"],
}
NEAR = [
    "278",
    "27",
    "7",
    "\\frac{4}{3}",
    "\\frac{9\\sqrt{23}}{32}",
    "2^{98}",
    "8\\sqrt{11}",
    "1+\\frac{2}{\\pi}",
    "-70",
    "-2",
    "2,5",
]
FRAMES = [
    "So $\\boxed{{{}}}$.",
    "First \\boxed{{11}}, then \\boxed{{{}}}.",
    "Thus \\fbox{{{}}}.",
    "We get \\boxed{{x = {}}}",
    "Hence the value is $\\boxed{{{}}}$. (Compare 12.)",
]
BARE = ["The answer is {}.", "It comes to {}, by 3 steps of 4."]
"""Without a box, where the two read differently on purpose."""


def matharena_reply(draw: random.Random, gold: str) -> str:
    """A reply to a question with this gold: right, equal, or near it."""
    said = draw.choice([gold, *EQUAL.get(gold, [gold]), draw.choice(NEAR)])
    return draw.choice(FRAMES if draw.random() < 0.9 else BARE).format(said)


def matharena_run(task: str, golds: Sequence[str], replies: Sequence[str]) -> list[float | None]:
    """The task's verdicts on one reply to each gold."""
    rows = [
        {"problem_idx": n, "problem": f"Problem {n}?", "answer": int(gold) if gold.isdigit() else gold}
        for n, gold in enumerate(golds)
    ]
    by_prompt = {math_prompt({"question": row["problem"]}): reply for row, reply in zip(rows, replies, strict=True)}
    found = run(task, rows, lambda text: by_prompt[text], repeats=1)
    return [row["filtered_resps"][0][0]["acc"]["value"] for row in found["rows"]]


def matharena() -> None:
    """Verdict by verdict; a reply without a box is MathArena's last number and here a stated answer or none."""
    draw = random.Random(0)
    golds = [draw.choice(GOLDS) for _ in range(DRAWS)]
    replies = [matharena_reply(draw, gold) for gold in golds]
    ours = matharena_run("verikit_hmmt_feb26", golds, replies)
    differ = Counter(
        (gold if "boxed" in reply or "fbox" in reply else "any, no box", reply, bool(own), official)
        for gold, reply, own in zip(golds, replies, ours, strict=True)
        if bool(own) != (official := matharena_right(reply, gold))
    )
    bare = sum(times for case, times in differ.items() if case[0] == "any, no box")
    print(f"matharena: {sum(differ.values())} of {DRAWS} verdicts differ, {bare} of them on replies without a box")
    for (gold, reply, own, official), times in differ.most_common(20):
        print(f"  {times} x gold {gold}, {reply!r}: {own} here, {official} there")
    assert sum(differ.values()) == bare


# IMO-AnswerBench


def grader_verdict(reply: str) -> bool | None:
    """The verdict of a reply of AnswerAutoGrader: the box behind its thoughts; None where there is none or two."""
    found = set(re.findall(r"\\boxed\{(Correct|Incorrect)\}", reply.rpartition("</thinking>")[2]))
    return None if len(found) != 1 else found == {"Correct"}


def imo_run(replies: Sequence[str]) -> list[float | None]:
    """The verdicts of a run of as many problems, graded by a judge that gives these replies."""
    rows = [{"Problem ID": f"p-{n}", "Problem": f"Find {n}.", "Short Answer": f"${n}^2$"} for n in range(len(replies))]

    def judge(text: str) -> str:
        found = re.search(r"solution (\d+) ends", text)
        assert found is not None
        return replies[int(found[1])]

    JUDGES["imo-answer"] = Reference(Answers(judge), "imo-answer", probe=0)
    numbers = {math_prompt({"question": row["Problem"]}): n for n, row in enumerate(rows)}
    spec = "benchmarks.official_scorers:IMOJudge"
    found = run("verikit_imo_answerbench", rows, lambda text: f"solution {numbers[text]} ends", judge=spec)
    return [row["filtered_resps"][0][0]["acc"]["value"] for row in found["rows"]]


def imo_replies(draw: random.Random, count: int) -> list[str]:
    """Replies of a grader, some without a verdict or with two."""
    thoughts = ["<thinking>\n4. **Conclusion:** Correct\n</thinking>\n", "<thinking>\\boxed{Incorrect}</thinking>", ""]
    ends = [
        "\\boxed{Correct}",
        "\\boxed{Incorrect}",
        "Correct",
        "",
        "\\boxed{Correct} \\boxed{Incorrect}",
        "\\boxed{3}",
    ]
    return [draw.choice(thoughts) + draw.choices(ends, [6, 6, 1, 1, 1, 1])[0] for _ in range(count)]


def imo() -> None:
    """Verdict by verdict."""
    replies = imo_replies(random.Random(0), DRAWS // 4)
    ours = [None if value is None else bool(value) for value in imo_run(replies)]
    differ = [(reply, own) for reply, own in zip(replies, ours, strict=True) if own != grader_verdict(reply)]
    print(f"imo: {len(differ)} of {len(replies)} verdicts differ {differ[:3]}")
    assert not differ


PARTS: dict[str, Callable[[], None]] = {
    "simpleqa": simpleqa,
    "mmlu_redux": mmlu_redux,
    "matharena": matharena,
    "imo": imo,
}


def main() -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    for part in parser.parse_args().parts or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    sys.modules["benchmarks.official_scorers"] = sys.modules[
        "__main__"
    ]  # what specs import: `JUDGES` is to be the same
    main()
