"""LibreOffice in its box: right values, pages, no network, no file of the machine, and nothing that outlives it."""

import signal
import socket
import subprocess
import sys

import pytest

from tests.artifacts import decks
from tests.artifacts.books import cells, parts_changed, sales
from tests.artifacts.offices import HEAD, document, need_office, typed
from tests.processes import below, runs
from tests.waiting import until
from verikit.artifacts import apart
from verikit.artifacts.box import observe
from verikit.artifacts.office import cells as office_cells
from verikit.artifacts.office import convert
from verikit.artifacts.office.cells import recalculated
from verikit.artifacts.office.pages import as_pdf
from verikit.errors import AgentFault, SandboxError, WorkspaceError
from verikit.verifiers.pdf.pages import PAGE_READER, lines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LibreOffice's box needs Linux")
DRAWING = (
    '<w:p><w:r><w:drawing><wp:inline xmlns:wp="{head}drawingml/2006/wordprocessingDrawing"><wp:extent cx="900000" '
    'cy="900000"/><wp:docPr id="1" name="p"/><a:graphic xmlns:a="{head}drawingml/2006/main"><a:graphicData '
    'uri="{head}drawingml/2006/picture"><pic:pic xmlns:pic="{head}drawingml/2006/picture"><pic:nvPicPr><pic:cNvPr '
    'id="1" name="p"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:link="r9"/><a:stretch><a:fillRect/>'
    '</a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="900000" cy="900000"/></a:xfrm>'
    '<a:prstGeom prst="rect"/></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>'
)


def text_of(data, kind):
    """The visible text of the first page, and how many pages there are."""
    pytest.importorskip("pypdfium2")
    seen = observe(PAGE_READER, [as_pdf(data, kind)], {"page": 1, "at_most": 256})
    return lines([seen["page"]]), seen["pages"]


def values(case=None, **formulas):
    model = {
        "values": {"S1!A1": 2.0, "S1!A2": 3.0, "S2!A1": "_x0041_ & {cell}\r", "S2!A2": None, "S2!A3": True},
        "formulas": {f"S1!{name}": formula for name, formula in formulas.items()},
        "errors": {"S1!A3": "#N/A"},
    }
    [run] = recalculated(model, list(model["formulas"]), [case or {}])
    return {key.partition("!")[2]: told for key, told in run.items()}


@pytest.mark.slow(seconds=4)
def test_a_model_of_cells_is_computed_as_spreadsheets_do():
    need_office()
    found = values(
        B1="=S1!A1*S1!A2", B2="=SUM(S1!A1:A2*S1!A1:A2)", B3="=S2!A1", B4="=LEN(S2!A1)", B5="=S2!A2+1", B6="=S1!A3",
        B7='=IFS(S1!A1=2,"S1!A1")', B8="=XLOOKUP(1,S1!A1:A2,S1!A1:A2)", B9="=SQRT(-1)", C1='=TRIM("  a  b ")',
        C2='=VALUE("1,200")', C3="=SUMIFS(S1!A1:A2,S1!A1:A2,2)", C4="=1/0", C5="=C5+1", C6="=SUM(S1!B1)+S3!A1",
    )  # fmt: skip
    given = {name: found[name].get("value", found[name].get("error")) for name in found}
    assert given == {
        "B1": 6.0, "B2": 13.0, "B3": "_x0041_ & {cell}\r", "B4": 17.0, "B5": 1.0, "B6": "#N/A", "B7": "S1!A1",
        "B8": None, "B9": None, "C1": "a b", "C2": 1200.0, "C3": 2.0, "C4": "#DIV/0!", "C5": None, "C6": None,
    }  # fmt: skip
    assert values({"S1!A1": 5.0, "S1!A2": None, "S1!B9": 7.0}, B1="=S1!A1*S1!A2+1", B9="=1") == {
        "B1": {"value": 1.0}, "B9": {"value": 7.0},
    }  # fmt: skip


@pytest.mark.slow(seconds=4)
def test_documents_slides_and_workbooks_become_pages():
    need_office()
    hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r></w:p>"
    assert text_of(document("Total 42", body=hidden), "docx") == ("Total 42", 1)
    pages = [decks.slide(decks.holder("title", decks.para(f"Slide {number}"))) for number in (1, 2)]
    assert text_of(typed(decks.deck(*pages)), "pptx") == ("Slide 1", 2)
    forged = parts_changed(
        sales(cells(D6="=SUM(B2:B4)")), lambda name, content: content.replace(b"<v />", b"<v>99</v>")
        .replace(b"<v/>", b"<v>99</v>")
    )  # fmt: skip
    text, _ = text_of(forged, "xlsx")
    assert "16" in text
    assert "99" not in text


