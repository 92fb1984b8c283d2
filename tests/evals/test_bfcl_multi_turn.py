"""The BFCL multi-turn task: turns, results and verdicts, on made rows and on the leaderboard's own."""

import json
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import Scripted, down, write
from tests.verifiers.test_bfcl_multi_turn import ROW
from verikit.errors import MissingExtra, SchemaError
from verikit.evals.bfcl_multi_turn import MAX_STEPS, prompt
from verikit.evals.data import read_docs
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks
from verikit.evals.samples import read_samples
from verikit.verifiers.tools import bfcl_multi_turn

TASK = "verikit_bfcl_multi_turn"
FIRST = "Show me a.txt, then move it."
ASKED = [[{"role": "user", "content": text}] for text in (FIRST, "And?", "Go there.")]
ROWS = [ROW | {"id": "multi_turn_base_0", "question": ASKED}]
SAID = [
    ["[cat(file_name='a.txt')]", "[mv(source='a.txt', destination='sub')]", "Done."],
    ["Which?"],
    ["[cd(folder='sub')]", "Done."],
]


@pytest.fixture(autouse=True)
def _services():
    for package in ("bfcl_eval", "mpmath"):
        pytest.importorskip(package, reason="pip install --no-deps bfcl-eval mpmath")


def run(tmp_path, data, answer, **settings):
    lm = EngineLM(Scripted(answer), seed=0)
    found = run_tasks([TASK], "scripted", lm, Settings(**({"data": data, "chat": True} | settings)), tmp_path / "run")
    samples = read_samples(tmp_path / "run" / f"samples_{TASK}.jsonl")
    return found["tasks"][TASK], samples, [request for batch in lm.engine.calls for request in batch]


def place(request):
    """The first message, and in which turn and step a request is."""
    messages = [message for message in request.prompt if message["role"] != "system"]
    turn = step = -1
    for message in messages:
        if message["role"] == "user" and message["content"].startswith("[{'role': 'tool'"):
            step += 1
        elif message["role"] == "user":
            turn, step = turn + 1, 0
    return messages[0]["content"], turn, step


def by_place(request):
    _, turn, step = place(request)
    return SAID[turn][step]


def accuracy(found):
    assert not found["unscored"], found
    return found["metrics"]["acc"]["value"]


def test_the_model_reads_results_until_it_makes_no_more_calls(tmp_path):
    found, (sample,), requests = run(tmp_path, write(tmp_path / "rows.jsonl", ROWS), by_place)
    assert accuracy(found) == 1.0
    assert len(requests) == 6
    assert json.loads(sample["resps"][0][0]) == SAID
    system, *messages = requests[1].prompt
    assert system["role"] == "system"
    assert '"name": "mv"' in system["content"]
    assert messages == [
        ASKED[0][0],
        {"role": "assistant", "content": SAID[0][0]},
        {
            "role": "user",
            "content": repr(
                [{"role": "tool", "name": "cat(file_name='a.txt')", "content": '{"file_content": "one two"}'}]
            ),
        },
    ]


def test_a_model_without_conversations_continues_a_text(tmp_path):
    said = iter([*SAID[0], *SAID[1], *SAID[2]])
    found, _, requests = run(tmp_path, write(tmp_path / "rows.jsonl", ROWS), lambda request: next(said), chat=False)
    assert accuracy(found) == 1.0
    assert requests[-1].prompt.endswith("\nAssistant:")
    assert f"\nUser: {FIRST}\nAssistant: {SAID[0][0]}\nUser: [" in requests[-1].prompt
    assert "\nUser:" in requests[0].stop


@pytest.mark.parametrize(
    "reply",
    [
        "I can't.",
        "[cat(file_name='a.txt'), mv(source='a.txt')]",
        "[cat(file_name='a.txt')], [mv(source='a.txt', destination='sub')]",
        "[os.system(command='x')]",
        "[mv('a.txt', 'sub')]",
    ],
)
def test_other_replies_are_wrong_and_scored(reply, tmp_path):
    def answer(request):
        return by_place(request) if place(request)[1] else reply if place(request)[2] == 0 else "Done."

    found, _, _ = run(tmp_path, write(tmp_path / "rows.jsonl", ROWS), answer)
    assert accuracy(found) == 0.0


def test_calls_without_end_end_the_conversation_with_a_wrong_verdict(tmp_path):
    found, (sample,), requests = run(tmp_path, write(tmp_path / "rows.jsonl", ROWS), lambda request: "[ls()]")
    assert accuracy(found) == 0.0
    assert len(requests) == MAX_STEPS + 1
    assert [len(turn) for turn in json.loads(sample["resps"][0][0])] == [MAX_STEPS + 1]


