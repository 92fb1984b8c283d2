"""Number formats and memory savers: each trains, and is what it says."""

import json
import os
from copy import deepcopy

import pytest

from tests.trainers.conftest import make, settings, train
from tests.trainers.counted import LiveBytes, own_bytes
from tests.trainers.test_grpo import JITTER
from verikit.errors import ConfigError
from verikit.trainers import precision
from verikit.trainers.policy import PolicyModel
from verikit.trainers.run import read_log
from verikit.trainers.warmup import warm_up

torch = pytest.importorskip("torch")


def test_threads_are_those_asked_for_or_this_processes_share(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert precision.set_threads(0) == 3
    assert precision.set_threads(1) == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "999")
    assert precision.set_threads(0) == 1


@pytest.mark.parametrize(
    ("flags", "fast"),
    [("fpu avx512f avx512_bf16 amx_bf16", True), ("fpu avx512_bf16", True), ("fpu avx2 not_avx512_bf16", False)],
)
def test_a_cpu_with_any_instruction_for_bf16_is_fast_at_it(tmp_path, monkeypatch, flags, fast):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t: amx_bf16\n")
    monkeypatch.setattr(precision, "CPU", str(tmp_path / "cpuinfo"))
    assert precision.multiplies_bf16() == fast
    monkeypatch.setattr(precision, "CPU", str(tmp_path / "none"))
    assert not precision.multiplies_bf16()


@pytest.mark.parametrize("rank", [0, 4])
def test_auto_computes_in_bf16_over_fp32_weights_that_learn_and_samples_the_same_policy(tmp_path, monkeypatch, rank):
    if rank:
        pytest.importorskip("peft")
    monkeypatch.setattr(precision, "multiplies_bf16", lambda: True)
    small = make(tmp_path / "small", settings(**JITTER))
    assert not small.policy.bf16, "casting a tiny model's weights costs more than it saves"
    monkeypatch.setattr(precision, "WORTH_BF16", 0)
    trainer = make(tmp_path / "run", settings(precision__lora_rank=rank, optimizer__lr=1e-3, **JITTER))
    assert trainer.policy.bf16
    learning = {parameter.dtype for parameter in trainer.policy.parameters() if parameter.requires_grad}
    frozen = {parameter.dtype for parameter in trainer.policy.parameters() if not parameter.requires_grad}
    assert (learning, frozen) == ({torch.float32}, {torch.bfloat16} if rank else set())
    assert trainer.engine.engine.model.dtype == torch.bfloat16
    trainer.run()
    rows = [row["mismatch"] for row in read_log(tmp_path / "run/metrics.jsonl") if "mismatch" in row]
    assert rows
    assert 0 < max(rows) < 0.05
    for made in (small, trainer):
        made.close()
        made.folder.close()


@pytest.mark.parametrize("master", ["auto", "float32"])
def test_adapters_are_merged_into_what_samples_and_nothing_else_is_copied(tmp_path, master):
    pytest.importorskip("peft")
    config = settings(precision__lora_rank=4, precision__master=master, optimizer__lr=1e-2, **JITTER)
    trainer = make(tmp_path / "run", config.model_copy(update={"warmup": None}))
    trainer.run()
    sampler = trainer.engine.engine.model
    assert not any("lora" in name for name, _ in sampler.named_modules())
    base = trainer.policy.model.get_base_model()
    own = {tensor.data_ptr() for tensor in base.parameters()}
    shared = {name for name, tensor in sampler.named_parameters() if tensor.data_ptr() in own}
    adapted = {name for name, _ in sampler.named_parameters() if "_proj" in name}
    assert shared == ({name for name, _ in sampler.named_parameters()} - adapted if master == "auto" else set())
    rows = [row["mismatch"] for row in read_log(tmp_path / "run/metrics.jsonl") if "mismatch" in row]
    assert rows
    assert max(rows) < (1e-5 if master == "auto" else 0.05)
    ids = torch.tensor([[3, 4, 5]])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=master == "float32"):
        assert any(parameter.abs().max() > 0 for name, parameter in base.named_parameters() if "lora_B" in name)
        assert torch.allclose(
            sampler(ids).logits.float(), base(ids).logits.float(), atol=1e-4 if master == "auto" else 0.1
        )
    trainer.close()
    trainer.folder.close()


