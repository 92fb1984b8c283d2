"""Expected tool calls in their forms, against the same calls made otherwise and against near misses."""

import json
import pickle
import warnings
from keyword import iskeyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from tests.growth import count_calls
from verikit import Sample
from verikit.calls import MAX_CALLS, ToolCall, python_calls, text_calls
from verikit.verifiers.tools.arguments import coerced, same
from verikit.verifiers.tools.literals import java_value, javascript_value

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather.get",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer", "default": 1},
                    "hourly": {"type": "boolean"},
                    "limits": {"type": "array", "items": {"type": "number"}},
                },
                "required": ["city"],
            },
        },
    },
    {"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
]
WANTED = [{"name": "weather.get", "arguments": {"city": "Oslo", "days": 3, "hourly": True, "limits": [0.5, 2]}}]
RIGHT = '[weather.get(city="Oslo", days=3, hourly=True, limits=[0.5, 2])]'
verifier = verikit.tool_calls()


def message(*calls):
    made = [{"id": "c", "type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
    return [{"role": "assistant", "content": None, "tool_calls": made, "reasoning_content": "which one?"}]


def value(completion, calls=WANTED, **options):
    made = verikit.tool_calls(**options) if options else verifier
    score = made(completion, calls=calls, tools=TOOLS)
    assert score.status == "ok", score
    return score.value


ARGUMENTS = json.dumps(WANTED[0]["arguments"])


@pytest.mark.parametrize(
    "completion",
    [
        RIGHT,
        RIGHT[1:-1],
        f"```python\n{RIGHT}\n```",
        f"<think>the weather tool</think>\n{RIGHT}",
        "weather.get(limits=[1 / 2, 2], hourly=True, days=3, city='Oslo')",
        json.dumps(WANTED),
        json.dumps(WANTED[0]),
        json.dumps({"tool_calls": WANTED}),
        json.dumps([{"weather.get": WANTED[0]["arguments"]}]),
        f"I look.\n<tool_call>\n{json.dumps(WANTED[0])}\n</tool_call>",
        f"[TOOL_CALLS]{json.dumps(WANTED)}",
        f'<|python_tag|>{{"name": "weather.get", "parameters": {ARGUMENTS}}}',
        f"<function=weather.get>{ARGUMENTS}</function>",
        "<tool_call><function=weather.get><parameter=city>\nOslo\n</parameter><parameter=days>\n3\n</parameter>"
        "<parameter=hourly>true</parameter><parameter=limits>[0.5, 2]</parameter></function></tool_call>",
        message(("weather.get", ARGUMENTS)),
        message(("weather_get", ARGUMENTS)),
        message(("weather.get", WANTED[0]["arguments"])),
        [
            {
                "role": "assistant",
                "tool_calls": [json.dumps({"function": {"name": "weather.get", "arguments": ARGUMENTS}})],
            }
        ],
        message(("weather.get", ARGUMENTS.replace("3", '"3"'))),
    ],
)
def test_the_expected_call_is_accepted_however_it_is_written(completion):
    assert value(completion) == 1.0


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "The weather in Oslo is mild.",
        "I would call weather.get(city='Oslo', days=3, hourly=True, limits=[0.5, 2]).",
        RIGHT.replace("city", "town"),
        RIGHT.replace("Oslo", "oslo"),
        RIGHT.replace("3", "4"),
        RIGHT.replace("3", "'three'"),
        RIGHT.replace("True", "1"),
        RIGHT.replace("[0.5, 2]", "[2, 0.5]"),
        RIGHT.replace(", hourly=True", ""),
        RIGHT.replace("days=3", "days=3, unit='C'"),
        RIGHT.replace("weather.get", "weather_get"),
        RIGHT.replace("weather.get", "get"),
        RIGHT.replace("3", "[][0]"),
        RIGHT.replace("city=", ""),
        RIGHT.replace("3", "__import__('os').system('touch /tmp/called')"),
        f"{RIGHT[:-1]}, note(text='x')]",
        "[]",
        message(("weather.get", ARGUMENTS), ("weather.get", ARGUMENTS)),
        message(("weather.get", ARGUMENTS[:-1])),
        message(("weather.get", f"[{ARGUMENTS}]")),
        message(("", ARGUMENTS)),
        [{"role": "user", "content": None, "tool_calls": message(("weather.get", ARGUMENTS))[0]["tool_calls"]}],
    ],
)
def test_a_call_that_differs_is_refused(completion):
    assert value(completion) == 0.0


