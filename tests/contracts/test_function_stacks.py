"""The calls of stacks that take a function: each stack's own code where it is installed, and what it does, restated."""

import asyncio
import importlib.util
import pickle
import sys
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType, SimpleNamespace

import pytest

from verikit import Score, verifier
from verikit.adapters import to_areal, to_forge, to_open_instruct, to_rllm, to_slime, to_swift, to_tinker
from verikit.adapters.stacks import STACKS, shim
from verikit.errors import Unscored


@verifier
def shaky(sample):
    if "lost" in sample.completion:
        return Score.error("the judge is down")
    return float("right" in sample.completion and sample.answer == "42" and sample.prompt != "")


# --- slime: slime/rollout/rm_hub/__init__.py and slime/utils/types.py


@dataclass
class SlimeSample:
    """The fields of slime's Sample that a reward sees."""

    group_index: int | None = None
    prompt: str = ""
    response: str = ""
    label: str | None = None
    reward: float | None = None
    remove_sample: bool = False
    metadata: dict = field(default_factory=dict)
    loss_mask: list | None = None
    response_length: int = 3


def slime_rollout(rm, group, group_rm):
    """`generate_and_rm_group`, then what `_convert_samples_to_train_data` makes of it: rewards and loss masks."""

    async def rollout():
        args = SimpleNamespace(custom_rm_path="reward.rm", reward_key=None)
        if group_rm:
            for sample, reward in zip(group, await rm(args, group), strict=False):
                sample.reward = reward
        else:

            async def generate_and_rm(sample):
                sample.reward = await rm(args, sample)

            await asyncio.gather(*map(generate_and_rm, group))

    asyncio.run(rollout())
    for sample in group:
        sample.loss_mask = [int(not sample.remove_sample)] * sample.response_length
    return [sample.reward for sample in group], [sum(sample.loss_mask) for sample in group]


def slime_group(*responses):
    return [SlimeSample(0, "6 * 7?", f"{text}<|im_end|>", "42") for text in responses]


def test_slime_gets_a_samples_reward_and_a_groups_list():
    rm = pickle.loads(pickle.dumps(to_slime("answer")))
    call = STACKS["slime"].call
    assert asyncio.run(rm(None, SlimeSample(**call["sample"]))) == 1.0
    for group_rm in (False, True):
        assert slime_rollout(rm, slime_group("\\boxed{42}", "\\boxed{41}"), group_rm) == ([1.0, 0.0], [3, 3])


def test_slime_takes_a_sample_without_a_score_out_of_the_loss_and_leaves_the_groups_mean():
    group = slime_group("right", "wrong", "lost", "right")
    rewards, tokens = slime_rollout(to_slime(shaky), group, group_rm=True)
    assert rewards == [1.0, 0.0, pytest.approx(2 / 3), 1.0]
    assert tokens == [3, 3, 0, 3]
    assert "the judge is down" in group[2].metadata["unscored"]
    assert not group[0].metadata


# --- ms-swift: swift/rl_core/grpo_algorithm.py, compute_rewards_per_func


def swift_rewards(reward, rows):
    """The call and what ms-swift's weighted sum makes of its values: None becomes NaN, and nansum makes that 0."""
    completions = [row["messages"][-1]["content"] for row in rows]
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    values = reward(completions, trainer_state=object(), **columns)
    return [0.0 if value is None else value for value in values]


def swift_row(text):
    turns = [{"role": "user", "content": "6 * 7?"}, {"role": "assistant", "content": text}]
    return {"messages": turns, "prompt_id": "p", "finish_reason": "stop", "rollout_infos": {}, "solution": "42"}


def test_swift_calls_with_completions_by_position_and_columns():
    call = dict(STACKS["ms-swift"].call)
    reward = pickle.loads(pickle.dumps(to_swift("answer", name="good")))
    assert reward(call.pop("completions"), **call) == [1.0, 0.0]
    assert type(reward).__name__ == reward.__name__ == "good"  # ms-swift logs an object under its class


def test_swift_gets_the_groups_mean_where_none_would_count_zero():
    rows = list(map(swift_row, ("right", "wrong", "lost")))
    assert swift_rewards(to_swift(shaky), rows) == [1.0, 0.0, 0.5]
    assert to_swift(shaky, unscored=None)(["lost"], messages=[rows[2]["messages"]], solution=["42"]) == [None]


