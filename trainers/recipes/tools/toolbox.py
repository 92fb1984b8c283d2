"""Tools that a policy may call: Python functions, and an interpreter in the sandbox.

Errors caused by a call (bad arguments, an exception, a time or memory limit) become observations for the model. If the
tool itself fails, the trajectory is unscored. Examples are a failing sandbox, a dead helper process or a `VerikitError`
raised by a function.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from verikit.calls import ToolCall
from verikit.errors import ConfigError, HelperError, HelperTimeout, SpecError, VerikitError
from verikit.helper import Helper
from verikit.names.spec import import_object
from verikit.platform.folders import check_code
from verikit.platform.system import processors
from verikit.sandbox import Job, RunLimits, RunResult
from verikit.sandbox.backends import chosen_sandbox

INTERPRETER = "python"
"""The name of the sandboxed interpreter among `options.tools`."""
REASON_CHARS = 300
"""Maximum characters of a message about a call."""
_TARGET = "verikit.trainers.recipes.tools.functions:answer"
_ENDED = {
    "timeout": "the program ran out of time",
    "memory": "the program ran out of memory",
    "output": "the program printed too much",
    "disk": "the program wrote too much",
}

Arguments = Mapping[str, Any]


class ToolResult(NamedTuple):
    """The result of a call."""

    text: str
    """The text shown to the model."""
    failed: bool = False
    """Whether the text is an error message about the call."""
    fault: str = ""
    """Reason for a missing result, which is not the model's error."""


class Tool(ABC):
    """A tool that a policy calls with a name and arguments."""

    name: str
    schema: Mapping[str, Any]
    """The schema for chat templates: OpenAI's `{"type": "function", "function": {...}}`."""

    @abstractmethod
    def run(self, arguments: Sequence[Arguments]) -> list[ToolResult]:
        """Run several calls, each with arguments that fit the schema."""

    def close(self) -> None:
        """Release processes."""
        return


class Interpreter(Tool):
    """Runs each Python program separately in a sandbox, and shows its printed output.

    Args:
        limits: Limits of a program.
        sandbox: The sandbox's name as in `code(sandbox=…)`; None: the environment's, or `local`.
    """

    name = INTERPRETER
    schema: Mapping[str, Any] = {
        "type": "function",
        "function": {
            "name": INTERPRETER,
            "description": "Run a Python program and read what it prints. Each program starts anew.",
            "parameters": {
                "type": "object",
                "properties": {"code": {"type": "string", "description": "The program."}},
                "required": ["code"],
            },
        },
    }

    def __init__(self, limits: RunLimits, sandbox: str | None = None) -> None:
        self._limits, self._sandbox = limits, sandbox

    def run(self, arguments: Sequence[Arguments]) -> list[ToolResult]:
        """Run programs, in parallel up to the sandbox's number of workers."""
        jobs = [Job(given["code"], limits=self._limits) for given in arguments]
        try:
            return list(map(_printed, chosen_sandbox(self._sandbox).map(jobs)))
        except VerikitError as error:
            return [ToolResult("", fault=str(error))] * len(jobs)


class FunctionTool(Tool):
    """A Python function, called in a helper process that is killed after a timeout.

    The model sees its signature's types and its docstring (Google style, with a description per argument). The model
    sees its return value as a string: a string unchanged, other values as JSON. An exception is an observation. A
    `VerikitError` means that the tool itself failed.

    Raises:
        ConfigError: The function doesn't exist, or lacks a description.
    """

    def __init__(self, spec: str, folder: Path, seconds: float) -> None:
        from transformers.utils import chat_template_utils as templates

        self._spec, self._folder, self._seconds = spec, str(folder), seconds
        try:
            check_code(spec)
            function = import_object(spec, folder)
            self.schema = templates.get_json_schema(function)
        except SpecError as error:
            raise ConfigError(f"options.tools: {error}", hint=error.hint) from None
        except (templates.TypeHintParsingException, templates.DocstringParsingException, TypeError) as error:
            hint = "annotate each argument, and document it under `Args:` in the docstring"
            raise ConfigError(f"options.tools: {spec} can't be described: {error}", hint=hint) from None
        self.name = str(self.schema["function"]["name"])
        self._helper = Helper(processors(), memory_mb=None)

    def run(self, arguments: Sequence[Arguments]) -> list[ToolResult]:
        """Call the function, several times in parallel."""
        with ThreadPoolExecutor(self._helper.workers, thread_name_prefix="verikit-tool") as threads:
            return list(threads.map(self._call, arguments))

    def close(self) -> None:
        """Stop the helper process."""
        self._helper.close()

    def _call(self, given: Arguments) -> ToolResult:
        try:
            kind, text = self._helper.call(_TARGET, self._spec, self._folder, dict(given), timeout=self._seconds)
        except HelperTimeout as error:
            return ToolResult(f"error: {self.name} was stopped: {error}", failed=True)
        except HelperError as error:
            return ToolResult("", fault=f"{self.name}: {error}")
        return ToolResult("", fault=text) if kind == "fault" else ToolResult(text, failed=kind == "error")


