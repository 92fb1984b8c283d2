"""Runs that share a child give the verdicts of runs alone, and nothing that could tell shares one."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

from verikit.sandbox import LocalSandbox, RunLimits, default_sandbox, same
from verikit.sandbox.budget import Budget
from verikit.sandbox.guest.closed import closed
from verikit.types import Sample, Score
from verikit.verifiers.code import python_cases
from verikit.verifiers.code.verifier import Code
from verikit.verifiers.proposals.program import Program
from verikit.verifiers.proposals.proposal import InvalidProposal, validate
from verikit.verifiers.proposals.shared_runs import UNREAD, read_together

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

LIMITS = RunLimits(wall_s=4.0, memory_mb=256)
SUM = "def f(x):\n    total = 0\n    for n in range(x):\n        total += n\n    return total"

# Each keeps something from one call to the next: f(1), then f(1) again, tells.
LEAKS = [
    "n = []\ndef f(x):\n    n.append(x)\n    return len(n)",
    "n = [0]\ndef f(x):\n    n[0] += 1\n    return n[0]",
    "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n",
    "def f(x, seen=[]):\n    seen += [x]\n    return len(seen)",
    "def f(x, *, seen={}):\n    seen[len(seen)] = x\n    return len(seen)",
    "def f(x):\n    f.n = getattr(f, 'n', 0) + 1\n    return f.n",
    "def f(x):\n    f.__dict__['n'] = f.__dict__.get('n', 0) + 1\n    return f.__dict__['n']",
    "def f(x):\n    globals()['n'] = globals().get('n', 0) + 1\n    return globals()['n']",
    "def f(x):\n    __builtins__.n = getattr(__builtins__, 'n', 0) + 1\n    return __builtins__.n",
    "def f(x):\n    seen = (0 for _ in x).gi_frame.f_globals if x != 1 else vars(__import__('sys'))\n"
    "    seen['n'] = seen.get('n', 0) + 1\n    return seen['n']",
    "import itertools\nn = itertools.count()\ndef f(x):\n    return next(n)",
    "class C:\n    n = 0\ndef f(x):\n    C.n += 1\n    return C.n",
    "def keep(g):\n    n = []\n    def h(x):\n        n.append(x)\n        return len(n)\n    return h\n"
    "@keep\ndef f(x):\n    return x",
    "def g(n):\n    def h(x):\n        n.append(x)\n        return len(n)\n    return h\nf = g([])",
    "def f(x: (n := [])):\n    n.append(x)\n    return len(n)",
    "def f(x) -> [n for n in [(m := [])]]:\n    m.append(x)\n    return len(m)",
    "f = (lambda n: lambda x: n.append(x) or len(n))([])",
    "def f(x):\n    try:\n        return open('n').read() + 'x'\n    finally:\n        open('n', 'a').write('x')",
    "from collections import Counter\nn = Counter()\ndef f(x):\n    n.update([x])\n    return n[x]",
    "import string\ndef f(x):\n    string.digits += 'x'\n    return string.digits",
    "n: list = []\ndef f(x):\n    n.append(x)\n    return len(n)",
    "n = 0,\nn = [*n]\ndef f(x):\n    n.append(x)\n    return len(n)",
    "from functools import cache\n@cache\ndef g(x):\n    return [x]\ndef f(x):\n    g(1).append(x)\n    return g(1)",
]
OPEN = [
    "def f(x):\n    return id(x) % 7", "def f(x):\n    return hash(str(x))", "def f(x):\n    return input()",
    "import time\ndef f(x):\n    return time.time()", "def f(x):\n    return '{0.__class__}'.format(x)",
    "def f(x):\n    return x.__class__", "def f(x):\n    return [] is x",
    "def f(x):\n    return x is 1000 is not None", "def f(x, id=len):\n    return id(x)",
    "def g(x):\n    id = 1\ndef f(x):\n    return id(x)", "def g(id):\n    return 1\ndef f(x):\n    return id(x)",
    "def f(x):\n    return list({f, lambda: 0, lambda: 1})[0](x)", "def f(x):\n    yield x", "def f(x):\n    del x",
    "async def f(x):\n    return x", "def f(x):\n    with x: return 1", "def f(x): return eval('1')",
    "def f(x):\n    match x:\n        case 1: return 1", "print(1)\ndef f(x):\n    return 1",
    "def f(x):\n    import time", "from math import *\ndef f(x):\n    return x",
    "from . import math\ndef f(x):\n    return x",
    "from typing import Any as id\ndef f(x):\n    return id", "import math as __builtins__\ndef f(x):\n    return x",
    "from random import random\ndef f(x):\n    return random()", "import re\ndef f(x):\n    return re.purge()",
    "import math.x\ndef f(x):\n    return x", "from functools import partial\ndef f(x):\n    return partial",
]  # fmt: skip
CLOSED = [
    SUM, "def f(x): return x + 1", "def g(n):\n    return 1 if n < 2 else n * g(n - 1)\ndef f(x):\n    return g(x)",
    '"""Doc."""\ndef f(x: int, y: str = "a") -> list:\n    """Say."""\n    return [f"{c}{x:>3}" for c in y.upper()]',
    "def f(x):\n    return sorted(set(x.split()), reverse=True)[:2]",
    "def f(*a, k=None):\n    return a if k is None else k",
    "import math\nfrom typing import List, Optional as Maybe\nMOST = 10 ** 9 + 7\n\n\n"
    "def f(x: List[int], y: Maybe[int] = None) -> int:\n    from collections import Counter\n"
    "    return Counter(x).most_common(1)[0][1] % MOST + math.floor(math.pi)",
    "def f(x):\n    d = {}\n    for c in x:\n        d[c] = d.get(c, 0) + 1\n    return max(d, key=lambda c: d[c])",
]  # fmt: skip


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hash seed of each child that is started."""
    default_sandbox()  # its start takes children of its own
    seeds: list[int] = []
    run = LocalSandbox.run_payload

    def counted(self: LocalSandbox, *args: Any, seed: int = 0, **kwargs: Any) -> Any:
        seeds.append(seed)
        return run(self, *args, seed=seed, **kwargs)

    monkeypatch.setattr(LocalSandbox, "run_payload", counted)
    return seeds