def adapted_run(folder, **changes):
    """A run of LoRA without warm-up, its trainer still open."""
    config = settings(precision__lora_rank=4, optimizer__lr=1e-2, **JITTER, **changes)
    trainer = make(folder, config.model_copy(update={"warmup": None}))
    trainer.run()
    return trainer


def mismatches(folder):
    return [row["mismatch"] for row in read_log(folder / "metrics.jsonl") if "mismatch" in row]


def test_a_run_that_samples_through_its_adapters_has_no_copy_and_the_same_completions(tmp_path):
    pytest.importorskip("peft")
    samples = []
    for merged in (True, False):
        trainer = adapted_run(tmp_path / str(merged), precision__lora_merged=merged)
        sampler, policy = trainer.engine.engine.model, trainer.policy.model
        assert (sampler is policy) == (not merged)
        assert any(weight.abs().max() > 0 for name, weight in policy.named_parameters() if "lora_B" in name)
        samples.append((tmp_path / str(merged) / "samples.jsonl").read_text())
        trainer.close()
        trainer.folder.close()
    assert samples[0] == samples[1]
    assert 0 < max(mismatches(tmp_path / "False")) < 1e-5


def test_frozen_weights_in_bf16_with_their_adapters_sample_the_same_policy(tmp_path, monkeypatch):
    pytest.importorskip("peft")
    monkeypatch.setattr(precision, "multiplies_bf16", lambda: True)
    monkeypatch.setattr(precision, "WORTH_BF16", 0)
    trainer = adapted_run(tmp_path / "run", precision__lora_merged=False)
    assert trainer.policy.bf16
    assert trainer.engine.engine.model is trainer.policy.model
    trainer.close()
    trainer.folder.close()
    assert 0 < max(mismatches(tmp_path / "run")) < 0.05


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"precision.lora_rank": 0}, "needs adapters"),
        ({"precision.master": "float32"}, 'needs precision.master = "auto"'),
        ({"engine.kind": "vllm"}, 'needs engine.kind = "hf"'),
        ({"distributed.kind": "fsdp2"}, 'distributed.kind = "ddp"'),
        ({"batch.ahead": True}, "batch.ahead = false"),
    ],
)
def test_a_sampler_with_weights_of_its_own_can_not_sample_through_the_adapters(changes, problem):
    with pytest.raises(ConfigError, match=problem):
        settings(**{"precision.lora_rank": 4, "precision.lora_merged": False} | changes)


@pytest.mark.parametrize(("master", "rank"), [("float32", 0), ("float32", 4), ("auto", 4)])
def test_a_copy_that_samples_takes_memory_only_while_it_samples_and_as_much_as_is_reckoned(tmp_path, master, rank):
    from verikit.trainers.memory import expected_memory

    if rank:
        pytest.importorskip("peft")
    config = settings(precision__master=master, precision__lora_rank=rank, **JITTER)
    trainer = make(tmp_path / "run", config)
    own = {id(tensor) for tensor in trainer.policy.model.parameters()}

    def held():
        model = trainer.engine.engine.model
        return sum(tensor.untyped_storage().nbytes() for tensor in model.parameters() if id(tensor) not in own)

    paper = expected_memory(trainer.policy.model, config, 1, bf16=trainer.policy.bf16)
    assert held() == paper.copy > 0
    trainer.engine.rest()
    assert held() == 0
    for name, parameter in trainer.policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    trainer.engine.refresh(changed=False)  # it was given back, so it is filled all the same
    ids = torch.tensor([[3, 4, 5]])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=master == "float32"):
        theirs = trainer.policy.model(input_ids=ids).logits.float()
        assert torch.allclose(trainer.engine.engine.model(ids).logits.float(), theirs, atol=0.1 if own else 1e-4)
    trainer.close()
    trainer.folder.close()


def test_frozen_weights_are_fp32_where_the_device_is_slow_at_bf16(monkeypatch):
    pytest.importorskip("peft")
    from tests.engines import tiny

    config = settings(precision__lora_rank=4, precision__lora_alpha=0.5)
    for fast, dtype in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(precision, "multiplies_bf16", lambda fast=fast: fast)
        model = precision.prepare_model(deepcopy(tiny.model()).bfloat16(), config)
        assert {weight.dtype for weight in model.parameters() if not weight.requires_grad} == {dtype}
        assert {layer.scaling["default"] for layer in model.modules() if hasattr(layer, "lora_A")} == {0.125}


