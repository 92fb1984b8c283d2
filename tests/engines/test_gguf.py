import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")

from tests.engines import tiny  # noqa: E402
from verikit.engines import Request, load_engine  # noqa: E402
from verikit.engines.hf import load  # noqa: E402
from verikit.engines.hf.engine import HF  # noqa: E402
from verikit.errors import MissingExtra, SpecError  # noqa: E402

torch.set_num_threads(1)
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "post_attention_layernorm": "ffn_norm",
    "input_layernorm": "attn_norm",
    "model.layers": "blk",
}


def write(path):
    """The tiny Qwen2 with its tokenizer, as the package gguf writes it."""
    model, tokenizer = tiny.model("Qwen2", tie_word_embeddings=False), tiny.tokenizer()
    config = model.config
    out = gguf.GGUFWriter(str(path), "qwen2")
    out.add_context_length(config.max_position_embeddings)
    out.add_embedding_length(config.hidden_size)
    out.add_block_count(config.num_hidden_layers)
    out.add_feed_forward_length(config.intermediate_size)
    out.add_head_count(config.num_attention_heads)
    out.add_head_count_kv(config.num_key_value_heads)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_rope_freq_base(config.rope_parameters["rope_theta"])
    out.add_vocab_size(config.vocab_size)
    out.add_tokenizer_model("gpt2")
    out.add_token_list(tokenizer.convert_ids_to_tokens(range(len(tokenizer))))
    out.add_token_types([3, 3] + [1] * (len(tokenizer) - 2))
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    out.add_token_merges([" ".join(pair) for pair in merges])
    out.add_bos_token_id(tokenizer.bos_token_id)
    out.add_eos_token_id(tokenizer.eos_token_id)
    out.add_chat_template(tokenizer.chat_template)
    for name, tensor in model.state_dict().items():
        for ours, theirs in NAMES.items():
            name = name.replace(ours, theirs)
        out.add_tensor(name, tensor.float().numpy())
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def test_a_gguf_file_generates_what_its_weights_do_and_brings_its_tokenizer_and_template(file):
    requests = [Request([{"role": "user", "content": "the quick"}], max_tokens=12, logprobs=0)]
    ours = load_engine(f"hf:{file}").generate(requests)[0]
    wanted = HF.of(tiny.model("Qwen2", tie_word_embeddings=False), tiny.tokenizer()).generate(requests)[0]
    assert ours.prompt_ids == wanted.prompt_ids
    assert ours.outputs[0].ids == wanted.outputs[0].ids
    assert ours.outputs[0].logprobs == pytest.approx(wanted.outputs[0].logprobs, abs=1e-4)


def test_what_came_from_a_gguf_file_can_be_saved_as_a_folder(file, tmp_path):
    engine = load_engine(f"hf:{file}")
    engine.model.save_pretrained(tmp_path)
    engine.tokenizer.save_pretrained(tmp_path)
    request = Request("the quick", max_tokens=8)
    assert load_engine(f"hf:{tmp_path}").generate([request])[0].text == engine.generate([request])[0].text


def test_a_gguf_file_written_anew_is_another_engine_to_caches(file):
    first = load_engine(f"hf:{file}").identity
    write(file)
    assert load_engine(f"hf:{file}").identity != first


def test_without_the_package_gguf_the_extra_is_named(file, monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="the extra 'gguf'"):
        load_engine(f"hf:{file}")


@pytest.mark.parametrize("content", [None, b"", b"GGUF", b"not a model" * 99, "cut"])
def test_a_file_that_is_no_model_is_told_in_a_line(file, tmp_path, content):
    path = tmp_path / "other.gguf"
    if content is not None:
        path.write_bytes(file.read_bytes()[:-5000] if content == "cut" else content)
    with pytest.raises(SpecError, match="can't load hf:"):
        load_engine(f"hf:{path}")


@pytest.mark.parametrize(
    ("name", "hint"), [("modle", "did you mean model?"), ("gpt2", "used as a name on the Hugging Face Hub")]
)
def test_a_folder_that_is_missing_is_told_with_the_nearest_one(tmp_path, monkeypatch, name, hint):
    class Missing:
        def from_pretrained(self, source):
            raise OSError("not found")

    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, "why_no_model", lambda path: "")  # the Hub is reached
    monkeypatch.setattr(load, "import_transformers", lambda what, extra: SimpleNamespace(AutoTokenizer=Missing()))
    with pytest.raises(SpecError, match="not found") as caught:
        load.load_causal(name, "float32")
    assert hint in caught.value.hint


def test_loading_writes_nothing_to_the_terminal(file):
    code = f"from verikit.engines import load_engine; load_engine('hf:{file}')"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0
    assert made.stdout == ""
    assert made.stderr == ""


def test_a_model_that_is_nowhere_is_an_error_before_downloads_are_tried(monkeypatch):
    monkeypatch.setattr(load, "why_no_model", lambda path: "no connection")
    monkeypatch.setattr(load, "import_transformers", lambda what, extra: None)
    with pytest.raises(SpecError, match="can't load hf:org/model: no connection"):
        load.load_causal("org/model", "float32")
