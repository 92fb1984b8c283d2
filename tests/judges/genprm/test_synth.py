"""The synthesis end to end, with a policy of known skill in the place of a model, and code that really runs."""

import json
import random
import shutil
from dataclasses import replace
from fractions import Fraction

import pytest

from verikit import answer
from verikit.engines.errors import Unreachable
from verikit.engines.types import Engine, Generation, Output
from verikit.errors import AuthError, EngineError, UsageError
from verikit.judges.genprm import GenPRM
from verikit.judges.genprm.synth.estimates import estimate_values
from verikit.judges.genprm.synth.pipeline import Synthesis, synthesise
from verikit.judges.genprm.synth.sampling import Asking
from verikit.judges.genprm.synth.solutions import Balance
from verikit.types import Group

SLIP = 0.3


class Adder(Engine):
    """Adds a chain of numbers in steps; each step slips with a known probability, and a slip is never mended."""

    name = "adder"

    def __init__(self, slip=SLIP, fail=()):
        self.slip, self.fail, self.asked = slip, fail, 0

    def generate(self, requests):
        self.asked += len(requests)
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        numbers = list(map(int, request.prompt[0]["content"].split("+")))
        if request.prompt[0]["content"] in self.fail:
            return Generation(error=EngineError("no"))
        begun = request.prompt[-1]["content"]
        return Generation(tuple(self._output(numbers, begun, f"{request.seed} {k}") for k in range(request.n)))

    def _output(self, numbers, begun, key):
        draw = random.Random(key)
        done = [line for line in begun.split("\n\n") if "=" in line]
        total = int(done[-1].rpartition("=")[2]) if done else numbers[0]
        lines = []
        for index in range(len(done) + 1, len(numbers)):
            new = total + numbers[index] + (draw.random() < self.slip)
            lines.append(f"Step {index}: {total}+{numbers[index]}={new}")
            total = new
        text = "\n\n".join(lines)[0 if done else len("Step 1:") :]
        return Output(text + f" so \\boxed{{{total}}} ({draw.randrange(10**6)})", finish_reason="stop")


