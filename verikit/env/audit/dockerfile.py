"""Dockerfiles as instructions with their lines. It builds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from verikit.env.audit.task import joined
from verikit.workspaces.manifest import FileEntry
from verikit.workspaces.names import has_wildcards, matches, parts

_HEREDOC = re.compile(r"<<-?\s?(['\"]?)([A-Za-z_]\w{0,60})\1")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w{0,80})(?::?-([^}$]{0,400}))?\}|([A-Za-z_]\w{0,80}))")


@dataclass(frozen=True, slots=True)
class DockerLine:
    """One instruction."""

    line: int
    """Of the file, 1-based."""
    word: str
    """`FROM`, `RUN`, …"""
    rest: str
    """The arguments, with continued lines joined."""
    document: str = ""
    """The here-documents after it."""


def instructions(text: str) -> Iterator[DockerLine]:
    """The instructions of a Dockerfile, in order."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        begin, pieces = at, [lines[at]]
        while pieces[-1].rstrip().endswith("\\") and at + 1 < len(lines):
            pieces[-1] = pieces[-1].rstrip()[:-1]
            at += 1
            while at + 1 < len(lines) and lines[at].lstrip().startswith("#"):
                at += 1  # a comment between continued lines
            pieces.append(lines[at])
        at += 1
        joined_line = " ".join(piece.strip() for piece in pieces).strip()
        word, _, rest = joined_line.partition(" ")
        if not word or word.startswith("#"):
            continue
        document: list[str] = []
        if word.upper() in ("RUN", "COPY", "ADD"):
            for match in _HEREDOC.finditer(rest):
                while at < len(lines) and lines[at].strip() != match[2]:
                    document.append(lines[at])
                    at += 1
                at += 1
        yield DockerLine(begin + 1, word.upper(), rest.strip(), "\n".join(document))


def expanded(text: str, variables: Mapping[str, str]) -> str | None:
    """The text with the values of its variables; None if one is unknown."""
    unknown = False

    def value(match: re.Match[str]) -> str:
        nonlocal unknown
        known = variables.get(match[1] or match[3], match[2])
        unknown = unknown or known is None
        return known or ""

    found = _VARIABLE.sub(value, text)
    return None if unknown else found


def arguments(text: str) -> dict[str, str]:
    """The default values of a Dockerfile's `ARG` lines."""
    found = {}
    for one in instructions(text):
        name, sign, value = one.rest.partition("=")
        if one.word == "ARG" and sign:
            found[name.strip()] = value.strip().strip("\"'")
    return found


def workdir(text: str) -> str:
    """The last `WORKDIR` of a Dockerfile."""
    at = "/"
    for one in instructions(text):
        if one.word == "FROM":
            at = "/"
        elif one.word == "WORKDIR":
            at = joined(at, one.rest.strip("\"'"))
    return at


def copied_sources(line: DockerLine) -> list[str]:
    """The sources of a `COPY` or `ADD` in the build context; empty if it copies from a stage or writes a string."""
    words = line.rest.strip("[]").replace('"', " ").replace(",", " ").split() if line.rest.startswith("[") else None
    words = line.rest.split() if words is None else words
    if line.word not in ("COPY", "ADD") or any(word.startswith("--from") for word in words) or "<<" in line.rest:
        return []
    named = [word for word in words if not word.startswith("--")]
    return [word for word in named[:-1] if "://" not in word and not word.startswith("git@")]


def given_files(manifest: Mapping[str, FileEntry], dockerfile: str, ignored: str) -> set[str]:
    """Files of a Dockerfile's folder that its `COPY` and `ADD` lines copy into the image and no `RUN rm` removes.

    Args:
        manifest: The files, by their path from the Dockerfile's folder.
        dockerfile: Its text.
        ignored: The text of `.dockerignore`.
    """
    patterns = [line.strip() for line in ignored.splitlines() if line.strip() and not line.startswith("#")]
    sources = [source for line in instructions(dockerfile) for source in copied_sources(line)]
    removed = {word for line in instructions(dockerfile) if line.word == "RUN" for word in _removed(line.rest)}
    return {
        path
        for path, entry in manifest.items()
        if entry.kind == "file"
        and any(_covers(source, path) for source in sources)
        and not _is_ignored(path, patterns)
        and path.rpartition("/")[2] not in removed
    }


def _removed(command: str) -> Iterator[str]:
    """The last names of paths that the `rm` commands of a line name."""
    for run in re.split(r"&&|;|\|\|", command):
        words = run.split()
        if words[:1] == ["rm"]:
            yield from (word.rstrip("/").rpartition("/")[2] for word in words[1:] if not word.startswith("-"))


def _covers(source: str, path: str) -> bool:
    names = parts(source.lstrip("/"))
    if names is None:
        return False
    pattern = "/".join(names)
    if not pattern or path == pattern or path.startswith(f"{pattern}/"):
        return True
    return has_wildcards(pattern) and (matches(pattern, path) or matches(f"{pattern}/**", path))


def _is_ignored(path: str, patterns: list[str]) -> bool:
    ignored = False
    for pattern in patterns:
        keeps = pattern.startswith("!")
        plain = pattern.lstrip("!").strip("/")
        if matches(plain, path) or matches(f"{plain}/**", path):
            ignored = not keeps
    return ignored
