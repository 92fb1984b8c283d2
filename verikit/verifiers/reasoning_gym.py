"""reasoning_gym's datasets (Stojanovski et al. 2025, arXiv 2505.24760): each row's own scorer, in the sandbox.

Some of the package's scorers run answers as Python. So all of them run in a sandboxed child with a deadline, which
reads answers as literals and plain formulas only (`sandbox/guest/gym_score.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from verikit.base import TextVerifier
from verikit.errors import MissingExtra
from verikit.replies.text import tagged
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, default_sandbox
from verikit.sandbox.guest import source
from verikit.types import Gold, Sample, Score

MAX_CHARS = 20_000
"""Maximum characters of an answer; a longer one is not an answer."""
_FULL = 1.0 - 1e-9


@dataclass(frozen=True)
class ReasoningGym(TextVerifier):
    """The score that reasoning_gym gives the answer, 0 to 1, by the row's own dataset.

    A row is an entry of the package: the question, `answer`, and `metadata` with `source_dataset`. `config` may have
    settings of its dataset. `verikit synth reasoning-gym` creates such rows.
    """

    dataset: str = ""
    """The dataset's name. "": the row's `dataset`, or `metadata.source_dataset`."""
    tag: str = "answer"
    """The answer is read from the last such tag. "": it is the whole reply."""
    full: bool = False
    """Accept only full scores. Partial ones, which wrong answers often get too, become 0."""
    wall_s: float = 5.0
    """Seconds per answer. An answer that takes longer is 0.0."""
    memory_mb: int = 1024
    """Memory of its process, in MiB."""
    name = "reasoning_gym"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample in its own child, as many in parallel as the machine has CPU cores.

        Raises:
            MissingExtra: reasoning_gym is not installed.
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
        """
        if not _installed():
            raise MissingExtra("reasoning_gym", "reasoning-gym")
        box = default_sandbox(ISOLATION)
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-reasoning-gym") as threads:
            return list(threads.map(lambda sample: self._score_sample(sample, box), samples))

    @property
    def slowest_s(self) -> float:
        """The deadline of one answer."""
        return self.wall_s

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them."""
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()}

    def _score_sample(self, sample: Sample, box: LocalSandbox) -> Score:
        metadata, config = sample.meta.get("metadata"), sample.meta.get("config") or {}
        if not isinstance(metadata, Mapping) or not isinstance(config, Mapping):
            return Score.error("the row has no entry of reasoning_gym: its `metadata` is missing, or no object")
        name = self.dataset or sample.meta.get("dataset") or metadata.get("source_dataset")
        if not isinstance(name, str):
            return Score.error("the row names no reasoning_gym dataset. Set `dataset` or `metadata.source_dataset`")
        answer = tagged(sample.completion, self.tag) if self.tag else sample.completion.strip()
        if answer is None:
            return Score(0.0, reason=f"no <{self.tag}> in the reply")
        if len(answer) > MAX_CHARS:
            return Score(0.0, reason=f"{len(answer)} characters, over the cap of {MAX_CHARS}")
        entry = {"question": str(sample.prompt), "answer": _gold(sample.answer), "metadata": metadata}
        try:
            arguments = [name, answer, json.dumps(entry), json.dumps(config)]
        except (TypeError, ValueError) as error:
            return Score.error(f"the row's entry is not JSON: {error}")
        return self._run(box, arguments, answer)

    def _run(self, box: LocalSandbox, arguments: list[str], answer: str) -> Score:
        limits = RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb)
        result = box.run(source("gym_score"), call=("score", arguments, {}), limits=limits)
        if result.status == "infra_error":
            return Score.error(f"the sandbox failed: {result.error}")
        if result.status != "ok":
            return Score(
                0.0, answer=answer, reason=f"{result.status} while the answer was scored ({result.error})"[:500]
            )
        kind, told = result.value
        if kind == "row":
            return Score.error(str(told)[:500])
        if kind == "answer":
            return Score(0.0, answer=answer, reason=str(told)[:500])
        if not math.isfinite(told):
            return Score(0.0, answer=answer, reason=f"the scorer of {arguments[0]} gives {told}")
        value = float(told >= _FULL) if self.full else told
        return Score(value, answer=answer, reason=f"{told:.4g} by {arguments[0]}")


@cache
def _installed() -> bool:
    return find_spec("reasoning_gym") is not None


def _gold(answer: Gold) -> str | None:
    return answer if answer is None or isinstance(answer, str) else next(iter(answer), None)
