"""Did the model make the expected tool calls?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from verikit.base import Verifier
from verikit.calls import Language, ToolCall, calls_in, calls_of, load_json, read_call, text_calls
from verikit.errors import UsageError
from verikit.replies.split import Reads, reply_texts
from verikit.stats.pairing import pairs
from verikit.types import Sample, Score
from verikit.verifiers.tools.alternatives import ExpectedCall
from verikit.verifiers.tools.arguments import PlainCall

_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
_quoted = json.encoder.encode_basestring


def _encoder() -> Callable[[Any, int], Sequence[str]]:
    """The encoder that `_encode` would otherwise create for each value; that costs more than most arguments do."""
    made = getattr(json.encoder, "c_make_encoder", None)
    if made is None:
        return lambda value, _: (_encode(value),)
    found: Callable[[Any, int], Sequence[str]] = made(None, str, _quoted, None, ": ", ", ", False, False, True)
    return found


_pieces = _encoder()
ANY = "any"
"""Instead of expected calls: any call is right."""
REMEMBERED = 4096
"""Maximum cached sets of prepared expected calls; the candidates of one prompt share a set."""
_OBJECT = (dict, Mapping)
"""JSON objects; a dict is recognized immediately."""
Order = Literal["any", "given"]
Expected = ExpectedCall | PlainCall
Prepared = tuple[Expected, ...] | str
"""Expected calls, or `ANY`."""


class _Memory(dict[Any, tuple[Any, Any, Prepared]]):
    """Expected calls, tools and both prepared; a copy in another process starts empty."""

    def __reduce__(self) -> Any:
        return _Memory, ()


@dataclass(frozen=True)
class ToolCalls(Verifier):
    """1.0 if the calls are the expected ones: the same tools with the same arguments, none missing, none extra.

    Calls are read from the messages' `tool_calls`, or from the reply's text if the messages don't have any. The text
    may have JSON, Python-style calls, or the tags of the common model families. Expected calls are OpenAI's (`{"name",
    "arguments"}`), Python-style text, or BFCL's `{name: {parameter: [alternatives]}}`. The latter are compared by
    BFCL's rules (strings without case and punctuation, types as described). An empty list means that a reply without
    calls is right, `"any"` that any readable call is. A sample without expected calls abstains. Unreadable expected
    calls are an error.
    """

    calls: str = "calls"
    """The sample's key with the expected calls, or its gold answer if the key is missing."""
    tools: str = "tools"
    """The sample's key with the tools, in OpenAI's, Anthropic's or BFCL's format. It may be absent."""
    order: Order = "any"
    """Whether several calls may be in `any` order or must be as `given`."""
    coerce: bool = True
    """Whether an argument may have another type than the tool's schema states ("5" for 5). Not for BFCL's format."""
    language: Language | None = None
    """Language of BFCL arguments. None: by the sample's id or its `category` (simple_java_3), otherwise Python."""
    name = "tool_calls"
    reads: ClassVar[Reads | None] = None
    _memory: _Memory = field(default_factory=_Memory, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise UsageError(f"order must be one of {', '.join(get_args(Order))}, got {self.order!r}")
        if self.language is not None and self.language not in get_args(Language):
            raise UsageError(f"language must be one of {', '.join(get_args(Language))}, got {self.language!r}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        replies = reply_texts([sample.completion for sample in samples])
        return [self._score_sample(sample, reply) for sample, reply in zip(samples, replies, strict=True)]

    def _score_sample(self, sample: Sample, reply: str) -> Score:
        expected: Any = sample.meta.get(self.calls, sample.answer)
        if expected is None:
            return Score.abstained(f"expected calls not found under {self.calls!r} or as the answer")
        language = self.language or _language(sample)
        try:
            wanted = self._prepared(expected, sample, language)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return Score.error(f"the expected calls can't be read: {str(error)[:200]}")
        made = calls_in(sample.messages) if sample.messages else []
        return judged(made or text_calls(reply, _written_in(wanted, language)), wanted, self.order)

    def _prepared(self, expected: Any, sample: Sample, language: Language) -> Prepared:
        """The expected calls with their rules, prepared once for all samples with the same ones."""
        tools = sample.meta.get(self.tools)
        key = (expected if isinstance(expected, str) else id(expected), id(tools), language)
        kept = self._memory.get(key)
        if kept is not None and kept[0] is expected and kept[1] is tools:
            return kept[2]
        prepared = prepare(expected, tools, language, self.coerce)
        if len(self._memory) >= REMEMBERED:
            self._memory.clear()
        self._memory[key] = expected, tools, prepared
        return prepared

    def equal(self, a: str, b: str) -> bool | None:
        """Whether two sets of calls are equal as JSON, in any order if the order is free; otherwise as strings."""
        (first, problem), (second, other) = load_json(a), load_json(b)
        if problem or other:
            return a == b
        if self.order == "any" and isinstance(first, list) and isinstance(second, list):
            first, second = sorted(first, key=_canonical), sorted(second, key=_canonical)
        return _canonical(first) == _canonical(second)

    def explain(self, sample: Sample) -> str:
        """The calls that were read."""
        return "\n".join(f"call: {call.name}({call.problem or _json(call.arguments)})" for call in calls_of(sample))


def prepare(expected: Any, tools: Any, language: Language = "python", coerce: bool = True) -> Prepared:
    """Read expected calls and their tools' schemas.

    Raises:
        ValueError: They can't be read.
    """
    described = _described(tools)
    if isinstance(expected, str):
        if expected == ANY:
            return ANY
        expected = _from_text(expected)
    calls: Any = expected if isinstance(expected, (list, Sequence)) else [expected]
    if expected is not calls and not isinstance(expected, Mapping):
        raise ValueError(f"a list of calls is expected, not a {type(expected).__name__}")
    return tuple([_expected(call, described, language, coerce) for call in calls])


def _from_text(text: str) -> Any:
    value, problem = load_json(text)
    if not problem and isinstance(value, (list, dict)):
        return value
    if calls := text_calls(text):
        return calls
    raise ValueError(f"calls not found in {text[:80]!r}")


def _expected(call: Any, tools: Mapping[str, Mapping[str, Any]] | None, language: Language, coerce: bool) -> Expected:
    if named := _alternatives(call):
        name, alternatives = named
        if not isinstance(alternatives, _OBJECT):
            raise ValueError(f"arguments of {str(name)[:80]!r} must be an object")
        return ExpectedCall(str(name), _present(alternatives), _schema(tools, name), language)
    read = call if isinstance(call, ToolCall) else read_call(call)
    if read.problem:
        raise ValueError(read.problem)
    return PlainCall(read, _schema(tools, read.name), coerce)


def _alternatives(call: Any) -> tuple[Any, Any] | None:
    """The name and arguments of a call in BFCL's format; None if it has another format."""
    if not isinstance(call, _OBJECT) or "function" in call:
        return None
    present = call if len(call) == 1 or "name" in call else _present(call)
    return next(iter(present.items())) if len(present) == 1 else None


def _present(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object without null keys, which tables of datasets and parquet add so that all rows have the same keys."""
    return {key: value for key, value in table.items() if value is not None} if None in table.values() else table


def _described(tools: Any) -> Mapping[str, Mapping[str, Any]] | None:
    """The description of each tool, keyed by its name; None if tools are not described.

    Raises:
        ValueError: The tools can't be read.
    """
    if isinstance(tools, str):
        tools, problem = load_json(tools)
        if problem:
            raise ValueError(f"the tools are {problem}")
    if tools is None:
        return None
    found: dict[str, Mapping[str, Any]] = {}
    for tool in tools if isinstance(tools, list) or not isinstance(tools, Mapping) else [tools]:
        described = tool["function"] if isinstance(tool, _OBJECT) and "function" in tool else tool
        name = described.get("name") if isinstance(described, _OBJECT) else None
        if not isinstance(name, str):
            raise ValueError("a tool is an object with a name and parameters")
        found[name] = described
    return found


def _schema(tools: Mapping[str, Mapping[str, Any]] | None, name: str) -> Mapping[str, Any] | None:
    """The schema of a tool's parameters; None if the tool is not described."""
    described = tools.get(name) if tools else None
    if described is None:
        return None
    schema = described.get("parameters")
    if schema is None and "parameters" not in described:
        schema = described.get("input_schema")
    return schema if isinstance(schema, _OBJECT) else {}


def judged(made: Sequence[ToolCall], wanted: Prepared, order: Order = "any") -> Score:
    """1.0 if the calls are the expected ones, with the first difference as the reason."""
    answer = _answer(made)
    if isinstance(wanted, str):
        readable = any(not call.problem for call in made)
        reason = "a call"
        if not readable:
            reason = made[0].problem if made else "no call was made"
        return Score(float(readable), answer=answer, reason=reason)
    if len(made) == 1 and not made[0].name:
        return Score(0.0, reason=made[0].problem)
    if len(made) != len(wanted):
        problem = f"{len(made)} calls, {len(wanted)} expected" if made else f"no call was made, {len(wanted)} expected"
        return Score(0.0, answer=answer, reason=problem)
    if not wanted:
        return Score(1.0, reason="no call, as expected")
    problem = ""
    for rule, call in zip(wanted, made, strict=True):
        problem = rule.problem(call)
        if problem:
            break
    if problem and len(made) > 1 and order == "any":
        problem = _unmatched(made, wanted)
    return Score(0.0 if problem else 1.0, answer=answer, reason=problem or "the expected calls")


def _unmatched(made: Sequence[ToolCall], wanted: Sequence[Expected]) -> str:
    """Why calls can't be paired one-to-one with the expected ones; "" if they can."""
    paired = pairs(wanted, made, lambda rule, call: not rule.problem(call))
    if len(paired) == len(wanted):
        return ""
    rule = next(rule for number, rule in enumerate(wanted) if number not in paired.values())
    left = [call for i, call in enumerate(made) if i not in paired]
    near = next((call for call in left if call.name == rule.name), left[0])
    return rule.problem(near) or f"{rule.name}: its call is another one's too"


def _language(sample: Sample) -> Language:
    category = sample.meta.get("category", "")
    if "java" not in str(sample.id) and "java" not in str(category):
        return "python"
    named = f"{sample.id} {category}"
    if "simple_javascript" in named:
        return "javascript"
    return "java" if "simple_java" in named else "python"


def _written_in(wanted: Prepared, language: Language) -> Language:
    """The language of calls in text: the language of BFCL's arguments, otherwise Python."""
    if language == "python":
        return language
    plain = not isinstance(wanted, str) and any(isinstance(rule, PlainCall) for rule in wanted)
    return "python" if plain else language


def _answer(made: Sequence[ToolCall]) -> str | None:
    """The calls as JSON; None if there aren't any, or some can't be read or written."""
    texts = list[str]()
    try:
        for call in made:
            if call.problem:
                return None
            source = call.source
            arguments = source if source and source.strip() else "".join(_pieces(call.arguments, 0))
            texts.append(f'{{"name": {_quoted(call.name)}, "arguments": {arguments}}}')
    except (TypeError, ValueError, RecursionError):
        return None
    return f"[{', '.join(texts)}]" if texts else None


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _json(value: Any) -> str:
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return "(arguments that can't be written as JSON)"
