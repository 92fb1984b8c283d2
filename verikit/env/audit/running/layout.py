"""The files of a task's image, as far as known without building it: `COPY` lines and harmless `RUN` lines."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from verikit.env.audit.dockerfile import DockerLine, arguments, expanded, instructions
from verikit.env.audit.running.box import BoxFile, has_program
from verikit.env.audit.task import AuditedTask, joined
from verikit.verifiers.tools.commands import SimpleCommand
from verikit.verifiers.tools.shell import parsed
from verikit.workspaces.harbor import placed_files

BASES = frozenset(
    "python ubuntu debian alpine busybox bash scratch buildpack-deps node golang rust ruby perl gcc openjdk".split()
)
"""Base images whose files outside of their system folders do not matter."""
_NOTHING = frozenset("echo true : rm chown useradd groupadd adduser addgroup export set cd".split())
_UPDATES = (("apt-get", "update"), ("apt", "update"), ("apt-get", "clean"), ("apk", "update"))
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]{0,80})(?:\[[^\]]{0,80}\])?(?:==([\w.!+*-]{1,40}))?$")
_PASSED = frozenset(
    "ARG CMD ENTRYPOINT EXPOSE LABEL HEALTHCHECK STOPSIGNAL USER VOLUME SHELL MAINTAINER COPY ADD".split()
)


@dataclass
class ImageLayout:
    """The content of an image on top of its base."""

    files: dict[str, BoxFile] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)
    """Requirements that this machine lacks, or that are unknown without building the image."""
    notes: list[str] = field(default_factory=list)


def image_layout(task: AuditedTask, dockerfile: str) -> ImageLayout:
    """Read the Dockerfile of a task.

    Args:
        task: The task.
        dockerfile: Its path in the task. Its folder is the build context.

    Raises:
        WorkspaceError: A file changed meanwhile.
    """
    layout = ImageLayout()
    text = task.text(dockerfile) or ""
    lines = list(instructions(text))
    _copy(task, layout, dockerfile, lines)
    known, at = arguments(text), "/"
    if sum(line.word == "FROM" for line in lines) != 1:
        layout.needs.append("an image of one stage")
    for line in lines:
        if line.word == "WORKDIR":
            at = joined(at, line.rest.strip("\"'"))
            layout.folders.append(at)
        elif line.word == "FROM":
            _base(layout, line, known)
        elif line.word == "RUN":
            _run(layout, line, at)
        else:
            _setting(layout, line)
    return layout


def _setting(layout: ImageLayout, line: DockerLine) -> None:
    """A line that makes no files."""
    if line.word == "ENV":
        _variables(layout, line)
    elif line.word not in _PASSED or "<<" in line.rest:
        layout.needs.append(f"an image built with {line.word} {line.rest}"[:120])


def _copy(task: AuditedTask, layout: ImageLayout, dockerfile: str, lines: list[DockerLine]) -> None:
    below = dockerfile[: dockerfile.rindex("/") + 1]
    context = {
        path[len(below) :]: entry
        for path, entry in task.tree.manifest.items()
        if path.startswith(below) and path != dockerfile
    }
    copies = "\n".join(f"{one.word} {one.rest}" for one in lines if one.word in ("COPY", "ADD", "WORKDIR"))
    places, unknown = placed_files(context, copies)
    if unknown:
        layout.needs.append(f"the built image: {unknown}")
    for path, origin in places.items():
        _place(task, layout, f"{below}{origin}", f"/{path}")


def _place(task: AuditedTask, layout: ImageLayout, origin: str, path: str) -> None:
    entry, content = task.tree.manifest[origin], task.data(origin)
    if content is None or len(content) != entry.size:
        layout.needs.append(f"a file that can be read as {origin}"[:120])
    else:
        layout.files[path] = BoxFile(content, entry.executable)


def _base(layout: ImageLayout, line: DockerLine, known: dict[str, str]) -> None:
    words = [word for word in line.rest.split() if not word.startswith("--")]
    image = expanded(words[0], known) if words else ""
    name = (image or "").partition("@")[0].rpartition("/")[2].partition(":")[0]
    plain = (image or "").partition("@")[0].removeprefix("docker.io/").removeprefix("library/")
    if name not in BASES or "/" in plain:
        layout.needs.append(f"the image {image or line.rest}"[:120])
    layout.notes.append(f"FROM {image or line.rest}"[:120])


def _variables(layout: ImageLayout, line: DockerLine) -> None:
    words = parsed(line.rest).commands
    told = [word.text for command in words for word in command.words]
    for word in told:
        name, sign, value = word.partition("=")
        if sign:
            found = expanded(value, layout.env)
            if found is None:
                layout.needs.append(f"the value of ENV {word}"[:120])
            elif name != "PATH":
                layout.env[name] = found


def _run(layout: ImageLayout, line: DockerLine, at: str) -> None:
    """Apply the effect of a `RUN` line, or name its requirement."""
    try:
        commands = [] if line.document else parsed(line.rest).commands
    except (ValueError, RecursionError):
        commands = []
    if not commands:
        layout.needs.append(f"an image built with RUN {line.rest}"[:120])
    for command in commands:
        problem = _carried(layout, command, at)
        if problem:
            layout.needs.append(problem[:120])


def _carried(layout: ImageLayout, command: SimpleCommand, at: str) -> str:
    """Apply one command. Returns its requirement if that is impossible."""
    words = [word.text for word in command.words]
    if not words or (_is_closed(command) and _replayed(layout, words, at)):
        return ""
    missing = _missing(words) if _is_closed(command) else None
    return f"an image built with RUN {' '.join(words)}" if missing is None else missing


def _replayed(layout: ImageLayout, words: list[str], at: str) -> bool:
    """Apply a harmless command. Returns whether it is one."""
    program, named = words[0], _named(words)
    if program == "mkdir":
        layout.folders += [joined(at, name) for name in named]
    elif program == "touch":
        layout.files.update({joined(at, name): BoxFile() for name in named})
    elif program == "chmod":
        _executable(layout, named, at)
    else:
        return program in _NOTHING or tuple(words[:2]) in _UPDATES
    return True


def _named(words: list[str]) -> list[str]:
    """The words after the program that are not options."""
    return [word for word in words[1:] if not word.startswith("-")]


def _is_closed(command: SimpleCommand) -> bool:
    """Whether a command's words are known, and it writes no file by `>`."""
    writes = any(">" in sign and target.text != "/dev/null" for sign, target in command.redirects)
    return not writes and all(word.known for word in command.words)


