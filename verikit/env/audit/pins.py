"""The check `pins`: images by digest, packages by version, downloads by checksum or version."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from verikit.env.audit.dockerfile import arguments, expanded, instructions
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.scripts import placed
from verikit.env.audit.task import AuditedTask, table
from verikit.verifiers.tools.commands import SimpleCommand, without_assignments
from verikit.workspaces.names import shown

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}\Z")
_VERSION = re.compile(r"(?:^|[^0-9])v?\d+\.\d+(?:\.\d+)?|[0-9a-f]{40}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SUMS = frozenset(("sha256sum", "sha512sum", "shasum"))
_REQUIREMENT = re.compile(r"(?:===?)\s*[\w.!+*-]+")
_TAKES_VALUE = frozenset(
    """-i --index-url --extra-index-url -f --find-links --target -t --prefix --root --python -p --cache-dir --timeout
    --retries --platform --proxy --trusted-host --progress-bar --report --index --directory --project --env-file
    --default-timeout -o""".split()
)
_LOCAL = (".", "/", "~", "$")


def check_pins(task: AuditedTask) -> CheckRecord:
    """Find dependencies that may change over time."""
    findings: list[EnvFinding] = []
    undecided: list[str] = []
    environments = [table(task.config, "environment")]
    environments += [table(part.verifier, "environment") for part in task.parts]
    for environment in environments:
        image = environment.get("docker_image")
        if isinstance(image, str) and not _DIGEST.search(image):
            findings.append(EnvFinding("image", f"docker_image {shown(image)} has no digest", "task.toml"))
    for path in sorted(task.files()):
        name = path.rpartition("/")[2]
        text = task.text(path) if _is_read(path, name) else None
        if text is None:
            continue
        if name == "Dockerfile" or name.startswith("Dockerfile."):
            findings += dockerfile_pins(path, text, undecided)
        elif name.startswith("requirements") and name.endswith((".txt", ".in")):
            findings += requirement_pins(path, text)
        else:
            findings += _commands(text, path, lines=True)
    return judged(findings, undecided)


def _is_read(path: str, name: str) -> bool:
    """Whether a file can install something: images, lists of requirements, the test script."""
    inside = path.startswith(("environment/", "tests/", "steps/"))
    return inside and (name == "test.sh" or name.startswith(("Dockerfile", "requirements")) or name == "setup.sh")


def dockerfile_pins(path: str, text: str, undecided: list[str]) -> Iterator[EnvFinding]:
    """Images, packages and downloads of a Dockerfile. Unknown values are appended to `undecided`."""
    stages: set[str] = set()
    known = arguments(text)
    for line in instructions(text):
        where = f"{shown(path)}:{line.line}"
        if line.word == "FROM":
            words = [word for word in line.rest.split() if not word.startswith("--")]
            image = expanded(words[0], known) if words else ""
            if image is None:
                undecided.append(f"the value of {shown(words[0])} in {where}")
            elif image not in stages and image != "scratch" and not _DIGEST.search(image):
                yield EnvFinding("image", f"FROM {shown(image)} has no digest", where)
            if len(words) == 3 and words[1].lower() == "as":
                stages.add(words[2])
        elif line.word == "RUN":
            yield from _commands(line.document or line.rest, where)
        elif line.word == "ADD":
            sources = [word for word in line.rest.split()[:-1] if not word.startswith("--")]
            if "--checksum" not in line.rest:
                yield from (_download(word, where) for word in sources if "://" in word)


def requirement_pins(path: str, text: str) -> Iterator[EnvFinding]:
    """Lines of a requirement file that have no version."""
    for number, line in enumerate(text.splitlines(), 1):
        told = line.partition(" #")[0].strip()
        if told and not told.startswith(("#", "-")) and not is_pinned(told):
            yield EnvFinding("package", f"{shown(told)} has no version", f"{shown(path)}:{number}")


def is_pinned(requirement: str) -> bool:
    """Whether a requirement has one version, a commit or a checksum, or is a local file."""
    name = requirement.partition(";")[0].strip()
    if name.startswith(_LOCAL) or name.endswith((".whl", ".tar.gz", ".zip")):
        return True
    if "@" in name and "://" in name:
        return bool(re.search(r"@[0-9a-f]{7,40}(?:#|\Z)|#sha256=", name))
    return bool(_REQUIREMENT.search(name)) and "*" not in name


def _commands(text: str, where: str, *, lines: bool = False) -> Iterator[EnvFinding]:
    """Unpinned installs and downloads of a shell text."""
    found = placed(text)
    commands = [_words(one.command) for one in found]
    programs = {words[0] for words in commands if words}
    pinned = any(map(_is_checkout, commands))
    for one, words in zip(found, commands, strict=True):
        at = f"{shown(where)}:{one.line}" if lines else where
        yield from _installed(words, at)
        if words[:1] in (["curl"], ["wget"]) and not programs & _SUMS:
            yield from _downloads(words, at)
        elif words[:2] == ["git", "clone"] and not pinned:
            yield EnvFinding("download", "git clone without a commit or a version", at)


def _words(command: SimpleCommand) -> list[str]:
    """The words of a command, starting with its program."""
    words = [word.text for word in without_assignments(command).words]
    while words and (words[0] == "sudo" or words[0].startswith("--mount") or words[0].startswith("--network")):
        words = words[1:]
    return [words[0].rpartition("/")[2], *words[1:]] if words else []


def _installed(words: list[str], where: str) -> Iterator[EnvFinding]:
    """Packages that a command installs without a version."""
    program = words[0] if words else ""
    if program.startswith("python") and words[1:3] == ["-m", "pip"]:
        program, words = "pip", words[2:]
    elif program == "uv" and words[1:2] == ["pip"]:
        program, words = "pip", words[1:]
    if program in ("uvx", "uv"):
        yield from _with_packages(program, words, where)
    for (names, verbs), has_version in _INSTALLERS.items():
        verb = next((word for word in words[1:4] if word in verbs), None) if program in names else None
        for one in _packages(words[words.index(verb) + 1 :]) if verb else ():
            if not has_version(one):
                yield EnvFinding("package", f"{program} installs {shown(one)} without a version", where)


def _has_equals(package: str) -> bool:
    return "=" in package or package.startswith(_LOCAL)


def _has_at(package: str) -> bool:
    return re.search(r".@\d", package) is not None or package.startswith(_LOCAL)


_INSTALLERS: dict[tuple[frozenset[str], frozenset[str]], Callable[[str], bool]] = {
    (frozenset(("pip", "pip3")), frozenset(("install",))): is_pinned,
    (frozenset(("apt", "apt-get")), frozenset(("install",))): _has_equals,
    (frozenset(("apk",)), frozenset(("add",))): _has_equals,
    (frozenset(("npm",)), frozenset(("install", "i", "add"))): _has_at,
}
"""From programs and their verbs to the test of a package's version."""


