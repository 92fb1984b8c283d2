"""Java's and JavaScript's expressions are the values they write; whatever is not a literal of the type stays text."""

import json
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from verikit.calls import source_calls
from verikit.verifiers.tools.literals import java_value, javascript_value


@pytest.mark.parametrize(
    ("text", "kind", "nested", "wanted"),
    [
        ('new java.util.ArrayList<String>(List.of("a, b", "c)"))', "ArrayList", "String", ["a, b", "c)"]),
        ('List.of("a", "b")', "ArrayList", "String", ["a", "b"]),
        ("Arrays.asList(1L, 2L)", "ArrayList", "long", [1, 2]),
        ("new ArrayList<>(10)", "ArrayList", "integer", []),
        ("new LinkedList<>(Arrays.asList(1, 2))", "Queue", "integer", [1, 2]),
        ("new int[][]{{1, 2}, {3}}", "Array", "Array", [[1, 2], [3]]),
        ("new char[]{'a', ','}", "Array", "char", ["a", ","]),
        ('new Object[]{1, "x", true, 1.5f, 5L, null}', "Array", "any", [1, "x", True, 1.5, 5, "null"]),
        ('new HashMap<String, List<Integer>>() {{ put("a", List.of(1, 2)); }}', "HashMap", None, {"a": [1, 2]}),
        ('new HashMap<>(Map.of("a", 1, "b", "x;)"))', "HashMap", None, {"a": 1, "b": "x;)"}),
        ('Map.ofEntries(Map.entry("a", 1), Map.entry("b", true))', "HashMap", None, {"a": 1, "b": True}),
        ("0x1F", "integer", None, 31),
        ("1_000", "integer", None, 1000),
        ("- 5", "integer", None, -5),
        ("5d", "double", None, 5.0),
        # not of the type
        ("5L", "integer", None, "5L"),
        ("5", "long", None, "5"),
        ("1.5", "float", None, "1.5"),
        ("1.5", "integer", None, "1.5"),
        ("True", "boolean", None, "True"),
        ("new int[]{1, 2}", "ArrayList", "integer", "new int[]{1, 2}"),
        ("Arrays.asList(1)", "Array", "integer", "Arrays.asList(1)"),
        ("new int[]{1, 2}.length", "Array", "integer", "new int[]{1, 2}.length"),
        ("new ArrayList<>(other)", "ArrayList", "integer", "new ArrayList<>(other)"),
        ('new HashMap<>() {{ put("a", 1); clear(); }}', "HashMap", None, 'new HashMap<>() {{ put("a", 1); clear(); }}'),
        ('Map.of("a", 1, "a", 2)', "HashMap", None, 'Map.of("a", 1, "a", 2)'),
        ('Map.of("a")', "HashMap", None, 'Map.of("a")'),
    ],
)
def test_java(text, kind, nested, wanted):
    assert repr(java_value(text, kind, nested)) == repr(wanted)


@pytest.mark.parametrize(
    ("text", "kind", "nested", "wanted"),
    [
        ("`plain`", "String", None, "plain"),
        ('["a, b", \'c]\', `d`]', "array", "String", ["a, b", "c]", "d"]),
        ("[[1, [2]], []]", "array", None, [[1, [2]], []]),
        ("[{a: 1}, {b: [true, null]}]", "array", "dict", [{"a": 1}, {"b": [True, "null"]}]),
        ("new Set([1, 2])", "array", "integer", [1, 2]),
        ("Array.of(1)", "array", "integer", [1]),
        ("new Map([['a', 1], ['b', {c: 2}]])", "dict", None, {"a": 1, "b": {"c": 2}}),
        ("new Map()", "dict", None, {}),
        ("{a: {b: {c: [1]}}, 'd-e': -5, 3: x.y(), f,}", "dict", None,
         {"a": {"b": {"c": [1]}}, "d-e": -5, "3": "x.y()", "f": "f"}),
        ("{a: '5', b: \"true\"}", "dict", None, {"a": "5", "b": "true"}),
        ("12.", "float", None, 12.0),
        ("0b101", "integer", None, 5),
        # not of the type
        ("`a ${b}`", "String", None, "`a ${b}`"),
        ("new Array(5)", "array", "integer", "new Array(5)"),
        ("[...a, 1]", "array", None, "[...a, 1]"),
        ("{...a}", "dict", None, "{...a}"),
        ("{a() { return 1 }}", "dict", None, "{a() { return 1 }}"),
        ("[1, 2].map(f)", "array", None, "[1, 2].map(f)"),
        ("5n", "integer", None, "5n"),
        ("1.5", "integer", None, "1.5"),
        ("'true'", "Boolean", None, "'true'"),
    ],
)  # fmt: skip
def test_javascript(text, kind, nested, wanted):
    assert repr(javascript_value(text, kind, nested)) == repr(wanted)


