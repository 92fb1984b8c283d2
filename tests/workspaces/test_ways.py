"""Every way of a completion is one of its workspace too: a right, a forged and an unscored one on each."""

import asyncio
import json
import math
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import verikit
from tests.judges.scripted import Scripted, shown
from tests.workspaces.tars import tarred
from tests.workspaces.test_rows import tree
from verikit import Sample
from verikit.adapters import to_areal, to_rllm, to_slime, to_swift, to_trl, to_verifiers, to_verl
from verikit.adapters.inspect import InspectScorer
from verikit.adapters.nemo_gym import rollout_sample
from verikit.adapters.nemo_rl import NemoRLReward
from verikit.adapters.ray_data import ScoreBatch
from verikit.adapters.skyrl import SkyRLReward
from verikit.audit import audit
from verikit.cli import cli
from verikit.env import check
from verikit.errors import Unscored
from verikit.judges import Pointwise
from verikit.workspaces import Workspace

SPEC = "files(exist=['sales.csv'], unchanged=['in.csv'])"
BEFORE = {"in.csv": "3\n"}
LEFT = {"right": {"in.csv": "3\n", "sales.csv": "7\n"}, "forged": {"in.csv": "9\n", "sales.csv": "7\n"}}
WANTED = [1.0, 0.0, None]
TOLD = [
    {"before": BEFORE, "after": LEFT["right"]},
    {"before": BEFORE, "after": LEFT["forged"]},
    {"after": LEFT["right"]},
]
"""Workspaces as objects. The third has no value: nothing is known of `before`."""
ROWS = [
    {"id": name, "prompt": "Sum.", "workspace": told}
    for name, told in zip(("right", "forged", "lost"), TOLD, strict=True)
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def values(run):
    return [row["value"] for row in run.rows()]


def of_rows(folder):
    return values(verikit.score(lines(folder / "rows.jsonl", ROWS), SPEC, quiet=True))


def of_folders(folder, packed_as=""):
    tree(
        folder,
        {f"{name}/{path}": text for name, files in {**LEFT, "before": BEFORE}.items() for path, text in files.items()},
    )
    for name, files in LEFT.items():
        (folder / f"{name}.tar").write_bytes(tarred(files))
    told = [
        {"before": "before", "after": f"right{packed_as}"},
        {"before": "before", "after": f"forged{packed_as}"},
        {"after": f"right{packed_as}"},
    ]
    return values(
        verikit.score(lines(folder / "rows.jsonl", [{**ROWS[0], "workspace": one} for one in told]), SPEC, quiet=True)
    )


def of_tars(folder):
    return of_folders(folder, ".tar")


def trials(folder):
    """A job's trials and their task. The third was not collected."""
    collected = [{"destination": f"artifacts/{name}", "status": "ok"} for name in ("in.csv", "sales.csv")]
    lost = [{**one, "source": f"/{one['destination'][10:]}", "status": "failed"} for one in collected]
    for name, files, record in (("a", LEFT["right"], collected), ("b", LEFT["forged"], collected), ("c", {}, lost)):
        result = {"trial_name": name, "task_name": "t", "verifier_result": {"rewards": {"reward": 1}}}
        tree(folder / "job" / name, {"result.json": result, "artifacts/manifest.json": record})
        tree(folder / "job" / name / "artifacts", files)
    tree(folder / "job/tasks/t", {
        "task.toml": 'artifacts = ["/sales.csv", "/in.csv"]\n', "environment/in.csv": "3\n",
        "environment/Dockerfile": "FROM x\nCOPY in.csv /in.csv\n",
    })  # fmt: skip
    return folder / "job"


def of_trials(folder):
    return values(verikit.score(trials(folder), SPEC, quiet=True))


def of_stored_trials(folder):
    found = check(trials(folder), SPEC)
    differ = {one.id: one.score.value for one in found.differ}
    return [1.0] * found.equal + [differ["b"]] + [None for _ in found.unscored]


def of_selection(folder):
    """The selector never chooses the forged or the unscored candidate."""
    row = {"id": "t", "prompt": "p", "completions": [{"text": "", "workspace": told} for told in reversed(TOLD)]}
    run = verikit.score(lines(folder / "rows.jsonl", [row]), SPEC, select="best", quiet=True, out=folder / "run")
    [chosen] = [json.loads(line) for line in (folder / "run/selected.jsonl").read_text().splitlines()]
    assert chosen["selected"] == 2
    return values(run)[::-1]


def of_explain(folder):
    """The tree is shown, with a mark at what was read, and no value for the third."""
    found = []
    lines(folder / "rows.jsonl", ROWS)
    for name in ("right", "forged", "lost"):
        done = CliRunner().invoke(cli, ["explain", str(folder / "rows.jsonl"), "--id", name, "-v", SPEC])
        assert " * sales.csv" in done.output
        told = done.output.partition("files: ")[2].split()[0]
        found.append(None if told == "error" else float(told))
    return found


def of_audit(folder):
    """The audit tries undone work on each row: it is paid by no rule that reads the output, and by one that doesn't."""
    rows = [{**row, "answer": "7"} for row in ROWS]
    for row in rows[:2]:
        row["workspace"] = {**row["workspace"], "outputs": ["sales.csv"]}
    by = "files(content={'sales.csv': 'exact'})"
    assert not audit(lines(folder / "rows.jsonl", rows[:2]), by).of("undone")
    found = audit(lines(folder / "other.jsonl", rows[:2]), "files(unchanged=['in.csv'])").of("undone")
    assert {finding.id for finding in found} == {"right", "forged"}
    return WANTED


def of_judge(folder):
    """A judge that sees the files; what can't be shown is unscored."""
    engine = Scripted(lambda request: "[[1]]" if "+9" in shown(request, "answer") else "[[10]]")
    judge = Pointwise(engine, shows="workspace")
    samples = [Sample("Sum.", workspace=Workspace(files, BEFORE)) for files in LEFT.values()]
    lost = Sample("Sum.", workspace=Workspace(str(folder / "none"), BEFORE))
    right, forged, gone = judge.score([*samples, lost])
    assert right.value > forged.value
    return [1.0, 0.0, gone.value]


def of_python(folder):
    made = verikit.load(SPEC)
    return [made("", workspace=Workspace(told["after"], told.get("before"))).value for told in TOLD]


def of_meta(folder):
    return [score.value for score in verikit.load(SPEC).score([Sample(meta={"workspace": told}) for told in TOLD])]


def of_request(folder):
    from verikit.serve.protocols import NATIVE

    return [s.value for s in verikit.load(SPEC).score(NATIVE.read({"samples": [{"workspace": told} for told in TOLD]}))]


def gym(told):
    asked, output = (
        {"input": "Sum."},
        [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}],
    )
    return {"responses_create_params": asked, "response": {"output": output}, "verifier_metadata": {"workspace": told}}


