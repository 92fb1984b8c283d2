"""Absolute Zero: what it promises, and a policy that tries to be rewarded for nothing."""

import json
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.trainers.recipes.scripted import Scripted
from verikit.errors import ConfigError, SchemaError
from verikit.trainers.config import load_config
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.absolute_zero.buffers import Buffer, distinct, solve_batch
from verikit.trainers.recipes.absolute_zero.environment import Environment
from verikit.trainers.recipes.absolute_zero.extras import extra_rewards
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions, ExtraReward
from verikit.trainers.recipes.absolute_zero.problem import Problem, read_held_out
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.absolute_zero.rewards import combined, learnability, proposer_reward, solver_reward

OPENING = "<think>"
ADD = "def f(x):\n    return x + 1"
FAST = {"wall_s": 2.0, "memory_mb": 256}


def answer(payload):
    return f"thinking</think> <answer>{payload}</answer>"


def proposal(program=ADD, given="1"):
    return answer(f"```python\n{program}\n```\n```input\n{given}\n```")


def inputs(count, message="adds something"):
    blocks = "".join(f"```input\n{number}\n```\n" for number in range(count))
    return answer(blocks + (f"```message\n{message}\n```" if message else ""))


def environment(**options):
    return Environment(AbsoluteZeroOptions(**(FAST | options)), OPENING)


def faults(problem, *payloads, **options):
    return [verdict.fault for verdict in environment(**options).solutions(problem, [answer(text) for text in payloads])]


def made(**options):
    small = {"batch": 2, "seed_factor": 1, "estimates": 2, "inputs": 4}
    return AbsoluteZero(AbsoluteZeroOptions(**(FAST | small | options)), Setting(None, 0, Path()))


class Honest:
    """Proposes `x + n` with ever new n, and solves what it can."""

    def __init__(self):
        self.count = 0

    def __call__(self, prompt, number):
        if "Write 4 inputs" in prompt:
            return inputs(4)
        if "Write a new Python program" in prompt:
            self.count += 1
            return proposal(f"def f(x):\n    return x + {self.count}", "1")
        return answer("```output\n2\n```")


def trained(recipe, sampler=None, step=1):
    return recipe.collect(sampler or Scripted(Honest()), step)


def test_deduction_compares_literal_values():
    problem = Problem("deduction", ADD, "1", "[1, 2]")
    said = ["```output\n[1,2]\n```", "```output\n[2, 1]\n```", "```output\n[1, f()]\n```", "```output\n[True, 2]\n```"]
    assert faults(problem, *said) == ["", "wrong", "wrong", "wrong"]
    assert faults(Problem("deduction", ADD, "1", "{1, 2}"), "```output\n{2, 1}\n```") == [""]


def test_abduction_takes_any_input_with_that_output():
    problem = Problem("abduction", "def f(x):\n    return abs(x)", "3", "3")
    assert faults(problem, "```input\n3\n```", "```input\n-3\n```", "```input\n4\n```") == ["", "", "wrong"]


def test_induction_shows_half_and_checks_all():
    pairs = tuple((str(x), str(x + 1)) for x in range(4))
    problem = Problem("induction", ADD, message="adds", pairs=pairs)
    prompt = made().prompts.solution(problem)
    assert problem.shown == pairs[:2]
    assert prompt.count("```input") == 2
    assert ADD not in prompt
    memoriser = "```python\ndef f(x):\n    return {0: 1, 1: 2}.get(x, 0)\n```"
    hidden_only = "```python\ndef f(x):\n    return x + 1 if x > 1 else 0\n```"
    right = f"```python\n{ADD}\n```"
    assert faults(problem, right, memoriser, hidden_only) == ["", "wrong", "wrong"]
    assert faults(problem, right, memoriser, hidden_only, preset="azr-repo") == ["", "wrong", ""]


