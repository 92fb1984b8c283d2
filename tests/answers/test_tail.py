import math
import multiprocessing
import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from verikit.answers.parser import parse
from verikit.answers.parser.tree import to_json
from verikit.answers.tail import FULL, STEPS_PER_SECOND, Tail, build
from verikit.errors import HelperTimeout
from verikit.select import clusters
from verikit.types import Sample
from verikit.verifiers import answer as answers
from verikit.verifiers.answer import Answer

PATIENT = Answer(tail_seconds=20)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        (r"\int_0^1 x\,dx", r"\frac12"), (r"\sum_{n=1}^{\infty} \frac{1}{n^2}", r"\frac{\pi^2}{6}"),
        (r"\lim_{x\to 0} \frac{\sin x}{x}", "1"), (r"\frac{d}{dx} x^3", "3x^2"), (r"\gcd(x, y)", "1"),
        (r"\operatorname{lcm}(x, y)", "xy"), (r"\int x dx", r"\frac{x^2}{2}"),
    ],
)  # fmt: skip
def test_computer_algebra_decides_what_stays_undecided(answer, gold):
    assert Answer(tail_seconds=0)(answer, gold).reason.startswith("undecided")
    score = PATIENT(answer, gold)
    assert score.value == 1.0
    assert "sympy" in score.reason


def test_computer_algebra_tells_what_is_wrong():
    assert PATIENT(r"\int_0^1 x\,dx", r"\frac13").value == 0.0


def test_running_out_of_steps_is_the_candidates_fault():
    score = Answer(tail_seconds=0.05)(r"\int_0^1 \sin(x^{x^{x}}) \ln(\tan(x^2+1))\,dx", r"\frac13")
    assert score.value == 0.0
    assert score.reason.startswith("limit: the computer algebra ran out of steps")


def undecidable(draw):
    """A sum that costs computer algebra all it is given."""
    return draw.choice([
        rf"\sum_{{k=1}}^{{{draw.randint(30, 99)}}} \frac{{\sin(k+{draw.randint(1, 99)})}}{{k^3+{draw.randint(1, 99)}}}",
        rf"\sum_{{k=1}}^{{n}} \frac{{1}}{{k^{draw.randint(3, 9)}+k+{draw.randint(1, 99)}}}",
        rf"\int_0^1 \sin(x^{{x^{{x}}}}+{draw.randint(1, 99)}) \ln(\tan(x^2+{draw.randint(1, 9)}))\,dx",
        rf"\prod_{{k=1}}^{{n}} (k^{draw.randint(3, 9)}+{draw.randint(1, 99)})",
    ])  # fmt: skip


@pytest.fixture
def granted(monkeypatch):
    """The steps that each call of computer algebra was given."""
    helper, given = answers._tail(0.05).helper, []
    ask = helper.call

    def call(target, *args, timeout):
        given.append(args[2])
        return ask(target, *args, timeout=timeout)

    monkeypatch.setattr(answers._tail(0.05), "_known", type(answers._tail(0.05)._known)())
    monkeypatch.setattr(helper, "call", call)
    return given


def test_a_group_of_undecidable_answers_shares_one_budget_and_a_right_one_among_them_is_right(granted):
    draw, verifier = random.Random(7), Answer(tail_seconds=0.05)
    right = [r"\int_0^1 x\,dx", r"\sum_{k=1}^{100} \frac{k}{10100}", r"\lim_{x\to 0} \frac{\sin x}{2x}"]
    texts = [*right, *{undecidable(draw) for _ in range(80)}]
    scores = verifier.score([Sample(completion=rf"\boxed{{{text}}}", answer=r"\frac12") for text in texts])
    assert [score.value for score in scores] == [1.0] * 3 + [0.0] * (len(texts) - 3)
    assert sum("out of steps" in score.reason for score in scores) > 40
    full = int(0.05 * STEPS_PER_SECOND)
    assert len(granted) <= len(texts)
    assert sum(granted) <= FULL * full
    again = list(reversed(texts))
    twins = verifier.score([Sample(completion=rf"\boxed{{{text}}}", answer=r"\frac12") for text in again])
    assert [score.value for score in reversed(twins)] == [score.value for score in scores]


def test_an_answer_given_many_times_is_one_pair_and_has_a_whole_budget(granted):
    samples = [Sample(completion=r"\boxed{\int_0^1 x\,dx}", answer=r"\frac12")] * 50
    assert [score.value for score in Answer(tail_seconds=0.05).score(samples)] == [1.0] * 50
    assert granted == [int(0.05 * STEPS_PER_SECOND)]


def test_a_step_that_takes_too_long_ends_its_process_and_not_the_next_answer():
    tail = Tail(0.02)
    tail.helper.call("verikit.answers.tail:within", to_json(parse("x")), to_json(parse("x")), 10**6, 1.0, timeout=60)
    with pytest.raises(HelperTimeout, match="died"):
        tail.helper.call("tests.answers.test_tail:one_long_step", 0.05, timeout=60)
    assert tail(parse(r"\int_0^1 x\,dx"), parse(r"\frac12")).outcome == "equal"


def one_long_step(cpu_s):
    """In a helper's worker: work that never comes back to Python."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + cpu_s), resource.RLIM_INFINITY))
    return pow(3, 10**9) % 2


def test_abstaining_is_an_option_for_the_undecided():
    hard = r"\int_0^1 x\,dx"
    assert Answer(tail_seconds=0)(hard, r"\frac12").value == 0.0
    assert Answer(tail_seconds=0, undecided="abstain")(hard, r"\frac12").status == "abstained"
    assert Answer(tail_seconds=0).equal(hard, r"\frac12") is None


def test_votes_are_counted_without_computer_algebra(monkeypatch):
    monkeypatch.setattr(answers, "_tail", lambda seconds: pytest.fail("sixteen answers make 120 pairs"))
    hard = [rf"\int_0^{k} e^{{-t^2}} dt" for k in range(1, 17)]
    assert clusters([*hard, r"\frac12", "0.5"], Answer().equal) == [*range(16), 16, 16]


def test_threads_share_the_tail():
    pairs = [(rf"\int_0^{k} x\,dx", rf"\frac{{{k * k}}}{{2}}") for k in range(1, 17)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda pair: PATIENT(*pair).value == 1.0, pairs))


def in_child(queue):
    queue.put(Answer(tail_seconds=20)(r"\int_0^1 x\,dx", r"\frac12").value)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_daemonic_process_has_a_tail_of_its_own(method):
    PATIENT(r"\int_0^1 x\,dx", r"\frac12")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,), daemon=True)
    child.start()
    assert queue.get(timeout=90) == 1.0
    child.join(60)


def test_only_the_whitelist_reaches_sympy():
    for text in (r"f(x)", r"x^{100000}", r"100000!", r"\overline{x}"):
        tree = parse(text)
        try:
            build(tree)
        except ValueError:
            continue
        assert tree.op == "apply"
    assert Tail(5)(parse("x^{100000}"), parse("x^{100001}")).outcome == "undecided"
