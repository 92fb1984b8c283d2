"""Prompts computed once: log-probabilities and gradients are those of rows computed alone, whatever their shapes."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from hypothesis import example, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from tests.trainers import conftest  # noqa: E402
from verikit.trainers.batch import ATTENTION_COST, as_row, collate, micro_batches, worth_sharing  # noqa: E402
from verikit.trainers.distributed import World  # noqa: E402
from verikit.trainers.learner import Learner, token_logprobs  # noqa: E402
from verikit.trainers.policy import PolicyModel  # noqa: E402
from verikit.trainers.precision import prepare_model  # noqa: E402
from verikit.trainers.recipe import Trajectory  # noqa: E402
from verikit.trainers.sharing import shared_layout  # noqa: E402

V = 23
EXACT = 1e-6
"""Of the gradient's norm: transformers' RMS norm rounds to fp32 in models of any precision."""
SHAPE = {
    "vocab_size": V, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "initializer_range": 0.2, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
FAMILIES = {
    "Llama": {},
    "Qwen2": {},
    "Mistral": {"sliding_window": 4},
    "Gemma3": {"sliding_window": 4, "head_dim": 8, "layer_types": ["sliding_attention", "full_attention"]},
    "SmolLM3": {"no_rope_layers": [0, 1]},
    "GPT2": {"n_positions": 64},
    "Cohere": {},
}


def model_of(family="Llama", dtype=torch.float64, **others):
    torch.manual_seed(0)
    config = "Gemma3Text" if family == "Gemma3" else family
    kind = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
    made = getattr(transformers, f"{config}Config")(**SHAPE | FAMILIES.get(family, {}) | others)
    return getattr(transformers, kind)(made).to(dtype).eval()


def rows_of(groups, seed=0, temperature=1.0):
    """Rows of (length of the prompt, lengths of its completions); prompts begin alike, as chat templates do."""
    draw = torch.Generator().manual_seed(seed)

    def tokens(count):
        return torch.randint(0, V, (count,), generator=draw).tolist()

    system, rows = tokens(40), []
    for prompt, completions in groups:
        asked = [*system[: prompt // 2], *tokens(prompt - prompt // 2)]
        for length in completions:
            mask = [False] * prompt + [at % 5 != 3 for at in range(length)]
            logprobs = [-3.0 * own for own in mask]
            ids = [*asked, *tokens(length)]
            row = as_row(len(rows), Trajectory(ids, mask, logprobs, 1.0, 0, temperature=temperature))
            row.sampled = row.sampled.double()  # and so is the loss: only the models' numbers are rounded
            row.advantage, noise = torch.randn(2, len(row.where), generator=draw).double()
            row.reference = row.sampled + 0.3 * noise
            rows.append(row)
    return rows


def learned(model, rows, share, **changes):
    """The gradient of one update, before it is clipped, and the metrics."""
    config = conftest.settings(batch__share_prompts=share, **changes)
    kept = {}

    class Kept(World):
        def clip_gradients(self, policy, limit):
            kept.update({n: p.grad.clone() for n, p in policy.named_parameters() if p.grad is not None})
            return super().clip_gradients(policy, limit)

    world = Kept()
    world.device = torch.device("cpu")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    policy = PolicyModel(model, bf16=config.precision.master == "float32")
    metrics = Learner(policy, world, config, config.optimizer, config.loss, 10).learn(rows, 1)
    model.load_state_dict(before)
    return kept, metrics


def passed_through(model, run):
    """What `run` returns, and how many tokens went through the model's second layer."""
    layers = next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList))
    seen = []
    hook = layers[1].register_forward_hook(lambda module, args, output: seen.append(args[0].shape[:-1].numel()))
    try:
        return run(), sum(seen)
    finally:
        hook.remove()


def apart(left, right):
    assert left.keys() == right.keys() != set()
    squares = sum(float((left[name] - right[name]).square().sum()) for name in left)
    return (squares / sum(float(value.square().sum()) for value in right.values())) ** 0.5


GROUPS = [(9, (7, 3, 12, 1)), (5, (4, 4, 6)), (14, (2, 9))]
shapes = st.lists(
    st.tuples(st.integers(1, 24), st.lists(st.integers(1, 12), min_size=1, max_size=5)), min_size=1, max_size=4
)
LLAMA = model_of()


@settings(max_examples=25, deadline=None)
@given(shapes, st.integers(1, 120), st.integers(0, 9))
def test_the_gradient_of_any_groups_is_that_of_rows_computed_alone(groups, tokens, seed):
    changes = {"loss__entropy": 0.01, "kl__coefficient": 0.1, "batch__tokens": tokens}
    alone, told = learned(LLAMA, rows_of(groups, seed), False, **changes)
    shared, metrics = learned(LLAMA, rows_of(groups, seed), True, **changes)
    assert apart(shared, alone) < EXACT
    for name in ("loss", "entropy", "kl", "mismatch", "tokens"):
        assert metrics[name] == pytest.approx(told[name], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_give_the_gradient_of_rows_computed_alone_and_layers_see_each_prefix_once(family):
    model = model_of(family)
    (alone, _), many = passed_through(model, lambda: learned(model, rows_of(GROUPS), False, batch__tokens=150))
    (shared, _), few = passed_through(model, lambda: learned(model, rows_of(GROUPS), True, batch__tokens=150))
    assert apart(shared, alone) < EXACT
    assert few < 0.75 * many


def test_in_float32_the_gradient_differs_by_a_millionth():
    model = model_of(dtype=torch.float32)
    alone, _ = learned(model, rows_of(GROUPS), False)
    shared, _ = learned(model, rows_of(GROUPS), True)
    assert apart(shared, alone) < 1e-6


def test_with_bf16_products_sharing_is_no_further_from_fp32_than_rows_alone():
    model = model_of(dtype=torch.float32)
    exact, _ = learned(model, rows_of(GROUPS), False)
    alone, _ = learned(model, rows_of(GROUPS), False, precision__master="float32")
    shared, _ = learned(model, rows_of(GROUPS), True, precision__master="float32")
    assert 1e-4 < apart(shared, exact) < 1.5 * apart(alone, exact)


@pytest.mark.parametrize(
    "changes", [{"precision__checkpointing": True}, {"precision__lora_rank": 2}, {"batch__packing": True}]
)
def test_checkpointing_adapters_and_packing_keep_the_gradient(changes):
    if "precision__lora_rank" in changes:
        pytest.importorskip("peft")
    model = prepare_model(model_of("Mistral", torch.float32), conftest.settings(**changes))
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.2)
    model = model.double()
    alone, _ = learned(model, rows_of(GROUPS), False)
    shared, few = passed_through(model, lambda: learned(model, rows_of(GROUPS), True, **changes)[0])
    assert apart(shared, alone) < EXACT
    assert few < sum(len(row.ids) for row in rows_of(GROUPS)) * (2 if "precision__checkpointing" in changes else 1)


