"""Forbidden actions of a page, detected by the browser's own events: each is the agent's failure, and ends the run."""

from __future__ import annotations

from typing import Any

from verikit.artifacts.browser.pipe import BrowserPipe
from verikit.artifacts.browser.site import Site
from verikit.errors import AgentFault

_MOST_PRINTED, _MOST_DOCUMENTS, _MOST_WORKERS = 1000, 10, 20
_OF_LIMITS = {"oom": "memory", "killed": "CPU time"}


class Crash(Exception):
    """The browser's process for the page ended without giving a reason."""


class PageGuard:
    """Hears the events of one run.

    Args:
        pipe: To the browser.
        site: The files of the workspace.
    """

    def __init__(self, pipe: BrowserPipe, site: Site) -> None:
        self._pipe, self._site = pipe, site
        self.session = self.target = self.frame = ""
        self.loaded = False
        self.printed: list[str] = []
        self.errors: list[str] = []
        self.workers: dict[str, str] = {}
        """Sessions of workers that run, and their kinds."""
        self.shared: dict[str, str] = {}
        """Sessions of shared workers, and their targets."""
        self.dialogs: list[bool | str] = []
        """Answers to the next dialogs. A dialog without an answer is the page's failure."""
        self.leaves = False
        """Whether another document has been asked for and is not there yet."""
        self._documents = 0
        self._loads: set[str] = set()
        """The browser's ids of the loads of documents that the workspace answered."""

    def heard(self, session: str, name: str, data: dict[str, Any]) -> None:
        """Act on an event.

        Raises:
            AgentFault: The page did something forbidden.
        """
        act = _ACTS.get(name)
        if act is not None and (session == self.session or name.startswith(("Target.", "Browser.", "Fetch."))):
            act(self, session, data)

    def has_ended(self, session: str) -> bool:
        """Whether a worker runs no more. The browser tells the end of a shared worker only if it is asked."""
        if session not in self.workers:
            return True
        if session not in self.shared:
            return False
        targets = self._pipe.call("Target.getTargets").get("targetInfos")
        return isinstance(targets, list) and self.shared[session] not in [one.get("targetId") for one in targets]

    def _asked(self, session: str, data: dict[str, Any]) -> None:
        request = data.get("request")
        address = str(request.get("url", "")) if isinstance(request, dict) else ""
        number = str(data.get("requestId", ""))
        document = data.get("resourceType") == "Document"
        if document and data.get("frameId") == self.frame and not self._site.has(address):
            self._pipe.send("Fetch.failRequest", session, requestId=number, errorReason="BlockedByClient")
            raise AgentFault(f"the page goes away to {address[:200]!r}")
        self.leaves = self.leaves or (document and data.get("frameId") == self.frame)
        if document and "networkId" in data:
            self._loads.add(str(data["networkId"]))
        answer = self._site.answer(address)
        if answer is None:
            self._pipe.send("Fetch.failRequest", session, requestId=number, errorReason="BlockedByClient")
        else:
            self._pipe.send("Fetch.fulfillRequest", session, requestId=number, **answer)

    def _navigated(self, session: str, data: dict[str, Any]) -> None:
        frame = data.get("frame")
        if isinstance(frame, dict) and "parentId" not in frame:
            self._documents, self.leaves = self._documents + 1, False
            if self._documents > _MOST_DOCUMENTS:
                raise AgentFault("the page is replaced without end")
            if self._loads and str(frame.get("loaderId")) not in self._loads:  # a blob: address
                raise AgentFault("the page replaces its document")

    def _opened(self, session: str, data: dict[str, Any]) -> None:
        frame = data.get("frame")
        if isinstance(frame, dict) and "parentId" not in frame:
            raise AgentFault("the page replaces its document")

    def _window(self, session: str, data: dict[str, Any]) -> None:
        raise AgentFault(f"the page opens a window: {str(data.get('url'))[:200]!r}")

    def _created(self, session: str, data: dict[str, Any]) -> None:
        info = data.get("targetInfo")
        if not isinstance(info, dict):
            return
        if info.get("type") == "page" and info.get("openerId") == self.target:
            raise AgentFault(f"the page opens a window: {str(info.get('url'))[:200]!r}")
        if info.get("type") == "shared_worker":
            self._pipe.send("Target.attachToTarget", targetId=str(info.get("targetId")), flatten=True)

    def _attached(self, session: str, data: dict[str, Any]) -> None:
        info, own = data.get("targetInfo"), str(data.get("sessionId", ""))
        if isinstance(info, dict) and "worker" in str(info.get("type")):
            self.workers[own] = str(info["type"])
            if info["type"] == "shared_worker":
                self.shared[own] = str(info.get("targetId"))
            if len(self.workers) > _MOST_WORKERS:
                raise AgentFault("the page starts workers without end")
            self._pipe.send("Target.setAutoAttach", own, autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def _detached(self, session: str, data: dict[str, Any]) -> None:
        self.workers.pop(str(data.get("sessionId", "")), None)

    def _download(self, session: str, data: dict[str, Any]) -> None:
        raise AgentFault(f"the page downloads {str(data.get('suggestedFilename'))[:200]!r}")

    def _dialog(self, session: str, data: dict[str, Any]) -> None:
        if not self.dialogs:
            raise AgentFault(f"the page blocks with a dialog: {str(data.get('message'))[:200]!r}")
        answer = self.dialogs.pop(0)
        text = {"promptText": answer} if isinstance(answer, str) else {}
        self._pipe.send("Page.handleJavaScriptDialog", session, accept=answer is not False, **text)

    def _printed(self, session: str, data: dict[str, Any]) -> None:
        arguments = data.get("args")
        told = []
        for one in arguments if isinstance(arguments, list) else ():
            if isinstance(one, dict):
                told.append(str(one["value"] if "value" in one else one.get("description", "")))
        text = " ".join(told)[:2000]
        self.printed.append(text)
        if data.get("type") in ("error", "assert"):
            self.errors.append(text)
        if len(self.printed) > _MOST_PRINTED:
            raise AgentFault("the page prints without end")

    def _threw(self, session: str, data: dict[str, Any]) -> None:
        details = data.get("exceptionDetails")
        thrown = details.get("exception") if isinstance(details, dict) else None
        text = str(thrown.get("description") or thrown.get("value")) if isinstance(thrown, dict) else "an exception"
        if len(self.errors) < _MOST_PRINTED:
            self.errors.append(text.partition("\n")[0][:500])

    def _socket(self, session: str, data: dict[str, Any]) -> None:
        self._site.note(str(data.get("url", "")))

    def _crashed(self, session: str, data: dict[str, Any]) -> None:
        if data.get("targetId") != self.target:
            return
        if data.get("status") in _OF_LIMITS:
            raise AgentFault(f"the page's process ended: it has a limit on {_OF_LIMITS[data['status']]}")
        raise Crash

    def _load(self, session: str, data: dict[str, Any]) -> None:
        self.loaded = True


_ACTS = {
    "Fetch.requestPaused": PageGuard._asked,
    "Page.frameNavigated": PageGuard._navigated,
    "Page.documentOpened": PageGuard._opened,
    "Page.windowOpen": PageGuard._window,
    "Page.javascriptDialogOpening": PageGuard._dialog,
    "Page.loadEventFired": PageGuard._load,
    "Page.downloadWillBegin": PageGuard._download,
    "Browser.downloadWillBegin": PageGuard._download,
    "Target.targetCreated": PageGuard._created,
    "Target.attachedToTarget": PageGuard._attached,
    "Target.detachedFromTarget": PageGuard._detached,
    "Target.targetCrashed": PageGuard._crashed,
    "Runtime.consoleAPICalled": PageGuard._printed,
    "Runtime.exceptionThrown": PageGuard._threw,
    "Network.webSocketCreated": PageGuard._socket,
}
