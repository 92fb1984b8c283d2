"""Judges on a small model that chats: what they read is what it said, and what can't be read is no score."""

import math
from typing import Any

import pytest

from verikit.engines import load_engine
from verikit.engines.types import Wrapper
from verikit.judges.genprm import GenPRM, Solution
from verikit.judges.pairwise import Pair, Pairwise
from verikit.judges.pointwise import Pointwise
from verikit.types import Sample

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
PAIRS = [
    Pair("Paris.", "I like trains.", "What is the capital of France?"),
    Pair("Blue, red, green.", "No.", "Name three colours."),
]
SOLUTION = Solution("What is 3 + 4?", ("3 + 4 = 7.", "So the answer is 7."))


class Listening(Wrapper):
    """Passes requests on and keeps them with what came back."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.tokenizer, self.model, self.asked = engine.tokenizer, engine.model, []

    def generate(self, requests: Any) -> Any:
        results = self._engine.generate(requests)
        self.asked += zip(requests, results, strict=True)
        return results


@pytest.fixture
def engine(loaded: Any) -> Any:
    return Listening(loaded)


@pytest.fixture(scope="module")
def loaded(smollm2: str) -> Any:
    import torch

    torch.set_num_threads(1)
    return load_engine(f"hf:{smollm2}", dtype="float32")


def probabilities(engine: Any, ids: Any) -> Any:
    """What the model's own forward pass says of the next token."""
    import torch

    with torch.inference_mode():
        return engine.model(torch.tensor([list(ids)])).logits[0, -1].float().softmax(-1)


def test_structured_labels_are_read_in_both_orders(engine: Any) -> None:
    compared = Pairwise(engine, "pairwise-label", structured=True, probe=0).compare(PAIRS)
    for comparison in compared:
        assert comparison.error is None
        assert comparison.preference in (0.0, 0.5, 1.0)
        assert len(comparison.orders) == 2
    assert len(engine.asked) == 4
    for request, result in engine.asked:
        assert result.text in ("Output (a)", "Output (b)")
        shown = engine.tokenizer.decode(result.prompt_ids)
        assert shown.endswith("<|im_end|>\n<|im_start|>assistant\n")
        assert request.prompt[-1]["content"] in shown


def test_a_reply_that_holds_no_verdict_is_an_error_and_no_score(engine: Any) -> None:
    samples = [Sample(pair.prompt, pair.first) for pair in PAIRS]
    for name in ("rating", "rating-token"):
        judge = Pointwise(engine, name, probe=0) if name == "rating-token" else short(engine)
        for score in judge.score(samples):
            assert (score.value is None) == (score.status != "ok")
            assert score.value is None or 0 <= score.value <= 1
            assert score.reason


def short(engine: Any) -> Any:
    """The judge that thinks first, held to few tokens: it can't come to its verdict."""
    from dataclasses import replace

    class Cut(Wrapper):
        def generate(self, requests: Any) -> Any:
            return self._engine.generate([replace(request, max_tokens=16) for request in requests])

    return Pointwise(Cut(engine), "rating", probe=0)


def test_a_steps_reward_is_the_forward_passs_probability_of_yes_against_no(engine: Any) -> None:
    [review] = GenPRM(engine, mode="direct", paths=1, temperature=0.0).review([SOLUTION])
    read = [step for step in review.paths[0].steps if step.reward is not None]
    assert read
    for step, (_, result) in zip(review.paths[0].steps, engine.asked, strict=True):
        if step.reward is None:
            continue
        said = [engine.tokenizer.decode([token]).strip() for token in result.outputs[0].ids]
        at = max(index for index, text in enumerate(said) if text in ("Yes", "No"))  # the last box is the verdict
        likeliest = probabilities(engine, [*result.prompt_ids, *result.outputs[0].ids[:at]]).topk(20)
        mass = {"Yes": 0.0, "No": 0.0}
        for p, token in zip(likeliest.values.tolist(), likeliest.indices.tolist(), strict=True):
            text = engine.tokenizer.decode([token]).strip()
            for word in mass:
                mass[word] += p * (text != "" and (text.startswith(word) or word.startswith(text)))
        assert step.reward == pytest.approx(mass["Yes"] / sum(mass.values()), abs=1e-3)
        assert math.isfinite(step.reward)
