"""Workspace files as a judge reads them: text unchanged, and extracted content of office files, tables and archives.

Readers run in the sandbox. A file that no reader supports is shown by its name, size and digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.shape import each, record, text, truth, whole
from verikit.errors import AgentFault
from verikit.judges.evidence.fold import MOST
from verikit.judges.evidence.shown import NotShown
from verikit.verifiers.docx.verifier import READER as DOCUMENTS
from verikit.verifiers.docx.verifier import Block, plain
from verikit.verifiers.pdf.pages import READER as PDFS
from verikit.verifiers.pdf.pages import lines as pdf_lines
from verikit.verifiers.reading.sqlite_file import MAGIC, database
from verikit.verifiers.table.readers import read_table
from verikit.verifiers.xlsx.observed import SeenCell, SeenWorkbook
from verikit.workspaces.manifest import FileEntry
from verikit.workspaces.names import shown
from verikit.workspaces.tree import Blob
from verikit.workspaces.workspace import Side, Workspace

MOST_READ = 8 * MOST
"""Maximum bytes of a file that is read."""
MAX_ROWS = 10_000
"""Maximum rows of a parquet file that are read."""
_MEMBER = record({"name": text, "size": whole, "sha256": text, "text": text})
_ARCHIVES = BoxReader(
    "verikit.artifacts.readers.archive", {}, "office", record({"members": each(_MEMBER, 10_000), "whole": truth})
)
_Reader = Callable[[Workspace, Blob, Side], str]


class NotText(AgentFault):
    """The file has no text, or no reader supports it."""

    def __init__(self, blob: Blob) -> None:
        super().__init__(f"not text: {blob.size:,} bytes, sha256 {blob.sha256}")


def file_text(workspace: Workspace, entry: FileEntry, side: Side = "after") -> str:
    """The text of a file that a judge reads. If it has none, the reason.

    Raises:
        NotShown: The file exceeds the limit for shown files.
        WorkspaceError: The file can't be read, and the agent did not cause this.
        MissingExtra: A reader's package is not installed.
    """
    try:
        return readable_text(workspace, entry, side)
    except AgentFault as fault:
        # A defect of one file is evidence too: the judge may only need the others.
        return fault_shown(fault)


def fault_shown(fault: AgentFault) -> str:
    """What a judge is shown instead of a file's text."""
    return f"⟨{fault}⟩" if isinstance(fault, NotText) else f"⟨not readable: {fault}⟩"


def readable_text(workspace: Workspace, entry: FileEntry, side: Side = "after") -> str:
    """The text of a file that a judge reads.

    Raises:
        AgentFault: Its reader rejects the file, or it has no text (`NotText`).
        NotShown: The file exceeds the limit for shown files.
        WorkspaceError: The file can't be read, and the agent did not cause this.
        MissingExtra: A reader's package is not installed.
    """
    blob = workspace.blob(entry, side)
    if blob.size > MOST_READ:
        raise NotText(blob)
    data = blob.data()
    reader = _reader_of(blob.path, data)
    return _plain_text(blob, data) if reader is None else reader(workspace, blob, side)


def _plain_text(blob: Blob, data: bytes) -> str:
    found = decoded_text(data)
    if found is None:
        raise NotText(blob)
    if len(found) > MOST:
        raise too_large(blob.path, f"{len(found):,} characters")
    return found


def decoded_text(data: bytes) -> str | None:
    """A file's bytes as text. None if they are not text."""
    try:
        found = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in found else found


def too_large(path: str, size: str) -> NotShown:
    """The error for a file that is larger than a judge can be shown."""
    return NotShown(f"{shown(path)} has {size}, more than a judge is shown", too_long="answer")


def _reader_of(path: str, data: bytes) -> _Reader | None:
    """The reader of a file, by its first bytes and its extension. None: it is text, or unsupported."""
    ending = path.rpartition(".")[2].lower()
    if data.startswith(MAGIC):
        return _databases
    if data.startswith(b"%PDF-"):
        return _pdf
    if data.startswith(b"PAR1"):
        return _parquet
    if data.startswith(b"PK\3\4"):
        return {"docx": _document, "xlsx": _workbook, "xlsm": _workbook}.get(ending, _archive)
    packed = data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ")) and ".tar" in path.lower()[-8:]
    return _archive if packed or ending in ("tar", "tgz", "tbz2", "txz") else None


