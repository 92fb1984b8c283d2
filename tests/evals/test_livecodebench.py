"""LiveCodeBench's rows, prompt, verdicts and estimates, beside its runner's rules."""

import base64
import pickle
import re
import sys
import time
import zlib

import pytest

pytest.importorskip("lm_eval")
if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

from benchmarks import livecodebench as official
from tests.evals.scripted import ROWS, Scripted, packed, write
from verikit.errors import SchemaError, UsageError
from verikit.evals.data import load, read_docs
from verikit.evals.docs import contest_doc
from verikit.evals.livecodebench import prompt
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks
from verikit.verifiers.code import Code
from verikit.verifiers.code_lcb import same_output, same_value, solution
from verikit.verifiers.code_tests import read
from verikit.verifiers.packed_tests import unpacked

(ROW,) = ROWS["livecodebench"]
RIGHT, WRONG = "```python\nprint(2 * int(input()))\n```", "```python\nprint(0)\n```"


def rows():
    """A problem of each difficulty, one a month."""
    return [
        {**ROW, "question_id": f"p{n}", "question_content": f"Problem {n}.", "difficulty": difficulty}
        | {"contest_date": f"2024-0{n + 1}-01T00:00:00"}
        for n, difficulty in enumerate(["easy", "easy", "medium", "hard"])
    ]


def run(tmp_path, right, **settings):
    """The task's results where problem n has `right[n]` right replies of 10."""

    def answer(request):
        count = right[int(re.search(r"Problem (\d)", request.prompt)[1])]
        return [RIGHT] * count + [WRONG] * (10 - count)

    told = Settings(data=write(tmp_path / "test.jsonl", rows()), **settings)
    lm = EngineLM(Scripted(answer))
    return run_tasks(["verikit_livecodebench"], "m", lm, told, tmp_path / "run")["tasks"]["verikit_livecodebench"]


def test_figures_are_those_of_the_official_estimator_over_all_and_by_difficulty(tmp_path):
    right = [10, 4, 1, 0]
    found = run(tmp_path, right)
    for k in (5, 10):
        wanted = sum(official.estimate(10, count, k) for count in right) / 4
        assert found["metrics"][f"pass@{k}"]["value"] == pytest.approx(wanted)
    assert found["metrics"]["acc"]["value"] == pytest.approx(sum(right) / 40)
    by = {name: estimate["value"] for name, estimate in found["categories"].items()}
    assert by == {"easy": 0.7, "medium": 0.1, "hard": 0.0}
    assert not found["unscored"]


def test_a_window_of_dates_holds_both_its_ends(tmp_path):
    data = write(tmp_path / "test.jsonl", rows())

    def ids(**window):
        return load(kind="contest", task="verikit_livecodebench", data=data, **window)["test"]["id"]

    assert ids() == ["p0", "p1", "p2", "p3"]
    assert ids(since="2024-02-01") == ["p1", "p2", "p3"]
    assert ids(since="2024-02-01", until="2024-03-01") == ["p1", "p2"]
    with pytest.raises(UsageError, match=r"no rows for verikit_livecodebench \(since=2025-01-01\)"):
        ids(since="2025-01-01")
    with pytest.raises(UsageError, match="'soon' is no date"):
        ids(until="soon")
    with pytest.raises(UsageError, match="no dates"):
        load(kind="math", task="x", data=write(tmp_path / "m.jsonl", ROWS["aime25"]), since="2024-01-01")


def test_settings_carry_the_window_to_the_task(tmp_path):
    assert run(tmp_path, [10, 0, 0, 10], since="2024-04-01")["metrics"]["acc"]["value"] == 1.0


def test_the_prompt_shows_the_form_of_the_program():
    piped = prompt(contest_doc(ROW))
    assert piped.startswith("### Question:\nPrint twice the number.\n\n### Format: Read the inputs from stdin")
    starter = "class Solution:\n    def f(self, x: int) -> int:\n        "
    assert f"```python\n{starter}\n```" in prompt(contest_doc({**ROW, "starter_code": starter}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contest_date": "soon"}, "a date as"),
        ({"contest_date": None}, "none of contest_date"),
        ({"private_test_cases": ""}, "none of private_test_cases"),
        ({"question_content": None}, "none of question_content"),
    ],
)
def test_rows_of_another_form_are_refused_by_line_and_column(tmp_path, change, message):
    with pytest.raises(SchemaError, match=message) as raised:
        read_docs(write(tmp_path / "rows.jsonl", [ROW, {**ROW, **change}]), "contest")
    assert raised.value.line == 2


