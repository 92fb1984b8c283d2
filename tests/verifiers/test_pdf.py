"""PDFs: the page as it is rendered counts, not the text that the file has for it."""

import random
import zlib
from dataclasses import replace

import pytest

import verikit
from tests.artifacts.books import left
from tests.artifacts.pdfs import form, pdf, shown, stream
from verikit.errors import UsageError

pytest.importorskip("pypdfium2")
pytest.importorskip("numpy")

FONTS = ("Helvetica", "Times-Roman", "Courier-Bold")
SENTENCE = "Costs fell by 422 in May."


def graded(data, **options):
    return verikit.pdf(**options).score([left(data, "report_pdf")])[0]


IN_SIGHT = {
    "plain": lambda text: shown(text),
    "in pieces": lambda text: "".join(shown(part + " ", 72 + 90 * n) for n, part in enumerate(text.split())),
    "on two lines": lambda text: shown(text[:10]) + shown(text[10:].strip(), y=706),
    "white on dark": lambda text: "0.1 g 50 700 400 40 re f 1 g " + shown(text),
    "over a picture": lambda text: ".9 .8 .1 rg 50 700 400 40 re f 0 g " + shown(text),
    "drawn twice": lambda text: shown(text) + shown(text),
    "turned": lambda text: shown(text).replace("72 720 Td", "0 1 -1 0 200 200 Tm"),
    "outlined": lambda text: shown(text, before="2 Tr 0.3 w"),
}  # fmt: skip
OUT_OF_SIGHT = {
    "render mode 3": lambda text: shown(text, before="3 Tr"),
    "white on white": lambda text: "1 g " + shown(text),
    "nearly white": lambda text: ".97 g " + shown(text),
    "covered": lambda text: shown(text) + "1 1 .9 rg 50 700 400 40 re f",
    "off the page": lambda text: shown(text, x=700),
    "above the page": lambda text: shown(text, y=900),
    "clipped": lambda text: "0 0 10 10 re W n " + shown(text),
    "one point": lambda text: shown(text, size=1),
    "another number": lambda text: shown(text.replace("422", "400")),
    "under another number": lambda text: shown(text.replace("422", "400")) + shown(text, before="3 Tr"),
    "a part covered": lambda text: shown(text) + "1 g 72 700 90 40 re f",
    "cut by another line": lambda text: shown(text[:10]) + shown("not at all", y=706) + shown(text[10:], y=692),
    "apart": lambda text: shown(text[:10]) + shown(text[10:].strip(), y=300),
}  # fmt: skip


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("content", IN_SIGHT.values(), ids=IN_SIGHT)
def test_a_text_in_sight_counts(content, font):
    score = graded(pdf(content(SENTENCE), font=font), text=[SENTENCE])
    assert score.value == 1.0, score.reason
    assert font != FONTS[0] or graded(pdf(content(SENTENCE), font=font), absent=[SENTENCE]).value == 0.0


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("content", OUT_OF_SIGHT.values(), ids=OUT_OF_SIGHT)
def test_a_text_out_of_sight_does_not_count(content, font):
    score = graded(pdf(content(SENTENCE), font=font), text=[SENTENCE])
    assert score.value == 0.0, score.reason
    assert font != FONTS[0] or graded(pdf(content(SENTENCE), font=font), absent=[SENTENCE]).value == 1.0


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("seed", range(10))
def test_thirty_numbers_and_their_forged_twins(font, seed):
    draw = random.Random(seed)
    number, other = draw.sample(range(1000, 10_000), 2)
    x, y, size = draw.randint(30, 300), draw.randint(100, 700), draw.choice((8, 10, 12, 18))
    honest = shown(f"Total: {number} EUR", x, y, size)
    assert graded(pdf(honest, font=font), text=[f"Total: {number} EUR"]).value == 1.0
    assert graded(pdf(honest, font=font), text=[f"Total: {other} EUR"]).value == 0.0
    hide = draw.choice(list(OUT_OF_SIGHT.values())[:3])
    forged = shown(f"Total: {other} EUR", x, y, size) + hide(f"Total: {number} EUR")
    assert graded(pdf(forged, font=font), text=[f"Total: {number} EUR"]).value == 0.0


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize(("drawn", "told"), [("0", "4"), ("1", "7"), ("3", "8"), ("5", "6"), ("2", "9")])
def test_37_a_font_that_maps_glyphs_to_other_letters_is_read_as_it_is_drawn(font, drawn, told):
    lie = f"<{ord(drawn):02x}> <{ord(told):04x}> <{ord(told):02x}> <{ord(drawn):04x}>"
    data = pdf(shown(f"Total {drawn * 3}"), font=font, to_unicode=lie)
    assert graded(data, text=[f"Total {told * 3}"]).value == 0.0
    assert graded(data, text=[f"Total {drawn * 3}"]).value == 1.0
    same = f"<{ord(drawn):02x}> <{ord(drawn):04x}> <{ord(told):02x}> <{ord(told):04x}>"
    assert (
        graded(pdf(shown(f"Total {drawn * 3}"), font=font, to_unicode=same), text=[f"Total {drawn * 3}"]).value == 1.0
    )


