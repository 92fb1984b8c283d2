"""Any OpenAI-compatible server, primarily `vllm serve`.

engine.py    the engine: concurrency, tries, deadlines
options.py   its settings, checked when it is created
call.py      one request on its way
dispatch.py  threads; a waiting job releases its thread
pace.py      request and token rate limits
wire.py      one HTTP exchange, and the typed error of one that fails
body.py      a request as the body that the server reads
batch.py     the batch interface, as a separate engine
reply.py     the server's reply as a generation
"""

from verikit.engines.openai.engine import OpenAI

__all__ = ["OpenAI"]
