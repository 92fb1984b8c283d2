import json
import random
import re
from statistics import fmean

import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import ROWS, Scripted, write
from verikit.errors import EngineError, SchemaError
from verikit.evals.docs import rubric_doc
from verikit.evals.healthbench import AXES
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks
from verikit.judges.rubric import Rubric

AXIS = [f"axis:{axis}" for axis in AXES]


class JUDGE:
    """A rubric judge that a test sets."""

    def __new__(cls):
        return cls.judge


def run(tmp_path, rows, engine, judge, **settings):
    JUDGE.judge = Rubric(Scripted(judge), "rubric-healthbench", clip=False, probe=0)
    data = write(tmp_path / "rows.jsonl", rows)
    told = Settings(data=data, judge="tests.evals.test_healthbench:JUDGE", **settings)
    (found,) = run_tasks(["verikit_healthbench"], "m", EngineLM(engine), told, tmp_path / "run")["tasks"].values()
    return found


def made(rng, number):
    """A row whose criteria say themselves whether they are met."""
    rubrics = [{"criterion": "met, by the way", "points": rng.randint(1, 10), "tags": [rng.choice(AXIS)]}]
    for n in range(rng.randint(0, 9)):
        tags = [rng.choice(AXIS), *(["level:example"] if rng.random() < 0.5 else [])]
        text = f"{rng.choice(['met', 'unmet'])} {number} {n}"
        rubrics.append({"criterion": text, "points": rng.choice([*range(-10, 0), *range(1, 11)]), "tags": tags})
    rubrics[0]["criterion"] = rng.choice(["met", "unmet"])
    turns = [{"role": "user", "content": f"question {number}"}]
    if rng.random() < 0.5:
        turns += [{"role": "assistant", "content": "And?"}, {"role": "user", "content": f"more {number}"}]
    tags = [f"theme:{rng.choice(['hedging', 'global_health'])}"]
    return {"prompt_id": f"id-{number}", "prompt": turns, "rubrics": rubrics, "example_tags": tags}


def by_word(request):
    item = re.search(r"<criteria (\w+)>\n\[[^]]*\] (\w+)", request.prompt[-1]["content"])[2]
    return json.dumps({"explanation": "", "criteria_met": item == "met"})


def calculate_score(items):
    """simple-evals' function of this name, restated: (points, met) pairs to a score, None without positive points."""
    possible = sum(points for points, _ in items if points > 0)
    return sum(points for points, met in items if met) / possible if possible else None


def official(rows):
    """simple-evals' figures: scores by row and by tag, and the clipped means of both."""
    values = {"overall_score": []}
    for row in rows:
        items = [(item["points"], item["criterion"].startswith("met"), item["tags"]) for item in row["rubrics"]]
        values["overall_score"].append(calculate_score([item[:2] for item in items]))
        for tag in dict.fromkeys(tag for item in items for tag in item[2]):
            score = calculate_score([item[:2] for item in items if tag in item[2]])
            if score is not None:
                values.setdefault(tag, []).append(score)
    return {name: min(1.0, max(0.0, fmean(scores))) for name, scores in values.items()}


@pytest.mark.parametrize("seed", range(3))
def test_figures_are_those_of_the_official_script_on_made_outputs(tmp_path, seed):
    rng = random.Random(seed)
    rows = [made(rng, number) for number in range(60)]
    found = run(tmp_path, rows, Scripted(lambda request: "a reply"), by_word)
    wanted = official(rows)
    assert found["metrics"]["overall_score"]["value"] == pytest.approx(wanted["overall_score"], abs=1e-12)
    for axis in AXES:
        assert found["metrics"][axis]["value"] == pytest.approx(wanted[f"axis:{axis}"], abs=1e-12)
    assert set(found["categories"]) == {"hedging", "global_health"}


@pytest.mark.parametrize(("points", "mean"), [((-10, 5), 0.0), ((5, 5), 1.0), ((-2, 5), 0.3)])
def test_only_the_mean_is_clipped(tmp_path, points, mean):
    rows = [made(random.Random(0), n) for n in range(2)]
    for row, found in zip(rows, points, strict=True):
        unmet = [{"criterion": "unmet", "points": 5, "tags": []}] if found < 0 else []
        row["rubrics"] = [{"criterion": "met", "points": found, "tags": []}, *unmet]
    found = run(tmp_path, rows, Scripted(lambda request: "x"), by_word)
    assert found["metrics"]["overall_score"]["value"] == pytest.approx(mean)


def test_the_models_conversation_is_asked_as_messages_and_judged_whole(tmp_path):
    row = next(row for row in (made(random.Random(n), n) for n in range(20)) if len(row["prompt"]) == 3)
    asked, judged = [], []

    def model(request):
        asked.append(request.prompt)
        return "the reply"

    def judge(request):
        judged.append(request.prompt[-1]["content"])
        return by_word(request)

    run(tmp_path, [row], Scripted(model), judge, chat=True)
    assert [turn["role"] for turn in asked[0]] == ["user", "assistant", "user"]
    assert "And?" in judged[0]
    assert "the reply" in judged[0]
    plain = []
    (tmp_path / "plain").mkdir()
    run(tmp_path / "plain", [row], Scripted(lambda request: plain.append(request.prompt) or "x"), by_word)
    assert plain[0].startswith("User: question")
    assert plain[0].endswith("Assistant:")


def test_a_conversation_without_a_reply_meets_nothing_on_any_axis(tmp_path):
    rows = [made(random.Random(n), n) for n in range(12)]
    said = {row["prompt"][-1]["content"]: "<think>x" if n % 3 else "a reply" for n, row in enumerate(rows)}
    found = run(tmp_path, rows, Scripted(lambda request: said[request.prompt[-1]["content"]]), by_word, chat=True)
    for n, row in enumerate(rows):
        for item in row["rubrics"] if n % 3 else ():
            item["criterion"] = "unmet"
    wanted = official(rows)
    assert found["unscored"] == {}
    assert found["metrics"]["overall_score"]["value"] == pytest.approx(wanted["overall_score"])
    for axis in AXES:
        assert found["metrics"][axis]["value"] == pytest.approx(wanted[f"axis:{axis}"])


def test_a_criterion_without_a_verdict_leaves_the_conversation_out_and_counted(tmp_path):
    rows = [made(random.Random(n), n) for n in range(4)]

    def judge(request):
        text = request.prompt[-1]["content"]
        return EngineError("gone") if "question 0" in text else by_word(request)

    found = run(tmp_path, rows, Scripted(lambda request: "x"), judge)
    assert found["unscored"] == {"overall_score": 1}
    assert found["metrics"]["overall_score"]["value"] == pytest.approx(official(rows[1:])["overall_score"])


@pytest.mark.parametrize(
    "change", [{"prompt": "a text"}, {"prompt": []}, {"rubrics": []}, {"rubrics": [{"points": 1}]}, {"prompt": [{}]}]
)
def test_rows_of_another_form_are_refused(change):
    row = ROWS["healthbench"][0]
    assert rubric_doc(row)["category"] == "context_seeking"
    with pytest.raises(SchemaError):
        rubric_doc({**row, **change})
