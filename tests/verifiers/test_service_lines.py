"""Servers that speak a line protocol: forged ones are 0.0, the honest one beside them 1.0."""

from textwrap import dedent

import pytest

import verikit
from verikit.artifacts.service import lines
from verikit.errors import UsageError
from verikit.workspaces import Workspace

SERVER = dedent("""
    import json, os, socket
    kept = {}
    listener = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
    while True:
        link, _ = listener.accept()
        mine = link.makefile("rwb")
        for line in mine:
            words = line.decode().split()
            if words[0] == "SET":
                kept[words[1]] = words[2]
                told = ["OK"]
            elif words[0] == "GET":
                told = [kept.get(words[1], "NONE")]
            elif words[0] == "LIST":
                told = [*sorted(kept), "END"]
            elif words[0] == "QUIT":
                break
            else:
                told = [json.dumps({"id": 7, **json.loads(line)})]
            mine.write("".join(one + "\\r\\n" for one in told).encode())
            mine.flush()
        mine.close()
        link.close()
""")
ASK = [
    {"line": "SET a 1", "expect": {"line": "OK"}},
    {"line": "GET a", "same": True, "expect": {"line": "1"}},
    {"line": {"name": "pen"}, "expect": {"json": {"id": 7, "name": "pen"}}, "keep": {"id": "id"}},
    {"line": "SET b {id}", "expect": {"line": "OK"}},
    {"line": "GET b", "expect": {"line": "{id}"}},
    {"line": "LIST", "expect": {"line": ["a", "b", "END"]}},
    {"line": "QUIT", "same": True, "expect": {"line": []}},
]


def scored(text, ask=ASK, **options):
    service = verikit.service(start="python server.py", ask=ask, **options)
    return service("", workspace=Workspace({"server.py": text}))


def test_a_server_of_lines_is_right():
    score = scored(SERVER)
    assert score.value == 1.0, score.reason
    assert list(score.parts)[:3] == ["start", "1 line SET a 1", "2 line GET a"]


GREETING = 'mine = link.makefile("rwb"); mine.write(b"READY\\n"); mine.flush()'
FORGED = {
    "canned replies": (SERVER.replace('kept.get(words[1], "NONE")', '"1"'), "5 line GET b"),
    "replies before the lines": (SERVER.replace("for line in mine:", "mine.write(b'OK\\n1\\n1\\n')\n    mine.flush()\n"
                                                "    for line in mine:"), "not part of a reply"),
    "two replies to one line": (SERVER.replace('["OK"]', '["OK", "1"]'), "not part of a reply"),
    "no end of the line": (SERVER.replace('one + "\\r\\n"', "one"), "within 1 seconds"),
    "a line without end": (SERVER.replace("told = [kept.get", "while True: mine.write(b'x' * 99999)\n"
                                          "            told = [kept.get"), "over 1 MB"),
    "closes": (SERVER.replace("words = ", "break\n        words = "), "ended without a whole reply"),
    "not UTF-8": (SERVER.replace('["OK"]', '["OK"]; mine.write(b"\\xff")'), "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_server_of_lines_is_wrong(name):
    text, told = FORGED[name]
    assert text != SERVER
    score = scored(text, reply_s=1 if "1 seconds" in told else 10)
    assert (score.status, score.value) == ("ok", 0.0)
    assert told in score.reason


DIRECT = SERVER.replace('words[0] == "SET"', 'words[0] in ("SET", "PUT")')
DELAYED = DIRECT.replace("mine.flush()\n", "mine.flush()\n        {late}\n", 1)
NOREPLY = [{"line": "PUT a 1", "expect": {"line": []}}, {"line": "SET b 2", "same": True, "expect": {"line": "OK"}}]


def late(told):
    """A server that sends these lines a moment after each reply."""
    text = DELAYED.replace("{late}", f"import time; time.sleep(.1); mine.write({told!r}); mine.flush()")
    assert text not in (DELAYED, DIRECT)
    return text


@pytest.mark.parametrize(
    ("text", "ask", "step"),
    [
        (DIRECT, NOREPLY, "1 line PUT a 1"),
        (DIRECT, NOREPLY[:1], "1 line PUT a 1"),
        (late(b"ERROR debug\n"), [{"line": "SET b 2", "expect": {"line": "OK"}}] * 2, "1 line SET b 2"),
        (late(b"OK\n"), [ASK[0], {**ASK[0], "same": True}, {"restart": "kill"}], "2 line SET a 1"),
    ],
    ids=["a reply to a line without one", "at the end", "a line after each reply", "over one connection"],
)
def test_lines_that_are_not_part_of_a_reply_are_wrong(monkeypatch, text, ask, step):
    monkeypatch.setattr(lines, "_QUIET_S", 10.0)  # a busy machine must not hide them; they end the wait
    score = scored(text, ask)
    assert (score.status, score.value) == ("ok", 0.0)
    assert "not part of a reply" in score.reason
    assert score.parts[step].value == 0.0


def test_a_line_without_a_reply_is_right():
    silent = DIRECT.replace('if words[0] in ("SET"', 'if words[0] == "PUT":\n            continue\n'
                            '        elif words[0] in ("SET"')  # fmt: skip
    assert silent != DIRECT
    score = scored(silent, NOREPLY)
    assert score.value == 1.0, score.reason


def test_a_line_may_be_read_after_one_without_a_reply():
    score = scored(DIRECT, [NOREPLY[0], {"line": None, "same": True, "expect": {"line": "OK"}}])
    assert score.value == 1.0, score.reason


def test_a_service_may_speak_first_and_a_restart_ends_the_connection():
    greets = SERVER.replace('mine = link.makefile("rwb")', GREETING)
    asks = [{"line": None, "expect": {"line": "READY"}}, {"line": "GET a", "same": True, "expect": {"line": "NONE"}}]
    score = scored(greets, [*asks, {"restart": "kill"}, *asks])
    assert score.value == 1.0, score.reason


@pytest.mark.parametrize(
    "ask",
    [
        {"line": "a\nb"},
        {"line": ["a"]},
        {"line": "a", "get": "/"},
        {"line": "a", "same": True},
        {"line": "a", "expect": {"status": 200}},
        {"line": "a", "expect": {"line": "a\n"}},
        {"line": "a", "expect": {"line": ["a", "b"]}, "keep": {"id": "id"}},
    ],
    ids=str,
)
def test_lines_of_another_form_are_refused(ask):
    with pytest.raises(UsageError):
        verikit.service(start="python server.py", ask=[ask])
