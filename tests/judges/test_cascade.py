"""Judges in a cascade: who is asked, what is not clear, what it costs, and limits fitted from labels."""

import json
import random
from dataclasses import dataclass, field

import pytest
from click.testing import CliRunner

import verikit
from tests.judges.scripted import Scripted, better
from verikit import Sample, Score, Verifier
from verikit.cli import cli
from verikit.errors import ConfigError
from verikit.judges import Pair, Pairwise
from verikit.judges.calibration.limits import fit_limits
from verikit.judges.calibration.verdicts import RunVerdicts
from verikit.judges.match.labels import Label


@dataclass
class Fixed(Verifier):
    """Gives the number in the completion, or what it is told, at a price."""

    says: object = None
    price: float = 1.0
    name: str = "fixed"
    bounds: tuple = (0.0, 1.0)
    seen: list = field(default_factory=list)

    def score_batch(self, samples):
        self.seen += [sample.completion for sample in samples]
        return [self._said(sample) for sample in samples]

    def _said(self, sample):
        said = float(sample.completion) if self.says is None else self.says
        usage = {"calls": 1.0, "prompt_tokens": 10.0, "cost": self.price}
        if isinstance(said, str):
            return Score.error(said, usage=usage)
        return Score(said, usage=usage)


def texts(*values):
    return [Sample("?", str(value)) for value in values]


def test_only_verdicts_that_are_not_clear_are_passed_on_and_each_judges_cost_is_told():
    cheap, dear = Fixed(price=0.01), Fixed(1.0, price=2.0, name="dear")
    scores = verikit.cascade(cheap, dear, until=0.9).score(texts(0.0, 0.1, 0.11, 0.5, 0.89, 0.9, 1.0))
    assert dear.seen == ["0.11", "0.5", "0.89"]
    assert [score.value for score in scores] == [0.0, 0.1, 1.0, 1.0, 1.0, 0.9, 1.0]
    passed = scores[2].usage
    assert (passed["cost"], passed["fixed cost"], passed["dear cost"]) == (2.01, 0.01, 2.0)
    assert passed["decided_by_dear"] == 1
    assert list(scores[2].parts) == ["fixed", "dear"]
    assert "dear cost" not in scores[0].usage


@pytest.mark.parametrize(
    ("until", "passed"),
    [([0.2, None], ["0.3", "1.0"]), ([None, 0.7], ["0.0", "0.3"]), ([None, None], ["0.0", "0.3", "1.0"])],
)
def test_a_side_without_a_limit_is_never_clear(until, passed):
    dear = Fixed(1.0)
    verikit.cascade(Fixed(), dear, until=until).score(texts(0.0, 0.3, 1.0))
    assert dear.seen == passed


def test_each_judge_before_the_last_may_have_its_own_limits():
    middle, last = Fixed(name="middle"), Fixed(0.5, name="last")
    judges = verikit.cascade(Fixed(), middle, last, until=[[0.1, 0.9], [0.3, 0.7]])
    assert [score.value for score in judges.score(texts(0.05, 0.2, 0.6))] == [0.05, 0.2, 0.5]
    assert (middle.seen, last.seen) == (["0.2", "0.6"], ["0.6"])


def test_a_judge_without_a_verdict_passes_on_and_the_last_ones_failure_is_no_zero():
    assert verikit.cascade(Fixed("down"), Fixed(1.0), until=0.9)("x").value == 1.0
    lost = verikit.cascade(Fixed(0.5), Fixed("down"), until=0.9)("x")
    assert (lost.value, lost.status) == (None, "error")
    assert "down" in lost.reason


def test_pairs_that_the_cheap_judge_ties_are_compared_by_the_next():
    torn, fair = Scripted(lambda _: "[[A]]"), Scripted(better("good", "bad"))
    judges = verikit.cascade(Pairwise(torn), Pairwise(fair), until=0.9)
    (said,) = judges.compare([Pair("good", "bad", "?")])
    assert (said.preference, len(said.orders)) == (1.0, 4)
    sure = Scripted(better("good", "bad"))
    (said,) = verikit.cascade(Pairwise(sure), Pairwise(torn), until=0.9).compare([Pair("bad", "good", "?")])
    assert said.preference == 0.0
    assert said.usage["pairwise calls"] == 2


def test_a_pair_of_answers_is_passed_on_by_scores_if_all_judges_rate():
    dear = Fixed(0.3, name="dear")
    judges = verikit.cascade(Fixed(), dear, until=0.9)
    near, far = judges.compare([Pair("0.51", "0.50", "?"), Pair("0.95", "0.05", "?")])
    assert dear.seen == ["0.51", "0.50"]
    assert (near.preference, far.preference) == (0.5, 1.0)
    assert near.usage["decided_by_dear"] == far.usage["decided_by_fixed"] == 2


def test_a_cascade_has_the_range_of_all_its_judges():
    judges = [Fixed(bounds=bounds) for bounds in ((0.0, 1.0), (-2.0, 0.5), (0.0, 3.0))]
    assert verikit.cascade(*judges, until=0.9).bounds == (-2.0, 3.0)


@pytest.mark.parametrize("until", [[0.9, 0.95], [0.5, None]])
def test_a_number_for_each_judge_is_not_read_as_a_pair(until):
    with pytest.raises(ConfigError, match="is one pair") as caught:
        verikit.cascade(Fixed(), Fixed(), Fixed(), until=until)
    assert "[[0.1, 0.9], [0.05, 0.95]]" in str(caught.value.hint)


def test_a_cascade_in_a_cascade_is_refused():
    inner = verikit.cascade(Fixed(), Fixed(), until=0.9)
    with pytest.raises(ConfigError, match="can't be a judge of a cascade"):
        verikit.cascade(inner, Fixed(), until=0.9)


