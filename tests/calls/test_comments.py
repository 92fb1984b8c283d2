"""Comments of each language between the tokens of calls change nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.calls import text_calls

PYTHON = [
    "[",
    "f",
    "(",
    "a",
    "=",
    "'it\\'s #1'",
    ",",
    "b",
    "=",
    '"# )"',
    ")",
    ",",
    "g",
    "(",
    "c",
    "=",
    "[",
    "1",
    ",",
    "-2",
    "]",
    ")",
    "]",
]
SOURCE = ["[", "f", "(", "a", "=", '"// )"', ",", "b", "=", "'/* x'", ")", ",", "g", "(", "c", "=", "true", ")", "]"]
WORDS = st.text(alphabet="ab1 ')]\"(,=#/\\`", max_size=8)


def commented(tokens, comments):
    return "".join(token + comment for token, comment in zip(tokens, comments, strict=True))


@given(st.data())
@pytest.mark.parametrize("tokens", [PYTHON, PYTHON[1:-1], PYTHON[1:11]])
def test_comments_of_python_are_skipped_wherever_a_token_ends(tokens, data):
    drawn = data.draw(st.lists(st.none() | WORDS, min_size=len(tokens), max_size=len(tokens)))
    last = "" if tokens is PYTHON else "\n"
    text = commented(tokens, ["" if words is None else f" #{words}\n" for words in drawn]) + last
    if tokens is not PYTHON and any(words is not None for words in drawn):
        text = f"[{text}]"  # without brackets Python allows no line breaks
    assert text_calls(text) == text_calls("".join(tokens)) != []


@given(st.data())
@pytest.mark.parametrize("language", ["java", "javascript"])
def test_comments_of_java_and_javascript_are_skipped_wherever_a_token_ends(language, data):
    forms = st.none() | WORDS.map("//{}\n".format) | WORDS.map(lambda words: f"/*{words.replace('/', '')}*/")
    drawn = data.draw(st.lists(forms, min_size=len(SOURCE), max_size=len(SOURCE)))
    text = commented(SOURCE, [comment or "" for comment in drawn])
    assert text_calls(text, language) == text_calls("".join(SOURCE), language) != []


@pytest.mark.parametrize(
    "text",
    [
        "[f(a=1), # one\n g(b=2) # two\n]",
        "```python\n[\n  f(a=1),  # first\n  g(b=2)  # it's the last\n]\n```",
        "[f(a=1), g(b=2)] # both",
        "# both\n[f(a=1), g(b=2)]",
        "f(a=1), g(b=2) # both",
        "[f(a=1), g(b=2) # no bracket follows]",
    ],
)
def test_a_comment_before_or_behind_the_calls_is_skipped(text):
    assert [(call.name, dict(call.arguments)) for call in text_calls(text)] == [("f", {"a": 1}), ("g", {"b": 2})]


@pytest.mark.parametrize("text", ["# f(a=1)", "f(a=1 # )", "Use #f (a=1)", "f(a=1) is right # f(a=1)"])
def test_a_comment_alone_or_prose_is_no_call(text):
    assert text_calls(text) == []


def test_a_number_sign_in_a_string_of_several_lines_is_no_comment():
    (call,) = text_calls("[f(a='''one # two\nthree''')]")
    assert call.arguments == {"a": "one # two\nthree"}
