import threading

import pytest

np = pytest.importorskip("numpy")
faiss = pytest.importorskip("faiss")
bm25s = pytest.importorskip("bm25s")

from tests.retrieval.worlds import WORDS, Hashed, write_corpus  # noqa: E402
from verikit.errors import ConfigError, RetrievalError, UsageError  # noqa: E402
from verikit.retrieval import EncoderSettings, build_index, load_index, load_retriever  # noqa: E402
from verikit.retrieval import dense as dense_module  # noqa: E402
from verikit.retrieval.bm25 import BM25, top, words  # noqa: E402
from verikit.retrieval.dense import Dense  # noqa: E402
from verikit.retrieval.hybrid import Hybrid, TwoStep, fuse, interleave  # noqa: E402
from verikit.retrieval.index import Hit  # noqa: E402
from verikit.retrieval.store import Passages  # noqa: E402

SETTINGS = EncoderSettings(path="tests.retrieval.worlds:Hashed")
QUERIES = [" ".join(WORDS[start : start + 4]) for start in range(0, 80, 8)]


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "corpus.jsonl")


@pytest.fixture
def built(corpus, tmp_path):
    build_index([corpus], tmp_path / "index", settings=SETTINGS)
    return tmp_path / "index"


def test_bm25_ranks_as_bm25s_does(built):
    ours = BM25(built)
    theirs = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    theirs.index([words(passage.content) for passage in ours.passages], show_progress=False)
    for query in QUERIES:
        scores = theirs.get_scores(words(query))
        (hits,) = ours.rank([query], 10)
        assert [hit.score for hit in hits] == sorted(map(float, scores), reverse=True)[:10]
        assert [hit.score for hit in hits] == [float(scores[hit.row]) for hit in hits]


def test_bm25_finds_nothing_where_no_word_is_shared(built):
    assert BM25(built).retrieve(["zzz unheard", "", "w1"], 3)[:2] == [[], []]
    assert len(BM25(built).retrieve(["w1"], 10_000)[0]) < 400


def test_a_huge_query_costs_no_more_than_its_first_terms(built):
    (hits,) = BM25(built).rank(["w1 " * 2_000_000 + "w2"], 3)
    assert hits == BM25(built).rank(["w1 " * 2048], 3)[0]


def test_equal_scores_are_ordered_by_row():
    assert top(np.array([1, 3, 3, 2, 3, 0], np.float32), 2) == [1, 2]
    assert top(np.array([1, 3, 3, 2, 3, 0], np.float32), 9) == [1, 2, 4, 3, 0, 5]


def test_exact_search_equals_faiss_and_numpy(built):
    index = Dense(built, Hashed())
    vectors, asked = np.array(index.vectors), Hashed().encode(QUERIES, "query")
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    scores, rows = flat.search(asked, 10)
    ranked = index.rank(QUERIES, 10)
    assert [[hit.row for hit in hits] for hits in ranked] == rows.tolist()
    np.testing.assert_allclose([[hit.score for hit in hits] for hits in ranked], scores, rtol=1e-6)
    assert rows[:, 0].tolist() == (asked @ vectors.T).argmax(1).tolist()


@pytest.mark.parametrize(
    ("factory", "parameters"), [("HNSW16", "efSearch=64"), ("IVF8,Flat", "nprobe=8"), ("SQfp16", "")]
)
def test_any_faiss_index_by_its_factory_string(corpus, tmp_path, factory, parameters):
    build_index([corpus], tmp_path / "index", bm25=False, settings=SETTINGS, factory=factory, parameters=parameters)
    index = Dense(tmp_path / "index", Hashed())
    exact = np.array(Hashed().encode(QUERIES, "query") @ np.array(index.vectors).T).argsort(1)[:, ::-1][:, :10]
    found = [{hit.row for hit in hits} for hits in index.rank(QUERIES, 10)]
    shared = sum(len(set(map(int, rows)) & hits) for rows, hits in zip(exact, found, strict=True))
    assert shared >= 0.95 * 10 * len(QUERIES)


def test_parameters_of_searching_may_change_without_a_new_build(corpus, tmp_path):
    found = []
    for parameters in ("nprobe=1", "nprobe=8", "nprobe=1"):
        encoder = Hashed()
        how = {"settings": SETTINGS, "factory": "IVF8,Flat", "parameters": parameters, "encoder": encoder}
        build_index([corpus], tmp_path / "index", bm25=False, **how)
        found.append(Dense(tmp_path / "index", Hashed()).rank(QUERIES, 10))
    assert encoder.passages == 1
    assert found[0] == found[2] != found[1]
    with pytest.raises(ConfigError, match="nonsense"):
        build_index([corpus], tmp_path / "index", bm25=False, **how | {"parameters": "nonsense=1"})