def _document(_: Workspace, blob: Blob, side: Side) -> str:
    seen = observe(DOCUMENTS, [blob.data()], {})
    lines: list[str] = []
    for (table, _row), blocks in groupby(seen["blocks"], key=lambda block: (block["table"], block["row"])):
        if table >= 0:
            lines.append(f"| {' | '.join(_cells(blocks))} |")
        else:
            lines += map(_paragraph, blocks)
    counts = (("images", "pictures"), ("inserted", "tracked insertions"), ("deleted", "tracked deletions"))
    told = [f"{seen[key]} {name}" for key, name in counts if seen[key]]
    return "\n".join([*lines, *([f"⟨{', '.join(told)}⟩"] if told else [])])


def _cells(blocks: Iterator[Block]) -> Iterator[str]:
    for _, cell in groupby(blocks, key=lambda block: block["column"]):
        yield " ".join(filter(None, map(_runs, cell)))


def _paragraph(block: Block) -> str:
    mark = "- " if block["list"] else ""
    if block["level"]:
        mark = f"{'#' * block['level']} "
    return mark + _runs(block)


def _runs(block: Block) -> str:
    """The text of a paragraph, with invisible text marked."""
    return plain("".join(_run(run) for run in block["runs"]))


def _run(run: Mapping[str, Any]) -> str:
    return f"⟨out of sight ({run['hidden']}): {run['text']}⟩" if run["hidden"] else str(run["text"])


def _whole_sheets(data: bytes) -> dict[str, str]:
    """The area of all cells of each sheet, by the sheet's title."""
    return {
        sheet["title"]: f"'{sheet['title'].replace(chr(39), chr(39) * 2)}'!A:XFD"
        for sheet in SeenWorkbook.read(data, [], []).sheets
        if sheet["key"]
    }


def _pdf(_: Workspace, blob: Blob, side: Side) -> str:
    seen = observe(PDFS, [blob.data()], {})
    told: list[str] = []
    for number, page in enumerate(seen["pages"], 1):
        told += [f"page {number} of {len(seen['pages'])}:", pdf_lines([page])]
        told += [f"⟨out of sight ({each['why']}): {each['text']}⟩" for each in page["hidden"]]
    fields = [
        f"field {each['name']}: {each['value'] or each['checked']}, drawn {each['drawn']!r}" for each in seen["fields"]
    ]
    return "\n".join([*told, *fields, *(f"⟨{script}⟩" for script in seen["scripts"])])


def _workbook(_: Workspace, blob: Blob, side: Side) -> str:
    data = blob.data()
    titles = _whole_sheets(data)
    seen = SeenWorkbook.read(data, list(titles.values()), [])
    if seen.missing:
        raise too_large(blob.path, "a sheet of many cells")
    lines: list[str] = []
    for title, area in titles.items():
        filled = [cell for cell in seen.cells[area] if cell.formula or cell.error or cell.value is not None]
        lines += [f"sheet {title}", *(_cell_line(cell) for cell in filled)]
    told = [*(f"name {name} = {area}" for name, area in seen.names.items()), *(["macros"] if seen.macros else [])]
    return "\n".join([*lines, *told])


def _cell_line(cell: SeenCell) -> str:
    """A cell. A formula is shown without its stored value, which could be anything."""
    place = cell.cell.rpartition("!")[2]
    content = cell.formula or cell.error or repr(cell.value)
    return f"{place}: {content}" + (f" ⟨out of sight: {cell.hidden}⟩" if cell.hidden else "")


def _parquet(_: Workspace, blob: Blob, side: Side) -> str:
    table = read_table(blob, "parquet", frozenset(), MAX_ROWS, ours=side == "before")
    return "\n".join(" | ".join(map(str, row)) for row in (table.columns, *table.rows))


def _databases(workspace: Workspace, blob: Blob, side: Side) -> str:
    found = database(workspace, blob.path, side, MAX_ROWS)
    lines = [f"{kind} {name}: {sql}" for kind, name, _, sql in sorted(found.schema)]
    for name, table in sorted(found.tables.items()):
        lines += [f"rows of {name} ({', '.join(table.columns)}):"]
        lines += [" | ".join(repr(value) for _, value in row) for row in table.rows]
    return "\n".join(lines)


def _archive(_: Workspace, blob: Blob, side: Side) -> str:
    seen = observe(_ARCHIVES, [blob.data()], {})
    if not seen["whole"]:
        raise too_large(blob.path, "much text")
    lines = []
    for member in seen["members"]:
        lines.append(f"member {shown(member['name'])}  {member['size']:,} bytes  sha256 {member['sha256'][:12]}")
        lines += [member["text"]] if member["text"] else []
    return "\n".join(lines)
