"""Servers that an agent left: forged ones are 0.0, the honest ones beside them 1.0. Each is started in two boxes."""

import json
from textwrap import dedent, indent

import pytest

import verikit
from tests import processes
from verikit.artifacts.service import box as boxes
from verikit.errors import SandboxUnavailable, UsageError
from verikit.workspaces import Workspace

SERVE = dedent("""
    import json, os, socket

    def replied(status, value, kind="application/json"):
        body = json.dumps(value).encode()
        return b"HTTP/1.1 %d X\\r\\nContent-Type: %s\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (
            status, kind.encode(), len(body), body)

    def saved():
        return json.load(open("db.json")) if os.path.exists("db.json") else []

    def save(items):
        with open("db.json", "w") as file:
            json.dump(items, file)

    listener = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
    while True:
        link, _ = listener.accept()
        head, _, body = link.recv(65536).partition(b"\\r\\n\\r\\n")
        if not head:
            continue
        method, path = head.decode().split()[:2]
        fields = head.decode().lower().split("\\r\\n")
        length = [int(line.split(":")[1]) for line in fields if line.startswith("content-length")]
        while length and len(body) < length[0]:
            body += link.recv(65536)
    {answer}
        link.close()
""")
HONEST = """
if method == "POST":
    items = saved() + [{**json.loads(body), "id": len(saved()) + 7}]
    save(items)
    link.sendall(replied(201, items[-1], "application/json; charset=utf-8"))
else:
    items = [item for item in saved() if path == f"/items/{item['id']}"]
    link.sendall(replied(200, items[0]) if items else replied(404, {"error": "none"}))
"""
ASK = [
    {"get": "/items/1", "expect": {"status": 404}},
    {"post": "/items", "json": {"name": "pen"}, "keep": {"id": "id"},
     "expect": {"status": 201, "headers": {"content-type": "application/json"}}},
    {"restart": "kill"},
    {"get": "/items/{id}", "expect": {"json": {"id": "{id}", "name": "pen"}}},
]  # fmt: skip
GET = [{"get": "/", "expect": {"json": {"total": 42}}}]


def server(answer, before=""):
    return before + SERVE.replace("{answer}\n", indent(dedent(answer).strip("\n"), " " * 4) + "\n")


def scored(text, ask, **options):
    service = verikit.service(**{"start": "python server.py", "ask": ask, **options})
    return service("", workspace=Workspace({"server.py": text}))


def test_a_server_that_keeps_its_state_is_right():
    score = scored(server(HONEST), ASK, stop_ok=True)
    assert score.value == 1.0, score.reason
    assert list(score.parts) == [
        "start", "1 GET /items/1", "2 POST /items", "3 restart kill", "4 GET /items/{id}", "stop",
    ]  # fmt: skip


