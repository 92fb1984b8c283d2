import json
import pickle
import re
import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from verikit import Sample, Score, Verifier, verifier
from verikit.base import FunctionVerifier, unique_names
from verikit.errors import EngineError, UsageError
from verikit.names.spec import import_object
from verikit.platform.raised import describe
from verikit.verifiers.overlap.exact import Exact


@verifier
def has_digit(sample):
    """1.0 if there is a digit."""
    return any(c.isdigit() for c in sample.completion)


@verifier(name="style")
def _style(sample):
    return None if not sample.completion else 0.25


class Fails(Verifier):
    """Raises on the batches that hold a bad sample, and counts its calls."""

    name = "fails"

    def __init__(self, bad):
        self.bad = bad
        self._calls = 0

    def score_batch(self, samples):
        self._calls += 1
        if any(s.completion in self.bad for s in samples):
            raise RuntimeError("bad row")
        return [Score(1.0, answer=s.completion) for s in samples]


class Returns(Verifier):
    name = "returns"

    def __init__(self, make):
        self.make = make

    def score_batch(self, samples):
        return self.make(samples)


def samples(*texts):
    return [Sample(completion=t) for t in texts]


def test_a_verifier_written_for_0_2_is_refused_with_the_line_to_change():
    source = "class Old(Verifier):\n    name = 'old'\n\n    def score(self, samples):\n        return []\n"
    with pytest.raises(UsageError, match=r"mine\.py:4: Old defines score.*score_batch"):
        exec(compile(source, "mine.py", "exec"), {"Verifier": Verifier})


def test_a_mixin_cannot_replace_the_method_that_callers_use():
    class Mixin:
        def score(self, samples):
            return []

    with pytest.raises(UsageError, match="rename it to score_batch"):
        type("Mixed", (Mixin, Exact), {})


def test_the_old_name_of_score_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"verifier\.score\(samples\)"):
        assert verikit.score_all(Exact(), [Sample("?", "4", "4")])[0].value == 1.0


@given(st.integers(0, 40), st.sets(st.integers(0, 39)))
def test_a_bad_row_gets_an_error_and_every_other_row_keeps_its_score(n, bad):
    scores = Fails({str(i) for i in bad}).score(samples(*map(str, range(n))))
    assert len(scores) == n
    for i, score in enumerate(scores):
        assert score.status == ("error" if i in bad else "ok")
        assert score.scored is (i not in bad)
        assert score.answer == (None if i in bad else str(i))


def test_one_bad_row_among_a_thousand_costs_few_more_calls():
    failing = Fails({"617"})
    failing.score(samples(*map(str, range(1024))))
    assert failing._calls <= 2 * 10 + 1


@pytest.mark.parametrize(
    "make",
    [
        lambda samples: [],
        lambda samples: None,
        lambda samples: [Score(1.0)] * (len(samples) + 1),
        lambda samples: [1.0] * len(samples),
        lambda samples: (s for s in ()),
        lambda samples: [Score(float("nan"))] * len(samples),
        lambda samples: 5,
    ],
)
def test_what_is_not_one_score_per_sample_is_an_error_for_each(make):
    scores = Returns(make).score(samples("a", "b", "c"))
    assert [s.status for s in scores] == ["error"] * 3
    assert all("returns" in s.reason for s in scores)


def test_scores_may_come_as_any_sequence_even_where_the_batch_must_be_halved():
    def make(samples):
        if any(s.completion == "bad" for s in samples):
            raise RuntimeError("no")
        return tuple(Score(1.0) for _ in samples)

    scores = Returns(make).score(samples("a", "bad", "c", "d"))
    assert type(scores) is list
    assert [s.status for s in scores] == ["ok", "error", "ok", "ok"]


def test_a_fault_of_the_call_is_raised_and_not_hidden_in_a_row():
    def make(samples):
        raise UsageError("no such option")

    with pytest.raises(UsageError):
        Returns(make).score(samples("a", "b"))


def test_the_boundary_does_not_swallow_the_users_interrupt():
    def interrupted(sample):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FunctionVerifier(interrupted).score([Sample()])


def test_a_verifier_that_exits_does_not_end_the_program():
    def leaves(sample):
        raise SystemExit(0)

    assert "SystemExit: 0" in FunctionVerifier(leaves).score([Sample()])[0].reason


def test_what_a_verifier_of_ones_own_raises_is_told_by_line_with_its_traceback():
    def raises(sample):
        return json.loads("{")

    line = raises.__code__.co_firstlineno + 1
    score = (0.5 * FunctionVerifier(raises)).score([Sample(), Sample()])[1]
    (part,) = score.parts.values()
    for found in (score, part):
        assert found.reason.endswith(f"line 1 column 2 (char 1) (test_base.py:{line})")
    assert re.search(rf'^  File ".*test_base.py", line {line}, in raises\n    return json.loads\("{{"\)\n', part.text)
    assert '"json/decoder.py"' in part.text
    assert "_score_or_halve" not in part.text