def test_37_letters_that_no_reference_has_are_undecided():
    greek = pdf(shown("abc"), to_unicode="<61> <03b1> <62> <03b2>")
    assert graded(greek, text=["\u03b1\u03b2"]).value is None
    assert graded(greek, text=["\u03b1\u03b2"], undecided=0.0).value == 0.0
    assert graded(greek, text=["\u03b1x"]).value == 0.0


@pytest.mark.parametrize("kind", [3, 42], ids=["Type 3", "TrueType"])
@pytest.mark.parametrize("family", ["DejaVu Sans", "DejaVu Serif", "STIXGeneral", "cmr10"])
def test_37_an_embedded_subset_of_a_font_is_honest(family, kind):
    data = plotted(SENTENCE, family, kind)
    assert graded(data, text=[SENTENCE]).value == 1.0
    assert graded(data, text=[SENTENCE.replace("422", "420")]).value == 0.0


def plotted(text, family, kind):
    import io

    matplotlib = pytest.importorskip("matplotlib")
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(8.27, 11.69))
    with matplotlib.rc_context({"pdf.fonttype": kind}):
        figure.text(0.1, 0.8, text, family=family, size=11, parse_math=False)
        out = io.BytesIO()
        figure.savefig(out, format="pdf")
    return out.getvalue()


def test_38_a_scanned_page_with_a_layer_of_text_counts_where_the_row_lets_it():
    grey = stream(bytes(range(0, 250, 10)) * 4, "/Type /XObject /Subtype /Image /Width 10 /Height 10 "
                  "/ColorSpace /DeviceGray /BitsPerComponent 8")  # fmt: skip
    scan = "q 400 0 0 60 50 700 cm /Im Do Q " + shown(SENTENCE, before="3 Tr")
    data = pdf(scan, objects=(grey,), page="").replace(b"/Font << /F1", b"/XObject << /Im 10 0 R >> /Font << /F1")
    assert graded(data, text=[SENTENCE], scan=True).value == 1.0
    assert graded(data, text=[SENTENCE]).value == 0.0
    assert graded(pdf(shown(SENTENCE, before="3 Tr")), text=[SENTENCE], scan=True).value == 0.0


PACKED = zlib.compress(b"7 0 << /S /JavaScript /JS (app.alert\\(1\\)) >>")
SCRIPTS = {
    "an opening action": {"catalog": "/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"},
    "with escapes": {"catalog": "/OpenAction << /S /J#61vaScrip#74 /JS (x) >>"},
    "a launch action": {"page": "/AA << /O << /S /Launch /F (calc.exe) >> >>"},
    "packed": {"objects": (stream(PACKED, "/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode"),)},
    "packed in a way nobody unpacks": {"objects": (stream(b"xyz", "/Type /ObjStm /Filter [/ASCIIHexDecode]"),)},
}


@pytest.mark.parametrize("options", SCRIPTS.values(), ids=SCRIPTS)
def test_38_scripts_are_told_and_refused_unless_the_row_lets_them(options):
    data = pdf(shown(SENTENCE), **options)
    assert graded(data, text=[SENTENCE]).value == 0.0
    assert graded(data, text=[SENTENCE], script=True).value == 1.0


