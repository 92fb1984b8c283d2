"""Measure the engines against their bars; run one part at a time on a quiet machine.

python benchmarks/engines.py calls      2,000 judge calls against a local server with faults, beside the ideal
python benchmarks/engines.py decoder    our decoder against transformers' generate, tokens per second
python -m benchmarks.engines pretrained [64x1 8x8]   the same on SmolLM2-135M-Instruct (extra `real`), prompts x samples
python benchmarks/engines.py cache      what a hit and a store cost
"""

from __future__ import annotations

import asyncio
import heapq
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

CALLS, IN_FLIGHT, LATENCY_S, TIMEOUT_S, FAULTS = 2000, 64, 0.05, 1.0, 0.05
FAULT_KINDS = ("429", "500", "hang")


def fault_of(number: int) -> str:
    """What the server does to the first try of a call; 5 % of calls, spread by a fixed draw."""
    draw = random.Random(f"fault {number}")
    return draw.choice(FAULT_KINDS) if draw.random() < FAULTS else ""


class Reply(asyncio.Protocol):
    """A server as bare as can be, so that the client is what is measured."""

    seen: ClassVar[Counter[int]] = Counter()

    def connection_made(self, transport: Any) -> None:
        """Begin with nothing read."""
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        """Read a request, and answer it after the latency or never."""
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        length = int(next((line[15:] for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0))
        if not found or len(rest) < length:
            return
        self.buffer = rest[length:]
        if head.startswith(b"GET"):
            return self.answer(404, {"detail": "Not Found"})
        number = int(json.loads(rest[:length])["messages"][0]["content"].split()[-1])
        self.seen[number] += 1
        fault = fault_of(number) if self.seen[number] == 1 else ""
        if fault != "hang":
            choice = {"message": {"content": f"verdict {number}"}, "finish_reason": "stop"}
            reply = {"error": {"message": fault}} if fault else {"choices": [choice]}
            asyncio.get_running_loop().call_later(LATENCY_S, self.answer, int(fault or 200), reply)

    def answer(self, status: int, reply: Any) -> None:
        """Write one reply."""
        body = json.dumps(reply).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


def serve(port: Any) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Reply, "127.0.0.1", 0, backlog=256)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def ideal_seconds(order: list[int]) -> float:
    """Simulate the same calls, faults, time-outs and mean back-off with a client that costs nothing."""
    from verikit.engines.openai.call import FIRST_WAIT_S

    free = [0.0] * IN_FLIGHT
    ready = [(0.0, index, number, 0) for index, number in enumerate(order)]
    end = 0.0
    while ready:
        at, index, number, tries = heapq.heappop(ready)
        start = max(at, heapq.heappop(free))
        fault = fault_of(number) if tries == 0 else ""
        done = start + (TIMEOUT_S if fault == "hang" else LATENCY_S)
        heapq.heappush(free, done)
        if fault:
            heapq.heappush(ready, (done + 0.75 * FIRST_WAIT_S, index, number, 1))
        end = max(end, done)
    return end


def calls() -> None:
    from verikit.engines import Request, load_engine
    from verikit.types import Message

    receive, send = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("fork").Process(target=serve, args=(send,), daemon=True)
    server.start()
    spec = f"openai:http://127.0.0.1:{receive.recv()}/v1#judge"
    prompt = "Which of these two answers follows the instruction better? " * 8
    order = sorted(range(CALLS), key=lambda number: json.dumps([{"role": "user", "content": f"{prompt}{number}"}]))
    kinds = Counter(filter(None, map(fault_of, range(CALLS))))
    bound, ideal = CALLS * LATENCY_S / IN_FLIGHT, ideal_seconds(order)
    with load_engine(spec, concurrency=IN_FLIGHT, timeout_s=TIMEOUT_S, api_key="") as engine:
        chats = [Message(role="user", content=f"{prompt}{number}") for number in range(CALLS)]
        requests = [Request([chat], max_tokens=1) for chat in chats]
        start, cpu = time.perf_counter(), time.process_time()
        results = engine.generate(requests)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    server.terminate()
    right = sum(result.error is None and result.text == f"verdict {number}" for number, result in enumerate(results))
    tries = int(sum(result.usage["calls"] for result in results))
    print(f"{CALLS} calls, {IN_FLIGHT} in flight, {LATENCY_S * 1e3:.0f} ms; first tries hit by {dict(kinds)}")
    print(
        f"  right answers in place {right}, marked {sum(result.error is not None for result in results)}, tries {tries}"
    )
    print(f"  {seconds:.2f} s ({cpu:.2f} s of it CPU); ideal with the faults {ideal:.2f} s: {seconds / ideal:.2f}x")
    print(f"  without faults the ideal would be {bound:.2f} s")


