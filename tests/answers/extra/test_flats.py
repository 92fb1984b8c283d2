"""Lines and planes: any point and multiples of the directions give the same; a point or direction off it does not."""

import random

import pytest

from tests.answers.families.helpers import assert_boxed
from verikit.answers import verify


def vector(v, rng):
    if rng.random() < 0.4:
        return r"\begin{pmatrix}" + r" \\ ".join(map(str, v)) + r"\end{pmatrix}"
    return rng.choice([f"({', '.join(map(str, v))})", rf"\langle {', '.join(map(str, v))} \rangle"])


def along(point, direction, factor):
    return [p + factor * d for p, d in zip(point, direction, strict=True)]


def linear(start, slope, name):
    return f"{start}{slope:+d}{name}" if slope else str(start)


def line_forms(point, direction, rng):
    """Notations of a line, each from another point of it and with another multiple of its direction."""

    def other():
        factor = rng.choice([-2, -1, 1, 3])
        return along(point, direction, rng.randint(-3, 3)), [factor * d for d in direction]

    p, d = other()
    kind, name = rng.choice(["tuple", "column"]), rng.choice("ts")
    ends = ("(", ")", ", ") if kind == "tuple" else (r"\begin{pmatrix}", r"\end{pmatrix}", r" \\ ")
    p_text, d_text = (ends[0] + ends[2].join(map(str, v)) + ends[1] for v in (p, d))
    yield f"{p_text} + {name}{d_text}"
    p, d = other()
    yield rf"\vec r = {vector(p, random.Random(1))} + \lambda {vector(d, random.Random(1))}"
    p, d = other()
    yield ", ".join(f"{axis} = {linear(a, b, 't')}" for axis, a, b in zip("xyz", p, d, strict=True))
    p, d = other()
    yield f"(x,y,z) = ({', '.join(linear(a, b, 's') for a, b in zip(p, d, strict=True))})"
    p, d = other()
    if all(d):
        yield " = ".join(rf"\frac{{{axis}{-a:+d}}}{{{b}}}" for axis, a, b in zip("xyz", p, d, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_a_line_is_every_parametrisation_of_it(seed):
    rng = random.Random(seed)
    point, direction = [rng.randint(-5, 5) for _ in range(3)], [rng.randint(-3, 3) for _ in range(3)]
    if sum(map(bool, direction)) < 2:
        direction = [1, 2, -1]
    moved = along(point, [direction[1], -direction[0], 0] if any(direction[:2]) else [1, 0, 0], 1)
    turned = along(direction, [0, 0, 1], 1)
    golds = list(line_forms(point, direction, rng))
    for gold in golds:
        assert_boxed([gold], line_forms(point, direction, rng))
    for answer in (*line_forms(moved, direction, rng), *line_forms(point, turned, rng)):
        assert not verify(rf"\boxed{{{answer}}}", rng.choice(golds)).equal, answer


@pytest.mark.parametrize("seed", range(25))
def test_a_plane_is_its_equation(seed):
    rng = random.Random(seed)
    point, u, v = ([rng.randint(-4, 4) for _ in range(3)] for _ in range(3))
    normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    if not any(normal):
        return
    level = sum(n * p for n, p in zip(normal, point, strict=True))
    gold = f"({', '.join(map(str, point))}) + s({', '.join(map(str, u))}) + t({', '.join(map(str, v))})"
    w = [a - 2 * b for a, b in zip(u, v, strict=True)]
    other = f"({', '.join(map(str, along(point, u, 2)))}) + u({', '.join(map(str, w))}) + v({', '.join(map(str, v))})"
    equation = "".join(f"{n:+d}{axis}" for n, axis in zip(normal, "xyz", strict=True) if n)
    assert verify(rf"\boxed{{{other}}}", gold).equal
    if normal[2]:
        assert verify(rf"\boxed{{{equation} = {level}}}", gold).equal
        assert not verify(rf"\boxed{{{equation} = {level + 1}}}", gold).equal
        assert not verify(rf"\boxed{{{equation} + z = {level}}}", gold).equal


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("(1,2)+t(3,4)", "(4,6)-s(3,4)", True),
        ("(1,2)+t(3,4)", "(4,6)-s(4,3)", False),
        ("(1+t, 2-t, 3)", "(t, 3-t, 3)", True),
        ("(t, t+1)", "(t+1, t+2)", False),
        ("(t^2, t, 1)", "((t+1)^2, t+1, 1)", False),
        ("x=1+t, y=2-t, z=3+2t", "x=2+2s, y=1-2s, z=5+4s", True),
        ("x=1+t, y=2-t, z=3+2t", "x=2+2s, y=1-2s, z=5+3s", False),
        (r"x=1+t, y=2-t, z=3+2t, t \in \mathbb{R}", "x=1-t, y=2+t, z=3-2t", True),
        ("2x+3y-z=4", "4x+6y-2z-8=0", True),
        ("2x+3y-z=4", "4x+6y-2z-4=0", False),
    ],
)
def test_single_cases(gold, answer, expected):
    assert verify(rf"\boxed{{{answer}}}", gold).equal is expected


def test_a_motion_is_not_only_its_path():
    gold, answer = "(1,2,3)+t(1,0,0)", "(1,2,3)+t(2,0,0)"
    assert verify(answer, gold, question="Give an equation of the line.").equal
    assert not verify(answer, gold, question="Find the position of the particle at time t.").equal


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("(1 2 3)(4 5)", "(5 4)(3 1 2)", True),
        (r"(1\ 2\ 3)", r"(2\ 3\ 1)", True),
        ("(1 2 3)", "(1 3 2)", False),
        ("(1 2 3)(4 5)", "(1 2 3)", False),
        ("(1 2)(2 3)", "(2 3)(1 2)", False),
        ("(1,2,3)", "(2,3,1)", False),
        ("(1 2 3)", "(1 2 3)(4)", True),
    ],
)
def test_permutations_by_what_they_move(gold, answer, expected):
    assert verify(rf"\boxed{{{answer}}}", gold).equal is expected
