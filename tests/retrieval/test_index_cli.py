import json
import signal
import socket
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

pytest.importorskip("bm25s")
pytest.importorskip("faiss")

from tests.conftest import ROOT
from tests.retrieval.worlds import write_corpus
from verikit.cli import cli
from verikit.errors import MissingExtra, SchemaError, SpecError, UsageError
from verikit.retrieval import Client, load_retriever

HASHED = "tests.retrieval.worlds:Hashed"


def run(*args):
    return CliRunner().invoke(cli, list(map(str, args)), standalone_mode=False)


@pytest.fixture
def index(tmp_path):
    corpus = write_corpus(tmp_path / "corpus.jsonl", count=50)
    done = run("index", "build", corpus, "-o", tmp_path / "index", "--graph", "--encoder", HASHED)
    assert done.exception is None, done.output
    assert "50 passages. Search with bm25:" in done.stderr
    assert f"hybrid:{tmp_path / 'index'}#{HASHED}, graph:bm25:{tmp_path / 'index'}, graph:dense:" in done.stderr
    assert f"graph:hybrid:{tmp_path / 'index'}#{HASHED}\n" in done.stderr
    return tmp_path / "index"


@pytest.mark.parametrize("kind", ["bm25", "dense", "hybrid", "two-step:bm25", "graph:bm25", "graph:hybrid"])
def test_every_kind_is_asked_by_its_spec(index, kind):
    code = "" if "bm25" in kind else f"#{HASHED}"
    done = run("index", "search", f"{kind}:{index}{code}", "w1 w2", "w3 w4 w5", "-k", "2", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["query"] for row in rows] == ["w1 w2", "w3 w4 w5"]
    assert all(len(row["passages"]) == 2 and row["passages"][0]["title"].startswith("t") for row in rows)
    shown = run("index", "search", f"{kind}:{index}{code}", "w1").stdout
    assert shown.startswith("w1\n  1. t")


def test_a_query_that_finds_nothing_says_none(index):
    assert run("index", "search", f"bm25:{index}", "unheard").stdout == "unheard\n  None\n"


def test_recall_is_printed_for_questions_with_golds(index, tmp_path):
    questions = tmp_path / "questions.jsonl"
    texts = load_retriever(f"bm25:{index}").passages
    rows = [{"prompt" if n % 2 else "question": p.text, "gold_titles": [p.title]} for n, p in enumerate(texts)]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    metrics = json.loads(run("index", "search", f"bm25:{index}", "--questions", questions, "--json").stdout)
    assert metrics["recall@1"] == metrics["mrr"] == 1.0
    (tmp_path / "none.json").write_text("[]")
    with pytest.raises(UsageError, match="contains no questions"):
        raise run("index", "search", f"bm25:{index}", "--questions", tmp_path / "none.json").exception
    questions.write_text('{"question": "x", "gold_titles": []}\n')
    with pytest.raises(SchemaError, match=r"questions.jsonl:1: field 'gold_titles'"):
        raise run("index", "search", f"bm25:{index}", "--questions", questions).exception


def test_wrong_use_is_told(index, tmp_path):
    for args, kind, problem in [
        (("search", f"bm25:{tmp_path}", "x"), UsageError, "is not an index"),
        (("search", "nonsense", "x"), SpecError, "retriever 'nonsense' not found"),
        (("search", "no.module:x", "x"), SpecError, "can't be loaded"),
        (("build", tmp_path / "none.jsonl", "-o", tmp_path / "new"), UsageError, "can't be read"),
    ]:
        assert isinstance(error := run("index", *args).exception, kind), error
        assert problem in str(error)
    assert "give queries" in str(run("index", "search", f"bm25:{index}").exception)
    assert "--no-bm25 requires --encoder" in str(run("index", "build", index, "-o", "x", "--no-bm25").exception)


def test_a_missing_extra_is_named(index, monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    monkeypatch.delitem(sys.modules, "verikit.retrieval.bm25", raising=False)
    with pytest.raises(MissingExtra, match="'retrieval'"):
        load_retriever(f"bm25:{index}")


def test_a_killed_build_goes_on_to_the_same_vectors(tmp_path):
    corpus = write_corpus(tmp_path / "corpus.jsonl", count=3000)
    vectors = tmp_path / "killed" / "dense" / "vectors.f32"
    how = ["index", "build", corpus, "--no-bm25", "-q", "--encoder", "tests.retrieval.worlds:Slow", "-o"]
    command = [sys.executable, "-m", "verikit", *map(str, how), str(tmp_path / "killed")]
    with subprocess.Popen(command, cwd=ROOT) as build:
        while not (vectors.exists() and vectors.stat().st_size):
            assert build.poll() is None
            time.sleep(0.02)
        build.kill()
    assert 0 < vectors.stat().st_size < 3000 * 32 * 4
    for folder in ("killed", "whole"):
        done = run(*how, tmp_path / folder)
        assert done.exception is None, done.output
    assert vectors.read_bytes() == (tmp_path / "whole" / "dense" / "vectors.f32").read_bytes()


def test_a_served_index_answers_until_it_is_interrupted(index):
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "verikit", "index", "serve", f"bm25:{index}", "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            found = Client(f"http://127.0.0.1:{port}/queries", retries=8, pause_s=0.1).retrieve(["w1"], 2)
            assert [passage.content for passage in found[0]] == [
                passage.content for passage in load_retriever(f"bm25:{index}").retrieve(["w1"], 2)[0]
            ]
        finally:
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=20)
    assert said.startswith(f"Serving bm25:{index} at http://127.0.0.1:{port}/queries\n")
    assert "Traceback" not in said
