"""Calls in Java's and JavaScript's syntax: read as they are written, never what is no code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.calls import ToolCall, python_calls, source_calls, text_calls
from verikit.calls.expressions import pieces, well_formed


def arguments(text):
    (call,) = source_calls(text)
    assert not call.problem, call
    return call.arguments


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[f(n=3, x=new ArrayList<>(Arrays.asList('a')))]", {"n": "3", "x": "new ArrayList<>(Arrays.asList('a'))"}),
        ("f(a=true, b=null, c=5L, d=-1.5f)", {"a": "true", "b": "null", "c": "5L", "d": "-1.5f"}),
        ("f(m=new HashMap<String, Object>() {{ put(\"a\", 1); put(\"b\", 2); }}, z=1)",
         {"m": 'new HashMap<String, Object>() {{ put("a", 1); put("b", 2); }}', "z": "1"}),
        ("f(o={a: 1, 'b': [1, 2]}, g=(x, y) => x < y, h=/[,)]/g)",
         {"o": "{a: 1, 'b': [1, 2]}", "g": "(x, y) => x < y", "h": "/[,)]/g"}),
        ("f(a=\"x, y=2)\", b='it\\'s', c=`t\n`)", {"a": "x, y=2)", "b": "it's", "c": "t\n"}),
        ("f(a=1 /* , b=2 */, c=\"// no comment\") // end", {"a": "1", "c": "// no comment"}),
        ("f(\n  a = 1,\n  b = 2,\n)", {"a": "1", "b": "2"}),
        ("[f(a=1);]", {"a": "1"}),
        ("f()", {}),
        ("f(a=x.y(1, 2)[0].z)", {"a": "x.y(1, 2)[0].z"}),
    ],
)  # fmt: skip
def test_arguments_are_source_and_a_lone_string_its_text(text, wanted):
    assert arguments(text) == wanted


def test_several_calls_are_read_in_order_with_dotted_names():
    assert source_calls("[a.b.C.d(x=1), e(), ]") == [
        ToolCall("a.b.C.d", {"x": "1"}, written=True),
        ToolCall("e", {}, written=True),
    ]


@pytest.mark.parametrize(
    "text", ["f(a=John Smith)", "f(a=/usr/x)", "f(a=5%)", "f(a=1,, b=2)", "f(a=)", "f(a=1, a=2)", "f(1)", "f(a=1, b)"]
)  # fmt: skip
def test_an_argument_that_is_no_code_or_has_no_name_is_a_problem(text):
    (call,) = source_calls(text)
    assert call.problem
    assert not call.arguments


@pytest.mark.parametrize(
    "text", ["", "No call fits.", "f(a=(1)", "f(a='x)", "f(a=1]", "f(a=1) is right", "f(a=1)true", "I call it (so)"]
)  # fmt: skip
def test_what_does_not_end_or_is_prose_is_no_call(text):
    assert source_calls(text) == []


@given(st.dictionaries(st.sampled_from("a b unit x_1".split()), st.text(max_size=20), max_size=3))
def test_python_strings_are_the_texts_that_python_reads(given_texts):
    text = f"[f({', '.join(f'{key}={value!r}' for key, value in given_texts.items())})]"
    assert arguments(text) == given_texts
    assert [call.arguments for call in python_calls(text)] == [given_texts]


@given(st.text(alphabet="fab(){}[]<>=,;:'\"`/*\\ \n1.+-new", max_size=60))
def test_any_text_is_read_without_an_exception(text):
    for call in source_calls(f"f({text})"):
        assert call.name
    pieces(text)
    well_formed(text)


@pytest.mark.parametrize(
    "expression", ["a.b(c) + 1", "new Foo(1)", "(long) 5", "a ? b : c", "x => { return 1 }", "'a' + b"]
)
def test_an_expression_is_well_formed(expression):
    assert well_formed(expression)


@pytest.mark.parametrize("expression", ["a b", "a:b", "@x", "*", "hello!", "3rd", "'a' 'b'", "a,b", ""])
def test_words_that_no_operator_joins_are_no_expression(expression):
    assert not well_formed(expression)


def test_calls_over_several_lines_are_calls_in_python_too():
    assert len(text_calls("[\n  f(a=1),\n  g(b=2),\n]")) == 2
    assert [call.arguments for call in text_calls("[\n  f(a=true)\n]", "java")] == [{"a": "true"}]


def test_a_fence_may_name_the_language():
    assert text_calls("```java\nf(a=5L)\n```", "java")[0].arguments == {"a": "5L"}
    assert text_calls("```javascript\nf(a={b: 1})\n```", "javascript")[0].arguments == {"a": "{b: 1}"}
