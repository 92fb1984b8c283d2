"""What goes wrong around a server: every accepted request is answered or failed by name, and the server goes on."""

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection

import pytest

from tests.waiting import until

for extra in ("uvicorn", "httptools", "starlette", "prometheus_client"):
    pytest.importorskip(extra)

IMPATIENT = "import verikit.serve.patience as p; p.HEADERS_S = 1.0"
HURRIED = "import verikit.serve.app as a; a.RequestLimits.__init__.__defaults__ = (8 * 2**20, 1.0)"


def post(body, length=None):
    return b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body) if length is None else length,
        body,
    )


def reply_of(connection):
    """All that comes until the server closes or falls silent."""
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
            if b"\r\n\r\n" in data:
                break
    except ConnectionError:
        pass
    return data


def test_the_samples_of_a_client_that_goes_away_are_dropped(serve, tmp_path):
    with serve() as server:
        (tmp_path / "gone.go").touch()
        with server.held(tmp_path / "before") as asked:
            body = post(json.dumps({"completion": f"hold {tmp_path}/gone", "answer": "x"}).encode())
            gone = [server.connect(body) for _ in range(20)]
            until(lambda: server.metric("verikit_waiting_samples") == 20, "the samples to wait")
            for connection in gone:
                connection.close()
            until(lambda: server.metric('verikit_requests_total{code="499"}') == 20, "the server to notice")
        assert server.score("x").status_code == 200
        assert asked.result().status_code == 200
        assert not (tmp_path / "gone.begun").exists()


def test_a_killed_scoring_process_costs_no_request(serve):
    with serve("--workers", 2) as server, ThreadPoolExecutor(16) as threads:
        asked = [threads.submit(server.score, f"wait {0.02 * (i % 3)}", "x") for i in range(100)]
        time.sleep(0.3)
        for pid in server.scorers():
            os.kill(pid, signal.SIGKILL)
        rows = [reply.result().json()["scores"][0] for reply in asked]
        assert {row["status"] for row in rows} == {"ok"}
        assert server.recovers()
        assert server.metric("verikit_worker_restarts_total") >= 2


def test_a_sample_that_kills_its_process_fails_by_name_and_alone(serve):
    with serve() as server, ThreadPoolExecutor(16) as threads:
        threads.submit(server.score, "wait 0.3")
        time.sleep(0.1)
        asked = [threads.submit(server.score, "die" if i == 5 else "x") for i in range(12)]
        rows = [reply.result().json()["scores"][0] for reply in asked]
        assert [i for i, row in enumerate(rows) if row["value"] != 1.0] == [5]
        assert rows[5]["status"] == "error"
        assert "SIGKILL" in rows[5]["reason"]
        assert server.recovers()


def test_a_sample_that_hangs_times_out_and_its_neighbours_do_not(serve):
    with serve("--deadline", 20) as server, ThreadPoolExecutor(16) as threads:
        threads.submit(server.score, "wait 0.3")
        time.sleep(0.1)
        asked = [threads.submit(server.score, "hang" if i == 11 else "x") for i in range(12)]
        rows = [reply.result().json()["scores"][0] for reply in asked]
        assert [row["value"] for row in rows[:11]] == [1.0] * 11
        assert rows[11]["status"] == "timeout"
        assert server.recovers()


def overload(serve, wanted):
    """Far more than can be scored (20 a second), by many clients, until so many are scored."""
    with serve("--max-waiting", 20) as server:
        server.score("x")
        before, codes, scored, late = server.memory_mb(), [], [], []
        body = json.dumps({"completion": "wait 0.05", "answer": "x" * 1000})

        def ask():
            client = HTTPConnection("127.0.0.1", server.port, timeout=120)
            while len(scored) < wanted:
                client.request("POST", "/score", body)
                found = client.getresponse()
                codes.append(found.status)
                row = json.loads(found.read())
                if found.status == 429:
                    late.append(int(found.headers["retry-after"]))
                    time.sleep(0.1)
                elif row["scores"][0]["status"] == "ok":
                    scored.append(1)
            client.close()

        with ThreadPoolExecutor(100) as threads:
            for asking in [threads.submit(ask) for _ in range(100)]:
                asking.result()
        assert set(codes) == {200, 429}
        assert codes.count(200) == len(scored)
        assert min(late) >= 1
        assert server.memory_mb() - before < 30
        assert server.recovers()


def test_an_overload_is_refused_with_the_time_to_come_back(serve):
    overload(serve, 50)


