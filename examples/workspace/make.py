"""Make the rows, the files and the recorded judge of this folder: a right and a forged trial of each kind of task.

The judge's replies are written by hand, and recorded as if a model had given them. Run it again after a change:

    python examples/workspace/make.py
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verikit import Group
from verikit.convert.osworld import osworld
from verikit.engines import Engine, Generation, Output, Recorder, Request
from verikit.judges import Rubric
from verikit.readers import Reader

FOLDER = Path(__file__).parent
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = (
    f'<w:styles {W}><w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/>'
    '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></w:styles>'
)
HEADING = '<w:p><w:pPr><w:pStyle w:val="H1"/></w:pPr><w:r><w:t>Results</w:t></w:r></w:p>'
BOLD = "<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Results</w:t></w:r></w:p>"
RATE = "<w:p><w:r><w:t>The rate is 4.2 %.</w:t></w:r></w:p>"
KEPT = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'
SPACED = f"<w:p>{KEPT.format('The rate is ')}{KEPT.format('4.2 %. ')}</w:p>"
HIDDEN = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>The rate is 4.2 %.</w:t></w:r></w:p>"
ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT); INSERT INTO orders VALUES (7, 'new'), (8, 'new');"
SHIPPED = "UPDATE orders SET status = 'shipped' WHERE id = 7;"
VIEW = (
    "ALTER TABLE orders RENAME TO kept; CREATE VIEW orders AS SELECT id, "
    "CASE id WHEN 7 THEN 'shipped' ELSE status END AS status FROM kept;"
)
DRAFT = {"draft.txt": "Dear all,\n", "conf.ini": "debug = 0\n"}
SALES = {"sales.csv": "city,sold\nOslo,3\nOslo,4\nRome,5\n"}
CODE = {"src/area.py": "def area(r):\n    return 3 * r * r\n", "tests/test_area.py": "assert area(1) > 3.14\n"}
FIXED = {**CODE, "src/area.py": "def area(r):\n    return 3.14159 * r * r\n"}
RUBRIC = [
    {"criterion": "area uses a precise value of pi", "points": 1},
    {"criterion": "the tests are as they were", "points": 1, "must": True},
]
SUM = {
    "task.toml": 'schema_version = "1.4"\nartifacts = ["/app/total.txt"]\n[verifier]\nenvironment_mode = "separate"\n',
    "instruction.md": "Write the sum of the second column of sales.csv to total.txt.\n",
    "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\nCOPY sales.csv .\n",
    "environment/sales.csv": "Oslo,3\nOslo,4\nRome,5\n",
    "solution/solve.sh": "#!/bin/bash\necho $(($(cut -d, -f2 sales.csv | paste -sd+))) > /app/total.txt\n",
    "tests/test.sh": "#!/bin/bash\ngrep -cx 12 /app/total.txt > /logs/verifier/reward.txt\n",
}
PAGE = "<!doctype html><button onclick='{script}'>Add</button> <p>Count <b id=n>0</b></p>"
TASKS = {
    "files": "Rename draft.txt to final.txt. Change nothing else.",
    "table": "Sum sales.csv by city into totals.csv.",
    "state": "Mark order 7 as shipped in shop.db.",
    "docx": "Write report.docx with the heading Results and the rate.",
    "trajectory": "Fix area. Leave the tests alone.",
    "rubric": "Fix area. Leave the tests alone.",
    "xlsx": "Sum column A into B1.",
    "pptx": "Write report.pptx with the rate on a slide.",
    "html": "Count the clicks on the button.",
    "osworld": "Write the rate into report.docx on the desktop.",
    "harbor": "Write the sum of the second column of sales.csv to total.txt.",
}
CASES = [
    {"file": f"{number}_output.xlsx", "values": {"B1": total}, "decimals": 2} for number, total in enumerate((6, 60), 1)
]
"""The test cases of the workbook's task, as `verikit data spreadsheetbench` writes them."""


