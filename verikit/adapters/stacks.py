"""The stacks: where each names a reward, what it then passes, and the file that gives it a verikit reward."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verikit.adapters.openai_grader import written
from verikit.errors import UsageError
from verikit.spec import load


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack's hook."""

    tested: str
    """The release whose calls these are."""
    hook: str
    """How a configuration names the reward."""
    call: dict[str, Any]
    """An example of what it passes; what JSON can't say is a text in angle brackets."""
    returns: str
    lines: tuple[str, ...]
    """The shim, with {spec} for the verifier."""


_PROMPT = "What is 17 + 25? End with the answer in \\boxed{}."
_REPLY = "17 + 25 = 42, so the answer is \\boxed{42}."
_TURNS = [{"role": "user", "content": _PROMPT}]
_TURN = {"role": "assistant", "content": _REPLY}

GRADER = "openai-grader"
STACKS = {
    "trl": Stack(
        "TRL 1.16",
        "GRPOTrainer(reward_funcs=reward) or `trl grpo --reward_funcs reward.reward`",
        {
            "prompts": [_TURNS, _TURNS],
            "completions": [[_TURN], [{"role": "assistant", "content": "I can't tell."}]],
            "completion_ids": [[16, 22, 488], [40, 649]],
            "answer": ["42", "42"],
            "trainer_state": "<transformers.TrainerState>",
            "log_extra": "<function (column, values)>",
            "log_metric": "<function (name, value)>",
        },
        "a list of float or None, one a completion; every other column of the data set comes under its own name, and "
        "prompts and completions are texts where the data set is not conversational",
        ("from verikit.adapters import to_trl", "", "reward = to_trl({spec})"),
    ),
    "verl": Stack(
        "verl 0.9.1",
        "reward.custom_reward_function.path=reward.py (older: custom_reward_function.path); "
        "its .name=compute_score_async in the reward loop gathers calls into batches",
        {
            "data_source": "gsm8k",
            "solution_str": _REPLY,
            "ground_truth": "42",
            "extra_info": {"index": 0, "question": _PROMPT, "num_turns": 2, "rollout_reward_scores": {}},
        },
        "a dict with `score`; its other keys become columns. The batch manager passes lists under plural names",
        (
            "from verikit.adapters import to_verl",
            "",
            "compute_score = to_verl({spec})",
            "compute_score_async = to_verl({spec}, asynchronous=True)",
        ),
    ),
    "openrlhf": Stack(
        "OpenRLHF 0.11.2",
        "--reward.remote_url reward.py (older: --remote_rm_url)",
        {
            "queries": [f"<|im_start|>user\n{_PROMPT}<|im_end|>\n<|im_start|>assistant\n{_REPLY}<|im_end|>"],
            "prompts": [f"<|im_start|>user\n{_PROMPT}<|im_end|>\n<|im_start|>assistant\n"],
            "labels": ["42"],
        },
        "a dict of tensors: rewards, scores (0 to 1), extra_logs; called by position, with one sample, in threads",
        ("from verikit.adapters import to_openrlhf", "", "reward_func = to_openrlhf({spec})"),
    ),
    "verifiers": Stack(
        "verifiers 0.4.0",
        '[env.taskset.task.rewards.verikit] fn = "reward.py:reward" (before 0.4: vf.Rubric(funcs=[reward]))',
        {
            "task": {"idx": 0, "prompt": _PROMPT, "answer": "42"},
            "trace": "<verifiers.v1.Trace; its last_reply is the completion>",
        },
        "a float, awaited; the older Rubric passes prompt, completion, answer, state, task and info",
        ("from verikit.adapters import to_verifiers", "", "reward = to_verifiers({spec})"),
    ),
    "skyrl": Stack(
        "skyrl-gym 0.4.0",
        'skyrl_gym.register(id="verikit", entry_point="reward:Environment"), and environment.env_class=verikit',
        {
            "env_config": {},
            "extras": {"reward_spec": {"method": "rule", "ground_truth": "42"}, "data_source": "gsm8k", "max_turns": 1},
            "prompt": _TURNS,
            "action": _REPLY,
        },
        "observations, reward, done, metadata of each step; it can't leave a sample out: one without a score gets the "
        "mean of its prompt's, or with unscored= a number or an exception, and verikit/unscored is its share",
        ("from verikit.adapters.skyrl import to_skyrl", "", "Environment = to_skyrl({spec})"),
    ),
    "nemo-rl": Stack(
        "NeMo-RL of November 2026",
        "import the file before training is set up; env.verikit of the configuration is its `config`",
        {
            "message_log_batch": [[*_TURNS, _TURN]],
            "metadata": [{"ground_truth": "42"}],
        },
        "EnvironmentReturn: observations, metadata, next_stop_strings, rewards, terminateds, answers; it can't leave a "
        "sample out: one without a score gets the mean of its prompt's, or with unscored: a number or `raise`",
        (
            "from verikit.adapters.nemo_rl import register",
            "",
            'config = {"spec": {spec}, "unscored": "mean"}',
            'register("verikit")',
        ),
    ),
    "inspect": Stack(
        "inspect_ai 0.3.285",
        "Task(dataset, scorer=verified)",
        {
            "state": "<TaskState: input, output.completion, metadata, sample_id>",
            "target": ["42"],
        },
        "inspect_ai.scorer.Score, awaited; Score.unscored where there is none",
        ("from verikit.adapters import to_inspect", "", "verified = to_inspect({spec})"),
    ),
    "lm-eval": Stack(
        "lm-eval 0.4.13",
        "beside the task's YAML: filter_fn: !function reward.filter_fn, process_results: !function "
        "reward.process_results, aggregation: !function reward.mean_scored",
        {"resps": [[_REPLY]], "docs": [{"question": _PROMPT, "answer": "42"}]},
        "a list of floats or None for each list of replies",
        (
            "from verikit.adapters import to_lm_eval",
            "from verikit.adapters.lm_eval import mean_scored, process_results",
            "",
            "filter_fn = to_lm_eval({spec})",
            '__all__ = ["filter_fn", "mean_scored", "process_results"]',
        ),
    ),
    GRADER: Stack(
        "OpenAI's grader schema of May 2025",
        "the `grader` of a reinforcement fine-tuning job, or one of an eval's testing_criteria",
        {"item": {"prompt": _PROMPT, "answer": "42"}, "sample": {"output_text": _REPLY}},
        "a number; the file is the grader's JSON, not Python, and holds no verikit",
        (),
    ),
}
"""Name -> stack; the examples are what the contract tests call with."""


def table() -> dict[str, str]:
    """Each stack with its tested release and how it names a reward, for `verikit list`."""
    return {name: f"{stack.tested}: {stack.hook}" for name, stack in STACKS.items()}


def stack_of(name: str) -> Stack:
    """The stack of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in STACKS:
        raise UsageError(f"no stack is called {name!r}", hint=f"there are {', '.join(STACKS)}")
    return STACKS[name]


def shim(name: str, spec: str) -> str:
    """A Python file that gives a stack the reward of a spec, or the JSON of an OpenAI grader.

    Files that the spec names are found from anywhere.

    Raises:
        UsageError: there is no such stack, or the spec can't be read.
    """
    stack = stack_of(name)
    verifier = load(spec)
    if name == GRADER:
        return written(verifier)
    path, mark, rest = spec.partition(".py:" if ".py:" in spec else ".toml#")
    if mark and (file := Path(path + mark[:-1])).is_file():
        spec = f"{file.resolve()}{mark[-1]}{rest}"
    lines = [line.replace("{spec}", repr(spec)) for line in stack.lines]
    return "\n".join([f"# {stack.tested}: {stack.hook}", *lines, ""])