@pytest.mark.slow(seconds=32)
def test_a_long_overload_leaves_memory_flat(serve):
    overload(serve, 500)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[1, 2]", 400),
        (b"[" * 100_000, 400),
        (b"1" * 10_000, 400),
        (b"{}", 422),
        (b'{"samples": 1}', 422),
        (b'{"samples": [1]}', 422),
        (b'{"completion": 1}', 422),
        (b'{"completion": "x", "meta": 1}', 422),
        (b'{"completion": [1, {"content": 2}]}', 422),
        (b'{"completion": "x", "prompt": 5}', 422),
        (b'{"completion": "x", "meta": {"deep": ' + b"[" * 900 + b"]" * 900 + b"}}", None),
        (b'{"completion": "\\ud800", "answer": "x"}', 200),
    ],
    ids=range(15),
)
def test_a_malformed_body_is_refused_by_name(malformed, body, status):
    found = malformed.http.post("/score", content=body)
    assert found.status_code in ((200, 422) if status is None else (status,))
    if found.status_code != 200:
        assert found.json()["error"]
    assert malformed.score("x").json()["scores"][0]["value"] == 1.0


@pytest.fixture(scope="module")
def malformed(tmp_path_factory):
    from tests.serve import conftest

    with conftest.serve.__wrapped__(tmp_path_factory.mktemp("serve"))() as server:
        yield server


