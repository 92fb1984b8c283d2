"""Verifiers of files beside other graders: `python benchmarks/workspace_peers.py PEERS` prints a table.

PEERS is a folder with `evaluation.py` of SpreadsheetBench, and with the unpacked wheels of desktop-env (OSWorld) and
harbor-rewardkit. One that is not there is left out. Their functions run in a process of their own each. The files are
made here: right, wrong and forged ones for the same task. Plain Python computes the right values, so neither side
decides which file is right. A grader is only called for what it claims to compare. An exception counts as a refusal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workspace_twins import Twin, by_libreoffice, twins

import verikit
from verikit.types import Sample
from verikit.workspaces import Workspace

RECALCULATED = "SpreadsheetBench after LibreOffice"
PEERS = ("SpreadsheetBench", RECALCULATED, "OSWorld", "rewardkit")
PASSES = 0.95
"""A peer's value that counts as accepted: rewardkit's picture criterion gives the share of equal pixels."""
SUMS = [{"city": "Oslo", "sum": 7}, {"city": "Rome", "sum": 5}]
OBJECT = {"city": "Oslo", "sum": 1}
SHIPPED = [{"table": "orders", "key": 7, "set": {"status": "shipped"}}]
VERIFIERS: dict[str, Callable[[str], verikit.Verifier]] = {
    "xlsx": lambda _: verikit.xlsx(values={"B1": 6}),
    "docx": lambda _: verikit.docx(text=["The rate is 4.2 %."]),
    "pptx": lambda _: verikit.pptx(text=["The rate is 4.2 %."], visible=True),
    "image": lambda reference: verikit.image(like=reference),
    "csv": lambda _: verikit.table("out.csv", expected=SUMS, key=["city"]),
    "json": lambda _: verikit.files(content={"out.json": verikit.json_match()}),
    "sqlite": lambda _: verikit.state("shop.db", changed=SHIPPED),
    "files": lambda _: verikit.files(same_as={"final.txt": "draft.txt"}),
}
ORDERS = "SELECT group_concat(id || status, ',') FROM (SELECT * FROM orders ORDER BY id)"
CELLS = [(row, column) for row in (0, 1) for column in ("city", "sum")]


def calls(twin: Twin, file: str, reference: str) -> dict[str, list[Any]]:
    """How each peer is called for a file: its function and the arguments. Of several calls all have to accept it."""
    if twin.kind == "xlsx":
        rule = {
            "type": "check_cell",
            "sheet_idx": 0,
            "coordinate": "B1",
            "props": {"value": {"method": "eq", "ref": 6}},
        }
        saved = str(Path(file).with_name("saved.xlsx"))
        kind = "Cell-Level Manipulation"
        return {
            "SpreadsheetBench": [["compare_workbooks", [reference, file, kind, "B1"], {}]],
            RECALCULATED: [["compare_workbooks", [reference, saved, kind, "B1"], {}]],
            "OSWorld": [["table.compare_table", [file, reference], {"rules": [rule]}]],
            "rewardkit": [["xlsx_cell_equals", [twin.file, "B1", 6], {}]],
        }
    if twin.kind == "csv":
        gold = {"city": ("Oslo", "Rome"), "sum": ("7", "5")}
        return {
            "OSWorld": [["table.compare_csv", [file, reference], {"strict": False}]],
            "rewardkit": [
                ["csv_cell_equals", [twin.file, row, column, gold[column][row]], {}] for row, column in CELLS
            ],
        }
    if twin.kind == "json":
        rules = [{"key": [key], "method": "eq", "ref": value} for key, value in OBJECT.items()]
        return {
            "OSWorld": [["general.check_json", [file, {"expect": rules}], {}]],
            "rewardkit": [["json_key_equals", [twin.file, key, value], {}] for key, value in OBJECT.items()],
        }
    if twin.kind == "sqlite":
        asked = f"SELECT ({ORDERS}) = '7shipped,8new'"
        return {
            "OSWorld": [["general.run_sqlite3", [file, {"sql": asked}], {}]],
            "rewardkit": [["sqlite_query_equals", [twin.file, ORDERS, "7shipped,8new"], {}]],
        }
    if twin.kind == "image":
        return {
            "OSWorld": [["gimp.check_structure_sim", [file, reference], {}]],
            "rewardkit": [["image_similarity", [twin.file, "reference.png"], {}]],
        }
    if twin.kind == "files":
        found = {"rewardkit": [["file_matches", [twin.file, "Dear all,\n"], {}]]}
        # OSWorld's functions get copies of files, never links.
        return found if twin.link else {"OSWorld": [["vscode.compare_text_file", [file, reference], {}]], **found}
    function = {"docx": "docs.compare_docx_files", "pptx": "slides.compare_pptx_files"}[twin.kind]
    return {"OSWorld": [[function, [file, reference], {}]]}


CHILD = '''
import importlib, importlib.abc, importlib.machinery, json, sys, types
from pathlib import Path

root, workspace, orders = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])


UNUSED = "borb cssselect cv2 easyocr imagehash odf pdfplumber PyPDF2 tldextract".split()


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that OSWorld imports for its other functions. Using one that is not installed fails."""

    def find_spec(self, name, path, target=None):
        unused = name.partition(".")[0] in UNUSED
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if unused else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: _absent(spec.name, name)
        return module

    def exec_module(self, module):
        pass


