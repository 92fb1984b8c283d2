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
    """Files of documents: .jsonl, .parquet (a row each) and any other text file (one document); patterns with * too."""
    text_key: str = "text"
    """The column or key that holds a document's text."""
    document_tokens: PositiveInt = 5992
    """Longer documents give a segment of so many tokens, drawn anew each time."""
    documents: PositiveInt = 128
    """Documents a step."""
    formats: Literal["model", "alternate", "mcq", "free_form"] = "model"
    """Who decides a document's task format: the Challenger, turns, or always the same."""
    attempts: PositiveInt = 1024
    """Most questions sampled for one document; sampling stops with the first valid one."""
    group: int = Field(default=8, ge=2)
    """Challenger attempts of a document, and Reasoner answers of a question, that are trained on."""
    reward: Reward = "variance"
    penalty: float = -0.1
    """Reward of an invalid question."""
    checks: list[Check] = Field(default=["self_reference", "quotes", "copied"])
    """Beyond the form: questions that speak of "the text", quotes that the document does not hold, questions that
    copy more than `copied_words` words in a row, options whose lengths differ by more than `balance`."""
    copied_words: PositiveInt = 12
    """Words are runs of two and more letters, not LaTeX's commands; of numbers and symbols four times as many count."""
    balance: float = Field(default=0.2, gt=0)
    shuffle: bool = False
    """Put a choice's options in a drawn order before it is asked, so that the roles can't agree on a letter."""
    letter_only: bool = False
    """A choice is right only as its letter (`B`, `(B)`, `B)`, `B.`, `B:`); else the option's text counts too."""
    challenger: str = ""
    """Who asks: "" the policy itself; else an engine that is never trained, such as openai:http://host:8000/v1#MODEL
    (the paper's Strong Challenger) or hf:PATH with the folder of the start's weights (a frozen Challenger)."""
    challenger_chat: bool | None = None
    """Whether another Challenger is asked through its chat template; not given: as `chat`."""
    train_challenger: bool = True
    """False (an ablation) trains on the Reasoner's answers alone; the weights that ask change all the same."""
    use_documents: bool = True
    """False (an ablation) shows the Challenger no document."""
    challenger_weight: float = Field(default=1.0, ge=0)
    """Factor on the Challenger's advantages."""
    prompts: str = "spice"
    """A set of prompts that comes with verikit, or a FILE.toml."""
    chat: bool = True
    """Ask through the chat template; False: the prompts' own transcript."""
    held_out: str = ""
    """Problems to evaluate on: JSON lines with a prompt and its answer, or as `verikit synth spice` writes them."""
    evaluate_samples: PositiveInt = 1
    max_tokens: PositiveInt = 8192
    temperature: float = Field(default=1.0, gt=0)
