import math
from functools import cache
from itertools import chain

import pytest

from tests.conftest import examples

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from tests.engines import tiny  # noqa: E402
from verikit.engines import Request, Structured, load_engine  # noqa: E402
from verikit.engines.errors import BadRequest, NoChatTemplate, Unsupported  # noqa: E402
from verikit.engines.hf import sampler  # noqa: E402
from verikit.engines.hf.decoder import Decoder, _State, supports  # noqa: E402
from verikit.engines.hf.engine import HF  # noqa: E402
from verikit.engines.hf.generate import GenerateDecoder  # noqa: E402
from verikit.engines.hf.prefixes import BLOCK, Prefixes  # noqa: E402
from verikit.engines.hf.sampler import SamplingGroup, row_key, uniforms  # noqa: E402
from verikit.engines.prompts import stop_test  # noqa: E402
from verikit.errors import ContextOverflow, SpecError  # noqa: E402

torch.set_num_threads(1)
KINDS = ["Llama", "Qwen2", "Qwen3", "Mistral"]
CHAT = [{"role": "user", "content": "hi"}]


def hf(kind="Llama", template=True, **options):
    return HF.of(tiny.model(kind), tiny.tokenizer(template), **options)


def distance(model, groups, result, tempered=False):
    """Largest difference between the rows' log-probabilities and those of transformers' own forward pass."""
    worst = 0.0
    for group, rows in zip(groups, result, strict=True):
        assert len(rows) == group.n
        for row in rows:
            with torch.no_grad():
                logits = model(torch.tensor([[*group.ids, *row.ids]])).logits[0, len(group.ids) - 1 : -1].float()
            logits = logits / group.temperature if tempered else logits
            wanted = logits.log_softmax(-1).gather(1, torch.tensor(row.ids)[:, None]).squeeze(1)
            worst = max(worst, (wanted - torch.tensor(row.logprobs)).abs().max().item())
    return worst


def some_groups(**options):
    generator = torch.Generator().manual_seed(1)
    lengths = [(5, 3, 40), (17, 4, 37), (9, 1, 34), (1, 2, 60), (17, 3, 3)]
    return [
        SamplingGroup(
            torch.randint(3, 300, (length,), generator=generator).tolist(), (7, i), n=n, max_tokens=steps, **options
        )
        for i, (length, n, steps) in enumerate(lengths)
    ]


@pytest.mark.parametrize("decoder", [Decoder, GenerateDecoder])
@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_those_of_transformers_own_forward(kind, decoder):
    model = tiny.model(kind, **({"sliding_window": None} if kind == "Mistral" else {}))
    assert supports(model)
    groups = some_groups()
    result = decoder(model, range(40)).decode(groups)
    finishes = [row.finish for rows in result for row in rows]
    assert {"stop", "length"} == set(finishes)  # rows left at different times, so the batch was compacted
    assert distance(model, groups, result) <= 1e-5


def test_llama3_and_linear_rotary_embeddings_tied_weights_and_biases_are_covered():
    llama3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 64}  # fmt: skip
    for rope in (llama3, {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}):
        options = {"attention_bias": True, "mlp_bias": True, "head_dim": 24}
        torch.manual_seed(0)
        config = tiny.model("Llama").config.to_dict() | {"rope_parameters": rope, "tie_word_embeddings": True} | options
        from transformers import LlamaConfig, LlamaForCausalLM

        model = LlamaForCausalLM(LlamaConfig(**config)).eval()
        groups = some_groups()
        assert supports(model)
        assert distance(model, groups, Decoder(model, range(40)).decode(groups)) <= 1e-5


def test_models_of_another_shape_are_left_to_generate():
    assert not supports(tiny.model("GPTNeoX"))
    assert not supports(tiny.model("Granite"))
    with pytest.raises(ValueError, match="GPTNeoXForCausalLM models are not supported"):
        Decoder(tiny.model("GPTNeoX"), [])
    model = tiny.model("GPTNeoX")
    groups = some_groups(temperature=0.7, top_p=0.9)
    assert distance(model, groups, GenerateDecoder(model, range(40)).decode(groups)) <= 1e-5
    assert HF.of(model, tiny.tokenizer()).generate([Request("the", max_tokens=4)])[0].error is None


