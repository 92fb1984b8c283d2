"""Runs inside the candidate's process: run one program, or the steps of a session, and write the results as typed JSON.

The candidate controls this process from its first line, so records are read but never trusted. The payload arrives on
descriptor 4 (one JSON line per step). Records leave on descriptor 3 (one JSON line each). Standard output and error
are the program's own. Secrets from the candidate never come in.
"""

from __future__ import annotations

import atexit
import builtins
import errno
import io
import json
import os
import random
import sys
import threading
import traceback
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from verikit.sandbox import values
from verikit.sandbox.guest.closed import closed
from verikit.sandbox.lost import swallowed, why_lost
from verikit.sandbox.plain import thawed

if TYPE_CHECKING:
    from verikit.sandbox.proxies.peer import Transport

RECORD, COMMANDS = 3, 4
UNREPEATABLE = "Unrepeatable"
"""The failure of a program that sends other requests when it is rerun."""
MODULE = "solution"
"""The name of a program whose functions are called."""
_FILE = "<program>"
_MISSING = object()
_NOTHING = {"status": "ok", "value": None}
_DONE = json.dumps(_NOTHING).encode() + b"\n"
_MOST_FETCHED = 400_000
_DISK = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def main(*, session: bool) -> NoReturn:
    """Serve the descriptors until the work is done; the process ends here."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __file__=_FILE)
    sys.modules["__main__"] = module
    sys.argv = [_FILE]
    if session:
        with open(COMMANDS, encoding="utf-8") as commands:
            for line in commands:
                _reply(_step(json.loads(line), module.__dict__, commands))
        os._exit(0)
    job = json.loads(_payload())
    record = _step(job, module.__dict__, None)
    if not job["calls"]:
        record = _finish(record)
    if "fetch" in job:
        record["files"] = _fetched(job["fetch"])
    _reply(record)
    os._exit(0)


def _payload() -> bytes:
    """The whole input of the caller, as bytes. Decoding it here would cost more than a small program does."""
    pieces = []
    while piece := os.read(COMMANDS, 1 << 20):
        pieces.append(piece)
    os.close(COMMANDS)
    return b"".join(pieces)


def _reply(record: Mapping[str, Any]) -> None:
    """Write one record, whole."""
    try:
        data = _DONE if record == _NOTHING else (json.dumps(record, ensure_ascii=True) + "\n").encode()
    except MemoryError as error:
        data = (json.dumps(_failure(error)) + "\n").encode()
    _write(data)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(RECORD, data) :]


def _step(job: dict[str, Any], namespace: dict[str, Any], commands: io.TextIOBase | None) -> dict[str, Any]:
    """Run one payload in the namespace. The record shows how it ended."""
    failed: list[BaseException] = []
    record = _attempt(job, namespace, commands, failed)
    if record["status"] == "ok" and (lost := next(filter(swallowed, failed), None)):
        return _failure(RuntimeError(why_lost(lost)))
    return record


def _attempt(
    job: dict[str, Any], namespace: dict[str, Any], commands: io.TextIOBase | None, failed: list[BaseException]
) -> dict[str, Any]:
    role = job.get("role")
    try:
        for name, content in job.get("files", {}).items():
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            with open(name, "wb") as file:
                file.write(bytes.fromhex(content))
        if role == "program" or (job["calls"] and role is None):
            _give_name(namespace)
        if "only_closed" in job and not closed(job["code"]):
            raise ValueError("calls of this program can affect each other")
        if role == "program":
            _serve(job, namespace, commands)
        if role == "tests":
            namespace = _beside_program(job, commands, failed)
        exec(_compiled(job["code"]), namespace)  # noqa: S102 - what this process is for
        record: dict[str, Any] = {"status": "ok", "value": None}
        if job["calls"]:
            record["value"] = ["list", [_call(call, namespace) for call in job["calls"]]]
        _flush()
        return record
    except SystemExit as stop:
        _flush()
        if stop.code in (None, 0) and not job["calls"] and type(stop) is SystemExit and role != "program":
            return {"status": "ok", "value": None}
        return _failure(stop)
    except BaseException as error:  # noqa: BLE001 - a worker's main
        return _failure(error)


def _compiled(code: str) -> types.CodeType:
    """The program's code, without what this module imports from `__future__`."""
    return compile(code, _FILE, "exec", dont_inherit=True)


def _give_name(namespace: dict[str, Any]) -> None:
    """Make a program whose functions are called a module, to skip code that runs only as `__main__`."""
    namespace["__name__"] = MODULE
    sys.modules[MODULE] = sys.modules["__main__"]


