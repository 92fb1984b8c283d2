"""Starts Chromium in its box."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache

from verikit.artifacts.apart import DISPLAYING, ApplicationBox, python_paths
from verikit.errors import WorkspaceError

APT = "apt-get install chromium-headless-shell"
CPU_S, MEMORY_MB, DISK_MB = 20, 1024, 256
"""Limits of each process of the browser."""
RESIDENT_MB = 3072
"""Maximum of all its processes together. Shared pages are counted for each process."""
_NAMES = ("chromium-headless-shell", "chrome-headless-shell", "headless_shell", "chromium", "google-chrome")
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


class BrowserBox(ApplicationBox):
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
        shown = python_paths() if instead else [*DISPLAYING, os.path.dirname(program())]
        limits = {"memory": MEMORY_MB << 20, "disk": DISK_MB << 20, "cpu": CPU_S}
        super().__init__(list(instead) or [program(), *_FLAGS], shown, limits)
