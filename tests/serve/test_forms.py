"""Requests as forms: files of a workspace arrive as parts, and nothing of them stays or reaches another place."""

import json
import re
import shutil
import subprocess
from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.waiting import until
from tests.workspaces.tars import tarred

for extra in ("uvicorn", "httptools", "starlette", "prometheus_client", "python_multipart"):
    pytest.importorskip(extra)

forms = pytest.importorskip("verikit.serve.forms")

SPEC = "files(exist=['sales.csv'], unchanged=['in.csv'])"
BEFORE, RIGHT, FORGED = {"in.csv": "3\n"}, {"in.csv": "3\n", "sales.csv": "7\n"}, {"in.csv": "9\n", "sales.csv": "7\n"}
TYPE = "multipart/form-data; boundary=b"
PAGE = (ROOT / "docs" / "serve.md").read_text("utf-8").partition("\n## Files as a form\n")[2].partition("\n## ")[0]


def below(folder, files):
    return {f"{folder}/{name}": text.encode() for name, text in files.items()}


def form(parts, *, headers=b"", end=b"--b--\r\n"):
    """A body of named parts."""
    out = b""
    for name, data in parts:
        name = name if isinstance(name, bytes) else name.encode()
        out += b'--b\r\nContent-Disposition: form-data; name="%s"\r\n%s\r\n%s\r\n' % (name, headers, data)
    return out + end


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def server(tmp_path_factory, scratch):
    from tests.serve import conftest

    start = conftest.serve.__wrapped__(tmp_path_factory.mktemp("serve"))
    hurry = "import verikit.serve.app as a; a.RequestLimits.__init__.__defaults__ = (8 * 2**20, 2.0)"
    with start(spec=SPEC, before=f"import tempfile; tempfile.tempdir = {str(scratch)!r}; {hurry}") as server:
        yield server


def posted(server, told, parts):
    return server.http.post("/score", data={"request": json.dumps(told)}, files=parts)


def left_over(scratch):
    return [path.name for path in scratch.iterdir() if path.name.startswith("verikit-form-")]


def test_tars_folders_and_strings_of_one_request_are_scored_and_a_bad_one_costs_no_other(server, scratch):
    parts = {**below("b", BEFORE), **below("right", RIGHT), **below("forged", FORGED)}
    parts |= {"right.tar": tarred(RIGHT), "forged.tar": tarred(FORGED)}
    sides = ["right", "forged", "right.tar", "forged.tar", RIGHT, FORGED, "none", "../right", "/etc", str(scratch)]
    told = {"samples": [{"workspace": {"before": "b", "after": after}} for after in sides]}
    found = posted(server, told, parts).json()["scores"]
    assert [score["value"] for score in found] == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, None, None, None, None]
    assert len({found[at]["text"] for at in (0, 2, 4)}) == 1
    assert found[6]["reason"].startswith("none can't be collected")
    assert str(scratch) not in json.dumps(found[:9])
    assert left_over(scratch) == []


def test_a_trial_its_task_and_its_steps_are_parts_too(server):
    record = [
        {"destination": "artifacts/sales.csv", "status": "ok"},
        {"destination": "artifacts/in.csv", "status": "ok"},
    ]
    task = {
        "task.toml": 'artifacts = ["/sales.csv", "/in.csv"]\n',
        "environment/Dockerfile": "FROM x\nCOPY in.csv /in.csv\n",
        "environment/in.csv": "3\n",
    }
    parts = below("t1", task)
    for name, files in {"right": RIGHT, "forged": FORGED}.items():
        parts |= below(f"{name}/artifacts", {**files, "manifest.json": json.dumps(record)})
        parts[f"{name}/result.json"] = b'{"trial_name": "x"}'
    told = {"samples": [{"workspace": {"trial": name, "task": "t1"}} for name in ("right", "forged", "none")]}
    values = [score["value"] for score in posted(server, told, parts).json()["scores"]]
    assert values == [1.0, 0.0, None]


def test_a_form_without_files_is_read_as_json_is(server):
    assert (
        posted(server, {"workspace": {"before": BEFORE, "after": RIGHT}}, {"x": b""}).json()["scores"][0]["value"] == 1
    )


