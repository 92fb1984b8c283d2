import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.scripted import rows, token
from verikit.engines import Output, TopLogprob
from verikit.errors import ConfigError, Refusal, UnparseableVerdict
from verikit.judges.asking.prompt import load_prompt, prompt_names
from verikit.judges.asking.reply import ReplyFormat, preference_of
from verikit.judges.rates.agreement import accuracy, both_orders, cohen_kappa

AB = ReplyFormat("[[{}]]", labels={"A": 1.0, "B": 0.0, "C": 0.5})
GRADED = load_prompt("pairwise-graded").reply
RATING = load_prompt("rating").reply
TRUTH = load_prompt("reference").reply
LINE = ReplyFormat("Output ({})", "line_start", {"a": 1.0, "b": 0.0}, several="first_label")
PHRASE = ReplyFormat("Output ({}) is better", "anywhere", {"a": 1.0, "b": 0.0}, several="first_label")


def value(form, text, **output):
    verdict = form.parse(Output(text, **output))
    assert (verdict.value is None) == (verdict.error is not None)
    assert verdict.reply == text
    return verdict.value


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        (AB, "A is better, so [[A]]", 1.0),
        (AB, "[[B]]\n[[B]]", 0.0),
        (AB, "[[C]]", 0.5),
        (AB, "[[a]]", None),
        (AB, "[[A]] or [[B]]", None),
        (AB, "[[D]]", None),
        (AB, "A", None),
        (AB, "", None),
        (AB, "<think>[[A]]? no.</think>[[B]]", 0.0),
        (AB, "<think>[[A]]? that would", None),
        (GRADED, "[[A>>B]]", 1.0),
        (GRADED, "[[A>>B]] and again [[A>B]]", 1.0),
        (GRADED, "[[A=B]]", 0.5),
        (GRADED, "[[B>A]] then [[A>B]]", None),
        (RATING, "[[7]]", 7.0),
        (RATING, "[[7.5]]", 7.5),
        (RATING, "[[11]]", None),
        (RATING, "[[0]]", None),
        (RATING, "[[-3]]", None),
        (RATING, "[[7]] [[8]]", None),
        (RATING, "[7]", None),
        (RATING, "[[1e1]]", None),
        (TRUTH, "True", 1.0),
        (TRUTH, "True.", 1.0),
        (TRUTH, ' "False"\n', 0.0),
        (TRUTH, "true", None),
        (TRUTH, "True, because", None),
        (TRUTH, "not False", None),
        (LINE, "Output (a)", 1.0),
        (LINE, "I choose Output (a)", None),
        (LINE, "Output (b) is better.\n\nOutput (a) is vague.", 1.0),
        (PHRASE, "Therefore, Output (b) is better.", 0.0),
    ],
)
def test_a_reply_is_read_strictly_by_its_form(form, text, expected):
    assert value(form, text) == expected


def test_an_unreadable_reply_keeps_its_text_and_says_why():
    verdict = AB.parse(Output("I like both " * 5, finish_reason="length"))
    assert isinstance(verdict.error, UnparseableVerdict)
    assert "I like both" in str(verdict.error)
    assert "max_tokens" in str(verdict.error)
    assert verdict.reply.startswith("I like both")
    assert isinstance(AB.parse(Output("", finish_reason="content_filter")).error, Refusal)


@given(st.text(alphabet="[]AB<>=10 \n()Output", max_size=200))
def test_whatever_a_judge_says_reading_it_never_raises_and_stays_on_the_scale(text):
    for form in (AB, GRADED, RATING, TRUTH, LINE, PHRASE):
        found = form.parse(Output(text)).value
        assert found is None or form.span[0] <= found <= form.span[1]


@pytest.mark.parametrize("unit", ["[[", "[[A", "Output (", "9", "\n "])
@pytest.mark.parametrize("form", [AB, RATING, TRUTH, LINE, PHRASE], ids=["ab", "rating", "truth", "line", "phrase"])
def test_almost_verdicts_are_read_in_linear_time(linear, form, unit):
    linear(lambda text: form.parse(Output(text)), unit, most=1_000_000)


