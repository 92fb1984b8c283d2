import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.processes import children
from tests.waiting import until

REWARDS = Path(__file__).parent / "rewards.py"
MOODY = f"{REWARDS}:moody"


class Server:
    """A `verikit serve` process and how to ask it."""

    def __init__(self, process, address):
        self.process, self.address = process, address
        self.port = int(address.rpartition(":")[2])
        self.http = httpx.Client(base_url=address, timeout=120)
        self.connections = []

    def connect(self, data=b""):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=60)
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
        return sorted(children(self.process.pid))

    def memory_mb(self):
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def metric(self, name):
        lines = self.http.get("/metrics").text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def recovers(self):
        """Wait until a plain request is answered right, and every scoring process is there."""

        def well():
            if self.http.get("/ready").status_code != 200:
                return False
            found = self.score("x")
            return found.status_code == 200 and found.json()["scores"][0]["value"] == 1.0

        return until(well, "the server to be well again")

    @contextmanager
    def held(self, name):
        """Keep the one scoring process busy meanwhile, and give where the held request's reply will be."""
        with ThreadPoolExecutor(1) as thread:
            reply = thread.submit(self.score, f"hold {name}", "x")
            try:
                until(Path(f"{name}.begun").exists, "the held sample")
                yield reply
            finally:
                Path(f"{name}.go").touch()


def address_of(process, log):
    """Where a server that was just started listens, from its log."""

    def told():
        assert process.poll() is None, log.read_text()
        return log.read_text().rpartition(" on ")[2].strip()

    return until(told, "the server's address")


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
                server = Server(process, address_of(process, log))
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
