"""The stacks: how each names a reward, the arguments it passes, and the file that gives it a verikit reward."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verikit.adapters.openai_grader import written
from verikit.adapters.spec_files import absolute
from verikit.errors import UsageError, nearest
from verikit.names.spec import load


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack's hook."""

    tested: str
    """The release that the example calls are from."""
    hook: str
    """How a configuration names the reward."""
    call: dict[str, Any]
    """Example arguments of a call. Values that JSON can't express are strings in angle brackets."""
    returns: str
    lines: tuple[str, ...]
    """The shim, with {spec} for the verifier."""
    no_score: str = ""
    """How the stack treats an unscored sample."""

    def hook_for(self, path: Path) -> str:
        """Return the hook with the file at `path` instead of the example's `reward.py` and its module."""
        return _EXAMPLE.sub(lambda found: str(path) if found["file"] else f"{path.stem}.", self.hook)


_EXAMPLE = re.compile(r"(?<![\w-])reward\.(?!custom_reward_function)(?P<file>py\b)?")
"""Matches the example's file or module in a hook, but not the settings `reward.custom_reward_function` of verl and
`--reward.remote_url` of OpenRLHF."""

_PROMPT = "What is 17 + 25? End with the answer in \\boxed{}."
_REPLY = "17 + 25 = 42, so the answer is \\boxed{42}."
_TURNS = [{"role": "user", "content": _PROMPT}]
_TURN = {"role": "assistant", "content": _REPLY}
_ASKED = f"<|im_start|>user\n{_PROMPT}<|im_end|>\n<|im_start|>assistant\n"
"""The prompt in a chat template, as stacks pass it that keep special tokens."""
_MEAN = (
    "it can't be left out, so it gets the mean of the prompt's scored samples (unscored='mean', near zero advantage; "
    "all samples of a prompt without any score get the same number), a number (unscored=0.0), or ends the run "
    "(unscored='raise')"
)

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
        "a list of float or None, one per completion. Every other column of the dataset has its own name, and "
        "prompts and completions are strings unless the dataset is conversational",
        ("from verikit.adapters import to_trl", "", "reward = to_trl({spec})"),
        "None: the sample is excluded from its group, with advantage 0. If another reward function has a value, None "
        "is 0 in the sum. Then use unscored='mean'",
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
        f"{_MEAN}; the column `scored` is 0, and the columns of parts without a value are None",
    ),
    "openrlhf": Stack(
        "OpenRLHF 0.11.2",
        "--reward.remote_url reward.py (older: --remote_rm_url)",
        {
            "queries": [f"{_ASKED}{_REPLY}<|im_end|>"],
            "prompts": [_ASKED],
            "labels": ["42"],
        },
        "a dict of tensors: rewards, scores (0 to 1), extra_logs; called by position, with one sample, in threads",
        ("from verikit.adapters import to_openrlhf", "", "reward_func = to_openrlhf({spec})"),
        f"{_MEAN}; extra_logs['scored'] is 0, and the parts without a value are NaN there",
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
        "Unscored is raised: v1 keeps it as the trace's error and the reward as missing; the older Rubric counts 0.0: "
        "unscored='mean' or a number there",
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
        "Score.unscored: left out of metrics, counted",
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
        "None: left out of the mean, counted by the metric `unscored`",
    ),
    "slime": Stack(
        "THUDM/slime of 2026 (source)",
        "--custom-rm-path reward.rm; with --group-rm a prompt's samples come as a list",
        {
            "args": "<argparse.Namespace>",
            "sample": {
                "group_index": 0,
                "prompt": _ASKED,
                "response": f"{_REPLY}<|im_end|>",
                "label": "42",
                "metadata": {},
                "remove_sample": False,
            },
        },
        "a float, awaited, or a list of them; the sample is slime.utils.types.Sample",
        ("from verikit.adapters import to_slime", "", "rm = to_slime({spec})"),
        "sample.remove_sample: its tokens leave the loss; its reward, the group's mean, still counts in the "
        "statistics. Exact with --group-rm, near it without",
    ),
    "ms-swift": Stack(
        "ms-swift 4.6",
        "--external_plugins reward.py --reward_funcs verikit",
        {
            "completions": [_REPLY, "I can't tell."],
            "trainer_state": "<transformers.TrainerState>",
            "messages": [[*_TURNS, _TURN], [*_TURNS, {"role": "assistant", "content": "I can't tell."}]],
            "prompt_id": ["p0", "p0"],
            "finish_reason": ["stop", "stop"],
            "solution": ["42", "42"],
        },
        "a list of float or None; completions come by position, other columns of the data set under their names",
        (
            "from swift.rewards import orms",
            "from verikit.adapters import to_swift",
            "",
            'reward = to_swift({spec}, name="verikit")',
            'orms["verikit"] = lambda args=None, **kwargs: reward',
        ),
        "None would count 0 in its sum, so it gets the group's mean (advantage 0); unscored=None for "
        "--scale_rewards gdpo, which leaves None out; or a number, or 'raise'",
    ),
    "areal": Stack(
        "AReaL 1.0.4",
        'RLVRWorkflow(reward_fn="reward.reward_fn", …)',
        {
            "prompt": _ASKED,
            "completions": f"{_REPLY}<|im_end|>",
            "prompt_ids": [16, 22, 488],
            "completion_ids": [40, 649],
            "messages": _TURNS,
            "answer": "42",
        },
        "a float; called in a pool of processes, the row's fields by name",
        ("from verikit.adapters import to_areal", "", "reward_fn = to_areal({spec})"),
        "Unscored is raised: AReaL calls three times more, then rejects the trajectory (with its group) and samples "
        "another. Its own time-out would count 0, so a score that takes 12 s is missing too (seconds=)",
    ),
    "open-instruct": Stack(
        "allenai/open-instruct of 2026 (source)",
        "import reward before open_instruct.grpo_fast builds its verifiers; rows say `verikit` in their "
        "`dataset` column",
        {
            "tokenized_prediction": [40, 649],
            "prediction": _REPLY,
            "label": "42",
            "query": _PROMPT,
            "rollout_state": None,
        },
        "a VerificationResult(score, cost, reasoning), awaited from async_call",
        ("from verikit.adapters import to_open_instruct", "", "Verified = to_open_instruct({spec})"),
        _MEAN,
    ),
    "torchforge": Stack(
        "meta-pytorch/torchforge of 2026 (source)",
        "RewardActor.options(…).as_service(reward_functions=[reward])",
        {"prompt": _PROMPT, "response": _REPLY, "target": "42"},
        "a float, called by position for one sample",
        ("from verikit.adapters import to_forge", "", "reward = to_forge({spec})"),
        _MEAN,
    ),
    "rllm": Stack(
        "rllm-org/rllm of 2026 (source)",
        "a dataset's tests/evaluate.py, by its `evaluate(task, episode)`; older: SingleTurnEnvironment(task, "
        "reward_fn=reward)",
        {"task_info": {"question": _PROMPT, "ground_truth": "42", "data_source": "gsm8k"}, "action": _REPLY},
        "a RewardOutput(reward, metadata, is_correct); evaluate gives an EvalOutput with the parts as signals",
        ("from verikit.adapters import to_rllm", "", "reward = to_rllm({spec})", "evaluate = reward.evaluate"),
        f"{_MEAN}; metadata['scored'] is False",
    ),
    "tinker": Stack(
        "tinker-cookbook 0.6.1",
        "ProblemGroupBuilder(env_thunk=partial(problem, question, gold, renderer), num_envs=8)",
        {"question": _PROMPT, "answer": "42", "renderer": "<tinker_cookbook.renderers.Renderer>"},
        "a ProblemEnv, whose check_answer gives the value",
        ("from verikit.adapters import to_tinker", "", "problem = to_tinker({spec})"),
        f"{_MEAN}; under RetryOnFailure 'raise' has it sampled again. The metric `unscored` is 1",
    ),
    GRADER: Stack(
        "OpenAI's grader schema of May 2025",
        "the `grader` of a reinforcement fine-tuning job, or one of an eval's testing_criteria",
        {"item": {"prompt": _PROMPT, "answer": "42"}, "sample": {"output_text": _REPLY}},
        "a number; the file is the grader's JSON, not Python, and holds no verikit",
        (),
        "OpenAI's to say: a grader's error fails the sample",
    ),
}
"""Name -> stack. The contract tests use the examples for their calls."""
STACKS["unsloth"] = replace(
    STACKS["trl"], tested="Unsloth 2026.10 (source)", hook="GRPOTrainer(reward_funcs=reward), which Unsloth patches"
)
STACKS["axolotl"] = replace(
    STACKS["trl"], tested="Axolotl 0.19 (source)", hook="in the YAML: trl: {reward_funcs: [reward.reward]}"
)


def table() -> dict[str, str]:
    """Each stack with its tested release and how it names a reward, for `verikit list`."""
    return {name: f"{stack.tested}: {stack.hook}" for name, stack in STACKS.items()}


def stack_of(name: str) -> Stack:
    """Return the stack with a name.

    Raises:
        UsageError: It does not exist.
    """
    if name not in STACKS:
        raise UsageError(f"stack {name!r} not found", hint=nearest(name, STACKS))
    return STACKS[name]


def shim(name: str, spec: str) -> str:
    """Return a Python file that gives a stack the reward of a spec, or the JSON of an OpenAI grader.

    Files that the spec names are written as absolute paths.

    Raises:
        UsageError: The stack does not exist, or the spec can't be parsed.
    """
    stack = stack_of(name)
    verifier = load(spec)
    if name == GRADER:
        return written(verifier)
    lines = [line.replace("{spec}", repr(absolute(spec))) for line in stack.lines]
    return "\n".join([f"# {stack.tested}: {stack.hook}", *lines, ""])
