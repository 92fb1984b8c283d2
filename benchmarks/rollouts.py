"""How busy a pool of engines is while rollouts are collected: batches with barriers against one queue, in one run.

    python benchmarks/rollouts.py [--documents 128] [--questions 256]

The pool and its time are simulated: 8 engines, each with one request at a time; a reply takes 50 ms to 8 s, with a long
tail (Pareto, its exponent 0.9), by the request's seed, so that both ways wait for the same replies. Nothing sleeps, so
a busy machine changes no figure. What asks is the code that trains: SPICE's `collect` (of whose documents one in 32
never gives a valid question, and others do with each attempt's chance of 1 in 4), and the search loop of R1-Searcher
(questions of 0 to 4 searches, a retriever that takes 100 ms a call).

*barriers* is how it went before: everything that waits goes out as a batch, and what follows when the batch is done; a
document's attempts come by 8 each time, and Reasoners are asked when all Challengers are through. *queue* is how it
goes now. "busy" is the share of the engines' time from a step's first request to its last reply, over `--steps` steps.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from verikit.engines.rollouts import Rollout, Rollouts, all_at_once
from verikit.engines.types import Engine, EnginePrompt, Generation, Output, Request, Result, TakeBack
from verikit.retrieval.types import Passage
from verikit.search import SearchLimits, search
from verikit.trainers.recipe import Sampler, Setting, Trajectory
from verikit.trainers.recipes.spice.options import SpiceOptions
from verikit.trainers.recipes.spice.recipe import Spice
from verikit.trainers.recipes.spice.rounds import Challenge, DocumentRound, subsample

ENGINES = 8
SHORTEST_S, LONGEST_S, EXPONENT = 0.05, 8.0, 0.9
RETRIEVAL_S = 0.1
ATTEMPTS = 256
Reply = Callable[[Request, random.Random], list[str]]


class Clock:
    """Simulated time: what happens when."""

    def __init__(self) -> None:
        self.now = 0.0
        self._coming: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Have something happen."""
        self._count += 1
        heapq.heappush(self._coming, (when, self._count, what))

    def advance(self) -> None:
        """Go on to what happens next."""
        self.now, _, what = heapq.heappop(self._coming)
        what()


class Pool(Engine):
    """Engines that take a while over each request, and count the seconds."""

    name = "pool"

    def __init__(self, reply: Reply, *, submits: bool) -> None:
        self._reply, self.submits, self.clock = reply, submits, Clock()
        self._free = [0.0] * ENGINES
        """When each engine is free."""
        self.worked, self.asked = 0.0, 0

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Serve a batch, and wait for its end."""
        found: list[Generation | None] = [None] * len(requests)
        for index, request in enumerate(requests):
            self._begin(request, lambda made, index=index: found.__setitem__(index, made))  # type: ignore[misc]
        while None in found:
            self.clock.advance()
        return [generation for generation in found if generation is not None]

    def submit(self, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        """Serve a request when an engine is free."""
        self._begin(request, done)
        return lambda: None

    def _begin(self, request: Request, done: Callable[[Generation], None]) -> None:
        draw = random.Random(request.seed)
        seconds = min(LONGEST_S, SHORTEST_S * (1 - draw.random()) ** (-1 / EXPONENT))
        self.worked += seconds
        self.asked += 1
        outputs = tuple(
            Output(text, ids := tuple(text.encode()), logprobs=(0.0,) * len(ids), finish_reason="stop")
            for text in self._reply(request, draw)
        )
        end = max(self.clock.now, heapq.heappop(self._free)) + seconds
        heapq.heappush(self._free, end)
        self.clock.at(end, lambda: done(Generation(outputs, prompt_ids=tuple(request.prompt_ids))))

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run rollouts in simulated time."""
        done = TimedRollouts(self, rollouts, Threads(self.clock)).run(all_at_once(range(len(rollouts))))
        return [done[number] for number in range(len(rollouts))]


class Threads(Executor):
    """Does work at once, and tells of it when it would have been done."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it; a retriever's call takes a while, the rest no time."""
        future: Future[Any] = Future()
        result = fn(*args, **kwargs)
        took = RETRIEVAL_S if args and isinstance(args[0], list) else 0.0
        self._clock.at(self._clock.now + took, lambda: future.set_result(result))
        return future


class Events(SimpleQueue[Any]):
    """Answers, for which the clock goes on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Wait for the next."""
        while self.empty():
            self._clock.advance()
        return super().get()


class TimedRollouts(Rollouts[Result]):
    """Rollouts that wait in simulated time."""

    def __init__(self, engine: Pool, rollouts: Sequence[Rollout[Result]], threads: Executor) -> None:
        super().__init__(engine, rollouts, threads)
        self._events = Events(engine.clock)


