"""Folders from a stranger (runs, indexes, caches) are data: whatever stands in their files, no code runs, and links in
them lead nothing out. An attack is planted in every file of a folder of every kind, then every command reads it.
"""

import json
import os
import pickle
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.retrieval.worlds import write_corpus
from verikit.cli import main
from verikit.engines.cache import Cache
from verikit.engines.types import Generation, Output
from verikit.errors import ConfigError, SpecError, UsageError
from verikit.platform.folders import check_code, code_only_from, refuse_links

JUDGE = ROOT / "examples/judge"
PLANTED = """
import os
open(os.path.join(os.path.dirname(__file__), "ran"), "w").close()
class attack:
    def __init__(self, *arguments, **options):
        pass
    def encode(self, texts, role):
        raise SystemExit("the planted encoder ran")
"""


class Pickled:
    """Makes the mark that code ran when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


@pytest.fixture
def verikit(monkeypatch, tmp_path, capsys):
    """The command in this process, in a folder whose `planted.py` leaves the file `ran` when it is imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(*arguments):
        sys.modules.pop("planted", None)
        monkeypatch.setattr(sys, "argv", ["verikit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), "".join(capsys.readouterr())

    return run


def score_run(folder):
    file = folder / "in.jsonl"
    rows = [{"id": str(i), "prompt": "?", "completions": ["1", "no"], "answer": "1"} for i in range(4)]
    file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, ["no row"]]))
    command = ("score", file, "-v", "exact", "--select", "majority", "-o", folder / "run", "-q", "--fail-over", "90%")
    readers = (
        (*command, "--retry-errors"),
        ("report", folder / "run"),
        ("report", folder / "run", "--html", folder / "page.html"),
        (*command, "--restart"),
    )
    return command, readers


def judge_run(folder):
    spec = f"pairwise('replay:{JUDGE}/judge.jsonl')"
    files = (JUDGE / "ours.jsonl", JUDGE / "theirs.jsonl")
    command = ("judge", *files, "-j", spec, "-o", folder / "run", "-q", "--fail-over", "50%")
    return command, (command, ("report", folder / "run", "--html", folder / "page.html"), (*command, "--restart"))


def eval_run(folder):
    pytest.importorskip("lm_eval")
    rows = [{"id": str(i), "question": f"{i}+1?", "answer": str(i + 1)} for i in range(3)]
    for name, extra in (("data.jsonl", {}), ("stored.jsonl", {"output": "\\boxed{2}"})):
        (folder / name).write_text("".join(json.dumps(row | extra) + "\n" for row in rows))
    model = ("--model", f"replay:{folder}/stored.jsonl", "--data", folder / "data.jsonl")
    command = ("eval", "verikit_math500", *model, "-o", folder / "run", "-q", "--fail-over", "100%")
    page = ("report", folder / "run", "--html", folder / "page.html")
    return command, (command, ("compare", folder / "run", folder / "run"), page)


def index(folder):
    pytest.importorskip("bm25s")
    pytest.importorskip("faiss")
    corpus = write_corpus(folder / "corpus.jsonl", 20)
    own = "tests.retrieval.worlds:Hashed"
    command = ("index", "build", corpus, "-o", folder / "run", "--encoder", own, "-q")
    asked = [("index", "search", f"{kind}:{folder / 'run'}", "w1") for kind in ("bm25", "dense", "hybrid")]
    named = ("index", "search", f"dense:{folder / 'run'}#{own}", "w1")
    return command, (*asked, named, command)


KINDS = {"score": score_run, "judge": judge_run, "eval": eval_run, "index": index}


def files_of(run):
    return sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file())


def renamed(value, text):
    """JSON with another text in the place of each."""
    match value:
        case dict():
            return {key: renamed(item, text) for key, item in value.items()}
        case list():
            return [renamed(item, text) for item in value]
        case str():
            return text
    return value


