"""Supervised learning: next tokens under a mask, and classes of steps for a discriminative process reward model.

Both read JSON lines and train with `loss.kind = "likelihood"`: -log p at each trained position, averaged over the
batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from verikit.engines.prompts import prompt_ids
from verikit.engines.types import Request
from verikit.errors import ConfigError, EngineError, SchemaError
from verikit.trainers.recipe import Recipe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.base import Epochs

DataRow = Mapping[str, Any]


class SFTOptions(BaseModel):
    """[options] of `sft` and `step-labels`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    data: str = ""
    """JSON lines; see the recipes for their formats."""
    held_out: str = ""
    """More of them, to evaluate on; "": the last `held_out_size` rows of `data`."""
    held_out_size: int = Field(default=0, ge=0)
    """Rows at the end of `data` that are only evaluated on, without `held_out`."""
    batch: PositiveInt = 32
    """Sequences per step."""
    max_tokens: PositiveInt = 4096
    """Longer sequences are skipped and counted."""


class SFT(Recipe):
    """Imitates completions.

    A row is `{"prompt", "completion"}` (strings, continued as is), `{"messages": […]}` (by the chat template, training
    on every assistant turn), or `{"ids", "mask"}` as `verikit synth` writes.
    """

    name: ClassVar[str] = "sft"
    Options: ClassVar[type[BaseModel]] = SFTOptions
    rows: list[Trajectory]
    held_out: list[Trajectory]
    left_out: int

    def __init__(self, options: SFTOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.options: SFTOptions = options
        self.left_out = 0
        """Number of sequences skipped because of their length."""
        if not options.data:
            raise ConfigError("options.data names no file")
        rows = self._read(options.data)
        if options.held_out:
            self.rows, self.held_out = rows, self._read(options.held_out)
        else:
            cut = len(rows) - options.held_out_size
            self.rows, self.held_out = rows[:cut], rows[cut:]
        if not self.rows:
            raise ConfigError(f"{options.data} has no rows to learn from", hint="see options.held_out_size, max_tokens")
        self._epochs = Epochs(str(setting.seed), len(self.rows))

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Return the next batch; each epoch is a shuffle of all rows, keyed by the seed."""
        first = (step - 1) * self.options.batch
        return [self.rows[self._epochs.index(position)] for position in range(first, first + self.options.batch)]

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return the mean -log p of the held-out target tokens, and its exponential."""
        if not self.held_out:
            return {}
        asked = [Request(list(trajectory.ids), max_tokens=0, prompt_logprobs=0) for trajectory in self.held_out]
        losses = []
        for trajectory, generation in zip(self.held_out, sampler.generate(asked), strict=True):
            if generation.error is not None:
                raise generation.error
            told = zip(trajectory.mask, generation.prompt_logprobs, strict=True)
            losses += [-logprob for own, logprob in told if own and logprob is not None]
        return {"loss": fmean(losses)} if losses else {}

    def metrics(self) -> dict[str, float]:
        """Return how many sequences were too long."""
        return {"left_out": float(self.left_out)}

    def trajectory(self, row: DataRow) -> Trajectory:
        """Convert a row to a sequence.

        Raises:
            ValueError: The row's format is not supported. The message gives the reason.
            EngineError: An id is not in the vocabulary.
        """
        if "ids" in row:
            ids = prompt_ids(self.setting.tokenizer, Request(row["ids"]))
            mask = list(map(bool, row.get("mask", [1] * len(ids))))
        elif "messages" in row:
            ids, mask = self._conversation(row["messages"])
        elif "prompt" in row and "completion" in row:
            ids, mask = self._continued(row["prompt"], row["completion"])
        else:
            raise ValueError(f"row needs prompt and completion, messages, or ids and mask. Its keys: {', '.join(row)}")
        if len(mask) != len(ids):
            raise ValueError(f"{len(ids)} ids and a mask of {len(mask)}")
        if not any(mask[1:]):
            raise ValueError("row has no tokens to train on")
        return Trajectory(ids, mask, [0.0] * len(ids), None, "", weight=float(row.get("weight", 1.0)))

    def _continued(self, prompt: str, completion: str) -> tuple[list[int], list[bool]]:
        """Encode the two separately, to have a token boundary between them, and append the end token."""
        if not isinstance(prompt, str) or not isinstance(completion, str):
            raise ValueError("prompt and completion must be strings. Put conversations under messages")
        tokenizer = self.setting.tokenizer
        asked = list(tokenizer(prompt).input_ids)
        own = [*tokenizer(completion, add_special_tokens=False).input_ids, tokenizer.eos_token_id]
        return asked + own, [False] * len(asked) + [True] * len(own)

    def _conversation(self, messages: Sequence[Mapping[str, Any]]) -> tuple[list[int], list[bool]]:
        """Encode a conversation turn by turn. In assistant turns, text after the generation prompt is trained on."""
        tokenizer = self.setting.tokenizer
        if not tokenizer.chat_template:
            raise ValueError("the tokenizer has no chat template. Use prompt and completion")
        if not _is_conversation(messages):
            raise ValueError("messages is a list of objects with role and content")
        text = ""
        ids: list[int] = []
        mask: list[bool] = []
        for end, message in enumerate(messages, 1):
            own = message.get("role") == "assistant"
            before = list(messages[: end - 1]) if own else []
            prompt = self._rendered(before, add_generation_prompt=True) if before else ""
            whole = self._rendered(messages[:end])
            for piece, learnt in ((prompt, False), (whole, True)) if before else ((whole, own),):
                if not piece.startswith(text):
                    raise ValueError("the chat template changes earlier turns, so its turns can't be separated")
                new = tokenizer(piece[len(text) :], add_special_tokens=False).input_ids
                ids, mask, text = [*ids, *new], [*mask, *[learnt] * len(new)], piece
        return ids, mask

    def _rendered(self, messages: Sequence[Mapping[str, Any]], **options: bool) -> str:
        from jinja2 import TemplateError

        try:
            text: str = self.setting.tokenizer.apply_chat_template(list(messages), tokenize=False, **options)
        except TemplateError as error:
            raise ValueError(f"the chat template rejects the conversation: {error}") from None
        return text

    def _read(self, name: str) -> list[Trajectory]:
        path = self.setting.folder / name
        made = []
        for number, row in _rows(path):
            try:
                trajectory = self.trajectory(row)
            except (ValueError, TypeError, KeyError, EngineError) as error:
                raise SchemaError(str(error), file=path, line=number) from None
            if len(trajectory.ids) <= self.options.max_tokens:
                made.append(trajectory)
            else:
                self.left_out += 1
        return made


class StepLabelOptions(SFTOptions):
    """[options] of `step-labels`."""

    separator: str = "\n\n"
    """Separator after the problem and after each step. The class target is at a step's last token."""


class StepLabels(SFT):
    """Learns to classify the steps of a solution: a discriminative process reward model.

    A row is `{"problem" or "prompt", "steps": [strings], "labels": […]}`. A label is 1 for a right step, 0 for a wrong
    one, or null for a step without a target. The model has a head over two classes; class 1 means right.
    """

    name: ClassVar[str] = "step-labels"
    Options: ClassVar[type[BaseModel]] = StepLabelOptions
    model_class: ClassVar[str] = "AutoModelForTokenClassification"

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return an empty dict: a classifier does not sample. Score the exported model instead."""
        return {}

    def trajectory(self, row: DataRow) -> Trajectory:
        """Convert a row to a sequence. The mask is True at the last token of every labelled step.

        Raises:
            ValueError: Steps and labels don't fit.
        """
        problem, steps, labels = row.get("problem", row.get("prompt")), row.get("steps"), row.get("labels")
        if not isinstance(problem, str) or not isinstance(steps, list) or not isinstance(labels, list):
            raise ValueError(f"row needs problem, steps and labels. Its keys: {', '.join(row)}")
        if len(steps) != len(labels):
            raise ValueError(f"{len(steps)} steps and {len(labels)} labels")
        if other := [label for label in labels if label not in (0, 1, None)]:
            raise ValueError(f"a label must be 1, 0 or null, got {other[0]!r}")
        tokenizer, separator = self.setting.tokenizer, self.options.model_dump()["separator"]
        ids = list(tokenizer(problem + separator).input_ids)
        mask, classes = [False] * len(ids), [0] * len(ids)
        for text, label in zip(steps, labels, strict=True):
            new = tokenizer(str(text) + separator, add_special_tokens=False).input_ids
            ids += new
            mask += [False] * (len(new) - 1) + [label is not None]
            classes += [0] * (len(new) - 1) + [int(bool(label))]
        if not any(mask):
            raise ValueError("the steps have no labels")
        return Trajectory(ids, mask, [0.0] * len(ids), None, "", labels=classes)


def _is_conversation(messages: Any) -> bool:
    return isinstance(messages, list) and all(isinstance(message, dict) for message in messages)


def _rows(path: Path) -> Iterator[tuple[int, DataRow]]:
    """Yield (line, row) of a file of JSON lines.

    Raises:
        ConfigError: It can't be read.
        SchemaError: A line is not a JSON object.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise SchemaError(f"invalid JSON: {error}", file=path, line=number) from None
                if not isinstance(row, dict):
                    raise SchemaError("the row must be a JSON object", file=path, line=number)
                yield number, row
    except OSError as error:
        raise ConfigError(
            f"can't read {path}: {error.strerror}", hint="see options.data and options.held_out"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}") from None
