"""Each outside format, in rows as its own tool writes them, becomes the right groups."""

import json

import pytest

from verikit import code
from verikit.errors import SchemaError
from verikit.readers import read

CHAT = [{"role": "user", "content": "2+3?"}]


@pytest.fixture
def read_rows(tmp_path):
    def run(*rows, name="rows.jsonl", **options):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        reader = read(path, **options)
        return list(reader), reader

    return run


def lm_eval_row(doc_id, filter, resps, prompt="2+3="):
    return {
        "doc_id": doc_id,
        "doc": {"question": "2+3", "answer": 5},
        "target": "5",
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}},
        "resps": resps,
        "filtered_resps": [resps[0][0]],
        "filter": filter,
        "metrics": ["exact_match"],
        "doc_hash": "a",
        "prompt_hash": "b",
        "target_hash": "c",
        "exact_match": 1.0,
    }


def test_our_own_row_keeps_every_field(read_rows):
    row = {"id": "q", "prompt": CHAT, "completions": ["5", "6"], "answer": ["5", "five"], "meta": {"level": 3}}
    [group], reader = read_rows(row)
    assert (group.id, group.prompt, group.completions, group.answer) == ("q", CHAT, ["5", "6"], ["5", "five"])
    assert group.meta == {"level": 3}
    assert not group.candidate_meta
    assert reader.format == "verikit"


def test_extra_keys_go_to_meta_and_the_rows_own_meta_wins(read_rows):
    [group], _ = read_rows({"prompt": "p", "completions": ["c"], "level": 1, "kind": "x", "meta": {"level": 2}})
    assert group.meta == {"level": 2, "kind": "x"}


def test_candidate_objects_keep_their_own_keys(read_rows):
    [group], _ = read_rows(
        {"prompt": "p", "completions": [{"text": "a", "rm": 0.5}, {"solution": "b", "rm": -1}, "c", {"output": "d"}]}
    )
    assert group.completions == ["a", "b", "c", "d"]
    assert group.candidate_meta == [{"rm": 0.5}, {"rm": -1}, {}, {}]


def test_the_first_text_key_in_the_documented_order_is_the_text(read_rows):
    [group], _ = read_rows({"prompt": "p", "completions": [{"solution": "s", "response": "r", "content": "c"}]})
    assert group.completions == ["c"]
    assert group.candidate_meta == [{"solution": "s", "response": "r"}]


def test_a_conversations_text_is_the_last_its_assistant_says(read_rows):
    turns = [
        {"role": "assistant", "content": "let me look"},
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "text", "text": "it is 42"}]},
    ]
    [group], _ = read_rows({"prompt": CHAT, "completions": [turns, "x"]})
    assert group.completions == ["it is 42", "x"]
    assert group.candidate_meta == [{"messages": turns}, {}]


def test_numbers_as_answers_keep_their_json_text(read_rows):
    rows = [{"prompt": "p", "completions": ["c"], "answer": answer} for answer in (27.0, 27, True, None, [1, "one"])]
    groups, _ = read_rows(*rows)
    assert [group.answer for group in groups] == ["27.0", "27", "true", None, ["1", "one"]]


def test_lm_eval_samples_are_read_once_for_each_document(read_rows):
    rows = [lm_eval_row(i, name, [["5", "6"]]) for name in ("strict", "flexible") for i in (0, 1)]
    groups, reader = read_rows(*rows)
    assert [(group.id, group.prompt, group.completions, group.answer) for group in groups] == [
        ("0", "2+3=", ["5", "6"], "5"),
        ("1", "2+3=", ["5", "6"], "5"),
    ]
    assert groups[0].meta["exact_match"] == 1.0
    assert groups[0].meta["doc"] == {"question": "2+3", "answer": 5}
    assert "resps" not in groups[0].meta
    assert reader.format == "lm-eval"
    assert len(reader.notes) == 1
    assert "'strict'" in reader.notes[0]


def test_lm_eval_chat_prompts_are_messages(read_rows):
    [group], _ = read_rows(lm_eval_row(0, "none", [["5"]], prompt=[json.dumps(CHAT)]))
    assert group.prompt == CHAT


def test_lm_eval_log_likelihoods_are_no_text(read_rows):
    [error], _ = read_rows(lm_eval_row(0, "none", [[["-1.5", "False"]], [["-2.5", "True"]]]))
    assert isinstance(error, SchemaError)
    assert error.field == "resps"


def test_an_lm_eval_gold_can_be_mapped_out_of_the_document(read_rows):
    [group], _ = read_rows(lm_eval_row(0, "none", [["5"]]), mapping={"answer": "doc.answer"})
    assert group.answer == "5"
    assert group.meta["target"] == "5"


def batch_line(custom_id, *texts, **over):
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text, "refusal": None}, "finish_reason": "stop"}
        for i, text in enumerate(texts)
    ]
    body = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": choices, "usage": {"n": 1}}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": None} | over


def test_openai_batch_output_is_read_without_prompts(read_rows):
    [group], reader = read_rows(batch_line("q1", "5", None))
    assert (group.id, group.prompt, group.completions) == ("q1", "", ["5", ""])
    assert group.candidate_meta[0]["finish_reason"] == "stop"
    assert group.meta["response"]["body"] == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "usage": {"n": 1},
    }
    assert reader.format == "openai"


@pytest.mark.parametrize(
    "failed",
    [
        batch_line("bad", response=None, error={"code": "batch_expired", "message": "ran out of time"}),
        batch_line("bad", response={"status_code": 400, "body": {"error": {"message": "ran out of time"}}}),
    ],
)
def test_a_failed_batch_line_is_an_error_and_the_others_are_kept(read_rows, failed):
    (error, group), _ = read_rows(failed, batch_line("good", "5"))
    assert isinstance(error, SchemaError)
    assert (error.line, error.field) == (1, "error")
    assert "ran out of time" in str(error)
    assert group.id == "good"


