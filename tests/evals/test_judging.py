import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import Scripted, write
from verikit.errors import UsageError
from verikit.evals.judging import JUDGE, KINDS, judge_spec
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings, build
from verikit.evals.run import run_tasks
from verikit.judges.rates.length_control import length_controlled
from verikit.names.spec import load

ROWS = [{"instruction": f"Say {n}.", "output": "word " * 20, "dataset": "tiny"} for n in range(40)]


def test_a_judge_is_an_engine_asked_in_the_tasks_own_way_or_a_whole_judge(monkeypatch):
    engine = "openai:http://localhost:1/v1#m"
    assert judge_spec("answer", engine) == "answer"
    assert judge_spec("judge:pairwise", None) is None
    assert judge_spec("judge:pairwise", "jury(a, b)") == "jury(a, b)"
    for kind in KINDS:
        load(judge_spec(f"judge:{kind}", engine))
    monkeypatch.setenv(JUDGE, engine)
    assert judge_spec("judge:reference", None) == f"reference_judge({engine!r})"


@pytest.mark.parametrize("kind", ["simpleqa", "imo_answer"])
def test_a_benchmarks_own_grader_is_never_held_to_a_verdict(kind):
    assert load(judge_spec(f"judge:{kind}", "openai:http://localhost:1/v1#m")).structured is False


def test_a_task_that_needs_a_judge_is_refused_before_anything_is_generated(tmp_path, monkeypatch):
    monkeypatch.delenv(JUDGE, raising=False)
    with pytest.raises(UsageError, match="needs a judge"):
        build("verikit_alpaca", Settings(data=write(tmp_path / "rows.jsonl", ROWS)))


class LONGER:
    """Prefers the longer answer, surely where it is much longer."""

    def __new__(cls):
        from verikit import verifier

        def judge(sample):
            gap = len(sample.completion) - len(sample.meta["opponent"])
            return 1.0 if gap > 40 else 0.0 if gap < -40 else 0.5 if not gap else 0.5 + 0.01 * gap

        return verifier(judge, name="longer")


def test_the_win_rate_at_equal_length_takes_the_length_back(tmp_path):
    engine = Scripted(lambda request: "word " * (15 + int(request.prompt[4:-1]) % 20))
    settings = Settings(data=write(tmp_path / "rows.jsonl", ROWS), judge="tests.evals.test_judging:LONGER")
    (found,) = run_tasks(["verikit_alpaca"], "m", EngineLM(engine), settings, tmp_path / "run")["tasks"].values()
    raw, controlled = found["metrics"]["win_rate"], found["metrics"]["win_rate_lc"]
    ours = [5 * (15 + n % 20) for n in range(40)]
    preferences = [LONGER()("w" * our, opponent="w" * 100).value for our in ours]
    assert raw["value"] == pytest.approx(sum(preferences) / 40)
    assert controlled["value"] == pytest.approx(length_controlled(preferences, [100] * 40, ours).value)
    assert abs(controlled["value"] - 0.5) < abs(raw["value"] - 0.5)
    assert controlled["low"] <= controlled["value"] <= controlled["high"]
