"""Zip containers of office files, and signatures: checks that run before a package parses anything.

`read` is also the second reader. It decides whether the file caused the crash of another reader.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any
from xml.parsers import expat

MOST_BYTES = 256 << 20
"""Of all parts of a container, unpacked."""
MOST_RATIO = 200
_SMALL = 1 << 20
"""Size up to which a part may have any compression ratio."""
_MOST_PARTS = 20_000
_BEGINNING = 4096
"""First bytes of a picture that identify its format."""
_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError
)  # fmt: skip
_MAIN = {"xlsx": "xl/workbook.xml", "docx": "word/document.xml", "pptx": "ppt/presentation.xml"}
_SIGNATURES = {
    "pdf": (b"%PDF-",),
    "png": (b"\x89PNG\r\n\x1a\n",),
    "jpeg": (b"\xff\xd8\xff",),
    "gif": (b"GIF87a", b"GIF89a"),
    "webp": (b"RIFF",),
    "bmp": (b"BM",),
    "tiff": (b"II*\0", b"MM\0*"),
}


class BadContainer(Exception):
    """The file is not of its kind, or is unsafe to open."""


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """Whether a file has the given `kind`, judged only by its container and its XML."""
    try:
        if request["kind"] in _MAIN:
            for content in parts(blobs[0], request["kind"]).values():
                well_formed(content)
        else:
            signed(blobs[0], request["kind"])
    except BadContainer as problem:
        return {"refused": str(problem)}
    return {}


def signed(blob: bytes, kind: str) -> str:
    """The format of a picture or a PDF, from its first bytes.

    Raises:
        BadContainer: It has none of the formats of its kind.
    """
    kinds = ("pdf",) if kind == "pdf" else tuple(name for name in _SIGNATURES if name != "pdf")
    for name in kinds:
        if blob.startswith(_SIGNATURES[name]) and (name != "webp" or blob[8:12] == b"WEBP"):
            return name
    raise BadContainer(f"the file does not begin as {'a PDF' if kind == 'pdf' else 'a picture'} does")


def parts(blob: bytes, kind: str) -> dict[str, bytes]:
    """The XML parts of an office file by their names.

    Raises:
        BadContainer: It is not such a container, has duplicate names, expands too much, or declares entities.
    """
    try:
        return _parts(blob, kind)
    except _BROKEN as problem:
        raise BadContainer(f"the file is no {kind} file: {problem}") from None
    except (RuntimeError, MemoryError) as problem:  # zipfile's word for encrypted parts
        raise BadContainer(f"a part of the file can't be read: {problem}") from None


def media(blob: bytes) -> dict[str, bytes]:
    """The first bytes of each non-XML part of an office file, by name. `parts` must have accepted the file.

    Raises:
        BadContainer: A part can't be unpacked.
    """
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            for info in archive.infolist():
                if not _is_xml(info.filename):
                    with archive.open(info) as file:
                        found[info.filename] = file.read(_BEGINNING)
    except (*_BROKEN, RuntimeError) as problem:
        raise BadContainer(f"a part of the file can't be read: {problem}") from None
    return found


def unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of any name. `parts` must have accepted the file.

    Raises:
        BadContainer: It can't be unpacked.
    """
    try:
        return archive.read(name)
    except (*_BROKEN, RuntimeError) as problem:
        raise BadContainer(f"a part of the file can't be read: {problem}") from None


def _parts(blob: bytes, kind: str) -> dict[str, bytes]:
    if not blob.startswith(b"PK\3\4"):
        raise BadContainer(f"the file does not begin as a {kind} file does")
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(infos) > _MOST_PARTS:
            raise BadContainer(f"{len(infos)} parts, at most {_MOST_PARTS} are read")
        if len({name.lower() for name in names}) < len(names):
            raise BadContainer("two parts of the file have one name")
        if _MAIN[kind] not in names or "[Content_Types].xml" not in names:
            raise BadContainer(f"the file has no part {_MAIN[kind]}, which a {kind} file has")
        if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
            raise BadContainer("a part of the file is packed in another way than office files are")
        _check_sizes(infos)
        return {info.filename: _content(archive, info) for info in infos if _is_xml(info.filename)}


def _check_sizes(infos: list[zipfile.ZipInfo]) -> None:
    total = sum(info.file_size for info in infos)
    if total > MOST_BYTES:
        raise BadContainer(f"the file unpacks to {total >> 20} MiB, at most {MOST_BYTES >> 20} are read")
    for info in infos:
        if info.file_size > _SMALL and info.file_size > MOST_RATIO * max(info.compress_size, 1):
            raise BadContainer(f"a part of the file grows by more than {MOST_RATIO} times")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        content = file.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise BadContainer("a part of the file does not have its declared size")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content or _wide(content):
        raise BadContainer("a part of the file declares a document type or entities")
    return content


def _wide(content: bytes) -> bool:
    """Whether an XML part hides a declaration in UTF-16."""
    return any("<!DOCTYPE".encode(coding) in content for coding in ("utf-16-le", "utf-16-be"))


def _is_xml(name: str) -> bool:
    return name.lower().endswith((".xml", ".rels", ".vml"))


def well_formed(content: bytes) -> None:
    """Look for errors in an XML part.

    Raises:
        BadContainer: It is not XML.
    """
    parser = expat.ParserCreate()
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as problem:  # the last two: an encoding that Python can't read
        raise BadContainer(f"a part of the file is not XML: {problem}") from None
