"""Turns a file of prompts into a file of rows. An interrupted run resumes and produces a byte-identical file.

Rows appear in OUT in the order of their prompts, each once its samples are complete. OUT.run contains the plan in its
first line, and then, one per line, the samples of rows that are not in OUT yet. Samples that were paid for therefore
survive a kill at any moment. When OUT is complete, OUT.run contains only the plan.

Rerunning the command resumes the run and repeats failed requests. OUT is cut before the first row with a failed sample,
and the good samples from there on return to OUT.run. If more samples per prompt are requested than before, all of OUT
returns there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Protocol, Self

from verikit.engines.types import Engine
from verikit.errors import SchemaError, UsageError
from verikit.platform.system import lock_file
from verikit.sampling.core import Keep, Kept, SampledRow, StopRule, keep_none, none_kept, sample
from verikit.sampling.settings import SamplingSettings
from verikit.stats.early import EARLY_STOP
from verikit.types import Group, JsonObject

Prompts = Iterable[tuple[int, Group | SchemaError]]
FORM = 1
"""Version of the journal's format."""
JOURNAL = ".run"
"""Suffix that the journal's name adds to the file's."""


class SampleFile:
    """OUT and its journal, open and locked. A context manager."""

    def __init__(self, path: Path, plan: JsonObject, *, restart: bool = False) -> None:
        """Open or create the two files, and return to the last complete state of an earlier run.

        Args:
            path: OUT.
            plan: The settings that determine the samples, as JSON values, with `n`.
            restart: Start again.

        Raises:
            UsageError: The file was created with another plan or not by a run, or another run has it open.
        """
        self.path: Path = path
        self.answered = False
        """Whether an earlier run left samples."""
        self._noted: dict[str, dict[int, int]] = {}
        """Offsets in the journal of a prompt's samples, by their numbers."""
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = path.with_name(path.name + JOURNAL)
        if path.exists() and path.stat().st_size and not journal.exists() and not restart:
            raise UsageError(
                f"{path} exists, and was not written by this command",
                hint="overwrite it with --restart, or choose another --out",
            )
        with ExitStack() as stack:
            self._journal: IO[bytes] = stack.enter_context(open(journal, "a+b"))
            self._lock()
            self._rows: IO[bytes] = stack.enter_context(open(path, "a+b"))
            if restart:
                self._rows.truncate(0)
                self._journal.truncate(0)
            self._recover({**plan, "form": FORM})
            self.answered = bool(self._noted) or path.stat().st_size > 0
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def skip(self, prompts: Iterator[tuple[int, Group]]) -> tuple[int, int]:
        """Skip the prompts whose rows the file contains. Return the numbers of rows and samples.

        Raises:
            UsageError: A row belongs to another prompt.
        """
        rows = samples = 0
        with open(self.path, "rb") as lines:
            for line in lines:
                row, pair = json.loads(line), next(prompts, None)
                rows, samples = rows + 1, samples + len(row["completions"])
                if pair is None or _key(row["id"], row["prompt"]) != _key(pair[1].id, pair[1].prompt):
                    problem = f"{self.path} was sampled from another file: its row {rows} is of another prompt"
                    raise UsageError(problem, hint="--restart, or another --out")
        return rows, samples

    def kept(self, line: int, group: Group) -> Mapping[int, JsonObject]:
        """Return a prompt's samples from the journal."""
        found: dict[int, JsonObject] = {}
        for index, offset in self._noted.get(_key(group.id, group.prompt), {}).items():
            self._journal.seek(offset)
            found[index] = json.loads(self._journal.readline())["sample"]
        return found

    def note(self, line: int, group: Group, candidate: JsonObject) -> None:
        """Write a sample to the journal."""
        _append(self._journal, {"prompt": _key(group.id, group.prompt), "sample": candidate})

    def add(self, row: SampledRow) -> None:
        """Write a row."""
        _append(self._rows, row.to_json())

    def finish(self) -> None:
        """Reduce the journal to the plan: every row is in the file."""
        self._journal.seek(0)
        self._journal.truncate(len(self._journal.readline()))

    def _lock(self) -> None:
        try:
            lock_file(self._journal)
        except OSError:
            raise UsageError(f"another run writes {self.path}", hint="wait for it, or name another --out") from None

    def _recover(self, plan: JsonObject) -> None:
        for stream in (self._journal, self._rows):
            _cut_torn(stream)
        self._journal.seek(0)
        first = self._journal.readline()
        if not first:
            self._journal.write(_head(plan["n"]) + b", " + _line({k: v for k, v in plan.items() if k != "n"})[1:])
            self._journal.flush()
            return
        made = _read(first, self._journal.name)
        if problem := _differs(made, plan):
            raise UsageError(f"{self.path} was sampled otherwise: {problem}", hint="--restart, or another --out")
        self._index(len(first))
        self._move_back(everything=plan["n"] > made["n"], needed=EARLY_STOP if plan.get("until") else "id")
        if plan["n"] != made["n"]:
            self._replan(plan["n"])

    def _index(self, offset: int) -> None:
        while line := self._journal.readline():
            self._noted_at(_read(line, self._journal.name), offset)
            offset += len(line)

    def _noted_at(self, record: JsonObject, offset: int) -> None:
        self._noted.setdefault(record["prompt"], {})[record["sample"]["index"]] = offset

    def _move_back(self, *, everything: bool, needed: str) -> None:
        """Move rows to the journal, starting at the first with a failed sample, then cut them off.

        Rows without the `needed` key, written by an earlier version, are moved as well and written again.
        """
        end, keep = 0, not everything
        with open(self.path, "rb") as lines:
            for line in lines:
                row = _read(line, str(self.path))
                keep = keep and "failed" not in row and needed in row
                if keep:
                    end += len(line)
                    continue
                self._put_back(row)
        self._rows.truncate(end)

    def _put_back(self, row: JsonObject) -> None:
        """Write the samples of a row that is cut off to the journal."""
        for candidate in row["completions"]:
            record = {"prompt": _key(row["id"], row["prompt"]), "sample": candidate}
            self._noted_at(record, self._journal.seek(0, os.SEEK_END))
            _append(self._journal, record)

    def _replan(self, n: int) -> None:
        """Overwrite the plan's n in place."""
        with open(self._journal.name, "r+b") as head:
            head.write(_head(n))


