"""A head on the body of a real pretrained model: SmolLM2-135M."""

import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from verikit.judges.rewards import RewardModel  # noqa: E402
from verikit.types import Sample  # noqa: E402

pytestmark = pytest.mark.real
WORDS = "the sky is blue because light scatters and a cat sat on two mats".split()


@pytest.mark.filterwarnings("ignore")
def test_a_batch_gives_each_reply_the_number_that_transformers_gives_it_alone():
    from benchmarks.reward_model import alone, smollm2
    from tests.real.models import MissingModel

    try:
        model, tokenizer = smollm2()
    except MissingModel as error:
        pytest.skip(str(error))
    rng = random.Random(0)
    asked = ["Why is the sky blue?", "Tell me of a cat."]
    samples = [Sample(asked[k % 2], " ".join(rng.choices(WORDS, k=rng.randint(1, 30)))) for k in range(10)]
    found = [float(score) for score in RewardModel("hf:m", loaded=(model, tokenizer)).score(samples)]
    assert found == pytest.approx([alone(model, tokenizer, sample) for sample in samples], abs=1e-3)
    assert len({round(value, 3) for value in found}) > 5