def test_the_shim_for_swift_registers_an_orm_that_swift_makes(monkeypatch):
    orms = {}
    rewards = ModuleType("swift.rewards")
    rewards.orms = orms
    monkeypatch.setitem(sys.modules, "swift", ModuleType("swift"))
    monkeypatch.setitem(sys.modules, "swift.rewards", rewards)
    exec(shim("ms-swift", "answer"), {})
    reward = orms["verikit"](args=SimpleNamespace())
    assert swift_rewards(reward, [swift_row("\\boxed{42}")]) == [1.0]


@pytest.mark.filterwarnings("ignore")
def test_swift_itself_scores_and_its_advantage_of_a_lost_sample_is_zero():
    algorithm = pytest.importorskip("swift.rl_core.grpo_algorithm")
    import torch
    from swift.rl_core.advantage import compute_advantages
    from swift.rl_core.data import GRPOSample

    def sample(text):
        row = swift_row(text)
        return GRPOSample(messages=row["messages"], extra={"solution": "42"})

    samples = list(map(sample, ("right", "wrong", "lost", "right")))
    rewards = algorithm.compute_rewards_per_func(samples, [to_swift(shaky)], None, torch.device("cpu"))
    assert rewards[:, 0].tolist() == pytest.approx([1.0, 0.0, 2 / 3, 1.0])
    advantages, _ = compute_advantages(rewards, torch.ones(1), 4)
    assert advantages[2].item() == pytest.approx(0.0, abs=1e-6)


# --- AReaL: areal/api/reward_api.py, AsyncRewardWrapper


def areal_wrapped(reward, *args, **data):
    """The wrapper's tries, after pickling; the last exception is the trajectory's, which is rejected then."""
    for attempt in range(4):
        call = pickle.loads(pickle.dumps(partial(reward, *args, **data)))
        try:
            return call()
        except Exception:
            if attempt == 3:
                raise
    raise AssertionError


def test_areal_calls_with_texts_ids_and_the_rows_fields():
    call = STACKS["areal"].call
    assert areal_wrapped(to_areal("answer"), **call) == 1.0
    assert areal_wrapped(to_areal("answer"), "q", "\\boxed{41}<|im_end|>", [1], [2], answer="42", messages=[]) == 0.0


def test_areal_rejects_what_has_no_score_instead_of_counting_zero():
    with pytest.raises(Unscored, match="gold"):
        areal_wrapped(to_areal("answer"), "q", "\\boxed{41}", [1], [2])
    assert areal_wrapped(to_areal("answer", unscored=-1.0), "q", "\\boxed{41}", [1], [2]) == -1.0


def areal_api(monkeypatch):
    """The module `areal.api.reward_api` alone: the package's own imports want ray and a GPU's libraries."""
    found = importlib.util.find_spec("areal")
    if found is None:
        pytest.skip("AReaL is not installed")
    for name in ("areal", "areal.api", "areal.utils"):
        package = ModuleType(name)
        package.__path__ = [f"{found.submodule_search_locations[0]}{name[5:].replace('.', '/')}"]
        monkeypatch.setitem(sys.modules, name, package)
    return importlib.import_module("areal.api.reward_api")


def test_areals_own_wrapper_gets_the_value_and_raises_what_has_none(monkeypatch):
    wrapper = areal_api(monkeypatch).AsyncRewardWrapper

    async def both():
        made = wrapper(to_areal("answer"), timeout_seconds=30, max_workers=1)
        value = await made("q", "\\boxed{42}", [1], [2], answer="42")
        with pytest.raises(Unscored):
            await made("q", "\\boxed{42}", [1], [2])
        return value

    assert asyncio.run(both()) == 1.0


# --- torchforge: apps/grpo/main.py, RewardActor.evaluate_response


def forge_actor(reward_functions, prompt, response, target):
    total, breakdown = 0.0, {}
    for reward_fn in reward_functions:
        reward = reward_fn(prompt, response, target)
        total += reward
        breakdown[getattr(reward_fn, "__name__", reward_fn.__class__.__name__)] = reward
    return breakdown, total / len(reward_functions)


