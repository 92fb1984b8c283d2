"""Fonts that a page brings: letters drawn as other letters are not in sight, honest ones are."""

import base64
import struct
from itertools import pairwise

import pytest

import verikit
from tests.artifacts.pages import left, need_browser
from verikit.artifacts.browser import fonts, session, sight

SEEN = "Total 422, fine: 5 - 3 = 2"
STYLE = "<meta charset=utf-8><style>@font-face{{font-family:F;src:url({})}}p{{font:17px F}}{}</style>"


def honest():
    """The font that Pillow brings, as TrueType."""
    from PIL import ImageFont

    return ImageFont.load_default(20).font_bytes


def swapped():
    """The same font, with the outlines of 2 and 0 exchanged."""
    font = bytearray(honest())
    tables = {}
    for at in range(12, 12 + 16 * struct.unpack_from(">H", font, 4)[0], 16):
        tables[bytes(font[at : at + 4])] = struct.unpack_from(">II", font, at + 8)
    outlines, places, codes = tables[b"glyf"][0], tables[b"loca"], tables[b"cmap"][0]
    for number in range(struct.unpack_from(">H", font, codes + 2)[0]):
        table = codes + struct.unpack_from(">I", font, codes + 8 + 8 * number)[0]
        if struct.unpack_from(">H", font, table)[0] == 0:  # a byte for each character
            first, second = font[table + 6 + ord("2")], font[table + 6 + ord("0")]
    offsets = [2 * place for place in struct.unpack_from(f">{places[1] // 2}H", font, places[0])]
    drawn = [bytes(font[outlines + start : outlines + end]) for start, end in pairwise(offsets)]
    drawn[first], drawn[second] = drawn[second], drawn[first]
    font[outlines : outlines + offsets[-1]] = b"".join(drawn)
    ends = [sum(map(len, drawn[:count])) // 2 for count in range(len(drawn) + 1)]
    struct.pack_into(f">{len(ends)}H", font, places[0], *ends)
    return bytes(font)


def address(font):
    return f"data:font/ttf;base64,{base64.b64encode(font).decode()}"


def graded(page, seen=SEEN):
    return verikit.html(visible=[seen]).score([left(page)])[0]


@pytest.fixture
def _opened(monkeypatch):
    need_browser()
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr(session, "PATIENCE_S", 2.0)


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("_opened")
def test_a_subset_of_an_honest_font_is_accepted_with_letters_that_it_lacks():
    score = graded(
        STYLE.format(address(honest()), "p{font-weight:700}") + f"<p>{SEEN} \u2192 \u0416</p>", f"{SEEN} \u2192 \u0416"
    )
    assert score.value == 1.0, score


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("_opened")
def test_a_long_page_has_one_sheet_of_texts_at_a_time(monkeypatch):
    draw, count, counts = session.Visit._draw, "() => document.documentElement.childElementCount", []

    def counted(self, samples, height):
        places = draw(self, samples, height)
        counts.append(self._run(count, [], self._world()))
        return places

    monkeypatch.setattr(session.Visit, "_draw", counted)
    monkeypatch.setattr(fonts, "_HEIGHT", 40)
    page = STYLE.format(address(honest()), "") + f"<p>{SEEN}</p><p>Fine</p><p>Total</p>"
    assert graded(page).value == 1.0
    assert counts == [3] * 6


@pytest.mark.slow(seconds=1)
@pytest.mark.usefixtures("_opened")
@pytest.mark.parametrize(
    "page",
    [
        STYLE.replace("p{{font:17px F}}", "p{{font:17px sans-serif}}p::first-line{{font-family:F}}") + f"<p>{SEEN}</p>",
        STYLE.replace("p{{", "input{{") + f"<img name=fonts><input size=40 value='{SEEN}'>",
    ],
)
def test_a_font_that_draws_other_digits_is_worth_nothing(page):
    score = graded(page.format(address(swapped()), ""))
    assert score.value == 0.0, score
    assert "draws '2' as '0'" in score.reason


def examined(text, verdicts, monkeypatch):
    """A run of text in one font, after a comparison of shapes with these results."""
    run = sight.Letters(text, [], 1, set(), seen=[True] * len(text), fonts=[0])
    places = [0.0, 0.0, 9.0, 20.0, 15.0, 16.0] * len(text)
    monkeypatch.setattr(fonts, "observe", lambda reader, blobs, request: {"verdicts": verdicts})
    told = fonts.examine([run], ["font-family:F"], lambda samples, height: [places], lambda clip: b"")
    return run, told


def test_a_letter_with_another_shape_is_out_of_sight_and_an_unclear_one_is_doubtful(monkeypatch):
    run, told = examined("47x", ["9", "", "?"], monkeypatch)
    assert run.seen == [False, True, True]
    assert run.doubts == {2}
    assert told == ["a font of the page draws '4' as '9'"]
    assert sight.without_doubts(run).seen == [False, True, False]


def test_icons_ligatures_and_thin_letters_may_have_unusual_shapes(monkeypatch):
    run, told = examined("\ue001fi l", ["8", "+", "+", "?", "i"], monkeypatch)
    assert (run.seen, run.doubts, told) == ([True] * 5, set(), [])
    run, _ = examined("42", ["+", "+"], monkeypatch)
    assert run.doubts == {0, 1}


def test_small_capitals_fractions_and_ornate_characters_are_accepted(monkeypatch):
    run, told = examined("tA1&@", ["T", "a", "\u00b9", "U", "?"], monkeypatch)
    assert (run.seen, run.doubts, told) == ([True] * 5, set(), [])
    run, told = examined("y1&", ["f", "\u00b2", "8"], monkeypatch)
    assert run.seen == [False] * 3


@pytest.mark.slow(seconds=1)
@pytest.mark.usefixtures("_opened")
def test_small_capitals_on_a_zoomed_page_are_accepted():
    page = STYLE.format(address(honest()), "html{zoom:1.5}p{font-variant:small-caps}") + f"<p>{SEEN}: {SEEN}</p>"
    score = graded(page, f"{SEEN}: {SEEN}")
    assert score.value == 1.0, score
