"""Documents to ask from: millions, on disk, read one at a time.

Opening takes one pass that notes where each document begins (8 bytes a document); texts are read when they are drawn.
"""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from verikit.errors import ConfigError, MissingExtra, SchemaError

CHARACTERS = 16
"""Of a long document so many characters for each token wanted are encoded; no tokenizer merges more on average."""


class Source(ABC):
    """The documents of one file."""

    path: Path
    key: str

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key

    @abstractmethod
    def __len__(self) -> int:
        """The number of documents."""

    @abstractmethod
    def __getitem__(self, index: int) -> str:
        """Read one document."""

    def text(self, row: Any, index: int) -> str:
        """Return a row's text.

        Raises:
            SchemaError: it has none.
        """
        found = row.get(self.key) if isinstance(row, dict) else None
        if not isinstance(found, str) or not found.strip():
            keys = ", ".join(row) if isinstance(row, dict) else "no keys"
            hint = f"it has {keys}; options.text_key names the key"
            raise SchemaError("no text", file=self.path, line=index + 1, field=self.key, hint=hint)
        return found


class JsonLines(Source):
    """A document a line."""

    def __init__(self, path: Path, key: str) -> None:
        super().__init__(path, key)
        self._starts = array("Q")
        position = 0
        with open(path, "rb") as stream:
            for line in stream:
                if line.strip():
                    self._starts.append(position)
                position += len(line)

    def __len__(self) -> int:
        """The number of lines that are not empty."""
        return len(self._starts)

    def __getitem__(self, index: int) -> str:
        """Read one line."""
        with open(self.path, "rb") as stream:
            stream.seek(self._starts[index])
            line = stream.readline()
        try:
            return self.text(json.loads(line), index)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"not JSON: {error}", file=self.path, line=index + 1) from None


class Parquet(Source):
    """A document a row; the row group last read stays in memory."""

    def __init__(self, path: Path, key: str) -> None:
        super().__init__(path, key)
        try:
            import pyarrow as arrow
            from pyarrow import parquet
        except ImportError:
            raise MissingExtra("reading parquet", "parquet") from None
        try:
            self._file = parquet.ParquetFile(path)
        except arrow.ArrowInvalid as error:
            raise ConfigError(f"{path} is no parquet file: {error}") from None
        if key not in self._file.schema_arrow.names:
            hint = f"it has {', '.join(self._file.schema_arrow.names)}; options.text_key names the column"
            raise SchemaError("no such column", file=path, field=key, hint=hint)
        meta = self._file.metadata
        self._ends = list(accumulate(meta.row_group(number).num_rows for number in range(meta.num_row_groups)))
        self._read: tuple[int, Any] = (-1, None)

    def __len__(self) -> int:
        """The number of rows."""
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int) -> str:
        """Read one row."""
        group = bisect_right(self._ends, index)
        if self._read[0] != group:
            self._read = (group, self._file.read_row_group(group, columns=[self.key]).column(self.key))
        first = self._ends[group - 1] if group else 0
        return self.text({self.key: self._read[1][index - first].as_py()}, index)


class TextDocument(Source):
    """A file that is one document."""

    def __len__(self) -> int:
        """One."""
        return 1

    def __getitem__(self, index: int) -> str:
        """Read the file."""
        return self.text({self.key: self.path.read_text(encoding="utf-8", errors="replace")}, index)


class Corpus:
    """All documents of some files, as one sequence."""

    def __init__(self, sources: Sequence[Sequence[str] | Source]) -> None:
        self._sources = [source for source in sources if len(source)]
        self._ends = list(accumulate(map(len, self._sources)))

    def __len__(self) -> int:
        """The number of documents."""
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int) -> str:
        """Read one document."""
        number = bisect_right(self._ends, index)
        return self._sources[number][index - (self._ends[number - 1] if number else 0)]


def open_corpus(names: Sequence[str], key: str, folder: Path) -> Corpus:
    """Open files by name or pattern.

    Raises:
        ConfigError: there are none, or one can't be read.
        SchemaError: a parquet file has no column of texts.
    """
    paths = [path for name in names for path in _matching(folder, name)]
    kinds: dict[str, type[Source]] = {".jsonl": JsonLines, ".parquet": Parquet}
    try:
        corpus = Corpus([kinds.get(path.suffix, TextDocument)(path, key) for path in paths])
    except OSError as error:
        raise ConfigError(f"options.corpus: {error}") from None
    if not len(corpus):
        raise ConfigError("options.corpus names no documents", hint='such as options.corpus=["texts/*.jsonl"]')
    return corpus


def _matching(folder: Path, name: str) -> list[Path]:
    path = folder / name
    if not any(char in path.name for char in "*?["):
        return [path]
    return sorted(path.parent.glob(path.name))


def segment(text: str, tokenizer: Any, limit: int, draw: random.Random) -> str:
    """Return a document, or a random stretch of it of at most `limit` tokens."""
    if len(text) > CHARACTERS * limit:
        start = draw.randrange(len(text) - CHARACTERS * limit)
        text = text[start : start + CHARACTERS * limit]
    ids = tokenizer.encode(text, add_special_tokens=False)
    if len(ids) <= limit:
        return text
    start, length = draw.randrange(len(ids) - limit + 1), limit
    while True:
        piece: str = tokenizer.decode(ids[start : start + length])
        # Cut in the middle of a word, a text may encode to more tokens than it was decoded from.
        surplus = len(tokenizer.encode(piece, add_special_tokens=False)) - limit
        if surplus <= 0 or length <= 1:
            return piece
        length = max(1, length - surplus)