def test_thoughts_are_neither_shown_again_nor_read_for_calls(tmp_path):
    def answer(request):
        assert not any("<think>" in message["content"] for message in request.prompt)
        return f"<think>[rm(file_name='a.txt')]</think>\n{by_place(request)}"

    found, _, _ = run(tmp_path, write(tmp_path / "rows.jsonl", ROWS), answer)
    assert accuracy(found) == 1.0


def test_a_request_that_fails_and_services_that_can_not_be_set_up_leave_a_row_unscored_and_others_go_on(tmp_path):
    rows = [
        ROWS[0],
        ROWS[0] | {"id": "b_1", "question": [[{"role": "user", "content": "Fail."}], *ASKED[1:]]},
        ROWS[0] | {"id": "c_2", "initial_config": {"GorillaFileSystem": {"root": 7}}},
    ]
    found, _, _ = run(
        tmp_path,
        write(tmp_path / "rows.jsonl", rows),
        lambda request: down(request) if place(request)[0] == "Fail." else by_place(request),
    )
    assert found["metrics"]["acc"] | {"value": 1.0, "n": 1} == found["metrics"]["acc"]
    assert sum(found["unscored"].values()) == 2


def test_a_missed_function_is_shown_when_its_turn_comes(tmp_path):
    row = ROWS[0] | {"id": "multi_turn_miss_func_0", "missed_function": {"1": ["mv"]}}
    row |= {"question": [ASKED[0], [], ASKED[2]]}
    row |= {"ground_truth": [["cat('a.txt')"], ["mv('a.txt', 'sub')"], ["cd('sub')"]]}
    data = write(tmp_path / "rows.jsonl", [row])
    (doc,) = read_docs(data, "services")
    assert '"name": "mv"' not in prompt(doc)
    said = [["[cat(file_name='a.txt')]", "I can't move it."], [SAID[0][1], "Done."], SAID[2]]
    found, _, requests = run(tmp_path, data, lambda request: said[place(request)[1]][place(request)[2]])
    assert accuracy(found) == 1.0
    shown = requests[2].prompt[-1]["content"]
    assert "'name': 'mv'" in shown
    assert shown.endswith("\nI have updated some more functions you can choose from. What about now?")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"ground_truth": None}, "ground_truth"),
        ({"ground_truth": [[]]}, "ground_truth"),
        ({"involved_classes": ["os"]}, "involved_classes"),
        ({"initial_config": None}, "initial_config"),
        ({"question": [["x"]]}, "question"),
    ],
)
def test_a_row_of_another_form_is_an_error_with_its_field(change, field, tmp_path):
    with pytest.raises(SchemaError) as told:
        read_docs(write(tmp_path / "rows.jsonl", [ROWS[0] | change]), "services")
    assert told.value.field == field


def test_without_the_package_the_extra_is_named_before_anything_is_asked(monkeypatch, tmp_path):
    monkeypatch.setattr(bfcl_multi_turn, "_installed", lambda: False)
    with pytest.raises(MissingExtra, match="bfcl"):
        run(tmp_path, write(tmp_path / "rows.jsonl", ROWS), by_place)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("category", ["base", "miss_func", "miss_param", "long_context"])
def test_rows_of_the_leaderboard_show_its_own_results_and_get_its_own_verdicts(category, tmp_path):
    import bfcl_eval
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call

    from benchmarks.bfcl_multi_turn import named, rows

    file = Path(bfcl_eval.__file__).parent / "data" / f"BFCL_v4_multi_turn_{category}.json"
    chosen = list(rows(category))[:4]
    golds = {
        row["question"][0][0]["content"]: [[named(call, row) for call in calls] for calls in expected]
        for row, expected in chosen
    }
    assert len(golds) == 4

    def answer(request):
        first, turn, step = place(request)
        calls = golds[first][turn]
        return f"[{calls[step]}]" if step < len(calls) else "Done."

    found, _, requests = run(tmp_path, str(file), answer, limit=4)
    assert accuracy(found) == 1.0
    for row, _ in chosen:
        first = row["question"][0][0]["content"]
        last = [request for request in requests if place(request)[0] == first][-1]
        shown = [message["content"] for message in last.prompt if message["content"].startswith("[{'role': 'tool'")]
        calls = [call for turn in golds[first] for call in turn]
        results, _ = execute_multi_turn_func_call(
            calls, row["initial_config"], row["involved_classes"], f"t_{category}", row["id"],
            long_context=category == "long_context",
        )  # fmt: skip
        for text, result in zip(shown, results, strict=False):
            assert repr(result) in text

    lost = {first: [calls[:-1] for calls in turns] for first, turns in golds.items()}
    golds.update(lost)
    found, _, _ = run(tmp_path / "lost", str(file), answer, limit=4)
    assert accuracy(found) == 0.0
