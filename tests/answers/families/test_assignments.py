"""Values given to names: every notation of the same solutions matches every other, changed ones match none."""

import random

import pytest

from tests.answers.families.helpers import assert_boxed
from verikit.answers import verify


def spellings(solutions, names):
    """Notations of a list of solutions, each a list of values in the order of `names`."""
    order = list(range(len(names)))
    backwards = order[::-1]
    listed = [", ".join(f"{names[i]} = {s[i]}" for i in order) for s in solutions]
    turned = [" and ".join(f"{names[i]}={s[i]}" for i in backwards) for s in solutions]
    tuples = [f"({', '.join(s)})" for s in solutions]
    label = f"({','.join(names)})"
    yield r" \text{ or } ".join(listed)
    yield "; ".join(reversed(turned))
    yield f"{label} = {', '.join(tuples)}"
    yield rf"{label} \in \{{{', '.join(reversed(tuples))}\}}"
    yield " or ".join(f"${label}={t}$" for t in tuples)
    yield f"({','.join(names[i] for i in backwards)})=" + ", ".join(
        f"({','.join(s[i] for i in backwards)})" for s in solutions
    )
    if len(solutions) == 1:
        yield r"\begin{cases} " + r" \\ ".join(f"{names[i]} = {solutions[0][i]}" for i in order) + r" \end{cases}"


def drawn(rng):
    names = rng.choice([("x", "y"), ("x", "y", "z"), ("p", "q"), ("a", "b", "c"), (r"\alpha", r"\beta")])
    values = ["2", "-3", r"\frac{1}{2}", r"\sqrt{5}", "7.5", "0", r"2\pi", "a+1" if "a" not in names else "11"]
    return names, [rng.sample(values, len(names)) for _ in range(rng.randint(1, 3))]


@pytest.mark.parametrize("seed", range(25))
def test_notations_of_the_same_solutions_match(seed):
    names, solutions = drawn(random.Random(seed))
    if len({tuple(s) for s in solutions}) < len(solutions):
        return
    forms = list(spellings(solutions, names))
    assert_boxed(forms, forms)


@pytest.mark.parametrize("seed", range(25))
def test_swapped_changed_and_missing_values_do_not(seed):
    rng = random.Random(seed)
    names, solutions = drawn(rng)
    swapped = [[s[1], s[0], *s[2:]] for s in solutions]
    changed = [["41", *s[1:]] if k == 0 else s for k, s in enumerate(solutions)]
    golds = list(spellings(solutions, names))
    wrong = [*spellings(swapped, names), *spellings(changed, names)]
    if len(solutions) > 1:
        wrong += spellings(solutions[1:], names)
    same = {tuple(s) for s in solutions} == {tuple(s) for s in swapped}
    for gold in rng.sample(golds, 3):
        for answer in rng.sample(wrong, 6):
            assert same or not verify(rf"\boxed{{{answer}}}", gold).equal, (gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("p=5,q=2;p=7,q=2", "(5,2),(7,2)", True),
        ("p=5,q=2;p=7,q=2", "(2,5),(2,7)", False),
        ("p=5,q=2;p=7,q=2", "(5,7),(2,2)", False),
        ("x=2, y=13", "(2, 13)", True),
        ("x=2, y=13", "13, 2", False),
        ("x=2, y=13", r"x=2 \quad y=13", True),
        ("x=2, y=13", "x=2", False),
        ("(2,13)", "y=13, x=2", True),
        ("(13,2)", "y=13, x=2", False),
        ("(m,b)=(2,-1)", "(2,-1)", True),
        ("m=2, b=-1", "(2,-1)", True),
        ("(x,y)=(2,13)", r"x=2 \text{ or } y=13", False),
        ("(x,y)=(2,13)", "So x = 2 and y = 13", True),
        ("(x,y)=(2,13)", "x = 2 and z = 13", False),
        ("length = 5, width = 3", "width = 3, length = 5", True),
        ("length = 5, width = 3", "width = 5, length = 3", False),
        ("x_1 = 2, x_2 = 3", "x_1 = 3, x_2 = 2", True),
    ],
)
def test_single_cases(gold, answer, expected):
    assert verify(rf"\boxed{{{answer}}}", gold).equal is expected
