import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit import Sample, Score, verifier
from verikit.base import FunctionVerifier, Verifier
from verikit.compose.guards import cached, length_guard, with_timeout
from verikit.engines.errors import Unreachable
from verikit.errors import UsageError
from verikit.names.spec import load
from verikit.verifiers.code.verifier import Code
from verikit.verifiers.numeric import Numeric
from verikit.verifiers.overlap.exact import Exact
from verikit.workspaces import Workspace


def counting(result=lambda sample: 1.0):
    calls = []
    return calls, FunctionVerifier(lambda sample: calls.append(sample.completion) or result(sample), "counting")


@given(st.lists(st.text(max_size=6)), st.integers(0, 5))
def test_text_over_the_cap_is_zero_and_is_never_read(texts, cap):
    calls, part = counting()
    scores = length_guard(part, cap).score([Sample(completion=t) for t in texts])
    assert calls == [t for t in texts if len(t) <= cap]
    assert [s.value for s in scores] == [float(len(t) <= cap) for t in texts]
    assert all(s.status == "ok" for s in scores)


def test_a_guard_keeps_the_errors_of_its_part():
    part = FunctionVerifier(lambda sample: None)
    assert length_guard(part, 5)("x").status == "abstained"
    assert length_guard(FunctionVerifier(lambda sample: 1 / 0), 5)("x").status == "error"


@given(st.lists(st.sampled_from("abcd")), st.integers(1, 3))
def test_a_memory_changes_no_score_and_scores_each_distinct_text_of_a_batch_once(texts, size):
    calls, part = counting(lambda sample: ord(sample.completion))
    remembering = cached(part, size)
    for _ in range(2):
        calls.clear()
        scores = remembering.score([Sample(completion=t) for t in texts])
        assert [s.value for s in scores] == [ord(t) for t in texts]
        assert len(calls) == len(set(calls))
        assert len(remembering._memory) <= size


def test_a_remembered_score_says_so_and_spends_nothing():
    calls, part = counting(lambda sample: Score(0.5, answer="x", usage={"tokens": 7}, seconds=3.0))
    remembering = cached(part)
    first, twin = remembering.score([Sample(completion="a")] * 2)
    again = remembering("a")
    assert len(calls) == 1
    assert (first.usage, first.seconds) == ({"tokens": 7}, 3.0)
    assert (twin.usage, twin.seconds) == (again.usage, again.seconds) == ({"cached": 1.0}, 0.0)
    assert first.value == twin.value == again.value


@pytest.mark.parametrize("change", ["prompt", "completion", "answer", "id", "meta"])
def test_a_memory_tells_apart_all_that_a_verifier_can_see(change):
    base = {"prompt": "p", "completion": "c", "answer": "a", "id": "1", "meta": {"k": 1}}
    other = {**base, change: {"k": 2} if change == "meta" else "other"}
    calls, part = counting()
    cached(part).score([Sample(**base), Sample(**other)])
    assert len(calls) == 2


@pytest.mark.parametrize("meta", [{"x": object()}, {1: "a", "b": 2}, {"x": {1, 2}}, {"x": b"bytes"}])
def test_a_sample_whose_meta_is_more_than_json_is_scored_each_time_and_not_confused(meta):
    calls, part = counting()
    remembering = cached(part)
    sample = Sample(completion="c", meta=meta)
    scores = remembering.score([sample, sample]) + remembering.score([sample])
    assert [s.value for s in scores] == [1.0] * 3
    assert len(calls) == 3
    assert not remembering._memory


@pytest.mark.parametrize("make", [Score.error, Score.timeout])
def test_failures_are_not_remembered(make):
    replies = iter([make("down"), Score(1.0)])
    remembering = cached(FunctionVerifier(lambda sample: next(replies)))
    assert not remembering("a").scored
    assert remembering("a").value == 1.0


def test_abstaining_is_remembered():
    calls, part = counting(lambda sample: None)
    remembering = cached(part)
    assert remembering("a").status == remembering("a").status == "abstained"
    assert len(calls) == 1


def test_a_memory_does_not_hold_the_texts():
    remembering = cached(Exact())
    remembering("x" * 1_000_000, "y")
    assert all(len(key) < 100 for key in remembering._memory)


@verifier
def slow(sample):
    threading.Event().wait(0.001)
    return float(sample.completion)


def test_a_memory_shared_by_threads_mixes_nothing_up():
    remembering, wrong = cached(slow, 5), []

    def run(shift):
        texts = [str((i + shift) % 9) for i in range(40)]
        scores = remembering.score([Sample(completion=t) for t in texts])
        wrong.extend(t for t, s in zip(texts, scores, strict=True) if s.value != float(t))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_guards_pickle_without_their_memory_and_compare_as_their_part_does():
    for guard in (cached(Numeric(), 9), length_guard(Numeric(), 9)):
        guard("1", "1")
        copy = pickle.loads(pickle.dumps(guard))
        assert (copy, hash(copy), copy.fingerprint) == (guard, hash(guard), guard.fingerprint)
        assert guard.equal("1.50", "1.5")
    assert not pickle.loads(pickle.dumps(cached(Numeric(), 9)))._memory
    assert cached(Exact()).fingerprint != cached(Numeric()).fingerprint
    assert length_guard(Exact(), 1).fingerprint != length_guard(Exact(), 2).fingerprint


