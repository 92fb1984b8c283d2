"""Tool calls as models write them: in messages, and in text as JSON, in tags, or as Python-style calls.

Text written by a model is only parsed, within limits of size and depth, and never evaluated. A call with unreadable
arguments is still a call, with its problem recorded.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from verikit.calls import expressions, plain, python, source
from verikit.calls.python import MAX_DEPTH, Unreadable, dotted, keywords, parsed
from verikit.messages import CompletionMessage, by_assistant, calls_among, calls_beside, content_text
from verikit.platform.numbers import distinct
from verikit.replies.split import reply_text
from verikit.types import Sample

MAX_CHARS = 100_000
"""Maximum number of characters read of a text or of one call's arguments."""
MAX_SOURCE = 20_000
"""Maximum number of characters of calls that are parsed in a language's syntax."""
MAX_CALLS = 256
"""Maximum number of calls read in a completion's text. If there are more, the result is one call with a problem."""
MAX_STORED = 1024
"""The same for calls that are stored in messages. Long runs of agents have hundreds."""
Language = Literal["python", "java", "javascript"]
"""Languages whose syntax is supported for calls."""

_ARGUMENTS = ("arguments", "args", "parameters", "input", "kwargs")
_CLOSINGS = {
    "<tool_call>": "</tool_call>", "<TOOLCALL>": "</TOOLCALL>", "<function_call>": "</function_call>",
    "<function=": "</function>",
}  # fmt: skip
"""Tags around calls. `[TOOL_CALLS]` and `<|python_tag|>` have no closing tag."""
_FUNCTION = re.compile("<function=")
_OPENING = re.compile("|".join(map(re.escape, (*_CLOSINGS, "[TOOL_CALLS]", "<|python_tag|>"))))
_NOT_JSON = "not JSON"
_NAME = re.compile(r"[\w./:-]{1,200}")
_PYTHON_CALL = re.compile(r"\[?\s{0,99}[^\W\d][\w.]{0,200}\s{0,9}\(")
_PARSER_CAPS = ("Exceeds the limit", "too many nested", "parser stack overflow")
"""Prefixes of messages for limits of Python's parser, as opposed to syntax errors."""
_FENCE = re.compile(r"```[ \t]*(?:json|python|py|java|javascript|js|tool_code|tool_call)?[ \t]*\n")


class ToolCall(NamedTuple):
    """One call: the tool's name and its arguments, or the reason why they can't be read."""

    name: str
    arguments: Mapping[str, Any]
    problem: str = ""
    written: bool = False
    """Whether it was in the text instead of a message's `tool_calls`."""
    source: str = ""
    """The arguments' JSON string, if they were given as one."""


Written = Callable[[str], list[ToolCall]]
"""Reads the calls of a text in a language's syntax."""


def calls_of(sample: Sample, language: Language = "python") -> list[ToolCall]:
    """All calls of a completion in order: those in its messages, or otherwise those in the text of its replies.

    Of the turns before the last text, only readable calls in tags count: others ran nothing.
    """
    calls = calls_in(sample.messages) if sample.messages else []
    if calls:
        return calls
    turns = [turn for turn in sample.messages if by_assistant(turn) and content_text(turn.get("content"))]
    earlier = [call for turn in turns[:-1] for call in tagged_calls(turn) if not call.problem]
    return _capped([*earlier, *text_calls(reply_text(sample.completion), language)], MAX_STORED)


def tagged_calls(turn: CompletionMessage) -> list[ToolCall]:
    """The calls in tags in the text of a turn."""
    text = reply_text(content_text(turn.get("content")))
    return text_calls(text) if _OPENING.search(text) else []


def calls_in(messages: Sequence[CompletionMessage]) -> list[ToolCall]:
    """The calls of the assistant's messages in order, in the formats of OpenAI and Anthropic. Text is not read."""
    found: list[ToolCall] = []
    for message in filter(by_assistant, messages):
        found += map(read_call, [*calls_among(message.get("content")), *calls_beside(message)])
    return _capped(found, MAX_STORED)


def read_call(raw: Any) -> ToolCall:
    """One call in the format of OpenAI, Anthropic or a dataset. A JSON string of one is accepted too."""
    if isinstance(raw, str):
        raw, problem = load_json(raw)
        if problem:
            return ToolCall("", {}, f"a call that can't be read: {problem}")
    if not isinstance(raw, Mapping):
        return ToolCall("", {}, "a call is an object")
    called = raw.get("function", raw)
    if not isinstance(called, Mapping):
        called = {**raw, "name": called}
    name = called.get("name")
    if not isinstance(name, str) or not name:
        return ToolCall("", {}, "a call without a name")
    given = called.get("arguments")
    if given is None:
        given = next((called[key] for key in _ARGUMENTS if key in called), None)
    return _with_arguments(name, given)