def test_defaults_may_be_given_or_left_out_on_either_side():
    assert value("note(text='a')", [{"name": "note", "arguments": {"text": "a"}}]) == 1.0
    assert value("weather.get(city='Oslo')", [{"name": "weather.get", "arguments": {"city": "Oslo", "days": 1}}]) == 1.0
    assert value("weather.get(city='Oslo', days=1)", [{"name": "weather.get", "arguments": {"city": "Oslo"}}]) == 1.0
    assert value("weather.get(city='Oslo', days=2)", [{"name": "weather.get", "arguments": {"city": "Oslo"}}]) == 0.0


def test_types_are_coerced_by_the_schema_unless_that_is_off():
    wanted = [{"name": "weather.get", "arguments": {"city": "Oslo", "days": 3}}]
    made = message(("weather.get", '{"city": "Oslo", "days": "3"}'))
    assert (value(made, wanted), value(made, wanted, coerce=False)) == (1.0, 0.0)
    assert verifier(made, calls=wanted).value == 0.0  # without a schema nothing says that "3" is a number


def test_parallel_calls_may_come_in_any_order_unless_it_is_given():
    wanted = [{"name": "note", "arguments": {"text": text}} for text in "abc"]
    made = "[note(text='c'), note(text='a'), note(text='b')]"
    assert (value(made, wanted), value(made, wanted, order="given")) == (1.0, 0.0)
    assert value("[note(text='a'), note(text='a'), note(text='b')]", wanted) == 0.0


def test_calls_are_paired_even_where_the_first_fit_would_leave_one_over():
    wanted = [{"note": {"text": ["a", "b"]}}, {"note": {"text": ["a"]}}, {"note": {"text": ["b", "c"]}}]
    assert value("[note(text='a'), note(text='b'), note(text='c')]", wanted) == 1.0
    assert value("[note(text='a'), note(text='c'), note(text='c')]", wanted) == 0.0


def test_an_empty_list_says_that_no_call_is_right_and_any_that_one_is():
    assert [value(text, []) for text in ("I can't.", "[]", "note(text='a')", message(("note", "{}")))] == [1, 1, 0, 0]
    assert [value(text, "any") for text in ("I can't.", "[]", "note(text='a')", message(("note", "{}")))] == [
        0,
        0,
        1,
        1,
    ]


