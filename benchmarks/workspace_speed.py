"""CPU seconds per check of an agent's files: `python benchmarks/workspace_speed.py` prints a table.

Each kind is scored in a process of its own, once with one row and once with all. The difference is the cost of a
further row. It includes all child processes: readers, LibreOffice and the browser. Each row has its own content. It
needs a user who may make control groups, such as root.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import verikit
from verikit.base import Verifier
from verikit.types import Sample
from verikit.workspaces import Workspace

GROUPS = Path("/sys/fs/cgroup")
V1 = GROUPS / "cpuacct"


class Check(NamedTuple):
    """A kind of check."""

    rows: int
    verifier: Callable[[int], Verifier]
    """The verifier, for a row's number."""
    file: str
    content: Callable[[int], bytes]


def text(number: int) -> bytes:
    """A line."""
    return f"{number} apples\n".encode()


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OOXML = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def document(number: int) -> bytes:
    """A docx file of twenty paragraphs."""
    line = "In line {} there are {} apples, and the rest of the line is longer than that."
    paragraphs = "".join(f"<w:p><w:r><w:t>{line.format(at, number)}</w:t></w:r></w:p>" for at in range(20))
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        override = f'<Override PartName="/word/document.xml" ContentType="{OOXML}"/>'
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{types}">{override}</Types>')
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{W}"><w:body>{paragraphs}</w:body></w:document>')
    return out.getvalue()


def workbook(number: int) -> bytes:
    """A workbook with a formula over forty cells, and no stored values."""
    from openpyxl import Workbook

    made = Workbook()
    for row in range(40):
        made.active.append([row, number + row])
    made.active["D1"] = "=SUM(B1:B40)"
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def page(number: int) -> bytes:
    """A page whose script computes the text in sight."""
    script = f"document.body.append(String({number} + 1) + ' apples')"
    return f"<!doctype html><title>t</title><body><p>Basket</p><script>{script}</script></body>".encode()


def picture(number: int) -> bytes:
    """A PNG of a bar chart."""
    from PIL import Image, ImageDraw

    made = Image.new("RGB", (800, 600), "white")
    draw = ImageDraw.Draw(made)
    for bar in range(8):
        draw.rectangle((60 + 90 * bar, 560 - 60 * ((bar * number) % 8 + 1), 120 + 90 * bar, 560), fill=(30, 90, 180))
    out = io.BytesIO()
    made.save(out, "PNG")
    return out.getvalue()


CHECKS = {
    "files": Check(20_000, lambda n: verikit.files(exist=["a.txt"]), "a.txt", text),
    "docx": Check(40, lambda n: verikit.docx(text=[f"there are {n} apples"]), "a.docx", document),
    "xlsx": Check(20, lambda n: verikit.xlsx(values={"D1": 40 * n + 780}), "a.xlsx", workbook),
    "xlsx, hidden inputs": Check(
        20, lambda n: verikit.xlsx(values={"D1": 40 * n + 780}, formula=["D1"]), "a.xlsx", workbook
    ),
    "html": Check(20, lambda n: verikit.html(visible=[f"{n + 1} apples"]), "index.html", page),
    "image": Check(20, lambda n: verikit.image(least_size=[100, 100]), "a.png", picture),
}


def score(kind: str, rows: int) -> None:
    """Score rows of a kind one after the other.

    Raises:
        SystemExit: One isn't right, so its cost would be of something else.
    """
    check = CHECKS[kind]
    for number in range(1, rows + 1):
        workspace = Workspace({check.file: check.content(number)})
        [found] = check.verifier(number).score([Sample("", "", workspace=workspace)])
        if found.value != 1.0:
            sys.exit(f"{kind}: {found.value}, {found.reason}")


def spent(kind: str, rows: int) -> float:
    """CPU seconds of a process that scores rows, and of all its children.

    A control group counts them. Nobody waits for the processes of a sandbox that has ended, so `getrusage` does not.
    """
    group = Path(tempfile.mkdtemp(dir=V1 if V1.is_dir() else GROUPS))
    try:
        command = [sys.executable, __file__, "--kind", kind, "--rows", str(rows), "--group", str(group)]
        subprocess.run(command, check=True)
        if V1.is_dir():
            return int((group / "cpuacct.usage").read_text()) / 1e9
        return int((group / "cpu.stat").read_text().split()[1]) / 1e6
    finally:
        group.rmdir()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=CHECKS, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--group", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("kinds", nargs="*", help="All if none is given.")
    given = parser.parse_args()
    if given.kind:
        (given.group / "cgroup.procs").write_text(str(os.getpid()))
        score(given.kind, given.rows)
        return
    print("| check | CPU s per row |\n|---|---|")
    for kind in given.kinds or CHECKS:
        rows = CHECKS[kind].rows
        print(f"| {kind} | {(spent(kind, rows) - spent(kind, 1)) / (rows - 1):.5f} |", flush=True)


if __name__ == "__main__":
    main()
