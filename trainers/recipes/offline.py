"""Recipes without training: any engine instead of the live policy, and rows appended to a file, round by round."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import BaseModel

from verikit.engines.rollouts import Rollout, Rollouts, all_at_once
from verikit.engines.types import Engine, EnginePrompt, Request
from verikit.errors import ConfigError, SchemaError, VerikitError
from verikit.names.settings import checked
from verikit.platform.terminal import Watch
from verikit.trainers.config import changed
from verikit.trainers.recipe import Result, Sampler

Options = TypeVar("Options", bound=BaseModel)

TOKEN = 4
"""Characters that count as one token where an engine has no tokenizer here."""
WORKERS = 4
BARREN = 20
"""Rounds in a row without a row after which making data stops."""


class Pieces:
    """Stands in for a tokenizer: pieces of four characters."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[str]:
        """Cut a text."""
        return [text[at : at + TOKEN] for at in range(0, len(text), TOKEN)]

    def decode(self, pieces: Sequence[str], skip_special_tokens: bool = True) -> str:
        """Join pieces."""
        return "".join(pieces)


class Offline(Sampler):
    """An engine as a sampler: `encode` returns a ticket as long as the prompt's estimated tokens; that is sent."""

    name: str
    local: Engine
    tokenizer: Any

    def __init__(self, engine: Engine, seed: int) -> None:
        self.name, self.local, self._seed, self._round = engine.name, engine, seed, 0
        self.tokenizer = Pieces()
        self._tickets: list[EnginePrompt] = []
        self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="verikit-work")

    def at(self, number: int) -> None:
        """Key what is drawn from now on by a round."""
        self._round = number
        self._tickets.clear()

    def encode(self, prompt: EnginePrompt) -> list[int]:
        """Return a ticket: the prompt's index, once for each token."""
        self._tickets.append(prompt)
        text = prompt if isinstance(prompt, str) else json.dumps(list(prompt))
        return [len(self._tickets) - 1] * max(1, len(text) // TOKEN)

    def decode(self, ids: Sequence[int]) -> str:
        """Return a ticket's prompt as text."""
        prompt = self._tickets[ids[0]]
        return prompt if isinstance(prompt, str) else json.dumps(list(prompt), ensure_ascii=False)

    def seed(self, *key: int | str) -> int:
        """Hash (seed, round, key)."""
        digest = hashlib.blake2b(repr((self._seed, self._round, *key)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 33  # servers take 31 bits

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run the rollouts on the engine."""
        run = Rollouts(self.local, rollouts, self._threads, lambda key, request: self._real(request))
        done = run.run(all_at_once(range(len(rollouts))))
        return [done[number] for number in range(len(rollouts))]

    def close(self) -> None:
        """End the threads and the engine."""
        self._threads.shutdown(cancel_futures=True)
        self.local.close()

    def _real(self, request: Request) -> Request:
        """Send the prompt itself, and ask for no log-probabilities, which not every server gives."""
        return replace(request, prompt=self._tickets[request.prompt_ids[0]], logprobs=None)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an earlier run, and take its last round out of the file, which may not be whole.

    Raises:
        SchemaError: a row is none that `synth` writes.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            row["round"] + 0
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SchemaError(f"not a row of `verikit synth`: {error}", file=path, line=number) from None
        rows.append(row)
    kept = [row for row in rows if row["round"] != rows[-1]["round"]]
    with open(path, "r+b") as stream:
        stream.truncate(sum(len(line) + 1 for line in lines[: len(kept)]))
    return kept


def append_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows in one write.

    Raises:
        VerikitError: they can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as stream:
            stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace"))
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None


def fill_file(
    path: Path,
    count: int,
    make: Callable[[int], Sequence[Mapping[str, Any]]],
    before: Sequence[Mapping[str, Any]],
    *,
    quiet: bool,
) -> int:
    """Append the rows of round after round until there are so many, and return how many there are.

    Args:
        path: The file.
        count: Rows wanted.
        make: From a round's number to its rows; all that a round depends on is its number and the rows before.
        before: Rows of the rounds that are there.
        quiet: No progress on stderr.

    Raises:
        ConfigError: a model makes nothing for long.
    """
    found, barren, number = len(before), 0, before[-1]["round"] if before else 0
    with Watch(quiet=quiet) as watch:
        watch.start(lambda seconds: f"{found}/{count} · round {number} · {seconds:.0f} s")
        while found < count:
            number += 1
            rows = make(number)[: count - found]
            barren = 0 if rows else barren + 1
            if barren >= BARREN:
                hint = "a stronger model or other options may make some; --set max_tokens=…, for one"
                raise ConfigError(f"{barren} rounds in a row made nothing valid", hint=hint)
            append_rows(path, rows)
            found += len(rows)
    return found


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that all makers of data share."""
    for option in reversed(
        [
            click.option("-e", "--engine", required=True, metavar="SPEC", help="openai:URL#MODEL, hf:PATH, …"),
            click.option("-o", "--out", required=True, metavar="FILE", type=click.Path(path_type=Path)),
            click.option("-n", "--count", default=1000, show_default=True, type=click.IntRange(1), help="Rows."),
            click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="An option of the recipe."),
            click.option("--seed", default=0, show_default=True),
            click.option("-q", "--quiet", is_flag=True, help="No progress."),
        ]
    ):
        command = option(command)
    return command


def recipe_options(kind: type[Options], changes: Sequence[str], **others: Any) -> Options:
    """Read a recipe's options from KEY=VALUE changes.

    Raises:
        ConfigError: a key or value is wrong.
    """
    table = changed({"options": {}}, [f"options.{change}" for change in changes])
    return checked(kind, others | table["options"], "options.")