@pytest.mark.parametrize("program", LEAKS, ids=range(len(LEAKS)))
def test_what_keeps_something_between_calls_is_not_closed(program: str) -> None:
    assert not closed(program)


def test_the_leaks_do_leak() -> None:
    found = [default_sandbox().repeated(program, ("f", [1], {}), LIMITS) for program in LEAKS]
    assert not [run for run in found if run.status == "ok" and run.value[0] == run.value[1]]
    assert sum(run.status == "ok" for run in found) > 12


@pytest.mark.parametrize("program", OPEN, ids=range(len(OPEN)))
def test_what_may_learn_of_more_than_its_arguments_is_not_closed(program: str) -> None:
    assert not closed(program)


@pytest.mark.parametrize("program", CLOSED, ids=range(len(CLOSED)))
def test_functions_over_plain_data_are_closed(program: str) -> None:
    assert closed(program)


def made_program(draw: random.Random) -> str:
    """Write a program that changes whatever it can lay hands on."""
    lines = [
        "x.append(len(x))", "x = x[::-1]", "x += [sum(x)]", "d = {n: len(x) for n in x}", "x = sorted(d, key=str)",
        "x[0] = g(x)", "x = [*x, *map(str, {n for n in x if n != 1})]", "x.sort(key=str)", "x = x or [k]",
        "while len(x) > 9: x.pop()", "x.insert(0, f'{k}{x}'[:9])",
    ]  # fmt: skip
    body = "".join(f"    {line}\n" for line in draw.choices(lines, k=draw.randrange(1, 7)))
    return f"def g(y):\n    y.reverse()\n    return y[-1]\n\n\ndef f(x, k=3):\n    d = {{}}\n{body}    return [x, d]\n"


def test_calls_of_a_closed_program_give_in_company_what_they_give_alone() -> None:
    box, draw, compared = default_sandbox(), random.Random(7), 0
    for _ in range(12):
        program = made_program(draw)
        assert closed(program)
        calls = [("f", [[draw.choice([1, 2, "a", "b"]) for _ in range(draw.randrange(1, 5))]], {}) for _ in range(3)]
        alone = [box.run(program, call=call, limits=LIMITS) for call in calls]
        company = box.run_calls(program, calls, LIMITS)
        if company.status == "ok":
            compared += 1
            assert same(company.value, [result.value for result in alone]), program
        else:
            assert any(result.status != "ok" for result in alone), program
    assert compared > 4


