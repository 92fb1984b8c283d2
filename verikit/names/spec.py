"""Specs: a verifier as a string, for the command line, configs and other stacks.

    answer                                      a registered name
    0.9*answer + 0.1*tags('think', 'answer')    an expression over registered names
    package.module:attr    file.py:attr         an object in Python code: a verifier, its class, a function of a sample,
                                                or a reward function for TRL or verl
    file.toml#name                              a spec in a TOML file's [verifiers] table, which may use the others.
                                                Files that it names are relative to the TOML file
    grader.json                                 one of OpenAI's graders, see `openai_grader`

Names in an expression may also be objects and specs from files: `0.8*answer + 0.2*my.py:brief`. There, a path with a
space is written as in a URL: `my%20rules/my.py:brief`. An expression is parsed with `ast` and walked over a whitelist
(names, calls, literals, `*`, `+`, unary minus). It is never evaluated. `load_selector` reads the same syntax for
selectors.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import threading
import tomllib
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from verikit.base import Verifier
from verikit.errors import SpecError, VerikitError, nearest
from verikit.names.neighbours import with_neighbours
from verikit.names.registry import Kind, check_allowed, find, misfit, numeric_type, registered
from verikit.names.reward_functions import function_verifier
from verikit.platform.folders import check_code
from verikit.platform.raised import describe, raised_at

if TYPE_CHECKING:
    from verikit.select import Selector

_OBJECT = re.compile(r"(?P<module>[^\s()'\"]+|[^()'\"*+,]+\.py):(?P<attr>[A-Za-z_][\w.]*)")
_EXAMPLE = "e.g. 0.9*answer + 0.1*length(max=500)"
_IN_FILE = re.compile(r"(?P<file>[^'\"]+\.toml)#(?P<name>[\w-]+)")
_NAMED = (
    r"(?P<named>[A-Za-z_~./](?:(?:[\w./~-]|%[0-9A-F]{2})*+:[A-Za-z_][\w.]*"
    r"|(?:(?!\.toml\#)(?:[\w./~-]|%[0-9A-F]{2}))*+\.toml\#[\w-]+))"
)
"""An object or a file's spec within an expression."""
_WITHIN = re.compile(
    rf"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|{_NAMED}"""
    r"|[A-Za-z_~./](?:[\w./~-]|%[0-9A-F]{2})*+",
    re.ASCII,
)
"""A quoted string, in which names are ignored, an object or a file's spec, or other characters of names.

Those are matched so that the search, which fails for them, does not start again at each of them.
"""
_OPERAND = re.compile(_NAMED + r"\s*[*+(]", re.ASCII)
"""The characters that may start an expression."""
_GRADER = re.compile(r"[^'\"()*]+\.json")
_FILE = re.compile(r"[^\s()'\"*+#:]+\.(py|toml)(?=[\s#:]|$)")
_PREFIX = "verikit_file_"
"""Prefix of the module names of imported files."""
_MAX_LENGTH = 10_000
_BAD_ARGUMENTS = (TypeError, ValueError, AttributeError, ArithmeticError, LookupError)
_IMPORTING = threading.RLock()
_WARNINGS = threading.Lock()


def load(spec: str | Verifier) -> Verifier:
    """Create the verifier that a spec describes. A verifier is returned unchanged.

    Raises:
        SpecError: The spec can't be parsed, or names something that does not exist or is not a verifier.
    """
    if isinstance(spec, Verifier):
        return spec
    _check(spec)
    loaded = _read(spec, "verifiers", {}, Path())
    if isinstance(loaded, Verifier):
        return loaded
    raise SpecError(f"{spec!r} is a {type(loaded).__name__}, not a verifier")


def _check(spec: str) -> None:
    """Reject a spec that is, or may load, code that only the folder's settings name.

    Raises:
        SpecError: It is such a spec.
    """
    if isinstance(spec, str) and (
        _IN_FILE.fullmatch(spec.strip()) or _OBJECT.fullmatch(spec.strip()) or _named_within(spec.strip())[1]
    ):
        check_code(spec.strip())


