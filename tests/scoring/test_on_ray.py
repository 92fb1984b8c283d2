"""Scoring on a local Ray of two CPUs: the same bytes as without it, a dead actor costs its row, no deadlock."""

import subprocess
import sys

import pytest

from tests.scoring.conftest import HOSTILE, content, lines, row, write
from verikit.errors import UsageError
from verikit.scoring.on_ray import connect, share


class Cluster:
    def __init__(self, cpus):
        self.cpus = cpus

    def cluster_resources(self):
        return {"CPU": self.cpus}


@pytest.mark.parametrize(("cpus", "actors"), [(1, 2), (2, 1), (2, 2), (2, 7), (8, 7), (8, 8), (64, 100)])
def test_actors_always_leave_a_cpu_of_the_cluster_free(cpus, actors):
    each = share(Cluster(float(cpus)), actors)
    assert 0 <= each <= 1
    assert each * actors <= max(0, cpus - 1)


@pytest.mark.parametrize("jobs", ["rays", "1.5", "-1", "ray:0", "ray:x"])
def test_what_names_no_cluster_is_refused_also_without_ray(jobs):
    with pytest.raises(UsageError, match=f"jobs must be a number, .*, got {jobs!r}"):
        connect(jobs)


CODE = """
import sys, ray
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=200 * 2**20, log_to_driver=False)
"""
DATA = (
    CODE
    + """
import json, math
ray.data.DataContext.get_current().enable_progress_bars = False
from verikit.adapters.ray_data import score_dataset
rows = [{"prompt": "?", "completion": str(i % 3), "answer": None if i % 5 == 4 else "1", "n": i} for i in range(3000)]
made = score_dataset(ray.data.from_items(rows).repartition(8), "answer", actors=2).take_all()
print("FOUND", len(made), sum(row["score"] == 1 for row in made), sum(math.isnan(row["score"]) for row in made),
      sorted({row["score_status"] for row in made}))
"""
)


def run(code, folder, *arguments, timeout=240):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.slow
def test_ray_gives_the_bytes_of_local_processes_and_a_row_that_kills_its_actor_is_an_error(tmp_path):
    pytest.importorskip("ray")
    rows = [row(i) for i in range(300)]
    write(tmp_path / "in.jsonl", rows)
    write(tmp_path / "deadly.jsonl", [*rows[:100], row(100, "100", "bad"), *rows[101:]])
    plan = ["score", "-v", f"{HOSTILE}:segfault", "-q", "--fail-over", "100%"]
    code = f"{CODE}\nimport verikit.cli as cli\nfor file in ('in', 'deadly'):\n    cli.cli.main([*sys.argv[1:],"
    code += " file + '.jsonl', '--jobs', 'ray:2', '-o', file], standalone_mode=False)"
    done = run(code, tmp_path, *plan)
    assert done.returncode == 0, done.stderr
    for file in ("in", "deadly"):
        command = [sys.executable, "-m", "verikit", *plan, f"{file}.jsonl", "--jobs", "2", "-o", f"{file}_local"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert content(tmp_path / "in") == content(tmp_path / "in_local")
    found, want = (lines(tmp_path / name / "scores.jsonl") for name in ("deadly", "deadly_local"))
    assert [line for line in found if line["line"] != 101] == [line for line in want if line["line"] != 101]
    assert {(line["status"], line["value"]) for line in found if line["line"] == 101} == {("error", None)}
    assert "killed its worker process (its Ray actor died)" in next(x["reason"] for x in found if x["line"] == 101)


@pytest.mark.slow
def test_two_actors_on_two_cpus_do_not_starve_the_tasks_that_read(tmp_path):
    pytest.importorskip("ray")
    done = run(DATA, tmp_path)
    assert "FOUND 3000 800 600 ['error', 'ok']" in done.stdout, done.stderr[-3000:]
