import itertools
import json
import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit import Sample
from verikit.errors import UsageError
from verikit.names.spec import load
from verikit.verifiers.documents.json_schema import JsonSchema
from verikit.verifiers.documents.toml import Toml
from verikit.verifiers.documents.yaml import Yaml

PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"age": 5}', 1),
        ('```json\n{"age": 5}\n```', 1),
        ('```\n{"age": 5}\n```  ', 1),
        ('{"age": "5"}', 0),
        ("{}", 0),
        ('Here: {"age": 5}', 1),
        ('Here: {"age": 5}. Do you need more?', 1),
        ('For {"age": "x"} it is {"age": 5}, see [1].', 1),
        ('For {"age": 5} it is {"age": "x"}.', 0),
        ('Use {x} and [see below]: {"age": 5}', 1),
        ('It is\n```json\n{"age": 5}\n```\nas in [1] and {"age": "x"}.', 1),
        ('It is\n```json\n{"age": "x"}\n```\nas in {"age": 5}.', 0),
        ('<think>{"age": "x"}</think>\n```\n{"age": 5}\n```', 1),
        ('<think>{"age": 5}</think>\n```\n{"age": "x"}\n```', 0),
        ('It is {"age": 5,}.', 0),
        ('It is {"was": {"age": 5},}.', 0),
        ('It is {"was": {"age": 5}', 0),
        ('{"age": 5} or {"age": 6}', 0),
        ('{"age": NaN}', 0),
        ("", 0),
        ("[" * 100_000, 0),
        ("9" * 5000, 0),
        ('{"age": 5} {"age": 6}', 0),
    ],
)
def test_the_json_of_the_completion_is_what_the_schema_accepts(text, value):
    score = JsonSchema(PERSON)(text)
    assert (score.value, score.status) == (value, "ok")


def of_row(completion, **row):
    return Sample(prompt="p", completion=completion, meta=row)


def test_a_row_is_held_to_its_own_schema():
    right, wrong = '{"age": 5}', '{"age": "5"}'
    samples = [of_row(text, schema=form) for form in (PERSON, json.dumps(PERSON)) for text in (right, wrong)]
    samples += [of_row(wrong), of_row(wrong, schema=None)]
    assert [score.value for score in JsonSchema().score(samples)] == [1, 0, 1, 0, 1, 1]
    assert JsonSchema(key="schema_str").score([of_row(wrong, schema_str=PERSON)])[0].value == 0


def test_the_schema_of_the_verifier_goes_before_that_of_a_row():
    (score,) = JsonSchema({"type": "array"}).score([of_row("[]", schema=PERSON)])
    assert score.value == 1


@pytest.mark.parametrize(
    "schema", ["bad", "/etc/hostname", "[]", 5, ["a"], {"type": "odd"}, {"$ref": "#/nowhere"}, {"$ref": "#"}]
)
def test_a_row_with_a_bad_schema_has_no_score_and_loses_no_other(schema):
    bad, good = JsonSchema().score([of_row("{}", schema=schema), of_row("{}", schema={"type": "object"})])
    assert (bad.value, bad.status) == (None, "error")
    assert "'schema'" in bad.reason
    assert good.value == 1


def test_a_schema_that_takes_for_ever_costs_only_its_row():
    array = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/a"}}] * 12}
    bomb = {"$defs": {"a": array}, "$ref": "#/$defs/a"}
    slow, next_one = JsonSchema(timeout_s=0.1).score(
        [of_row("[" * 40 + "1" + "]" * 40, schema=bomb), of_row("1", schema={})]
    )
    assert (slow.value, next_one.value) == (0, 1)


def test_the_reason_names_the_path():
    assert JsonSchema(PERSON)('{"age": "5"}').reason.startswith("$.age")
    assert JsonSchema(max_chars=3)("[1, 2]").reason == "6 characters, over the cap of 3"


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({"items": {"pattern": "^(a|a)+$"}}, ["a" * 40 + "!"] * 50),
        ({"patternProperties": {"^(a|a)+$": {}}}, {"a" * 40 + "!": 1}),
        ({"patternProperties": {"^(a|a)+$": {}}, "additionalProperties": False}, {"a" * 40 + "!": 1}),
        ({"additionalProperties": {"pattern": "^(a|a)+$"}}, {"k": "a" * 40 + "!"}),
        ({"propertyNames": {"pattern": "^(a|a)+$"}}, {"a" * 40 + "!": 1}),
        ({"items": {"anyOf": [{"type": "string"}] * 40}}, [1] * 200_000),
    ],
)
def test_no_text_holds_the_check_beyond_its_time(schema, document):
    v = JsonSchema(schema, timeout_s=0.2)
    text = json.dumps(document)
    score = v(text)  # unbounded it is years
    assert (score.value, score.status) == (0.0, "ok")
    assert "ran out of 0.2 s" in score.reason


