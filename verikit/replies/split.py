"""Splits a completion into thoughts and reply, in one place for all verifiers.

Models mark their thoughts with tags, such as `<think>…</think>` or gpt-oss's channels. An opening tag starts a block of
thoughts at the start of the completion, after another block, or at the start of a line. Elsewhere it does so only if it
is closed later. A closing tag without an opening one ends thoughts that the prompt opened. If there are several closing
tags, the last one before some text ends the block, so thoughts can mention a closing tag. A tag in a code fence or in
inline code is a mention, not a tag. The split takes one pass, linear in the length of the completion.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from verikit.messages import content_text
from verikit.types import Prompt

Reads = Literal["reply", "thoughts", "all"]
"""The part of a completion to read. `all` is both, with separate thoughts in `<think>` before the reply."""

TAGS_VARIABLE = "VERIKIT_THOUGHT_TAGS"
"""Environment variable with more tags, alternately opening and closing: `<plan> </plan> [COT] [/COT]`."""
TAGS: tuple[tuple[str, str], ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
"""The tags around thoughts. gpt-oss's channels are recognised in addition to them."""

FINISH_KEYS = ("finish_reason", "finish_reasons", "stop_reason")
"""Keys of a completion with the reason why the model stopped writing."""
CUT = ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length", "budget")
"""Values of these keys for a reply that was cut off by a token limit."""

_CHANNEL = r"(?:<\|start\|>assistant)?<\|channel\|>"
_OPENING_CHANNEL = _CHANNEL + r"(?:analysis|commentary)[^<\n]{0,200}(?:<\|constrain\|>[^<\n]{0,50})?<\|message\|>"
_FINAL_CHANNEL = r"(?:<\|end\|>)?" + _CHANNEL + r"final[^<\n]{0,50}(?:<\|constrain\|>[^<\n]{0,50})?<\|message\|>"
_END_OF_CHANNEL = r"<\|end\|>(?=<\|start\|>assistant<\|channel\|>)"
_END_OF_TURN = re.compile(r"\s*(?:<\|return\|>|<\|end\|>|<\|END_RESPONSE\|>|<\|end_of_solution\|>)\s*\Z")
_FENCE = (
    r"^[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+){0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`\n<\[◁]{0,200})(?:$|(?=[<\[◁]))"
)
_BARE_CHANNELS = ("analysis", "assistantfinal")
"""The rest of gpt-oss's channel marks after decoding dropped the special tokens."""

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Reply:
    """A completion, split into thoughts and reply."""

    reply: str
    """The text for the user. Stripped if there are thoughts, otherwise the whole completion unchanged."""
    thoughts: str = ""
    closed: bool = True
    """Whether the last thoughts end. If they don't, no reply follows them."""
    reply_bounds: tuple[Bounds, ...] = ()
    """[start, end) in the completion of each piece of the reply, in order."""
    thought_bounds: tuple[Bounds, ...] = ()
    """[start, end) of each piece of the thoughts, in order. Tags belong to neither reply nor thoughts."""

    @property
    def missing(self) -> str:
        """The reason why there is no reply. Empty if there is a reply, or if there are no thoughts either."""
        if self.reply.strip() or not self.thought_bounds:
            return ""
        return "no reply: nothing follows the thoughts" if self.closed else "no reply: the thoughts never end"

    def at(self, offset: int) -> int:
        """The position in the completion of a character of `reply`."""
        for start, end in self.reply_bounds:
            if offset <= end - start:
                return start + offset
            offset -= end - start + 1
        return self.reply_bounds[-1][1] if self.reply_bounds else 0


def split(completion: str) -> Reply:
    """Split a completion into thoughts and reply.

    Pieces of the reply that are separated by thoughts are joined by a line break. Pieces of the thoughts are joined
    likewise.
    """
    known = _known(_more_tags())
    if not _may_think(completion, known):
        return Reply(completion, reply_bounds=((0, len(completion)),))
    if not any(mark in completion for mark in known.marks):
        opening, closing = _BARE_CHANNELS
        end = completion.rindex(closing)
        return _reply(completion, [(len(opening), end)], [(end + len(closing), len(completion))], True)
    tags = _tags(completion, known)
    thoughts, reply, closed = _blocks(completion, tags)
    if not closed and (loose := [i for i, tag in enumerate(tags) if tag.loose]):
        # Thoughts may leave a fence open, which then hides the tag that ends them.
        tags[loose[-1]] = tags[loose[-1]]._replace(quoted=False)
        thoughts, reply, closed = _blocks(completion, tags)
    if not thoughts:
        return Reply(completion, reply_bounds=((0, len(completion)),))
    return _reply(completion, thoughts, reply, closed)


def finish_reason(meta: Mapping[str, Any]) -> str:
    """The reason why the model stopped writing, from a completion's keys. Empty if there is none."""
    return next((told for key in FINISH_KEYS if isinstance(told := meta.get(key), str) and told), "")


