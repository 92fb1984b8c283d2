"""A container for each program: `docker run` without network, with a read-only root and a memory file system.

Process 1 of the container is verikit's (`guest/container.py`). It starts the program as a child under verikit's system
call filter and resource limits, in addition to docker's own restrictions. Nothing of this machine is mounted. Programs
travel through standard input, so the daemon may run on another machine. The image needs Python 3.11 or newer as
`python3`.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any

from verikit.errors import SandboxUnavailable
from verikit.platform.system import processors
from verikit.sandbox import bundle, probes, records
from verikit.sandbox.client import RECORD_MORE, caps
from verikit.sandbox.guest import source
from verikit.sandbox.http import HttpSandbox
from verikit.sandbox.report import PROPERTIES, Property, Report
from verikit.sandbox.types import Failure, RunLimits, RunResult
from verikit.sandbox.whole import WholeRuns

_MODULES = (*bundle.MODULES, "linux", "landlock", "seccomp", "paths", "isolate")
_START_S = 60.0
"""Maximum seconds for the daemon to start the program."""
_GRACE_S = 5.0
_USER = "65534:65534"
_OWN_MB = 64
"""Memory of process 1, and of the interpreter before the program."""
SERVER_IMAGE = "volcengine/sandbox-fusion:server-20250609"
_SERVER_PORT = 8080


def docker() -> str:
    """The path of the command.

    Raises:
        SandboxUnavailable: It is not on PATH.
    """
    found = shutil.which("docker")
    if found is None:
        raise SandboxUnavailable(
            "docker is not on PATH", hint="install it (https://docs.docker.com/engine/install), or choose `local`"
        )
    return found


class DockerSandbox(WholeRuns):
    """Runs each program in a separate container.

    Args:
        image: with Python 3.11 or newer; it must be on the daemon's machine already.
        require: properties that must be verified.
        limits: of each run.
        workers: parallel containers.

    Raises:
        SandboxUnavailable: Docker or the image is missing, or a required property is not verified.
    """

    def __init__(
        self,
        image: str,
        *,
        require: Iterable[Property] = (),
        limits: RunLimits | None = None,
        workers: int | None = None,
    ) -> None:
        self.limits: RunLimits = limits or RunLimits()
        self.workers: int = workers or processors()
        self._docker, self._image = docker(), image
        self._report = Report("docker", image, {}, dict.fromkeys(PROPERTIES, "absent"))
        first = self.run("print('ok')", limits=RunLimits(wall_s=20.0))
        if first.status != "ok":
            raise SandboxUnavailable(
                f"programs can't run in a container of {image}: {first.error}",
                hint=(
                    f"docker pull {image}, then check that `docker run --rm {image} python3 --version` "
                    "prints 3.11 or newer"
                ),
            )
        properties, notes = probes.examine(self, spin_s=1.0)
        layers = {"docker": "active", "seccomp": "active", "limits": "active"}
        self._report = Report("docker", image, layers, properties, notes)
        self._report.require(frozenset(require))

    @property
    def report(self) -> Report:
        """The verified properties."""
        return self._report

    def command(self, name: str, limits: RunLimits) -> list[str]:
        """The command line of one container."""
        memory = f"{limits.memory_mb + _OWN_MB + limits.disk_mb}m"  # its file system is memory, too
        disk = limits.disk_mb << 20
        return [
            self._docker, "run", "--rm", "--interactive", "--name", name, "--pull", "never", "--log-driver", "none",
            "--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
            "--user", _USER, "--pids-limit", str(limits.threads + 8), "--memory", memory, "--memory-swap", memory,
            "--ipc", "none", "--tmpfs", f"/tmp:rw,nosuid,nodev,noexec,size={disk},nr_inodes={limits.files},mode=1777",
            "--workdir", "/tmp", "--env", "PYTHONHASHSEED=0", "--env", "LANG=C.UTF-8", "--env", "TZ=UTC",
            "--env", "PYTHONIOENCODING=utf-8:strict", "--env", "PYTHONDONTWRITEBYTECODE=1",
            "--entrypoint", "python3", self._image, "-s", "-c", bundle.loader() + source("container"),
        ]  # fmt: skip

    def _execute(self, payload: bytes, stdin: bytes, limits: RunLimits, calls: int, *, asking: bool) -> RunResult:
        mark, name = secrets.token_hex(16), f"verikit-{secrets.token_hex(8)}"
        order = {
            "cpu": limits.cpu_s if limits.cpu_s is not None else limits.wall_s + 1, "wall": limits.wall_s,
            "memory": limits.memory_mb << 20, "disk": limits.disk_mb << 20, "threads": limits.threads, "mark": mark,
            "record": (limits.value_kb << 10) + RECORD_MORE, "payload": len(payload), "stdin": len(stdin),
            "modules": bundle.modules(_MODULES),
        }  # fmt: skip
        given = json.dumps(order).encode() + b"\n" + payload + stdin
        try:
            process = subprocess.Popen(
                self.command(name, limits), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return RunResult("infra_error", error=Failure("infra", str(error)))
        flight = _Container(process, mark.encode(), limits)
        try:
            why = flight.pump(given)
        finally:
            if process.poll() is None:
                self._kill(name)
                process.kill()
            process.wait()
            flight.close()
        return flight.result(why, calls, asking=asking)

    def _kill(self, name: str) -> None:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run([self._docker, "rm", "--force", name], capture_output=True, timeout=_START_S)


class _Container:
    """One container's streams: its input, its output, and its deadline."""

    def __init__(self, process: subprocess.Popen[bytes], mark: bytes, limits: RunLimits) -> None:
        self._process, self._mark, self._limits = process, mark, limits
        self._caps = caps(limits)
        self._out, self._err = bytearray(), bytearray()
        self._begun = 0.0
        """When the program was let loose; 0: not yet."""
        self._last = 0.0
        """When something was heard last: taking a container down is not the program's time."""

    def pump(self, given: bytes) -> str:
        """Move data until the end. Returns why it ended: `exit`, `wall`, `start`, or the stream beyond its cap."""
        stdin, streams = self._files()
        deadline = time.monotonic() + _START_S
        view = memoryview(given)
        most = self._caps["stdout"] + self._caps["record"] + 4096
        while streams:
            if time.monotonic() >= deadline:
                return "wall" if self._begun else "start"
            writers = [stdin] if view else []
            ready, able, _ = select.select(list(streams), writers, [], 0.5)
            if able:
                view = self._write(stdin, view)
            for stream in ready:
                chunk = os.read(stream.fileno(), 1 << 16)
                if not chunk:
                    streams.pop(stream)
                self._last = time.monotonic()
                streams.get(stream, bytearray()).extend(chunk)
            if not self._begun and self._out.startswith(self._mark + b"ready\n"):
                self._begun = time.monotonic()
                deadline = self._begun + self._limits.wall_s + _GRACE_S
            if len(self._out) > most or len(self._err) > self._caps["stderr"]:
                return "stdout" if len(self._out) > most else "stderr"
        return "exit"

    def _files(self) -> tuple[IO[bytes], dict[IO[bytes], bytearray]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process.stdin, {process.stdout: self._out, process.stderr: self._err}

    @staticmethod
    def _write(stdin: IO[bytes], view: memoryview) -> memoryview:
        try:
            left = view[os.write(stdin.fileno(), view[: 1 << 16]) :]
        except BlockingIOError:
            return view
        except OSError:
            left = memoryview(b"")
        if not left:
            stdin.close()
        return left

    def close(self) -> None:
        """Close the pipes."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def result(self, why: str, calls: int, *, asking: bool) -> RunResult:
        """The result of the run. A container that did not start the program is never the program's failure."""
        if not self._begun:
            told = bytes(self._err).decode("utf-8", "replace").strip()[-300:]
            problem = told or ("it did not start in time" if why == "start" else "it ended before the program began")
            return RunResult("infra_error", error=Failure("infra", f"docker: {problem}"))
        out = bytes(self._out)[len(self._mark) + len(b"ready\n") :]
        stdout, found, tail = out.rpartition(b"\n" + self._mark)
        ended: dict[str, Any] = {"why": "exit", "exit": -9, "seconds": self._last - self._begun,
                                 "disk_full": False, "cpu_over": False}  # fmt: skip
        record = b""
        if why == "exit" and found:
            line, _, record = tail.partition(b"\n")
            ended |= _told(line)
        elif why == "exit":
            stdout = out
        cap = self._caps["stdout"]
        over = "stdout" if len(stdout) > cap else ""
        if why in ("stdout", "stderr"):
            over = why
        data = {"stdout": stdout[:cap], "stderr": bytes(self._err)[: self._caps["stderr"]], "record": record}
        if why == "wall":
            ended |= {"why": why, "seconds": time.monotonic() - self._begun}
        return records.result(ended, over, data, self._limits, calls, asking=asking)


def _told(line: bytes) -> dict[str, Any]:
    """Process 1's report of the end. The program may have forged it, so only results that it could cause are used."""
    try:
        said = json.loads(line)
        cpu = float(said["cpu"])
        return {
            "why": "wall" if said["why"] == "wall" else "exit", "exit": int(said["exit"]),
            "cpu": cpu if 0 <= cpu < 1e6 else 0.0, "cpu_over": said["cpu_over"] is True,
            "disk_full": said["disk_full"] is True,
        }  # fmt: skip
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


class DockerServer(HttpSandbox):
    """A container with a SandboxFusion server in it, which runs all programs; it ends with this object.

    Args:
        image: of the server, which listens on port 8080.

    Raises:
        SandboxUnavailable: There is no docker, or the server does not answer.
    """

    def __init__(self, image: str = SERVER_IMAGE) -> None:
        self._docker, self._name = docker(), f"verikit-{secrets.token_hex(8)}"
        try:
            self._asked(
                "run", "--detach", "--rm", "--name", self._name, "--publish", f"127.0.0.1::{_SERVER_PORT}",
                "--pids-limit", "4096", "--security-opt", "no-new-privileges", image,
            )  # fmt: skip
            address = self._asked("port", self._name, str(_SERVER_PORT)).splitlines()[0].strip()
            self._await(f"http://{address}")
            super().__init__(f"http://{address}", check=True)
        except BaseException:
            self._remove()
            raise

    def _asked(self, *arguments: str) -> str:
        try:
            done = subprocess.run([self._docker, *arguments], capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            raise SandboxUnavailable(f"docker {arguments[0]}: {error}", hint="is the daemon up?") from None
        if done.returncode or not done.stdout.strip():
            raise SandboxUnavailable(
                f"docker {arguments[0]}: {done.stderr.strip()[-300:]}", hint=f"docker pull {arguments[-1]}"
            )
        return done.stdout

    @staticmethod
    def _await(url: str) -> None:
        import httpx

        end = time.monotonic() + _START_S
        while time.monotonic() < end:
            with suppress(httpx.HTTPError):
                if httpx.get(f"{url}/v1/ping", timeout=5).is_success:
                    return
            time.sleep(0.2)
        raise SandboxUnavailable(f"the server in the container does not answer in {_START_S:g} s", hint="docker logs")

    def _remove(self) -> None:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run([self._docker, "rm", "--force", self._name], capture_output=True, timeout=_START_S)

    def close(self) -> None:
        """End the container."""
        super().close()
        self._remove()