texts = st.text(alphabet="ab ,:;{}[]()'\"\\/\n$é", max_size=8)
keys = texts.filter(lambda key: key != "__proto__")
values = st.recursive(
    st.booleans() | st.integers(-(10**9), 10**9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.lists(values, max_size=4) | st.dictionaries(texts, values, max_size=4))
def test_json_is_javascript(value):
    text = json.dumps(value, ensure_ascii=False)
    assert javascript_value(text, "dict" if isinstance(value, dict) else "array") == value


def test_node_reads_the_same(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    written = [
        "[1, 'a\\'b', `c`, [true, {d: -1.5}], 0x10, 1e3]",
        "{a: [1, [2, 'x,y']], 'b c': {d: {}}, 7: \"\\u00e9\\x41\"}",
        "new Array('p', 'q')",
        "[ /* no */ 1, // yes\n 2]",
    ]
    script = f"console.log(JSON.stringify([{', '.join(f'({text})' for text in written)}]))"
    told = json.loads(subprocess.run([node, "-e", script], capture_output=True, text=True, check=True).stdout)
    for text, wanted in zip(written, told, strict=True):
        (call,) = source_calls(f"f(x={text})")
        assert javascript_value(call.arguments["x"], "dict" if text[0] == "{" else "array") == wanted


def tool(kind, nested=None):
    described = {"type": kind} | ({"items": {"type": nested}} if nested else {})
    return [{"name": "f", "parameters": {"properties": {"x": described}, "required": ["x"]}}]


@pytest.mark.parametrize(
    ("language", "kind", "nested", "accepted", "right", "wrong"),
    [
        ("java", "ArrayList", "String", [["a"]], 'new ArrayList<>(Arrays.asList("a"))', 'Arrays.asList("b")'),
        ("java", "ArrayList", "any", [["a", 42]], 'new ArrayList<>(List.of("a", 42))', 'List.of("a", "42")'),
        ("java", "Array", "String", [["-v"]], 'new String[]{"-v"}', 'new String[]{"-v", "-q"}'),
        ("java", "boolean", None, [True], "true", "True"),
        ("java", "integer", None, [3], "3", "3L"),
        ("java", "long", None, [5], "5L", "5"),
        ("java", "any", None, [None], "null", "nil"),
        ("java", "any", None, ["System.out"], "System.out", "System.err"),
        ("java", "HashMap", None, [{"a": [1]}], 'new HashMap<>() {{ put("a", 1); }}', 'Map.of("a", 2)'),
        ("javascript", "array", "String", [["completed"]], '["completed"]', '["complete"]'),
        ("javascript", "dict", None, [{"a": [1], "b": [[1, 2]]}], "{a: 1, 'b': [1, 2]}", "{a: 1, b: [2, 1]}"),
        ("javascript", "String", None, ["hello"], "`hello`", "`${hello}`"),
        ("javascript", "String", None, ["John Smith"], "'John Smith'", "John Smith"),
        ("javascript", "float", None, [4.0], "4", "4n"),
    ],
)  # fmt: skip
def test_calls_in_the_language_are_right_or_wrong_as_source_and_quoted(language, kind, nested, accepted, right, wrong):
    verifier = verikit.tool_calls(language=language)
    row = {"calls": [{"f": {"x": accepted}}], "tools": tool(kind, nested)}
    assert verifier(f"[f(x={right})]", **row).value == 1.0
    assert verifier(f"[f(x={right!r})]", **row).value == 1.0
    score = verifier(f"[f(x={wrong})]", **row)
    assert (score.value, score.status) == (0.0, "ok")
    assert verifier(f"[f(x={right}, y=1)]", **row).value == 0.0
    assert verifier("[f()]", **row).value == 0.0
    assert verifier(f"[g(x={right})]", **row).value == 0.0


def test_plain_expected_calls_are_read_as_python_whatever_the_language():
    assert verikit.tool_calls(language="java")("f(x=3)", calls=[{"name": "f", "arguments": {"x": 3}}]).value == 1.0