def test_adapters_over_an_embedding_that_is_the_head_too_are_refused():
    pytest.importorskip("peft")
    from tests.engines import tiny

    config = settings(precision__lora_rank=4, precision__lora_targets=["embed_tokens"])
    tied, untied = (deepcopy(tiny.model(tie_word_embeddings=tied)) for tied in (True, False))
    with pytest.raises(ConfigError, match="embed_tokens is another module's too"):
        precision.prepare_model(tied, config)
    precision.prepare_model(untied, config)


def test_what_ends_a_completion_goes_with_the_run_and_its_export(tmp_path):
    from transformers import GenerationConfig

    from verikit.trainers.export import export_run

    first = make(tmp_path / "first", settings())
    first.policy.model.save_pretrained(tmp_path / "start")
    first.sampler.tokenizer.save_pretrained(tmp_path / "start")
    GenerationConfig(eos_token_id=[1, 5, 7]).save_pretrained(tmp_path / "start")
    config = settings(model__path=str(tmp_path / "start"), run__steps=1, warmup__steps=1)
    trainer = make(tmp_path / "run", config)
    trainer.run()
    export_run(tmp_path / "run", config, tmp_path / "out")
    for folder in ("run/model", "out"):
        assert GenerationConfig.from_pretrained(tmp_path / folder).eos_token_id == [1, 5, 7]
    for made in (first, trainer):
        made.close()
        made.folder.close()