def decoder(prompts: int = 64, length: int = 128, n: int = 8, steps: int = 64) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from verikit.engines.hf.decoder import Decoder
    from verikit.engines.hf.sampler import SamplingGroup

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2048, hidden_size=128, intermediate_size=352, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=1024, initializer_range=0.05,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    ids = torch.randint(3, 2048, (prompts, length))
    ends = {"all rows run to the end": [], "rows end by chance (one token in 48)": list(range(43))}

    def ours(eos: list[int]) -> int:
        groups = [SamplingGroup(row.tolist(), (0, 0, number), n=n, max_tokens=steps) for number, row in enumerate(ids)]
        return sum(len(row.ids) for rows in Decoder(model, eos).decode(groups) for row in rows)

    def theirs(eos: list[int]) -> int:
        with torch.no_grad():
            out: Any = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
                num_return_sequences=n, max_new_tokens=steps, eos_token_id=eos or None, pad_token_id=2047,
            )  # fmt: skip
        new = out[:, length:]
        ended = torch.isin(new, torch.tensor(eos)).int() if eos else torch.zeros_like(new)
        return int((ended.cumsum(1) - ended == 0).sum())

    print(
        f"{prompts} prompts of {length} tokens x {n}, at most {steps} new; Llama shape, d 128, 4 layers, V 2048, fp32"
    )
    for title, eos in ends.items():
        rates: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(2):
            for name, function in (("ours", ours), ("theirs", theirs)):
                start = time.perf_counter()
                tokens = function(eos)
                rates[name].append(tokens / (time.perf_counter() - start))
        best = {name: max(values) for name, values in rates.items()}
        ratio = best["ours"] / best["theirs"]
        print(f"  {title}, fp32, 1 thread: {best['ours']:,.0f} against {best['theirs']:,.0f} tokens/s: {ratio:.1f}x")


def pretrained(*shapes: str, prompt: int = 45, new: int = 24) -> None:
    """Decode real text by a pretrained model: tokens a second of CPU time, by ours and by `generate`, in turns."""
    import torch

    from tests.real.models import smollm2
    from verikit.engines.hf.decoder import Decoder
    from verikit.engines.hf.engine import HF
    from verikit.engines.hf.sampler import SamplingGroup

    torch.set_num_threads(1)
    engine = HF(str(smollm2()), dtype="float32")
    licence = (Path(__file__).parents[1] / "LICENSE").read_text("utf-8")
    tokens: list[int] = engine.tokenizer(licence).input_ids
    print(f"SmolLM2-135M-Instruct, fp32, 1 thread; prompts of {prompt} tokens, {new} new, temperature 1")
    for shape in shapes or ("64x1", "8x8"):
        prompts, n = map(int, shape.split("x"))
        starts = [number * (len(tokens) - prompt) // prompts for number in range(prompts)]
        ids = torch.tensor([tokens[start : start + prompt] for start in starts])

        def ours(ids: Any = ids, n: int = n) -> None:
            groups = [
                SamplingGroup(row.tolist(), (0, 0, number), n=n, max_tokens=new) for number, row in enumerate(ids)
            ]
            made = Decoder(engine.model, []).decode(groups)
            assert sum(len(row.ids) for rows in made for row in rows) == len(ids) * n * new

        def theirs(ids: Any = ids, n: int = n) -> None:
            with torch.inference_mode():
                out: Any = engine.model.generate(
                    ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
                    num_return_sequences=n, max_new_tokens=new, min_new_tokens=new, pad_token_id=0,
                )  # fmt: skip
            assert out.shape == (len(ids) * n, prompt + new)

        spent: dict[str, list[float]] = {"ours": [], "theirs": []}
        for name, function in (("ours", ours), ("theirs", theirs), ("theirs", theirs), ("ours", ours)):
            start = time.process_time()
            function()
            spent[name].append(time.process_time() - start)
        rates = {name: prompts * n * new / min(seconds) for name, seconds in spent.items()}
        print(
            f"  {prompts} prompts x {n}: {rates['ours']:,.0f} against {rates['theirs']:,.0f} tokens a CPU second: "
            f"{rates['ours'] / rates['theirs']:.2f}x",
            flush=True,
        )


def cache() -> None:
    from verikit.engines import Cache, CachedEngine, Engine, Generation, Output, Request

    class Echo(Engine):
        name = "echo"

        def generate(self, requests: Any) -> list[Generation]:
            return [Generation((Output(f"verdict {request.prompt} " * 20),)) for request in requests]

    requests = [Request(f"prompt {number} " * 50) for number in range(5000)]
    with tempfile.TemporaryDirectory() as folder:
        engine = CachedEngine(Echo(), Cache(Path(folder) / "c.sqlite"))
        for title in ("store", "hit"):
            start = time.perf_counter()
            engine.generate(requests)
            print(f"  {title}: {(time.perf_counter() - start) / len(requests) * 1e6:.0f} µs a request")


if __name__ == "__main__":
    parts = {"calls": calls, "decoder": decoder, "cache": cache}
    if sys.argv[1:2] == ["pretrained"]:
        pretrained(*sys.argv[2:])
    else:
        for part in sys.argv[1:] or parts:
            parts[part]()
