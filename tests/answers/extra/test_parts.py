"""Answers in parts: each notation of the same parts matches every other; swapped, missing, changed ones do not."""

import random

import pytest

from verikit.answers import verify

VALUES = [
    ("3", "3.0"), (r"\frac{1}{2}", "0.5"), ("(0, 3)", "(0,3)"), ("x=2", "2"), (r"\{1,2\}", r"\{2,1\}"), ("-7", "-7"),
    ("x^2+1", "1+x^2"), ("increasing", "The function is increasing"), (r"\sqrt{12}", r"2\sqrt{3}"), ("15", "15"),
]  # fmt: skip


def forms(parts):
    letters, romans = "abcdef", ["i", "ii", "iii", "iv"]
    yield ", ".join(f"({letters[i]}) {p}" for i, p in enumerate(parts))
    yield " ".join(f"({letters[i]}) {p}" for i, p in enumerate(parts))
    yield "; ".join(f"{letters[i]}) {p}" for i, p in enumerate(parts))
    yield "; ".join(f"Part {i + 1}: {p}" for i, p in enumerate(parts))
    yield "\n".join(f"Part ({letters[i]}): ${p}$" for i, p in enumerate(parts))
    yield ", ".join(f"({romans[i]}) {p}" for i, p in enumerate(parts))
    yield "; ".join(f"({i + 1}) {p}" for i, p in enumerate(parts))


@pytest.mark.parametrize("seed", range(30))
def test_parts_match_by_label_and_only_so(seed):
    rng = random.Random(seed)
    pairs = rng.sample(VALUES, rng.randint(2, 4))
    golds, answers = list(forms([p[0] for p in pairs])), list(forms([p[1] for p in pairs]))
    for gold in golds:
        for answer in (*answers, "; ".join(p[1] for p in pairs)):
            assert verify(rf"\boxed{{{answer}}}", gold).equal, (gold, answer)
    moved = pairs[1:] + pairs[:1]
    wrong = [*forms([p[1] for p in moved]), *forms([p[1] for p in pairs[:-1]]), "; ".join(p[1] for p in moved)]
    wrong += [*forms([p[1] for p in pairs[:-1]] + ["41"]), pairs[0][1]]
    for answer in wrong:
        assert not verify(rf"\boxed{{{answer}}}", rng.choice(golds)).equal, answer


def test_labels_in_another_order_name_their_parts():
    assert verify("(b) 5, (a) 3", "(a) 3, (b) 5").equal
    assert not verify("(b) 3, (a) 5", "(a) 3, (b) 5").equal
    assert not verify("(a) 3, (c) 5", "(a) 3, (b) 5").equal
    assert not verify("(a) 3, (a) 4, (b) 5", "(a) 3, (b) 5").equal


@pytest.mark.parametrize("gold", ["f(a) + f(b)", "(1) and (3)", "(a+b)(a-b)", "x = 3(2) + 4"])
def test_brackets_that_label_nothing(gold):
    assert verify(rf"\boxed{{{gold}}}", gold).equal
    assert not verify("3; 4", gold).equal
