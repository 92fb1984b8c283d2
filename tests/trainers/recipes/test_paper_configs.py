"""The shipped `-paper` and `-repo` configs hold their source's values: each is told here with where it comes from.

Papers: SPICE arXiv 2510.24684, section 4 and appendix; Absolute Zero 2505.03335, table 3; Elo-Evolve 2602.13575;
R1-Searcher 2503.05592. Repositories: LeapLabTHU/Absolute-Zero-Reasoner at a82124e, RUCAIBox/R1-Searcher at 631167c.
"""

import tomllib

import pytest

from verikit.trainers.config import load_config, shipped

UNNAMED = {"loss.clip_low": 0.2, "loss.clip_high": 0.2}
"""PPO's own bound, where a source speaks of a clip without a number, or not at all."""
NO_KL = {"kl.coefficient": 0.0}
ON_POLICY = {"batch.epochs": 1, "loss.mismatch": "ignore", "batch.dynamic": 0}
CONSTANT = {"optimizer.kind": "adamw", "optimizer.schedule": "constant", "optimizer.warmup_steps": 0}

SPICE = UNNAMED | NO_KL | ON_POLICY | CONSTANT | {
    "recipe": "spice",
    "options.document_tokens": 5992,  # at most, a document
    "options.documents": 128,  # B
    "options.attempts": 1024,  # N
    "options.group": 8,  # G, and K answers
    "options.reward": "variance",
    "options.penalty": -0.1,  # rho
    "options.temperature": 1.0,
    "options.max_tokens": 8192,
    "options.formats": "model",
    "options.train_challenger": True,
    "options.use_documents": True,
    "options.challenger": "",
    "options.challenger_weight": 1.0,
    "options.shuffle": False,
    "options.letter_only": False,
    "options.checks": ["self_reference", "quotes", "copied"],
    "advantage.kind": "dr-grpo",  # centred by role, no deviation
    "loss.kind": "ppo",
    "loss.aggregation": "seq-mean-token-sum-norm",
    "loss.length": 8192,
    "optimizer.lr": 1e-6,
    "batch.minibatches": 16,  # 128 trajectories a gradient step
    "precision.checkpointing": True,
    "run.steps": 640,  # T
}  # fmt: skip
ZERO = NO_KL | ON_POLICY | CONSTANT | {
    "recipe": "absolute-zero",
    "options.tasks": ["deduction", "abduction", "induction"],
    "options.batch": 64,
    "options.seed_factor": 4,  # S
    "options.references": 6,  # K
    "options.inputs": 10,  # N
    "options.estimates": 8,
    "options.rollouts": 1,
    "options.buffer_size": 16384,
    "options.mix": "max_new",
    "options.max_tokens": 8096,
    "options.max_prompt_tokens": 5600,
    "options.temperature": 1.0,
    "options.wall_s": 10.0,
    "options.learnability": "paper",
    "options.train_proposer": True,
    "options.composite": 0.0,
    "advantage.kind": "trr++",
    "loss.kind": "ppo",
    "loss.clip_low": 0.2,
    "loss.clip_high": 0.28,
    "loss.aggregation": "token-mean",
    "optimizer.lr": 1e-6,
    "optimizer.grad_clip": 1.0,
    "precision.checkpointing": True,
    "run.steps": 500,
}  # fmt: skip
ELO = UNNAMED | ON_POLICY | CONSTANT | {
    "recipe": "elo-evolve",
    "model.path": "Qwen/Qwen2.5-7B-Instruct",
    "options.judge": "pairwise('openai:http://127.0.0.1:8000/v1#Qwen3-14B')",
    "options.objective": "binary",
    "options.rating": 1350.0,
    "options.k": 32.0,
    "options.reduction": "sum",
    "options.draw_temperature": 200.0,
    "options.max_longer": 300,
    "options.prompts": 128,
    "options.samples": 8,  # not given: that of the other groups
    "options.max_tokens": 4096,
    "options.temperature": 1.0,
    "options.opponents_per_group": 1,
    "options.snapshot_every": 0,
    "options.pool": {"qwen2.5-14b": 1400, "qwen2.5-32b": 1700, "qwen3-8b": 2000},
    "advantage.kind": "grpo",  # the z-score of a prompt's outputs
    "advantage.epsilon": 1e-6,
    "loss.kind": "ppo",
    "loss.aggregation": "seq-mean-token-mean",
    "kl.coefficient": 1e-3,  # beta
    "kl.estimator": "k3",
    "optimizer.lr": 1e-6,
    "batch.minibatches": 1,
    "run.steps": 500,
}  # fmt: skip
STAGE1 = {"hotpotqa/medium": 200, "2wiki/medium": 150}
STAGE2 = {"hotpotqa/medium": 2561, "hotpotqa/hard": 2000, "2wiki/medium": 1087, "2wiki/hard": 2500}
SEARCH = UNNAMED | ON_POLICY | CONSTANT | {
    "recipe": "r1-searcher",
    "options.samples": 16,
    "options.k": 3,
    "options.retrievals": 8,
    "options.leg_tokens": 512,
    "options.total_tokens": 29_000,
    "options.temperature": 1.0,
    "options.top_p": 1.0,  # the source's 0.95 has other log-probabilities than those it learns with
    "options.evaluate_k": 5,
    "options.evaluate_retrievals": 9,
    "options.measure": "f1",
    "loss.kind": "ppo",
    "loss.aggregation": "seq-mean-token-mean",
    "optimizer.lr": 2e-6,
    "batch.minibatches": 4,
}  # fmt: skip
QWEN = {
    "model.path": "Qwen/Qwen2.5-7B",
    "options.prompt": "base",
    "options.prompts": 64,
    "options.mix": STAGE2,
    "advantage.kind": "reinforce++-baseline",
    "kl.coefficient": 0.0,
}
LLAMA = {
    "model.path": "meta-llama/Llama-3.1-8B-Instruct",
    "options.prompt": "instruct",
    "options.preset": "repo-llama",
    "kl.coefficient": 1e-4,
    "kl.in_reward": False,
}
SOURCES = {
    "spice-paper": SPICE,
    "absolute-zero-paper": ZERO | {
        "options.preset": "paper",
        "options.keep": "newest",
        "loss.entropy": 0.001,
        "loss.dual_clip": None,
        "batch.minibatches": 1,  # an update on all six roles and tasks
    },
    "absolute-zero-repo": ZERO | {
        "options.preset": "azr-repo",
        "options.keep": "oldest",
        "loss.entropy": 0.0,
        "loss.dual_clip": 3.0,
        "batch.minibatches": 3,  # of 128
    },
    "elo-evolve-paper": ELO,
    "r1-searcher-paper": SEARCH | QWEN | {
        "options.preset": "paper",
        "options.stage1_steps": 5,
        "options.stage1_mix": STAGE1,
        "run.steps": 132,
    },
    "r1-searcher-repo-stage1": SEARCH | LLAMA | {
        "options.stage1_steps": 23,
        "options.stage1_mix": STAGE1,
        "options.prompts": 15,
        "advantage.kind": "grpo",  # group_norm
        "advantage.epsilon": 1e-9,
        "run.steps": 23,
    },
    "r1-searcher-repo": SEARCH | LLAMA | {
        "options.stage1_steps": 0,
        "options.mix": STAGE2,
        "options.prompts": 65,
        "advantage.kind": "reinforce++-baseline",
        "run.steps": 125,
    },
    "r1-searcher-repo-qwen": SEARCH | QWEN | {
        "options.preset": "repo-qwen",
        "options.stage1_steps": 0,
        "run.steps": 127,
    },
}  # fmt: skip
OURS = {
    "seed", "model.path", "options.corpus", "options.data", "options.answers", "options.retriever",
    "options.held_out_size", "batch.tokens", "run.evaluate_every", "run.save_every",
}  # fmt: skip
"""What a source has no say in."""


