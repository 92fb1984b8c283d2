"""The child with the program: it runs the program, then carries out the tests' requests on its objects."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import importlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from verikit.sandbox import values
from verikit.sandbox.proxies.peer import Peer, Transport

_MOST_OUTPUT = 400_000


class ProgramSide(Peer):
    """Serves the tests.

    Args:
        transport: puts a line and returns the next one.
        namespace: the program's names.
    """

    def __init__(self, transport: Transport, namespace: dict[str, Any]) -> None:
        super().__init__("program", transport)
        self._namespace = namespace
        self._out: list[list[str]] = []
        self._size = 0
        self._print = builtins.print
        self._seeded = 0
        self._streams = (Printed("0", self.printed), Printed("1", self.printed))
        self._loop: asyncio.AbstractEventLoop | None = None

    def redirect(self) -> None:
        """Send printed output to the tests, which also answer for standard input."""
        sys.stdout, sys.stderr = self._streams
        sys.stdin = Typed(self)
        builtins.input = self.input
        warnings.showwarning = self._warn
        warnings.simplefilter("always")
        logging.getLogger().addHandler(ToTests(self))
        logging.getLogger().setLevel(logging.NOTSET)

    def serve(self, load: Callable[[], None]) -> NoReturn:
        """Run the program, then the operations of the tests until they are done. The process ends here."""
        message = self.exchange("value", lambda: ["named", "Ellipsis"])  # ready
        load()
        operation = self.taken(message)
        while True:
            outcome = self.done(operation)
            with self.turn:
                answer = self.told(*outcome)
                del operation, outcome  # objects that nothing else holds may be collected in the next operation
                operation = self.taken(self.exchange(*answer))

    # ---- output and input -------------------------------------------------------------------------------------------

    def printed(self, stream: str, text: str) -> None:
        """Keep text for the next line."""
        self._size += len(text)
        if self._size > _MOST_OUTPUT:
            self.ask("print", "", "")
        self._out.append([stream, text])

    def heard(self, message: Mapping[str, Any]) -> None:
        """Apply the tests' environment: arguments, environment variables, a patched `print`."""
        world = message.get("world")
        if not world:
            return
        sys.argv[:] = world["argv"]
        os.environ.clear()
        os.environ.update(world["environ"])
        for module, seed in world["seeds"][self._seeded :]:
            with contextlib.suppress(ImportError):
                importlib.import_module(str(module)).seed(values.decode(seed))
        self._seeded = len(world["seeds"])
        builtins.print = self._patched_print if world["print"] else self._print
        new = (Printed(world["stdout"], self.printed), Printed(world["stderr"], self.printed))
        if sys.stdout is self._streams[0]:
            sys.stdout = new[0]
        if sys.stderr is self._streams[1]:
            sys.stderr = new[1]
        self._streams = new

    def _patched_print(self, *args: Any, **kwargs: Any) -> None:
        self.ask("printed", args, kwargs)

    def _warn(self, message: Any, category: Any, *place: Any, **more: Any) -> None:
        self.ask("warned", str(message), category)

    def beside(self) -> dict[str, Any]:
        """Output since the last line."""
        printed, self._out, self._size = self._out, [], 0
        return {"out": printed} if printed else {}

    def input(self, prompt: object = "", /) -> str:
        """Have the tests answer `input`."""
        return str(self.ask("input", str(prompt)))

    # ---- names ------------------------------------------------------------------------------------------------------

    def do_global(self, name: str) -> Any:
        """A name of the program in a tuple, or an empty tuple. In LeetCode's format, functions are in a class."""
        if name in self._namespace:
            return (self._namespace[name],)
        holder = self._namespace.get("Solution")
        if isinstance(holder, type) and hasattr(holder, name):
            return (getattr(holder(), name),)
        hook = self._namespace.get("__getattr__")
        try:
            return (hook(name),) if callable(hook) else ()
        except AttributeError:
            return ()

    def do_names(self, names: list[str]) -> dict[str, Any]:
        """The names that the program defines, with their values."""
        return {name: found[0] for name in names if (found := self.do_global(name))}

    def do_setglobal(self, name: str, value: Any) -> None:
        """Set a name of the program."""
        self._namespace[name] = value

    def do_delglobal(self, name: str) -> None:
        """Delete a name of the program."""
        del self._namespace[name]

    def do_subclass(self, name: str, bases: tuple[type, ...], body: dict[str, Any], options: dict[str, Any]) -> Any:
        """Create a class whose functions are the tests'."""
        namespace = {key: as_method(item) if callable(item) and not isinstance(item, type) else item
                     for key, item in body.items()}  # fmt: skip
        kind = type(bases[0])
        return kind(name, bases, namespace | {"_verikit_made": True}, **options)

    # ---- coroutines -------------------------------------------------------------------------------------------------

    def loop(self) -> asyncio.AbstractEventLoop:
        """A separate loop, which runs while the tests wait."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop

    def run_for(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Run the loop until the task is done, or for `seconds`."""
        loop = self.loop()
        timer = loop.call_later(seconds, loop.stop)
        task.add_done_callback(_stop)
        try:
            loop.run_forever()
        finally:
            timer.cancel()
            task.remove_done_callback(_stop)

    def end(self) -> NoReturn:
        """The tests are done."""
        os._exit(0)


def _stop(task: asyncio.Task[Any]) -> None:
    task.get_loop().stop()


def as_method(function: Any) -> Callable[..., Any]:
    """A function of the tests as a method of a class of the program."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return method


class Printed(io.TextIOBase):
    """Standard output or error of the program. Written text goes to the tests.

    Args:
        name: of the stream, as numbered by the tests.
        write: takes the name and a string.
    """

    encoding = "utf-8"

    def __init__(self, name: str, write: Callable[[str, str], None]) -> None:
        self._name, self._put = name, write

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str) -> int:
        """Write text."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._put(self._name, text)
        return len(text)

    def flush(self) -> None:
        """Nothing: there is no buffer."""


class ToTests(logging.Handler):
    """Log records of the program, for the loggers of the tests.

    Args:
        peer: reaches the tests.
    """

    def __init__(self, peer: ProgramSide) -> None:
        super().__init__()
        self._peer = peer

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a record over."""
        self._peer.ask("logged", record.name, record.levelno, record.getMessage())


class Typed(io.TextIOBase):
    """Standard input of the program, which the tests answer for.

    Args:
        peer: sends the requests.
    """

    encoding = "utf-8"

    def __init__(self, peer: ProgramSide) -> None:
        self._peer = peer

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int | None = -1, /) -> str:
        """Read `size` characters, or all that is left."""
        return str(self._peer.ask("stdin", "read", -1 if size is None else size))

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        """Read a line."""
        return str(self._peer.ask("stdin", "readline", -1 if size is None else size))
