"""When does a search led by step rewards beat best of n at as many tokens? Rewards of known quality, made problems.

    python -m benchmarks.search_oracle                   # every arm and quality, 300 questions
    python -m benchmarks.search_oracle --questions 60

The policy is simulated. A problem is a chain of sums. Each line is right with probability .7, and a line that follows a
wrong total is never right. The reward model is simulated too: it knows which lines are right and adds noise, such that
its AUC over lines that the policy writes is the one asked for (1 is an oracle). The searches are verikit's own.

Noise comes in two kinds, because it decides the result. By *prefix*, a line's noise depends on all that precedes it, so
a new sample is a new draw. This flatters every search. By *line*, equal mistakes in the same question fool the reward
model alike.

Tokens are characters, written ones and those the reward model read. It reads the whole solution after each step. A
difference is paired by question: right in the search or not, minus the chance of best of n at as many tokens, between
the n that were run.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist, fmean
from typing import Any

from verikit.base import Verifier
from verikit.engines import Engine, Generation, Output, Request
from verikit.guided import guided_search, load_strategy
from verikit.sampling import SamplingSettings
from verikit.stats import mean_interval
from verikit.types import Group, Sample, Score

STEPS, RIGHT = 5, 0.7
LEADS = ("", "So ", "Now ", "Then ", "Next: ", "We get ", "That is ", "Hence ")
QUALITIES = (1.0, 0.96, 0.9, 0.85, 0.8, 0.72, 0.6)
PLAIN = (1, 2, 4, 8, 16, 32, 64, 128)
SEARCHES = ("stepwise(4)", "stepwise(8)", "beam(2, 4)", "beam(4, 4)", "dvts(2, 4)", "dvts(4, 4)")
NOISE = ("prefix", "line")


def drawn(*key: object) -> random.Random:
    """A generator that depends on the key alone."""
    return random.Random(hashlib.sha256(repr(key).encode()).digest())


def problem(number: int) -> Group:
    """A chain of sums, with its working."""
    rng = drawn("problem", number)
    total, changes = rng.randint(10, 99), [rng.randint(10, 99) for _ in range(STEPS)]
    prompt = f"{total} " + " ".join(f"+ {change}" for change in changes) + " ="
    return Group(prompt, answer=str(total + sum(changes)), id=f"q{number}")


def numbers(text: str) -> list[int]:
    """The whole numbers of a text."""
    return list(map(int, re.findall(r"\d+", text)))


def right_lines(prompt: str, lines: Sequence[str]) -> list[bool]:
    """Which lines are right: all up to the first wrong one."""
    total, *changes = numbers(prompt)
    found, holds = [], True
    for change, line in zip(changes, lines, strict=False):
        holds = holds and numbers(line) in ([total, change, total + change], [change, total, total + change])
        found.append(holds)
        total += change
    return found


class Policy(Engine):
    """Writes one line per sum, in one of sixteen wordings. A wrong line is off by one to three."""

    name = "policy"

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Continue each solution."""
        return [self._reply(request) for request in requests]

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """The same, in order."""
        yield from enumerate(self.generate(requests))

    def _reply(self, request: Request) -> Generation:
        question, _, begun = str(request.prompt).partition("=")
        lines = begun.split("\n")[:-1]
        total, *changes = numbers(question)
        total = numbers(lines[-1])[-1] if lines else total
        rng = drawn(request.prompt, request.seed)
        written = []
        for change in changes[len(lines) :]:
            after = total + change + (0 if rng.random() < RIGHT else rng.choice((-3, -2, -1, 1, 2, 3)))
            first, second = rng.sample((total, change), 2)
            written.append(f"{rng.choice(LEADS)}{first} + {second} = {after}")
            total = after
            if request.stop:
                break
        text, ends = "\n".join(written), len(lines) + len(written) == len(changes)
        stopped_by = "" if ends else "\n"
        output = Output(
            text, tuple(range(len(text))), finish_reason="stop", stopped_by=stopped_by if request.stop else None
        )
        return Generation((output,), usage={"prompt_tokens": float(len(str(request.prompt)))})


