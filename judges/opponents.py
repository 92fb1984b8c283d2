"""Opponents' precomputed answers (Elo-Evolve): one file, looked up by model and prompt.

Rows are `{"model", "key", "completion"}`. The key is a hash of the prompt, so after a change of the prompt its answer
is missing rather than wrong. A miss is an error unless an engine is available to answer it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from verikit.engines import Engine, Request
from verikit.errors import SchemaError, UsageError, VerikitError
from verikit.judges.evidence.content import as_pairs
from verikit.platform.system import lock_file
from verikit.types import Message, Prompt


class Opponents:
    """Answers by model and prompt, stored in an append-only file."""

    def __init__(self, path: str | Path | None = None, *, max_tokens: int = 2048) -> None:
        """Read the file. A missing file counts as empty. Without a path, answers are only in memory.

        Raises:
            UsageError: The file can't be read.
            SchemaError: A row is not an answer.
        """
        self._path, self._max_tokens = None if path is None else Path(path), max_tokens
        self._answers: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()
        try:
            content = self._path.read_bytes() if self._path and self._path.exists() else b""
        except OSError as error:
            raise UsageError(f"can't read {path}: {error.strerror}") from None
        # A last line without a line end was being written when the writer died. Only its answer is missing.
        for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
            try:
                row = json.loads(line)
                self._answers[row["model"], row["key"]] = str(row["completion"])
            except (ValueError, KeyError, TypeError) as error:
                raise SchemaError(f"must be an opponent's answer: {error!r}", file=path or "", line=number) from None

    def __len__(self) -> int:
        return len(self._answers)

    def answer(self, model: str, prompt: Prompt) -> str:
        """The answer of a model to a prompt.

        Raises:
            VerikitError: There is no answer, or the prompt has changed since.
        """
        try:
            return self._answers[model, prompt_key(prompt)]
        except KeyError:
            hint = "let `fill` answer it, or make the answers beforehand"
            raise VerikitError(f"{self._path or 'memory'}: no answer of {model!r} to this prompt", hint=hint) from None

    def has(self, model: str, prompt: Prompt) -> bool:
        """Whether there is an answer of a model to a prompt."""
        return (model, prompt_key(prompt)) in self._answers

    def add(self, model: str, answers: Mapping[str, str]) -> None:
        """Add answers by their prompts' keys to this object only. The file is unchanged."""
        with self._lock:
            self._answers |= {(model, key): text for key, text in answers.items()}

    def fill(self, model: str, prompts: Sequence[Prompt], engine: Engine) -> Mapping[str, Exception]:
        """Let an engine generate the missing answers in one call, and append them.

        Returns:
            The errors of prompts that remain unanswered, by key.
        """
        missing = {prompt_key(p): p for p in prompts if (model, prompt_key(p)) not in self._answers}
        requests = [Request(_messages(prompt), max_tokens=self._max_tokens) for prompt in missing.values()]
        failed: dict[str, Exception] = {}
        made: dict[str, str] = {}
        for key, generation in zip(missing, engine.generate(requests) if requests else [], strict=True):
            if generation.error is not None or not generation.outputs:
                failed[key] = generation.error or VerikitError("the engine gave no output")
            else:
                made[key] = generation.outputs[0].text
        if self._path is not None:
            self._append(self._path, model, made)
        self.add(model, made)
        return failed

    def _append(self, path: Path, model: str, made: Mapping[str, str]) -> None:
        """Append answers to the file. Other processes may write to it at the same time."""
        rows = [{"model": model, "key": key, "completion": text} for key, text in made.items()]
        with self._lock, open(path, "a+b") as stream:
            lock_file(stream, wait=True)
            _cut_torn_line(stream)
            stream.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def _cut_torn_line(stream: IO[bytes]) -> None:
    """Cut off an incomplete last line, if any."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 1))
    if stream.read() not in (b"", b"\n"):
        stream.seek(0)
        stream.truncate(stream.read().rfind(b"\n") + 1)


def prompt_key(prompt: Prompt) -> str:
    """16 hex digits of a prompt. A single user message is the same prompt as its text."""
    return hashlib.sha256(json.dumps(as_pairs(prompt)).encode()).hexdigest()[:16]


def _messages(prompt: Prompt) -> Sequence[Message]:
    return [Message(role="user", content=prompt)] if isinstance(prompt, str) else prompt
