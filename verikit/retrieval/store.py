"""Passages on disk: one JSON line each, found by row through an array of offsets; both are memory-mapped."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tokenize import TokenError

import numpy as np

from verikit.errors import ConfigError, UsageError
from verikit.platform.folders import refuse_links
from verikit.retrieval.types import Passage

TEXTS, OFFSETS, ABOUT = "passages.jsonl", "passages.npy", "passages.json"
TOLD = 10_000
"""Passages between two words of progress."""


class Passages(Sequence[Passage]):
    """The passages of an index's folder."""

    def __init__(self, folder: str | Path) -> None:
        """Open the folder.

        Raises:
            UsageError: It has no passages, changed ones, or a link that leads outside.
        """
        self.folder: Path = Path(folder)
        refuse_links(self.folder)
        try:
            about = json.loads((self.folder / ABOUT).read_text("utf-8"))
            self._offsets = mapped(self.folder / OFFSETS, "int64", 1)
            with open(self.folder / TEXTS, "rb") as file:
                self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.digest: str = about["digest"]
            if len(self._offsets) != about["count"] + 1 or int(self._offsets[-1]) != len(self._texts):
                raise ValueError("its files don't belong together")
        except FileNotFoundError as error:
            raise UsageError(
                f"{self.folder} is not an index: {Path(str(error.filename)).name} not found",
                hint="`verikit index build CORPUS -o DIR` makes one",
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self.folder} is damaged: {error}", hint="build it again") from None

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> Passage:  # type: ignore[override]
        if not 0 <= row < len(self):
            raise IndexError(row)
        fields = json.loads(self._texts[int(self._offsets[row]) : int(self._offsets[row + 1])])
        return Passage(fields["title"], fields["text"], fields["id"])

    def __iter__(self) -> Iterator[Passage]:
        return (self[row] for row in range(len(self)))


def write_passages(
    passages: Iterable[Passage], folder: Path, sources: Sequence[str], tell: Callable[[str], None]
) -> Passages:
    """Write passages into a folder, or open existing ones that were read from the same sources.

    Args:
        passages: The passages, which are only read if needed.
        folder: The target folder.
        sources: Identifies the source files, and how they are cut.
        tell: Called with progress messages.

    Raises:
        ConfigError: The folder has passages of other sources, or there are no passages.
    """
    try:
        before = json.loads((folder / ABOUT).read_text("utf-8"))["sources"]
    except (OSError, ValueError, KeyError, TypeError):
        before = None
    if before is not None:
        if before != list(sources):
            raise ConfigError(
                f"{folder} was built from another corpus", hint="choose another folder, or delete this one"
            )
        return Passages(folder)
    folder.mkdir(parents=True, exist_ok=True)
    digest, offsets = hashlib.sha256(), array("q", [0])
    with open(folder / f"{TEXTS}.part", "wb") as file:
        for number, passage in enumerate(passages, 1):
            row = {"id": passage.id, "title": passage.title, "text": passage.text}
            line = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
            file.write(line)
            digest.update(line)
            offsets.append(offsets[-1] + len(line))
            if number % TOLD == 0:
                tell(f"passages: {number:,}")
    if len(offsets) == 1:
        raise ConfigError("the corpus contains no passages")
    os.replace(folder / f"{TEXTS}.part", folder / TEXTS)
    np.save(folder / OFFSETS, np.frombuffer(offsets, dtype=np.int64))
    about = {"count": len(offsets) - 1, "digest": digest.hexdigest(), "sources": list(sources)}
    write_json(folder / ABOUT, about)
    return Passages(folder)


def mapped(path: Path, kind: str, dimensions: int) -> np.ndarray:
    """Map an array from an untrusted file. An array of objects is rejected and never unpickled.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It is damaged, or of another type or shape.
    """
    try:
        values = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except (TokenError, SyntaxError, OverflowError, EOFError, MemoryError) as error:  # a header cut off or changed
        raise ValueError(f"{path.name}: {error}") from None
    if values.dtype != np.dtype(kind) or values.ndim != dimensions or not values.flags.c_contiguous:
        raise ValueError(f"{path.name} is not a {kind} array of {dimensions} dimensions")
    return values


def write_json(path: Path, value: object) -> None:
    """Write a small file whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    os.replace(part, path)
