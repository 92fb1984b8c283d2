"""`verikit verify`: a run whose files, inputs or manifest were changed is named as such, whoever made the folder."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.errors import UsageError
from verikit.scoring.manifest import MANIFEST, SIGNATURE, check_run, read_manifest
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file

ROWS = [{"id": str(i), "prompt": "?", "completions": ["1", "2"], "answer": "1"} for i in range(3)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    score_file(str(file), ScoringPlan(verifier="exact"), tmp_path / "run")
    return tmp_path / "run"


def problems(run: Path) -> dict[str, str]:
    return check_run(run, 2**20).problems


def rewritten(run: Path, change):
    told = json.loads((run / MANIFEST).read_bytes())
    change(told)
    (run / MANIFEST).write_text(json.dumps(told))


def invoke(*words: object):
    return CliRunner().invoke(cli, ["verify", *map(str, words)], standalone_mode=False)


def test_a_finished_run_is_as_its_manifest_says(run, tmp_path):
    manifest = read_manifest(run)
    digest = hashlib.sha256((run / "scores.jsonl").read_bytes()).hexdigest()
    assert digest in {file.sha256 for file in manifest.files if file.path == "scores.jsonl"}
    assert [file.path for file in manifest.inputs] == [str(tmp_path / "in.jsonl")]
    assert manifest.specs["verifier"]
    assert problems(run) == {}
    assert check_run(run, 2**20).same_code
    assert invoke(run).return_value == 0


def test_changed_missing_and_extra_files_and_inputs_are_named(run, tmp_path):
    scores = (run / "scores.jsonl").read_bytes()
    (run / "scores.jsonl").write_bytes(scores.replace(b'"value":0', b'"value":1', 1))
    (run / "config.json").write_text("{}")
    (run / "summary.json").unlink()
    (run / "sub").mkdir()
    (run / "sub/more.txt").write_text("x")
    (tmp_path / "in.jsonl").write_text("other")
    found = problems(run)
    assert found.pop("scores.jsonl") == "changed: other content of the same size"
    assert found.pop("config.json").startswith("changed: 2 bytes")
    assert found.pop(f"input {tmp_path / 'in.jsonl'}").startswith("changed")
    assert found == {"summary.json": "missing", "sub/more.txt": "not in the manifest"}
    result = invoke(run)
    assert result.return_value == 1
    assert "sub/more.txt: not in the manifest" in result.output
    assert set(json.loads(invoke(run, "--json").output)[str(run)]["problems"]) > {"summary.json", "scores.jsonl"}


def test_folders_after_one_without_a_manifest_are_verified_too(run, tmp_path):
    none, changed = tmp_path / "none", tmp_path / "changed"
    none.mkdir()
    shutil.copytree(run, changed)
    (changed / "summary.json").write_text("{}")
    result = invoke(none, changed, run)
    assert result.return_value == 2  # one can't be verified
    assert f"{none}: 1 problem\n" in result.output
    assert f"{changed}: 1 problem (" in result.output
    assert f"{run}: verified (" in result.output
    told = json.loads(invoke(none, run, "--json").output)
    assert [one["verified"] for one in told.values()] == [False, True]
    assert "No such file" in told[str(none)]["problems"][MANIFEST]
    assert invoke(run, changed).return_value == 1


def test_an_input_that_is_elsewhere_is_reported_and_no_problem(run, tmp_path):
    (tmp_path / "in.jsonl").unlink()
    assert check_run(run, 2**20).absent == [str(tmp_path / "in.jsonl")]
    assert "not found on this machine" in invoke(run).output


def test_a_run_that_goes_on_is_not_verified_until_it_is_finished_again(run, tmp_path):
    (run / SIGNATURE).write_text("of this manifest")
    score_file(str(tmp_path / "in.jsonl"), ScoringPlan(verifier="exact"), run)
    assert (run / SIGNATURE).exists()  # nothing has changed
    with open(tmp_path / "in.jsonl", "a") as file:
        file.write(json.dumps(ROWS[0] | {"id": "more"}) + "\n")
    during = []
    score_file(
        str(tmp_path / "in.jsonl"), ScoringPlan(verifier="exact"), run, watch=lambda _: during.append(problems(run))
    )
    assert "summary.json" in during[0]
    assert problems(run) == {}
    assert not (run / SIGNATURE).exists()


def test_paths_and_links_lead_nowhere(run, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    entry = {"path": "../secret", "size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    absolute = entry | {"path": str(secret)}
    rewritten(run, lambda told: told["files"].extend((entry, absolute)))
    os.symlink("scores.jsonl", run / "inside")
    assert problems(run) == {"../secret": "missing", str(secret): "missing", "inside": "a link, not a file"}
    os.symlink(secret, run / "outside")
    with pytest.raises(UsageError, match="leads out of its folder"):
        problems(run)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_huge_files_and_devices_are_not_read(run, tmp_path):
    with open(run / "scores.jsonl", "r+b") as file:
        file.truncate(2**40)  # sparse
    os.mkfifo(tmp_path / "fifo")
    more = [
        {"path": path, "size": 0, "sha256": ""} for path in ("/dev/zero", str(tmp_path / "fifo"), "a\0b", "a" * 9999)
    ]
    rewritten(run, lambda told: told["inputs"].extend(more))
    assert set(problems(run)) == {"scores.jsonl"}
    assert len(check_run(run, 2**20).absent) == len(more)
    rewritten(run, lambda told: [file.update(size=2**40) for file in told["files"] if file["path"] == "scores.jsonl"])
    with pytest.raises(UsageError, match="GiB"):
        problems(run)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"form": 2}',
        b'{"form": 1, "code": {}, "specs": {}, "inputs": [], "files": 1}',
        b'{"form": 1, "code": [], "specs": {}, "inputs": [], "files": []}',
        b'{"form": 1, "code": {}, "specs": {}, "inputs": [], "files": [{"path": "a", "size": -1, "sha256": ""}]}',
        b'{"form": 1, "code": {}, "specs": {}, "inputs": [], "files": [{"path": "a", "size": 1e9, "sha256": ""}]}',
        b'{"form": 1, "code": {}, "specs": {}, "inputs": [], "files": [{"path": "a", "size": 1%0999d, "sha256": ""}]}'
        % 0,
        b"[" * 99999,
        b" " * (2**24 + 1),
    ],
    ids=range(11),
)
def test_a_manifest_that_is_none_is_an_error_of_the_folder(run, content):
    (run / MANIFEST).write_bytes(content)
    with pytest.raises(UsageError, match=MANIFEST):
        problems(run)


def test_a_run_without_its_identifying_file_is_still_the_run_that_was_asked_for(run):
    shutil.copytree(run, run / "inner")
    (run / "scores.jsonl").unlink()
    assert invoke(run).return_value == 1


def test_a_run_that_lost_what_identifies_it_is_named_among_other_runs(run, tmp_path):
    shutil.copytree(run, tmp_path / "gutted")
    (tmp_path / "empty").mkdir()
    assert "skipped" not in invoke(run).output  # the folders in a run are part of it
    for name in (MANIFEST, "scores.jsonl"):
        (tmp_path / "gutted" / name).unlink()
    result = invoke(tmp_path)
    assert (result.return_value, result.stderr.splitlines()[0]) == (0, f"{tmp_path / 'gutted'}: not a run, skipped")
    assert f"{run}: verified" in result.stdout


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_signature_is_of_one_manifest_by_an_allowed_key(run, tmp_path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    for key in (mine, other):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"me@example {mine.with_suffix('.pub').read_text()}")
    assert invoke(run, "--signers", signers).return_value == 1  # unsigned
    assert invoke(run, "--sign", other).return_value == 0
    assert invoke(run, "--signers", signers).return_value == 1
    assert invoke(run, "--sign", mine).return_value == 0
    result = invoke(run, "--signers", signers)
    assert (result.return_value, "signed by: me@example" in result.output) == (0, True)
    shutil.copytree(run, tmp_path / "signed")
    assert invoke(tmp_path, "--signers", signers).return_value == 0
    for name in (MANIFEST, "scores.jsonl"):
        (tmp_path / "signed" / name).unlink()
    assert invoke(tmp_path, "--signers", signers).return_value == 1  # not every folder is proven
    assert "signed by: SHA256:" in invoke(run).output
    rewritten(run, lambda told: told["code"].update(verikit="9"))
    assert SIGNATURE in invoke(run).output
    assert invoke(run).return_value == 1


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_the_other_runs_are_verified_if_the_key_is_none(run, tmp_path):
    shutil.copytree(run, tmp_path / "changed")
    (tmp_path / "changed" / "summary.json").write_text("{}")
    (tmp_path / "key").write_text("no key")
    result = invoke(run, tmp_path / "changed", "--sign", tmp_path / "key")
    assert result.return_value == 2
    assert f"{SIGNATURE}: ssh-keygen rejects the key" in result.output
    assert "summary.json: changed" in result.output