def test_an_interrupted_build_goes_on_to_the_same_bytes(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(dense_module, "BLOCK", 64)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    build_index([corpus], whole, settings=SETTINGS, encoder=Hashed())
    with pytest.raises(KeyboardInterrupt):
        build_index([corpus], parts, settings=SETTINGS, encoder=Hashed(dies_after=200))
    with pytest.raises(UsageError, match="not complete"):
        Dense(parts)
    vectors = parts / "dense" / "vectors.f32"
    vectors.write_bytes(vectors.read_bytes()[:-10])  # cut amid a vector, as a lost power supply may
    encoder = Hashed()
    build_index([corpus], parts, settings=SETTINGS, encoder=encoder)
    assert encoder.passages == 1 + 400 - 128
    for name in ("dense/vectors.f32", "passages.jsonl", "dense/dense.json"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    encoder = Hashed()
    build_index([corpus], parts, settings=SETTINGS, encoder=encoder)
    assert encoder.passages == 1


class Negated(Hashed):
    def encode(self, texts, role):
        return -super().encode(texts, role)


def test_a_folder_is_not_built_into_with_another_corpus_or_encoder(built, corpus, tmp_path):
    with pytest.raises(ConfigError, match="from another corpus"):
        build_index([write_corpus(tmp_path / "other.jsonl", seed=1)], built)
    with pytest.raises(ConfigError, match="another encoder"):
        build_index([corpus], built, settings=SETTINGS.model_copy(update={"query_prefix": "q: "}))
    with pytest.raises(ConfigError, match="were made by a different encoder"):
        build_index([corpus], built, settings=SETTINGS, encoder=Negated())
    with pytest.raises(ConfigError, match="faiss can't make 'Nonsense'"):
        build_index([corpus], tmp_path / "new", settings=SETTINGS, factory="Nonsense")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_not_finite_or_of_another_shape_are_errors(built, value):
    class Broken(Hashed):
        def encode(self, texts, role):
            return super().encode(texts, role) * np.float32(value)

    with pytest.raises(RetrievalError, match="not finite"):
        Dense(built, Broken()).rank(["w1"], 1)
    with pytest.raises(RetrievalError, match="shape"):
        Dense(built, Hashed(dimension=8)).rank(["w1"], 1)


def test_two_builds_of_one_folder_do_not_mix(corpus, tmp_path):
    class Building(Hashed):
        def encode(self, texts, role):
            with pytest.raises(UsageError, match="another process builds in"):
                build_index([corpus], tmp_path / "index")
            return super().encode(texts, role)

    build_index([corpus], tmp_path / "index", settings=SETTINGS, encoder=Building())
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="can't write to"):
        build_index([corpus], tmp_path / "file")


def test_passages_are_read_back_by_row_from_several_threads(built, corpus):
    passages = Passages(built)
    assert (len(passages), passages[399].title, passages[0].id) == (400, "t399", "1")
    with pytest.raises(IndexError):
        passages[400]
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(BM25(built).retrieve(QUERIES, 5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [seen[0]] * 4


def test_a_damaged_folder_says_so(built):
    texts = built / "passages.jsonl"
    texts.write_bytes(texts.read_bytes()[:-5])
    with pytest.raises(UsageError, match="damaged: its files don't belong together"):
        Passages(built)
    (built / "passages.npy").unlink()
    with pytest.raises(UsageError, match=r"is not an index: passages.npy not found"):
        Passages(built)


def test_reciprocal_rank_fusion_is_the_papers_sum():
    a, b = [Hit(5, 9.0), Hit(6, 8.0)], [Hit(6, 0.9), Hit(7, 0.8)]
    assert fuse([a, b], 3) == [Hit(6, 1 / 62 + 1 / 61), Hit(5, 1 / 61), Hit(7, 1 / 62)]
    assert [hit.row for hit in interleave([a, b], 3)] == [5, 6, 7]


def test_the_hybrid_fuses_the_first_hundred_of_both(built):
    bm25, dense = load_index(f"bm25:{built}"), load_index(f"dense:{built}#{SETTINGS.path}")
    hybrid = load_retriever(f"hybrid:{built}#{SETTINGS.path}")
    assert isinstance(hybrid, Hybrid)
    both = zip(bm25.rank(QUERIES, 100), dense.rank(QUERIES, 100), strict=True)
    assert hybrid.rank(QUERIES, 10) == [fuse(pair, 10) for pair in both]


def test_two_steps_reach_what_only_the_first_passage_names(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        '{"title": "film", "text": "the film was directed by alice"}\n{"title": "alice", "text": "alice born oslo"}\n'
        '{"title": "bob", "text": "bob born rome"}\n'
    )
    build_index([corpus], tmp_path / "index")
    single_stage, two_stage = BM25(tmp_path / "index"), load_index(f"two-step:bm25:{tmp_path / 'index'}")
    assert isinstance(two_stage, TwoStep)
    assert [passage.title for passage in single_stage.retrieve(["who directed the film"], 3)[0]] == ["film"]
    assert [passage.title for passage in two_stage.retrieve(["who directed the film"], 3)[0]] == ["film", "alice"]


def test_two_steps_find_the_same_first_passages_whatever_k_is(built):
    two_stage = TwoStep(BM25(built))
    longest = two_stage.rank(QUERIES, 50)
    for k in (1, 2, 3, 10):
        assert two_stage.rank(QUERIES, k) == [hits[:k] for hits in longest]
