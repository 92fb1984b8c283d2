from __future__ import annotations

import sys
from typing import Any

import pytest

from verikit.sandbox import RunLimits, default_sandbox
from verikit.types import Sample, Score
from verikit.verifiers.proposals.program import Program
from verikit.verifiers.proposals.proposal import BANNED, InvalidProposal, as_literal, validate

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

REPEAT = "def f(a, b=1):\n    return [a] * b"


def score(completion: str, verifier: Program | None = None, **meta: Any) -> Score:
    return (verifier or Program(wall_s=3)).score([Sample(completion=completion, meta=meta)])[0]


def deduce(said: str, output: str = "[1, 1]", **options: Any) -> Score:
    return score(
        f"<think>…</think> <answer>```output\n{said}\n```</answer>", Program(**options), task="deduction", output=output
    )


def abduce(said: str, output: str = "[1, 1]", program: str = REPEAT) -> Score:
    return score(f"```input\n{said}\n```", task="abduction", program=program, output=output)


PAIRS = [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")]


def induce(program: str, **options: Any) -> Score:
    return score(f"```python\n{program}\n```", Program(**options), task="induction", pairs=PAIRS)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("[1, 1]", 1),
        ("[1,1]", 1),
        ("[1, True]", 0),
        ("[1, 1.0]", 0),
        ("(1, 1)", 0),
        ("[1] * 2", 0),
        ("f(1, 2)", 0),
        ("", 0),
        ("[1, 1", 0),
        ("__import__('os').getcwd()", 0),
        ("[1, 1] if True else 0", 0),
        ("(" * 5000, 0),
    ],
)
def test_deduction_compares_literals_and_their_types(said: str, value: float) -> None:
    found = deduce(said)
    assert (found.value, found.status) == (value, "ok")


def test_numeric_lifts_the_strictness() -> None:
    assert deduce("[True, 1.0]", numeric=True).value == 1


def test_the_last_answer_counts_and_a_bare_text_will_do() -> None:
    assert score("```output\n1\n```\n```output\n2\n```", task="deduction", output="2").value == 1
    assert score("2", task="deduction", output="2").value == 1
    assert score("```python\n2\n```", task="deduction", output="2").value == 0


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("1, 2", 1),
        ("1, b=2", 1),
        ("a=1, b=2,", 1),
        ("2, 1", 0),
        ("1) == 0 or (True", 0),
        ("1, 2) or f(1, 2", 0),
        ("*[1, 2]", 0),
        ("**{'a': 1}", 0),
        ("1, 2 # note", 1),
        ("(lambda: 1)(), 2", 0),
        ("exit()", 0),
        ("1, 10**9", 0),
        ("", 0),
    ],
)
def test_abduction_binds_literals_and_takes_any_input_that_fits(said: str, value: float) -> None:
    found = abduce(said)
    assert (found.value, found.status) == (value, "ok"), found


def test_abduction_never_trusts_the_program_either() -> None:
    cheat = "class A:\n    def __eq__(s, o): return True\ndef f(*a): return A()"
    assert abduce("1", program=cheat).value == 0


def test_induction_checks_every_pair() -> None:
    assert induce("def f(x): return x + 1").value == 1
    assert induce("def f(x): return {1: 2, 2: 3}[x]").value == 0
    assert induce("def f(x): return {3: 4, 4: 5}.get(x)").value == 0
    assert induce("def f(x): return {3: 4, 4: 5}.get(x)", preset="azr-repo").value == 1
    assert induce("def f(x): return x + 1.0").value == 0
    assert score("no program", task="induction", pairs=PAIRS).value == 0


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"task": "guess"},
        {"task": "deduction"},
        {"task": "deduction", "output": "[["},
        {"task": "induction", "pairs": []},
        {"task": "induction", "pairs": [["1"]]},
        {"task": "induction", "pairs": [["1", "f("]]},
        {"task": "abduction", "output": "1"},
    ],
)
def test_a_row_that_can_not_be_read_is_unscored(meta: dict[str, Any]) -> None:
    found = score("```input\n1\n```\n```python\ndef f(x): return x\n```\n```output\n1\n```", **meta)
    assert found.value is None
    assert found.status == "error"


def test_the_repository_names_of_tasks_work() -> None:
    assert score("```output\n2\n```", task="code_o", output="2").value == 1


# ---- proposals -------------------------------------------------------------------------------------------------------


def propose(program: str, given: str = "3", preset: Any = "paper") -> Score:
    return score(f"```python\n{program}\n```\n```input\n{given}\n```", Program(preset=preset, wall_s=3), task="propose")


@pytest.mark.parametrize(
    ("program", "rule"),
    [
        ("def f(x): return x + 1", ""),
        ("import math\ndef f(x):\n    def g(y): return math.sqrt(y)\n    return g(x)", ""),
        ("def g(x): return x", "structure"),
        ("def f(x): print(x)", "structure"),
        ("def f(x): return None", "integrity"),
        ("def f(x): return 1 / 0", "integrity"),
        ("def f(x):\n    while True: pass\n    return 1", "timeout"),
        ("def f(x): return object()", "literal"),
        ("def f(x): return float('nan')", "literal"),
        ("def f(x) return", "SyntaxError"),
        ("import random\ndef f(x): return 1", "safety"),
        ("from os import path\ndef f(x): return 1", "safety"),
        ("import os\ndef f(x): return os.environ.get('X', 1)", "safety"),
        ("import sys\ndef f(x): return sys.exit", "safety"),
        ("import datetime as d\ndef f(x): return 1", "safety"),
        ("def f(x): return eval('1')", "safety"),
        ("def f(x): return hash(str(x))", "determinism"),
        ("def f(x): return list({'a', 'b', 'c', 'd', 'e'})", "determinism"),
        ("n = []\ndef f(x):\n    n.append(x)\n    return len(n)", "determinism"),
        ("def f(x): return id([x])", "determinism"),
    ],
)
def test_a_proposal_is_valid_or_names_the_rule_it_breaks(program: str, rule: str) -> None:
    found = propose(program)
    assert found.status == "ok"
    assert found.value == float(not rule)
    assert rule in found.reason


def test_the_repositorys_rules_differ() -> None:
    nested = "def f(x):\n    def g(y): return y\n    return g(x)"
    assert propose(nested).value == 1
    assert propose(nested, preset="azr-repo").value == 0
    assert propose("import os\ndef f(x): return 1", preset="azr-repo").value == 1
    assert propose("import hmac\ndef f(x): return 1", preset="azr-repo").value == 0


def test_a_proposal_needs_both_blocks_and_a_literal_input() -> None:
    assert score("```python\ndef f(x): return x\n```", task="propose").value == 0
    assert propose("def f(x): return x", "open('x')").value == 0
    assert propose("def f(x, y): return x", "1, y=[2]").value == 1


def test_validation_gives_what_a_recipe_needs() -> None:
    valid = validate(default_sandbox(), REPEAT, "'a', b=2", limits=RunLimits(wall_s=3))
    assert (valid.args, valid.kwargs, valid.output) == (["a"], {"b": 2}, "['a', 'a']")
    assert len(BANNED) == 15


@pytest.mark.parametrize("value", [object, float("inf"), [float("nan")], 1 << 20_000, "x" * 200_000], ids=range(5))
def test_values_without_a_literal_are_refused(value: Any) -> None:
    with pytest.raises(InvalidProposal):
        as_literal(value)


@pytest.mark.parametrize("value", [None, 1, [1.5, (2,)], {"a": {1}}, "é", b"x", 1j, True])
def test_literals_read_back(value: Any) -> None:
    import ast

    assert ast.literal_eval(as_literal(value)) == value
