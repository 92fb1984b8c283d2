"""A completion in messages is the same text to a reward in training as to `verikit score` on a file of it."""

import pytest

from verikit.messages import text_of
from verikit.readers.fields import candidate

SAID = {"role": "assistant", "content": "5"}


@pytest.mark.parametrize(
    "messages",
    [
        [SAID],
        [SAID, {"role": "tool", "content": "no"}, {"role": "assistant", "content": "6"}],
        [{"role": "assistant", "content": [{"type": "text", "text": "5"}, {"type": "text", "text": "6"}]}],
        [{"role": "assistant", "content": None, "tool_calls": []}, SAID],
        [{"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}, SAID],
        [{"role": "assistant", "content": ""}],
    ],
)
def test_adapters_and_readers_take_the_same_text(messages):
    assert text_of(messages) == candidate(messages, "completion")[0]
