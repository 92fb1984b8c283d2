"""Does the server reply as it should? It is started in its own box and called over the box's loopback."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verikit.artifacts.options import of_row
from verikit.artifacts.service.box import ServiceBox
from verikit.artifacts.service.call import ConnectionEnded, HttpRequest, call, connected
from verikit.artifacts.service.lines import LineConnection
from verikit.artifacts.service.programs import ServiceProgram, program_of
from verikit.errors import AgentFault, UsageError, WorkspaceError
from verikit.names.spec import load
from verikit.types import Sample, Score
from verikit.verifiers.json_match import JsonMatch
from verikit.verifiers.service.asks import DeclaredRequest, Restart, read_asks
from verikit.verifiers.service.lines import DeclaredLine
from verikit.verifiers.service.replies import fault, json_of, text_of
from verikit.verifiers.service.values import found
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, all_hold

CLIENTS: Mapping[str, Mapping[str, str]] = {
    "a tool": {"User-Agent": "curl/8.5.0", "Accept": "*/*"},
    "a browser": {
        "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "Accept": "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8",
        "Accept-Language": "en-US,en;q=0.5",
    },
}  # fmt: skip
"""The clients that send the requests. Each gets a fresh box, and a service must serve both alike."""
_STOP_S = 10.0
_ENDING_TICKS = 10
"""Wait after a missing reply, so the reason can report a program that is about to end."""


@dataclass(frozen=True, eq=False)
class Service(WorkspaceVerifier):
    """1.0 if a server that an agent left gives the expected reply to every request.

    The program is started in a box with a copy of the workspace, and without network. The requests are sent over the
    loopback of the box, twice: by a tool, and by a browser in a second, fresh box. Expected replies never enter a box.
    A row's own options are under its key `service`.
    """

    start: str | Sequence[str] = ()
    """The command: `python server.py`. It starts with `python`, `node`, `bash`, or a program of the workspace."""
    ask: Sequence[Mapping[str, Any]] = ()
    """Requests in order, such as `{"get": "/a", "expect": {"status": 200, "json": …}}`, and `{"restart": "kill"}`."""
    port: int = 8000
    """The port that the program listens on. The program receives it in the environment variable `PORT`."""
    ready: str = ""
    """A path that is requested until its status is 2xx, before the first request. Without it, the port must be open."""
    stop_ok: bool = False
    """Whether the program must end within ten seconds of SIGTERM."""
    rules: str | JsonMatch = "json_match"
    """How JSON is compared: a `json_match` with options, such as `json_match(extra="ignore")`."""
    start_s: float = 30.0
    """Seconds from the start of the program until it is ready."""
    reply_s: float = 10.0
    """Seconds for each reply."""
    name = "service"

    def __post_init__(self) -> None:
        command = shlex.split(self.start) if isinstance(self.start, str) else list(self.start)
        if not all(isinstance(part, str) and part for part in command):
            raise UsageError("start is a command, as a string or a list of strings")
        object.__setattr__(self, "start", tuple(command))
        rules = load(self.rules) if isinstance(self.rules, str) else self.rules
        if not isinstance(rules, JsonMatch):
            raise UsageError("rules must be json_match with options", hint="rules=\"json_match(extra='ignore')\"")
        object.__setattr__(self, "rules", rules)
        if type(self.port) is not int or not 1024 <= self.port <= 65535:
            raise UsageError(f"port must be an integer from 1024 to 65535, got {self.port!r}")
        if not (0 < self.start_s <= 60 and 0 < self.reply_s <= 60):
            raise UsageError("start_s and reply_s must be above 0 and at most 60 seconds")
        if self.ready:
            read_asks([{"get": self.ready}])
        read_asks(self.ask)

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Start the service in two boxes, and send the requests."""
        return of_row(self, sample, "service").checked(workspace)

    def checked(self, workspace: Workspace) -> Score:
        """Check one workspace by these options."""
        if not self.start or not (self.ask or self.stop_ok):
            raise WorkspaceError("the service verifier has nothing to check", hint='start="python server.py", ask=[…]')
        program = program_of(self.start)
        files = self._files(workspace, program)
        folders = [path for path, entry in workspace.after.manifest.items() if entry.kind == "folder"]
        score = Score(1.0)
        for name, headers in CLIENTS.items():
            with ServiceBox(program, files, folders, self.port) as box:
                visit = _Visit(self, box, headers)
                try:
                    parts = dict(visit.parts())
                finally:
                    visit.hang_up()
            score = all_hold(parts)
            if score.filled(0.0) < 1.0:
                score = replace(score, reason=f"called by {name}: {score.reason}"[:600])
                break
        if score.filled(0.0) < 1.0 and workspace.uncollected:
            lost = next(iter(workspace.uncollected))
            raise WorkspaceError(f"{lost} was not collected, which the service may need: {score.reason}")
        return score

    def _files(self, workspace: Workspace, program: ServiceProgram) -> dict[str, tuple[bytes, int]]:
        """Content and mode of all files. Links, fifos and devices stay outside."""
        for named in self._named(program):
            workspace.one(named)
        files = {}
        for path, entry in workspace.after.manifest.items():
            if entry.kind == "file":
                files[path] = workspace.blob(entry).data(), 0o755 if entry.executable or path == program.file else 0o644
        return files

    def _named(self, program: ServiceProgram) -> Iterator[str]:
        """The file that the command names first: if it was not collected, the agent is not the cause."""
        command = list(self.start)
        if program.file:
            yield program.file
        elif len(command) > 1 and not command[1].startswith(("-", "/")):
            yield command[1]