class Checker(Engine):
    """Reviews by code, as the protocol has it: compares what the step claims with what the code printed."""

    name = "checker"

    def __init__(self, blind=False):
        self.blind = blind

    def generate(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        step = [message["content"] for message in request.prompt if message["role"] == "user"][-1].split("\n")[-1]
        begun = request.prompt[-1]["content"]
        sum_, _, claim = step.partition(": ")[2].partition(" so ")[0].partition("=")
        if begun.endswith("step by step: "):
            return Generation((Output("a sum", finish_reason="stop"),))
        if begun.endswith("```python\n"):
            return Generation((Output(f"print({sum_})", finish_reason="stop"),))
        right = self.blind or begun.rpartition("```\n")[0].rpartition("```\n")[2].strip() == claim
        said = "Yes" if right else "No"
        return Generation((Output(f"<output>\n**Judgement**: $\\boxed{{{said}}}$", finish_reason="stop"),))


PROBLEMS = [Group(f"{a}+{a + 3}+{a + 1}+5", answer=str(3 * a + 9), id=f"p{a}") for a in range(10, 22)]


def parts(policy=None, reviewer=None, **options):
    reviewer = GenPRM(reviewer or Checker(), 1, temperature=0)
    policy = policy or Adder()
    settings = {"balance": Balance(6, 64, 16), "completions": (48, 48, 48), "batch": 5, "asking": Asking(system="")}
    return Synthesis(answer(), policy, policy, reviewer, **settings | options)


def rows(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("synth") / "out"
    return out, synthesise(PROBLEMS, out, parts(), {"seed": 0})


def wrong_from(steps):
    """The first step with a wrong sum."""
    for index, step in enumerate(steps):
        sum_, _, claim = step.partition(": ")[2].partition(" so ")[0].partition("=")
        a, b = map(int, sum_.split("+"))
        if a + b != int(claim):
            return index
    return len(steps)


def test_paths_are_balanced_and_begin_with_a_numbered_step(made):
    out, report = made
    for row in rows(out / "solutions/rows.jsonl"):
        assert row["tried"] % 16 == 0
        right = [path["right"] for path in row["paths"]]
        assert right == [] or 0 < sum(right) < len(right) <= 6
        assert all(path["steps"][0].startswith("Step 1:") and len(path["steps"]) == 3 for path in row["paths"])
    assert report["paths"]["right"] > 20
    assert report["paths"]["wrong"] > 20


def test_rows_of_the_same_id_keep_their_own_paths():
    solved = [
        {"id": "p", "prompt": f"{n}+1", "answer": str(n + 1), "right": 1, "tried": 2,
         "paths": [{"steps": [f"Step 1: {n}+1={n + 1}"], "right": True}]}
        for n in (1, 5)
    ]  # fmt: skip
    first, second = estimate_values(solved, Adder(), answer(), Asking(system=""))
    assert [path["prompt"] for path in first] == ["1+1"]
    assert [path["prompt"] for path in second] == ["5+1"]


def test_labels_find_the_first_wrong_step_in_most_paths(made):
    out, _ = made
    found = rows(out / "steps.jsonl")
    hits = sum(([*row["labels"], 0].index(0) == wrong_from(row["steps"])) for row in found)
    assert hits / len(found) > 0.8
    values = rows(out / "values/rows.jsonl")
    lost = [path for path in values if not path["right"]]
    assert all(path["values"][-1] == [0, 1] for path in lost)
    path = next(path for path in values if wrong_from(path["steps"]) == 3)
    assert Fraction(*path["values"][0]) == pytest.approx(0.49, abs=0.25)


def test_only_solutions_whose_labels_the_reviewer_shares_are_kept(made):
    out, report = made
    labels = {row["id"]: row["labels"] for row in rows(out / "steps.jsonl")}
    for row in rows(out / "rationales/rows.jsonl"):
        assert row["kept"] == (row["verdicts"] == [[bool(label) for label in labels[row["id"]]]])
    assert report["rationales"]["kept"] + report["rationales"]["disagreed"] == report["rationales"]["written"]
    assert report["rationales"]["kept"] > 10
    blind = synthesise(PROBLEMS, out.parent / "blind", parts(reviewer=Checker(blind=True)), {})
    assert blind["rationales"]["kept"] == sum(0 not in label for label in labels.values())


def test_kept_rationales_are_conversations_of_one_turn_a_step_with_what_code_printed(made):
    out, _ = made
    for row in rows(out / "train.jsonl"):
        assert [message["role"] for message in row["messages"]] == ["system", *["user", "assistant"] * 3]
        for index, label in enumerate(row["labels"]):
            asked, said = row["messages"][1 + 2 * index : 3 + 2 * index]
            sum_ = asked["content"].split(": ")[-1].split("=")[0]
            assert f"print({sum_})" in said["content"]
            assert f"[Code Output]\n\n```\n{eval(sum_)}\n```" in said["content"]
            assert ("{Yes}" if label else "{No}") in said["content"]


def test_what_it_makes_trains_by_verikit_train_sft(made):
    pytest.importorskip("torch")
    from tests.engines import tiny
    from verikit.trainers.recipe import Setting
    from verikit.trainers.recipes.sft import SFT, SFTOptions, StepLabelOptions, StepLabels

    out, report = made
    setting = Setting(tiny.tokenizer(), 0, out)
    recipe = SFT(SFTOptions(data="train.jsonl", max_tokens=10**6), setting)
    assert len(recipe.rows) == report["rationales"]["kept"]
    steps = StepLabels(StepLabelOptions(data="steps.jsonl", max_tokens=10**6), setting)
    assert len(steps.rows) == sum(report["paths"][kind] for kind in ("right", "wrong"))


class Interrupted(Exception):
    pass


class Dying(Adder):
    """Dies at its n-th call."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def generate(self, requests):
        self.calls -= 1
        if self.calls < 0:
            raise Interrupted
        return super().generate(requests)


def test_a_synthesis_interrupted_anywhere_ends_in_the_same_files(made, tmp_path):
    out, _ = made
    for calls in (1, 3, 4):
        with pytest.raises(Interrupted):
            synthesise(PROBLEMS, tmp_path / "cut", parts(policy=Dying(calls)), {"seed": 0})
    synthesise(PROBLEMS, tmp_path / "cut", parts(), {"seed": 0})
    for name in ("train.jsonl", "steps.jsonl", "report.json", "solutions/rows.jsonl", "values/rows.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (out / name).read_bytes(), name


class Gone(Engine):
    """A server that nobody answers at, or that refuses the key."""

    name = "gone"

    def __init__(self, error):
        self.error, self.asked = error, 0

    def generate(self, requests):
        self.asked += len(requests)
        return [Generation(error=self.error) for _ in requests]


@pytest.mark.parametrize("error", [Unreachable("nobody answers"), AuthError("401")])
@pytest.mark.parametrize("role", ["policy", "completer", "reviewer"])
def test_an_engine_that_is_gone_stops_the_synthesis_and_is_no_result(made, tmp_path, role, error):
    out, _ = made
    gone = Gone(error)
    settings = {name: getattr(parts(), name) for name in Synthesis.__slots__}
    settings[role] = replace(settings[role], engine=gone) if role == "reviewer" else gone
    with pytest.raises(type(error), match=str(error)) as stopped:
        synthesise(PROBLEMS, tmp_path / "cut", Synthesis(**settings), {"seed": 0})
    assert "resumes where it stopped" in stopped.value.hint
    assert gone.asked <= 80  # one batch, not all attempts
    synthesise(PROBLEMS, tmp_path / "cut", parts(), {"seed": 0})
    for name in ("train.jsonl", "report.json"):
        assert (tmp_path / "cut" / name).read_bytes() == (out / name).read_bytes(), name


def test_a_folder_made_under_other_settings_is_not_continued(made, tmp_path):
    shutil.copytree(made[0], tmp_path / "copy")
    with pytest.raises(UsageError, match="another seed"):
        synthesise(PROBLEMS, tmp_path / "copy", parts(), {"seed": 1})


def test_a_failing_engine_and_an_unreadable_gold_are_counted_and_label_nothing(tmp_path):
    bad = Group("1+2+3+4", answer="?", id="bad gold")
    lost = PROBLEMS[0].prompt
    completer = Adder(fail=(lost,))
    settings = parts()
    made = Synthesis(**{name: getattr(settings, name) for name in Synthesis.__slots__} | {"completer": completer})
    report = synthesise([*PROBLEMS[:3], bad], tmp_path / "out", made, {})
    assert report["solutions"]["unscored"] == 64
    assert report["paths"]["without values"] > 0
    assert not [row for row in rows(tmp_path / "out/steps.jsonl") if row["prompt"] == lost]


def test_a_problem_solved_always_or_never_is_dropped(tmp_path):
    report = synthesise(PROBLEMS[:2], tmp_path / "out", parts(policy=Adder(slip=0)), {})
    assert report["solutions"]["problems of one kind only"] == 2
    assert report["solutions"]["tried"] == 128
    assert report["rationales"]["written"] == 0
