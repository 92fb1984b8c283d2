import http.server
import json
import socket
import threading
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")
pytest.importorskip("numpy")

from tests.retrieval.worlds import write_corpus  # noqa: E402
from verikit.errors import RetrievalError, RetrievalTimeout  # noqa: E402
from verikit.retrieval import Client, build_index, load_retriever  # noqa: E402
from verikit.retrieval.server import MOST_BYTES, app  # noqa: E402


@pytest.fixture
def serve():
    """Run a retriever's server on a free port; return its address."""
    import uvicorn

    running = []

    def start(retriever):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app(retriever), port=port, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{port}/queries"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.fixture
def answers():
    """Run a server that gives listed (status, body) replies, the last one for ever; return its address and log."""
    running = []

    def start(*replies, delay=0.0):
        log = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                log.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                status, body = replies[min(len(log), len(replies)) - 1]
                time.sleep(delay)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass  # clients that stopped waiting

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/queries", log

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def contents(results):
    return [[passage.content for passage in found] for found in results]


def test_a_served_index_finds_what_it_finds_here(tmp_path, serve):
    build_index([write_corpus(tmp_path / "corpus.jsonl")], tmp_path / "index")
    here = load_retriever(f"bm25:{tmp_path / 'index'}")
    there = load_retriever(serve(here))
    queries = ["w1 w2", "unheard of", "w7 “curly” \u2028"]
    ours, theirs = here.retrieve(queries, 4), there.retrieve(queries, 4)
    assert contents(theirs) == contents(ours)
    assert [len(found) for found in theirs] == [4, 0, 4]
    assert there.retrieve([], 4) == []
    assert len(there.retrieve(queries * 1000, 1)) == 3000


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"{", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b"[]", 400, "`queries` must be a list"),
        (b'{"queries": "x", "k": 1}', 400, "`queries` must be a list"),
        (b'{"queries": ["x"]}', 400, "`k` must be an integer"),
        (b'{"queries": ["x"], "k": true}', 400, "`k` must be an integer"),
        (b'{"queries": ["x"], "k": 100000}', 400, "`k` must be an integer"),
        (json.dumps({"queries": ["x"] * 2000, "k": 1}).encode(), 400, "at most 1024"),
        (b"x" * (MOST_BYTES + 1), 413, "at most"),
    ],
)
def test_the_server_says_what_is_wrong_with_a_request(serve, body, status, problem):
    reply = httpx.post(serve(None), content=body)
    assert reply.status_code == status
    assert problem in reply.json()["error"]


def test_the_servers_own_failure_is_a_500_and_the_clients_typed_error(serve):
    class Broken:
        def retrieve(self, queries, k):
            raise RetrievalError("the disk is gone")

    url = serve(Broken())
    with pytest.raises(RetrievalError, match=r"failed 2 times, last: status 500.*the disk is gone"):
        Client(url, retries=1, pause_s=0.01).retrieve(["x"], 1)
    assert httpx.get(url.replace("queries", "health")).json() == {"status": "ok"}


def test_a_500_is_tried_again_and_the_answer_kept(answers):
    url, log = answers((500, "busy"), (429, "slow down"), (200, '{"answers": [["a text", "more"]]}'))
    (found,) = Client(url, pause_s=0.01).retrieve(["q"], 1)
    assert [passage.content for passage in found] == ["a text"]
    assert log == [{"queries": ["q"], "k": 1}] * 3


@pytest.mark.parametrize(
    ("reply", "problem", "tries"),
    [
        ((500, "down"), "failed 3 times, last: status 500 down", 3),
        ((404, "no such page"), "rejected the request: status 404", 1),
        ((200, "<html>"), "doesn't speak the protocol", 1),
        ((200, "[]"), "no list of lists under `answers`", 1),
        ((200, '{"answers": []}'), "0 answers for 1 queries", 1),
        ((200, '{"answers": [[null]]}'), "an answer must be a string", 1),
        ((200, '{"answers": ["text"]}'), "no list of lists", 1),
        ((200, "[" * 100_000), "doesn't speak the protocol", 1),
    ],
)
def test_a_failure_is_a_typed_error_and_never_an_empty_result(answers, reply, problem, tries):
    url, log = answers(reply)
    with pytest.raises(RetrievalError, match=problem):
        Client(url, retries=2, pause_s=0.01).retrieve(["q"], 3)
    assert len(log) == tries


def test_no_reply_in_time_and_no_server_are_told_apart(answers):
    url, _ = answers((200, "{}"), delay=0.3)
    with pytest.raises(RetrievalTimeout, match="no reply in time"):
        Client(url, timeout_s=0.05, retries=1, pause_s=0.01).retrieve(["q"], 1)
    with pytest.raises(RetrievalError, match="ConnectError") as caught:
        Client("http://127.0.0.1:9/queries", retries=1, pause_s=0.01).retrieve(["q"], 1)
    assert not isinstance(caught.value, RetrievalTimeout)
    with pytest.raises(RetrievalError, match="not a valid address"):
        Client("http://", retries=1, pause_s=0.01).retrieve(["q"], 1)