def test_induction_proposals_have_all_inputs_and_a_message():
    judge = environment(inputs=4)
    valid = judge.proposal("induction", inputs(5), ADD)
    assert valid.problem.pairs == tuple((str(x), str(x + 1)) for x in range(1, 5))  # the last four count
    assert judge.proposal("induction", inputs(3), ADD).fault == "format"
    assert judge.proposal("induction", inputs(4, message=""), ADD).fault == "format"
    failing = judge.proposal("induction", inputs(4), "def f(x):\n    return 1 // x")
    assert failing.fault == "wrong"
    assert "ZeroDivisionError" in failing.reason


def test_learnability_is_nothing_at_both_ends():
    assert [learnability(k / 8) for k in range(9)] == [0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0]
    assert [learnability(k / 4, "edge") for k in range(5)] == [0, 0.75, 1, 0.75, 0]


def test_composite_rewards_in_both_presets():
    def rewards(preset):
        cases = [("", 0.25), ("", 0.0), ("", 1.0), ("wrong", None), ("format", None), ("error", None)]
        return [proposer_reward(fault, rate, preset) for fault, rate in cases]

    assert rewards("paper") == [0.75, 0.0, 0.0, -0.5, -1.0, None]
    assert rewards("azr-repo") == [0.75, -0.5, -0.5, -1.0, -1.0, None]
    assert [solver_reward(fault) for fault in ("", "wrong", "format", "error")] == [1.0, -0.5, -1.0, None]


@pytest.mark.parametrize(
    "text",
    [
        "no tags at all",
        "thought</think> ```output\n2\n```",
        "<answer>```output\n2\n```</answer></think>",
        "thought</think> so: <answer>```output\n2\n```</answer>",
        "a</think><answer>1</answer><answer>```output\n2\n```</answer>",
        "<think>a</think><answer>```output\n2\n```</answer>",
        "a</think><answer>```output\n2\n```</answer> and more",
        "</think><answer></answer>",
    ],
)
def test_the_format_is_kept_exactly(text):
    problem = Problem("deduction", ADD, "1", "2")
    good = "thought</think> <answer>```output\n2\n```</answer>"
    assert [verdict.fault for verdict in environment().solutions(problem, [text, good])] == ["format", ""]
    assert environment().proposal("deduction", text).fault == "format"


@pytest.mark.parametrize(
    "program",
    ["def f(x):\n    raise ValueError", "def f(x):\n    x + 1", "def f(x) return x", "def g(x):\n    return x"],
)
def test_programs_that_fail_or_return_nothing_are_invalid(program):
    assert environment().proposal("deduction", proposal(program)).fault == "wrong"


def test_listed_modules_are_rejected_and_unlisted_deeds_fail_in_the_sandbox(tmp_path):
    judge = environment()
    for module in ("logging", "random", "subprocess", "threading", "datetime", "time", "hashlib", "calendar"):
        verdict = judge.proposal("deduction", proposal(f"import {module}\ndef f(x):\n    return x"))
        assert verdict.fault == "wrong"
        assert module in verdict.reason
    target = tmp_path / "out"
    for deed in (
        f"import pathlib\ndef f(x):\n    pathlib.Path({str(target)!r}).write_text('x')\n    return x",
        "import socket\ndef f(x):\n    socket.create_connection(('127.0.0.1', 80), 1)\n    return x",
        "import os\ndef f(x):\n    return os.fork()",
    ):
        assert judge.proposal("deduction", proposal(deed)).fault == "wrong"
    assert not target.exists()


@pytest.mark.parametrize(
    "result",
    ["id(object())", "list({'a', 'b', 'c', 'd', 'e', 'f'})", "__builtins__['__import__']('random').random()"],
)
def test_programs_that_waver_are_rejected(result):
    assert environment().proposal("deduction", proposal(f"def f(x):\n    return {result}")).fault == "wrong"
    assert environment(inputs=2).proposal("induction", inputs(2), f"def f(x):\n    return {result}").fault == "wrong"


def test_time_and_memory_are_bounded():
    judge = environment(wall_s=1.0)
    assert judge.proposal("deduction", proposal("def f(x):\n    while True: pass\n    return x")).fault == "wrong"
    assert judge.proposal("deduction", proposal("def f(x):\n    return len('x' * 10**10)")).fault == "wrong"