def _with_arguments(name: str, given: Any) -> ToolCall:
    source = ""
    if isinstance(given, str):
        source = given
        given, problem = load_json(given) if given.strip() else ({}, "")
        if problem:
            return ToolCall(name, {}, f"arguments of {name[:80]}: {problem}")
    elif given is None:
        given = {}
    elif deeper_than(given, MAX_DEPTH):
        return ToolCall(name, {}, f"arguments of {name[:80]} are nested deeper than {MAX_DEPTH} levels")
    if not isinstance(given, Mapping):
        return ToolCall(name, {}, f"arguments of {name[:80]} are not an object")
    return ToolCall(name, given, source=source)


def load_json(text: str) -> tuple[Any, str]:
    """The JSON value of a text, and the problem with it, if any. The limits apply."""
    if len(text) > MAX_CHARS:
        return None, f"{len(text)} characters, over the cap of {MAX_CHARS}"
    try:
        value = json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        return None, f"{_NOT_JSON}: {str(error)[:80]}"
    except (ValueError, RecursionError) as error:  # a number too long, a key twice, or nesting
        return None, f"JSON that can't be read: {str(error)[:80]}"
    if text.count("{") + text.count("[") > MAX_DEPTH and deeper_than(value, MAX_DEPTH):
        return None, f"nested deeper than {MAX_DEPTH} levels"
    return value, ""


def deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and mappings are nested deeper than a limit, without recursion."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            child
            for node in level
            if isinstance(node, (Mapping, list, tuple))
            for child in (node.values() if isinstance(node, Mapping) else node)
            if isinstance(child, (Mapping, list, tuple))
        ]
        if not level:
            return False
    return True


def text_calls(text: str, language: Language = "python") -> list[ToolCall]:
    """The calls in a reply: in a model family's tags, or in a reply of nothing but calls, as JSON or as source.

    Known tags: `<tool_call>`, `<function_call>`, `<TOOLCALL>`, `<function=NAME>`, `[TOOL_CALLS]`, `<|python_tag|>`. The
    calls of all tags are included, since a harness could run any of them. The same applies to a part between tags that
    consists only of calls. Prose never contains calls, even if it mentions some. Text over a limit becomes a call with
    that problem, so padding can't hide calls. For Java and JavaScript the arguments are strings: source code, or the
    content of a string literal.
    """
    if len(text) > MAX_CHARS:
        return [_unread(f"a reply of {len(text)} characters, over the cap of {MAX_CHARS}")]
    written = python_calls if language == "python" else source_calls
    if ("<" in text or "[TOOL_CALLS]" in text) and _OPENING.search(text):
        return _capped(list(_scanned(text, _OPENING, written)))
    calls = _bracketed(text, language)
    return _capped(_whole(text, written) if calls is None else calls)


def _bracketed(text: str, language: Language) -> list[ToolCall] | None:
    """The calls of `[f(…)]`, the most common case: neither JSON nor fenced. None if `_whole` must read the text."""
    if text[:1] != "[" or not text[1:2].isalpha() or not text.endswith(")]") or len(text) > MAX_SOURCE:
        return None
    if language == "python":
        read = plain.read(text)
        return None if read is None else _written(read)
    return None if "//" in text or "/*" in text else _sourced(text)


def _capped(calls: list[ToolCall], most: int = MAX_CALLS) -> list[ToolCall]:
    return calls if len(calls) <= most else [_unread(f"{len(calls)} calls, over the cap of {most}")]


def _unread(problem: str) -> ToolCall:
    return ToolCall("", {}, problem, written=True)  # text that may contain calls, but is not read


def _scanned(text: str, opening: re.Pattern[str], written: Written) -> Iterator[ToolCall]:
    """The calls after each opening tag, in order, and those of the parts between tags that consist only of calls."""
    position = 0
    while found := opening.search(text, position):
        yield from _whole(text[position : found.start()], written)
        following = opening.search(text, found.end())
        upto = following.start() if following else len(text)
        if found[0] == "<function=":
            end = text.find("</function>", found.end(), upto)
            yield _function(text[found.end() : end if end >= 0 else upto])
            position = end + len("</function>") if end >= 0 else upto
        elif closing := _CLOSINGS.get(found[0]):
            end = text.find(closing, found.end())
            body = text[found.end() : end if end >= 0 else len(text)]
            inner = _whole(body, written) or list(_scanned(body, _FUNCTION, written))
            yield from inner or [ToolCall("", {}, f"{found[0]} holds no call")]
            position = end + len(closing) if end >= 0 else len(text)
        else:
            rest = (
                [] if position else _whole(text[found.end() :], written)
            )  # only the first one, so that time stays linear
            calls = rest or _whole(text[found.end() : upto], written)
            yield from calls or [ToolCall("", {}, f"{found[0]} is followed by no call")]
            position = len(text) if rest else upto
    yield from _whole(text[position:], written)


