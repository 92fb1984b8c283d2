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
"""Estimated characters per token for engines without a local tokenizer."""
WORKERS = 4
BARREN = 20
"""Maximum consecutive rounds without a row. After that, generation stops."""


class Pieces:
    """Replaces a tokenizer: its tokens are pieces of four characters."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[str]:
        """Cut a string into pieces."""
        return [text[at : at + TOKEN] for at in range(0, len(text), TOKEN)]

    def decode(self, pieces: Sequence[str], skip_special_tokens: bool = True) -> str:
        """Join pieces."""
        return "".join(pieces)


class Offline(Sampler):
    """An engine as a sampler. `encode` returns a ticket of the prompt's estimated length. The prompt itself is sent."""

    name: str
    local: Engine
    tokenizer: Any

    def __init__(self, engine: Engine, seed: int) -> None:
        self.name, self.local, self._seed, self._round = engine.name, engine, seed, 0
        self.tokenizer = Pieces()
        self._tickets: list[EnginePrompt] = []
        self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="verikit-work")

    def at(self, number: int) -> None:
        """Key all further random numbers by a round."""
        self._round = number
        self._tickets.clear()

    def encode(self, prompt: EnginePrompt) -> list[int]:
        """Return a ticket: the prompt's index, repeated once per token."""
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
        """Send the prompt itself, without log-probabilities, which not every server supports."""
        return replace(request, prompt=self._tickets[request.prompt_ids[0]], logprobs=None)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an earlier run, and remove its last round from the file, since it may be incomplete.

    Raises:
        SchemaError: A row is not from `synth`.
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
            raise SchemaError(f"this row is not from `verikit synth`: {error}", file=path, line=number) from None
        rows.append(row)
    kept = [row for row in rows if row["round"] != rows[-1]["round"]]
    with open(path, "r+b") as stream:
        stream.truncate(sum(len(line) + 1 for line in lines[: len(kept)]))
    return kept


def append_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows in one write.

    Raises:
        VerikitError: They can't be written.
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
    """Append rows round by round until the file has `count` rows, and return their number.

    Args:
        path: The file.
        count: Required number of rows.
        make: Returns a round's rows, given its number. A round depends only on its number and the rows before.
        before: Rows of the existing rounds.
        quiet: No progress on stderr.

    Raises:
        ConfigError: The model makes no valid row for many rounds.
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
    """Add the options that all data commands share."""
    for option in reversed(
        [
            click.option("-e", "--engine", required=True, metavar="SPEC", help="openai:URL#MODEL, hf:PATH, …"),
            click.option("-o", "--out", required=True, metavar="FILE", type=click.Path(path_type=Path)),
            click.option("-n", "--count", default=1000, show_default=True, type=click.IntRange(1), help="Rows."),
            click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="An option of the recipe."),
            click.option("--seed", default=0, show_default=True),
            click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
        ]
    ):
        command = option(command)
    return command


def recipe_options(kind: type[Options], changes: Sequence[str], **others: Any) -> Options:
    """Read a recipe's options from KEY=VALUE changes.

    Raises:
        ConfigError: A key or value is wrong.
    """
    table = changed({"options": {}}, [f"options.{change}" for change in changes])
    return checked(kind, others | table["options"], "options.")
