"""One pool for several trainers on two local Ray nodes, one of which is killed: every row, in order, the same bytes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from verikit import Sample, load
from verikit.adapters.ray_pool import PoolOptions, RayScorer
from verikit.errors import SpecError, UsageError
from verikit.scoring.rows import encode, to_row

POOLED = str(Path(__file__).with_name("pooled.py"))
SPEC = f"{POOLED}:slow"
ROWS = 1200


def test_a_pools_verifier_is_named_and_told_as_its_spec_is():
    pooled, plain = RayScorer("0.9*exact + 0.1*boxed", pool="rewards"), load("0.9*exact + 0.1*boxed")
    assert (pooled.name, pooled.fingerprint) == (plain.name, plain.fingerprint)
    assert [part.name for part in pooled.parts] == [part.name for part in plain.parts]
    assert RayScorer("answer").equal("1/2", "0.5")


def test_what_is_no_spec_or_option_is_refused_where_the_pool_is_named():
    with pytest.raises(SpecError):
        RayScorer("no_such_verifier")
    with pytest.raises(UsageError, match="my_option"):
        RayScorer("exact", my_option=1)
    with pytest.raises(UsageError, match="is a spec"):
        RayScorer(load("exact"))
    assert PoolOptions().max_waiting > 0


CODE = """
import json, os, pathlib, pickle, signal, sys, time
import ray
from ray.cluster_utils import Cluster
from verikit import Sample
from verikit.adapters import to_trl
from verikit.adapters.ray_pool import NAMESPACE, RayScorer, stop_pool
from verikit.scoring.rows import encode, to_row

spec, rows, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
found = {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path), "POOLED_LOADS": out + "/loads"}
node = {"num_cpus": 2, "object_store_memory": 80 * 2**20, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=node)
second = cluster.add_node(num_cpus=2, object_store_memory=80 * 2**20)
ray.init(address=cluster.address, runtime_env={"env_vars": found}, log_to_driver=False, configure_logging=False)


@ray.remote(num_cpus=0, max_restarts=0)
class Trainer:
    def __init__(self, reward):
        self.reward = pickle.loads(reward)

    def step(self, first, count):
        samples = [Sample("?", str(i)) for i in range(first, first + count)]
        return [encode(to_row(score)) for score in self.reward.verifier.score(samples)]

    def trl(self, completions):
        return self.reward(["?"] * len(completions), completions)


reward = to_trl(RayScorer(spec, pool="rewards", actors=3, max_waiting=256, deadline_s=8.0), echoes=True)
head = next(n["NodeID"] for n in ray.nodes() if n["NodeManagerPort"] == cluster.head_node.node_manager_port)
scheduling = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(head, soft=False)
trainers = [Trainer.options(scheduling_strategy=scheduling).remote(pickle.dumps(reward)) for _ in range(2)]
told = {"trl": ray.get(trainers[0].trl.remote(["0", "7", "1", "9"]))}
manager = ray.get_actor("rewards", namespace=NAMESPACE)
part = rows // 8
calls = [trainers[i % 2].step.remote(i * part, part) for i in range(8)]
ready, rest = ray.wait(calls, num_returns=2)
cluster.remove_node(second, allow_graceful=False)
told["left"] = len(rest)
told["rows"] = [row for rows in ray.get(calls) for row in rows]
told["counts"] = ray.get(manager.counts.remote())
again = [trainers[i % 2].step.remote(i * part, part) for i in range(4)]
ready, rest = ray.wait(again, num_returns=1)
ray.kill(manager, no_restart=False)
told["manager"] = [row for rows in ray.get(again) for row in rows]
told["before"] = ray.get(manager.counts.remote())
bad = ["1", "2", "die", "3", "4", "hang"]
samples = [Sample("?", text) for text in bad]
told["bad"] = [encode(to_row(score)) for score in reward.verifier.score(samples)]
told["after"] = ray.get(manager.counts.remote())
idle = RayScorer(spec, pool="idle", actors=3, num_cpus=0.1)
idle.score([Sample("?", "0")])
manager = ray.get_actor("idle", namespace=NAMESPACE)
while ray.get(manager.counts.remote())["live"] < 3:
    time.sleep(0.2)
idle.score([Sample("?", str(i)) for i in range(64)])
for pid in pathlib.Path(out, "loads").read_text().split():
    comm = pathlib.Path("/proc", pid, "comm")
    if comm.exists() and comm.read_text().startswith("ray::Scoring"):
        os.kill(int(pid), signal.SIGKILL)
time.sleep(2)
told["idle"] = [score.value for score in idle.score([Sample("?", "5")])]
told["lost"] = ray.get(manager.counts.remote())["deaths"]
told["stopped"] = [stop_pool("rewards"), stop_pool("nobody")]
print("FOUND", json.dumps(told))
"""


@pytest.mark.slow
def test_a_node_that_is_killed_costs_two_trainers_no_row_and_no_byte_and_a_deadly_row_ends(tmp_path):
    pytest.importorskip("ray")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, SPEC, str(ROWS), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith("FOUND")), None)
    assert line, done.stderr[-3000:]
    told = json.loads(line.removeprefix("FOUND"))
    alone = load(SPEC).score([Sample("?", str(i)) for i in range(ROWS)])
    assert told["left"] > 0, "the node was killed when everything was done"
    assert told["counts"]["deaths"] > 0, "no actor was on the node that was killed"
    assert told["rows"] == [encode(to_row(score)) for score in alone]
    assert told["manager"] == told["rows"][: ROWS // 2], "rows were lost with the manager"
    assert told["counts"]["most_waiting"] <= 256
    assert told["trl"] == [0.0, 0.0, 1 / 7, None]
    rows = [json.loads(row) for row in told["bad"]]
    assert [row["status"] for row in rows] == ["ok", "ok", "error", "ok", "ok", "timeout"]
    assert rows[2]["reason"] == "3 Ray actors died while they scored this row"
    assert told["after"]["deaths"] - told["before"]["deaths"] <= 6
    assert told["lost"] >= 3, "no three actors died while they were free"
    assert told["idle"] == [5 / 7], "actors that died while they were free cost a row its score"
    loads = (tmp_path / "loads").read_text().split()
    assert told["stopped"] == [True, False]
    assert len(loads) == len(set(loads)), "a spec was loaded twice in a process"
