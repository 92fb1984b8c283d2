"""A candidate's text with marks: what was thoughts, what was the reply, and where the extracted answer stands."""

from __future__ import annotations

from collections.abc import Iterator

from verikit.replies.split import Reads, split

HEAD, TAIL = 6, 14
"""Lines shown of a longer piece: its first and its last."""
WIDTH = 200
"""Characters shown of a longer line."""


def marked(completion: str, answer: str | None, reads: Reads) -> Iterator[str]:
    """The lines of a completion behind the name of the piece they are of, the answer's last place underlined.

    Args:
        completion: The candidate's text.
        answer: What a verifier extracted; not marked where it does not stand in the text word for word.
        reads: Which pieces the verifier looked at.
    """
    reply = split(completion)
    pieces = [("thoughts", *bounds) for bounds in reply.thought_bounds]
    pieces += [("reply", *bounds) for bounds in reply.reply_bounds]
    read = [(start, end) for kind, start, end in pieces if reads in ("all", kind)]
    found = _last(completion, answer, read) if answer else None
    for kind, start, end in sorted(pieces, key=lambda piece: piece[1:]):
        yield from _lines(completion, kind, start, end, found)


def _last(text: str, answer: str, pieces: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Where an answer stands last in the pieces, as a word of its own if it does so anywhere."""
    found = []
    for start, end in pieces:
        at = text.rfind(answer, start, end)
        while at >= 0:
            around = text[max(start, at - 1) : at] + text[at + len(answer) : min(end, at + len(answer) + 1)]
            found.append((not any(char.isalnum() for char in around), at))
            at = text.rfind(answer, start, at) if len(found) < 1000 else -1
    return (max(found)[1], max(found)[1] + len(answer)) if found else None


def _lines(text: str, kind: str, start: int, end: int, found: tuple[int, int] | None) -> Iterator[str]:
    lines = text[start:end].split("\n")
    left_out = range(HEAD, len(lines) - TAIL) if len(lines) > HEAD + TAIL + 1 else range(0)
    at = start
    for number, line in enumerate(lines):
        here = found is not None and at <= found[0] < at + len(line) + 1
        if number not in left_out or here:
            yield from _line(kind, line, (found[0] - at, found[1] - at) if here and found else None)
        elif number == left_out.start:
            yield f"{kind:>8} | … {len(left_out)} lines"
        at += len(line) + 1


def _line(kind: str, line: str, span: tuple[int, int] | None) -> Iterator[str]:
    first = max(0, min(span[0] - WIDTH // 2, len(line) - WIDTH)) if span else 0
    shown = line[first : first + WIDTH].replace("\t", " ")
    before, after = "…" if first else "", "…" if first + WIDTH < len(line) else ""
    yield f"{kind:>8} | {before}{shown}{after}".rstrip()
    if span:
        marks = max(1, min(span[1] - first, len(shown)) - (span[0] - first))
        yield f"{'':>8} | {' ' * (len(before) + span[0] - first)}{'^' * marks} extracted"