RIGHT = 'link.sendall(replied(200, {"total": 42}))'
FORGED = {
    "a table of what the prompt showed": (
        'link.sendall(replied(200, {"/": {"total": 42}}.get(path, {"total": 0})))',
        [*GET, {"get": "/hidden", "expect": {"json": {"total": 17}}}], "2 GET /hidden"),
    "keyed on the client": (
        'link.sendall(replied(200, {"total": 42 if b"curl" in head else 0}))', GET, "a browser"),
    "an echo": (
        'link.sendall(replied(200, json.loads(body)))',
        [{"post": "/", "json": {"a": 20, "b": 22}, "expect": {"json": {"total": 42}}}], "total is missing"),
    "a reply before the state is written": (
        HONEST.replace("save(items)", "pending = items"), ASK, "4 GET"),
    "state in a daemon": (
        # the daemon is asked over a port of its own, and ends with the program that started it
        HONEST, ASK, "4 GET"),
    "ends": ("os._exit(3)", GET, "1 GET /: "),
    "never replies": ("import time; time.sleep(60)", GET, "no whole reply within 1 seconds"),
    "slow bytes": ("""
        import time
        for byte in replied(200, {"total": 42}):
            link.sendall(bytes([byte])); time.sleep(0.05)
        """, GET, "no whole reply within 1 seconds"),
    "a body without end": ("""
        link.sendall(b"HTTP/1.1 200 X\\r\\n\\r\\n")
        try:
            while True: link.sendall(b" " * 65536)
        except OSError: pass
        """, GET, "over 1 MB"),
    "interim replies without end": ("""
        try:
            while True: link.sendall(b"HTTP/1.1 100 X\\r\\n\\r\\n" * 999)
        except OSError: pass
        """, GET, "over 10,000 parts"),
    "chunks without end": ("""
        link.sendall(b"HTTP/1.1 200 X\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
        try:
            while True: link.sendall(b"1\\r\\n \\r\\n" * 9999)
        except OSError: pass
        """, GET, "over 10,000 parts"),
    "huge headers": ('link.sendall(b"HTTP/1.1 200 X\\r\\nA: " + b"x" * 99999)', GET, "not valid HTTP"),
    "malformed": ('link.sendall(b"200 fine\\r\\n\\r\\n{}")', GET, "not valid HTTP"),
    "two lengths": (
        'link.sendall(b"HTTP/1.1 200 X\\r\\nContent-Length: 2\\r\\nContent-Length: 3\\r\\n\\r\\n{} ")', GET,
        "not valid HTTP"),
    "cut off": ('link.sendall(replied(200, {"total": 42})[:-3])', GET, "not valid HTTP"),
    "closes": ("pass", GET, "ended without a reply"),
    "not JSON": ('link.sendall(b"HTTP/1.1 200 X\\r\\n\\r\\n{total: 42}")', GET, "not JSON"),
    "another status": ('link.sendall(replied(500, {"total": 42}))', GET, "the status is 500"),
    "more memory than it may": ("held = bytearray(2 << 30)", GET, "1 GET /: "),
}  # fmt: skip
DAEMON = dedent("""
    import os
    if os.fork() == 0:
        os.setsid()
        import socket
        keeper, held = socket.create_server(("127.0.0.1", 9000)), b"[]"
        while True:
            peer, _ = keeper.accept()
            told = peer.recv(65536)
            held = told if told != b"?" else held
            peer.sendall(held)
            peer.close()
    def keeper_says(told):
        import socket, time
        while True:
            try:
                with socket.create_connection(("127.0.0.1", 9000)) as peer:
                    peer.sendall(told)
                    return json.loads(peer.recv(65536))
            except ConnectionRefusedError:
                time.sleep(0.01)
""")


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_server_is_wrong(name):
    answer, ask, told = FORGED[name]
    text = server(answer)
    if name == "state in a daemon":
        text = text.replace("def saved", "saved = lambda: keeper_says(b'?')\ndef old").replace(
            "def save(", "save = lambda items: keeper_says(json.dumps(items).encode())\ndef old2("
        )
        text = DAEMON + text
    score = scored(text, ask, reply_s=1 if "1 seconds" in told else 10)
    assert (score.status, score.value) == ("ok", 0.0)
    assert told in score.reason


