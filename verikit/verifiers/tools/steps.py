"""Effects of an agent's step on paths: tool calls by their names and arguments, shell commands by their words.

The tools of an agent are not declared. A tool's name says what kind it is, and the names of its arguments say which of
them are paths, scripts and folders, also in objects and lists within.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verikit.calls import ToolCall
from verikit.verifiers.tools.effects import Does, Effect, named, shell_effects
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
_FOLDER_KEYS = frozenset(("workdir", "cwd", "workingdirectory", "workingdir"))
_FOLDERS_OF_SHELLS = frozenset(("directory", "dirpath"))
"""Arguments that are the folder of a script, and a path otherwise."""
_MOST_FOLDERS = 4
"""Folders at most for which a call's scripts are followed."""
_WINDOWS = frozenset(("pwsh", "powershell", "cmd"))
"""Shells whose language is not read."""
_OPERATORS = frozenset(("&&", "||", "|", ";", ">", ">>", "&"))
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
    scripts = [(key, value) for name, value in call.arguments.items() if (key := _key(name)) in _COMMAND_KEYS]
    in_shell = bool(scripts) and any(word in call.name.lower() for word in _SHELL_TOOLS)
    folder_keys = _FOLDER_KEYS | _FOLDERS_OF_SHELLS if in_shell else _FOLDER_KEYS
    if not scripts and _words(call.name) & _SHELLS:
        yield Effect("opaque", told=str(dict(call.arguments)))
    for key, script in scripts:
        if _is_code(call, key):
            yield Effect("opaque", told=str(script))
        elif in_shell:
            yield from _in_shell(key, _with_arguments(script, call.arguments), _folders(call, folder_keys), root)
    does = _does(call)
    for path in _paths(call.arguments, folder_keys):
        yield Effect(does, placed(path.removeprefix("file://"), "", root), told=told)
    if call.name.lower() in PATCH_PROGRAMS:
        yield from _patched(call, root, told)


def _is_code(call: ToolCall, key: str) -> bool:
    """Whether an argument is code in another language than the shell's, or in one that is not known.

    An argument that names a language only counts beside `code`: a shell may ignore it.
    """
    words = _words(call.name)
    language = call.arguments.get("language", call.arguments.get("lang"))
    if words & _SHELLS or (key == "code" and isinstance(language, str) and language.lower() in _SHELLS):
        return False
    return _does(call) == "names" and (key == "code" or bool(words & _CODE_TOOLS))


def _in_shell(key: str, script: Any, folders: Sequence[str], root: str) -> Iterator[Effect]:
    """The effects of a shell tool's argument: as intended, and then what else may happen.

    Scripts of a list may share a shell, or each has its own. A tool may ignore the folder, or join words as text.
    """
    if isinstance(script, list) and _program(script) in _WINDOWS:
        yield Effect("opaque", told=" ".join(map(str, script)))
    texts = list(_scripts(script)) if key in _SEVERAL else [_one_script(script)]
    whole = "\n".join(texts)
    starts = list(folders[:_MOST_FOLDERS]) or [""]
    if len(folders) > _MOST_FOLDERS:
        yield Effect("hides", told=f"a command with {len(folders)} folders")
    seen = set[tuple[str, str, str]]()
    for text in (_started(whole, folder) for folder in starts):
        for effect in shell_effects(text, root):
            seen.add((effect.does, effect.path, effect.told))
            yield effect
    for text in _otherwise(script, texts, starts, whole if folders else ""):
        for effect in shell_effects(text, root):
            if (effect.does, effect.path, effect.told) not in seen:
                yield named(effect)


def _otherwise(script: Any, texts: Sequence[str], starts: Sequence[str], whole: str) -> Iterator[str]:
    """What a tool may run instead: each script alone, the whole without its folder, or words as one text."""
    if len(texts) > 1:
        yield from (_started(text, folder) for text in texts for folder in starts)
    if whole:
        yield whole
    if isinstance(script, list) and not _OPERATORS.isdisjoint(map(str, script)):
        yield " ".join(map(str, script))


def _started(script: str, folder: str) -> str:
    """A script that starts in a folder. It doesn't run if the folder is not there."""
    return f"cd -- {shlex.quote(folder)} || exit\n{script}" if folder else script


def _scripts(value: Any) -> Iterator[str]:
    """The scripts of a list, whose places are strings, words, or objects such as `{"keystrokes": …}`."""
    for one in value if isinstance(value, list) else [value]:
        keys = [key for key in one if _key(key) in _COMMAND_KEYS] if isinstance(one, Mapping) else []
        yield from (_one_script(_with_arguments(one[key], one)) for key in keys)
        if not keys:
            yield _one_script(one)


def _with_arguments(script: Any, given: Mapping[str, Any]) -> Any:
    """A program with the words that stand beside it under `args`."""
    words = given.get("args")
    return [script, *words] if isinstance(script, str) and isinstance(words, list) and words else script


def _one_script(value: Any) -> str:
    """A script, also from the words of a command."""
    words = [str(word) for word in value] if isinstance(value, list) else [str(value)]
    return words[0] if len(words) == 1 else shlex.join(words)


def _program(words: Sequence[Any]) -> str:
    """The name of the program that a list of words starts."""
    name = str(words[0]).replace("\\", "/").rpartition("/")[2].lower() if words else ""
    return name.removesuffix(".exe")


def _folders(call: ToolCall, keys: frozenset[str]) -> list[str]:
    """The folders that a shell tool is told to start in. Of several, it may heed any."""
    found = (value for name, value in call.arguments.items() if _key(name) in keys and isinstance(value, str))
    return list(dict.fromkeys(found))


def _does(call: ToolCall) -> Does:
    """What a tool does with its paths, by its name. An editor's command says it."""
    words, command = _words(call.name), call.arguments.get("command")
    is_editor = "editor" in words or {"edit", "tool"} <= words
    doing = command.lower() if is_editor and isinstance(command, str) else call.name.lower()
    if any(word in doing for word in _EDITS):
        return "writes"
    return "reads" if "ls" in words or any(word in doing for word in _LOOKS) else "names"


def _paths(value: Any, folder_keys: frozenset[str], key: str = "") -> Iterator[str]:
    """The strings under keys such as `path`, `file_path` and `targetFile`, at any depth."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _key(name) not in folder_keys:
                yield from _paths(inner, folder_keys, str(name))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _paths(inner, folder_keys, key)
    elif isinstance(value, str) and _words(key[-40:], last=True) & _PATH_WORDS:
        yield value


def _patched(call: ToolCall, root: str, told: str) -> Iterator[Effect]:
    """The files that a patch among the arguments names. A patch that is not understood may write any file."""
    texts = [value for value in call.arguments.values() if isinstance(value, str)]
    paths = [path for text in texts for path in patched_files(text)]
    for path in paths:
        yield Effect("writes", placed(path, "", root), told=told)
    if not paths and not any(True for _ in _paths(call.arguments, _FOLDER_KEYS)):
        yield Effect("writes", known=False, told=told)


def _key(name: Any) -> str:
    """The name of an argument, whatever its style: `working_directory`, `workingDirectory`."""
    return str(name).lower().replace("_", "")


def _words(name: str, *, last: bool = False) -> set[str]:
    """The words of a name such as `run_code` or `targetFile`, or only its last one."""
    words = [word.lower() for word in _WORD.findall(name)]
    return set(words[-1:] if last else words)
