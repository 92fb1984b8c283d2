import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest

from verikit.answers.parser import parse
from verikit.answers.tail import Tail, build
from verikit.select import clusters
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


def test_running_out_of_time_is_the_candidates_fault():
    score = Answer(tail_seconds=0.05)(r"\int_0^1 \sin(x^{x^{x}}) \ln(\tan(x^2+1))\,dx", r"\frac13")
    assert score.value == 0.0
    assert score.reason.startswith(("limit", "undecided"))


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
    child.join(20)


def test_only_the_whitelist_reaches_sympy():
    for text in (r"f(x)", r"x^{100000}", r"100000!", r"\overline{x}"):
        tree = parse(text)
        try:
            build(tree)
        except ValueError:
            continue
        assert tree.op == "apply"
    assert Tail(5)(parse("x^{100000}"), parse("x^{100001}")).outcome == "undecided"
