"""Proxies: classes and objects of the other side, as real classes and objects of this one.

A class of the other side is mirrored as a class with the same name and bases. So `isinstance`, `except` and
`type(x) is C` work unchanged. An instance's methods run in the process of the object. Instances of subclasses of plain
types also have their content here, and are compared by it. Examples are a named tuple, a string enumeration, and a list
with more methods.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verikit.sandbox.proxies.describe import IMMUTABLE_BASES, SPECIALS, ClassFacts

if TYPE_CHECKING:
    from verikit.sandbox.proxies.peer import Peer

FAR = "_verikit_far"
"""Attribute of a proxy that stores its owner and its key."""
_LENDING = ("__name__", "__doc__", "__module__", "__annotations__", "__defaults__", "__kwdefaults__")
"""Attributes of functions that the other side may read."""
_FUNCTION_TYPES = frozenset({"function", "builtin_function_or_method", "method", "method_descriptor", "method-wrapper"})


class Far:
    """Whose an object is: the peer that reaches it, its key there, and when it came."""

    __slots__ = ("born", "key", "peer")

    def __init__(self, peer: Peer, key: str, born: int) -> None:
        self.peer, self.key, self.born = peer, key, born


def far_of(value: Any) -> Far | None:
    """The owner of a proxy; None if the value is not a proxy."""
    if type(type(value)) is Mirror:
        found: Far = object.__getattribute__(value, FAR)
        return found
    if type(value) is Mirror:
        own: Far | None = type.__getattribute__(value, "__dict__").get(FAR)
        return own
    return None


class Mirror(type):
    """The class of mirrored classes."""

    def __new__(metacls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """Create a subclass of a class of the other side. The class is created there, with its functions here."""
        peer = next(far for base in bases if (far := far_of(base))).peer
        return peer.subclass(name, bases, namespace, options)

    def __init__(cls, *arguments: Any, **options: Any) -> None:
        pass

    def __instancecheck__(cls, value: Any) -> bool:
        """Whether a value is an instance. A protocol of the program has no instances known to this side.

        The program can't declare a value to be an exception, because tests detect failures by `isinstance`.
        """
        if type.__instancecheck__(cls, value):
            return True
        peer = _far(cls).peer
        if peer.border.side != "tests" or isinstance(value, BaseException):
            return False
        return peer.call(isinstance, (value, cls), {}) is True

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance, on the other side."""
        return _far(cls).peer.call(cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        return _far(cls).peer.ask("getattr", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        _far(cls).peer.ask("setattr", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        _far(cls).peer.ask("delattr", cls, name)

    @property
    def __annotations__(cls) -> Any:  # type: ignore[override]
        return _far(cls).peer.ask("getattr", cls, "__annotations__")

    def __bool__(cls) -> bool:
        return True

    def __iter__(cls) -> Iterator[Any]:
        return _far(cls).peer.ask("special", cls, "__iter__")  # type: ignore[no-any-return]

    def __len__(cls) -> int:
        return _far(cls).peer.ask("special", cls, "__len__")  # type: ignore[no-any-return]

    def __contains__(cls, item: Any) -> bool:
        return bool(_far(cls).peer.ask("special", cls, "__contains__", item))

    def __getitem__(cls, key: Any) -> Any:
        return _far(cls).peer.ask("special", cls, "__getitem__", key)


def _far(cls: Any) -> Far:
    found: Far = type.__getattribute__(cls, "__dict__")[FAR]
    return found


class FarObject:
    """What all proxies of objects share."""

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return _of(self).peer.ask("getattr", self, "__dict__")

    def __getattr__(self, name: str) -> Any:
        far = _of(self)
        return far.peer.ask("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") and name.endswith("__"):
            object.__setattr__(self, name, value)  # attributes such as `__traceback__` belong to this side
            return
        _of(self).peer.ask("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        _of(self).peer.ask("delattr", self, name)

    def __eq__(self, other: object) -> Any:
        return _of(self).peer.equal(self, other)

    def __ne__(self, other: object) -> Any:
        return _of(self).peer.unequal(self, other)

    def __bool__(self) -> bool:
        return _of(self).peer.truth(self)

    def __hash__(self) -> int:
        base = type(self)._verikit_base  # type: ignore[attr-defined]
        if base in IMMUTABLE_BASES and not type(self)._verikit_equality:  # type: ignore[attr-defined]
            return base.__hash__(self)  # type: ignore[no-any-return]
        return _of(self).peer.ask("hash", self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return _of(self).peer.ask("text", self, "repr", "")  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return _of(self).peer.ask("text", self, "str", "")  # type: ignore[no-any-return]

    def __format__(self, how: str) -> str:
        return _of(self).peer.ask("text", self, "format", how)  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        return _of(self).peer.ask("dir", self)  # type: ignore[no-any-return]

    def __copy__(self) -> Any:
        return _of(self).peer.ask("copy", self, "copy")

    def __deepcopy__(self, memo: Any) -> Any:
        return _of(self).peer.ask("copy", self, "deepcopy")

    def __reduce_ex__(self, protocol: Any) -> Any:
        far = _of(self)
        return _revive, (far.peer.keep(far.peer.ask("copy", self, "pickle")),)


def _of(value: Any) -> Far:
    found: Far = object.__getattribute__(value, FAR)
    return found


def _revive(kept: str) -> Any:
    from verikit.sandbox.proxies.peer import kept_object

    return kept_object(kept)


class Attributes(Mapping[str, Any]):
    """The names of a module of the other side, as its `__dict__`.

    Args:
        module: whose attributes they are.
    """

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self._module, name)
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(dir(self._module))

    def __len__(self) -> int:
        return len(dir(self._module))


def mirrored(facts: ClassFacts, bases: tuple[type, ...], base: type | None, far: Far, extra: dict[str, Any]) -> Mirror:
    """A class of this side for one of the other side.

    Args:
        facts: the other side's description of it.
        bases: its bases that are mirrored or exceptions.
        base: the plain type whose content its instances have.
        far: its owner.
        extra: additional attributes (`__classcell__`, and definitions of this side).
    """
    namespace: dict[str, Any] = {
        FAR: far, "__module__": facts.module, "__doc__": facts.doc,
        "_verikit_base": base, "_verikit_equality": facts.has_equality,
    }  # fmt: skip
    if facts.name in _FUNCTION_TYPES and facts.module == "builtins":
        namespace |= {name: property(_reader(name)) for name in _LENDING}
    namespace |= {name: _special(name) for name in facts.specials if name in SPECIALS}
    if (facts.module, facts.name) == ("builtins", "generator"):
        namespace |= {name: _method(name) for name in ("send", "throw", "close")}
    if facts.module == "builtins":
        namespace["__class__"] = property(_looks_like(facts.name))
    else:
        namespace |= {name: _method(name) for name in facts.methods if name.isidentifier()}
    namespace |= extra
    roots: tuple[type, ...] = bases
    if base is not None and not any(issubclass(one, base) for one in roots):
        roots = (*roots, base)
    if not any(issubclass(one, FarObject) for one in roots):
        roots = (FarObject, *roots)
    for tried in (roots, (FarObject, *((base,) if base else ()))):
        with contextlib.suppress(TypeError):
            return type.__new__(Mirror, facts.name, tried, namespace)
    raise ValueError(f"the class {facts.name} can't be mirrored")


def _reader(name: str) -> Callable[[Any], Any]:
    return lambda self: _of(self).peer.ask("getattr", self, name)


def _looks_like(name: str) -> Callable[[Any], Any]:
    """The apparent type of objects of Python's own types: iterators, functions, and so on."""
    import types

    known = {"function": types.FunctionType, "method": types.MethodType, "generator": types.GeneratorType}
    import builtins

    found = known.get(name) or getattr(builtins, name, None)
    return lambda self: found if isinstance(found, type) else type(self)


def instance_of(local: type) -> dict[str, Any]:
    """What lets the instances of a mirrored class of an installed package pass `isinstance` with this side's class.

    A subclass that the program makes looks like itself: `x.__class__.__name__` is the name that it has there.
    """

    def looks(self: Any) -> type:
        found: type = type.__getattribute__(type(self), "__dict__").get("_verikit_local", type(self))
        return found

    return {"_verikit_local": local, "__class__": property(looks)}


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        far = far_of(self)
        if far is None:
            raise TypeError(f"{name}() needs an object of the program, got {type(self).__name__}")
        return far.peer.method(_owner[0], self, name, args, kwargs)

    _owner: list[Any] = [None]
    method.__name__ = method.__qualname__ = name
    method.__dict__["owner"] = _owner
    return method


def own_methods(cls: Any) -> None:
    """Set the owner of a mirrored class's methods, for calls through `super()`."""
    for item in type.__getattribute__(cls, "__dict__").values():
        if isinstance(getattr(item, "owner", None), list):
            item.owner[0] = cls


def _special(name: str) -> Callable[..., Any]:
    if name in ("__exit__", "__aexit__"):
        return _leave(name)
    if name == "__await__":
        return _await
    if name == "__call__":
        return _call

    def special(self: Any, *args: Any) -> Any:
        return _of(self).peer.special(self, name, args)

    special.__name__ = special.__qualname__ = name
    return special


def _call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    return _of(self).peer.call(self, args, kwargs)


def _await(self: Any) -> Generator[Any, Any, Any]:
    return _of(self).peer.awaited(self).__await__()


def _leave(name: str) -> Callable[..., Any]:
    def leave(self: Any, kind: Any, error: Any, traceback: Any) -> Any:
        return _of(self).peer.leave(self, name, kind, error)

    return leave
