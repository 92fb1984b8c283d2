"""A finished run's `manifest.json`: the SHA-256 of its files and inputs, its specs, and the code that it ran.

`check_run` compares a folder with it later, perhaps on another machine. The folder, its manifest included, may come
from someone else. So no link is followed, the manifest's size and names are checked, and only files of the recorded
size are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from verikit.errors import UsageError
from verikit.platform.folders import TRACKER_FOLDERS, refuse_links
from verikit.platform.secrets import strike
from verikit.scoring.sums import PROGRESS

MANIFEST = "manifest.json"
SIGNATURE, NAMESPACE = f"{MANIFEST}.sig", "verikit-run"
UNLISTED = frozenset((".lock", "trackers.json", PROGRESS, MANIFEST, SIGNATURE))
"""Files of a run that no manifest lists: they are empty, or are written after it."""
UNLISTED_FOLDERS = TRACKER_FOLDERS | {"tensorboard"}
"""Folders in a run's that trackers write, after the manifest."""
FORM = 1
"""Version of the manifest's format."""
MAX_BYTES, MAX_FILES = 2**24, 100_000
"""Largest manifest, and most files of a folder."""
GIB = 2**30


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as a manifest lists it."""

    path: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path, name: str) -> RecordedFile:
        """Record a file under a name.

        Raises:
            OSError: It can't be read.
        """
        return cls(name, path.stat().st_size, _digest(path))

    def problem(self, path: Path) -> str:
        """Describe how the file at a path differs. "" if it is the same."""
        try:
            size = path.stat().st_size
            if size != self.size:
                return f"changed: {size:,} bytes instead of {self.size:,}"
            return "" if _digest(path) == self.sha256 else "changed: other content of the same size"
        except OSError as error:
            return f"can't be read: {error.strerror}"


@dataclass(frozen=True, slots=True)
class RunManifest:
    """The content of a manifest."""

    code: Mapping[str, str]
    """Versions of verikit and Python, and the SHA-256 of verikit's source files."""
    specs: Mapping[str, str]
    """Fingerprints of the verifiers, or of the tasks."""
    inputs: tuple[RecordedFile, ...]
    files: tuple[RecordedFile, ...]
    whole: bool = True
    """Whether the folder should have no other files."""

    def encode(self) -> bytes:
        """Return the bytes of `manifest.json`. Keys in names (`user:…@host`) are redacted."""
        told: dict[str, Any] = {"form": FORM, "code": dict(self.code), "specs": dict(self.specs)}
        for name in ("inputs", "files"):
            told[name] = [{"path": strike(f.path), "size": f.size, "sha256": f.sha256} for f in getattr(self, name)]
        if not self.whole:
            told["whole"] = False
        return json.dumps(told, indent=1).encode() + b"\n"


@dataclass
class RunCheck:
    """The result of comparing a run's folder with its manifest."""

    manifest: RunManifest
    problems: dict[str, str] = field(default_factory=dict)
    """Path -> how the file differs."""
    absent: list[str] = field(default_factory=list)
    """Inputs that are not on this machine, and were not compared."""

    @property
    def same_code(self) -> bool:
        """Whether the installed verikit is the one that made the run."""
        return self.manifest.code.get("sha256") == code_digest()


def manifest_of(
    run: Path, inputs: Iterable[str], specs: Mapping[str, Any], only: Collection[str] | None = None
) -> bytes:
    """Return the manifest of a folder whose files are all written. Inputs that are not local files are skipped.

    Args:
        run: The folder.
        inputs: Files that were read.
        specs: Fingerprints.
        only: The files of the folder to list. Others are not compared. None lists all.

    Raises:
        OSError: A file can't be read.
        UsageError: The folder has a link that leads out of it, or too many files.
    """
    refuse_links(run)
    names = [name for name, kind in _entries(run, only) if not kind]
    files = tuple(RecordedFile.of(run / name, name) for name in sorted(names))
    given = tuple(RecordedFile.of(Path(name), name) for name in dict.fromkeys(inputs) if Path(name).is_file())
    try:
        release = version("verikit")
    except PackageNotFoundError:
        release = "unknown"
    code = {"verikit": release, "python": platform.python_version(), "sha256": code_digest()}
    return RunManifest(
        code, {name: str(value) for name, value in specs.items() if value}, given, files, only is None
    ).encode()


def write_manifest(
    run: Path, inputs: Iterable[str], specs: Mapping[str, Any], only: Collection[str] | None = None
) -> None:
    """Write the manifest of a folder whose files are all written. The signature of another manifest is deleted.

    The arguments are those of `manifest_of`.

    Raises:
        OSError: A file can't be read or written.
        UsageError: The folder has a link that leads out of it, or too many files.
    """
    path, new = run / MANIFEST, run / f".{MANIFEST}.new"
    new.unlink(missing_ok=True)  # of a command that was killed
    manifest = manifest_of(run, inputs, specs, only)
    if not path.is_file() or path.read_bytes() != manifest:
        (run / SIGNATURE).unlink(missing_ok=True)
    new.write_bytes(manifest)
    os.replace(new, path)