def test_a_traceback_names_files_without_the_folders_of_the_machine(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rules.py").write_text("def raises(sample):\n    return 1 / 0\n")
    raises = import_object(f"{tmp_path}/mine/rules.py:raises")
    for folder, name in ((tmp_path, "mine/rules.py"), (tmp_path / "mine", "rules.py"), (Path("/usr"), "rules.py")):
        monkeypatch.chdir(folder)
        text = FunctionVerifier(raises).score([Sample()])[0].text
        assert text.startswith(f'  File "{name}", line 2, in raises\n    return 1 / 0\n')
        assert str(tmp_path) not in text


def test_an_error_that_can_not_be_printed_is_data_like_any_other():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def raises(sample):
        raise Mute

    assert FunctionVerifier(raises).score([Sample()])[0].status == "error"


def test_the_reason_is_one_short_line_with_the_hint():
    line = describe(EngineError("down\nat  noon" + "x" * 1000, hint="wait"))
    assert len(line) <= 500
    assert "\n" not in line
    assert describe(EngineError("down", hint="wait")) == "EngineError: down (wait)"


def test_none_abstains_a_bool_is_a_value_and_a_score_is_kept():
    assert has_digit("a1").value == 1.0
    assert has_digit("a").value == 0.0
    assert _style("").status == "abstained"
    assert _style("x").value == 0.25
    own = Score(0.3, reason="mine", seconds=9.0)
    assert FunctionVerifier(lambda sample: own)("x") == own
    assert FunctionVerifier(lambda sample: Score(0.3))("x").seconds is not None


def test_a_function_that_raises_or_returns_nonsense_gives_an_error():
    assert FunctionVerifier(lambda sample: 1 / 0)("x").status == "error"
    assert FunctionVerifier(lambda sample: "yes")("x").status == "error"
    assert FunctionVerifier(lambda sample: float("inf"))("x").status == "error"


def test_the_decorator_keeps_name_and_documentation():
    assert has_digit.name == has_digit.__name__ == "has_digit"
    assert has_digit.__doc__ == "1.0 if there is a digit."
    assert _style.name == "style"


def test_decorated_functions_pickle_by_name():
    assert pickle.loads(pickle.dumps(has_digit)) is has_digit
    assert pickle.loads(pickle.dumps(_style)) is _style


def longer(than):
    def check(sample):
        return len(sample.completion) > than

    return FunctionVerifier(check)


def test_functions_that_score_differently_have_different_fingerprints():
    lower, other = FunctionVerifier(lambda s: 1.0), FunctionVerifier(lambda s: 0.0)
    made = [longer(1), longer(2), has_digit, _style, lower, other]
    made += [FunctionVerifier(partial(int, base=b), "int") for b in (2, 3)]
    assert len({v.fingerprint for v in made}) == len(made)
    assert longer(1).fingerprint == longer(1).fingerprint


def test_two_defaults_are_two_fingerprints():
    def function(sample, mark=1):
        return mark

    before = FunctionVerifier(function).fingerprint
    function.__defaults__ = (2,)
    assert FunctionVerifier(function).fingerprint != before


def test_a_plain_class_has_a_fingerprint_that_shows_its_options_and_no_address():
    assert Fails({"a"}).fingerprint == Fails({"a"}).fingerprint
    assert Fails({"a"}).fingerprint != Fails({"b"}).fingerprint
    assert "0x" not in repr(Fails(set()))


def test_a_call_makes_one_sample_of_its_arguments():
    seen = []
    FunctionVerifier(lambda s: seen.append(s) or 1.0)("text", ["a", "b"], prompt="p", rm=3)
    assert seen == [Sample("p", "text", ["a", "b"], meta={"rm": 3})]


@given(st.lists(st.sampled_from(["a", "a_2", "b", "a_2_2", ""])))
def test_names_are_never_lost_nor_doubled(names):
    unique = unique_names(names)
    assert len(unique) == len(set(unique)) == len(names)
    assert all(given == made or made.startswith(f"{given}_") for given, made in zip(names, unique, strict=True))


def test_many_equal_names_are_named_in_linear_work(linear):
    linear(lambda text: unique_names(text), "a")


def test_one_verifier_serves_many_threads():
    results = {}

    def run(k):
        results[k] = has_digit.score(samples(*[str(i) if i % k else "x" for i in range(300)]))

    threads = [threading.Thread(target=run, args=(k,)) for k in (1, 2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, scores in results.items():
        assert [s.value for s in scores] == [float(bool(i % k)) for i in range(300)]


def test_only_the_three_operators_are_overloaded():
    for broken in (lambda: has_digit - has_digit, lambda: has_digit / 2, lambda: has_digit**2, lambda: has_digit + 1):
        with pytest.raises(TypeError):
            broken()
    with pytest.raises(TypeError):
        has_digit * "x"


@pytest.mark.parametrize(("gold", "right"), [(5, True), (5.0, False), ("5", True), (["6", "5"], True), (True, False)])
def test_a_gold_that_is_a_number_is_its_text(gold, right):
    assert Exact()("5", gold).passed is right
