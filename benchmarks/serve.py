"""The reward server under load: samples a second, latency, and whether every request is answered.

`verikit serve answer` with one scoring process on loopback, and keep-alive clients in this process with 64 requests in
flight of one sample each (then `--per-request` samples each), on GSM8K solutions from ../shared/data. Every reply is
compared with the score made in process. Bars for one sample a request: 2,000 samples a second, p99 at most 100 ms,
nothing lost. Clients, server and scorer share the machine's cores; the CPU seconds of each are printed beside.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from verikit import Sample, load

DATA = Path(os.environ.get("VERIKIT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
MIN_RATE, MAX_P99_S = 2000, 0.1
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def samples() -> list[Sample]:
    rows = map(json.loads, (DATA / "bon/gsm8k_four_models.jsonl").read_text("utf-8").splitlines())
    return [
        Sample(row["question"], row[model]["solution"], row["ground_truth"].rpartition("A: ")[2].strip())
        for row in rows
        for model in MODELS
    ]


class Client(asyncio.Protocol):
    """One connection that sends a request as soon as the reply to the one before is there."""

    def __init__(self, work: Iterator[tuple[bytes, bytes]], seconds: list[float], wrong: list[bytes]) -> None:
        self.work, self.seconds, self.wrong = work, seconds, wrong
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        item = next(self.work, None)
        if item is None:
            self.transport.close()
            self.done.set_result(None)
            return
        request, self.expected = item
        self.begun = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.held += data
        head, found, body = self.held.partition(b"\r\n\r\n")
        if not found or len(body) < int(LENGTH.search(head)[1]):  # type: ignore[index]
            return
        self.seconds.append(time.perf_counter() - self.begun)
        if not head.startswith(b"HTTP/1.1 200") or body != self.expected:
            self.wrong.append(head[:40] + body[:200])
        self.held = b""
        self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.wrong.append(b"connection lost")
            self.done.set_result(None)


def requests(per_request: int) -> list[tuple[bytes, bytes]]:
    """Requests with the replies they must get, which are made in process."""
    from verikit.scoring.rows import encode, to_row

    given = samples()
    rows = [encode(to_row(score)).encode() for score in load("answer").score(given)]
    made = []
    for start in range(0, len(given) - per_request + 1, per_request):
        part = given[start : start + per_request]
        body = json.dumps(
            {
                "samples": [
                    {"prompt": sample.prompt, "completion": sample.completion, "answer": sample.answer}
                    for sample in part
                ]
            }
        ).encode()
        head = f"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        made.append((head + body, b'{"scores":[' + b",".join(rows[start : start + per_request]) + b"]}\n"))
    return made


async def load_up(port: int, count: int, flight: int, per_request: int) -> tuple[float, list[float], list[bytes]]:
    work = islice(cycle(requests(per_request)), count)
    seconds: list[float] = []
    wrong: list[bytes] = []
    begun = time.perf_counter()
    loop = asyncio.get_running_loop()
    pairs = [
        await loop.create_connection(lambda: Client(work, seconds, wrong), "127.0.0.1", port) for _ in range(flight)
    ]
    await asyncio.gather(*(client.done for _, client in pairs))
    return time.perf_counter() - begun, seconds, wrong


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(port: int, server: int, scorers: list[int], count: int, flight: int, per_request: int) -> bool:
    before = cpu_of(server), sum(map(cpu_of, scorers)), time.process_time()
    wall, seconds, wrong = asyncio.run(load_up(port, count, flight, per_request))
    after = cpu_of(server), sum(map(cpu_of, scorers)), time.process_time()
    seconds.sort()
    rate, p50, p99 = count * per_request / wall, seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
    lost = count - len(seconds)
    cpu = ", ".join(
        f"{name} {b - a:.1f} s" for name, a, b in zip(("server", "scorers", "clients"), before, after, strict=True)
    )
    print(
        f"{per_request} a request, {flight} in flight: {rate:,.0f} samples/s, p50 {p50 * 1000:.1f} ms, "
        f"p99 {p99 * 1000:.1f} ms, {lost} lost, {len(wrong)} wrong; CPU: {cpu}"
    )
    for line in wrong[:3]:
        print("  ", line)
    return not lost and not wrong and rate >= MIN_RATE and p99 <= MAX_P99_S


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=30_000)
    parser.add_argument("--flight", type=int, default=64)
    parser.add_argument("--per-request", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    command = [sys.executable, "-m", "verikit", "serve", "answer", "--port", "0", "--workers", str(options.workers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        port = int(server.stderr.readline().rpartition(":")[2])
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        scorers = [int(pid) for pid in children]
        try:
            single = measure(port, server.pid, scorers, options.requests, options.flight, 1)
            measure(
                port, server.pid, scorers, options.requests // options.per_request, options.flight, options.per_request
            )
        finally:
            server.terminate()
    print(f"server's peak memory {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB")
    sys.exit(not single)


if __name__ == "__main__":
    main()
