"""Best of n with cheap selectors, by a pretrained model of 135 million parameters on a CPU.

    python benchmarks/best_of_n.py sample                      # the start, 300 questions, eight replies each
    python benchmarks/best_of_n.py page docs/proofs.md         # the table, the test and the curves

Sampling resumes where it was stopped. The claim, the control and the test are on the page, written before the samples.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import proofs
import proofs_page

from verikit.select import Best, First, Majority, Selector, Weighted
from verikit.stats import mean_interval
from verikit.types import Group, Score

JsonObject = dict[str, Any]
QUESTIONS, SAMPLES, TOP = 300, 8, 20
SIZES = (1, 2, 4, 8)
"""The n of best of n. Each divides SAMPLES, so a question's samples are cut into blocks that share none."""
TESTED, CONTROL = "vote by log-probability", "majority"


def main() -> None:
    """Sample, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("runs/best_of_n"))
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("sample")
    parts.add_parser("page").add_argument("file", type=Path)
    given = parser.parse_args()
    work = given.work.resolve()
    if given.part == "sample":
        sample(work)
    else:
        write_page(work, given.file)


def sample(work: Path) -> None:
    """Make the start, and sample replies to the held-out questions: n at temperature 1, and the greedy one."""
    if not (work / "start").exists():
        proofs.make_start(work, proofs.pretrained().smollm2(), QUESTIONS)
    for name, n, temperature in (("samples", SAMPLES, 1), ("greedy", 1, 0)):
        proofs.run(
            [
                *(*proofs.VERIKIT, "sample", f"hf:{work / 'start'}", str(work / "sums/held_out.jsonl")),
                *("-n", str(n), "--temperature", str(temperature), "--max-tokens", "48", "--logprobs", str(TOP)),
                *("--system", proofs.system_text(), "--model-args", "dtype=float32", "-o", str(work / f"{name}.jsonl")),
            ]
        )


@dataclass(frozen=True)
class Reply:
    """One reply, with all that the selectors use. Only `right` depends on the gold answer."""

    answer: str | None
    right: bool
    tokens: int
    logprob: float
    """The mean log-probability of its tokens."""
    confidence: float
    """Minus the mean log-probability of the 20 likeliest tokens: higher if the distributions are sharper."""


@dataclass(frozen=True)
class Way:
    """A selector of verikit, and the score by which it selects."""

    selector: Selector
    score: Callable[[Reply], float]


WAYS: dict[str, Way] = {
    "first": Way(First(), lambda reply: 0.0),
    CONTROL: Way(Majority(), lambda reply: 0.0),
    TESTED: Way(Weighted(weights="softmax"), lambda reply: reply.logprob),
    # Added after the test: how much of its gain is a tie broken by more than the position.
    "majority, ties by weight": Way(Weighted(weights="raw"), lambda reply: 1 + 1e-6 * math.exp(reply.logprob)),
    "vote by self-certainty": Way(Weighted(weights="raw"), lambda reply: reply.confidence),
    "log-probability": Way(Best(), lambda reply: reply.logprob),
    "self-certainty": Way(Best(), lambda reply: reply.confidence),
    "shortest": Way(Best(), lambda reply: -reply.tokens),
    "oracle": Way(Best(), lambda reply: float(reply.right)),
}


def reply(row: JsonObject, completion: JsonObject) -> Reply:
    """Read one completion of `verikit sample`.

    Raises:
        ValueError: The engine returned no log-probabilities.
    """
    text, logprobs, tops = completion["text"], completion.get("logprobs"), completion.get("top_logprobs")
    if not logprobs or not tops:
        raise ValueError(f"{row['id']}: a completion has no log-probabilities. Sample with --logprobs {TOP}.")
    confidence = -fmean(fmean(logprob for _, logprob in position) for position in tops)
    answer = proofs.last_number(text)
    return Reply(answer or None, answer == str(row["answer"]), len(logprobs), fmean(logprobs), confidence)


def questions(file: Path) -> list[list[Reply]]:
    """Read the replies of each question.

    Raises:
        ValueError: Questions are missing or have different numbers of replies, so sampling isn't finished.
    """
    found = [[reply(row, each) for each in row["completions"]] for row in proofs.read(file)]
    if len(found) != QUESTIONS or len({len(replies) for replies in found}) != 1:
        raise ValueError(
            f"{file} has {len(found)} of {QUESTIONS} questions, or unequal numbers of replies. Sample again."
        )
    return found


def chosen(way: Way, replies: Sequence[Reply]) -> bool:
    """Return whether the reply that a selector puts first is right."""
    scores = [Score(way.score(each), answer=each.answer) for each in replies]
    return replies[way.selector.select(Group("", ("",) * len(replies)), scores)[0]].right


def rates(way: Way, found: Sequence[Sequence[Reply]], n: int) -> list[float]:
    """Return how often a selector's choice among n is right, for each question: the mean over its blocks of n."""
    return [fmean(chosen(way, replies[at : at + n]) for at in range(0, len(replies) - n + 1, n)) for replies in found]


