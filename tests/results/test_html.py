"""What a notebook shows of a run: whole, quiet HTML in which nothing of a model's runs."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

import verikit
from tests.results.conftest import ROWS
from verikit import Score, Verifier
from verikit.report.model import Chart, Metric, Run, Series, Table
from verikit.results.html import ROWS as MOST_ROWS
from verikit.results.html import cell, headline, render

HOSTILE = "<script>alert(1)</script>\x1b[2J <img src=x onerror=alert(1)> $x$ </table>"
VOID = {"img", "br", "hr", "input"}


class Checked(HTMLParser):
    """Fails on an element that is not closed in its turn; keeps tags and attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def assert_harmless(text):
    checked = Checked(text)
    assert not {"script", "style", "iframe", "img", "link", "object"} & set(checked.tags)
    assert not [name for name in checked.attributes if name.startswith("on") or name in ("src", "href")]
    assert "\x1b" not in text
    assert text.startswith('<div class="tex2jax_ignore mathjax_ignore">')
    return checked


def test_a_run_shows_tables_with_intervals_and_a_picture():
    text = verikit.score(ROWS, k=[1, 2, 4])._repr_html_()
    checked = assert_harmless(text)
    assert checked.tags.count("table") >= 2
    assert re.search(r"33\.3 % \[\d+\.\d, \d+\.\d\]", text)
    for label in ("pass@k", "maj@k", "Mean of one candidate"):
        assert label in text
    [first, *_] = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert ET.fromstring(first).find("{http://www.w3.org/2000/svg}title").text == "Over k candidates"


class Rude(Verifier):
    """Says what a hostile model might have it say."""

    name = HOSTILE

    def score_batch(self, samples):
        return [Score.error(HOSTILE) for _ in samples]


def test_what_models_and_verifiers_write_is_shown_as_text():
    rows = [dict(row, prompt=HOSTILE, id=HOSTILE + row["id"]) for row in ROWS]
    text = verikit.score(rows, Rude())._repr_html_()
    assert_harmless(text)
    assert "&lt;script&gt;" in text


def test_hostile_names_of_everything_in_a_page_stay_text():
    table = Table(HOSTILE, (HOSTILE, "n"), [(HOSTILE, 3)], HOSTILE)
    chart = Chart(HOSTILE, HOSTILE, HOSTILE, HOSTILE, [Series(HOSTILE, [(1, 0.5, 0.1, 0.9), (2, 0.6, 0.2, 0.9)])])
    run = Run(HOSTILE, HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], notices=[HOSTILE] * 9, metrics=[Metric(HOSTILE, 0.5)])
    assert_harmless(render(run, [table], [chart], [HOSTILE]))


def test_a_long_table_is_cut_and_says_how_much_is_left():
    text = render(Run("a", "score", "a"), [Table("t", ("x",), [(i,) for i in range(MOST_ROWS + 5)])], [])
    assert text.count("<tr>") == MOST_ROWS + 1
    assert "5 more rows" in text


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Metric("", 0.625, 0.41, 0.801), "62.5 % [41.0, 80.1]"),
        (Metric("", 1012.0, 990.0, 1040.0, percent=False), "1012 [990, 1040]"),
        (Metric("", 0.5), "50.0 %"),
        (Metric("", None), "-"),
        (1234567, "1,234,567"),
        (0.123456, "0.1235"),
        (None, ""),
        ("a<b", "a&lt;b"),
    ],
)
def test_a_cell_tells_its_number_with_its_interval(value, told):
    assert cell(value) == told


def test_headline_numbers_have_a_column_for_notes_only_where_there_are_any():
    assert len(headline([Metric("a", 0.5)]).columns) == 2
    assert len(headline([Metric("a", 0.5), Metric("b", 0.5, note="of 3")]).rows[0]) == 3