def flat(table, before=""):
    """(Dotted key, value) pairs of a table; the tables of names that options hold stay whole."""
    for key, value in table.items():
        name = f"{before}{key}"
        if isinstance(value, dict) and name.rpartition(".")[2] not in ("pool", "mix", "stage1_mix"):
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def settings(name):
    return dict(flat(load_config(name).model_dump(mode="json")))


def test_every_config_of_a_source_is_told():
    assert {name for name in shipped() if "-paper" in name or "-repo" in name} == {
        f"{name}{suffix}" for name in SOURCES for suffix in ("", "-8gpu") if f"{name}{suffix}" in shipped()
    }
    assert SOURCES.keys() <= shipped().keys()


@pytest.mark.parametrize("name", SOURCES)
def test_a_config_holds_its_source_s_values(name):
    found = settings(name)
    wrong = {key: (found.get(key), value) for key, value in SOURCES[name].items() if found.get(key) != value}
    assert not wrong


@pytest.mark.parametrize("name", SOURCES)
def test_a_config_sets_nothing_that_is_not_told(name):
    written = {key for key, _ in flat(tomllib.loads(shipped()[name].read_text("utf-8")))}
    assert written - SOURCES[name].keys() <= OURS


WHERE = {"name", "engine.kind", "engine.options.max_model_len", "distributed.kind", "precision.checkpointing"}


@pytest.mark.parametrize("name", [name for name in shipped() if name.endswith("-8gpu")])
def test_an_8_gpu_config_is_the_paper_s_but_for_where_it_runs(name):
    found, paper = settings(name), settings(name.removesuffix("-8gpu"))
    assert {key for key in found.keys() | paper.keys() if found.get(key) != paper.get(key)} <= WHERE
    assert (found["engine.kind"], found["distributed.kind"]) == ("vllm", "fsdp2")
    assert found["precision.checkpointing"]
    longest = found.get("options.total_tokens") or found["options.max_tokens"] + max(
        found.get(key, 0) for key in ("options.document_tokens", "options.max_prompt_tokens")
    )
    assert longest < found["engine.options.max_model_len"]
    assert found["engine.options.max_model_len"] <= found["batch.tokens"]


def test_gradient_steps_have_the_sources_sizes_and_epochs_their_questions():
    def rollouts(name):
        found = settings(name)
        return found["options.prompts"] * found["options.samples"] / found["batch.minibatches"]

    assert [rollouts(f"r1-searcher-{name}") for name in ("paper", "repo-stage1", "repo", "repo-qwen")] == [
        256, 60, 260, 256,
    ]  # fmt: skip
    for name in ("paper", "repo-stage1", "repo", "repo-qwen"):
        found = settings(f"r1-searcher-{name}")
        first, all_steps = found["options.stage1_steps"], found["run.steps"]
        if first:
            assert sum(STAGE1.values()) // found["options.prompts"] == first
        if all_steps > first:
            assert sum(STAGE2.values()) // found["options.prompts"] == all_steps - first
    spice = settings("spice-paper")
    assert spice["options.documents"] * spice["options.group"] * 2 / spice["batch.minibatches"] == 128
    zero = settings("absolute-zero-repo")
    assert zero["options.batch"] * 6 / zero["batch.minibatches"] == 128
