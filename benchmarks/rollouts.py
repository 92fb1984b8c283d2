"""How busy a pool of engines is while rollouts are collected: batches with barriers against one queue, in one run.

    python benchmarks/rollouts.py [--scale 0.1] [--documents 64] [--questions 128]

The pool is simulated: 8 engines, each with one request at a time; a reply takes 50 ms to 8 s, with a long tail (Pareto,
its exponent 0.9), by the request's seed, so that both ways wait for the same replies. Times are slept at `--scale` of
these, and told unscaled. What asks is the code that trains: SPICE's `collect` (of whose documents one in 32 never
gives a valid question, and others do with each attempt's chance of 1 in 4), and the search loop of R1-Searcher
(questions of 0 to 4 searches, a retriever that takes 100 ms a call).

*barriers* is how it went before: everything that waits goes out as a batch, and what follows when the batch is done; a
document's attempts come by 8 each time, and Reasoners are asked when all Challengers are through. *queue* is how it
goes now. "busy" is the share of the engines' time from the first request to the last reply.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from verikit.engines.rollouts import Rollout, run_rollouts
from verikit.engines.types import Engine, EnginePrompt, Generation, Output, Request, Result
from verikit.retrieval.types import Passage
from verikit.search import SearchLimits, search
from verikit.trainers.recipe import Sampler, Setting, Trajectory
from verikit.trainers.recipes.spice.options import SpiceOptions
from verikit.trainers.recipes.spice.recipe import Spice
from verikit.trainers.recipes.spice.rounds import Challenge, DocumentRound, subsample

ENGINES = 8
SHORTEST_S, LONGEST_S, EXPONENT = 0.05, 8.0, 0.9
ATTEMPTS = 256
Reply = Callable[[Request, random.Random], list[str]]


class Pool(Engine):
    """Engines that sleep over each request, and count the seconds."""

    name = "pool"

    def __init__(self, reply: Reply, scale: float, *, submits: bool) -> None:
        self._reply, self._scale, self.submits = reply, scale, submits
        self._threads = ThreadPoolExecutor(ENGINES)
        self._lock = threading.Lock()
        self.worked, self.asked = 0.0, 0

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Serve a batch."""
        return list(self._threads.map(self._serve, requests))

    def submit(self, request: Request, done: Callable[[Generation | BaseException], None]) -> None:
        """Serve a request when an engine is free."""
        self._threads.submit(lambda: done(self._serve(request)))

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _serve(self, request: Request) -> Generation:
        draw = random.Random(request.seed)
        seconds = min(LONGEST_S, SHORTEST_S * (1 - draw.random()) ** (-1 / EXPONENT))
        time.sleep(seconds * self._scale)
        with self._lock:
            self.worked += seconds
            self.asked += 1
        outputs = tuple(
            Output(text, ids := tuple(text.encode()), logprobs=(0.0,) * len(ids), finish_reason="stop")
            for text in self._reply(request, draw)
        )
        return Generation(outputs, prompt_ids=tuple(request.prompt_ids))


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

    def __init__(self, pool: Pool) -> None:
        self.name, self.local, self.tokenizer = pool.name, pool, Bytes()

    def encode(self, prompt: EnginePrompt) -> list[int]:
        """Return a text's bytes."""
        return list(str(prompt).encode())

    def decode(self, ids: Sequence[int]) -> str:
        """Return them as text."""
        return bytes(ids).decode()

    def seed(self, *key: int | str) -> int:
        """Return a key's seed."""
        return random.Random(repr(key)).getrandbits(31)

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run rollouts on the pool."""
        return run_rollouts(self.local, rollouts)


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


class SlowRetriever:
    """Finds one passage after a while."""

    def __init__(self, scale: float) -> None:
        self._scale = scale

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Find it."""
        time.sleep(0.1 * self._scale)
        return [[Passage("Title", f"text of {query}")] for query in queries]


def spice(pool: Pool, given: argparse.Namespace) -> Any:
    """Collect a step of SPICE."""
    kind = Spice if pool.submits else SpiceWithBarriers
    options = {"documents": given.documents, "formats": "model", "attempts": ATTEMPTS, "chat": False, "checks": []}
    with TemporaryDirectory() as folder:
        rows = [{"text": f"{'barren' if at % 32 == 5 else 'bridge'} {at} has 12 arches"} for at in range(256)]
        (Path(folder) / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        recipe = kind(SpiceOptions(corpus=["corpus.jsonl"], **options), Setting(Bytes(), 0, Path(folder)))
        made = recipe.collect(PoolSampler(pool), 1)
    return [(row.role, row.reward) for row in made]


def r1_searcher(pool: Pool, given: argparse.Namespace) -> Any:
    """Roll questions out."""
    draw = random.Random(0)
    prompts = [f"{draw.choice((0, 1, 1, 2, 2, 3, 4))} {at}" for at in range(given.questions)]
    limits = SearchLimits(temperature=1.0)
    traces = search(pool, SlowRetriever(given.scale), prompts, limits, seeds=lambda at, leg: 1000 * at + leg)
    return [trace.text for trace in traces]


def measured(work: Callable[[Pool, argparse.Namespace], Any], given: argparse.Namespace, *, queue: bool) -> Any:
    """Return a way's result, seconds, share of the engines' time, and requests."""
    reply = spice_reply if work is spice else search_reply
    with Pool(reply, given.scale, submits=queue) as pool:
        began = time.perf_counter()
        result = work(pool, given)
        seconds = (time.perf_counter() - began) / given.scale
        return result, seconds, pool.worked / (ENGINES * seconds), pool.asked


def rows(given: argparse.Namespace) -> Iterator[str]:
    """Run each work both ways."""
    yield f"{'':12} {'way':9} {'seconds':>8} {'busy':>6} {'requests':>9} {'speed':>6}"
    for work in (spice, r1_searcher):
        results = []
        before = 0.0
        for queue in (False, True):
            result, seconds, busy, asked = measured(work, given, queue=queue)
            results.append(result)
            before = before or seconds
            name = "queue" if queue else "barriers"
            yield f"{work.__name__:12} {name:9} {seconds:8.1f} {busy:6.1%} {asked:9} {before / seconds:5.2f}x"
        yield f"{work.__name__:12} the same rollouts: {results[0] == results[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--documents", type=int, default=64)
    parser.add_argument("--questions", type=int, default=128)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
