"""Reads the meaning, type and default of each option of a verifier, selector, engine or recipe from its source.

Dataclasses and pydantic models document an option under its field. Functions and `__init__` document it in `Args`.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints


class Option(NamedTuple):
    """One option of a callable."""

    name: str
    type: str
    default: str
    """The default as in the source. Empty if the option is required."""
    meaning: str

    def __str__(self) -> str:
        head = f"{self.name}: {self.type}" if self.type else self.name
        return head + (f" = {self.default}" if self.default else "")


def options(made: Callable[..., Any]) -> list[Option]:
    """The options of a class or function, in the order of its signature.

    A function that only passes options on to its class (`OpenAI.from_spec`) has that class's options.
    """
    meanings = _meanings(made)
    parameters = _parameters(made)
    return [
        Option(
            ("*" if parameter.kind is parameter.VAR_POSITIONAL else "") + parameter.name,
            _type(parameter.annotation),
            _default(parameter),
            meanings.get(parameter.name, ""),
        )
        for parameter in parameters
        if not parameter.name.startswith("_") and parameter.kind is not parameter.VAR_KEYWORD
    ]


@cache
def explain(made: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a verifier or selector to its docstring, for `help()`, and return it."""
    listed = [f"    {option}" + textwrap.indent(f"\n{option.meaning}", " " * 8) for option in options(made)]
    if listed:
        made.__doc__ = "\n".join([inspect.getdoc(made) or "", "", "Options:", *listed])
    return made


def _parameters(made: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        taken = [_resolved(made, parameter) for parameter in inspect.signature(made).parameters.values()]
    except (TypeError, ValueError):
        return []
    owner = getattr(made, "__self__", None)
    own = [parameter for parameter in taken if parameter.kind is not parameter.VAR_KEYWORD]
    if not isinstance(owner, type) or len(own) == len(taken):
        return taken
    # A class method that passes further options on to its class.
    return [*own, *(p for p in _parameters(owner) if p.kind is p.KEYWORD_ONLY or p.default is not p.empty)]


def _hints(made: Callable[..., Any]) -> dict[str, Any]:
    """Types by option. A dataclass's field types are resolved in the module where its class is defined."""
    try:
        return get_type_hints(made if dataclasses.is_dataclass(made) else inspect.unwrap(made), include_extras=True)
    except (NameError, TypeError):  # a type that is imported only for type checkers
        return {}


def _resolved(made: Callable[..., Any], parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter with its type instead of a string, and with the default that a factory makes."""
    fields = {**getattr(made, "__dataclass_fields__", {}), **getattr(made, "model_fields", {})}
    if repr(parameter.default) == "<factory>" and parameter.name in fields:
        parameter = parameter.replace(default=fields[parameter.name].default_factory())
    if not isinstance(parameter.annotation, str):  # pydantic's annotations already contain the limits, which hints omit
        return parameter
    return parameter.replace(annotation=_hints(made).get(parameter.name, parameter.annotation))


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Annotated:
        base, *limits = get_args(annotation)
        return " ".join([_type(base), *(_limit(limit) for limit in limits)]).rstrip()
    if get_origin(annotation) is Literal:
        return " | ".join(map(repr, get_args(annotation)))
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(map(_type, get_args(annotation)))
    if annotation is NoneType:
        return "None"
    if _is_container(annotation):
        return f"{annotation.__origin__.__name__}[{', '.join(map(_type, get_args(annotation)))}]"
    return inspect.formatannotation(annotation).replace("typing.", "").replace("collections.abc.", "")


def _is_container(annotation: Any) -> bool:
    """Whether an annotation is `list[…]`, `dict[…]` or another generic class of types only."""
    origin, inner = get_origin(annotation), get_args(annotation)
    return isinstance(origin, type) and not any(isinstance(kind, list) or kind is ... for kind in inner)


def _limit(limit: Any) -> str:
    """A pydantic bound in mathematical notation."""
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    return " ".join(f"{sign} {getattr(limit, name)}" for name, sign in signs.items() if hasattr(limit, name))


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return ""
    text = repr(parameter.default)
    return getattr(parameter.default, "__name__", "…") if text.startswith("<") else text


def _meanings(made: Callable[..., Any]) -> dict[str, str]:
    """The documentation of each option in the source. A subclass takes precedence over its base classes."""
    found: dict[str, str] = {}
    owner = made if isinstance(made, type) else getattr(made, "__self__", None)
    for base in reversed(owner.__mro__) if isinstance(owner, type) else ():
        if base is not object:
            found |= _under_fields(base) | _of_arguments(base.__dict__.get("__init__"))
    return found if isinstance(made, type) else found | _of_arguments(made)


def _under_fields(owner: type) -> dict[str, str]:
    if not (dataclasses.is_dataclass(owner) or hasattr(owner, "model_fields")):
        return {}
    try:
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(text)
        for field, after in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and (text := _text(after))
    }


def _text(node: ast.stmt) -> str:
    """The string of a statement that is only a string, as docstrings are."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


_ARGUMENT = re.compile(r"^ {4}\*{0,2}(\w+)(?: \([^)]*\))?: (.*(?:\n {6,}\S.*)*)", re.MULTILINE)


def _of_arguments(function: Any) -> dict[str, str]:
    section = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\n")[0]
    return {name: re.sub(r"\n\s+", "\n", meaning) for name, meaning in _ARGUMENT.findall(section)}
