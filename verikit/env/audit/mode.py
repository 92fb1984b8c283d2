"""The check `mode`: which box runs the tests, who can write the reward, and whether the script always writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verikit.env.audit.dockerfile import instructions
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.scripts import (
    REWARDS,
    PlacedCommand,
    depends,
    is_reward,
    is_theirs,
    named_reward,
    placed,
    shown_sources,
    writes,
)
from verikit.env.audit.task import AuditedTask, TaskPart
from verikit.workspaces.names import shown

_ELSEWHERE = re.compile(r"""["']((?:/[\w.-]{1,80}){1,12}/reward\.(?:txt|json))["']""")
_NOTE = "the tests can be read by the agent's code if they run it"


def check_mode(task: AuditedTask) -> CheckRecord:
    """Look at the way a task is graded."""
    findings: list[EnvFinding] = []
    notes: list[str] = []
    undecided: list[str] = []
    for part in task.parts:
        at = f"step {shown(part.name)}: " if part.name else ""
        if not part.separate:
            told = "the tests run in the agent's own box, where its programs and processes are still there"
            findings.append(EnvFinding("shared", f"{at}{told}", "task.toml"))
        script = task.script(part.tests)
        if script is None:
            undecided.append(f"{at}a test.sh that can be read")
            continue
        commands = placed(task.text(script) or "")
        findings += _exits(task, script, commands, _graders(task, part, script))
        findings += _owners(task, part, script, commands)
        if any(depends(one.command, False) for one in commands):
            notes.append(_NOTE)
    findings += _image(task)
    return judged(findings, undecided, tuple(dict.fromkeys(notes)))


def _graders(task: AuditedTask, part: TaskPart, script: str) -> set[str]:
    """Names of files of the tests that name the reward's folder."""
    paths = {path for folder in part.tests for path in task.files(folder)} - {script}
    return {path.rpartition("/")[2] for path in paths if REWARDS in (task.text(path) or "")}


def _exits(task: AuditedTask, script: str, commands: list[PlacedCommand], graders: set[str]) -> Iterator[EnvFinding]:
    """Commands that end the script before it has written a reward, if that depends on the agent or on nothing."""
    text = task.text(script) or ""
    if any(one.program == "trap" and "EXIT" in [word.text for word in one.arguments] for one in commands):
        return
    strict = text.split("\n", 1)[0].startswith("#!") and " -e" in text.split("\n", 1)[0]
    tested = False
    for one in commands:
        strict = _strictness(one, strict)
        if _writes_reward(one, graders):
            return
        result = depends(one.command, tested)
        where = f"{shown(script)}:{one.line}"
        if one.program == "exit" and not one.command.inner:
            if not one.guards:
                yield EnvFinding("exit", "the script ends before it writes a reward", where)
                return
            if any(depends(guard, tested) for guard in one.guards):
                yield EnvFinding("exit", "the agent's work can end the script before it writes a reward", where)
                return
        if strict and result and not one.tested:
            told = f"with set -e, a failure of {shown(one.program)} ends the script before it writes a reward"
            yield EnvFinding("exit", told, where)
            return
        tested = tested or (result and one.program not in ("[", "test", "[["))


def _strictness(one: PlacedCommand, strict: bool) -> bool:
    if one.program != "set":
        return strict
    words = [word.text for word in one.arguments]
    for number, word in enumerate(words):
        named = words[number + 1 : number + 2] == ["errexit"] and word in ("-o", "+o")
        if named or (word[:1] in "+-" and word[1:].isalpha() and "e" in word[1:]):
            strict = word.startswith("-")
    return strict


def _writes_reward(one: PlacedCommand, graders: set[str]) -> bool:
    """Whether a command writes a reward, or runs a file of the tests that names the reward's folder."""
    if any(is_reward(path) or ("$" in path and named_reward(path)) for path in writes(one)):
        return True
    told = (one.command.given or "") + " ".join(word.text for word in one.command.words)
    if "reward" in told and not one.program.startswith("echo"):
        return True
    return not graders.isdisjoint(word.text.rpartition("/")[2] for word in one.command.words)


def _owners(task: AuditedTask, part: TaskPart, script: str, commands: list[PlacedCommand]) -> Iterator[EnvFinding]:
    """Rewards that the agent writes itself, and rewards in places that belong to the agent or are never read."""
    texts = {path: task.text(path) or "" for folder in part.tests for path in task.files(folder)}
    named = any("reward" in text for text in texts.values())
    right = any(REWARDS in text for text in texts.values())
    for one in commands:
        yield from _misplaced(one, f"{shown(script)}:{one.line}")
    if not named and not any("$" in path for one in commands for path in writes(one)):
        yield EnvFinding("none", "no file of the tests writes a reward", shown(script))
    elif not right:
        for path, text in texts.items():
            for match in _ELSEWHERE.finditer(text):
                yield EnvFinding("owned", f"a reward is written to {shown(match[1])}, not to {REWARDS}", shown(path))


def _misplaced(one: PlacedCommand, where: str) -> Iterator[EnvFinding]:
    """A command that takes the reward from the agent, or writes it to a wrong path."""
    targets = list(writes(one))
    if any(map(is_reward, targets)):
        for source in filter(is_theirs, shown_sources(one)):
            yield EnvFinding("claimed", f"the reward is a copy of the agent's {shown(source)}", where)
    for path in targets:
        if named_reward(path) and not is_reward(path) and path.startswith("/") and not path.startswith("/tmp/"):
            yield EnvFinding("owned", f"a reward is written to {shown(path)}, not to {REWARDS}", where)


def _image(task: AuditedTask) -> Iterator[EnvFinding]:
    """Lines of the agent's image that prepare the place of the reward."""
    for line in instructions(task.text("environment/Dockerfile") or ""):
        told = f"{line.rest}\n{line.document}"
        if line.word in ("RUN", "COPY", "ADD") and REWARDS in told:
            opens = any(word in told for word in ("chmod", "chown", "reward."))
            if opens:
                where = f"environment/Dockerfile:{line.line}"
                yield EnvFinding("owned", f"the agent's image prepares {REWARDS}", where)