def document(folder: Path, *paragraphs: str) -> str:
    """Write a text document."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "word/document.xml": f"<w:document {W}><w:body>{''.join(paragraphs)}</w:body></w:document>",
        "word/styles.xml": STYLES,
    }
    with zipfile.ZipFile(folder / "report.docx", "w") as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return str(folder.relative_to(FOLDER))


def workbooks(folder: Path, answer: str | int) -> str:
    """Write the workbook of each test case, with the same answer in B1."""
    from openpyxl import Workbook

    folder.mkdir(parents=True, exist_ok=True)
    for number, numbers in enumerate(((1, 2, 3), (10, 20, 30)), 1):
        book = Workbook()
        assert book.active is not None
        for one in numbers:
            book.active.append([one])
        book.active["B1"] = answer
        book.save(folder / f"{number}_output.xlsx")
    return str(folder.relative_to(FOLDER))


def slides(folder: Path, inches: float) -> str:
    """Write a deck with a text box this far from the left edge."""
    from pptx import Presentation
    from pptx.util import Inches

    folder.mkdir(parents=True, exist_ok=True)
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(Inches(inches), Inches(2), Inches(4), Inches(1)).text_frame.text = "The rate is 4.2 %."
    deck.save(str(folder / "report.pptx"))
    return str(folder.relative_to(FOLDER))


def task(folder: Path) -> str:
    """Write a Harbor task."""
    for name, text in SUM.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return str(folder.relative_to(FOLDER))


def base(folder: Path, *scripts: str) -> str:
    """Write a database."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shop.db").unlink(missing_ok=True)
    with sqlite3.connect(folder / "shop.db") as made:
        for script in scripts:
            made.executescript(script)
    return str(folder.relative_to(FOLDER))