def test_both_decoders_draw_the_same_tokens_whatever_else_is_in_the_batch():
    model = tiny.model()
    for options in ({}, {"temperature": 0.0}, {"temperature": 0.6, "top_p": 0.8}):
        groups = some_groups(**options)
        ids = [[row.ids for row in rows] for rows in Decoder(model, range(40)).decode(groups)]
        assert ids == [[row.ids for row in rows] for rows in GenerateDecoder(model, range(40)).decode(groups)]
        for group, wanted in zip(groups, ids, strict=True):
            assert [row.ids for row in Decoder(model, range(40)).decode([group])[0]] == wanted


def test_a_group_asked_for_more_rows_or_tokens_begins_with_the_same_ones():
    model = tiny.model()
    few = Decoder(model, []).decode([SamplingGroup([5, 6], (1, 2, 3), n=2, max_tokens=5)])[0]
    more = Decoder(model, []).decode([SamplingGroup([5, 6], (1, 2, 3), n=4, max_tokens=9)])[0]
    assert [row.ids for row in few] == [row.ids[:5] for row in more[:2]]
    assert len({tuple(row.ids) for row in more}) == 4
    other = Decoder(model, []).decode([SamplingGroup([5, 6], (1, 2, 4), n=4, max_tokens=9)])[0]
    assert not {tuple(row.ids) for row in other} & {tuple(row.ids) for row in more}


def test_random_numbers_are_uniform_and_rows_and_steps_independent():
    keys = torch.tensor([row_key((3, step), row) for step in range(50) for row in range(40)])
    draws = torch.stack([uniforms(keys, step) for step in range(50)])
    assert draws.min() >= 0
    assert draws.max() < 1
    counts = torch.histc(draws, 20, 0, 1)
    expected = draws.numel() / 20
    assert ((counts - expected) ** 2 / expected).sum() < 43.8  # chi-square, 19 degrees of freedom, p = 0.001
    centred = draws - 0.5
    for a, b in ((centred[:-1], centred[1:]), (centred[:, :-1], centred[:, 1:])):
        assert abs(12 * (a * b).mean()) < 4 / math.sqrt(a.numel())


def test_the_generator_is_splitmix64():
    # First outputs of the reference implementation from seed 1234567.
    wanted = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    keys = torch.tensor([1234567])
    assert [int(uniforms(keys, step)[0] * 2**24) for step in range(5)] == [value >> 40 for value in wanted]


def test_sampling_follows_the_models_distribution():
    model = tiny.model()
    n = 4000
    for temperature, top_p, top_k in ((1.0, 1.0, 0), (0.7, 1.0, 0), (1.5, 0.5, 0), (1.5, 1.0, 9), (1.5, 0.7, 30)):
        group = SamplingGroup([9, 8, 7], (11,), n=n, max_tokens=1, temperature=temperature, top_p=top_p, top_k=top_k)
        other = SamplingGroup([5], (12,), n=1, max_tokens=1)  # rows with other settings in the same batch
        rows = Decoder(model, []).decode([other, group])[1]
        with torch.no_grad():
            wanted = (model(torch.tensor([[9, 8, 7]])).logits[0, -1] / temperature).softmax(-1)
        ranked, order = wanted.sort(descending=True)
        order = order[: top_k or len(order)]
        ranked = ranked[: len(order)] / ranked[: len(order)].sum()
        kept = order[(ranked.cumsum(0) - ranked) < top_p]
        wanted = torch.zeros_like(wanted).scatter(0, kept, wanted[kept]) / wanted[kept].sum()
        seen = torch.bincount(torch.tensor([row.ids[0] for row in rows]), minlength=len(wanted))
        assert not seen[wanted == 0].any()
        big = wanted * n >= 5
        chi = ((seen[big] - n * wanted[big]) ** 2 / (n * wanted[big])).sum()
        assert chi < big.sum() + 4 * math.sqrt(2 * big.sum())


def test_tempered_log_probabilities_are_those_of_the_distribution_sampled_from():
    model = tiny.model()
    groups = some_groups(temperature=0.7)
    assert distance(model, groups, Decoder(model, range(40)).decode(groups, tempered=True), tempered=True) <= 1e-5


