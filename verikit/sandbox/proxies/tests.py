"""The child with the tests: it uses names of the program, handles its output, and reaches verdicts independently of it.

The program may be hostile, so it can't decide these things itself:

- Whether an object is equal to the value that a test expects. A plain value is compared here. If only the program's
  own `__eq__` can decide, it is called in separate processes, with the expected value and with others that it can't
  distinguish from it (`claims`). The same applies to `in` and `<`.
- Whether a test failed. A context manager of the program may not swallow a failed assertion, and assertions raised in
  a callback of the test are never lost (`leave`, `met`).
- How an exception of the program is caught. A name for `Exception` or `AssertionError` catches only exceptions that
  the program raised (`guarded`). An exception that ends or skips tests arrives as RuntimeError.
- The parts of the test's own objects that it sees: no private attribute, frame, code or module (`do_getattr`).
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import importlib
import logging
import os
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from verikit.sandbox import values
from verikit.sandbox.lost import EndedCallError
from verikit.sandbox.proxies.claims import ObjectClaims
from verikit.sandbox.proxies.describe import ClassFacts
from verikit.sandbox.proxies.mirror import far_of
from verikit.sandbox.proxies.peer import Peer, Transport

_ENDS = (StopIteration, StopAsyncIteration)
_HIDDEN = types.FrameType | types.CodeType | types.TracebackType | types.ModuleType
_CATCH_FAILURES = (BaseException, Exception, AssertionError)
_SHOWN = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__annotations__"})
"""Attributes that decorators copy from a function."""
_RECORDS = frozenset(
    """called call_count call_args call_args_list mock_calls method_calls await_count await_args awaited""".split()
)
"""What mocks keep of their calls."""
_SETTING = frozenset("configure_mock mock_add_spec attach_mock".split())
"""Methods of mocks that change what tests judge by."""
_ON_OBJECTS = frozenset("call getattr setattr delattr special method hash text dir copy start".split())
"""Operations on an object."""
_TEST_MODULES = ("__main__", "test_file")
_PRINT = builtins.print


class ProgramExit(SystemExit):
    """The program called `sys.exit`. Tests may expect it, and it ends nothing."""


ProgramExit.__name__ = ProgramExit.__qualname__ = "SystemExit"


class TestsSide(Peer):
    """Uses the program.

    Args:
        transport: sends a line and returns the next one.
        failed: stores exceptions of calls.
    """

    __test__ = False

    def __init__(self, transport: Transport, failed: list[BaseException]) -> None:
        super().__init__("tests", transport)
        self.failed = failed
        self._caught: dict[type, Any] = {}
        self._seeds: list[list[Any]] = []
        """Every seed that the tests set, by the module of its generator."""
        random.seed = partial(self._seed, "random", random.seed)
        if "numpy" in sys.modules:
            numpy_random = importlib.import_module("numpy.random")
            numpy_random.seed = partial(self._seed, "numpy.random", numpy_random.seed)  # type: ignore[attr-defined]
        self._claims = ObjectClaims(self)
        self._streams: list[Any] = []
        """All former values of `sys.stdout` and `sys.stderr`. The program may still use one that tests replaced."""
        self._world = self._seen_world()

    # ---- names ------------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """A name of the program.

        Raises:
            NameError: The program doesn't define it.
        """
        found = self.ask("global", name)
        if not found:
            raise NameError(f"the program defines no {name!r}")
        return found[0]

    @contextlib.contextmanager
    def modules_stay(self) -> Iterator[None]:
        """Have modules of the program as proxies."""
        self.far_modules = True
        try:
            yield
        finally:
            self.far_modules = False

    def module(self, name: str) -> Any:
        """A module that the program has imported: this side's own."""
        if name.partition(".")[0] not in sys.stdlib_module_names | {"numpy", "pandas", "sympy", "scipy"}:
            raise ValueError(f"the module {name} does not travel")
        return importlib.import_module(name)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def ask(self, operation: str, *operands: Any) -> Any:
        """Have the program do an operation. A result that it can't have intended is an `EndedCallError`."""
        stays = operation == "getattr" and type(operands[0]).__name__ == "module"
        try:
            with self.turn, self.modules_stay() if stays else contextlib.nullcontext():
                return super().ask(operation, *operands)
        except EndedCallError as error:
            self.failed.append(error)
            raise

    def _read(self, line: str) -> dict[str, Any]:
        try:
            return super()._read(line)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as problem:
            raise EndedCallError(f"the program sent malformed data: {str(problem)[:200]}") from None

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function or class of the program. Its exceptions are stored."""
        return self._kept("call", function, tuple(args), dict(kwargs))

    def method(self, owner: Any, value: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a method. Its exceptions are stored."""
        return self._kept("method", owner, value, name, tuple(args), dict(kwargs))

    def _kept(self, *asked: Any) -> Any:
        try:
            return self.ask(*asked)
        except Exception as error:
            iterates = asked[0] == "method" and type(asked[2]).__module__ == "builtins"
            if isinstance(error, _ENDS) and not iterates:
                error = RuntimeError(f"{type(error).__name__}: {error}")
            self.failed.append(error)
            raise error from error.__cause__

    # ---- verdicts ---------------------------------------------------------------------------------------------------

    def equal(self, value: Any, other: Any) -> Any:
        """Whether an object of the program is equal to a value."""
        return self._claims.equal(value, other)

    def unequal(self, value: Any, other: Any) -> Any:
        """Whether an object of the program is not equal to a value, or the object that its `!=` returns."""
        return self._claims.unequal(value, other)

    def special(self, value: Any, name: str, args: Sequence[Any]) -> Any:
        """Call a method that Python looks up on the class. It can't claim a thing and its opposite of a plain value."""
        start = self.turns
        return self._claims.weighed(value, name, args, super().special(value, name, args), start)

    def truth(self, value: Any) -> bool:
        """Whether an object of the program is true."""
        return self._claims.truth(value, super().truth(value))

    def leave(self, manager: Any, name: str, kind: Any, error: BaseException | None) -> Any:
        """Leave a context that the program manages. It does not swallow a test's own failure."""
        result = super().leave(manager, name, kind, error)
        if error is None or not _is_verdict(error):
            return result
        return self._never(result) if name == "__aexit__" else False

    async def _never(self, awaitable: Any) -> bool:
        await awaitable
        return False

    def met(self, error: BaseException) -> None:
        """Store a failed assertion of a callback, because the program may swallow it."""
        if _is_verdict(error):
            self.failed.append(EndedCallError(f"a check in a function of the tests failed: {error!s:.200}"))

    def guarded(self, found: Any) -> Any:
        """A Python class that the program names. One that catches failed assertions is replaced by one that doesn't."""
        if found not in _CATCH_FAILURES:
            return found
        if found not in self._caught:
            facts = ClassFacts(found.__name__, "builtins", None, (), (), False)
            key = f"native builtins.{found.__name__}"
            self._caught[found] = self.border.mirror(key, facts, (Exception,), None, {})
        return self._caught[found]

    def native_exception(self, kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
        """A built-in exception that the program raised. One that would end the tests becomes a RuntimeError."""
        if issubclass(kind, SystemExit):
            return ProgramExit(*args)
        if not issubclass(kind, Exception) and kind is not asyncio.CancelledError:
            return RuntimeError(f"{kind.__name__}: {', '.join(map(str, args))}")
        return super().native_exception(kind, args)

    def base(self, found: type) -> type:
        """A base of the program's exceptions. A base that would end the tests is replaced by one that does not."""
        if issubclass(found, SystemExit):
            return ProgramExit
        return BaseException if issubclass(found, KeyboardInterrupt | GeneratorExit) else found

    # ---- permissions of the program ---------------------------------------------------------------------------------

    def permit(self, name: str, operands: Sequence[Any]) -> None:
        """Reject operations on all objects except those that tests passed. The program can't name Python's objects."""
        if name in _ON_OBJECTS and operands[name == "method"][0] != "yours":
            raise ValueError(f"{name} needs an object of the tests")

    def do_method(self, owner: Any, value: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method: a public one, or one of a class that the tests define."""
        public = not name.startswith("_") or name in ("__init__", "__repr__", "__str__")
        own = type(value).__module__ in _TEST_MODULES and not name.startswith("__")
        found = getattr(value, name) if (public or own) and name not in _SETTING else None
        if found is None or isinstance(found, _HIDDEN):
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        return found(*args, **kwargs)

    def do_getattr(self, value: Any, name: str) -> Any:
        """Read a public attribute of an object that the tests passed."""
        if name == "__dict__" and type(value).__module__ in _TEST_MODULES and not hasattr(value, "assertEqual"):
            return value.__dict__
        if (name.startswith("_") and name not in _SHOWN) or name in _SETTING:
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        found = getattr(value, name)
        if isinstance(found, _HIDDEN):
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        return found

    def do_setattr(self, value: Any, name: str, item: Any) -> None:
        """Set a public attribute, except attributes that tests use to judge."""
        judges = name.startswith("assert") or name in _RECORDS
        if judges or name.startswith("_") or isinstance(value, types.FunctionType | types.ModuleType | type):
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        setattr(value, name, item)

    def do_delattr(self, value: Any, name: str) -> None:
        """Delete a public attribute."""
        if name.startswith("_") or isinstance(value, types.FunctionType | types.ModuleType | type):
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        delattr(value, name)

    def do_dir(self, value: Any) -> list[str]:
        """The public attributes."""
        return [name for name in dir(value) if not name.startswith("_")]

    def do_copy(self, value: Any, how: str) -> Any:
        """A copy; not by way of a pickle."""
        return super().do_copy(value, "deepcopy" if how == "pickle" else how)

    def do_input(self, prompt: str) -> str:
        """Answer `input` with the tests' version: patched, or from their standard input."""
        return builtins.input(prompt)

    def do_stdin(self, how: str, size: int) -> str:
        """Read from the tests' standard input."""
        return str(sys.stdin.read(size) if how == "read" else sys.stdin.readline(size))

    def do_print(self, stream: str, text: str) -> None:
        """Nothing: printed text arrived with the line."""

    def do_printed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call the tests' `print`, which may be patched."""
        builtins.print(*args, **kwargs)

    def do_warned(self, message: str, category: Any) -> None:
        """Repeat a warning of the program."""
        warnings.warn(message, category if isinstance(category, type) else UserWarning, stacklevel=1)

    def do_logged(self, name: str, level: int, message: str) -> None:
        """Log a message of the program."""
        logging.getLogger(None if name == "root" else name).log(level, "%s", message)

    def beside(self) -> dict[str, Any]:
        """Changes of the tests' environment since the last line."""
        world = self._seen_world()
        if world == self._world:
            return {}
        self._world = world
        return {"world": world}

    def heard(self, message: Mapping[str, Any]) -> None:
        """Write the program's output to the streams that the tests read."""
        for stream, text in message.get("out", ()):
            self._streams[int(stream)].write(text)

    def _seen_world(self) -> dict[str, Any]:
        """The part of the test process that programs see, and that tests may change."""
        return {
            "argv": [str(argument) for argument in sys.argv], "environ": dict(os.environ),
            "print": builtins.print is not _PRINT,
            "stdout": self._stream(sys.stdout), "stderr": self._stream(sys.stderr),
            "seeds": self._seeds,
        }  # fmt: skip

    def _seed(self, module: str, seed: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        seed(*args, **kwargs)
        value = next(iter([*args, *kwargs.values()]), None)
        if isinstance(value, int | str):
            self._seeds = [*self._seeds, [module, values.encode(value)]]

    def _stream(self, stream: Any) -> str:
        for at, known in enumerate(self._streams):
            if known is stream:
                return str(at)
        self._streams.append(stream)
        return str(len(self._streams) - 1)

    # ---- coroutines of the tests ------------------------------------------------------------------------------------

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the tests run in."""
        return asyncio.get_running_loop()

    def run_for(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Nothing: the tests' own loop continues when the program gives it a turn."""


def _is_verdict(error: BaseException) -> bool:
    """Whether an exception of this side is a test's outcome: a failed assertion, a skip, pytest's own."""
    if far_of(error) is not None:
        return False
    return isinstance(error, AssertionError) or type(error).__module__.startswith(("_pytest", "unittest"))
