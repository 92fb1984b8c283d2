"""How rows become groups: mapping, ids, grouping, and what a row lacking something is told."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import SchemaError, UsageError
from verikit.readers import read
from verikit.types import Group

DATA = Path(os.environ.get("VERIKIT_DATA", Path(__file__).parents[3] / "shared/data"))


@pytest.fixture
def read_rows(tmp_path):
    def run(*rows, **options):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return list(read(path, **options))

    return run


def test_mapped_keys_are_taken_and_the_rest_is_kept(read_rows):
    row = {"idx": 3, "problem": "p", "gold": 4, "candidates": [{"text": "a", "rm": 1.5}], "level": 2}
    mapping = {"prompt": "problem", "completions": "candidates", "answer": "gold", "id": "idx"}
    assert read_rows(row, mapping=mapping) == [Group("p", ["a"], "4", "3", {"level": 2}, [{"rm": 1.5}])]


def test_dotted_paths_reach_into_objects_and_lists(read_rows):
    row = {"prompt": "p", "out": [{"text": ["x", "y"]}], "gold": {"value": "5", "kind": "int"}}
    [group] = read_rows(row, mapping={"completions": "out.0.text", "answer": "gold.value"})
    assert (group.completions, group.answer) == (["x", "y"], "5")
    assert group.meta["gold"] == {"kind": "int"}


def test_a_key_with_dots_in_it_comes_before_a_path(read_rows):
    [group] = read_rows({"a.b": "literal", "a": {"b": "path"}, "completions": ["c"]}, mapping={"prompt": "a.b"})
    assert group.prompt == "literal"


def test_one_key_may_serve_two_fields(read_rows):
    [group] = read_rows({"q": "text", "completions": ["c"]}, mapping={"prompt": "q", "id": "q"})
    assert (group.prompt, group.id, group.meta) == ("text", "text", {})


def test_a_mapped_key_that_is_absent_is_an_error_not_a_null(read_rows):
    [error] = read_rows({"prompt": "p", "completions": ["c"]}, mapping={"answer": "gold"})
    assert isinstance(error, SchemaError)
    assert error.field == "answer"
    assert "'gold'" in str(error)


def test_no_prompt_is_allowed_only_where_the_caller_says_so(read_rows):
    row = {"completions": ["c"], "answer": "c"}
    [error] = read_rows(row)
    assert error.field == "prompt"
    assert "--map prompt= " in error.hint
    [group] = read_rows(row, mapping={"prompt": ""})
    assert group.prompt == ""


def test_a_row_without_what_is_needed_is_told_its_keys_and_the_map_that_helps(read_rows):
    row = {"idx": 0, "problem": "p", "gold": "5", "solution": "…", "candidates": []}
    [error] = read_rows(row)
    assert (error.line, error.field) == (1, "completions")
    assert "'idx', 'problem', 'gold', 'solution', 'candidates'" in str(error)
    assert error.hint == "--map prompt=problem --map completions=candidates --map answer=gold --map id=idx"


def test_a_likely_gold_that_is_not_read_is_noted_once(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "p", "completions": ["c"], "gold": "5"}\n' * 3)
    reader = read(path)
    assert [group.answer for group in reader] == [None] * 3
    assert len(reader.notes) == 1
    assert "--map answer=gold" in reader.notes[0]


def test_rows_without_an_id_are_named_by_their_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('\n{"prompt": "p", "completions": ["c"]}\n\n{"prompt": "p", "completions": ["c"], "id": null}\n')
    assert [group.id for group in read(path)] == ["line:2", "line:4"]


def test_single_completions_of_one_id_become_one_group(read_rows):
    rows = [{"id": i, "prompt": f"p{i}", "completion": {"text": c, "rm": r}} for i, c, r in ((1, "a", 1), (1, "b", 2))]
    last = {"id": 2, "prompt": "p2", "completion": "c"}
    assert read_rows(*rows, last) == [
        Group("p1", ["a", "b"], None, "1", {}, [{"rm": 1}, {"rm": 2}]),
        Group("p2", ["c"], None, "2"),
    ]


def test_a_bad_row_does_not_split_its_group(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = '{"id": "a", "prompt": "p", "completion": "c"}\n'
    path.write_text(row + "{bad\n" + row)
    group, error = read(path)
    assert error.line == 2
    assert group.completions == ["c", "c"]


def test_a_group_does_not_wait_for_its_last_row_behind_any_number_of_bad_ones(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = '{"id": "a", "prompt": "p", "completion": "c"}\n'
    path.write_text(row + "{bad\n" * 3000 + row)
    *items, repeated = read(path)
    assert repeated.field == "id"
    items = iter(items)
    assert next(items).completions == ["c"]
    assert [item.line for item in items] == list(range(2, 3002))


def test_rows_of_one_prompt_with_other_golds_stay_apart(read_rows):
    groups = read_rows(*({"prompt": "p", "completion": "c", "answer": a} for a in "xxy"))
    assert [(g.answer, len(g.completions)) for g in groups] == [("x", 2), ("y", 1)]


def test_rows_with_neither_id_nor_prompt_stay_apart(read_rows):
    assert len(read_rows(*[{"completion": "c"}] * 3, mapping={"prompt": ""})) == 3


def test_a_repeated_id_is_an_error_that_names_both_lines(read_rows):
    rows = [{"id": i, "prompt": "p", "completions": ["c"]} for i in ("a", "b", "a")]
    *groups, error = read_rows(*rows)
    assert [group.id for group in groups] == ["a", "b"]
    assert (error.line, error.field) == (3, "id")
    assert "'a'" in error.problem
    assert "line 1" in error.problem


def test_one_id_for_two_prompts_is_an_error(read_rows):
    group, error = read_rows(*({"id": 1, "prompt": p, "completion": "c"} for p in "pq"))
    assert group.prompt == "p"
    assert (error.line, error.field) == (2, "id")


@pytest.mark.parametrize(
    ("over", "field"),
    [
        ({"completions": []}, "completions"),
        ({"completions": None}, "completions"),
        ({"completions": [1]}, "completions[0]"),
        ({"completions": ["a", {"rm": 1}]}, "completions[1]"),
        ({"completions": ["a", {"text": 5}]}, "completions[1].text"),
        ({"completions": [[]]}, "completions[0]"),
        ({"completions": [["a"]]}, "completions[0][0]"),
        ({"completions": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}, "completions"),
        ({"completions": 5}, "completion"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": ["a"]}, "prompt[0]"),
        ({"prompt": [{"content": "a"}]}, "prompt[0]"),
        ({"prompt": [{"role": "user", "content": 5}]}, "prompt[0]"),
        ({"answer": {}}, "answer"),
        ({"answer": {"value": 5}}, "answer"),
        ({"answer": []}, "answer"),
        ({"answer": ["a", None]}, "answer[1]"),
        ({"id": ["a"]}, "id"),
        ({"meta": [1]}, "meta"),
    ],
)
def test_a_wrong_type_names_file_line_and_field_and_the_next_row_is_read(read_rows, over, field):
    good = {"id": "q", "prompt": "p", "completions": ["c"], "answer": "a", "meta": {}}
    error, group = read_rows(good | over, good)
    assert isinstance(error, SchemaError)
    assert error.file.endswith("rows.jsonl")
    assert (error.line, error.field) == (1, field)
    assert group.id == "q"


def test_a_mapping_or_format_that_can_not_be_is_refused_at_once():
    with pytest.raises(UsageError, match="'prompts'"):
        read("x", mapping={"prompts": "q"})
    with pytest.raises(UsageError, match="names no key"):
        read("x", mapping={"answer": ""})
    with pytest.raises(UsageError, match="'xls'"):
        read("x", format="xls")
    with pytest.raises(UsageError, match="no file of gold answers"):
        read("x", mapping={"gold.answer": "label"})
    with pytest.raises(UsageError, match="mapped twice"):
        read("x", mapping={"text": "out", "completion": "reply"})


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5))
json_values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3)
)
reserved = {
    "prompt",
    "completions",
    "completion",
    "answer",
    "id",
    "meta",
    *("reward_model", "data_source", "doc", "resps"),
}
keys = st.text(max_size=6).filter(lambda key: key not in reserved)
messages = st.lists(
    st.fixed_dictionaries({"role": st.just("user"), "content": st.text(max_size=5)}), min_size=1, max_size=2
)
rows = st.fixed_dictionaries(
    {
        "prompt": st.text(max_size=5) | messages,
        "completions": st.lists(
            st.text(max_size=8)
            | st.dictionaries(keys.filter(lambda k: k not in ("role", "message")), json_values).map(
                lambda own: {**own, "text": "t"}
            ),
            min_size=1,
            max_size=3,
        ),
        "answer": st.none() | st.text(max_size=5) | st.lists(st.text(max_size=3), min_size=1, max_size=2),
        "meta": st.dictionaries(keys, json_values, max_size=3),
    }
)


@given(st.lists(rows, min_size=1, max_size=4))
def test_our_own_rows_come_back_as_they_were_written(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(json.dumps(row | {"id": f"q{n}"}) + "\n" for n, row in enumerate(written)))
    groups = list(read(path))
    assert [group.id for group in groups] == [f"q{n}" for n in range(len(written))]
    for group, row in zip(groups, written, strict=True):
        assert (group.prompt, group.answer, group.meta) == (row["prompt"], row["answer"], row["meta"])
        own = group.candidate_meta or [{}] * len(group.completions)
        assert [(text, dict(keys)) for text, keys in zip(group.completions, own, strict=True)] == [
            (c, {}) if isinstance(c, str) else (c["text"], {k: v for k, v in c.items() if k != "text"})
            for c in row["completions"]
        ]


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
@pytest.mark.parametrize(
    ("name", "prompt", "completions", "answer", "groups", "candidates"),
    [
        ("bon/qwen_math_cot_100.jsonl", "problem", "candidates", "gold", 32, 256),
        ("mmlu_pro/Phi-3-mini-4k-instruct.jsonl", "question", "text", "answer", 406, 406),
        ("questions/tora70b_gsm8k_outputs.jsonl", "", "code", "gold", 448, 448),
        ("multihop/r1s_hotpotqa_qwen.jsonl", "question", "pred", "answer", 174, 174),
    ],
)
def test_real_candidate_files_are_read_whole(name, prompt, completions, answer, groups, candidates):
    found = list(read(DATA / name, mapping={"prompt": prompt, "completions": completions, "answer": answer}))
    assert not [item for item in found if isinstance(item, SchemaError)]
    assert (len(found), sum(len(group.completions) for group in found)) == (groups, candidates)
    assert all(sample.completion and sample.answer for group in found for sample in group.samples())


def test_the_columns_of_a_plain_table_are_guessed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("uid,q,reply,label\n1,2+2?,4,4\n", encoding="utf-8")
    [error] = read(path)
    assert error.hint == "--map prompt=q --map completions=reply --map answer=label --map id=uid"