def test_torchforge_adds_up_and_names_the_reward():
    reward = pickle.loads(pickle.dumps(to_forge("answer", name="good")))
    assert forge_actor([reward], **STACKS["torchforge"].call) == ({"good": 1.0}, 1.0)
    reward = to_forge(shaky)
    found = [forge_actor([reward], "q", text, "42")[1] for text in ("right", "wrong", "lost")]
    assert found == [1.0, 0.0, 0.5]


# --- rLLM: rllm/environments/base/single_turn_env.py, rllm/rewards/reward_types.py, rllm/types.py, rllm/eval/types.py


@dataclass
class RewardOutput:
    reward: float
    metadata: dict = field(default_factory=dict)
    is_correct: bool | None = None


@dataclass
class Signal:
    name: str
    value: float
    metadata: dict = field(default_factory=dict)


@dataclass
class EvalOutput:
    reward: float
    is_correct: bool
    signals: list = field(default_factory=list)
    metadata: dict = field(default_factory=dict)


@pytest.fixture
def rllm(monkeypatch):
    if importlib.util.find_spec("rllm") is not None:
        return importlib.import_module("rllm.rewards.reward_types").RewardOutput
    types = ModuleType("rllm.rewards.reward_types")
    types.RewardOutput = RewardOutput
    results = ModuleType("rllm.eval.types")
    results.Signal, results.EvalOutput = Signal, EvalOutput
    for name in ("rllm", "rllm.rewards", "rllm.eval"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "rllm.eval.types", results)
    monkeypatch.setitem(sys.modules, "rllm.rewards.reward_types", types)
    return RewardOutput


def test_rllm_gets_its_reward_output(rllm):
    reward = pickle.loads(pickle.dumps(to_rllm("0.9*answer + 0.1*boxed")))
    found = reward(**STACKS["rllm"].call)
    assert isinstance(found, rllm)
    assert (found.reward, found.is_correct) == (pytest.approx(1.0), True)
    assert found.metadata["part/boxed"] == 1.0
    task = {"question": "q", "ground_truth": "42"}
    assert reward(task_info=task, action=SimpleNamespace(action="\\boxed{42}")).reward == pytest.approx(1.0)
    lost = to_rllm(shaky)(task, "lost")
    assert (lost.is_correct, lost.metadata["scored"]) == (None, False)


def episode(artifacts=None, **trajectory):
    step = {"output": None, "model_response": ""}
    steps = [SimpleNamespace(**step | own) for own in trajectory.pop("steps", ())]
    return SimpleNamespace(
        artifacts=artifacts or {},
        trajectories=[SimpleNamespace(output=None, steps=steps, **trajectory)] if steps else [],
    )


def test_rllms_evaluator_finds_the_answer_of_an_episode_and_signals_the_parts(rllm):
    exec(shim("rllm", "0.9*answer + 0.1*boxed"), scope := {})
    task = SimpleNamespace(instruction="6 * 7?", metadata={"ground_truth": "42"})
    for right in (
        episode({"answer": "42"}),
        episode(steps=[{"output": "41"}, {"output": "The answer is 42."}]),
        episode(steps=[{"model_response": "The answer is 42"}, {"model_response": ""}]),
    ):
        found = scope["evaluate"](task, right)
        assert (found.reward, found.is_correct) == (pytest.approx(0.9), True)
        assert [(signal.name, signal.value) for signal in found.signals] == [("answer", 1.0), ("boxed", 0.0)]
    assert scope["evaluate"]({"ground_truth": "42"}, episode()).reward == 0.0
    lost = to_rllm(shaky).evaluate(task, episode({"answer": "lost"}))
    assert (lost.is_correct, lost.metadata["scored"]) == (False, False)


# --- open-instruct: open_instruct/ground_truth_utils.py


