"""The screenshot of a page, compared with the expected picture. The expected picture never enters a box of the page."""

from __future__ import annotations

from verikit.artifacts.box import observe
from verikit.artifacts.browser.session import WINDOW, Page
from verikit.types import Score
from verikit.verifiers.image.verifier import READER, alike, expected_picture, same_shape


class ExpectedShot:
    """The expected screenshot of a page.

    Args:
        like: A path, or a string such as `data:image/png;base64,…`.
        least: The minimum similarity of the worst block.

    Raises:
        WorkspaceError: It can't be used.
    """

    def __init__(self, like: str, least: float) -> None:
        expected = expected_picture(like)
        self._like, self._least = like, least
        self._compared: dict[bytes, Score] = {}
        self.screen = 1 if same_shape((expected["width"], expected["height"]), WINDOW) else 0
        """As `Visit.see` takes it: a picture of the window's shape is one of the first screen, others of the page."""

    def compared(self, page: Page) -> Score:
        """Whether the page looks like it: finally, or now while the visit lasts."""
        picture = page.picture or page.shoot()
        if picture not in self._compared:  # most pages look the same each time
            self._compared = {picture: alike(observe(READER, [picture], {}), self._like, self._least)}
        return self._compared[picture]