def _serve(job: dict[str, Any], namespace: dict[str, Any], commands: io.TextIOBase | None) -> NoReturn:
    """Run the program, and carry out the tests' requests on its objects."""
    from verikit.sandbox.proxies.program import ProgramSide

    side = ProgramSide(_transport(job, commands), namespace)
    side.redirect()
    side.serve(lambda: exec(_compiled(job["code"]), namespace))  # noqa: S102 - what this process is for


def _beside_program(job: dict[str, Any], commands: io.TextIOBase | None, failed: list[BaseException]) -> dict[str, Any]:
    """The names of test code that uses a program from afar."""
    from verikit.sandbox.proxies.names import Borrowed, ProgramModule
    from verikit.sandbox.proxies.tests import TestsSide

    side = TestsSide(_transport(job, commands), failed)
    sys.modules[MODULE] = ProgramModule(MODULE, side, job["names"])
    namespace = Borrowed(side, job["names"])
    namespace.update(__name__="__main__", __builtins__=builtins, __file__=_FILE, verikit_program=side)
    return namespace


def _call(call: list[Any], namespace: dict[str, Any]) -> Any:
    """Call a function of the program and encode its result immediately."""
    name, args, kwargs = call
    given, named = thawed(values.decode(args)), thawed(values.decode(kwargs))
    return values.encode(_lookup(name, namespace)(*given, **named))


def _transport(job: dict[str, Any], commands: io.TextIOBase | None) -> Transport:
    """How a side of a conversation sends a line and receives the next one."""
    if commands is None:
        return _replayed(job["answers"])

    def exchange(line: str) -> str:
        _write(line.encode() + b"\n")
        heard = commands.readline()
        if not heard:
            os._exit(0)
        return heard

    return exchange


def _replayed(answers: list[list[str]]) -> Transport:
    """Answers to the lines of a side that is rerun with all answers so far.

    The first line beyond them is the record that the process ends with. A line that differs from the first run fails.
    """
    left = iter(answers)
    random.seed(0)

    def exchange(line: str) -> str:
        for before, answer in left:
            if before == line:
                return answer
            _reply({"status": "error", "type": UNREPEATABLE, "message": "", "line": "0x0"})
            os._exit(0)
        _write(line.encode() + b"\n")
        os._exit(0)

    return exchange


def _lookup(name: str, namespace: dict[str, Any]) -> Any:
    """`f`, `module.f`, or `Solution().f`: names and dots, and `()` to make an instance."""
    first, *rest = name.split(".")
    found: Any = namespace.get(first.removesuffix("()"), _MISSING)
    for position, part in enumerate([first, *rest]):
        if position:
            found = getattr(found, part.removesuffix("()"), _MISSING)
        if found is _MISSING:
            raise NameError(f"the program defines no {part!r}")
        if part.endswith("()"):
            found = found()
    return found


def _finish(record: dict[str, Any]) -> dict[str, Any]:
    """End like the interpreter does: wait for threads, run exit handlers, flush."""
    try:
        if threading.active_count() > 1 or threading._threading_atexits:  # type: ignore[attr-defined]
            threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        _flush()
    except BaseException as error:  # noqa: BLE001 - a worker's main
        return _failure(error) if record["status"] == "ok" else record
    return record


def _fetched(names: list[str]) -> dict[str, str]:
    """The files of these names, up to a small total size."""
    found: dict[str, str] = {}
    left = _MOST_FETCHED
    for name in names:
        try:
            with open(name, "rb") as file:
                content = file.read(left + 1)
        except OSError:
            continue
        if len(content) <= left:
            found[name] = content.hex()
            left -= len(content)
    return found


def _flush() -> None:
    for stream in {id(s): s for s in (sys.stdout, sys.stderr, sys.__stdout__) if s is not None}.values():
        stream.flush()


def _failure(error: BaseException) -> dict[str, Any]:
    """The record of an exception; the traceback goes to standard error, as it would without us."""
    status = "error"
    if isinstance(error, MemoryError):
        status = "memory"
    elif isinstance(error, OSError) and error.errno in _DISK:
        status = "disk"
    kind, message, line = type(error).__name__, "", 0
    if kind == UNREPEATABLE:
        kind = "Exception"  # only verikit may use this name
    try:
        message = str(error)[:2000]
        frames = [f for f in traceback.walk_tb(error.__traceback__) if f[0].f_code.co_filename == _FILE]
        line = frames[-1][1] if frames else getattr(error, "lineno", None) or 0
        shown = traceback.TracebackException.from_exception(error, limit=-20)
        shown.stack[:] = [frame for frame in shown.stack if frame.filename == _FILE]
        print("".join(shown.format()), end="", file=sys.stderr)
        _flush()
    except BaseException:  # noqa: BLE001 - the program's own `__str__` may run here
        pass
    return {"status": status, "type": kind[:200], "message": message, "line": hex(int(line))}
