"""The commands: train, resume, export, and what a person is told."""

import json

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.trainers.conftest import TINY  # noqa: E402
from verikit.cli import cli  # noqa: E402
from verikit.errors import ConfigError, SpecError  # noqa: E402
from verikit.trainers.view import View, curve, summary  # noqa: E402

SETS = [
    part
    for key, value in {**TINY, "run.steps": 2, "run.save_every": 1, "run.evaluate_every": 1}.items()
    for part in ("--set", f"{key}={value}")
]


def run(*arguments, catch=False):
    return CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=catch, standalone_mode=False)


def test_a_run_shows_its_table_exports_a_plain_folder_and_goes_on(tmp_path):
    done = run("train", "arithmetic", "-o", tmp_path / "run", *SETS)
    assert "held out" in done.output
    assert "sampled" in done.output
    run("export", tmp_path / "run", "-o", tmp_path / "model")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert 90_000 < model.num_parameters() < 120_000
    assert tokenizer.decode(tokenizer("12+34=").input_ids) == "12+34="
    more = run("train", "--resume", tmp_path / "run", "--set", "run.steps=3")
    assert "changed: run.steps: 2 -> 3" in more.output + (more.stderr or "")
    metrics = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in metrics if "reward" in row] == [1, 2, 3]


def test_an_export_overwrites_a_model_and_no_other_folder(tmp_path):
    run("train", "arithmetic", "-o", tmp_path / "run", *SETS, "--set", "run.steps=1")
    for _ in range(2):
        run("export", tmp_path / "run", "-o", tmp_path / "model")
    for other, told in (
        ("run", "no model"),
        ("model/config.json", "can't write"),
        ("model/config.json/x", "can't write"),
    ):
        with pytest.raises(ConfigError, match=told):
            run("export", tmp_path / "run", "-o", tmp_path / other)


def test_a_resume_with_another_model_is_refused_by_name(tmp_path):
    run("train", "arithmetic", "-o", tmp_path / "run", *SETS)
    with pytest.raises(ConfigError, match="can't be resumed with another seed: 0 -> 1"):
        run("train", "--resume", tmp_path / "run", "--set", "seed=1")


def test_a_run_that_never_took_a_step_is_begun_again_by_the_mended_command(tmp_path):
    with pytest.raises(SpecError, match="verifier 'answr' not found"):
        run("train", "arithmetic", "-o", tmp_path / "run", *SETS, "--set", "options.reward=answr")
    run("train", "arithmetic", "-o", tmp_path / "run", *SETS, "--set", "seed=5")
    with pytest.raises(ConfigError, match="contains a run"):
        run("train", "arithmetic", "-o", tmp_path / "run", *SETS)


def test_relative_paths_start_where_a_shipped_config_is_called_and_where_a_file_lies(tmp_path, monkeypatch):
    from tests.engines import tiny

    tiny.save(tmp_path / "plain")
    row = '{"prompt": "yes", "completion": " no"}\n'
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.jsonl").write_text(row)
    config = (
        'recipe = "sft"\nmodel.path = "../plain"\noptions.data = "rows.jsonl"\nrun.steps = 1\nloss.kind = "likelihood"'
    )
    (tmp_path / "there/my.toml").write_text(config)
    monkeypatch.chdir(tmp_path / "here")
    sets = ["--set", "model.path=../plain", "--set", "options.data=rows.jsonl", "--set", "run.steps=1", "-o", "run"]
    run("train", "sft", *sets)
    (tmp_path / "here/rows.jsonl").unlink()
    run("train", "../there/my.toml", "-o", "other")
    with pytest.raises(ConfigError, match=f"can't read {tmp_path}/here/rows.jsonl"):
        run("train", "sft", *sets[:-1], "third")


def test_a_dry_run_prints_the_resolved_settings_and_trains_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = json.loads(run("train", "arithmetic", "--dry-run", "--set", "run.steps=7").output)
    assert (shown["run"]["steps"], shown["options"]["reward"]) == (7, "answer")
    assert not list(tmp_path.iterdir())


def test_a_model_without_an_end_token_or_a_chat_template_is_named(tmp_path):
    from tests.engines import tiny

    tiny.save(tmp_path / "plain", template=False)
    data = tmp_path / "problems.jsonl"
    data.write_text('{"prompt": "1+1", "answer": "2"}\n' * 4)
    sets = [
        "--set",
        f"options.data={data}",
        "--set",
        "options.held_out_size=1",
        "--set",
        "precision.checkpointing=false",
    ]
    with pytest.raises(ConfigError, match="no chat template") as told:
        run("train", "math", "-o", tmp_path / "a", "--set", f"model.path={tmp_path / 'plain'}", *sets)
    assert "options.chat = false" in told.value.hint
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = tmp_path / "plain" / name
        if path.exists():
            kept = {key: value for key, value in json.loads(path.read_text()).items() if key != "eos_token"}
            path.write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match="no eos token"):
        run("train", "math", "-o", tmp_path / "b", "--set", f"model.path={tmp_path / 'plain'}", *sets)


def test_prompts_over_the_limit_are_left_out_and_all_of_them_too_long_is_an_error(tmp_path):
    from tests.engines import tiny

    tiny.save(tmp_path / "model")
    data = tmp_path / "problems.jsonl"
    data.write_text(('{"prompt": "' + "the quick brown fox " * 20 + '", "answer": "2"}\n') * 4)
    sets = ["--set", f"options.data={data}", "--set", "options.max_prompt_tokens=9", "--set", "options.held_out_size=1"]
    sets += ["--set", f"model.path={tmp_path / 'model'}", "--set", "run.evaluate_every=0"]
    with pytest.raises(ConfigError, match="max_prompt_tokens = 9"):
        run("train", "math", "-o", tmp_path / "a", *sets, "--set", "options.evaluate_samples=0")


def test_the_live_line_tells_step_reward_and_what_is_left():
    from verikit.trainers.config import load_config

    view = View(load_config("arithmetic"))
    row = {"phase": "1-train", "step": 30, "reward": 0.5, "kl": 0.001, "tokens_per_second": 1234.5, "seconds_step": 2.0}
    assert view(row) == ""
    assert view.describe(9.0) == "step 30/60 (50%) · reward 0.500 · KL 0.0010 · 1,234 tok/s · 1:00 left"
    assert view({"phase": "1-train", "step": 30, "held-out/sampled": 0.75}) == "step 30: held-out sampled 0.750"


def test_a_curve_rises_with_its_values():
    assert curve([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert len(curve(list(range(1000)))) <= 24
    assert curve([1.0, 1.0]) == "▁▁"
    assert list(summary([])) == []


def test_the_end_of_a_run_names_held_out_metrics_only_if_there_are_some():
    rows = [{"phase": "1-train", "step": step, "reward": step / 2} for step in (1, 2)]
    assert "held out" not in "".join(summary(rows))
    assert "held out" in "".join(summary([*rows, {"phase": "1-train", "step": 2, "held-out/accuracy": 0.5}]))
