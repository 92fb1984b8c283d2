"""Prompts for Challenger and Reasoner, from a file of prompts. A Reasoner's prompt never contains a document."""

from __future__ import annotations

from verikit.trainers.recipes.prompts import PromptSet, fill
from verikit.trainers.recipes.spice.formats import CorpusQuestion, QuestionKind


class SpicePrompts(PromptSet):
    """A set of prompts: templates with {names}, which are filled in once."""

    transcript: str
    """Template around a {question}, used without a chat template."""
    kind: str
    mcq: str
    free_form: str
    mcq_alone: str
    """Template without a document (an ablation)."""
    free_form_alone: str
    reason_mcq: str
    reason_free_form: str

    def challenge(self, kind: QuestionKind, document: str | None) -> str:
        """Return a prompt for a question of the given format, with or without a document."""
        name = kind.format if document is not None else f"{kind.format}_alone"
        return fill(getattr(self, name), document=document or "", answer_type=kind.answer_type)

    def choose(self, document: str) -> str:
        """Return a prompt that lets the Challenger choose the question format for a document."""
        return fill(self.kind, document=document)

    def text(self, question: str) -> str:
        """Insert a question into the transcript."""
        return fill(self.transcript, question=question)

    def reason(self, question: CorpusQuestion) -> str:
        """Return the prompt for answering a question, without a document."""
        return fill(self.reason_mcq if question.format == "mcq" else self.reason_free_form, question=question.text)
