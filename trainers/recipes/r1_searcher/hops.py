"""Two-passage questions from a corpus, by rule: the creator of a work, and that person's year of birth or death.

It combines a passage with "directed by …" and a passage whose title is that name and that starts with years of life.
The result is "In which year was the director of the film TITLE born?". Ambiguous passages are skipped: two directors,
two passages of a name, two years on one side of the dash.
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
"""A person's role for a work, and the words before the name in the work's passage."""
ASKED = {"born": "In which year was the {role} {work} born?", "died": "In which year did the {role} {work} die?"}
NAME_WORDS = 6
LIFE_WITHIN = 120
"""Maximum start of a parenthesis, in characters, for it to be about a person's life."""
_YEAR = re.compile(r"(?<![0-9])(?:1[0-9]|20)[0-9]{2}(?![0-9])")
_UNSURE = ("c.", "circa", "about", " or ", "?", "before", "after", "baptised", "baptized")


@dataclass(frozen=True, slots=True)
class TwoHopQuestion:
    """A question, its answer, and the two passages that it requires."""

    prompt: str
    answer: str
    """A year."""
    event: str
    """`born` or `died`."""
    role: str
    """The person's role for the work: `director of the film`."""
    person: str
    hops: tuple[Passage, Passage]
    """The passages about the work and about the person."""


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
    """Yield (role, name) of a work's creators: names of passages, if the passage names only one person."""
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
    """Return a person's `born` and `died` years, if the first parenthesis has one year for each.

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
    """Return the years of one side, or an empty list if it is marked as uncertain."""
    return [] if any(word in text for word in _UNSURE) else _YEAR.findall(text)


def _goes_on(name: str, following: Sequence[str]) -> bool:
    """Whether a further name may follow: after "and", or after a comma and a capital letter."""
    if not following or name[-1] in ".;":
        return False
    return following[0] in ("and", "&") or (name[-1] == "," and following[0][0].isupper())


def _by_name(passages: Sequence[Passage]) -> dict[str, Passage | None]:
    """Map titles, without their parentheses, to the first passages of documents; None for ambiguous titles."""
    found: dict[str, Passage | None] = {}
    for passage in passages:
        _, cut, piece = passage.id.rpartition("#")
        if cut and piece != "0":
            continue
        name = passage.title.partition(" (")[0]
        found[name] = None if name in found else passage
    return found
