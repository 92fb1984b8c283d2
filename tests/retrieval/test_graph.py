import json
import re
import shutil
import threading

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conftest import examples

np = pytest.importorskip("numpy")
pytest.importorskip("bm25s")

from tests.search.scripted import Script  # noqa: E402
from verikit.errors import ConfigError, UsageError  # noqa: E402
from verikit.retrieval import Passage, build_index, graph_build, load_index  # noqa: E402
from verikit.retrieval.graph import ARRAYS, DEPTH, Graph, walk  # noqa: E402
from verikit.retrieval.hybrid import TwoStep  # noqa: E402
from verikit.retrieval.index import Hit, Index  # noqa: E402
from verikit.retrieval.titles import FAN, LONGEST, Finder, _bare, collect, tokens  # noqa: E402
from verikit.search import SearchLimits, search  # noqa: E402

FILMS = [
    ("The Glass Harbour", "The Glass Harbour is a 1962 drama film starring Ines Vall, directed by Marta Oyelaran."),
    ("Marta Oyelaran", "A nurse from Port Selwyn (1921-1998), she came to cinema late."),
    ("Ines Vall", "Ines Vall (1930-1999) sang and acted on stage for forty years."),
    ("Port Selwyn", "Port Selwyn is a town of 4,000 people, twinned with Lisse."),
    ("Agni (2004 film)", "Agni is a 2004 Bengali film directed by Swapan Saha."),
    ("Agni (song)", "Agni is a song about rain by the band Taal."),
    ("Swapan Saha", "He made more than seventy films in West Bengal."),
    ("Amélie Roux", "A painter of harbours; her pupil was Jón Páll."),
    ("Jón Páll", "He painted ships."),
    ("Albert III, Duke of Carrow", "He was born in Lisse as the son of a miller."),
    ("Margaret of Lisse", "Margaret was the daughter of Albert III and grew up at court."),
    *((f"Director {n}", f"Where was the director of the film number {n} born? Nobody knows.") for n in range(60)),
]


def write(path, passages):
    path.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for title, text in passages))
    return path


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    home = tmp_path_factory.mktemp("films")
    build_index([write(home / "films.jsonl", FILMS)], home / "index", graph=True)
    return home / "index"


def first(index, query, k=2):
    return [passage.title for passage in index.retrieve([query], k)[0]]


def test_both_ends_of_a_bridge_come_first_though_one_shares_no_word_with_the_question(films):
    question = "Where was the director of the film The Glass Harbour born?"
    assert first(load_index(f"graph:bm25:{films}"), question) == ["The Glass Harbour", "Marta Oyelaran"]
    assert "Marta Oyelaran" not in first(load_index(f"bm25:{films}"), question, 20)


def test_of_two_mentions_the_question_chooses_by_the_words_before_them(films):
    graph = load_index(f"graph:bm25:{films}")
    assert first(graph, "Who directed The Glass Harbour?", 3)[1:] == ["Marta Oyelaran", "Ines Vall"]
    assert first(graph, "Who starred in The Glass Harbour?", 3)[1:] == ["Ines Vall", "Marta Oyelaran"]


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("Who made Agni (2004 Film)?", ["Agni (2004 film)", "Swapan Saha"]),
        ("When did the teacher of Jon Pall die?", ["Jón Páll", "Amélie Roux"]),
        ("Whom did AMELIE ROUX teach?", ["Amélie Roux", "Jón Páll"]),
        ("where did the father of margaret of lisse live", ["Margaret of Lisse", "Albert III, Duke of Carrow"]),
        ("Who was born first, Ines Vall or Swapan Saha?", ["Ines Vall", "Swapan Saha"]),
    ],
)
def test_titles_are_known_by_brackets_accents_case_and_first_names(films, question, titles):
    assert set(titles) <= set(first(load_index(f"graph:bm25:{films}"), question, 3))


