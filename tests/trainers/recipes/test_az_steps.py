"""A step of Absolute Zero by exact numbers: seeding, draws, requests, rates, rewards and metrics.

The environment reads its verdicts from the replies here; what the real one says is in `test_absolute_zero`.
"""

import json
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.trainers.recipes.scripted import Scripted
from verikit.errors import ConfigError, TrainerError
from verikit.sandbox import Failure, RunResult
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.absolute_zero.buffers import Buffer, distinct, solve_batch
from verikit.trainers.recipes.absolute_zero.environment import LONGEST_MESSAGE, Environment, ProgramVerdict
from verikit.trainers.recipes.absolute_zero.extras import extra_rewards
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions, ExtraReward
from verikit.trainers.recipes.absolute_zero.problem import SEEDS, Problem, read_held_out
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.absolute_zero.rewards import combined
from verikit.trainers.recipes.absolute_zero.rounds import Solved

ADD = "def f(x):\n    return x + 1"


class Said(Environment):
    """`valid NAME` proposes a program of that name; another word is what is wrong, `right` nothing."""

    def proposal(self, task, completion, program="", functions=()):
        word, _, name = completion.partition(" ")
        if word != "valid":
            return ProgramVerdict(word, f"it is {word}")
        pairs = tuple((str(number), name) for number in range(self.options.inputs)) if task == "induction" else ()
        return ProgramVerdict("", problem=Problem(task, program or name, name, name, pairs=pairs))

    def solutions(self, problem, completions):
        return [ProgramVerdict("" if word == "right" else word) for word in completions]


class Told(AbsoluteZero):
    """The recipe with that environment."""

    def make_environment(self, opening):
        return Said(self.options, opening)


class Policy:
    """Proposes these texts in turn, and solves by a function of the prompt and the reply's number."""

    def __init__(self, *proposals, solve=lambda prompt, number: "right"):
        self.proposals, self.solve, self.count = proposals, solve, 0

    def __call__(self, prompt, number):
        if not any(word in prompt for word in ("Write a new Python program", "inputs for it", "inputs that")):
            return self.solve(prompt, number)
        self.count += 1
        return self.proposals[(self.count - 1) % len(self.proposals)].replace("#", str(self.count))


def made(kind=Told, seed=0, folder=Path(), **options):
    small = {"batch": 4, "seed_factor": 1, "estimates": 4, "inputs": 4, "tasks": ["deduction"]}
    return kind(AbsoluteZeroOptions(**(small | options)), Setting(None, seed, folder))


def seeded(**options):
    """The recipe whose buffers need no seeding."""
    recipe = made(**options)
    recipe.seeded = True
    return recipe


def problems(count, prefix="p", step=0):
    return [Problem("deduction", f"{prefix}{number}", "1", str(number), step=step) for number in range(count)]


def asked(sampler, words):
    return [request for request in sampler.requests if words in sampler.decode(request.prompt)]


def test_a_step_pays_what_each_proposal_and_solution_is_worth():
    def solve(prompt, number):
        return "right" if number == 1 and "a1" in prompt else "wrong"

    recipe = seeded()
    sampler = Scripted(Policy("valid a#", "wrong", "format", "error", solve=solve))
    rows = recipe.collect(sampler, 7)
    proposed = [row for row in rows if row.role == "propose"]
    assert [row.reward for row in proposed] == [0.75, -0.5, -1.0, None]
    assert [row.answer for row in proposed] == ["", "it is wrong", "it is format", "it is error"]
    assert {(row.group, row.task) for row in proposed} == {("propose deduction", "deduction")}
    assert all("Write a new Python program" in row.prompt and row.prompt.endswith("<think>") for row in proposed)
    solved = [row for row in rows if row.role == "solve"]
    assert [row.reward for row in solved] == [-0.5] * 4
    assert len({row.group for row in solved}) == 4
    kept = recipe.buffers["deduction"].problems
    assert [(problem.program, problem.step) for problem in kept] == [(SEEDS["deduction"].program, 0), ("a1", 7)]
    assert [("a1" in row.prompt, "def f(x)" in row.prompt) for row in solved] == [(True, False)] + [(False, True)] * 3
    metrics = recipe.metrics()
    assert metrics.pop("seconds_sandbox") >= 0
    assert metrics == {
        "valid/deduction": pytest.approx(1 / 3),  # of what was judged
        "solve_rate/deduction": 0.25,
        "learnable/deduction": 1.0,
        "buffer/deduction": 2.0,
        "buffer/abduction": 1.0,
    }


