"""Functions by cases: notations and orders of the same function match, moved bounds and swapped cases do not."""

import random

import pytest

from verikit.answers import verify

EXPRESSIONS = [
    ("2x+1", "1+2x"),
    ("x^2", r"x\cdot x"),
    ("5", "5"),
    ("-x", "0-x"),
    (r"\frac{x}{2}", "0.5x"),
    ("x^3-x", "x(x-1)(x+1)"),
]


def cases(rows):
    return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"


def forms(expressions, bounds, closed):
    """Cases below, between and above two bounds; `closed`: whether each bound belongs to what lies below it."""
    a, b = bounds
    less = [r"\le" if c else "<" for c in closed]
    more = [">" if c else r"\ge" for c in closed]
    flip = ["<" if c else r"\le" for c in closed]
    where = [f"x {less[0]} {a}", f"{a} {flip[0]} x {less[1]} {b}", f"x {more[1]} {b}"]
    rows = list(zip(expressions, where, strict=True))
    turned = rows[::-1]
    yield cases(f"{e} & {w}" for e, w in rows)
    yield "f(x) = " + cases(rf"{e}, & \text{{if }} {w}" for e, w in turned)
    yield cases(rf"{e} & \text{{for }} {w}" for e, w in (rows[1], rows[0], rows[2]))
    yield "; ".join(f"{e} if {w}" for e, w in turned)
    yield cases([f"{e} & {w}" for e, w in rows[:2]] + [rf"{rows[2][0]} & \text{{otherwise}}"])
    yield (
        rows[0][0]
        + " if "
        + where[0]
        + ", "
        + rows[1][0]
        + f" if x {more[0]} {a} and x {less[1]} {b}, {rows[2][0]} otherwise"
    )


@pytest.mark.parametrize("seed", range(25))
def test_notations_match_and_changes_do_not(seed):
    rng = random.Random(seed)
    chosen = rng.sample(EXPRESSIONS, 3)
    a = rng.randint(-4, 2)
    bounds, closed = (a, a + rng.randint(1, 5)), [rng.random() < 0.5, rng.random() < 0.5]
    golds = list(forms([e[0] for e in chosen], bounds, closed))
    for gold in golds:
        for answer in forms([e[1] for e in chosen], bounds, closed):
            assert verify(rf"\boxed{{{answer}}}", gold).equal, (gold, answer)
    values = [e[1] for e in chosen]
    wrong = [
        *forms(values, (bounds[0], bounds[1] + 2), closed),
        *forms([values[1], values[0], values[2]], bounds, closed),
    ]
    wrong += [*forms([values[0], values[1], "x+41"], bounds, closed), values[0]]
    for answer in wrong:
        assert not verify(rf"\boxed{{{answer}}}", rng.choice(golds)).equal, answer


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("|x-3|", r"\begin{cases} x-3 & x \ge 3 \\ 3-x & x < 3 \end{cases}", True),
        ("|x-3|", "x-3 if x>=3, 3-x otherwise", True),
        ("|x-3|", "x-3 if x>=3 else 3-x", True),
        ("|x-3|", r"\begin{cases} x-3 & x < 3 \\ 3-x & x \ge 3 \end{cases}", False),
        ("|x-3|", r"\begin{cases} x-3 & x \ge 3 \\ 3-x & x < 2 \end{cases}", False),
        ("|x-3|", "x-3", False),
        (r"\begin{cases} x-3 & x \ge 3 \\ 3-x & x < 3 \end{cases}", "|x-3|", True),
        (r"\begin{cases} x-3 & x \ge 3 \\ 3-x & x < 3 \end{cases}", "|x+3|", False),
        (
            r"\begin{cases} 1 & x > 0 \\ 0 & x \le 0 \end{cases}",
            r"\begin{cases} 1 & x \ge 0 \\ 0 & x < 0 \end{cases}",
            False,
        ),
        ("|x-3|", "f(x) = x-3 for x>=3, and f(x) = 3-x for x<3", True),
        (r"\max(x, 1)", r"\begin{cases} x & x > 1 \\ 1 & x \le 1 \end{cases}", True),
        (r"\max(x, 1)", r"\begin{cases} x & x < 1 \\ 1 & x \ge 1 \end{cases}", False),
    ],
)
def test_against_absolute_values(gold, answer, expected):
    assert verify(rf"\boxed{{{answer}}}", gold).equal is expected
