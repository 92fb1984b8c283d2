"""Passages, indexes over them, and retrievers by spec."""

from verikit.retrieval.build import build_index
from verikit.retrieval.client import Client
from verikit.retrieval.corpus import read_corpus, split
from verikit.retrieval.encoder import Encoder, EncoderSettings
from verikit.retrieval.index import Hit, Index
from verikit.retrieval.load import load_index, load_retriever
from verikit.retrieval.types import Passage, Retriever

__all__ = [
    "Client",
    "Encoder",
    "EncoderSettings",
    "Hit",
    "Index",
    "Passage",
    "Retriever",
    "build_index",
    "load_index",
    "load_retriever",
    "read_corpus",
    "split",
]