def alone(samples: list[Sample], **options: Any) -> list[Score]:
    return [Program(**options).score([sample])[0] for sample in samples]


def together(samples: list[Sample], **options: Any) -> list[Score]:
    return Program(**options).score(samples)


def deductions(*said: str) -> list[Sample]:
    return [Sample(completion=f"```output\n{text}\n```", meta={"task": "deduction", "output": "3"}) for text in said]


def abductions(program: str, output: str, *said: str) -> list[Sample]:
    meta = {"task": "abduction", "program": program, "output": output}
    return [Sample(completion=f"```input\n{text}\n```", meta=meta) for text in said]


def inductions(*programs: str) -> list[Sample]:
    meta = {"task": "induction", "pairs": [[str(x), str(x * (x - 1) // 2)] for x in range(4)]}
    return [Sample(completion=f"```python\n{text}\n```", meta=meta) for text in programs]


SAMPLES = [
    *deductions("3", "3.0", "4", "f()", "(" * 5000, "[" * 100 + "]" * 100, "", "1\n2", "'3'"),
    *abductions(SUM, "3", "3", "2", "x=3", "'a'", "1, 2", "3 or 4", "[3]", "[" * 70 + "]" * 70),
    *abductions(LEAKS[0], "1", "1", "2", "3"),
    *abductions("def f(x):\n    return 1 // x", "1", "1", "0", "2"),
    *abductions("def f(x) return", "1", "1", "2"),
    *inductions(SUM, "def f(x): return 0", "def f(x): return 1 // 0", "def f(x) return", "x = 1", LEAKS[3]),
    # Counts its calls to know which pair is asked: right in company, and nothing alone.
    *inductions("n = []\ndef f(x):\n    n.append(0)\n    return [0, 0, 1, 3][len(n) - 1]"),
    Sample(completion="3", meta={"task": "induction", "pairs": "none"}),
    Sample(completion="3", meta={"task": "deduction", "output": "f()"}),
    Sample(completion="3", meta={"task": "deduction"}),
]


def test_a_batch_has_the_verdicts_that_its_samples_have_alone() -> None:
    found, expected = together(SAMPLES, wall_s=4.0), alone(SAMPLES, wall_s=4.0)
    told = [(score.value, score.status, score.reason.partition(" at 0x")[0]) for score in found]
    assert told == [(score.value, score.status, score.reason.partition(" at 0x")[0]) for score in expected]
    assert {score.value for score in found} == {0.0, 1.0, None}
    assert found[-4].value == 0.0  # the one that counts


def test_what_hangs_in_company_is_asked_alone() -> None:
    hangs = "def f(x):\n    while x == 2:\n        pass\n    return x"
    found = together(abductions(hangs, "3", "3", "2", "1"), wall_s=1.0)
    assert [score.value for score in found] == [1.0, 0.0, 0.0]
    assert "timeout" in found[1].reason


def test_the_answers_to_a_problem_are_read_and_run_in_few_children(children: list[int]) -> None:
    for samples, most in (
        (deductions("1", "2", "3"), 1),
        (abductions(SUM, "3", "1", "2", "3"), 2),
        (abductions(LEAKS[0], "1", "1", "2", "3"), 1 + 3),
        (inductions(SUM), 2),
        (inductions(LEAKS[3]), 1 + 1),  # the first pair is wrong
    ):
        children.clear()
        together(samples)
        assert len(children) == most


def test_determinism_takes_another_hash_seed_and_more_children_unless_the_program_is_closed(
    children: list[int],
) -> None:
    validate(default_sandbox(), SUM, "3", limits=LIMITS)
    assert children[1:] == [0, 1]
    children.clear()
    program = "import fractions\ndef f(x):\n    return int(fractions.Fraction(x))"
    validate(default_sandbox(), program, "3", limits=LIMITS)
    assert sorted(children[1:]) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "program",
    ["def f(x):\n    return list({'a', 'b', 'c', 'd', 'e'})", "def f(x):\n    return str(iter([x]))", *LEAKS[:4]],
)
def test_a_program_that_wavers_is_no_proposal_closed_or_not(program: str) -> None:
    with pytest.raises(InvalidProposal, match="determinism"):
        validate(default_sandbox(), program, "1", limits=LIMITS)


def test_a_text_that_can_t_be_read_leaves_the_others_read() -> None:
    asked = [
        ("literal", "[1]"),
        ("literal", "f()"),
        ("arguments", "1, k=2"),
        ("literal", "x" * 30_000),
        ("closed", SUM),
    ]
    assert read_together(default_sandbox(), asked, LIMITS) == [[1], UNREAD, [[1], {"k": 2}], UNREAD, True]
    assert read_together(default_sandbox(), asked[3:4], LIMITS) == [UNREAD]


CUBES = {"tests": [f"assert f({n}) == {n**3}" for n in range(7)]}


def coded(program: str, **options: Any) -> Score:
    return Code(**options).score([Sample(completion=program, meta=CUBES)])[0]


@pytest.mark.parametrize(
    ("program", "most"),
    [
        ("from typing import List\ndef f(x: int) -> int:\n    return x ** 3", 1),
        ("from random import random\ndef f(x: int) -> int:\n    return x ** 3", 7),
        ("# id\nn = []\ndef f(x: int) -> int:\n    return x ** 3", 1 + 7),  # its text had to be parsed
        ('def f(x):\n    """Cube.\n\n    @x : a number,\n    """\n    return x ** 3', 1),
        ("from functools import cache\n@cache\ndef f(x):\n    return x ** 3", 7),
    ],
)
def test_tests_of_a_closed_program_share_a_child(children: list[int], program: str, most: int) -> None:
    assert coded(program).value == 1.0
    assert len(children) == most


@pytest.mark.parametrize("options", [{}, {"children": "row"}])
@pytest.mark.parametrize(
    ("completion", "value", "most"),
    [
        ("    return x ** 3", 1.0, 1),
        ("    return x ** 3\n\ndef more(", 1.0, 3),  # fails as it is, then the ways are compiled
        ("return x ** 3", 1.0, 2),
        ("    return x", 0.0, 3),
        ("    return (", 0.0, 3),
    ],
)
def test_how_a_completion_is_joined_to_its_prompt_is_found_out_only_if_it_does_not_run(
    children: list[int], completion: str, value: float, most: int, options: dict[str, Any]
) -> None:
    prompt = "def f(x):\n"
    row = {**CUBES, "prompt": prompt, "entry_point": "f"}
    [score] = Code(**options).score([Sample(prompt, completion, meta=row)])
    assert score.value == value
    assert (score.answer or "").rstrip() == prompt + ("    return x ** 3" if value else completion)
    assert len(children) <= most


COUNTED = "n = []\ndef f(x):\n    n.append(0)\n    return (len(n) - 1) ** 3"


@pytest.mark.parametrize(
    "program",
    [
        COUNTED, COUNTED.replace("[]", "[0][:0]"), "def f(x):\n    return x ** 3 if x < 6 else x",
        "def f(x):\n    return x ** 3 if x < 6 else 1 // 0", "def f(x):\n    return f(x)", "def f(x): return",
        "def f(x):\n    return 'a' * 10 ** 8", "def f(x):\n    print('a' * 10 ** 6)\n    return x ** 3",
        "def f(x) return", "def f(x):\n    return (y for y in x)", "def g(x):\n    return x ** 3", *LEAKS,
    ],
)  # fmt: skip
def test_a_program_has_the_verdict_in_company_that_it_has_alone(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = coded(program, wall_s=4.0)
    monkeypatch.setattr(python_cases, "may_be_closed", lambda code: False)
    assert found == coded(program, wall_s=4.0)


def test_tests_that_hang_in_company_are_run_alone() -> None:
    slow = "def f(x):\n    while x == 3:\n        pass\n    return x ** 3"
    found = coded(slow, wall_s=1.0, row_s=9.0, reward="fraction")
    assert found.value == 6 / 7
    assert "timeout" in found.reason


def test_a_shared_child_that_is_too_slow_takes_no_time_from_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[float] = []
    spend = Budget.spend
    monkeypatch.setattr(Budget, "spend", lambda self, seconds: spent.append(seconds) or spend(self, seconds))
    slow = "def f(x):\n    while x == 3:\n        pass\n    return x ** 3"
    coded(slow, wall_s=1.0, row_s=9.0)
    assert sum(seconds > 0.2 for seconds in spent) == 1