def test_bf16_weights_stay_near_the_model_in_fp32():
    import copy

    model = copy.deepcopy(tiny.model()).to(torch.bfloat16)
    groups = some_groups()
    result = Decoder(model, range(40)).decode(groups)
    assert distance(model, groups, result) <= 0.15  # both sides round at 8 bits
    assert distance(copy.deepcopy(model).float(), groups, result) <= 0.15


def test_weights_changed_between_two_calls_are_seen():
    import copy

    model = copy.deepcopy(tiny.model())
    decoder = Decoder(model, [])
    group = SamplingGroup([5, 6, 7], (0,), n=2, max_tokens=8, temperature=0.0)
    before = decoder.decode([group])[0][0].ids
    with torch.no_grad():
        model.lm_head.weight.neg_()
    result = decoder.decode([group])
    assert result[0][0].ids != before
    assert distance(model, [group], result) <= 1e-5


def test_a_seeded_request_gives_the_same_output_alone_and_in_a_batch():
    made = hf(rows=4)
    requests = [Request(f"the {i}", n=2, max_tokens=6, temperature=1.0, seed=i) for i in range(7)]
    together = made.generate(requests)
    assert [made.generate([request])[0] for request in requests] == together
    unseeded = Request("the", max_tokens=9, temperature=1.0)
    a, b = made.generate([unseeded, unseeded])
    assert a.text != b.text


def test_token_in_token_out():
    made = hf()
    text = made.generate([Request("the quick", max_tokens=9, logprobs=2)])[0]
    ids = made.generate([Request(text.prompt_ids, max_tokens=9, logprobs=2)])[0]
    assert ids == text
    output = text.outputs[0]
    assert len(output.ids) == len(output.logprobs) == len(output.tokens) == len(output.top_logprobs)
    for token, logprob, top in zip(output.ids, output.logprobs, output.top_logprobs, strict=True):
        assert (top[0].id, top[0].logprob) == (token, pytest.approx(logprob))  # greedy: the sampled one is the best
        assert len(top) == 2
    assert text.usage["completion_tokens"] == len(output.ids)


def test_prompt_log_probabilities_are_those_of_the_forward_pass():
    made = hf()
    requests = [Request("the lazy dog " * k, max_tokens=0, prompt_logprobs=3) for k in (1, 5, 2)]
    for result in made.generate(requests):
        ids = torch.tensor([result.prompt_ids])
        with torch.no_grad():
            wanted = tiny.model()(ids).logits[0, :-1].log_softmax(-1)
        assert result.prompt_logprobs[0] is None
        assert result.prompt_logprobs[1:] == pytest.approx(
            wanted.gather(1, ids[0, 1:, None]).squeeze(1).tolist(), abs=1e-5
        )
        best = [top[0].id for top in result.prompt_top_logprobs[1:]]
        assert best == wanted.argmax(-1).tolist()
        assert result.outputs[0].text == ""


@pytest.mark.parametrize("options", [{}, {"temperature": 0.6, "top_p": 0.8}, {"stop": lambda ids: sum(ids[-2:]) < 150}])
def test_looking_at_what_was_drawn_once_in_eight_steps_changes_no_row(options, monkeypatch):
    groups = some_groups(**options)
    every = Decoder(tiny.model(), range(40)).decode(groups, top_k=2)
    monkeypatch.setitem(sampler.LOOK_EVERY, "cpu", 8)
    for decoder in (Decoder, GenerateDecoder):
        seldom = decoder(tiny.model(), range(40)).decode(groups, top_k=2)
        for row, other in zip(chain(*every), chain(*seldom), strict=True):
            assert (row.ids, row.finish, len(row.tops)) == (other.ids, other.finish, len(other.ids))
            assert other.logprobs == pytest.approx(row.logprobs, abs=1e-4)


@pytest.mark.parametrize("kind", ["byte-level", "metaspace", "wordpiece"])
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_a_stop_is_found_with_the_very_token_that_completes_it(kind, data):
    made = stop_tokenizer(kind)
    stops = data.draw(st.lists(st.sampled_from(["\n", "\n\n", "a\n", " ", "b ", "the", "é", "\t", ". "]), min_size=1))
    ids = data.draw(st.lists(st.integers(3, len(made) - 1), max_size=30))
    test = stop_test(made, stops)
    for end in range(1, len(ids) + 1):
        before, now = (made.decode(ids[:at], skip_special_tokens=True) for at in (end - 1, end))
        if any(stop in before for stop in stops):
            return
        assert test(ids[:end]) == any(stop in now for stop in stops), (ids[:end], now)


