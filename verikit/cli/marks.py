"""Marks a candidate's text: thoughts, reply, and the position of the extracted answer."""

from __future__ import annotations

from collections.abc import Iterator

from verikit.replies.split import Reads, split

HEAD, TAIL = 6, 14
"""Lines shown of a longer piece: its first and its last."""
WIDTH = 200
"""Characters shown of a longer line."""


def marked(completion: str, answer: str | None, reads: Reads) -> Iterator[str]:
    """Yield a completion's lines after the name of their piece. The answer's last occurrence is underlined.

    Args:
        completion: The candidate's text.
        answer: The extracted answer. It is not marked if the text does not contain it verbatim.
        reads: The pieces that the verifier reads.
    """
    reply = split(completion)
    pieces = [("thoughts", *bounds) for bounds in reply.thought_bounds]
    pieces += [("reply", *bounds) for bounds in reply.reply_bounds]
    read = [(start, end) for kind, start, end in pieces if reads in ("all", kind)]
    found = _last(completion, answer, read) if answer else None
    for kind, start, end in sorted(pieces, key=lambda piece: piece[1:]):
        yield from _lines(completion, kind, start, end, found)


def _last(text: str, answer: str, pieces: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the last position of an answer in the pieces, preferring occurrences as a separate word."""
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
