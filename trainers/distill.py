"""On-policy distillation: a teacher's log-probabilities of the tokens that the policy sampled, as advantages.

A token x_t of a completion gets

    reward * A + coefficient * (log p_teacher(x_t) - log p_student(x_t))

A is the advantage of the reward. The second term is the negative reverse KL, estimated at the sampled token, without
the KL of later tokens (discount 0). Its expected gradient is that of the reverse KL of each token's distribution, given
the tokens before it.

The reverse KL on the student's own samples is GKD's objective with lambda = 1 and beta = 1 (Agarwal et al. 2024, arXiv
2306.13649). GKD computes it over the whole vocabulary. As the advantage of a sampled token it is that of Thinking
Machines (Lu 2025, https://thinkingmachines.ai/blog/on-policy-distillation).

The teacher is any engine that returns log-probabilities of a prompt: `hf`, `vllm`, or a vLLM server. It receives token
ids, so it must have the policy's tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from verikit.engines.load import load_engine
from verikit.engines.types import Request
from verikit.errors import ConfigError, TrainerError
from verikit.trainers.batch import TrainRow
from verikit.trainers.distributed import World
from verikit.trainers.experience import Experience
from verikit.trainers.losses import kl
from verikit.trainers.sections import DistillSection


class Teacher:
    """An engine that scores the policy's tokens. Each process asks it about its part of the rows."""

    def __init__(self, section: DistillSection, tokenizer: Any, world: World) -> None:
        """Compare the tokenizers, then load the engine.

        Raises:
            ConfigError: The tokenizers differ, or the teacher's can't be loaded.
            SpecError: The engine can't be loaded.
        """
        check_tokenizer(section, tokenizer)
        self._section, self._world = section, world
        self._engine = load_engine(section.teacher, **section.options)

    def add_advantages(self, made: Experience) -> None:
        """Add the teacher's term to the rows' advantages, and the mean reverse KL of a token to the metrics.

        Raises:
            ConfigError: The completions were sampled at another temperature than 1.
            TrainerError: The teacher failed.
        """
        total, tokens = 0.0, 0
        for row, trajectory, known in zip(made.rows, made.trajectories, self._logprobs(made.rows), strict=True):
            reverse_kl = kl(row.sampled, known, "k1")
            term = -self._section.coefficient * reverse_kl * trajectory.weight
            row.advantage = self._section.reward * row.advantage + term
            total, tokens = total + float(reverse_kl.sum()), tokens + len(reverse_kl)
        made.metrics["teacher_kl"] = total / max(tokens, 1)

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()

    def _logprobs(self, rows: Sequence[TrainRow]) -> list[Tensor]:
        """Return the teacher's log-probabilities of each row's trained tokens, on every process."""
        if any(row.temperature != 1 for row in rows):
            raise ConfigError("distill compares probabilities at temperature 1", hint="set options.temperature = 1")
        asked = [row for row in rows if row.where]
        mine = asked[self._world.rank :: self._world.size]
        requests = [Request([*row.ids, row.targets[-1]], max_tokens=0, prompt_logprobs=0) for row in mine]
        done: dict[int, list[float]] = {}
        failed = ""
        for row, generation in zip(mine, self._engine.generate(requests), strict=True):
            known = [generation.prompt_logprobs[at + 1] for at in row.where] if generation.prompt_logprobs else []
            values = [value for value in known if value is not None]
            if generation.error is not None or len(values) < len(row.where):
                failed = failed or f"{generation.error or 'it returned no log-probabilities of the prompt'}"
            done[row.number] = values
        found: dict[int, list[float]] = {}
        for part, reason in self._world.gather((done, failed)):
            found |= part
            failed = failed or reason
        if failed:
            raise TrainerError(f"the teacher {self._section.teacher} failed: {failed}")
        return [torch.tensor(found.get(row.number, [])) for row in rows]


def check_tokenizer(section: DistillSection, tokenizer: Any) -> str:
    """Compare the teacher's tokenizer with the policy's; return the name of the teacher's.

    Raises:
        ConfigError: It can't be loaded, or a token has another id.
    """
    import transformers

    kind, _, rest = section.teacher.partition(":")
    name = section.tokenizer or (rest if kind in ("hf", "vllm") else rest.rpartition("#")[2])
    try:
        theirs = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False).get_vocab()
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        hint = "set distill.tokenizer to the teacher's folder or its name on the Hugging Face Hub"
        raise ConfigError(f"can't load the tokenizer of the teacher {section.teacher}: {reason}", hint=hint) from None
    ours = tokenizer.get_vocab()
    if other := ours.items() ^ theirs.items():
        tokens = sorted({token for token, _ in other})
        raise ConfigError(
            f"the teacher {section.teacher} has another tokenizer than the policy: {len(tokens):,} tokens are missing"
            f" or have another id, such as {', '.join(map(repr, tokens[:3]))}",
            hint="choose a teacher with the policy's tokenizer: distillation compares probabilities of the same tokens",
        )
    return name
