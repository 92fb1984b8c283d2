"""Generated workbooks, honest and forged: `python benchmarks/workbook_trials.py` prints how many are right.

Honest books have a right formula and no stored value, as libraries save them. Forged ones have the right number typed
in, stored over a wrong formula, made of constants, or given for the shown inputs only. Then tasks in SpreadsheetBench's
layout: their answer workbooks and their inputs are graded as outputs, and some answers are stale. Plain Python computes
the values. The seeds fix all books.

`--folder DIR` grades SpreadsheetBench's own tasks instead, by `DIR/dataset.json` and the workbooks next to it.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from openpyxl import Workbook

import verikit
from verikit.convert.deliverables import ANSWERS, INPUTS, spreadsheetbench
from verikit.convert.parts import FOLDER, LeftOut
from verikit.errors import SchemaError
from verikit.types import Sample
from verikit.workspaces import Workspace

FORGERIES = ("typed", "stale", "constant", "keyed")
Numbers = Sequence[int]
SHAPES: dict[str, Callable[[Numbers, Numbers], float]] = {
    "=SUM({a})": lambda a, b: sum(a),
    "=AVERAGE({a},{b})": lambda a, b: (sum(a) + sum(b)) / (len(a) + len(b)),
    "=MAX({a})-MIN({b})": lambda a, b: max(a) - min(b),
    '=SUMIF({a},">10")+COUNT({b})': lambda a, b: sum(one for one in a if one > 10) + len(b),
    '=COUNTIF({a},">=20")*2+{first}': lambda a, b: 2 * sum(one >= 20 for one in a) + a[0],
    "=ROUND(SUM({a})/7,2)": lambda a, b: round(sum(a) / 7, 2),
    "=SUMPRODUCT({a},{b})": lambda a, b: sum(x * y for x, y in zip(a, b, strict=True)),
    "=IF(SUM({a})>100,SUM({b}),SUM({a}))": lambda a, b: sum(b) if sum(a) > 100 else sum(a),
    "=SUM({a})*0.19+SUM({b})*0.07": lambda a, b: sum(a) * 0.19 + sum(b) * 0.07,
    "={first}*{last}-SUM({b})": lambda a, b: a[0] * a[-1] - sum(b),
}
"""Formulas over the numbers of two columns, and what they give."""


class Drawn:
    """A table of numbers with a right formula below it, of a seed."""

    def __init__(self, seed: int, case: int = 0) -> None:
        draw = random.Random(f"{seed}")
        self.count = draw.randint(3, 8)
        self.shape = draw.choice(sorted(SHAPES))
        numbers = random.Random(f"{seed} {case}")
        self.a = [numbers.randint(1, 60) for _ in range(self.count)]
        self.b = [numbers.randint(1, 90) for _ in range(self.count)]
        last = self.count + 1
        self.formula = self.shape.format(a=f"A2:A{last}", b=f"B2:B{last}", first="A2", last=f"A{last}")
        self.value = SHAPES[self.shape](self.a, self.b)
        self.cell = f"C{last + 1}"

    def answers(self, kind: str) -> tuple[object, float | None]:
        """The answer cell of a kind of trial, with the value that is stored over its formula."""
        value = self.value
        last = self.count + 1
        return {
            "honest": (self.formula, None),
            "gold": (self.formula, value),
            "input": (None, None),
            "typed": (value, None),
            "stale": (f"=SUM(A2:B{last})+{self.a[0]}+1", value),
            "constant": (f"={value - 3!r}+3", value),
            "keyed": (f"=IF(A2={self.a[0]},IF(B2={self.b[0]},{value!r},0),0)", value),
        }[kind]  # fmt: skip

    def book(self, kind: str) -> bytes:
        """The workbook of a kind of trial."""
        answer, stored = self.answers(kind)
        return self.saved(answer, stored)

    def saved(self, answer: object, stored: float | None) -> bytes:
        """A workbook with an answer, and a value stored over its formula."""
        made, out = Workbook(), io.BytesIO()
        sheet: Any = made.active
        sheet.append(["n", "price"])
        for pair in zip(self.a, self.b, strict=True):
            sheet.append(list(pair))
        sheet[self.cell] = answer
        made.save(out)
        return out.getvalue() if stored is None else _stored(out.getvalue(), stored)


def _stored(data: bytes, value: float) -> bytes:
    """The workbook with a value stored over its only formula."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content, count = re.subn(rb"</f><v ?/?>(</v>)?", b"</f><v>%s</v>" % repr(value).encode(), content)
                assert count == 1
            new.writestr(name, content)
    return out.getvalue()


