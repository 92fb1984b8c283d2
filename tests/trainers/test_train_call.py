"""`verikit.train`: the command's run as a call."""

import json

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import verikit  # noqa: E402
from tests.results.test_html import assert_harmless  # noqa: E402
from tests.trainers.conftest import TINY  # noqa: E402
from verikit.cli import cli  # noqa: E402
from verikit.errors import ConfigError, UsageError  # noqa: E402

SETTINGS = {
    "options": {"held_out_size": 16, "prompts": 4, "samples": 4},
    "warmup": {"steps": 2, "gate": 0},
    "run": {"steps": 2, "save_every": 1, "evaluate_every": 1, "samples_every": 1},
}
UNEQUAL = ("seconds", "seconds_step", "tokens_per_second", "memory_mb")


def logged(path):
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if not key.startswith(UNEQUAL)} for row in rows]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return verikit.train("arithmetic", out=tmp_path_factory.mktemp("trained") / "run", quiet=True, **SETTINGS)


def test_a_call_trains_as_the_command_does(run, tmp_path):
    sets = {**TINY, "run.steps": 2, "run.save_every": 1, "run.evaluate_every": 1, "run.samples_every": 1}
    arguments = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    CliRunner().invoke(cli, ["train", "arithmetic", "-o", str(tmp_path / "run"), "-q", *arguments])
    assert logged(run.folder) == logged(tmp_path / "run")
    assert json.loads((run.folder / "config.json").read_text()) == json.loads(
        (tmp_path / "run/config.json").read_text()
    )


def test_a_run_tells_its_summary_and_shows_its_curves(run):
    assert run.summary["steps"] == 2
    assert set(run.summary["reward"]) == {"first", "last"}
    assert "held out" in repr(run)
    text = run._repr_html_()
    assert_harmless(text)
    assert text.count("<svg") == 2
    assert len(list(run.samples())) > 0


def test_a_frame_has_a_row_for_each_line_of_metrics(run):
    pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert list(frame[frame.reward.notna()].step) == [1, 2]


def test_a_run_goes_on_and_exports_its_model(run, tmp_path):
    copied = run.save(tmp_path / "copy")
    more = verikit.train(resume=copied, run={"steps": 3}, quiet=True)
    assert [row["step"] for row in more.records() if "reward" in row] == [1, 2, 3]
    assert more.notes == ["changed: run.steps: 2 -> 3"]
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(more.export(tmp_path / "model")).num_parameters() > 90_000
    with pytest.raises(ConfigError, match="another seed"):
        verikit.train(resume=copied, seed=1, quiet=True)


def test_a_run_is_not_trained_over_and_wrong_settings_are_named(run, tmp_path):
    with pytest.raises(ConfigError, match="contains a run"):
        verikit.train("arithmetic", out=run.folder, quiet=True, **SETTINGS)
    for settings, told in (
        ({"run": {"stepz": 1}}, "stepz"),
        ({"run": {"steps": None}}, "None is not a valid setting"),
        ({"run": {"steps": object()}}, "run.steps"),
        ({"options": 3}, "options is a table"),
    ):
        with pytest.raises(ConfigError, match=told):
            verikit.train("arithmetic", out=tmp_path / "run", quiet=True, **settings)
    with pytest.raises(UsageError, match="config or resume"):
        verikit.train()


def test_rows_of_options_become_files_and_settings_reach_the_run_as_given(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr("verikit.trainers.call.run_training", lambda settings, path, **more: taken.append(settings))
    rows = [{"prompt": f"{i}+{i}=", "answer": str(2 * i)} for i in range(3)]
    settings = {"options": {"data": rows, "map": {"prompt": "prompt"}, "chat": False}, "optimizer": {"lr": 1e-5}}
    verikit.train({"recipe": "single-turn", "name": "mine"}, out=tmp_path / "run", **settings)
    assert taken[0].options["data"] == str(tmp_path / "run" / "data.jsonl")
    assert [json.loads(line) for line in (tmp_path / "run" / "data.jsonl").read_text().splitlines()] == rows
    assert (taken[0].optimizer.lr, taken[0].options["chat"]) == (1e-5, False)
    assert taken[0].options["map"] == {"prompt": "prompt"}


def test_an_interrupt_says_how_to_go_on(tmp_path, monkeypatch):
    def pressed(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("verikit.trainers.grpo.Trainer.run", pressed)
    with pytest.raises(KeyboardInterrupt) as caught:
        verikit.train("arithmetic", out=tmp_path / "run", quiet=True, **SETTINGS)
    assert "resume=" in caught.value.__notes__[0]


def test_an_interrupt_before_anything_is_written_promises_nothing(tmp_path, monkeypatch):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    for module in ("call", "cli"):
        monkeypatch.setattr(f"verikit.trainers.{module}.run_training", pressed)
    with pytest.raises(KeyboardInterrupt) as caught:
        verikit.train("arithmetic", out=tmp_path / "run", quiet=True, **SETTINGS)
    assert not hasattr(caught.value, "__notes__")
    told = CliRunner().invoke(cli, ["train", "arithmetic", "-o", str(tmp_path / "run")], standalone_mode=False)
    assert "no checkpoint yet" in told.output
    assert "--resume" not in told.output
