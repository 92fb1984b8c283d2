"""Questions over two passages, made from a corpus by rule: who made a work, and when that person was born or died.

A passage that says "directed by NAME" and one whose title is NAME and that begins with years of life make "In which
year was the director of the film TITLE born?". What is read in two ways is left out: two directors, two passages of a
name, two years on one side of the dash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from verikit.retrieval.types import Passage

MADE_BY = {
    "director of the film": "directed by ",
    "composer of the opera": "opera by ",
    "author of the novel": "novel by ",
    "performer of the song": "song by ",
}
"""What a person is to a work, and the words before the name in the work's passage."""
ASKED = {"born": "In which year was the {role} {work} born?", "died": "In which year did the {role} {work} die?"}
NAME_WORDS = 6
LIFE_WITHIN = 120
"""Characters from which on a parenthesis is no longer that of a person's life."""
_YEAR = re.compile(r"(?<![0-9])(?:1[0-9]|20)[0-9]{2}(?![0-9])")
_UNSURE = ("c.", "circa", "about", " or ", "?", "before", "after", "baptised", "baptized")


@dataclass(frozen=True, slots=True)
class TwoHopQuestion:
    """A question, its answer, and the two passages that it takes."""

    prompt: str
    answer: str
    """A year."""
    event: str
    """`born` or `died`."""
    role: str
    """What the person is to the work: `director of the film`."""
    person: str
    hops: tuple[Passage, Passage]
    """Of the work, and of the person."""


def two_hop_questions(passages: Sequence[Passage]) -> list[TwoHopQuestion]:
    """Return all questions that two passages answer, in the order of the works' passages."""
    named = _by_name(passages)
    found: dict[str, TwoHopQuestion] = {}
    for work in passages:
        for role, name in makers(work.text, named):
            person = named[name]
            if person is None or person.title == work.title:
                continue
            for event, year in life(person.text).items():
                prompt = ASKED[event].format(role=role, work=work.title)
                found.setdefault(prompt, TwoHopQuestion(prompt, year, event, role, name, (work, person)))
    return list(found.values())


def makers(text: str, named: Mapping[str, Passage | None]) -> Iterator[tuple[str, str]]:
    """Yield (role, name) of who made a work: names that passages have, where the text names one person alone."""
    for role, words in MADE_BY.items():
        _, said, rest = text.partition(words)
        if not said:
            continue
        following = rest.split(maxsplit=NAME_WORDS + 1)
        for count in range(min(NAME_WORDS, len(following)), 1, -1):
            name = " ".join(following[:count])
            if (bare := name.rstrip(".,;")) in named:
                if not _goes_on(name, following[count:]):
                    yield role, bare
                break


def life(text: str) -> dict[str, str]:
    """Return the years in which a person was `born` and `died`, as far as the first parenthesis tells one each.

    Reads "(born 12 May 1950)", "(6 August 1892 – 6 January 1963)" and "(– 31 January 1758)".
    """
    before, opened, rest = text[: LIFE_WITHIN * 3].partition("(")
    within, closed, _ = rest.partition(")")
    if not opened or not closed or len(before) > LIFE_WITHIN or "(" in within:
        return {}
    if "–" in within:
        sides = within.split("–")
        told = dict(zip(("born", "died"), sides, strict=True)) if len(sides) == 2 else {}
    else:
        told = {"born": within} if within.strip().startswith("born") else {}
    return {event: years[0] for event, side in told.items() if len(years := _years(side)) == 1}


def _years(text: str) -> list[str]:
    """Return the years of one side, or none where it says that it isn't sure."""
    return [] if any(word in text for word in _UNSURE) else _YEAR.findall(text)


def _goes_on(name: str, following: Sequence[str]) -> bool:
    """Whether a further name may follow: after "and", or after a comma and then a capital letter."""
    if not following or name[-1] in ".;":
        return False
    return following[0] in ("and", "&") or (name[-1] == "," and following[0][0].isupper())


def _by_name(passages: Sequence[Passage]) -> dict[str, Passage | None]:
    """Index the first passages of documents by title without what stands in parentheses; None where two have it."""
    found: dict[str, Passage | None] = {}
    for passage in passages:
        _, cut, piece = passage.id.rpartition("#")
        if cut and piece != "0":
            continue
        name = passage.title.partition(" (")[0]
        found[name] = None if name in found else passage
    return found
