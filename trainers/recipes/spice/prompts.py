"""What Challenger and Reasoner are asked, from a file of prompts. No document ever goes into a Reasoner's prompt."""

from __future__ import annotations

from verikit.trainers.recipes.prompts import PromptSet, fill
from verikit.trainers.recipes.spice.formats import CorpusQuestion, QuestionKind


class SpicePrompts(PromptSet):
    """A set of prompts: texts with {names}, which are filled in once."""

    transcript: str
    """Around a {question}, where there is no chat template."""
    kind: str
    mcq: str
    free_form: str
    mcq_alone: str
    """Asked without a document (an ablation)."""
    free_form_alone: str
    reason_mcq: str
    reason_free_form: str

    def challenge(self, kind: QuestionKind, document: str | None) -> str:
        """Ask for a question of a kind, from a document or from nothing."""
        name = kind.format if document is not None else f"{kind.format}_alone"
        return fill(getattr(self, name), document=document or "", answer_type=kind.answer_type)

    def choose(self, document: str) -> str:
        """Ask which kind of question suits a document."""
        return fill(self.kind, document=document)

    def text(self, question: str) -> str:
        """Put a question into the transcript."""
        return fill(self.transcript, question=question)

    def reason(self, question: CorpusQuestion) -> str:
        """Ask a question, and nothing else."""
        return fill(self.reason_mcq if question.format == "mcq" else self.reason_free_form, question=question.text)
