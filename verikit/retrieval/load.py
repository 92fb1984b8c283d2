"""Retrievers by spec.

bm25:DIR   dense:DIR        an index built by `verikit index build`
hybrid:DIR                  both, fused by reciprocal ranks
dense:DIR#module:name       one with a custom encoder, as hybrid:DIR#…: a folder never names code to run
two-step:SPEC               an index queried again with its top passages
graph:SPEC                  an index whose folder has a graph of titles, walked from its top passages
http://HOST:PORT/queries    a server of R1-Searcher's protocol
package.module:name         the object that it returns without arguments

An `Index` is on this machine and ranks rows. A server or custom code only returns passages.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from verikit.errors import MissingExtra, SpecError, nearest
from verikit.platform.folders import check_code
from verikit.platform.secrets import strike
from verikit.retrieval.client import Client
from verikit.retrieval.encoder import own_encoder
from verikit.retrieval.index import Index
from verikit.retrieval.types import Retriever

KINDS = ("bm25", "dense", "hybrid", "two-step", "graph")


def load_retriever(spec: str) -> Retriever:
    """Return the retriever that a spec describes.

    Raises:
        SpecError: The spec is invalid.
        UsageError: The folder has no such index.
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
        hint = nearest(kind, KINDS, "is the module installed, or on PYTHONPATH?")
        raise SpecError(f"retriever {spec!r} can't be loaded: {error}", hint=hint) from None


def table() -> dict[str, str]:
    """Return each format of a retriever's spec with its description, for `verikit list`."""
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
    """Return the client of a server. Its address is recorded with a run.

    Raises:
        SpecError: The address contains a key.
    """
    if strike(url) != url:
        raise SpecError("put no key into a retriever's address", hint="let the server listen to this machine only")
    return Client(url)


def load_index(spec: str) -> Index:
    """Return an index on this machine.

    Raises:
        SpecError: The spec does not describe an index.
        UsageError: The folder has no such index.
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