def of_nemo_gym(folder):
    return [verikit.load(SPEC).score([rollout_sample(gym(told))])[0].value for told in TOLD]


def of_nemo_gym_server(folder):
    """An unscored rollout is an HTTP error."""
    pytest.importorskip("httptools")
    from verikit.serve.nemo_gym import UnscoredRollout, read, reply
    from verikit.serve.process import row_of

    rows = [row_of(verikit.load(SPEC).score(read(gym(told)))[0]) for told in TOLD]
    with pytest.raises(UnscoredRollout):
        reply(gym(TOLD[2]), rows[2:], None)
    return [json.loads(reply(gym(told), [row], None))["reward"] for told, row in zip(TOLD[:2], rows, strict=False)] + [
        None
    ]


def of_trl(folder):
    """None, which TRL leaves out."""
    return to_trl(SPEC)(prompts=["Sum."] * 3, completions=["x"] * 3, workspace=TOLD)


def of_table(folder):
    """A column of a dataset, whose rows have each other's keys, with None."""
    names = sorted({name for told in TOLD for name in told})
    files = [{**dict.fromkeys(("in.csv", "sales.csv", "else.csv")), **told["after"]} for told in TOLD]
    column = [{**dict.fromkeys(names), **told, "after": after} for told, after in zip(TOLD, files, strict=True)]
    return to_trl(SPEC)(prompts=["Sum."] * 3, completions=["x"] * 3, workspace=column)


def of_arrays(folder):
    """Lists as arrays, as rows of a parquet file have them in verl."""
    numpy = pytest.importorskip("numpy")
    infos = [{"workspace": {**told, "outputs": numpy.array(["sales.csv", "in.csv"], object)}} for told in TOLD]
    return [one["score"] if one["scored"] else None for one in (to_verl(SPEC)("d", "x", "", info) for info in infos)]


def of_rllm(folder):
    """0.0, and `scored` is false."""
    found = [to_rllm(SPEC, unscored=0.0).rate({"question": "Sum.", "workspace": told}, "x") for told in TOLD]
    return [one["reward"] if one["metadata"]["scored"] else None for one in found]


def of_mcp(folder):
    work = pytest.importorskip("verikit.mcp.work")
    told = work.score(SPEC, True, [{"prompt": "Sum.", "completion": "x", "meta": {"workspace": one}} for one in TOLD])
    return [row["value"] for row in told["scores"]]


