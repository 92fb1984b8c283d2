"""`verikit env audit --html`: findings, gaps and evidence on one page, on which nothing of a folder acts."""

import re
from html.parser import HTMLParser

from click.testing import CliRunner

from tests.env.audit.harbor_tasks import put
from tests.env.audit.running_tasks import make
from verikit.cli import cli
from verikit.env.audit import AuditSums, CheckRecord, EnvFinding, TaskRecord
from verikit.env.audit.page import MAX_ROWS, AuditPage
from verikit.env.audit.records import EnvEvidence

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=y>\u202e\x1b[2J</td></table>&amp;"
TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "table", "tr", "th", "td"}


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


def page_of(tmp_path, *records, folder="tasks"):
    page, sums = AuditPage(), AuditSums()
    for record in records:
        page.add(record)
        sums.add(record)
    page.write(tmp_path / "page.html", folder, sums)
    return (tmp_path / "page.html").read_text()


def test_hostile_names_and_texts_are_only_text(tmp_path):
    finding = EnvFinding("exit", HOSTILE, HOSTILE)
    run = EnvEvidence(HOSTILE, HOSTILE, HOSTILE, 0.25, HOSTILE)
    checks = {
        "mode": CheckRecord("fail", (finding,), evidence=(run,)),
        "oracle": CheckRecord("not_run", needs=HOSTILE),
    }
    text = page_of(tmp_path, TaskRecord(HOSTILE, "0", "harbor", checks), folder=HOSTILE)
    tags = Tags(text)
    assert tags.seen <= TAGS
    assert tags.attributes == {"lang", "charset", "http-equiv", "content"}
    assert not re.search("[\u202e\x1b]", text)
    assert text.count("&lt;script&gt;") >= 10
    assert "default-src 'none'" in text


def test_the_page_has_findings_gaps_and_evidence(tmp_path):
    put(make(tmp_path / "tasks" / "a"), "tests/test.sh", "nosuchprogram /app\n")
    out = tmp_path / "page.html"
    told = ["env", "audit", str(tmp_path / "tasks"), "--run", "--html", str(out), "-q"]
    assert CliRunner().invoke(cli, told, standalone_mode=False).exception is None
    assert "the program nosuchprogram" in out.read_text()
    run = EnvEvidence("nop", "bash /tests/test.sh", "1", 0.25, "abc123")
    paid = CheckRecord("fail", (EnvFinding("paid", "it pays"),), notes=("a note",), evidence=(run,))
    text = page_of(tmp_path, TaskRecord("t", "0", "harbor", {"nop": paid}))
    for cell in ("paid", "it pays", "a note", "bash /tests/test.sh", "0.25", "abc123"):
        assert f"<td>{cell}</td>" in text


def test_a_long_page_is_cut_and_has_the_number_of_the_rest(tmp_path):
    record = CheckRecord("fail", tuple(EnvFinding("exit", f"fault {n}") for n in range(MAX_ROWS + 7)))
    text = page_of(tmp_path, TaskRecord("t", "0", "harbor", {"mode": record}))
    assert "The JSON report has 7 further rows." in text
    assert f"fault {MAX_ROWS}<" not in text