_ENVIRONMENT: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
"""The mapping beneath `os.environ`, if there is one. A lookup for every completion takes a tenth of the time."""
_ENCODED = TAGS_VARIABLE if _ENVIRONMENT is os.environ else os.environ.encodekey(TAGS_VARIABLE)


def _more_tags() -> str:
    """The value of the environment variable with tags. The lookup is cheap if it is not set."""
    return os.environ.get(TAGS_VARIABLE, "") if _ENCODED in _ENVIRONMENT else ""


def may_think(completion: str) -> bool:
    """Whether a completion contains something that looks like thoughts. A cheap test before `split`."""
    return _may_think(completion, _known(_more_tags()))


def reply_text(completion: str) -> str:
    """`split(completion).reply`. Cheap if the completion contains nothing that looks like thoughts."""
    return split(completion).reply if may_think(completion) else completion


def reply_texts(completions: Iterable[str]) -> list[str]:
    """`reply_text` of each completion. The environment is read only once."""
    known = _known(_more_tags())
    return [split(text).reply if _may_think(text, known) else text for text in completions]


_OPEN_CHANNEL = re.compile(_OPENING_CHANNEL + r"\Z")


def opens_thoughts(prompt: Prompt | Mapping[str, Any]) -> bool:
    """Whether a prompt ends in an opening tag of thoughts, so that the completion starts within the thoughts."""
    if isinstance(prompt, str):
        text = prompt
    else:
        messages: Sequence[Mapping[str, Any]] = [prompt] if isinstance(prompt, Mapping) else prompt
        prefilled = bool(messages) and messages[-1].get("role") == "assistant"
        text = content_text(messages[-1].get("content")) if prefilled else ""
    end = text[-400:].rstrip()
    if end.endswith("<|message|>"):
        return _OPEN_CHANNEL.search(end) is not None
    return end.endswith(_known(_more_tags()).openings)


class _Tag(NamedTuple):
    start: int
    end: int
    opens: bool
    quoted: bool
    """Whether the tag is in code and so only a mention."""
    loose: bool = False
    """Whether this closing tag begins a line within a fence that contains no opening tag before it."""


class _Known(NamedTuple):
    """The patterns that separate thoughts from the reply."""

    pattern: re.Pattern[str]
    """Matches tags, code fences and inline code."""
    marks: tuple[str, ...]
    """Strings of which every completion with tagged thoughts contains at least one."""
    openings: tuple[str, ...]
    marks_by_sign: tuple[tuple[str, tuple[str, ...]], ...]
    """The marks grouped by their last character."""
    starts: re.Pattern[str]
    """Matches a character that a tag or inline code can start with."""


def _may_think(completion: str, known: _Known) -> bool:
    """Whether a completion contains any mark of thoughts. Usually False, and then fast."""
    for sign, marks in known.marks_by_sign:
        if sign in completion:
            for mark in marks:
                if mark in completion:
                    return True
    opening, closing = _BARE_CHANNELS
    return completion.startswith(opening) and closing in completion


@cache
def _known(more: str) -> _Known:
    """The patterns for the built-in tags and the tags in `more`."""
    words = more.split()
    pairs = [*TAGS, *zip(words[::2], words[1::2], strict=False)]
    openings = "|".join(re.escape(opening) for opening, _ in pairs)
    closings = "|".join(re.escape(closing) for _, closing in pairs)
    closings = f"{closings}|{_FINAL_CHANNEL}|{_END_OF_CHANNEL}"
    pattern = f"{_FENCE}|(?P<run>`+)|(?P<opening>{openings}|{_OPENING_CHANNEL})|(?P<closing>{closings})"
    own = {closing for _, closing in pairs[len(TAGS) :]} | {opening for opening, _ in pairs[len(TAGS) :]}
    ends = ("think>", "thinking>", "thought>", "thoughts>", "reasoning>", "think▷", "THINK]")
    marks = (*ends, "_of_thought|>", "_THINKING|>", "<|channel|>", *sorted(own))
    first = "".join(sorted({"<", "`", *(tag[0] for pair in pairs for tag in pair)}))
    return _Known(
        re.compile(pattern, re.MULTILINE),
        marks,
        tuple(opening for opening, _ in pairs),
        _by_last_sign(marks),
        re.compile(f"[{re.escape(first)}]"),
    )


