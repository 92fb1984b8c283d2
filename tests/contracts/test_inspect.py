"""Inspect's scorer interface, run by Inspect itself on a model that says what it is told to."""

import pickle

import pytest

from verikit import Score, verifier
from verikit.adapters import to_inspect
from verikit.adapters.stacks import shim
from verikit.errors import MissingExtra


@verifier
def shaky(sample):
    return Score.error("the judge is away") if sample.meta.get("lost") else Score(1.0, answer="42")


def test_without_inspect_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.scorer", None)
    with pytest.raises(MissingExtra, match="'inspect'"):
        to_inspect("answer")


@pytest.mark.filterwarnings("ignore")
class TestInInspect:
    @pytest.fixture
    def run(self, tmp_path):
        inspect_ai = pytest.importorskip("inspect_ai")
        from inspect_ai.dataset import Sample
        from inspect_ai.model import ModelOutput
        from inspect_ai.solver import solver

        @solver
        def saying(replies):
            async def solve(state, generate):
                state.output = ModelOutput.from_content("none", replies[int(state.sample_id) - 1])
                return state

            return solve

        def run(scorer, replies, lost=(False, False)):
            samples = [Sample(input="6 * 7?", target=["42"], metadata={"lost": flag}) for flag in lost]
            task = inspect_ai.Task(dataset=samples, solver=saying(replies), scorer=scorer)
            [log] = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
            assert log.status == "success", log.error
            return log

        return run

    def test_its_mean_is_the_verifiers_and_its_log_says_what_was_extracted(self, run, tmp_path):
        path = tmp_path / "reward.py"
        path.write_text(shim("inspect", "0.9*answer + 0.1*boxed"))
        scope = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        log = run(scope["verified"], ["\\boxed{42}", "It is 41."])
        [result] = log.results.scores
        assert result.metrics["mean"].value == pytest.approx(0.5)
        [score] = log.samples[0].scores.values()
        assert score.answer == "42"
        assert set(score.metadata["parts"]) == {"answer", "boxed"}

    def test_what_has_no_score_is_inspects_own_unscored_and_leaves_the_mean(self, run):
        log = run(to_inspect(shaky), ["a", "b"], lost=[True, False])
        [result] = log.results.scores
        assert result.metrics["mean"].value == 1.0
        assert result.unscored_samples == 1

    def test_a_pickled_scorer_scores_under_its_name(self, run):
        log = run(pickle.loads(pickle.dumps(to_inspect("answer", name="mine"))), ["\\boxed{42}", "It is 41."])
        [result] = log.results.scores
        assert result.name == "mine"
        assert result.metrics["mean"].value == pytest.approx(0.5)
