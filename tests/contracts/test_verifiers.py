"""PrimeIntellect verifiers: v1's `(task, trace)`, the older Rubric's arguments by name, and verifiers 0.4.0 itself."""

import asyncio
import inspect
import pickle
from types import SimpleNamespace

import pytest

from verikit import Score, verifier
from verikit.adapters import to_verifiers
from verikit.adapters.stacks import STACKS, shim
from verikit.errors import Unscored

TASK = SimpleNamespace(**STACKS["verifiers"].call["task"])


@verifier
def broken(sample):
    return Score.error("the judge is away")


@verifier
def told(sample):
    return float(sample.meta == {"level": 3} and sample.prompt == [{"role": "user", "content": "1+1?"}])


def by_name(reward, **available):
    """As both versions call: only what the signature names."""
    wanted = inspect.signature(reward).parameters
    return asyncio.run(reward(**{name: value for name, value in available.items() if name in wanted}))


def test_the_parts_of_a_score_become_metrics_of_the_trace():
    trace = SimpleNamespace(last_reply="It is 42.", metrics={"turns": 1.0})
    assert by_name(to_verifiers("0.75*answer + 0.25*boxed"), task=TASK, trace=trace) == 0.75
    assert trace.metrics == {"turns": 1.0, "part/answer": 1.0, "part/boxed": 0.0}
    with pytest.raises(Unscored):
        by_name(to_verifiers("answer + column('rm')"), task=TASK, trace=trace)
    assert (trace.metrics["part/answer"], trace.metrics["part/column"]) == (1.0, None)


def test_v1_gives_task_and_trace():
    reward = pickle.loads(pickle.dumps(to_verifiers("answer", name="right")))
    assert reward.__name__ == "right"
    assert by_name(reward, task=TASK, trace=SimpleNamespace(last_reply="It is 42."), runtime=None) == 1.0
    assert by_name(reward, task=TASK, trace=SimpleNamespace(last_reply="It is 41.")) == 0.0


def test_the_older_rubric_gives_prompt_completion_answer_state_and_info():
    state = {}
    completion = [{"role": "assistant", "content": "\\boxed{2}"}]
    prompt = [{"role": "user", "content": "1+1?"}]
    given = {"prompt": prompt, "completion": completion, "answer": "2", "state": state, "task": "default", "info": {}}
    assert by_name(to_verifiers("answer"), **given, parser=None) == 1.0
    assert state["verikit"]["answer"] == "2"
    assert by_name(to_verifiers(told), **given | {"info": {"level": 3}}) == 1.0


def test_what_has_no_score_raises_or_is_the_number_asked_for():
    trace = SimpleNamespace(last_reply="?")
    with pytest.raises(Unscored, match="the judge is away"):
        by_name(to_verifiers(broken), task=TASK, trace=trace)
    assert by_name(to_verifiers(broken, unscored=-1.0), task=TASK, trace=trace) == -1.0


@pytest.fixture
def scored(tmp_path):
    """Score one reply by verifiers' own Task, with the shim of a spec as its configured reward."""
    vf = pytest.importorskip("verifiers.v1")

    class Data(vf.TaskData):
        answer: str

    def run(spec, reply):
        path = tmp_path / "reward.py"
        path.write_text(shim("verifiers", spec))
        config = vf.TaskConfig(rewards={"verikit": {"fn": f"{path}:reward", "weight": 0.5}})
        task = vf.Task(Data(prompt="6 * 7?", answer="42"), config)
        agent = {"harness": {"id": "default"}}
        trace = vf.Trace.model_construct(
            task=SimpleNamespace(data=task.data), agent=agent, rewards={}, metrics={}, root_reply=reply, nodes=[]
        )
        return task, trace

    return run


@pytest.mark.filterwarnings("ignore")
def test_verifiers_plugs_the_shim_in_as_a_reward(scored):
    task, trace = scored("answer", "So it is 42.")
    asyncio.run(task.score(trace))
    assert trace.rewards["verikit"].score == 1.0
    assert trace.rewards["verikit"].weight == 0.5


@pytest.mark.filterwarnings("ignore")
def test_verifiers_keeps_a_failed_score_apart_from_rewards(scored):
    from verifiers.v1.errors import TaskError

    task, trace = scored("column('rm')", "So it is 42.")
    with pytest.raises(TaskError, match="Unscored"):
        asyncio.run(task.score(trace))
    assert trace.rewards["verikit"] is None