def _absent(module, name):
    if name.startswith("__"):
        raise AttributeError(name)

    class Fails:
        def __init__(self, *args, **kwargs):
            raise ImportError(f"{module} is not installed")

    return Fails


def package(name, folder):
    made = types.ModuleType(name)
    made.__path__ = [str(folder)]
    sys.modules[name] = made


sys.meta_path.append(Absent())
found = {}
for peer, runs in orders.items():
    values = []
    for function, args, options in runs:
        try:
            if peer.startswith("SpreadsheetBench"):
                sys.path.insert(0, str(root))
                value = importlib.import_module("evaluation").compare_workbooks(*args)[0]
            elif peer == "OSWorld":
                package("desktop_env", root / "desktop_env")
                package("desktop_env.evaluators", root / "desktop_env/evaluators")
                package("desktop_env.evaluators.metrics", root / "desktop_env/evaluators/metrics")
                module, _, name = function.partition(".")
                made = importlib.import_module(f"desktop_env.evaluators.metrics.{module}")
                value = getattr(made, name)(*args, **options)
            else:
                package("rewardkit", root / "rewardkit")
                package("rewardkit.criteria", root / "rewardkit/criteria")
                session = importlib.import_module("rewardkit.session")
                importlib.import_module(f"rewardkit.criteria.{function}")
                session.set_current(session.Session())
                session._factory_registry[function](*args, **options)
                value = session.current().criteria[-1][0](workspace)
            values.append(float(value))
        except ImportError:
            raise  # not run is not refused
        except Exception as error:
            values.append(f"{type(error).__name__}: {error}"[:200])
    found[peer] = values
