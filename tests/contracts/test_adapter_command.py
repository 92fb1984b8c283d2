"""`verikit adapter`: the shims import and score from any folder, and the shown calls are JSON."""

import importlib.util
import json
import os

import pytest
from click.testing import CliRunner

from verikit.adapters.stacks import STACKS, shim
from verikit.cli import cli
from verikit.errors import SpecError, UsageError

NAMES = {
    "trl": "reward",
    "verl": "compute_score",
    "openrlhf": "reward_func",
    "verifiers": "reward",
    "lm-eval": "filter_fn",
}


def imported(path):
    spec = importlib.util.spec_from_file_location("shim", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("stack", NAMES)
def test_a_written_shim_imports_and_holds_the_named_reward(stack, tmp_path):
    path = tmp_path / "reward.py"
    done = CliRunner().invoke(cli, ["adapter", "write", stack, "0.9*answer + 0.1*boxed", "-o", str(path)])
    assert done.exit_code == 0, done.output
    reward = getattr(imported(path), NAMES[stack])
    assert reward.verifier.fingerprint
    assert callable(reward)


@pytest.mark.parametrize(
    ("stack", "named"),
    [
        ("verl", "reward.custom_reward_function.path={path} "),
        ("openrlhf", "--reward.remote_url {path} "),
        ("trl", "--reward_funcs mine.reward`"),
        ("verifiers", '"{path}:reward"'),
    ],
)
def test_what_is_said_after_writing_names_the_written_file(stack, named, tmp_path):
    path = tmp_path / "mine.py"
    done = CliRunner().invoke(cli, ["adapter", "write", stack, "answer", "-o", str(path)])
    assert named.format(path=path) in done.output


def test_a_spec_in_a_file_is_found_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "style.py").write_text("def brief(sample):\n    return float(len(sample.completion) < 9)\n")
    (tmp_path / "specs.toml").write_text('[verifiers]\ngood = "0.5*answer + 0.5*length(max=9)"\n')
    monkeypatch.chdir(tmp_path)
    within = "0.1*specs.toml#good + 0.1*style.py:brief + 0.8*answer"
    texts = [
        shim("verl", spec)
        for spec in ("style.py:brief", "specs.toml#good", within, "style.py:brief + 0.0*style.py:brief")
    ]
    os.chdir("/")
    for number, text in enumerate(texts):
        (tmp_path / f"shim{number}.py").write_text(text)
        compute_score = imported(tmp_path / f"shim{number}.py").compute_score
        assert compute_score("x", "2", "2")["score"] == 1.0


def test_a_shim_holds_a_spec_as_text_whatever_it_contains(tmp_path):
    spec = "regex('\"\"\"\\'\\n')"
    (tmp_path / "reward.py").write_text(shim("trl", spec))
    assert imported(tmp_path / "reward.py").reward(prompts=[""], completions=["x"])[0] is not None


def test_a_bad_spec_or_stack_writes_nothing(tmp_path):
    with pytest.raises(SpecError):
        shim("trl", "nonsense")
    with pytest.raises(UsageError, match="stack "):
        shim("other", "answer")
    path = tmp_path / "reward.py"
    path.write_text("mine")
    done = CliRunner().invoke(cli, ["adapter", "write", "trl", "answer", "-o", str(path)])
    assert isinstance(done.exception, UsageError)
    assert path.read_text() == "mine"
    assert CliRunner().invoke(cli, ["adapter", "write", "trl", "answer", "-o", str(path), "--force"]).exit_code == 0
    assert "to_trl" in path.read_text()


@pytest.mark.parametrize("stack", STACKS)
def test_show_prints_the_call_that_the_contract_tests_make(stack):
    done = CliRunner().invoke(cli, ["adapter", "show", stack])
    assert done.exit_code == 0
    start, end = done.output.index("\n{"), done.output.rindex("}\n")
    assert json.loads(done.output[start : end + 1]) == STACKS[stack].call
    assert STACKS[stack].tested in done.output
