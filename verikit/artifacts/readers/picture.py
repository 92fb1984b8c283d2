"""Reads a picture in the sandbox: its format, its size, and its pixels at a common scale."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from verikit.artifacts.readers import container

MOST_PIXELS = 40_000_000
LONGEST_SIDE = 1_000_000
"""Maximum pixels of a side: scaling a line of 39 million pixels takes 1.9 GB, whatever the other side is."""
LONG_SIDE = 768
"""Pixels of the longer side. Every picture is scaled to it."""


def warm() -> None:
    """Load the decoders, once for all children of a fork server."""
    from PIL import Image

    Image.init()


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The observation of one picture, with the pixels of its first frame.

    `request` is empty. Alternatively, `{"at_most": PIXELS}` scales only pictures that are larger than that.
    """
    from PIL import Image, UnidentifiedImageError

    kind = ""
    try:
        kind = container.signed(blobs[0], "picture")
        _check_single(blobs[0], kind)
        with Image.open(io.BytesIO(blobs[0]), formats=[kind.upper()]) as picture:
            width, height = picture.size
            if width * height > MOST_PIXELS:
                raise container.BadContainer(f"{width} by {height} pixels, at most {MOST_PIXELS:,} are read")
            if max(width, height) > LONGEST_SIDE:
                raise container.BadContainer(f"{width} by {height} pixels, a side has at most {LONGEST_SIDE:,}")
            return {"format": kind, "frames": getattr(picture, "n_frames", 1), **_pixels(picture, request)}
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    except UnidentifiedImageError:  # its own text has an address in memory
        return {"refused": f"the file begins as a {kind} picture and can't be read as one"}
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as problem:
        return {"refused": f"the file can't be read as a picture: {problem}"}


def _pixels(picture: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Displayed size, and pixels on white. The longer side is scaled to `LONG_SIDE` or the requested size."""
    from PIL import Image, ImageOps

    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I"):  # 16 bits of grey
        upright = upright.point(lambda value: value / 256).convert("L")
    layered = upright.convert("RGBA")
    whole = Image.alpha_composite(Image.new("RGBA", layered.size, "white"), layered).convert("RGB")
    width, height = whole.size
    longer = max(width, height)
    scale = min(request.get("at_most", LONG_SIDE) / longer, 1 if "at_most" in request else longer)
    wide, high = max(round(width * scale), 1), max(round(height * scale), 1)
    scaled = whole.resize((wide, high), Image.Resampling.LANCZOS)
    return {"width": width, "height": height, "wide": wide, "high": high, "pixels": scaled.tobytes()}


def _check_single(blob: bytes, kind: str) -> None:
    """Rejects a file that is also a file of another kind.

    Raises:
        BadContainer: It is also readable as a zip archive or a PDF, or data follows the picture.
    """
    if zipfile.is_zipfile(io.BytesIO(blob)) or b"%PDF-" in blob[:1024]:
        raise container.BadContainer("the file is a picture and a file of another kind")
    if kind == "png" and _end_of_png(blob) < len(blob):
        raise container.BadContainer("data follows the end of the picture")


def _end_of_png(blob: bytes) -> int:
    at = 8
    while at + 12 <= len(blob):
        length, name = int.from_bytes(blob[at : at + 4], "big"), blob[at + 4 : at + 8]
        at += 12 + length
        if name == b"IEND":
            return at
    return len(blob)
