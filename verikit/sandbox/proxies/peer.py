"""Operations on objects of the other side: requesting them, and carrying them out for the other side.

The two sides take turns: a line goes out, a line comes back. A line is a JSON object with an operation (`op`), or the
answer to one (`value` or `error`). It also carries containers that changed (`sync`), keys that are no longer needed
(`free`), and the program's output (`out`). While one side waits for an answer, it serves the other side's requests.
"""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from verikit.sandbox import values
from verikit.sandbox.lost import EndedCallError
from verikit.sandbox.proxies.border import Border
from verikit.sandbox.proxies.describe import SPECIALS, ClassFacts
from verikit.sandbox.proxies.mirror import far_of

Transport = Callable[[str], str]
"""Sends a line and returns the reply, which is empty if the other side has ended."""
_SLICE_S = 0.005
"""Seconds per turn for coroutines of the other side."""
_OPERATIONS = frozenset(
    """call getattr setattr delattr special method hash text dir copy subclass start step cancel global names setglobal
    delglobal printed warned logged nothing print input stdin again""".split()
)


class Peer:
    """One side of the conversation.

    Args:
        side: `tests` or `program`.
        transport: puts a line and returns the next one.
    """

    def __init__(self, side: str, transport: Transport) -> None:
        self.border = Border(side, self)
        self.far_modules = False
        """Whether modules of the other side are proxies. Otherwise they are this side's modules of the same name."""
        self.turns = 0
        """Lines sent so far."""
        self.turn = threading.RLock()
        """Belongs to the thread that waits for a line. Other threads of this side send theirs after it."""
        self._transport = transport
        self._changed: list[Any] = []
        """Containers that changed, packed for the next line."""
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    # ---- lines ----------------------------------------------------------------------------------------------------

    def exchange(self, kind: str, pack: Callable[[], Any]) -> dict[str, Any]:
        """Send a line and return the next one, after its changes are applied."""
        with self.turn:
            changed, self._changed = [*self._changed, *self.border.changes()], []
            message: dict[str, Any] = {"status": "turn", "sync": changed}
            message[kind] = pack()
            message["free"] = self.border.to_free()
            message |= self.beside()
            self.turns += 1
            line = self._transport(json.dumps(message, ensure_ascii=True))
            return self._read(line)

    def _read(self, line: str) -> dict[str, Any]:
        message = values.parse(line, values.MAX_LINE + (1 << 16))
        if not isinstance(message, dict):
            raise ValueError("not a line of a conversation")
        if "ended" in message:
            raise EndedCallError(str(message["ended"]))
        self.border.change(message.get("sync", []))
        self.heard(message)
        return message

    def beside(self) -> dict[str, Any]:
        """Additional content for a line."""
        return {}

    def heard(self, message: Mapping[str, Any]) -> None:
        """Process the other content of a line."""

    # ---- requests -------------------------------------------------------------------------------------------------

    def ask(self, operation: str, *operands: Any) -> Any:
        """Have the other side do an operation.

        Raises:
            Exception: Raised by the operation.
        """
        with self.turn:
            message = self.exchange("op", lambda: [operation, *map(self.border.pack, operands)])
            while "op" in message:
                message = self.exchange(*self.served(message))
            return self.outcome(message)

    def outcome(self, message: Mapping[str, Any]) -> Any:
        """The result of an operation.

        Raises:
            Exception: Raised by the operation.
        """
        failed = "error" in message
        found = self.border.unpack(message["error" if failed else "value"])
        self.border.free(message.get("free", []))
        if failed:
            raise found
        return found

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function or class of the other side."""
        return self.ask("call", function, tuple(args), dict(kwargs))

    def method(self, owner: Any, value: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a method that a class of the other side defines."""
        return self.ask("method", owner, value, name, tuple(args), dict(kwargs))

    def special(self, value: Any, name: str, args: Sequence[Any]) -> Any:
        """Call a method that Python looks up on the class."""
        return self.ask("special", value, name, *args)

    def equal(self, value: Any, other: Any) -> Any:
        """Whether an object of the other side is equal to a value."""
        return self.ask("special", value, "__eq__", other)

    def unequal(self, value: Any, other: Any) -> Any:
        """Whether an object of the other side is not equal to a value."""
        found = self.equal(value, other)
        return found if found is NotImplemented else not found

    def truth(self, value: Any) -> bool:
        """Whether an object of the other side without `__bool__` is true."""
        base = type(value)._verikit_base
        for name in ("__bool__", "__len__"):
            if base is not None and hasattr(base, name):
                return bool(getattr(base, name)(value))
        sized = any("__len__" in kind.__dict__ for kind in type(value).__mro__)
        return bool(len(value)) if sized else True

    def leave(self, manager: Any, name: str, kind: Any, error: BaseException | None) -> Any:
        """Leave a context that an object of the other side manages."""
        return self.ask("special", manager, name, error and type(error), error, None)

    async def awaited(self, value: Any) -> Any:
        """Run an awaitable of the other side, while this side's other tasks continue."""
        task = self.ask("start", value)
        try:
            while not self.ask("step", task):
                await asyncio.sleep(0)
        except BaseException:
            self.ask("cancel", task)
            raise
        return self.ask("step", task)[0]

    def subclass(self, name: str, bases: tuple[Any, ...], namespace: dict[str, Any], options: dict[str, Any]) -> Any:
        """Create a subclass of a class of the other side, with functions of this side."""
        cell = {"__classcell__": namespace.pop("__classcell__")} if "__classcell__" in namespace else {}
        body = {key: item for key, item in namespace.items() if key not in ("__qualname__", "__module__")}
        made = self.ask("subclass", name, bases, body, options)
        far = far_of(made)
        assert far is not None
        facts = ClassFacts(name, str(namespace.get("__module__")), None, (), (), made._verikit_equality)
        own = {key: item for key, item in body.items() if isinstance(item, types.FunctionType)}
        base = made._verikit_base
        return self.border.mirror(far.key, facts, bases, base, own | cell)

    def permit(self, name: str, operands: Sequence[Any]) -> None:
        """Reject operations that the other side may not request."""

    def base(self, found: type) -> type:
        """The base of a class of the other side that derives from a built-in exception."""
        return found

    def guarded(self, found: Any) -> Any:
        """A class or function of Python that the other side named."""
        return found

    def native_exception(self, kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
        """An exception of Python's own that the other side raised."""
        try:
            return kind(*args)
        except TypeError:  # some take other arguments than they keep
            error = kind.__new__(kind)
            error.args = args
            return error

    def module(self, name: str) -> Any:
        """A module of that name, which the other side has imported."""
        raise ValueError("a module does not travel")

    # ---- doing ----------------------------------------------------------------------------------------------------

    def served(self, message: Mapping[str, Any]) -> tuple[str, Callable[[], Any]]:
        """Carry out an operation for the other side. Returns the arguments of `exchange` for the answer."""
        return self.told(*self.done(self.taken(message)))

    def taken(self, message: Mapping[str, Any]) -> Callable[[], Any]:
        """The operation that a line asks for. The line is read before another thread's line can refer to it."""
        try:
            name, *operands = message["op"]
            if name not in _OPERATIONS:
                raise ValueError(f"unknown operation {name!r}")
            self.permit(name, operands)
            given = [self.border.unpack(operand) for operand in operands]
            self.border.free(message.get("free", []))
            return partial(getattr(self, f"do_{name}"), *given)
        except BaseException as error:  # noqa: BLE001 - any exception is the answer
            return partial(_fail, error)

    def done(self, operation: Callable[[], Any]) -> tuple[str, Any]:
        """Carry out an operation: `value` or `error`, and the result."""
        try:
            return "value", operation()
        except BaseException as error:  # noqa: BLE001 - any exception is the answer
            self.met(error)
            return "error", error

    def told(self, kind: str, result: Any) -> tuple[str, Callable[[], Any]]:
        """The arguments of `exchange` for a result.

        No line of another thread may come before it: new objects are described only once.
        """
        if kind == "value":
            try:
                self._changed = self.border.changes()  # read first: new objects in them are described there
                packed = self.border.pack(result)
            except BaseException as error:  # noqa: BLE001 - any exception is the answer
                self.met(error)
                result = error
            else:
                return "value", lambda: packed
        return "error", partial(self.border.pack_exception, result)

    def met(self, error: BaseException) -> None:
        """Handle an exception from an operation of the other side."""

    def do_nothing(self) -> None:
        """Nothing; the line brought something else."""

    def do_again(self, key: str) -> Any:
        """Lend an object again."""
        return self.border.again(key)

    def do_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call."""
        return function(*args, **kwargs)

    def do_getattr(self, value: Any, name: str) -> Any:
        """Read an attribute."""
        return getattr(value, name)

    def do_setattr(self, value: Any, name: str, item: Any) -> None:
        """Set an attribute."""
        setattr(value, name, item)

    def do_delattr(self, value: Any, name: str) -> None:
        """Delete an attribute."""
        delattr(value, name)

    def do_special(self, value: Any, name: str, *args: Any) -> Any:
        """Call a method that Python looks up on the class."""
        if name not in SPECIALS and name not in ("__eq__", "__ne__"):
            raise ValueError(f"{name} is no operator")
        if name == "__getitem__" and isinstance(value, type):
            return value[args[0]]  # type: ignore[index]
        return _bound(value, name)(*args)

    def do_method(self, owner: Any, value: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method. Through `super()`, call the named class's method."""
        if getattr(type(value), "_verikit_made", False):
            return getattr(owner, name)(value, *args, **kwargs)
        return getattr(value, name)(*args, **kwargs)

    def do_hash(self, value: Any) -> int:
        """The hash."""
        return hash(value)

    def do_text(self, value: Any, how: str, argument: str) -> str:
        """`repr`, `str` or `format`."""
        if how == "format":
            return str.__str__(format(value, argument))
        return str.__str__(repr(value) if how == "repr" else str(value))

    def do_dir(self, value: Any) -> list[str]:
        """The names of the attributes."""
        return dir(value)

    def do_copy(self, value: Any, how: str) -> Any:
        """A copy, by `copy` or by way of a pickle."""
        if how == "pickle":
            return pickle.loads(pickle.dumps(value))  # noqa: S301 - its own object, on its own side
        return copy.copy(value) if how == "copy" else copy.deepcopy(value)

    # ---- coroutines -----------------------------------------------------------------------------------------------

    def do_start(self, value: Any) -> str:
        """Begin to run an awaitable; the name of its task."""
        name = f"task{self.turns}.{len(self._tasks)}"
        self._tasks[name] = self.loop().create_task(_whole(value))
        return name

    def do_step(self, name: str) -> Any:
        """Let tasks run for a moment. Returns the task's result in a tuple when it is done, even on repeated calls."""
        task = self._tasks[name]
        if not task.done():
            self.run_for(task, _SLICE_S)
        return (task.result(),) if task.done() else ()

    def do_cancel(self, name: str) -> None:
        """Cancel a task that is no longer awaited."""
        task = self._tasks.pop(name, None)
        if task is not None and not task.done():
            task.cancel()

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop for this side's awaitables."""
        raise NotImplementedError

    def run_for(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Run the loop until the task is done, or for `seconds`."""
        raise NotImplementedError

    # ---- pickles --------------------------------------------------------------------------------------------------

    def keep(self, value: Any) -> str:
        """Store an object for a pickle that refers to it."""
        name = f"kept{len(_kept)}"
        _kept[name] = value
        return name


def _bound(value: Any, name: str) -> Any:
    """A method as operators find it: on the class, bound to the object."""
    for base in type.__dict__["__mro__"].__get__(type(value)):
        if name in base.__dict__:
            found = base.__dict__[name]
            bind = getattr(type(found), "__get__", None)
            return found if bind is None else bind(found, value, type(value))
    raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")


def _fail(error: BaseException) -> NoReturn:
    raise error


async def _whole(value: Any) -> Any:
    return await value


_kept: dict[str, Any] = {}


def kept_object(name: str) -> Any:
    """The object that a pickle of a proxy speaks of: another copy each time."""
    return copy.deepcopy(_kept[name])