def of_swift(folder):
    turns = [[{"role": "user", "content": "Sum."}, {"role": "assistant", "content": "x"}]] * 3
    return to_swift(SPEC, unscored=None)(["x"] * 3, messages=turns, workspace=TOLD)


def of_verl(folder):
    """The group's mean, with `scored` 0."""
    infos = [{"workspace": told, "index": 0} for told in TOLD]
    found = to_verl(SPEC)(data_sources=["d"] * 3, solution_strs=["x"] * 3, ground_truths=[""] * 3, extra_infos=infos)
    assert found[2]["score"] == 0.5
    return [one["score"] if one["scored"] else None for one in found]


def of_slime(folder):
    """The group's mean, and the sample is removed from the loss."""
    group = [
        SimpleNamespace(group_index=0, prompt="Sum.", response="x", label=None, response_length=1, remove_sample=False,
                        metadata={"workspace": told}) for told in TOLD
    ]  # fmt: skip
    found = asyncio.run(to_slime(SPEC)(None, group))
    assert found[2] == 0.5
    return [None if sample.remove_sample else value for sample, value in zip(group, found, strict=True)]


def unless_raised(calls):
    """The rewards of calls. An unscored one raises."""
    found = []
    for call in calls:
        try:
            found.append(call())
        except Unscored:
            found.append(None)
    return found


def of_areal(folder):
    """The trajectory is rejected."""
    reward = to_areal(SPEC)
    return unless_raised([lambda told=told: reward("Sum.", "x", [1], [2], workspace=told) for told in TOLD])


def of_skyrl(folder):
    reward = SkyRLReward(SPEC, None, "raise", echoes=False)
    return unless_raised([lambda told=told: reward.rate("Sum.", "x", {"workspace": told})[0] for told in TOLD])


def of_verifiers(folder):
    reward, trace = to_verifiers(SPEC), SimpleNamespace(last_reply="x")
    tasks = [SimpleNamespace(prompt="Sum.", workspace=told) for told in TOLD]
    return unless_raised([lambda task=task: asyncio.run(reward(task=task, trace=trace)) for task in tasks])


def of_rubrics(folder):
    reward = to_verifiers(SPEC)
    calls = [lambda told=told: asyncio.run(reward("Sum.", "x", "", {}, info={"workspace": told})) for told in TOLD]
    return unless_raised(calls)


def of_states(folder):
    """An environment of verifiers keeps what a rollout left in its state."""
    reward = to_verifiers(SPEC)
    calls = [lambda told=told: asyncio.run(reward("Sum.", "x", "", {"workspace": told}, info={})) for told in TOLD]
    return unless_raised(calls)


def of_nemo_rl(folder):
    """The group's mean, and the environment's metrics count it."""
    pytest.importorskip("torch")
    log = [{"role": "user", "content": "Sum."}, {"role": "assistant", "content": "x"}]
    environment = NemoRLReward(SPEC)
    found = environment.step([log] * 3, [{"workspace": told} for told in TOLD]).rewards.tolist()
    assert found[2] == 0.5
    assert environment.global_post_process_and_metrics(None)[1]["unscored_count"] == 1
    return [*found[:2], None]


def of_ray_data(folder):
    """NaN, with the status of an error."""
    numpy = pytest.importorskip("numpy")
    found = ScoreBatch(SPEC)({"completion": numpy.array(["x"] * 3, object), "workspace": numpy.array(TOLD, object)})
    rows = zip(found["score"], found["score_status"], strict=True)
    return [None if status != "ok" else value for value, status in rows]


def of_inspect(folder):
    """Inspect's own unscored state."""
    pytest.importorskip("inspect_ai")
    scorer = InspectScorer(SPEC, None, None)
    said = SimpleNamespace(completion="x")
    states = [SimpleNamespace(input="Sum.", output=said, sample_id=1, messages=[], metadata={"workspace": told})
              for told in TOLD]  # fmt: skip
    found = [asyncio.run(scorer(state, [])) for state in states]
    return [*(score.value for score in found[:2]), None if math.isnan(found[2].value) else found[2].value]


WAYS = [
    of_rows, of_folders, of_tars, of_trials, of_stored_trials, of_selection, of_explain, of_audit, of_judge, of_python,
    of_meta, of_request, of_nemo_gym, of_nemo_gym_server, of_mcp, of_trl, of_table, of_swift, of_arrays, of_rllm,
    of_verl, of_slime, of_areal, of_skyrl, of_verifiers, of_rubrics, of_states,
    of_nemo_rl, of_ray_data, of_inspect,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_right_workspace_is_paid_a_forged_one_is_not_and_an_unscored_one_has_no_value(way, tmp_path):
    assert way(tmp_path) == WANTED