class Toolbox:
    """Answers a model's calls. Errors in a call become messages and are never raised.

    Args:
        tools: The tools, with different names.
        chars: Maximum characters to show of a result.

    Raises:
        ConfigError: Two tools have the same name.
    """

    def __init__(self, tools: Sequence[Tool], chars: int) -> None:
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        self._chars = chars
        if len(self.tools) < len(tools):
            raise ConfigError("options.tools: two tools have the same name")
        self._checks = {name: Draft202012Validator(parameters(tool.schema)) for name, tool in self.tools.items()}

    @property
    def schemas(self) -> list[Mapping[str, Any]]:
        """The tools' schemas for a chat template."""
        return [tool.schema for tool in self.tools.values()]

    def answer(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Answer calls in order. Calls of one tool are sent to it together."""
        wrong = enumerate(map(self._wrong, calls))
        results = {index: ToolResult(problem, failed=True) for index, problem in wrong if problem}
        for name, tool in self.tools.items():
            own = [index for index, call in enumerate(calls) if index not in results and call.name == name]
            if own:
                results |= dict(zip(own, tool.run([calls[index].arguments for index in own]), strict=True))
        return [
            results[index]._replace(text=shortened(_clean(results[index].text), self._chars))
            for index in range(len(calls))
        ]

    def close(self) -> None:
        """Close all tools."""
        for tool in self.tools.values():
            tool.close()

    def _wrong(self, call: ToolCall) -> str:
        """Return an error message for a wrong call, or ""."""
        if call.problem:
            return f"error: {call.problem[:REASON_CHARS]}"
        if call.name not in self.tools:
            return f"error: there is no tool {call.name[:80]!r}; there are {', '.join(self.tools)}"
        error = next(self._checks[call.name].iter_errors(dict(call.arguments)), None)
        where = "".join(f"{part}: " for part in error.path) if error is not None else ""
        return "" if error is None else f"error: bad arguments of {call.name}: {where}{error.message}"[:REASON_CHARS]


def parameters(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    found: Mapping[str, Any] = schema["function"]["parameters"]
    return found


def shortened(text: str, chars: int) -> str:
    """Return at most `chars` characters of a string, with a note of how many are omitted in its middle."""
    if len(text) <= chars:
        return text
    head = (chars + 1) // 2
    return f"{text[:head]}\n... ({len(text) - chars} characters left out) ...\n{text[len(text) - (chars - head) :]}"


def _printed(result: RunResult) -> ToolResult:
    """Return a program's outcome as shown to the model."""
    if result.status == "infra_error":
        return ToolResult("", fault=f"the sandbox failed: {result.error}")
    text = result.stdout.strip()
    if result.status == "ok":
        return ToolResult(text or "(nothing was printed)")
    ended = _ENDED.get(result.status) or str(result.error or result.status)
    return ToolResult("\n".join(filter(None, [text, f"error: {ended}"])), failed=True)


def _clean(text: str) -> str:
    """Return the string without lone surrogates, which tokenizers reject."""
    return text.encode("utf-8", "replace").decode()


def as_text(value: Any) -> str:
    """Return a function's result as a string: a string unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
