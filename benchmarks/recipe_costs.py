"""What a self-play step spends in sandbox, judge or retriever, and what the same calls cost as a batch of their own.

    python benchmarks/recipe_costs.py RUNS [--steps 10] [--only absolute-zero-tiny …]

RUNS keeps each recipe's warm-up (a minute or two in all), so that a second call starts with the steps. At every step
each batch of work is timed in three ways in turn: generated and judged as in training, judged alone (the same calls by
the same number of threads, every cache emptied before), generated alone; each way thrice, of which the fastest counts,
as others use the machine too. What judging adds to a step is the first less the third; "of its own cost" is that over
the second: 1 is no overlap, below 1 part of it hides behind generation, above 1 both get in each other's way. The same
"in CPU seconds" of this process and its threads is the steadier figure where judging is work of this process. Retrieval
stands between two legs of generation, so it is timed where it stands.

SPICE is not among them: its rollouts judge on their way, and can't be run again. The retriever is BM25 over HTTP,
served from this process. The tiny world's judge looks a working up; it is made to take
a tenth of a second a call, as a language model might. Times are wall seconds, medians over the steps [their range].
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from verikit.base import Verifier
from verikit.engines.rollouts import THREADS
from verikit.engines.types import Generation, Request
from verikit.retrieval import Client, Passage, build_index, load_retriever
from verikit.trainers.config import load_config
from verikit.trainers.distributed import World
from verikit.trainers.grpo import Trainer
from verikit.trainers.recipes.absolute_zero.environment import Environment
from verikit.trainers.run import RunFolder
from verikit.types import Sample, Score

REPEATS = 3
"""How often each batch is run in each way."""
JUDGE_S = 0.1


WAYS = ("together", "alone", "generation")


@dataclass
class Timed:
    """Seconds of one step's batches, by how they were run; each with the CPU seconds of this process."""

    fresh: Callable[[], None] = lambda: None
    """Empties the caches of what judges."""
    wall: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    cpu: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    measuring: float = 0.0
    """Spent on this benchmark's own repetitions."""
    steps: list[dict[str, float]] = field(default_factory=list)

    def add(self, way: str, runs: Sequence[tuple[float, float]]) -> None:
        """Count the fastest of some runs (wall seconds, CPU seconds)."""
        self.wall[way] += min(wall for wall, _ in runs)
        self.cpu[way] += min(cpu for _, cpu in runs)

    def end(self, row: dict[str, Any]) -> None:
        """Close a step with the row the trainer logs of it; evaluations and the warm-up have no such row."""
        if "seconds_collect" in row:
            step = row["seconds_collect"] - self.measuring + row["seconds_learn"]
            added, added_cpu = (found["together"] - found["generation"] for found in (self.wall, self.cpu))
            self.steps.append({
                "step": step, "generated": self.wall["generation"], "learnt": row["seconds_learn"],
                "added": added, "share": added / step,
                "alone": self.wall["alone"], "of its own cost": added / self.wall["alone"],
                "in CPU seconds": added_cpu / self.cpu["alone"],
            })  # fmt: skip
        self.measuring = 0.0
        self.wall.clear()
        self.cpu.clear()


def seconds(work: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    return work(), (time.perf_counter() - wall, time.process_time() - cpu)


class TimedSampler:
    """The trainer's sampler, which runs each batch again and again; what a seed samples is the same each time."""

    def __init__(self, sampler: Any, timed: Timed) -> None:
        self._sampler, self._timed = sampler, timed
        self._threads = ThreadPoolExecutor(THREADS)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)

    def generate_then(
        self, requests: Sequence[Request], then: Callable[[int, Generation], Any]
    ) -> list[tuple[Generation, Any]]:
        timed, began = self._timed, time.perf_counter()
        found: list[tuple[Generation, Any]] = []
        runs: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for _ in range(REPEATS):
            timed.fresh()
            done, spent = seconds(lambda: self._sampler.generate_then(requests, then))
            runs["together"].append(spent)
            found[:] = done
            timed.fresh()
            runs["alone"].append(seconds(lambda: self._judge(then, found))[1])
            runs["generation"].append(seconds(lambda: self._sampler.generate(requests))[1])
        for way in WAYS:
            timed.add(way, runs[way])
        timed.measuring += time.perf_counter() - began - min(wall for wall, _ in runs["together"])
        return found

    def _judge(self, then: Callable[[int, Generation], Any], made: Sequence[tuple[Generation, Any]]) -> list[Any]:
        return list(self._threads.map(then, range(len(made)), [generation for generation, _ in made]))


