"""Generation engines: any OpenAI-compatible server, vLLM in process, transformers, and recordings of those."""

from verikit.engines.cache import Cache, CachedEngine
from verikit.engines.load import load_engine
from verikit.engines.replay import Recorder, Replay
from verikit.engines.types import Engine, Generation, Output, Request, Structured, TopLogprob

__all__ = [
    "Cache",
    "CachedEngine",
    "Engine",
    "Generation",
    "Output",
    "Recorder",
    "Replay",
    "Request",
    "Structured",
    "TopLogprob",
    "load_engine",
]
