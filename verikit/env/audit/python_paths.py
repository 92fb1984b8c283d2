"""Paths that a Python test opens, read from its syntax tree. The file is never imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from verikit.env.audit.task import joined

MAX_DEPTH = 40
"""Of an expression for a path."""
MAX_NODES = 200_000
_PATHS = frozenset(("Path", "PurePath", "PosixPath", "PurePosixPath"))
_KEPT = frozenset(("resolve", "absolute", "expanduser", "as_posix"))
_OPENERS = frozenset(
    """open exists isfile isdir getsize getmtime stat listdir scandir walk glob iglob access read_csv read_json
    read_excel read_parquet read_table read_text read_bytes connect load_workbook Document Presentation PdfReader
    imread load loadtxt genfromtxt ZipFile run call check_call check_output Popen run_path spec_from_file_location
    copy copyfile copytree islink lexists""".split()
)
_READS = frozenset(
    "read_text read_bytes open exists is_file is_dir stat iterdir glob rglob is_symlink lstat samefile".split()
)
_TELLS = frozenset("print fail skip xfail warn info debug error warning exit".split())
_LOOKS_LIKE_A_PATH = re.compile(r"/[\w.@+-][\w./@+ -]*")


@dataclass(slots=True)
class OpenedPaths:
    """The files that Python code opens."""

    reads: dict[str, int] = field(default_factory=dict)
    """Absolute paths, each with the line of its first use."""
    written: set[str] = field(default_factory=set)
    """Paths that it writes itself."""
    mentioned: dict[str, int] = field(default_factory=dict)
    """Absolute paths that it mentions in another way."""
    undecided: list[int] = field(default_factory=list)
    """Lines with a path that comes from the environment or the command line."""
    problem: str = ""
    """Why the text can't be read."""


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    is_path: bool


def opened_paths(
    text: str, workdir: str, file: str, variables: Mapping[str, str] = MappingProxyType({})
) -> OpenedPaths:
    """Read the paths of Python code.

    Args:
        text: The code.
        workdir: Its working directory.
        file: Its own path there.
        variables: Known variables of its environment.
    """
    found = OpenedPaths()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        found.problem = f"{type(error).__name__}"
        return found
    reader = _Reader(found, workdir, file, variables)
    nodes = list(_first(ast.walk(tree)))
    reader.learn(nodes)
    reader.read(tree)
    return found


def _first(nodes: Iterator[ast.AST]) -> Iterator[ast.AST]:
    for number, node in enumerate(nodes):
        if number >= MAX_NODES:
            return
        yield node


