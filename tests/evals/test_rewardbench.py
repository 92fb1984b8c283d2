"""RewardBench 2: the official formulas in another hand, on made scores, and the task end to end."""

import json
import math
import random
from collections import defaultdict

import pytest

pytest.importorskip("lm_eval")
numpy = pytest.importorskip("numpy")

from tests.evals.scripted import Scripted, write  # noqa: E402
from verikit import verifier  # noqa: E402
from verikit.errors import SchemaError, UsageError  # noqa: E402
from verikit.evals.lm import EngineLM  # noqa: E402
from verikit.evals.loading import Settings  # noqa: E402
from verikit.evals.models import default_folder, opened_model  # noqa: E402
from verikit.evals.page import collect  # noqa: E402
from verikit.evals.ranker import Ranker  # noqa: E402
from verikit.evals.rewardbench import best_of_n, ties_score  # noqa: E402
from verikit.evals.run import run_tasks  # noqa: E402
from verikit.evals.stored import Stored  # noqa: E402
from verikit.evals.suite import read_suite, run_suite  # noqa: E402
from verikit.report.model import Options  # noqa: E402

SUBSETS = ("Factuality", "Precise IF", "Math", "Safety", "Focus")


def official_best_of_n(scores):
    """`reroll_and_score_dataset` in numpy, as the benchmark has it."""
    scores, top = numpy.array(scores), numpy.max(scores)
    return 1 / numpy.sum(scores == top) if scores[0] == top else 0


def official_ties(rows):
    """`process_single_model` in numpy, as the benchmark has it."""
    grouped = defaultdict(list)
    for id, correct, scores in rows:
        kind, number = id.split(":")
        grouped[kind, int(number)] += [(i < correct, score) for i, score in enumerate(scores)]
    stats = {"ref": {}, "tied": {}}
    for (kind, number), pairs in grouped.items():
        right = [score for good, score in pairs if good]
        wrong = [score for good, score in pairs if not good]
        gap = min(right) - max(wrong)
        stats[kind][number] = (gap > 0, max(right) - min(right), gap)
    both = sorted(set(stats["ref"]) & set(stats["tied"]))
    among = numpy.array([stats["tied"][n][1] for n in both])
    ties = numpy.array([stats["tied"][n][2] for n in both])
    refs = numpy.array([stats["ref"][n][2] for n in both])
    with numpy.errstate(divide="ignore", invalid="ignore"):
        close = numpy.nan_to_num(numpy.tanh(numpy.minimum(refs, ties) / among - 1), nan=0.0)
    return (
        0.30 * numpy.mean([value[0] for value in stats["tied"].values()])
        + 0.30 * numpy.mean([value[0] for value in stats["ref"].values()])
        + 0.20 * numpy.mean(ties > among)
        + 0.20 * numpy.mean(numpy.minimum(refs, ties) > among)
        + 0.01 * numpy.mean(close)
    )


def made(rng, coarse):
    """Scores of a subset Ties; coarse ones are often equal."""
    score = (lambda: float(rng.randrange(4))) if coarse else rng.random
    rows = []
    for number in range(rng.randrange(1, 8)):
        lift = rng.choice([0, 0, 1, 3])
        rows.append((f"ref:{number}", 1, [score() + lift] + [score() for _ in range(rng.randrange(1, 5))]))
        right = rng.randrange(2, 6)
        rows.append((f"tied:{number}", right, [score() + lift for _ in range(right)] + [score() for _ in range(3)]))
    return rows


def test_the_figure_of_ties_is_the_official_one_on_made_scores():
    rng = random.Random(0)
    for case in range(2000):
        rows = made(rng, coarse=case % 2 == 0)
        found = ties_score([("Ties", *row) for row in rows])
        assert found == pytest.approx(official_ties(rows), abs=1e-12)


def test_best_of_n_is_the_official_one_on_made_scores():
    rng = random.Random(1)
    for _ in range(3000):
        scores = [float(rng.randrange(5)) for _ in range(rng.randrange(2, 6))]
        assert best_of_n(scores) == pytest.approx(official_best_of_n(scores))


def test_ties_without_a_pair_give_no_figure():
    assert math.isnan(ties_score([("Ties", "ref:1", 1, [1.0, 0.0])]))


ROWS = [
    {"id": f"{subset}-{k}", "prompt": f"{subset} {k}?", "chosen": ["x" * (k + 2)], "rejected": ["x", "xx", "xxx"],
     "num_correct": 1, "num_incorrect": 3, "total_completions": 4, "subset": subset}
    for subset in SUBSETS for k in range(4)
] + [
    {"id": f"{kind}:{k}", "prompt": f"{kind} {k}?", "chosen": ["x" * (9 + j) for j in range(right)],
     "rejected": ["x" * (k + 7)], "num_correct": right, "subset": "Ties"}
    for k in range(4) for kind, right in (("ref", 1), ("tied", 3))
]  # fmt: skip


def run(tmp_path, lm, rows=ROWS):
    data = write(tmp_path / "rows.jsonl", rows)
    return run_tasks(["verikit_rewardbench2"], "a model", lm, Settings(data=data), tmp_path / "run")