def test_lora_trains_adapters_alone_and_its_reference_is_the_model_without_them(tmp_path):
    pytest.importorskip("peft")
    config = settings(precision__lora_rank=4, optimizer__lr=1e-2, kl__coefficient=0.1, **JITTER).model_copy(
        update={"warmup": None}
    )
    trainer = make(tmp_path / "run", config)
    before = {name: parameter.detach().clone() for name, parameter in trainer.policy.named_parameters()}
    trainer.run()
    moved = {name for name, parameter in trainer.policy.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved
    assert all("lora_" in name for name in moved)
    assert trainer.reference is not None
    rows = [row for row in read_log(tmp_path / "run/metrics.jsonl") if "kl" in row and row["phase"] == "1-train"]
    assert rows[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert rows[-1]["kl"] > 0
    trainer.close()
    trainer.folder.close()
    from transformers import AutoModelForCausalLM

    from verikit.trainers.export import export_run

    export_run(tmp_path / "run", config, tmp_path / "model")
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert not any("lora" in name for name, _ in merged.named_parameters())
    ids = torch.tensor([[3, 4, 5]])
    with torch.no_grad():
        live = trainer.policy.model(input_ids=ids).logits
        assert torch.allclose(merged(input_ids=ids).logits, live, atol=1e-4)


@pytest.fixture(scope="module")
def adapted(tmp_path_factory):
    """A base, a LoRA run over it, and the run's settings."""
    pytest.importorskip("peft")
    from verikit.trainers.export import export_run

    folder = tmp_path_factory.mktemp("adapted")
    first = settings()
    train(folder / "first", first)
    export_run(folder / "first", first, folder / "base")
    config = settings(model__path=str(folder / "base"), precision__lora_rank=4, optimizer__lr=1e-2, **JITTER)
    config = config.model_copy(update={"warmup": None})
    train(folder / "run", config)
    return folder / "base", folder / "run", config


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")  # a name that peft still uses
def test_an_adapter_alone_is_what_peft_puts_over_the_base(adapted, tmp_path):
    from peft import AutoPeftModelForCausalLM, PeftModel
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    from verikit.trainers.export import export_run

    base, run, config = adapted
    export_run(run, config, tmp_path / "merged")
    name = export_run(run, config, tmp_path / "adapter", adapter=True)
    assert name == export_run(run, config, tmp_path / "adapter", adapter=True)  # over itself
    assert sorted(path.name for path in (tmp_path / "adapter").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    told = json.loads((tmp_path / "adapter/adapter_config.json").read_bytes())
    assert (told["r"], told["bias"], told["base_model_name_or_path"]) == (4, "none", str(base))
    held = load_file(tmp_path / "adapter/adapter_model.safetensors")
    assert all(".lora_A.weight" in key or ".lora_B.weight" in key for key in held)
    assert any(value.abs().max() > 0 for key, value in held.items() if "lora_B" in key)
    ids = torch.tensor([[3, 4, 5, 6]])
    with torch.no_grad():
        merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")(input_ids=ids).logits
        plain = AutoModelForCausalLM.from_pretrained(base)
        before = plain(input_ids=ids).logits
        over = PeftModel.from_pretrained(plain, tmp_path / "adapter")(input_ids=ids).logits
        alone = AutoPeftModelForCausalLM.from_pretrained(tmp_path / "adapter")(input_ids=ids).logits
    assert torch.allclose(over, merged, atol=1e-4)
    assert torch.equal(over, alone)
    assert not torch.allclose(before, merged, atol=1e-3)


def test_an_adapter_is_refused_where_there_is_none_or_nothing_to_put_it_over(adapted, tmp_path):
    from verikit.errors import ConfigError
    from verikit.trainers.export import export_run

    base, run, config = adapted
    whole = config.model_copy(update={"precision": config.precision.model_copy(update={"lora_rank": 0})})
    with pytest.raises(ConfigError, match="no adapter"):
        export_run(run, whole, tmp_path / "a", adapter=True)
    own = config.model_copy(update={"model": config.model.model_copy(update={"path": ""})})
    with pytest.raises(ConfigError, match="started from a custom model"):
        export_run(run, own, tmp_path / "a", adapter=True)
    with pytest.raises(ConfigError, match="no adapter"):
        export_run(run, config, base, adapter=True)
    export_run(run, config, tmp_path / "adapter", adapter=True)
    with pytest.raises(ConfigError, match="no model"):
        export_run(run, config, tmp_path / "adapter")


@pytest.mark.slow  # torchao compiles its step
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["adamw8bit", "adamw-stochastic"])
def test_the_optimizers_of_torchao_train(tmp_path, kind):
    pytest.importorskip("torchao")
    extra = {"model__dtype": "bfloat16", "precision__master": "stochastic"} if "stochastic" in kind else {}
    train(tmp_path / "run", settings(optimizer__kind=kind, warmup__optimizer__kind=kind, **extra, **JITTER))
    rows = [row for row in read_log(tmp_path / "run/metrics.jsonl") if "reward" in row]
    assert all(row["grad_norm"] > 0 and not row["skipped"] for row in rows)


def test_torchaos_optimizers_refuse_shares_that_are_not_equal():
    """Their step fails in the middle of a run otherwise; a group of three processes is made up here."""
    pytest.importorskip("torchao")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    from verikit.trainers.config import OptimizerSection

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=3)
    try:
        mesh = init_device_mesh("cpu", (3,), mesh_dim_names=("shards",))
        even, uneven = (fully_shard(torch.nn.Linear(4, rows), mesh=mesh) for rows in (6, 8))
        for kind in ("adamw8bit", "adamw-stochastic"):
            precision.make_optimizer(even, OptimizerSection(kind=kind))
            with pytest.raises(ConfigError, match=rf"{kind} needs equal shares, and the 8 rows of weight .* 3 proc"):
                precision.make_optimizer(uneven, OptimizerSection(kind=kind))
        precision.make_optimizer(uneven, OptimizerSection(kind="adamw"))
    finally:
        torch.distributed.destroy_process_group()


def test_adamw_in_one_kernel_takes_the_steps_of_adamw_to_rounding():
    from verikit.trainers.config import OptimizerSection

    torch.manual_seed(0)
    ours, plain = torch.nn.Linear(37, 41), torch.nn.Linear(37, 41)
    plain.load_state_dict(ours.state_dict())
    options = OptimizerSection(lr=1e-3, weight_decay=0.1)
    one = precision.make_optimizer(ours, options)
    other = torch.optim.AdamW(
        plain.parameters(), lr=1e-3, betas=options.betas, eps=options.epsilon, weight_decay=0.1, foreach=False
    )
    for _ in range(20):
        for mine, theirs in zip(ours.parameters(), plain.parameters(), strict=True):
            mine.grad = torch.randn_like(mine)
            theirs.grad = mine.grad.clone()
        one.step()
        other.step()
    assert one.defaults["fused"]
    for mine, theirs in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-7)


