"""Tests of a programming problem, read from a row into cases whose verdict is computed outside the sandbox.

A literal assert (`assert f(2) == 4`) is lifted to a call and an expected value that never meets the program. Tests that
do more (loops, helpers, exceptions) become a `Driven` case. They run in their own sandbox and reach the program only
through calls that carry plain data. Rows of HumanEval, MBPP and LiveCodeBench are recognised by their keys. A row that
can't be read raises ValueError: a data error, never the candidate's.
"""

from __future__ import annotations

import ast
import builtins
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from verikit.sandbox import FunctionCall
from verikit.types import Gold
from verikit.verifiers.code.cases import Called, Case, Driven, Equality, Piped
from verikit.verifiers.code.literals import literal
from verikit.verifiers.code.packed import unpacked


def read(meta: Mapping[str, Any], answer: Gold = None, *, lift: bool = True) -> list[Case]:
    """The cases of a row; without `lift`, asserts stay test programs.

    verl's datasets store the tests as JSON in the gold answer.

    Raises:
        ValueError: The row doesn't have any, or they can't be read; the message lists the keys that were found.
    """
    checker = meta.get("checker")
    cases = _read(meta, answer, lift)
    if not isinstance(checker, str) or not checker.strip():
        return cases
    files = meta.get("checker_files") or {}
    if not isinstance(files, Mapping) or not all(isinstance(text, str) for text in files.values()):
        raise ValueError("checker_files must map file names to strings")
    held = tuple(sorted((str(name), text) for name, text in files.items()))
    return [replace(c, checker=checker, checker_files=held) if isinstance(c, Piped) else c for c in cases]


def _read(meta: Mapping[str, Any], answer: Gold, lift: bool) -> list[Case]:
    """The cases in the first of these formats that the row's keys show."""
    if "tests" in meta:
        return _any_form(meta["tests"], meta, lift)
    if contests := [meta[key] for key in _CONTESTS if isinstance(meta.get(key), Mapping)]:
        return [case for form in contests for case in _contest(form)]
    if "test" in meta and "entry_point" in meta:
        return _human_eval(str(meta["test"]), str(meta["entry_point"]), lift)
    if "test_list" in meta:
        return _mbpp(meta, lift)
    if lists := [key for key in _LISTS if meta.get(key)]:
        return _lists(lists, meta, lift)
    if isinstance(answer, str) and answer.lstrip().startswith(("{", "[")):
        return _any_form(_json(answer, "the gold answer"), meta, lift)
    raise ValueError(f"tests not found (meta has {', '.join(sorted(meta)) or 'nothing'}). Put them into meta.tests")


def _lists(keys: Sequence[str], meta: Mapping[str, Any], lift: bool) -> list[Case]:
    """The cases of all lists under these keys that are not empty."""
    forms = [_json(meta[key], key) for key in keys]
    filled = [form for form in forms if form] or forms
    return [case for form in filled for case in _any_form(form, meta, lift)]


def _mbpp(meta: Mapping[str, Any], lift: bool) -> list[Case]:
    """MBPP's asserts, and MBPP+'s program with the original tests' inputs and more."""
    setup = "\n".join([*map(str, meta.get("test_imports") or []), str(meta.get("test_setup_code") or "")])
    cases = _asserts([*meta["test_list"], *(meta.get("challenge_test_list") or [])], setup, lift)
    more = meta.get("test")
    return cases + (_asserts([more], "", lift) if isinstance(more, str) and more.strip() else [])


_LISTS = ("public_test_cases", "private_test_cases", "input_output")
"""Where LiveCodeBench and APPS keep their tests."""
_CONTESTS = ("public_tests", "private_tests", "generated_tests")
"""Where CodeContests keeps parallel lists `input` and `output`."""


def _contest(form: Mapping[str, Any]) -> list[Case]:
    inputs, outputs = form.get("input"), form.get("output")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise ValueError("tests of CodeContests are lists `input` and `output` of one length")
    return [Piped(_text(given), _text(expected)) for given, expected in zip(inputs, outputs, strict=True)]