print("\\n" + json.dumps(found))
'''


def by_peers(root: Path, twin: Twin, reference: Twin) -> dict[str, list[Any]]:
    """The values of each peer for a file."""
    with tempfile.TemporaryDirectory() as folder:
        workspace, other = Path(folder, "workspace"), Path(folder, "other")
        workspace.mkdir()
        other.mkdir()
        (other / reference.file).write_bytes(reference.data)
        (workspace / "reference.png").write_bytes(reference.data)
        if twin.link:
            (other / twin.link).write_bytes(reference.data)
            (workspace / twin.file).symlink_to(other / twin.link)
        else:
            (workspace / twin.file).write_bytes(twin.data)
        if twin.kind == "xlsx":
            (workspace / "saved.xlsx").write_bytes(by_libreoffice(twin.data))
        orders = calls(twin, str(workspace / twin.file), str(other / reference.file))
        return values_of(root, workspace, orders)


def values_of(root: Path, workspace: Path, orders: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The values of the peers' functions for a folder, in a process of their own; a text is an exception."""
    orders = {peer: runs for peer, runs in orders.items() if _marks(root)[peer].exists()}
    command = [sys.executable, "-c", CHILD, str(root), str(workspace), json.dumps(orders)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"a peer could not be run: {done.stderr[-500:]}")
    found: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def accepts(values: list[Any]) -> bool:
    """Whether a peer accepts a file: all of its calls do."""
    return all(isinstance(value, float) and value >= PASSES for value in values)


def _marks(root: Path) -> dict[str, Path]:
    """A file of each peer."""
    return {
        "SpreadsheetBench": root / "evaluation.py",
        RECALCULATED: root / "evaluation.py",
        "OSWorld": root / "desktop_env/evaluators",
        "rewardkit": root / "rewardkit/session.py",
    }


def by_verikit(twin: Twin, reference: Twin) -> verikit.Score:
    """The score of verikit's verifier of this kind."""
    with tempfile.TemporaryDirectory() as folder:
        place, expected = Path(folder, "after", twin.file), Path(folder, reference.file)
        place.parent.mkdir()
        expected.write_bytes(reference.data)
        if twin.link:
            place.symlink_to(expected)
        else:
            place.write_bytes(twin.data)
        workspace = Workspace(str(place.parent), dict(twin.before))
        sample = Sample("", "", json.dumps(OBJECT), id=twin.name, workspace=workspace)
        return VERIFIERS[twin.kind](str(expected)).score([sample])[0]


@dataclass
class Verdict:
    """One grader's verdict on one file."""

    twin: Twin
    grader: str
    accepted: bool | None
    """None: it gives no value."""
    told: str


def verdicts(root: Path, kind: str | None = None) -> Iterator[Verdict]:
    """All verdicts, or those on one kind of file."""
    made = list(twins(kind))
    for twin in made:
        reference = next(one for one in made if one.kind == twin.kind)
        score = by_verikit(twin, reference)
        accepted = None if score.value is None else score.value >= PASSES
        yield Verdict(twin, "verikit", accepted, f"{score.value} {score.reason}")
        for peer, values in by_peers(root, twin, reference).items():
            yield Verdict(twin, peer, accepts(values), "; ".join(map(str, values)))


def table(found: list[Verdict]) -> Iterator[str]:
    """A row for each kind: of right, wrong and forged files those accepted."""
    graders = [one for one in ("verikit", *PEERS) if any(verdict.grader == one for verdict in found)]
    yield f"| kind | {' | '.join(graders)} |"
    yield "|---" * (len(graders) + 1) + "|"
    for kind in dict.fromkeys(one.twin.kind for one in found):
        cells = [_cell([one for one in found if one.twin.kind == kind and one.grader == grader]) for grader in graders]
        yield f"| {kind} | {' | '.join(cells)} |"


def _cell(found: list[Verdict]) -> str:
    parts = []
    for truth in ("right", "wrong", "forged"):
        those = [one for one in found if one.twin.truth == truth]
        unscored = sum(one.accepted is None for one in those)
        told = f" ({unscored} no value)" if unscored else ""
        parts.append(f"{sum(bool(one.accepted) for one in those)}/{len(those)}{told}" if those else "–")
    return ", ".join(parts) if found else "–"


def main() -> None:
    """Print the table, and each verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", type=Path)
    parser.add_argument("--all", action="store_true", help="print each verdict")
    parser.add_argument("--kind", choices=sorted(VERIFIERS), help="only this kind of file")
    given = parser.parse_args()
    found = []
    for verdict in verdicts(given.peers, given.kind):
        found.append(verdict)
        if given.all:
            twin = verdict.twin
            named = f"{twin.kind:7} {twin.truth:6} {twin.name:50}"
            print(f"{named} {verdict.grader:16} {verdict.accepted!s:6} {verdict.told[:90]}")
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
