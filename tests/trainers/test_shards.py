"""FSDP2: what each process holds, by counted bytes and on paper; the same weights as one process, also in groups."""

import gc
import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.trainers.counted import LiveBytes, own_bytes  # noqa: E402
from verikit.errors import ConfigError, TrainerError  # noqa: E402
from verikit.trainers.config import find_recipe, load_config  # noqa: E402
from verikit.trainers.loading import StoredWeights, load_frame, without_numbers  # noqa: E402
from verikit.trainers.memory import expected_memory  # noqa: E402
from verikit.trainers.merge import frame_of  # noqa: E402
from verikit.trainers.policy import load_model  # noqa: E402
from verikit.trainers.precision import prepare_model  # noqa: E402
from verikit.trainers.shards import Shards, blocks_of  # noqa: E402

GIB = 2**30
SETS = {
    "run.steps": 1, "warmup.steps": 2, "warmup.gate": 0, "run.evaluate_every": 0, "options.held_out_size": 2,
    "options.prompts": 2, "options.samples": 2, "batch.tokens": 32, "warmup.optimizer.lr": 1e-3,
    "optimizer.lr": 1e-3, "kl.coefficient": 0.5, "precision.checkpointing": "true",
    # Adam makes whole steps of gradients that are rounding alone; far above them its steps follow the gradient.
    "optimizer.epsilon": 1e-2, "warmup.optimizer.epsilon": 1e-2,
}  # fmt: skip
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def qwen(**changes):
    shape = {
        "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 80, "initializer_range": 0.05,
    }  # fmt: skip
    return transformers.Qwen2Config(**shape | changes)


def estimate(*changes, processes=8):
    """Of a model shaped like Qwen2.5-32B."""
    shape = {
        "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 40,
        "num_key_value_heads": 8, "vocab_size": 152064, "tie_word_embeddings": False,
    }  # fmt: skip
    config = load_config("arithmetic", ["model.path=x", "precision.checkpointing=true", *changes])
    with torch.device("meta"):
        model = transformers.Qwen2ForCausalLM._from_config(qwen(**shape), dtype=torch.bfloat16)
    return expected_memory(prepare_model(model, config), config, processes, bf16=True)


def test_32_billion_parameters_fit_eight_gpus_of_80_gb_by_fsdp2_alone():
    room = 80e9
    shared = ["distributed.kind=fsdp2", "engine.kind=server"]
    assert estimate().peak > 480 * GIB
    assert estimate(*shared, "optimizer.kind=adamw8bit").peak < 0.8 * room
    assert estimate(*shared, processes=16).peak < 0.7 * room
    assert estimate("distributed.kind=fsdp2").sampling > room  # the copy that the own decoder samples from
    plain = estimate(*shared)
    assert plain.weights == plain.gradients == pytest.approx(32.76e9 * 4 / 8, rel=0.01)
    assert plain.optimizer == 2 * plain.weights
    assert estimate(*shared, "distributed.whole_gradients=true").peak > plain.peak + 4 * 32e9


def test_a_model_of_32_billion_parameters_with_adapters_fits_one_gpu_of_80_gb_if_they_are_not_merged():
    pytest.importorskip("peft")
    assert estimate("precision.lora_rank=16").sampling > 120 * GIB
    apart = estimate("precision.lora_rank=16", "precision.lora_merged=false")
    assert apart.copy == 0
    assert apart.peak < 64 * GIB


def test_groups_of_processes_hold_a_model_each():
    shared = ["distributed.kind=fsdp2", "engine.kind=server", "distributed.shards=8"]
    assert estimate(*shared, processes=64).weights == estimate(*shared, processes=8).weights