@cache
def stop_tokenizer(kind):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    lines = ["the fox\n\nand a. b \t c é", "a\n b\n\n the the", "12 a 3\t. x"]
    special = ["<s>", "</s>", "<unk>"]
    if kind == "byte-level":
        return tiny.tokenizer()
    if kind == "metaspace":
        raw = Tokenizer(models.BPE(unk_token="<unk>"))
        raw.pre_tokenizer, raw.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        raw.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=80, special_tokens=special))
    else:
        raw = Tokenizer(models.WordPiece(unk_token="<unk>"))
        raw.pre_tokenizer, raw.decoder = pre_tokenizers.WhitespaceSplit(), decoders.WordPiece()
        raw.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=80, special_tokens=special))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="</s>", unk_token="<unk>")


def test_a_stop_ending_in_a_newline_decodes_the_text_only_behind_a_newline(monkeypatch):
    made, decoded = tiny.tokenizer(), []
    test = stop_test(made, ["\n\n"])
    ids = made("the quick brown fox jumps over the lazy dog\n", add_special_tokens=False).input_ids
    for end in range(1, len(ids) + 1):
        test(ids[:end])
    real = type(made).decode
    monkeypatch.setattr(type(made), "decode", lambda self, *a, **k: decoded.append(a) or real(self, *a, **k))
    for end in range(1, len(ids) + 1):
        test(ids[:end])
    assert len(decoded) == 1


def test_an_output_tells_whether_a_stop_text_its_end_token_or_its_length_ended_it():
    engine = hf()
    whole = engine.generate([Request(CHAT, max_tokens=24)])[0].outputs[0]
    first, second = (next(char for char in whole.text[at:] if char.isalnum()) for at in (4, 9))
    yes = Structured(choice=("yes", "no"))
    requests = [
        Request(CHAT, max_tokens=24, stop=(second, first)),
        Request(CHAT, max_tokens=24, structured=yes, stop=("zz",)),
        Request(CHAT, max_tokens=2, stop=("zz",)),
        Request(CHAT, max_tokens=24, structured=yes),
    ]
    told = [generation.outputs[0] for generation in engine.generate(requests)]
    at = {char: whole.text.index(char) for char in (first, second)}
    assert told[0].stopped_by == min(at, key=at.get)
    assert told[0].text == whole.text[: min(at.values())]
    assert [output.stopped_by for output in told[1:]] == ["", None, None]
    assert [output.finish_reason for output in told[1:]] == ["stop", "length", "stop"]


def test_a_stop_text_ends_the_output_and_is_not_part_of_it():
    made = hf()
    free = made.generate([Request("the", max_tokens=40, temperature=1.0, seed=1)])[0].text
    stop = free[10:13]
    at = free.index(stop)
    result = made.generate([Request("the", max_tokens=40, temperature=1.0, seed=1, stop=(stop, "never this"))])[0]
    assert (result.text, result.outputs[0].finish_reason) == (free[:at], "stop")
    assert result.usage["completion_tokens"] < 40


def test_choices_hold_a_reply_to_one_of_them_and_none_is_shut_out():
    made = hf()
    choices = ("Answer: A", "Answer: B", "no", "nope")
    request = Request(CHAT, n=64, temperature=1.0, seed=0, structured=Structured(choice=choices), logprobs=1)
    result = made.generate([request, Request("x", max_tokens=5)])[0]
    assert {output.text for output in result.outputs} == set(choices)
    assert {output.finish_reason for output in result.outputs} == {"stop"}
    for form in (Structured(regex="a"), Structured(json={})):
        assert isinstance(made.generate([Request("x", structured=form)])[0].error, Unsupported)