def _function(text: str) -> ToolCall:
    """The call in `NAME>` followed by JSON (Llama) or `<parameter=KEY>` blocks (Qwen coder)."""
    head, mark, body = text.partition(">")
    name = head.strip()
    if not mark or not _NAME.fullmatch(name):
        return ToolCall("", {}, "<function= without a name")
    if "<parameter=" not in body:
        return _with_arguments(name, body)._replace(written=True)
    try:
        return ToolCall(name, distinct(list(_parameters(body))), written=True)
    except ValueError as error:
        return ToolCall(name, {}, f"arguments of {name[:80]}: {error}", written=True)


def _parameters(body: str) -> Iterator[tuple[str, Any]]:
    for piece in body.split("<parameter=")[1:]:
        key, _, rest = piece.partition(">")
        text = rest.partition("</parameter>")[0].strip("\n")
        value, problem = load_json(text)
        yield key.strip(), text if problem else value


def _whole(text: str, written: Written) -> list[ToolCall]:
    """The calls of a text that consists only of calls. Empty for other text."""
    text = text.strip()
    if text.startswith("```") and (fence := _FENCE.match(text)) and text.endswith("```") and text.count("```") == 2:
        text = text[fence.end() : -3].strip()
    text = text.strip("`\n ")
    if text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("{", "[", "]", '"')):
        value, problem = load_json(text)
        if not problem:
            return _json_calls(value)
        if not problem.startswith(_NOT_JSON):
            return [_unread(problem)]
    return written(text)


def _json_calls(value: Any) -> list[ToolCall]:
    items = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        items = value["tool_calls"]
    calls = [_json_call(item, listed=isinstance(value, list)) for item in items]
    return [call._replace(written=True) for call in calls if call] if all(calls) else []


def _json_call(item: Any, *, listed: bool) -> ToolCall | None:
    """A call in JSON. An object with only a name is an answer instead, and so is an unlisted object with one key."""
    if not isinstance(item, dict):
        return None
    if "function" in item or ("name" in item and any(key in item for key in _ARGUMENTS)):
        call = read_call(item)
        return call if call.name else None
    if listed and len(item) == 1 and isinstance(next(iter(item.values())), dict):
        return _with_arguments(*next(iter(item.items())))
    return None


def python_calls(text: str) -> list[ToolCall]:
    """The calls of `[f(a=1), g(b="x")]`, or of comma-separated calls. Empty if the text is anything else.

    Comments are skipped.
    """
    text = _bare(python.uncommented(text))
    if not _may_call(text):
        return []
    if len(text) > MAX_SOURCE:
        return _too_long(text)
    text = text if text.startswith("[") else f"[{text}"
    text = text if text.endswith("]") else f"{text}]"
    if (read := plain.read(text)) is not None:
        return _written(read)
    try:
        body = parsed(text)
    except (SyntaxError, ValueError) as error:
        capped = str(error).startswith(_PARSER_CAPS) and _PYTHON_CALL.match(text)
        return [_unread(f"calls that can't be read: {str(error)[:80]}")] if capped else []
    except (RecursionError, MemoryError):
        return [_unread("calls that can't be read: nested too deep")] if _PYTHON_CALL.match(text) else []
    elements = body.elts if isinstance(body, ast.List) else []
    if not elements or not all(isinstance(element, ast.Call) for element in elements):
        return []
    return [_python_call(element) for element in elements if isinstance(element, ast.Call)]


def source_calls(text: str) -> list[ToolCall]:
    """The calls of `[f(a=true, b=new int[]{1})]` with Java or JavaScript expressions, which stay source code.

    A lone string literal becomes its content. Empty if the text is anything else.
    """
    if len(text) > MAX_SOURCE:
        return _too_long(_bare(text)) if _may_call(text) else []
    text = _bare(expressions.uncommented(text)).removesuffix(";").rstrip()
    return _sourced(text) if _may_call(text) else []


def _sourced(text: str) -> list[ToolCall]:
    found = source.read(text.removeprefix("[").removesuffix("]")) or ()
    return [
        ToolCall(name, arguments, problem and f"arguments of {name[:80]}: {problem}", written=True)
        for name, arguments, problem in found
    ]


def _written(read: Sequence[plain.Named]) -> list[ToolCall]:
    return [ToolCall(name, arguments, "", True) for name, arguments in read]


def _bare(text: str) -> str:
    return text.strip("`\n ").strip("'")


def _may_call(text: str) -> bool:
    return len(text) > 2 and "(" in text and text.rstrip(" \t\r\n];,").endswith(")")


def _too_long(text: str) -> list[ToolCall]:
    problem = f"calls of {len(text)} characters, over the cap of {MAX_SOURCE}"
    return [_unread(problem)] if _PYTHON_CALL.match(text) else []


def _python_call(node: ast.Call) -> ToolCall:
    name = dotted(node.func)
    if not name:
        return _unread("a call without a name")
    try:
        return ToolCall(name, keywords(node, 0), written=True)
    except Unreadable as error:
        return ToolCall(name, {}, f"arguments of {name[:80]}: {error}", written=True)
