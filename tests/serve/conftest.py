import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

REWARDS = Path(__file__).parent / "rewards.py"
MOODY = f"{REWARDS}:moody"


class Server:
    """A `verikit serve` process and how to ask it."""

    def __init__(self, process, address):
        self.process, self.address = process, address
        self.port = int(address.rpartition(":")[2])
        self.http = httpx.Client(base_url=address, timeout=30)
        self.connections = []

    def connect(self, data=b""):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        self.connections.append(made)
        made.sendall(data)
        return made

    def close(self):
        for connection in (*self.connections, self.http):
            connection.close()
        self.process.kill()

    def score(self, completion, answer="x", **more):
        return self.http.post("/score", json={"completion": completion, "answer": answer, **more})

    def scorers(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def memory_mb(self):
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def metric(self, name):
        lines = self.http.get("/metrics").text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def recovers(self, within=2.0):
        """Whether a plain request is answered right, and every scoring process is there, soon enough."""
        start = time.monotonic()
        while time.monotonic() - start < within:
            if self.http.get("/ready").status_code == 200:
                found = self.score("x")
                if found.status_code == 200 and found.json()["scores"][0]["value"] == 1.0:
                    return True
            time.sleep(0.05)
        return False


@pytest.fixture
def serve(tmp_path):
    """Start servers; what they wrote to stderr is left in `logs`."""

    @contextmanager
    def start(*options, spec=MOODY, token=None, before="", log=tmp_path / "log"):
        code = f"{before}\nfrom verikit.cli import main; main()"
        command = [sys.executable, "-c", code, "serve", spec, "--port", "0", *map(str, options)]
        environment = {**os.environ, **({"VERIKIT_TOKEN": token} if token else {})}
        with (
            open(log, "wb") as stream,
            subprocess.Popen(command, stderr=stream, env=environment) as process,
        ):
            try:
                address, start = "", time.monotonic()
                while not address and process.poll() is None and time.monotonic() - start < 60:
                    time.sleep(0.02)
                    address = log.read_text().rpartition(" on ")[2].strip()
                assert address, log.read_text()
                server = Server(process, address)
                try:
                    yield server
                finally:
                    server.close()
            finally:
                process.kill()

    return start


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"
