"""Documents whose rendered pages must show the expected strings. Each starts LibreOffice, a second of CPU time."""

import pytest

import verikit
from tests.artifacts.books import left
from tests.artifacts.decks import box, deck, slide
from tests.artifacts.offices import document, need_office, typed
from tests.verifiers.test_docx import SENTENCE, p, r
from tests.verifiers.test_pptx import TO_WHITE
from verikit.artifacts.office import convert
from verikit.types import Score
from verikit.verifiers.pdf import office
from verikit.verifiers.pdf.office import rendered_part
from verikit.verifiers.pptx import verifier as pptx_verifier

NARROW = p(r(SENTENCE, '<w:w w:val="1"/>'))
LOW = '<w:trPr><w:trHeight w:val="10" w:hRule="exact"/></w:trPr>'
ROW = f"<w:tbl><w:tr>{LOW}<w:tc><w:p/>{p(r(SENTENCE))}</w:tc></w:tr></w:tbl>"


def graded(body, **options):
    return verikit.docx(text=[SENTENCE], **options).score([left(document(body=body), "report_docx")])[0]


@pytest.fixture
def _office():
    need_office()
    pytest.importorskip("pypdfium2")


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("_office")
@pytest.mark.parametrize(("body", "value"), [(p(r(SENTENCE, "<w:caps/>")), 1.0), (NARROW, 0.0), (ROW, 0.0)])
def test_text_that_the_rendered_page_does_not_show_is_refused(body, value):
    assert graded(body).value == 1.0
    score = graded(body, rendered=True)
    assert score.value == value, score
    assert "LibreOffice" in score.reason


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("_office")
def test_paragraphs_across_pages_letters_apart_and_other_scripts_are_found():
    across = " ".join(f"word {number}" for number in range(3000))
    wide = p(r("Quarterly", '<w:spacing w:val="60"/><w:sz w:val="40"/>')) + p(r("Maß", "<w:caps/>"))
    blob = document(body=wide + p(r(across)) + p(r("Да \U0001f600")))
    assert rendered_part(blob, "docx", ["Quarterly", "Maß", across, "Да \U0001f600"]).value == 1.0
    assert rendered_part(blob, "docx", ["Quarterly", "absent"]).value == 0.0


def test_a_latin_letter_of_unknown_shape_leaves_the_document_without_a_value(monkeypatch):
    pytest.importorskip("pypdfium2")
    piece = {"text": "Го 42", "doubts": [0, 1, 3], "glued": False, "flows": False}
    monkeypatch.setattr(office, "observe", lambda *given: {"pages": [{"pieces": [piece]}]})
    monkeypatch.setattr(office, "as_pdf", lambda *given: b"")
    assert rendered_part(b"", "docx", ["Го"]).value == 1.0
    assert rendered_part(b"", "docx", ["Го 42"]).value is None
    assert rendered_part(b"", "docx", ["Го 42", "43"]).value == 0.0


@pytest.mark.usefixtures("_office")
def test_doubtful_letters_of_a_rendered_slide_have_the_undecided_value(monkeypatch):
    monkeypatch.setattr(pptx_verifier, "rendered_part", lambda *given: Score.error("shape"))
    sample = left(typed(deck(slide(box(SENTENCE)))), "deck_pptx")
    assert verikit.pptx(text=[SENTENCE], rendered=True).score([sample])[0].value is None
    assert verikit.pptx(text=[SENTENCE], rendered=True, undecided=0.0).score([sample])[0].value == 0.0


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("_office")
def test_a_rendered_slide_decides_text_that_is_otherwise_undecided():
    sample = left(typed(deck(slide(box(SENTENCE, fill=TO_WHITE)))), "deck_pptx")
    assert verikit.pptx(text=[SENTENCE]).score([sample])[0].value is None
    score = verikit.pptx(text=[SENTENCE], rendered=True).score([sample])[0]
    assert score.value == 1.0, score
    assert "LibreOffice" in score.reason


def test_without_libreoffice_the_parsed_document_decides_and_the_reason_has_a_note(monkeypatch):
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr(convert, "program", lambda: "")
    score = graded(p(r(SENTENCE)), rendered=True)
    assert score.value == 1.0, score
    assert "not rendered" in score.reason
