"""How many proposed criteria `verikit synth rubric` keeps, and how well its rubric ranks recorded candidates.

    python -m benchmarks.rubric_synthesis DATA

The candidates are GSM8K solutions of four models (DATA/bon/gsm8k_four_models.jsonl), labelled right or wrong. The
proposer is simulated: each reply draws three of twelve fixed criteria about a solution's text, some of them unrelated
to whether it is right. The judge is simulated too. It decides each criterion by its definition, and errs at a rate.

So the table measures the selection and the weights on real candidates. It does not show which criteria a real model
would propose, nor how well it would judge them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

from verikit.engines import Engine, Generation, Output, Request
from verikit.errors import UsageError
from verikit.judges.match.labels import Label
from verikit.judges.rubric_synth.pipeline import REPORT, RubricSynthesis, synthesise_rubric
from verikit.types import Group

MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
SEEDS, ERRORS = range(5), (0.0, 0.1, 0.25)
SUM = re.compile(r"<<(\d+(?:\.\d+)?)([-+*/])(\d+(?:\.\d+)?)=(-?\d+(?:\.\d+)?)>>")


def numbers(text: str) -> list[float]:
    """The numbers of a text."""
    return [float(found.replace(",", "")) for found in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)]


def holds(first: str, sign: str, second: str, result: str) -> bool:
    """Whether a sum of two numbers has this result."""
    a, b = float(first), float(second)
    if sign == "/":
        return b != 0 and abs(a / b - float(result)) < 0.01
    return abs({"+": a + b, "-": a - b, "*": a * b}[sign] - float(result)) < 0.01


def final(answer: str) -> float:
    """The number that an answer ends in."""
    return (numbers(answer) or [-1.0])[-1]


CRITERIA: dict[str, Callable[[str, str], bool]] = {
    "Every sum of two numbers is right": lambda _, answer: all(holds(*found) for found in SUM.findall(answer)),
    "Every number of the question is used": lambda question, answer: {*numbers(question)} <= {*numbers(answer)},
    "At least half of the question's numbers are used": lambda question, answer: (
        2 * len({*numbers(question)} & {*numbers(answer)}) >= len({*numbers(question)})
    ),
    "The final answer is a whole number": lambda _, answer: final(answer).is_integer(),
    "The final answer is a number of the question": lambda question, answer: final(answer) in numbers(question),
    "The final answer is the result of the last sum": lambda _, answer: (
        bool(sums := re.findall(r"=(-?\d+(?:\.\d+)?)>>", answer)) and float(sums[-1]) == final(answer)
    ),
    "There are at least four steps": lambda _, answer: answer.count("\n") >= 4,
    "There is at most one step": lambda _, answer: answer.count("\n") <= 1,
    "A step divides": lambda _, answer: "/" in "".join(re.findall(r"<<(.*?)>>", answer)),
    "The first word is First": lambda _, answer: answer.startswith("First"),
    "Money is named": lambda _, answer: "$" in answer or "cost" in answer,
    "The solution has more than 300 characters": lambda _, answer: len(answer) > 300,
}


def drawn(*key: object) -> random.Random:
    """A generator that depends on the key alone."""
    return random.Random(hashlib.sha256(repr(key).encode()).digest())


class Proposer(Engine):
    """Proposes three criteria per question, by chance."""

    name = "proposer"

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """A list in bullets."""
        return [
            Generation((Output("\n".join(f"- {text}" for text in drawn(request.prompt).sample([*CRITERIA], 3))),))
            for request in requests
        ]


class Judge(Engine):
    """Decides criteria by their definitions, and errs at a rate."""

    name = "judge"

    def __init__(self, error: float = 0.0) -> None:
        self.error = error

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """A verdict on each criterion."""
        return [Generation((Output(self._reply(request), finish_reason="stop"),)) for request in requests]

    def _reply(self, request: Request) -> str:
        assert request.kind == "chat"
        text, mark = "".join(str(turn["content"]) for turn in request.prompt), request.meta["fence"]  # type: ignore[index]
        parts = dict(re.findall(rf"<(\w+) {mark}>\n(.*?)\n</\1 {mark}>", text, re.DOTALL))
        lines = []
        for number, criterion in re.findall(r"^(\d+)\. (.*) \(", parts["criteria"], re.MULTILINE):
            errs = drawn(parts["prompt"], parts["answer"], criterion).random() < self.error
            met = CRITERIA[criterion](parts["prompt"], parts["answer"]) != errs
            lines.append(f"<{mark} {number}: {'met' if met else 'not met'}>")
        return "\n".join(lines)


def recorded(path: Path) -> Iterator[tuple[Group, list[bool]]]:
    """The questions, and which of their candidates are right."""
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        found = [row[model] for model in MODELS]
        group = Group(row["question"], [one["solution"] for one in found], row["ground_truth"], f"q{number}")
        yield group, [one["is_correct"] for one in found]


def made(rows: Sequence[tuple[Group, list[bool]]], error: float, seed: int) -> dict[str, Any]:
    """The report of one synthesis. It has no figures of a rubric if no criterion was kept."""
    truth = {(group.id, k): Label(float(right)) for group, rights in rows for k, right in enumerate(rights)}
    options = {"options": {"error": error}, "cache": False, "probe": 0}
    parts = RubricSynthesis(Proposer(), f"{Path(__file__).resolve()}:Judge", truth, options, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        with suppress(UsageError):  # none separates
            synthesise_rubric([group for group, _ in rows], Path(folder), parts, {"seed": seed})
        report: dict[str, Any] = json.loads((Path(folder) / REPORT).read_text("utf-8"))
    return report


def line(error: float, reports: Sequence[dict[str, Any]]) -> str:
    """Means over the seeds. Without a kept criterion, the accuracy is that of chance."""
    ranked = [report["pairs ranked rightly on held-out questions"] for report in reports]
    before = [found["all, one point each"]["value"] for found in ranked]
    after = [found["the rubric"]["value"] if found["the rubric"] else 0.5 for found in ranked]
    kept = fmean(report["criteria"]["kept share"] for report in reports)
    gained = sum(found.get("difference", {"low": 0})["low"] > 0 for found in ranked)
    return f"| {error:.0%} | {kept:.1%} | {fmean(before):.1%} | {fmean(after):.1%} | {gained} of {len(reports)} |"


def main() -> None:
    """Print a row per error rate of the judge, and which criteria were kept without errors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    rows = [*recorded(parser.parse_args().data / "bon" / "gsm8k_four_models.jsonl")]
    reports = {error: [made(rows, error, seed) for seed in SEEDS] for error in ERRORS}
    print(reports[0.0][0]["questions"], reports[0.0][0]["criteria"])
    print("| the judge errs | criteria kept | pairs ranked rightly by all criteria | by the rubric | surely better |")
    print("|---|---|---|---|---|")
    for error in ERRORS:
        print(line(error, reports[error]))
    kept = Counter(one["criterion"] for report in reports[0.0] for one in report["by criterion"] if one["points"])
    print("\n".join(f"{text}: kept with {count} of {len(SEEDS)} seeds" for text, count in kept.most_common()))


if __name__ == "__main__":
    main()