class TimedRetriever:
    """A retriever that is asked everything twice; the recipe gets the first."""

    def __init__(self, retriever: Any, timed: Timed) -> None:
        self._retriever, self._timed = retriever, timed

    def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[Passage]]:
        found: Sequence[Sequence[Passage]]
        found, together = seconds(lambda: self._retriever.retrieve(queries, k))
        _, alone = seconds(lambda: self._retriever.retrieve(queries, k))
        self._timed.add("together", [together])
        self._timed.add("alone", [alone])
        self._timed.measuring += alone[0]
        return found


class SlowJudge(Verifier):
    """A judge that takes its time over a call, however many completions it is given."""

    def __init__(self, judge: Verifier) -> None:
        self._judge, self.name = judge, judge.name

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Wait, then judge."""
        time.sleep(JUDGE_S)
        return self._judge.score(samples)


@contextmanager
def served(facts: dict[tuple[str, str], str], folder: Path) -> Iterator[Client]:
    """Serve the facts over HTTP by BM25."""
    import uvicorn

    from verikit.retrieval.server import app

    rows = [{"title": " ".join(about), "text": value} for about, value in facts.items()]
    (folder / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_index([folder / "facts.jsonl"], folder / "index")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    index = load_retriever(f"bm25:{folder / 'index'}")
    server = uvicorn.Server(uvicorn.Config(app(index), port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Client(f"http://127.0.0.1:{port}/queries")
    finally:
        server.should_exit = True
        thread.join()


def instrument(trainer: Trainer, timed: Timed, folder: Path) -> Any:
    """Put clocks around what a recipe asks beside generation; returns what must be open meanwhile."""
    recipe: Any = trainer.recipe
    if recipe.name.startswith("r1-searcher"):
        stack = ExitStack()
        recipe.retriever = TimedRetriever(stack.enter_context(served(recipe.facts, folder)), timed)
        return stack
    if recipe.name.startswith("elo-evolve"):
        recipe.judge = SlowJudge(recipe.judge)
    if recipe.name.startswith("absolute-zero"):

        def fresh() -> None:
            recipe.environment = Environment(recipe.options, recipe.environment.opening)

        timed.fresh = fresh
    sampler: Any = TimedSampler(trainer.sampler, timed)
    trainer.sampler = sampler
    return ExitStack()


def train(name: str, path: Path, steps: int, timed: Timed | None = None) -> None:
    """Train a shipped config up to a step, from its last checkpoint if there is one."""
    config = load_config(name, [f"run.steps={steps}", "run.evaluate_every=0"])
    folder = RunFolder(path)
    try:
        trainer = Trainer(config, folder, World(), timed.end if timed else lambda row: None)
        trainer.resume()
        with instrument(trainer, timed, path) if timed else ExitStack():
            trainer.run()
        trainer.close()
    finally:
        folder.close()


def main() -> None:
    names = {
        "absolute-zero-tiny": ("sandbox", 1),
        "r1-searcher-tiny": ("retriever", 60),  # by then it searches
        "elo-evolve-tiny": ("judge", 1),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=names, default=list(names))
    options = parser.parse_args()
    for name in options.only:
        (what, first), warm = names[name], options.runs / name
        if not (warm / "checkpoints").exists():
            train(name, warm, first)
        timed = Timed()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(warm, Path(folder) / name)
            train(name, Path(folder) / name, first + options.steps, timed)
        print(f"{name}: {what}, {len(timed.steps)} steps")
        for key in timed.steps[0]:
            values = sorted(step[key] for step in timed.steps)
            print(f"  {key:16} {median(values):7.3f} [{values[0]:.3f}, {values[-1]:.3f}]", flush=True)


if __name__ == "__main__":
    main()
