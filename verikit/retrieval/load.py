"""Retrievers by spec.

bm25:DIR   dense:DIR        an index that `verikit index build` made
hybrid:DIR                  both, fused by reciprocal ranks
dense:DIR#module:name       one whose encoder is your own code, as hybrid:DIR#…: a folder never names code to run
two-step:SPEC               an index asked again with its first passages
graph:SPEC                  an index whose folder has a graph of titles, walked from its first passages
http://HOST:PORT/queries    a server of R1-Searcher's protocol
package.module:name         what that makes without arguments

An `Index` is on this machine and ranks rows; what a server or your own code finds comes as passages only.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from verikit.errors import MissingExtra, SpecError
from verikit.platform.folders import check_code
from verikit.platform.secrets import strike
from verikit.retrieval.client import Client
from verikit.retrieval.encoder import own_encoder
from verikit.retrieval.index import Index
from verikit.retrieval.types import Retriever

KINDS = ("bm25", "dense", "hybrid", "two-step", "graph")


def load_retriever(spec: str) -> Retriever:
    """Return what a spec describes.

    Raises:
        SpecError: it describes nothing.
        UsageError: the folder holds no such index.
        MissingExtra: numpy, bm25s or faiss is not installed.
    """
    kind, colon, rest = spec.partition(":")
    if spec.startswith(("http://", "https://")):
        return _client(spec)
    if kind == "http" and rest.startswith(("http://", "https://")):
        return _client(rest)
    if kind in KINDS and rest:
        return load_index(spec)
    if not colon or not rest:
        hint = f"{', '.join(f'{kind}:DIR' for kind in KINDS[:3])}, an http:// address, or package.module:name"
        raise SpecError(f"retriever {spec!r} not found", hint=hint)
    check_code(spec)
    try:
        return cast(Retriever, getattr(import_module(kind), rest)())
    except (ImportError, AttributeError, ValueError) as error:
        raise SpecError(f"can't make the retriever {spec!r}: {error}") from None


def table() -> dict[str, str]:
    """Each form of a retriever's spec with what it is, for `verikit list`."""
    return {
        "bm25:DIR": "The index of words that `verikit index build` made.",
        "dense:DIR": "The index of embeddings that `verikit index build` made.",
        "hybrid:DIR": "Both, fused by reciprocal ranks.",
        "two-step:SPEC": "An index asked again with its first passages.",
        "graph:SPEC": "An index, and the graph of titles in its folder, walked by PageRank from what a query names.",
        "http://HOST:PORT/queries": "A server of R1-Searcher's protocol.",
        "package.module:Name": "Your own class, made without arguments.",
    }


def _client(url: str) -> Client:
    """Ask a server; what names it is written down with a run.

    Raises:
        SpecError: a key stands in the address.
    """
    if strike(url) != url:
        raise SpecError("put no key into a retriever's address", hint="let the server listen to this machine only")
    return Client(url)


def load_index(spec: str) -> Index:
    """Return an index on this machine.

    Raises:
        SpecError: the spec is no index's.
        UsageError: the folder holds no such index.
        MissingExtra: numpy, bm25s or faiss is not installed.
    """
    kind, _, rest = spec.partition(":")
    folder, _, code = rest.partition("#")
    if kind not in KINDS or not rest:
        raise SpecError(f"{spec!r} is not an index", hint=", ".join(f"{kind}:DIR" for kind in KINDS[:3]))
    try:
        if kind == "two-step":
            from verikit.retrieval.hybrid import TwoStep

            return TwoStep(load_index(rest))
        if kind == "graph":
            from verikit.retrieval.graph import Graph

            return Graph(load_index(rest))
        if kind == "bm25":
            from verikit.retrieval.bm25 import BM25

            return BM25(rest)
        if kind == "dense":
            from verikit.retrieval.dense import Dense

            return Dense(folder, own_encoder(code) if code else None)
        from verikit.retrieval.hybrid import Hybrid

        return Hybrid(load_index(f"bm25:{folder}"), load_index(f"dense:{rest}"))
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{spec} ({error.name})", "retrieval") from None
