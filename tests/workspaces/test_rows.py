"""Workspaces where completions go: rows of files, folders of Harbor's trials, `explain`, `serve`."""

import base64
import json
import os

import pytest
from click.testing import CliRunner

import verikit
from tests.workspaces.tars import tarred
from verikit import Sample
from verikit.cli import cli
from verikit.readers import read, trials
from verikit.readers.trials import is_trials, trial_rows
from verikit.serve.protocols import _native
from verikit.workspaces.atif import conversation
from verikit.workspaces.harbor import placed_files, trial_workspace
from verikit.workspaces.manifest import FileEntry, Manifest
from verikit.workspaces.row import TaskWorkspace


def tree(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text))
    return folder


@pytest.fixture
def rows(tmp_path):
    tree(
        tmp_path, {"data/t1/before/in.csv": "a\n1\n", "data/runs/t1/in.csv": "a\n1\n", "data/runs/t1/out.csv": "b\n2\n"}
    )
    (tmp_path / "data/runs/t2.tar").write_bytes(tarred({"in.csv": "a\n9\n", "out.csv": "b\n2\n"}))
    told = [
        {"id": "folder", "prompt": "p", "workspace": {"before": "t1/before", "after": "runs/t1"}},
        {"id": "tar", "prompt": "p", "workspace": {"before": "t1/before", "after": "runs/t2.tar"}},
        {"id": "texts", "prompt": "p", "workspace": {"before": {"in.csv": "a\n1\n"}, "after": {"in.csv": "a\n1\n"}}},
        {"id": "no before", "prompt": "p", "completion": "done", "workspace": {"after": "runs/t1"}},
        {"id": "outside", "prompt": "p", "workspace": {"after": "../secret"}},
        {"id": "two", "prompt": "q", "completions": [
            {"text": "", "workspace": {"before": {"in.csv": ""}, "after": {"in.csv": "", "out.csv": ""}}},
            {"text": "", "workspace": {"before": {"in.csv": ""}, "after": {"in.csv": ""}}},
        ]},
    ]  # fmt: skip
    path = tmp_path / "data/rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in told))
    return path


WANTED = {"folder": [1.0], "tar": [0.0], "texts": [0.0], "no before": [None], "outside": [None], "two": [1.0, 0.0]}
SPEC = "files(exist=['out.csv'], unchanged=['in.csv'])"


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_are_scored_from_wherever_the_command_runs(rows, tmp_path, monkeypatch, jobs):
    monkeypatch.chdir(tmp_path)
    run = verikit.score(rows, SPEC, jobs=jobs, quiet=True)
    found = {}
    for row in run.rows():
        found.setdefault(row["id"], []).append(row["value"])
    assert found == WANTED


def test_three_runs_and_eight_jobs_give_the_same_bytes(rows, tmp_path):
    row = json.dumps({"id": "n", "prompt": "p", "workspace": {"before": {"in.csv": "1"}, "after": {"in.csv": "2"}}})
    rows.write_text(rows.read_text() + "".join(row.replace('"n"', f'"{number}"') + "\n" for number in range(40)))
    found = set()
    for number, jobs in enumerate((1, 1, 8)):
        verikit.score(rows, SPEC, out=tmp_path / f"run{number}", jobs=jobs, quiet=True)
        found.add((tmp_path / f"run{number}/scores.jsonl").read_bytes())
    assert len(found) == 1
    assert found.pop().count(b"\n") == 47


