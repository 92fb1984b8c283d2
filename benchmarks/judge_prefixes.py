"""How much of a judge's prompt two answers to one question share: what a server's prefix cache need not compute again.

    python -m benchmarks.judge_prefixes

No model is asked: the prompts are compared as texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from verikit.engines import Engine, Generation, Output, Request
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


def main() -> None:
    """Print a line for each prompt."""
    for name in prompt_names():
        print(f"{name:22} {shared(name):6.1%}")
    for name in ("rating", "pairwise"):
        print(f"{name + ', criteria':22} {shared(name, criteria=CRITERIA):6.1%}")


if __name__ == "__main__":
    main()
