"""Literals that one pattern reads are read as expression by expression."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from verikit.calls import expressions, reading, source, source_calls, text_calls
from verikit.verifiers.tools import alternatives, literals
from verikit.verifiers.tools.alternatives import loose

NEVER = re.compile(r"(?!)")
PATTERNS = (
    (source, "_PLAIN"), (expressions, "_ATOMS"), (literals, "_ATOM_ENTRIES"), (literals, "_DECIMAL"),
)  # fmt: skip
space = st.sampled_from(["", " ", "  ", "\n"])
atoms = st.sampled_from(
    "1 -1 01 1.5 -0.0 1. .5 1e5 5L 2.5f 3n 0x1f 1_0 true false null undefined x a.b $y é 'a' \"b\" 'it\"s' \"it's\" '' "
    "'a,b' \"a: b]\" '\\'' `t` f(1) /r,/ a+b 'a''b' ... ? new".split(" ")
)
keys = st.sampled_from("a $b 'k' \"k, m\" 1 é [k] ...x a.b '\\'' '' get".split(" "))


@st.composite
def array(draw, inner):
    gap = draw(space)
    items = draw(st.lists(inner, max_size=3))
    return f"[{gap}{f'{gap},{gap}'.join(items)}{draw(st.sampled_from(['', gap, ',', ',,']))}]"


@st.composite
def mapping(draw, inner):
    gap = draw(space)
    entries = [f"{key}{gap}:{gap}{value}" for key, value in draw(st.lists(st.tuples(keys, inner), max_size=3))]
    return f"{{{gap}{f'{gap},{gap}'.join(entries)}{draw(st.sampled_from(['', gap, ',']))}}}"


values = st.recursive(atoms, lambda inner: array(inner) | mapping(inner), max_leaves=6)
kinds = st.sampled_from("integer float Bigint Boolean String array dict any".split())


def one_by_one(work):
    with pytest.MonkeyPatch.context() as patch:
        for module, name in PATTERNS:
            patch.setattr(module, name, NEVER)
        return work()


@settings(max_examples=examples(600), deadline=None)
@given(first=values, second=values, mark=st.sampled_from([",", ", ", ",\n", "", ";", ")"]))
@example(first="[1]", second="[1].map(f)", mark=", ")
@example(first="[1", second="2]", mark=", ")
@example(first="{a: 1}}", second="{a: {b: {c: {d: 1}}}}", mark=", ")
@example(first="[a]", second="[a b]", mark=" ")
def test_arguments_end_where_their_expressions_do(first, second, mark):
    text = f"[f(a={first}{mark}b={second})]"
    assert source_calls(text) == one_by_one(lambda: source_calls(text))


@settings(max_examples=examples(600), deadline=None)
@given(text=values, kind=kinds, nested=st.none() | kinds)
@example(text="1.5", kind="integer", nested=None)
@example(text="{a: 1, a: 2}", kind="dict", nested=None)
@example(text="['1', 1]", kind="array", nested="float")
def test_values_are_those_of_their_items(text, kind, nested):
    for value in (literals.javascript_value, literals.java_value):
        assert repr(value(text, kind, nested)) == repr(one_by_one(lambda: value(text, kind, nested)))  # noqa: B023


@given(text=st.text(alphabet="abc1.5-,: []{}\"'\\\n/<`", max_size=40))
def test_any_list_has_the_pieces_found_one_by_one(text):
    assert expressions.pieces(text) == one_by_one(lambda: expressions.pieces(text))


def test_plain_collections_are_not_read_bracket_by_bracket(monkeypatch):
    for module in (source, expressions, literals):
        monkeypatch.setattr(module, "breaks", lambda *_: pytest.fail("read bracket by bracket"))
    (call,) = source_calls("[f(a=[1, 'x'], b={k: [true], 'm': {n: -2.5}})]")
    assert call.arguments == {"a": "[1, 'x']", "b": "{k: [true], 'm': {n: -2.5}}"}
    assert literals.javascript_value(call.arguments["a"], "array") == [1, "x"]
    assert literals.javascript_value("{k: true, 'm': -2.5}", "dict") == {"k": True, "m": -2.5}


@pytest.mark.parametrize("text", ["[" * 9000, "[1," * 3000, "{a:" * 3000, "[" + "1," * 9000, "{" + "a:1," * 4000])
def test_a_hostile_collection_is_no_call(text):
    assert source_calls(f"f(a={text}") == []


@settings(max_examples=examples(300), deadline=None)
@given(
    text=st.text(alphabet="f(a=1,'x')[] <>\n/*{}\"", max_size=12),
    language=st.sampled_from(["python", "java", "javascript"]),
)
@example(text="f(a=1) // )", language="java")
@example(text="f(a=1)]\n[f(a=2)", language="java")
@example(text="f(a=new X<>())", language="java")
@example(text="é(a=1)", language="python")
def test_bracketed_calls_are_those_of_the_whole_text(text, language):
    text = f"[f({text})]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_bracketed", lambda *_: None)
        whole = text_calls(text, language)
    assert repr(text_calls(text, language)) == repr(whole)


@given(text=st.text() | st.text(alphabet="aBİß'\" ,./-_*^\ud83d\ude00", max_size=12))
def test_strings_are_compared_without_case_spaces_and_punctuation(text):
    kept = "".join(char for char in text if char not in " ,./-_*^")
    assert loose(text) == kept.replace("'", '"').lower()


@pytest.mark.parametrize(("value", "expected"), [(10**400, False), (3, True), ((1, 2), False)])
def test_an_integer_too_large_for_a_float_is_no_alternative(value, expected):
    described = {"type": "float"}
    assert alternatives._accepts(value, [10**400, 3.0], described, "python") is expected
