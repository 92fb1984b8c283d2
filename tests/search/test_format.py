import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile_texts import HOSTILE
from verikit.retrieval import Passage
from verikit.search import TAGS, Escape, answer_of, evidence, query_of, read_trace

PARTS = [*TAGS, *(tag[:-1] for tag in TAGS), "\n", "\r\n", "\u2028", "(2)", "<", ">", "|", "<|im_end|>", "</s>", "x "]
HOSTILE_TEXT = st.lists(st.sampled_from(PARTS)).map("".join) | st.text()


@given(st.lists(st.builds(Passage, HOSTILE_TEXT, HOSTILE_TEXT), max_size=4))
def test_no_passage_speaks_outside_its_line(passages):
    block = evidence(passages)
    opening, closing = "\n\n<|begin_of_documents|>\n", "\n<|end_of_documents|>\n\n"
    assert block.startswith(opening)
    assert block.endswith(closing)
    inner = block[len(opening) : -len(closing)]
    assert not any(tag in inner for tag in TAGS)
    assert not re.search(r"<\|[a-z_]+\|>", inner)
    lines = inner.splitlines()
    assert len(lines) == max(1, len(passages))
    assert all(line.startswith(f"({number})") for number, line in enumerate(lines, 1)) or inner == "None"


def test_harmless_text_is_shown_as_it_is():
    text = "a < b > c | d, 1 <2>, [INST] <b>bold</b>  two spaces"
    assert evidence([Passage("", text)]) == f"\n\n<|begin_of_documents|>\n(1){text}\n<|end_of_documents|>\n\n"


def test_a_tokenizers_own_special_tokens_are_escaped_by_name():
    assert Escape(["[SEP]", "<pad>"])("a [SEP] <pad> </think>") == "a &#91;SEP] &lt;pad> &lt;/think>"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("<|begin_of_query|> a b <|end_of_query|>", "a b"),
        ("x<|begin_of_query|>\"a\" 'b'<|end_of_query|>\n", "a 'b'"),
        ("<|begin_of_query|>old<|begin_of_query|>new<|end_of_query|>", "new"),
        ("<|begin_of_query|> <|end_of_query|>", ""),
        ("a<|end_of_query|>", ""),
        ("", ""),
    ],
)
def test_the_query_is_what_stands_in_the_last_open_tag(text, query):
    assert query_of(text) == query


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer> a </answer>", "a"),
        ("<answer></answer>", ""),
        ("<answer>a</answer><answer>b</answer>", None),
        ("</answer>a<answer>", None),
        ("a", None),
    ],
)
def test_one_pair_of_answer_tags_holds_the_answer(text, answer):
    assert answer_of(text) == answer


@given(HOSTILE_TEXT)
def test_a_stored_text_is_read_without_loss(text):
    assert read_trace(text).text == text


@pytest.mark.parametrize("hostile", [*HOSTILE, *TAGS, "<|", "<|a", "|>", "<|a|"])
def test_escaping_is_linear(linear, hostile):
    linear(lambda text: evidence([Passage("", text)]), hostile)
