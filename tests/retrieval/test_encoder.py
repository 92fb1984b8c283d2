import json
import shutil

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
np = pytest.importorskip("numpy")
pytest.importorskip("faiss")
pytest.importorskip("bm25s")

from tests.engines import tiny  # noqa: E402
from tests.retrieval.worlds import write_corpus  # noqa: E402
from verikit.errors import ConfigError, SpecError  # noqa: E402
from verikit.retrieval import EncoderSettings, build_index, load_retriever  # noqa: E402
from verikit.retrieval.encoder import make_encoder  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of two layers with a tokenizer that pads."""
    path = tmp_path_factory.mktemp("encoder")
    tokenizer = tiny.tokenizer(template=False)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.model_max_length = 320
    torch.manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=320, **size)
    transformers.BertModel(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def by_hand(folder, text, pooling):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        hidden = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
    vector = hidden[0] if pooling == "cls" else hidden.mean(0)
    return (vector / vector.norm()).numpy()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_are_the_models_pooled_and_do_not_depend_on_the_batch(folder, pooling):
    encoder = make_encoder(EncoderSettings(path=str(folder), pooling=pooling, query_prefix="find: "), batch=2)
    texts = ["the quick brown fox", "yes", "0123 + 4 = 5 jumps over the lazy dog", "no"]
    for text, vector in zip(texts, encoder.encode(texts, "passage"), strict=True):
        np.testing.assert_allclose(vector, by_hand(folder, text, pooling), atol=1e-5)
    np.testing.assert_allclose(encoder.encode(["x"], "query")[0], by_hand(folder, "find: x", pooling), atol=1e-5)


def test_a_model_that_has_no_padding_or_pads_on_the_left_gives_the_same_vectors(folder, tmp_path):
    texts = ["the quick brown fox", "yes"]
    wanted = make_encoder(EncoderSettings(path=str(folder), pooling="cls")).encode(texts, "passage")
    for name, changed in (("none", {"pad_token": None}), ("left", {"padding_side": "left"})):
        shutil.copytree(folder, tmp_path / name)
        path = tmp_path / name / "tokenizer_config.json"
        kept = {key: value for key, value in (json.loads(path.read_text()) | changed).items() if value is not None}
        path.write_text(json.dumps(kept))
        found = make_encoder(EncoderSettings(path=str(tmp_path / name), pooling="cls")).encode(texts, "passage")
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_half_precision_is_near_and_vectors_stay_float32(folder):
    texts = ["the quick brown fox", "yes no maybe"]
    full, half = (
        make_encoder(EncoderSettings(path=str(folder), dtype=dtype)).encode(texts, "passage")
        for dtype in ("float32", "bfloat16")
    )
    assert half.dtype == np.float32
    assert ((full * half).sum(1) > 0.99).all()
    assert (full != half).any()


def test_long_texts_are_cut_and_not_refused(folder):
    for most in (300, 10_000):
        encoder = make_encoder(EncoderSettings(path=str(folder), max_tokens=most))
        assert np.isfinite(encoder.encode(["word " * 5000], "passage")).all()


def test_pooling_is_what_the_models_own_files_say(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "1_Pooling").mkdir()
    saved = tmp_path / "1_Pooling" / "config.json"
    saved.write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_cls_token": True}))
    encoder = make_encoder(EncoderSettings(path=str(tmp_path)))
    np.testing.assert_allclose(encoder.encode(["yes"], "query")[0], by_hand(folder, "yes", "cls"), atol=1e-5)
    saved.write_text(json.dumps({"pooling_mode_weightedmean_tokens": True}))
    with pytest.raises(ConfigError, match="pooling_mode_weightedmean_tokens"):
        make_encoder(EncoderSettings(path=str(tmp_path)))


def test_an_index_loads_the_encoder_it_was_built_with(folder, tmp_path):
    corpus = write_corpus(tmp_path / "corpus.jsonl", count=40)
    settings = EncoderSettings(path=str(folder), pooling="cls")
    build_index([corpus], tmp_path / "index", settings=settings)
    retriever = load_retriever(f"dense:{tmp_path / 'index'}")
    passage = retriever.passages[17]
    (found,) = retriever.retrieve([passage.content], 3)
    assert found[0] == passage


def test_what_is_no_encoder_is_named(tmp_path):
    with pytest.raises(SpecError, match="can't load the encoder"):
        make_encoder(EncoderSettings(path=str(tmp_path)))
    with pytest.raises(SpecError, match=r"can't make the encoder 'nowhere:Encoder'"):
        make_encoder(EncoderSettings(path="nowhere:Encoder"))
