"""Prompts, answers and references as turns, from any format: strings, messages or content parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from verikit.errors import AgentFault, UsageError, VerikitError
from verikit.judges.evidence.attached import attached_text
from verikit.judges.evidence.cited import Citable
from verikit.judges.evidence.entries import call_text
from verikit.judges.evidence.media import Media, media_parts
from verikit.judges.evidence.shown import NotShown
from verikit.messages import (
    CompletionMessage,
    are_parts,
    by_assistant,
    calls_among,
    calls_beside,
    content_text,
    media_of,
    messages_of,
)
from verikit.replies.text import accepted
from verikit.types import Gold

if TYPE_CHECKING:
    from verikit.judges.evidence.opening import OpenFiles

MOST_FILES = 16
"""Maximum files among the parts of one text."""
LONE = "text"
"""Role of a text without a speaker."""


class Turn(NamedTuple):
    """One message, or a text without a conversation."""

    role: str
    text: str
    media: tuple[Media, ...] = ()
    number: int = 0
    """The number of a run's entry. 0 for a note between entries."""
    of: int = 0
    """For a result, the number of its call."""
    told: str = ""
    """verikit's words below the text. They do not count as its characters."""


@dataclass(frozen=True)
class Evidence:
    """What replaces an answer in a judge's prompt."""

    turns: tuple[Turn, ...] = ()
    note: str = ""
    """verikit's note on it, placed before the marks."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """Usage of preparing it."""
    error: VerikitError | None = None
    """Why it is missing."""
    entries: int = 0
    """For a run, its number of entries. Entries are numbered."""
    seen: int = 0
    """Number of entries that are shown, in whole or in part."""
    pictures: int = 0
    """For a run, the number of pictures in its entries."""
    sent: int = 0
    """Number of these pictures that are shown."""
    acts: bool = False
    """Whether it includes an action: a call, a result or a changed file."""
    citable: Citable = field(default_factory=Citable)
    """The parts that a judge may cite."""
    workspace: str = ""
    """Digest of the files that belong to it."""
    files: OpenFiles | None = None
    """The files, for judges that look closer."""
    whole: str = ""
    """All of it as one string, if it is too long to be shown and may be read in pieces."""


Shown = str | Sequence[Any] | Mapping[str, Any] | Evidence | None
"""A string, messages, content parts, or evidence built from them."""


def turns(shown: Shown, *, calls: bool = False) -> list[Turn]:
    """The turns of a prompt, an answer or a reference, optionally with their `calls`.

    Raises:
        NotShown: It has a different format.
    """
    if shown is None or isinstance(shown, str):
        return [Turn(LONE, shown or "")]
    if isinstance(shown, Evidence):
        if shown.error is not None:
            raise shown.error
        return list(shown.turns)
    try:
        if are_parts([shown] if isinstance(shown, Mapping) else shown):
            return [Turn("user", content_text(shown), media_parts(shown))]
        return [_turn(message, calls) for message in messages_of(shown)]
    except UsageError as error:
        raise NotShown(f"a prompt, answer or reference that can't be read: {error}") from None


def with_files(found: Sequence[Turn], name: str, what: str) -> list[Turn]:
    """The turns, each followed by a turn per file that its parts embed.

    Args:
        found: Turns.
        name: The template's name of the text that they belong to.
        what: That text, for messages.

    Raises:
        NotShown: A file can't be shown, or there are too many.
    """
    count = sum(item.word == "file" for turn in found for item in turn.media)
    if count > MOST_FILES:
        raise NotShown(f"the {what} has {count} files, more than {MOST_FILES}", too_long=name)
    made: list[Turn] = []
    for turn in found:
        files = [Turn("file", _file(item.part, name, what)) for item in turn.media if item.word == "file"]
        rest = turn._replace(media=tuple(item for item in turn.media if item.word != "file"))
        made += [*([rest] if rest.text or rest.media or not files else []), *files]
    return made


def as_text(prompt: Shown) -> str:
    """A prompt as one string, to distinguish prompts. A single user message is the same prompt as its text."""
    found = turns(prompt)
    if len(found) == 1:
        return _told(found[0])
    return "\n\n".join(f"[{turn.role}]\n{_told(turn)}" for turn in found)


def as_pairs(prompt: Shown) -> list[list[str]]:
    """Role and text of each turn, to distinguish prompts. A string is a user message."""
    return [["user" if turn.role == LONE else turn.role, _told(turn)] for turn in turns(prompt)]


def reply_shown(text: str, messages: Sequence[CompletionMessage]) -> str | Evidence:
    """A reply's text, with the pictures and other media of its message."""
    for message in reversed(messages):
        media = media_parts(message.get("content")) if by_assistant(message) else ()
        if media:
            return Evidence((Turn(LONE, text, media),))
        if by_assistant(message) and _text(message):
            break
    return text


def _file(part: Any, name: str, what: str) -> str:
    try:
        return attached_text(part, candidate=name.startswith("answer"))
    except AgentFault as problem:
        raise NotShown(f"the {what} has a file that can't be read: {problem}", nothing=name) from None
    except VerikitError as problem:
        too_long = name if isinstance(problem, NotShown) and problem.too_long else ""
        told = f"the {what} has a file that can't be shown: {problem}"
        raise NotShown(told, hint=problem.hint, too_long=too_long) from None


def reference_shown(answer: Gold) -> Shown:
    """A gold answer as a judge sees it: content parts unchanged, or all accepted answers.

    None if there is none, or if the parts are blank.
    """
    if are_parts(answer):
        return answer if media_of(answer) or content_text(answer).strip() else None
    return "\n".join(accepted(answer)) or None


def _turn(message: CompletionMessage, calls: bool) -> Turn:
    content = message.get("content")
    text = content_text(content)
    if calls:
        made = [*calls_among(content), *calls_beside(message)]
        text = "\n".join(filter(None, (text, *(f"calls {call_text(call)}" for call in made))))
    return Turn(str(message.get("role") or "user"), text, media_parts(content))


def _text(message: CompletionMessage) -> str:
    try:
        return content_text(message.get("content"))
    except UsageError:
        return ""


def _told(turn: Turn) -> str:
    """A turn's text, with other media as digests."""
    return "\n".join(filter(None, (turn.text, *(f"⟨{item.word} {item.digest}⟩" for item in turn.media))))
