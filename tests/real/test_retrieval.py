"""Dense retrieval with a pretrained encoder: its vectors, and that it finds what shares no word with the question."""

import json

import pytest

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
PASSAGES = {
    "cars": "The automobile would not start because its battery was empty.",
    "cooking": "Simmer the onions in butter until they are golden, then add the stock.",
    "space": "The probe reached Jupiter after a journey of five years.",
    "medicine": "The physician prescribed antibiotics for the patient's infection.",
    "money": "The bank raised its interest on deposits to four percent.",
    "sport": "The goalkeeper saved a penalty in the last minute of the match.",
}
QUESTIONS = {
    "Why did my vehicle fail to turn on?": "cars",
    "How do I make soup?": "cooking",
    "Which spacecraft visited a gas giant?": "space",
    "What did a doctor give to someone ill?": "medicine",
    "How much do savings earn?": "money",
    "Who stopped a shot in football?": "sport",
}


@pytest.fixture(scope="module")
def index(minilm, tmp_path_factory):
    pytest.importorskip("faiss")
    pytest.importorskip("bm25s")
    from verikit.retrieval import EncoderSettings, build_index

    folder = tmp_path_factory.mktemp("index")
    rows = [{"title": title, "text": text} for title, text in PASSAGES.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_index([folder / "corpus.jsonl"], folder / "index", settings=EncoderSettings(path=minilm))
    return folder / "index"


def test_vectors_are_the_means_of_the_models_hidden_states(minilm):
    import torch
    import transformers

    from verikit.retrieval import EncoderSettings
    from verikit.retrieval.encoder import make_encoder

    texts = list(PASSAGES.values())
    vectors = make_encoder(EncoderSettings(path=minilm)).encode(texts, "passage")
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    model = transformers.AutoModel.from_pretrained(minilm).eval()
    for text, vector in zip(texts, vectors, strict=True):
        with torch.inference_mode():
            mean = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        assert vector.tolist() == pytest.approx((mean / mean.norm()).tolist(), abs=1e-4)


def test_questions_find_passages_that_share_no_word_with_them(index):
    from verikit.retrieval import load_retriever

    dense = load_retriever(f"dense:{index}").retrieve(list(QUESTIONS), 1)
    assert [found[0].title for found in dense] == list(QUESTIONS.values())
    words = load_retriever(f"bm25:{index}").retrieve(list(QUESTIONS), 1)
    titles = [found[0].title if found else "" for found in words]
    assert sum(title == wanted for title, wanted in zip(titles, QUESTIONS.values(), strict=True)) < 6