def _json(value: Any, key: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except RecursionError:
        raise ValueError(f"{key} is nested too deeply") from None
    except ValueError:
        if key != "private_test_cases":
            raise ValueError(f"{key} is not JSON") from None
    try:
        return json.loads(unpacked(value))
    except ValueError as error:
        raise ValueError(f"{key} is neither JSON nor packed as LiveCodeBench packs it ({error})") from None


def _any_form(tests: Any, meta: Mapping[str, Any], lift: bool) -> list[Case]:
    if isinstance(tests, str):
        if "def check" in tests:
            return _human_eval(tests, str(meta.get("entry_point") or ""), lift)
        return _asserts([tests], "", lift)
    if isinstance(tests, Mapping):
        return _parallel(tests, meta, lift)
    if not isinstance(tests, Sequence) or not tests:
        raise ValueError("tests are a list of asserts or of objects, and not empty")
    if all(isinstance(test, str) for test in tests):
        return _asserts(tests, "", lift)
    return [_object(test, meta) for test in tests]


def _parallel(tests: Mapping[str, Any], meta: Mapping[str, Any], lift: bool) -> list[Case]:
    """Inputs and outputs in two parallel lists, as in APPS and TACO."""
    inputs, outputs = tests.get("inputs"), tests.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise ValueError("tests as an object need lists `inputs` and `outputs` of one length")
    function = tests.get("fn_name")
    pairs = list(zip(inputs, outputs, strict=True))
    if function and pairs:
        return [_functional(str(function), given, expected, wrapped=True) for given, expected in pairs]
    return _any_form([{"input": given, "output": expected} for given, expected in pairs], meta, lift)


def _object(test: Any, meta: Mapping[str, Any]) -> Case:
    """One test given as an object."""
    if not isinstance(test, Mapping):
        raise ValueError(f"a test must be an assert or an object, got {type(test).__name__}")
    if "fn" in test and "expected" in test:
        call = (str(test["fn"]), list(test.get("args") or []), dict(test.get("kwargs") or {}))
        return Called(call, test["expected"], "json", text=str(test["fn"]))
    if "call" in test and "expected" in test:
        read_call = _call(_expression(str(test["call"])))
        if read_call is None:
            raise ValueError(f"test call {test['call']!r} must be a call with literal arguments")
        return Called(read_call, literal(_expression(str(test["expected"]))), "exact", text=str(test["call"]))
    if "input" in test and isinstance(test.get("any_of"), list) and test["any_of"]:
        first, *others = map(_text, test["any_of"])
        return Piped(_text(test["input"]), first, others=tuple(others))
    if "input" in test and "output" in test:
        function = _function_name(meta)
        if function and test.get("testtype", "functional") == "functional":
            return _functional(function, str(test["input"]), str(test["output"]))
        return Piped(_text(test["input"]), _text(test["output"]))
    raise ValueError(
        "a test must have `fn` and `expected`, `call` and `expected`, `input` and `output`, or `input` and `any_of`, "
        f"got {sorted(test)}"
    )


def _functional(function: str, given: Any, expected: Any, *, wrapped: bool = False) -> Called:
    """A call with its arguments in a list, or in a string with one JSON value per line."""
    if isinstance(given, str):
        given = [json.loads(line) for line in given.split("\n") if line.strip()]
        expected = json.loads(expected) if isinstance(expected, str) else expected
    if not isinstance(given, list):
        raise ValueError(f"arguments of {function} must be a list or lines of JSON, got {type(given).__name__}")
    single = wrapped and isinstance(expected, list) and len(expected) == 1
    return Called((function, given, {}), expected, "json", text=function, wrapped=single)


def _text(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _function_name(meta: Mapping[str, Any]) -> str:
    """LiveCodeBench's name of the method to call, if the problem has one."""
    inner = _json(meta.get("metadata") or {}, "metadata")
    name = meta.get("fn_name") or (inner.get("func_name") if isinstance(inner, Mapping) else None)
    return str(name) if name else ""


def _human_eval(test: str, entry_point: str, lift: bool) -> list[Case]:
    """`check(candidate)`: its asserts lifted if all are literal, otherwise driven as one."""
    tree = module_of(test)
    check = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check"), None)
    if check is None or not entry_point or not check.args.args:
        raise ValueError("a HumanEval test defines check(candidate) and the row names an entry_point")
    parameter = check.args.args[0].arg
    ends = [n for n in tree.body if checked_name(n) == entry_point]
    others = [n for n in tree.body if n is not check and n not in ends and not _is_metadata(n)]
    lifted = [] if others or not lift else _lift(check.body, {parameter: entry_point})
    if lifted:
        return list(lifted)
    code = test if ends else f"{test}\ncheck({entry_point})\n"
    return [Driven(code, (entry_point,), f"check({entry_point})")]


def checked_name(node: ast.stmt) -> str:
    """The name that a statement `check(name)` passes to the test; empty for other statements."""
    match node:
        case ast.Expr(ast.Call(ast.Name("check"), [ast.Name(name)], [])):
            return name
    return ""


def _is_metadata(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _tests_nothing(node: ast.stmt) -> bool:
    """HumanEval's checks have `assert True, "…"` between their tests."""
    match node:
        case ast.Assert(ast.Constant(value)):
            return bool(value)
        case ast.Expr(ast.Name(name)):
            return hasattr(builtins, name)
    return _is_metadata(node) and not isinstance(node, ast.Assign)


def driven(case: Case) -> Driven | None:
    """A lifted assert as test code again, for a value that only the program's own `==` can compare; None for others."""
    if not isinstance(case, Called) or case.equality != "python" or not case.text.count(f"{case.call[0]}("):
        return None
    return Driven(f"assert {case.text}\n", (case.call[0],), case.text)


def _asserts(tests: Iterable[Any], setup: str, lift: bool) -> list[Case]:
    """Each test lifted if possible, otherwise driven, with the setup before it."""
    cases: list[Case] = []
    for test in tests:
        tree = module_of(str(test))
        lifted = _lift(tree.body, _shadowed(tree)) if lift and not setup.strip() else []
        if lifted:
            cases += lifted
        else:
            whole = f"{setup}\n{test}\n"
            cases.append(Driven(whole, free_functions(module_of(whole)), " ".join(str(test).split())[:200]))
    if not cases:
        raise ValueError("the row's list of tests is empty")
    return cases


def _shadowed(tree: ast.Module) -> dict[str, str]:
    """Python's own names that are the program's here: names that a test calls which otherwise would not test it."""
    if free_names(tree):
        return {}
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return {name: name for name in called if hasattr(builtins, name)}


def module_of(text: str) -> ast.Module:
    """The syntax tree of a test; a ValueError if it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"a test that is not Python: {error}") from None


def _expression(text: str) -> ast.expr:
    body = module_of(text.strip()).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ValueError(f"{text[:100]!r} is not an expression")
    return body[0].value


def _lift(body: Sequence[ast.stmt], names: Mapping[str, str]) -> list[Called]:
    """A call for each statement; empty unless every one is a literal assert."""
    cases = []
    for statement in body:
        if _tests_nothing(statement):
            continue
        case = _lift_assert(statement.test, names) if isinstance(statement, ast.Assert) else None
        if case is None:
            return []
        cases.append(case)
    return cases


def _lift_assert(test: ast.expr, names: Mapping[str, str]) -> Called | None:
    """`f(…) == lit`, `lit == f(…)`, `f(…) is None`, `f(…)`, `not f(…)`, `abs(f(…) - lit) < lit`."""
    text = ast.unparse(test)
    if isinstance(test, ast.Call) and (call := _call(test, names)):
        return Called(call, True, relation="true", text=text)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and (call := _call(test.operand, names)):
        return Called(call, False, relation="false", text=text)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right, relation = test.left, test.comparators[0], test.ops[0]
    try:
        if isinstance(relation, ast.Eq | ast.Is):
            call = _call(left, names)
            if call is None:
                left, right = right, left
                call = _call(left, names)
            equality: Equality = "exact" if isinstance(relation, ast.Is) else "python"
            return Called(call, literal(right), equality, text=text) if call else None
        if isinstance(relation, ast.Lt | ast.LtE) and _is_distance(left):
            inner: ast.BinOp = left.args[0]  # type: ignore[attr-defined]
            call = _call(inner.left, names)
            if call:
                return Called(call, literal(inner.right), relation="close", tolerance=float(literal(right)), text=text)
    except ValueError:
        return None
    return None


def _is_distance(node: ast.expr) -> bool:
    """`abs(a - b)`."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "abs" and len(node.args) == 1
        and isinstance(node.args[0], ast.BinOp) and isinstance(node.args[0].op, ast.Sub)
    )  # fmt: skip


def _call(node: ast.expr, names: Mapping[str, str] | None = None) -> FunctionCall | None:
    """A call of a plain function with literal arguments; None for anything else.

    Args:
        node: the expression that may be one.
        names: the program's names for some names of the test; Python's own names among them are the program's here.
    """
    names = names or {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if hasattr(builtins, node.func.id) and node.func.id not in names:
        return None
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    try:
        args = [literal(argument) for argument in node.args]
        kwargs = {str(keyword.arg): literal(keyword.value) for keyword in node.keywords}
    except ValueError:
        return None
    return names.get(node.func.id, node.func.id), args, kwargs


def free_functions(tree: ast.Module) -> tuple[str, ...]:
    """The functions a test calls but does not define: the program's functions.

    If it does not call any, the functions it only names (`map(f, …)`).
    """
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    free = free_names(tree)
    return tuple(sorted(free & called or free))


def free_names(tree: ast.Module) -> set[str]:
    """The names a test uses but does not define, and that Python does not have."""
    bound = {name for node in ast.walk(tree) for name in _BINDS.get(type(node), _nothing)(node)}
    named = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - bound
    return {name for name in named if not hasattr(builtins, name) and not name.startswith("__")}


def _nothing(node: Any) -> list[str]:
    return []


_BINDS: dict[type[ast.AST], Callable[[Any], list[str]]] = {
    ast.FunctionDef: lambda n: [n.name],
    ast.ClassDef: lambda n: [n.name],
    ast.arg: lambda n: [n.arg],
    ast.alias: lambda n: [(n.asname or n.name).partition(".")[0]],
    ast.Name: lambda n: [n.id] if isinstance(n.ctx, ast.Store) else [],
}