def _executable(layout: ImageLayout, named: list[str], at: str) -> None:
    for name in named[1:]:
        path = joined(at, name)
        if path in layout.files and ("x" in named[0] or "7" in named[0] or "5" in named[0]):
            layout.files[path] = BoxFile(layout.files[path].content, True)


def _missing(words: list[str]) -> str | None:
    """The packages that an installing command would add and this machine lacks; None if it does something else."""
    for lead in (["python", "-m"], ["python3", "-m"], ["uv"]):
        if words[: len(lead)] == lead:
            words = words[len(lead) :]
    named = _named(words)
    doing = (*words[:1], *named[:1])
    if doing in (("pip", "install"), ("pip3", "install")) and "-r" not in words:
        return ", ".join(filter(None, map(missing_package, named[1:])))
    if doing in (("apt-get", "install"), ("apt", "install"), ("apk", "add")):
        return ", ".join(filter(None, map(missing_program, named[1:])))
    return None


def missing_package(requirement: str) -> str:
    """What this machine lacks of a requirement of Python packages; empty if it is installed."""
    match = _REQUIREMENT.match(requirement)
    if match is None:
        return f"the Python package {requirement}"
    if match[1].lower() in ("pip", "setuptools", "wheel", "uv", "pytest-json-ctrf"):
        return ""  # the box has the option --ctrf
    try:
        importlib.metadata.version(match[1])
    except importlib.metadata.PackageNotFoundError:
        return f"the Python package {match[1]}"
    return ""


_PROGRAMS = {"coreutils": "ls", "python3-minimal": "python3", "python3-pytest": "pytest", "ripgrep": "rg"}


def missing_program(package: str) -> str:
    """What this machine lacks of a system package; empty if it has the program."""
    name = package.partition("=")[0]
    if name in ("ca-certificates", "tzdata", "locales", "procps", "python3-pip", "python3-venv"):
        return ""
    return "" if has_program(_PROGRAMS.get(name, name)) else f"the program {name}"


def absolute_tops(texts: Iterator[str]) -> list[str]:
    """Folders at the root that strings name and a box may need."""
    found: dict[str, None] = {}
    for text in texts:
        for match in _TOP.finditer(text[:200_000]):
            if match[1] not in _SYSTEM:
                found.setdefault(f"/{match[1]}")
    return list(found)[:16]


_TOP = re.compile(r"(?:^|[\s'\"=(:>,])/([A-Za-z][\w-]{0,40})(?=/)", re.MULTILINE)
_SYSTEM = frozenset("usr bin sbin lib lib64 etc proc dev sys tmp run kept boot".split())