def test_temperature_and_logprobs_of_a_batch_are_those_of_rows_computed_alone():
    model = model_of("Cohere")  # whose logits are scaled
    policy = PolicyModel(model)
    for temperature in (1.0, 0.5):
        made = rows_of(GROUPS, temperature=temperature)
        shared, alone = (
            token_logprobs(policy, made, World(), conftest.settings(batch__share_prompts=share).batch)
            for share in (True, False)
        )
        for left, right in zip(shared, alone, strict=True):
            assert torch.allclose(left, right, atol=1e-6)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=8))
def test_a_layout_holds_each_prefix_once_and_every_row_in_order(rows):
    layout = shared_layout(rows)
    prefixes = {tuple(row[: end + 1]) for row in rows for end in range(len(row))}
    assert len(layout.ids) == len(prefixes)
    for row, placed in zip(rows, layout.rows, strict=True):
        assert [layout.ids[token] for token in placed] == row
        assert [layout.positions[token] for token in placed] == list(range(len(row)))
    flat = [token for row in layout.gathered() for token in row]
    assert [flat[index] for index in layout.scattered()] == list(range(len(layout.ids)))


@settings(max_examples=50)
@given(shapes, st.integers(20, 150), st.integers(1, 3))
@example([(1, [11]), (4, [6, 11])], 20, 1)
def test_shared_micro_batches_hold_every_row_within_the_budget_and_are_as_many_for_every_process(groups, tokens, count):
    made = rows_of(groups)
    found = micro_batches(made, tokens, count, shared=True)
    assert len(found) % count == 0
    assert sorted(row.number for part in found for row in part if any(row is own for own in made)) == list(
        range(len(made))
    )
    for part in found:
        micro = collate(part, torch.device("cpu"), shared=True)
        distinct, padded = micro.ids.numel(), micro.layout[0].numel()
        assert len(part) == 1 or distinct + (padded - distinct) / ATTENTION_COST <= tokens


def test_a_group_is_kept_together_between_others_of_its_length():
    made = rows_of([(10, (5, 5, 5, 5)), (10, (5, 5, 5, 5)), (10, (5, 5, 5, 5))])
    made = [made[number] for number in (0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)]
    for part in micro_batches(made, 40, shared=True):
        assert [row.prompt for row in part] == 4 * [part[0].prompt]


def test_prompts_that_no_row_shares_are_not_worth_it():
    assert worth_sharing(rows_of([(10, (5, 5))]))
    assert not worth_sharing(rows_of([(10, (5,)), (12, (5,))]))
    assert not worth_sharing(rows_of([(1, (12, 12))]))


REFUSED = {
    "a mask is needed": ("LlamaForCausalLM", "LlamaConfig", {"attn_implementation": "eager"}),
    "the window does not reach attention": (
        "Qwen2MoeForCausalLM",
        "Qwen2MoeConfig",
        {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0, "num_experts": 4},
    ),
    "tokens see those behind them": ("BertForTokenClassification", "BertConfig", {}),
    "a state runs through the tokens": ("MambaForCausalLM", "MambaConfig", {"state_size": 4}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_models_that_sharing_would_not_leave_exact_learn_row_by_row(why):
    kind, config, others = REFUSED[why]
    attention = {"attn_implementation": others["attn_implementation"]} if "attn_implementation" in others else {}
    torch.manual_seed(0)
    options = {name: value for name, value in others.items() if name not in attention}
    model = getattr(transformers, kind)._from_config(
        getattr(transformers, config)(**SHAPE | options), **attention
    ).eval()  # fmt: skip
    assert not PolicyModel(model).shares_prompts


def test_a_run_comes_to_the_same_weights_to_rounding(tmp_path):
    found, seen = {}, {}
    for share in (True, False):
        changes = {"options__samples": 8, "options__prompts": 2, "options__max_tokens": 8, "kl__coefficient": 0.1}
        trainer = conftest.make(tmp_path / str(share), conftest.settings(batch__share_prompts=share, **changes))
        try:
            _, seen[share] = passed_through(trainer.policy.model, trainer.run)
            found[share] = {name: weight.detach().clone() for name, weight in trainer.policy.named_parameters()}
        finally:
            trainer.close()
            trainer.folder.close()
    assert seen[True] < seen[False]
    assert apart(found[True], found[False]) < 1e-4