def test_a_machine_that_leaves_the_check_waiting_changes_no_verdict(monkeypatch):
    leaps = itertools.count(0.0, 1000.0)
    monkeypatch.setattr("time.monotonic", lambda: next(leaps))
    schema = {"items": {"type": "integer"}, "minItems": 1}
    assert JsonSchema(schema)(json.dumps([1] * 500)).value == 1.0
    assert JsonSchema(schema)(json.dumps([1] * 500 + ["1"])).value == 0.0
    assert load("csv(schema={'properties': {'a': {'type': 'integer'}}})")("a\n1\n2\n").value == 1.0
    looping = JsonSchema({"pattern": "^(a|a)+$"}, timeout_s=0.05)('"' + "a" * 40 + '!"')
    assert "ran out of 0.05 s" in looping.reason


def test_a_pattern_that_ran_out_of_other_threads_time_is_tried_again(monkeypatch):
    import regex

    search, tries = regex.search, []

    def interrupted(*given, **options):
        tries.append(given)
        if len(tries) == 1:
            raise TimeoutError
        return search(*given, **options)

    v = JsonSchema({"pattern": "^a+$"})
    monkeypatch.setattr(regex, "search", interrupted)
    assert v('"aaa"').value == 1.0
    assert len(tries) == 2


def nested(depth, inner):
    for _ in range(depth):
        inner = {"anyOf": [inner]}
    return inner


DOUBLED = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (nested(200, {"type": "integer"}), "nests too deeply"),
        ({"anyOf": [{"$ref": "#"}]}, "leads back to itself"),
        ({"$defs": DOUBLED | {"a40": {"type": "integer"}}, "$ref": "#/$defs/a0"}, "takes more than 0.2 s"),
        ({"$ref": "#/$defs/absent"}, "unresolvable"),
    ],
)
def test_a_schema_that_no_document_can_be_checked_against_is_refused_with_a_message(schema, told):
    for make in (JsonSchema, Yaml, Toml):
        with pytest.raises(UsageError, match=told):
            make(schema, timeout_s=0.2)


def test_a_schema_that_is_taken_is_checked_wherever_it_is_called_from():
    def deeper(frames, verifier):
        return deeper(frames - 1, verifier) if frames else [verifier(text) for text in ("4", '"x"')]

    for depth in (20, 40, 60, 70, 75):
        try:
            verifier = JsonSchema(nested(depth, {"type": "integer"}))
        except UsageError:
            continue
        right, wrong = deeper(100, verifier)
        assert (right.value, wrong.value) == (1.0, 0.0)
        assert "is not of type 'integer'" in wrong.reason