@pytest.mark.parametrize(
    "until",
    [0.5, 1.1, -1, True, None, "0.9", [], [0.9, 0.1], [0.5, 0.5], [0.1], [float("nan"), 1], [[0.1, 0.9], [0.1, 0.9]]],
)
def test_limits_that_do_not_fit_are_refused(until):
    with pytest.raises(ConfigError, match="until"):
        verikit.cascade(Fixed(), Fixed(), until=until)


def test_a_cascade_of_one_judge_is_refused():
    with pytest.raises(ConfigError, match="two judges"):
        verikit.cascade(Fixed(), until=0.9)


def run(values, seed=0):
    """A run of a judge whose value is the chance that it is right to accept, and labels drawn by it."""
    rng = random.Random(seed)
    raw = {(f"p{i}", 0): value for i, value in enumerate(values)}
    made = RunVerdicts("score", {key: float(value >= 0.5) for key, value in raw.items()}, raw)
    return made, {key: Label(float(rng.random() < value)) for key, value in raw.items()}


def test_limits_are_fitted_by_side_and_only_as_wide_as_the_labels_prove():
    rng = random.Random(1)
    made, labels = run(
        [rng.choice([rng.uniform(0, 0.02), rng.uniform(0.3, 0.7), rng.uniform(0.7, 0.9)]) for _ in range(900)]
    )
    found = fit_limits(made, labels, 0.9)
    assert found.high is None  # of the verdicts of .5 and more, at most 9 in 10 are right
    beyond = [key for key, value in made.raw.items() if value <= found.low.limit]
    assert found.low.agreement.low >= 0.9
    assert found.until == [found.low.limit, None]
    assert found.low.agreement.value == sum(labels[key].value == 0 for key in beyond) / len(beyond)
    assert found.clear == found.low.labels == len(beyond)
    few = dict(list(labels.items())[:20])
    assert fit_limits(made, few, 0.9).until == [None, None]
    made.without.add(("lost", 0))
    assert fit_limits(made, few, 0.9).of == 901


def test_several_limits_that_are_tried_need_more_labels_than_one():
    def fitted(values):
        raw = {(f"p{i}", 0): value for i, value in enumerate(values)}
        run = RunVerdicts("score", dict.fromkeys(raw, 0.0), raw)
        return fit_limits(run, dict.fromkeys(raw, Label(0.0)), 0.95).low

    assert fitted([0.1] * 70) is not None
    assert fitted([i / 1000 for i in range(70)]) is None
    assert fitted([i / 1000 for i in range(120)]).limit == 0.119


def test_a_limit_is_never_among_equal_values():
    raw = {(f"p{i}", 0): 0.1 if i < 200 else 0.2 for i in range(400)}
    labels = {key: Label(float(i >= 300)) for i, key in enumerate(raw)}
    low = fit_limits(RunVerdicts("score", dict.fromkeys(raw, 0.0), raw), labels, 0.9).low
    assert (low.limit, low.labels) == (0.1, 200)


def test_candidates_of_one_prompt_prove_no_more_than_one():
    raw = {("p", i): 1.0 for i in range(500)}
    made = RunVerdicts("score", dict(raw), raw)
    assert fit_limits(made, {key: Label(1.0) for key in raw}, 0.9).high is None


def test_ties_of_a_comparison_are_on_no_side():
    raw = {(f"p{i}", 0): 0.5 for i in range(500)}
    made = RunVerdicts("judge", dict(raw), raw)
    assert fit_limits(made, {key: Label(0.5) for key in raw}, 0.9).until == [None, None]


def test_the_command_fits_limits_and_the_summary_counts_each_judge(tmp_path):
    rows = [
        {"id": f"p{i}", "prompt": "?", "answer": "", "completions": [{"text": "x", "rm": i / 300}]} for i in range(300)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = [{"id": f"p{i}", "label": int(i >= 150)} for i in range(300)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    invoke = CliRunner().invoke
    for spec, name in (("column('rm')", "cheap"), ("cascade(column('rm'), exact, until=[0.2, 0.8])", "both")):
        words = ["score", str(tmp_path / "rows.jsonl"), "-v", spec, "-o", str(tmp_path / name), "-q"]
        assert invoke(cli, words, standalone_mode=False).exception is None
    words = ["calibrate", str(tmp_path / "cheap"), "--labels", str(tmp_path / "labels.jsonl"), "--until", "95%"]
    told = invoke(cli, words, standalone_mode=False).output
    assert "cascade(THIS JUDGE, …, until=[" in told
    found = json.loads(invoke(cli, [*words, "--json"], standalone_mode=False).output)["limits"]
    assert found["until"] == [found["low"]["limit"], found["high"]["limit"]]
    assert found["low"]["limit"] < 0.5 <= found["high"]["limit"]
    summary = json.loads((tmp_path / "both" / "summary.json").read_text())
    assert summary["tallied"] == {"decided_by_column": 121, "decided_by_exact": 179}


def test_the_summary_has_the_spending_of_each_judge():
    from verikit.scoring.plan import ScoringPlan
    from verikit.scoring.tally import Tally

    judges = verikit.cascade(Fixed(price=0.01), Fixed(1.0, price=2.0, name="dear"), until=0.9)
    tally = Tally(ScoringPlan(verifier="cascade"), judges)
    tally.add(judges.score(texts(0.0, 0.5)), None, None)
    summary = tally.summary()
    assert summary["usage"] == {"calls": 3, "prompt_tokens": 30, "cost": 2.02}
    assert summary["usage_by"] == {
        "fixed": {"calls": 2, "prompt_tokens": 20, "cost": 0.02},
        "dear": {"calls": 1, "prompt_tokens": 10, "cost": 2.0},
    }