def _with_packages(program: str, words: list[str], where: str) -> Iterator[EnvFinding]:
    """Packages that `uvx` and `uv run` install for one command."""
    for flag, one in pairwise(words):
        if flag in ("-w", "--with") or (flag == "--from" and program == "uvx"):
            for package in one.split(","):
                if not is_pinned(package) and not re.search(r"@\d", package):
                    yield EnvFinding("package", f"{program} installs {shown(package)} without a version", where)


def _packages(words: list[str]) -> Iterator[str]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-r", "--requirement", "-c", "--constraint", "-e", "--editable") or word in _TAKES_VALUE:
            skip = True
        elif not word.startswith("-") and word:
            yield word


def _downloads(words: list[str], where: str) -> Iterator[EnvFinding]:
    for word in words[1:]:
        scheme, sign, rest = word.partition("://")
        outside = scheme in ("http", "https", "ftp") and not rest.startswith(("localhost", "127.0.0.1", "0.0.0.0"))
        if sign and outside and not _VERSION.search(rest):
            yield _download(word, where)


def _is_checkout(words: list[str]) -> bool:
    """Whether a git command names a commit or a tag with a version."""
    if words[:1] != ["git"]:
        return False
    named = [word.rpartition("=")[2] for word in words[1:] if "://" not in word]
    return any(_COMMIT.fullmatch(word) or _VERSION.match(word) for word in named)


def _download(address: str, where: str) -> EnvFinding:
    return EnvFinding("download", f"{shown(address)} is fetched without a checksum or version", where)
