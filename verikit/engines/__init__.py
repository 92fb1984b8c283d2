"""Generation engines: any OpenAI-compatible server, vLLM in process, transformers, and recordings of those."""

from verikit.engines.cache import Cache, Cached
from verikit.engines.load import load_engine
from verikit.engines.replay import Recorder, Replay
from verikit.engines.types import Engine, Generation, Output, Request, Structured, TopLogprob

__all__ = [
    "Cache",
    "Cached",
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
