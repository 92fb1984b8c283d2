"""Formats of calls and results: the model's chat template, or fenced code in the running text.

A result is untrusted text. Special tokens and tags in it are escaped before the template sees it. The appended text is
encoded once, and its special tokens are counted. Results that would add a special token are not shown.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from verikit.calls import ToolCall, text_calls
from verikit.errors import ConfigError
from verikit.replies.split import reply_text
from verikit.trainers.recipes.tools.toolbox import INTERPRETER, ToolResult
from verikit.verifiers.reading.fences import fenced

CallForm = Literal["hermes", "any", "fenced"]
OPENING, CLOSING = "<tool_call>", "</tool_call>"
TAGS = (OPENING, CLOSING, "<tool_response>", "</tool_response>")
FENCE = "```"
ASKS = FENCE + "output"
"""The marker that requests the output of the code before it (ToRL, arXiv 2503.23383, 2.1)."""
HIDDEN = "error: the result can't be shown"
_MARK = "verikit-goes-on-here"
_ID = "000000000"
"""Some templates require a call id of nine letters or digits."""
_CONTROL = re.compile(r"<[|｜][^<>|｜\n]{1,64}[|｜]>")
"""The pattern of special tokens in chat templates. The tokenizer's own are also matched exactly."""
_SYSTEM = """You may call one or more functions to assist with the user query. Here they are, within <tools></tools>:
<tools>
{tools}
</tools>

For each function call, return a JSON object with the function's name and its arguments within <tool_call></tool_call>:
<tool_call>
{{"name": <function-name>, "arguments": <arguments as a JSON object>}}
</tool_call>"""
_FENCED_SYSTEM = """You may run Python programs: write one in a ```python block, then open a block with ```output, and
what it prints is shown there. Each program starts anew."""


class ReadTurn(NamedTuple):
    """The text and the calls of a model's turn."""

    said: str
    calls: list[ToolCall]


