"""Converts rows one at a time to a file, and optionally to a held-out file that shares no prompt with it."""

from __future__ import annotations

import hashlib
import heapq
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from verikit.convert.forms import Form
from verikit.convert.inputs import Rows
from verikit.convert.parts import FOLDER, LeftOut
from verikit.errors import SchemaError, UsageError
from verikit.readers import IdIndex, placed
from verikit.readers.parse import JsonRow

PART = ".part"
_HEX = 32
"""Digits of a prompt's digest, which begins a line while it is not known which prompts are held out."""


@dataclass(slots=True)
class ConversionCounts:
    """Counts of a conversion."""

    read: int = 0
    """Rows read from the source."""
    written: int = 0
    held_out: int = 0
    bad: int = 0
    repeated: int = 0
    """Passages that were seen before."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Rows that the format marks as unusable, by reason."""


def convert(
    form: Form,
    source: Rows,
    out: Path | None,
    write: Callable[[bytes], object] | None = None,
    *,
    held_out: int = 0,
    held_out_path: Path | None = None,
    seed: int = 0,
    limit: int | None = None,
    tell: Callable[[SchemaError], None] = lambda error: None,
    watch: Callable[[ConversionCounts], None] = lambda state: None,
) -> ConversionCounts:
    """Convert rows. Files appear under their names once they are complete.

    Args:
        form: The format of the rows.
        source: The output of `verikit.convert.inputs.rows`.
        out: The output file. None sends rows to `write`.
        write: Receives each row's line instead of a file.
        held_out: Number of distinct prompts written to `held_out_path` with all their rows. They are selected by a hash
            of seed and prompt, regardless of the order of the rows.
        held_out_path: The held-out file.
        seed: Seed of the selection.
        limit: Maximum number of rows written, counting both files.
        tell: Receives each bad row's error.
        watch: Called with the progress after each row.

    Raises:
        UsageError: The source can't be read, no row could be converted, or there are too few prompts to hold out.
    """
    state = ConversionCounts()
    lines = _lines(form, source, state, tell, watch, limit)
    if out is None:
        for _, line in lines:
            if write is not None:
                write(line)
    elif held_out and held_out_path is not None:
        _divided(lines, out, held_out_path, held_out, seed, state)
    else:
        _whole(lines, out)
    return state


def _lines(
    form: Form,
    source: Rows,
    state: ConversionCounts,
    tell: Callable[[SchemaError], None],
    watch: Callable[[ConversionCounts], None],
    limit: int | None,
) -> Iterator[tuple[JsonRow, bytes]]:
    """Yield each converted row with its line.

    Raises:
        UsageError: There are no rows.
    """
    with closing(IdIndex()) as ids, closing(IdIndex()) if form.distinct else nullcontext() as contents:
        for row in _made(form, source, state, tell, watch):
            if contents is not None and contents.add(f"{row.get('title')}\n{row.get('text')}", 1):
                state.repeated += 1
                continue
            state.written += 1
            number = state.read if form.prompts else state.written
            row["id"] = _free_id(row["id"] or f"{form.name}-{number}", ids, state)
            yield row, json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            if limit is not None and state.written >= limit:
                break
    if not state.written:
        raise _no_rows(form, state)


def _no_rows(form: Form, state: ConversionCounts) -> UsageError:
    counts = f"{state.bad:,} bad" + (f", {state.left_out.total():,} left out" if state.left_out else "")
    return UsageError(
        f"conversion as {form.name} produced zero rows ({counts})", hint="`verikit data list` names the forms"
    )


def _free_id(name: str, ids: IdIndex, state: ConversionCounts) -> str:
    """Return the name, with a number appended if an earlier row has it, and note it."""
    id, number = name, state.written
    while ids.add(id, state.written):  # an id with a number appended may be another row's own id
        id = f"{name}-{number}"
        number += 1
    return id


def _made(
    form: Form,
    source: Rows,
    state: ConversionCounts,
    tell: Callable[[SchemaError], None],
    watch: Callable[[ConversionCounts], None],
) -> Iterator[JsonRow]:
    for file, line, row in source:
        state.read += 1
        try:
            if isinstance(row, SchemaError):
                raise row
            folder = os.path.dirname(file) if os.path.isfile(file) else None
            beside = {FOLDER: folder} if form.files_beside else {}  # a row must not name a local folder itself
            made = list(form.make({**row, **beside}))
        except SchemaError as error:
            state.bad += 1
            tell(placed(error, file, line))
            made = []
        except LeftOut as reason:
            state.left_out[str(reason)] += 1
            made = []
        watch(state)
        yield from made


def prompt_key(row: JsonRow) -> str:
    """Return a key that two rows with the same prompt share: its words, ignoring case and whitespace."""
    prompt = row["prompt"]
    said = prompt if isinstance(prompt, str) else "\n".join(f"{turn['role']}: {turn['content']}" for turn in prompt)
    return " ".join(said.casefold().split())


def _divided(
    lines: Iterable[tuple[JsonRow, bytes]], out: Path, other: Path, count: int, seed: int, state: ConversionCounts
) -> None:
    """Write the rows of the `count` prompts with the smallest digests to `other`, the rest to `out`, both in order.

    Raises:
        UsageError: There are no more prompts than that.
    """
    largest: list[int] = []  # a heap of negated digests: the largest of the smallest is on top
    drawn: set[int] = set()
    passed = False  # whether a prompt was seen that is not held out
    aside = Path(f"{out}.divided")
    try:
        with _named(aside) as stream:
            for row, line in lines:
                digest = hashlib.sha256(f"{seed}\0{prompt_key(row)}".encode("utf-8", "replace")).hexdigest()[:_HEX]
                number = int(digest, 16)
                if number not in drawn and (len(drawn) < count or number < -largest[0]):
                    heapq.heappush(largest, -number)
                    drawn.add(number)
                    if len(drawn) > count:
                        drawn.discard(-heapq.heappop(largest))
                        passed = True
                elif number not in drawn:
                    passed = True
                stream.write(digest.encode() + line)
        if not passed:
            found = f"only {len(drawn):,} distinct prompts"
            raise UsageError(f"--held-out is {count:,}, but there are {found}", hint="choose a smaller number")
        with open(aside, "rb") as stream, _named(out) as kept, _named(other) as apart:
            for line in stream:
                held = int(line[:_HEX], 16) in drawn
                (apart if held else kept).write(line[_HEX:])
                state.held_out += held
        state.written -= state.held_out
    finally:
        with suppress(OSError):
            aside.unlink()


def _whole(lines: Iterable[tuple[JsonRow, bytes]], out: Path) -> None:
    with _named(out) as stream:
        for _, line in lines:
            stream.write(line)


@contextmanager
def _named(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that gets its name once complete, and is removed otherwise. Devices and pipes are opened directly.

    Raises:
        UsageError: The file can't be written.
    """
    beside = not path.exists() or path.is_file()
    part = Path(f"{path}{PART}") if beside else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = open(part, "wb")  # noqa: SIM115 - closed below; only opening may fail here
    except OSError as error:
        raise UsageError(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None
    try:
        with stream:
            yield stream
        if beside:
            os.replace(part, path)
    finally:
        if beside:
            part.unlink(missing_ok=True)
