"""One visit to a page: open it, take the steps, and read it until it shows the expected content or time is up.

The expected content never reaches the page. `Hope` receives readings of the page and decides whether they match.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from verikit.artifacts import shape
from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.browser import fonts, scripts, sight, tree
from verikit.artifacts.browser.box import MEMORY_MB, BrowserBox
from verikit.artifacts.browser.guard import Crash, PageGuard
from verikit.artifacts.browser.pipe import Answer, BrowserPipe, Refusal, Silent, result_of, text_of
from verikit.artifacts.browser.site import Site, address_of
from verikit.artifacts.browser.steps import KEYS, Aim, Step, unreachable
from verikit.artifacts.shape import record
from verikit.errors import AgentFault, WorkspaceError

Visitor = Literal["person", "driver", "unscripted"]
PATIENCE_S, WALL_S = 5.0, 60.0
"""How long a reading is awaited after the last step; and the whole visit."""
_BUSY_S = 8.0
"""CPU seconds after which an unfinished visit is the page's failure, not a slow machine's."""
_WORKER_S = 10.0
WINDOW = _WIDTH, _HEIGHT = 1280, 800
_MOST_HEIGHT = 8000
"""Size of the window. Its height is set to the page's, within limits."""
_PAUSE_S = 0.03
_WORLD = "verikit"
_NAMED: dict[str, str] = {" ": "Space", "\n": "Enter"}
_PERSON = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{0}.0.0.0 Safari/537.36"

INK = BoxReader(
    "verikit.artifacts.readers.page", {"numpy": "seeing pages", "PIL": "seeing pages"}, "web",
    record({"ink": shape.raw}),
)  # fmt: skip


