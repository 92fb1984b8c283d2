"""Rows of benchmarks without a network: a local copy is read, and otherwise the files to get are named at once."""

import hashlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")

from verikit.errors import UsageError
from verikit.evals import sources
from verikit.evals.data import load
from verikit.evals.fetch import fetch
from verikit.evals.loading import Settings
from verikit.evals.session import run_model
from verikit.evals.sources import PinnedFile, RowSplit, splits_of, task_splits
from verikit.platform import network
from verikit.platform.network import unreachable

ROW = {"question": "1+1?", "answer": "1+1=2\n#### 2"}
TEXT = json.dumps(ROW).encode() + b"\n"
GSM8K = ("openai/gsm8k", "test"), ("openai/gsm8k", "train")


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("VERIKIT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(network.socket, "create_connection", lambda *a, **k: (_ for _ in ()).throw(OSError("no route")))


@pytest.fixture
def server():
    """A server of TEXT at every path, and the pinned file of each split there."""

    class Files(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TEXT)

        def log_message(self, *arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Files) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/{'a' * 40}/rows.jsonl"
        running.shutdown()


def pin(monkeypatch, url, sha256):
    for key in GSM8K:
        monkeypatch.setitem(sources.PINNED, key, PinnedFile(url, sha256, "MIT"))


def test_a_pinned_file_is_fetched_once_and_then_read_by_its_task(monkeypatch, server, folder):
    pin(monkeypatch, server, hashlib.sha256(TEXT).hexdigest())
    told: list[str] = []
    fetch(["gsm8k"], told.append)
    assert (folder / "openai--gsm8k/main/test/rows.jsonl").read_bytes() == TEXT
    found = load(kind="math", task="verikit_gsm8k", hub={"path": "openai/gsm8k", "name": "main", "split": "test"})
    assert found["test"]["question"] == ["1+1?"]
    fetch(["verikit_gsm8k"], told.append)
    assert [line.endswith("has the rows already") for line in told] == [False, False, True, True]


def test_a_file_of_another_content_is_not_kept(monkeypatch, server, folder):
    pin(monkeypatch, server, "0" * 64)
    with pytest.raises(UsageError, match="sha256"):
        fetch(["gsm8k"], print)
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_without_a_network_fetch_says_what_to_get_and_where_to_put_it(offline, folder):
    with pytest.raises(UsageError, match="no connection to raw") as raised:
        fetch(["gsm8k", "verikit_hotpotqa_rag"], print)
    hint = raised.value.hint
    for pinned in (sources.PINNED[key] for key in GSM8K):
        assert all(word in hint for word in (pinned.url, pinned.sha256, pinned.licence))
    assert "hotpot_qa/resolve/refs%2Fconvert%2Fparquet/distractor/validation/0000.parquet" in hint
    assert str(folder / "hotpotqa--hotpot_qa/distractor/validation") in hint


def test_eval_reports_missing_rows_before_it_opens_a_model(offline, tmp_path):
    def run(settings):
        run_model(["verikit_gsm8k"], "nothing.py:here", settings, tmp_path / "run", options={})

    with pytest.raises(UsageError, match="rows of openai/gsm8k are not on this machine") as raised:
        run(Settings())
    assert "--data FILE" in raised.value.hint
    (tmp_path / "rows.jsonl").write_bytes(TEXT)
    with pytest.raises(Exception, match=r"nothing\.py"):
        run(Settings(data=str(tmp_path / "rows.jsonl")))


def test_a_copy_without_few_shot_examples_is_enough_for_a_task_that_shows_none(offline, folder):
    hub = {"path": "openai/gsm8k", "name": "main", "split": "test", "shots": "train"}
    target = splits_of(hub)[0].folder
    target.mkdir(parents=True)
    (target / "any.jsonl").write_bytes(TEXT)
    found = load(kind="math", task="verikit_gsm8k", hub=hub)
    assert (len(found["test"]), list(found["shots"])) == (1, [])


def test_a_name_server_that_never_answers_is_not_waited_for(monkeypatch):
    answer = threading.Event()
    monkeypatch.setattr(network, "SECONDS", 0.05)
    monkeypatch.setattr(network.socket, "create_connection", lambda *a, **k: answer.wait() and socket.socket())
    assert "no connection to example.org" in unreachable("https://example.org")
    answer.set()


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_a_proxy_is_what_must_be_reachable(monkeypatch, scheme):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("https_proxy", f"{scheme}127.0.0.1:{proxy.getsockname()[1]}")
        assert unreachable("https://name.invalid") == ""
        monkeypatch.setenv("no_proxy", "name.invalid")
        assert "no connection to name.invalid" in unreachable("https://name.invalid")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert unreachable("https://name.invalid") == "HF_HUB_OFFLINE is set"


@pytest.mark.parametrize(
    ("hub", "dataset", "url"),
    [
        ({"path": "a/b", "split": "test"}, "a/b", "a/b/resolve/refs%2Fconvert%2Fparquet/default/test/0000.parquet"),
        (
            {"path": "json", "split": "train", "files": "hf://datasets/a/b/c/d*.jsonl"},
            "a/b",
            "a/b/resolve/main/c/d*.jsonl",
        ),
        (
            {"path": "csv", "split": "train", "files": "https://x.org/t.csv"},
            "https://x.org/t.csv",
            "https://x.org/t.csv",
        ),
    ],
)
def test_a_dataset_has_an_address_for_people(hub, dataset, url):
    (split,) = splits_of(hub)
    assert split.dataset == dataset
    assert split.url.endswith(url)
    assert dataset in split.told()


def test_every_shipped_task_has_instructions_or_reads_local_files_only():
    splits = task_splits("all")
    assert {split.dataset for split in splits} >= {dataset for dataset, _ in sources.PINNED}
    assert all(isinstance(split, RowSplit) and split.told() for split in splits)
    assert task_splits("verikit_spider") == []
    with pytest.raises(UsageError, match="no published rows"):
        fetch(["spider"], print)
    with pytest.raises(UsageError) as raised:
        task_splits("gsm9k")
    assert "verikit_gsm8k" in raised.value.hint


def test_a_dataset_of_the_hub_is_fetched_as_its_task_loads_it(monkeypatch, folder):
    import datasets

    asked = []

    def loaded(*path, **options):
        asked.append((*path, options))
        return datasets.Dataset.from_list([{"question": "1+1?", "answer": "2"}])

    monkeypatch.setattr(datasets, "load_dataset", loaded)
    monkeypatch.setattr("verikit.evals.fetch.unreachable", lambda url: "")
    fetch(["bamboogle", "simpleqa", "livecodebench"], print)
    assert asked[0] == ("chiayewken/bamboogle", None, {"split": "test"})
    assert [(kind, options["data_files"]) for kind, options in asked[1:]] == [
        ("csv", task_splits("simpleqa")[0].dataset),
        ("json", "hf://datasets/livecodebench/code_generation_lite/test*.jsonl"),
    ]
    monkeypatch.setattr(datasets, "load_dataset", None)
    hub = {"path": "chiayewken/bamboogle", "split": "test"}
    assert load(kind="qa", task="verikit_bamboogle", hub=hub)["test"]["question"] == ["1+1?"]
