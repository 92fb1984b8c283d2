"""The order of a test script: its commands with their conditions, and those that write the reward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from verikit.verifiers.tools.commands import SimpleCommand, Word, without_assignments
from verikit.verifiers.tools.shell import parsed

REWARDS = "/logs/verifier"
"""The folder that Harbor reads the reward from."""
MAX_GUARDS, MAX_TRAPS = 8, 4
"""Maximum nested conditions, and commands per condition, that are stored; maximum traps that are read."""
OURS = tuple(
    f"/{name}" for name in "tests logs solution tmp usr bin sbin lib lib64 etc proc dev sys opt var run".split()
)
"""Top folders that usually don't contain the agent's work."""
_TESTERS = frozenset(
    """pytest py.test tox node deno bun cargo go make mvn gradle ruby rspec bats perl sqlite3 jq npx npm uvx uv pipx
    bash sh java dotnet php Rscript julia ctest""".split()
)
"""Programs whose exit code depends on the agent's work."""
_COMPARERS = frozenset(("[", "[[", "test", "diff", "cmp", "grep", "egrep", "fgrep", "cat", "stat", "ls", "md5sum"))
"""Programs whose exit code depends on the agent's work if they name a file of it."""
_SETUP = frozenset(
    """install ci sync add venv pip ensurepip update upgrade clean config --version -V init mod fetch download get
    clone""".split()
)
_SHOWERS = frozenset(("cp", "mv", "ln", "cat", "head", "tail", "jq", "install", "rsync"))


@dataclass(slots=True)
class PlacedCommand:
    """A command with its place in the script."""

    command: SimpleCommand
    guards: list[SimpleCommand] = field(default_factory=list)
    """The commands that decide whether it runs."""
    tested: bool = False
    """Whether the script continues under `set -e` if it fails."""
    line: int = 0

    @property
    def program(self) -> str:
        """The program's name, without its folder."""
        return self.command.words[0].text.rpartition("/")[2] if self.command.words else ""

    @property
    def arguments(self) -> list[Word]:
        """The words after the program."""
        return self.command.words[1:]


@dataclass(slots=True)
class _Block:
    kind: str
    conditions: list[SimpleCommand] = field(default_factory=list)
    deciding: bool = True


def placed(text: str) -> list[PlacedCommand]:
    """The commands of a script in order, each with its guards."""
    found: list[PlacedCommand] = []
    blocks: list[_Block] = []
    chain: list[SimpleCommand] = []
    for raw in parsed(text).commands:
        negated = _enter(blocks, raw.lead)
        deciding = bool(blocks) and blocks[-1].deciding
        command = without_assignments(raw) if len(raw.words) > 1 else raw
        outer = blocks[:-1] if deciding else blocks
        guards = [one for block in outer[-MAX_GUARDS:] for one in block.conditions] + chain
        goes_on = raw.ended in ("&&", "||", "|", "|&", "&")
        found.append(PlacedCommand(command, guards, deciding or negated or goes_on or raw.inner))
        if deciding:
            blocks[-1].conditions[MAX_GUARDS:] = [command]
        chain = [*chain, command][-MAX_GUARDS:] if raw.ended in ("&&", "||") else []
    for trap in [one for one in found if one.program == "trap" and one.arguments][:MAX_TRAPS]:
        found += _trapped(trap.arguments[0].text)
    _number(found, text)
    return found


def _trapped(text: str) -> Iterator[PlacedCommand]:
    """The commands of a trap. They run when the script ends or receives a signal."""
    for command in parsed(text).commands:
        command.inner = True
        yield PlacedCommand(command, tested=True)


def _enter(blocks: list[_Block], lead: list[str]) -> bool:
    """Open and close blocks by reserved words, and return whether the command is negated."""
    negated = False
    for word in lead:
        negated = word == "!"
        if word in ("if", "while", "until"):
            blocks.append(_Block(word))
        elif word == "do" and not (blocks and blocks[-1].deciding and blocks[-1].kind in ("while", "until")):
            blocks.append(_Block("for", deciding=False))
        elif word in ("then", "do", "else") and blocks:
            blocks[-1].deciding = False
        elif word == "elif" and blocks:
            blocks[-1].deciding = True
        elif word in ("fi", "done") and blocks:
            blocks.pop()
    return negated


def _number(found: list[PlacedCommand], text: str) -> None:
    """Set the lines: each command's first word is searched for from the previous command's line."""
    lines = text.splitlines()
    at = 0
    for one in found:
        first = " ".join(word.text for word in one.command.words[:2])
        here = next((n for n in range(at, min(at + 400, len(lines))) if first and first[:40] in lines[n]), at)
        at = here
        one.line = here + 1


def is_theirs(path: str) -> bool:
    """Whether an absolute path usually belongs to the agent."""
    if path.startswith(("/logs/artifacts", "/logs/agent")):
        return True
    return path.startswith("/") and path != "/" and not path.startswith(tuple(f"{top}/" for top in OURS) + OURS)


def depends(command: SimpleCommand, tested_before: bool) -> bool:
    """Whether a command's exit code depends on the agent's work, judged by its words.

    Args:
        command: Without its assignments.
        tested_before: Whether such a command came before. `$?` and variables of the script depend on it.
    """
    if not command.words:
        return False
    program = command.words[0].text.rpartition("/")[2]
    arguments = [word.text for word in command.words[1:]]
    if program in _COMPARERS:
        named = [one for one in arguments if not one.startswith("-")]
        return any(map(is_theirs, named)) or (tested_before and any(map(_is_result, named)))
    if program in _TESTERS or program.startswith(("python", "pypy")) or is_theirs(command.words[0].text):
        return not _SETUP & set(arguments[:3])
    return False


def _is_result(text: str) -> bool:
    names = ("$?", "$RET", "$RESULT", "$CODE", "$STATUS", "$EXIT", "$RC", "$FAIL", "$PASS", "$SCORE", "$TEST")
    return text.upper().lstrip('"').startswith(names)


def is_reward(path: str) -> bool:
    """Whether a path is one of the files that Harbor reads the reward from."""
    return path.startswith(f"{REWARDS}/") and path.rpartition("/")[2] in ("reward.txt", "reward.json")


def named_reward(path: str) -> bool:
    """Whether a file has the name of a reward file, in any folder."""
    return path.rpartition("/")[2] in ("reward.txt", "reward.json")


def writes(one: PlacedCommand) -> Iterator[str]:
    """Paths that a command writes, as its words show them."""
    yield from (target.text for sign, target in one.command.redirects if sign in (">", ">>", ">|", "&>", "&>>"))
    plain = [word.text for word in one.arguments if not word.text.startswith("-")]
    if one.program in ("cp", "mv", "ln", "install", "rsync") and len(plain) > 1:
        yield plain[-1]
    elif one.program == "tee":
        yield from plain


def shown_sources(one: PlacedCommand) -> list[str]:
    """Files whose content a command passes on unchanged: arguments of `cat`, `cp`, `jq` and similar programs."""
    if one.program not in _SHOWERS:
        return []
    plain = [word.text for word in one.arguments if not word.text.startswith("-")]
    plain += [target.text for sign, target in one.command.redirects if sign == "<"]
    copies = one.program in ("cp", "mv", "ln", "install", "rsync")
    return plain[:-1] if copies else plain
