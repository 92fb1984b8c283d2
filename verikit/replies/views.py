"""The part of a sample that a verifier sees (the reply, the thoughts or both), and why there is no reply."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from verikit.messages import media_said
from verikit.replies.split import Reads, Reply, may_think, opens_thoughts, split
from verikit.replies.text import accepted, in_parts
from verikit.types import Sample

_NEVER_CLOSED = "no reply: the prompt opens the thoughts, and the completion never closes them"


class Read(NamedTuple):
    """A sample as a verifier sees it."""

    sample: Sample
    """The sample with the part to read as its completion. A sample without thoughts is unchanged."""
    missing: str = ""
    """The reason why there is no reply. Empty if there is one."""
    told: str = ""
    """One line on which part of the completion is read. Empty if all of it is read."""
    media: str = ""
    """The type of a reply without text that the verifier can't see (`picture`). Otherwise empty."""

    @property
    def complete(self) -> bool:
        """Whether there is a reply that the verifier can see."""
        return not (self.missing or self.media)


def view(sample: Sample, reads: Reads | None, *, media: bool) -> Read:
    """The sample as seen by a verifier that reads this part of it and, with `media`, also pictures and other media.

    For others, a gold answer in content parts is its text. One with a picture is missing, since its text is not all.
    """
    if reads is None:
        return Read(sample)
    if not media and in_parts(sample.answer):
        sample = replace(sample, answer=next(iter(accepted(sample.answer)), None))
    if sample.messages and not sample.completion.strip() and (found := media_said(sample.messages)):
        return Read(sample, media="" if media else found[0])
    return read(sample, reads)


def read(sample: Sample, reads: Reads) -> Read:
    """The sample as a verifier sees it that reads the reply, the thoughts or all."""
    apart, completion = sample.thoughts, sample.completion
    if not apart and opens_thoughts(sample.prompt) and not split(completion).thought_bounds:
        if reads == "reply":
            return Read(replace(sample, completion="", thoughts=completion), _NEVER_CLOSED)
        completion = f"<think>\n{completion}"
        sample = replace(sample, completion=completion)
    if reads == "all":
        whole = f"<think>\n{apart}\n</think>\n\n{completion}" if apart else completion
        return Read(replace(sample, completion=whole, thoughts="") if apart else sample)
    if reads == "reply" and not apart and not may_think(completion):
        return Read(sample)
    found = split(completion)
    if not found.thought_bounds and not apart:
        return Read(sample if reads == "reply" else replace(sample, completion=""))
    told = _told(found, reads, len(apart), len(completion))
    thoughts = "\n".join(filter(None, (apart, found.thoughts)))
    if reads == "thoughts":
        return Read(replace(sample, completion=thoughts, thoughts=""), told=told)
    missing = found.missing or ("" if found.reply.strip() else "no reply: nothing follows the thoughts")
    return Read(replace(sample, completion=found.reply, thoughts=thoughts), missing, told)


def _told(found: Reply, reads: Reads, apart: int, length: int) -> str:
    if not found.thought_bounds:
        return f"read: the {reads}; {apart} characters of thoughts came apart"
    bounds = found.reply_bounds if reads == "reply" else found.thought_bounds
    spans = " and ".join(f"{start} to {end}" for start, end in bounds[:4]) + (" …" if len(bounds) > 4 else "")
    return f"read: the {reads}, characters {spans or 'none'} of {length}"


def seen(sample: Sample, reads: Reads) -> tuple[Sample, str]:
    """The sample to read, and the reason why there is no reply, if so. See `read`."""
    return read(sample, reads)[:2]


def text_read(completion: str, reads: Reads) -> str:
    """The part that is read of a standalone completion, such as an opponent's."""
    return read(Sample(completion=completion), reads).sample.completion
