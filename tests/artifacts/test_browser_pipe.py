"""A browser that a page has taken over may say anything: it is heard within bounds, and what is forbidden ends it."""

import os
from contextlib import contextmanager

import pytest

from verikit.artifacts.browser import pipe as pipes
from verikit.artifacts.browser.guard import Crash, PageGuard
from verikit.artifacts.browser.pipe import BrowserPipe, Refusal, Silent
from verikit.artifacts.browser.site import Site, address_of
from verikit.artifacts.browser.steps import Aim, Step, read_steps
from verikit.errors import AgentFault, UsageError, WorkspaceError


class FakeBox:
    """A browser that has said all it will ever say."""

    def __init__(self, said, ended):
        self.answers, self._says = os.pipe()
        self.kept, self.commands = os.pipe()
        os.set_blocking(self.commands, False)
        os.write(self._says, said)
        if ended:
            os.close(self._says)

    def resident_mb(self):
        return 100

    def largest_mb(self):
        return 100

    def told(self):
        return ""


@contextmanager
def browser(said=b"", *, ended=True):
    box = FakeBox(said, ended)
    try:
        yield BrowserPipe(box)
    finally:
        for descriptor in (box.answers, box.commands, box.kept, *(() if ended else (box._says,))):
            os.close(descriptor)


@pytest.mark.parametrize("said", [b"hello\0", b"[" * 60_000 + b"\0", b"4\0", b"", b'{"id": 1'])
def test_a_browser_that_talks_nonsense_or_ends_leaves_no_value(said):
    with browser(said) as pipe, pytest.raises(WorkspaceError):
        pipe.call("Page.enable")


def test_a_browser_that_says_too_much_is_the_pages_fault(monkeypatch):
    monkeypatch.setattr(pipes, "_MOST_MESSAGE", 1000)
    with browser(b"x" * 5000) as pipe, pytest.raises(AgentFault, match="more than the limit"):
        pipe.call("Page.enable")


def test_events_without_end_are_the_pages_fault(monkeypatch):
    monkeypatch.setattr(pipes, "_MOST_EVENTS", 10)
    with (
        browser(b'{"method": "x", "params": {}}\0' * 20, ended=False) as pipe,
        pytest.raises(AgentFault, match="without end"),
    ):
        pipe.call("Page.enable")


def test_answers_of_other_forms_than_asked_for_are_no_answers():
    said = b'{"id": "1", "result": {"a": 1}}\0{"id": 1, "result": [4]}\0{"id": 2, "error": {"message": "no"}}\0'
    with browser(said, ended=False) as pipe:
        assert pipe.call("Page.enable") == {}
        with pytest.raises(Refusal, match="no"):
            pipe.call("Page.enable")


def test_a_browser_without_an_answer_is_silent():
    with browser(ended=False) as pipe, pytest.raises(Silent):
        pipe.call("Page.enable", within=0.01)


def test_a_page_gets_files_of_the_workspace_only():
    asked = []
    site = Site(lambda path: asked.append(path) or {"a b.html": b"x", "docs/index.html": b"y"}.get(path))
    assert site.answer(address_of("a b.html"))["responseCode"] == 200
    assert site.answer("http://localhost/docs/?q=1#x")["responseCode"] == 200
    assert site.answer("http://localhost/../../etc/passwd")["responseCode"] == 404
    for address in ("http://localhost:8080/a", "https://localhost/a", "http://evil.example/a", "file:///etc/passwd",
                    "http://localhost@evil.example/", "http://[", "chrome://version"):  # fmt: skip
        assert site.answer(address) is None
    assert set(asked) == {"a b.html", "docs/index.html", "../../etc/passwd"}
    assert site.missing == ["../../etc/passwd"]
    assert len(site.outside) == 7


def test_requests_without_end_are_the_pages_fault():
    site = Site(lambda path: None)
    for _ in range(2000):
        site.answer("http://localhost/a")
    with pytest.raises(AgentFault, match="2,000 times"):
        site.answer("http://localhost/a")


class Sent:
    """A pipe that only remembers."""

    def __init__(self):
        self.sent = []

    def send(self, method, session="", **parameters):
        self.sent.append((method, parameters))


def guarded():
    pipe = Sent()
    guard = PageGuard(pipe, Site({"index.html": b"x", "two.html": b"y"}.get))
    guard.session, guard.target, guard.frame = "s", "t", "f"
    return guard, pipe


