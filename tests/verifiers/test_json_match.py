"""`json_match` against an oracle that compares JSON in another way, and against near misses of each gold."""

import copy
import json
import math
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.growth import check_linear
from verikit import Sample, load
from verikit.answers.claims.json_fields import MAX_DEPTH
from verikit.errors import UsageError
from verikit.names.spec import load as load_spec
from verikit.verifiers.json_match import JsonMatch

KEYS = st.sampled_from(["a", "b", "c d", "e.f", "g[0]", "", "é", '"', "$"])
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
SMALL = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([0.0, 1.0, 1.05, 2.5, "1", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


def score(reply, gold, **options):
    return JsonMatch(**options)(reply if isinstance(reply, str) else json.dumps(reply), gold)


def is_same(gold, value, *, rel=0.0, absolute=0.0, any_order=False, ignore=False):
    """The oracle: JSON equality by its definition, lists in any order by trying every order."""
    if isinstance(gold, bool) or isinstance(value, bool) or gold is None or value is None:
        return gold is value
    if isinstance(gold, (int, float)) and isinstance(value, (int, float)):
        exact = [Fraction(repr(number)) for number in (gold, value)]
        limit = max(Fraction(repr(absolute)), Fraction(repr(rel)) * abs(exact[0]))
        return gold == value or abs(exact[0] - exact[1]) <= limit
    if type(gold) is not type(value):
        return False
    below = {"rel": rel, "absolute": absolute, "any_order": any_order, "ignore": ignore}
    if isinstance(gold, dict):
        keys = gold.keys() <= value.keys() if ignore else gold.keys() == value.keys()
        return keys and all(is_same(gold[key], value[key], **below) for key in gold)
    if isinstance(gold, list):
        orders = permutations(value) if any_order else [value]
        return len(gold) == len(value) and any(
            all(is_same(g, v, **below) for g, v in zip(gold, order, strict=True)) for order in orders
        )
    return gold == value


def leaves(value, path=()):
    """The paths to every leaf and container."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from leaves(part, (*path, key))


def with_part(value, path, change):
    """A copy with one part changed."""
    if not path:
        return change(value)
    made = copy.deepcopy(value)
    part = made
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = change(part[path[-1]])
    return made


def another(value):
    """A value of the same type that differs, as little as it can."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return math.nextafter(value, -math.inf if value > 0 else math.inf)
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, dict):
        return {**value, "new": None}
    return [*value, None] if isinstance(value, list) else 0


def retyped(value):
    """The value as another type: what a careless writer makes of it."""
    if isinstance(value, str):
        return [value]
    return [value] if isinstance(value, (list, dict)) else json.dumps(value)


@settings(max_examples=150)
@given(VALUES, st.randoms(use_true_random=False))
def test_a_value_matches_itself_in_any_order_of_keys_and_any_layout(gold, random):
    def shuffled(value):
        if isinstance(value, list):
            return [shuffled(item) for item in value]
        if isinstance(value, dict):
            items = [(key, shuffled(part)) for key, part in value.items()]
            random.shuffle(items)
            return dict(items)
        return value

    text = json.dumps(shuffled(gold), indent=random.choice([None, 0, 2]), ensure_ascii=random.random() < 0.5)
    for reply in (text, f"```json\n{text}\n```", f"So:\n\n```json\n{text}\n```\nThat is all."):
        found = score(reply, json.dumps(gold))
        assert (found.value, found.status) == (1.0, "ok"), found.reason
        assert all(part.value == 1.0 for part in found.parts.values())


@settings(max_examples=150)
@given(VALUES, st.data())
def test_one_change_anywhere_is_seen_and_the_parts_name_it(gold, data):
    path = data.draw(st.sampled_from(list(leaves(gold))))
    change = data.draw(st.sampled_from([another, retyped]))
    changed = json.dumps(with_part(gold, path, change))
    found = score(changed, json.dumps(gold))
    assert found.value == 0.0
    assert any(part.value == 0.0 for part in found.parts.values())
    share = score(changed, json.dumps(gold), reward="fraction")
    right = sum(part.passed for part in found.parts.values())
    assert share.value == pytest.approx(right / len(found.parts))


@settings(max_examples=300)
@given(SMALL, SMALL, st.booleans(), st.booleans(), st.sampled_from([(0.0, 0.0), (0.05, 0.0), (0.0, 1.0), (0.1, 0.1)]))
def test_the_verdict_is_the_oracles_under_all_options(gold, value, any_order, ignore, tolerances):
    rel, absolute = tolerances
    for other in (value, gold, another(gold)):
        wanted = is_same(gold, other, rel=rel, absolute=absolute, any_order=any_order, ignore=ignore)
        found = score(
            json.dumps(other), json.dumps(gold), rel_tol=rel, abs_tol=absolute, unordered=any_order,
            extra="ignore" if ignore else "refuse",
        )  # fmt: skip
        assert (found.value == 1.0) == wanted, (gold, other, found.reason)


def test_a_dropped_key_an_added_key_and_a_swapped_list_are_told():
    gold = '{"name": "Ada", "tags": ["x", "y"], "items": [{"price": 3}, {"price": 4}]}'
    rest = '"items": [{"price": 3}, {"price": 4}]'
    cases = {
        f'{{"name": "Ada", {rest}}}': ("tags[0] is missing", 3 / 5),
        f'{{"name": "Ada", "tags": ["y", "x"], {rest}}}': ('tags[0] is "y", not "x"', 3 / 5),
        gold.replace("4", "5"): ("items[1].price is 5, not 4", 4 / 5),
        f'{{"name": "Ada", "tags": ["x", "y"], {rest}, "age": 1}}': ("age is extra", 5 / 6),
        f'{{"name": "Ada", "tags": ["x", "y", "x"], {rest}}}': ("tags[2] is extra", 5 / 6),
        f'{{"name": "Ada", "tags": "x, y", {rest}}}': ('tags[0] is "x, y", not a list', 3 / 5),
    }
    for reply, (told, share) in cases.items():
        assert told in score(reply, gold).reason
        assert score(reply, gold).value == 0.0
        assert score(reply, gold, reward="fraction").value == pytest.approx(share)
    names = set(score(json.loads(gold), gold).parts)
    assert names == {"name", "tags[0]", "tags[1]", "items[0].price", "items[1].price"}


def test_more_keys_never_raise_a_share():
    spam = {"a": 1, **{f"k{number}": 1 for number in range(200)}}
    assert score(spam, '{"a": 1, "b": 2}', reward="fraction").value == pytest.approx(1 / 202)
    assert score(spam, '{"a": 1, "b": 2}', reward="fraction", extra="ignore").value == 0.5


@pytest.mark.parametrize(
    ("gold", "value", "options", "right"),
    [
        (1, 1.0, {}, True), (1, 1.0, {"typed_numbers": True}, False), (1, True, {}, False), (0, False, {}, False),
        (0, None, {}, False), ("1", 1, {}, False), (0.1, math.nextafter(0.1, 1), {}, False),
        (2**53 + 1, 2**53, {}, False), (10**400, 10**400 + 1, {}, False), (10**400, 10**400, {}, True),
        (1.0, 1.1, {"abs_tol": 0.1}, True), (1.0, math.nextafter(1.1, 2), {"abs_tol": 0.1}, False),
        (200, 202, {"rel_tol": 0.01}, True), (200, 202.1, {"rel_tol": 0.01}, False), (0, 1e-9, {"rel_tol": 0.5}, False),
        (-200, -198, {"rel_tol": 0.01}, True), (1, "1", {"abs_tol": 9}, False), (1, True, {"abs_tol": 9}, False),
    ],
)  # fmt: skip
def test_numbers(gold, value, options, right):
    assert (score({"n": value}, json.dumps({"n": gold}), **options).value == 1.0) is right


def test_lists_in_any_order_are_multisets_globally_or_by_path():
    gold = '{"tags": ["x", "x", "y"], "items": [{"ids": [1, 2]}, {"ids": [3]}]}'
    shuffled = '{"items": [{"ids": [1, 2]}, {"ids": [3]}], "tags": ["y", "x", "x"]}'
    deep = '{"items": [{"ids": [3]}, {"ids": [2, 1]}], "tags": ["x", "x", "y"]}'
    assert score(shuffled, gold).value == 0.0
    assert score(shuffled, gold, unordered=("tags",)).value == 1.0
    assert score(shuffled, gold, unordered=("items",)).value == 0.0
    assert score(deep, gold, unordered=("items", "items[*].ids")).value == 1.0
    assert score(deep, gold, unordered=("items",)).value == 0.0
    assert score(deep, gold, unordered=True).value == 1.0
    assert score(gold.replace('["x", "x", "y"]', '["x", "y", "y"]'), gold, unordered=True).value == 0.0
    assert score("[2, 1]", "[1, 2]", unordered=("$",)).value == 1.0


def test_items_within_a_tolerance_find_their_partners_though_the_first_choice_takes_anothers():
    assert score("[1.1, 1.0]", "[1.05, 0.9]", unordered=True, abs_tol=0.1).value == 1.0
    assert score("[1.0, 1.1]", "[1.05, 0.9]", unordered=True, abs_tol=0.1).value == 1.0
    assert score("[1.1, 1.1]", "[1.05, 0.9]", unordered=True, abs_tol=0.1).value == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        '{"a": 1', '{"a": 1,', '{"a": 1, "b"', '[{"a": 1}', '```json\n{"a": 1\n```', '```json\n{"a": 1', '{"a": 1,}',
        'It is {"a": 1', '{"a": 1, "a": 1}', '{"a": NaN}', '{"a": 1} {"a": 2}', '{"a": 1} or {"a": 2}', "{'a': 1}",
        '"{\\"a\\": 1}"', '{"b": {"a": 1}}', '[{"a": 1}]', '{"a": "1"}', '{"a": 1e999}', "a: 1", "", "1",
        'The answer is not {"a": 1}.', 'You say {"a": 1}.', '{"a": 1} is wrong.', 'It is {"a": 2}, or maybe {"a": 1}.',
        '{"a": ' + "9" * 5000 + "}", '{"a": ' * 5000, '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"a": ' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}", '{"a": 1}\n```json\n{"a": 2}\n```',
        '```json\n{"a": 1}\n```\nRather:\n```json\n{"a": 2}\n```', '<think>{"a": 1}</think>{"a": 2}', '<think>{"a": 1}',
    ],
)  # fmt: skip
def test_what_is_cut_broken_ambiguous_denied_or_thought_is_never_right(reply):
    found = score(reply, '{"a": 1}')
    assert (found.value, found.status) == (0.0, "ok")
    assert score(reply, '{"a": 1}', reward="fraction").value == 0.0