def test_a_logged_request_and_response_have_both_prompt_and_choices(read_rows):
    response = batch_line("x", "5")["response"]["body"]
    [group], _ = read_rows({"request": {"model": "m", "messages": CHAT}, "response": response})
    assert (group.prompt, group.completions) == (CHAT, ["5"])


def test_a_request_without_a_response_says_so(read_rows):
    [error], _ = read_rows({"custom_id": "q", "method": "POST", "url": "/v1", "body": {"messages": CHAT}})
    assert error.field == "completions"


def test_a_conversation_ending_in_the_assistant_is_prompt_and_completion(read_rows):
    [group], _ = read_rows({"messages": [*CHAT, {"role": "assistant", "content": "5"}]})
    assert (group.prompt, group.completions) == (CHAT, ["5"])


@pytest.mark.parametrize("key", ["ground_truth", "solution"])
def test_trl_columns_name_the_gold(read_rows, key):
    reply = [{"role": "assistant", "content": "5"}]
    (plain, chat), reader = read_rows(
        {"prompt": "2+3?", "completion": "5", key: "5"}, {"prompt": CHAT, "completions": [reply, reply], key: "5"}
    )
    assert (plain.prompt, plain.completions, plain.answer) == ("2+3?", ["5"], "5")
    assert (chat.prompt, chat.completions, chat.answer) == (CHAT, ["5", "5"], "5")
    assert reader.format == "trl"


def test_trl_completion_logs_gather_the_candidates_of_one_prompt(read_rows):
    rows = [
        {"step": 3, "prompt": p, "completion": c, "accuracy_reward": r, "advantage": 0.0}
        for p, c, r in [("a", "1", 0.0), ("a", "2", 1.0), ("b", "3", 1.0)]
    ]
    (first, second), _ = read_rows(*rows)
    assert (first.id, first.completions, second.id, second.completions) == ("line:1", ["1", "2"], "line:3", ["3"])
    assert first.meta == {"step": 3, "advantage": 0.0}
    assert first.candidate_meta == [{"accuracy_reward": 0.0}, {"accuracy_reward": 1.0}]
    assert second.meta["accuracy_reward"] == 1.0


@pytest.mark.parametrize("key", ["responses", "response", "output"])
def test_verl_rows_keep_the_gold_inside_reward_model(read_rows, key):
    row = {
        "data_source": "gsm8k",
        "prompt": CHAT,
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "5"},
        "extra_info": {"index": 7, "split": "test"},
        key: ["5", "6"] if key == "responses" else "5",
    }
    [group], reader = read_rows(row)
    assert (group.prompt, group.answer, group.completions[0]) == (CHAT, "5", "5")
    assert group.meta["reward_model"] == {"style": "rule"}
    assert group.meta["extra_info"] == {"index": 7, "split": "test"}
    assert reader.format == "verl"


def test_verl_validation_dumps_gather_the_outputs_of_one_input(read_rows):
    rows = [{"input": "2+3?", "output": o, "gts": "5", "score": s, "step": 10} for o, s in (("5", 1.0), ("6", 0.0))]
    [group], reader = read_rows(*rows)
    assert (group.prompt, group.completions, group.answer) == ("2+3?", ["5", "6"], "5")
    assert group.candidate_meta == [{"score": 1.0}, {"score": 0.0}]
    assert reader.format == "verl-dump"


def test_bigcodebench_problems_are_scored_by_their_bodies_and_by_whole_programs(read_rows):
    prompt = 'import math\n\ndef task_func(x):\n    """\n    The root.\n    """\n'
    test = (
        "import unittest\nclass TestCases(unittest.TestCase):\n"
        "    def test_root(self):\n        self.assertEqual(task_func(9), 3.0)\n"
        "    def test_none(self):\n        with self.assertRaises(ValueError):\n            task_func(-1)\n"
    )
    body = "    return math.sqrt(x)"
    row = {
        "complete_prompt": prompt, "instruct_prompt": "Write task_func.", "canonical_solution": body,
        "code_prompt": "import math\ndef task_func(x):\n", "test": test, "entry_point": "task_func", "libs": "['math']",
    }  # fmt: skip
    texts = [body, f"```python\n{prompt}{body}\n```", "    return 3.0"]
    groups, reader = read_rows(*({"task_id": f"B/{i}", **row, "completion": text} for i, text in enumerate(texts)))
    assert reader.format == "bigcodebench"
    assert [group.id for group in groups] == ["B/0", "B/1", "B/2"]
    assert [score.value for group in groups for score in code().score(group.samples())] == [1.0, 1.0, 0.0]


def test_alpaca_eval_outputs_are_read_from_one_array(tmp_path):
    rows = [
        {"dataset": "helpful_base", "instruction": f"say {c}", "output": f'{c}, "[{{"', "generator": "m"} for c in "ab"
    ]
    path = tmp_path / "model_outputs.json"
    path.write_text(json.dumps(rows, indent=2))
    reader = read(path)
    groups = list(reader)
    assert [(g.id, g.prompt, g.completions) for g in groups] == [
        ("line:1", "say a", ['a, "[{"']),
        ("line:2", "say b", ['b, "[{"']),
    ]
    assert reader.format == "alpaca_eval"


def test_the_format_can_be_named_where_the_keys_mislead(read_rows):
    row = {"instruction": "i", "output": "o", "prompt": "p", "completion": "c"}
    [told], _ = read_rows(row)
    [named], _ = read_rows(row, format="alpaca_eval")
    assert (told.completions, named.completions) == (["c"], ["o"])
