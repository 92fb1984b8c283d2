"""The sum rules and the blame rule, each against a plain statement of it, on arbitrary parts."""

import math
import operator
import pickle
import re
from dataclasses import dataclass
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit import PASS_MARK, Sample, Score, Verifier, load
from verikit.compose.choose import by, first_of, gate
from verikit.compose.combine import Clip, all_of, clip, majority, maximum, mean, minimum
from verikit.errors import UsageError
from verikit.verifiers.column import Column
from verikit.verifiers.numeric import Numeric
from verikit.verifiers.overlap.exact import Exact
from verikit.verifiers.style.length import Length
from verikit.verifiers.tags import Tags

UNSCORED = ("timeout", "error")
values = st.floats(-1e6, 1e6)


@dataclass(frozen=True)
class Fixed(Verifier):
    """Gives one score and counts the samples it saw."""

    result: Score
    name: str = "fixed"

    def score_batch(self, samples):
        SEEN.append((self.name, len(samples)))
        return [self.result] * len(samples)


SEEN = []


def score_of(status, answer, value):
    value = value if status == "ok" else None
    return Score(value, status, answer=answer, reason=f"why {status}", usage={"tokens": 2}, seconds=0.5)


statuses = st.sampled_from(["ok", "ok", "ok", "abstained", "timeout", "error"])
scores = st.builds(score_of, statuses, st.sampled_from([None, *"xyz"]), values)
parts = st.lists(scores, min_size=1, max_size=6)
names = st.sampled_from(["a", "b", "a_2"])


def fixed(results, names=None):
    return [Fixed(r, n) for r, n in zip(results, names or [f"v{i}" for i in range(len(results))], strict=True)]


def live(results):
    return [r.value for r in results if r.status == "ok"]


def weighted_sum(vs, weights=None):
    weights = weights or [1.0] * len(vs)
    return reduce(operator.add, (w * v for w, v in zip(weights, vs, strict=True)))


RULES = {
    mean: lambda vs: sum(vs) / len(vs),
    minimum: min,
    maximum: max,
    all_of: lambda vs: float(min(vs) >= PASS_MARK),
    majority: lambda vs: float(sum(v >= PASS_MARK for v in vs) > sum(v < PASS_MARK for v in vs)),
    lambda *vs: weighted_sum(vs): sum,
}


@pytest.mark.parametrize("rule", RULES, ids=["mean", "minimum", "maximum", "all_of", "majority", "sum"])
@given(results=parts)
def test_each_rule_is_its_definition_over_the_parts_that_did_not_abstain(rule, results):
    score = rule(*fixed(results))("text")
    failed = [r.status for r in results if r.status in UNSCORED]
    if failed:
        assert (score.value, score.status) == (None, failed[0])
    elif not live(results):
        assert score.status == "abstained"
    else:
        assert score.value == pytest.approx(RULES[rule](live(results)), rel=1e-12, abs=1e-9)
    assert list(score.parts.values()) == results
    assert score.usage == {"tokens": 2 * len(results)}
    assert score.seconds == 0.5 * len(results)


@given(parts, st.data())
def test_weights_multiply_and_are_not_renormalised_when_a_part_abstains(results, data):
    weights = data.draw(st.lists(st.floats(-10, 10), min_size=len(results), max_size=len(results)))
    score = weighted_sum(fixed(results), weights)("text")
    if any(r.status in UNSCORED for r in results) or not live(results):
        assert score.value is None
    else:
        expected = math.fsum(w * r.value for w, r in zip(weights, results, strict=True) if r.scored)
        assert score.value == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_an_abstained_term_leaves_the_others_at_their_weight():
    sure, gone = Fixed(Score(1.0)), Fixed(Score.abstained("n/a"))
    assert (0.8 * sure + 0.2 * gone)("x").value == pytest.approx(0.8)
    assert mean(sure, gone)("x").value == 1.0


@given(parts, st.data())
def test_equal_names_get_a_suffix_and_every_part_is_kept(results, data):
    given_names = data.draw(st.lists(names, min_size=len(results), max_size=len(results)))
    score = mean(*fixed(results, given_names))("text")
    assert list(score.parts.values()) == results
    assert len(score.parts) == len(results)


@given(parts)
def test_first_of_moves_on_at_abstain_only(results):
    SEEN.clear()
    score = first_of(*fixed(results))("text")
    reached = next((i for i, r in enumerate(results) if r.status != "abstained"), len(results) - 1)
    assert (score.value, score.status) == (results[reached].value, results[reached].status)
    assert list(score.parts.values()) == results[: reached + 1]
    assert [n for name, n in SEEN] == [1] * (reached + 1) + [0] * (len(results) - reached - 1)


