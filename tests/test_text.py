import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile_texts import HOSTILE
from verikit.replies.text import NORMALIZERS, accepted, boxes, extract, r1_searcher, squad, tagged, token_f1

EXTRACTS = ["whole", "boxed", "answer_tag", "last_line"]
wordy = st.lists(st.sampled_from(["the", "a", "Paris", "paris,", "yes", "no", "noanswer", "12", "-", "‘x’"])).map(
    " ".join
)
texts = st.text() | wordy
mathy = st.lists(st.sampled_from([*r"\{}[]$ ab1", r"\boxed{", r"\boxed ", r"\{", "\\\\", "<answer>", "</answer>"])).map(
    "".join
)


@given(texts, st.sampled_from(list(NORMALIZERS)))
def test_normalising_twice_changes_nothing_more(text, name):
    once = NORMALIZERS[name](text)
    assert NORMALIZERS[name](once) == once


@pytest.mark.parametrize(
    ("text", "as_squad", "as_r1"),
    [
        ("The Eiffel-Tower!", "eiffeltower", "eiffel tower"),
        ("a_b", "ab", "b"),
        ("U.S.A.", "usa", "u s"),
        ("“Titan”", "“titan”", "“titan”"),
        ("O’Brien", "o’brien", "o brien"),
        (" True ", "true", "yes"),
        ("False", "false", "no"),
        ("it is True", "it is true", "it is true"),
        ("theatre another an", "theatre another", "theatre another"),
        ("", "", ""),
        ("the", "", ""),
    ],
)
def test_the_named_normalisers_differ_as_their_scripts_do(text, as_squad, as_r1):
    assert squad(text) == as_squad
    assert r1_searcher(text) == as_r1


@given(texts, texts, st.sampled_from(list(NORMALIZERS)))
def test_f1_is_symmetric_bounded_and_one_for_equal_texts(a, b, name):
    value = token_f1(a, b, name)
    assert 0.0 <= value <= 1.0
    assert value == token_f1(b, a, name)
    assert token_f1(a, a, name) == 1.0


def test_f1_counts_words_as_often_as_they_occur():
    assert token_f1("x x x", "x", "squad") == pytest.approx(0.5)
    assert token_f1("x x", "x x y y", "squad") == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert token_f1("", "x", "squad") == 0.0


def test_yes_and_no_share_no_words_with_a_sentence_where_the_script_says_so():
    assert token_f1("yes it is", "yes", "squad") == pytest.approx(0.5)
    assert token_f1("yes it is", "yes", "hotpotqa") == 0.0
    assert token_f1("yes", "yes it is", "r1-searcher") == 0.0
    assert token_f1("True", "yes", "r1-searcher") == 1.0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"\boxed{5}", ["5"]),
        (r"\boxed {5}", ["5"]),
        ("\\boxed\n{5}", ["5"]),
        (r"\fbox{a} and \framebox{b}", ["a", "b"]),
        (r"\boxed{\frac{1}{2}}", [r"\frac{1}{2}"]),
        (r"\boxed{\{1, 2\}}", [r"\{1, 2\}"]),
        (r"\boxed{a \} b}", [r"a \} b"]),
        (r"\boxed{x \\}", [r"x \\"]),
        (r"\boxed{\boxed{5}}", [r"\boxed{5}"]),
        (r"\boxed{1}\boxed{2}", ["1", "2"]),
        (r"\boxed{}", [""]),
        (r"\boxed{5", []),
        (r"\boxed{1} then \boxed{2", ["1"]),
        (r"\boxed{1 then \boxed{2}", ["2"]),
        (r"} } \boxed{3}", ["3"]),
        (r"{ { \boxed{3}", ["3"]),
        (r"\boxed 42.", ["42"]),
        (r"$\boxed 42$ is it", ["42"]),
        (r"\boxed \frac{1}{2}$", [r"\frac{1}{2}"]),
        (r"\boxedx{5} boxed{6}", []),
        ("\\boxed\nthe rest", []),
        ("", []),
        ("\\boxed", []),
        ("\\boxed ", []),
    ],
)
def test_boxes_are_read_as_tex_nests_them(text, found):
    assert boxes(text) == found


@given(mathy)
def test_boxes_of_any_text_are_pieces_of_it_that_balance(text):
    for content in boxes(text):
        assert content in text
        bare = re.search(r"\\boxed[ \t]+" + re.escape(content), text)
        depth, position = 0, 0
        while position < len(content):
            if content[position] == "\\":
                position += 1
            elif content[position] in "{}":
                depth += 1 if content[position] == "{" else -1
            position += 1
            assert depth >= 0 or bare
        assert depth == 0 or bare


@given(st.text(alphabet="ab{}", max_size=20), mathy)
def test_a_closed_box_at_the_end_is_found_whatever_stands_before(inner, before):
    balanced = "{" * inner.count("{") + inner.replace("{", "").replace("}", "") + "}" * inner.count("{")
    text = before.replace("\\", "").replace("boxed", "") + f"\\boxed{{{balanced}}}"
    assert boxes(text) == [balanced]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("<answer> 5 </answer>", "5"),
        ("<answer>1</answer><answer>2</answer>", "2"),
        ("<answer>1</answer> and </answer>", "1"),
        ("<answer>1</answer> <answer>2", "1"),
        ("<answer><answer>1</answer></answer>", "1"),
        ("</answer><answer>", None),
        ("<answer>", None),
        ("", None),
        ("<answer></answer>", ""),
        ("<Answer>1</Answer>", None),
    ],
)
def test_the_last_closed_tag_is_read_up_to_its_first_close(text, content):
    assert tagged(text, "answer") == content


@given(texts | mathy, st.sampled_from(EXTRACTS))
def test_what_is_extracted_is_a_stripped_piece_of_the_text(text, how):
    found = extract(text, how)
    assert found is None or (found in text and found == found.strip())


def test_the_last_line_is_the_last_that_holds_something():
    assert extract("a\n b \n\n", "last_line") == "b"
    assert extract(" \n ", "last_line") is None
    assert extract("one", "last_line") == "one"


def test_accepted_answers_are_a_list():
    assert accepted(None) == accepted([]) == []
    assert accepted("ab") == ["ab"]
    assert accepted(("a", "b")) == ["a", "b"]


WORK = {
    **{f"normalise {name}": normalize for name, normalize in NORMALIZERS.items()},
    **{f"extract {how}": lambda text, how=how: extract(text, how) for how in EXTRACTS},
    "f1": lambda text: token_f1(text, text[::2], "squad"),
    "boxes": boxes,
}


@pytest.mark.parametrize("work", WORK)
def test_a_megabyte_of_hostile_text_costs_linear_work(work, linear):
    for hostile in HOSTILE:
        linear(WORK[work], hostile)