def test_rates_belong_to_their_proposals_and_metrics_to_their_tasks():
    shares = {"a1": 1, "a2": 2, "a4": 4, "b5": 0, "b6": 3}

    def solve(prompt, number):
        share = next((share for name, share in shares.items() if name in prompt), 0)
        return "right" if number < share else "wrong"

    recipe = seeded(tasks=["deduction", "abduction"], batch=4)
    policy = Policy("valid a#", "valid a#", "wrong", "valid a#", "valid b#", "valid b#", "error", "error", solve=solve)
    rows = recipe.collect(Scripted(policy), 1)
    rewards = [row.reward for row in rows if row.role == "propose"]
    assert rewards == [0.75, 0.5, -0.5, 0.0, 0.0, 0.25, None, None]
    metrics = recipe.metrics()
    assert (metrics["valid/deduction"], metrics["valid/abduction"]) == (0.75, 1.0)
    assert metrics["solve_rate/deduction"] == pytest.approx((0.25 + 0.5 + 1) / 3)
    assert metrics["learnable/deduction"] == pytest.approx(2 / 3)
    assert (metrics["solve_rate/abduction"], metrics["learnable/abduction"]) == (0.375, 0.5)
    groups = [row.group for row in rows if row.role == "solve"]
    assert len(groups) == len(set(groups)) == 8
    assert Counter(row.task for row in rows if row.role == "solve") == {"deduction": 4, "abduction": 4}


def test_a_step_whose_proposals_are_all_lost_has_nothing_valid():
    recipe = seeded()
    rows = recipe.collect(Scripted(Policy("error")), 1)
    assert {row.reward for row in rows if row.role == "propose"} == {None}
    assert recipe.metrics()["valid/deduction"] == 0.0
    assert "solve_rate/deduction" not in recipe.metrics()


def test_solutions_that_could_not_be_judged_are_in_no_rate():
    def solve(prompt, number):
        return ["right", "error", "wrong", "error"][number] if "a1" in prompt else "error"

    recipe = seeded(batch=1)
    rows = recipe.collect(Scripted(Policy("valid a#", solve=solve)), 1)
    assert [row.reward for row in rows] == [0.5, 1.0]
    assert recipe.metrics()["solve_rate/deduction"] == 0.5
    assert Solved(SEEDS["deduction"], None, [ProgramVerdict("error")]).rate is None


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, [5, 5, 1, 1]),  # two new ones estimated, then both solved to train
        ({"rollouts": 3}, [5, 5, 3, 3]),
        ({"train_proposer": False}, [1, 1]),
        ({"train_proposer": False, "rollouts": 2, "reuse": True}, [5, 5]),
        ({"reuse": True}, [5, 5]),
        ({"reuse": True, "batch": 3}, [5, 5, 1]),  # the third is topped up
    ],
)
def test_estimates_and_solutions_are_sampled_as_often_as_wanted(change, counts):
    recipe = seeded(**{"batch": 2, "estimates": 5, "temperature": 0.8, "max_tokens": 33} | change)
    sampler = Scripted(Policy("valid a#", "valid a#", "wrong"))
    rows = recipe.collect(sampler, 1)
    requests = sampler.requests[recipe.options.batch :]
    assert [request.n for request in requests] == counts
    assert {(request.temperature, request.max_tokens) for request in requests} == {(0.8, 33)}
    assert len({request.seed for request in sampler.requests}) == len(sampler.requests)
    trained = sum(counts) - (10 if change.get("train_proposer", True) and not change.get("reuse") else 0)
    assert sum(row.role == "solve" for row in rows) == trained


def test_seeding_fills_each_buffer_from_the_untrained_model_and_induction_last():
    recipe = made(tasks=["induction", "deduction"], batch=2, seed_factor=3)
    sampler = Scripted(Policy("valid a#"))
    recipe.collect(sampler, 1)
    sizes = {task: len(buffer.problems) for task, buffer in recipe.buffers.items()}
    assert sizes == {"deduction": 8, "abduction": 6, "induction": 8}  # 6 each, and the step's own 2
    assert {problem.step for problem in recipe.buffers["abduction"].problems} == {0}
    prompts = [sampler.decode(request.prompt) for request in sampler.requests]
    first = next(index for index, prompt in enumerate(prompts) if "4 inputs" in prompt)
    # One is there from the start: 5 are missing, 3 batches of 2.
    assert (first, sum("4 inputs" in prompt for prompt in prompts[:18])) == (12, 6)
    bases = {problem.program for base in ("deduction", "abduction") for problem in recipe.buffers[base].problems}
    assert {problem.program for problem in recipe.buffers["induction"].problems} <= bases
    asked_before = len(sampler.requests)
    recipe.collect(sampler, 2)
    assert len(sampler.requests) - asked_before == 4 + 4 * 1 + 4  # proposals, estimates, solutions: no more seeding