@pytest.fixture
def open_instruct(monkeypatch):
    """`VerifierFunction`, `build_all_verifiers` and `apply_verifiable_reward`, as far as a verifier sees them."""
    if importlib.util.find_spec("open_instruct") is not None:
        return importlib.import_module("open_instruct.ground_truth_utils")
    stack = ModuleType("open_instruct.ground_truth_utils")

    class VerifierFunction:
        def __init__(self, name, weight=1.0, verifier_config=None):
            self.name, self.weight, self.verifier_config = name, weight, verifier_config

        @classmethod
        def get_config_class(cls):
            return SimpleNamespace(from_args=lambda *args: None)

    @dataclass
    class VerificationResult:
        score: float
        cost: float = 0.0
        reasoning: str | None = None

    def build_all_verifiers(args, streaming_config=None):
        made = {}
        for subclass in VerifierFunction.__subclasses__():
            instance = subclass(subclass.get_config_class().from_args(args, streaming_config))
            made[instance.name.lower()] = instance
        return made

    async def apply_verifiable_reward(mapping, responses, decoded, golds, datasets, queries=None):
        tasks = [
            mapping[data.lower()].async_call(
                tokenized_prediction=tokens, prediction=text, label=gold, query=query, rollout_state=None
            )
            for tokens, text, gold, data, query in zip(responses, decoded, golds, datasets, queries, strict=True)
        ]
        results = await asyncio.gather(*tasks)
        return [result.score * mapping[data].weight for result, data in zip(results, datasets, strict=True)], results

    stack.__dict__.update(locals())
    monkeypatch.setitem(sys.modules, "open_instruct", ModuleType("open_instruct"))
    monkeypatch.setitem(sys.modules, "open_instruct.ground_truth_utils", stack)
    return stack


def test_open_instruct_finds_the_verifier_by_its_class_and_rows_by_its_name(open_instruct):
    exec(shim("open-instruct", "answer"), scope := {})
    made = open_instruct.build_all_verifiers(None)["verikit"]
    found = made(**STACKS["open-instruct"].call)
    assert (found.score, type(found)) == (1.0, open_instruct.VerificationResult)
    assert scope["Verified"].verikit.counts["scored"] == 1
    shaken = {"shaky": to_open_instruct(shaky, name="shaky", weight=2.0)()}
    texts = ["right", "wrong", "lost"]
    scores, results = asyncio.run(
        open_instruct.apply_verifiable_reward(shaken, [[1]] * 3, texts, ["42"] * 3, ["shaky"] * 3, queries=["q"] * 3)
    )
    assert scores[:2] == [2.0, 0.0]
    assert "the judge is down" in results[2].reasoning


# --- Tinker cookbook: tinker_cookbook/rl/problem_env.py


@pytest.fixture
def tinker(monkeypatch):
    """`ProblemEnv.step` as far as its grading goes, where the cookbook is not installed."""
    if importlib.util.find_spec("tinker_cookbook") is not None:
        return
    package, env = ModuleType("tinker_cookbook.renderers"), ModuleType("tinker_cookbook.rl.problem_env")

    class ProblemEnv:
        def __init__(self, renderer, convo_prefix=None, format_coef=0.1, require_stop_sequence_for_format=True):
            self.renderer, self.format_coef = renderer, format_coef
            self.convo_prefix = convo_prefix or []

        async def step(self, action, *, extra=None):
            message, termination = self.renderer.parse_response(action)
            content = package.get_text_content(message)
            correct_format = float(termination.is_stop_sequence) and float(self.check_format(content))
            correct_answer = float(self.check_answer(content))
            reward = self.format_coef * (correct_format - 1) + correct_answer
            return SimpleNamespace(reward=reward, metrics={"format": correct_format, "correct": correct_answer})

    package.get_text_content = lambda message: message["content"]
    env.ProblemEnv = ProblemEnv
    for name in ("tinker_cookbook", "tinker_cookbook.rl"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "tinker_cookbook.renderers", package)
    monkeypatch.setitem(sys.modules, "tinker_cookbook.rl.problem_env", env)


class Renderer:
    """A renderer whose actions are the texts themselves."""

    def parse_response(self, action):
        return {"role": "assistant", "content": action}, SimpleNamespace(is_stop_sequence=True, is_clean=True)

    def get_stop_sequences(self):
        return []


@pytest.fixture(autouse=True)
def _fresh_environments():
    from verikit.adapters import tinker

    tinker._env_class.cache_clear()
    yield
    tinker._env_class.cache_clear()


