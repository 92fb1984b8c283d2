"""A number format shows a number, or is caught showing something else."""

import pytest

from verikit.verifiers.xlsx.number_formats import lies, shown

SHOWN = [
    (0.125, "0.0%", "12.5%", "12,5%"),
    (1234.5, "#,##0.00", "1,234.50", "1.234,50"),
    (-3, "0;(0)", "(3)", "(3)"),
    (-5.25, "0.0", "-5.3", "-5,3"),
    (7, "00000", "00007", "00007"),
    (12_345_678, '0.0,,"M"', "12.3M", "12,3M"),
    (0.00123, "0.00E+00", "1.23E-03", "1,23E-03"),
    (0.1, "General", "0.1", "0,1"),
    (422, '0" EUR"', "422 EUR", "422 EUR"),
    (5.256, "$#,##0.00_);($#,##0.00)", "$5.26 ", "$5,26 "),
    (150, '[>100]"big" 0;0', "big 150", "big 150"),
    (45322, "yyyy-mm-dd", "2024-01-31", "2024-01-31"),
    (45322.5, "d/m/yy h:mm AM/PM", "31/1/24 12:00 PM", "31/1/24 12:00 PM"),
    (45322.25, "hh:mm:ss", "06:00:00", "06:00:00"),
    (45322, "dddd, d mmmm yyyy", "Wednesday, 31 January 2024", "Wednesday, 31 January 2024"),
    (5, ";;;", "", ""),
]


@pytest.mark.parametrize(("value", "code", "en", "de"), SHOWN, ids=str)
def test_a_cell_shows_the_text_of_its_format_in_two_locales(value, code, en, de):
    assert (shown(float(value), code, locale="en"), shown(float(value), code, locale="de")) == (en, de)


@pytest.mark.parametrize("code", ["# ?/?", "000-0000", "[h]:mm"])
def test_a_format_that_is_not_read_shows_nothing_that_could_be_compared(code):
    assert shown(5551234.0, code) is None


def test_1904_counts_days_from_another_start():
    assert shown(43860.0, "yyyy-mm-dd", epoch_1904=True) == "2024-01-31"


@pytest.mark.parametrize("code", [";;;", '"422"', '"4"0', "\\4\\2\\2", '0;"-1"'])
def test_a_format_that_hides_a_number_or_prints_another_is_caught(code):
    assert lies(-1.0 if code.startswith("0;") else 0.0, code)


@pytest.mark.parametrize(
    "code", ["General", "0", "#,##0.00", "0.0%", '0" EUR"', "yyyy-mm-dd", "[Red]0;[Blue]-0", "@", "0E+00"]
)
def test_an_honest_format_is_not_caught(code):
    assert lies(5.0, code) == lies(-5.0, code) == ""
