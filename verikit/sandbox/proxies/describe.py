"""Descriptions of classes for the other side: names, bases, operators, and how instances compare.

Everything is read without calling the class: a metaclass or `__class__` with false answers changes nothing here.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

from verikit.sandbox.proxies import natives
from verikit.sandbox.proxies.containers import MUTABLE_BASES

IMMUTABLE_BASES: dict[type, Any] = {
    int: lambda v: int.__add__(v, 0),
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda v: bytes.__getitem__(v, slice(None)),
    tuple: lambda v: tuple.__getitem__(v, slice(None)),
    frozenset: lambda v: frozenset(frozenset.__iter__(v)),
}
"""Types whose subclasses carry their content across, each with its reader."""
BASES = (*IMMUTABLE_BASES, *MUTABLE_BASES)
SPECIALS = frozenset(
    f"__{name}__"
    for name in """get set delete set_name abs add aenter aexit aiter and anext await bool bytes call ceil complex
    contains delitem divmod enter exit float floor floordiv ge getitem gt iadd iand ifloordiv
    ilshift imatmul imod imul index int invert ior ipow irshift isub iter itruediv ixor le len
    length_hint lshift lt matmul missing mod mul neg next or pos pow radd rand rdivmod reversed
    rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem sub
    truediv trunc xor fspath""".split()
)
"""Methods that Python looks up on the class: operators, and what built-in functions and statements call."""


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """The description of a class that stays on the other side."""

    name: str
    module: str
    doc: str | None
    specials: tuple[str, ...]
    """Of `SPECIALS`, those that the class itself defines."""
    methods: tuple[str, ...]
    """Its own plain functions."""
    has_equality: bool
    """Whether `==` of instances is defined by the class or a base, and is not Python's identity or a plain base's."""


def facts_of(cls: type, *, inherited: bool = False) -> ClassFacts:
    """The description of a class.

    Args:
        cls: the class.
        inherited: whether operators of its bases are its own.
    """
    own = _dictionary(cls)
    doc = own.get("__doc__")
    methods = (name for name, item in own.items() if isinstance(item, types.FunctionType) and _is_method(name))
    bases = [base for base in _slot("__mro__", cls)[:-1] if inherited or base is cls or _is_mixin(base)]
    specials = SPECIALS & {name for base in bases for name in _dictionary(base)}
    return ClassFacts(
        str(_slot("__name__", cls))[:200],
        str(_slot("__module__", cls))[:200],
        doc[:2000] if isinstance(doc, str) else None,
        tuple(sorted(specials)),
        tuple(methods),
        _has_equality(cls),
    )


def _is_mixin(base: type) -> bool:
    """Whether a Python class provides operators to its subclasses, because it is not mirrored (`UserDict`)."""
    is_content = base in BASES or issubclass(base, BaseException)
    return not is_content and natives.name_of(base) is not None


def bases_of(cls: type) -> tuple[type, ...]:
    """The direct bases."""
    found: tuple[type, ...] = _slot("__bases__", cls)
    return found


def plain_base(cls: type) -> type | None:
    """The type whose content instances have: a number, text or container; None if there isn't one."""
    for base in _slot("__mro__", cls):
        if base in BASES:
            return base  # type: ignore[no-any-return]
    return None


def plain_type(name: str | None) -> type | None:
    """The plain type of that name, or None."""
    return next((base for base in BASES if base.__name__ == name), None)


def content(value: Any, base: type) -> Any:
    """The content of an instance of a subclass of an immutable plain type, as that type has it."""
    return IMMUTABLE_BASES[base](value)


def _is_method(name: str) -> bool:
    return name in ("__init__", "__repr__", "__str__") or not (name.startswith("__") and name.endswith("__"))


def _slot(name: str, cls: type) -> Any:
    return type.__dict__[name].__get__(cls)


def _dictionary(cls: type) -> dict[str, Any]:
    return dict(type.__dict__["__dict__"].__get__(cls))


_PLAIN_EQUALITY = frozenset({object, BaseException, *BASES})


def _has_equality(cls: type) -> bool:
    owner = next(base for base in _slot("__mro__", cls) if "__eq__" in _dictionary(base))
    return owner not in _PLAIN_EQUALITY