@pytest.mark.usefixtures("tinker")
def test_tinkers_environment_pays_the_verifiers_value_and_tells_what_had_none():
    problem = pickle.loads(pickle.dumps(to_tinker("answer")))
    call = STACKS["tinker"].call
    env = partial(problem, call["question"], call["answer"], Renderer())()
    result = asyncio.run(env.step("so \\boxed{42}"))
    assert (result.reward, result.metrics["unscored"]) == (1.0, 0.0)
    assert (env.get_question(), env.get_reference_answer()) == (call["question"], "42")

    problem = to_tinker(shaky)
    results = [asyncio.run(problem("q", "42", Renderer()).step(text)) for text in ("right", "wrong", "lost")]
    assert [result.reward for result in results] == [1.0, 0.0, 0.5]
    assert [result.metrics["unscored"] for result in results] == [0.0, 0.0, 1.0]
    with pytest.raises(Unscored):
        asyncio.run(to_tinker(shaky, unscored="raise")("q", "42", Renderer()).step("lost"))


# --- Axolotl: axolotl/core/trainers/grpo/__init__.py, GRPOStrategy.get_reward_func; Unsloth: models/rl_replacements.py


def test_axolotl_and_unsloth_take_trls_reward_as_they_look_at_it(tmp_path, monkeypatch):
    import inspect

    (tmp_path / "its_reward.py").write_text(shim("axolotl", "0.9*answer + 0.1*boxed"))
    monkeypatch.syspath_prepend(tmp_path)
    name = "its_reward.reward"
    reward = getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2])
    assert len(inspect.signature(reward).parameters) >= 2
    assert [f"rewards/{each.__name__}/mean" for each in [reward]] == ["rewards/sum/mean"]
    assert "to_trl" in shim("unsloth", "answer")


# --- lengths in tokens, from the ids that each stack has


TOKENS = "soft_overlong(4, 4)"
"""-1/4 a token."""


def test_swift_counts_the_tokens_of_its_rollouts_and_stops_where_nothing_is_scored():
    def call(ids, step):
        state = SimpleNamespace(global_step=step)
        turns = [swift_row("x")["messages"]] * len(ids)
        return reward(["x"] * len(ids), trainer_state=state, messages=turns, response_token_ids=ids)

    reward = to_swift(TOKENS)
    assert call([[7, 8], [[7], [8, 9]]], 0) == [-0.5, -0.75]
    reward = to_swift(TOKENS)
    call([[], []], 0)
    with pytest.raises(Unscored, match="carries no count of tokens"):
        call([[], []], 1)


def test_slime_areal_and_open_instruct_count_their_tokens(open_instruct):
    (sample,) = slime_group("x")
    assert asyncio.run(to_slime(TOKENS)(None, sample)) == -0.75
    assert to_areal(TOKENS)("q", "x", [1], [7, 8]) == -0.5
    made = to_open_instruct(TOKENS, name="tokens")()
    assert made([7, 8], "x", None, "q").score == -0.5
    assert asyncio.run(made.async_call([7], "x", None, "q")).score == -0.25


@pytest.mark.usefixtures("tinker")
def test_tinker_counts_the_tokens_of_its_action():
    class Tokens(Renderer):
        def parse_response(self, action):
            return super().parse_response("x" * len(action))

    assert asyncio.run(to_tinker(TOKENS)("q", "42", Tokens()).step([7, 8, 9])).reward == -0.75


def test_rllm_counts_the_tokens_of_its_steps_where_all_have_their_ids(rllm):
    steps = [{"response_ids": [7, 8], "output": "x"}, {"response_ids": [9], "output": "y"}]
    found = to_rllm(TOKENS).evaluate({"question": "q"}, episode(steps=steps))
    assert found.reward == -0.75
    steps[0]["response_ids"] = []
    assert not to_rllm(TOKENS).evaluate({"question": "q"}, episode(steps=steps)).metadata["scored"]


def test_slime_stops_after_very_many_calls_without_a_score():
    rm = to_slime(shaky)
    slime_rollout(rm, slime_group(*["lost"] * 1023), group_rm=True)
    with pytest.raises(Unscored, match="the judge is down"):
        slime_rollout(rm, slime_group("lost"), group_rm=True)