def test_answers_are_never_code(tmp_path):
    problem = Problem("abduction", "def f(x):\n    return x == 4", "4", "True")
    mark = tmp_path / "mark"
    attacks = [
        "5) or (True",
        f"__import__('pathlib').Path({str(mark)!r}).touch()",
        "*[4]",
        "(lambda: 4)()",
    ]
    assert faults(problem, *(f"```input\n{attack}\n```" for attack in attacks)) == ["wrong"] * 4
    assert faults(Problem("deduction", ADD, "1", "2"), f"```output\nopen({str(mark)!r}, 'w')\n```") == ["wrong"]
    assert not mark.exists()


def test_long_outputs_are_kept_whole_or_rejected():
    verdict = environment().proposal("deduction", proposal("def f(n):\n    return 'ab' * n", "5000"))
    assert verdict.problem.output == repr("ab" * 5000)
    assert faults(verdict.problem, f"```output\n{'ab' * 5000!r}\n```", f"```output\n{'ab' * 4999!r}\n```") == [
        "",
        "wrong",
    ]
    too_long = environment().proposal("deduction", proposal("def f(n):\n    return 'ab' * n", "100000"))
    assert too_long.fault == "wrong"
    assert "long" in too_long.reason


def test_problems_longer_than_a_prompt_are_not_kept():
    recipe = made(tasks=["deduction"], max_prompt_tokens=3000)
    long = proposal("def f(n):\n    return 'ab' * n", "9" * 4000)
    trained(recipe, Scripted(lambda prompt, number: long))
    assert len(recipe.buffers["deduction"].problems) == 1


def test_references_are_uniform_and_capped_by_the_buffer():
    problems = [Problem("deduction", ADD, str(number), "1") for number in range(10)]
    draw = random.Random(0)
    counts = Counter(problem.input for _ in range(4000) for problem in distinct(problems, 3, draw, "uniform"))
    assert all(abs(count - 1200) < 150 for count in counts.values())
    assert len(counts) == 10
    assert len(distinct(problems[:2], 6, draw, "uniform")) == 2
    late = [Problem("deduction", ADD, "late", "1", step=99), *problems]
    assert sum(distinct(late, 1, draw, "step")[0].input == "late" for _ in range(200)) > 150
    recipe = made(references=6)
    assert recipe.ask(Scripted(None), "deduction", 1, draw).references == recipe.buffers["deduction"].problems


@pytest.mark.parametrize(("keep", "left"), [("newest", ["2", "3"]), ("oldest", ["0", "1"])])
def test_a_full_buffer_evicts_as_told(keep, left):
    buffer = Buffer(2, keep)
    buffer.add([Problem("deduction", ADD, str(number), "1") for number in range(4)], random.Random(0))
    assert [problem.input for problem in buffer.problems] == left


def test_new_problems_are_solved_first_and_the_buffer_tops_up():
    new = [Problem("deduction", ADD, f"new {number}", "1", step=9) for number in range(40)]
    old = [Problem("deduction", ADD, f"old {number}", "1") for number in range(100)]
    draw = random.Random(0)
    batches = {mix: solve_batch(new, old, 64, mix, draw) for mix in ("max_new", "half_new", "uniform_total", "step")}
    fresh = {mix: sum(problem.input.startswith("new") for problem in batch) for mix, batch in batches.items()}
    assert all(len({problem.input for problem in batch}) == 64 for batch in batches.values())
    assert fresh["max_new"] == 40
    assert fresh["half_new"] == 32
    assert 8 < fresh["uniform_total"] < 32 < fresh["step"]
    assert len(solve_batch([], old[:3], 8, "max_new", draw)) == 8