CONTROLS = {
    "the right reply": (server(RIGHT), GET, {}),
    "ready late, after refusals and errors": (
        server('times = globals().get("times", 0) + 1\n'
               'link.sendall(replied(200 if times > 2 else 503, {"total": 42}))',
               before="import time; time.sleep(0.3)\n"), GET, {"ready": "/health"}),
    "output without end": (
        server(RIGHT, before="import threading\n"
               "threading.Thread(target=lambda: [print('x' * 9999) for _ in range(999)], daemon=True).start()\n"),
        GET, {}),
    "a body in chunks, from a server that keeps the connection": (
        server('link.sendall(b"HTTP/1.1 200 X\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'
               'd\\r\\n{\\"total\\": 42}\\r\\n0\\r\\n\\r\\n"); kept = globals().setdefault("links", []); '
               'kept.append(link.dup())'), GET, {}),
    "extra keys, where they may be": (
        server('link.sendall(replied(200, {"total": 42, "took": 3}))'), GET, {"rules": "json_match(extra='ignore')"}),
    "a child that ends, and files that it may write": (
        server(RIGHT, before="import os\nif os.fork() == 0: open('/tmp/x', 'w').close(); os._exit(0)\n"), GET, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROLS)
def test_the_honest_server_beside_it_is_right(name):
    text, ask, options = CONTROLS[name]
    score = scored(text, ask, **options)
    assert score.value == 1.0, score.reason


def test_a_program_that_does_not_start_is_wrong_and_its_output_is_shown():
    assert "exit code 1 before it was ready" in scored("raise SystemExit('no such module')", GET).reason
    assert "no such module" in scored("raise SystemExit('no such module')", GET).reason
    assert scored("import time; time.sleep(60)", GET, start_s=0.5).reason.endswith("not ready within 0.5 seconds")
    assert scored("", GET, start="python other.py").value == 0.0


def test_a_program_that_ignores_sigterm_fails_stop_ok_only(monkeypatch):
    monkeypatch.setattr(verikit.verifiers.service.verifier, "_STOP_S", 0.3)
    deaf = server(RIGHT, before="import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n")
    assert scored(deaf, [*GET, {"restart": "stop"}, *GET]).value == 1.0
    assert "after SIGTERM" in scored(deaf, GET, stop_ok=True).reason


def test_the_box_has_no_network_and_no_expected_value():
    spy = server("""
        seen = " ".join(map(str, [os.environ, os.listdir("/"), os.path.exists("/proc/self"), os.getuid()]))
        for top in (".", "/tmp", "/etc", "/dev"):
            for where, _, names in os.walk(top):
                if "site-packages" in where or "python3" in where: continue
                seen += "".join(open(f"{where}/{name}", errors="replace").read() for name in names
                                if os.path.isfile(f"{where}/{name}"))
        try:
            socket.create_connection(("192.0.2.1", 80), 2); out = "reached"
        except OSError as error:
            out = error.errno
        try:
            os.kill(1, 9); os.kill(os.getppid(), 9)
        except OSError: pass
        link.sendall(replied(200, {"found": "canary" + "-4711" in seen, "errno": out, "user": os.getuid() != 0}))
    """)
    asked = {"get": "/", "expect": {"json": {"found": False, "errno": 101, "user": True}}}
    hidden = {"get": "/", "expect": {"json": {"found": "canary-4711"}}}
    score = scored(spy, [asked, hidden])
    assert score.parts["1 GET /"].value == 1.0, score.reason
    assert score.parts["2 GET /"].value == 0.0


def test_all_processes_count_together_and_end_with_the_box(monkeypatch):
    monkeypatch.setattr(boxes, "MEMORY_MB", 64)
    started = []
    close = boxes.ServiceBox.close

    def noted(self):
        started.extend(processes.below(self._process.pid))
        close(self)

    monkeypatch.setattr(boxes.ServiceBox, "close", noted)
    held = "import os, time\nfor _ in range(4):\n if os.fork() == 0:\n  x = b'x' * (30 << 20); time.sleep(60)\n"
    assert "over 64 MB" in scored(server("time.sleep(60)", before=held), GET).reason
    assert len(started) > 4
    assert not [pid for pid in started if processes.runs(pid)]


def test_what_the_machine_or_the_row_lacks_has_no_value(monkeypatch):
    workspace = Workspace({"server.py": server(RIGHT)}, uncollected={"lib/**": "permission denied"})
    service = verikit.service(start="python server.py", ask=[{"get": "/", "expect": {"status": 404}}])
    assert "lib/** was not collected" in service("", workspace=workspace).reason
    assert service("", workspace=Workspace({}, outputs=["app/**"])).status == "error"
    assert verikit.service()("", workspace=Workspace({})).status == "error"

    def refused(self, *arguments):
        raise SandboxUnavailable("unshare: Operation not permitted")

    monkeypatch.setattr(boxes.ServiceBox, "_reply", refused)
    score = scored(server(RIGHT), GET)
    assert (score.status, score.value) == ("error", None)
    assert "not permitted" in score.reason


def test_a_row_has_its_own_requests():
    service = verikit.service(start="python server.py")
    row = {"service": {"ask": [{"get": "/", "expect": {"json": {"total": 41}}}]}}
    assert "total is 42" in service("", workspace=Workspace({"server.py": server(RIGHT)}), **row).reason


@pytest.mark.parametrize(
    "options",
    [
        {"ask": [{"get": "items"}]},
        {"ask": [{"get": "/", "post": "/"}]},
        {"ask": [{"get": "/", "expect": {"body": 1}}]},
        {"ask": [{"get": "/a b"}]},
        {"ask": [{"get": "/", "headers": {"A": "x\r\nB: y"}}]},
        {"ask": [{"restart": "now"}]},
        {"ask": {"get": "/"}},
        {"port": 80},
        {"rules": "exact"},
        {"reply_s": 0},
    ],
    ids=json.dumps,
)
def test_options_of_another_form_are_refused(options):
    with pytest.raises(UsageError):
        verikit.service(start="python server.py", **options)