@pytest.mark.parametrize("cut", range(1, 40))
def test_every_prefix_of_a_document_is_refused(cut):
    gold = '{"a": [1, {"b": "x"}], "c": {"d": null}}'
    for before in ("", "Here: ", "```json\n"):
        assert score(before + gold[:cut], gold).value == 0.0
    assert score(gold, gold).value == 1.0


@pytest.mark.parametrize(
    "reply",
    [
        '{"a": 1}', 'Sure! {"a": 1}', '{"a": 1}\n\nThis is not null.', '{"b": 2}\n\nNo, it is:\n\n{"a": 1}',
        '```json\n{"a": 2}\n```\nRather:\n```json\n{"a": 1}\n```', '<think>{"a": 2}</think>{"a": 1.0}',
        '<answer>{"a": 1}</answer>', "\\boxed{{\"a\": 1}}", '~~~json\n{ "a" : 1 }\n~~~',
        'If you want JSON, here it is: {"a": 1}', 'It is not {"a": 2}. It is {"a": 1}.',
    ],
)  # fmt: skip
def test_the_document_is_found_where_models_write_it(reply):
    assert score(reply, '{"a": 1}').value == 1.0


def test_several_documents_that_differ_can_be_refused():
    two = '```json\n{"a": 2}\n```\nRather:\n```json\n{"a": 1}\n```'
    assert score(two, '{"a": 1}', several="reject").value == 0.0
    assert score(two.replace("2", "1.0"), '{"a": 1}', several="reject").value == 1.0


