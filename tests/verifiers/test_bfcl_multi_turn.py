"""BFCL's multi-turn rows: the state and the results of its own services decide, turn by turn."""

import json

import pytest

import verikit
from verikit.errors import MissingExtra
from verikit.types import Sample
from verikit.verifiers.tools import bfcl_multi_turn

CONFIG = {
    "GorillaFileSystem": {
        "root": {
            "workspace": {
                "type": "directory",
                "contents": {
                    "a.txt": {"type": "file", "content": "one two"},
                    "sub": {"type": "directory", "contents": {}},
                },
            }
        }
    }
}
ROW = {
    "initial_config": CONFIG,
    "involved_classes": ["GorillaFileSystem"],
    "ground_truth": [["cat('a.txt')", "mv(source='a.txt', destination='sub')"], [], ["cd(folder='sub')"]],
}
RIGHT = [
    ["[cat(file_name='a.txt'), mv(source='a.txt', destination='sub')]", "Done."],
    ["Which one?"],
    ["[cd(folder='sub')]"],
]


@pytest.fixture
def verifier():
    for package in ("bfcl_eval", "mpmath"):
        pytest.importorskip(package, reason="pip install --no-deps bfcl-eval mpmath")
    return verikit.bfcl_multi_turn()


def score(verifier, turns, **row):
    return verifier(json.dumps(turns), **(ROW | row))


def test_the_expected_calls_are_right_as_a_result_and_as_messages(verifier):
    assert score(verifier, RIGHT).value == 1.0
    messages = [{"role": "user", "content": "Move it."}]
    for name, arguments in (("cat", {"file_name": "a.txt"}), ("mv", {"source": "a.txt", "destination": "sub"})):
        call = {"function": {"name": name, "arguments": json.dumps(arguments)}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "content": "x"}]
    messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "And?"}]
    messages += [{"role": "assistant", "content": "Which one?"}, {"role": "user", "content": "Go there."}]
    messages += [{"role": "assistant", "content": "[cd(folder='sub')]"}]
    assert verifier(messages, **ROW).value == 1.0
    assert verifier(messages[:-1], **ROW).value == 0.0


@pytest.mark.parametrize(
    "changed",
    [
        [["[cat(file_name='a.txt')]"], [], ["[cd(folder='sub')]"]],  # the state differs
        [["[mv(source='a.txt', destination='sub')]"], [], ["[cd(folder='sub')]"]],  # a result is missing
        [["[cat(file_name='b.txt'), mv(source='a.txt', destination='sub')]"], [], ["[cd(folder='sub')]"]],
        [RIGHT[0], [], []],  # no call in a turn that needs one
        RIGHT[:2],  # a turn is missing
        [RIGHT[0], [], ["[cd(folder='sub'), mkdir(dir_name='new')]"]],
        [RIGHT[0], [], ["[__init__(), _load_scenario(scenario={})]"]],
        [RIGHT[0], [], ["[cd(folder=__import__('os').getcwd())]"]],
        [[["x"]], 1, None],
        "no turns",
    ],
)
def test_other_states_results_and_turns_are_wrong(verifier, changed):
    found = score(verifier, changed)
    assert (found.value, found.status) == (0.0, "ok"), found
    assert found.reason


def test_more_calls_that_change_nothing_are_right_and_what_a_turn_without_expected_calls_does_counts_later(verifier):
    assert score(verifier, [["[ls()]", *RIGHT[0]], [], RIGHT[2]]).value == 1.0
    assert score(verifier, [RIGHT[0], ["[mkdir(dir_name='new')]"], RIGHT[2]]).value == 0.0


@pytest.mark.parametrize(
    "row",
    [
        {"initial_config": None},
        {"involved_classes": ["os"]},
        {"ground_truth": None},
        {"ground_truth": [["cat(open('/etc/passwd').read())"], [], []]},
        {"initial_config": {"GorillaFileSystem": {"root": 7}}},
    ],
)
def test_a_row_that_can_not_be_played_has_no_value(verifier, row):
    found = score(verifier, RIGHT, **row)
    assert (found.value, found.status) == (None, "error"), found


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(bfcl_multi_turn, "_installed", lambda: False)
    with pytest.raises(MissingExtra, match="bfcl"):
        verikit.bfcl_multi_turn().score_batch([Sample("", "[]", meta=ROW)])


def test_rows_of_the_leaderboard_get_its_own_verdicts(verifier):
    from benchmarks.bfcl_multi_turn import Peer, named, outputs, rows, sample

    peer = Peer()
    for row, expected in list(rows("base"))[::50]:
        for kind, turns in outputs([[named(call, row) for call in calls] for calls in expected]):
            (found,) = verifier.score([sample(row, expected, turns)])
            assert (found.value == 1.0) is peer(row, expected, turns), (row["id"], kind, found)