def test_homonyms_are_told_apart_by_the_first_passages(films):
    graph = load_index(f"graph:bm25:{films}")
    assert first(graph, "What is the song Agni by Taal about?", 1) == ["Agni (song)"]
    assert first(graph, "Which Bengali film of 2004 is Agni?", 1) == ["Agni (2004 film)"]


def test_a_word_without_an_end_is_cut_everywhere(films):
    graph = load_index(f"graph:bm25:{films}")
    assert first(graph, "x" * 10**6 + " Agni (song)", 1) == ["Agni (song)"]
    assert {word.hash for word in tokens("x" * 640)} == {tokens("x" * 64)[0].hash}


def test_what_names_no_title_is_ranked_from_the_first_passages(films):
    bm25, graph = load_index(f"bm25:{films}"), load_index(f"graph:bm25:{films}")
    assert first(graph, "a nurse 1921", 1) == first(bm25, "a nurse 1921", 1) == ["Marta Oyelaran"]
    misspelt = "Where was the director of the film The Glass Harbor born?"
    assert {"The Glass Harbour", "Marta Oyelaran"} <= set(first(graph, misspelt, 5))
    assert graph.rank(["zzz unheard", ""], 5) == [[], []]
    assert graph.rank([], 5) == []
    assert graph.rank(["Agni"], 0) == [[]]


def test_the_first_passages_are_the_same_for_every_k_and_none_comes_twice(films):
    graph, question = load_index(f"graph:bm25:{films}"), "Where was the director of The Glass Harbour born?"
    (longest,) = graph.rank([question], 1000)
    assert len({hit.row for hit in longest}) == len(longest) > DEPTH
    assert [hit.score for hit in longest] == sorted((hit.score for hit in longest), reverse=True)
    for k in (1, 2, 8, 60):
        assert graph.rank([question], k) == [longest[:k]]


def test_all_that_the_index_finds_is_found(films):
    bm25, graph = load_index(f"bm25:{films}"), load_index(f"graph:bm25:{films}")
    (found,), (walked,) = bm25.rank(["the film Agni"], 1000), graph.rank(["the film Agni"], 1000)
    assert {hit.row for hit in found} <= {hit.row for hit in walked}


def test_passages_without_titles_are_ranked_as_the_index_does(tmp_path):
    texts = [("", f"text w{n} w{n % 7}") for n in range(80)]
    build_index([write(tmp_path / "texts.jsonl", texts)], tmp_path / "index", graph=True)
    bm25, graph = load_index(f"bm25:{tmp_path / 'index'}"), load_index(f"graph:bm25:{tmp_path / 'index'}")
    for query in ("w3", "w1 w79", "text"):
        assert [h.row for h in graph.rank([query], 70)[0]] == [h.row for h in bm25.rank([query], 70)[0]]


def test_a_title_of_ever_so_many_passages_leads_to_the_first_ones(tmp_path):
    pieces = [("Long Tale", f"piece {n}") for n in range(3 * FAN)] + [("End", "It tells of the Long Tale.")]
    build_index([write(tmp_path / "tale.jsonl", pieces)], tmp_path / "index", graph=True)
    graph = load_index(f"graph:bm25:{tmp_path / 'index'}")
    assert first(graph, "What is Long Tale?", 500).count("Long Tale") == 3 * FAN
    assert len(np.load(tmp_path / "index" / "graph" / "titled.npy")) == FAN + 1


def test_it_stands_within_two_steps_and_around_them(films):
    question = "Where was the director of the film The Glass Harbour born?"
    around, within = load_index(f"graph:two-step:bm25:{films}"), load_index(f"two-step:graph:bm25:{films}")
    assert isinstance(around, Graph)
    assert isinstance(within, TwoStep)
    for index in (around, within):
        assert {"The Glass Harbour", "Marta Oyelaran"} <= set(first(index, question, 4))