class RowSampler(Protocol):
    """Makes rows from prompts. `verikit.sampling.core.sample` with its rule is one."""

    def __call__(
        self,
        engine: Engine,
        prompts: Iterable[tuple[int, Group]],
        settings: SamplingSettings,
        *,
        kept: Kept = none_kept,
        keep: Keep = keep_none,
        answered: bool = False,
    ) -> Iterator[SampledRow]:
        """Yield the rows in order. `kept` returns an earlier run's samples, and `keep` is called with each new one.

        `answered`: whether an earlier run got replies.
        """
        ...


class SamplingRun:
    """A sampling run and its counts, updated as results arrive. `rows` is the run itself."""

    def __init__(
        self,
        engine: Engine,
        settings: SamplingSettings,
        rule: StopRule | None = None,
        *,
        ahead: int = 1,
        sampler: RowSampler | None = None,
    ) -> None:
        self.engine: Engine = engine
        self.settings: SamplingSettings = settings
        self.sampler: RowSampler = sampler or partial(sample, rule=rule, ahead=ahead)
        self.searches: bool = sampler is not None
        """Whether replies are the steps of a search rather than samples."""
        self.done = 0
        """Number of complete rows, including those of an earlier run."""
        self.earlier = 0
        """Rows of an earlier run."""
        self.samples = 0
        """Samples in them."""
        self.failed = 0
        """Requests that failed."""
        self.asked = 0
        """Replies received in this run: samples, or the steps of a search."""
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.judged_tokens = 0
        """Tokens that a search spent on judging."""
        self.bad_rows: list[SchemaError] = []

    def rows(self, prompts: Prompts, out: SampleFile | None = None) -> Iterator[SampledRow]:
        """Sample the prompts and yield their rows, each once it is in `out`. Rows already in `out` are not yielded.

        Raises:
            EngineError: The engine is unreachable.
            UsageError: `out` was created from other prompts.
        """
        numbered = self._good(prompts)
        if out is None:
            rows = self.sampler(self.engine, numbered, self.settings, keep=self._count)
        else:
            self.done, self.samples = out.skip(numbered)
            self.earlier = self.done

            def keep(line: int, group: Group, candidate: JsonObject) -> None:
                self._count(line, group, candidate)
                if "error" not in candidate:
                    out.note(line, group, candidate)

            rows = self.sampler(self.engine, numbered, self.settings, kept=out.kept, keep=keep, answered=out.answered)
        for row in rows:
            if out is not None:
                out.add(row)
            self.done += 1
            self.samples += len(row.candidates)
            self.failed += len(row.failed)
            yield row
        if out is not None:
            out.finish()

    def _good(self, prompts: Prompts) -> Iterator[tuple[int, Group]]:
        for line, group in prompts:
            if isinstance(group, SchemaError):
                self.bad_rows.append(group)
            else:
                yield line, group

    def _count(self, line: int, group: Group, candidate: JsonObject) -> None:
        self.asked += "text" in candidate
        self.judged_tokens += candidate.get("judged", 0)
        usage = candidate.get("usage", {})
        self.prompt_tokens += usage.get("prompt_tokens", 0)
        self.completion_tokens += usage.get("completion_tokens", 0)


def _key(id: str, prompt: object) -> str:
    """Return a key for a prompt: a hash of its id and text."""
    return hashlib.sha256(json.dumps([id, prompt], sort_keys=True, default=str).encode()).hexdigest()[:24]


def _differs(made: JsonObject, plan: JsonObject) -> str:
    """Describe how a plan differs from the stored one. Fewer samples also differ, since paid samples would be lost."""
    names = sorted(name for name in {*made, *plan} if name != "n" and made.get(name) != plan.get(name))
    if not names and plan["n"] < made["n"]:
        names = ["n"]
    return ", ".join(f"{name} was {json.dumps(made.get(name))}, is {json.dumps(plan.get(name))}" for name in names)


def _head(n: int) -> bytes:
    """Return the start of the plan's line, of the same length for every n, so another n can overwrite it."""
    return b'{"n": %-12d' % n


def _line(value: JsonObject) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def _append(stream: IO[bytes], value: JsonObject) -> None:
    stream.write(_line(value))  # the file is open for appending
    stream.flush()


def _read(line: bytes, name: str) -> JsonObject:
    try:
        found: JsonObject = json.loads(line)
    except (ValueError, RecursionError):
        found = {}
    if not isinstance(found, dict) or not {"n", "prompt"} & found.keys():  # a plan, or a row or sample
        raise UsageError(f"{name} is damaged", hint="--restart, or a copy of it")
    return found


def _cut_torn(stream: IO[bytes]) -> None:
    """Cut off an incomplete last line."""
    end = stream.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - 65536)
        stream.seek(start)
        at = stream.read(end - start).rfind(b"\n")
        if at >= 0:
            stream.truncate(start + at + 1)
            return
        end = start
    stream.truncate(0)