def test_38_a_fields_value_counts_where_it_is_drawn():
    assert graded(form("Ada", "Ada"), form={"name": "Ada"}).value == 1.0
    assert graded(form("Ada", "Bob"), form={"name": "Ada"}).value == 0.0
    assert graded(form("Ada", ""), form={"name": "Ada"}).value == 0.0
    assert graded(form("Bob", "Ada"), form={"name": "Ada"}).value == 0.0
    assert graded(form("Ada", "Ada"), form={"age": "7"}).value == 0.0
    cross = "2 w 2 2 m 18 18 l S 2 18 m 18 2 l S"
    assert graded(form("Ada", "Ada", True, cross), form={"agree": True}).value == 1.0
    assert graded(form("Ada", "Ada", True, ""), form={"agree": True}).value == 0.0
    assert graded(form("Ada", "Ada", False), form={"agree": False}).value == 1.0


def test_pages_and_sizes():
    two = pdf("", "", media="0 0 595.28 841.89")
    assert graded(two, pages=2, size="A4").value == 1.0
    assert graded(two, pages=[1, 3]).value == 1.0
    assert graded(two, pages=1).value == 0.0
    assert graded(two, size="letter").value == 0.0
    assert graded(two, size="A4 landscape").value == 0.0
    assert graded(pdf("", page="/Rotate 90"), size="A4 landscape").value == 1.0
    assert graded(pdf("", media="0 0 300 200"), size=[300, 200]).value == 1.0


def test_a_table_is_lines_with_wide_gaps():
    rows = [("Item", "Sum"), ("green tea", "4"), ("milk", "12")]
    content = "".join(
        shown(item, y=700 - 14 * n) + shown(cell, 200, 700 - 14 * n) for n, (item, cell) in enumerate(rows)
    )
    assert graded(pdf(content), table=[rows]).value == 1.0
    assert graded(pdf(content), table=[rows[1:]]).value == 1.0
    assert graded(pdf(content), table=[[*rows[:2], ("milk", "13")]]).value == 0.0
    assert graded(pdf(content), table=[[rows[0], rows[2]]]).value == 0.0
    assert graded(pdf(shown("Item Sum") + shown("milk 12", y=706)), table=[[rows[0], rows[2]]]).value == 0.0


def test_columns_are_read_one_after_the_other_and_words_cut_by_hyphens_are_joined():
    columns = (
        shown("the first col-") + shown("umn ends", y=706) + shown("and the next", 320) + shown("begins", 320, 706)
    )
    assert graded(pdf(columns), text=["the first column ends and the next begins"]).value == 1.0
    assert graded(pdf(columns), text=["the first col- and the next"]).value == 0.0


def test_any_verifier_of_texts_reads_what_is_in_sight():
    data = pdf(shown("The answer is 7.") + shown("The answer is 8.", y=500, before="3 Tr"))
    sample = left(data, "report_pdf")
    for answer, value in (("7", 1.0), ("8", 0.0)):
        assert verikit.pdf(text="numeric").score([replace(sample, answer=answer)])[0].value == value


@pytest.mark.parametrize("data", [
    b"{\\rtf1 Costs}", b"%PDF-1.7\n" + b"x" * 200, pdf(*[""] * 201), b"\x89PNG" + pdf(shown(SENTENCE)),
], ids=["another format", "no objects", "201 pages", "another beginning"])  # fmt: skip
def test_a_file_that_is_no_pdf_is_the_agents_fault(data):
    score = graded(data, text=[SENTENCE])
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_14_a_stream_that_grows_without_end_is_never_paid():
    grows = stream(zlib.compress(bytes(300 << 20), 9), "/Filter /FlateDecode")
    bomb = pdf(shown("x"), objects=(grows,)).replace(b"/Contents 11 0 R", b"/Contents 10 0 R")
    assert not graded(bomb, text=[SENTENCE]).value


def test_options_that_make_no_sense_are_refused():
    for options in ({"absent": "x"}, {"size": "A9"}, {"pages": [1]}, {"text": "no_such_verifier"}):
        with pytest.raises((UsageError, verikit.errors.SpecError)):
            verikit.pdf(**options)
    assert graded(pdf(shown("x"))).value is None
