"""Documents to write questions from: millions, on disk, read one at a time.

Opening takes one pass that records the start of each document (8 bytes per document). A document is read when needed.
Files that don't support random access (compressed ones, arrays, tables) are unpacked in this pass into a temporary file
without a name, one per process. For parquet, only the number of rows of each row group stays in memory.
"""

from __future__ import annotations

import mmap
import random
import tempfile
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from verikit.errors import ConfigError, MissingExtra, SchemaError, UsageError
from verikit.readers import placed, rows
from verikit.readers.compressed import decompressed
from verikit.readers.parquet import MAGIC, reader_of
from verikit.readers.parse import parse
from verikit.readers.source import opened
from verikit.readers.texts import corpus_files, holds_rows, plain_name, read_text

CHARACTERS = 16
"""Characters of a long document to encode per required token. Tokenizers average fewer characters per token."""
BATCH = 64
"""Rows of a parquet file per read, until the requested one."""


class Source(ABC):
    """The documents in one file."""

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

    def text(self, row: Any, line: int) -> str:
        """Return a row's text.

        Raises:
            SchemaError: It has no text.
        """
        found = row.get(self.key) if isinstance(row, dict) else None
        if not isinstance(found, str) or not found.strip():
            keys = ", ".join(row) if isinstance(row, dict) else "no keys"
            hint = f"set options.text_key to the key of the text. The row's keys: {keys}"
            raise SchemaError("the document has no text", file=self.path, line=line, field=self.key, hint=hint)
        return found


class JsonLines(Source):
    """One document per line."""

    def __init__(self, path: Path, key: str) -> None:
        super().__init__(path, key)
        self._starts = array("Q")
        position = 0
        with opened(str(path)) as stream:
            for line in stream:
                if line.strip():
                    self._starts.append(position)
                position += len(line)

    def __len__(self) -> int:
        """The number of nonempty lines."""
        return len(self._starts)

    def __getitem__(self, index: int) -> str:
        """Read one line."""
        with open(self.path, "rb") as stream:
            stream.seek(self._starts[index])
            line = stream.readline()
        try:
            return self.text(parse(line.removeprefix(b"\xef\xbb\xbf").strip()), index + 1)
        except SchemaError as error:
            raise error if error.line else placed(error, str(self.path), index + 1) from None


class Unpacked(Source):
    """One document per row of a file without random access. All documents are in a temporary file."""

    def __init__(self, path: Path, key: str) -> None:
        super().__init__(path, key)
        self._starts = array("Q", [0])
        with tempfile.TemporaryFile() as file:
            for _, line, row in rows(path):
                if isinstance(row, SchemaError):
                    raise row
                text = self.text(row, line).encode("utf-8", "replace")
                file.write(text)
                self._starts.append(self._starts[-1] + len(text))
            file.flush()
            # The map outlives the file, which has no name. Its space is free when the process ends for any reason.
            self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._starts) - 1

    def __getitem__(self, index: int) -> str:
        """Read one text."""
        return self._texts[self._starts[index] : self._starts[index + 1]].decode("utf-8")


class Parquet(Source):
    """One document per row, read from its row group up to that row. Files are closed after each read."""

    def __init__(self, path: Path, key: str) -> None:
        super().__init__(path, key)
        try:
            import pyarrow as arrow
            from pyarrow import parquet
        except ImportError:
            raise MissingExtra("reading parquet", "parquet") from None
        self._faults = (arrow.ArrowException, OSError)
        self._open = parquet.ParquetFile
        try:
            with self._open(path) as file:
                names, meta = file.schema_arrow.names, file.metadata
                groups = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
        except self._faults as error:
            raise ConfigError(f"{path} is not a parquet file: {error}") from None
        if key not in names:
            hint = f"it has {', '.join(names)}; options.text_key names the column"
            raise SchemaError("column not found", file=path, field=key, hint=hint)
        self._ends = array("Q", accumulate(groups))

    def __len__(self) -> int:
        """The number of rows."""
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int) -> str:
        """Read one row."""
        group = bisect_right(self._ends, index)
        skipped = index - (self._ends[group - 1] if group else 0)
        try:
            with self._open(self.path, pre_buffer=False) as file:
                for batch in file.iter_batches(BATCH, row_groups=[group], columns=[self.key]):
                    if skipped < batch.num_rows:
                        return self.text({self.key: batch.column(0)[skipped].as_py()}, index + 1)
                    skipped -= batch.num_rows
        except self._faults as error:
            problem = f"can't be read: {' '.join(str(error).split())}"
            raise SchemaError(problem, file=self.path, line=index + 1, hint="fetch the file again") from None
        raise SchemaError("the row group is shorter than the file's metadata states", file=self.path, line=index + 1)


class TextDocument(Source):
    """A file that is one document."""

    def __len__(self) -> int:
        """Always 1."""
        return 1

    def __getitem__(self, index: int) -> str:
        """Read the file."""
        return read_text(self.path)


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
    """Open files by path, pattern or folder, and read the first document of each.

    Raises:
        ConfigError: There are no files, or one can't be read.
        SchemaError: A first document has no text. Unpacked files are checked completely.
        MissingExtra: The reader of such files is not installed.
    """
    paths = [path for name in names for path in _matching(folder, name)]
    sources = [_opened(path, key) for path in paths]
    for source in sources:
        if len(source):
            source[0]
    corpus = Corpus(sources)
    if not len(corpus):
        raise ConfigError("options.corpus names no documents", hint='such as options.corpus=["texts/*.jsonl"]')
    return corpus


def _opened(path: Path, key: str) -> Source:
    """Return the source for a file, chosen by its name and its first bytes.

    Raises:
        ConfigError: It can't be read.
    """
    try:
        if not holds_rows(path):
            return TextDocument(path, key)
        with opened(str(path)) as stream:
            start = stream.peek(6)[:6]
            if start.startswith(MAGIC):
                return Parquet(path, key)
            packed = decompressed(stream) is not stream or reader_of(start) is not None
            first = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        lines = plain_name(path).lower().endswith((".jsonl", ".ndjson")) or first == b"{"
        return (JsonLines if lines and not packed else Unpacked)(path, key)
    except (SchemaError, MissingExtra):
        raise
    except (OSError, UsageError) as error:
        raise ConfigError(f"options.corpus: {error}", hint=getattr(error, "hint", "")) from None


def _matching(folder: Path, name: str) -> list[Path]:
    """Return the files that match a name: sorted for a pattern, otherwise in natural order. Samples depend on it."""
    path = folder / name
    if not any(char in str(path.parent) for char in "*?[") and any(char in path.name for char in "*?["):
        found = [match for match in sorted(path.parent.glob(path.name)) if match.is_file()]
        if not found:
            raise ConfigError(f"options.corpus: nothing matches {name!r}", hint=f"the folder is {folder.absolute()}")
        return found
    try:
        return [Path(file) for file in corpus_files(path)]
    except UsageError as error:
        raise ConfigError(f"options.corpus: {error}", hint=error.hint) from None


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
        # If cut in the middle of a word, a text may encode to more tokens than it was decoded from.
        surplus = len(tokenizer.encode(piece, add_special_tokens=False)) - limit
        if surplus <= 0 or length <= 1:
            return piece
        length = max(1, length - surplus)
