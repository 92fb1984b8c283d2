"""The check `reach`: expected values in files that the agent receives.

A value that the agent has to find in its data is not a leak. So a value is a leak only in places that contain only
answers:

- a copy of a file of answers
- a line or a file that announces an answer
- prose with a number that is not in the data
- a hash of it
- an image's variables
- a comment in the prompt
- an old version in a git history

Values must be rare by their shape, and words of the prompt add nothing to it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from verikit.env.audit.dockerfile import given_files, instructions
from verikit.env.audit.golds import ExpectedValues, bits, golds_of, is_answer_name, squeezed, words_of
from verikit.env.audit.history import loose_object, packed_objects
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.task import AuditedTask, table
from verikit.workspaces.names import shown

RARE = 12.0
"""Bits of a value that counts wherever an answer is announced."""
VERY_RARE = 16.0
"""Bits of a value that counts in prose, in a variable and in a history."""
ANNOUNCED = re.compile(
    r"\b(?:expected|answers?|golds?|golden|solutions?|ground[ _-]?truth|correct|oracle|(?:key|result) is)\b"
    r"[^\n]{0,40}\Z",
    re.IGNORECASE,
)
_PROSE = (".md", ".rst", ".adoc")
_DOCUMENTS = ("readme", "notes", "todo", "changelog", "history", "hint", "contributing")
_HASHES = ("md5", "sha1", "sha256", "sha512")
_HEX, _BASE64 = re.compile(r"[0-9a-fA-F]{12,800}"), re.compile(r"[A-Za-z0-9+/]{8,800}")
_DUNDER = re.compile(r"__\w{1,80}__")
MAX_GIVEN = 2**23
"""Characters of a task's files, the smallest first, that are searched for values."""


@dataclass(slots=True)
class _Given:
    """A file that the agent gets."""

    path: str
    text: str


def check_reach(task: AuditedTask) -> CheckRecord:
    """Look for expected values in the agent's files, image, variables and prompt."""
    golds = golds_of(task)
    prompt = "\n".join(task.text(part.instruction) or "" for part in task.parts)
    plain = "".join(_outside_comments(prompt))
    known = words_of(plain)
    rare = {value: bits(value, known) for value in golds.values if value not in plain and not _is_a_name(value)}
    rare = {value: weight for value, weight in rare.items() if weight >= RARE}
    given, left = _within_limit(list(_given(task)))
    findings = [*_copies(golds, given, plain), *_in_files(golds, rare, given), *_hashes(golds, plain, given)]
    findings += _in_image(task, golds, rare)
    findings += _in_comments(task, golds, rare)
    findings += _in_history(task, golds, rare, given)
    undecided = []
    if not golds.values and not golds.files:
        undecided.append("expected values that can be read from the tests or the solution")
    notes = [f"not read: {shown(path)}" for path in [*task.unread("environment"), *left][:5]]
    return judged(findings, undecided, notes)


def _is_a_name(value: str) -> bool:
    """Whether a value names a place or a thing of Python."""
    return value.startswith(("/", "./", "~", "http://", "https://")) or _DUNDER.fullmatch(value) is not None


def _within_limit(given: list[_Given]) -> tuple[list[_Given], list[str]]:
    """The files within the limit, in their order, and the paths of the others."""
    total, small = 0, set[str]()
    for one in sorted(given, key=lambda one: len(one.text)):
        total += len(one.text)
        if total <= MAX_GIVEN:
            small.add(one.path)
    return [one for one in given if one.path in small], [one.path for one in given if one.path not in small]


