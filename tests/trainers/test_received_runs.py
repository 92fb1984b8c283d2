"""A training run from a stranger is data: no file of it runs code on --resume, export or report."""

import json
import pickle
import shutil
import sys
from contextlib import suppress

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.test_folders import PLANTED, Pickled, files_of, plants  # noqa: E402
from tests.trainers.conftest import TINY, make  # noqa: E402
from verikit.cli import cli  # noqa: E402
from verikit.errors import SpecError, TrainerError, UsageError, VerikitError  # noqa: E402
from verikit.trainers.run import read_settings  # noqa: E402

SETS = {**TINY, "run.steps": 1, "run.save_every": 1, "run.evaluate_every": 0, "kl.coefficient": 0.01}


def run(*arguments):
    done = CliRunner().invoke(cli, list(map(str, arguments)), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    run("train", "-q", "arithmetic", "-o", folder / "run", *(x for k, v in SETS.items() for x in ("--set", f"{k}={v}")))
    return folder / "run"


@pytest.fixture
def received(clean, tmp_path, monkeypatch):
    shutil.copytree(clean, tmp_path / "run")
    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("planted", None)
    return tmp_path / "run"


def resume(received, *changes):
    run("train", "-q", "--resume", received, "--set", "run.steps=2", *changes)


def export(received):
    run("export", received, "-o", received.parent / "model")


def checkpoint(received, *, last=False):
    found = sorted((received / "checkpoints").iterdir())
    return found[-1] if last else next((received / "checkpoints").iterdir())


@pytest.mark.parametrize("reads", [resume, export])
def test_pickled_code_in_the_metadata_of_a_checkpoint_does_not_run(received, reads):
    (checkpoint(received) / ".metadata").write_bytes(pickle.dumps(Pickled(received.parent / "ran")))
    with pytest.raises(TrainerError, match=r"\.metadata names io\.open, which is not part of a checkpoint"):
        reads(received)
    assert not (received.parent / "ran").exists()


def test_metadata_may_not_lead_to_files_elsewhere(received):
    path = checkpoint(received) / ".metadata"
    with open(path, "rb") as stream:
        metadata = pickle.load(stream)
    elsewhere = received.parent / "elsewhere"
    for index, stored in metadata.storage_data.items():
        shutil.copy(checkpoint(received) / stored.relative_path, elsewhere)
        metadata.storage_data[index].relative_path = str(elsewhere)
    path.write_bytes(pickle.dumps(metadata))
    with pytest.raises(TrainerError, match="leads out of the folder, to "):
        export(received)


def test_pickled_code_among_the_values_of_a_checkpoint_does_not_run(received):
    """As torch writes it: a setting of the optimizer that is no tensor is pickled into the shard."""
    mark = received.parent / "ran"
    trainer = make(received, read_settings(received), resume=True)
    trainer.learner.optimizer.param_groups[0]["eps"] = Pickled(mark)
    trainer.step += 1
    trainer._save()
    trainer.close()
    trainer.folder.close()
    assert not mark.exists()
    with pytest.raises(TrainerError, match=r"can't read the checkpoint .*\.eps contains code"):
        resume(received)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("recipe", "planted:attack"),
        ("options.reward", "planted:attack"),
        ("options.reward", "planted.py:attack"),
        ("options.reward", "planted.toml#attack"),
    ],
)
def test_code_that_a_runs_settings_name_is_imported_only_if_the_command_line_names_it(received, key, value):
    (received.parent / "planted.toml").write_text("[verifiers]\nattack = 'planted.py:attack'\n")
    config = json.loads((received / "config.json").read_bytes())
    table, _, last = key.rpartition(".")
    (config[table] if table else config)[last] = value
    if table:
        export(received)
        config |= {"recipe": "single-turn", "options": {"reward": value, "data": "none.jsonl"}}
        config["model"]["path"] = str(received.parent / "model")
    (received / "config.json").write_text(json.dumps(config))
    with pytest.raises(SpecError, match="may not be trustworthy") as refused:
        resume(received)
    assert refused.value.hint.split("command line: ")[1].replace("'", "") == f"--set {key}={value}"
    assert not (received.parent / "ran").exists()
    with pytest.raises((VerikitError, AttributeError)):  # it is imported now, and is neither recipe nor reward
        resume(received, "--set", f"{key}={value}")
    assert (received.parent / "ran").exists()


def test_a_link_that_leads_out_of_a_run_is_refused_by_name(received):
    mine = received.parent / "mine"
    mine.write_text("mine")
    for name in ("metrics.jsonl", "config.json", ".lock", f"checkpoints/{checkpoint(received).name}/state.json"):
        data = (received / name).read_bytes()
        (received / name).unlink()
        (received / name).symlink_to(mine)
        for reads in (resume, export):
            with pytest.raises(UsageError, match=f"{name} is a link that leads out of its folder"):
                reads(received)
        (received / name).unlink()
        (received / name).write_bytes(data)
    assert mine.read_text() == "mine"


def test_a_link_that_wandb_made_leads_out_of_its_own_folder_and_stops_nothing(received):
    logs = received / "wandb/offline-run-1/logs"
    logs.mkdir(parents=True)
    (received.parent / "cache.log").write_text("debug")
    (logs / "debug-core.log").symlink_to(received.parent / "cache.log")
    (received / "wandb/latest-run").symlink_to("offline-run-1")
    resume(received)
    export(received)
    run("report", received, "--html", received.parent / "page.html")
    assert (received.parent / "page.html").exists()


STATES = {
    "pickled code": lambda mark, state: pickle.dumps(Pickled(mark)),
    "nothing": lambda mark, state: b"",
    "a list": lambda mark, state: b"[]",
    "nesting": lambda mark, state: b"[" * 100_000,
    "a step that is text": lambda mark, state: json.dumps(state | {"step": "1"}).encode(),
    "no phase": lambda mark, state: json.dumps({**state, "phase": None}).encode(),
    "a recipe's state of another": lambda mark, state: json.dumps(state | {"recipe": {"x": 1}}).encode(),
    "sizes that are none": lambda mark, state: json.dumps(state | {"logs": {"metrics.jsonl": "9"}}).encode(),
}


@pytest.mark.parametrize("kind", STATES)
def test_a_damaged_state_of_a_checkpoint_ends_with_a_message(received, kind):
    path = checkpoint(received, last=True) / "state.json"
    path.write_bytes(STATES[kind](received.parent / "ran", json.loads(path.read_text())))
    with pytest.raises(TrainerError, match=r"can't (read|go on from) .*1-train-00000001"):
        resume(received)
    assert not (received.parent / "ran").exists()


@pytest.mark.slow
def test_no_file_of_a_training_run_runs_code(received, clean):
    for name in files_of(clean):
        for content in plants((clean / name).read_bytes(), received.parent / "ran"):
            for reads in (resume, export, lambda run_: run("report", run_, "--html", run_.parent / "page.html")):
                shutil.rmtree(received)
                shutil.rmtree(received.parent / "model", ignore_errors=True)
                shutil.copytree(clean, received)
                (received / name).write_bytes(content)
                sys.modules.pop("planted", None)
                with suppress(VerikitError):  # a message; any other exception is a traceback
                    reads(received)
                assert not (received.parent / "ran").exists(), (name, content[:80])