def test_one_search_of_the_loop_shows_both_ends(films):
    lines = ["<|begin_of_query|>director of The Glass Harbour<|end_of_query|>", "<answer>Port Selwyn</answer>"]
    (trace,) = search(Script({"Q": lines}), load_index(f"graph:bm25:{films}"), ["Q"], SearchLimits(k=2))
    ((start, end),) = trace.evidence_spans
    assert "(1)The Glass Harbour" in trace.text[start:end]
    assert "(2)Marta Oyelaran A nurse from Port Selwyn" in trace.text[start:end]


def test_it_answers_several_threads(films):
    graph, queries = load_index(f"graph:bm25:{films}"), [title for title, _ in FILMS]
    alone, seen = graph.rank(queries, 5), []
    threads = [threading.Thread(target=lambda: seen.append(graph.rank(queries, 5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [alone] * 4


def test_the_same_corpus_gives_the_same_bytes(films, tmp_path):
    build_index([write(tmp_path / "films.jsonl", FILMS)], tmp_path / "again", bm25=False, graph=True)
    names = sorted(path.name for path in (films / "graph").iterdir())
    assert names == sorted([*(f"{name}.npy" for name in ARRAYS), "graph.json"])
    for name in names:
        assert (tmp_path / "again" / "graph" / name).read_bytes() == (films / "graph" / name).read_bytes()


def test_an_interrupted_build_is_done_again(tmp_path, monkeypatch):
    corpus = write(tmp_path / "films.jsonl", FILMS)

    def stop(path, value):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(graph_build, "write_json", stop)
        with pytest.raises(KeyboardInterrupt):
            build_index([corpus], tmp_path / "index", graph=True)
    with pytest.raises(UsageError, match="contains no graph"):
        load_index(f"graph:bm25:{tmp_path / 'index'}")
    build_index([corpus], tmp_path / "index", graph=True)
    assert first(load_index(f"graph:bm25:{tmp_path / 'index'}"), "Agni (song)", 1) == ["Agni (song)"]


FILM, OSLO = 0, 1


def test_rare_titles_are_started_from_before_common_ones(tmp_path):
    passages = [("Film", "Pictures that move."), ("Oslo Nights", "By Kari Moe."), ("Kari Moe", "She sang.")]
    passages += [(f"t{n}", f"Film is what number {n} is about.") for n in range(40)]
    build_index([write(tmp_path / "films.jsonl", passages)], tmp_path / "index", graph=True)
    graph = load_index(f"graph:bm25:{tmp_path / 'index'}")
    scores = {FILM: 0.0, OSLO: 0.0} | {
        hit.row: hit.score for hit in graph.rank(["Film Oslo Nights: who made it?"], 50)[0]
    }
    assert scores[OSLO] > 3 * scores[FILM] > 0


# The walk


def dense_ranks(start, weights, damping):
    """Solve `ranks = (1 - damping) * start + damping * ranks * P`; what leads nowhere is lost."""
    sums = weights.sum(1, keepdims=True)
    steps = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return np.linalg.solve(np.eye(len(weights)) - damping * steps.T, (1 - damping) * start)


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 8))
    cells = st.one_of(st.just(0.0), st.floats(0.01, 10))
    weights = np.array(draw(st.lists(st.lists(cells, min_size=count, max_size=count), min_size=count, max_size=count)))
    start = np.array(draw(st.lists(cells, min_size=count, max_size=count)))
    return weights, start


def neighbours(weights):
    return lambda node: [(int(other), float(weights[node, other])) for other in np.flatnonzero(weights[node])]


@given(graphs(), st.floats(0.05, 0.9))
@settings(max_examples=examples(100), deadline=None)
def test_a_long_walk_solves_the_equation_of_personalised_pagerank(graph, damping):
    weights, start = graph
    assume(start.sum() > 0)
    start = start / start.sum()
    shares = {node: float(share) for node, share in enumerate(start) if share}
    ranks = walk(shares, neighbours(weights), damping=damping, hops=200, least=0.0)
    got = [ranks.get(node, 0.0) for node in range(len(start))]
    np.testing.assert_allclose(got, dense_ranks(start, weights, damping), atol=1e-8)


def test_a_long_walk_is_networkx_pagerank_where_every_node_leads_on():
    networkx = pytest.importorskip("networkx")
    draw = np.random.default_rng(0)
    for _ in range(10):
        weights = draw.random((12, 12)) * (draw.random((12, 12)) < 0.3)
        weights[np.arange(12), (np.arange(12) + 1) % 12] = 1.0
        start = {int(node): float(draw.random()) for node in draw.choice(12, 3, replace=False)}
        start = {node: share / sum(start.values()) for node, share in start.items()}
        theirs = networkx.pagerank(
            networkx.from_numpy_array(weights, create_using=networkx.DiGraph), 0.7, start, tol=1e-12
        )
        ours = walk(start, neighbours(weights), damping=0.7, hops=200, least=0.0)
        assert ours == pytest.approx(theirs, abs=1e-8)


@given(graphs())
@settings(max_examples=50, deadline=None)
def test_a_short_walk_loses_no_more_than_what_was_left_to_walk(graph):
    weights, start = graph
    assume(start.sum() > 0)
    shares = {node: float(share) for node, share in enumerate(start / start.sum()) if share}
    exact = dense_ranks(start / start.sum(), weights, 0.5)
    got = walk(shares, neighbours(weights), damping=0.5, hops=4, least=0.0)
    for node, rank in enumerate(exact):
        assert rank - 0.5**5 - 1e-9 <= got.get(node, 0.0) <= rank + 1e-9


def test_what_holds_too_little_is_not_left():
    asked = []

    def near(node):
        asked.append(node)
        return [(node + 1, 1.0)]

    ranks = walk({0: 0.9, 100: 0.1}, near, damping=0.5, hops=3, least=0.2)
    assert asked == [0, 1, 2]
    assert ranks == {0: 0.45, 100: 0.05, 1: 0.225, 2: 0.1125, 3: 0.05625}


# Titles in texts

WORD = st.sampled_from(["Ana", "ana", "Bo", "bo", "Çé", "ce", "12", "x", "The", "it"])
TEXT = st.lists(WORD, max_size=12).map(" ".join)


def brute(titles, text, any_case):
    """What stands where, by comparing every title with every stretch of words."""
    plain = {"çé": "ce"}
    keys = {}
    for title in titles:
        words = [plain.get(word.lower(), word.lower()) for word in title.split()]
        if words:
            keys.setdefault(tuple(words), set()).add(title.split()[0][0].islower())
    words = text.split()
    low = [plain.get(word.lower(), word.lower()) for word in words]
    found, free = [], 0
    for start in range(len(words)):
        for length in range(min(LONGEST, len(words) - start), 0, -1):
            small = keys.get(tuple(low[start : start + length]))
            allowed = small is not None and (any_case or not words[start][0].islower() or True in small)
            if start >= free and allowed:
                if length == 1 and low[start] in ("the", "it"):
                    break
                found.append((start, length, tuple(low[start : start + length])))
                free = start + length
                break
    return found


@given(st.lists(TEXT, max_size=8), TEXT, st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_the_longest_title_at_each_word_is_found(titles, text, any_case):
    keys = collect(titles)
    finder = Finder(keys.beginnings, keys.numbers, keys.openers, keys.small)
    plain = {"çé": "ce"}
    low = [plain.get(word.lower(), word.lower()) for word in text.split()]
    found = finder.find(tokens(text), any_case=any_case)
    got = [
        (mention.start, mention.length, tuple(low[mention.start : mention.start + mention.length])) for mention in found
    ]
    assert got == brute(titles, text, any_case)
    for mention in found:
        rows = keys.titled[keys.titled_at[mention.key] : keys.titled_at[mention.key + 1]]
        words = tuple(low[mention.start : mention.start + mention.length])
        same = [
            n
            for n, title in enumerate(titles)
            if tuple(plain.get(w.lower(), w.lower()) for w in title.split()) == words
        ]
        assert rows.tolist() == same


@given(st.text(alphabet="ab() \n", max_size=12))
def test_brackets_are_cut_off_as_a_pattern_would(title):
    assert _bare(title) == re.sub(r"\s*\([^()]*\)\s*\Z", "", title)


@pytest.mark.parametrize(("start", "unit"), [("", " "), ("", "("), ("(a)", " ")])
def test_a_title_of_spaces_alone_is_read_in_linear_time(linear, start, unit):
    linear(lambda text: collect([start + text + "x"]), unit)


def test_a_comma_gives_a_shorter_name_only_where_no_title_has_it():
    keys = collect(["Albert III, Duke of Carrow", "Paris, Texas", "John Smith, Baron", "John Smith"])
    finder = Finder(keys.beginnings, keys.numbers, keys.openers, keys.small)

    def titled(text):
        return [
            keys.titled[keys.titled_at[m.key] : keys.titled_at[m.key + 1]].tolist() for m in finder.find(tokens(text))
        ]

    assert titled("Albert III met John Smith in Paris") == [[0], [3]]
    assert titled("John Smith, Baron, in Paris, Texas") == [[2], [1]]


# Folders that somebody else made


@pytest.fixture
def copied(films, tmp_path):
    build_index([write(tmp_path / "films.jsonl", FILMS)], tmp_path / "index", graph=True)
    return tmp_path / "index"


def damaged(folder, match):
    with pytest.raises(UsageError, match=match):
        load_index(f"graph:bm25:{folder}")


def test_a_folder_without_a_graph_or_of_other_passages_is_refused(films, copied, tmp_path):
    build_index([write(tmp_path / "other.jsonl", FILMS[:5])], tmp_path / "other")
    damaged(tmp_path / "other", "contains no graph: graph.json not found")
    (copied / "graph").rename(tmp_path / "other" / "graph")
    damaged(tmp_path / "other", "of other passages")

    class Elsewhere(Index):
        passages = (Passage("a", "b"),)

        def rank(self, queries, k):
            return [[Hit(0, 1.0)] for _ in queries]

    with pytest.raises(ConfigError, match="in a folder"):
        Graph(Elsewhere())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("numbers", lambda values: values + 10_000),
        ("numbers", lambda values: values[:-1]),
        ("titled", lambda values: values - 10_000),
        ("titled_at", lambda values: np.sort(values)[::-1].copy()),
        ("titled_at", lambda values: np.where(np.arange(len(values)) == 1, 2**40, values)),
        ("own", lambda values: values - 2),
        ("own", lambda values: values[1:]),
        ("mentions", lambda values: values + 10_000),
        ("mentions_at", lambda values: np.where(np.arange(len(values)) == 2, -5, values)),
        ("contexts", lambda values: values[:, :2].copy()),
        ("contexts", lambda values: values.ravel()),
        ("back", lambda values: values + 10_000),
        ("back_at", lambda values: values[:-1]),
        ("weights", lambda values: values * np.float32("nan")),
        ("weights", lambda values: -values),
        ("weights", lambda values: values.astype(np.float64)),
        ("small", lambda values: np.array([None] * len(values))),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(copied, name, change):
    path = copied / "graph" / f"{name}.npy"
    np.save(path, change(np.load(path)))
    damaged(copied, "is damaged")


class Trap:
    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


def test_nothing_is_unpickled(copied):
    np.save(copied / "graph" / "weights.npy", np.array([Trap()], object), allow_pickle=True)
    damaged(copied, "is damaged")
    assert not Trap.sprung


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_bytes_that_somebody_changed_are_refused_or_harmless(films, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("changed") / "index"
    shutil.copytree(films, folder)
    path = folder / "graph" / data.draw(st.sampled_from([*(f"{name}.npy" for name in ARRAYS), "graph.json"]))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))])
    try:
        index = load_index(f"graph:bm25:{folder}")
    except UsageError:
        return
    for hits in index.rank(["Where was the director of The Glass Harbour born?", "Agni (song)"], 20):
        assert all(0 <= hit.row < len(FILMS) for hit in hits)
