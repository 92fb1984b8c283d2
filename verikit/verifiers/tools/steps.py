"""Effects of an agent's step on paths: tool calls by their names and arguments, shell commands by their words."""

from __future__ import annotations

from collections.abc import Iterator

from verikit.calls import ToolCall
from verikit.verifiers.tools.effects import Does, Effect, shell_effects
from verikit.verifiers.tools.places import placed

_EDITS = tuple("write edit create replace insert append delete remove save patch move rename".split())
_LOOKS = ("read", "view", "open", "cat", "show", "get", "search", "grep", "load", "list", "find")
_SHELL_TOOLS = ("bash", "shell", "terminal", "execute", "exec", "run", "command", "cmd")
_COMMAND_KEYS = ("command", "cmd", "script", "commands", "keystrokes", "code", "input")
_PATH_KEYS = tuple("path file filename file_path filepath target source destination dest src dir".split())


def effects_of(call: ToolCall, root: str) -> Iterator[Effect]:
    """The effects of a tool call; `root` is the path of the workspace on the agent's machine."""
    told = f"{call.name}({str(dict(call.arguments))[:80]})"
    if call.problem:
        yield Effect("hides", told=call.problem[:80])
        return
    name = call.name.lower()
    scripts = [call.arguments[key] for key in _COMMAND_KEYS if key in call.arguments]
    paths = [value for key in _PATH_KEYS if isinstance(value := call.arguments.get(key), str)]
    if any(word in name for word in _SHELL_TOOLS) and scripts and not paths:
        for script in scripts:
            text = " ".join(map(str, script)) if isinstance(script, list) else str(script)
            yield from shell_effects(text, root)
        return
    doing = f"{name} {call.arguments.get('command', '')}".lower()
    edits, looks = (any(word in doing for word in words) for words in (_EDITS, _LOOKS))
    for path in paths:
        does: Does = "names"
        if edits:
            does = "writes"
        elif looks:
            does = "reads"
        yield Effect(does, placed(path, "", root), told=told)