def test_alternatives_and_optional_arguments_are_bfcls():
    tools = [
        {
            "name": "book",
            "parameters": {
                "type": "dict",
                "required": ["to"],
                "properties": {
                    "to": {"type": "string"},
                    "seats": {"type": "integer"},
                    "price": {"type": "float"},
                    "who": {"type": "dict"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "span": {"type": "tuple", "items": {"type": "float"}},
                },
            },
        }
    ]
    wanted = [
        {
            "book": {
                "to": ["New York", "NYC"],
                "seats": [2, 3],
                "price": ["", 9.5, 10],
                "who": ["", {"name": ["Ann"], "age": ["", 7]}],
                "tags": ["", ["a", "b"]],
                "span": ["", [0.5, 1.0]],
            }
        }
    ]
    good = ["to='new york', seats=2", "to='NYC', seats=3, price=10", "to='NYC', seats=2, who={'name': 'ann'}"]
    good += ["to='NYC', seats=2, tags=['A', 'b']", "to='NYC', seats=2, span=(0.5, 1.0)"]
    bad = ["to='Newark', seats=2", "seats=2", "to='NYC'", "to='NYC', seats=2.0", "to='NYC', seats='2'"]
    bad += ["to='NYC', seats=2, price=9", "to='NYC', seats=2, who={'age': 7}", "to='NYC', seats=2, who={'name': 'Bo'}"]
    bad += ["to='NYC', seats=2, tags=['b', 'a']", "to='NYC', seats=2, tags='a'", "to='NYC', seats=2, when='now'"]
    bad += ["to='NYC', seats=2, tags=[1, 2]", "to='NYC', seats=2, who=['name']", "to='NYC', seats=True"]
    for arguments, right in [(text, 1.0) for text in good] + [(text, 0.0) for text in bad]:
        assert verifier(f"book({arguments})", calls=wanted, tools=tools).value == right, arguments


def test_golds_may_be_text_and_missing_ones_abstain():
    assert verifier("f(a=1)", "[f(a=1)]").value == 1.0
    assert verifier("f(a=2)", '[{"name": "f", "arguments": {"a": 1}}]').value == 0.0
    assert verifier("f(a=1)").status == "abstained"


@pytest.mark.parametrize("calls", ["the weather", 7, [7], [{"name": ""}], [{"f": 7}], [{"f": {"a": 1}}], '{"f"'])
def test_expected_calls_that_cant_be_read_are_an_error(calls):
    assert verifier("f(a=1)", calls=calls).status == "error"


def test_tools_that_cant_be_read_are_an_error():
    assert verifier("f(a=1)", "f(a=1)", tools=[7]).status == "error"


@pytest.mark.parametrize("text", ['{"name": "Ann", "age": 3}', '{"result": {"a": 1}}', "[1, 2]", '"f(a=1)"', "{}"])
def test_an_answer_in_json_is_no_call(text):
    assert (value(text, []), value(text, "any")) == (1.0, 0.0)


DEEP = "[" * 30_000 + "]" * 30_000


@pytest.mark.parametrize(
    "completion",
    [
        f"f(a={DEEP})",
        "f(a=" + "-" * 19_000 + "1)",
        "f(a=" + "+".join("1" * 9000) + ")",
        "f" + ".f" * 9000 + "(a=1)",
        "f(a=9**9**9)",
        "f(a=" + "9" * 5000 + ")",
        "f(a='" + "x" * 99_000 + "')",
        "[" + "f(), " * 3000 + "]",
        "<tool_call>" * 9000,
        "<function=" * 9000,
        "<function=f>" + "<parameter=a>" * 7000,
        '[{"name": "f", "arguments": ' + DEEP + "}]",
        "x" * 2_000_000,
        "f(a='\ud800')",
        "f(**{'a': 1})",
        "f(a=lambda: 1)",
        "f(a=[x for x in (1, 2)])",
        message(("f", DEEP)),
        message(("f", '{"a": ' * 5000 + "1" + "}" * 5000)),
        message(("f", '{"a": "' + "x" * 200_000 + '"}')),
        message(("f", '{"a": ' + "9" * 9000 + "}")),
        message(*[("f", "{}")] * 5000),
        [{"role": "assistant", "tool_calls": 7}],
        [{"role": "assistant", "tool_calls": [None, 7, {}, {"function": None}, {"function": {"name": ["f"]}}]}],
        [{"role": "assistant", "tool_calls": {"a": 1}}],
    ],
    ids=lambda completion: str(completion)[:30],
)
def test_hostile_calls_are_survived_and_refused(completion):
    scores = []
    for calls in ([{"name": "f", "arguments": {"a": 1}}], [{"f": {"a": [1]}}]):
        count_calls(lambda calls=calls: scores.append(verifier(completion, calls=calls)), most=1_000_000)
    assert [(score.value, score.status) for score in scores] == [(0.0, "ok")] * 2


def test_arguments_nested_as_objects_do_not_exhaust_the_stack():
    deep = {}
    for _ in range(50_000):
        deep = {"a": deep}
    score = verifier(message(("f", deep)), calls=[{"name": "f", "arguments": {"a": 1}}])
    assert score.value == 0.0
    assert "nested" in score.reason


def test_more_calls_than_are_read_never_match():
    made = text_calls("[" + ", ".join(["f()"] * (MAX_CALLS + 1)) + "]")
    assert made[-1].problem


def test_it_is_picklable_and_says_what_it_read():
    again = pickle.loads(pickle.dumps(verifier))
    assert again("f(a=1)", "f(a=1)").value == 1.0
    assert again.fingerprint == verifier.fingerprint
    assert "f(" in verifier.explain(Sample("q", "f(a=1)"))


def test_votes_take_the_same_calls_for_the_same_answer():
    first = verifier(message(("f", '{"a": 1,  "b": 2}')), "[f(a=1, b=2)]").answer
    second = verifier("[f(b=2, a=1)]", "[f(a=1, b=2)]").answer
    assert verifier.equal(first, second)
    assert not verifier.equal(first, verifier("[f(b=2, a=2)]", "[f(a=1, b=2)]").answer)


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=8) | st.floats(0, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.from_regex(r"[a-z_][a-z_0-9]{0,6}(\.[a-z_][a-z_0-9]{0,6}){0,2}", fullmatch=True).filter(
    lambda name: not any(map(iskeyword, name.split(".")))
)
KEYS = st.from_regex(r"k[a-z0-9]{0,4}", fullmatch=True)


@given(st.lists(st.tuples(NAMES, st.dictionaries(KEYS, LITERALS, max_size=4)), min_size=1, max_size=4))
def test_python_style_calls_are_read_back_as_they_were_written(calls):
    text = ", ".join(f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})" for name, args in calls)
    assert [(call.name, call.arguments) for call in python_calls(f"[{text}]")] == calls
    assert verifier(f"[{text}]", calls=[{"name": name, "arguments": args} for name, args in calls]).value == 1.0