def test_what_one_request_does_wrong_is_its_own_error():
    made = hf()
    good, long, id_, empty, template = made.generate(
        [Request("the", max_tokens=3), Request([5] * 256), Request([99999]), Request(""),
         Request([{"role": "tool", "content": "x"}])]
    )  # fmt: skip
    assert good.error is None
    assert isinstance(long.error, ContextOverflow)
    for result in (id_, empty, template):
        assert isinstance(result.error, BadRequest)
    assert "no tools" in str(template.error)
    almost = made.generate([Request([5] * 250, max_tokens=50)])[0]
    assert almost.outputs[0].finish_reason in ("length", "stop")
    assert len(almost.outputs[0].ids) <= 6


def test_a_wave_too_big_for_the_device_is_halved_and_only_what_is_too_big_alone_fails(monkeypatch):
    real = Decoder.stream

    def small(self, groups, **options):
        if sum(group.n for group in groups) > 3:
            raise torch.OutOfMemoryError
        return real(self, groups, **options)

    monkeypatch.setattr(Decoder, "stream", small)
    results = hf().generate([Request(f"the {n}", n=n, max_tokens=3, temperature=1.0) for n in (1, 2, 4, 3, 1)])
    assert [len(result.outputs) for result in results] == [1, 2, 0, 3, 1]
    assert "memory" in str(results[2].error)


def test_what_fitted_into_the_device_is_remembered_for_texts_as_long_and_longer(monkeypatch):
    real = Decoder.stream
    waves = []

    def small(self, groups, **options):
        waves.append(sum(group.n for group in groups))
        if waves[-1] > 3:
            raise torch.OutOfMemoryError
        return real(self, groups, **options)

    monkeypatch.setattr(Decoder, "stream", small)
    engine = hf()

    def asked(length, tokens):
        waves.clear()
        engine.generate([Request("the " * length, max_tokens=tokens, temperature=1.0) for _ in range(8)])
        return list(waves)

    assert asked(4, 5) == [8, 4, 2, 2, 4, 2, 2]
    assert asked(4, 5) == [2] * 4
    assert asked(9, 9) == [2] * 4
    assert asked(1, 1)[0] == 8  # shorter texts may fit yet


def test_memory_that_runs_out_midway_leaves_the_results_that_were_complete(monkeypatch):
    real = Decoder.stream
    calls = []

    def breaks_once(self, groups, **options):
        calls.append(len(groups))
        for number, done in enumerate(real(self, groups, **options)):
            if number == 1 and len(calls) == 1:
                raise torch.OutOfMemoryError
            yield done

    requests = [Request(f"the {n}", n=2, max_tokens=3 * n, temperature=1.0, seed=n) for n in (1, 2, 3)]
    wanted = [generation.outputs for generation in hf().generate(requests)]
    monkeypatch.setattr(Decoder, "stream", breaks_once)
    assert [generation.outputs for generation in hf().generate(requests)] == wanted
    assert calls == [3, 1, 1]


def test_memory_that_runs_out_is_first_taken_from_what_is_kept_between_calls(tmp_path, monkeypatch):
    engine = load_engine(f"hf:{tiny.save(tmp_path)}")
    asked = Request("the quick brown fox " * 9, max_tokens=4, stop=("zzz",))
    wanted = engine.generate([asked])[0].outputs
    real = Decoder.stream

    def full(self, groups, **options):
        if self._prefixes._known:
            raise torch.OutOfMemoryError
        return real(self, groups, **options)

    monkeypatch.setattr(Decoder, "stream", full)
    assert engine.generate([asked])[0].outputs == wanted


def test_a_result_comes_out_as_soon_as_its_last_completion_ends():
    requests = [Request([5, 6, 7], n=2, max_tokens=steps, temperature=1.0, seed=steps) for steps in (40, 3, 20)]
    assert [index for index, _ in hf().stream(requests)] == [1, 2, 0]


def test_a_tempered_engine_gives_the_log_probabilities_of_the_distribution_it_draws_from():
    request = Request([5, 6, 7], n=2, max_tokens=8, temperature=0.5, seed=1, logprobs=0)
    model = tiny.model()
    result = HF.of(model, tiny.tokenizer(), tempered=True).generate([request])[0]
    plain = hf().generate([request])[0]
    for output, own in zip(result.outputs, plain.outputs, strict=True):
        assert output.ids == own.ids
        logits = model(torch.tensor([[5, 6, 7, *output.ids]])).logits[0, 2:-1].detach()
        wanted = (logits / 0.5).log_softmax(-1).gather(1, torch.tensor(output.ids)[:, None]).squeeze(1)
        assert output.logprobs == pytest.approx(wanted.tolist(), abs=1e-4)
        assert own.logprobs != pytest.approx(wanted.tolist(), abs=1e-2)