@pytest.mark.parametrize("form", [{"scale": (1, 10)}, {"labels": {"true": 1.0, "false": 0.0}}])
def test_a_whole_number_too_long_for_a_float_is_no_verdict(form):
    for number in ("1" + "0" * 400, "-" + "9" * 4000):
        verdict = ReplyFormat(member="result", **form).parse(Output(f'{{"result": {number}}}'))
        assert verdict.value is None
        assert isinstance(verdict.error, UnparseableVerdict)


def test_a_one_token_verdict_is_the_share_of_the_first_label():
    form = load_prompt("pairwise-token").reply
    assert form.parse(token(m=0.6, M=0.2, The=0.2)).value == pytest.approx(0.75)
    assert form.parse(token(M=0.9)).value == 0.0
    assert value(form, "m") is None
    assert form.parse(token(The=0.7, m=0.2, M=0.1)).value is None


@pytest.mark.parametrize("nan", [{"m"}, {"M"}, {"m", "M"}, {"m", "M", "The"}])
def test_probabilities_that_are_no_numbers_are_no_verdict(nan):
    form = load_prompt("pairwise-token").reply
    top = tuple(TopLogprob(name, math.nan if name in nan else math.log(0.9)) for name in ("m", "M", "The"))
    assert isinstance(form.parse(Output("m", top_logprobs=(top,))).error, UnparseableVerdict)


def test_spellings_of_a_token_with_spaces_are_one_label():
    top = (TopLogprob(" m", math.log(0.4)), TopLogprob("m", math.log(0.2)), TopLogprob("M", math.log(0.2)))
    form = load_prompt("pairwise-token").reply
    assert form.parse(Output(" m", top_logprobs=(top,))).value == pytest.approx(0.75)


def test_a_rating_is_weighted_by_the_probability_of_each_score():
    form = load_prompt("rating-token").reply
    assert form.parse(token(**{"7": 0.5, "8": 0.25, "9": 0.25})).value == pytest.approx(7.75)


def test_a_ten_of_two_tokens_is_told_from_a_one():
    form = load_prompt("rating-token").reply
    first = (TopLogprob("1", math.log(0.8)), TopLogprob("9", math.log(0.2)))
    second = (TopLogprob("0", math.log(0.75)), TopLogprob("", math.log(0.25)))
    output = Output("10", tokens=("1", "0"), top_logprobs=(first, second))
    assert form.parse(output).value == pytest.approx(0.6 * 10 + 0.2 * 1 + 0.2 * 9)


def test_mass_that_may_be_one_or_ten_is_left_out_and_too_much_of_it_is_no_verdict():
    form = load_prompt("rating-token").reply
    assert form.parse(token(**{"9": 0.7, "1": 0.3})).value == pytest.approx(9)
    assert form.parse(token(**{"9": 0.4, "8": 0.05, "1": 0.35})).value is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"find": "[[]]", "labels": {"A": 1.0}},
        {"labels": {"A": 1.0}, "scale": (1, 10)},
        {},
        {"labels": {"A": 1.0}, "where": "somewhere"},
        {"labels": {"A": 1.0}, "read": "mind"},
    ],
)
def test_a_format_that_can_not_work_is_refused(wrong):
    with pytest.raises(ConfigError):
        ReplyFormat(**wrong)


def test_every_prompt_of_ours_reads_its_own_reminder_examples():
    for name in prompt_names():
        prompt = load_prompt(name)
        assert prompt.remind
        for label in prompt.reply.labels:
            written = f'{{"{prompt.reply.member}": {label}}}' if prompt.reply.member else prompt.reply.find
            assert prompt.reply.found(written.replace("{}", label)) == [label]


def test_recorded_one_token_verdicts_come_out_to_the_tenth_digit():
    worst, n = 0.0, 0
    for row in rows("alpaca/judge_logprobs.jsonl"):
        first = preference_of(row["top_logprobs"], "m", "M")
        recorded = 2 - first
        if row["switched"]:
            recorded = 3 - recorded
        worst, n = max(worst, abs(recorded - row["preference"])), n + 1
    assert n > 1000
    assert worst <= 5e-11