def test_bad_options_are_refused():
    for make in (lambda: cached(Exact(), 0), lambda: length_guard(Exact(), -1), lambda: cached("exact")):
        with pytest.raises(UsageError):
            make()


class Slow(Verifier):
    name = "slow"

    def score_batch(self, samples):
        time.sleep(float(samples[0].completion))
        return [Score(1.0, answer="x", parts={"a": Score(0.5)}, steps=(Score(0.25),)) for _ in samples]


def test_with_timeout_gives_up_on_one_sample_and_scores_the_others():
    scores = with_timeout(Slow(), seconds=4.0).score([Sample(completion=s) for s in ("0", "60", "0.01")])
    assert [s.status for s in scores] == ["ok", "timeout", "ok"]
    assert scores[0] == Score(1.0, answer="x", parts={"a": Score(0.5)}, steps=(Score(0.25),), seconds=scores[0].seconds)


def test_with_timeout_works_in_a_thread_and_pickles():
    guarded = pickle.loads(pickle.dumps(with_timeout(Slow(), seconds=30)))
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(guarded.score, [Sample(completion="0")]).result()[0].value == 1.0


def test_with_timeout_runs_verifiers_that_a_spec_took_from_a_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import verikit\n\n\n@verikit.verifier\ndef even(sample):\n    return len(sample.completion) % 2 == 0\n"
    )
    guarded = with_timeout(0.5 * load(f"{tmp_path}/mine.py:even") + 0.5 * Exact(), seconds=30)
    assert [guarded(text, "ab").value for text in ("ab", "a", "cd")] == [1.0, 0.0, 0.5]


def test_a_deadline_below_a_verifiers_own_limits_is_refused():
    # A program that loops is 0.0 within these limits; killed before, it would have no score.
    for part in (Code(), 0.5 * Exact() + 0.5 * Code(), cached(Code())):
        with pytest.raises(UsageError, match="30 s itself, more than the deadline of 5 s"):
            with_timeout(part, 5)
        assert with_timeout(part, 31)
    assert with_timeout(Code(row_s=3), 5)


def test_with_timeout_refuses_what_no_other_process_can_load():
    with pytest.raises(UsageError, match="pickled"):
        with_timeout(Exact() >> (lambda x: x), seconds=1)


def test_a_deadline_holds_for_the_verifiers_of_a_file_and_of_a_class_in_it(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import time\n"
        "from verikit import Score, Verifier\n"
        "def slow(sample):\n    time.sleep(30 * sample.completion.startswith('slow'))\n    return 0.5\n"
        "class Mine(Verifier):\n"
        "    name = 'mine'\n"
        "    def score_batch(self, samples):\n        return [Score(0.75)] * len(samples)\n"
    )
    (tmp_path / "some.toml").write_text(
        '[verifiers]\nslow = "mine.py:slow"\nmine = "mine.py:Mine"\n'
        'safe = "with_timeout(slow, 4)"\nsafe_class = "with_timeout(mine, 60)"\n'
    )
    safe = load(f"{tmp_path}/some.toml#safe")
    first, second = safe.score([Sample(completion="quick"), Sample(completion="slow")])
    assert first.value == 0.5
    assert second.status == "timeout"
    assert load(f"{tmp_path}/some.toml#safe_class")("x").value == 0.75


class Deserted(Verifier):
    name = "deserted"

    def score_batch(self, samples):
        raise Unreachable("nobody answers at http://nowhere", hint="start it")


def test_with_timeout_tells_why_an_engine_gave_no_score():
    [score] = with_timeout(Deserted(), 60.0).score([Sample("p", "c")])
    assert score.status == "error"
    assert "nobody answers at http://nowhere" in score.reason


RUN = [
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "content": "7"},
    {"role": "assistant", "content": "Done."},
]


def test_a_cached_score_is_not_that_of_another_run_with_the_same_last_message():
    calls, part = counting(lambda sample: float(len(sample.messages) == 3))
    guarded = cached(part)
    runs = [Sample("q", RUN), Sample("q", RUN[2:]), Sample("q", RUN)]
    assert [score.value for score in guarded.score(runs)] == [1.0, 0.0, 1.0]
    assert [score.value for score in guarded.score(runs)] == [1.0, 0.0, 1.0]
    assert len(calls) == 2


def test_a_cached_score_is_not_that_of_another_workspace():
    checked = cached(load("files(exist=['a.txt'])"))
    left = [Sample("q", "Done.", workspace=Workspace({name: "1"})) for name in ("a.txt", "b.txt")]
    assert [score.value for score in checked.score(left)] == [1.0, 0.0]
    assert [score.value for score in checked.score(left[::-1])] == [0.0, 1.0]
