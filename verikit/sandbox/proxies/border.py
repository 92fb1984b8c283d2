"""Values to JSON and back between two children, with the tables of what each lent and borrowed."""

from __future__ import annotations

import inspect
import sys
import types
import weakref
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from verikit.sandbox import values
from verikit.sandbox.proxies import containers, natives, plain, raised
from verikit.sandbox.proxies.containers import MUTABLE_BASES, ContainerKind, Shared
from verikit.sandbox.proxies.describe import ClassFacts, bases_of, content, facts_of, plain_base, plain_type
from verikit.sandbox.proxies.mirror import FAR, Attributes, Far, Mirror, far_of, instance_of, mirrored, own_methods

if TYPE_CHECKING:
    from verikit.sandbox.proxies.peer import Peer

_MAX_DEPTH = 200
_MOST_CAUSES = 5
_MOST_BORROWED = 100_000


class Border:
    """The tables of one side.

    Args:
        side: `tests` or `program`; the first letter of its keys.
        peer: reaches the other side.
    """

    def __init__(self, side: str, peer: Peer) -> None:
        self.side, self._peer = side, peer
        self._count = 0
        self._copying = False
        self._lent: dict[str, Any] = {}
        self._lent_keys: dict[int, str] = {}
        self._borrowed: dict[str, Any] = {}
        """Proxies by key: weak references if their type allows them, otherwise the proxies."""
        self._coroutines: dict[int, tuple[Any, str]] = {}
        """Coroutines of this side that represent the other's, by identity, each with itself to keep the number."""
        self._shared: dict[str, Shared] = {}
        self._shared_keys: dict[int, str] = {}
        self._freed: list[str] = []

    # ---- out ------------------------------------------------------------------------------------------------------

    def pack(self, value: Any, depth: int = _MAX_DEPTH) -> Any:
        """The JSON form of a value.

        Raises:
            ValueError: It nests too deeply.
        """
        if depth < 0:
            raise ValueError("a value nests too deeply to be carried over")
        if type(value) in (tuple, frozenset):
            return [type(value).__name__, [self.pack(item, depth - 1) for item in value]]
        if type(value) is slice:
            return ["slice", [self.pack(part, depth - 1) for part in (value.start, value.stop, value.step)]]
        if type(value) is types.GenericAlias:
            return ["alias", self.pack(value.__origin__), self.pack(value.__args__, depth - 1)]
        if (node := plain.pack(value)) is not None:
            return node
        if (far := far_of(value)) is not None:
            return ["yours", far.key]
        if id(value) in self._coroutines:
            return ["yours", self._coroutines[id(value)][1]]
        if (kind := containers.kind_of(value)) is not None:
            return self._pack_shared(value, kind, depth)
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__, self._lent_keys.get(id(value)) or self._lend(value)]
        if (name := natives.name_of(value, trusted=self.side == "tests")) is not None:
            return ["native", *name]
        return self._pack_class(value) if isinstance(value, type) else self._pack_object(value, depth)

    def pack_copy(self, value: Any) -> Any:
        """The JSON form of plain data for another child. It lends and shares nothing."""
        self._copying = True
        try:
            return self.pack(value)
        finally:
            self._copying = False

    def _pack_shared(self, value: Any, kind: ContainerKind, depth: int) -> Any:
        if self._copying:
            cells = [self.pack(cell, depth - 1) for cell in kind.cells(value)]
            return ["new", self._new_key(), kind.name, cells, values.encode(kind.shape(value))]
        known = self._shared_keys.get(id(value))
        if known is not None:
            return ["shared", known]
        key = self._share(value, kind, self._new_key())
        return ["new", key, kind.name, *self._pack_cells(self._shared[key], depth)]

    def _pack_cells(self, shared: Shared, depth: int) -> list[Any]:
        cells = [self.pack(cell, depth - 1) for cell in shared.cells]
        return [cells, values.encode(shared.shape)]

    def _share(self, value: Any, kind: ContainerKind, key: str, *, kept: bool = False) -> str:
        self._shared[key] = Shared(value, kind, kept=kept)
        self._shared_keys[id(value)] = key
        return key

    def _pack_class(self, cls: type) -> Any:
        known = self._lent_keys.get(id(cls))
        if known is not None:
            return ["class", known]
        key = self._lend(cls)
        bases = [self._pack_class_or_native(base) for base in bases_of(cls)]
        base = plain_base(cls)
        facts = astuple(facts_of(cls))
        return ["class", key, values.encode(list(facts)), bases, base.__name__ if base else None]

    def _pack_class_or_native(self, cls: type) -> Any:
        name = natives.name_of(cls)
        return ["native", *name] if name is not None else self._pack_class(cls)

    def _pack_object(self, value: Any, depth: int) -> Any:
        known = self._lent_keys.get(id(value))
        if known is not None:
            return ["mine", known]
        if isinstance(value, BaseException):
            return self.pack_exception(value, depth=depth)
        cls = type(value)
        key = self._lend(value)
        node = ["mine", key, self._pack_class_or_native(cls), inspect.iscoroutine(value)]
        base = plain_base(cls)
        if base is None:
            return node
        if base in MUTABLE_BASES:
            self._share(value, MUTABLE_BASES[base], key, kept=True)
            return [*node, *self._pack_cells(self._shared[key], depth)]
        return [*node, self.pack(content(value, base), depth - 1)]

    def pack_exception(self, error: BaseException, causes: int = _MOST_CAUSES, depth: int = _MAX_DEPTH) -> Any:
        """The JSON form of an exception, with its causes. A built-in exception is copied to the other side."""
        known = self._lent_keys.get(id(error))
        if known is not None:
            return ["mine", known]
        cls = self._pack_class_or_native(type(error))
        key = self._lend(error) if cls[0] == "class" else ""
        arguments = ["tuple", [self.pack(argument, depth - 1) for argument in error.args]]
        more: dict[str, Any] = {}
        for name, cause in raised.causes_of(error).items() if causes else ():
            more[name] = self.pack_exception(cause, causes - 1, depth - 1)
        if (notes := raised.notes_of(error)) is not None:
            more["__notes__"] = self.pack(notes)
        state = raised.members_of(error) if key else raised.members_of(error) | raised.attributes_of(error)
        more["state"] = {name: self.pack(value, depth - 1) for name, value in state.items()}
        return ["raised", key, cls, arguments, more]

    def _lend(self, value: Any) -> str:
        if self._copying:
            raise ValueError(f"an object of the type {type(value).__name__} is not copied")
        key = self._new_key()
        self._lent[key] = value
        self._lent_keys[id(value)] = key
        return key

    def _new_key(self) -> str:
        self._count += 1
        return f"{self.side[0]}{self._count}"

    # ---- in -------------------------------------------------------------------------------------------------------

    def unpack(self, node: Any) -> Any:
        """The value of a node.

        Raises:
            ValueError: It is not well-formed.
        """
        if not isinstance(node, list) or not node or not isinstance(node[0], str):
            raise ValueError("not a tagged value")
        tag, *fields = node
        if tag in ("tuple", "frozenset"):
            items = [self.unpack(item) for item in fields[0]]
            return tuple(items) if tag == "tuple" else frozenset(values.hashable(items))
        if tag in plain.TAGS:
            return plain.unpack(tag, fields[0])
        reader = getattr(self, f"_read_{tag}", None)
        if reader is None:
            raise ValueError(f"unknown tag {tag[:20]!r}")
        return reader(*fields)

    def _read_slice(self, parts: list[Any]) -> slice:
        start, stop, step = map(self.unpack, parts)
        return slice(start, stop, step)

    def _read_alias(self, origin: Any, arguments: Any) -> Any:
        return types.GenericAlias(self.unpack(origin), self.unpack(arguments))

    def _read_yours(self, key: str) -> Any:
        return self._lent[key]

    def _read_shared(self, key: str) -> Any:
        return self._shared[key].value

    def _read_new(self, key: str, name: str, cells: list[Any], shape: Any) -> Any:
        kind = containers.named(name)
        found_shape = values.decode(shape)
        value = kind.empty(found_shape)
        self._shared[key] = shared = Shared(value, kind, kept=False)
        self._shared_keys[id(value)] = key
        if cells:
            self._fill(shared, cells, found_shape)
        return value

    def _fill(self, shared: Shared, cells: list[Any], shape: Any) -> None:
        found = [self.unpack(cell) for cell in cells]
        if shared.kind.name in ("dict", "OrderedDict", "Counter"):
            values.hashable(found[::2])
        elif shared.kind.name == "set":
            values.hashable(found)
        shared.kind.fill(shared.value, found, shape)
        shared.look()

    def _read_module(self, name: str, key: str) -> Any:
        if not self._peer.far_modules:
            return self._peer.module(name)
        return self._known(key) or self._borrow(object.__new__(self._module_class()), key)

    def _module_class(self) -> Any:
        key = "native module"
        if key not in self._borrowed:
            attributes = {"__dict__": property(Attributes)}
            self.mirror(key, ClassFacts("module", "types", None, (), (), False), (), None, attributes)
        return self._borrowed[key]

    def _read_native(self, module: str, name: str) -> Any:
        found = natives.find(module, name, trusted=self.side == "program")
        return self._peer.guarded(found)

    def _read_class(self, key: str, facts: Any = None, bases: Any = (), base: str | None = None) -> Any:
        known = self._borrowed.get(key)
        if known is not None:
            return known
        if facts is None:
            raise ValueError("a class that was never described")
        name, module, doc, specials, methods, has_equality = values.decode(facts)
        described = ClassFacts(name, module, doc, tuple(specials), tuple(methods), bool(has_equality))
        local = natives.installed_class(described.module, described.name) if self.side == "tests" else None
        extra = instance_of(local) if local is not None else natives.looks(bases)
        made = self.mirror(key, described, self._mirrored_bases(bases), plain_type(base), extra)
        natives.register(bases, made)
        return made

    def _mirrored_bases(self, nodes: Any) -> tuple[type, ...]:
        found: list[Any] = []
        for node in nodes:
            one = natives.find(*node[1:], trusted=True) if node[0] == "native" else self.unpack(node)
            if type(one) is Mirror:
                found.append(one)
            elif isinstance(one, type) and issubclass(one, BaseException):
                found.append(self._peer.base(one))
        return tuple(found)

    def mirror(
        self, key: str, facts: ClassFacts, bases: tuple[type, ...], base: type | None, extra: dict[str, Any]
    ) -> Any:
        """Mirror a class of the other side."""
        cls = mirrored(facts, bases, base, Far(self._peer, key, self._peer.turns), extra)
        own_methods(cls)
        self._borrowed[key] = cls
        return cls

    def _read_mine(self, key: str, cls: Any = None, awaitable: bool = False, *inside: Any) -> Any:
        known = self._known(key)
        if known is not None:
            return known
        if cls is None:
            return self._lent_anew(key)
        if len(self._borrowed) > _MOST_BORROWED:
            raise ValueError("too many objects")
        mirror = self._class_of(cls)
        if awaitable:
            return self._coroutine(key, mirror)
        base = mirror._verikit_base
        if base is None:
            return self._borrow(object.__new__(mirror), key)
        if base in MUTABLE_BASES:
            value = self._borrow(base.__new__(mirror), key)
            shape = values.decode(inside[1])
            self._share(value, MUTABLE_BASES[base], key, kept=True)
            self._fill(self._shared[key], inside[0], shape)
            return value
        return self._borrow(base.__new__(mirror, self.unpack(inside[0])), key)

    def _lent_anew(self, key: str) -> Any:
        """Lend an object again, under another key, if its proxy was freed before the other side received it."""
        if key not in self._freed:
            raise ValueError("an object that was never described")
        self._freed.remove(key)
        found = self._borrowed[key] = self._peer.ask("again", key)
        return found

    def again(self, key: str) -> Any:
        """The object that was lent under a key, to be lent under another one."""
        value = self._lent.pop(key)
        self._lent_keys.pop(id(value), None)
        self._forget(key)
        return value

    def _class_of(self, node: Any) -> Any:
        """The mirrored class of an object. Python's own types are mirrored, too: their objects stay on their side."""
        if node[0] != "native":
            return self.unpack(node)
        key = f"native {node[1]}.{node[2]}"
        if key not in self._borrowed:
            found = natives.find(node[1], node[2], trusted=True)
            if not isinstance(found, type):
                raise ValueError("an object's class is no class")
            looks = {"__class__": property(lambda self: found)}
            # Its methods are attributes: a call that names their owner would name a class that nobody lent.
            facts = replace(facts_of(found, inherited=True), methods=())
            self.mirror(key, facts, (), plain_base(found), looks)
        return self._borrowed[key]

    def _coroutine(self, key: str, mirror: Any) -> Any:
        far = self._borrow(object.__new__(mirror), key)
        made = self._peer.awaited(far)
        self._coroutines[id(made)] = (made, key)
        self._borrowed[key] = made
        return made

    def _borrow(self, value: Any, key: str) -> Any:
        object.__setattr__(value, FAR, Far(self._peer, key, self._peer.turns))
        try:
            self._borrowed[key] = weakref.ref(value, lambda _: self._returned(key))
        except TypeError:
            self._borrowed[key] = value
        return value

    def _returned(self, key: str) -> None:
        self._borrowed.pop(key, None)
        self._shared.pop(key, None)
        self._freed.append(key)

    def _known(self, key: str) -> Any:
        found = self._borrowed.get(key)
        return found() if isinstance(found, weakref.ref) else found

    def _read_raised(self, key: str, cls: Any, arguments: Any, more: dict[str, Any]) -> BaseException:
        kind: Any = natives.exception(*cls[1:]) if cls[0] == "native" else self.unpack(cls)
        args = self.unpack(arguments)
        error: BaseException
        if type(kind) is Mirror:
            error = self._borrow(raised.fresh(kind, args), key)
        else:
            error = self._peer.native_exception(kind, args)
        for name in ("__cause__", "__context__", "__notes__"):  # in packing order: the first one is described
            if name in more:
                BaseException.__setattr__(error, name, self.unpack(more[name]))
        raised.restore(error, {name: self.unpack(value) for name, value in more.get("state", {}).items()})
        return error

    # ---- changes, and unused objects --------------------------------------------------------------------------------

    def changes(self) -> list[Any]:
        """The containers whose copy on the other side is outdated, packed."""
        changed = [(key, shared) for key, shared in self._shared.items() if shared.has_changed]
        for _, shared in changed:
            shared.look()
        return [[key, *self._pack_cells(shared, _MAX_DEPTH)] for key, shared in changed]

    def change(self, nodes: list[Any]) -> None:
        """Update containers with the other side's changes."""
        for key, cells, shape in nodes:
            shared = self._shared.get(key)
            if shared is not None:
                self._fill(shared, cells, values.decode(shape))

    def to_free(self) -> list[str]:
        """Keys that this side does not need any more."""
        self._forget_unused()  # when it returns, their content is unused, too
        freed, self._freed = self._freed, []
        return freed

    def _forget_unused(self) -> None:
        for key, shared in list(self._shared.items()):
            if not shared.kept and sys.getrefcount(shared.value) <= 2:
                self._forget(key)
                self._freed.append(key)

    def free(self, keys: list[str]) -> None:
        """Drop objects that the other side does not need any more."""
        for key in keys:
            if key in self._lent:
                value = self._lent.pop(key)
                self._lent_keys.pop(id(value), None)
                self._forget(key)
            elif key in self._shared:
                self._forget(key)

    def _forget(self, key: str) -> None:
        shared = self._shared.pop(key, None)
        if shared is not None:
            self._shared_keys.pop(id(shared.value), None)