def test_an_optimizer_that_is_none_is_named(tmp_path):
    with pytest.raises(ConfigError, match="must be one of adamw"):
        make(tmp_path / "run", settings(warmup__optimizer__kind="adam"))


@pytest.mark.parametrize("master", ["float32", "stochastic"])
def test_bf16_learns_about_the_same_step(tmp_path, master):
    plain = make(tmp_path / "plain", settings(**JITTER))
    half = make(tmp_path / "half", settings(precision__master=master, **JITTER))
    for trainer in (plain, half):
        warm_up(trainer)
        trainer._train_step(1)
        trainer.close()
        trainer.folder.close()
    norms = [
        next(row["grad_norm"] for row in read_log(tmp_path / name / "metrics.jsonl")) for name in ("plain", "half")
    ]
    assert norms[1] == pytest.approx(norms[0], rel=0.05)
    assert norms[1] != norms[0]
    assert half.engine.engine.model.dtype == torch.bfloat16
    row = next(row for row in read_log(tmp_path / "half/metrics.jsonl") if "mismatch" in row and row["tokens"])
    assert row["mismatch"] < 0.02
    kept = next(half.policy.parameters()).dtype
    assert kept == (torch.float32 if master == "float32" else torch.bfloat16)


def test_bf16_copies_of_weights_go_with_the_layer_that_used_them():
    """Autocast's cache would keep them all to the end: half of the fp32 weights' bytes, checkpointing or not."""
    import transformers

    shape = {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 10, "num_attention_heads": 4}
    config = transformers.Qwen2Config(vocab_size=32, num_key_value_heads=2, **shape)
    made = precision.prepare_model(
        transformers.Qwen2ForCausalLM(config), settings(precision__master="float32", precision__checkpointing=True)
    )
    policy = PolicyModel(made, True)
    with LiveBytes() as counter:
        logp, _ = policy(torch.arange(8)[None], torch.arange(7), torch.arange(1, 8))
    weights = own_bytes(policy.parameters())
    made = counter.peak - own_bytes(counter.seen(policy.parameters()))
    assert 0.02 * weights < made < 0.15 * weights
    logp.sum().backward()
    assert all(weight.grad is not None for weight in policy.parameters())


def test_activation_checkpointing_changes_no_gradient(tmp_path):
    plain = train(tmp_path / "plain", settings(run__steps=1, **JITTER))
    saved = train(tmp_path / "saved", settings(run__steps=1, precision__checkpointing=True, **JITTER))
    assert max((plain[name] - saved[name]).abs().max().item() for name in plain) < 1e-6


@pytest.mark.slow(seconds=27)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_compiled_layers_learn_the_same(tmp_path):
    if os.system("which g++ > /dev/null") != 0:
        pytest.skip("no compiler")
    plain = train(tmp_path / "plain", settings(run__steps=1, **JITTER))
    compiled = train(tmp_path / "compiled", settings(run__steps=1, precision__compile=True, **JITTER))
    assert max((plain[name] - compiled[name]).abs().max().item() for name in plain) < 1e-4


def test_a_half_precision_model_is_trained_in_fp32_and_exported_as_it_came(tmp_path):
    from transformers import AutoModelForCausalLM

    from verikit.trainers.export import export_run

    trainer = make(tmp_path / "first", settings(model__dtype="bfloat16"))
    start = tmp_path / "start"
    trainer.policy.model.bfloat16().save_pretrained(start)
    trainer.sampler.tokenizer.save_pretrained(start)
    trainer.close()
    trainer.folder.close()
    config = settings(model__path=str(start), run__steps=1, **JITTER)
    trainer = make(tmp_path / "run", config)
    assert next(trainer.policy.parameters()).dtype == torch.float32
    assert trainer.policy.bf16 == (torch.cuda.is_available() or precision.multiplies_bf16())
    trainer.run()
    trainer.close()
    trainer.folder.close()
    export_run(tmp_path / "run", config, tmp_path / "out")
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "out").dtype == torch.bfloat16
