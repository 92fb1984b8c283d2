"""Effects of an agent's step on paths: tool calls by their names and arguments, shell commands by their words.

The tools of an agent are not declared. A tool's name says what kind it is, and the names of its arguments say which of
them are paths, scripts and folders, also in objects and lists within.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from verikit.calls import ToolCall
from verikit.verifiers.tools.effects import Does, Effect, shell_effects
from verikit.verifiers.tools.patched import PATCH_PROGRAMS, patched_files
from verikit.verifiers.tools.places import placed

_EDITS = tuple(
    "write edit create replace insert append delete remove save patch move rename update modify apply".split()
)
_LOOKS = ("read", "view", "open", "cat", "show", "get", "search", "grep", "load", "list", "find", "test")
_SHELL_TOOLS = ("bash", "shell", "terminal", "execute", "exec", "run", "command", "cmd", "stdin", "send_keys")
_CODE_TOOLS = frozenset("python ipython jupyter notebook code javascript node repl".split())
_SHELLS = frozenset("bash sh shell zsh dash ksh terminal cmd".split())
_COMMAND_KEYS = frozenset(
    """command cmd script commands cmds commandline shellcommand bashcommand keystrokes keys chars code input""".split()
)
"""Arguments that are scripts, in lower case without `_`. So are the keys below."""
_SEVERAL = ("commands", "cmds", "keystrokes", "keys")
"""Arguments whose list has one script in each place. Another list is a program with its arguments."""
_FOLDER_KEYS = ("workdir", "cwd", "workingdirectory", "workingdir")
_MOST_FOLDERS = 4
"""Folders at most for which a call's scripts are followed."""
_PATH_WORDS = frozenset(
    """path paths file files filename filenames filepath target source destination dest src dir directory folder
    uri""".split()
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_TOLD = 80
"""Characters of a call that a reason shows."""


def effects_of(call: ToolCall, root: str) -> Iterator[Effect]:
    """The effects of a tool call; `root` is the path of the workspace on the agent's machine."""
    if call.problem:
        yield Effect("hides", told=call.problem[:_TOLD])
        return
    told = f"{call.name}({str(dict(call.arguments))[:_TOLD]})"
    yield from _of_scripts(call, root)
    does = _does(call)
    for path in _paths(call.arguments):
        yield Effect(does, placed(path.removeprefix("file://"), "", root), told=told)
    if call.name.lower() in PATCH_PROGRAMS:
        yield from _patched(call, root, told)


def _of_scripts(call: ToolCall, root: str) -> Iterator[Effect]:
    """The effects of the scripts and the code among a call's arguments."""
    scripts = [(key, value) for name, value in call.arguments.items() if (key := _key(name)) in _COMMAND_KEYS]
    in_shell = any(word in call.name.lower() for word in _SHELL_TOOLS)
    folders = _folders(call.arguments)
    if scripts and len(folders) > _MOST_FOLDERS:
        yield Effect("hides", told=f"{call.name} with {len(folders)} folders")
    for key, script in scripts:
        if _is_code(call, key):
            yield Effect("opaque", told=str(script))
        elif in_shell:
            for folder in folders[:_MOST_FOLDERS] or [""]:
                yield from _in_shell(key, script, folder, root)
    if not scripts and _words(call.name) & _SHELLS:
        yield Effect("opaque", told=str(dict(call.arguments)))


def _is_code(call: ToolCall, key: str) -> bool:
    """Whether an argument is code in another language than the shell's, or in one that is not known.

    An argument that names a language only counts beside `code`: a shell may ignore it.
    """
    words = _words(call.name)
    language = call.arguments.get("language", call.arguments.get("lang"))
    if words & _SHELLS or (key == "code" and isinstance(language, str) and language.lower() in _SHELLS):
        return False
    return key == "code" or bool(words & _CODE_TOOLS)


def _in_shell(key: str, script: Any, folder: str, root: str) -> Iterator[Effect]:
    """The effects of a shell tool's argument. Scripts in a list may share a shell, or each has its own."""
    alone = list(_scripts(script)) if key in _SEVERAL else [_one_script(script)]
    found = list(shell_effects(_started("\n".join(alone), folder), root))
    yield from found
    seen = {(effect.does, effect.path, effect.told) for effect in found}
    for text in alone if len(alone) > 1 else ():
        for effect in shell_effects(_started(text, folder), root):
            if (effect.does, effect.path, effect.told) not in seen:
                yield replace(effect, does="names") if effect.does == "writes" else effect


def _started(script: str, folder: str) -> str:
    """A script that starts in a folder. It doesn't run if the folder is not there."""
    return f"cd -- {shlex.quote(folder)} || exit\n{script}" if folder else script


def _scripts(value: Any) -> Iterator[str]:
    """The scripts of a list, whose places are strings or objects such as `{"keystrokes": …}`."""
    for one in value if isinstance(value, list) else [value]:
        keys = [key for key in one if _key(key) in _COMMAND_KEYS] if isinstance(one, Mapping) else []
        yield from (_one_script(one[key]) for key in keys)
        if not keys:
            yield str(one)


def _one_script(value: Any) -> str:
    """A script, also from the words of a command."""
    words = [str(word) for word in value] if isinstance(value, list) else [str(value)]
    return words[0] if len(words) == 1 else shlex.join(words)


def _folders(arguments: Mapping[str, Any]) -> list[str]:
    """The folders that a shell tool is told to start in. Of several, it may heed any."""
    found = (value for key, value in arguments.items() if _key(key) in _FOLDER_KEYS and isinstance(value, str))
    return list(dict.fromkeys(found))


def _does(call: ToolCall) -> Does:
    """What a tool does with its paths, by its name. An editor's command says it."""
    words, command = _words(call.name), call.arguments.get("command")
    is_editor = "editor" in words or {"edit", "tool"} <= words
    doing = command.lower() if is_editor and isinstance(command, str) else call.name.lower()
    if any(word in doing for word in _EDITS):
        return "writes"
    return "reads" if "ls" in words or any(word in doing for word in _LOOKS) else "names"


def _paths(value: Any, key: str = "") -> Iterator[str]:
    """The strings under keys such as `path`, `file_path` and `targetFile`, at any depth."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _key(name) not in _FOLDER_KEYS:
                yield from _paths(inner, str(name))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _paths(inner, key)
    elif isinstance(value, str) and _words(key[-40:], last=True) & _PATH_WORDS:
        yield value


def _patched(call: ToolCall, root: str, told: str) -> Iterator[Effect]:
    """The files that a patch among the arguments names. A patch that is not understood may write any file."""
    texts = [value for value in call.arguments.values() if isinstance(value, str)]
    paths = [path for text in texts for path in patched_files(text)]
    for path in paths:
        yield Effect("writes", placed(path, "", root), told=told)
    if not paths and not any(True for _ in _paths(call.arguments)):
        yield Effect("writes", known=False, told=told)


def _key(name: Any) -> str:
    """The name of an argument, whatever its style: `working_directory`, `workingDirectory`."""
    return str(name).lower().replace("_", "")


def _words(name: str, *, last: bool = False) -> set[str]:
    """The words of a name such as `run_code` or `targetFile`, or only its last one."""
    words = [word.lower() for word in _WORD.findall(name)]
    return set(words[-1:] if last else words)
