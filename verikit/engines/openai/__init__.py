"""Any OpenAI-compatible server, `vllm serve` first of all.

engine.py    the engine: concurrency, tries, deadlines
options.py   what it is told, checked when it is made
call.py      one request on its way
dispatch.py  threads; a job that must wait gives its thread back
pace.py      request and token rate limits
wire.py      one HTTP exchange, and the typed error of one that fails
body.py      a request as the body the server reads
batch.py     the batch interface, as an engine of its own
reply.py     the server's reply as a generation
"""

from verikit.engines.openai.engine import OpenAI

__all__ = ["OpenAI"]
