"""The server as a client meets it: the protocol's own client, a process at the other end of stdin and stdout."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

anyio = pytest.importorskip("anyio")
pytest.importorskip("mcp", reason="the extra mcp")

from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402

MOODY = f"moody={Path(__file__).with_name('rules_of_ours.py')}:moody"
ROW = {"id": "a", "prompt": "1+1?", "answer": "2", "completions": ["The answer is 2.", "3"]}


class Told:
    """What a call came to."""

    def __init__(self, result):
        self.failed = bool(result.is_error)
        self.text = result.content[0].text
        self.value = result.structured_content


def asked(calls, *options, timeout=120):
    """Start a server, make the calls one after the other, and return what each came to."""

    async def ask():
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "verikit", "mcp", *options], env={"PYTHONPATH": str(ROOT)}
        )
        with anyio.fail_after(timeout):
            async with Client(stdio_client(server)) as client:
                return [Told(await client.call_tool(name, given)) for name, given in calls]

    return anyio.run(ask)


def test_replies_are_scored_and_explained_and_an_error_is_no_zero():
    right, both, formula, why, unread, listed, one = asked(
        [
            ("score", {"replies": ["The answer is 4."], "gold": "4"}),
            ("score", {"replies": ["\\boxed{4}", "5"], "gold": ["4", "four"], "spec": "0.9*answer + 0.1*boxed"}),
            ("score", {"replies": ["$(x+1)^2$"], "gold": "x^2+2x+1"}),
            ("explain", {"reply": "The answer is 4.", "gold": "4"}),
            ("score", {"replies": ["4"], "spec": "answer"}),
            ("list_verifiers", {}),
            ("list_verifiers", {"name": "boxed"}),
        ]
    )
    assert [row["value"] for row in right.value["scores"]] == [1.0]
    assert [row["value"] for row in both.value["scores"]] == [1.0, 0.0]
    assert set(both.value["scores"][0]["parts"]) == {"answer", "boxed"}
    assert formula.value["scores"][0]["value"] == 1.0
    assert why.text.startswith("answer: 1  (equal")
    assert "^ extracted" in why.text
    assert unread.value["scores"][0]["value"] is None
    assert unread.value["scores"][0]["status"] == "error"
    assert "answer" in listed.value["verifiers"]
    assert "code" not in listed.value["verifiers"]
    assert one.value["options"][0]["name"] == "once"


def test_files_of_the_folder_are_audited_and_no_others(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    rows = [ROW, ROW | {"id": "b"}, {"id": "c", "prompt": "2+2?", "answer": ""}]
    (root / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "mine.jsonl").write_text(json.dumps({"id": "a", "question": "1+1?", "gold": "2"}) + "\n")
    (tmp_path / "secret.jsonl").write_text(json.dumps(ROW))
    data, reward, mapped, out, absolute, spec = asked(
        [
            ("audit", {"file": "rows.jsonl"}),
            ("audit", {"file": "rows.jsonl", "spec": "answer"}),
            ("audit", {"file": "mine.jsonl", "mapping": {"prompt": "question", "answer": "gold"}}),
            ("audit", {"file": "../secret.jsonl"}),
            ("audit", {"file": "/etc/passwd"}),
            ("audit", {"file": "rows.jsonl", "spec": "/tmp/x.py:f"}),
        ],
        "--root",
        str(root),
    )
    found = {check["check"]: check["found"] for check in data.value["checks"]}
    assert (found["duplicate"], found["empty"]) == (1, 1)
    assert "hack" in {check["check"] for check in reward.value["checks"]}
    assert mapped.value["rows"] == 1
    assert all(told.failed and "is not below the folder" in told.text for told in (out, absolute))
    assert spec.failed
    assert "rules that read text" in spec.text


def test_what_a_client_may_not_do_is_an_error_it_can_read():
    told = asked(
        [
            ("audit", {"file": "pyproject.toml"}),
            ("score", {"replies": ["x"], "spec": "code(in_process=True)"}),
            ("score", {"replies": ["x"], "spec": "json_schema('/etc/passwd')"}),
            ("score", {"replies": ["x"] * 65, "gold": "x"}),
            ("score", {"replies": ["x" * 200_001], "gold": "x"}),
            ("score", {"replies": ["x"], "meta": {"a": "x" * 200_001}}),
            ("score", {"replies": [], "gold": "x"}),
            ("score", {"replies": ["x"], "spec": "answr"}),
            ("list_verifiers", {"name": "code"}),
        ]
    )
    assert all(each.failed for each in told)
    needles = ["--root", "'code'", "schema", "64", "200000", "200,000", "1", "'answr'", "'code'"]
    for each, needle in zip(told, needles, strict=True):
        assert needle in each.text
        assert "Traceback" not in each.text


def test_a_verifier_that_hangs_dies_prints_or_raises_costs_its_own_call_only():
    moods = ["print", "raise", "memory", "hang", "fine"]
    printed, raised, memory, hung, fine = asked(
        [("score", {"replies": [mood], "spec": "moody"}) for mood in moods],
        *("--spec", MOODY, "--deadline", "3", "--memory-mb", "1500", "--workers", "1"),
    )
    assert printed.value["scores"][0]["value"] == fine.value["scores"][0]["value"] == 1.0
    assert raised.value["scores"][0]["value"] is None
    assert "ours to blame" in raised.value["scores"][0]["reason"]
    assert memory.failed or memory.value["scores"][0]["value"] is None
    assert hung.failed
    assert "out of time (3 s, 1500 MB)" in hung.text


def test_any_spec_lets_a_client_name_code():
    spec = MOODY.partition("=")[2]
    refused = asked([("score", {"replies": ["fine"], "spec": spec})])[0]
    assert refused.failed
    [told] = asked([("score", {"replies": ["fine"], "spec": spec})], "--any-spec")
    assert told.value["scores"][0]["value"] == 1.0


def started(*options, given=b"", timeout=120):
    return subprocess.run(
        [sys.executable, "-m", "verikit", "mcp", *options], input=given, capture_output=True, timeout=timeout, cwd=ROOT
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--spec", "house=nowhere.py:f"], "--spec house"),
        (["--spec", "0.5*answer"], "is not NAME=SPEC"),
        (["--spec", "a=answer", "--spec", "a=math"], "names 'a' twice"),
        (["--root", "nowhere"], "is not a folder"),
    ],
)
def test_a_server_that_is_set_up_wrong_says_so_and_ends(options, problem):
    done = started(*options)
    assert done.returncode == 2
    assert problem in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_message_that_never_ends_ends_the_connection_in_bounded_memory():
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); "
        "from verikit.cli import main; sys.argv[1:] = ['mcp']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"x" * (200 << 20), capture_output=True, cwd=ROOT)
    assert b"a message has more than" in done.stderr
    assert b"MemoryError" not in done.stderr
    assert done.returncode == 0


def test_garbage_on_stdin_is_no_end():
    start = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }  # fmt: skip
    lines = [b"garbage", b"[]", b'{"jsonrpc":"2.0"}', b"\xff\xfe", json.dumps(start).encode(), b""]
    done = started(given=b"\n".join(lines))
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    [reply] = [reply for reply in replies if reply.get("id") == 1]
    assert reply["result"]["serverInfo"]["name"] == "verikit"


def test_without_the_extra_the_command_names_it(monkeypatch):
    from click.testing import CliRunner

    from verikit.cli import cli
    from verikit.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "verikit.mcp.server", raising=False)
    done = CliRunner().invoke(cli, ["mcp"])
    assert isinstance(done.exception, MissingExtra)
    assert "verikit[mcp]" in done.exception.hint
