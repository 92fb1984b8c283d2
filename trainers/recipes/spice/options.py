"""The options of `spice`: the paper's values by default."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

Format = Literal["mcq", "free_form"]
Reward = Literal["variance", "absolute-zero", "threshold", "r-zero"]
Check = Literal["self_reference", "quotes", "copied", "balance"]


class SpiceOptions(BaseModel):
    """[options] of `spice`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    corpus: list[str] = []
    """Files of documents: .jsonl, .parquet (one per row) and other text files (one document). Patterns may use *."""
    text_key: str = "text"
    """The column or key of a document's text."""
    document_tokens: PositiveInt = 5992
    """Longer documents give a random segment of this many tokens, a new one each time."""
    documents: PositiveInt = 128
    """Documents per step."""
    formats: Literal["model", "alternate", "mcq", "free_form"] = "model"
    """What decides a document's task format: the Challenger (`model`), turns, or always the same."""
    attempts: PositiveInt = 1024
    """Maximum questions sampled per document. Sampling stops with the first valid one."""
    group: int = Field(default=8, ge=2)
    """Challenger attempts per document, and Reasoner answers per question, to train on."""
    reward: Reward = "variance"
    """The Challenger's reward of a valid question, by the rate p of right answers.

    `variance`: exp(-(p (1 - p) - 0.25)² / 0.02). `absolute-zero`: 1 - p, and 0 at p = 0. `threshold`: 1, and 0 at
    p = 0 and p = 1. `r-zero`: 1 - 2 |p - 1/2|.
    """
    penalty: float = -0.1
    """Reward of an invalid question."""
    checks: list[Check] = Field(default=["self_reference", "quotes", "copied"])
    """Rules in addition to the format.

    `self_reference` rejects questions that mention "the text". `quotes` rejects quotes that are not in the document.
    `copied` rejects questions that copy more than `copied_words` words in a row. `balance` rejects options whose
    lengths differ by more than `balance`.
    """
    copied_words: PositiveInt = 12
    """Words are runs of two or more letters, not LaTeX commands. Four times as many numbers and symbols are allowed."""
    balance: float = Field(default=0.2, gt=0)
    """The `balance` check's limit: the difference of lengths, as a fraction."""
    shuffle: bool = False
    """Shuffle a choice's options before it is answered, so the roles can't agree on a letter."""
    letter_only: bool = False
    """Accept a choice only as its letter (`B`, `(B)`, `B)`, `B.`, `B:`). False: the option's text is accepted too."""
    challenger: str = ""
    """Model that writes the questions. "": the policy itself. Otherwise an engine that is never trained.

    Examples are openai:http://host:8000/v1#MODEL (the paper's Strong Challenger) and hf:PATH with the folder of the
    initial weights (a frozen Challenger).
    """
    challenger_chat: bool | None = None
    """Use the chat template of another Challenger. Default: the value of `chat`."""
    train_challenger: bool = True
    """False (an ablation) trains only on the Reasoner's answers. The Challenger's weights still change with them."""
    use_documents: bool = True
    """False (an ablation) shows the Challenger no document."""
    challenger_weight: float = Field(default=1.0, ge=0)
    """Factor on the Challenger's advantages."""
    prompts: str = "spice"
    """A built-in set of prompts, or a FILE.toml."""
    chat: bool = True
    """Use the chat template. False: the prompts' own transcript."""
    held_out: str = ""
    """Problems to evaluate on: JSON lines with a prompt and its answer, or from `verikit synth spice`."""
    evaluate_samples: PositiveInt = 1
    """Sampled completions per held-out problem."""
    max_tokens: PositiveInt = 8192
    """Maximum sampled tokens per completion."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature, in training and for sampled held-out completions."""
