"""Files and pages that cost far more than their size: the limit that they meet is a 0.0 with its name."""

import struct
import zlib

import pytest

import verikit
from tests.artifacts.pages import need_browser
from verikit.artifacts.browser.box import MEMORY_MB
from verikit.artifacts.browser.pipe import BrowserPipe
from verikit.workspaces import Workspace

TEXT = "Total 42"
PAGE = f"<!doctype html><p>{TEXT}</p>"


def graded(spec, files):
    return verikit.load(spec)("", workspace=Workspace(files))


def pdf(*objects):
    out, places = b"%PDF-1.4\n", []
    for number, told in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, told.encode())
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
    return out + head + table + tail


CATALOG, TREE = "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
DRAWING = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>"


def drawn(text, form=""):
    return f"<< /Length {len(text)} {form} >>\nstream\n{text}\nendstream"


def forms(depth):
    """A page that draws a form ten times, which draws another ten times, and so on."""
    box = "/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
    inner = [drawn("/F Do " * 10, f"{box} /Resources << /XObject << /F {6 + i} 0 R >> >>") for i in range(depth)]
    return pdf(CATALOG, TREE, DRAWING, drawn("/F Do " * 10), *inner, drawn("0 0 1 1 re f", box))


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


PAGES = {
    "a million pages": pdf(
        CATALOG, f"<< /Type /Pages /Kids [{'3 0 R ' * 10**6}] /Count {10**6} >>", "<< /Type /Page >>"
    ),
    "a million pages, claimed": pdf(CATALOG, f"<< /Type /Pages /Kids [3 0 R] /Count {10**6} >>", "<< /Type /Page >>"),
    "pages that contain themselves": pdf(CATALOG, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 10 >>"),
    "arrays in arrays": pdf(CATALOG, TREE, f"<< /Type /Page /Parent 2 0 R /A {'[' * 10**5}{']' * 10**5} >>"),
    "a page of a thousand kilometres": pdf(CATALOG, TREE, "<< /Type /Page /MediaBox [0 0 100000000 100000000] >>"),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_bomb_of_pages_is_worth_nothing(name):
    pytest.importorskip("pypdfium2")
    score = graded(f"pdf(text=['{TEXT}'], file='a.pdf')", {"a.pdf": PAGES[name]})
    assert (score.value, score.status) == (0.0, "ok")


@pytest.mark.slow(seconds=5)
def test_a_pdf_of_forms_in_forms_is_worth_nothing_by_the_limit_on_memory():
    pytest.importorskip("pypdfium2")
    score = graded(f"pdf(text=['{TEXT}'], file='a.pdf')", {"a.pdf": forms(11)})
    assert (score.value, score.reason) == (0.0, "reading the file takes more than 1,536 MiB of memory")


@pytest.mark.parametrize("name", ["a.png", "a.gif"])
def test_a_bomb_of_pixels_or_a_drawing_is_no_picture(name):
    pytest.importorskip("PIL")
    assert graded(f"image(file='{name}')", {name: png(60_000, 60_000)}).value == 0.0
    assert graded(f"image(file='{name}')", {name: uses(9).encode()}).value == 0.0


def test_a_file_that_only_begins_as_a_picture_has_the_same_reason_each_time():
    pytest.importorskip("PIL")
    score = graded("image(file='a.png')", {"a.png": b"\x89PNG\r\n\x1a\n?"})
    assert score.reason == "the file begins as a png picture and can't be read as one"


def uses(depth):
    """A drawing of ten times ten times ten … circles."""
    groups = "".join(f"<g id='a{i}'>" + f"<use href='#a{i - 1}'/>" * 10 + "</g>" for i in range(1, depth))
    head = "<svg xmlns='http://www.w3.org/2000/svg'><defs><g id='a0'><circle r='1'/></g>"
    return f"{head}{groups}</defs><use href='#a{depth - 1}'/></svg>"


BOMBS = {
    "used by a page": {"index.html": f"{PAGE}<img src='a.svg'>", "a.svg": uses(9)},
    "in a page": {"index.html": PAGE + uses(9)},
    "as a background": {"index.html": f"{PAGE}<style>body{{background:url(a.svg)}}</style>", "a.svg": uses(9)},
}


@pytest.mark.slow(seconds=35)
@pytest.mark.parametrize("name", BOMBS)
def test_a_drawing_of_billions_of_elements_is_worth_nothing(name):
    need_browser()
    score = graded(f"html(visible=['{TEXT}'], file='index.html')", BOMBS[name])
    assert (score.value, score.status) == (0.0, "ok")
    assert "memory" in score.reason or "CPU time" in score.reason or "does not finish" in score.reason


def test_elements_in_elements_are_worth_nothing_and_a_drawing_of_a_thousand_is_fine():
    need_browser()
    deep = {"index.html": PAGE + "<div>" * 100_000}
    assert graded(f"html(visible=['{TEXT}'], file='index.html')", deep).value == 0.0
    honest = {"index.html": f"{PAGE}<img src='a.svg'>", "a.svg": uses(4)}
    assert graded(f"html(visible=['{TEXT}'], file='index.html')", honest).value == 1.0


class Measured:
    """A box whose largest process grows."""

    def __init__(self, sizes):
        self.sizes = iter(sizes)

    def resident_mb(self):
        return 0

    def largest_mb(self):
        return next(self.sizes)


@pytest.mark.parametrize(("sizes", "full"), [([100, MEMORY_MB, 50], True), ([100, MEMORY_MB // 2, 50], False)])
def test_a_browser_whose_process_came_close_to_its_memory_limit_is_remembered(sizes, full):
    pipe = BrowserPipe(Measured(sizes))
    for _ in sizes:
        pipe._looked = 0.0
        pipe._look()
    assert pipe.was_full is full
