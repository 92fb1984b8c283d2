"""Text of a page counts where its ink is in sight, in the order in which it is drawn. No browser is needed here."""

import pytest

from tests.artifacts.pages import observed, piece
from verikit.artifacts.browser import sight


def runs(*pieces, ink=9):
    """The runs of a page, with so much ink in each box."""
    found = sight.letters(sight.SHAPE(observed(*pieces)))
    counts = [ink] * len(sight.ink_boxes(found)) if isinstance(ink, int) else ink
    sight.with_ink(found, bytes(counts))
    sight.uncover(found)
    return found


def test_runs_of_a_block_are_one_line_and_blocks_are_lines_of_their_own():
    page = runs(piece("The total "), piece("is 42.", left=80), piece("Next", top=40, block=2))
    assert sight.lines(page) == ["The total is 42.", "Next"]
    assert sight.holds(page, "total is  42")
    assert not sight.holds(page, "42. Next")


def test_blocks_beside_each_other_are_read_as_one_line():
    page = runs(piece("Total"), piece("42", left=90, block=2))
    assert sight.lines(page) == ["Total 42"]
    assert sight.lines(runs(piece("2", left=90), piece("4", left=0, block=2))) == ["2", "4"]


def test_a_clear_gap_between_two_elements_may_be_read_as_a_space():
    page = runs(piece("Go"), piece("42", left=26))
    assert sight.lines(page) == ["Go42"]
    assert sight.holds(page, "42")
    assert sight.holds(page, "Go42")
    assert not sight.holds(runs(piece("1"), piece("42", left=12)), "42")
    assert not sight.holds(runs(piece("7"), piece("5", left=18)), "7")
    assert sight.holds(runs(piece("7"), piece("5", left=18)), "75")
    spaced = piece("142") | {"rects": [0, 0, 8, 16, 16, 0, 24, 16, 32, 0, 40, 16]}
    assert not sight.holds(runs(spaced), "42")


@pytest.mark.parametrize("hidden", [{"opacity": 0.1}, {"out": True}, {"wide": 0}, {"high": 2}])
def test_what_styles_hide_is_not_in_sight(hidden):
    assert sight.lines(runs(piece("Total 42", **hidden))) == []


def test_a_letter_without_ink_is_not_in_sight_and_its_neighbours_are():
    page = runs(piece("Total 42"), ink=[9, 9, 9, 9, 9, 0, 9])
    assert sight.lines(page) == [f"Total {sight.HIDDEN}2"]
    assert not sight.holds(page, "42")
    assert not sight.holds(runs(piece("Total 42"), ink=0), "Total")


def test_a_full_stop_needs_less_ink_than_a_letter():
    assert sight.lines(runs(piece("a."), ink=[2, 1])) == ["a."]
    assert sight.lines(runs(piece("ab"), ink=[2, 1])) == [f"a{sight.HIDDEN}"]


def test_letters_drawn_in_another_order_than_they_are_written_are_not_in_sight():
    turned = piece("42") | {"rects": [8, 0, 16, 16, 0, 0, 8, 16]}
    assert sight.lines(runs(turned)) == []
    assert not sight.holds(runs(piece("4", left=60), piece("2", left=20)), "42")


def test_letters_of_a_second_column_are_in_sight():
    columns = piece("ab") | {"rects": [0, 300, 8, 316, 400, 0, 408, 16]}
    assert sight.holds(runs(columns), "ab")


def test_of_texts_over_each_other_only_the_topmost_is_in_sight():
    page = runs(piece("42", ranks=[3, 3]), piece("17", block=2))
    assert sight.holds(page, "17")
    assert not sight.holds(page, "42")


def test_of_texts_over_each_other_none_is_in_sight_where_nobody_can_tell_which_is_above():
    assert sight.lines(runs(piece("42"), piece("17", block=2))) == []
    assert sight.lines(runs(piece("42", ranks=[-1, -1]), piece("17", block=2, ranks=[-1, -1]))) == []


def test_a_field_whose_value_another_text_covers_is_not_in_sight():
    field = piece("42", ranks=[1], field=True) | {"rects": [0, 0, 90, 20]}
    assert sight.holds(runs(field), "42")
    assert not sight.holds(runs(field, piece("17", left=4, top=2, block=2)), "42")
    label = piece("Number", left=4, top=-12, block=2)
    assert sight.holds(runs(field, label), "42")


@pytest.mark.parametrize("line", ["Total 422", "Total 142", "Total 42.5", "Total 1,42", "Total x42"])
def test_a_part_of_a_longer_word_or_number_is_not_found(line):
    assert not sight.holds(runs(piece(line)), "42")


@pytest.mark.parametrize("line", ["Total 42", "42.", "(42)", "42, then", "$42", "42%"])
def test_a_word_or_number_is_found_beside_marks(line):
    assert sight.holds(runs(piece(line)), "42")


def test_the_text_of_an_element_is_what_lies_in_it():
    page = runs(piece("Total ", owners=[0]), piece("42", left=48, owners=[0, 1]), piece("x", top=40, block=2))
    assert sight.lines(page, 0) == ["Total 42"]
    assert sight.lines(page, 1) == ["42"]


@pytest.mark.parametrize(
    "broken",
    [
        {"pieces": [piece("a") | {"rects": [float("nan")] * 4}]},
        {"pieces": [piece("a") | {"text": 4}]},
        {"pieces": [piece("a") | {"verdict": 1.0}]},
        {"pieces": "all is well"},
        {"height": 1.5},
        {"elements": [{"count": 1, "items": [{}]}]},
    ],
)
def test_an_observation_of_another_shape_is_refused(broken):
    with pytest.raises(ValueError, match="observation"):
        sight.SHAPE(observed(**broken))


def test_an_observation_with_too_few_boxes_shows_nothing():
    assert sight.lines(runs(piece("Total 42") | {"rects": [0, 0, 8, 16]})) == []
