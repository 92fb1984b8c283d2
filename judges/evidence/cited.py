"""Citations in a judge's reply: entries `[#3]`, `[#3, #4]`, files `[@src/a.py]`, and quotes of both `[#3 "passed"]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from verikit.errors import UnparseableVerdict
from verikit.judges.evidence.media import Media
from verikit.replies.split import split

_CITED = re.compile(r"\[#[#\d,; –-]{1,200}\]")
_QUOTED = re.compile(r'\[(?:#(\d{1,9})|@([^\[\]"“”\n]{1,400}?))[ ,:]{0,3}["“]')
_PATH = re.compile(r'\[@([^\[\]"“”\n]{1,400})\]')
_ENDS = ('"]', "”]")
PLACEHOLDER = "PATH"
"""Placeholder for a path in the explanation of citations. Judges may repeat it."""
MAX_QUOTE = 4_000
CITABLE = "citable"
"""Key of a request's `meta` with what its reply may cite."""
_SHOWN = 80


class FalseCitation(UnparseableVerdict):
    """The judge cited an entry, a file or words that do not exist."""


@dataclass(frozen=True)
class Citable:
    """The parts of its shown runs that a reply may cite."""

    entries: Sequence[Sequence[str]] = ()
    """The strings that each entry may be quoted from, by its number from 1."""
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The shown contents of each file, by path. Empty for a file that is only listed."""
    opened: dict[str, list[str]] = field(default_factory=dict)
    """The contents of files that the judge has opened since, by path."""
    pictures: Sequence[Sequence[Media]] = ()
    """The pictures of each entry, for looks."""

    def __add__(self, other: Citable) -> Citable:
        """Combine both. The other's entries are numbered after these."""
        paths = {
            path: (*self.paths.get(path, ()), *other.paths.get(path, ())) for path in {**self.paths, **other.paths}
        }
        return Citable((*self.entries, *other.entries), paths, pictures=(*self.pictures, *other.pictures))


class _Quotation(NamedTuple):
    number: str
    path: str
    words: str


def check_citations(reply: str, citable: Citable) -> FalseCitation | None:
    """The error in a reply's citations, or None."""
    said = split(reply).reply
    quotations = list(_quotations(said))
    problem = _false_entry(said, quotations, len(citable.entries))
    if not problem and citable.paths:
        problem = _false_path(said, quotations, citable.paths)
    if not problem:
        problem = _false_words(quotations, citable)
    return FalseCitation(f"the judge cites {problem}") if problem else None


def _false_entry(said: str, quotations: Sequence[_Quotation], total: int) -> str:
    """An entry that does not exist, in words. "" if all exist."""
    cited = [int(number) for found in _CITED.findall(said) for number in re.findall(r"\d{1,9}", found)]
    cited += [int(each.number) for each in quotations if each.number]
    wrong = next((number for number in cited if not 1 <= number <= total), None)
    return "" if wrong is None else f"entry #{wrong} of {total}"


def _false_path(said: str, quotations: Sequence[_Quotation], known: Container[str]) -> str:
    """A file that does not exist, in words. "" if all exist."""
    paths = [*(path.strip() for path in _PATH.findall(said)), *(each.path for each in quotations if each.path)]
    unknown = next((path for path in paths if path not in known and path != PLACEHOLDER), None)
    return "" if unknown is None else f"the file {unknown[:_SHOWN]!r}, which does not exist"


def _false_words(quotations: Sequence[_Quotation], citable: Citable) -> str:
    """Quoted words that are not in their source, in words. "" if all are."""
    checked = [each for each in quotations if each.number or (citable.paths and each.path != PLACEHOLDER)]
    single_spaced = cache(lambda text: " ".join(text.split()))  # a reply may quote one file many times
    false = next((each for each in checked if not _quoted(each, citable, single_spaced)), None)
    if false is None:
        return ""
    place = f"entry #{false.number}" if false.number else false.path[:_SHOWN]
    return f"words that {place} does not have: {false.words[:_SHOWN]!r}"


def _quotations(said: str) -> Iterator[_Quotation]:
    """The citations that quote words, each up to the nearest end of a quotation."""
    for found in _QUOTED.finditer(said):
        ends = [at for end in _ENDS if (at := said.find(end, found.end(), found.end() + MAX_QUOTE)) >= 0]
        if ends:
            yield _Quotation(found[1] or "", (found[2] or "").strip(), said[found.end() : min(ends)])


def _quoted(each: _Quotation, citable: Citable, single_spaced: Callable[[str], str]) -> bool:
    """Whether the words of a quotation exist in its source, ignoring whitespace. An ellipsis matches anything."""
    if each.number:
        texts = citable.entries[int(each.number) - 1]
    else:
        texts = (*citable.paths.get(each.path, ()), *citable.opened.get(each.path, ()))
    pieces = [single_spaced(piece) for piece in each.words.replace("...", "…").split("…")]
    return any(_in_order(pieces, single_spaced(text)) for text in texts)


def _in_order(pieces: Sequence[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True