@given(scores, scores, scores)
def test_a_gate_runs_the_branch_taken_and_keeps_what_failed(cond, then, otherwise):
    SEEN.clear()
    score = gate(Fixed(cond, "cond"), Fixed(then, "then"), Fixed(otherwise, "otherwise"))("text")
    if cond.status != "ok":
        assert (score.value, score.status) == (None, cond.status)
        assert score.parts == {"cond": cond}
    else:
        taken = then if cond.value >= PASS_MARK else otherwise
        assert (score.value, score.status) == (taken.value, taken.status)
        assert score.parts == {"cond": cond, "then" if taken is then else "otherwise": taken} or then == otherwise
        assert sum(n for _, n in SEEN) == 2


def test_gates_and_first_of_send_each_sample_of_a_batch_its_own_way():
    v = gate(Length(min=2), then=first_of(Column("rm"), 0.5), otherwise=-1)
    batch = [Sample(completion=t, meta={"rm": m}) for t, m in [("ab", 3), ("a", 3), ("ab", None), ("", 1), ("abc", 4)]]
    assert [s.value for s in v.score(batch)] == [3, -1, 0.5, -1, 4]


@given(values, values, values)
def test_clip_keeps_within_bounds_and_keeps_what_has_no_value(value, a, b):
    low, high = min(a, b), max(a, b)
    assert clip(Fixed(Score(value)), low, high)("x").value == sorted([low, value, high])[1]
    assert clip(Fixed(Score.error("x")), low, high)("x").status == "error"


def test_a_mapped_value_goes_through_the_function_and_a_failing_function_is_no_zero():
    v = Fixed(Score(4.0, answer="4"))
    assert (v >> math.sqrt)("x").value == 2.0
    assert (v >> math.sqrt)("x").answer == "4"
    assert (Fixed(Score(-1.0)) >> math.sqrt)("x").status == "error"
    assert (v >> (lambda x: float("nan")))("x").status == "error"


@given(st.sampled_from(["a", "b", "c", 1, None]), scores, scores, st.none() | scores)
def test_by_uses_the_verifier_that_the_row_names(task, a, b, default):
    v = by("task", {"a": Fixed(a), 1: Fixed(b)}, None if default is None else Fixed(default))
    score = v("text", task=task)
    expected = {"a": a, 1: b}.get(task, default)
    if expected is None:
        assert score.status == "error"
        assert "verifier for task" in score.reason
    else:
        assert score == expected


def test_by_keeps_the_order_of_the_batch():
    v = by("k", {"x": Column("n") * 10, "y": Column("n")})
    batch = [Sample(meta={"k": "xy"[i % 2], "n": i}) for i in range(7)]
    assert [s.value for s in v.score(batch)] == [0, 1, 20, 3, 40, 5, 60]


@pytest.mark.parametrize("make", [mean, minimum, maximum, all_of, majority, first_of])
def test_a_rule_over_nothing_is_refused(make):
    with pytest.raises(UsageError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda v: float("nan") * v,
        lambda v: float("inf") * v,
        lambda v: v * 10**400,
        lambda v: True * v,
        lambda v: 1e200 * (1e200 * v),
        lambda v: mean(v, float("nan")),
        lambda v: mean(v, 10**400),
        lambda v: mean(v, "exact"),
        lambda v: mean([v]),
        lambda v: gate("exact", v),
        lambda v: clip(v, 1, 0),
        lambda v: clip(v, float("nan"), 1),
        lambda v: by("k", {}),
        lambda v: by("k", {1: v, "1": v}),
    ],
)
def test_what_could_only_fail_later_is_refused_when_it_is_made(make):
    with pytest.raises(UsageError):
        make(Exact())


def test_the_extracted_answer_is_that_of_the_part_that_weighs_most():
    text = "<think>hm</think><answer>The answer is 72</answer>"
    reward = 0.1 * Tags("think", "answer") + 0.9 * Numeric()
    assert reward(text, "72").answer == "72"
    assert (0.9 * Numeric() + 0.1 * Length())(text, "72").answer == "72"


def test_equality_comes_from_the_part_that_has_a_view_of_it():
    for v in (
        0.1 * Length() + 0.9 * Numeric(),
        0.9 * Numeric() + 0.1 * Length(),
        mean(Length(), Numeric()),
        first_of(Length(), Numeric()),
        clip(0.1 * Length() + Numeric()),
        gate(Length(), Numeric()),
        by("k", {"a": Numeric(), "b": Numeric()}),
    ):
        assert v.equal("1.50", "1.5") is True
        assert v.equal("1", "2") is False
    undecided = by("k", {"a": Numeric(), "b": Exact()})
    assert undecided.equal("1.50", "1.5") is None
    assert undecided.equal("1", "2") is False