def trial(seed: int, kind: str) -> verikit.Score:
    """The score of a drawn book: its value, and that its formula follows its inputs."""
    drawn = Drawn(seed)
    options: dict[str, Any] = {
        "values": {drawn.cell: drawn.value},
        "formula": [drawn.cell],
        "follows": {drawn.cell: drawn.formula},
    }
    workspace = Workspace({"out.xlsx": drawn.book(kind)})
    return verikit.xlsx("out.xlsx", **options).score([Sample("Fill it in.", "", id=str(seed), workspace=workspace)])[0]


def trials(books: int) -> Iterator[tuple[str, verikit.Score]]:
    """Honest books, and as many forged ones, in turn."""
    for seed in range(books):
        yield "honest", trial(seed, "honest")
        kind = FORGERIES[seed % len(FORGERIES)]
        yield kind, trial(1000 + seed, kind)


def task(folder: Path, seed: int, *, stale: bool, cases: int = 2) -> dict[str, Any] | None:
    """A task in SpreadsheetBench's layout, converted. None if it is left out."""
    id, own = f"t-{seed}", folder / f"spreadsheet/t-{seed}"
    own.mkdir(parents=True)
    for case in range(1, cases + 1):
        drawn = Drawn(seed, case)
        wrong = drawn.value + 1 if stale and case == cases else drawn.value
        (own / f"{case}_{id}_answer.xlsx").write_bytes(drawn.saved(drawn.formula, wrong))
        (own / f"{case}_{id}_input.xlsx").write_bytes(drawn.book("input"))
    row = {
        "id": id, "instruction": "Fill it in.", "spreadsheet_path": f"spreadsheet/{id}",
        "instruction_type": "Cell-Level Manipulation", "answer_position": f"'Sheet'!{Drawn(seed).cell}",
        "answer_sheet": "Sheet", FOLDER: str(folder),
    }  # fmt: skip
    try:
        return next(spreadsheetbench(row))
    except LeftOut:
        return None


def outputs(folder: Path, row: dict[str, Any], endings: Sequence[str]) -> verikit.Score:
    """The score of a task's own files as outputs: those whose names end so."""
    own = folder / f"spreadsheet/{row['id']}"
    files = {
        case["file"]: path.read_bytes()
        for case in row["xlsx"]
        for ending in endings
        if (path := own / case["file"].replace("_output.xlsx", ending)).is_file()
    }
    sample = Sample(row["prompt"], "", id=row["id"], workspace=Workspace(files), meta={"xlsx": row["xlsx"]})
    return verikit.xlsx().score([sample])[0]


def benchmark_rows(tasks: int) -> Iterator[tuple[str, str]]:
    """Of each task what its answers and its inputs get as outputs; every fifth has a stale answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(tasks):
            stale = seed % 5 == 4
            row = task(folder, seed, stale=stale)
            if row is None or stale:
                yield "stale answers", "left out" if row is None else "kept"
                if row is None:
                    continue
            yield "answers as outputs", told(outputs(folder, row, ANSWERS))
            yield "inputs as outputs", told(outputs(folder, row, INPUTS))


def own_tasks(folder: Path) -> Iterator[tuple[str, str]]:
    """The same for the benchmark's own tasks, and why some are left out."""
    for told_row in json.loads((folder / "dataset.json").read_text("utf-8")):
        try:
            row = next(spreadsheetbench({**told_row, FOLDER: str(folder)}))
        except (LeftOut, SchemaError) as why:
            yield "left out", f"{why} ({told_row['id']})" if isinstance(why, SchemaError) else str(why)
            continue
        yield "answers as outputs", told(outputs(folder, row, ANSWERS))
        yield "inputs as outputs", told(outputs(folder, row, INPUTS))


def told(score: verikit.Score) -> str:
    """A score in a word."""
    return "no value" if score.value is None else f"{score.value:g}"


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--books", type=int, default=200, help="honest books, and as many forged ones")
    parser.add_argument("--tasks", type=int, default=100, help="tasks in SpreadsheetBench's layout")
    parser.add_argument("--folder", type=Path, help="the folder of SpreadsheetBench's own dataset.json")
    parser.add_argument("--each", action="store_true", help="print each book that is not as it should be")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for kind, score in trials(given.books if given.folder is None else 0):
        counts.setdefault(kind, Counter())[told(score)] += 1
        if given.each and score.value != float(kind == "honest"):
            print(kind, told(score), score.reason)
    for kind, word in own_tasks(given.folder) if given.folder else benchmark_rows(given.tasks):
        counts.setdefault(kind, Counter())[word] += 1
    for kind, found in counts.items():
        print(json.dumps({kind: dict(found)}), flush=True)


if __name__ == "__main__":
    main()