class ToolForm(ABC):
    """A format of calls, for one tokenizer."""

    stop: tuple[str, ...] = ()
    """Strings that end a turn, in addition to the end token."""
    marks: tuple[str, ...] = TAGS
    """Strings with special meaning in this format, in addition to the tokenizer's own tokens."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        added = {number: token for number, token in tokenizer.added_tokens_decoder.items() if token.content.strip()}
        forced = {number: token.content for number, token in added.items() if token.special or token.content[0] in "<["}
        self._forced = set(forced)
        names = sorted({*self.marks, *forced.values()}, key=len, reverse=True)
        self._names = re.compile("|".join([*map(re.escape, names), _CONTROL.pattern]))

    @abstractmethod
    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the ids of a conversation with the tools described in it, up to the model's turn."""

    @abstractmethod
    def read(self, text: str) -> ReadTurn:
        """Parse a turn."""

    @abstractmethod
    def shown(self, text: str, calls: Sequence[ToolCall], results: Sequence[str]) -> str:
        """Return the text after a turn with calls, up to the model's next turn."""

    def observation(self, text: str, end: str, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[int]:
        """Return the ids that follow a turn of this text, closed by this end token.

        Results that would still become special tokens are not shown. A tokenizer may normalise text to such tokens.
        """
        told = self._after(text, end, calls, [self.disarmed(result.text) for result in results])
        plain = self._after(text, end, calls, [HIDDEN] * len(results))
        return told if self._force(told) == self._force(plain) else plain

    def disarmed(self, text: str) -> str:
        """Return an escaped untrusted string: the first character of each tag and special token becomes an entity."""
        return self._names.sub(lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", text)

    def encode(self, text: str) -> list[int]:
        """Return the ids of text from the template."""
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)

    def text(self, ids: Sequence[int], *, ended: bool) -> tuple[str, str]:
        """Return the text of sampled ids, and of the end token; "" if they are truncated or ended by a stop string."""
        closed = ended and ids[-1] in self.tokenizer.all_special_ids
        body = self.tokenizer.decode(list(ids[:-1] if closed else ids), skip_special_tokens=False)
        return body, self.tokenizer.decode([ids[-1]], skip_special_tokens=False) if closed else ""

    def _after(self, text: str, end: str, calls: Sequence[ToolCall], results: Sequence[str]) -> list[int]:
        return self.encode(self.shown(text, calls, results).removeprefix(end))

    def _force(self, ids: Sequence[int]) -> list[int]:
        return [token for token in ids if token in self._forced]


class TemplateForm(ToolForm):
    """Calls in the chat template's own format, results as its `tool` messages.

    A template without tool support uses Hermes's format: the tools in the system message, results in `<tool_response>`
    tags in the user's.

    Args:
        tokenizer: Must have a chat template.
        schemas: The tools.
        families: Also read calls in other model families' formats, not only `<tool_call>` tags.

    Raises:
        ConfigError: There is no chat template, or it rejects tools.
    """

    def __init__(self, tokenizer: Any, schemas: Sequence[Mapping[str, Any]], *, families: bool = False) -> None:
        super().__init__(tokenizer)
        self._schemas, self._families = list(schemas), families
        if not tokenizer.chat_template:
            hint = 'options.calls = "fenced" works on plain text'
            raise ConfigError("calls in the chat template's form need a chat template", hint=hint)
        probe: list[Mapping[str, Any]] = [{"role": "user", "content": _MARK}]
        self._known = self._render(probe, tools=True) != self._render(probe, tools=False)
        self.shown("", [ToolCall("python", {})], ["0"])  # fails before sampling if results can't be shown

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Render with the template, including its `tools`."""
        turns: Sequence[Mapping[str, Any]] = [dict(message) for message in messages]
        if not self._known:
            told = _SYSTEM.format(tools="\n".join(json.dumps(schema) for schema in self._schemas))
            turns = with_system(turns, told)
        return self.encode(self._render(turns, tools=self._known, begins=True))

    def read(self, text: str) -> ReadTurn:
        """Find calls after the thoughts. The turn's text is everything before the first call."""
        reply = reply_text(text)
        if OPENING in reply:
            return ReadTurn(reply.partition(OPENING)[0], text_calls(reply))
        calls = text_calls(reply) if self._families else []
        return ReadTurn("" if calls else text, calls)

    def shown(self, text: str, calls: Sequence[ToolCall], results: Sequence[str]) -> str:
        """Render the results after a placeholder for the model's turn, and return the text after it."""
        if self._known:
            pairs = zip(calls, results, strict=True)
            after = [
                {"role": "tool", "name": call.name or "unknown", "tool_call_id": _ID, "content": result}
                for call, result in pairs
            ]
        else:
            told = "\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in results)
            after = [{"role": "user", "content": told}]
        before = [{"role": "user", "content": "0"}, {"role": "assistant", "content": _MARK}]
        rendered = self._render([*before, *after], tools=False, begins=True)
        _, mark, rest = rendered.partition(_MARK)  # the first one: a result may contain the same words
        if not mark:
            raise ConfigError("the chat template does not show the model's turn before a tool's result")
        return rest

    def _render(self, turns: Sequence[Mapping[str, Any]], *, tools: bool, begins: bool = False) -> str:
        from jinja2 import TemplateError

        try:
            text: str = self.tokenizer.apply_chat_template(
                list(turns), tools=self._schemas if tools else None, tokenize=False, add_generation_prompt=begins
            )
        except TemplateError as error:
            hint = 'options.calls = "fenced" requires only that the template accepts a conversation'
            raise ConfigError(f"the chat template does not support tools: {error}", hint=hint) from None
        return text


class FencedForm(ToolForm):
    """Code in the running text, as in ToRL: a ```python block, and ```output requests its printed output."""

    stop = (ASKS,)
    marks = (*TAGS, FENCE)

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Render with the template. The system message explains how to run programs."""
        from jinja2 import TemplateError

        turns = with_system([dict(message) for message in messages], _FENCED_SYSTEM)
        try:
            return self.encode(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        except (TemplateError, ValueError) as error:
            hint = "options.chat = false continues plain text"
            raise ConfigError(f"the chat template rejects the conversation: {error}", hint=hint) from None

    def read(self, text: str) -> ReadTurn:
        """Use the last Python block before the output marker."""
        before, asks, _ = text.partition(ASKS)
        if not asks:
            return ReadTurn(text, [])
        blocks = [content for label, content in fenced(before) if label in ("python", "py", "python3")]
        if not blocks:
            return ReadTurn(before, [ToolCall(INTERPRETER, {}, f"no {FENCE}python block before {ASKS}")])
        return ReadTurn(before, [ToolCall(INTERPRETER, {"code": blocks[-1]})])

    def shown(self, text: str, calls: Sequence[ToolCall], results: Sequence[str]) -> str:
        """Close the block. A line end in the last sampled token is not repeated."""
        over = text.partition(ASKS)[2]
        return ("" if over.endswith("\n") else "\n") + "\n".join(results) + f"\n{FENCE}\n"


def make_form(kind: CallForm, tokenizer: Any, schemas: Sequence[Mapping[str, Any]]) -> ToolForm:
    """Return the requested format.

    Raises:
        ConfigError: Tokenizer or tools don't fit it.
    """
    if kind != "fenced":
        return TemplateForm(tokenizer, schemas, families=kind == "any")
    names = [schema["function"]["name"] for schema in schemas]
    if names != [INTERPRETER]:
        raise ConfigError(f'options.calls = "fenced" runs programs: options.tools is ["{INTERPRETER}"] then')
    return FencedForm(tokenizer)


def with_system(turns: Sequence[Mapping[str, Any]], told: str) -> list[Mapping[str, Any]]:
    """Return a conversation with additional text in its system message."""
    if turns and turns[0].get("role") == "system":
        return [{**turns[0], "content": f"{turns[0]['content']}\n\n{told}"}, *turns[1:]]
    return [{"role": "system", "content": told}, *turns]