@pytest.mark.parametrize(
    ("tests", "function", "programs"),
    [(official.STDIN, "", official.PIPED), (official.CALLS, "put", official.CALLED)],
    ids=["stdin", "functional"],
)
def test_programs_get_the_verdicts_of_the_official_runner(tests, function, programs):
    chosen = programs[::2]
    wanted = [official.official(tests, function, program) for program in chosen]
    found = official.verdicts([(f"```python\n{program}\n```", official.row(tests, function)) for program in chosen])
    assert found == list(map(float, wanted))
    assert 0 < sum(wanted) < len(wanted)


def test_the_program_is_between_the_last_two_lines_with_fences():
    for reply in (RIGHT, f"```\nx\n```\n{RIGHT}", "no fence", "```python\nprint(1)", "a ``` b\nprint(1)\n``` c"):
        assert solution(reply) == official.extracted(reply)


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [
        ("1 2.0\n", "1.0 2", True),
        ("  a b \n\n", "a b", True),
        ("1\n\n2", "1\n2", False),
        ("a  b", "a b", False),
        ("1e2", "100", True),
        ("nan", "NaN", False),
        ("sNaN", "1", False),
        ("50000000000000000", "50000000000000001", False),
        ("0.30000000000000004", "0.3", False),
    ],
)
def test_outputs_are_compared_by_lines_and_exact_numbers(got, wanted, same):
    assert same_output(got, wanted) is same


def test_a_tuple_is_a_list_at_the_top_only():
    assert same_value((1, 2), [1, 2])
    assert not same_value([(1, 2)], [[1, 2]])
    assert same_value(1.0, 1)


class Executes:
    """What runs when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("it was unpickled",))


@pytest.mark.parametrize("value", [Executes(), ["a", "b"], 1, {"a": "b"}, b"bytes", ("a",)])
def test_packed_tests_are_a_text_or_nothing(value):
    text = base64.b64encode(zlib.compress(pickle.dumps(value))).decode()
    with pytest.raises(ValueError, match="packed"):
        unpacked(text)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("text", ["", "[]", "ünïcode \n\\ \x00", "x" * 300, "y" * 70_000])
def test_every_pickled_text_is_read_as_pickle_has_it(text, protocol):
    assert unpacked(base64.b64encode(zlib.compress(pickle.dumps(text, protocol))).decode()) == text


@pytest.mark.parametrize("text", ["eJxr", "not base64", "", base64.b64encode(b"plain").decode()])
def test_tests_that_are_not_packed_so_leave_the_row_unscored(text):
    held = {"public_test_cases": "[]", "private_test_cases": text or "x", "metadata": "{}"}
    with pytest.raises(ValueError, match="private_test_cases is neither JSON nor packed"):
        read(held)


def test_a_row_may_have_no_public_tests():
    (case,) = read({"public_test_cases": "[]", "private_test_cases": ROW["private_test_cases"], "metadata": "{}"})
    assert (case.stdin, case.stdout) == ("5", "10")
    with pytest.raises(ValueError, match="not empty"):
        read({"public_test_cases": "[]", "private_test_cases": "[]"})


def test_a_packed_bomb_is_refused(monkeypatch):
    monkeypatch.setattr("verikit.verifiers.packed_tests.MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        unpacked(packed("x" * 10_000))
    with pytest.raises(ValueError, match="break off"):
        unpacked(base64.b64encode(zlib.compress(b"abc")[:-5]).decode())


def test_a_preset_goes_with_no_other_way_to_run():
    with pytest.raises(UsageError, match="its own way"):
        Code(preset="livecodebench", children="row")
    with pytest.raises(UsageError, match="preset is one of livecodebench"):
        Code(preset="apps")


def test_packed_instructions_without_end_are_not_read_on():
    bomb = pickle.PROTO + b"\x04" + pickle.MEMOIZE * 2_000_000 + pickle.STOP
    began = time.monotonic()
    with pytest.raises(ValueError, match="packed"):
        unpacked(base64.b64encode(zlib.compress(bomb)).decode())
    assert time.monotonic() - began < 1
