"""Calls of plain literals are read as the parser reads them, or left to it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from verikit.calls import ToolCall, plain, reading

names = st.sampled_from("f get_x a.b math.sqrt _ é class None print x1 f.class".split())
keys = st.sampled_from("a b unit x_1 class None True é self".split())
literals = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
pieces = st.sampled_from(
    "[ ] ( ) { } , = : ' \" ''' \\ f(a=1) , 1 -1 01 1.5 .5 1e5 True None x \n \t é # 'a' b= a=".split(" ")
)


def by_the_parser(text, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(plain, "read", lambda _: None)
        return reading.python_calls(text)


@st.composite
def written(draw):
    made = draw(st.lists(st.tuples(names, st.dictionaries(keys, literals, max_size=3)), min_size=1, max_size=3))
    space = draw(st.sampled_from(["", " ", "  ", "\n"]))
    shown = [
        f"{name}({(',' + space).join(f'{key}{space}={space}{value!r}' for key, value in given.items())})"
        for name, given in made
    ]
    return draw(st.sampled_from(["[{}]", "{}", "[ {} ]", "[{},]", "[{}", "[{}]]"])).replace("{}", ", ".join(shown), 1)


def same(ours, theirs):
    assert repr(ours) == repr(theirs)  # also tells 1 from True and 0.0 from -0.0


@settings(max_examples=examples(600), deadline=None)
@given(text=written())
@example(text="[f(a=1, a=2)]")
@example(text="[f(a='x' 'y')]")
@example(text="[f(a='''x''')]")
@example(text="[f(a=-0.0, b=007.5, c=-0)]")
@example(text="[f(a=[1, 2,], b={'x': 1, 'x': 2})]")
@example(text="[f(a=1)(b=2)]")
@example(text="[f(a=1).g(b=2)]")
@example(text="[f()]")
def test_written_calls_are_what_the_parser_says(text):
    with pytest.MonkeyPatch.context() as patch:
        same(reading.python_calls(text), by_the_parser(text, patch))


@settings(max_examples=examples(600), deadline=None)
@given(text=st.lists(pieces, max_size=14).map("".join))
def test_any_text_is_what_the_parser_says(text):
    with pytest.MonkeyPatch.context() as patch:
        same(reading.python_calls(f"f({text})"), by_the_parser(f"f({text})", patch))


def test_plain_calls_need_no_parser(monkeypatch):
    monkeypatch.setattr(reading, "parsed", lambda text: pytest.fail("parsed"))
    text = "[a.b(x=1, y=[1.5, 'é', {'k': [True, None]}]), f(), g(q=\"it's\", z={})]"
    assert reading.python_calls(text) == [
        ToolCall("a.b", {"x": 1, "y": [1.5, "é", {"k": [True, None]}]}, written=True),
        ToolCall("f", {}, written=True),
        ToolCall("g", {"q": "it's", "z": {}}, written=True),
    ]


@pytest.mark.parametrize(
    "text", ["f(a=" + "[" * 5000, "f(" + "a=1," * 5000, "f(a='" + "x" * 19_000, "a." * 9000 + "f("]
)
def test_a_hostile_text_is_given_up_in_linear_time(text):
    assert plain.read(f"[{text}") is None
