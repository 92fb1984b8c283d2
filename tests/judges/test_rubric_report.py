import json
import sys

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.report.criteria import CriteriaSeen
from verikit.report.kinds import collect
from verikit.report.model import Options

JUDGE = '''
import re
from tests.judges.test_rubric import lines, shown
from tests.judges.scripted import Scripted
from verikit.judges.rubric import Rubric

def rule(request):
    """Errs on zinc where the answer is long, and wavers on lead."""
    answer = shown(request, "answer")
    said = {"iron": "iron" in answer, "zinc": "zinc" in answer or len(answer) > 20, "lead": request.seed == 1}
    return lines(request, lambda word: "met" if said[word] else "not met")

RUBRIC = ["names iron", "names zinc", "names lead"]
judge = Rubric(Scripted(rule), rubric=RUBRIC, labels="humans", asks=3)
'''


@pytest.fixture
def run(tmp_path):
    (tmp_path / "judge.py").write_text(JUDGE)
    rows = [
        {"id": "a", "prompt": "p", "completions": ["iron", "zinc"], "answer": "", "humans": [True, False, False]},
        {"id": "b", "prompt": "q", "completions": ["iron " * 9], "answer": "", "humans": [True, False, None]},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["score", str(tmp_path / "in.jsonl"), "-v", f"{tmp_path / 'judge.py'}:judge", "-q", "--k", "1"]
    result = CliRunner().invoke(cli, [*arguments, "-o", str(tmp_path / "out")], standalone_mode=False)
    assert result.exception is None, result.output
    yield tmp_path / "out"
    for name in [name for name in sys.modules if name.startswith("verikit_file_judge")]:
        del sys.modules[name]


def test_the_report_tells_agreement_with_people_and_noise_by_criterion(run):
    page = collect(run, Options())
    agreement = next(metric for metric in page.metrics if metric.label == "Agreement with labels")
    # a, "iron": all three as labelled; a, "zinc": iron and zinc against the labels; b: zinc against its label.
    assert agreement.value == pytest.approx(5 / 8)
    tables = {table.title: {row[0]: row for row in table.rows} for table in page.tables}
    against = tables["Criteria against labels"]
    assert [against[name][1] for name in ("all criteria", "names_iron", "names_zinc", "names_lead")] == [8, 3, 3, 2]
    assert against["names_zinc"][2].value == pytest.approx(1 / 3)
    assert list(against)[:2] == ["all criteria", "names_zinc"]
    noise = tables["Noise of criteria"]
    assert noise["names_lead"][3].value == pytest.approx(2 / 3)
    assert noise["names_iron"][3].value == 0.0
    assert list(noise)[:2] == ["all criteria", "names_lead"]
    # What people said is no verifier of its own.
    assert set(tables["Verifiers"]) == {"names_iron", "names_zinc", "names_lead"}


def test_criteria_of_each_rows_own_do_not_fill_the_page():
    judged = CriteriaSeen()
    for number in range(2000):
        part = {"value": 1.0, "parts": {"label": {"value": 1.0}}}
        judged.add({"value": 1.0, "parts": {f"criterion {number}": part}})
    (table,) = judged.tables()
    assert len(table.rows) == 501
    assert next(judged.metrics()).note.startswith("2,000 verdicts")


def test_agreement_is_told_by_the_evidence_that_was_shown():
    judged = CriteriaSeen()
    part = {"value": 1.0, "parts": {"label": {"value": 1.0}}}
    wrong = {"value": 1.0, "parts": {"label": {"value": 0.0}}}
    judged.add({"reason": "1 of 1 criteria; shown 4 of 4 entries", "parts": {"c": part}})
    judged.add({"reason": "1 of 1 criteria; shown 4 of 9 entries with workspace ab12", "parts": {"c": wrong}})
    judged.add({"reason": "the answer says: shown 4 of 4 entries, all", "parts": {"c": wrong}})
    table = next(table for table in judged.tables() if table.title == "Criteria by evidence")
    assert {row[0]: (row[1], row[2].value) for row in table.rows} == {
        "all entries": (1, 1.0), "some of the entries": (1, 0.0), "no entries": (1, 0.0),
    }  # fmt: skip
