"""The search loop: a model that calls a retriever while it writes, and its baselines.

`search` interleaves generation and retrieval in R1-Searcher's layout. `single_shot` retrieves once by the question, and
`closed_book` not at all. All three return `SearchTrace`s, so a task grades them alike.
"""

from verikit.search.baselines import closed_book, single_shot
from verikit.search.format import TAGS, Escape, answer_of, evidence, query_of
from verikit.search.leg import EVALUATION, SearchLimits
from verikit.search.loop import search
from verikit.search.prompts import closed_prompt, rag_prompt, search_messages, search_prompt
from verikit.search.rules import faults
from verikit.search.trace import Search, SearchTrace, TracePiece, read_trace, search_metrics

__all__ = [
    "EVALUATION",
    "TAGS",
    "Escape",
    "Search",
    "SearchLimits",
    "SearchTrace",
    "TracePiece",
    "answer_of",
    "closed_book",
    "closed_prompt",
    "evidence",
    "faults",
    "query_of",
    "rag_prompt",
    "read_trace",
    "search",
    "search_messages",
    "search_metrics",
    "search_prompt",
    "single_shot",
]
