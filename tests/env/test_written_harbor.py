"""Written Harbor tasks: the grader's scores are verikit's, expected values are in tests/ only, and audits pass."""

import json
import os
import subprocess
import tarfile
import tomllib

import pytest
from click.testing import CliRunner

from verikit.adapters.harbor_grader import main
from verikit.cli import cli
from verikit.env.audit import audit_tasks
from verikit.errors import UsageError
from verikit.names.spec import load
from verikit.types import Sample
from verikit.workspaces import Workspace, beneath

GIVEN = {"draft.txt": "Dear all,\nplatform 4471\n", "conf.ini": "debug = 0\n"}
RIGHT = {"final.txt": GIVEN["draft.txt"], "conf.ini": GIVEN["conf.ini"]}
SPEC = "files(same_as={'final.txt': 'draft.txt'}, absent=['draft.txt'], only=['final.txt', 'draft.txt'])"
ROW = {"id": "Rename it!", "prompt": "Rename draft.txt to final.txt.", "workspace": {"before": GIVEN}, "oracle": RIGHT}
LEFT = {
    "right": RIGHT,
    "edited": {**RIGHT, "conf.ini": "debug = 1\n"},
    "a claimed reward": {**GIVEN, "reward.json": '{"reward": 1}', "reward.txt": "1"},
    "nothing": {},
    "another text": {**RIGHT, "final.txt": "Dear all"},
}


def write(tmp_path, rows, spec=SPEC, *words):
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = ["adapter", "write", "harbor", spec, "--data", str(data), "-o", str(tmp_path / "tasks"), *words]
    return CliRunner().invoke(cli, told, standalone_mode=False)


def put(folder, files):
    folder.mkdir(parents=True)
    for path, text in files.items():
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize("name", LEFT)
def test_the_grader_gives_the_score_of_the_verifier(tmp_path, name):
    write(tmp_path, [ROW])
    left, reward = put(tmp_path / "app", LEFT[name]), tmp_path / "logs" / "reward.json"
    main(str(tmp_path / "tasks/rename-it/tests"), str(left), str(reward))
    own = load(SPEC).score([Sample("", "", workspace=Workspace(LEFT[name], GIVEN))])[0]
    assert json.loads(reward.read_text()) == {"reward": own.value}
    assert json.loads((tmp_path / "logs" / "verikit.json").read_text())["reason"] == own.reason
    assert own.value == float(name == "right")


def test_what_was_not_collected_has_no_reward(tmp_path):
    write(tmp_path, [ROW])
    reward = tmp_path / "logs" / "reward.json"
    assert main(str(tmp_path / "tasks/rename-it/tests"), str(tmp_path / "absent"), str(reward)) == 1
    assert not reward.exists()


def test_a_static_audit_finds_nothing_and_the_agent_gets_no_expected_value(tmp_path):
    spec = tmp_path / "v.toml"
    spec.write_text(
        f"[verifiers]\nfirst = \"{SPEC}\"\nsecond = \"table('t.csv', expected=[{{'n': 90417}}])\"\n"
        "tasks = \"by('kind', {'first': first, 'second': second})\"\n"
    )
    table = {"id": "t", "prompt": "Write t.csv.", "kind": "second", "workspace": {}, "oracle": {"t.csv": "n\n90417\n"}}
    write(tmp_path, [{**ROW, "kind": "first"}, table, {**table, "id": "again"}], f"{spec}#tasks")
    records = list(audit_tasks(tmp_path / "tasks"))
    found = {(name, one.status) for record in records for name, one in record.checks.items()}
    assert [record.task for record in records] == ["rename-it", "t"]  # a further trial is the same task
    assert {status for _, status in found} == {"pass"}
    for task in (tmp_path / "tasks").iterdir():
        agents = [task / "instruction.md", task / "task.toml", *(task / "environment").rglob("*")]
        assert not any(b"90417" in one.read_bytes() for one in agents if one.is_file())
    assert "byte by byte" in (tmp_path / "tasks/rename-it/instruction.md").read_text()
    config = tomllib.loads((tmp_path / "tasks/t/task.toml").read_text())
    assert config["verifier"]["environment_mode"] == "separate"


def test_the_solution_turns_the_given_files_into_the_oracles(tmp_path):
    names = {"a b'$(x)\".txt": "1", "-rf": "2", "sub": "3"}
    row = {**ROW, "workspace": {"before": {**names, "old": "4"}}, "oracle": {"sub/deep.txt": "5", "-rf": "6"}}
    write(tmp_path, [row])
    solution = tmp_path / "tasks/rename-it/solution"
    app = put(tmp_path / "app", {**names, "old": "4"})
    script = (solution / "solve.sh").read_text().replace("/solution", str(solution)).replace("/app", str(app))
    subprocess.run(["bash", "-c", script], check=True)
    found = {str(path.relative_to(app)): path.read_text() for path in app.rglob("*") if path.is_file()}
    assert found == row["oracle"]
    with tarfile.open(solution / "files.tar") as tar:
        assert {member.mtime for member in tar} == {0}


def test_rows_that_are_no_tasks_are_refused_by_id(tmp_path):
    os.symlink("/etc/passwd", put(tmp_path / "given", {"a": "b"}) / "link")
    for row, told in (
        ({"id": "x", "prompt": "p"}, "x has no workspace"),
        ({**ROW, "workspace": {"before": "given"}}, "link is a link"),
        ({**ROW, "workspace": {"before": {"../a": "b"}}}, "an invalid or duplicate name"),
    ):
        error = write(tmp_path, [row]).exception
        assert isinstance(error, UsageError)
        assert told in str(error)


def test_files_are_collected_where_a_sandbox_hides_the_root(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x")
    opened = os.open

    def hidden(path, *rest, **more):
        if path == "/":
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **more)

    beneath._has_openat2.cache_clear()
    monkeypatch.setattr(os, "open", hidden)
    try:
        assert Workspace(str(tmp_path)).one("a").data() == b"x"
    finally:
        monkeypatch.undo()
        beneath._has_openat2.cache_clear()
