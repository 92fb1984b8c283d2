"""The policy's log-probabilities: chunked, padded, packed in any shape, they are those of the plain model."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from verikit.engines.hf import device  # noqa: E402
from verikit.trainers import batch as batches  # noqa: E402
from verikit.trainers import losses  # noqa: E402
from verikit.trainers.config import BatchSection, LossSection, OptimizerSection  # noqa: E402
from verikit.trainers.distributed import World  # noqa: E402
from verikit.trainers.learner import Learner, token_logprobs  # noqa: E402
from verikit.trainers.policy import LinearLogProb, PolicyModel  # noqa: E402
from verikit.trainers.recipe import Trajectory, Transcript  # noqa: E402

V = 23


def tiny(tied=True, dtype=torch.float64, seed=0, **others):
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=V, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, tie_word_embeddings=tied, initializer_range=0.2, **others,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).to(dtype).eval()


def trajectory(length, prompt=3, seed=0, foreign=(), **others):
    draw = torch.Generator().manual_seed(seed * 100 + length)
    ids = torch.randint(0, V, (prompt + length,), generator=draw).tolist()
    mask = [False] * prompt + [at not in foreign for at in range(length)]
    logprobs = [-1.0 * own for own in mask]
    return Trajectory(ids, mask, logprobs, 1.0, 0, **others)


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_the_chunked_head_has_the_gradients_of_the_plain_head(entropy, biased, monkeypatch):
    monkeypatch.setattr(device, "HOST_LOGITS", 5 * V)
    draw = torch.Generator().manual_seed(1)
    hidden, weight, bias = (torch.randn(*s, generator=draw, dtype=torch.float64) for s in ((17, 6), (V, 6), (V,)))
    targets = torch.randint(0, V, (17,), generator=draw)
    use = [hidden.requires_grad_(), weight.requires_grad_(), *([bias.requires_grad_()] if biased else [])]
    scale = torch.randn(17, generator=draw, dtype=torch.float64)

    def value(logp, spread):
        return (logp * scale).sum() + (0.3 * (spread * scale).sum() if entropy else 0)

    ours = value(*LinearLogProb.apply(hidden, weight, bias if biased else None, targets, entropy))
    logits = hidden @ weight.T + (bias if biased else 0)
    logps = logits.log_softmax(-1)
    plain = value(logps.gather(1, targets[:, None]).squeeze(1), -(logps.exp() * logps).sum(-1))
    assert torch.allclose(ours, plain, rtol=1e-12)
    for a, b in zip(torch.autograd.grad(ours, use), torch.autograd.grad(plain, use), strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_models_gradient_is_that_of_its_own_logits(tied, temperature):
    model = tiny(tied)
    wrapped = PolicyModel(model)
    assert wrapped.chunked
    sequence = trajectory(9, temperature=temperature)
    row = batches.as_row(0, sequence)
    micro = batches.collate([row], torch.device("cpu"))
    logp, _ = wrapped(micro.ids, micro.where, micro.targets, micro.positions, micro.temperature)
    ours = torch.autograd.grad(logp.sum(), list(model.parameters()))
    logits = model(input_ids=torch.tensor([sequence.ids])).logits[0] / temperature
    plain = logits.log_softmax(-1)[:-1].gather(1, torch.tensor(sequence.ids[1:])[:, None]).squeeze(1)
    own = plain[torch.tensor(sequence.mask[1:])]
    assert torch.allclose(logp.double(), own, rtol=1e-9)
    for a, b in zip(ours, torch.autograd.grad(own.sum(), list(model.parameters())), strict=True):
        assert torch.allclose(a, b, rtol=1e-8, atol=1e-11)


SHAPED = {
    "Cohere": {"logit_scale": 0.25},
    "Cohere2": {"logit_scale": 4.0, "layer_types": ["full_attention"]},
    "Granite": {"logits_scaling": 0.125},
    "Gemma2": {"final_logit_softcapping": 2.0, "attn_logit_softcapping": None},
    "Gemma3Text": {"final_logit_softcapping": 2.0, "layer_types": ["full_attention"]},
}


def shaped(kind):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=V, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, head_dim=8, initializer_range=0.5, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        **SHAPED[kind],
    )  # fmt: skip
    return getattr(transformers, f"{kind.removesuffix('Text')}ForCausalLM")(config).double().eval()


@pytest.mark.parametrize("temperature", [None, 0.5])
@pytest.mark.parametrize("kind", SHAPED)
def test_scaled_and_capped_logits_are_run_in_chunks_with_the_same_gradient(kind, temperature, monkeypatch):
    monkeypatch.setattr(device, "HOST_LOGITS", 3 * V)
    model = shaped(kind)
    wrapped = PolicyModel(model)
    assert wrapped.chunked
    ids = torch.randint(0, V, (2, 7), generator=torch.Generator().manual_seed(1))
    where, targets = torch.tensor([0, 2, 5, 7, 8, 9, 12]), torch.tensor([3, 4, 5, 6, 7, 8, 9])
    heat = None if temperature is None else torch.linspace(0.4, 1.5, 7)
    weights = torch.linspace(-1, 1, 7, dtype=torch.float64)
    logits = model(input_ids=ids).logits.flatten(0, 1)[where]
    plain = (logits if heat is None else logits / heat[:, None]).log_softmax(-1)
    spread = -(plain.exp() * plain).sum(-1)
    chosen = plain.gather(1, targets[:, None]).squeeze(1)
    whole = model.lm_head.forward

    def watched(hidden):
        raise AssertionError("the head was run over all tokens")

    monkeypatch.setattr(model.lm_head, "forward", watched)
    logp, entropy = wrapped(ids, where, targets, None, heat, entropy=True)
    monkeypatch.setattr(model.lm_head, "forward", whole)
    assert torch.allclose(logp, chosen, rtol=1e-9)
    assert torch.allclose(entropy, spread, rtol=1e-9)
    parameters = list(model.parameters())
    ours = torch.autograd.grad(((logp + 0.3 * entropy) * weights).sum(), parameters)
    theirs = torch.autograd.grad(((chosen + 0.3 * spread) * weights).sum(), parameters)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, rtol=1e-7, atol=1e-10)


def test_a_model_that_does_anything_more_to_its_logits_is_run_in_full():
    class Capped(transformers.LlamaForCausalLM):
        def forward(self, *given, **options):
            out = super().forward(*given, **options)
            out.logits = torch.tanh(out.logits / 30) * 30
            return out

    model = tiny()
    model.__class__ = Capped
    row = batches.as_row(0, trajectory(5))
    micro = batches.collate([row], torch.device("cpu"))
    assert model(input_ids=micro.ids).logits.abs().max() < 3  # where the cap hardly shows
    wrapped = PolicyModel(model)
    assert not wrapped.chunked
    assert not wrapped.shares_prompts  # its own body could share them, but is not what is run
    logp, _ = wrapped(micro.ids, micro.where, micro.targets)
    plain = model(input_ids=micro.ids).logits[0].float().log_softmax(-1)
    assert torch.allclose(logp, plain[micro.where, micro.targets], atol=1e-5)


def test_rows_that_begin_at_one_state_add_their_gradients_up_in_more_than_bf16():
    """A group's rows predict their first token from their prompt's last state; bf16 stops adding at 256 times."""
    wrapped = PolicyModel(tiny().bfloat16())
    found = []
    for rows in (1, 600):
        states = []
        hook = wrapped.model.model.norm.register_forward_hook(lambda module, given, out, into=states: into.append(out))
        logp, _ = wrapped(torch.tensor([[3, 4, 5]]), torch.full((rows,), 2), torch.full((rows,), 7))
        hook.remove()
        found.append(torch.autograd.grad(logp.sum(), states[0])[0][0, 2].float())
    assert torch.allclose(found[1], 600 * found[0], rtol=0.01)


def learned(rows_of, tokens, loss=None, minibatches=1, dtype=torch.float64):
    """The gradient (as the change by plain SGD-like AdamW would hide it): taken before the optimizer uses it."""
    model = tiny(dtype=dtype)
    wrapped, world = PolicyModel(model), World()
    world.device = torch.device("cpu")
    kept = {}

    class Kept(World):
        def clip_gradients(self, policy, limit):
            kept.update({name: parameter.grad.clone() for name, parameter in policy.named_parameters()})
            return super().clip_gradients(policy, limit)

    from tests.trainers.conftest import settings

    config = settings(batch__tokens=tokens)
    Learner(wrapped, Kept(), config, OptimizerSection(), loss or LossSection(), 10).learn(rows_of(), 1)
    return kept


def rows(pad_sides=False):
    made = [batches.as_row(n, trajectory(length, seed=n)) for n, length in enumerate((9, 2, 5, 5, 1, 12, 7))]
    for n, row in enumerate(made):
        row.sampled = row.sampled - 0.1 * n
        row.advantage = torch.full((len(row.where),), 0.5 - 0.3 * n)
    return made


@pytest.mark.parametrize("aggregation", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"])
def test_micro_batches_of_any_shape_give_the_same_gradient(aggregation):
    loss = LossSection(aggregation=aggregation)
    whole = learned(rows, 10_000, loss)
    for tokens in (1, 16, 40):
        for name, gradient in learned(rows, tokens, loss).items():
            assert torch.allclose(gradient, whole[name], rtol=1e-6, atol=1e-10)


def test_in_float32_any_shape_agrees_to_a_hundred_thousandth():
    whole, single = learned(rows, 10_000, dtype=torch.float32), learned(rows, 1, dtype=torch.float32)
    for name in whole:
        assert (whole[name] - single[name]).abs().max() <= 1e-5 * max(1e-3, whole[name].abs().max())


def test_the_batchs_gradient_is_that_of_a_loss_written_row_by_row():
    found = learned(rows, 30)
    model = tiny()
    total, count = 0.0, sum(len(row.where) for row in rows())
    for row in rows():
        logps = model(input_ids=torch.tensor([list(row.ids)])).logits[0].log_softmax(-1)
        for t, (index, target) in enumerate(zip(row.where, row.targets, strict=True)):
            ratio = (logps[index, target] - row.sampled[t].double()).exp()
            a = row.advantage[t].double()
            total = total - torch.minimum(ratio * a, ratio.clamp(0.8, 1.28) * a) / count
    wanted = torch.autograd.grad(total, list(model.parameters()))
    named = dict(zip([name for name, _ in PolicyModel(model).named_parameters()], wanted, strict=True))
    for name, gradient in found.items():
        assert torch.allclose(gradient, named[name], rtol=1e-6, atol=1e-9)


def test_evidence_gets_exactly_zero_gradient_and_its_logits_change_nothing():
    foreign = (2, 3, 4)
    sequence = trajectory(8, foreign=foreign)
    row = batches.as_row(0, sequence)
    assert row.targets == [sequence.ids[3 + at] for at in range(8) if at not in foreign]
    positions = [3 + at - 1 for at in range(8) if at not in foreign]
    assert row.where == positions
    model = tiny()
    logits = model(input_ids=torch.tensor([sequence.ids])).logits
    logits.retain_grad()
    hidden = logits[0].log_softmax(-1)[torch.tensor(row.where), torch.tensor(row.targets)]
    hidden.sum().backward()
    untouched = [at for at in range(len(sequence.ids)) if at not in positions]
    assert not logits.grad[0, untouched].any()


def test_ids_are_never_encoded_again_and_the_mask_grows_with_them():
    from verikit.engines.types import Output

    growing = Transcript([5, 6])
    growing.sampled(Output("x", ids=(7, 8), logprobs=(-0.5, -0.25)))
    growing.foreign([9, 9])
    growing.sampled(Output("y", ids=(1,), logprobs=(-2.0,)))
    sequence = growing.trajectory(1.0, "g", role="reasoner")
    assert list(sequence.ids) == [5, 6, 7, 8, 9, 9, 1]
    assert list(sequence.mask) == [False, False, True, True, False, False, True]
    assert list(sequence.logprobs) == [0, 0, -0.5, -0.25, 0, 0, -2.0]


def test_padding_may_be_the_end_token_and_stand_anywhere():
    """Masks, not ids, say what is learnt: a sampled end token is, padding is not."""
    sequence = Trajectory([1, 2, 0, 0], [False, True, True, True], [0.0, -1, -1, -1], 1.0, 0)
    row = batches.as_row(0, sequence)
    assert row.targets == [2, 0, 0]
    long = batches.as_row(1, trajectory(12))
    alone = token_logprobs(PolicyModel(tiny()), [row], World(), BatchSection(tokens=1))
    beside = token_logprobs(PolicyModel(tiny()), [row, long], World(), BatchSection(tokens=100))
    assert torch.allclose(alone[0], beside[0], atol=1e-6)


def test_micro_batches_keep_to_the_budget_and_are_as_many_for_every_process():
    made = [batches.as_row(n, trajectory(n % 9 + 1, seed=n)) for n in range(23)]
    for shares in (1, 2, 3):
        found = batches.micro_batches(made, 40, shares)
        assert len(found) % shares == 0
        assert all(len(part) == 1 or len(part) * max(len(row.ids) for row in part) <= 40 for part in found)
        assert sorted(row.number for part in found for row in part if any(row is own for own in made)) == list(
            range(23)
        )


def test_a_head_over_classes_learns_at_the_labelled_places():
    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=V, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_labels=2,
        num_key_value_heads=2,
    )  # fmt: skip
    model = transformers.Qwen2ForTokenClassification(config).double().eval()
    sequence = Trajectory([1, 2, 3, 4], [False, True, False, True], [0.0] * 4, None, "", labels=[0, 1, 0, 0])
    row = batches.as_row(0, sequence)
    assert (row.where, row.targets) == ([1, 3], [1, 0])
    micro = batches.collate([row], torch.device("cpu"))
    logp, _ = PolicyModel(model)(micro.ids, micro.where, micro.targets)
    plain = model(input_ids=micro.ids).logits[0].log_softmax(-1)
    assert torch.allclose(logp.double(), plain[[1, 3], [1, 0]], rtol=1e-9)


def test_the_loss_of_no_live_row_is_no_step():
    def silent():
        made = rows()
        for row in made:
            row.advantage = torch.zeros_like(row.advantage)
        return made

    assert learned(silent, 100) == {}
    assert losses.token_weights(torch.tensor([0, 0]), "token-mean").tolist() == [1.0, 1.0]