class _Visit:
    """One client's requests in one box."""

    def __init__(self, service: Service, box: ServiceBox, headers: Mapping[str, str]) -> None:
        self._service, self._box, self._headers = service, box, headers
        self._asks = read_asks(service.ask)
        self._by_lines = not service.ready and all(isinstance(ask, DeclaredLine | Restart) for ask in self._asks)
        self._kept: dict[str, str | int] = {}
        self._link: LineConnection | None = None
        self._unused: LineConnection | None = None
        """The connection that showed that the program is ready."""

    def parts(self) -> Iterator[tuple[str, Score]]:
        """The score of each step; the last one is the step that ends the program or does not get a valid reply."""
        name = "start"
        try:
            self._start()
            yield name, Score(1.0, reason="ready")
            for number, ask in enumerate(self._asks, 1):
                name = f"{number} {ask}"
                wrong = self._restart(ask) if isinstance(ask, Restart) else self._ask(ask, self._is_silent(number))
                yield name, Score(float(not wrong), reason=wrong)
            if self._service.stop_ok:
                name = "stop"
                alone = self._box.stop(_STOP_S)
                yield name, Score(float(alone), reason="" if alone else f"it still runs {_STOP_S:g} s after SIGTERM")
        except AgentFault as problem:
            yield name, Score(0.0, reason=str(problem))

    def _start(self) -> None:
        """Start the program and wait until it is ready.

        Raises:
            AgentFault: It ends, or is not ready in time.
        """
        self._box.start()
        late = f"the program is not ready within {self._service.start_s:g} seconds"
        deadline = time.monotonic() + self._service.start_s
        while not self._is_ready(deadline, late):
            self._box.check_running("before it was ready")
            self._box.wait(None, deadline, late)

    def _is_ready(self, deadline: float, late: str) -> bool:
        link = connected(self._box, deadline, late)
        if link is None:
            return False
        if self._by_lines:
            # Closing it could reset the connection of a server that speaks first, so the first line goes over it.
            self._unused = LineConnection(self._box, link)
            return True
        link.close()
        if not self._service.ready:
            return True
        request = HttpRequest("GET", self._service.ready, [("Host", "localhost"), *self._headers.items()])
        try:
            left = max(deadline - time.monotonic(), 0.1)
            return 200 <= call(self._box, request, min(left, self._service.reply_s)).status < 300
        except AgentFault:  # errors before it is ready: retry until the deadline
            return False

    def _restart(self, restart: Restart) -> str:
        self.hang_up()
        self._box.check_running("before it was stopped")
        self._box.stop(_STOP_S if restart.kind == "stop" else 0.0)
        self._start()
        return ""

    def _is_silent(self, number: int) -> bool:
        """Whether the connection must be silent after this step: no line uses it again, or the step has no reply."""
        ask = self._asks[number - 1]
        following = next((one for one in self._asks[number:] if not isinstance(one, DeclaredRequest)), None)
        if not isinstance(following, DeclaredLine) or not following.same:
            return True
        return isinstance(ask, DeclaredLine) and not ask.count and following.line is not None

    def _ask(self, ask: DeclaredRequest | DeclaredLine, silent: bool) -> str:
        """Send a request or a line; return the problem with the reply.

        Raises:
            AgentFault: The reply is missing or can't be read.
        """
        rules = self._service.rules
        assert isinstance(rules, JsonMatch)
        try:
            if isinstance(ask, DeclaredLine):
                lines = self._lines(ask, silent)
                wrong = ask.fault(lines, self._kept, rules.rules)
                told = ask.kept(lines) if ask.keep and not wrong else None
            else:
                reply = call(self._box, ask.request(self._headers, self._kept), self._service.reply_s)
                wrong = fault(reply, ask.expect, self._kept, rules.rules)
                told = json_of(text_of(reply)) if ask.keep and not wrong else None
        except ConnectionEnded:
            for _ in range(_ENDING_TICKS):
                self._box.check_running("instead of replying")
                self._box.wait(None, math.inf, "")
            raise
        if not wrong:
            self._kept.update({name: found(told, path) for name, path in ask.keep.items()})
        return wrong

    def _lines(self, ask: DeclaredLine, silent: bool) -> list[bytes]:
        """Send a line over a new connection, or over the one of the line before, and read the reply."""
        if not ask.same or self._link is None:
            opened = self._unused or LineConnection.opened(self._box, self._service.reply_s)
            self._unused = None
            self.hang_up()
            self._link = opened
        return self._link.ask(ask.encoded(self._kept), ask.count, self._service.reply_s, silent=silent)

    def hang_up(self) -> None:
        """Close the connections of lines."""
        for link in (self._link, self._unused):
            if link is not None:
                link.close()
        self._link = self._unused = None


__all__ = ["Service"]
