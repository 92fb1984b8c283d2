"""`env check` of a folder of Harbor's trials: their files are scored, and rewards that differ are listed."""

import json

from click.testing import CliRunner

from verikit.cli import cli
from verikit.env import check, read

ENTRY = {"source": "/app/total.txt", "destination": "artifacts/app/total.txt", "type": "file", "status": "ok"}


def trial(folder, text, reward):
    (folder / "artifacts" / "app").mkdir(parents=True)
    (folder / "artifacts" / "app" / "total.txt").write_text(text)
    (folder / "artifacts" / "manifest.json").write_text(json.dumps([ENTRY]))
    result = {"trial_name": folder.name, "task_name": "sums", "verifier_result": {"rewards": {"reward": reward}}}
    (folder / "result.json").write_text(json.dumps(result))


def test_the_files_of_stored_trials_are_scored_and_differences_are_listed(tmp_path):
    trial(tmp_path / "jobs" / "run1" / "right", "461\n", 1)
    trial(tmp_path / "jobs" / "run1" / "forged", "done\n", 1)
    trial(tmp_path / "jobs" / "run2" / "wrong", "7\n", 0)
    (tmp_path / "tasks" / "sums" / "environment").mkdir(parents=True)
    (tmp_path / "tasks" / "sums" / "task.toml").write_text('artifacts = ["/app/total.txt"]\n')
    (tmp_path / "tasks" / "sums" / "environment" / "Dockerfile").write_text("FROM debian:12\n")
    found = check(tmp_path, "files(content={'app/total.txt': \"regex('461')\"})")
    assert (found.equal, [(one.id, one.score.value) for one in found.differ]) == (2, [("forged", 0.0)])
    assert [item.sample.workspace.make().task[1] for item in read(tmp_path)] == [(tmp_path.name, "tasks", "sums")] * 3


def test_a_trial_is_found_from_its_own_folder(tmp_path, monkeypatch):
    trial(tmp_path / "right", "461\n", 0)
    monkeypatch.chdir(tmp_path / "right")
    told = CliRunner().invoke(cli, ["env", "check", ".", "files(exist=['app/total.txt'])"]).output
    assert "equal: 0 of 1" in told
    assert "rewarded 0, here 1" in told
