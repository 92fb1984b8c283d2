"""`env check` of a folder of Harbor's trials: their files are scored, and rewards that differ are listed."""

import json

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.env import check, read
from verikit.readers.trials import trial_rows

ENTRY = {"source": "/app/total.txt", "destination": "artifacts/app/total.txt", "type": "file", "status": "ok"}


def trial(folder, text, reward):
    (folder / "artifacts" / "app").mkdir(parents=True)
    (folder / "artifacts" / "app" / "total.txt").write_text(text)
    (folder / "artifacts" / "manifest.json").write_text(json.dumps([ENTRY]))
    result = {"trial_name": folder.name, "task_name": "sums", "verifier_result": {"rewards": {"reward": reward}}}
    (folder / "result.json").write_text(json.dumps(result))


def task(folder):
    (folder / "environment").mkdir(parents=True)
    (folder / "task.toml").write_text('artifacts = ["/app/total.txt"]\n')
    (folder / "environment" / "Dockerfile").write_text("FROM debian:12\n")


def test_the_files_of_stored_trials_are_scored_and_differences_are_listed(tmp_path):
    trial(tmp_path / "jobs" / "run1" / "right", "461\n", 1)
    trial(tmp_path / "jobs" / "run1" / "forged", "done\n", 1)
    trial(tmp_path / "jobs" / "run2" / "wrong", "7\n", 0)
    task(tmp_path / "tasks" / "sums")
    found = check(tmp_path, "files(content={'app/total.txt': \"regex('461')\"})")
    assert (found.equal, [(one.id, one.score.value) for one in found.differ]) == (2, [("forged", 0.0)])
    assert [item.sample.workspace.make().task[1] for item in read(tmp_path)] == [(tmp_path.name, "tasks", "sums")] * 3


@pytest.mark.parametrize("file", ["result.json", "config.json"])
def test_a_task_that_an_agent_wrote_is_not_used(tmp_path, file):
    trial(tmp_path / "honest", "7\n", 0)
    trial(tmp_path / "forger", "7\n", 0)
    task(tmp_path / "a-tasks" / "sums")
    task(tmp_path / "forger" / "agent" / "sums")
    (tmp_path / "forger" / "result.json").rename(tmp_path / "forger" / file)
    (tmp_path / "forger" / file).write_text('{"trial_name": "forger", "task_name": "sums"}')
    used = {item.sample.workspace.make().task[1] for item in read(tmp_path)}
    assert used == {(tmp_path.name, "a-tasks", "sums")}
    assert {row["workspace"]["task"] for row in trial_rows(str(tmp_path))} == {f"{tmp_path.name}/a-tasks/sums"}


def test_a_trial_whose_task_is_not_certain_is_unread(tmp_path):
    trial(tmp_path / "right", "461\n", 1)
    task(tmp_path / "old" / "sums")
    task(tmp_path / "new" / "sums")
    (found,) = check(tmp_path, "files(exist=['app/total.txt'])").unreadable
    assert f"its task may be {tmp_path.name}/new/sums and {tmp_path.name}/old/sums" in str(found)
    assert [str(row) for row in trial_rows(str(tmp_path))] == [f"{tmp_path}: {str(found).partition(' (')[0]}"]


def test_a_trial_is_found_from_its_own_folder(tmp_path, monkeypatch):
    trial(tmp_path / "right", "461\n", 0)
    monkeypatch.chdir(tmp_path / "right")
    told = CliRunner().invoke(cli, ["env", "check", ".", "files(exist=['app/total.txt'])"]).output
    assert "equal: 0 of 1" in told
    assert "rewarded 0, here 1" in told


@pytest.mark.parametrize("name", ["rollouts.jsonl", "results.jsonl"])
def test_a_file_of_rollouts_comes_before_trials_below_it(tmp_path, name):
    trial(tmp_path / "runs" / "job" / "right", "461\n", 1)
    (tmp_path / name).write_text(json.dumps({"prompt": "p", "completion": "4", "answer": "4", "reward": 1}) + "\n")
    assert [item.where for item in read(tmp_path)] == [f"{tmp_path / name}:1"]


def test_the_folder_that_is_named_may_be_a_link(tmp_path):
    trial(tmp_path / "job" / "right", "461\n", 1)
    (tmp_path / "link").symlink_to("job")
    assert check(tmp_path / "link", "files(exist=['app/total.txt'])").equal == 1
    assert [item.where for item in read(tmp_path / "link")] == [str(tmp_path / "link" / "right")]