def test_induction_starts_from_the_programs_of_both_other_buffers():
    recipe = made(tasks=["induction"])
    recipe.buffers["deduction"].problems = problems(3, "ded")
    recipe.buffers["abduction"].problems = problems(3, "abd")
    draw = random.Random(0)
    drawn = Counter(recipe.ask(Scripted(None), "induction", 1, draw).program for _ in range(300))
    assert set(drawn) == {"ded0", "ded1", "ded2", "abd0", "abd1", "abd2"}
    assert min(drawn.values()) > 25


def test_seeding_gives_up_after_so_many_batches():
    recipe = made(batch=2, seed_factor=4, seed_tries=3)
    sampler = Scripted(Policy("wrong"))
    recipe._seed(sampler)
    assert len(sampler.requests) == 2 * 3 * 2
    assert len({request.seed for request in sampler.requests}) == 12
    assert {task: len(buffer.problems) for task, buffer in recipe.buffers.items()} == {"deduction": 1, "abduction": 1}
    assert recipe.seeded


def test_seeding_and_steps_are_drawn_by_the_runs_seed():
    def programs(seed):
        recipe = made(seed=seed, batch=8, references=3)
        sampler = Scripted(Policy("valid a#"))
        recipe.collect(sampler, 1)
        return [bytes(request.prompt) for request in sampler.requests]

    assert programs(1) == programs(1) != programs(2)


def test_a_prompt_that_is_too_long_shows_fewer_references():
    recipe = made(references=4)
    recipe.buffers["deduction"].problems = problems(4)
    whole = recipe.ask(Scripted(None), "deduction", 1, random.Random(0))
    recipe.options.max_prompt_tokens = len(whole.ids)
    assert len(recipe.ask(Scripted(None), "deduction", 1, random.Random(0)).references) == 4
    recipe.options.max_prompt_tokens = len(whole.ids) - 1
    shorter = recipe.ask(Scripted(None), "deduction", 1, random.Random(0))
    assert list(shorter.references) == list(whole.references)[:3]
    recipe.options.max_prompt_tokens = 1
    assert recipe.ask(Scripted(None), "deduction", 1, random.Random(0)).references == []


def test_composite_proposals_are_a_share_of_programs_and_of_no_other_task():
    recipe = made(tasks=["deduction", "error"], composite=0.5, composite_functions=2, references=1)
    recipe.buffers["deduction"].problems = problems(5)
    recipe.buffers["error"].problems = problems(5)
    draw = random.Random(0)
    counts = Counter(len(recipe.ask(Scripted(None), "deduction", 1, draw).functions) for _ in range(200))
    assert set(counts) == {0, 2}
    assert 70 < counts[2] < 130
    assert {len(recipe.ask(Scripted(None), "error", 1, draw).functions) for _ in range(20)} == {0}
    assert made(composite=0.0).ask(Scripted(None), "deduction", 1, draw).functions == []
    shares = [made(composite=0.8, composite_from=20)._composite_share(step) for step in (20, 25, 30, 40, 60)]
    assert shares == pytest.approx([0.0, 0.2, 0.4, 0.8, 0.8])


def test_a_problem_enters_the_buffer_up_to_the_prompt_limit_and_as_the_recipe_admits():
    recipe = seeded(batch=1)
    recipe.options.max_prompt_tokens = 10**6
    text = recipe.prompts.solution(Problem("deduction", "a1", "a1", "a1"))
    length = len(Scripted(None).encode(recipe.prompts.text(text)))
    for limit, fault in ((length, ""), (length - 1, "wrong")):
        recipe = seeded(batch=1, references=0)
        recipe.options.max_prompt_tokens = limit
        rows = recipe.collect(Scripted(Policy("valid a#")), 1)
        assert len(recipe.buffers["deduction"].problems) == (1 if fault else 2)
        assert rows[0].reward == (-0.5 if fault else 0.0)

    class Picky(Told):
        def admit(self, problem, draw):
            return None if problem.program == "a1" else problem

    recipe = made(Picky, batch=2)
    recipe.seeded = True
    rows = recipe.collect(Scripted(Policy("valid a#")), 1)
    assert [(row.reward, row.answer) for row in rows if row.role == "propose"] == [(None, "held out"), (0.0, "")]
    assert [problem.program for problem in recipe.buffers["deduction"].problems[1:]] == ["a2"]


