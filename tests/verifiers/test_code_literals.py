"""Which expressions of tests are values, so that their asserts become calls with an expected value."""

from __future__ import annotations

import ast

import pytest

from verikit.verifiers.code.cases import Called, Driven
from verikit.verifiers.code.literals import literal
from verikit.verifiers.code.rows import read

VALUES = [
    "3 * 19", "-1 * 3 + 2", "2.0 / 3.0", "0 ** 0", "2 ** -1", "7 // 2 % 2", "'a' + 'b' * 3", "'ab' * -1", "[1, 0 ** 0]",
    "{1: (2 + 3, 'x' * 2)}", "1 + 2j", "True + 1", "10 ** 9 + 7", "[[1 - 1]]",
]  # fmt: skip
OTHERS = [
    "2 ** 1000000", "'a' * 10 ** 9", "10 ** 100 ** 100", "1 / 0", "'%d' % 3", "[0] * 3", "1 << 3", "'a' - 'b'", "f(1)",
    "'a' + 1", "b'a' + b'b'", "-" * 2000 + "1", "+".join(["1"] * 100_000), "2.0 ** 100 ** 100", "x + 1", "3 @ 4",
]  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_small_arithmetic_has_the_value_that_python_gives_it(text: str) -> None:
    found = literal(ast.parse(text, mode="eval").body)
    assert repr(found) == repr(eval(text))


@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_other_expressions_and_large_results_are_not_values(text: str) -> None:
    try:
        node = ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError):
        return
    with pytest.raises(ValueError, match="must be a literal"):
        literal(node)


def test_statements_that_test_nothing_leave_the_asserts_around_them_calls() -> None:
    lines = [
        "assert candidate(3 * 5) == 15, 'first'",
        "assert True, 'This prints'",
        "print",
        "assert candidate(2) == 2",
    ]
    test = "def check(candidate):\n" + "".join(f"    {line}\n" for line in lines)
    found = read({"test": test, "entry_point": "f"})
    assert [(case.call[1], case.expected) for case in found if isinstance(case, Called)] == [([15], 15), ([2], 2)]
    for other in ("assert False", "assert 0, 'x'", "unknown", "x = 1"):
        (case,) = read({"test": f"{test}    {other}\n", "entry_point": "f"})
        assert isinstance(case, Driven)