def test_rows_of_one_candidate_each_keep_their_own_workspace(tmp_path):
    told = [{"id": "t", "prompt": "p", "workspace": {"after": {name: ""}}} for name in ("out.csv", "x")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
    [group] = read(tmp_path / "rows.jsonl")
    assert [s.value for s in verikit.files(exist="out.csv").score(group.samples())] == [1.0, 0.0]


def test_a_row_without_completion_and_workspace_is_still_refused(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": "t", "prompt": "p", "workspace": "t1"}\n')
    assert "completions not found" in str(next(iter(read(tmp_path / "rows.jsonl"))))


def test_explain_shows_the_tree_and_what_was_read(rows):
    done = CliRunner().invoke(cli, ["explain", str(rows), "--id", "folder", "-v", SPEC])
    lines = done.output.splitlines()
    assert "files: 1" in lines[0]
    assert any(line.startswith(" *") and "out.csv" in line and "4 bytes" in line for line in lines)
    assert any(line.startswith("  ") and " in.csv" in line and not line.startswith(" *") for line in lines)


def test_requests_hold_texts_and_tars_and_name_no_paths(rows):
    spec = verikit.load("files(exist=['out.csv'])")
    told = base64.b64encode(tarred({"out.csv": "1"})).decode()
    for workspace, wanted in (
        ({"after": {"out.csv": "1"}}, 1.0),
        ({"after": {"x": "1"}}, 0.0),
        ({"after_tar": told}, 1.0),
        ({"after": str(rows.parent / "runs/t1")}, None),
        ({"after": "runs/t1"}, None),
        ({"trial": "t"}, None),
    ):
        samples = _native({"prompt": "p", "workspace": workspace})
        assert [score.value for score in spec.score(samples)] == [wanted], workspace
    [sample] = _native({"samples": [{"workspace": {"after": {"out.csv": "1"}}}]})
    assert spec.score([sample])[0].value == 1.0


RECORD = [
    {"source": "/logs/artifacts", "destination": "artifacts/logs/artifacts", "type": "directory", "status": "ok"},
    {"source": "/app/out.csv", "destination": "artifacts/app/out.csv", "type": "file", "status": "ok"},
    {"source": "/app/log.txt", "destination": "artifacts/app/log.txt", "type": "file", "status": "failed"},
]
STEPS = {"steps": [
    {"source": "user", "message": "Sum."},
    {"source": "agent", "message": "ok", "tool_calls": [
        {"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "cat in.csv"}}],
     "observation": {"results": [{"source_call_id": "1", "content": "a"}]}},
]}  # fmt: skip


DOCKERFILE = """FROM x
WORKDIR /app
COPY in.csv lib/ ./
COPY ["in.csv", "/data/in.csv"]
RUN mkdir -p /tmp/x
"""


@pytest.fixture
def job(tmp_path):
    trial = {
        "result.json": {"trial_name": "t1__abc", "task_name": "t1"},
        "artifacts/manifest.json": RECORD,
        "artifacts/app/out.csv": "b\n2\n",
        "artifacts/logs/artifacts/reward.txt": "1.0",
        "verifier/reward.txt": "1.0",
        "agent/trajectory.json": STEPS,
    }
    tree(tmp_path / "job/t1__abc", trial)
    tree(tmp_path / "job/t2__abc", {**trial, "result.json": {"trial_name": "t2__abc", "task_name": "t1"}})
    (tmp_path / "job/t2__abc/artifacts/app/out.csv").write_text("b\n9\n")
    tree(tmp_path / "job", {"result.json": {"n_trials": 2}})
    tree(tmp_path / "job/tasks/t1", {
        "task.toml": 'artifacts = ["/app/out.csv", "/app/never.csv"]\n',
        "environment/Dockerfile": DOCKERFILE,
        "environment/in.csv": "a\n1\n",
        "environment/lib/out.csv": "b\n0\n",
    })  # fmt: skip
    return tmp_path / "job"


def test_a_folder_of_trials_is_scored_as_it_is(job, monkeypatch):
    for folder in (job, str(job) + "/"):
        run = verikit.score(folder, "table('app/out.csv', expected=[{'b': 2}])", quiet=True)
        assert {row["id"]: row["value"] for row in run.rows()} == {"t1__abc": 1.0, "t2__abc": 0.0}
    monkeypatch.chdir(job)
    run = verikit.score("t1__abc", "files(exist=['/app/out.csv'])", quiet=True)
    assert [row["value"] for row in run.rows()] == [1.0]


def test_what_harbor_failed_to_collect_or_nobody_declared_is_unscored(job):
    def value(path, task=("tasks", "t1")):
        workspace = trial_workspace(str(job), ("t1__abc",), task)
        return verikit.files(exist=[path])("", workspace=workspace).value

    assert value("app/out.csv") == 1.0
    assert value("app/log.txt") is None
    assert value("app/other.txt") is None
    assert value("app/never.csv") is None
    assert value("logs/artifacts/nothing.txt") == 0.0
    assert value("manifest.json") is None


def test_a_declared_file_below_a_collected_folder_is_collected(job):
    entry = {"source": "/app", "destination": "artifacts/app", "type": "directory", "status": "ok"}
    (job / "t1__abc/artifacts/manifest.json").write_text(json.dumps([entry]))
    workspace = trial_workspace(str(job), ("t1__abc",), ("tasks", "t1"))
    assert verikit.files(exist=["app/out.csv"])("", workspace=workspace).value == 1.0
    assert verikit.files(exist=["app/never.csv"])("", workspace=workspace).value == 0.0


def test_the_files_that_a_dockerfile_copies_are_what_the_agent_was_given(job):
    workspace = trial_workspace(str(job), ("t1__abc",), ("tasks", "t1"))
    given = [path for path, entry in workspace.before.manifest.items() if entry.kind == "file"]
    assert given == ["app/in.csv", "app/out.csv", "data/in.csv"]
    assert verikit.files(changed=["app/out.csv"])("", workspace=workspace).value == 1.0
    assert verikit.files(unchanged=["app/in.csv"])("", workspace=workspace).value is None  # not collected
    dockerfile = job / "tasks/t1/environment/Dockerfile"
    dockerfile.write_text(dockerfile.read_text() + "RUN sed -i s/1/2/ in.csv\n")
    workspace = trial_workspace(str(job), ("t1__abc",), ("tasks", "t1"))
    assert verikit.files(only=["app/out.csv"])("", workspace=workspace).value is None


def test_the_steps_of_a_trial_are_messages(job):
    [call] = [m for m in trial_workspace(str(job), ("t1__abc",)).messages() if m.get("tool_calls")]
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"command": "cat in.csv"}
    [first, _] = read(job)
    assert first.prompt == "Sum."
    assert Sample(workspace=None).workspace is None


def test_a_record_that_names_places_outside_is_no_record(job):
    path = job / "t1__abc/artifacts/manifest.json"
    for bad in ([{"destination": "../x", "status": "ok"}], {"a": 1}, [1]):
        path.write_text(json.dumps(bad))
        run = verikit.score(job / "t1__abc", "files(exist=['app/out.csv'])", quiet=True)
        assert [row["value"] for row in run.rows()] == [None]


@pytest.mark.parametrize("told", [5, True, "ab", {"a": 1}, [5, None, "x"]], ids=str)
def test_steps_of_an_agent_that_hold_no_calls_and_no_results_are_read(told):
    prompt, turns = conversation([
        {"source": "user", "message": "Do it."},
        {"source": "agent", "message": "Done.", "tool_calls": told, "observation": {"results": told}},
        {"source": "agent", "message": told, "observation": told},
    ])  # fmt: skip
    assert prompt == "Do it."
    assert [turn["role"] for turn in turns] == ["assistant", "assistant"]
    assert "tool_calls" not in turns[0]


def test_a_folder_that_cannot_be_listed_hides_no_trial_beside_it(job, monkeypatch):
    locked = job / "aside"
    locked.mkdir()
    listed = os.scandir

    def scandir(path):
        if os.fspath(path) == str(locked):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert is_trials(str(job))
    assert len(list(trial_rows(str(job)))) == 2


def test_each_result_of_a_trial_is_read_once(job, monkeypatch):
    seen = []
    read = trials.read_file
    monkeypatch.setattr(trials, "read_file", lambda root, within: seen.append((root, *within)) or read(root, within))
    assert len(list(trial_rows(str(job)))) == 2
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("target", [".", "./", "/app", "/app/"])
def test_a_file_copied_to_the_working_directory_lies_in_it(target):
    manifest = Manifest([FileEntry("in.csv", size=3)])
    places, unknown = placed_files(manifest, f"WORKDIR /app\nCOPY in.csv {target}\n")
    assert (places, unknown) == ({"app/in.csv": "in.csv"}, "")


def test_a_missing_folder_is_unscored_with_its_name_and_an_empty_one_is_zero(tmp_path):
    (tmp_path / "outputs/empty").mkdir(parents=True)
    check = verikit.load("files(exist=['a'])")
    gone, empty = (
        check.score([Sample("p", "x", workspace=TaskWorkspace({"after": f"outputs/{id}"}, str(tmp_path)))])[0]
        for id in ("gone", "empty")
    )
    assert (gone.value, empty.value) == (None, 0.0)
    assert "outputs/gone can't be collected: No such file or directory (paths start at the folder" in gone.reason
