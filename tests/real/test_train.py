"""GRPO on a pretrained model: in every number format what samples is what learns, and the export is what was learnt."""

import json
import math

import pytest

from verikit.base import verifier
from verikit.engines import Request, load_engine

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
FP32 = ['precision.master="same"', 'model.dtype="float32"']
"""Not `auto`, which multiplies bf16 numbers on processors that are fast at them."""
FORMATS = {
    "full": (FP32, 1e-4),
    "lora": ([*FP32, "precision.lora_rank=8"], 1e-4),
    "checkpointed": ([*FP32, "precision.checkpointing=true"], 1e-4),
    "bf16": (['precision.master="float32"'], 0.1),
    "bf16 weights": (['precision.master="stochastic"', "optimizer.lr=1e-4"], 0.1),
}
"""Settings, and how far sampler and learner may be apart: rounding of fp32, and of bf16."""


@verifier
def jitter(sample):
    """A reward that differs between nearly all completions, so that every step learns whatever was sampled."""
    return sum(map(ord, sample.completion)) % 11 / 11


def settings(folder, model, *changes):
    from verikit.trainers.config import load_config

    problems = folder / "problems.jsonl"
    rows = [{"prompt": f"What is {20 + n} plus {31 + 2 * n}?", "answer": str(51 + 3 * n)} for n in range(8)]
    problems.write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = [
        f'model.path="{model}"', f'options.data="{problems}"', "options.held_out_size=2", "options.prompts=2",
        "options.samples=4", "options.max_tokens=12", f'options.reward="{__name__}:jitter"', "run.steps=2",
        "run.samples_every=1", "optimizer.lr=1e-5", "optimizer.warmup_steps=0", "precision.checkpointing=false",
        'loss.overlong="keep"', 'options.system="Be brief."', "options.reward_timeout=0",
    ]  # fmt: skip
    return load_config("math", [*base, *changes])


def train(folder, config):
    """Run to the end; return the steps' metrics and the policy's greedy text of a question after the last."""
    import torch

    from tests.trainers.conftest import make

    torch.set_num_threads(1)
    trainer = make(folder / "run", config)
    try:
        before = {name: weight.detach().clone() for name, weight in trainer.policy.named_parameters()}
        trainer.run()
        changed = [not torch.equal(before[name], weight) for name, weight in trainer.policy.named_parameters()]
        trainer.engine.refresh()
        [said] = trainer.engine.engine.generate([QUESTION])
    finally:
        trainer.close()
        trainer.folder.close()
    rows = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if "mismatch" in row], changed, said


QUESTION = Request([{"role": "user", "content": "What is 26 plus 28?"}], max_tokens=12, logprobs=0)


@pytest.mark.parametrize("name", FORMATS)
def test_two_steps_learn_from_the_policy_that_sampled_and_the_export_is_that_policy(smollm2, folder, name):
    changes, near = FORMATS[name]
    config = settings(folder, smollm2, *changes)
    steps, changed, said = train(folder, config)
    assert len(steps) == 2
    for row in steps:
        assert row["mismatch"] <= near
        assert row["rows_learnt"] > 0
        assert row["grad_norm"] > 0
        assert math.isfinite(row["loss"])
    assert any(changed)
    if name == "lora":
        assert not all(changed)
    exported_is(said, folder, config, 1e-3 if near < 0.01 else 0.3)


def exported_is(said, folder, config, near):
    """The exported folder gives, under the hf engine, what the policy gave."""
    from verikit.trainers.export import export_run

    export_run(folder / "run", config, folder / "out")
    [again] = load_engine(f"hf:{folder / 'out'}").generate([QUESTION])
    assert again.prompt_ids == said.prompt_ids  # tokenizer and chat template came along
    if near < 0.01:
        assert again.text == said.text
    ours, theirs = again.outputs[0].logprobs, said.outputs[0].logprobs
    assert ours[0] == pytest.approx(theirs[0], abs=near)
    if near < 0.01:
        assert list(ours) == pytest.approx(list(theirs), abs=near)