def plants(data, mark):
    """Contents for the place of a file's: pickled code, and its own JSON with names of code for texts."""
    yield pickle.dumps(Pickled(mark))
    for name in ("planted:attack", "planted.py:attack"):
        try:
            rows = [renamed(json.loads(data), name)]
        except ValueError:
            try:
                rows = [renamed(json.loads(line), name) for line in data.splitlines()]
            except ValueError:
                return
        yield b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_of_a_folder_runs_code(verikit, tmp_path, kind):
    command, readers = KINDS[kind](tmp_path)
    code, out = verikit(*command)
    assert code == 0, out
    shutil.copytree(tmp_path / "run", tmp_path / "clean")
    for name in files_of(tmp_path / "run"):
        for content in plants((tmp_path / "clean" / name).read_bytes(), tmp_path / "ran"):
            for reader in readers:
                shutil.rmtree(tmp_path / "run")
                shutil.copytree(tmp_path / "clean", tmp_path / "run")
                (tmp_path / "run" / name).write_bytes(content)
                _, told = verikit(*reader)
                assert not (tmp_path / "ran").exists(), (name, reader, content[:80])
                assert "Traceback" not in told
                assert "planted encoder ran" not in told


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_in_the_place_of_any_file_is_refused_by_name_and_never_followed(verikit, tmp_path, kind):
    command, readers = KINDS[kind](tmp_path)
    assert verikit(*command)[0] == 0
    shutil.copytree(tmp_path / "run", tmp_path / "clean")
    victim = tmp_path / "elsewhere"
    names = files_of(tmp_path / "run")
    for name in [*names, *(f".{Path(name).name}.new" for name in names), ".next", "passages.jsonl.part"]:
        for reader in readers:
            shutil.rmtree(tmp_path / "run")
            shutil.copytree(tmp_path / "clean", tmp_path / "run")
            path = tmp_path / "run" / name
            victim.write_bytes(path.read_bytes() if path.exists() else b"mine")
            before = victim.read_bytes()
            path.unlink(missing_ok=True)
            path.symlink_to(victim)
            code, told = verikit(*reader)
            assert code == 2, (reader, told)
            assert f"{path} is a link that leads out of its folder" in told
            assert victim.read_bytes() == before


def test_links_within_a_folder_are_its_own_affair_and_pipes_are_refused(tmp_path):
    run = tmp_path / "run"
    (run / "1").mkdir(parents=True)
    (run / "latest").symlink_to("1")
    refuse_links(run)
    (tmp_path / "also").symlink_to(run)
    refuse_links(tmp_path / "also")
    refuse_links(tmp_path / "absent")
    os.mkfifo(run / "1/pipe")
    with pytest.raises(UsageError, match="pipe must be a file or a folder"):
        refuse_links(run)
    (run / "1/pipe").unlink()
    for target in ("../..", "loop", "/etc"):
        (run / "loop").symlink_to(target)
        with pytest.raises(UsageError, match=r"loop (is a link|can't be followed)"):
            refuse_links(run)
        (run / "loop").unlink()


def test_only_what_a_tracker_keeps_within_its_own_folder_may_lead_out(tmp_path):
    run = tmp_path / "run"
    (run / "wandb").mkdir(parents=True)
    (run / "wandb/debug.log").symlink_to("/etc")
    refuse_links(run)
    (run / "more").mkdir()
    (run / "more/wandb").mkdir()
    (run / "more/wandb/debug.log").symlink_to("/etc")
    with pytest.raises(UsageError, match=r"debug\.log is a link that leads out"):
        refuse_links(run)
    shutil.rmtree(run)
    run.mkdir()
    (run / "wandb").symlink_to("/etc")
    with pytest.raises(UsageError, match="wandb is a link that leads out"):
        refuse_links(run)


def test_settings_from_a_folder_name_only_code_that_its_reader_names_too():
    from verikit.names.spec import load, load_selector
    from verikit.retrieval import load_retriever
    from verikit.retrieval.encoder import own_encoder

    with code_only_from(["json:loads"]):
        check_code("json:loads")
        for loads in (load, load_selector, load_retriever, own_encoder):
            with pytest.raises(SpecError, match="may not be trustworthy"):
                loads("planted:attack")
        for spec in ("some.toml#verifier", " planted.py:attack "):
            with pytest.raises(SpecError, match="may not be trustworthy"):
                load(spec)
        assert load("exact").name == "exact"
    check_code("planted:attack")


def test_a_cache_that_holds_more_than_generations_is_refused(tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    with closing(cache.connect()) as connection:
        cache.put(connection, "key", "engine", Generation((Output("text"),)))
    with closing(cache.connect()) as connection:
        assert cache.get(connection, ["key"])
    for statement in (
        "CREATE TRIGGER planted AFTER INSERT ON generations BEGIN DELETE FROM generations; END",
        "CREATE VIEW planted AS SELECT load_extension('planted')",
    ):
        shutil.copy(cache.path, tmp_path / "planted.sqlite")
        with closing(sqlite3.connect(tmp_path / "planted.sqlite")) as connection:
            connection.execute(statement)
        with pytest.raises(ConfigError, match="contains more than generations"):
            Cache(tmp_path / "planted.sqlite").connect()


def test_a_cached_value_that_was_pickled_is_a_miss(tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    with closing(cache.connect()) as connection:
        value = pickle.dumps(Pickled(tmp_path / "ran"))
        connection.execute("INSERT INTO generations VALUES ('key', 'engine', 0, ?)", (value,))
        assert cache.get(connection, ["key"]) == {}
    assert not (tmp_path / "ran").exists()