def test_learnable_fills_up_with_what_was_solved_half_of_the_time():
    new = [Problem("deduction", ADD, f"new {number}", "1", step=9) for number in range(40)]
    kinds = {"easy": (8, 8), "half": (4, 8), "never": (0, 8)}
    buffer = Buffer(1000, "newest")
    for kind, counts in kinds.items():
        for number in range(60):
            problem = Problem("deduction", ADD, f"{kind} {number}", "1", step=number)
            buffer.add([problem], random.Random(0))
            buffer.note(problem, *counts)
    batch = solve_batch(new, buffer.problems, 64, "learnable", random.Random(0), buffer.rates)
    drawn = Counter(problem.input.partition(" ")[0] for problem in batch)
    assert drawn["new"] == 32
    assert drawn["half"] > drawn["easy"] + drawn["never"]  # uniform draws would bring half as many
    assert len({problem.input for problem in batch}) == 64
    assert len(solve_batch(new[:2], [], 8, "learnable", random.Random(0))) == 8


def test_a_problem_proposed_again_shares_its_rate_and_is_drawn_like_others():
    old = [Problem("deduction", ADD, "1", "1", step=step) for step in range(50)] + [Problem("deduction", ADD, "2", "2")]
    buffer = Buffer(1000, "newest")
    buffer.add(old, random.Random(0))
    buffer.note(old[0], 8, 8)
    assert solve_batch([], old, 2, "learnable", random.Random(0), buffer.rates) != [old[0], old[0]]
    first = Counter(
        solve_batch([], old, 1, "learnable", random.Random(seed), buffer.rates)[0].input for seed in range(300)
    )
    assert first["2"] > 2 * first["1"]  # 1 against 4 r (1 - r) = .21, whichever copy was solved


def test_rates_of_evicted_problems_are_forgotten_and_unscored_solutions_tell_none():
    buffer = Buffer(2, "newest")
    problems = [Problem("deduction", ADD, str(number), "1") for number in range(3)]
    for problem in problems[:2]:
        buffer.note(problem, 1, 2)
    buffer.note(problems[2], 0, 0)
    buffer.add(problems, random.Random(0))
    assert buffer.rates == {problems[1]: 0.5}


def test_solve_rates_are_kept_for_the_buffer_and_survive_a_checkpoint():
    recipe = made(tasks=["deduction"], mix="learnable")
    trained(recipe)
    rates = recipe.buffers["deduction"].rates
    assert rates
    assert set(rates.values()) <= {2.5 / 3, 0.5 / 3, 0.5, 1.5 / 2, 0.5 / 2}
    other = made(tasks=["deduction"], mix="learnable")
    other.restore(json.loads(json.dumps(recipe.state())))
    assert other.buffers["deduction"].rates == rates
    older = recipe.state()
    del older["rates"]  # a checkpoint of a version without
    other.restore(older)
    assert other.buffers["deduction"].rates == {}


def test_every_valid_problem_is_kept_whatever_it_earns():
    recipe = made(tasks=["deduction"], batch=4, keep="newest")
    trained(recipe)
    before = len(recipe.buffers["deduction"].problems)
    rows = trained(recipe, step=2)
    assert {row.reward for row in rows if row.role == "propose"} <= {0.0}  # all solved alike: nothing to learn
    assert len(recipe.buffers["deduction"].problems) == before + 4


def test_six_baselines_that_do_not_touch():
    torch = pytest.importorskip("torch")
    from verikit.trainers.advantages import trr_pp

    recipe = made(batch=4)
    rows = trained(recipe)
    kinds = sorted({(row.role, row.task) for row in rows})
    assert len(kinds) == 6
    numbers = torch.tensor([kinds.index((row.role, row.task)) for row in rows])
    lengths = torch.tensor([sum(row.mask) for row in rows])
    rewards = torch.tensor([random.Random(index).random() for index in range(len(rows))], dtype=torch.float64)
    first = trr_pp(rewards, numbers, lengths)
    other = trr_pp(torch.where(numbers == 0, rewards**2, rewards), numbers, lengths)
    kind = numbers.repeat_interleave(lengths)
    assert torch.equal(first[kind > 0], other[kind > 0])
    assert not torch.equal(first[kind == 0], other[kind == 0])


