"""The recipe with real retrieval: an index, a server over it, and what happens when that dies."""

import socket
import threading
import time

import pytest

for needed in ("torch", "transformers", "numpy", "bm25s", "starlette", "uvicorn"):
    pytest.importorskip(needed)

from tests.retrieval.worlds import Hashed, write_corpus  # noqa: E402
from tests.trainers.recipes.test_r1_searcher import honest, world  # noqa: E402
from verikit.errors import RetrievalError  # noqa: E402
from verikit.retrieval import Client, build_index, load_retriever  # noqa: E402
from verikit.retrieval.corpus import split  # noqa: E402
from verikit.retrieval.server import app  # noqa: E402


class Server:
    """A retriever served over HTTP in a thread."""

    def __init__(self, retriever):
        import uvicorn

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/queries"
        self._server = uvicorn.Server(uvicorn.Config(app(retriever), port=port, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def kill(self):
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture
def served():
    running = []

    def start(retriever):
        running.append(Server(retriever))
        return running[-1]

    yield start
    for process in running:
        process.kill()


def texts(found):
    return [[passage.content for passage in passages] for passages in found]


def test_index_and_server_give_the_same_passages_and_a_500_becomes_a_typed_error(tmp_path, served):
    write_corpus(tmp_path / "corpus.jsonl", count=60)
    build_index([tmp_path / "corpus.jsonl"], tmp_path / "index")
    index = load_retriever(f"bm25:{tmp_path / 'index'}")
    queries = ["w1 w2 w3", "w10", "nothing matches this"]
    found = index.retrieve(queries, 3)
    assert found == index.retrieve(queries, 3)
    over_http = Client(served(index).url).retrieve(queries, 3)
    assert texts(over_http) == texts(found)

    tries = []

    class Broken:
        def retrieve(self, queries, k):
            tries.append(1)
            raise RetrievalError("the index is gone")

    with pytest.raises(RetrievalError, match=r"failed 3 times.*the index is gone"):
        Client(served(Broken()).url, retries=2, pause_s=0.01).retrieve(queries, 3)
    assert len(tries) == 3


def test_a_flat_dense_index_is_the_inner_product_in_order(tmp_path):
    pytest.importorskip("faiss")
    from verikit.retrieval.corpus import read_corpus
    from verikit.retrieval.dense import Dense
    from verikit.retrieval.encoder import EncoderSettings

    corpus, encoder = write_corpus(tmp_path / "corpus.jsonl", count=60), Hashed()
    build_index([corpus], tmp_path / "index", bm25=False, settings=EncoderSettings(path="hashed"), encoder=encoder)
    passages = [passage.content for passage in read_corpus(corpus)]
    scores = encoder.encode(["w1 w2"], "query") @ encoder.encode(passages, "passage").T
    wanted = [passages[row] for row in (-scores[0]).argsort(kind="stable")[:3]]
    (found,) = Dense(tmp_path / "index", encoder).retrieve(["w1 w2"], 3)
    assert [passage.content for passage in found] == wanted


def test_passages_have_100_words_and_join_to_the_text():
    text = "  ".join(f"word{n}" for n in range(250)) + "\n"
    pieces = split(text)
    assert [len(piece.split()) for piece in pieces] == [100, 100, 50]
    assert "".join(pieces) == text


def test_the_recipe_searches_over_a_server_and_leaves_rollouts_unscored_when_it_dies(served):
    recipe = world(prompts=4)
    server = served(recipe.retriever)
    recipe.retriever = Client(server.url, retries=1, pause_s=0.01)
    made = recipe.collect(honest(recipe), 1)
    assert [trajectory.reward for trajectory in made] == [1.0] * 4
    assert recipe.metrics()["retrieval_seconds"] > 0
    server.kill()
    made = recipe.collect(honest(recipe), 2)
    assert [trajectory.reward for trajectory in made] == [None] * 4
    assert all("failed 2 times" in trajectory.answer for trajectory in made)
