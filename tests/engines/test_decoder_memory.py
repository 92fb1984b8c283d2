"""What the own decoder holds while it samples, counted by the bytes of tensors that live."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.engines import tiny  # noqa: E402
from tests.trainers.counted import LiveBytes  # noqa: E402
from verikit.engines.hf.decoder import Decoder  # noqa: E402
from verikit.engines.hf.sampler import SamplingGroup  # noqa: E402

LAYERS, ROWS, PROMPT = 8, 16, [1, 2, 3]


@pytest.mark.parametrize("steps", [32, 64, 257, 300])
def test_keys_and_values_take_little_more_than_the_tokens_that_are_sampled(steps):
    model = tiny.model(num_hidden_layers=LAYERS, num_key_value_heads=4, max_position_embeddings=512)
    counter = LiveBytes()
    with counter:
        rows = Decoder(model, []).decode([SamplingGroup(PROMPT, (0,), n=ROWS, max_tokens=steps)])[0]
    assert [len(row.ids) for row in rows] == [steps] * ROWS
    columns = len(PROMPT) + steps
    config = model.config
    needed = LAYERS * 2 * ROWS * columns * config.hidden_size * 4  # fp32, as many kv heads as heads
    logits = 8 * ROWS * config.vocab_size * 4  # a step's logits and what is made of them to sample
    assert needed < counter.peak < 1.2 * needed + logits