@cache
def code_digest() -> str:
    """Return the SHA-256 of verikit's source files and tasks: the same for a checkout and an installed package."""
    root, total = Path(__file__).parents[1], hashlib.sha256()
    for at, folders, names in os.walk(root, followlinks=True):  # in a checkout some packages are links
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for path in (Path(at, name) for name in sorted(names) if name.endswith((".py", ".yaml"))):
            total.update(f"{path.relative_to(root).as_posix()} {_digest(path)}\n".encode())
    return total.hexdigest()


def read_manifest(run: Path) -> RunManifest:
    """Read a run's manifest.

    Raises:
        UsageError: There is no manifest, or it is not one that verikit writes.
    """
    path = run / MANIFEST
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} has more than {MAX_BYTES:,} bytes")
        told = json.loads(path.read_bytes())
        if told["form"] != FORM:
            raise UsageError(f"{path} has the format {told['form']!r:.20}", hint="install a newer verikit")
        inputs, files = (tuple(map(_recorded, told[name])) for name in ("inputs", "files"))
        return RunManifest(_texts(told["code"]), _texts(told["specs"]), inputs, files, told.get("whole") is not False)
    except OSError as error:
        hint = "the command that made the run writes it at the end: run it again"
        raise UsageError(f"can't read {path}: {error.strerror}", hint=hint) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is damaged: {type(error).__name__}: {error!s:.80}") from None


def check_run(run: Path, max_bytes: int) -> RunCheck:
    """Compare a run's folder, and its inputs that are on this machine, with its manifest.

    Args:
        run: The folder.
        max_bytes: Most bytes to read.

    Raises:
        UsageError: There is no valid manifest, a link leads out of the folder, or there is more to read.
    """
    refuse_links(run)
    found = RunCheck(read_manifest(run))
    listed = {file.path: file for file in found.manifest.files}
    # a listed path is only opened if it is one of these, so ".." leads nowhere
    there = dict(_entries(run, None if found.manifest.whole else listed))
    found.problems |= {name: kind or "not in the manifest" for name, kind in there.items() if name not in listed}
    found.problems |= {name: kind for name in listed if (kind := there.get(name, "missing"))}
    compared = {name: (run / name, file) for name, file in listed.items() if name not in found.problems}
    for file in found.manifest.inputs:
        if _is_file(file.path):
            compared[f"input {file.path}"] = Path(file.path), file
        else:
            found.absent.append(file.path)
    total = sum(file.size for _, file in compared.values())
    if total > max_bytes:
        raise UsageError(f"{run}: the files have {total // GIB:,} GiB", hint="--max-gib raises the limit")
    for name, (path, file) in compared.items():
        if problem := file.problem(path):
            found.problems[name] = problem
    return found


def _entries(run: Path, only: Collection[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the path of each entry that a manifest lists, and what it is if not a file. Folders are searched.

    With `only`, other entries are skipped, and folders without any of these paths are not searched.

    Raises:
        UsageError: There are too many, or a folder can't be read.
    """
    left, count = [""], 0
    seen = _Selection(only)
    while left:
        folder = left.pop()
        try:
            with os.scandir(run / folder) as entries:
                found = sorted(islice(entries, MAX_FILES + 1), key=lambda entry: entry.name)
        except OSError as error:
            raise UsageError(f"can't read {run / folder}: {error.strerror}") from None
        count += len(found)
        if count > MAX_FILES:
            raise UsageError(f"{run} has more than {MAX_FILES:,} files")
        for entry in found:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                left += [name] if seen.searches(name) else []
            elif seen.lists(name, link=entry.is_symlink()):
                yield name, "a link, not a file" if entry.is_symlink() else ""


class _Selection:
    """Which entries of a folder a manifest lists: all, or only some."""

    def __init__(self, only: Collection[str] | None) -> None:
        self._only = only
        self._folders = {str(folder) for name in only or () for folder in PurePosixPath(name).parents}

    def searches(self, folder: str) -> bool:
        """Whether a folder is searched."""
        return folder not in UNLISTED_FOLDERS and (self._only is None or folder in self._folders)

    def lists(self, name: str, *, link: bool) -> bool:
        """Whether an entry is listed. Files that are written later are not, but links in their place are."""
        return (link or name not in UNLISTED) and (self._only is None or name in self._only)


def _recorded(item: Mapping[str, Any]) -> RecordedFile:
    file = RecordedFile(item["path"], item["size"], item["sha256"])
    if not (isinstance(file.path, str) and isinstance(file.sha256, str) and type(file.size) is int):
        raise TypeError("a file needs path, size and sha256")
    if not 0 <= file.size < 2**63:
        raise ValueError("a size is out of range")
    return file


def _texts(told: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in told.items()}


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a name too long, or with a zero byte
        return False


def _digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
