"""`verikit train --check` puts real questions to judges, engines and the sandbox, and bounds what a step costs."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import verikit  # noqa: E402
from tests.engines.server import Server, chat_reply  # noqa: E402
from tests.trainers.recipes import test_absolute_zero as zero  # noqa: E402
from tests.trainers.recipes import test_elo_evolve as elo  # noqa: E402
from tests.trainers.recipes import test_r1_searcher as search  # noqa: E402
from tests.trainers.recipes import test_spice as spice  # noqa: E402
from tests.trainers.recipes.scripted import Scripted  # noqa: E402
from verikit.cli.cache import examine  # noqa: E402
from verikit.engines.cache import Cache, training_cache  # noqa: E402
from verikit.errors import ConfigError, EngineError, MissingExtra, TrainerError  # noqa: E402
from verikit.judges.asking import ask  # noqa: E402
from verikit.judges.asking.ask import caching_in  # noqa: E402
from verikit.trainers.check import check  # noqa: E402
from verikit.trainers.config import load_config  # noqa: E402
from verikit.trainers.engine_check import ask_engine  # noqa: E402
from verikit.trainers.recipe import Setting  # noqa: E402
from verikit.trainers.recipes.single_turn import SingleTurn, SingleTurnOptions  # noqa: E402
from verikit.types import Sample  # noqa: E402


def single_turn(tmp_path, reward, count=3):
    rows = [{"prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(count)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = SingleTurnOptions(data="data.jsonl", held_out_size=1, reward=reward, prompts=2, samples=3, chat=False)
    return SingleTurn(options, Setting(spice.Bytes(), 0, tmp_path))


def judged(tmp_path, answer, times=1):
    """What the probe of a judge says the last time, whose server answers so."""
    with Server(answer) as server:
        options = "options={'retries': 0, 'timeout_s': 5}"
        recipe = single_turn(tmp_path, f"judge('openai:{server.url}#m', {options}, structured=False)")
        ask = dict(recipe.probes())["reward judge"]
        try:
            return [ask() for _ in range(times)][-1], server
        finally:
            recipe.close()


def test_the_judge_is_asked_a_real_question_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache.sqlite"))
    told, server = judged(tmp_path, lambda body, k: chat_reply("Fine.\nRating: [[10]]"), times=2)
    assert told.startswith("gave 1")
    assert "3 prompt tokens, 1 sampled tokens, at most 1,024 a reply" in told
    assert len(server.bodies) == 2, "a cache answered for the judge"
    assert "0+1=" in json.dumps(server.bodies[0]["messages"])


def test_a_judge_whose_reply_is_cut_off_or_none_at_all_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache.sqlite"))
    cut = chat_reply("Let me think about it at length")
    cut["choices"][0]["finish_reason"] = "length"
    with pytest.raises(TrainerError, match=r"max_tokens cut the reply off, .* \(the limit is 1,024 tokens"):
        judged(tmp_path, lambda body, k: cut)
    with pytest.raises(EngineError):
        judged(tmp_path, lambda body, k: (400, {"error": {"message": "no such model"}}))


def test_what_judges_reply_in_training_is_kept_apart_under_a_cap_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "own.sqlite"))
    kept = training_cache()
    assert (kept.path, kept.max_bytes) == (tmp_path / "own-training.sqlite", 2**30)

    def count(path):
        return examine(Cache(path))["entries"]

    def judge(*texts):
        samples = [Sample("1+1=", text, "2") for text in texts]
        found = []
        asking = threading.Thread(target=lambda: found.extend(reward.score(samples)))  # as rewards are
        asking.start()
        asking.join()
        assert [score.value for score in found] == [1.0] * len(texts)

    with Server(lambda body, k: chat_reply("Rating: [[10]]")) as server:
        reward = verikit.load(f"judge('openai:{server.url}#m', options={{'retries': 0}}, structured=False)")
        with caching_in(kept):
            judge("a", "b", "c")
            judge("a", "b", "c")
        assert (count(kept.path), count(tmp_path / "own.sqlite"), len(server.bodies)) == (3, 0, 3)
        judge("a")
        assert (count(kept.path), count(tmp_path / "own.sqlite"), len(server.bodies)) == (3, 1, 4)


def test_a_training_run_keeps_its_judge_s_replies_in_its_own_cache(tmp_path, monkeypatch):
    from verikit.trainers import session

    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "own.sqlite"))
    seen = []

    def begun(*arguments):
        seen.append(list(ask._caches))
        raise ConfigError("enough")

    monkeypatch.setattr("verikit.trainers.grpo.Trainer", begun)
    with pytest.raises(ConfigError, match="enough"):
        session.run_training(load_config("arithmetic"), tmp_path / "run", quiet=True)
    assert (seen, ask._caches) == ([[training_cache()]], [])


def spent(sampler):
    """Completions and prompts that a sampler was asked for."""
    return sum(request.n for request in sampler.requests), len(sampler.requests)


def within(recipe, sampler, lowest=0):
    cost = recipe.step_cost()
    completions, prompts = spent(sampler)
    assert cost.completions[0] <= completions <= cost.completions[1]
    assert cost.prompts[0] <= prompts <= cost.prompts[1]
    return cost, completions, prompts


def test_a_step_of_single_turn_costs_what_is_said(tmp_path):
    recipe = single_turn(tmp_path, "exact")
    sampler = Scripted(lambda prompt, number: "1")
    recipe.collect(sampler, 1)
    cost, completions, prompts = within(recipe, sampler)
    assert (completions, prompts) == (6, 2) == (cost.completions[1], cost.prompts[1])
    assert cost.prompt_tokens == len("0+1=")
    assert cost.told(10) == (
        "a step samples 6 completions of at most 512 tokens, 3,072 at most, from 2 prompts of about 4 tokens;"
        " 10 steps sample at most 30,720 tokens"
    )


def test_requests_of_judges_are_counted(tmp_path):
    spec = "0.5*judge('replay:none.jsonl') + 0.5*judge('replay:none.jsonl')"
    assert single_turn(tmp_path, spec).step_cost().calls["judge requests"] == (12, 12)


@pytest.mark.parametrize("valid", [0, 1, 2, 8])
def test_a_step_of_spice_lies_within_its_bounds(valid, tmp_path):
    recipe = spice.made(tmp_path)
    sampler = Scripted(spice.Half(valid))
    recipe.collect(sampler, 1)
    cost, completions, _ = within(recipe, sampler)
    if valid == 0:
        assert completions == 2 * 8
    if valid == 1:
        assert completions == 2 * 4 + 2 * 4 * 4
    assert cost.completions == (8, 16 + 32)


@pytest.mark.parametrize("reply", [zero.Honest(), lambda prompt, number: "nothing"])
def test_a_step_of_absolute_zero_lies_within_its_bounds(reply):
    recipe = zero.made()
    recipe.seeded = True
    sampler = Scripted(reply)
    recipe.collect(sampler, 2)
    within(recipe, sampler)


def test_a_step_of_r1_searcher_lies_within_its_bounds():
    recipe = search.world(prompts=2, samples=2)
    writer = search.honest(recipe)
    rows = recipe.collect(writer, 1)
    cost = recipe.step_cost()
    assert cost.completions == (4, 4)
    assert len(rows) == 4
    assert cost.tokens == 4 * 12
    assert all(sum(row.mask) <= cost.tokens for row in rows)
    assert cost.calls["searches"] == (0, 12)


def test_a_step_of_elo_evolve_asks_its_judge_as_often_as_is_said():
    recipe = elo.world(max_longer=0)
    calls, score = [], recipe.judge.score
    object.__setattr__(recipe.judge, "score", lambda samples: calls.append(len(samples)) or score(samples))
    recipe.collect(elo.writer(recipe, 0, 1, 2), 1)
    cost = recipe.step_cost()
    assert cost.completions == (32, 32)
    assert 32 <= sum(calls) <= 36


def test_the_sandbox_is_asked_before_absolute_zero():
    recipe = zero.made()
    assert "judged two answers" in dict(recipe.probes())["sandbox"]()
    recipe.environment._judged = lambda problem, answers: [zero.environment().solutions(problem, ["x"])[0]] * 2
    with pytest.raises(TrainerError, match="can't run programs"):
        dict(recipe.probes())["sandbox"]()


def test_everything_that_is_missing_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = ["options.corpus=['none.jsonl']", "engine.kind=server", "engine.options.url=http://127.0.0.1:9/v1#m"]
    config = load_config("spice-tiny", changes)
    found = list(check(config, 1))
    failed = [line for fine, line in found if not fine]
    assert any("engine: engine.options.folder is missing" in line for line in failed)
    assert any(line.startswith("memory: ") for _, line in found)


def test_a_corpus_is_counted_and_a_missing_one_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = [line for fine, line in check(load_config("spice-tiny"), 1) if fine]
    assert any(line.startswith("corpus: ") for line in told), told
    assert any(line.startswith("cost: a step samples ") for line in told)
    assert any(line.startswith("engine: hf ") for line in told)


def config(**engine):
    return load_config("arithmetic", [f"engine.{key}={json.dumps(value)}" for key, value in engine.items()])


def test_the_engine_is_asked_by_its_kind(tmp_path, monkeypatch):
    assert "512 completions" in ask_engine(config())
    monkeypatch.setattr("verikit.trainers.engine_check.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="vllm"):
        ask_engine(config(kind="vllm"))
    server = {"url": "http://127.0.0.1:9/v1#m", "folder": str(tmp_path / "weights"), "retries": 0, "timeout_s": 2}
    settings = config(kind="server")
    with pytest.raises(ConfigError, match="is missing"):
        ask_engine(settings)
    settings.engine.options = server
    with pytest.raises(EngineError):
        ask_engine(settings)


@pytest.mark.parametrize("takes_weights", [True, False])
def test_a_server_must_answer_and_take_new_weights(takes_weights, tmp_path):
    class VLLM(BaseHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

        def do_GET(self):
            paths = {"/v1/completions": {}} | ({"/collective_rpc": {}} if takes_weights else {})
            self.reply({"paths": paths})

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            choice = {"index": 0, "text": "2", "message": {"content": "2"}, "finish_reason": "length"}
            self.reply({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 1}})

        def reply(self, body):
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), VLLM) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        settings = config(kind="server")
        url = f"http://127.0.0.1:{http.server_address[1]}/v1#m"
        settings.engine.options = {"url": url, "folder": str(Path(tmp_path) / "weights"), "retries": 0}
        try:
            if takes_weights:
                assert "answered" in ask_engine(settings)
            else:
                with pytest.raises(ConfigError, match="takes no new weights") as told:
                    ask_engine(settings)
                assert "VLLM_SERVER_DEV_MODE" in told.value.hint
        finally:
            http.shutdown()
