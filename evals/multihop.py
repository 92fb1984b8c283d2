"""Multi-hop questions: their prompts, and the answer in a reply.

Metrics are named after their normaliser, since it alone changes them by points: `em_r1_searcher`, `f1_hotpotqa`.
"""

from __future__ import annotations

from verikit.evals.docs import Doc
from verikit.replies.text import tagged
from verikit.search import closed_prompt


def closed_book(doc: Doc) -> str:
    """The question, to be answered from memory."""
    return closed_prompt(doc["question"])


def question(doc: Doc) -> str:
    """The bare question: the rollout that answers it writes the prompt."""
    return str(doc["question"])


def final_answer(reply: str) -> str | None:
    """Return the content of a reply's last answer tags, or the whole reply without tags. None if it is empty."""
    found = tagged(reply, "answer")
    return (reply.strip() if found is None else found) or None