@pytest.mark.slow(seconds=4)
def test_links_reach_neither_the_network_nor_files_of_the_machine(tmp_path):
    need_office()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        port = listener.getsockname()[1]
        (tmp_path / "canary.txt").write_text("canary")
        kind = f"{HEAD}officeDocument/2006/relationships/image"
        target = f'<Relationship Id="r9" Type="{kind}" Target="http://127.0.0.1:{port}/p.png" TargetMode="External"/>'
        include = (
            f'<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>INCLUDETEXT "{tmp_path}/canary.txt"'
            '</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>'
        )
        data = document("Total 42", body=DRAWING.replace("{head}", HEAD) + include, targets=target)
        text, _ = text_of(data, "docx")
        assert "Total 42" in text
        assert "canary" not in text
        book = sales(cells(D6=f'=WEBSERVICE("http://127.0.0.1:{port}/")', D7="='file:///etc/[passwd]x'!A1"))
        assert "root" not in text_of(book, "xlsx")[0]
        linked = sales(cells(D6=f'=DDE("soffice","{tmp_path}/canary.txt","A1")'))
        assert "canary" not in text_of(linked, "xlsx")[0]
        with pytest.raises(BlockingIOError):
            listener.accept()


PARENT = """
import os, sys
from verikit.artifacts.apart import ApplicationBox, python_paths
sleeper = "import os; os.setsid(); os.fork(); os.write(4, b'x'); os.read(3, 1)"
box = ApplicationBox([sys.executable, "-I", "-S", "-c", sleeper], python_paths(), {"memory": 1 << 30, "disk": 1 << 20,
                                                                                  "cpu": 20})
print(box._process.pid if os.read(box.answers, 1) and os.read(box.answers, 1) else "none: " + box.told(), flush=True)
sys.stdin.read()
"""


def test_all_processes_of_a_box_end_with_the_process_that_started_it():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        told = parent.stdout.readline().strip()
        if told.startswith("none: "):
            pytest.skip(f"no box for an application here: {told}")
        started = below(int(told))
        assert len(started) >= 4
        parent.send_signal(signal.SIGKILL)
        until(lambda: not any(map(runs, started)), "the end of all that was started")
    finally:
        parent.kill()
        parent.communicate()


def test_a_file_that_is_no_document_of_its_kind_never_reaches_the_office(monkeypatch):
    monkeypatch.setattr("verikit.artifacts.office.pages.converted", None)
    for data in (b"PK", document().replace(b"word/document.xml", b"word/documents.xm")):
        with pytest.raises(AgentFault):
            as_pdf(data, "docx")


def test_without_the_office_its_command_is_told(monkeypatch):
    monkeypatch.setattr(convert, "program", lambda: "")
    assert values(B1="=1")["B1"] == {"unknown": "not installed: apt-get install libreoffice-calc-nogui"}
    with pytest.raises(WorkspaceError) as error:
        as_pdf(document("x"), "docx")
    assert error.value.hint == "apt-get install libreoffice-writer-nogui"


@pytest.mark.parametrize("answer", [
    b"[]", b'{"S1!B1": 4}', b'{"S1!B1": ["n", "nan"]}', b'{"S1!B1": ["n", "x"]}', b'{"S1!B1": ["d", "1"]}',
    b'{"S1!B1": ["str", 7]}', b"[" * 100_000, b"{", b"\xff", None, b'{"S1!B1": ["str", "%s"]}' % (b"x" * 400_000),
    b'{"S1!B1": ["e", "#VALUE!"]}',
])  # fmt: skip
def test_an_answer_of_a_hijacked_office_is_no_value(monkeypatch, answer):
    monkeypatch.setattr(office_cells, "missing", lambda kind: "")
    monkeypatch.setattr(office_cells, "converted", lambda *given: [answer])
    assert set(values(B1="=1")["B1"]) == {"unknown"}


@pytest.mark.parametrize("script", [
    "pass", "os.write(4, b'{}')", "os.write(4, b'{\"sizes\": [9]}\\n12345678')", "os.write(4, b'{\"sizes\": []}\\n')",
    "os.write(4, b'{\"sizes\": [-1]}\\n')", "os.write(4, b'{\"sizes\": [true]}\\n1')", "os.kill(1, 9)",
])  # fmt: skip
def test_an_office_that_ends_or_lies_gives_no_result(monkeypatch, script):
    monkeypatch.setattr(convert, "missing", lambda kind: "")
    monkeypatch.setattr(convert, "_command", lambda: [sys.executable, "-I", "-S", "-c", f"import os; {script}"])
    monkeypatch.setattr(convert, "_readable", apart.python_paths)
    with pytest.raises((WorkspaceError, SandboxError)):
        convert.converted([b"x" * 100_000], "xlsx", "xlsx")


def test_an_office_over_its_limits_is_ended(monkeypatch):
    monkeypatch.setattr(convert, "missing", lambda kind: "")
    monkeypatch.setattr(convert, "_readable", apart.python_paths)
    monkeypatch.setattr(convert, "_MOST_ANSWER", 1 << 16)
    endless = "import os\nwhile True: os.write(4, bytes(1 << 16))"
    monkeypatch.setattr(convert, "_command", lambda: [sys.executable, "-I", "-S", "-c", endless])
    with pytest.raises((WorkspaceError, SandboxError), match=r"more than|no box"):
        convert.converted([b"x"], "xlsx", "xlsx")
    monkeypatch.setattr(convert, "_LOOK_S", 0.0)
    monkeypatch.setattr(convert, "CPU_S", -1)
    still = "import os; os.read(3, 1); os.read(3, 1 << 20); os.read(3, 1)"
    monkeypatch.setattr(convert, "_command", lambda: [sys.executable, "-I", "-S", "-c", still])
    with pytest.raises((WorkspaceError, SandboxError), match=r"CPU time|no box"):
        convert.converted([b"x"], "xlsx", "xlsx")
