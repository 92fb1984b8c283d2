"""Reviewers and reward models that read only text: a prompt with a picture, or too long a one, leaves no value."""

import pytest

from tests.judges.scripted import Scripted
from tests.judges.test_content import LONG, PICTURE, text_part
from verikit.judges.evidence.shown import NotShown
from verikit.judges.genprm import GenPRM
from verikit.judges.rewards.encode import conversation, plain
from verikit.types import Sample

PICTURED = [{"role": "user", "content": [text_part("How many?"), PICTURE]}]


@pytest.mark.parametrize(("prompt", "problem"), [(PICTURED, "picture"), (LONG, f"{len(LONG):,} characters")])
def test_a_reviewer_of_steps_does_not_judge_by_a_part_of_the_question(prompt, problem):
    engine = Scripted(lambda _: "")
    (score,) = GenPRM(engine).score([Sample(prompt, "one step", "7")])
    assert score.status == "error"
    assert problem in score.reason
    assert not engine.requests


@pytest.mark.parametrize("read", [lambda prompt: plain(prompt), lambda prompt: conversation(Sample(prompt, "7"))])
def test_a_reward_model_does_not_read_a_part_of_the_question(read):
    with pytest.raises(NotShown, match="picture"):
        read(PICTURED)
    assert "How many?" in str(read([{"role": "user", "content": [text_part("How many?")]}]))