def test_held_out_accuracy_is_by_task_and_stratum_and_leaves_out_what_was_lost(tmp_path):
    rows = [Problem(task, f"{task} {n}", "1", "2").as_dict() for task in ("deduction", "abduction") for n in range(2)]
    (tmp_path / "held.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")

    class Strata(Told):
        def stratum(self, problem):
            return problem.program[-1] if problem.task == "deduction" else ""

    def solve(prompt, number):
        if "abduction 1" in prompt or "abduction 0" in prompt or "deduction 1" in prompt:
            return "right" if number else "wrong"
        return "error"

    recipe = made(Strata, folder=tmp_path, held_out="held.jsonl", evaluate_samples=2, temperature=0.6)
    sampler = Scripted(Policy(solve=solve))
    found = recipe.evaluate(sampler, 1)
    # An abduction's prompt shows the program, so its name tells which it is.
    assert found == {"accuracy": 0.5, "deduction": 0.5, "deduction/1": 0.5, "abduction": 0.5}
    assert {(request.n, request.temperature) for request in sampler.requests} == {(2, 0.6)}
    assert made().evaluate(sampler, 1) == {}


def test_half_new_batches_round_up_and_what_lacks_comes_from_where_there_is_some():
    new, old, draw = problems(6, "new"), problems(3, "old"), random.Random(0)

    def drawn(*args):
        return Counter(problem.program[:3] for problem in solve_batch(*args, draw))

    assert drawn(new, old, 5, "half_new") == {"new": 3, "old": 2}
    assert drawn(new[:1], old, 4, "max_new") == {"new": 1, "old": 3}
    assert drawn(new, old, 4, "max_new") == {"new": 4}
    assert drawn(new[:2], [], 5, "max_new") == {"new": 5}  # a first step has no old ones
    assert drawn([], [], 5, "step") == {}
    for mix in ("uniform_total", "step"):  # each once before any comes again
        batch = solve_batch(new, old, 13, mix, draw)
        assert sorted(Counter(problem.program for problem in batch).values()) == [1] * 5 + [2] * 4


def test_draws_by_step_weigh_a_problem_by_its_step_and_one():
    late, early = Problem("deduction", "late", step=3), Problem("deduction", "early", step=0)
    draw = random.Random(0)
    first = Counter(distinct([early, late], 1, draw, "step")[0].program for _ in range(4000))
    assert 0.77 < first["late"] / 4000 < 0.83  # 4 of 5
    assert len(distinct([early, late], 6, draw, "step")) == 2
    even = Counter(distinct([early, late], 1, draw, "uniform")[0].program for _ in range(4000))
    assert 0.46 < even["late"] / 4000 < 0.54


def test_a_full_buffer_may_drop_any_and_a_buffer_that_is_not_full_drops_none():
    draw = random.Random(0)
    stayed: Counter[str] = Counter()
    for _ in range(400):
        buffer = Buffer(2, "random")
        buffer.add(problems(4), draw)
        assert [problem.program for problem in buffer.problems] == sorted(p.program for p in buffer.problems)
        stayed.update(problem.program for problem in buffer.problems)
    assert set(stayed) == {"p0", "p1", "p2", "p3"}
    assert all(150 < count < 250 for count in stayed.values())
    for keep in ("newest", "oldest", "random"):
        buffer = Buffer(4, keep)
        buffer.add(problems(3), draw)
        buffer.add(problems(1, "q"), draw)
        assert [problem.program for problem in buffer.problems] == ["p0", "p1", "p2", "q0"]


def test_extra_terms_are_added_to_what_a_valid_proposal_earns_and_to_nothing_else():
    recipe = seeded(extras=[ExtraReward(kind="diversity", coefficient=0.5)], combine="sum", batch=3)
    sampler = Scripted(
        Policy("valid a#", "wrong", "error", solve=lambda prompt, number: "right" if number else "wrong")
    )
    rewards = [row.reward for row in recipe.collect(sampler, 1) if row.role == "propose"]
    # The buffer holds the seed and the new one itself: 1 of 2 has the same output.
    assert rewards == [0.25 + 0.5 * 0.5, -0.5, None]
    first = [ExtraReward(kind="diversity", coefficient=0.6, maximum=0.9)]
    assert extra_rewards(recipe.environment, first, problems(1)[0], [], []) == [0.6]
    assert extra_rewards(
        recipe.environment, [ExtraReward(kind="diversity", coefficient=2)], problems(1)[0], [], []
    ) == [1]
    assert combined(0.5, [0.25], "sum_multiply") == 0.75


