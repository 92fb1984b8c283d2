import json
import os
import random
import subprocess
import sys
from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.judges.genprm import tiny_reviewer as tiny  # noqa: E402
from verikit.engines.hf.engine import HF  # noqa: E402
from verikit.judges.genprm import GenPRM  # noqa: E402

torch.set_num_threads(1)
SOLUTIONS = [tiny.solution(random.Random(seed), steps=2) for seed in range(6)]


@pytest.fixture(scope="module")
def engine():
    return HF.of(tiny.model(), tiny.tokenizer())


def prm(engine, **options):
    return GenPRM(engine, protocol=tiny.PROTOCOL, **{"paths": 1, "temperature": 0.0, **options})


def test_a_real_models_reward_is_that_of_its_own_forward_pass(engine):
    encode, checked, verified = tiny.tokenizer(), 0, 0
    yes, no = (encode.convert_tokens_to_ids(word) for word in ("Yes", "No"))
    for review in prm(engine).review(SOLUTIONS):
        messages = tiny.dialogue(review.solution)[:1]
        for index, step in enumerate(review.paths[0].steps):
            for cell in step.cells[: step.how == "verified"]:
                assert cell.output == str(eval(cell.code.removeprefix("print")))
                verified += 1
            messages.append({"role": "user", "content": ("sums\n" if not index else "") + review.solution.steps[index]})
            header = encode.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            said = header + step.text.rpartition("Yes" if step.label else "No")[0]
            with torch.no_grad():
                logits = tiny.model()(torch.tensor([encode(said, add_special_tokens=False).input_ids])).logits[0, -1]
            p = logits.softmax(-1)
            assert step.reward == pytest.approx((p[yes] / (p[yes] + p[no])).item(), abs=1e-4)
            messages.append({"role": "assistant", "content": step.text})
            checked += 1
    assert checked == 12
    assert verified >= 9


def test_a_review_is_the_same_alone_and_in_a_batch(engine):
    together = prm(engine, paths=3, temperature=0.7).review(SOLUTIONS)
    for solution, found in zip(SOLUTIONS[:3], together, strict=False):
        alone = prm(engine, paths=3, temperature=0.7).review([solution])[0]
        assert [[step.text for step in path.steps] for path in alone.paths] == [
            [step.text for step in path.steps] for path in found.paths
        ]
        assert [alone.reward(i) for i in range(2)] == pytest.approx([found.reward(i) for i in range(2)], abs=1e-5)
    assert len({path.steps[0].text for found in together for path in found.paths}) > len(SOLUTIONS)


def test_the_hf_engine_serves_the_verifier_by_its_spec(tmp_path, monkeypatch):
    import verikit

    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache.sqlite"))
    tiny.model().save_pretrained(tmp_path / "m")
    tiny.tokenizer().save_pretrained(tmp_path / "m")
    spec = f"genprm(engine='hf:{tmp_path}/m', paths=2, protocol='{tiny.PROTOCOL}')"
    score = verikit.load(spec)("1+1=2\n\n2+2=5", prompt="sums")
    assert len(score.steps) == 2
    assert score.status == "ok"


BOTH = """
import json, sys
from verikit.engines import load_engine
from verikit.judges.genprm import GenPRM, Solution
if __name__ == "__main__":
    folder, protocol, solutions = sys.argv[1:]
    with load_engine(f"vllm:{folder}", dtype="float32", max_model_len=512, enforce_eager=True) as engine:
        prm = GenPRM(engine, protocol=protocol, paths=1, temperature=0.0)
        reviews = prm.review([Solution("sums", tuple(steps)) for steps in json.loads(solutions)])
    print("REWARDS", json.dumps([[review.reward(i) for i in range(2)] for review in reviews]))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed")
def test_vllm_gives_the_rewards_that_hf_gives(engine, tmp_path):
    tiny.model().save_pretrained(tmp_path / "m")
    tiny.tokenizer().save_pretrained(tmp_path / "m")
    (tmp_path / "both.py").write_text(BOTH)
    own = {
        "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    steps = json.dumps([solution.steps for solution in SOLUTIONS])
    run = subprocess.run(
        [sys.executable, tmp_path / "both.py", tmp_path / "m", tiny.PROTOCOL, steps],
        env={**os.environ, **own}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    given = json.loads(run.stdout.partition("REWARDS")[2])
    for rewards, review in zip(given, prm(engine).review(SOLUTIONS), strict=True):
        assert rewards == pytest.approx([review.reward(i) for i in range(2)], abs=1e-3)