def test_a_conversation_needs_a_chat_template_and_uses_it():
    made = hf()
    text = tiny.tokenizer().apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    assert made.generate([Request(CHAT, max_tokens=1)])[0].prompt_ids == tuple(
        tiny.tokenizer()(text, add_special_tokens=False).input_ids
    )
    result = hf(template=False).generate([Request(CHAT)])[0]
    assert isinstance(result.error, NoChatTemplate)
    assert "chat template" in str(result.error)


def test_a_last_turn_of_the_assistants_is_continued_exactly_as_it_stands():
    from verikit.engines.prompts import prompt_ids

    encode, begun = tiny.tokenizer(), "so far\n```python\n  x = 1 \n"
    history = [*CHAT, {"role": "assistant", "content": "A"}, {"role": "user", "content": "go on"}]
    ids = prompt_ids(encode, Request([*history, {"role": "assistant", "content": begun}]))
    assert encode.decode(ids) == "<s>user: hi</s><s>assistant: A</s><s>user: go on</s><s>assistant: " + begun
    assert encode.decode(prompt_ids(encode, Request(history))).endswith("<s>user: go on</s><s>assistant:")
    assert Request([*history, {"role": "assistant", "content": begun}]).continues
    assert not Request(history).continues
    silent = tiny.tokenizer.__wrapped__()
    silent.chat_template = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}"
    with pytest.raises(BadRequest, match="can't be continued"):
        prompt_ids(silent, Request([*history, {"role": "assistant", "content": begun}]))


def test_a_saved_model_loads_by_its_spec_and_changed_weights_are_another_identity(tmp_path):
    path = tiny.save(tmp_path / "m")
    made = load_engine(f"hf:{path}", dtype="float32")
    assert (
        made.generate([Request("the", max_tokens=5)])[0].text == hf().generate([Request("the", max_tokens=5)])[0].text
    )
    assert load_engine(f"hf:{path}", dtype="float32").identity == made.identity
    assert load_engine(f"hf:{path}", dtype="bfloat16").identity != made.identity
    tiny.model("Qwen2").save_pretrained(path)
    assert load_engine(f"hf:{path}", dtype="float32").identity != made.identity
    with pytest.raises(SpecError, match="can't load"):
        load_engine(f"hf:{tmp_path / 'none'}")


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 20)), min_size=1, max_size=5), st.data()
)
def test_any_mix_of_groups_is_decoded_exactly(shapes, data):
    groups = [
        SamplingGroup([3 + (7 * i + j) % 300 for j in range(length)], (i,), n=n, max_tokens=steps)
        for i, (length, n, steps) in enumerate(shapes)
    ]
    eos = range(data.draw(st.sampled_from([0, 30, 150])))
    result = Decoder(tiny.model(), eos).decode(groups)
    for group, rows in zip(groups, result, strict=True):
        for row in rows:
            assert len(row.ids) == len(row.logprobs) <= group.max_tokens
            assert row.finish == ("stop" if row.ids[-1] in eos else "length")
            assert row.finish == "stop" or len(row.ids) == group.max_tokens
            assert not any(token in eos for token in row.ids[:-1])
    assert distance(tiny.model(), groups, result) <= 1e-5


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_groups_of_one_prompt_run_it_once_and_sample_what_each_would_alone(kind, copied, monkeypatch):
    if not copied:
        monkeypatch.setattr("verikit.engines.hf.decoder.COPIED_BELOW", 0)
    prompts = [[3 + (7 * i + j) % 300 for j in range(length)] for i, length in enumerate((9, 17, 9))]
    groups = [
        SamplingGroup(prompts[which], (1, number), n=1 + number % 2, max_tokens=4 + 3 * number)
        for number, which in enumerate((0, 1, 0, 2, 1, 0))
    ]
    run, counted = _State._run_prompts, []

    def counting(self, prompts, begun, held):
        counted.append(len(prompts))
        return run(self, prompts, begun, held)

    monkeypatch.setattr(_State, "_run_prompts", counting)
    decoder = Decoder(tiny.model(kind), range(20))
    together = decoder.decode(groups)
    assert sum(counted) == 3
    assert distance(tiny.model(kind), groups, together) <= 1e-5
    alone = [decoder.decode([group])[0] for group in groups]
    assert [[row.ids for row in rows] for rows in together] == [[row.ids for row in rows] for rows in alone]


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_prompts_that_go_on_from_known_texts_give_the_same_rows(kind, copied, monkeypatch):
    if not copied:
        monkeypatch.setattr("verikit.engines.hf.decoder.COPIED_BELOW", 0)
    model = tiny.model(kind, **({"sliding_window": None} if kind == "Mistral" else {}))
    prefixes = Prefixes(2**24)
    decoder = Decoder(model, range(40), prefixes)
    first = some_groups(stop=lambda ids: ids[-1] % 41 == 0)
    decoder.decode(first[:2])
    done = decoder.decode(first)
    generator = torch.Generator().manual_seed(2)
    turns = [
        SamplingGroup(
            [*group.ids, *row.ids, *torch.randint(3, 300, (1 + 5 * number,), generator=generator).tolist()],
            (8, number, index),
            n=1 + index,
            max_tokens=9,
        )
        for number, (group, rows) in enumerate(zip(first, done, strict=True))
        for index, row in enumerate(rows)
    ]
    turns += [
        SamplingGroup([*turns[0].ids[:-3], 7, 8, 9, 10], (9,), max_tokens=5),
        SamplingGroup([4, 5, 6], (10,), max_tokens=5),
    ]
    known = [0 if (generation := prefixes.find(group.ids)) is None else generation.shape[3] for group in turns]
    for group, length in zip(turns[:-2], known, strict=False):
        before = len(group.ids) - 1 - 5 * group.key[1]
        assert length >= (before - 1) // BLOCK * BLOCK  # all whole blocks of the turn before but its last token
    assert max(known) >= 32
    assert known[-1] == 0
    result = decoder.decode(turns)
    assert distance(model, turns, result) <= 1e-5
    plain = Decoder(model, range(40)).decode(turns)
    assert [[row.ids for row in rows] for rows in result] == [[row.ids for row in rows] for rows in plain]