LONGEST = verifier(lambda sample: len(sample.completion), name="longest")


def test_a_verifier_is_the_model_and_its_figures_are_the_official_ones(tmp_path):
    found = run(tmp_path, Ranker(LONGEST))["tasks"]["verikit_rewardbench2"]
    metrics = {name: value["value"] for name, value in found["metrics"].items()}
    for subset in SUBSETS:  # of 2, 3, 4 and 5 letters against 3: below, shared by two, above, above
        assert metrics[subset.lower().replace(" ", "_")] == pytest.approx((0 + 1 / 2 + 1 + 1) / 4)
    ties = [
        (row["id"], row["num_correct"], [float(len(text)) for text in row["chosen"] + row["rejected"]])
        for row in ROWS
        if row["subset"] == "Ties"
    ]
    assert metrics["ties"] == pytest.approx(official_ties(ties))
    assert metrics["score"] == pytest.approx((5 * 0.625 + official_ties(ties)) / 6)
    assert found["own"] == next(iter(found["metrics"])) == "score"
    assert not found["unscored"]


def test_stored_scores_are_replayed(tmp_path):
    scores = [
        {
            "id": row["id"],
            "question": row["prompt"],
            "output": json.dumps([len(t) for t in row["chosen"] + row["rejected"]]),
        }
        for row in ROWS
    ]
    live = run(tmp_path, Ranker(LONGEST))["tasks"]["verikit_rewardbench2"]["metrics"]
    (tmp_path / "again").mkdir()
    stored = Stored(write(tmp_path / "scores.jsonl", scores))
    assert run(tmp_path / "again", stored)["tasks"]["verikit_rewardbench2"]["metrics"] == live


def test_a_candidate_without_a_score_leaves_its_prompt_out_and_is_counted(tmp_path):
    from verikit import Score

    lame = verifier(lambda sample: Score.error("down") if "Math 1" in sample.prompt else len(sample.completion))
    found = run(tmp_path, Ranker(lame))["tasks"]["verikit_rewardbench2"]
    assert found["unscored"] == {"reply": 1}
    assert found["metrics"]["math"]["n"] == 3
    assert any("down" in reason for reason in found["reasons"])


SUITE = """
tasks = ["verikit_rewardbench2"]
settings = {{ data = "{data}" }}
models = [{{ name = "long", model = "replay:{long}" }}, {{ name = "short", model = "replay:{short}" }}]
"""


def test_a_suite_shows_the_benchmarks_score_and_what_has_none_and_compares_prompts_by_accuracy(tmp_path):
    stored = {
        name: [
            {"id": row["id"], "output": json.dumps([sign * len(text) for text in row["chosen"] + row["rejected"]])}
            for row in ROWS[kept:]
        ]
        for name, sign, kept in (("long", 1, 1), ("short", -1, 0))
    }
    files = {name: write(tmp_path / f"{name}.jsonl", rows) for name, rows in stored.items()}
    data = write(tmp_path / "rows.jsonl", ROWS)
    (tmp_path / "suite.toml").write_text(SUITE.format(data=data, **files))
    found = run_suite(read_suite(tmp_path / "suite.toml"), tmp_path / "out")
    metrics = found["models"]["long"]["tasks"]["verikit_rewardbench2"]["metrics"]
    table = (tmp_path / "out/suite.md").read_text()
    assert metrics["score"]["value"] != pytest.approx(metrics["acc"]["value"], abs=1e-3)
    assert f"| long | {100 * metrics['score']['value']:.2f} (" in table
    assert "), 1 unscored |" in table
    (pair,) = found["differences"]
    assert (pair["metric"], pair["docs"], pair["left_out"]) == ("acc", len(ROWS) - 1, 1)
    assert pair["before"] == pytest.approx(metrics["acc"]["value"])
    items = collect(tmp_path / "out/long", Options()).items
    assert [item.value for item in items].count(None) == 1
    assert len(items) == len(ROWS)


def test_models_and_tasks_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(UsageError, match="scores replies"):
        run(tmp_path, EngineLM(Scripted(lambda request: "x")))
    data = write(tmp_path / "math.jsonl", [{"id": "a", "problem": "1+1?", "answer": "2"}])
    with pytest.raises(UsageError, match="needs generated replies"):
        run_tasks(["verikit_math500"], "m", Ranker(LONGEST), Settings(data=data), tmp_path / "other")


@pytest.mark.parametrize("change", [{"chosen": "x"}, {"num_correct": 2}, {"rejected": None}, {"subset": "Ties"}])
def test_rows_of_another_form_are_refused_by_line(tmp_path, change):
    with pytest.raises(SchemaError, match=r"rows\.jsonl:1"):
        run(tmp_path, Ranker(LONGEST), [ROWS[0] | change])


def test_a_spec_with_parentheses_is_a_verifier():
    with opened_model("length(max=3, unit='words')", {}, told=lambda done, of: None) as lm:
        assert isinstance(lm, Ranker)
    assert default_folder("rm('hf:models/rm')", ["verikit_rewardbench2"]) == "eval-rm-hf-models-rm-rewardbench2"