@given(st.text(max_size=60) | st.text("f(a=1),[]{}'\"<tool_call>", max_size=60))
def test_any_text_is_calls_or_none(text):
    assert all(isinstance(call, ToolCall) for call in text_calls(text))


@given(LITERALS, LITERALS)
def test_sameness_is_pythons_but_for_truth_values(a, b):
    assert same(a, a)
    if same(a, b):
        assert a == b
    assert not same(True, 1)
    assert not same([0], [False])
    assert same(1, 1.0)


@pytest.mark.parametrize(
    ("given_value", "schema", "wanted"),
    [
        ("5", {"type": "integer"}, 5),
        ("5.5", {"type": "number"}, 5.5),
        ("five", {"type": "integer"}, "five"),
        (5.0, {"type": "integer"}, 5),
        (5, {"type": "string"}, "5"),
        ("True", {"type": "boolean"}, True),
        ("[1]", {"type": "array"}, [1]),
        ('{"a": "1"}', {"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}),
        (["1", 2], {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ("5", {"type": ["integer", "null"]}, 5),
        ("5", {}, "5"),
        ("5", None, "5"),
    ],
)
def test_a_value_becomes_the_type_that_the_schema_states(given_value, schema, wanted):
    assert same(coerced(given_value, schema), wanted)


@pytest.mark.parametrize(
    ("text", "kind", "nested", "wanted"),
    [
        ("42", "integer", None, 42),
        ("42L", "long", None, 42),
        ("42", "long", None, "42"),
        ("1.5f", "float", None, 1.5),
        ("1.5", "double", None, 1.5),
        ("true", "boolean", None, True),
        ("new int[]{1, 2}", "Array", "integer", [1, 2]),
        ('new String[]{"a", "b"}', "Array", "String", ["a", "b"]),
        ('new ArrayList<>(Arrays.asList("a", "b"))', "ArrayList", "String", ["a", "b"]),
        ("new ArrayList<Integer>() {{ add(1); add(2); }}", "ArrayList", "integer", [1, 2]),
        ("new ArrayList<>()", "ArrayList", "String", []),
        ('new HashMap<String, Object>() {{ put("a", 1); put("b", "x"); }}', "HashMap", None, {"a": 1, "b": "x"}),
        ("new HashMap<>()", "HashMap", None, {}),
        ("options", "HashMap", None, "options"),
    ],
)
def test_java_source_is_the_value_it_writes(text, kind, nested, wanted):
    assert java_value(text, kind, nested) == wanted


@pytest.mark.parametrize(
    ("text", "kind", "nested", "wanted"),
    [
        ("'a'", "String", None, "a"),
        ("5n", "Bigint", None, 5),
        ("1.5", "float", None, 1.5),
        ("false", "Boolean", None, False),
        ("[1, 'two', true]", "array", None, [1, "two", True]),
        ("new Array(1, 2)", "array", "integer", [1, 2]),
        ("[[1, 2], [3, 4]]", "array", None, [[1, 2], [3, 4]]),
        ("{'a': 1, b: \"x, y\", c: [1, 2]}", "dict", None, {"a": 1, "b": "x, y", "c": [1, 2]}),
        ("{}", "dict", None, {}),
        ("chart", "dict", None, "chart"),
    ],
)
def test_javascript_source_is_the_value_it_writes(text, kind, nested, wanted):
    assert javascript_value(text, kind, nested) == wanted


@pytest.mark.parametrize("value_of", [java_value, javascript_value])
@pytest.mark.parametrize("kind", ["Array", "ArrayList", "HashMap", "array", "dict", "float", "integer"])
def test_hostile_source_takes_linear_time(linear, value_of, kind):
    for unit in ("new ArrayList<>(Arrays.asList(", "{", '{{put("', "[", "new "):
        linear(lambda text: value_of(text, kind, "String"), unit, most=9_600)


@pytest.mark.filterwarnings("ignore")
def test_bfcls_own_checker_says_the_same_of_its_items_and_their_mutants():
    pytest.importorskip("bfcl_eval", reason="pip install --no-deps bfcl-eval")
    from benchmarks.tool_calls import Peer, disagreements

    assert not disagreements(Peer(None))


BIG = "0x" + "f" * 5000
UNREAD = [
    "[f(a='" + "x" * 30_000 + "')]",
    "<tool_call>" + '{"name": "f", "arguments": {}}' + "</tool_call>" + "x" * 100_001,
    "[" + ", ".join(["f()"] * (MAX_CALLS + 1)) + "]",
    '[{"name": "f", "arguments": {"a": ' + "[" * 60 + "]" * 60 + "}}]",
    '[{"name": "f", "arguments": {"a": ' + "9" * 5000 + "}}]",
    "f(a=" + "9" * 5000 + ")",
    f"f(a={BIG})",
    f"f(a=g[{BIG}])",
    "f(a=" + "[" * 300 + "]" * 300 + ")",
    "<tool_call>garbage</tool_call>",
    "<function=>x",
    "[x[0](a=1)]",
    [{"role": "assistant", "tool_calls": [7]}],
]


@pytest.mark.parametrize("completion", UNREAD, ids=lambda completion: str(completion)[:30])
def test_calls_that_are_not_read_are_neither_no_call_nor_any_call(completion):
    for calls in ([], "any", [{"name": "f", "arguments": {"a": 1}}], [{"f": {"a": [1]}}]):
        score = verifier(completion, calls=calls)
        assert (score.value, score.status, score.answer) == (0.0, "ok", None), calls
        assert score.reason


@pytest.mark.parametrize("text", ["f(x) = 2 x + g(x)", "I call it (so to say)" * 2000, "f(a=1 b)"])
def test_a_text_that_is_no_call_stays_none_however_long(text):
    assert value(text, []) == 1.0


@pytest.mark.parametrize("number", [16**5000, -(16**5000)], ids=["positive", "negative"])
def test_numbers_too_long_to_be_written_are_wrong_arguments(number):
    typed, floats = (
        [{"name": "f", "parameters": {"properties": {"a": {"type": kind}}}}] for kind in ("string", "float")
    )
    for calls, tools in (
        ([{"name": "f", "arguments": {"a": 1}}], None),
        ([{"name": "f", "arguments": {"a": "1"}}], typed),
        ([{"f": {"a": [1]}}], None),
        ([{"f": {"a": [1.0]}}], floats),
    ):
        score = verifier(message(("f", {"a": number})), calls=calls, tools=tools)
        assert (score.value, score.status, score.answer) == (0.0, "ok", None), score


def test_the_category_of_a_sample_says_its_language():
    calls = [{"f": {"a": [[1, 2]]}}]
    tools = [{"name": "f", "parameters": {"properties": {"a": {"type": "Array", "items": {"type": "integer"}}}}}]
    text = "f(a='new int[]{1, 2}')"
    assert verifier(text, calls=calls, tools=tools, category="simple_java").value == 1.0
    assert verifier(text, calls=calls, tools=tools).value == 0.0


def test_numbers_of_source_are_written_in_ascii():
    assert java_value("１２", "integer") == "１２"
    assert java_value("１.５", "double") == "１.５"
    assert javascript_value("[１, 2]", "array") == ["１", 2]


def test_what_is_no_json_is_equal_as_text_alone():
    assert not verifier.equal("x{", "y[")
    assert verifier.equal("x{", "x{")
    assert not verifier.equal("null", "x{")


@pytest.mark.parametrize("text", [r"f(a='\d')", "f(a=[0x1for x in y])", "f(a=1or 2)"])
def test_texts_of_a_model_give_no_warnings(text):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        python_calls(text)
    assert not seen
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = python_calls(r"f(a='\d')")
    assert made[0].arguments == {"a": r"\d"}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        python_calls(text)
        warnings.warn("another's", stacklevel=1)
    assert len(seen) == 1


def test_the_first_missing_argument_is_named():
    calls = [{"f": {name: [1] for name in ("b", "a", "d", "c")}}]
    assert verifier("f(a=1)", calls=calls).reason == "f: no argument 'b'"
    assert verifier("f(b=1)", calls=calls).reason == "f: no argument 'a'"
    assert verifier("f(b=1, a=1)", calls=calls).reason == "f: no argument 'd'"