def test_a_loaded_engine_reuses_what_it_ran_and_one_whose_weights_may_change_does_not(tmp_path, monkeypatch):
    folder = tiny.save(tmp_path)
    run = []
    original = torch.nn.utils.rnn.pad_sequence
    monkeypatch.setattr(
        "verikit.engines.hf.decoder.pad_sequence",
        lambda left, **options: run.append(sum(map(len, left))) or original(left, **options),
    )
    asked = Request("the quick brown fox " * 20, max_tokens=8, stop=("zzz",))
    for engine, reused in ((load_engine(f"hf:{folder}"), True), (load_engine(f"hf:{folder}", reuse=0), False)):
        run.clear()
        text = engine.generate([asked])[0].outputs[0].text
        again = engine.generate([Request(asked.prompt + text + " and", max_tokens=3, stop=("zzz",))])[0]
        assert again.error is None
        assert (run[1] < run[0] // 2) is reused
    assert HF.of(tiny.model(), tiny.tokenizer())._prefixes is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(1, 40))
def test_a_known_beginning_is_a_real_one_and_the_store_stays_within_its_limit(texts, limit):
    """Tokens are blocks of equal ids, so that random sequences share beginnings; what is kept tells its ids."""
    texts = [[bit for bit in text for _ in range(BLOCK)] for text in texts]
    prefixes = Prefixes(limit * BLOCK * 4)
    held = []
    for text in texts:
        prefixes.put(text, torch.tensor(text, dtype=torch.int32)[None, None, None, :, None])
        held = [generation for generation in held if generation != text[: len(generation)]] + [text]
        assert prefixes._size <= limit * BLOCK * 4
        for ids in texts:
            if (found := prefixes.find([*ids, 5])) is not None:
                assert found.flatten().tolist() == ids[: found.shape[3]]
            elif sum(map(len, held)) <= limit * BLOCK:
                assert all(generation[:BLOCK] != ids[:BLOCK] for generation in held)
