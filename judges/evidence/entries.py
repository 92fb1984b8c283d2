"""A conversation as numbered entries: messages, calls and results, and what happened to the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, Literal, NamedTuple

from verikit.errors import UsageError
from verikit.judges.evidence.media import Media, pictures_in
from verikit.messages import CALL_PARTS, CompletionMessage, by_assistant, calls_beside, content_text, media_of

EntryKind = Literal["says", "calls", "result", "error", "user", "manifest", "file"]
ACTIONS: tuple[EntryKind, ...] = ("calls", "result", "error", "file")
_CALL_PARTS = (*CALL_PARTS, "function_call")
_RESULT_PARTS = ("tool_result", "mcp_tool_result", "function_call_output")
_RESULT_ROLES = ("tool", "function", "ipython", "environment", "observation")


class RunEntry(NamedTuple):
    """One event of a run."""

    kind: EntryKind
    text: str
    of: int = 0
    """Number of the call that a result belongs to, if the result names it."""
    path: str = ""
    """For a workspace file, its path as shown."""
    sources: tuple[str, ...] = ()
    """For a workspace file, the strings that may be quoted: its content after the run, and before it."""
    pictures: tuple[Media, ...] = ()


def entries(
    messages: Sequence[CompletionMessage],
    changes: Any = None,
    reply: Callable[[str], str] = str,
    workspace_files: Sequence[RunEntry] = (),
) -> list[RunEntry]:
    """The entries of a conversation and of its workspace changes, in order. The final message comes last.

    Args:
        messages: Messages, calls and results.
        changes: A unified diff, or the workspace `before` and `after` as contents by path.
        reply: Selects the part of a turn's text that is shown.
        workspace_files: Entries of the files that were left.
    """
    found: list[RunEntry] = []
    calls: dict[str, int] = {}
    for message in messages:
        for entry, name in _of_message(message, reply):
            if entry.kind == "calls" and name:
                calls[name] = len(found) + 1
            answers = calls.get(name, 0) if entry.kind in ("result", "error") else 0
            found.append(entry._replace(of=answers))
    last = found[-1:] if found and found[-1].kind == "says" else []
    files = [*(RunEntry("file", text) for text in changed_files(changes)), *workspace_files]
    return [*found[: len(found) - len(last)], *files, *last]


def _of_message(message: CompletionMessage, reply: Callable[[str], str]) -> Iterator[tuple[RunEntry, str]]:
    """A message's entries, each with the id of its call."""
    content = message.get("content")
    text, pictures = _text(content), pictures_in(content)
    if not by_assistant(message):
        role = str(message.get("role"))
        name = str(message.get("tool_call_id") or "")
        if role in _RESULT_ROLES:
            yield RunEntry("error" if _failed(message) else "result", text, pictures=pictures), name
        elif text.strip() or pictures:
            yield RunEntry("user", text, pictures=pictures), ""
        yield from _of_parts(content)
        return
    if (said := reply(text).strip()) or pictures:
        yield RunEntry("says", said, pictures=pictures), ""
    yield from _of_parts(content)
    for call in calls_beside(message):
        yield RunEntry("calls", call_text(call)), _id(call)


def _of_parts(content: Any) -> Iterator[tuple[RunEntry, str]]:
    """Calls and results that are content parts."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in _CALL_PARTS:
            yield RunEntry("calls", call_text(part)), _id(part)
        elif kind in _RESULT_PARTS:
            result = part.get("content", part.get("output"))
            name = str(part.get("tool_use_id") or part.get("call_id") or "")
            outcome: EntryKind = "error" if _failed(part) else "result"
            yield RunEntry(outcome, _text(result), pictures=pictures_in(result)), name


def call_text(call: Any) -> str:
    """A call as a judge reads it: the tool's name, and each argument on one line or below its name."""
    if not isinstance(call, Mapping):
        return str(call)
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    name = function if isinstance(function, str) else inner.get("name")
    arguments = next((inner[key] for key in ("arguments", "input", "args") if key in inner), None)
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    if not isinstance(arguments, Mapping):
        return f"{name}\n{arguments}" if arguments not in (None, "") else str(name)
    return "\n".join([str(name), *(f"{key}: {_shown(value)}" for key, value in arguments.items())])


def changed_files(changes: Any) -> list[str]:
    """What happened to each file: the parts of a unified diff, or the differences between `before` and `after`."""
    if isinstance(changes, Mapping):
        before, after = changes.get("before"), changes.get("after")
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            return [_change(str(path), before.get(path), after.get(path)) for path in _differing(before, after)]
        changes = changes.get("diff")
    return _by_file(changes) if isinstance(changes, str) and changes.strip() else []


def _differing(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> list[Any]:
    return [path for path in dict.fromkeys((*before, *after)) if before.get(path) != after.get(path)]


def _change(path: str, before: Any, after: Any) -> str:
    """A file's change: the lines between the first and the last difference."""
    if after is None:
        return f"deleted {path}\n" + "\n".join(f"-{line}" for line in str(before).splitlines())
    if before is None:
        return f"new {path}\n" + "\n".join(f"+{line}" for line in str(after).splitlines())
    old, new = str(before).splitlines(), str(after).splitlines()
    same = sum(1 for _ in takewhile(_equal, zip(old, new, strict=False)))
    old, new = old[same:], new[same:]
    ends = sum(1 for _ in takewhile(_equal, zip(reversed(old), reversed(new), strict=False)))
    old, new = old[: len(old) - ends], new[: len(new) - ends]
    return "\n".join([f"changed {path} at line {same + 1}", *(f"-{a}" for a in old), *(f"+{b}" for b in new)])


def _equal(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _by_file(diff: str) -> list[str]:
    lines = diff.splitlines()
    git = any(line.startswith("diff --git ") for line in lines)
    starts = [
        number
        for number, line in enumerate(lines)
        if (line.startswith("diff --git ") if git else line.startswith("--- ") and _header(lines, number))
    ]
    bounds = [*starts, len(lines)] if starts else [0, len(lines)]
    bounds[0] = 0
    return ["\n".join(lines[start:end]) for start, end in pairwise(bounds)]


def _header(lines: Sequence[str], number: int) -> bool:
    return number + 1 < len(lines) and lines[number + 1].startswith("+++ ")


def _failed(message: Mapping[str, Any]) -> bool:
    return bool(message.get("is_error") or message.get("error")) or message.get("status") in ("error", "failed")


def _text(content: Any) -> str:
    """A content's text, with a word for each medium but pictures. Unreadable content is shown as its `repr`."""
    try:
        text = content_text(content)
    except UsageError:
        return repr(content)
    shown = [f"⟨a {word} that is not shown⟩" for word in media_of(content) if word != "picture"]
    return "\n".join(filter(None, (text, *shown)))


def _id(call: Any) -> str:
    return str(call.get("id") or call.get("call_id") or "") if isinstance(call, Mapping) else ""


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"\n{value}" if "\n" in value else value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "⟨a value that is nested too deeply to be shown⟩"
    except (TypeError, ValueError):
        return repr(value)
