"""The echo guard: a formula of the question is not paid, and no right answer is lost."""

import json
import os
from pathlib import Path

import pytest

from verikit import Sample, load
from verikit.adapters import to_openrlhf, to_trl, to_verifiers, to_verl
from verikit.base import walk
from verikit.verifiers.echo import EchoGuard, echo_guard, echo_rate, is_echo

DATA = Path(os.environ.get("VERIKIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
GUARDED = load("echo_guard(answer)")


@pytest.mark.parametrize(
    ("question", "answer", "gold"),
    [
        ("Compute $(1+2i)6-3i$.", "(1+2i)6-3i", "6+9i"),
        ("Compute $(1+2i)6-3i$.", r"\left(1 + 2i\right) 6 - 3i", "6+9i"),
        (r"Simplify $\frac{12}{18}$.", r"\dfrac{12}{18}", r"\frac{2}{3}"),
        ("Find $58_9 - 18_9.$ Express your answer in base $9.$", "58_9 - 18_9.", "40_9"),
        (r"Expand $$(x+2)(x-2) = y$$", "(x+2)(x-2)", "x^2-4"),
        (r"What is \(3\cdot 4+1\)?", "3 * 4 + 1", "13"),
        ("Let a = 2, b = 3^2 + 1. What is b?", "3^2+1", "10"),
    ],
)
def test_a_formula_of_the_question_is_not_paid(question, answer, gold):
    sample = Sample(question, rf"\boxed{{{answer}}}", gold)
    assert load("answer").score([sample])[0].value == 1.0
    (score,) = GUARDED.score([sample])
    assert (score.value, score.status, score.usage["echoes"]) == (0.0, "ok", 1.0)
    assert score.reason == "echo: the answer is a formula of the question"


@pytest.mark.parametrize(
    ("question", "answer", "gold"),
    [
        ("Compute $(1+2i)6-3i$.", "6+9i", "6+9i"),
        ("What is $x^2-4$, factored or not?", "x^2-4", "x^2-4"),
        ("What is the value of 7 + 0 if 7 is 7?", "7", "7"),
        (r"Which is larger, $2^{10}$ or $3^6$?", "2^{10}", "1024"),
        ("Choose the even one: $3+4$, $3+5$.", "3+5", "8"),
        ("Solve $x^2 + 2x+1 = 0$; then give $y$.", "2x+1", "1+2x"),
        ("Is $12x+1$ larger?", "2x+1", "1+2x"),
        ("Write $f(2+3)$ as $f(y)$; what is y?", "2+3", "5"),
        ("The price is 0.50 dollars; what is it?", "0.50", r"\frac{1}{2}"),
        (r"One side is $\frac{1}{2}$ and $0.5$. How long is it?", r"\frac{1}{2}", "0.5"),
        ("", "3+4", "7"),
    ],
)
def test_near_misses_are_paid_as_before(question, answer, gold):
    sample = Sample(question, rf"\boxed{{{answer}}}", gold)
    assert GUARDED.score([sample])[0].value == load("answer").score([sample])[0].value == 1.0


@pytest.mark.parametrize(
    "wrapper",
    [
        "{} + 0", r"1 \cdot ({})", "({})^{{1}}", "({})/1", "-(-({}))", "\u200b{}", "{}\u2060", r"\,{}", "{} + 5 - 5",
        r"\frac{{2({})}}{{2}}", "|{}|", "x = {}", "{}{{}}", r"{}\phantom{{9}}",
    ],
)  # fmt: skip
def test_neutral_parts_and_invisible_characters_make_no_answer_of_a_formula(wrapper):
    for question, formula, gold in (
        (r"What is \(3\cdot 4+1\)?", r"3\cdot 4+1", "13"),
        ("Compute $(1+2i)6-3i$.", "(1+2i)6-3i", "6+9i"),
        (r"Simplify $\frac{12}{18}$.", r"\frac{12}{18}", r"\frac{2}{3}"),
        ("Factor $x^2 - 9$.", "x^2 - 9", "(x-3)(x+3)"),
    ):
        sample = Sample(question, rf"\boxed{{{wrapper.format(formula)}}}", gold)
        assert GUARDED.score([sample])[0].value == 0.0
        assert GUARDED.score([Sample(question, rf"\boxed{{{gold}}}", gold)])[0].value == 1.0


def test_which_in_the_middle_of_a_question_asks_for_no_choice():
    question = "Let $n$ be the number for which $n = 3^2 + 4^2 + 1$ holds. What is $n$?"
    assert is_echo("3^2+4^2+1", question, ["26"])
    assert not is_echo("3^2", "Which is larger, $3^2$ or $2^3$?", ["9"])


@pytest.mark.parametrize(
    ("answer", "gold"), [(r"\gcd(84, 36)", "12"), (r"\sum_{i=1}^{100} i", "5050"), ("10!", "3628800")]
)
def test_an_answer_that_is_left_to_compute_is_not_paid_unless_the_option_says_so(answer, gold):
    sample = Sample("How many are there?", rf"\boxed{{{answer}}}", gold)
    (score,) = GUARDED.score([sample])
    assert (score.value, score.status, score.usage) == (0.0, "ok", {"unevaluated": 1.0})
    assert score.reason.startswith("unevaluated: the answer still has ")
    assert not GUARDED.doubts(score)
    assert load("echo_guard(answer, evaluated=False)").score([sample])[0].value == 1.0
    assert GUARDED.score([Sample("How many are there?", rf"\boxed{{{gold}}}", gold)])[0].value == 1.0


def test_rows_with_options_and_wrong_or_unscored_answers_are_left_as_they_are():
    listed = Sample("$3+4$ or $2+4$?", r"\boxed{3+4}", "7", meta={"options": ["3+4", "2+4"]})
    wrong = Sample("Compute $3+4$.", r"\boxed{8}", "7")
    no_gold = Sample("Compute $3+4$.", r"\boxed{3+4}")
    assert [score.value for score in GUARDED.score([listed, wrong, no_gold])] == [1.0, 0.0, None]
    assert GUARDED.score([wrong])[0].reason == load("answer").score([wrong])[0].reason


def test_the_question_is_what_the_user_said_in_a_conversation():
    asked = [{"role": "user", "content": "Compute $3+4$."}, {"role": "assistant", "content": "It is $2+5$."}]
    assert is_echo("3+4", asked, ["7"])
    assert not is_echo("2+5", asked, ["7"])


def test_a_weighted_sum_is_not_paid_for_its_form_either():
    (score,) = echo_guard(load("0.9*answer + 0.1*boxed")).score([Sample("Compute $3+4$.", r"\boxed{3+4}", "7")])
    assert score.value == 0.0
    assert score.parts["answer"].value == 1.0


@pytest.mark.parametrize("unit", ["$", r"\[", " ", "(", "1", "a+"])
def test_hostile_texts_cost_linear_time(linear, unit):
    linear(lambda text: is_echo("a+" * 140 + "b", text, ["7"]), unit, most=20_000)
    linear(lambda text: echo_rate("answer", [Sample(text, "", "7")]), unit, most=20_000)


def test_rewards_for_training_have_the_guard_unless_told_otherwise():
    for make in (to_trl, to_verl, to_openrlhf, to_verifiers):
        assert isinstance(make("answer").verifier, EchoGuard)
        assert make("answer").__name__ == "answer"
        assert not isinstance(make("answer", echoes=True).verifier, EchoGuard)
    assert to_trl("answer")(["Compute $3+4$."] * 2, [r"\boxed{3+4}", r"\boxed{7}"], answer=["7", "7"]) == [0.0, 1.0]
    assert [type(part).__name__ for part in walk(to_trl("echo_guard(answer)").verifier)].count("EchoGuard") == 1


def test_rewards_for_training_ask_for_evaluated_answers_unless_told_otherwise():
    asked = ["What do 84 and 36 have in common?"] * 2, [r"\boxed{\gcd(84, 36)}", r"\boxed{12}"]
    golds = ["12", "12"]
    assert to_trl("answer")(*asked, answer=golds) == [0.0, 1.0]
    assert to_trl("answer", echoes=True)(*asked, answer=golds) == [1.0, 1.0]
    assert to_trl("echo_guard(answer, evaluated=False)")(*asked, answer=golds) == [1.0, 1.0]


def test_a_part_of_a_split_reward_is_not_paid_for_what_the_whole_refuses():
    parts = to_trl("0.9*answer + 0.1*boxed", split=True)
    columns = {"prompts": ["?"] * 2, "completions": [r"\boxed{\gcd(84, 36)}", r"\boxed{12}"], "answer": ["12"] * 2}
    assert [part(**columns) for part in parts] == [[0.0, 1.0], [0.0, 1.0]]


def test_the_recipe_for_training_asks_for_evaluated_answers_unless_its_config_says_otherwise(tmp_path):
    pytest.importorskip("torch")
    from verikit.engines.types import Generation, Output
    from verikit.trainers.config import load_config
    from verikit.trainers.recipe import Setting
    from verikit.trainers.recipes.single_turn import SingleTurn, SingleTurnOptions

    row = {"prompt": "What do 84 and 36 have in common?", "answer": "12"}
    (tmp_path / "data.jsonl").write_text(f"{json.dumps(row)}\n" * 2)
    replies = Generation((Output(r"\boxed{\gcd(84, 36)}", (0,)), Output(r"\boxed{12}", (0,))))

    def paid(*changes):
        config = load_config("math", ['options.data="data.jsonl"', "options.held_out_size=1", *changes])
        recipe = SingleTurn(SingleTurnOptions(**config.options), Setting(None, 0, tmp_path))
        return [score.value for score in recipe.score(recipe.problems[0], replies)]

    assert paid() == [0.0, 1.0]
    assert paid("options.echoes=true") == [1.0, 1.0]
    assert paid('options.reward="echo_guard(answer, evaluated=False)"') == [1.0, 1.0]


def read(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_copying_the_last_formula_pays_on_two_percent_of_math_500_or_less():
    samples = [Sample(row["problem"], "", row["answer"]) for row in read("questions/math500.jsonl")]
    assert echo_rate("answer", samples).value > 0.05
    assert echo_rate(GUARDED, samples).value <= 0.02


def test_no_right_answer_of_a_model_is_lost():
    samples = [
        Sample(row["problem"], candidate["text"], str(row["gold"]))
        for row in read("bon/qwen_math_cot_100.jsonl")
        for candidate in row["candidates"]
    ]
    samples += [
        Sample(row["question"], row["prediction"], row["gold"], meta={"options": row.get("options")})
        for row in read("answers/equiv_real.jsonl")
        if row.get("question") and row.get("prediction") and isinstance(row["gold"], str)
    ]
    samples += [
        Sample(row["problem"], rf"\boxed{{{row['answer']}}}", row["answer"]) for row in read("questions/math500.jsonl")
    ]
    samples += [Sample(row["problem"], row["solution"], row["answer"]) for row in read("questions/math500.jsonl")]
    plain, guarded = (load(spec).score(samples) for spec in ("answer", "echo_guard(answer)"))
    assert sum(score.value == 1.0 for score in plain) > 600
    assert [score.value for score in guarded] == [score.value for score in plain]
