"""A run's output folder: one writer at a time, append-only files, and commits that survive a kill at any moment.

A commit is one line of `.progress`: the last finished input row, and the size and checksum of each file (see `sums`).
Opening the folder returns to the last commit that the files still contain and cuts off anything written after it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Self
from zlib import crc32

from verikit.errors import DISK_FULL, UsageError, VerikitError
from verikit.platform.folders import refuse_links
from verikit.platform.secrets import strike_all
from verikit.platform.system import lock_file
from verikit.scoring.manifest import MANIFEST, write_manifest
from verikit.scoring.sums import PROGRESS, Commit, blocks_of, damaged_blocks, read_commits, sum_of, sums_at

NEXT, READY = ".next", ".ready"
LOCK = ".lock"


class Folder:
    """The open output folder of one run, as a context manager.

    Args:
        path: The folder.
        files: Its append-only files.
        optional: Those of them that exist only if they are not empty.

    Raises:
        UsageError: Another run has it open, it can't be created or written, or it contains a link that leads out of it.
    """

    def __init__(self, path: Path, files: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        self.path: Path = path
        self.files: tuple[str, ...] = files
        self.optional: tuple[str, ...] = optional
        self.damage: dict[str, set[int]] = {}
        """Damaged blocks of finished files that `recover` found, for its caller to repair."""
        self._open: dict[str, BinaryIO] = {}
        self._sums: dict[str, int] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            refuse_links(path)
            self._lock = open(path / LOCK, "a+b")  # noqa: SIM115 - held until close
        except OSError as error:
            raise UsageError(f"can't write to {path}: {error.strerror}", hint="choose another folder with -o") from None
        try:
            lock_file(self._lock)
        except OSError as error:
            self._lock.close()
            problem = "another run is writing to it" if isinstance(error, BlockingIOError) else error.strerror
            raise UsageError(
                f"can't lock {path}: {problem}", hint="wait for it, or choose another folder with -o"
            ) from None

    def __enter__(self) -> Self:
        try:
            self._roll_forward()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()
        self._lock.close()

    def _close(self) -> None:
        for stream in self._open.values():
            with suppress(OSError):  # a full disk was reported at the write
                stream.close()
        self._open.clear()

    def size(self, name: str) -> int:
        """Return the size of a file in bytes, or 0 if it doesn't exist."""
        path = self.path / name
        return path.stat().st_size if path.exists() else 0

    def clear(self) -> None:
        """Delete the files and the commits."""
        self._close()
        self.delete(*self.files, PROGRESS)

    def delete(self, *names: str) -> None:
        """Delete files if they exist."""
        for name in names:
            with self._writing(name):
                (self.path / name).unlink(missing_ok=True)

    def read_json(self, name: str) -> Any:
        """Return the content of a JSON file of the folder, or None if it is missing or half-written."""
        try:
            return json.loads((self.path / name).read_bytes())
        except (OSError, ValueError):
            return None

    def write_json(self, name: str, content: Any) -> None:
        """Replace a JSON file in one step."""
        self.replace(name, self.encode_json(content))

    @staticmethod
    def encode_json(content: Any) -> bytes:
        """Return the bytes that `write_json` writes. Keys (`api_key=…`, `user:…@host`) are redacted."""
        return json.dumps(strike_all(content), indent=2, ensure_ascii=False).encode(errors="replace") + b"\n"

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file in one step: a reader sees the old content or the new."""
        new = self.path / f".{name}.new"
        with self._writing(name):
            new.write_bytes(data)
            os.replace(new, self.path / name)

    def rewrite(self, contents: Mapping[str, Iterable[bytes]], commit: Commit) -> Commit:
        """Replace the content of several files in one step. A kill leaves all old or all new.

        Returns:
            The commit, with the new sizes.
        """
        with self._writing(NEXT):
            (self.path / NEXT).mkdir()
            for name, pieces in contents.items():
                with open(self.path / NEXT / name, "wb") as stream:
                    stream.writelines(pieces)
            paths = {name: self.path / (NEXT if name in contents else "") / name for name in self.files}
            sizes = {name: path.stat().st_size for name, path in paths.items()}
            sums = {name: sums_at(path, [sizes[name]])[sizes[name]] for name, path in paths.items()}
            (self.path / NEXT / PROGRESS).write_bytes(Commit(commit.line, commit.checksum, sizes, sums).encode())
            (self.path / NEXT).rename(self.path / READY)
            self._roll_forward()
        return self.recover()

    def _roll_forward(self) -> None:
        """Complete a rewrite that was decided but not finished. Drop one that was not decided."""
        ready = self.path / READY
        with self._writing(READY):
            shutil.rmtree(self.path / NEXT, ignore_errors=True)
            if ready.is_dir():
                for file in list(ready.iterdir()):
                    file.replace(self.path / file.name)
                ready.rmdir()

    def recover(self, *, mend: bool = False) -> Commit:
        """Open the files at the last commit that they still contain, and return it.

        Args:
            mend: Continue from the undamaged data. The files of an unfinished run are cut before the damage. For a
                finished run, `damage` contains its location.

        Raises:
            UsageError: There are files but no commits at all, so they are not, or no longer, a run's. Or some files
                have changed since they were written.
        """
        if not (self.path / PROGRESS).exists() and any(map(self.size, self.files)):
            names = ", ".join(name for name in self.files if self.size(name))
            raise UsageError(
                f"{self.path} contains {names} but no {PROGRESS}, the record of progress",
                hint="pass --restart to replace these files, or choose another folder with -o",
            )
        commit = self._last_good(mend)
        self.replace(PROGRESS, commit.encode())
        self._sums = {name: commit.sums.get(name, 0) for name in self.files}
        self._close()
        kept = self._without_empty(commit)
        for name in (*kept, PROGRESS):
            self._stream(name)
        for name in kept if not self.damage else ():
            with self._writing(name):
                self._stream(name).truncate(commit.sizes.get(name, 0))
        return commit

    def _without_empty(self, commit: Commit) -> list[str]:
        """Delete the optional files that are empty at a commit, and return the names of the others."""
        empty = {name for name in self.optional if not commit.sizes.get(name)}
        self.delete(*empty)
        return [name for name in self.files if name not in empty]

    def _last_good(self, mend: bool) -> Commit:
        """Return the last commit whose files are unchanged.

        If there is damage, return the last one of a finished run.
        """
        self.damage = {}
        commits, torn = read_commits(self.path)
        held, bad = self._compared(commits)
        names = [PROGRESS] * torn + (bad(held[-1]) if held else [])
        if names and not mend:
            files = ", ".join(str(self.path / name) for name in names)
            raise UsageError(
                f"{files}: not as the run wrote it, by its checksum",
                hint="pass --restart to start over, or choose another folder with -o",
            )
        if held and held[-1].blocks and bad(held[-1]):
            self.damage = self._damaged_blocks(held[-1])
            return held[-1]
        return next((commit for commit in reversed(held) if not bad(commit)), Commit())

    def _damaged_blocks(self, commit: Commit) -> dict[str, set[int]]:
        blocks = {name: damaged_blocks(self.path / name, commit) for name in self.files}
        return {name: damaged for name, damaged in blocks.items() if damaged}

    def _compared(self, commits: Sequence[Commit]) -> tuple[list[Commit], Callable[[Commit], list[str]]]:
        """Return the commits whose files are long enough, and a function that names the files changed since a commit.

        Each file is read once for all commits.
        """
        held = [commit for commit in commits if commit.blocks or self._holds(commit)]
        found = {
            name: sums_at(self.path / name, [commit.sizes.get(name, 0) for commit in held])
            for name in self.files
            if (self.path / name).exists()
        }

        def bad(commit: Commit) -> list[str]:
            sizes = {name: commit.sizes.get(name, 0) for name in self.files}
            sums = {name: found.get(name, {}).get(size) if size else 0 for name, size in sizes.items()}
            return [name for name in self.files if sums[name] != commit.sums.get(name, 0)]

        return held, bad

    def _holds(self, commit: Commit) -> bool:
        return all(self.size(name) >= commit.sizes.get(name, 0) for name in self.files)

    def append(self, written: Mapping[str, bytes], line: int, checksum: int = 0) -> None:
        """Append a chunk's output to the files and commit it.

        Raises:
            VerikitError: The disk is full or unavailable. Earlier commits are kept.
        """
        for name, data in written.items():
            self._put(name, data)
            self._sums[name] = crc32(data, self._sums[name])
        sizes = {name: self.size(name) for name in self.files}
        self._put(PROGRESS, Commit(line, checksum, sizes, self._sums).encode())

    def finish(self) -> None:
        """Keep only the last commit: a finished folder doesn't show how its chunks were split."""
        commit = read_commits(self.path)[0][-1]
        blocks = {name: blocks_of(self.path / name) for name in self.files}
        self.replace(PROGRESS, replace(commit, blocks=blocks).encode())

    def unseal(self, commit: Commit) -> None:
        """Delete the checksums of files that were written as a whole, because they are about to be rewritten."""
        if commit.others:
            self._put(PROGRESS, replace(commit, others={}).encode())

    def seal(self, *names: str, inputs: Iterable[str] = (), specs: Mapping[str, Any] | None = None) -> None:
        """Store the checksums of existing files that were written as a whole, and write the finished run's manifest.

        The signature of another manifest is deleted.

        Args:
            names: The files.
            inputs: The files that the run read, for the manifest.
            specs: Fingerprints of what decided the results, by name, for the manifest.
        """
        with self._writing(MANIFEST):
            write_manifest(self.path, inputs, specs or {})
        commit = next(reversed(read_commits(self.path)[0]), Commit())
        sums = {name: sum_of(self.path / name) for name in (*names, MANIFEST)}
        others = {name: value for name, value in sums.items() if value is not None}
        self.replace(PROGRESS, replace(commit, others=others).encode())

    def _put(self, name: str, data: bytes) -> None:
        with self._writing(name):
            view = memoryview(data)
            while view:
                view = view[self._stream(name).write(view) :]

    def _stream(self, name: str) -> BinaryIO:
        """A file, open to append."""
        if name not in self._open:
            with self._writing(name):
                self._open[name] = open(self.path / name, "ab", buffering=0)  # noqa: SIM115 - closed on exit
        return self._open[name]

    def _writing(self, name: str) -> _Writing:
        return _Writing(self.path / name)


class _Writing:
    """Turns a failed write into an error that names the file and a remedy."""

    def __init__(self, path: Path) -> None:
        self.path: Path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            full = error.errno in DISK_FULL
            hint = "free some space and run the command again. It resumes where it stopped" if full else ""
            raise VerikitError(f"can't write {self.path}: {error.strerror}", hint=hint) from None
