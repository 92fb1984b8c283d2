"""How much of a judge's prompt two answers to one question share: what a server's prefix cache need not compute again.

    python -m benchmarks.judge_prefixes
    python -m benchmarks.judge_prefixes --server http://127.0.0.1:8000/v1#small --candidates 8

The first compares prompts as texts. The second sends each judge's requests about several candidates in one batch to a
vLLM server, and reads the hits of its prefix cache from its metrics. Start it with

    vllm serve MODEL --served-model-name small --max-model-len 4096 --enable-prompt-tokens-details

Replies are one token, because only prompts are cached. Each judge gets a question of its own.
"""

from __future__ import annotations

import argparse
import re
import urllib.request
from collections.abc import Sequence
from dataclasses import replace

from verikit.engines import Engine, Generation, Output, Request, load_engine
from verikit.engines.usage import added, counted
from verikit.judges import Pairwise, Pointwise, Reference, Rubric, load_prompt, prompt_names
from verikit.judges.asking.judge import Judge
from verikit.types import Sample

QUESTION = "A long question. " * 200
REFERENCE = "the gold " * 20
CRITERIA = [f"criterion {number} says something about the answer" for number in range(10)]
ANSWERS = ("First answer, brief.", "Second answer, brief!")
JUDGES = {"pairwise": Pairwise, "pointwise": Pointwise, "reference": Reference, "rubric": Rubric}


class Recording(Engine):
    """Keeps what it is asked."""

    name = "recording"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Give no verdict."""
        for request in requests:
            assert request.kind == "chat"
            self.asked.append(
                "".join(str(turn["content"]) for turn in request.prompt if not isinstance(turn, (str, int)))
            )
        return [Generation((Output(""),)) for _ in requests]


def shared(prompt: str, *, criteria: Sequence[str] = ()) -> float:
    """The least share of a prompt that two answers to one question have in common, over all requests of the judge."""
    task = load_prompt(prompt).task
    engine = Recording()
    options = {"rubric": CRITERIA} if task == "rubric" else {"criteria": criteria} if criteria else {}
    judge: Judge = JUDGES[task](engine, prompt, probe=0, **options)
    for answer in ANSWERS:
        judge.score([Sample(QUESTION, answer, REFERENCE, meta={"opponent": "Another answer."})])
    half = len(engine.asked) // 2
    pairs = zip(engine.asked[:half], engine.asked[half:], strict=True)
    return min(common(*pair) / max(map(len, pair)) for pair in pairs)


def common(first: str, second: str) -> int:
    """How many characters two texts have in common before they differ."""
    differing = (number for number, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(differing, min(len(first), len(second)))


class OneToken(Engine):
    """Sends requests on for a single token, and adds up what the server reports."""

    name = "one-token"

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.usage: dict[str, float] = {}

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Pass the requests on. The replies have no verdict, which the judge may report."""
        made = self.engine.generate([replace(request, max_tokens=1, structured=None) for request in requests])
        if failed := next((one.error for one in made if one.error), None):
            raise failed
        self.usage = added(self.usage, *map(counted, made))
        return made


def cache_counts(server: str) -> dict[str, float]:
    """Prompt tokens that the server looked up in its prefix cache (queries), and found there (hits)."""
    with urllib.request.urlopen(server.partition("/v1")[0] + "/metrics", timeout=60) as answer:
        found = re.findall(
            r"^vllm:prefix_cache_(queries|hits)_total\{[^}]*\} (\S+)$", answer.read().decode(), re.MULTILINE
        )
    return {name: float(value) for name, value in found}


def served(server: str, prompt: str, candidates: int) -> str:
    """A line with the hits of a server's prefix cache for one judge's requests about several candidates."""
    task = load_prompt(prompt).task
    engine, before = OneToken(load_engine(f"openai:{server}", concurrency=8)), cache_counts(server)
    judge: Judge = JUDGES[task](
        engine, prompt, probe=0, structured=False, **({"rubric": CRITERIA} if task == "rubric" else {})
    )
    own = f"About {prompt}. {QUESTION}"
    answers = [f"Answer {number}, brief, and not like the others." for number in range(candidates)]
    judge.score([Sample(own, answer, REFERENCE, meta={"opponent": "Another answer."}) for answer in answers])
    after = cache_counts(server)
    queries, hits = (after[name] - before[name] for name in ("queries", "hits"))
    usage = engine.usage
    told = f"{usage['calls']:3.0f} requests, {queries:7,.0f} prompt tokens, {hits:7,.0f} hits {hits / queries:6.1%}"
    return f"{prompt:22} {told}, by usage {usage.get('prompt_cached', 0):7,.0f}, shared as text {shared(prompt):6.1%}"


def main() -> None:
    """Print a line for each prompt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", help="URL#MODEL of a vLLM server")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--prompts", nargs="*", default=["pairwise", "rating", "reference", "rubric"])
    args = parser.parse_args()
    if args.server:
        for name in args.prompts:
            print(served(args.server, name, args.candidates))
        return
    for name in prompt_names():
        print(f"{name:22} {shared(name):6.1%}")
    for name in ("rating", "pairwise"):
        print(f"{name + ', criteria':22} {shared(name, criteria=CRITERIA):6.1%}")


if __name__ == "__main__":
    main()
