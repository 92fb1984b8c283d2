"""Finds titles in texts without a model: the longest title that starts at each word.

A title is a key of words without accents and case: `Étienne de Crécy` is `etienne de crecy`. It is found in full (`Agni
(2004 film)`) and without a trailing bracket (`Agni`). It is also found up to its first comma, if that leaves two or
more words and is not another title (`Albert III, Duke of Bavaria`). Keys are 64-bit hashes. All their prefixes are
stored in one sorted array, so a text is read as through a trie and only memory-mapped arrays are needed.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

LONGEST = 16
"""Maximum words per key. Longer titles are cut to this many words."""
FAN = 64
"""Maximum passages per title: a text cut into a million pieces has one title."""
CACHED = 2**16
"""Number of words whose hashes are cached."""
_BASE, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1
_WORD = re.compile(r"\w{1,64}")  # a longer match is not a word, and would fill the cache
_STOP = frozenset(
    "the a an of in on at by to and or is was were are be for with from as his her its their he she it who which what"
    " when where that this did do does has have had".split()
)


class TitleWord(NamedTuple):
    """A word of a text."""

    hash: int
    stem: int
    """16 bits of the hash of the word's first five letters. 0 for stop words."""
    upper: bool
    """Whether it starts with a capital letter."""
    lower: bool
    """Whether it starts with a lower-case letter."""


class Mention(NamedTuple):
    """A title that was found."""

    start: int
    """Its first word."""
    length: int
    key: int
    """The number of the key."""


class Keys(NamedTuple):
    """All keys of a corpus, and the passages they are titles of."""

    beginnings: np.ndarray
    """uint64, sorted: the hashes of keys and of all their prefixes."""
    numbers: np.ndarray
    """int32: the key that each is, or -1."""
    openers: np.ndarray
    """uint64, sorted: first words of titles that are written small."""
    small: np.ndarray
    """bool, by key: whether it is written in lower case somewhere, so texts may write it so too."""
    titled_at: np.ndarray
    """int64: where each key's passages begin."""
    titled: np.ndarray
    """int32: passages, `FAN` of a key at most."""
    own: np.ndarray
    """int32, by passage: the key of its title without brackets, or -1."""


def spelled(text: str) -> list[str]:
    """Return the words of a text as written, parallel to `tokens`."""
    return _WORD.findall(unicodedata.normalize("NFC", text))


def tokens(text: str) -> list[TitleWord]:
    """Return the words of a text."""
    return [_token(word) for word in spelled(text)]


@lru_cache(CACHED)
def _token(word: str) -> TitleWord:
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
    plain = plain.lower() or word
    return TitleWord(
        _hash(plain), 0 if plain in _STOP else 1 + _hash(plain[:5]) % 65535, word[0].isupper(), word[0].islower()
    )


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def extended(beginning: int, token: TitleWord) -> int:
    """Return the hash of a prefix extended by one word."""
    return (beginning * _BASE + token.hash) & _MASK


class Finder:
    """Finds the keys that appear in texts."""

    def __init__(self, beginnings: np.ndarray, numbers: np.ndarray, openers: np.ndarray, small: np.ndarray) -> None:
        self._beginnings, self._numbers = beginnings.data, numbers.data
        self._openers, self._small = openers.data, small.data
        self._opens = lru_cache(CACHED)(self._opens_any)

    def key(self, hash: int) -> int:
        """The key with that hash, or -1."""
        row = bisect_left(self._beginnings, hash)
        known = row < len(self._beginnings) and self._beginnings[row] == hash
        return self._numbers[row] if known else -1

    def find(self, words: Sequence[TitleWord], *, any_case: bool = False, below: int | None = None) -> list[Mention]:
        """Return non-overlapping mentions from left to right, each the longest at its word and not a stop word.

        Args:
            words: The text.
            any_case: Accept mentions that start with a lower-case letter, regardless of the title.
            below: Find only keys with lower numbers. By default all are found.
        """
        below = len(self._small) if below is None else below
        found: list[Mention] = []
        free = 0
        for start, word in enumerate(words):
            if start < free or (word.lower and not any_case and not len(self._openers)) or not self._opens(word.hash):
                continue
            if word.lower and not any_case and not _among(self._openers, word.hash):
                continue
            length, key = self._longest(words, start, word.lower and not any_case, below)
            if length > 1 or (length and word.stem):  # `It` and `Who` are titles too, and begin half of all sentences
                found.append(Mention(start, length, key))
                free = start + length
        return found

    def _opens_any(self, hash: int) -> bool:
        return _among(self._beginnings, hash)

    def _longest(self, words: Sequence[TitleWord], start: int, small: bool, below: int) -> tuple[int, int]:
        beginning, best = 0, (0, -1)
        for at in range(start, min(start + LONGEST, len(words))):
            beginning = extended(beginning, words[at])
            row = bisect_left(self._beginnings, beginning)
            if row == len(self._beginnings) or self._beginnings[row] != beginning:
                break
            key = self._numbers[row]
            if 0 <= key < below and (not small or self._small[key]):
                best = (at - start + 1, key)
        return best


def _among(values: memoryview, value: int) -> bool:
    row = bisect_left(values, value)
    return row < len(values) and values[row] == value


