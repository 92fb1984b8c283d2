import threading
import time

import pytest

from tests.judges.genprm.reviewer import Reviewer, careful
from verikit.judges.genprm import GenPRM, Solution
from verikit.sandbox import RunResult


class Slow:
    """A sandbox whose runs take a while where the code says so."""

    workers = 4

    def __init__(self):
        self.running, self.ended = threading.Event(), threading.Event()

    def session(self, limits=None, science=True):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def run(self, code):
        if "slow" in code:
            self.running.set()
            time.sleep(0.5)
            self.ended.set()
        return RunResult("ok", stdout="1")


def solutions(count, steps=3):
    return [Solution(f"problem {k}", ("a",) * steps) for k in range(count)]


def test_the_engine_sees_few_large_calls():
    engine = Reviewer(careful(lambda *_: 0.9))
    GenPRM(engine, paths=4, sandbox=Slow()).review(solutions(8))
    assert sum(engine.calls) == 8 * 4 * 3 * 3
    assert engine.calls[:2] == [32, 32]
    assert len(engine.calls) <= 3 * 9


def test_paths_of_a_solution_stand_side_by_side_so_that_prefixes_are_shared():
    engine = Reviewer(careful(lambda *_: 0.9))
    GenPRM(engine, paths=4, sandbox=Slow()).review(solutions(5))
    asked = [request.prompt[1]["content"] for request in engine.requests[:20]]
    assert asked == sorted(asked)


def test_code_that_takes_long_holds_up_its_own_path_only():
    sandbox, during = Slow(), []

    def rule(turn, paragraph, request):
        if sandbox.running.is_set() and not sandbox.ended.is_set():
            during.append(turn)
        slow = "problem 0" in request.prompt[1]["content"] and paragraph == 1
        return careful(lambda *_: 0.9, "slow()" if slow else "print(1)")(turn, paragraph, request)

    found = GenPRM(Reviewer(rule), paths=1, sandbox=sandbox).review(solutions(8))
    assert all(review.error is None and len(review.paths[0].steps) == 3 for review in found)
    assert len(during) >= 7 * 6  # all others came to their last step meanwhile


def test_a_fault_of_the_engine_itself_ends_the_review_at_once():
    def rule(turn, paragraph, request):
        if "[Code Output]" in turn:
            raise RuntimeError("a bug")
        return careful(lambda *_: 0.9)(turn, paragraph, request)

    with pytest.raises(RuntimeError, match="a bug"):
        GenPRM(Reviewer(rule), paths=2, sandbox=Slow()).review(solutions(4))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("verikit-genprm")]
