"""Effects of an agent's step on paths: tool calls by their names and arguments, shell commands by their words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from verikit.calls import ToolCall
from verikit.verifiers.tools.commands import shell_effects
from verikit.verifiers.tools.effects import Does, Effect
from verikit.verifiers.tools.session import AgentSession

_EDITS = tuple("write edit create replace insert append delete remove save patch move rename".split())
_LOOKS = ("read", "view", "open", "cat", "show", "get", "search", "grep", "load", "list", "find")
_SHELL_TOOLS = ("bash", "shell", "terminal", "execute", "exec", "run", "command", "cmd")
_CODE_TOOLS = frozenset("python python3 ipython jupyter repl notebook javascript node".split())
_COMMAND_KEYS = ("command", "cmd", "script", "commands", "keystrokes", "code", "input")
_FOLDER_KEYS = tuple("cwd workdir working_dir working_directory workingdirectory".split())
_PATH_KEYS = tuple("path file filename file_path filepath target source destination dest src dir".split())
_TEXT_KEYS = tuple("content contents file_text text file_content data".split())
_ADDED_KEYS = tuple("new_str new_string insert_text replacement new_text".split())
Readings = tuple[Effect | None, ...]
"""An effect in each reading of a trajectory; None where a reading lacks it."""


class Steps:
    """Goes through the calls of a trajectory. `root` is the path of the workspace on the agent's machine."""

    def __init__(self, root: str) -> None:
        self._session = AgentSession(root)
        self._others: list[AgentSession] = []

    def effects_of(self, call: ToolCall) -> Iterator[Readings]:
        """The effects of a call.

        Two more readings start with the first `cd`: one shell runs all calls, and a `cd` may have failed.
        """
        others = self._others or [
            self._session.copy(keeps=True, enters=True), self._session.copy(keeps=False, enters=False),
        ]  # fmt: skip
        found = list(effects_of(call, self._session))
        if not self._session.moved:
            yield from ((effect,) for effect in found)
            return
        self._others = others
        yield from zip_longest(found, *(list(effects_of(call, other)) for other in others))


def effects_of(call: ToolCall, session: AgentSession) -> Iterator[Effect]:
    """The effects of a tool call in one reading."""
    told = f"{call.name}({str(dict(call.arguments))[:80]})"
    name = call.name.lower()
    scripts = {key: call.arguments[key] for key in _COMMAND_KEYS if key in call.arguments}
    paths = [value for key in _PATH_KEYS if isinstance(value := call.arguments.get(key), str)]
    kind = _kind(name) if scripts and not paths else ""
    if call.problem:
        yield Effect("hides", told=call.problem[:80])
    elif kind == "code":
        yield Effect("opaque", told="\n".join(map(_text, scripts.values())))
    elif kind == "shell":
        yield from _in_folder(call.arguments, scripts, session)
    else:
        yield from _on_paths(name, call.arguments, paths, session, told)


def _kind(name: str) -> str:
    """Whether a tool runs `code` of another language or a `shell`'s; "" if neither."""
    if _CODE_TOOLS & set(re.split(r"[^a-z0-9]+", name)):
        return "code"
    return "shell" if any(word in name for word in _SHELL_TOOLS) else ""


def _in_folder(arguments: Mapping[str, Any], scripts: Mapping[str, Any], session: AgentSession) -> Iterator[Effect]:
    """The effects of commands, in the folder that the call names."""
    here = session.cwd
    folder = next((arguments[key] for key in _FOLDER_KEYS if isinstance(arguments.get(key), str)), None)
    if folder is not None:
        session.cwd = session.placed(folder, "")
    elif arguments.get("restart"):
        session.cwd = here = ""
    for key, script in scripts.items():
        if key == "code":
            yield Effect("opaque", told=_text(script))
        yield from shell_effects(_text(script), session)
    if folder is not None:
        session.cwd = here


def _text(script: Any) -> str:
    """A command; a list of words is quoted, as it runs without a shell."""
    if not isinstance(script, list):
        return str(script)
    if all(isinstance(one, dict) for one in script):
        return "\n".join(str(value) for one in script for key in _COMMAND_KEYS for value in [one.get(key)] if value)
    return shlex.join(map(str, script))


def _on_paths(
    name: str, arguments: Mapping[str, Any], paths: list[str], session: AgentSession, told: str
) -> Iterator[Effect]:
    """The effects of a call by its name on the paths among its arguments."""
    doing = f"{name} {arguments.get('command', '')}".lower()
    edits, looks = (any(word in doing for word in words) for words in (_EDITS, _LOOKS))
    for path in paths:
        does: Does = "names"
        if edits:
            does = "writes"
        elif looks:
            does = "reads"
        place = session.placed(path, "")
        yield Effect(does, place, told=told)
        if edits:
            _noted(session, place, arguments)
    if edits and not paths:
        yield Effect("opaque", told="\n".join(map(str, arguments.values())))


def _noted(session: AgentSession, path: str, arguments: Mapping[str, Any]) -> None:
    """Note the text that a call writes to a file."""
    whole = next((arguments[key] for key in _TEXT_KEYS if isinstance(arguments.get(key), str)), None)
    added = [arguments[key] for key in _ADDED_KEYS if isinstance(arguments.get(key), str)]
    if whole is not None and not added:
        session.wrote(path, whole)
    else:
        session.wrote(path, "\n".join(added), more=True)