class _Reader:
    def __init__(self, found: OpenedPaths, workdir: str, file: str, variables: Mapping[str, str]) -> None:
        self._found, self._workdir, self._file, self._variables = found, workdir, file, variables
        self._names: dict[str, _Value | None] = {"__file__": _Value(file, False)}
        self._own: set[str] = set()

    def learn(self, nodes: list[ast.AST]) -> None:
        """The functions of the file, and names that have one value in all of it."""
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._own.add(node.name)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name, value = node.targets[0].id, self._value(node.value)
                known = self._names.get(name, value)
                self._names[name] = value if known == value else None

    def read(self, tree: ast.AST) -> None:
        """Collect paths by the way they are used."""
        waiting: list[ast.AST] = [tree]
        seen = 0
        while waiting and seen < MAX_NODES:
            node = waiting.pop()
            seen += 1
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            if isinstance(node, ast.Assert):
                waiting.append(node.test)  # and not its message
                continue
            if isinstance(node, ast.Call):
                if _last_name(node.func) in _TELLS:
                    continue
                self._call(node)
            if isinstance(node, ast.Constant | ast.BinOp | ast.JoinedStr):
                value = self._value(node)
                if value is not None:
                    self._mention(value, node)
                    continue
            waiting.extend(ast.iter_child_nodes(node))

    def _call(self, node: ast.Call) -> None:
        name = _last_name(node.func)
        line = node.lineno
        if isinstance(node.func, ast.Attribute) and (name in _READS or name in ("write_text", "write_bytes", "mkdir")):
            held = self._value(node.func.value)
            if held is not None and held.is_path:
                self._use(held, line, writes=name.startswith(("write", "mkdir")) or _opens_to_write(node, 0))
                return
        if name in _OPENERS or name in self._own or name in _PATHS:
            arguments = [*node.args, *(one for arg in node.args if isinstance(arg, ast.List) for one in arg.elts)]
            for number, argument in enumerate(arguments):
                self._argument(node, argument, number)

    def _argument(self, node: ast.Call, argument: ast.expr, number: int) -> None:
        """Use one argument of a function that opens paths."""
        name, value = _last_name(node.func), self._value(argument)
        if value is None:
            if _from_outside(argument):
                self._found.undecided.append(node.lineno)
            return
        relative = number == 0 and (name in ("open", "exists", "isfile") or name.startswith("read_"))
        if name not in _PATHS and (relative or value.is_path or value.text.startswith("/")):
            self._use(value, node.lineno, writes=name == "open" and number == 0 and _opens_to_write(node, 1))

    def _use(self, value: _Value, line: int, *, writes: bool) -> None:
        text = value.text
        if not text or "\n" in text or len(text) > 1000:
            return
        path = joined(self._workdir, text)
        if writes:
            self._found.written.add(path)
        else:
            self._found.reads.setdefault(path, line)

    def _mention(self, value: _Value, node: ast.AST) -> None:
        if len(value.text) < 500 and _LOOKS_LIKE_A_PATH.fullmatch(value.text):
            self._found.mentioned.setdefault(joined("/", value.text), getattr(node, "lineno", 0))

    def _value(self, node: ast.AST, depth: int = 0) -> _Value | None:
        """The string or path that an expression surely evaluates to."""
        if depth > MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return _Value(node.value, False) if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.BinOp):
            return self._sum(node, depth)
        if isinstance(node, ast.JoinedStr):
            pieces = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
            return _concatenated([self._value(one, depth + 1) for one in pieces])
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            held = self._value(node.value, depth + 1)
            return None if held is None else _Value(held.text.rpartition("/")[0] or "/", True)
        name = _variable(node)
        if name in self._variables:
            return _Value(self._variables[name], False)
        if name:
            default = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else None
            return None if default is None else self._value(default, depth + 1)
        return self._built(node, depth) if isinstance(node, ast.Call) else None

    def _sum(self, node: ast.BinOp, depth: int) -> _Value | None:
        left, right = self._value(node.left, depth + 1), self._value(node.right, depth + 1)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Div):
            return _Value(joined(left.text, right.text), True)
        return _concatenated([left, right]) if isinstance(node.op, ast.Add) else None

    def _built(self, node: ast.Call, depth: int) -> _Value | None:
        name = _last_name(node.func)
        if name in _KEPT and isinstance(node.func, ast.Attribute):
            return self._value(node.func.value, depth + 1)
        values = [self._value(argument, depth + 1) for argument in node.args]
        if any(value is None for value in values) or not values or node.keywords:
            return None
        texts = [value.text for value in values if value is not None]
        if name in _PATHS or (name == "join" and "path" in ast.dump(node.func)[:200]):
            at = texts[0]
            for text in texts[1:]:
                at = text if text.startswith("/") else f"{at.rstrip('/')}/{text}"
            return _Value(at, True)
        return _Value(texts[0], False) if name in ("str", "fspath") and len(texts) == 1 else None


def _concatenated(values: list[_Value | None]) -> _Value | None:
    texts = [value.text for value in values if value is not None]
    return _Value("".join(texts), False) if len(texts) == len(values) and sum(map(len, texts)) < 2000 else None


def _last_name(node: ast.AST) -> str:
    """`c` of `c` or `a.b.c`; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _reads_environment(function: ast.AST) -> bool:
    """Whether a function is `os.environ.get` or `os.getenv`."""
    name = _last_name(function)
    of_mapping = isinstance(function, ast.Attribute) and _last_name(function.value) == "environ"
    return name == "getenv" or (name == "get" and of_mapping)


def _variable(node: ast.AST) -> str:
    """The variable that an expression reads from the environment, such as `os.environ["HOME"]`; otherwise empty."""
    named: ast.AST | None = None
    if isinstance(node, ast.Subscript) and _last_name(node.value) == "environ":
        named = node.slice
    elif isinstance(node, ast.Call) and node.args and _reads_environment(node.func):
        named = node.args[0]
    return named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else ""


def _opens_to_write(node: ast.Call, at: int) -> bool:
    modes = [*node.args[at : at + 1], *(one.value for one in node.keywords if one.arg == "mode")]
    texts = [one.value for one in modes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return any(text[:1] in ("w", "a", "x") for text in texts)


def _from_outside(node: ast.AST) -> bool:
    """Whether a value comes from the environment or the command line."""
    names = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return bool(names & {"environ", "getenv", "argv"})
