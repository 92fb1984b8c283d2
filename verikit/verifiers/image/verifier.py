"""Is the picture the requested one? It is decoded in the sandbox and compared outside of it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from verikit.artifacts import shape
from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.options import of_row
from verikit.artifacts.shape import Observed, record
from verikit.errors import AgentFault, UsageError, WorkspaceError
from verikit.sandbox import RunLimits
from verikit.types import Sample, Score
from verikit.verifiers.image.likeness import likeness
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, all_hold

_ENDINGS = {
    "png": (".png",), "jpeg": (".jpg", ".jpeg"), "gif": (".gif",), "webp": (".webp",), "bmp": (".bmp",),
    "tiff": (".tif", ".tiff"),
}  # fmt: skip
_EMBEDDED = "data:"
_SIZES: dict[str, shape.Shape] = dict.fromkeys(("width", "height", "wide", "high"), shape.whole)
_SHAPE = record({"format": shape.text, "frames": shape.whole, "pixels": shape.raw} | _SIZES)
READER = BoxReader(
    "verikit.artifacts.readers.picture",
    {"PIL": "reading pictures", "numpy": "comparing pictures"},
    "image",
    lambda value: shape.with_pixels(_SHAPE(value)),
    kind="picture",
    warm=True,
    limits=RunLimits(wall_s=120.0, cpu_s=20.0, memory_mb=1536, output_kb=64, value_kb=8 << 10, disk_mb=8),
)


@dataclass(frozen=True, eq=False)
class Image(WorkspaceVerifier):
    """1.0 if a picture that an agent left passes every requested check.

    The file must have the format of its name's ending, and must not be valid in another format. A row's own options are
    under its key `image`.
    """

    file: str = "*.png"
    """Path or pattern of the picture. It must match one file."""
    format: str | Sequence[str] = ()
    """The accepted formats: png, jpeg, gif, webp, bmp, tiff."""
    size: Sequence[int] = ()
    """Width and height in pixels."""
    least_size: Sequence[int] = ()
    """Minimum width and height in pixels."""
    like: str = ""
    """The expected picture: a path, or `data:image/png;base64,…`. A row can only use the latter."""
    least_alike: float = 0.6
    """Minimum similarity of the worst block, 0 to 1."""
    name = "image"
    local_files = ("like",)

    def __post_init__(self) -> None:
        formats = [self.format] if isinstance(self.format, str) else list(self.format)
        if unknown := [name for name in formats if name not in _ENDINGS]:
            raise UsageError(f"format {unknown[0]!r} is unknown", hint=", ".join(_ENDINGS))
        object.__setattr__(self, "format", formats)
        for option in ("size", "least_size"):
            value = getattr(self, option)
            if value and (isinstance(value, str) or len(value) != 2):
                raise UsageError(f"{option} must be a width and a height")

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Decode the picture in the sandbox and run the checks."""
        check_embedded(sample, "image", "like")
        return of_row(self, sample, "image").checked(workspace)

    def checked(self, workspace: Workspace) -> Score:
        """Check one picture by these options."""
        blob = workspace.one(self.file)
        seen = observe(READER, [blob.data()], {})
        checks: dict[str, tuple[object, Callable[[], Score]]] = {
            "format": (True, lambda: _of(self._formats(seen["format"], blob.path))),
            "size": (self.size or self.least_size, lambda: _of(self._sizes(seen["width"], seen["height"]))),
            "like": (self.like, lambda: alike(seen, self.like, self.least_alike)),
        }
        return all_hold({name: check() for name, (asked, check) in checks.items() if asked})

    def _formats(self, found: str, path: str) -> Iterator[str]:
        ending = PurePosixPath(path).suffix.lower()
        if ending not in _ENDINGS.get(found, ()):
            yield f"the file is a {found} picture, and its name ends in {ending or 'nothing'}"
        if self.format and found not in self.format:
            yield f"the file is a {found} picture, {' or '.join(self.format)} is asked for"

    def _sizes(self, width: int, height: int) -> Iterator[str]:
        if self.size and (width, height) != tuple(self.size):
            yield f"{width} by {height} pixels, {self.size[0]} by {self.size[1]} are asked for"
        if self.least_size and (width < self.least_size[0] or height < self.least_size[1]):
            yield f"{width} by {height} pixels, at least {self.least_size[0]} by {self.least_size[1]} are asked for"


def check_embedded(sample: Sample, verifier: str, option: str) -> None:
    """Look whether a row's expected picture is embedded: a row can't name a file of this machine.

    Raises:
        WorkspaceError: It is not.
    """
    told = sample.meta.get(verifier)
    like = told.get(option, "") if isinstance(told, Mapping) else ""
    if not isinstance(like, str) or (like and not like.startswith(_EMBEDDED)):
        hint = f'"{option}": "data:image/png;base64,…"'
        raise WorkspaceError("a row's expected picture is not embedded", hint=hint)


def alike(seen: Observed, like: str, least: float) -> Score:
    """Whether an observed picture is like the expected one.

    Args:
        seen: From `READER`.
        like: A path, or a string such as `data:image/png;base64,…`.
        least: The minimum similarity of the worst block.

    Raises:
        WorkspaceError: The expected picture can't be used.
    """
    expected = expected_picture(like)
    if seen["frames"] > 1:
        return Score(0.0, reason=f"the file has {seen['frames']} frames or pages, expected one picture")
    if not same_shape((seen["width"], seen["height"]), (expected["width"], expected["height"])):
        return Score(0.0, reason=f"{seen['width']} by {seen['height']} pixels are of another shape")
    found = likeness(_pixels(seen), _pixels(expected))
    return Score(float(found.value >= least), reason=f"the least alike block: {found.reason}")


def same_shape(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two pictures, by width and height, have the same shape."""
    return abs(one[0] / one[1] / (other[0] / other[1]) - 1) <= 0.01


def _pixels(seen: Observed) -> Any:
    import numpy

    return numpy.frombuffer(seen["pixels"], numpy.uint8).reshape(seen["high"], seen["wide"], 3)


@lru_cache(maxsize=64)
def expected_picture(like: str) -> Observed:
    """The expected picture, decoded in its own child: a path, or `data:image/png;base64,…`.

    Raises:
        WorkspaceError: It can't be read, or has no content to compare.
    """
    from verikit.verifiers.image.likeness import LEAST_CONTENT, content, ground

    try:
        blob = _embedded(like) if like.startswith(_EMBEDDED) else Path(like).read_bytes()
        found = observe(READER, [blob], {})
    except (AgentFault, OSError, ValueError) as problem:
        raise WorkspaceError(f"the expected picture can't be read: {problem}") from None
    pixels = _pixels(found).astype("float32")
    if content(pixels - ground(pixels)).mean() < LEAST_CONTENT:
        raise WorkspaceError("the expected picture is blank")
    return found


def _embedded(text: str) -> bytes:
    head, comma, data = text.partition(",")
    if not comma or not head.endswith(";base64"):
        raise ValueError("the image must be a string such as data:image/png;base64,…")
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as problem:
        raise ValueError(f"its base64 can't be read: {problem}") from None


def _of(faults: Iterator[str]) -> Score:
    fault = next(faults, "")
    return Score(0.0, reason=fault[:300]) if fault else Score(1.0)


__all__ = ["Image"]