def test_every_recorded_llmbar_verdict_is_read_as_its_authors_read_it():
    n = 0
    for row in rows("judges/llmbar_judgments.jsonl"):
        if "Swap" in row["strategy"] or "Rating" in row["strategy"]:
            continue
        form = PHRASE if row["strategy"] == "CoT" and row["judge"] != "PaLM2" else LINE
        for item in row["items"]:
            for swapped, (text, winner) in enumerate(zip(item["completion"], item["winner"], strict=True)):
                first = form.parse(Output(text)).value
                sides = {None: "None", 1.0: "12"[swapped], 0.0: "21"[swapped]}
                assert sides[first] == winner, (row["judge"], row["strategy"], text)
                n += 1
    assert n > 12_000


def test_llmbar_statistics_follow_from_the_verdicts():
    n = 0
    side = {"1": 1.0, "2": 0.0, "None": None}
    for row in rows("judges/llmbar_judgments.jsonl"):
        if "Rating" in row["strategy"]:
            continue
        pairs = [tuple(side[w] for w in item["winner"]) for item in row["items"]]
        found = both_orders(pairs, [side[str(item["label"])] for item in row["items"]])
        expected = row["expected"]
        share = lambda text: float(text.split("=")[1].rstrip("%")) / 100  # noqa: E731
        assert found.first == pytest.approx(share(expected["correct_False"]), abs=1e-12)
        assert found.second == pytest.approx(share(expected["correct_True"]), abs=1e-12)
        assert found.both == pytest.approx(share(expected["correct_both"]), abs=1e-12)
        assert found.consistent == pytest.approx(share(expected["equal"]), abs=1e-12)
        n += 1
    assert n > 50


def test_judgebench_verdicts_and_accuracies_follow_from_the_replies():
    by_judge = {}
    for row in rows("judges/judgebench_decisions.jsonl"):
        first, second = row["judgments"]
        for judgement in row["judgments"]:
            verdict = GRADED.parse(Output(judgement["tail"]))
            if verdict.value is not None and judgement["decision"] is not None:
                assert verdict.value == {"A>B": 1.0, "B>A": 0.0, "A=B": 0.5}[judgement["decision"]]
        sides = {"A>B": 1.0, "B>A": 0.0, "A=B": 0.5, None: None}
        swapped = sides[second["decision"]]
        by_judge.setdefault(row["judge"], []).append(
            (sides[first["decision"]], None if swapped is None else 1 - swapped, sides[row["label"]], row)
        )
    for judged in by_judge.values():
        found = both_orders([(a, b) for a, b, _, _ in judged], [gold for *_, gold, _ in judged])
        right = 0
        for *_, row in judged:
            flip = {"A>B": "B>A", "B>A": "A>B"}
            judgement, two = (x["decision"] for x in row["judgments"])
            two = flip.get(two, two)
            points = sum((d == row["label"]) - (d == flip[row["label"]]) for d in (judgement, two))
            right += points > 0
        assert found.majority == right / len(judged)


def test_pandalm_figures_follow_from_the_annotations():
    judged = list(rows("judges/pandalm.jsonl"))
    humans = [[row[f"annotator{i}"] for row in judged] for i in (1, 2, 3)]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        n = len(judged)
        observed = sum(x == y for x, y in zip(humans[a], humans[b], strict=True)) / n
        chance = sum(humans[a].count(c) / n * humans[b].count(c) / n for c in (0, 1, 2))
        assert cohen_kappa(humans[a], humans[b]) == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)
    majority = [max({*votes}, key=votes.count) if len({*votes}) < 3 else None for votes in zip(*humans, strict=True)]
    kept = [(m, row) for m, row in zip(majority, judged, strict=True) if m is not None]
    verdicts = [row["pandalm7b"] for _, row in kept]
    assert accuracy(verdicts, [m for m, _ in kept]) == sum(
        v == m for v, (m, _) in zip(verdicts, kept, strict=True)
    ) / len(kept)