def test_a_body_of_100_mb_is_refused_and_not_held(serve):
    with serve() as server:
        before = server.memory_mb()
        told = server.connect(post(b"x", length=100_000_000))
        assert b" 413 " in reply_of(told)
        chunk = b"%x\r\n%s\r\n" % (2**20, b"x" * 2**20)
        chunked = server.connect(b"POST /score HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = 0
        try:
            for _ in range(100):
                chunked.sendall(chunk)
                sent += 1
        except ConnectionError:
            pass
        assert sent < 40
        assert server.memory_mb() - before < 40
        assert server.recovers()


def test_too_many_samples_in_one_request_are_refused(serve):
    with serve("--max-waiting", 10) as server:
        assert server.http.post("/score", json={"completions": ["x"] * 11}).status_code == 413
        assert server.http.post("/score", json={"completions": ["x"] * 10}).status_code == 200


def test_clients_that_trickle_are_dropped_and_others_served_meanwhile(serve):
    with serve(before=f"{IMPATIENT}; {HURRIED}") as server:
        silent = [server.connect() for _ in range(50)]
        headers = [server.connect(b"POST /score HTTP/1.1\r\nX-A: ") for _ in range(50)]
        again = server.connect(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")  # a whole request, then half of one
        time.sleep(0.1)
        assert b" 200 " in reply_of(again)
        again.sendall(b"GET /health HT")
        body = server.connect(post(b'{"comp', length=1000))
        for _ in range(16):
            for connection in headers:
                with suppress(ConnectionError):
                    connection.sendall(b"a")
            assert server.score("x").status_code == 200
            time.sleep(0.1)
        assert b" 408 " in reply_of(body)
        for connection in (*silent, *headers, again):
            assert reply_of(connection) == b""
        assert server.score("x").status_code == 200


def pour(connection, piece, most):
    """Send a piece again and again until the server has enough; return the bytes sent."""
    sent = 0
    with suppress(OSError):
        while sent < most:
            connection.sendall(piece)
            sent += len(piece)
    return sent


@pytest.mark.parametrize(
    "start",
    [
        b"POST /score HTTP/1.1\r\nHost: x\r\nX-A: ",  # a header without an end
        b"POST /score HTTP/1.1\r\nHost: x\r\n",  # headers without an end
        b"GET /",  # an address without an end
        b"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: ",  # trailers
        b"POST /score HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: ",
    ],
)
def test_headers_without_an_end_are_refused_before_they_are_held(serve, start):
    with serve(token="s3cret") as server:
        headers = {"Authorization": "Bearer s3cret"}
        assert server.http.post("/score", json={"completion": "x", "answer": "x"}, headers=headers).status_code == 200
        before = server.memory_mb()
        piece = b"X-B: 1\r\n" * 2**13 if start.endswith(b"x\r\n") else b"a" * 2**16
        for _ in range(4):
            connection = server.connect(start)
            assert pour(connection, piece, 64 * 2**20) < 32 * 2**20
        assert server.memory_mb() - before < 15
        large = {**headers, "X-A": "a" * 60_000}
        assert server.http.post("/score", json={"completion": "x"}, headers=large).status_code == 200
        over = server.connect(b"GET /health HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 90_000)
        assert b" 431 " in reply_of(over)


def test_all_clients_without_a_token_together_have_a_fixed_budget(serve):
    budget = "import verikit.serve.patience as p; p.WAITING_BYTES = 4 * 2**20"
    with serve(before=budget, token="s3cret") as server:
        headers = {"Authorization": "Bearer s3cret"}
        before = server.memory_mb()
        slow = [server.connect(b"POST /score HTTP/1.1\r\nX-A: ") for _ in range(300)]
        for connection in slow:
            with suppress(OSError):
                connection.sendall(b"a" * 48_000)

        def is_open(connection):
            connection.settimeout(0.01)
            try:
                assert b" 503 " in (connection.recv(200) or b" 503 ")
            except TimeoutError:
                return True
            except OSError:
                pass
            return False

        left = slow

        def within_the_budget():
            nonlocal left
            left = [connection for connection in left if is_open(connection)]
            return len(left) * 48_000 <= 4 * 2**20

        until(within_the_budget, "the connections over the budget to be refused")
        assert server.memory_mb() - before < 40
        for connection in slow:
            connection.close()
        body = {"completion": "x", "answer": "x"}
        asked = {"url": "/score", "json": body, "headers": headers}
        until(lambda: server.http.post(**asked).status_code == 200, "a plain request to be served again")


def test_a_client_that_does_not_read_its_replies_is_cut_off(serve):
    with serve(before="import verikit.serve.patience as p; p.READING_S = 1.0") as server:
        samples = [{"completion": "fail", "answer": "x"}] * 4000
        whole = len(server.http.post("/score", json={"samples": samples}).content)
        deaf = server.connect()
        deaf.settimeout(5)
        with suppress(TimeoutError, ConnectionError):
            for _ in range(100):
                deaf.sendall(post(json.dumps({"samples": samples}).encode()))
        received = 0
        with suppress(ConnectionError):
            while piece := deaf.recv(2**20):
                received += len(piece)
        assert received < 100 * whole
        assert server.recovers()


def test_only_the_token_lets_a_request_in(serve):
    with serve(token="s3cret") as server:
        body = {"completion": "x", "answer": "x"}
        wrong = [
            {},
            {"authorization": "Bearer"},
            {"authorization": "Bearer wrong"},
            {"authorization": "Bearer s3cre"},
            {"authorization": "Bearer s3cret2"},
            {"authorization": "s3cret"},
            {"authorization": "Basic s3cret"},
            {"authorization": "Basic !!"},
            {"authorization": b"Bearer \xff\xfe"},
            {"x-authorization": "Bearer s3cret"},
        ]
        for headers in wrong:
            for path in ("/score", "/metrics", "/nothing"):
                found = server.http.post(path, json=body, headers=headers)
                assert found.status_code == 401, (headers, path)
                assert "www-authenticate" in found.headers
        for path in ("/health", "/ready"):
            assert server.http.get(path).status_code == 200
        assert server.http.post("/score", json=body, headers={"Authorization": "Bearer s3cret"}).status_code == 200
        assert server.http.post("/score", json=body, auth=("anyone", "s3cret")).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/health/../score", "//score", "/score/", "/./score", "/%2e%2e/score", "/health%2f..%2fscore", "/score%00",
     "/health/../metrics", "/SCORE", "/etc/passwd", "/../../etc/passwd", "/health?x=/score", "/score;x", "*"],
)  # fmt: skip
def test_no_spelling_of_a_path_gets_around_the_token_or_finds_a_file(guarded, path):
    with guarded.connect(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}".encode()) as connection:
        status = reply_of(connection).split(b" ")[1]
    assert status in (b"401", b"400", b"405" if path.startswith("/health?") else b"401")
    with guarded.connect(
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    ) as connection:
        assert reply_of(connection).split(b" ")[1] in (b"404", b"400", b"405")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    from tests.serve import conftest

    with conftest.serve.__wrapped__(tmp_path_factory.mktemp("serve"))(token="t") as server:
        yield server


def test_programs_that_take_too_long_have_their_zero_before_the_deadline(serve):
    tests = {"tests": ["for n in range(100): assert f(n) == n"]}
    slow = ["def f(n):\n    while True: pass", "import time\ndef f(n):\n    time.sleep(.5)\n    return n"]
    with serve("--deadline", 15, spec="code") as server:
        body = {"samples": [{"completion": reply, "meta": tests} for reply in [*slow, "def f(n): return 1"]]}
        scores = server.http.post("/score", json=body).json()["scores"]
        assert [(row["value"], row["status"]) for row in scores] == [(0.0, "ok")] * 3
        assert ["row together took 3 s" in row["reason"] for row in scores] == [True, True, False]


def test_a_batch_holds_what_is_done_in_time_even_if_every_program_loops():
    from verikit.names.spec import load
    from verikit.sandbox import budget
    from verikit.serve import process

    try:
        cores = len(os.sched_getaffinity(0))
        assert process.fit(load("answer"), 60) == 0
        assert process.fit(load("0.5*code + 0.5*exact"), 60) == cores  # 12 s each
        assert process.fit(load("0.5*code + 0.5*program"), 60) == 1
        assert process.fit(load("code(row_s=3)"), 60) == 5 * cores
    finally:
        budget.set_ceiling(float("inf"))
