"""Stored outputs as an lm-eval model: rows of a file with a model's earlier answers to the same questions.

Rows are found by the question, or by the document's id. A question without a stored output, and a repeat beyond the
stored ones, has no reply. It is counted as unscored, never as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval.api.instance import Instance

from verikit.errors import SchemaError, UsageError
from verikit.evals.data import rows
from verikit.evals.docs import ID, MISSING, QUESTION
from verikit.evals.lm import repeats
from verikit.evals.replies import Failed, Noted, TurnReplies
from verikit.evals.typed import LM
from verikit.readers.files import placed
from verikit.types import WORKSPACE

OUTPUTS = ("completions", "completion", "outputs", "output", "candidates", "responses", "response", "text", "pred")
"""Possible columns, in order of preference. `text` and `pred` are used by published model outputs."""
ENTRY = ("text", "content", "output", "completion", "solution")
"""Keys that may contain the text of an output that is an object."""


class Replayed(LM):
    """Replies of an earlier run. Subclasses find the replies to a document."""

    tokenizer_name = "stored"

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def outputs(self, doc: Mapping[str, Any]) -> Sequence[str]:
        """Return the stored outputs of a document."""
        raise NotImplementedError

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The last turn; stored outputs have no template."""
        return chat_history[-1]["content"]

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[str]:
        """Look each document up; the k-th repeat gets the k-th stored output."""
        replies: list[str] = [""] * len(requests)
        for instance, indices in repeats(requests):
            found = self.outputs(instance.doc)
            for number, index in enumerate(indices):
                if number < len(found):
                    replies[index] = found[number]
                else:
                    problem = f"only {len(found)} outputs" if found else "no output"
                    replies[index] = Failed(f"{self.path} contains {problem} for this question")
        return replies

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Raise, since stored outputs have no log-likelihoods.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{self.path} contains text, not log-likelihoods", hint="choose tasks that generate")

    def loglikelihood_rolling(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[float]:
        """Raise, since stored outputs have no log-likelihoods.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{self.path} contains text, not log-likelihoods", hint="choose tasks that generate")


class Stored(Replayed):
    """Answers from a file's rows."""

    def __init__(self, path: str) -> None:
        """Read the file.

        Raises:
            UsageError: The file can't be read.
            SchemaError: A row has no output, or no question or id to find it by.
        """
        super().__init__(path)
        self.by_question: dict[str, dict[str, list[str]]] = {}
        """Question -> id -> outputs. Rows of one question and id have one output each, or all of them."""
        for line, row in rows(path):
            try:
                self._read(row)
            except SchemaError as error:
                raise placed(error, path, line) from None

    def _read(self, row: Mapping[str, Any]) -> None:
        outputs = outputs_of(row)
        questions = [row[key].strip() for key in QUESTION if isinstance(row.get(key), str) and key != "text"]
        ids = [str(row[key]) for key in ID if row.get(key) not in MISSING]
        if not questions and not ids:
            raise SchemaError(f"question or id not found among the keys {', '.join(row)}", field="question")
        question, id = (questions or [""])[0], (ids or [""])[0]
        self.by_question.setdefault(question, {}).setdefault(id, []).extend(outputs)

    def outputs(self, doc: Mapping[str, Any]) -> list[str]:
        """Return the stored outputs of a document."""
        id = str(doc.get("id", ""))
        if stored := self.by_question.get(str(doc.get("question", "")).strip()):
            return stored.get(id) or [text for outputs in stored.values() for text in outputs]
        return self.by_question.get("", {}).get(id, [])


def outputs_of(row: Mapping[str, Any]) -> list[str]:
    """Return a row's stored outputs.

    Raises:
        SchemaError: The row has none.
    """
    found = next((row[key] for key in OUTPUTS if row.get(key) is not None), None)
    items = found if isinstance(found, list) else [found]
    texts = [_text(item) for item in items]
    if not texts or any(text is None for text in texts):
        raise SchemaError(f"{', '.join(OUTPUTS)} with text not found among the keys {', '.join(row)}", field=OUTPUTS[0])
    return [text for text in texts if text is not None]


def _noted(item: Mapping[str, Any]) -> Noted | None:
    """The text of an object, with all other keys but `workspace` as notes."""
    key = next((key for key in ENTRY if isinstance(item.get(key), str)), None)
    if key is None:
        return None
    # a file's paths could name any file of this machine
    return Noted(item[key], {name: value for name, value in item.items() if name not in (key, WORKSPACE)})


def _text(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    if isinstance(item, Mapping):
        return _noted(item)
    if isinstance(item, list) and item and all(isinstance(turn, str) for turn in item):
        return TurnReplies(item)
    return None