@given(st.text(max_size=5), st.text(max_size=5))
def test_equality_is_symmetric(a, b):
    for v in (0.1 * Length() + 0.9 * Numeric(), first_of(Exact("squad"), Numeric()), by("k", {"a": Numeric()})):
        assert v.equal(a, b) == v.equal(b, a)
        assert v.equal(a, a) is True


def all_kinds():
    a, b = Exact(), Numeric()
    return [
        a,
        2 * a,
        a + b,
        b + a,
        a + 2 * b,
        mean(a, b),
        minimum(a, b),
        maximum(a, b),
        all_of(a, b),
        majority(a, b),
        first_of(a, b),
        first_of(b, a),
        gate(a, b),
        gate(a, b, 0.5),
        gate(b, a),
        clip(a),
        clip(a, -1, 1),
        by("k", {"x": a}),
        by("k", {"x": b}),
        by("j", {"x": a}),
        by("k", {"x": a}, b),
        (a + b) >> Clip(0, 1),
        a + (b >> Clip(0, 1)),
        mean(a, 0.5),
        mean(a, 0.25),
    ]


def test_what_scores_differently_has_another_fingerprint():
    assert len({v.fingerprint for v in all_kinds()}) == len(all_kinds())
    assert [v.fingerprint for v in all_kinds()] == [v.fingerprint for v in all_kinds()]


def test_lambdas_on_one_line_have_each_their_fingerprint():
    a, b = Exact() >> (lambda x: x + 1), Exact() >> (lambda x: x + 2)
    assert a.fingerprint != b.fingerprint


@pytest.mark.parametrize("verifier", all_kinds(), ids=repr)
def test_every_combinator_pickles_and_hashes_and_scores_the_same_afterwards(verifier):
    copy = pickle.loads(pickle.dumps(verifier))
    assert (copy, hash(copy), copy.fingerprint) == (verifier, hash(verifier), verifier.fingerprint)
    assert copy("7", "7", k="x") == verifier("7", "7", k="x")


def test_sums_flatten_and_weights_multiply_out():
    a, b = Exact(), Numeric()
    assert 0.5 * (a + 2 * b) == 0.5 * a + 1.0 * b
    assert a + (b + a) == (a + b) + a


def test_a_class_or_a_spec_in_the_place_of_a_verifier_is_told_what_to_write():
    for part, hint in ((Exact, r"Exact\(\)"), ("exact", r"verikit.load\('exact'\)"), (print, "@verifier")):
        with pytest.raises(UsageError) as caught:
            mean(part)
        assert re.search(hint, caught.value.hint)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("answer", (0, 1)),
        ("answer + soft_overlong(24, 8)", (-1, 1)),
        ("0.8*answer + 0.2*tags('think', 'answer')", (0, 1)),
        ("answer + -0.5*refusal", (-0.5, 1)),
        ("answer + 0*rm('openai:http://localhost:1#m')", (0, 1)),
        ("answer + rm('openai:http://localhost:1#m')", (-math.inf, math.inf)),
        ("answer + rm('openai:http://localhost:1#m', activation='sigmoid')", (0, 2)),
        ("mean(soft_overlong, exact)", (-1, 1)),
        ("all_of(soft_overlong, exact)", (0, 1)),
        ("repetition(penalty=-0.3)", (-0.3, 0)),
        ("length_guard(2*exact, 100)", (0, 2)),
        ("length_guard(exact + -1*refusal, 100)", (-1, 1)),
        ("gate(soft_overlong, exact, -1)", (-1, 1)),
        ("first_of(answer, 3*exact)", (0, 3)),
        ("by('task', {'a': exact, 'b': -1*exact}, default=2*exact)", (-1, 2)),
        ("clip(exact + soft_overlong, -0.5, 0.5)", (-0.5, 0.5)),
        ("cosine_length(exact, exceeded=-2)", (-2, 1)),
        ("turns(exact + -1*refusal)", (-1, 1)),
    ],
)
def test_the_bounds_of_a_spec_follow_from_its_parts(spec, expected):
    assert load(spec).bounds == pytest.approx(expected)


def test_every_value_of_a_sum_lies_within_its_bounds():
    verifier = load("0.7*exact + 0.3*soft_overlong(8, 4, unit='chars') + -0.2*repetition(n=1)")
    low, high = verifier.bounds
    texts = ["4", "a a a", "long " * 20, "", "44444"]
    values = [float(score) for score in verifier.score([Sample("", text, "4") for text in texts])]
    assert all(low <= value <= high for value in values)
    assert min(values) < 0 < max(values)