@dataclass(frozen=True)
class NoisyReward(Verifier):
    """Scores lines with a known AUC. Right lines have a normal logit that lies `shift` above that of wrong ones."""

    name = "noisy_reward"
    auc: float = 1.0
    noise: str = "prefix"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """The value of a solution is its lowest line's."""
        return [self._whole(sample) for sample in samples]

    def _whole(self, sample: Sample) -> Score:
        lines = [line.strip() for line in sample.meta["steps"]]
        values = [
            self._value(sample.id, lines, number, right)
            for number, right in enumerate(right_lines(str(sample.prompt), lines))
        ]
        usage = {"prompt_tokens": float(sum(map(len, lines)))}
        return Score(min(values, default=0.0), steps=tuple(map(Score, values)), usage=usage)

    def _value(self, id: str, lines: Sequence[str], number: int, right: bool) -> float:
        if self.auc >= 1.0:
            return float(right)
        # Two normal variables of unit variance overlap with AUC = Phi(shift / sqrt(2)).
        shift = math.sqrt(2) * NormalDist().inv_cdf(self.auc)
        seen = lines[: number + 1] if self.noise == "prefix" else lines[number]
        logit = drawn("noise", id, seen).gauss(shift if right else 0.0)
        return 1.0 / (1.0 + math.exp(-logit))


def search(questions: Sequence[Group], arm: str, auc: float, noise: str) -> list[dict[str, Any]]:
    """Each question's result: right or not, and tokens."""
    strategy = load_strategy(arm.replace(")", ", step='\\n', prm=numeric)"))
    strategy = replace(strategy, prm=NoisyReward(auc, noise))
    settings = SamplingSettings(max_tokens=10_000, chat=False)
    found = []
    for question, row in zip(
        questions, guided_search(Policy(), enumerate(questions, 1), settings, strategy), strict=True
    ):
        texts = [candidate["text"] for candidate in row.candidates]
        spent = row.search["generated"] + row.search["judged"]
        found.append({"right": float(numbers(texts[0])[-1] == int(str(question.answer))), "tokens": spent})
    return found


def chances(plain: Sequence[list[dict[str, Any]]], tokens: float) -> list[float] | None:
    """Each question's chance under best of n with so many tokens, between the two n around it (log of the tokens)."""
    costs = [fmean(row["tokens"] for row in rows) for rows in plain]
    for (below, fewer), (above, more) in pairwise(zip(plain, costs, strict=True)):
        if fewer <= tokens <= more:
            share = math.log(tokens / fewer) / math.log(more / fewer)
            return [(1 - share) * a["right"] + share * b["right"] for a, b in zip(below, above, strict=True)]
    return None


def percent(value: float) -> str:
    """As in 43.5."""
    return f"{100 * value:.1f}"


def table(questions: Sequence[Group], noise: str) -> Iterator[str]:
    """A row per quality of the reward: accuracy of each search, and its gain over best of n at as many tokens."""
    yield f"| AUC | {' | '.join(f'best of {n}' for n in (8, 32))} | {' | '.join(f'`{arm}`' for arm in SEARCHES)} |"
    yield "|---" * (3 + len(SEARCHES)) + "|"
    for auc in QUALITIES:
        plain = [search(questions, f"best_of({n})", auc, noise) for n in PLAIN]
        cells = [percent(fmean(row["right"] for row in plain[PLAIN.index(n)])) for n in (8, 32)]
        for arm in SEARCHES:
            rows = search(questions, arm, auc, noise)
            peer = chances(plain, fmean(row["tokens"] for row in rows))
            assert peer is not None, f"{arm} spends more than best_of({PLAIN[-1]})"
            gains = [row["right"] - chance for row, chance in zip(rows, peer, strict=True)]
            gain = mean_interval(gains, bounds=(-1.0, 1.0))
            right = percent(fmean(row["right"] for row in rows))
            cells.append(f"{right} ({100 * gain.low:+.0f} to {100 * gain.high:+.0f})")
        yield f"| {auc:g} | {' | '.join(cells)} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--noise", choices=NOISE, action="append", help="Only this kind.")
    given = parser.parse_args()
    questions = [problem(number) for number in range(given.questions)]
    for noise in given.noise or NOISE:
        print(f"noise by {noise}, {len(questions)} questions: right in percent (gain over best of n, 95 %)\n")
        for line in table(questions, noise):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