def _named_within(text: str) -> tuple[str, dict[str, str]]:
    """An expression with an equally long placeholder for each object or file's spec, and what each one stands for."""
    found: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        if match["named"] is None:
            return match[0]
        name = f"_{len(found)}_".ljust(len(match[0]), "_")
        found[name] = match["named"]
        return name

    return _WITHIN.sub(named, text), found


def move_files(spec: str, move: Callable[[str], str]) -> str:
    """Return an expression with other paths of the Python and TOML files that it names. `move` maps old to new.

    An expression can't contain spaces and other characters of paths, so they become `%20` and so on, as in a URL.
    """

    def moved(match: re.Match[str]) -> str:
        file, mark, name = re.split("([:#])", f"{match['named'] or ''}:", maxsplit=1)
        if not file.endswith((".py", ".toml")):
            return match[0]
        found = quote(move(str(_path(file, Path()))))
        start = "" if re.match(r"[A-Za-z_~./]", found) else "./"  # an expression's name starts with one of these
        return start + found + mark + name.removesuffix(":")

    return _WITHIN.sub(moved, spec)


def _path(name: str, folder: Path) -> Path:
    """Return the path that a spec names: as written if that file exists, otherwise with `%20` and so on decoded."""
    written = folder / os.path.expanduser(name)
    return written if "%" not in name or written.exists() else folder / os.path.expanduser(unquote(name))


def _read(spec: str, kind: Kind, scope: Mapping[str, str], folder: Path) -> Any:
    """Read one spec. `scope` contains the other specs of the same TOML file, which is in `folder`."""
    if not isinstance(spec, str):
        raise SpecError(f"a spec must be a string, got {spec!r}", hint="e.g. '0.9*answer + 0.1*boxed'")
    text = spec.strip()
    if not text or len(text) > _MAX_LENGTH:
        raise SpecError("the spec is empty" if not text else f"a spec has at most {_MAX_LENGTH} characters")
    if match := _IN_FILE.fullmatch(text):
        return _from_toml(_path(match["file"], folder), match["name"], kind)
    if names_object(text):
        return _from_python(text, kind, folder)
    if kind == "verifiers" and _GRADER.fullmatch(text):
        return find(kind, "openai_grader")(str(folder / os.path.expanduser(text)))
    expression, named = _named_within(text)
    if (match := _FILE.match(text)) and not _OPERAND.match(text):
        file, part = match[0], ":NAME" if match[1] == "py" else "#NAME"
        raise SpecError(f"{text!r} does not name an object in {file}", hint=f"{file}{part}")
    try:
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of patterns such as regex('\d+'), which are right here
            tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problem = f"{error.msg} at character {error.offset}" if isinstance(error, SyntaxError) else error
        engine = kind == "verifiers" and text.partition(":")[0] in registered("engines")
        hint = f"an engine is an argument of a judge: pairwise({text!r})" if engine else _EXAMPLE
        raise SpecError(f"can't read the spec {text!r}: {problem}", hint=hint) from None
    try:
        return _Reader(text, kind, scope, folder, named).value(tree.body)
    except RecursionError:
        raise SpecError("the spec is nested too deeply") from None


