"""What a run depends on is asked before a model is loaded; unscored trajectories are never passed over."""

import json
import logging
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from huggingface_hub import constants  # noqa: E402

from tests.trainers.conftest import make, settings  # noqa: E402
from tests.trainers.recipes.test_r1_searcher import world  # noqa: E402
from verikit.cli import cli  # noqa: E402
from verikit.engines.errors import ServerFailed  # noqa: E402
from verikit.engines.types import Generation  # noqa: E402
from verikit.errors import RetrievalError, TrainerError  # noqa: E402
from verikit.trainers import check as checking  # noqa: E402
from verikit.trainers.probes import ask_services  # noqa: E402


@pytest.fixture
def check(tmp_path, monkeypatch):
    """`verikit train single-turn --check` on a tiny model and one problem; loading weights is an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)  # else a name of no folder is looked for for a minute
    trainer = make(tmp_path / "made")
    trainer.policy.model.config.max_position_embeddings = 1024
    trainer.policy.model.save_pretrained(tmp_path / "model")
    trainer.sampler.tokenizer.save_pretrained(tmp_path / "model")
    trainer.close()
    trainer.folder.close()
    problems = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(4)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(problem) + "\n" for problem in problems))

    def never(*arguments, **options):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", never)
    lines = ['recipe = "single-turn"', '[model]\npath = "model"', "[options]", 'data = "data.jsonl"', "chat = false"]
    (tmp_path / "run.toml").write_text("\n".join([*lines, "held_out_size = 1", 'reward = "exact"']))

    def run(**changes):
        sets = [part for key, value in changes.items() for part in ("--set", f"{key.replace('__', '.')}={value}")]
        done = CliRunner().invoke(cli, ["train", "run.toml", "--check", *sets], standalone_mode=False)
        assert done.exception is None, done.exception
        assert not (tmp_path / "runs").exists()
        return done.return_value, done.output

    return run


def test_all_that_is_well_is_said_and_nothing_is_loaded_or_written(check):
    code, told = check()
    assert code == 0, told
    assert "ok    data: 3 problems, 1 held out" in told
    assert "ok    reward: exact scores" in told
    assert "ok    memory: " in told
    assert "parameters take" in told
    assert "ok    engine: hf decodes" in told
    assert "ok    cost: a step samples 256 completions of at most 512 tokens" in told


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({"model__path": "nowhere"}, "FAIL  tokenizer: model.path 'nowhere'"),
        ({"options__data": "none.jsonl"}, "FAIL  recipe: "),
        ({"options__reward": "no_such"}, "FAIL  recipe: "),
        (
            {"options__reward": "judge('openai:http://127.0.0.1:9/v1#m', options={'retries': 0, 'timeout_s': 2})"},
            "FAIL  reward judge: can't connect",
        ),
    ],
)
def test_what_is_missing_is_named_with_exit_code_2(check, changes, failed, monkeypatch):
    monkeypatch.setenv("VERIKIT_CACHE", "cache.sqlite")
    code, told = check(**changes)
    assert (code, failed in told) == (2, True), told


def test_what_is_missing_hides_nothing_else(check):
    code, told = check(options__data="none.jsonl", engine__kind="server")
    assert code == 2
    assert "FAIL  recipe: " in told
    assert "FAIL  engine: engine.options.folder is missing" in told
    assert "ok    memory: " in told


def test_a_tokenizer_that_fails_hides_nothing_else(check, tmp_path):
    (tmp_path / "model/tokenizer.json").unlink()
    (tmp_path / "model/tokenizer_config.json").unlink()
    code, told = check(options__data="none.jsonl", engine__kind="server")
    assert code == 2
    assert "FAIL  tokenizer: model.path 'model'" in told
    assert "FAIL  recipe: " in told
    assert "none.jsonl" in told
    assert "FAIL  engine: engine.options.folder is missing" in told
    assert "ok    memory: " in told
    assert "ok    data: 3 problems" in check()[1]


def test_a_model_that_is_not_there_is_told_beside_the_data(check):
    code, told = check(model__path="nowhere", options__data="none.jsonl")
    assert code == 2
    assert "FAIL  tokenizer: model.path 'nowhere'" in told
    assert "FAIL  memory: model.path 'nowhere'" in told
    assert "none.jsonl" in told


def test_a_tracker_that_is_not_installed_is_told(check, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    code, told = check(run__track='["wandb:x"]')
    assert code == 2
    assert "FAIL  trackers: the tracker wandb needs the extra 'trackers'" in told
    assert "FAIL  trackers: tracker 'tensorbord' not found" in check(run__track='["tensorbord"]')[1]


def test_prompts_and_completions_beyond_the_models_window_are_told(check, tmp_path):
    settings = json.loads((tmp_path / "model/config.json").read_text("utf-8"))
    (tmp_path / "model/config.json").write_text(json.dumps(settings | {"max_position_embeddings": 512}))
    code, told = check()
    assert code == 2
    assert "FAIL  window: " in told
    assert "completions of 512 tokens exceed the model's window of 512" in told
    code, told = check(options__max_tokens=256)
    assert (code, "ok    window: " in told) == (0, True), told


def test_a_run_names_missing_data_before_it_loads_a_model(check, tmp_path):
    sets = ["--set", "options.data=none.jsonl", "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(cli, ["train", "run.toml", *sets], standalone_mode=False)
    assert "none.jsonl" in str(done.exception)


def test_a_run_asks_its_judge_before_it_loads_a_model(check, tmp_path):
    judge = "judge('openai:http://127.0.0.1:9/v1#m', options={'retries': 0, 'timeout_s': 2})"
    sets = ["--set", f"options.reward={json.dumps(judge)}", "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(cli, ["train", "run.toml", *sets], standalone_mode=False)
    assert isinstance(done.exception, TrainerError)
    assert str(done.exception).startswith("before the first step: reward judge: ")
    assert "connect" in str(done.exception)


def test_what_one_process_asked_in_vain_stops_them_all():
    told = []

    class Process:
        def __init__(self, rank):
            self.rank = rank

        def gather(self, value):
            told.append(value)
            return [told[0], value]

    recipe = world()
    recipe.retriever = Down()
    for rank in (0, 1):
        with pytest.raises(TrainerError, match=r"before the first step: retriever: .* is down"):
            ask_services(recipe, Process(rank), lambda line: None)
    assert told[1] is None  # only the first asked


def test_a_model_that_does_not_fit_is_told_before_it_is_loaded(check, monkeypatch):
    monkeypatch.setattr(checking, "_free", lambda sharing: 1000.0)
    code, told = check()
    assert code == 2
    assert "FAIL  memory: " in told
    assert "precision.lora_rank" in told


def test_a_copy_that_does_not_fit_beside_adapters_is_told_with_the_setting_that_saves_it(check, monkeypatch):
    pytest.importorskip("peft")
    monkeypatch.setattr(checking, "_free", lambda sharing: 1000.0)
    assert "set precision.lora_merged = false" in check(precision__lora_rank=4)[1]
    assert "lora_merged" not in check(precision__lora_rank=4, precision__lora_merged=False)[1]


def test_an_optimizer_that_needs_equal_shares_is_told_of_unequal_ones(check, monkeypatch):
    changes = {"distributed__kind": "fsdp2", "optimizer__kind": "adamw8bit"}
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert "ok    memory: " in check(**changes)[1]
    monkeypatch.setenv("WORLD_SIZE", "3")
    code, told = check(**changes)
    assert (code, "FAIL  memory: optimizer.kind = adamw8bit needs equal shares" in told) == (2, True), told
    assert "ok    memory: " in check(**changes | {"optimizer__kind": "adamw"})[1]


class Down:
    def retrieve(self, queries, k):
        raise RetrievalError("http://127.0.0.1:5004 is down")


def test_a_retriever_that_is_down_is_told():
    recipe = world()
    ask = dict(recipe.probes())["retriever"]
    assert "passages" in ask()
    recipe.retriever = Down()
    with pytest.raises(RetrievalError, match="is down"):
        ask()


@pytest.mark.parametrize(("share", "stops"), [(0.5, True), (0.1, False), (1.0, True)])
def test_a_share_of_unscored_trajectories_is_warned_of_and_stops_the_run(tmp_path, caplog, share, stops):
    trainer = make(tmp_path / "run", settings(options__prompts=5, options__samples=4, run__max_unscored_steps=2))
    collect = trainer.recipe.collect

    def refusing(sampler, step):
        made = collect(sampler, step)
        lost = round(len(made) * share)
        refused = [replace(trajectory, reward=None, answer="the judge refused") for trajectory in made[:lost]]
        return refused + made[lost:]

    trainer.recipe.collect = refusing
    try:
        with caplog.at_level(logging.WARNING):
            if stops:
                with pytest.raises(TrainerError, match="of 20 trajectories of role 'policy' are unscored: ") as told:
                    trainer.run()
                assert "run.max_unscored_share" in told.value.hint
                assert trainer.step == 1
            else:
                trainer.run()
        assert ("the judge refused" in caplog.text) == stops
    finally:
        trainer.close()
        trainer.folder.close()


@pytest.mark.parametrize("every", [3, 6])
def test_requests_that_the_engine_fails_are_no_smaller_batch_in_silence(tmp_path, caplog, every):
    trainer = make(tmp_path / "run", settings(options__prompts=12, run__max_unscored_steps=2, run__evaluate_every=0))
    stream = trainer.sampler.local.stream

    def failing(requests):
        for index, generation in stream(requests):
            lost = index % every == 0
            yield index, Generation(error=ServerFailed("out of memory")) if lost else generation

    trainer.sampler.local.stream = failing
    try:
        with caplog.at_level(logging.WARNING):
            if every == 3:
                with pytest.raises(TrainerError, match="the engine failed 4 of 12 requests: out of memory"):
                    trainer.run()
            else:
                trainer.run()
        rows = (tmp_path / "run" / "metrics.jsonl").read_text()
        assert ("held-out/" in rows) == (every == 6)  # of a third less, accuracy is that of other problems
        assert ("held-out metrics are skipped" in caplog.text) == (every == 3)
    finally:
        trainer.close()
        trainer.folder.close()


@pytest.mark.parametrize("learnt", [False, True])
def test_a_run_that_never_learnt_from_a_row_stops_by_name_and_one_that_did_goes_on(tmp_path, caplog, learnt):
    trainer = make(tmp_path / "run", settings(run__steps=4, run__max_idle_steps=3))
    collect = trainer.recipe.collect

    def equal(sampler, step):
        trainer.learner.updates += learnt
        return [replace(trajectory, reward=1.0) for trajectory in collect(sampler, step)]

    trainer.recipe.collect = equal
    try:
        with caplog.at_level(logging.WARNING):
            if learnt:
                trainer.run()
            else:
                with pytest.raises(TrainerError, match=r"step 3: no row taught anything; 100% of the groups") as told:
                    trainer.run()
                assert "samples.jsonl" in told.value.hint
        assert caplog.text.count("no row taught anything") == 2 + learnt
    finally:
        trainer.close()
        trainer.folder.close()


def test_a_length_in_tokens_can_be_checked_before_a_tokenizer_is_loaded(check):
    code, told = check(options__reward="exact + soft_overlong(24, 8)")
    assert code == 0, told
    assert "ok    reward: exact + soft_overlong(24, 8) scores" in told
