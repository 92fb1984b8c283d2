"""The hf engine and transformers' `generate` on a pretrained model: the same tokens, the same log-probabilities."""

import pytest

from tests.conftest import ROOT
from verikit.engines import Request, load_engine

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
LENGTHS = (10, 60, 400, 2000)
QUESTIONS = [f"What is {17 + 3 * n} plus {90 - n}?" for n in range(32)]
QUESTIONS += [f"Name {n + 2} things that are {colour}." for n in range(8) for colour in ("red", "blue", "cold", "old")]


@pytest.fixture(scope="module")
def engine(smollm2):
    import torch

    torch.set_num_threads(1)
    return load_engine(f"hf:{smollm2}", dtype="float32")


@pytest.fixture(scope="module")
def long_ids(engine):
    """Real English of more than 2,000 tokens that doesn't change: the licence."""
    ids = engine.tokenizer((ROOT / "LICENSE").read_text("utf-8")).input_ids
    assert len(ids) > 2000
    return ids


def as_chat(text):
    return [{"role": "user", "content": text}]


def generated(engine, ids, new):
    """Greedy tokens and their log-probabilities by transformers' own `generate`, one prompt at a time."""
    import torch

    with torch.inference_mode():
        made = engine.model.generate(
            torch.tensor([list(ids)]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=new, do_sample=False,
            return_dict_in_generate=True, output_logits=True,
        )  # fmt: skip
    tokens = made.sequences[0, len(ids) :]
    logprobs = torch.cat(made.logits).float().log_softmax(-1).gather(1, tokens[:, None]).squeeze(1)
    return tuple(tokens.tolist()), logprobs.tolist()


def forward(engine, ids):
    """Log-probabilities after each position by the model's own forward pass."""
    import torch

    with torch.inference_mode():
        return engine.model(torch.tensor([list(ids)]), use_cache=False).logits[0].float().log_softmax(-1)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_prompt_of_any_length_is_continued_as_generate_continues_it(engine, long_ids, length):
    [result] = engine.generate([Request(long_ids[:length], max_tokens=16, logprobs=0, prompt_logprobs=0)])
    tokens, logprobs = generated(engine, long_ids[:length], 16)
    assert result.outputs[0].ids == tokens
    assert result.outputs[0].logprobs == pytest.approx(logprobs, abs=2e-4)
    own = forward(engine, long_ids[:length])
    wanted = [own[at, token].item() for at, token in enumerate(long_ids[1:length])]
    assert list(result.prompt_logprobs[1:]) == pytest.approx(wanted, abs=2e-4)


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "chat"])
def test_a_batch_of_eight_has_the_greedy_tokens_of_generate(engine, chat):
    prompts = [as_chat(text) if chat else text for text in QUESTIONS[28:36]]
    for result in engine.generate([Request(prompt, max_tokens=16, logprobs=0) for prompt in prompts]):
        tokens, logprobs = generated(engine, result.prompt_ids, 16)
        assert result.outputs[0].ids == tokens
        assert result.outputs[0].logprobs == pytest.approx(logprobs, abs=2e-4)


def test_a_batch_of_64_has_at_each_token_the_likeliest_one_of_the_forward_pass(engine):
    requests = [Request(as_chat(text), max_tokens=12, logprobs=3) for text in QUESTIONS]
    assert len(requests) == 64
    lengths = set()
    for result in engine.generate(requests):
        output = result.outputs[0]
        own = forward(engine, [*result.prompt_ids, *output.ids])[len(result.prompt_ids) - 1 : -1]
        assert list(output.ids) == own.argmax(-1).tolist()
        assert list(output.logprobs) == pytest.approx(own.max(-1).values.tolist(), abs=2e-4)
        for top, row in zip(output.top_logprobs, own, strict=True):
            assert [token.logprob for token in top[:3]] == pytest.approx(row.topk(3).values.tolist(), abs=2e-4)
        lengths.add(len(output.ids))
    assert len(lengths) > 1  # some end by themselves


def test_sampled_tokens_have_the_log_probabilities_of_the_forward_pass(engine):
    requests = [
        Request(as_chat(text), n=4, temperature=1.0, seed=5, max_tokens=12, logprobs=0) for text in QUESTIONS[:4]
    ]
    texts = set()
    for result in engine.generate(requests):
        for output in result.outputs:
            own = forward(engine, [*result.prompt_ids, *output.ids])[len(result.prompt_ids) - 1 : -1]
            wanted = [row[token].item() for row, token in zip(own, output.ids, strict=True)]
            assert list(output.logprobs) == pytest.approx(wanted, abs=2e-4)
            texts.add(output.text)
    assert len(texts) > 8


def test_a_conversation_is_rendered_by_the_models_own_template(engine):
    [result] = engine.generate([Request(as_chat("What is 2+2?"), max_tokens=32)])
    shown = engine.tokenizer.decode(result.prompt_ids)
    assert shown.startswith("<|im_start|>system\n")
    assert shown.endswith("<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n")
    assert "4" in result.text
    assert result.outputs[0].finish_reason == "stop"
