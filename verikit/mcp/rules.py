"""Limits on client input: verifiers that only read the strings they are given, and files in one folder."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from inspect import signature
from pathlib import Path

from verikit.errors import SpecError, UsageError
from verikit.names.registry import find

TEXT_RULES = frozenset(
    "all_of answer bleu boxed cer choice chrf citations clip column cover_em csv echo_guard exact f1 first_of fuzzy "
    "gate instructions json_match json_schema language length length_guard majority math maximum mean minimum numeric "
    "refusal regex repetition rouge search_format searched tags ter toml tool_calls turns wer yaml".split()
)
"""Verifiers that open no file that a spec names, query no server and run no program."""
MAX_SPEC = 2_000
"""Maximum characters of a client's spec."""
_FILES = dict.fromkeys(("csv", "json_schema", "toml", "yaml"), "schema") | {"answer": "aliases", "math": "aliases"}
"""The option of a verifier that is read as a file's path if it is a string."""
_KNOWN = (
    ast.BinOp, ast.Add, ast.Mult, ast.UnaryOp, ast.USub, ast.Call, ast.keyword, ast.Name, ast.Load, ast.Constant,
    ast.List, ast.Tuple, ast.Dict,
)  # fmt: skip
_REFUSED = "clients of this server may only combine rules that read text"


def _check_node(node: ast.AST, text: str, hint: str) -> None:
    """Reject a part of a spec that is not an expression over `TEXT_RULES`."""
    if not isinstance(node, _KNOWN):
        raise SpecError(f"{text[:80]!r}: {_REFUSED}", hint=hint)
    if isinstance(node, ast.Name) and node.id not in TEXT_RULES:
        raise SpecError(f"{node.id!r} is not among them: {_REFUSED}", hint=hint)
    if isinstance(node, ast.Dict) and not all(_is_text(key) for key in node.keys):
        raise SpecError("the keys of a table in a spec must be strings", hint=hint)
    if isinstance(node, ast.Call):
        _check_call(node)


def allowed_spec(spec: str, named: Mapping[str, str], *, anything: bool = False) -> str:
    """Return the spec to load for a client's input.

    Args:
        spec: The client's input: a name of `named`, or an expression over `TEXT_RULES`.
        named: Specs of any kind that the server's operator has named.
        anything: Whether the client may write any spec, including code and models.

    Raises:
        SpecError: The input is too long, can't be parsed, or names something that is not allowed.
    """
    text = spec.strip()
    if text in named:
        return named[text]
    if anything:
        return text
    hint = f"`list_verifiers` shows them{'; or one of ' + ', '.join(named) if named else ''}"
    if len(text) > MAX_SPEC:
        raise SpecError(f"a spec has at most {MAX_SPEC:,} characters here")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise SpecError(f"{text[:80]!r} is not an expression over verifiers: {_REFUSED}", hint=hint) from None
    for node in ast.walk(tree):
        _check_node(node, text, hint)
    try:
        return ast.unparse(tree)  # only the checked expression: a comment may name code to another reader
    except RecursionError:
        raise SpecError("the spec is nested too deeply", hint=hint) from None


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _given(node: ast.Call, name: str) -> dict[str | None, ast.expr]:
    """Return the verifier options that a call sets, by name."""
    taken = list(signature(find("verifiers", name)).parameters)
    given: dict[str | None, ast.expr] = {}
    given.update(zip(taken, node.args, strict=False))
    given.update((word.arg, word.value) for word in node.keywords)
    if None in given:
        raise SpecError(f"the options of {name} are written out here, one by one")
    return given


def _check_call(node: ast.Call) -> None:
    """Reject a call whose argument would be read as a file's path.

    Raises:
        SpecError: There is such an argument.
    """
    if not isinstance(node.func, ast.Name):
        raise SpecError("only verifiers can be called in a spec")
    option = _FILES.get(node.func.id)
    if option is None:
        return
    given = _given(node, node.func.id)
    value = given.get(option, ast.Constant(True))
    if option == "schema" and "schema" in given and not isinstance(value, ast.Dict):
        raise SpecError(f"the schema of {node.func.id} is written out here: {{'type': 'object', …}}")
    if option == "aliases" and not (isinstance(value, ast.Constant) and isinstance(value.value, bool)):
        raise SpecError("this server reads no file of aliases: aliases=True or aliases=False")


def _followed(folder: Path, name: str) -> tuple[Path, int | None]:
    """Resolve a name within a folder, and return the path and the file's size. The size is None if it is not a file."""
    shown = repr(name[:80])
    try:
        path = Path(folder, name).resolve()
        inside = path.is_relative_to(folder)
        size = path.stat().st_size if inside and path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"{shown} can't be followed") from None
    if not inside:
        raise UsageError(f"{shown} is not below the folder that this server reads")
    return path, size


def file_below(root: Path | None, name: str, max_bytes: int) -> Path:
    """Return the file with that name in the folder. Symbolic links are resolved first, so none leads outside.

    Raises:
        UsageError: There is no folder, the name leads outside, or the path is not a file or is too large.
    """
    if root is None:
        raise UsageError("this server reads no files", hint="start it with --root FOLDER")
    if not name or set(name) & set("\0*?[]") or name == "-":
        raise UsageError(f"{name[:80]!r} is not a file name", hint="one file, without wildcards")
    shown = repr(name[:80])
    path, size = _followed(root.resolve(), name)
    if size is None:
        raise UsageError(f"there is no file {shown}")
    if size > max_bytes:
        raise UsageError(f"{shown} has more than {max_bytes:,} bytes", hint="`verikit audit` reads any size")
    return path