def test_a_frame_has_no_numbers_but_real_buffers_and_stays_tied():
    with without_numbers():
        model = transformers.Qwen2ForCausalLM._from_config(qwen(tie_word_embeddings=True))
    real = transformers.Qwen2ForCausalLM._from_config(qwen(tie_word_embeddings=True))
    for frame in (model, frame_of(real)):
        assert all(parameter.is_meta for parameter in frame.parameters())
        assert frame.lm_head.weight is frame.model.embed_tokens.weight
        assert torch.equal(frame.model.rotary_emb.inv_freq, real.model.rotary_emb.inv_freq)
    assert not next(real.parameters()).is_meta
    assert not torch.nn.Linear(2, 2).weight.is_meta
    assert [type(block).__name__ for block in blocks_of(model)] == ["Qwen2DecoderLayer"] * 3


def test_stored_weights_are_read_by_name_out_of_all_files(tmp_path):
    model = transformers.Qwen2ForCausalLM._from_config(qwen())
    model.save_pretrained(tmp_path, max_shard_size="100KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    stored = StoredWeights(tmp_path)
    assert all(torch.equal(stored(name), weight) for name, weight in model.named_parameters())
    assert "nothing" not in stored
    assert "model.norm.weight" not in StoredWeights(tmp_path / "nowhere")


def test_stored_weights_of_a_hub_model_are_read_out_of_its_cache(tmp_path, monkeypatch):
    from huggingface_hub import constants

    snapshot = tmp_path / "models--some--model" / "snapshots" / "0123"
    model = transformers.Qwen2ForCausalLM._from_config(qwen())
    model.save_pretrained(snapshot, max_shard_size="100KB")
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs/main").write_text("0123")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    stored = StoredWeights("some/model", cache_dir=str(tmp_path))
    assert all(torch.equal(stored(name), weight) for name, weight in model.named_parameters())
    assert "model.norm.weight" not in StoredWeights("some/other", cache_dir=str(tmp_path))


def test_a_weight_of_another_shape_than_the_models_is_named():
    with pytest.raises(TrainerError, match=r"a\.weight is stored as \(3, 4\), the model's is \(6, 4\)"):
        Shards._sent(SimpleNamespace(rank=0), "a.weight", torch.empty(6, 4), lambda name: torch.empty(3, 4))


@pytest.mark.parametrize("load", [load_frame, lambda config, kind: load_model(config, find_recipe("arithmetic"), None)])
def test_a_quantised_folder_is_refused_by_name(model, tmp_path, load):
    folder = tmp_path / "packed"
    shutil.copytree(model, folder)
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="quantised, and can't be trained"):
        load(load_config("arithmetic", [f"model.path={folder}"]), "AutoModelForCausalLM")


def test_ddp_exchanges_gradients_in_their_own_memory(alone):
    """Else it holds every gradient twice: 4 more bytes a weight."""
    module = alone.wrap(torch.nn.Linear(3, 3))
    module(torch.ones(2, 3)).sum().backward()
    assert module._get_ddp_logging_data()["gradient_as_bucket_view"]


def test_the_memory_that_ddp_keeps_when_the_gradients_are_gone_is_reckoned(alone):
    config, model = load_config("arithmetic"), transformers.Qwen2ForCausalLM(qwen())
    paper = expected_memory(model, config, 2, bf16=False)
    assert paper.learning == paper.kept + paper.gathered  # the gradients are views of it
    with LiveBytes() as counter:
        module = alone.wrap(model)
        for _ in range(2):
            module(torch.tensor([[1, 2, 3]])).logits.sum().backward()
            module.zero_grad(set_to_none=True)
        gc.collect()
        held = counter.now() - own_bytes(counter.seen(model.parameters()))
        assert held == pytest.approx(paper.buckets, rel=0.01)
    assert expected_memory(model, config, 1, bf16=False).buckets == 0


def test_settings_of_fsdp2_are_refused_elsewhere():
    with pytest.raises(ConfigError, match="for kind = fsdp2"):
        load_config("arithmetic", ["distributed.shards=2"])