@dataclass
class Page:
    """The result of a visit."""

    runs: list[sight.Letters]
    elements: Sequence[Mapping[str, Any]]
    """For each selector, in order."""
    address: str
    title: str
    printed: Sequence[str]
    errors: Sequence[str]
    outside: Sequence[str]
    missing: Sequence[str]
    height: int = 0
    """In pixels."""
    fonts: Sequence[str] = ()
    """The fonts of its texts, with their settings. Empty if it loaded no fonts."""
    misdrawn: Sequence[str] = ()
    """Letters that its fonts draw as other letters."""
    roles: Sequence[tuple[str, str]] = ()
    """The role and name of each element of the accessibility tree, if requested."""
    picture: bytes = b""
    """The requested screenshot, as returned by the browser."""
    shoot: Callable[[], bytes] = bytes
    """Takes the requested screenshot while the visit lasts."""

    @property
    def screens(self) -> int:
        """Its height in windows, rounded up."""
        return max(-(-min(self.height, _MOST_HEIGHT) // _HEIGHT), 1)


Hope = Callable[[Page], bool]


class Visit:
    """One visit, by a person or by a driver, in its own browser context.

    Args:
        pipe: To the browser.
        box: Of the browser.
        site: The files of the workspace.
        visitor: Whether the browser shows the marks of one that a program drives.
        selectors: Of the elements that are read.
        roles: Whether the accessibility tree is read.
    """

    def __init__(
        self, pipe: BrowserPipe, box: BrowserBox, site: Site, visitor: Visitor, selectors: Sequence[str],
        *, roles: bool = False,
    ) -> None:  # fmt: skip
        self._pipe, self._box, self._site, self._visitor = pipe, box, site, visitor
        self._selectors, self._roles = list(selectors), roles
        self._guard = PageGuard(pipe, site)
        self._context = ""
        self._screen: int | None = None

    def see(self, path: str, steps: Sequence[Step], hope: Hope, screen: int | None = None) -> Page:
        """Open the page, take the steps, wait for the expected content, and read the page.

        `screen` requests a screenshot of one screen, counted from 1 at the top. A screen that doesn't exist gives none.
        0 requests the whole page.

        Raises:
            AgentFault: The page does something forbidden, or lacks an element that a step needs.
            WorkspaceError: The browser or the machine failed.
        """
        try:
            return self._seen(path, steps, hope, screen)
        except Crash:
            raise self._blamed(path) from None

    def _blamed(self, path: str) -> AgentFault | WorkspaceError:
        """Who caused a crash: the page, if it takes its process to the memory limit, or crashes only with scripts."""
        if self._pipe.was_full:
            return AgentFault(f"the page takes its process to the limit of {MEMORY_MB:,} MiB of memory")
        again = Visit(self._pipe, self._box, self._site, "unscripted", [])
        try:
            again._seen(path, [], lambda page: True, None)
        except (Crash, WorkspaceError):
            return WorkspaceError("the browser's process for the page ends, even without its scripts")
        finally:
            again.close()
        return AgentFault("the page's scripts bring its process to an end: it has a limit on memory")

    def _seen(self, path: str, steps: Sequence[Step], hope: Hope, screen: int | None) -> Page:
        used = self._box.cpu_s()
        self._pipe.deadline = time.monotonic() + WALL_S
        self._pipe.heard = self._guard.heard
        try:
            self._open()
            self._load(path)
            for number, step in enumerate(steps, 1):
                self._take(number, step)
            self._screen = screen
            page = self._look(hope)
            if screen is not None and screen <= page.screens:
                self._size(_HEIGHT)
                self._run(scripts.SETTLE, [], self._world())
                page.picture = page.shoot()
            if page.fonts:
                page.misdrawn = fonts.examine(page.runs, page.fonts, self._draw, self._shot)
            return page
        except Silent:
            if self._box.cpu_s() - used >= _BUSY_S:
                raise AgentFault("the page does not finish") from None
            raise WorkspaceError(f"the browser did not respond for {WALL_S:.0f} seconds") from None
        except Refusal as refusal:
            raise WorkspaceError(f"the browser can't be driven: {refusal}") from None

    def close(self) -> None:
        """End all that the visit started; a browser that does not answer is ended by its box."""
        self._pipe.heard = lambda session, name, data: None
        if self._context:
            with suppress(Refusal, Silent, AgentFault, WorkspaceError):
                self._pipe.call("Target.disposeBrowserContext", within=5.0, browserContextId=self._context)
        self._pipe.forget()

    def _call(self, method: str, **parameters: Any) -> Answer:
        return self._pipe.call(method, self._guard.session, **parameters)

    def _open(self) -> None:
        self._context = text_of(
            self._pipe.call("Target.createBrowserContext", disposeOnDetach=True), "browserContextId"
        )
        self._pipe.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=self._context,
                        eventsEnabled=True)  # fmt: skip
        self._pipe.call("Target.setDiscoverTargets", discover=True)
        guard = self._guard
        guard.target = text_of(
            self._pipe.call("Target.createTarget", url="about:blank", browserContextId=self._context), "targetId"
        )
        guard.session = text_of(
            self._pipe.call("Target.attachToTarget", targetId=guard.target, flatten=True), "sessionId"
        )
        for domain in ("Page", "Network", "DOM", "CSS"):
            self._call(f"{domain}.enable")
        frames = self._call("Page.getFrameTree").get("frameTree")
        guard.frame = text_of(frames.get("frame") if isinstance(frames, dict) else None, "id")
        self._call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        self._call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        self._size(_HEIGHT)
        self._call("Emulation.setTimezoneOverride", timezoneId="UTC")
        self._call("Emulation.setLocaleOverride", locale="en-US")
        if self._visitor == "person":
            self._as_person()
        elif self._visitor == "unscripted":
            self._call("Emulation.setScriptExecutionDisabled", value=True)
        else:
            self._call("Runtime.enable")
            self._call("Emulation.setAutomationOverride", enabled=True)

    def _as_person(self) -> None:
        """Remove the driver's marks: the name of the browser, and `navigator.webdriver`."""
        number = version(self._pipe).partition(".")[0]
        brands = [{"brand": "Chromium", "version": number}, {"brand": "Google Chrome", "version": number}]
        about = {"brands": brands, "platform": "Linux", "platformVersion": "6.1.0", "architecture": "x86",
                 "model": "", "mobile": False}  # fmt: skip
        self._call("Emulation.setUserAgentOverride", userAgent=_PERSON.format(number), userAgentMetadata=about,
                   platform="Linux x86_64", acceptLanguage="en-US")  # fmt: skip
        self._call("Emulation.setAutomationOverride", enabled=False)

    def _size(self, height: int) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=_WIDTH, height=height, deviceScaleFactor=1,
                   mobile=False, screenWidth=1920, screenHeight=1080)  # fmt: skip

    def _load(self, path: str) -> None:
        answer = self._call("Page.navigate", url=address_of(path))
        if answer.get("errorText"):
            raise WorkspaceError(f"the page can't be opened: {str(answer['errorText'])[:200]}")
        end = time.monotonic() + 2 * PATIENCE_S
        while not self._guard.loaded and time.monotonic() < end:
            self._pipe.listen(_PAUSE_S)

    # steps

    def _take(self, number: int, step: Step) -> None:
        if step.kind == "dialog":
            self._guard.dialogs.append(step.value)
        elif step.kind == "wait" and isinstance(step.value, float):
            self._pipe.listen(step.value)
        elif step.kind == "wait":
            self._await(lambda page: sight.holds(page.runs, step.value))
        elif step.kind == "scroll" and step.aim is None:
            self._mouse("mouseWheel", _WIDTH / 2, _HEIGHT / 2, deltaX=0, deltaY=step.value)
            self._pipe.listen(5 * _PAUSE_S)
        elif step.kind in ("click", "scroll"):
            assert step.aim is not None
            x, y = self._reach(number, step.aim, click=step.kind == "click")
            if step.kind == "click":
                self._click(x, y)
        else:
            self._write(number, step)

    def _write(self, number: int, step: Step) -> None:
        """Type a string, or press a key."""
        if step.aim is not None:
            self._click(*self._reach(number, step.aim, click=True))
        letters: list[str] = [step.value] if step.kind == "press" else list(step.value)
        for letter in letters:
            name = _NAMED.get(letter, letter)
            code, text = KEYS.get(name, (0, letter))
            key = {"key": " " if name == "Space" else name, "windowsVirtualKeyCode": code}
            written = {"text": text} if text else {}
            self._call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **key, **written)
            self._call("Input.dispatchKeyEvent", type="keyUp", **key)

    def _click(self, x: float, y: float) -> None:
        self._mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, x, y, button="left", clickCount=1)
        self._pipe.listen(_PAUSE_S)  # a click may ask for another document

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def _reach(self, number: int, aim: Aim, *, click: bool) -> tuple[float, float]:
        """The middle of an element, when it exists and a click reaches it."""
        end, fault = time.monotonic() + PATIENCE_S, ""
        while True:
            try:
                found = self._find(aim)
                place = self._on(found, scripts.PLACE) if found else None
                fault = unreachable(place, click=click)
                if isinstance(place, dict) and not fault:
                    return float(shape.number(place["x"])), float(shape.number(place["y"]))
            except (Refusal, KeyError, ValueError):
                fault = "is not to be found"
            if time.monotonic() >= end:
                raise AgentFault(f"step {number}: {aim} {fault}")
            self._pipe.listen(_PAUSE_S)

    def _find(self, aim: Aim) -> str:
        """The element's name in verikit's isolated world of the browser. Empty: not found."""
        world = self._world()
        if aim.role:
            root = self._call("DOM.getDocument", depth=0)["root"]["nodeId"]
            asked = {"role": aim.role} | ({"accessibleName": aim.name} if aim.name else {})
            nodes = self._call("Accessibility.queryAXTree", nodeId=root, **asked).get("nodes") or []
            backs = [node.get("backendDOMNodeId") for node in nodes if not node.get("ignored")]
            if not backs:
                return ""
            made = self._call("DOM.resolveNode", backendNodeId=backs[0], executionContextId=world).get("object")
        else:
            given = [{"value": aim.css}, {"value": aim.text}]
            made = self._run(scripts.FIND, given, world, by_value=False)
        return str(made.get("objectId") or "") if isinstance(made, dict) else ""

    # reading

    def _world(self) -> int:
        made = self._call("Page.createIsolatedWorld", frameId=self._guard.frame, worldName=_WORLD)
        return int(shape.whole(made.get("executionContextId")))

    def _run(self, script: str, arguments: list[Any], world: int, *, by_value: bool = True) -> Any:
        answer = self._call("Runtime.callFunctionOn", functionDeclaration=script, executionContextId=world,
                            arguments=arguments, returnByValue=by_value)  # fmt: skip
        return result_of(answer, by_value=by_value)

    def _on(self, element: str, script: str) -> Any:
        answer = self._call("Runtime.callFunctionOn", functionDeclaration=script, objectId=element, returnByValue=True)
        return result_of(answer, by_value=True)

    def _read(self, *, final: bool = False) -> tuple[Page, Mapping[str, Any]]:
        given = [{"value": self._selectors}, {"value": sight.MOST_LETTERS}, {"value": final}]
        try:
            told = sight.SHAPE(self._run(scripts.READ, given, self._world()))
        except ValueError as problem:
            raise WorkspaceError(f"the page can't be read: {problem}") from None
        if not told["whole"]:
            raise AgentFault(f"the page has more than {sight.MOST_LETTERS:,} letters or 50,000 elements")
        if any(element["count"] < 0 for element in told["elements"]):
            raise WorkspaceError("a CSS selector of the row is invalid")
        guard, site = self._guard, self._site
        page = Page(sight.letters(told), told["elements"], told["address"], told["title"], guard.printed,
                    guard.errors, site.outside, site.missing, told["height"])  # fmt: skip
        page.fonts = told["fonts"]
        page.shoot = lambda: self._shot(self._clip(page.height))
        if self._roles:
            page.roles = tree.roles(self._call("Accessibility.getFullAXTree"))
        return page, told

    def _await(self, hope: Hope) -> None:
        """Read the page until it shows the expected content and stops moving, or time is up."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with suppress(Refusal):  # a document that has just been replaced has no world
                page, told = self._read()
                if hope(page) and not told["moving"] and not self._guard.leaves:
                    return
            self._pipe.listen(_PAUSE_S)

    def _look(self, hope: Hope) -> Page:
        self._await(hope)
        self._check_workers()
        self._call("Emulation.setScriptExecutionDisabled", value=True)
        sheet = text_of(self._call("CSS.createStyleSheet", frameId=self._guard.frame), "styleSheetId")
        self._call("CSS.setStyleSheetText", styleSheetId=sheet, text=scripts.STILL)
        self._run(scripts.FREEZE, [], self._world())
        page, told = self._read(final=True)
        height = told["height"]
        if height > _HEIGHT:
            self._size(min(height, _MOST_HEIGHT))
            page, told = self._read(final=True)
            page.height = height  # parts as high as the window have grown with it
        boxes = sight.ink_boxes(page.runs)
        if boxes:
            bare = scripts.bare(told["clips"])
            shots = [self._shot()]
            for text in (bare, scripts.STILL):
                self._call("CSS.setStyleSheetText", styleSheetId=sheet, text=text)
                shots.append(self._shot())
            sight.with_ink(page.runs, observe(INK, shots, {"boxes": boxes})["ink"])
            sight.uncover(page.runs)
        self._pipe.listen(0.0)
        return page

    def _draw(self, samples: Sequence[fonts.FontSample], height: int) -> Any:
        return self._run(scripts.SPECIMEN, [{"value": list(samples)}, {"value": height}], self._world())

    def _check_workers(self) -> None:
        for session in list(self._guard.workers):
            if self._guard.has_ended(session):
                continue
            try:
                self._pipe.call("Runtime.evaluate", session, within=_WORKER_S, expression="1")
            except Silent:
                if not self._guard.has_ended(session):
                    raise AgentFault("a worker of the page does not finish") from None
            except Refusal:
                continue

    def _clip(self, height: int) -> dict[str, Any]:
        """The part of the page that the requested screenshot shows."""
        if self._screen:
            top, height = (self._screen - 1) * _HEIGHT, _HEIGHT
        else:
            top, height = 0, min(max(height, _HEIGHT), _MOST_HEIGHT)
        return {"x": 0, "y": top, "width": _WIDTH, "height": height, "scale": 1}

    def _shot(self, clip: Mapping[str, Any] | None = None) -> bytes:
        """A screenshot of the window, or of a part of the page."""
        given = {"clip": clip, "captureBeyondViewport": True} if clip else {}
        try:
            told = text_of(self._call("Page.captureScreenshot", format="png", **given), "data")
            return base64.b64decode(told, validate=True)
        except binascii.Error:
            raise WorkspaceError("the browser's picture of the page can't be read") from None


def version(pipe: BrowserPipe) -> str:
    """The browser's version."""
    return str(pipe.call("Browser.getVersion").get("product", "")).rpartition("/")[2][:40]
