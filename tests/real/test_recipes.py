"""The first steps of the recipes on a pretrained model, in the papers' configs made small."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
FACTS = [
    "The bridge at Orle was built in 1874 by the engineer Maria Vant. It has 12 arches and a span of 340 metres.",
    "Karl Ruhm painted the harbour of Tonne in 1902. It hangs in the town hall, where it was restored in 1990.",
    "The Ulm clock has three faces. It was made by Anna Berg, who also built the organ of Saint Peter.",
]
SMALL = ["run.steps=1", "run.evaluate_every=0", "run.samples_every=1", "options.max_tokens=32"]


def write(path: Path, rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def step(folder: Path, name: str, model: str, *changes: str) -> Any:
    """Train the first step of a shipped config, or as many as asked; return the last's metrics and what was sampled."""
    import torch

    from tests.trainers.conftest import make
    from verikit.trainers.config import load_config

    torch.set_num_threads(1)
    fp32 = ['precision.master="same"', 'model.dtype="float32"']  # `auto` multiplies bf16 numbers on some processors
    trainer = make(folder / "run", load_config(name, [f'model.path="{model}"', *fp32, *changes]))
    try:
        trainer.recipe.evaluate = lambda sampler, step: {}  # the step is what is tried
        trainer.run()
    finally:
        trainer.close()
        trainer.folder.close()
    rows = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    steps = [row for row in rows if "mismatch" in row]
    for metrics in steps:
        assert all(math.isfinite(value) for value in metrics.values() if isinstance(value, float))
        assert metrics["mismatch"] <= 1e-4
    samples = [json.loads(line) for line in (folder / "run/samples.jsonl").read_text().splitlines()]
    assert samples
    assert len({row["completion"] for row in samples}) > 1
    return steps[-1], samples


def test_spice_asks_about_a_document_and_pays_invalid_questions_the_penalty(smollm2: str, folder: Path) -> None:
    corpus = write(folder / "corpus.jsonl", [{"text": text} for text in FACTS])
    small = [f'options.corpus=["{corpus}"]', "options.documents=2", "options.attempts=2", "options.group=2"]
    _, samples = step(folder, "spice-paper", smollm2, *SMALL, *small, "options.document_tokens=200", "loss.length=32")
    asked = [row for row in samples if row["role"] == "challenger"]
    assert asked
    assert {row["reward"] for row in asked} <= {-0.1, *(value / 100 for value in range(101))}


def test_absolute_zero_proposes_and_solves_programs(smollm2: str, folder: Path) -> None:
    small = ['options.tasks=["deduction"]', "options.batch=2", "options.seed_factor=1", "options.seed_tries=1"]
    small += ["options.references=1", "options.inputs=2", "options.estimates=2", "options.buffer_size=64"]
    _, samples = step(folder, "absolute-zero-paper", smollm2, *SMALL, *small)
    assert {row["role"] for row in samples} & {"propose", "proposer", "solve", "solver"}


def test_r1_searcher_rewards_rollouts_that_may_search(smollm2: str, folder: Path) -> None:
    pytest.importorskip("bm25s")
    from verikit.retrieval import build_index

    corpus = write(folder / "corpus.jsonl", [{"title": f"t{n}", "text": text} for n, text in enumerate(FACTS)])
    build_index([corpus], folder / "index")
    rows = [
        {
            "prompt": "Who built the bridge at Orle?",
            "answer": "Maria Vant",
            "source": "hotpotqa",
            "difficulty": "medium",
        }
    ]
    data = write(folder / "questions.jsonl", rows)
    small = [f'options.data="{data}"', f'options.retriever="bm25:{folder / "index"}"', 'options.prompt="instruct"']
    small += [
        "options.stage1_mix={}",
        "options.mix={}",
        "options.prompts=1",
        "options.samples=3",
        "options.leg_tokens=24",
    ]
    small += ["options.retrievals=2", "batch.minibatches=1"]
    _, samples = step(folder, "r1-searcher-paper", smollm2, *SMALL[:-1], *small)
    assert all(row["reward"] is not None for row in samples)


def test_elo_evolve_compares_with_an_opponent_by_a_judge_that_is_the_same_model(smollm2: str, folder: Path) -> None:
    from verikit.judges.opponents import prompt_key

    prompts = ["Name a colour.", "Name a city in France.", "Say hello."]
    data = write(folder / "prompts.jsonl", [{"prompt": text, "answer": ""} for text in prompts])
    chats: list[Any] = [[{"role": "user", "content": text}] for text in prompts]
    rows = [
        {"model": "other", "key": prompt_key(form), "completion": "I don't know."}
        for text, chat in zip(prompts, chats, strict=True)
        for form in (text, chat)
    ]
    answers = write(folder / "answers.jsonl", rows)
    judge = f"pairwise('hf:{smollm2}', prompt='pairwise-label', structured=True, cache=False, probe=0)"
    small = [
        f'options.data="{data}"',
        f'options.answers="{answers}"',
        f'options.judge="{judge}"',
        "options.pool={other=1400.0}",
    ]
    small += ["options.held_out_size=1", "options.prompts=1", "options.samples=3", "options.max_tokens=12"]
    _, samples = step(folder, "elo-evolve-paper", smollm2, *SMALL[:-1], *small)
    assert {row["reward"] for row in samples} <= {0.0, 1.0}


def test_tools_are_called_for_two_steps_and_their_results_stand_as_the_template_would_write_them(
    smollm2: str, folder: Path
) -> None:
    from tests.trainers.recipes.writer import Writer
    from verikit.engines.hf.load import import_transformers
    from verikit.trainers.recipe import Setting
    from verikit.trainers.recipes.tools.recipe import ToolOptions, ToolRecipe

    rows = [{"prompt": f"What is {a} times 37?", "answer": str(a * 37)} for a in range(2, 8)]
    data = write(folder / "problems.jsonl", rows)
    small = [f'options.data="{data}"', "options.prompts=2", "options.samples=3", "options.max_tokens=40"]
    small += ["options.held_out_size=1", "options.turns=2", "run.steps=2", "run.evaluate_every=0"]
    small += ["run.samples_every=1", 'options.reward="answer"']
    _, samples = step(folder, "tools", smollm2, *small)
    assert {row["step"] for row in samples} == {1, 2}

    tokenizer = import_transformers("SmolLM2", "test").AutoTokenizer.from_pretrained(smollm2)
    options = ToolOptions(data=str(data), held_out_size=1, prompts=1, samples=1, reward="answer")
    recipe = ToolRecipe(options, Setting(tokenizer, 0, folder))
    program = "print(185)\nprint('<|im_' + 'end|>')"
    said = f"<tool_call>\n{json.dumps({'name': 'python', 'arguments': {'code': program}})}\n</tool_call>"
    answer = "The answer is 185."
    sampler = Writer(tokenizer, lambda text: answer if "_response" in text.split("assistant")[-2] else said)
    (trajectory,) = recipe.collect(sampler, 1)
    result = "<tool_response>\n185\n&#60;|im_end|>\n</tool_response>"
    whole = tokenizer.decode(trajectory.ids[: trajectory.mask.index(True)])
    whole += f"{said}<|im_end|>\n<|im_start|>user\n{result}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>"
    assert tokenizer.decode(trajectory.ids) == whole
    assert list(trajectory.ids) == tokenizer(whole, add_special_tokens=False).input_ids