def test_golds_come_as_text_as_values_as_several_and_under_a_key_of_the_row():
    verifier = JsonMatch()
    for value in ({"a": [1]}, [{"a": 1}], [1, 2.5], 5, None, "5"):
        text = value if isinstance(value, str) else json.dumps(value)
        assert verifier(text, "no JSON", expected=value).filled(0.0) == float(value is not None)
    assert verifier('{"a": 2}', ['{"a": 1}', '{"a": 2}']).value == 1.0
    assert verifier('{"a": 3}', ['{"a": 1}', '{"a": 2}']).value == 0.0
    assert verifier('{"a": 1}', "no JSON", expected={"a": 1}).value == 1.0
    assert verifier('["x", "y"]', '["x", "y"]').value == 1.0
    assert verifier('"x"', '"x"').value == 1.0


@pytest.mark.parametrize(
    "gold", [None, "", "{", '{"a": 1,}', '{"a": 1, "a": 2}', "NaN", "1e999", "[" * 200 + "]" * 200, {"a": {1, 2}}]
)
def test_a_gold_that_is_no_json_is_the_datas_fault(gold):
    found = score('{"a": 1}', gold)
    assert (found.value, found.status) == (None, "error")


@pytest.mark.parametrize(
    "options",
    [{"rel_tol": -1}, {"rel_tol": 1}, {"abs_tol": math.inf}, {"abs_tol": math.nan}, {"extra": "x"}, {"reward": "x"},
     {"several": "x"}, {"unordered": ("",)}, {"unordered": (1,)}, {"max_chars": 0}],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(UsageError):
        JsonMatch(**options)


def test_a_spec_can_name_every_option():
    verifier = load_spec("json_match(rel_tol=0.01, unordered=['tags'], extra='ignore', reward='fraction')")
    assert verifier == JsonMatch(rel_tol=0.01, unordered=["tags"], extra="ignore", reward="fraction")
    assert load("json_match(unordered='tags')") == JsonMatch(unordered=("tags",))


@settings(max_examples=150)
@given(SMALL, SMALL, st.booleans())
def test_equal_answers_share_a_key_and_different_ones_do_not(a, b, any_order):
    verifier = JsonMatch(unordered=any_order)
    first, second = json.dumps(a), json.dumps(b)
    assert verifier.equal(first, second) == is_same(a, b, any_order=any_order)
    assert (verifier.keys(first) == verifier.keys(second)) == verifier.equal(first, second)


HOSTILE = [
    "{", "[", '{"a":', '{"a":1}', "[[1", '"', "\\", '{"a":1} ', "[1] ", '{"', "```json\n", "1,", "9", '{"a":1} or ',
    '"a":', "not ", "}{", "][", '{"a":[{},', "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_work_on_hostile_text_is_linear(unit):
    verifier = JsonMatch(unordered=True, abs_tol=0.1, reward="fraction")
    check_linear(lambda text: verifier(text, '{"a": [1, 2, {"b": [3]}]}'), unit)


def test_unordered_lists_that_differ_everywhere_end_by_a_limit():
    many = json.dumps([[number, [number]] for number in range(3000)])
    other = json.dumps([[number + 0.5, [number]] for number in range(3000)])
    verifier = JsonMatch(unordered=True, abs_tol=0.1)
    assert verifier(many, many).value == 1.0
    assert verifier(other, many).value == 0.0


def test_integers_that_hash_alike_take_no_longer():
    step = 2**61 - 1
    verifier = JsonMatch(unordered=True, abs_tol=0.1)
    check_linear(lambda text: verifier(f"[{text}1]", "[1, 2]"), f"{step * 4},")
    check_linear(lambda text: verifier(f"[{','.join(str(step * i) for i in range(len(text) // 22))}]", "[1, 2]"), "x")


def test_half_of_a_surrogate_pair_can_be_told():
    samples = [Sample("", '{"\\ud800": "\\ud800"}', '{"a": "x", "\\udfff": "\\udfff"}')]
    found = JsonMatch().score(samples)[0]
    found.reason.encode()
    assert all(name.encode() for name in found.parts)
