"""`prm`: discriminative process reward models of transformers: a classifier's probability after each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain
from typing import Any, Literal, get_args

from verikit.engines import Request
from verikit.engines.prompts import prompt_ids
from verikit.errors import ConfigError
from verikit.judges.genprm.review import Solution
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.judges.heads import EncodedText, context_of, forward, load_head
from verikit.platform.batches import take
from verikit.types import Message, Sample, Score

Kind = Literal["token", "sequence", "tag"]
"""How the model classifies steps.

`token`: a token classifier read at each step's last token (TRL's PRMTrainer). `sequence`: a sequence classifier run on
each prefix. `tag`: a causal model's next token after each step (Math-Shepherd).
"""
Activation = Literal["auto", "none", "sigmoid", "softmax"]
"""How a head's numbers become a reward. `auto`: the sigmoid of one number, the softmax of several."""
_CLASSES: dict[Kind, str] = {
    "token": "AutoModelForTokenClassification",
    "sequence": "AutoModelForSequenceClassification",
    "tag": "AutoModelForCausalLM",
}


@dataclass(frozen=True, repr=False)
class Classifier(StepVerifier):
    """A step's reward is the probability of the right class, given the problem and all steps up to it."""

    name = "prm"
    batch = 16

    model: str
    """A folder or a name of the Hugging Face Hub."""
    kind: Kind = "token"
    """How the model marks a right step: by a class at its last token, by a class of the text up to it, or by a tag."""
    _: KW_ONLY
    separator: str = "\n\n"
    """What follows each step: the reward is read at its last token."""
    chat: bool = False
    """Format the problem as a user's turn and the steps as the assistant's, with the chat template."""
    right: int | str = 1
    """The class that means right. For `tag`, the token's text."""
    wrong: str = "-"
    """For `tag`, the text of the token that means wrong."""
    activation: Activation = "auto"
    """Conversion of the head's numbers to a reward.

    `none` keeps them (a scalar head trained on values), `auto` is the sigmoid of one number and the softmax of several.
    """
    device: str = ""
    """`cpu`, `cuda`, …. Default: CUDA if available."""
    loaded: Any = field(default=None, compare=False)
    """A model and its tokenizer, instead of loading `model`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in get_args(Kind):
            raise ConfigError(f"kind must be one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        if self.activation not in get_args(Activation):
            raise ConfigError(f"activation must be one of {', '.join(get_args(Activation))}, got {self.activation!r}")
        if isinstance(self.right, str) != (self.kind == "tag"):
            raise ConfigError("`right` is a token's text for kind 'tag', and the number of a class for the others")

    def __repr__(self) -> str:
        """Every option that affects the rewards."""
        shown = ["model", "kind", "aggregate", "split", "max_chars", "max_steps", "separator", "chat", "right", "wrong"]
        shown += ["activation"] if self.activation != "auto" else []
        return f"Classifier({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def score_steps(self, solutions: Sequence[Solution], samples: Sequence[Sample]) -> list[list[Score] | Score]:
        """Run the model over the solutions, sorted by length and padded."""
        model, tokenizer = self.loaded or load_head(
            self.model, _CLASSES[self.kind], f"{self.kind} classifier", self.device
        )
        rows = [row for solution in solutions for row in self._rows(tokenizer, solution)]
        context = context_of(model)
        rewards = iter(self._rewards(model, rows, self._picker(tokenizer), context))
        sizes = iter([_read(ids, positions) for ids, positions in rows])
        scored: list[list[Score] | Score] = []
        for solution in solutions:
            count = len(solution.steps) if self.kind == "sequence" else 1
            found, tokens = take(rewards, count), list(chain.from_iterable(take(sizes, count)))
            if None in found:
                scored.append(self._too_long(tokenizer, solution, context))
            else:
                scored.append(self._scores(found, tokens))
        return scored

    def _scores(self, found: Sequence[Sequence[float] | None], tokens: Sequence[int]) -> list[Score]:
        given = [reward for values in found for reward in values or ()]
        return [
            Score(reward, reason=self.kind, usage={"prompt_tokens": float(read)})
            for reward, read in zip(given, tokens, strict=True)
        ]

    def _too_long(self, tokenizer: Any, solution: Solution, context: int) -> Score:
        """0.0, unless the problem alone is too long, or 0 could be a reward because there is no activation."""
        told = f"the solution does not fit into the model's {context} tokens"
        alone = self._rows(tokenizer, replace(solution, steps=("a",)))[0][0]
        blamed = len(alone) <= context and self.activation != "none"
        return Score(0.0, reason=told) if blamed else Score.error(told)

    def _rows(self, tokenizer: Any, solution: Solution) -> list[tuple[list[int], list[int]]]:
        """Token ids with the positions that are read: one row, or for a sequence classifier one per step."""
        asked: str | list[Message] = solution.problem + self.separator
        if self.chat:
            asked = [Message(role="user", content=solution.problem)]
        ids, positions, rows = prompt_ids(tokenizer, Request(asked)), [], []
        for step in solution.steps:
            ids = ids + list(tokenizer(step + self.separator, add_special_tokens=False).input_ids)
            positions.append(len(ids) - 1)
            rows.append((ids, [len(ids) - 1]))
        return rows if self.kind == "sequence" else [(ids, positions)]

    def _rewards(
        self, model: Any, rows: Sequence[tuple[list[int], list[int]]], pick: list[int] | int, context: int
    ) -> list[list[float] | None]:
        """The rewards read at each row's positions. None for a row that is longer than the context."""
        rewards: list[list[float] | None] = [None] * len(rows)
        fitting = [index for index, (ids, _) in enumerate(rows) if len(ids) <= context]
        for batch, output in forward(model, [EncodedText(rows[index][0]) for index in fitting], most=self.batch):
            logits = output.logits.float().cpu()
            for line, at in enumerate(batch):
                positions = rows[fitting[at]][1]
                read = logits[line : line + 1] if self.kind == "sequence" else logits[line, positions]
                rewards[fitting[at]] = self._probability(read, pick).tolist()
        return rewards

    def _probability(self, logits: Any, pick: list[int] | int) -> Any:
        """The rewards from logits (positions, classes)."""
        if isinstance(pick, list):
            return logits[:, pick].softmax(-1)[:, 1]
        single = logits.shape[-1] == 1
        chosen = self.activation
        if chosen == "auto":
            chosen = "sigmoid" if single else "softmax"
        if chosen == "softmax":
            logits = logits.softmax(-1)
        elif chosen == "sigmoid":
            logits = logits.sigmoid()
        return logits[:, 0 if single else pick]

    def _picker(self, tokenizer: Any) -> list[int] | int:
        """The class that means right, or the two compared tokens: wrong, right."""
        if isinstance(self.right, int):
            return self.right
        pair = [tokenizer(text, add_special_tokens=False).input_ids for text in (self.wrong, self.right)]
        if any(len(ids) != 1 for ids in pair):
            raise ConfigError(f"{self.wrong!r} and {self.right!r} are not single tokens of this model")
        return [ids[0] for ids in pair]


def _read(ids: Sequence[int], positions: Sequence[int]) -> list[int]:
    """Tokens read for each position: those since the previous one. For a row's only position, all of them."""
    return [position - before for before, position in zip([-1, *positions], positions, strict=False)]