def steps(*commands: str) -> list[dict[str, Any]]:
    """The steps of an agent that ran these commands."""
    found: list[dict[str, Any]] = []
    for number, command in enumerate(commands):
        call = {"id": str(number), "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
        found.append({"role": "assistant", "content": "", "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": str(number), "content": "ok"})
    return found


def desktop(folder: Path) -> dict[str, Any]:
    """Write a task in OSWorld's form, with the expected file where OSWorld keeps it. Returns its checks."""
    gold = folder / "cache/rate/report.docx"
    document(gold.parent, RATE)
    evaluator = {
        "func": "compare_docx_files",
        "result": {"type": "vm_file", "path": "/home/user/Desktop/report.docx", "dest": "report.docx"},
        "expected": {"type": "cloud_file", "path": "https://example.org/report.docx", "dest": gold.name},
        "options": {"ignore_blanks": False},
    }
    task = {"id": "rate", "snapshot": "libreoffice_writer", "instruction": TASKS["osworld"], "evaluator": evaluator}
    path = folder / "examples/libreoffice_writer/rate.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(task, indent=2) + "\n", "utf-8")
    checks: dict[str, Any] = next(osworld({**task, "source_folder": str(folder)}))["osworld"]
    return checks


def left_desktop(folder: Path, *paragraphs: str) -> str:
    """Write the document that an agent left on its desktop."""
    document(folder / "home/user/Desktop", *paragraphs)
    return str(folder.relative_to(FOLDER))


def workspaces() -> dict[str, dict[str, dict[str, Any]]]:
    """The workspace of each kind's right and forged trial."""
    files = FOLDER / "files"
    orders = base(files / "state/before", ORDERS)
    edited = {**FIXED, "tests/test_area.py": "assert True\n"}
    harbor = task(files / "harbor")
    return {
        "files": {
            "right": {"before": DRAFT, "after": {"final.txt": DRAFT["draft.txt"], "conf.ini": DRAFT["conf.ini"]}},
            "forged": {"before": DRAFT, "after": {"final.txt": DRAFT["draft.txt"], "conf.ini": "debug = 1\n"}},
        },
        "table": {
            "right": {"before": SALES, "after": {**SALES, "totals.csv": "city,sum\nRome,5\nOslo,7\n"}},
            "forged": {"before": SALES, "after": {**SALES, "totals.csv": "city,sum\nRome,5\nOslo,7\nOslo,8\n"}},
        },
        "state": {
            "right": {"before": orders, "after": base(files / "state/right", ORDERS, SHIPPED)},
            "forged": {"before": orders, "after": base(files / "state/forged", ORDERS, VIEW)},
        },
        "docx": {
            "right": {"after": document(files / "docx/right", HEADING, RATE)},
            "forged": {"after": document(files / "docx/forged", BOLD, RATE)},
        },
        "trajectory": {
            "right": {"before": CODE, "after": FIXED, "trajectory": steps("cat tests/test_area.py", "vi src/area.py")},
            "forged": {
                "before": CODE,
                "after": FIXED,
                "trajectory": steps("echo 'assert True' > tests/test_area.py", "pytest", "git checkout tests"),
            },
        },
        "rubric": {
            "right": {"before": CODE, "after": FIXED, "trajectory": steps("pytest")},
            "forged": {"before": CODE, "after": edited, "trajectory": steps("pytest")},
        },
        "xlsx": {
            "right": {"after": workbooks(files / "xlsx/right", "=SUM(A1:A3)")},
            "forged": {"after": workbooks(files / "xlsx/forged", 6)},
        },
        "pptx": {
            "right": {"after": slides(files / "pptx/right", 1)},
            "forged": {"after": slides(files / "pptx/forged", 20)},
        },
        "html": {
            "right": {"after": {"index.html": PAGE.format(script="n.textContent = +n.textContent + 1")}},
            "forged": {"after": {"index.html": PAGE.format(script="n.textContent = 2")}},
        },
        "osworld": {
            "right": {"after": left_desktop(files / "osworld/runs/right/rate", SPACED)},
            "forged": {"after": left_desktop(files / "osworld/runs/forged/rate", HIDDEN)},
        },
        "harbor": {
            "right": {"after": {"app/total.txt": "12\n"}, "task": harbor},
            "forged": {"after": {"app/total.txt": "11\n", "logs/verifier/reward.txt": "1\n"}, "task": harbor},
        },
    }


class ByHand(Engine):
    """Judges by the changes that it is shown."""

    name = "by-hand"

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Give a verdict on each criterion, with the mark of the request and a quotation."""
        found = []
        for request in requests:
            shown = str(request.prompt[-1]["content"])  # type: ignore[index,call-overload]
            intact = "not met" if "changed tests/test_area.py" in shown else "met"
            text = (
                '[@src/area.py "3.14159"] decides the first, the list of files the second.\n'
                f"<{request.meta['fence']} 1: met>\n<{request.meta['fence']} 2: {intact}>"
            )
            found.append(Generation(outputs=(Output(text, finish_reason="stop"),)))
        return found


def record(path: Path) -> None:
    """Judge both trials of the rubric, as `verikit score` does, and write the recording."""
    path.unlink(missing_ok=True)
    reader = Reader(str(FOLDER / "rows.jsonl"))
    groups = [item for _, item in reader.items(reader.rows()) if isinstance(item, Group)]
    samples = [sample for group in groups for sample in group.samples() if sample.meta["kind"] == "rubric"]
    Rubric(Recorder(ByHand(), path), shows="workspace").score(samples)


if __name__ == "__main__":
    own: dict[str, dict[str, Any]] = {
        "rubric": {"rubric": RUBRIC},
        "xlsx": {"xlsx": CASES},
        "osworld": {"osworld": desktop(FOLDER / "files/osworld/tasks")},
    }
    with open(FOLDER / "rows.jsonl", "w", encoding="utf-8") as out:
        for kind, trials in workspaces().items():
            for trial, workspace in trials.items():
                row = {"id": f"{kind}-{trial}", "prompt": TASKS[kind], "completion": "Done.", "kind": kind}
                more = own.get(kind, {})
                out.write(json.dumps({**row, **more, "workspace": workspace}) + "\n")
    record(FOLDER / "judge.jsonl")