def test_extra_rewards_are_bounded_and_combined_in_four_ways():
    nested = "def f(x):\n    for i in range(x):\n        if i > 2 and x:\n            x += i\n    return x"
    problem, other = Problem("deduction", nested, "3", "3"), Problem("deduction", ADD, "1", "2")
    kinds = ("complexity", "edit_distance", "halstead", "diversity")
    terms = [ExtraReward(kind=kind) for kind in kinds]
    judge = environment()
    for candidate in (problem, other):
        assert all(0 <= value <= 1 for value in extra_rewards(judge, terms, candidate, [other], [problem, other]))
    assert judge.measure("complexity", [nested]) > judge.measure("complexity", [ADD]) == 0
    assert judge.measure("edit_distance", [ADD, [ADD]]) == 0 < judge.measure("edit_distance", [nested, [ADD]])
    capped = extra_rewards(judge, [ExtraReward(kind="complexity", coefficient=1, maximum=0.3)], problem, [], [])
    assert capped == [0.3]
    assert extra_rewards(judge, [ExtraReward(kind="diversity")], problem, [], [problem, other]) == [0.5]
    ways = ("sum", "multiply", "sum_multiply", "multiply_sum")
    assert [combined(0.5, [0.2, 0.4], way) for way in ways] == pytest.approx([1.1, 0.04, 0.58, 0.3])
    assert combined(0.5, [], "multiply") == 0.5


def test_the_error_task_names_the_exception():
    judge = environment()
    raising = judge.proposal("error", proposal("def f(x):\n    return int('a' * x)", "3")).problem
    fine = judge.proposal("error", proposal()).problem
    assert (raising.output, fine.output) == ("ValueError", "NoError")
    said = ["```output\nvalueerror: invalid literal\n```", "```output\nTypeError\n```", "```output\n\n```"]
    assert faults(raising, *said) == ["", "wrong", "wrong"]
    assert faults(fine, "```output\nNoError\n```") == [""]


def test_composite_programs_build_on_given_functions():
    given = [Problem("deduction", ADD, "1", "2")]
    judge = environment()
    good = judge.proposal("deduction", proposal("def f(x):\n    return g_0(x) * 2", "3"), functions=given)
    assert good.problem.output == "8"
    assert "def g_0" in good.problem.program
    for program in (
        "def g_0(x):\n    return 0\ndef f(x):\n    return g_0(x)",
        "def f(x):\n    g_0 = abs\n    return g_0(x)",
        "import math as g_0\ndef f(x):\n    return g_0(x)",
    ):
        verdict = judge.proposal("deduction", proposal(program, "3"), functions=given)
        assert verdict.fault == "wrong"
        assert "g_0, which is given" in verdict.reason
    assert "does not call" in judge.proposal("deduction", proposal(), functions=given).reason
    recipe = made(composite=1.0, composite_functions=1)
    prompt = bytes(recipe.ask(Scripted(None), "deduction", 1, random.Random(0)).ids).decode()
    assert "Given function g_0" in prompt
    assert [made(composite=0.5, composite_from=10)._composite_share(step) for step in (5, 15, 40)] == [0.0, 0.25, 0.5]


@pytest.mark.parametrize(
    ("change", "roles", "tasks"),
    [
        ({"train_proposer": False}, {"solve"}, {"deduction", "abduction", "induction"}),
        ({"tasks": ["deduction"]}, {"propose", "solve"}, {"deduction"}),
        ({"references": 0}, {"propose", "solve"}, {"deduction", "abduction", "induction"}),
    ],
)
def test_ablations_by_option(change, roles, tasks):
    config = load_config(
        "absolute-zero-paper",
        [f"options.{key}={str(value).lower()}".replace("'", '"') for key, value in change.items()],
    )
    assert {key: config.options[key] for key in change} == change
    sampler = Scripted(Honest())
    rows = trained(made(**change), sampler)
    assert {row.role for row in rows} == roles
    assert {row.task for row in rows} == tasks
    shown = any(b"Example 1" in bytes(request.prompt) for request in sampler.requests)
    assert shown == (change.get("references") != 0)


