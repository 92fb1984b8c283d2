"""Pages of a workspace in a browser: the files served to them, and a screenshot of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verikit.artifacts.browser.box import BrowserBox
from verikit.artifacts.browser.pipe import BrowserPipe
from verikit.artifacts.browser.session import INK, Hope, Page, Visit
from verikit.artifacts.browser.sight import lines
from verikit.artifacts.browser.site import Site
from verikit.errors import WorkspaceError
from verikit.workspaces import Workspace
from verikit.workspaces.names import matches, shown

CALM = 4
"""The page is considered stable after this many consecutive equal readings."""


def page_files(workspace: Workspace) -> Callable[[str], bytes | None]:
    """Return a function that reads the files that a page requests.

    Raises, when it is called:
        AgentFault: the path exists but is not a file.
        WorkspaceError: it was not collected.
    """

    def read(path: str) -> bytes | None:
        entry = workspace.after.manifest.get(path)
        if entry is not None and entry.kind != "folder":
            return workspace.blob(entry).data()
        lost = next((problem for wanted, problem in workspace.uncollected.items() if matches(wanted, path)), None)
        if lost is not None:
            raise WorkspaceError(f"{shown(path)} was not collected: {lost}")
        return None

    return read


def photographed(workspace: Workspace, path: str, screen: int) -> Page:
    """Open a page as a person does, wait until it is still, and take a screenshot of one screen, counted from 1.

    Raises:
        AgentFault: The page does something forbidden, or does not finish.
        WorkspaceError: There is no browser here, or it failed.
        MissingExtra: A package is not installed.
        SandboxError: The browser's box can't be made.
    """
    INK.check_packages()
    box = BrowserBox()
    try:
        visit = Visit(BrowserPipe(box), box, Site(page_files(workspace)), "person", [])
        try:
            return visit.see(path, (), _standing(), screen if screen > 0 else None)
        finally:
            visit.close()
    finally:
        box.close()


def _standing() -> Hope:
    """Whether a page has looked the same for some readings."""
    before: list[list[str]] = []

    def hope(page: Page) -> bool:
        before.append(lines(page.runs))
        return are_alike(before, CALM)

    return hope


def are_alike(readings: Sequence[object], count: int) -> bool:
    """Whether the last readings of a page, this many, are equal."""
    return len(readings) >= count and all(one == readings[-1] for one in readings[-count:])
