"""Passages, indexes over them, and retrievers by spec."""

from verikit.retrieval.types import Passage, Retriever

__all__ = ["Passage", "Retriever"]
