"""Whether pages can be opened on this machine, found by trying it."""

from __future__ import annotations

from verikit.artifacts.browser.box import BrowserBox
from verikit.artifacts.browser.pipe import BrowserPipe, Refusal, Silent
from verikit.artifacts.browser.session import version
from verikit.errors import AgentFault, SandboxError, WorkspaceError, with_hint


def browser_refusal() -> str:
    """Why no page can be opened here; empty if pages can be opened."""
    return _tried()[1]


def browser_told() -> str:
    """The browser's version, or why no page can be opened here."""
    number, refusal = _tried()
    return refusal or f"Chromium {number}, without network, in its own namespaces"


def _tried() -> tuple[str, str]:
    try:
        box = BrowserBox()
    except (WorkspaceError, SandboxError) as error:
        return "", with_hint(f"missing: {error}", error.hint)
    try:
        return version(BrowserPipe(box)), ""
    except (WorkspaceError, AgentFault, Refusal, Silent) as error:
        return "", f"missing: a box for a browser can't be created here: {error}"
    finally:
        box.close()
