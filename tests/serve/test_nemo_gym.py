"""NeMo-Gym's lifecycle over HTTP: seeding, verifying, aggregating, by requests of its form and by its own code."""

import json
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.serve.nemo_gym import aggregated


def rollout(text, **fields):
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {"responses_create_params": {"input": "6 * 7?"}, "response": {"output": [message]}} | fields


@pytest.fixture
def gym(serve):
    for extra in ("uvicorn", "httptools", "starlette", "prometheus_client"):
        pytest.importorskip(extra)
    return serve


SEED = {"resources_session_id": "s1", "episode_id": {"rollout_id": "r"}, "task_id": {"taskset": "t", "task_id": "1"}}


def test_a_rollout_is_answered_from_seed_to_metrics_and_sessions_come_in_any_order(gym):
    with gym("--protocol", "nemo-gym", spec="answer") as server:
        row = rollout("\\boxed{42}", expected_answer="42", _ng_task_index=0)
        seeded = server.http.post("/seed_session", json={"responses_create_params": {"input": "6 * 7?"}})
        assert (seeded.status_code, seeded.json()) == (200, {})
        assert seeded.cookies
        for path in ("/verify", "/ng-rollout/r-1/verify"):
            found = server.http.post(path, json=row).json()
            assert found == row | {"reward": 1.0, "extracted_answer": "42"}
        metrics = server.http.post("/aggregate_metrics", json={"verify_responses": [found]}).json()
        assert metrics["key_metrics"] == {"mean/reward": 1.0}
        assert server.http.get("/reverify_mode").json() == "stateless"
        for path in ("/close_session", "/seed_session", "/seed_session", "/close_session", "/close_session"):
            found = server.http.post(path, json=SEED)
            assert (found.status_code, found.json()) == (200, {"resources_session_id": "s1"})
        assert server.http.post("/seed_session", content=b"[").status_code == 400
        large = [{"reward": 1.7e308}, {"reward": 1.7e308, "n": 10**400}]
        for wrong in ([1], large):
            assert server.http.post("/aggregate_metrics", json={"verify_responses": wrong}).status_code == 422


def test_what_has_no_score_is_an_http_error_and_never_a_reward(gym):
    with gym("--protocol", "nemo-gym", spec="column('rm')") as server:
        found = server.http.post("/verify", json=rollout("5"))
        assert found.status_code in (422, 500)
        assert "reward" not in found.json()
        assert server.http.post("/verify", json=rollout("5", rm=0.5)).json()["reward"] == 0.5
        assert server.http.post("/verify", json={"response": {}}).status_code == 422
        assert server.metric("verikit_samples_total") == 2


def test_a_tokenless_client_reaches_none_of_these_paths(gym):
    with gym("--protocol", "nemo-gym", spec="answer", token="swordfish") as server:
        asked = [server.http.post(path, json={}) for path in ("/seed_session", "/close_session", "/aggregate_metrics")]
        assert {found.status_code for found in (*asked, server.http.get("/reverify_mode"))} == {401}


def test_masked_rows_count_in_the_coverage_alone():
    rows = [{"_ng_task_index": 0, "reward": 1.0}, {"_ng_task_index": 1, "reward": 0.0, "mask_sample": True}]
    found = aggregated(rows)
    assert found["agent_metrics"]["mean/reward"] == 1.0
    assert found["key_metrics"]["coverage/masked_rollouts"] == 1
    assert found["key_metrics"]["coverage/fully_masked_tasks"] == 1
    assert "mean/reward" not in aggregated(rows[1:])["key_metrics"]


def test_what_is_no_finite_number_is_left_out_of_metrics():
    rows = [{"reward": 1.0, "n": 10**400, "m": float("inf")}]
    assert [name for name in aggregated(rows)["agent_metrics"] if name.startswith("mean/")] == ["mean/reward"]


ROWS = st.lists(
    st.fixed_dictionaries(
        {"_ng_task_index": st.integers(0, 2), "_ng_rollout_index": st.integers(0, 2), "reward": st.floats(-9, 9)},
        optional={"note": st.text(max_size=3), "length": st.integers(0, 99) | st.just(float("nan"))},
    ),
    min_size=1,
    max_size=9,
)


@given(ROWS)
def test_metrics_are_the_means_of_each_task_and_of_all(rows):
    found = json.loads(json.dumps(aggregated(rows)))
    assert found["agent_metrics"]["mean/reward"] == pytest.approx(statistics.fmean(row["reward"] for row in rows))
    for group in found["group_level_metrics"]:
        own = [row["reward"] for row in rows if row["_ng_task_index"] == group["_ng_task_index"]]
        assert (group["max/reward"], group["num_rollouts"]) == (max(own), len(own))
    assert sum(group["num_rollouts"] for group in found["group_level_metrics"]) == len(rows)
    assert not any("note" in name for name in found["agent_metrics"])


@pytest.mark.filterwarnings("ignore")
def test_nemo_gyms_own_profile_agrees_on_the_metrics():
    profile = pytest.importorskip("nemo_gym.reward_profile")
    rows = [
        {"_ng_task_index": task, "_ng_rollout_index": turn, "reward": float(task == turn), "length": 3 * turn}
        for task in range(3)
        for turn in range(3)
    ]
    rows[4]["mask_sample"] = True
    theirs, ours = profile.compute_aggregate_metrics(rows), aggregated(rows)
    for name, value in ours["agent_metrics"].items():
        assert theirs.agent_metrics[name] == pytest.approx(value), name
    assert theirs.key_metrics.keys() >= ours["key_metrics"].keys()
