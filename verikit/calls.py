"""Tool calls as models make them: in messages, and in text as JSON, in tags or as Python-style calls.

What a model wrote is only ever parsed, within caps of size and depth, never evaluated. A call whose arguments can't be
read stays a call, with the problem said.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from verikit import plain_calls
from verikit.messages import CompletionMessage, by_assistant
from verikit.reply import reply_text
from verikit.types import Sample

MAX_CHARS = 100_000
"""Characters of a text, or of one call's arguments, that are read."""
MAX_PYTHON = 20_000
"""Characters of Python-style calls that are parsed."""
MAX_DEPTH = 50
"""How deep arguments may be nested."""
MAX_CALLS = 256
"""Calls of a completion that are read; more are one call with a problem."""
MAX_BITS = 10_000
"""Bits of a whole number in Python-style arguments; Python does not write much longer ones as digits."""
NUMBER_BOUND = 10**18
"""Arithmetic on constants in Python-style arguments is carried out below this."""

_ARGUMENTS = ("arguments", "args", "parameters", "input", "kwargs")
_OPENINGS = ("<tool_call>", "<TOOLCALL>", "<function=", "<function_call>", "[TOOL_CALLS]", "<|python_tag|>")
_TAGGED = (("<tool_call>", "</tool_call>"), ("<TOOLCALL>", "</TOOLCALL>"), ("<function_call>", "</function_call>"))
_REST = ("[TOOL_CALLS]", "<|python_tag|>")
_NOT_JSON = "not JSON"
_NAME = re.compile(r"[\w./:-]{1,200}")
_PYTHON_CALL = re.compile(r"\[?\s{0,99}[^\W\d][\w.]{0,200}\s{0,9}\(")
_PARSER_CAPS = ("Exceeds the limit", "too many nested", "parser stack overflow")
"""How messages begin that say that Python's parser met a limit of its own, not that the syntax is wrong."""
_SOURCE_NAME = "<tool call>"
_QUIET = ("ignore", None, Warning, re.compile(_SOURCE_NAME), 0)
_FENCE = re.compile(r"```[ \t]*(?:json|python|py|tool_code|tool_call)?[ \t]*\n")


class ToolCall(NamedTuple):
    """One call: the tool's name and its arguments, or why they can't be read."""

    name: str
    arguments: Mapping[str, Any]
    problem: str = ""
    written: bool = False
    """Whether it stood in the text rather than in a message's `tool_calls`."""
    source: str = ""
    """The arguments' own JSON text, where they came as one."""


def calls_of(sample: Sample) -> list[ToolCall]:
    """All calls of a completion in order: those in its messages, else those in the text of its reply."""
    calls = calls_in(sample.messages) if sample.messages else []
    return calls or text_calls(reply_text(sample.completion))


def calls_in(messages: Sequence[CompletionMessage]) -> list[ToolCall]:
    """The calls in the `tool_calls` of the assistant's messages, in order."""
    found: list[ToolCall] = []
    for message in messages:
        raw = message.get("tool_calls")
        if raw and by_assistant(message) and isinstance(raw, Sequence) and not isinstance(raw, str):
            found += map(read_call, raw)
    return _capped(found)


def read_call(raw: Any) -> ToolCall:
    """One call as OpenAI, Anthropic or a data set writes it; JSON text of it counts too."""
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
        return ToolCall(name, {}, f"arguments of {name[:80]} are no object")
    return ToolCall(name, given, source=source)


def load_json(text: str) -> tuple[Any, str]:
    """The JSON value of a text, and what is wrong with it; within the caps."""
    if len(text) > MAX_CHARS:
        return None, f"{len(text)} characters, over the cap of {MAX_CHARS}"
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return None, f"{_NOT_JSON}: {str(error)[:80]}"
    except (ValueError, RecursionError) as error:  # a number too long, or nesting
        return None, f"JSON that can't be read: {str(error)[:80]}"
    if text.count("{") + text.count("[") > MAX_DEPTH and deeper_than(value, MAX_DEPTH):
        return None, f"nested deeper than {MAX_DEPTH} levels"
    return value, ""


def deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and mappings are nested deeper than a limit; without recursion."""
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


def text_calls(text: str) -> list[ToolCall]:
    """The calls in a reply: in a model family's tags, or a reply that is nothing but calls, as JSON or Python.

    Known tags: `<tool_call>`, `<function_call>`, `<TOOLCALL>`, `<function=NAME>`, `[TOOL_CALLS]`, `<|python_tag|>`.
    Prose has no calls, whatever it mentions. What is over a cap is a call with that problem, never no call: padding
    hides nothing.
    """
    if len(text) > MAX_CHARS:
        return [_unread(f"a reply of {len(text)} characters, over the cap of {MAX_CHARS}")]
    if ("<" in text or _REST[0] in text) and any(mark in text for mark in _OPENINGS):
        found = list(_tagged_calls(text))
        if found:
            return _capped(found)
    return _capped(_whole(text))


def _capped(calls: list[ToolCall]) -> list[ToolCall]:
    if len(calls) <= MAX_CALLS:
        return calls
    return [_unread(f"{len(calls)} calls, over the cap of {MAX_CALLS}")]


def _unread(problem: str) -> ToolCall:
    return ToolCall("", {}, problem, written=True)  # what may be calls, but is not read


def _tagged_calls(text: str) -> Iterator[ToolCall]:
    for opening, closing in _TAGGED:
        position = 0
        while (start := text.find(opening, position)) >= 0:
            end = text.find(closing, start)
            body = text[start + len(opening) : end if end >= 0 else len(text)]
            position = end + len(closing) if end >= 0 else len(text)
            found = _whole(body) or list(_functions(body))
            yield from found or [ToolCall("", {}, f"{opening} holds no call")]
        if position:
            return
    for mark in _REST:
        if mark in text:
            yield from _whole(text.partition(mark)[2]) or [ToolCall("", {}, f"{mark} is followed by no call")]
            return
    yield from _functions(text)


def _functions(text: str) -> Iterator[ToolCall]:
    """`<function=NAME>` with JSON (Llama) or `<parameter=KEY>` blocks (Qwen coder) up to `</function>`."""
    for piece in text.split("<function=")[1:]:
        head, mark, rest = piece.partition(">")
        body = rest.partition("</function>")[0]
        if not mark or not _NAME.fullmatch(head.strip()):
            yield ToolCall("", {}, "<function= without a name")
        elif "<parameter=" in body:
            yield ToolCall(head.strip(), dict(_parameters(body)), written=True)
        else:
            yield _with_arguments(head.strip(), body)._replace(written=True)


def _parameters(body: str) -> Iterator[tuple[str, Any]]:
    for piece in body.split("<parameter=")[1:]:
        key, _, rest = piece.partition(">")
        text = rest.partition("</parameter>")[0].strip("\n")
        value, problem = load_json(text)
        yield key.strip(), text if problem else value


def _whole(text: str) -> list[ToolCall]:
    """The calls of a text that is nothing else; none where it is."""
    text = text.strip()
    if (fence := _FENCE.match(text)) and text.endswith("```") and text.count("```") == 2:
        text = text[fence.end() : -3].strip()
    text = text.strip("`\n ")
    if text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("{", "[", "]", '"')):
        value, problem = load_json(text)
        if not problem:
            return _json_calls(value)
        if not problem.startswith(_NOT_JSON):
            return [_unread(problem)]
    return python_calls(text)


def _json_calls(value: Any) -> list[ToolCall]:
    items = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        items = value["tool_calls"]
    calls = [_json_call(item, listed=isinstance(value, list)) for item in items]
    return [call._replace(written=True) for call in calls if call] if all(calls) else []


def _json_call(item: Any, *, listed: bool) -> ToolCall | None:
    """A call in JSON text; an object that only has a name is an answer, and so is a lone one of one key."""
    if not isinstance(item, dict):
        return None
    if "function" in item or ("name" in item and any(key in item for key in _ARGUMENTS)):
        call = read_call(item)
        return call if call.name else None
    if listed and len(item) == 1 and isinstance(next(iter(item.values())), dict):
        return _with_arguments(*next(iter(item.items())))
    return None


def python_calls(text: str) -> list[ToolCall]:
    """The calls of `[f(a=1), g(b="x")]`, or of one or several calls with commas; none where the text is not that."""
    text = text.strip("`\n ").strip("'")
    if len(text) < 3 or "(" not in text or not text.rstrip(" ]").endswith(")"):
        return []
    if len(text) > MAX_PYTHON:
        problem = f"calls of {len(text)} characters, over the cap of {MAX_PYTHON}"
        return [_unread(problem)] if _PYTHON_CALL.match(text) else []
    text = text if text.startswith("[") else f"[{text}"
    text = text if text.endswith("]") else f"{text}]"
    if (plain := plain_calls.read(text)) is not None:
        return [ToolCall(name, arguments, written=True) for name, arguments in plain]
    try:
        body = _parsed(text)
    except (SyntaxError, ValueError) as error:
        capped = str(error).startswith(_PARSER_CAPS) and _PYTHON_CALL.match(text)
        return [_unread(f"calls that can't be read: {str(error)[:80]}")] if capped else []
    except (RecursionError, MemoryError):
        return [_unread("calls that can't be read: nested too deep")] if _PYTHON_CALL.match(text) else []
    elements = body.elts if isinstance(body, ast.List) else []
    if not elements or not all(isinstance(element, ast.Call) for element in elements):
        return []
    return [_python_call(element) for element in elements if isinstance(element, ast.Call)]


def _parsed(text: str) -> ast.expr:
    """The syntax tree of an expression, without the warnings that a model's text would give (escapes, "1or 2").

    A filter for this file name alone stays installed: to change filters and to change them back is not safe in threads.
    """
    if warnings.filters[:1] != [_QUIET]:
        warnings.filterwarnings("ignore", module=_SOURCE_NAME)
    return ast.parse(text, _SOURCE_NAME, "eval").body


class _Unreadable(Exception):
    """An argument that is no literal."""


def _python_call(node: ast.Call) -> ToolCall:
    name = _dotted(node.func)
    if not name:
        return _unread("a call without a name")
    try:
        return ToolCall(name, _keywords(node, 0), written=True)
    except _Unreadable as error:
        return ToolCall(name, {}, f"arguments of {name[:80]}: {error}", written=True)


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _keywords(node: ast.Call, depth: int) -> dict[str, Any]:
    if node.args:
        raise _Unreadable("an argument without a name")
    found: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in found:
            raise _Unreadable(f"{keyword.arg} twice" if keyword.arg else "** stands for names that are not given")
        found[keyword.arg] = _literal(keyword.value, depth + 1)
    return found


def _literal(node: ast.expr, depth: int) -> Any:
    """The value of a literal; a bare name and a call without names are their text, as data sets write variables."""
    if type(node) is ast.Constant:  # as most are
        if type(node.value) is int and node.value.bit_length() > MAX_BITS:
            raise _Unreadable("a number out of range")
        return "..." if node.value is Ellipsis else node.value
    if depth > MAX_DEPTH:
        raise _Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, ast.List):
        return [_literal(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple([_literal(item, depth + 1) for item in node.elts])
    if isinstance(node, ast.Dict):
        return _mapping(node, depth)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.UnaryOp, ast.BinOp)):
        return _number(node, depth)
    if isinstance(node, ast.Call):
        return {_dotted(node.func): _keywords(node, depth)} if node.keywords else _source(node)
    if isinstance(node, ast.Subscript):
        return _source(node)
    raise _Unreadable(f"{type(node).__name__} is no literal")


def _mapping(node: ast.Dict, depth: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = None if key is None else _literal(key, depth + 1)
        if not isinstance(name, (str, int, float, bool)):
            raise _Unreadable("a key that is no text")
        found[name] = _literal(value, depth + 1)
    return found


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        raise _Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError:  # a number with too many digits
        raise _Unreadable("a number out of range") from None


def _number(node: ast.expr, depth: int) -> int | float:
    """Arithmetic on numbers, carried out here within `NUMBER_BOUND`."""
    if depth > MAX_DEPTH:
        raise _Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    value: int | float
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            value = node.value  # type: ignore[assignment]  # the pattern says which
        case ast.UnaryOp(op=ast.USub()):
            value = -_number(node.operand, depth + 1)
        case ast.UnaryOp(op=ast.UAdd()):
            value = _number(node.operand, depth + 1)
        case ast.BinOp():
            value = _binary(node.op, _number(node.left, depth + 1), _number(node.right, depth + 1))
        case _:
            raise _Unreadable("arithmetic on something else than numbers")
    if not abs(value) < NUMBER_BOUND and not isinstance(node, ast.Constant):
        raise _Unreadable("a number out of range")
    return value


def _binary(op: ast.operator, a: int | float, b: int | float) -> int | float:
    if max(abs(a), abs(b)) >= NUMBER_BOUND:
        raise _Unreadable("a number out of range")
    try:
        match op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.Div():
                return a / b
            case ast.FloorDiv():
                return a // b
            case ast.Mod():
                return a % b
            case ast.Pow() if abs(b) <= 64 and (abs(a) <= 1 or abs(b) <= 1 or abs(a) ** min(abs(b), 60) < 1e18):
                power = a**b
                return power if isinstance(power, (int, float)) else float("nan")
    except (ZeroDivisionError, OverflowError):
        pass
    raise _Unreadable("arithmetic that is not carried out")
