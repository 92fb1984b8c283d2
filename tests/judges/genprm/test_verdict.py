import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.genprm.reviewer import JUDGED, output
from verikit.engines import Output, TopLogprob
from verikit.judges.genprm import load_protocol
from verikit.judges.genprm.verdict import read_verdict

OURS = load_protocol("released")


def read(text, begun="", **options):
    return read_verdict(OURS, begun, output(text, **options))


def test_the_reward_is_the_share_of_yes_at_the_verdict():
    found = read(JUDGED, yes=0.6, no=0.3)
    assert found.label is True
    assert found.reward == pytest.approx(2 / 3)
    found = read(JUDGED.replace("Yes", "No"), yes=0.2, no=0.7)
    assert found.label is False
    assert found.reward == pytest.approx(2 / 9)


def test_a_partner_that_is_not_listed_has_the_least_probability_listed():
    index = output(JUDGED).tokens.index("Yes")
    assert read(JUDGED, tops={index: {"Yes": 0.9, "yes": 0.05, "It": 0.01}}).reward == pytest.approx(0.9 / 0.91)


def test_what_the_analysis_says_is_not_the_verdict():
    noise = "The step says \\boxed{No} and {No}. No}\n"
    assert read(noise + JUDGED, yes=0.9, no=0.1).reward == pytest.approx(0.9)
    assert read(noise + "**Judgement**: $\\boxed{Yes}$") is None
    assert read("{Maybe}$\n", begun=OURS.judgement) is None
    assert read("{Yes}$\n", begun=OURS.judgement).reward == pytest.approx(2 / 3)
    assert read("nothing", begun=OURS.judgement + "{Yes}$") is None


@pytest.mark.parametrize(
    ("tokens", "tops"),
    [
        (["\\boxed", "{", "Yes", "}$"], {2: {"Yes": 0.6, "No": 0.3}}),
        (["\\boxed", "{Yes", "}$"], {1: {"{Yes": 0.6, "{No": 0.3}}),
        (["\\box", "ed{", "Y", "es", "}$"], {2: {"Y": 0.6, "N": 0.3}}),
        (["\\boxed", "{", "Y", "es}$"], {2: {"Y": 0.5, "Yes": 0.1, "No": 0.2, "N": 0.1}}),
        (["$\\boxed{Yes}$"], {0: {"$\\boxed{Yes}$": 0.6, "$\\boxed{No}$": 0.3}}),
        ([" \\boxed{", " Yes", " }"], {1: {" Yes": 0.6, " No": 0.3}}),
    ],
)
def test_the_verdict_is_found_however_the_tokenizer_splits_it(tokens, tops):
    tokens = ["<output>", "\n**Judgement**: ", *tokens]
    tops = {index + 2: top for index, top in tops.items()}
    assert read("".join(tokens), tokens=tokens, tops=tops).reward == pytest.approx(2 / 3)


def test_of_two_verdicts_the_last_counts():
    both = "<output>\nfirst \\boxed{No}, but \\boxed{Yes}$\n"
    indices = [index for index, token in enumerate(output(both).tokens) if token in ("Yes", "No")]
    found = read(both, tops={indices[0]: {"No": 0.9, "Yes": 0.1}, indices[1]: {"Yes": 0.8, "No": 0.2}})
    assert (found.label, found.reward) == (True, pytest.approx(0.8))


def test_without_log_probabilities_there_is_a_label_and_no_reward():
    found = read_verdict(OURS, "", output(JUDGED, tokens=[]))
    assert (found.label, found.reward) == (True, None)


@pytest.mark.parametrize("index", [{"Yes": math.nan, "No": -1.0}, {"Yes": -1.0, "No": math.nan}])
def test_log_probabilities_that_are_no_numbers_are_no_reward(index):
    said = output(JUDGED)
    top = tuple(TopLogprob(token, logprob) for token, logprob in index.items())
    tops = tuple(
        top if token == "Yes" else logprob for token, logprob in zip(said.tokens, said.top_logprobs, strict=True)
    )
    found = read_verdict(OURS, "", replace(said, top_logprobs=tops))
    assert (found.label, found.reward) == (True, None)


@given(st.lists(st.sampled_from(["<output>", "\\boxed", "{", "Yes", "No", "}", " ", "\n", "```", "é", "�"])))
def test_any_reply_gives_a_reward_between_0_and_1_or_none(tokens):
    found = read("".join(tokens), tokens=tokens)
    assert found is None or 0 <= found.reward <= 1


def test_reading_is_linear(linear):
    for hostile in ("<output>\\boxed{", "\\boxed{Yes", "\\boxed { ", "<output>\\boxed{Yes}"):
        linear(lambda text: read_verdict(OURS, "", Output(text)), hostile)
