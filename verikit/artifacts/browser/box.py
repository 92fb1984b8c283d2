"""Starts Chromium in its box, and ends it with all its processes."""

from __future__ import annotations

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from verikit.errors import SandboxError, WorkspaceError

APT = "apt-get install chromium-headless-shell"
CPU_S, MEMORY_MB, DISK_MB = 20, 1024, 256
"""Limits of each process of the browser."""
RESIDENT_MB = 3072
"""Maximum of all its processes together. Shared pages are counted for each process."""
_NAMES = ("chromium-headless-shell", "chrome-headless-shell", "headless_shell", "chromium", "google-chrome")
_SHOWN = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/fonts", "/usr/share/fonts",
    "/usr/share/fontconfig", "/usr/local/share/fonts", "/var/cache/fontconfig", "/usr/share/zoneinfo",
)  # fmt: skip
_FLAGS = (
    "--headless", "--remote-debugging-pipe", "--no-sandbox", "--no-zygote", "--user-data-dir=/tmp/profile",
    "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-extensions", "--disable-breakpad", "--disable-crash-reporter", "--metrics-recording-only",
    "--disable-domain-reliability", "--disable-client-side-phishing-detection", "--no-pings", "--mute-audio",
    "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text",
    "--force-device-scale-factor=1", "--disable-logging", "--lang=en-US", "--password-store=basic",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-blink-features=AutomationControlled",
    "--blink-settings=imageAnimationPolicy=2", "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding", "--disable-background-timer-throttling", "--disable-ipc-flooding-protection",
    "--disable-features=Translate,MediaRouter,OptimizationHints,PaintHolding,BackForwardCache",
    "--js-flags=--max-old-space-size=384", "about:blank",
)  # fmt: skip


@cache
def program() -> str:
    """The browser's own program, not the shell script that distributions wrap around it; empty if not installed."""
    for name in _NAMES:
        found = shutil.which(name)
        if found is None:
            continue
        for path in (os.path.realpath(found), f"/usr/lib/chromium/{name}", *glob.glob("/opt/google/chrome/chrome")):
            if _is_program(path):
                return path
    return ""


def _is_program(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


class BrowserBox:
    """One browser, from start to end.

    Args:
        instead: Another program to run instead of the browser, to test the box. It may read Python's files.

    Raises:
        WorkspaceError: It is not installed.
        SandboxError: The machine can't isolate it.
    """

    def __init__(self, instead: Sequence[str] = ()) -> None:
        if sys.platform != "linux":
            raise WorkspaceError("pages are opened on Linux only")
        if not instead and not program():
            raise WorkspaceError("Chromium is not installed", hint=APT)
        from verikit.sandbox import paths
        from verikit.sandbox.client import clean_environment, command

        theirs, self.commands = os.pipe()
        self.answers, their_answers = os.pipe()
        shown = [*paths.readable(), sys.prefix, sys.base_prefix] if instead else [*_SHOWN, os.path.dirname(program())]
        order = {
            "command": list(instead) or [program(), *_FLAGS], "commands": theirs, "answers": their_answers,
            "readable": shown, "memory": MEMORY_MB << 20, "disk": DISK_MB << 20,
            "cpu": CPU_S, "environment": {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "/tmp"},
        }  # fmt: skip
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [*command("browser"), json.dumps(order)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, cwd="/", env=clean_environment(), start_new_session=True,
                pass_fds=[theirs, their_answers],
            )  # fmt: skip
        except OSError as error:
            os.close(self.commands)
            os.close(self.answers)
            raise SandboxError(f"the browser's box can't be made: {error}") from None
        finally:
            os.close(theirs)
            os.close(their_answers)
        os.set_blocking(self.commands, False)

    def resident_mb(self) -> int:
        """Memory in use by all processes of the browser."""
        from verikit.sandbox import processes

        return int(processes.measured(processes.resident, self._process.pid)) >> 20

    def cpu_s(self) -> float:
        """CPU seconds that they have used."""
        from verikit.sandbox import processes

        return processes.measured(processes.processor_seconds, self._process.pid)

    def told(self) -> str:
        """After its end: why the box could not be created, if it failed."""
        self.end()
        assert self._process.stderr is not None
        return os.read(self._process.stderr.fileno(), 2000).decode("utf-8", "replace").strip()

    def end(self) -> None:
        """End the browser and all its processes. They are in a process namespace, which ends with its first process."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End it, and close the pipes."""
        self.end()
        assert self._process.stderr is not None
        self._process.stderr.close()
        for descriptor in (self.commands, self.answers):
            with suppress(OSError):
                os.close(descriptor)
