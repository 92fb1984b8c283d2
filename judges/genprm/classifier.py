"""`prm`: discriminative process reward models of transformers: a classifier's probability behind each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from threading import RLock
from typing import Any, Literal, get_args

from verikit.engines import Request
from verikit.engines.prompts import prompt_ids
from verikit.errors import ConfigError, MissingExtra, SpecError
from verikit.judges.genprm.review import Solution
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.types import Message, Sample, Score

Kind = Literal["token", "sequence", "tag"]
"""`token`: a token classifier read at each step's last token (TRL's PRMTrainer). `sequence`: a sequence classifier
asked about each prefix. `tag`: a causal model's next token behind each step (Math-Shepherd)."""
_CLASSES: dict[Kind, str] = {
    "token": "AutoModelForTokenClassification",
    "sequence": "AutoModelForSequenceClassification",
    "tag": "AutoModelForCausalLM",
}


@dataclass(frozen=True, repr=False)
class Classifier(StepVerifier):
    """A step's reward is the probability of the right class, given the problem and all steps up to it."""

    name = "prm"
    batch = 16  # type: ignore[misc]

    model: str
    """A folder or a hub name."""
    kind: Kind = "token"
    """How the model tells that a step is right: by a class of its last token, of the text up to it, or by a tag."""
    _: KW_ONLY
    separator: str = "\n\n"
    """What follows each step: the reward is read at its last token."""
    chat: bool = False
    """Show the problem as a user's turn and the steps as the assistant's, by the chat template."""
    right: int | str = 1
    """The class that means right; for `tag` the token's text."""
    wrong: str = "-"
    """For `tag`, the text of the token that means wrong."""
    device: str = ""
    """`cpu`, `cuda`, …; by default CUDA where there is one."""
    loaded: Any = field(default=None, compare=False)
    """A model and its tokenizer, in place of loading `model`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in get_args(Kind):
            raise ConfigError(f"kind is one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        if isinstance(self.right, str) != (self.kind == "tag"):
            raise ConfigError("`right` is a token's text for kind 'tag', and the number of a class for the others")

    def __repr__(self) -> str:
        """Every option that decides the rewards."""
        shown = ("model", "kind", "aggregate", "split", "max_chars", "max_steps", "separator", "chat", "right", "wrong")
        return f"Classifier({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def score_steps(self, solutions: Sequence[Solution], samples: Sequence[Sample]) -> list[list[Score] | Score]:
        """Run the model over the solutions, sorted by length and padded."""
        model, tokenizer = self.loaded or _load(self.model, self.kind, self.device)
        rows = [row for solution in solutions for row in self._rows(tokenizer, solution)]
        context = int(getattr(model.config, "max_position_embeddings", 2**31))
        rewards = iter(_rewards(model, rows, self._picker(tokenizer), context, self.kind == "sequence"))
        scored: list[list[Score] | Score] = []
        for solution in solutions:
            found = [next(rewards) for _ in range(len(solution.steps) if self.kind == "sequence" else 1)]
            if None in found:
                scored.append(Score.error(f"the solution does not fit into the model's {context} tokens"))
            else:
                scored.append([Score(reward, reason=self.kind) for rewards in found for reward in rewards or ()])
        return scored

    def _rows(self, tokenizer: Any, solution: Solution) -> list[tuple[list[int], list[int]]]:
        """Token ids with the places that are read: one row, or one a step for a sequence classifier."""
        asked: str | list[Message] = solution.problem + self.separator
        if self.chat:
            asked = [Message(role="user", content=solution.problem)]
        ids, positions, rows = prompt_ids(tokenizer, Request(asked)), [], []
        for step in solution.steps:
            ids = ids + list(tokenizer(step + self.separator, add_special_tokens=False).input_ids)
            positions.append(len(ids) - 1)
            rows.append((ids, [len(ids) - 1]))
        return rows if self.kind == "sequence" else [(ids, positions)]

    def _picker(self, tokenizer: Any) -> list[int] | int:
        """The class that is right, or the two tokens compared: wrong, right."""
        if isinstance(self.right, int):
            return self.right
        pair = [tokenizer(text, add_special_tokens=False).input_ids for text in (self.wrong, self.right)]
        if any(len(ids) != 1 for ids in pair):
            raise ConfigError(f"{self.wrong!r} and {self.right!r} are not single tokens of this model")
        return [ids[0] for ids in pair]


_lock = RLock()


def _rewards(
    model: Any, rows: Sequence[tuple[list[int], list[int]]], pick: list[int] | int, context: int, whole: bool
) -> list[list[float] | None]:
    """The rewards read at each row's places; None for a row that is longer than the context.

    Args:
        model: Gives logits by token, or (`whole`) by sequence.
        rows: Token ids and places.
        pick: The right class of a classifier's, or the tokens (wrong, right) of a language model's.
        context: Most tokens of a row.
        whole: One reward a row, of a sequence classifier.
    """
    import torch

    rewards: list[list[float] | None] = [None] * len(rows)
    fitting = sorted((n for n, (ids, _) in enumerate(rows) if len(ids) <= context), key=lambda n: len(rows[n][0]))
    for start in range(0, len(fitting), 16):
        part = fitting[start : start + 16]
        width = max(len(rows[number][0]) for number in part)
        ids = torch.zeros(len(part), width, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, number in enumerate(part):
            length = len(rows[number][0])
            ids[row, :length] = torch.tensor(rows[number][0])
            mask[row, :length] = 1
        with _lock, torch.inference_mode():
            logits = model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device)).logits.float().cpu()
        for row, number in enumerate(part):
            read = logits[row : row + 1] if whole else logits[row, rows[number][1]]
            rewards[number] = _probability(read, pick).tolist()
    return rewards


def _probability(logits: Any, pick: list[int] | int) -> Any:
    """P(right) of logits (places, classes)."""
    if isinstance(pick, list):
        return logits[:, pick].softmax(-1)[:, 1]
    if logits.shape[-1] == 1:
        return logits[:, 0].sigmoid()
    return logits.softmax(-1)[:, pick]


@cache
def _load(path: str, kind: Kind, device: str) -> tuple[Any, Any]:
    """Load a model once per process.

    Raises:
        MissingExtra: torch or transformers is not installed.
        SpecError: there is no such model, or it is of another kind.
    """
    try:
        import torch
        import transformers
    except ImportError:
        raise MissingExtra(f"prm({path!r})", "hf") from None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        model, loading = getattr(transformers, _CLASSES[kind]).from_pretrained(path, output_loading_info=True)
    except (OSError, ValueError) as error:
        raise SpecError(f"can't load {path}: {' '.join(str(error).split())[:300]}") from None
    if missing := sorted(loading["missing_keys"]):
        raise SpecError(
            f"{path} has no weights for {missing[0]}: it is no {kind} classifier of transformers",
            hint="a head that was never trained would give random rewards; is it another kind?",
        )
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval(), tokenizer