JSON = ("request", b"{}")
REFUSED = {
    "absolute": (form([JSON, ("/etc/x", b"")]), "part '/etc/x'"),
    "above": (form([JSON, ("a/../../x", b"")]), "part 'a/../../x'"),
    "folder": (form([JSON, ("a/", b"")]), "part 'a/'"),
    "nothing": (form([JSON, ("./.", b"")]), "part './.'"),
    "nul": (form([JSON, ("a\0b", b"")]), "has a name that no file can have"),
    "twice": (form([JSON, ("a", b""), ("a", b"")]), "part 'a' occurs twice"),
    "twice by another name": (form([JSON, ("a", b""), ("./a", b"")]), "part './a' occurs twice"),
    "below a file": (form([JSON, ("a", b""), ("a/b", b"")]), "part 'a/b' occurs twice, or below a file"),
    "over a folder": (form([JSON, ("a/b", b""), ("a", b"")]), "part 'a' occurs twice"),
    "long": (form([JSON, ("a" * 300, b"")]), "has too long a name"),
    "deep": (form([JSON, ("a/" * 32 + "b", b"")]), "has a name that no file can have"),
    "not UTF-8": (form([JSON, (b"caf\xe9", b"")]), "must have a name in UTF-8"),
    "many": (form([JSON, *((f"f{i}", b"") for i in range(1001))]), "part 'f1000'"),
    "many folders": (form([JSON, *((f"f{i}/a/b", b"") for i in range(400))]), "at most 1000 files and folders"),
    "encoded": (form([("a", b"eA==")], headers=b"Content-Transfer-Encoding: base64\r\n"), "part 'a' is encoded"),
    "no name": (b"--b\r\nX: y\r\n\r\n1\r\n--b--\r\n", "has no name"),
    "no disposition of a form": (b'--b\r\nContent-Disposition: file; name="a"\r\n\r\n1\r\n--b--', "has no name"),
    "headers twice": (form([("a", b"")], headers=b"Content-Disposition: form-data; name=b\r\n"), "twice"),
    "many headers": (form([("a", b"")], headers=b"".join(b"X-%d: 1\r\n" % i for i in range(20))), "header count"),
    "a long header": (form([("a" * 5000, b"")]), "header size"),
    "a header without an end": (b"--b\r\nX: " + b"a" * 100_000, "header size"),
    "no request": (form([("a", b"1")]), "part 'request' not found"),
    "request twice": (form([JSON, JSON]), "part 'request' occurs twice"),
    "no JSON": (form([("request", b"{")]), "the part request is not JSON"),
    "no object": (form([("request", b"[]")]), "the part request is not a JSON object"),
    "cut off": (form([JSON, ("a", b"1")], end=b""), "ends after the start of part 'a'"),
    "cut off in a header": (b"--b\r\nContent-Dispo", "without its last boundary"),
    "nothing sent": (b"", "without its last boundary"),
    "JSON": (b"{}", "is not a form"),
    "a forged boundary": (form([JSON]).replace(b"--b--", b"--c--"), "without its last boundary"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_malformed_form_is_a_400_that_names_the_part_and_what_to_do(server, scratch, case):
    body, wanted = REFUSED[case]
    reply = server.http.post("/score", content=body, headers={"Content-Type": TYPE})
    assert reply.status_code == 400
    assert wanted in reply.json()["error"]
    assert reply.json()["hint"] or "JSON" in reply.json()["error"]
    assert left_over(scratch) == []


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=" + "b" * 300])
def test_a_boundary_that_is_missing_or_too_long_is_refused(server, kind):
    assert server.http.post("/score", content=form([JSON]), headers={"Content-Type": kind}).status_code == 400


def test_only_the_servers_own_path_reads_forms(serve):
    with serve("--protocol", "slime") as server:
        for path, kind in (("/reward", TYPE), ("/score", "multipart/mixed; boundary=b")):
            reply = server.http.post(path, content=form([JSON]), headers={"Content-Type": kind})
            assert (reply.status_code, reply.json()["error"]) == (415, "the body must be JSON")


def test_a_body_that_is_too_large_or_stops_arriving_leaves_no_file(server, scratch):
    head = f"POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: {TYPE}\r\n".encode()
    start = form([JSON], end=b"") + b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(start), start)
    endless, slow, gone = (server.connect(chunked) for _ in range(3))
    until(lambda: len(left_over(scratch)) == 3, "the forms to begin")
    gone.close()
    with suppress(ConnectionError):
        for _ in range(40):
            endless.sendall(b"%x\r\n%s\r\n" % (2**20, b"x" * 2**20))
    until(lambda: server.metric('verikit_requests_total{code="413"}') == 1, "the endless body to be refused")
    assert b" 408 " in slow.recv(100)
    until(lambda: not left_over(scratch), "the files to be removed")


def test_the_files_of_a_client_that_goes_away_are_removed(serve, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    body = form([("request", json.dumps({"completion": f"hold {tmp_path}/x", "answer": "x"}).encode()), ("a", b"1")])
    head = f"POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: {TYPE}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with serve() as server:
        client = server.connect(head + body)
        until((tmp_path / "x.begun").exists, "the sample to be scored")
        assert len(left_over(tmp_path)) == 1
        client.close()
        until(lambda: not left_over(tmp_path), "the files to be removed")
        (tmp_path / "x.go").touch()
        assert server.recovers()


NO_FOLDER = 'raise FileNotFoundError(2, "No usable temporary directory found in [...]")'
FULL = "raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))"


@pytest.mark.parametrize(
    ("name", "problem", "folder"),
    [("open", FULL, "{tmp}"), ("TemporaryDirectory", FULL, "{tmp}"), ("gettempdir", NO_FOLDER, "a temporary folder")],
)
def test_a_full_disk_is_a_503_and_a_line_of_the_log_that_names_the_folder(serve, tmp_path, log, name, problem, folder):
    lines = [f"import errno, os, tempfile; tempfile.tempdir = {str(tmp_path)!r}", "import verikit.serve.forms as forms"]
    lines.append(f"def full(*a, **k): {problem}")
    lines += [f"forms.{each} = full" for each in {name, "TemporaryDirectory" if name == "gettempdir" else name}]
    with serve(spec=SPEC, before="\n".join(lines)) as server:
        reply = posted(server, {"workspace": {"after": "a"}}, {"a/b": b"1"})
        assert (reply.status_code, reply.json()["error"][:42]) == (503, "the files of the request can't be stored: ")
        assert server.score("x").status_code == 200
    told = [line for line in log.read_text().splitlines() if "can't be stored" in line]
    assert len(told) == 1
    assert f"in {folder.format(tmp=tmp_path)}: " in told[0]
    assert "free disk space there, or restart with TMPDIR=FOLDER" in told[0]


def read(body, sizes):
    with forms.RequestForm(TYPE) as reading:
        at = 0
        for size in sizes:
            reading.write(body[at : at + size])
            at += size
        reading.write(body[at:])
        return reading.finish()


def told(body, sizes):
    """The JSON of a form, or what is wrong with it."""
    try:
        return read(body, sizes)
    except forms.InvalidForm as error:
        return re.sub(r"\d+", "", str(error))  # the parser counts within a piece


@given(st.lists(st.integers(0, 50), max_size=30), st.sampled_from(sorted(REFUSED)))
def test_a_form_is_read_the_same_in_any_pieces(sizes, case):
    assert told(form([("request", b"\r\n--\r\n-b--"), ("a", b"1")]), sizes) == b"\r\n--\r\n-b--"
    assert told(REFUSED[case][0], sizes) == told(REFUSED[case][0], [])


@given(st.lists(st.sampled_from([b"--b", b"--", b"\r\n", b"\r", b"a", b": ", b'name="a"', b"\xff", b"form-data;"])))
def test_no_body_raises_anything_else(pieces):
    assert isinstance(told(b"--b\r\nContent-Disposition: " + b"".join(pieces), []), str)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_and_the_client_of_the_page_work(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started, command = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert started == f'verikit serve "{SPEC}"\n'
    done = subprocess.run(
        ["bash", "-ec", command.replace("localhost:8000", f"127.0.0.1:{server.port}")], capture_output=True
    )
    assert json.loads(done.stdout)["scores"][0]["value"] == 1.0
    [client] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(client.replace("localhost:8000", f"127.0.0.1:{server.port}"), "serve.md", "exec"), {"httpx": httpx})
