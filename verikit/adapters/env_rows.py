"""The data of a written environment package: `tasks.jsonl` and `verifier.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import Any

from verikit.adapters.reward import Reward, gold_of, prompt_of
from verikit.errors import SchemaError, UsageError
from verikit.messages import continuation, thoughts_of
from verikit.types import Group, Sample, Score

TASKS, VERIFIER = "tasks.jsonl", "verifier.json"


def packed(problems: Iterable[Group]) -> str:
    """Problems as the lines of `tasks.jsonl`, in ASCII."""
    return "".join(json.dumps(_packed(problem, number), default=str) + "\n" for number, problem in enumerate(problems))


def _packed(problem: Group, number: int) -> dict[str, Any]:
    prompt = [{"role": "user", "content": problem.prompt}] if isinstance(problem.prompt, str) else list(problem.prompt)
    found = {"id": problem.id or f"task-{number}", "prompt": prompt, "answer": gold_of(problem.answer)}
    return found | {"meta": dict(problem.meta)}


def stored_reward(folder: Traversable) -> Reward:
    """The verifier of a written package.

    Raises:
        UsageError: Its file is missing or damaged.
    """
    try:
        told = json.loads((folder / VERIFIER).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the environment's verifier can't be read: {error}") from None
    if not isinstance(told, Mapping) or not isinstance(told.get("spec"), str):
        raise SchemaError("must be a string", file=VERIFIER, field="spec")
    return Reward(told["spec"], None, None, echoes=False)


class EnvironmentRows:
    """The tasks of a written package and the verifier that rewards them.

    Args:
        folder: The package's data folder (`importlib.resources.files`).

    Raises:
        UsageError: A file is missing or damaged.
    """

    def __init__(self, folder: Traversable) -> None:
        try:
            lines = (folder / TASKS).read_text("utf-8").splitlines()
            self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
        except (OSError, ValueError) as error:
            raise UsageError(f"the environment's tasks can't be read: {error}") from None
        self.reward = stored_reward(folder)

    def __len__(self) -> int:
        return len(self.rows)

    def sample(self, index: int, completion: Any) -> Sample:
        """A completion of a task as a sample."""
        row = self.rows[index]
        return Sample(prompt_of(row["prompt"]), completion, gold_of(row["answer"]), str(row["id"]), row["meta"])

    def trace_sample(self, index: int, trace: Any) -> Sample:
        """A rollout of verifiers as a sample: its last reply, with all messages after the prompt."""
        found = self.sample(index, "")
        turns = continuation(getattr(trace, "messages", None) or (), found.prompt)
        return Sample(
            found.prompt,
            str(trace.last_reply),
            found.answer,
            found.id,
            found.meta,
            thoughts=thoughts_of(turns),
            messages=turns,
        )

    def score(self, index: int, completion: Any) -> Score:
        """Score a completion of a task, in a batch with the requests of other threads."""
        return self.reward.gather.submit(self.sample(index, completion)).result()
