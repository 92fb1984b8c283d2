"""The search loop: a model that asks a retriever while it writes, and the baselines beside it.

`search` interleaves generation and retrieval in R1-Searcher's layout; `single_shot` retrieves once by the question, and
`closed_book` not at all. All three return `Rollout`s, so a task grades them alike.
"""

from verikit.search.baselines import closed_book, single_shot
from verikit.search.format import TAGS, Escape, answer_of, evidence, query_of
from verikit.search.leg import EVALUATION, Limits
from verikit.search.loop import search
from verikit.search.prompts import closed_prompt, rag_prompt, search_messages, search_prompt
from verikit.search.rollout import Piece, Rollout, Search, figures, read_rollout
from verikit.search.rules import faults

__all__ = [
    "EVALUATION",
    "TAGS",
    "Escape",
    "Limits",
    "Piece",
    "Rollout",
    "Search",
    "answer_of",
    "closed_book",
    "closed_prompt",
    "evidence",
    "faults",
    "figures",
    "query_of",
    "rag_prompt",
    "read_rollout",
    "search",
    "search_messages",
    "search_prompt",
    "single_shot",
]