def document(address):
    request = {"requestId": "1", "request": {"url": address}, "resourceType": "Document", "frameId": "f"}
    return "Fetch.requestPaused", request


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (document("http://evil.example/"), "goes away"),
        (document("http://localhost/three.html"), "goes away"),
        (("Page.documentOpened", {"frame": {"id": "f"}}), "replaces its document"),
        (("Page.windowOpen", {"url": "about:blank"}), "opens a window"),
        (("Target.targetCreated", {"targetInfo": {"type": "page", "openerId": "t", "url": "x"}}), "opens a window"),
        (("Browser.downloadWillBegin", {"suggestedFilename": "x"}), "downloads"),
        (("Page.javascriptDialogOpening", {"message": "?"}), "dialog"),
        (("Target.targetCrashed", {"targetId": "t", "status": "killed"}), "CPU time"),
    ],
)
def test_what_a_page_may_not_do_ends_the_visit(event, reason):
    guard, _ = guarded()
    with pytest.raises(AgentFault, match=reason):
        guard.heard("s", *event)


def test_a_page_may_go_to_another_file_of_the_workspace_and_answer_an_expected_dialog():
    guard, pipe = guarded()
    guard.dialogs.append("four")
    guard.heard("s", *document("http://localhost/two.html"))
    guard.heard("s", "Page.javascriptDialogOpening", {"message": "?"})
    assert [method for method, _ in pipe.sent] == ["Fetch.fulfillRequest", "Page.handleJavaScriptDialog"]
    assert pipe.sent[1][1] == {"accept": True, "promptText": "four"}


def test_only_documents_of_the_workspace_may_follow_each_other():
    guard, _ = guarded()
    guard.heard("s", "Page.frameNavigated", {"frame": {"id": "f", "loaderId": "of the empty page"}})
    for load, address in (("1", "http://localhost/index.html"), ("2", "http://localhost/two.html")):
        name, request = document(address)
        guard.heard("s", name, request | {"networkId": load})
        guard.heard("s", "Page.frameNavigated", {"frame": {"id": "f", "loaderId": load}})
    with pytest.raises(AgentFault, match="replaces its document"):
        guard.heard("s", "Page.frameNavigated", {"frame": {"id": "f", "loaderId": "of a blob"}})


def test_shared_workers_and_workers_of_workers_are_watched():
    guard, pipe = guarded()
    guard.heard("", "Target.targetCreated", {"targetInfo": {"type": "shared_worker", "targetId": "x"}})
    guard.heard("s", "Target.attachedToTarget", {"targetInfo": {"type": "worker"}, "sessionId": "w"})
    assert [method for method, _ in pipe.sent] == ["Target.attachToTarget", "Target.setAutoAttach"]
    assert pipe.sent[0][1]["targetId"] == "x"


def test_a_crash_of_unknown_cause_is_nobodys_fault_yet():
    guard, _ = guarded()
    with pytest.raises(Crash):
        guard.heard("s", "Target.targetCrashed", {"targetId": "t", "status": "crashed"})
    guard.heard("s", "Target.targetCrashed", {"targetId": "of another page", "status": "crashed"})


@pytest.mark.parametrize("name", ["Page.frameNavigated", "Target.attachedToTarget", "Runtime.consoleAPICalled",
                                  "Runtime.exceptionThrown", "Fetch.requestPaused", "Page.documentOpened"])  # fmt: skip
def test_events_with_data_of_other_forms_do_no_harm(name):
    guard, _ = guarded()
    for data in ({}, {"frame": 4, "targetInfo": [], "args": "x", "exceptionDetails": 4, "request": None}):
        guard.heard("s", name, data)


@pytest.mark.parametrize(
    ("event", "most", "reason"),
    [
        (("Runtime.consoleAPICalled", {"args": [{"value": "x"}]}), 1000, "prints without end"),
        (("Page.frameNavigated", {"frame": {"id": "f"}}), 10, "replaced without end"),
    ],
)
def test_what_goes_on_without_end_ends_the_visit(event, most, reason):
    guard, _ = guarded()
    for _ in range(most):
        guard.heard("s", *event)
    with pytest.raises(AgentFault, match=reason):
        guard.heard("s", *event)


def test_steps_are_read_before_a_page_is_opened():
    told = [{"click": "#go"}, {"type": "4", "into": {"text": " Save  it "}}, {"press": "Enter"}, {"wait": 0.5},
            {"scroll": {"role": "list"}}, {"dialog": True}]  # fmt: skip
    assert read_steps(told) == [
        Step("click", Aim(css="#go")), Step("type", Aim(text="Save it"), "4"), Step("press", None, "Enter"),
        Step("wait", None, 0.5), Step("scroll", Aim(role="list")), Step("dialog", None, True),
    ]  # fmt: skip


@pytest.mark.parametrize("step", [{}, {"hover": "#a"}, {"click": ""}, {"click": {"xpath": "//a"}}, {"press": "F99"},
                                  {"wait": 60}, {"click": "#a", "into": "#b"}, {"type": 4}, "click"])  # fmt: skip
def test_what_is_no_step_is_refused(step):
    with pytest.raises(UsageError):
        read_steps([step])