def collect(titles: Iterable[str]) -> Keys:
    """Make the keys of passages' titles."""
    gathered = _Gathered()
    for row, title in enumerate(titles):
        gathered.add(row, title)
    return gathered.keys()


class _Gathered:
    """Collects keys: hash, passage, and each key's prefixes."""

    def __init__(self) -> None:
        self._hashes, self._rows = array("Q"), array("q")
        self._short, self._short_rows = array("Q"), array("q")
        self._own, self._openers, self._small = array("Q"), array("Q"), array("Q")
        self._beginnings = array("Q")
        self._last: tuple[str, int, int, int] = ("", 0, 0, 0)

    def add(self, row: int, title: str) -> None:
        if title != self._last[0]:  # pieces of a text are consecutive
            self._last = (title, self._of(_bare(title)), self._of(title), self._of_comma(title))
        _, bare, full, comma = self._last
        self._own.append(bare)
        for hash in dict.fromkeys((bare, full)):
            if hash:
                self._hashes.append(hash)
                self._rows.append(row)
        if comma:
            self._short.append(comma)
            self._short_rows.append(row)

    def _of_comma(self, title: str) -> int:
        head, comma, _ = _bare(title).partition(",")
        return self._of(head) if comma and len(tokens(head)) > 1 else 0

    def _of(self, text: str) -> int:
        """The hash of a key, 0 if it has no words; its beginnings are noted."""
        beginning, words = 0, tokens(text)[:LONGEST]
        for word in words:
            beginning = extended(beginning, word)
            self._beginnings.append(beginning)
        if words and words[0].lower:
            self._openers.append(words[0].hash)
            self._small.append(beginning)
        return beginning

    def keys(self) -> Keys:
        hashes, rows = _unsigned(self._hashes), np.array(self._rows, np.int64)
        short, short_rows = _unsigned(self._short), np.array(self._short_rows, np.int64)
        new = ~np.isin(short, hashes)
        hashes, rows = np.concatenate([hashes, short[new]]), np.concatenate([rows, short_rows[new]])
        known, number = np.unique(hashes, return_inverse=True)
        titled_at, titled = grouped(number, rows, len(known))
        beginnings = np.unique(_unsigned(self._beginnings))
        numbers = np.full(len(beginnings), -1, np.int32)
        numbers[np.searchsorted(beginnings, known)] = np.arange(len(known))
        own = _unsigned(self._own)
        number_of_own = np.searchsorted(known, own).astype(np.int32)
        number_of_own[own == 0] = -1
        small = np.isin(known, _unsigned(self._small))
        return Keys(beginnings, numbers, np.unique(_unsigned(self._openers)), small, titled_at, titled, number_of_own)


class Names:
    """Collects names that are not titles. They become keys after the titles."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._beginnings, self._ends = array("Q"), array("Q")
        self._openers, self._small = array("Q"), array("Q")

    def add(self, hash: int, words: Sequence[TitleWord]) -> None:
        """Note a name's hash and words."""
        if words[0].lower:
            self._openers.append(words[0].hash)
            self._small.append(hash)
        if hash in self._seen:
            return
        self._seen.add(hash)
        beginning = 0
        for word in words:
            beginning = extended(beginning, word)
            self._beginnings.append(beginning)
            self._ends.append(hash)

    def beside(self, keys: Keys, names: np.ndarray, at: np.ndarray, rows: np.ndarray) -> Keys:
        """Return the titles' keys, followed by keys for the names.

        Args:
            keys: The titles' keys.
            names: The hashes of the names to include, sorted.
            at: Where each name's passages start.
            rows: The passages.
        """
        ours = _unsigned(self._beginnings)[np.isin(_unsigned(self._ends), names)]
        beginnings = np.unique(np.concatenate([keys.beginnings, ours]))
        numbers = np.full(len(beginnings), -1, np.int32)
        numbers[np.searchsorted(beginnings, keys.beginnings)] = keys.numbers
        numbers[np.searchsorted(beginnings, names)] = len(keys.small) + np.arange(len(names))
        small = np.isin(names, _unsigned(self._small))
        openers = np.unique(np.concatenate([keys.openers, _unsigned(self._openers)]))
        titled_at = np.concatenate([keys.titled_at, len(keys.titled) + at[1:]])
        titled = np.concatenate([keys.titled, rows])
        return Keys(beginnings, numbers, openers, np.concatenate([keys.small, small]), titled_at, titled, keys.own)


def _bare(title: str) -> str:
    """Return a title without its trailing bracket. No regex is used, since it would backtrack over runs of spaces."""
    text = title.rstrip()
    before, bracket, inside = text[:-1].rpartition("(")
    return before.rstrip() if text.endswith(")") and bracket and ")" not in inside else title


def _unsigned(values: array[int]) -> np.ndarray:
    return np.array(values, np.uint64)


def grouped(groups: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each group's values begin, and the values by group: the first `FAN` of each, in order."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) if count else np.empty(0, np.int64)
    within = np.arange(len(order)) - np.repeat(starts, sizes)
    kept = order[within < FAN]
    at = np.concatenate([[0], np.cumsum(np.minimum(sizes, FAN))]).astype(np.int64)
    return at, values[kept].astype(np.int32)