def _by_last_sign(marks: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    signs = sorted({mark[-1] for mark in marks})
    return tuple((sign, tuple(mark for mark in marks if mark[-1] == sign)) for sign in signs)


def _matches(text: str, known: _Known) -> Iterator[re.Match[str]]:
    """Yield every match of the pattern, tried only at positions where a match can start."""
    begins = [match.start() for match in known.starts.finditer(text)]
    if lines := _fence_lines(text):
        begins = sorted({*begins, *lines})
    end = 0
    for begin in begins:
        if begin >= end and (match := known.pattern.match(text, begin)):
            end = match.end()
            yield match


def _fence_lines(text: str) -> list[int]:
    """The starts of lines that may open or close a fence."""
    starts = []
    for mark in ("```", "~~~"):
        at = text.find(mark)
        while at >= 0:
            starts.append(text.rfind("\n", 0, at) + 1)
            line_end = text.find("\n", at)
            at = text.find(mark, line_end) if line_end >= 0 else -1
    return starts


def _tags(text: str, known: _Known) -> list[_Tag]:
    """All tags in order, each with whether it is a mention in code."""
    found: list[_Tag] = []
    fence, inside = "", 0  # the open fence's mark, and the first tag within
    run, since, line_end = 0, 0, -1  # the open backticks' number, the first tag after them, and the end of their line
    for match in _matches(text, known):
        if match["fence"] is not None:
            mark, info = match["fence"], match["info"].strip()
            if fence and (mark[0] != fence[0] or len(mark) < len(fence)):
                continue
            glued = text[match.end() : match.end() + 1] not in ("", "\n")  # a tag follows: this opens no fence
            if fence and (glued or not info):
                _quote_fenced(text, found, inside)
                fence = ""
            elif glued:
                continue
            else:  # one with a label opens a fence, so one before it was never closed
                fence, inside = mark, len(found)
            run = 0
        elif match["run"] is not None:
            if fence:
                continue
            size = len(match["run"])
            if match.start() > line_end:
                line_end = text.find("\n", match.end())
                line_end = len(text) if line_end < 0 else line_end
                run = 0
            if run == size:
                found[since:] = [tag._replace(quoted=True) for tag in found[since:]]
                run = 0
            elif not run:
                run, since = size, len(found)
        else:
            found.append(_Tag(match.start(), match.end(), match["opening"] is not None, False))
    return found


def _quote_fenced(text: str, found: list[_Tag], start: int) -> None:
    """Mark the tags in a fence that has just closed as mentions."""
    opened = False
    for i in range(start, len(found)):
        tag = found[i]
        opened = opened or tag.opens
        at_line_start = tag.start == 0 or text[tag.start - 1] == "\n"
        found[i] = tag._replace(quoted=True, loose=at_line_start and not (tag.opens or opened))


def _blocks(text: str, tags: Sequence[_Tag]) -> tuple[list[Bounds], list[Bounds], bool]:
    """The bounds of the thoughts and of the reply, and whether the last thoughts end."""
    live = [tag for tag in tags if not tag.quoted]
    last_closing = max((tag.start for tag in live if not tag.opens), default=-1)
    content_end = _content_end(text, live)
    thoughts: list[Bounds] = []
    reply: list[Bounds] = []
    start, inside, owed = 0, False, 0
    for tag in live:
        if tag.opens and inside:
            owed += 1
        elif tag.opens:
            begins = _begins(text, start, tag.start)
            if begins or tag.start < last_closing:
                reply.append((start, tag.start))
                start, inside, owed = tag.end, True, 0
        elif inside:
            thoughts.append((start, tag.start))
            start, inside = tag.end, False
        elif not thoughts or owed or tag.end < content_end:
            thoughts.append((start, tag.start))
            start, owed = tag.end, max(0, owed - 1)
        else:  # a stray tag at the very end
            reply.append((start, tag.start))
            start = tag.end
    (thoughts if inside else reply).append((start, len(text)))
    return thoughts, reply, not inside


def _begins(text: str, start: int, position: int) -> bool:
    """Whether only spaces and tabs precede a position, in its line or since `start`."""
    while position > start and text[position - 1] in " \t":
        position -= 1
    return position <= start or text[position - 1] == "\n"


def _content_end(text: str, live: Sequence[_Tag]) -> int:
    """The end of the text, excluding closing tags and whitespace at its end."""
    end = _rstripped(text, len(text))
    for tag in reversed(live):
        if tag.opens or tag.end < end:
            break
        end = _rstripped(text, tag.start)
    return end


def _rstripped(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _reply(text: str, thoughts: Sequence[Bounds], reply: Sequence[Bounds], closed: bool) -> Reply:
    if reply and (end := _END_OF_TURN.search(text, max(reply[-1][0], len(text) - 100))):
        reply = [*reply[:-1], (reply[-1][0], end.start())]
    own, kept = _trimmed(text, thoughts), _trimmed(text, reply)
    join = "\n".join
    return Reply(
        join(text[a:b] for a, b in kept),
        join(text[a:b] for a, b in own),
        closed,
        tuple(kept),
        tuple(own) or ((thoughts[0][0], thoughts[0][0]),),
    )


def _trimmed(text: str, bounds: Sequence[Bounds]) -> list[Bounds]:
    """Bounds without surrounding whitespace. Empty ones are dropped."""
    found = []
    for start, end in bounds:
        piece = text[start:end]
        if stripped := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            found.append((first, first + len(stripped)))
    return found