def counted(folder, processes, *changes):
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    sets = [f"{key}={value}" for key, value in SETS.items()]
    command = [
        sys.executable,
        *(start if processes > 1 else []),
        "-m",
        "tests.trainers.counted",
        folder,
        *sets,
        *changes,
    ]
    done = subprocess.run(list(map(str, command)), env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return torch.load(folder / "found.pt")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a random model of several files, and the tokenizer of the sums."""
    from verikit.trainers.config import find_recipe

    config = load_config("arithmetic")
    kind = find_recipe(config.recipe)
    _, tokenizer = kind.make_model(kind.Options.model_validate(config.options), 0)
    torch.manual_seed(0)
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    settings = qwen(hidden_size=128, intermediate_size=512, num_hidden_layers=6, vocab_size=len(tokenizer), **ends)
    folder = tmp_path_factory.mktemp("model")
    transformers.Qwen2ForCausalLM(settings).save_pretrained(folder, max_shard_size="2MB")
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow(seconds=135)
def test_two_and_four_processes_learn_as_one_does_each_holding_its_share(model, tmp_path):
    path = f"model.path={model}"
    alone = counted(tmp_path / "one", 1, path)
    kinds = {"two": (2, []), "four": (4, ["distributed.shards=2"])}
    for name, (processes, more) in kinds.items():
        changes = [path, "distributed.kind=fsdp2", *more]
        found = counted(tmp_path / name, processes, *changes)
        for key, weight in alone["weights"].items():
            torch.testing.assert_close(
                found["weights"][key], weight, rtol=3e-7, atol=5e-8, msg=lambda m, k=key: f"{k}: {m}"
            )
        config = load_config("arithmetic", [f"{key}={value}" for key, value in SETS.items()] + changes)
        shape = transformers.AutoModelForCausalLM.from_pretrained(model)
        paper = expected_memory(prepare_model(shape, config), config, processes, bf16=False)
        for own in found["bytes"]:
            assert own["weights"] == pytest.approx(paper.weights, rel=0.01)
            assert own["gradients"] == pytest.approx(paper.gradients, rel=0.01)
            assert own["optimizer"] == pytest.approx(paper.optimizer, rel=0.01)
            held = paper.weights + paper.optimizer  # the second step of the warm-up has no reference yet
            assert own["before_learning"] == pytest.approx(held, rel=0.05)
            learning = held + paper.gradients
            assert learning < own["learning"] < 1.3 * (learning + paper.gathered + paper.activations)
            assert own["load"] < paper.weights + paper.copy + 0.5 * paper.copy  # no second whole model


@pytest.mark.slow(seconds=60)
def test_adapters_over_shares_are_learnt_and_sampled_as_by_one_process(model, tmp_path):
    """The reference is the policy without adapters; the second step samples from adapters added to whole weights."""
    pytest.importorskip("peft")
    changes = [
        f"model.path={model}", "precision.lora_rank=4", "batch.tokens=4096", "run.steps=2",
        "warmup.optimizer.lr=1e-2", "optimizer.lr=1e-2", "precision.checkpointing=false",
    ]  # fmt: skip
    alone = counted(tmp_path / "one", 1, *changes)
    found = counted(tmp_path / "two", 2, *changes, "distributed.kind=fsdp2")
    assert found["weights"].keys() == alone["weights"].keys()
    start = transformers.AutoModelForCausalLM.from_pretrained(model).state_dict()
    for name, weight in alone["weights"].items():
        moved, apart = (weight - start[name]).norm(), (found["weights"][name] - weight).norm()
        assert (moved > 0) == ("proj.weight" in name), name
        assert apart <= 0.02 * moved, name
    for folder in ("one", "two"):
        rows = [json.loads(line) for line in (tmp_path / folder / "metrics.jsonl").read_text().splitlines()]
        assert all(row["mismatch"] < 1e-3 for row in rows if row["phase"] == "1-train" and "mismatch" in row)