def _outside_comments(text: str) -> Iterator[str]:
    at = 0
    for begin, end in _comments(text):
        yield text[at:begin]
        at = end
    yield text[at:]


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each HTML comment."""
    begin = text.find("<!--")
    while begin >= 0:
        end = text.find("-->", begin)
        if end < 0:
            return
        yield begin, end + 3
        begin = text.find("<!--", end)


def _given(task: AuditedTask) -> Iterator[_Given]:
    """The text files that the image gets from `environment/`; all of them if there is no Dockerfile."""
    folder = "environment/"
    manifest = {path[len(folder) :]: entry for path, entry in task.tree.manifest.items() if path.startswith(folder)}
    dockerfile = task.text("environment/Dockerfile")
    there = {path for path, entry in manifest.items() if entry.kind == "file"}
    if dockerfile is not None:
        there = given_files(manifest, dockerfile, task.text("environment/.dockerignore") or "")
    for part in task.parts:
        if part.name:
            yield from (_Given(path, task.text(path) or "") for path in task.files(f"steps/{part.name}/workdir"))
    for path in sorted(there):
        text = task.text(folder + path) if path != "Dockerfile" and "/.git/" not in f"/{path}" else None
        if text is not None:
            yield _Given(folder + path, text)


def _copies(golds: ExpectedValues, given: list[_Given], prompt: str) -> Iterator[EnvFinding]:
    """Files of answers that the agent receives unchanged, unless the prompt names them."""
    for one in given:
        origin = golds.files.get(squeezed(one.text))
        name = one.path.rpartition("/")[2]
        if origin is None or name in prompt:
            continue
        same_name = origin.rpartition("/")[2] == name
        if not same_name or is_answer_name(origin) or _is_test(origin):
            yield EnvFinding("copy", f"the agent gets {shown(origin)} as {shown(one.path)}", shown(one.path))


def _in_files(golds: ExpectedValues, rare: dict[str, float], given: list[_Given]) -> Iterator[EnvFinding]:
    """Values in files and lines that announce an answer, and numbers that only prose has."""
    given = [one for one in given if not _is_test(one.path)]
    prose = [one.path for one in given if _is_prose(one.path)]
    data = [one for one in given if not _is_prose(one.path)]
    for value, weight in rare.items():
        for one in given:
            at = find_value(one.text, value)
            if at < 0:
                continue
            alone = one.text.strip() == value
            head = one.text[max(0, at - 120) : at].rpartition("\n")[2]
            announced = alone or is_answer_name(one.path) or ANNOUNCED.search(head) is not None
            told = one.path in prose and weight >= VERY_RARE and _is_only_there(value, data)
            if announced or told:
                yield _leak("value", golds, value, one.path, one.text, at)


def _is_test(path: str) -> bool:
    """Whether a file is a test by its name."""
    stem = path.rpartition("/")[2].lower().partition(".")[0]
    return stem == "test" or stem.startswith("test_") or stem.endswith("_test")


def _is_prose(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith(_PROSE) or name.startswith(_DOCUMENTS)


def _is_only_there(value: str, data: list[_Given]) -> bool:
    """Whether a value is a number that no file but prose has."""
    return _is_number(value) and all(find_value(other.text, value) < 0 for other in data)


def _is_number(value: str) -> bool:
    return value.replace(",", "").replace(".", "").lstrip("-").isdecimal()


def find_value(text: str, value: str) -> int:
    """The position of a value as a whole word in a string, or -1. A number may have commas between its thousands."""
    forms = {value}
    if _is_number(value) and "," not in value:
        whole, sign, rest = value.partition(".")
        forms.add(f"{int(whole):,}{sign}{rest}" if whole.lstrip("-").isdecimal() and len(whole) < 30 else value)
    for form in forms:
        at = text.find(form)
        for _ in range(50):
            if at < 0:
                break
            before, after = text[at - 1 : at], text[at + len(form) : at + len(form) + 1]
            if not (before.isalnum() and form[0].isalnum()) and not (after.isalnum() and form[-1].isalnum()):
                return at
            at = text.find(form, at + 1)
    return -1


def _leak(kind: str, golds: ExpectedValues, value: str, path: str, text: str, at: int) -> EnvFinding:
    line = text.count("\n", 0, at) + 1
    what = f"the expected value {shown(value[:60])!r} of {shown(golds.values[value])}"
    return EnvFinding(kind, f"the agent gets {what}", f"{shown(path)}:{line}")


def _hashes(golds: ExpectedValues, prompt: str, given: list[_Given]) -> Iterator[EnvFinding]:
    """Hashes and encodings of values. A hash of a short value can be tried out."""
    where: dict[str, str] = {}
    for one in given:
        for token in [*_HEX.findall(one.text), *_BASE64.findall(one.text)]:
            where.setdefault(token if token.isalpha() else _as_code(token), one.path)
    for value in [value for value in golds.values if value not in prompt and len(value) >= 2]:
        for name, code in _codes(value):
            if code in where:
                what = f"the agent gets {name} of the expected value {shown(value[:60])!r}"
                yield EnvFinding("hash", what, shown(where[code]))


def _as_code(token: str) -> str:
    return token.lower() if _HEX.fullmatch(token) else token


def _codes(value: str) -> Iterator[tuple[str, str]]:
    data = value.encode("utf-8", "surrogateescape")
    for name in _HASHES:
        for form in (data, data + b"\n"):
            yield name, hashlib.new(name, form, usedforsecurity=False).hexdigest()
    if len(data) >= 6:
        yield "base64", base64.b64encode(data).decode().rstrip("=")
        yield "the hexadecimal digits", data.hex()


def _in_image(task: AuditedTask, golds: ExpectedValues, rare: dict[str, float]) -> Iterator[EnvFinding]:
    """Values in lines of the Dockerfile and in variables of `task.toml`."""
    for line in instructions(task.text("environment/Dockerfile") or ""):
        told = f"{line.rest}\n{line.document}"
        writes = line.word == "RUN" and any(word in told for word in ("echo", "printf", "<<"))
        if line.word in ("ENV", "ARG", "LABEL") or writes:
            for value, weight in rare.items():
                if _gives(told, value, weight):
                    what = f"{line.word} has the expected value {shown(value[:60])!r} of {shown(golds.values[value])}"
                    yield EnvFinding("image", what, f"environment/Dockerfile:{line.line}")
    for name, told in table(table(task.config, "environment"), "env").items():
        for value, weight in rare.items():
            if _gives(f"{name}={told}", value, weight):
                what = f"the variable {shown(name)} has the expected value {shown(value[:60])!r}"
                yield EnvFinding("image", what, "task.toml")


def _gives(text: str, value: str, weight: float) -> bool:
    """Whether a string contains a value that is very rare, or that it announces as an answer."""
    at = find_value(text, value)
    return at >= 0 and (
        weight >= VERY_RARE or ANNOUNCED.search(text[max(0, at - 120) : at].replace("_", " ")) is not None
    )


def _in_comments(task: AuditedTask, golds: ExpectedValues, rare: dict[str, float]) -> Iterator[EnvFinding]:
    for part in task.parts:
        text = task.text(part.instruction) or ""
        for begin, end in _comments(text):
            for value in rare:
                if find_value(text[begin:end], value) >= 0:
                    what = f"a comment of the prompt has the expected value {shown(value[:60])!r}"
                    yield EnvFinding("prompt", f"{what} of {shown(golds.values[value])}", shown(part.instruction))


def _in_history(
    task: AuditedTask, golds: ExpectedValues, rare: dict[str, float], given: list[_Given]
) -> Iterator[EnvFinding]:
    """Values and lines of the solution that only git objects have."""
    wanted = [value for value, weight in rare.items() if weight >= VERY_RARE]
    wanted = [value for value in wanted if all(find_value(one.text, value) < 0 for one in given)]
    for path in task.files("environment"):
        if "/.git/" not in path:
            continue
        for content in _objects(task, path):
            text = content.decode("utf-8", "replace")
            found = next((value for value in wanted if find_value(text, value) >= 0), None)
            origin = golds.files.get(squeezed(text))
            if found is not None:
                what = f"the history has the expected value {shown(found[:60])!r} of {shown(golds.values[found])}"
                yield EnvFinding("history", what, shown(path))
            elif origin is not None and all(squeezed(one.text) != squeezed(text) for one in given):
                yield EnvFinding("history", f"the history has {shown(origin)}", shown(path))


def _objects(task: AuditedTask, path: str) -> Iterator[bytes]:
    data = task.data(path) or b""
    if "/objects/" not in path:
        yield data
    elif path.endswith(".pack"):
        yield from packed_objects(data)
    elif len(path.rpartition("/")[2]) in (38, 62):
        yield loose_object(data)