class Down:
    """A sandbox that fails."""

    def run(self, *args, **options):
        return RunResult("infra_error", error=Failure("infra", "no fork server"))


def reply(payload):
    return f"hm</think> <answer>{payload}</answer>"


def test_a_sandbox_that_fails_is_nobodys_fault(monkeypatch):
    judge = Environment(AbsoluteZeroOptions(inputs=2), "<think>")
    monkeypatch.setattr(Environment, "box", property(lambda self: Down()))
    blocks = reply("```input\n1\n```\n```input\n2\n```\n```message\nadds\n```")
    verdict = judge.proposal("induction", blocks, ADD)
    assert (verdict.fault, verdict.problem) == ("error", None)
    assert "no fork server" in verdict.reason
    assert extra_rewards(judge, [ExtraReward(kind="complexity")], problems(1)[0], [], []) is None


def test_a_term_that_cannot_be_measured_is_nothing(monkeypatch):
    judge = Environment(AbsoluteZeroOptions(), "<think>")
    monkeypatch.setattr(
        Environment, "box", property(lambda self: SimpleNamespace(run=lambda *args, **more: RunResult("timeout")))
    )
    assert extra_rewards(judge, [ExtraReward(kind="halstead")], problems(1)[0], [], []) == [0.0]


def test_a_message_may_be_so_long_and_no_longer():
    judge = Environment(AbsoluteZeroOptions(inputs=2), "<think>")
    for length, told in ((LONGEST_MESSAGE + 1, "more than"), (0, "no message")):
        blocks = reply(f"```input\n1\n```\n```input\n2\n```\n```message\n{'m' * length}\n```")
        verdict = judge.proposal("induction", blocks, ADD)
        assert verdict.fault == "format"
        assert told in verdict.reason
    longest = reply(f"```input\n1\n```\n```input\n2\n```\n```message\n{'m' * LONGEST_MESSAGE}\n```")
    assert judge.proposal("induction", longest, ADD).problem.message == "m" * LONGEST_MESSAGE
    few = judge.proposal("induction", reply("```input\n1\n```\n```message\nm\n```"), ADD)
    assert "1 inputs, not 2" in few.reason
    for blocks in ("```python\nx\n```", "```input\n1\n```"):
        assert judge.proposal("deduction", reply(blocks)).fault == "format"


def test_equal_answers_are_judged_once_and_the_first_word_names_an_exception():
    judge, seen = Environment(AbsoluteZeroOptions(), "<think>"), []
    whole = judge._judged
    judge._judged = lambda problem, answers: seen.extend(answers) or whole(problem, answers)
    problem = Problem("error", ADD, "1", "ValueError")
    texts = ["```output\nValueError: no\n```", "ValueError", "```output\nno ValueError\n```", "", "valueerror"]
    replies = [reply(text) for text in [texts[0], *texts, "none"]] + ["no tags"]
    found = [verdict.fault for verdict in judge.solutions(problem, replies)]
    assert found == ["", "", "", "wrong", "format", "", "wrong", "format"]
    assert seen == [texts[0], texts[1], texts[2], texts[4], "none"]


def test_check_has_a_right_and_a_wrong_answer_judged(monkeypatch):
    probes = dict(made(AbsoluteZero).probes())
    assert probes["data"]() == "0 problems held out"
    assert "judged two answers" in probes["sandbox"]()
    assert "judged two answers" in dict(made(AbsoluteZero, chat=True).probes())["sandbox"]()
    with pytest.raises(TrainerError, match="can't run programs"):
        dict(made().probes())["sandbox"]()


def test_held_out_files_are_read_whole_or_refused(tmp_path):
    path = tmp_path / "held.jsonl"
    given = [SEEDS["induction"], SEEDS["deduction"], problems(1, step=3)[0]]
    path.write_text("\n".join(json.dumps(problem.as_dict() | {"note": "kept out"}) for problem in given))
    assert read_held_out(path) == given
    path.write_bytes(b"\xff\n")
    with pytest.raises(ConfigError, match="held_out"):
        read_held_out(path)


def test_half_the_pairs_are_shown_and_the_verifier_gets_all():
    pairs = tuple((str(number), str(number)) for number in range(5))
    problem = Problem("induction", ADD, pairs=pairs)
    assert problem.shown == pairs[:2]
    assert problem.meta() == {"task": "induction", "pairs": [list(pair) for pair in pairs]}
    assert set(SEEDS["deduction"].meta()) == {"task", "program", "input", "output"}
