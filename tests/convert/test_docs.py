"""The commands that docs/data.md shows are run on rows in the published forms."""

import gzip
import json
import re
import shlex

import pytest
from click.testing import CliRunner

from tests.artifacts.books import sales
from tests.conftest import ROOT
from tests.convert.forms import ROWS
from tests.convert.test_forms import BINARIZED, PLAIN
from tests.convert.test_run import write_parquet, zstd
from verikit.cli import cli
from verikit.convert import FORMS

PAGE = (ROOT / "docs" / "data.md").read_text("utf-8")
COMMANDS = re.findall(r"^\|[^|]*\| `(verikit data [^`]*)` \|", PAGE, re.MULTILINE)
OTHERS = {
    "ultrafeedback": BINARIZED,
    "ultrafeedback-pairs": PLAIN,
    "qa-passages": ROWS["hotpotqa"][0],
    "dpr": {"id": "1", "text": "Aaron is a prophet.", "title": "Aaron"},
    "kilt": {"wikipedia_id": "1", "wikipedia_title": "Aaron", "text": ["Aaron\n", "He is a prophet.\n"]},
    "documents": {"text": "A page.", "url": "http://example.org/"},
    "healthbench": {
        "prompt": [{"role": "user", "content": "Hello"}],
        "rubrics": [{"criterion": "Greets.", "points": 1, "tags": []}],
        "prompt_id": "p",
    },
    "spreadsheetbench": {"id": 1, "instruction": "Sum.", "spreadsheet_path": "spreadsheet/1", "answer_position": "B2"},
    "osworld": {
        "id": "t",
        "instruction": "Sum.",
        "evaluator": {
            "func": "file_contains",
            "result": {"type": "vm_file", "path": "/home/user/sum.txt"},
            "expected": {"type": "rule", "rules": {"expected": ["7"]}},
        },
    },
    "gdpval": {"task_id": "t", "prompt": "Sum.", "rubric_json": '[{"criterion": "Has a total.", "score": 2}]'},
}


def test_every_form_has_a_command_in_the_table():
    assert [shlex.split(command)[2] for command in COMMANDS] == list(FORMS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[2])
def test_a_command_of_the_page_does_what_it_says(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    form, *given = shlex.split(command)[2:]
    if form == "spreadsheetbench":
        pytest.importorskip("openpyxl")
        (tmp_path / "spreadsheet/1").mkdir(parents=True)
        (tmp_path / "spreadsheet/1/1_1_answer.xlsx").write_bytes(sales())
    for name in given[: given.index("-o")]:
        path = tmp_path / name.replace("*", "00000-of-00001")
        path.parent.mkdir(parents=True, exist_ok=True)
        row = OTHERS.get(form) or next(row[0] for key, row in ROWS.items() if key.partition(" ")[0] == form)
        line = json.dumps(row).encode()
        if name.endswith(".tsv.gz"):
            path.write_bytes(gzip.compress("\n".join("\t".join(cells) for cells in (row, row.values())).encode()))
        elif name.endswith(".parquet"):
            write_parquet(path, [{key: value for key, value in row.items() if value is not None}])
        else:
            path.write_bytes(zstd(line) if name.endswith(".zst") else b"[%b]" % line if name == "train.json" else line)
    done = CliRunner().invoke(cli, shlex.split(command)[1:], standalone_mode=False)
    assert done.exception is None, done.exception
    assert (tmp_path / "out.jsonl").read_text("utf-8").strip()