def difference(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of paired differences and its 95 % interval, by a bootstrap over questions."""
    changes = [a - b for a, b in zip(first, second, strict=True)]
    made = mean_interval(changes, interval="bootstrap", bounds=(-1.0, 1.0))
    return made.value, made.low, made.high


def verdict(low: float, high: float) -> str:
    """Return what the interval of a difference shows."""
    if low > 0:
        return "shown"
    return "the other way round" if high < 0 else "not shown"


def write_page(work: Path, page: Path) -> None:
    """Put the table and the test into the page, and the curves into an SVG beside it."""
    found, greedy = questions(work / "samples.jsonl"), questions(work / "greedy.jsonl")
    measured = {name: {n: rates(way, found, n) for n in SIZES} for name, way in WAYS.items()}
    cost = fmean(each.tokens for each in chain.from_iterable(found))
    text = proofs_page.replaced(page.read_text("utf-8"), "selectors", table(measured, cost, greedy))
    page.write_text(text, "utf-8")
    curves = {name: {n * cost: fmean(values) for n, values in by_n.items()} for name, by_n in measured.items()}
    page.with_name("best-of-n.svg").write_text(svg(curves), "utf-8")


def table(measured: Mapping[str, Mapping[int, Sequence[float]]], cost: float, greedy: Sequence[Sequence[Reply]]) -> str:
    """Return the accuracy of each selector at each n, its difference to the majority, and the test's result."""
    last = SIZES[-1]
    names = " | ".join(f"n = {n}" for n in SIZES)
    lines = [f"| | {names} | above {CONTROL} at n = {last} [95 %] |", "|---|" + "---|" * (len(SIZES) + 1)]
    for name, by_n in measured.items():
        made = difference(by_n[last], measured[CONTROL][last])
        against = "" if name == CONTROL else points(*made)
        lines.append(proofs_page.row(name, [*(proofs_page.percent([fmean(by_n[n])]) for n in SIZES), against]))
    tokens = proofs_page.row("tokens per question", [*(f"{n * cost:.0f}" for n in SIZES), ""])
    value, low, high = difference(measured[TESTED][last], measured[CONTROL][last])
    alone = [float(replies[0].right) for replies in greedy]
    above = [f"{name} {points(*difference(measured[name][last], alone))}" for name in (TESTED, "log-probability")]
    told = [
        f"The greedy reply: {proofs_page.percent([fmean(alone)])} % right, "
        f"{fmean(replies[0].tokens for replies in greedy):.0f} tokens. "
        f"Above it at n = {last}: {', '.join(above)} points.",
        f"The test, {TESTED} above {CONTROL} at n = {last} on {len(greedy)} questions: "
        f"{points(value, low, high)} points, *{verdict(low, high)}*.",
    ]
    return "\n".join([*lines, tokens, "", *told]) + "\n"


def points(value: float, low: float, high: float) -> str:
    """Return a difference and its interval in points."""
    return f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


COLORS = ("#8a8a8a", "#1b6ac9", "#d1651b", "#5d4037", "#1a8f4b", "#9b2fae", "#b58900", "#c2185b", "#555555")


def svg(curves: Mapping[str, Mapping[float, float]]) -> str:
    """Draw accuracy over tokens per question, one line for each selector."""
    width, height, left, top, bottom, legend = 720, 340, 48, 16, 44, 170
    most = max(chain.from_iterable(curves.values()))

    def at(tokens: float, share: float) -> tuple[float, float]:
        return left + (width - left - legend) * tokens / most, top + (height - top - bottom) * (1 - share)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="#ffffff"/>'
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        (x1, y), (x2, _) = at(0, share), at(most, share)
        parts.append(f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for tokens in next(iter(curves.values())):
        parts.append(
            f'<text x="{at(tokens, 0)[0]:.1f}" y="{height - bottom + 18}" text-anchor="middle">{tokens:.0f}</text>'
        )
    for number, ((name, curve), color) in enumerate(zip(curves.items(), COLORS, strict=True)):
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in curve.items()))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{width - legend + 12}" y="{top + 16 + 17 * number}" fill="{color}">{name}</text>')
    label = f"generated tokens per question (n = {', '.join(map(str, SIZES))})"
    middle = (left + width - legend) / 2
    parts.append(f'<text x="{middle:.0f}" y="{height - 8}" text-anchor="middle">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