def test_the_repository_config_has_the_repository_s_choices():
    config = load_config("absolute-zero-repo")
    assert (config.options["preset"], config.options["keep"]) == ("azr-repo", "oldest")
    assert config.loss.dual_clip == 3


def test_solutions_that_estimated_a_rate_are_trained_on_where_wanted():
    rows = {
        reuse: trained(made(tasks=["deduction"], batch=2, estimates=4, rollouts=1, reuse=reuse)) for reuse in (0, 1)
    }
    assert {reuse: sum(row.role == "solve" for row in found) for reuse, found in rows.items()} == {0: 2, 1: 8}


def test_state_survives_a_checkpoint():
    first = made()
    trained(first)
    second = made()
    second.restore(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()
    policies = Honest(), Honest()
    assert trained(first, Scripted(policies[0]), 2) == trained(second, Scripted(policies[1]), 2)


@pytest.mark.parametrize(
    "solution",
    [
        "```input\n1) or (True\n```",
        "```output\n2\n```" * 2 + "</answer><answer>",
        "```input\n'x' * 10**9\n```",
        "```output\n" + "[" * 100_000 + "\n```",
        "```python\ndef f(x):\n    while True: pass\n```",
        "```python\nimport os\ndef f(x):\n    os._exit(0)\n```",
        "```python\nprint('[1, 2, 3, 4]')\ndef f(x):\n    raise SystemExit\n```",
        "```python\nclass Any(int):\n    def __eq__(self, other): return True\ndef f(x):\n    return Any(0)\n```",
        "",
    ],
)
def test_a_policy_that_cheats_is_never_rewarded(solution):
    problems = [
        Problem("deduction", ADD, "1", "2"),
        Problem("abduction", ADD, "1", "2"),
        Problem("induction", ADD, message="adds", pairs=tuple((str(x), str(x + 1)) for x in range(4))),
    ]
    hostile = [answer(solution), solution, "</think>" * 50 + answer(solution)]
    for problem in problems:
        rewards = [solver_reward(verdict.fault) for verdict in environment(wall_s=1.0).solutions(problem, hostile)]
        assert all(reward is not None and reward < 0 for reward in rewards)


def test_an_unreadable_held_out_file_is_named(tmp_path):
    path = tmp_path / "held-out.jsonl"
    with pytest.raises(ConfigError, match="held_out"):
        read_held_out(path)
    path.write_text('{"task": "deduction", "program": "p"}\n{"task": "guessing", "program": "p"}\n')
    with pytest.raises(SchemaError, match=":2: field 'task'"):
        read_held_out(path)


def test_what_an_engine_loses_is_unscored_and_the_rest_goes_on():
    recipe = made(batch=4)
    rows = trained(recipe, Scripted(Honest(), failing=5))
    assert rows
    whole = trained(made(batch=4))
    expected = {(row.role, row.task, row.completion): row.reward for row in whole if row.role == "solve"}
    assert all(expected.get((row.role, row.task, row.completion), row.reward) == row.reward for row in rows)
    assert all(row.reward is None or row.reward in (-1.0, -0.5, 0.0, 0.5, 1.0) for row in rows)


def test_killed_sandbox_servers_are_never_the_policy_s_fault():
    judge = environment()
    said = [answer(f"```input\n{number}\n```") for number in range(4)]
    for attempt in range(4):
        problem = Problem("abduction", f"{ADD}  # {attempt}", "1", "2")
        if attempt:
            for server in [process for idle in judge.box._pool._idle.values() for process in idle]:
                os.kill(server._process.pid, signal.SIGKILL)
        found = [solution.fault for solution in judge.solutions(problem, said)]
        assert all(
            fault in (right, "error") for fault, right in zip(found, ["wrong", "", "wrong", "wrong"], strict=True)
        )
    for idle in judge.box._pool._idle.values():
        while idle:
            idle.pop().close()  # other tests' runs would meet the dead ones
    assert found.count("error") < 4