class Bytes:
    """A tokenizer of one token a byte."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Cut a text."""
        return list(text.encode())

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Join tokens."""
        return bytes(ids).decode()


class PoolSampler(Sampler):
    """The pool as a recipe's sampler."""

    def __init__(self, pool: Pool, step: int) -> None:
        self.name, self.local, self.tokenizer, self._step = pool.name, pool, Bytes(), step

    def encode(self, prompt: EnginePrompt) -> list[int]:
        """Return a text's bytes."""
        return list(str(prompt).encode())

    def decode(self, ids: Sequence[int]) -> str:
        """Return them as text."""
        return bytes(ids).decode()

    def seed(self, *key: int | str) -> int:
        """Return a key's seed."""
        return random.Random(repr((self._step, key))).getrandbits(31)

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run rollouts on the pool."""
        return self.local.roll_out(rollouts)


class SpiceWithBarriers(Spice):
    """SPICE as it went by batches: all kinds, all challenges (8 attempts a round), then all answers."""

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Ask, then answer."""
        draw = random.Random(f"{self.setting.seed} {step}")
        documents = [self.draw_document(draw) for _ in range(self.options.documents)]
        drawn = list(enumerate(zip(documents, self.drawn_kinds(documents, draw), strict=True)))
        kinds = sampler.roll_out([self.choose_kind(sampler, at, text, kind) for at, (text, kind) in drawn])
        challenges = [Challenge(text, kind) for text, kind in zip(documents, kinds, strict=True)]
        done = sampler.roll_out([self.challenge(sampler, at, found) for at, found in enumerate(challenges)])
        draws = [random.Random(f"{self.setting.seed} {step} {at}") for at in range(len(done))]
        groups = [subsample(found.attempts, self.options.group, own) for found, own in zip(done, draws, strict=True)]
        answers = sampler.roll_out([self.ask(sampler, at, group) for at, group in enumerate(groups)])
        rounds = []
        for challenge, group, answered, own in zip(done, groups, answers, draws, strict=True):
            valid = [question for question in answered if question is not None]
            counts = len(challenge.attempts), len(challenge.valid), challenge.lost
            rounds.append(DocumentRound(challenge.kind, *counts, group, answered, own.choice(valid) if valid else None))
        return self._trajectories(sampler, rounds)

    def challenge(self, sampler: Sampler, number: int, challenge: Challenge) -> Rollout[Challenge]:
        """Sample a group at a time."""
        prompt = self._to_challenger(sampler, self.prompts.challenge(challenge.kind, challenge.document))
        for first in range(0, self.options.attempts, self.options.group):
            found, _ = yield self._attempts(sampler, number, challenge, prompt, first, self.options.group)
            challenge.attempts.extend(found)
            if challenge.valid:
                break
        return challenge


def spice_reply(request: Request, draw: random.Random) -> list[str]:
    """Write the Challenger's and the Reasoner's replies."""
    prompt = bytes(request.prompt_ids).decode()
    if "First decide which kind" in prompt:
        kind = {"suitable_for_mcq": False, "suitable_for_free_form": True, "best_answer_type": "Integer", "reason": "r"}
        return [json.dumps(kind)] * request.n
    if "BEGINNING OF THE DOCUMENT" not in prompt:
        return [rf"\boxed{{{draw.choice((12, 13))}}}" for _ in range(request.n)]
    row = {"question": "How many?", "answer": 12, "answer_type": "Integer", "relevant_quotes": ["12 arches"]}
    chance = 0.0 if "barren" in prompt else 0.25
    return [json.dumps(row) if draw.random() < chance else "nothing" for _ in range(request.n)]


def search_reply(request: Request, draw: random.Random) -> list[str]:
    """Write a leg: a query for those that still search, else the answer."""
    prompt = str(request.prompt)
    wanted = int(prompt.partition(" ")[0])
    if prompt.count("<|end_of_query|>") < wanted:
        return [f"<|begin_of_query|>q{draw.randrange(1000)}<|end_of_query|>"]
    return ["</think> <answer>12</answer>"]


class OneRetriever:
    """Finds one passage."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Find it."""
        return [[Passage("Title", f"text of {query}")] for query in queries]


def spice(pool: Pool, given: argparse.Namespace) -> Any:
    """Collect a step of SPICE."""
    kind = Spice if pool.submits else SpiceWithBarriers
    options = {"documents": given.documents, "formats": "model", "attempts": ATTEMPTS, "chat": False, "checks": []}
    with TemporaryDirectory() as folder:
        rows = [{"text": f"{'barren' if at % 32 == 5 else 'bridge'} {at} has 12 arches"} for at in range(256)]
        (Path(folder) / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        recipe = kind(SpiceOptions(corpus=["corpus.jsonl"], **options), Setting(Bytes(), 0, Path(folder)))
        made = [row for step in range(given.steps) for row in recipe.collect(PoolSampler(pool, step), step)]
    return [(row.role, row.reward) for row in made]


def r1_searcher(pool: Pool, given: argparse.Namespace) -> Any:
    """Roll questions out."""
    draw = random.Random(0)
    prompts = [f"{draw.choice((0, 1, 1, 2, 2, 3, 4))} {at}" for at in range(given.questions)]
    limits = SearchLimits(temperature=1.0)
    found = []
    for step in range(given.steps):
        seeds = partial(_seed, step)
        found += [trace.text for trace in search(pool, OneRetriever(), prompts, limits, seeds=seeds)]
    return found


def _seed(step: int, index: int, leg: int) -> int:
    return random.Random(f"{step} {index} {leg}").getrandbits(31)


def measured(work: Callable[[Pool, argparse.Namespace], Any], given: argparse.Namespace, way: str) -> Any:
    """Return a way's result, seconds, share of the engines' time, and requests."""
    pool = Pool(spice_reply if work is spice else search_reply, submits=way != "barriers")
    result = work(pool, given)
    return result, pool.clock.now, pool.worked / (ENGINES * pool.clock.now), pool.asked


def rows(given: argparse.Namespace) -> Iterator[str]:
    """Run each work both ways."""
    yield f"{'':12} {'way':9} {'seconds':>8} {'busy':>6} {'requests':>9} {'speed':>6}"
    for work in (spice, r1_searcher):
        before, expected = 0.0, None
        for way in ("barriers", "queue"):
            result, seconds, busy, asked = measured(work, given, way)
            before, expected = before or seconds, expected or result
            same = "the same rollouts" if result == expected else "other rollouts"
            yield f"{work.__name__:12} {way:9} {seconds:8.1f} {busy:6.1%} {asked:9} {before / seconds:5.2f}x  {same}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=128)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--questions", type=int, default=256)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
