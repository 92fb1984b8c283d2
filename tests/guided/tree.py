"""A policy whose solutions are a fixed tree, and a reward model that is a function of the steps.

The j-th continuation of a begun solution is drawn from what it continues and its seed alone, so a test can walk the
tree by itself. The doubles stand in for a model that says which steps come next: no real one lets a test enumerate
them.
"""

import hashlib
import random
from dataclasses import dataclass

from verikit.base import Verifier
from verikit.engines import Generation, Output
from verikit.engines.types import Engine
from verikit.errors import EngineError
from verikit.sampling.settings import sample_seed
from verikit.types import Score

SEPARATOR = "\n\n"


def drawn(text):
    return random.Random(hashlib.sha256(text.encode()).digest())


def next_step(begun, seed, deepest=4):
    """A step's text and whether the solution ends with it; steps repeat, so that equal drafts occur."""
    draw = drawn(f"{begun}|{seed}")
    depth = begun.count(SEPARATOR)
    ends = depth + 1 >= deepest or draw.random() < 0.25
    words = " ".join(draw.choice("abc") for _ in range(draw.randrange(1, 4)))
    return f"{words} {depth}" + (f" \\boxed{{{draw.randrange(3)}}}" if ends else ""), ends


def child_seed(id, begun, number, *said, seed=0):
    """The seed of the sample of that number: documented in `Growth`."""
    if not begun and not said:
        return sample_seed(seed, id, number)
    digest = hashlib.sha256(repr((begun, *said)).encode()).hexdigest()
    return sample_seed(seed, f"{id}:{digest}", number)


def step_score(step):
    return round(drawn(f"score {step}").random(), 6)


class Tree(Engine):
    """Asked in text: the prompt up to its `=` and what is begun. Results come in any order, some fail if wanted."""

    name = "tree"

    def __init__(self, failing=0.0, order=0, deepest=4):
        self.failing, self.deepest, self.draw = failing, deepest, random.Random(order)
        self.requests, self.answered = [], []

    def generate(self, requests):
        raise NotImplementedError

    def stream(self, requests):
        self.requests += requests
        order = list(range(len(requests)))
        self.draw.shuffle(order)
        for index in order:
            self.answered.append(requests[index])
            if self.draw.random() < self.failing:
                yield index, Generation(error=EngineError("no"))
            else:
                yield index, self.answer(requests[index])

    def answer(self, request):
        begun = request.prompt.partition("=")[2]
        if request.stop:
            text, ends = next_step(begun, request.seed, self.deepest)
            pieces, by = text.split(" "), "" if ends else SEPARATOR
        else:
            text, ends = "", False
            while not ends:
                step, ends = next_step(text, request.seed, self.deepest)
                text += step + ("" if ends else SEPARATOR)
            pieces, by = text.split(" "), None
        if len(pieces) > request.max_tokens:
            pieces = pieces[: request.max_tokens]
            output = Output(" ".join(pieces) + " ", tuple(range(len(pieces))), finish_reason="length")
        else:
            output = Output(text, tuple(range(len(pieces))), finish_reason="stop", stopped_by=by)
        return Generation((output,), usage={"prompt_tokens": float(len(request.prompt))})


@dataclass(frozen=True)
class StepScores(Verifier):
    """Scores each step by itself; reads a token a character."""

    name = "step_scores"
    how: object = min
    broken: frozenset = frozenset()
    """Steps it can't score."""

    def score_batch(self, samples):
        return [self.whole(sample.meta["steps"]) for sample in samples]

    def whole(self, steps):
        scores = [Score.error("can't") if step in self.broken else Score(step_score(step)) for step in steps]
        usage = {"prompt_tokens": float(sum(map(len, steps)))}
        if not steps or not all(score.scored for score in scores):
            return Score.error("can't", usage=usage)
        return Score(self.how([float(score) for score in scores]), steps=tuple(scores), usage=usage)
