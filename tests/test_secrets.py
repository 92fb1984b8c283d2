"""Keys never reach a file or a message: struck out by where they stand, and specs that hold them are refused first."""

import http.server
import json
import sys
import threading

import pytest

from tests.test_folders import verikit  # noqa: F401 - a fixture
from verikit.errors import VerikitError
from verikit.platform.raised import describe
from verikit.platform.secrets import strike, strike_all

KEY = "PLANTED1234567secretvalue"


@pytest.mark.parametrize(
    "form",
    [
        "openai:http://user:{}@host/v1#m",
        "https://{}@host/v1",
        "http://host/v1?api_key={}#m",
        "http://host/v1?a=b&access_token={}&c=d",
        "openai:http://host/v1#m?api_key={}",
        "http://host/v1#m&sig={}",
        "http://host/v1?X-Amz-Signature={}",
        "judge('openai:http://h/v1#m', options={{'api_key': '{}'}})",
        '{{"api_key": "{}"}}',
        '{{"headers": {{"Authorization": "Bearer {}"}}}}',
        "Authorization: Bearer {}",
        "authorization=Basic {}",
        "x-api-key: {}",
        "OPENAI_API_KEY={}",
        "--set options.password={}",
        "client_secret='{}'",
        "the server said: Bearer {}",
        "Incorrect API key provided: sk-{}",
        "hf_{}",
    ],
)
def test_a_key_is_struck_out_wherever_it_stands(form):
    text = form.format(KEY)
    for shown in (
        strike(text),
        str(VerikitError(text, hint=text)),
        VerikitError("", hint=text).hint,
        describe(ValueError(text)),
        json.dumps(strike_all({"a": [text, {"b": text}]})),
    ):
        assert KEY not in shown
        assert "***" in shown or shown == ""
    assert KEY not in json.dumps(strike_all({"api_key": KEY, "Authorization": KEY}))


@pytest.mark.parametrize(
    "text",
    [
        "the key 'x' is missing: --map answer=key",
        "tokens=512, max_tokens=300, top_k=5",
        "openai:http://host:8000/v1#Qwen/Qwen2.5-0.5B-Instruct@main",
        "0.9*answer + 0.1*boxed",
        "column('secretary')",
        "a token is a word: token by token",
        "x@y.z wrote: the password is never asked",
        "risk-free basic arithmetic, sk-1",
    ],
)
def test_texts_without_keys_are_left_alone(text):
    assert strike(text) == text


@pytest.mark.parametrize(
    "hostile",
    ["://", "://a", "api_key=", "?key", "?a-", "Bearer ", "authorization:", "a-", "sk-a", "?key='", "api_key: '"],
)
def test_striking_is_linear(linear, hostile):
    linear(strike, hostile)


class Echo(http.server.BaseHTTPRequestHandler):
    """Refuses every request, and repeats its headers."""

    def do_POST(self):
        body = json.dumps({"error": {"message": f"no: {dict(self.headers)}"}}).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *arguments):
        pass


@pytest.fixture
def echo():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


SPECS = [
    "openai:http://user:{}@127.0.0.1:9/v1#m",
    "openai:http://127.0.0.1:9/v1?api_key={}#m",
    "openai:http://127.0.0.1:9/v1#m?api_key={}",
    "openai:http://127.0.0.1:9/v1#m&token={}",
    "openai:ECHO#m",
]


def leaks(folder, told):
    assert KEY not in told, told
    assert [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def rows(folder):
    row = {"id": "1", "prompt": "1+1?", "question": "1+1?", "completions": ["2", "3"], "answer": "2", "output": "2"}
    for name in ("in.jsonl", "other.jsonl"):
        (folder / name).write_text(json.dumps(row) + "\n")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("command", ["score", "by", "options", "judge"])
def test_no_run_leaves_a_key_in_a_file_or_a_message(verikit, tmp_path, monkeypatch, echo, spec, command):  # noqa: F811
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache.sqlite"))
    rows(tmp_path)
    spec = spec.replace("ECHO", echo).format(KEY)
    body = f"options={{'retries': 0, 'body': {{'headers': {{'Authorization': 'Bearer {KEY}'}}, 'api_key': '{KEY}'}}}}"
    commands = {
        "score": ("score", "in.jsonl", "-v", f"judge({spec!r})"),
        "by": ("score", "in.jsonl", "-v", "exact", "--by", f"judge({spec!r}, options={{'api_key': {KEY!r}}})"),
        "options": ("score", "in.jsonl", "-v", f"judge({spec!r}, {body})"),
        "judge": ("judge", "in.jsonl", "-j", f"pairwise({spec!r})"),
    }
    code, told = verikit(*commands[command], "-o", tmp_path / "run")
    assert code != 0
    if "ECHO" not in spec and echo not in spec:
        assert not (tmp_path / "run").exists()
    leaks(tmp_path, told)


@pytest.mark.parametrize("spec", SPECS)
def test_no_evaluation_leaves_a_key(verikit, tmp_path, monkeypatch, echo, spec):  # noqa: F811
    pytest.importorskip("lm_eval")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache.sqlite"))
    rows(tmp_path)
    spec = spec.replace("ECHO", echo).format(KEY)
    data = ("--data", "in.jsonl", "-o", tmp_path / "run", "--fail-over", "100%")
    found = [
        verikit("eval", "verikit_math500", "--model", "replay:other.jsonl", "--judge", spec, *data),
        verikit("eval", "verikit_math500", "--model", spec, "--model-args", f"api_key={KEY}", *data),
        verikit(
            "eval", "verikit_math500", "--model", "replay:other.jsonl", "--by", f"judge({spec!r})", *data, "--restart"
        ),
        verikit("index", "search", f"http://user:{KEY}@127.0.0.1:9/queries", "q"),
        verikit("index", "search", f"http://127.0.0.1:9/queries?token={KEY}", "q"),
        verikit("serve", f"judge({spec!r}, options={{'api_key': '{KEY}'}})", "--port", "0"),
    ]
    leaks(tmp_path, "".join(told for _, told in found))


def test_a_training_run_writes_no_key(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from verikit.trainers.run import CONFIG, RunFolder

    folder = RunFolder(tmp_path / "run")
    monkeypatch.setattr(sys, "argv", ["verikit", "train", "--set", f"options.api_key={KEY}"])
    from tests.trainers.conftest import settings

    config = settings()
    folder.begin(config.model_copy(update={"options": {"judge": f"openai:http://u:{KEY}@h/v1#m", "api_key": KEY}}), 1)
    folder.close()
    assert (tmp_path / "run" / CONFIG).exists()
    leaks(tmp_path, "")
