"""The tools, and the server that offers them over stdin and stdout."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from verikit.errors import HelperError, HelperTimeout, UsageError, VerikitError, with_hint
from verikit.helper import Helper
from verikit.mcp.rules import TEXT_RULES, allowed_spec, file_below
from verikit.names.option_docs import options
from verikit.names.registry import find, registered, version

# Imported with import_module: type checkers without the package would resolve `mcp` to this folder.
MCPServer: Any = import_module("mcp.server").MCPServer
ToolError: Any = import_module("mcp.server.mcpserver.exceptions").ToolError
ToolAnnotations: Any = import_module("mcp_types").ToolAnnotations

MAX_TEXT = 200_000
"""Maximum characters of a reply, a gold answer, a prompt, and `meta` as JSON."""
MAX_REPLIES = 64
"""Maximum replies per call."""
MAX_MESSAGE = 16 * 2**20
"""Maximum bytes of a message. A longer one ends the connection."""
AT_ONCE = 8
"""Maximum number of concurrent calls. Further calls are rejected."""
_INSTRUCTIONS = """\
Scores of language models' output by rules that say why. A score has a value, or a status that says why it has none: \
that is never a 0. `list_verifiers` shows what can stand in a spec; specs combine: 0.9*answer + 0.1*boxed."""

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Gold = Annotated[
    Text | Annotated[list[Text], Field(max_length=MAX_REPLIES)] | None,
    Field(description="The reference answer, or a list of accepted ones."),
]
Spec = Annotated[
    str, Field(max_length=10_000, description="Verifier that scores, such as `answer` or `0.9*answer + 0.1*boxed`.")
]
Prompt = Annotated[Text, Field(description="What was asked; some verifiers look at it.")]
Meta = Annotated[
    dict[str, Any] | None, Field(description="What else the verifier needs of the row, such as `instruction_id_list`.")
]
File = Annotated[str, Field(max_length=1_000, description="Its path below the server's folder.")]


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Settings of `verikit mcp`, with its defaults."""

    root: Path | None = None
    """The folder whose files may be audited. None disables reading files."""
    named: Mapping[str, str] = field(default_factory=dict)
    """Specs of any kind that clients may use through a name."""
    any_spec: bool = False
    """Whether clients may write specs of any kind, including code and models."""
    deadline_s: float = 60.0
    """Seconds that a call may take."""
    memory_mb: int | None = 2048
    """Memory limit of each scoring process. None: no limit."""
    workers: int = 2
    """Scoring processes."""
    max_file_mb: float = 256.0
    """Maximum size of an audited file."""


class Tools:
    """The tools' functions: they check a client's input and pass it to a helper's processes.

    Each raises ToolError, with the problem and a remedy, for the client to read.
    """

    def __init__(self, settings: McpSettings) -> None:
        self.settings = settings
        self._helper = Helper(settings.workers, settings.memory_mb, preload=("verikit.mcp.work",))
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def start(self) -> None:
        """Load the specs that have names.

        Raises:
            UsageError: One can't be loaded.
        """
        for name, spec in self.settings.named.items():
            told = self._helper.call("verikit.mcp.work:check", spec, timeout=max(300.0, self.settings.deadline_s))
            if "error" in told:
                raise UsageError(f"--spec {name}: {told['error']}", hint=told["hint"])

    def close(self) -> None:
        """End the processes."""
        self._helper.close()

    def score(
        self,
        replies: Annotated[list[Text], Field(min_length=1, max_length=MAX_REPLIES, description="What models wrote.")],
        gold: Gold = None,
        spec: Spec = "answer",
        prompt: Prompt = "",
        meta: Meta = None,
    ) -> dict[str, Any]:
        """Score replies to one prompt. Each result has a value (1.0: right), the extracted answer and the reason.

        An unscored reply has a status (abstained, timeout, error) and a reason instead of a value: it is not a 0.
        """
        rows = [_row(reply, gold, prompt, meta) for reply in replies]
        return self._work("score", *self._spec(spec), rows)

    def explain(
        self,
        reply: Annotated[Text, Field(description="What a model wrote.")],
        gold: Gold = None,
        spec: Spec = "answer",
        prompt: Prompt = "",
        meta: Meta = None,
    ) -> str:
        """Explain a reply's score: the extracted answer and its source, the deciding rule, and each part's score."""
        return str(self._work("explain", *self._spec(spec), _row(reply, gold, prompt, meta))["text"])

    def audit(
        self,
        file: File,
        spec: Annotated[Spec, Field(description="A reward to try on the file; without it only data are checked.")] = "",
        against: Annotated[File, Field(description="A file whose questions must not stand in the other.")] = "",
        mapping: Annotated[
            dict[str, str], Field(max_length=20, description="Keys of the rows, such as {'prompt': 'problem'}.")
        ] = {},  # noqa: B006 - a schema's default
        rows: Annotated[int, Field(ge=1, le=2_000, description="Rows that the reward is tried on.")] = 200,
        examples: Annotated[int, Field(ge=0, le=20, description="Findings of each check that are shown.")] = 3,
    ) -> dict[str, Any]:
        """Check a data file, and with `spec` a reward on it, before training.

        Finds wrong or missing gold answers, duplicated or leaked questions, and rewards that can be hacked.
        """
        paths = [str(self._file(name)) if name else "" for name in (file, against)]
        given = self._spec(spec) if spec else ("", False)
        return self._work("audit", paths[0], *given, paths[1], mapping, rows, examples)

    def list_verifiers(
        self, name: Annotated[str, Field(max_length=100, description="One of them: its options are told.")] = ""
    ) -> dict[str, Any]:
        """List the names allowed in a spec with their descriptions. With a name, list its options."""
        named, known = self.settings.named, registered("verifiers")
        allowed = [known_name for known_name in known if self.settings.any_spec or known_name in TEXT_RULES]
        if name in named:
            return {"name": name, "help": f"the spec {named[name]}", "options": []}
        if name and name not in allowed:
            raise ToolError(
                f"verifier {name!r} not found. Call list_verifiers without a name to see those available here"
            )
        if name:
            made = find("verifiers", name)
            return {"name": name, "help": made.__doc__ or "", "options": [_option(found) for found in options(made)]}
        short = {found: (find("verifiers", found).__doc__ or "").partition("\n\n")[0] for found in allowed}
        return {"verifiers": {key: " ".join(text.split()) for key, text in short.items()}, "named": list(named)}

    def _spec(self, spec: str) -> tuple[str, bool]:
        """The spec to load, and whether it may name code."""
        named, anything = self.settings.named, self.settings.any_spec
        try:
            return allowed_spec(spec, named, anything=anything), anything or spec.strip() in named
        except VerikitError as error:
            raise _refusal(error) from None

    def _file(self, name: str) -> Path:
        try:
            return file_below(self.settings.root, name, int(self.settings.max_file_mb * 2**20))
        except VerikitError as error:
            raise _refusal(error) from None

    def _work(self, function: str, *arguments: Any) -> dict[str, Any]:
        if not self._free.acquire(blocking=False):
            raise ToolError(f"{AT_ONCE} calls are under way: wait for one to end")
        try:
            told = self._helper.call(f"verikit.mcp.work:{function}", *arguments, timeout=self.settings.deadline_s)
        except HelperTimeout as error:
            limits = f"{self.settings.deadline_s:g} s, {self.settings.memory_mb or 'any'} MB"
            raise ToolError(f"{function}: {error} ({limits})") from None
        except HelperError as error:
            raise ToolError(f"{function} could not be done: {error}") from None
        finally:
            self._free.release()
        if "error" in told:
            raise ToolError(with_hint(told["error"], told["hint"]))
        return dict(told)


def serve(settings: McpSettings, started: Callable[[], None]) -> None:
    """Serve until stdin ends.

    Raises:
        UsageError: A named spec can't be loaded, or the folder does not exist.
    """
    if settings.root is not None and not settings.root.is_dir():
        raise UsageError(f"--root {settings.root} is not a folder")
    tools = Tools(settings)
    try:
        tools.start()
        server = make_server(tools)
        started()
        with _bounded_stdin():
            server.run("stdio")
    finally:
        tools.close()


def make_server(tools: Tools) -> Any:
    """The server over the tools; none of them changes anything."""
    server = MCPServer("verikit", version=version(), instructions=_INSTRUCTIONS, log_level="ERROR")
    reads_only = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
    for tool in (tools.score, tools.explain, tools.audit, tools.list_verifiers):
        server.add_tool(tool, annotations=reads_only)
    return server


def _row(reply: str, gold: Any, prompt: str, meta: dict[str, Any] | None) -> dict[str, Any]:
    if meta and len(json.dumps(meta)) > MAX_TEXT:
        raise ToolError(f"meta has at most {MAX_TEXT:,} characters as JSON")
    return {"prompt": prompt, "completion": reply, "answer": gold, "meta": meta or {}}


def _refusal(error: VerikitError) -> Any:
    return ToolError(with_hint(str(error), error.hint))


def _option(option: Any) -> dict[str, str]:
    return {key: value for key, value in option._asdict().items() if value}


class _BoundedLines(io.RawIOBase):
    """A descriptor's bytes, until it ends or a line is longer than a message may be."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._line = descriptor, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes, and nothing after a line that is too long."""
        if self._line > MAX_MESSAGE:
            return 0
        data = os.read(self._descriptor, min(len(buffer), 1 << 16))
        ended = data.rfind(b"\n")
        self._line = self._line + len(data) if ended < 0 else len(data) - ended - 1
        if self._line > MAX_MESSAGE:
            print(f"verikit mcp: a message has more than {MAX_MESSAGE:,} bytes: ended", file=sys.stderr)
            return 0
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _bounded_stdin() -> Iterator[None]:
    """Within it, sys.stdin is bounded, and descriptor 0 gives nothing to processes that are started."""
    before, own = sys.stdin, os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_BoundedLines(own)), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before
