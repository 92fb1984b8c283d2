"""ray.data: `score_dataset(dataset, "answer")`, or `dataset.map_batches(ScoreBatch, fn_constructor_args=("answer",))`.

A pool of actors that takes every CPU of a cluster leaves none for the tasks that read the data. The pipeline then waits
for ever without an error (seen with Ray 2.60: two actors of 0.9 CPU on 2 CPUs). `score_dataset` leaves one free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.adapters.reward import gold_of, prompt_of
from verikit.errors import UsageError, nearest
from verikit.names.spec import load
from verikit.scoring.on_ray import connect, share
from verikit.types import Sample

BATCH = 1024
"""Rows per batch, unless the verifier sets a larger one."""


class ScoreBatch:
    """Adds columns to a batch: the score (NaN if unscored), its status, its reason, and the extracted answer.

    Args:
        spec: The verifier.
        prompt: The column of prompts. It is optional.
        completion: The column of completions.
        answer: The column of gold answers. It is optional.
    """

    def __init__(
        self, spec: str, prompt: str = "prompt", completion: str = "completion", answer: str = "answer"
    ) -> None:
        self._verifier = load(spec)
        self._columns = prompt, completion, answer

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Score a batch. Columns that are not named go to each sample's meta.

        Raises:
            UsageError: There is no column of completions.
        """
        import numpy

        scores = self._verifier.score(self._samples(batch))
        return {
            **batch,
            "score": numpy.array([score.filled(float("nan")) for score in scores], dtype=float),
            "score_status": numpy.array([score.status for score in scores], dtype=object),
            "score_reason": numpy.array([score.reason for score in scores], dtype=object),
            "score_answer": numpy.array([score.answer for score in scores], dtype=object),
        }

    def _samples(self, batch: Mapping[str, Any]) -> list[Sample]:
        prompt, completion, answer = self._columns
        if completion not in batch:
            raise UsageError(f"column {completion!r} not found", hint=nearest(completion, batch))
        completions = batch[completion]
        absent = [None] * len(completions)
        prompts, golds = (batch.get(key, absent) for key in (prompt, answer))
        rest = [key for key in batch if key not in self._columns]
        return [
            Sample(prompt_of(prompts[i]), completions[i], gold_of(golds[i]), meta={key: batch[key][i] for key in rest})
            for i in range(len(completions))
        ]


def score_dataset(dataset: Any, spec: str, *, actors: int | None = None, **columns: str) -> Any:
    """Score a ray.data Dataset in a pool of actors, leaving a CPU for its reading tasks.

    Args:
        dataset: A dataset with one row per completion.
        spec: The verifier.
        actors: Number of actors. None uses one per CPU, except for one CPU.
        columns: Names of the columns, as in `ScoreBatch`.

    Raises:
        MissingExtra: ray is not installed.
        SpecError: The spec can't be parsed.
    """
    verifier = load(spec)
    ray, count = connect("ray" if actors is None else f"ray:{actors}")
    from ray.data import ActorPoolStrategy

    return dataset.map_batches(
        ScoreBatch,
        fn_constructor_args=(spec,),
        fn_constructor_kwargs=columns,
        batch_size=max(BATCH, verifier.batch),
        compute=ActorPoolStrategy(size=count),
        num_cpus=share(ray, count),
    )