class _Reader:
    """Walks an expression's tree. Anything not on the whitelist is rejected with its position."""

    def __init__(self, text: str, kind: Kind, scope: Mapping[str, str], folder: Path, named: Mapping[str, str]) -> None:
        self.text, self.scope, self.folder, self.named = text, scope, folder, named
        self.kind: Kind = kind

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=str() | int() | float() | bool() | None as literal):
                return literal
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                make = import_object(self.named[name], self.folder) if name in self.named else find(self.kind, name)
                options = {k.arg: self._option(make, k.arg, k.value) for k in keywords if k.arg is not None}
                if len(options) < len(keywords):
                    raise self._refuse(node, "** is not allowed")
                return self._call(node, make, [self._argument(a) for a in args], options)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._operand(operand) * -1
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._apply(node, lambda: self._operand(left) * self._operand(right))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._apply(node, lambda: self._operand(left) + self._operand(right))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item) for item in items]
            case ast.Dict(keys=keys, values=values) if all(isinstance(k, ast.Constant) for k in keys):
                return {
                    k.value: self.value(v) for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)
                }
        hint = "a - b is written a + -1*b" if isinstance(node, ast.BinOp) else "`verikit list`"
        raise self._refuse(node, "only names, calls, literals, * and + are allowed in a spec", hint)

    def _named(self, node: ast.expr, name: str) -> Any:
        if name in self.named:
            return _read(self.named[name], self.kind, {}, self.folder)
        if name in self.scope:
            others = {k: v for k, v in self.scope.items() if k != name}
            return _read(self.scope[name], self.kind, others, self.folder)
        return self._call(node, find(self.kind, name), [], {})

    def _option(self, make: Any, name: str, node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and (expected := numeric_type(make, name)):
            raise self._refuse(node, f"option {name!r} must be {expected}", "")
        return self._argument(node, f"{name}=")

    def _argument(self, node: ast.expr, option: str = "") -> Any:
        """An argument of a call. A bare word that is not a known name is usually a string without its quotes."""
        try:
            return self.value(node)
        except SpecError as error:
            known = {*self.named, *self.scope, *registered(self.kind)}
            if not isinstance(node, ast.Name) or node.id in known:
                raise
            if (error.hint or "").startswith(f"did you mean {node.id[0]}"):  # a mistyped name keeps its first letter
                raise
            problem = f"{option}{node.id}: {node.id} is not a number, a string or a name"
            raise SpecError(problem, hint=f"write strings in quotes: {option}{node.id!r}") from None

    def _call(self, node: ast.expr, make: Any, args: list[Any], options: dict[str, Any]) -> Any:
        if isinstance(make, Verifier):
            return make
        problem, hint = misfit(make, args, options)
        if problem:
            raise self._refuse(node, problem, hint)
        if self.folder != Path():
            args, options = with_neighbours(make, args, options, self.folder)
        return self._apply(node, lambda: make(*args, **options))

    def _apply(self, node: ast.expr, make: Any) -> Any:
        try:
            return make()
        except _BAD_ARGUMENTS as error:
            raise self._refuse(node, str(error)) from None

    def _operand(self, node: ast.expr) -> Any:
        value = self.value(node)
        if isinstance(value, (Verifier, int, float)):
            return value
        raise self._refuse(node, "only verifiers and numbers can be multiplied or added")

    def _refuse(self, node: ast.expr, problem: str, hint: str = "`verikit list`") -> SpecError:
        return SpecError(f"{ast.get_source_segment(self.text, node) or self.text!r}: {problem}", hint=hint)


def _from_toml(file: Path, name: str, kind: Kind) -> Any:
    check_allowed(str(file))
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get(kind)
    except OSError as error:
        raise SpecError(f"{file} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{file}: {error}") from None
    specs = {key: value for key, value in table.items() if isinstance(value, str)} if isinstance(table, dict) else {}
    if name not in specs:
        hint = nearest(name, specs) or "the table is empty"
        raise SpecError(f"{file} has no {name!r} in its [{kind}] table", hint=hint)
    try:
        return _read(specs.pop(name), kind, specs, file.parent)
    except SpecError as error:
        raise SpecError(f"{file}#{name}: {error}", hint=error.hint) from None


def _from_python(text: str, kind: Kind, folder: Path) -> Any:
    loaded = import_object(text, folder)
    if isinstance(loaded, type) or (kind != "verifiers" and isinstance(loaded, FunctionType)):
        try:
            return loaded()
        except TypeError as error:
            raise SpecError(f"can't make {text} without arguments: {error}") from None
    if isinstance(loaded, FunctionType):
        return function_verifier(loaded)
    return loaded


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except (ImportError, TypeError, ValueError) as error:  # the latter two: not a module name
        raise SpecError(f"can't import {module!r}: {error}", hint="is it installed, or on PYTHONPATH?") from None
    except Exception as error:
        raise _broken(module, error) from error


def _broken(name: str, error: Exception) -> SpecError:
    """The error for code that raises while it is imported."""
    return SpecError(f"{name} can't be imported: {describe(error)}{raised_at(error)}")


def import_file(file: Path) -> Any:
    """Import a file once per process, under a unique name so that it can't shadow an installed module.

    The name is the same in every process.

    Raises:
        SpecError: The file does not exist, or its code raises.
    """
    try:
        file = file.resolve()
        exists = file.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise SpecError(f"{str(file)!r} can't be opened: {error}") from None
    name = f"{_PREFIX}{file.stem}_{hashlib.sha256(os.fsencode(file)).hexdigest()[:8]}"
    with _IMPORTING:  # another thread must not get the module before it is complete
        if name in sys.modules:
            return sys.modules[name]
        found = importlib.util.spec_from_file_location(name, file)
        if found is None or found.loader is None or not exists:
            raise SpecError(f"Python file {file} not found")
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module
        try:
            found.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[name]
            if isinstance(error, Exception) and not isinstance(error, VerikitError):
                raise _broken(str(file), error) from error
            raise
        return module


def imported_files() -> list[str]:
    """The files imported so far. Another process must pass them to `import_file` to unpickle objects from them."""
    return [str(module.__file__) for name, module in list(sys.modules.items()) if name.startswith(_PREFIX)]


def names_code(spec: str) -> bool:
    """Whether a spec is or contains an object in Python code, a spec of a TOML file or a grader's file."""
    text = spec.strip()
    files = (_IN_FILE, _OBJECT, _GRADER)
    return any(pattern.fullmatch(text) for pattern in files) or bool(_named_within(text)[1])


def names_object(text: str) -> bool:
    """Whether a text has the form `package.module:Name` or `file.py:Name`."""
    return _OBJECT.fullmatch(text) is not None


def import_object(text: str, folder: Path = Path()) -> Any:
    """The object that `package.module:Name` or `file.py:Name` refers to. File paths are relative to `folder`.

    Raises:
        SpecError: The text has another format, or the object does not exist.
    """
    check_allowed(text)
    match = _OBJECT.fullmatch(text)
    if match is None:
        raise SpecError(f"{text!r} names no object", hint="package.module:Name or file.py:Name")
    module, name = match["module"], match["attr"]
    loaded: Any = import_file(_path(module, folder)) if module.endswith(".py") else _import(module)
    for part in name.split("."):
        if not hasattr(loaded, part):
            names = (known for known in dir(loaded) if not known.startswith("_"))
            raise SpecError(f"{module} has no {name!r}", hint=nearest(part, names))
        loaded = getattr(loaded, part)
    return loaded


def load_selector(spec: str | Selector, verifier: Verifier | None = None) -> Selector:
    """Create the selector that a spec describes. A selector that compares answers uses the verifier's comparison.

    Raises:
        SpecError: The spec can't be parsed, or names something that does not exist or is not a selector.
    """
    from verikit.select import Selector, comparing

    if not isinstance(spec, Selector):
        _check(spec)
    loaded = spec if isinstance(spec, Selector) else _read(spec, "selectors", {}, Path())
    if not isinstance(loaded, Selector):
        raise SpecError(f"{spec!r} is a {type(loaded).__name__}, not a selector", hint="`verikit list selectors`")
    return loaded if verifier is None else comparing(loaded, verifier.equal, verifier.keys)