def test_uniqueness_is_checked_in_linear_work(linear):
    v = JsonSchema({"uniqueItems": True}, max_chars=10**7, timeout_s=60)
    linear(lambda text: v(json.dumps([{"a": i} for i in range(len(text) // 10)])), "x")
    linear(lambda text: v(json.dumps([i * (2**61 - 1) for i in range(len(text) // 20)])), "x")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", 1),
        ("[1, 1.0]", 0),
        ("[1, true]", 1),
        ('[{"a":1,"b":2},{"b":2,"a":1}]', 0),
        ("[[1],[1.0]]", 0),
        ("5", 1),
    ],
)
def test_uniqueness_means_json_values(text, value):
    assert JsonSchema({"uniqueItems": True})(text).value == value


@given(st.dictionaries(st.sampled_from(["a", "ab", "b", "x"]), st.integers() | st.text(max_size=2)))
def test_the_replaced_keywords_decide_as_the_library_does(document):
    from jsonschema import Draft202012Validator

    for schema in (
        {"properties": {"a": {"type": "integer"}}, "patternProperties": {"^a": {"type": "integer"}}},
        {"properties": {"x": {}}, "patternProperties": {"^a": {}}, "additionalProperties": False},
        {"patternProperties": {"b$": {}}, "additionalProperties": {"type": "string", "pattern": "^.?$"}},
        {"additionalProperties": True},
    ):
        assert JsonSchema(schema)(json.dumps(document)).passed == Draft202012Validator(schema).is_valid(document)


@pytest.mark.parametrize("text", ["1e400", "9" * 4000, "-1e400"])
def test_a_number_out_of_range_is_the_candidates_fault_and_not_an_escape(text):
    score = JsonSchema({"multipleOf": 0.5})(text)
    assert (score.value, score.status) == (0.0, "ok")


def test_a_text_nested_as_deep_as_json_goes_is_no_escape():
    score = JsonSchema({"type": "array", "items": {"$ref": "#"}})("[" * 800 + "]" * 800)
    assert score.status == "ok"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nope"},
        {"pattern": "("},
        {"patternProperties": {"(": {}}},
        {"$ref": "#"},
        {"$ref": "#/nope"},
        {"$ref": "https://example.com/schema"},
        {"const": {1}},
        {"patternProperties": {"a": {}}, "unevaluatedProperties": False},
        "no such file.json",
        5,
    ],
)
def test_a_schema_that_is_at_fault_is_refused_and_no_candidate_pays(schema):
    with pytest.raises(UsageError):
        JsonSchema(schema)


def test_a_file_counts_by_what_it_holds(tmp_path):
    file = tmp_path / "s.json"
    file.write_text(json.dumps(PERSON))
    v = JsonSchema(str(file))
    assert v == JsonSchema(PERSON)
    file.write_text("{}")
    assert JsonSchema(str(file)).fingerprint != v.fingerprint
    assert v("{}").value == 0.0


def test_a_schema_changed_by_its_owner_changes_no_verifier():
    schema = {"type": "object"}
    v = JsonSchema(schema)
    schema["type"] = "array"
    assert v("{}").value == 1.0


def test_the_schemas_own_draft_is_kept():
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert JsonSchema(draft7)("[1]").value == 0.0


def test_it_pickles_after_use_and_serves_many_threads():
    v = JsonSchema({"items": {"pattern": "^a"}})
    results = []

    def run(text, value):
        results.append([s.value for s in v.score([Sample(completion=text)] * 50)] == [value] * 50)

    threads = [threading.Thread(target=run, args=a) for a in [('["a"]', 1), ('["b"]', 0), ("x", 0), ("[]", 1)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
    assert pickle.loads(pickle.dumps(v)) == v


def test_hostile_fences_cost_linear_work(linear):
    v = JsonSchema(max_chars=10**7)
    for hostile in ("```\n", "\n```", "```json", "\n", " ", "\n``` ", "[1,", '{"a":'):
        linear(lambda text: v.score([Sample(completion=text)]), hostile)
        linear(lambda text: v.score([Sample(completion="```\n" + text + "x")]), hostile)


def test_a_trailing_comma_is_named():
    for text in ('{"age": 5,}', 'It is {"age": 5,\n}.', '```json\n{"age": [5,]}\n```'):
        assert "trailing comma" in JsonSchema({})(text).reason
    assert "trailing comma" not in JsonSchema({})('{"age": 5, x}').reason


def test_nothing_but_a_fence_may_stand_around_it_where_that_is_asked():
    v = JsonSchema(PERSON, bare=True)
    assert v('```json\n{"age": 5}\n```').value == 1
    assert v('It is {"age": 5}').value == 0
    assert v('It is\n```json\n{"age": 5}\n```').value == 0


def test_among_prose_the_last_array_counts():
    v = JsonSchema({"type": "array", "items": {"type": "object"}})
    assert v('For {"a": 1} it is [{"a": 1}], and {"a": 2} is none.').value == 1


@pytest.mark.parametrize("unit", ["{", "[", '{"', '{"a":', "[1,", '{"a":1,', "{} x", "[] ", '{"a": ', '"', '\\"', ", "])
def test_looking_for_the_document_is_linear(linear, unit):
    verifier = JsonSchema({})
    linear(lambda text: verifier("x " + text), unit)


def test_a_schema_that_nests_beyond_any_depth_is_refused_with_a_message():
    for keyword in ("anyOf", "allOf", "prefixItems"):
        deep: dict[str, object] = {}
        for _ in range(5_000):
            deep = {keyword: [deep]}
        with pytest.raises(UsageError, match="can't read the JSON schema"):
            JsonSchema(deep)


@pytest.mark.parametrize("reference", ["#/nope", "#/%zz/~9", "#anchor"])
def test_a_reference_that_leads_nowhere_is_refused_before_a_candidate_can_reach_it(reference):
    with pytest.raises(UsageError, match="unresolvable"):
        JsonSchema({"properties": {"a": {"$ref": reference}}})
    assert JsonSchema({"properties": {"a": {"const": {"$ref": reference}}}})('{"b": 1}').value == 1.0


def test_a_draft_that_is_no_text_is_refused():
    with pytest.raises(UsageError, match=r"\$schema must be a URI"):
        JsonSchema({"$schema": 5})
