"""Whether a host can be reached, and whether there can be a model of a name: asked before libraries that retry."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

SECONDS, MODEL_SECONDS = 3.0, 10.0
"""Longest wait for a connection before a host counts as unreachable. A model's download may be worth a longer one."""
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)


def endpoint() -> str:
    """Return the address of the Hugging Face Hub, or of the mirror that HF_ENDPOINT names."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def unreachable(url: str, seconds: float | None = None) -> str:
    """Return why there is no connection to a host, or to the proxy that leads there. "" if there is one.

    The answer comes within `seconds`, SECONDS by default, even if a name server does not reply.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return "HF_HUB_OFFLINE is set"
    seconds = SECONDS if seconds is None else seconds
    host = urlsplit(url)
    proxy = "" if proxy_bypass(host.hostname or "") else getproxies().get(host.scheme, "")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    target = urlsplit(proxy or url)
    problem = [f"no connection to {target.hostname} within {seconds:g} s"]

    def connect() -> None:
        try:
            port = target.port or {"http": 80}.get(target.scheme, 443)
            socket.create_connection((target.hostname, port), timeout=seconds).close()
            problem[:] = [""]
        except OSError as error:
            problem[:] = [f"no connection to {target.hostname}: {error.strerror or error}"]

    thread = Thread(target=connect, daemon=True)
    thread.start()
    thread.join(seconds)
    return problem[0]


def why_no_model(path: str) -> str:
    """Return why neither this machine nor the Hugging Face Hub can have a model. "" if one of them may have it.

    transformers retries for about a minute if there is no network. This answers within MODEL_SECONDS.
    """
    if os.path.exists(path):
        return ""
    if not _HUB_NAME.fullmatch(path):
        return "the folder does not exist"
    if (_hub_cache() / f"models--{path.replace('/', '--')}").is_dir():
        return ""
    if problem := unreachable(endpoint(), MODEL_SECONDS):
        return f"neither the folder nor a downloaded model of that name exists, and {problem}"
    return ""


def _hub_cache() -> Path:
    """Return where huggingface_hub keeps downloaded models."""
    if own := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(own).expanduser()
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(home).expanduser() / "hub"
