"""LiveCodeBench's rows, prompt, verdicts and estimates, beside its runner's rules."""

import base64
import json
import pickle
import re
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import count_calls

pytest.importorskip("lm_eval")
if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

from benchmarks import livecodebench as official
from tests.evals.scripted import ROWS, Scripted, packed, write
from verikit.base import Verifier
from verikit.errors import SchemaError, UsageError
from verikit.evals.data import load, read_docs
from verikit.evals.docs import contest_doc
from verikit.evals.grade import Graded, sample
from verikit.evals.livecodebench import prompt
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.long_tests import kept
from verikit.evals.run import run_tasks
from verikit.types import Sample, Score
from verikit.verifiers.code.livecodebench import cases, same_output, same_value, solution
from verikit.verifiers.code.packed import pairs, unpacked
from verikit.verifiers.code.rows import read
from verikit.verifiers.code.verifier import Code

(ROW,) = ROWS["livecodebench"]
NEAR = {"os", "sys", "atexit", "threading", "threading,"}
"""Imports of programs that write past the runner's standard output."""
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


def test_tests_stand_neither_in_documents_nor_in_sample_rows(tmp_path):
    long = "7" * 300_000
    row = {**ROW, "private_test_cases": packed(json.dumps([{"input": long, "output": long}]))}
    data = write(tmp_path / "test.jsonl", [row, {**row, "question_id": "other"}])
    loaded = load(kind="contest", task="verikit_livecodebench", data=data)["test"]
    assert all(len(str(doc)) < 2_000 for doc in loaded)
    assert loaded[0]["tests_digest"] == loaded[1]["tests_digest"]
    first, second = (sample(doc, RIGHT, RIGHT) for doc in (loaded[0], loaded[1]))
    assert first.meta["private_test_cases"] is second.meta["private_test_cases"]
    assert cases(first.meta)[1].stdin == long
    run_tasks(["verikit_livecodebench"], "m", EngineLM(Scripted(lambda _: [RIGHT] * 10)), Settings(data=data), tmp_path)
    assert sum(file.stat().st_size for file in tmp_path.glob("samples_*")) < 60_000


def test_replies_to_long_tests_are_scored_a_few_at_a_time(monkeypatch):
    sizes = []

    class Counting(Verifier):
        name = "counting"

        def score_batch(self, samples):
            sizes.append(len(samples))
            return [Score(1.0) for _ in samples]

    graded = Graded({"acc": "exact"})
    graded.verifiers = {"acc": Counting()}
    doc = contest_doc(ROW)
    grades = graded.apply([[RIGHT] * 10 for _ in range(12)], [doc] * 12)
    assert sizes == [32, 32, 32, 24]
    assert all(grade["acc"]["value"] == 1.0 for group in grades for grade in group)


def test_another_process_tests_are_missed_by_name():
    with pytest.raises(UsageError, match="not on this machine"):
        kept("0" * 64)


@pytest.mark.parametrize(
    ("since", "until", "wanted"),
    [
        ("2024-08-03T00:00:00+02:00", None, ["day", "after"]),
        ("2024-08-03T00:00:00Z", "2024-08-03", ["day"]),
        (None, "2024-08-03", ["before", "day"]),
        ("2024-08-03", "2024-08-03", ["day"]),
        ("2024-08-03T14:30:00", "2024-08-03T14:30:00", ["day"]),
        (None, "2024-08-03T14:29:59", ["before"]),
    ],
)
def test_the_last_day_of_a_window_is_a_whole_one_and_zones_are_left_out(tmp_path, since, until, wanted):
    dates = {"before": "2024-08-02T23:59:59", "day": "2024-08-03T14:30:00", "after": "2024-08-04T00:00:00"}
    made = [{**ROW, "question_id": name, "contest_date": date} for name, date in dates.items()]
    data = write(tmp_path / "test.jsonl", made)
    loaded = load(kind="contest", task="verikit_livecodebench", data=data, since=since, until=until)
    assert loaded["test"]["id"] == wanted


@pytest.mark.parametrize(
    ("window", "message"),
    [({"since": "2024-09-01", "until": "2024-08-01"}, "is later than"), ({"until": "soon"}, "'soon' is not a date")],
)
def test_a_window_that_can_hold_nothing_is_refused_before_a_model_is_loaded(window, message):
    with pytest.raises(UsageError, match=message):
        Settings(**window)


def test_a_window_of_dates_holds_both_its_ends(tmp_path):
    data = write(tmp_path / "test.jsonl", rows())

    def ids(**window):
        return load(kind="contest", task="verikit_livecodebench", data=data, **window)["test"]["id"]

    assert ids() == ["p0", "p1", "p2", "p3"]
    assert ids(since="2024-02-01") == ["p1", "p2", "p3"]
    assert ids(since="2024-02-01", until="2024-03-01") == ["p1", "p2"]
    with pytest.raises(UsageError, match=r"no rows for verikit_livecodebench \(since=2025-01-01\)"):
        ids(since="2025-01-01")
    with pytest.raises(UsageError, match="'soon' is not a date"):
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
        ({"contest_date": "soon"}, "a date such as"),
        ({"contest_date": None}, "field 'contest_date': is empty"),
        ({"private_test_cases": ""}, "field 'private_test_cases': is empty"),
        ({"question_content": None}, "field 'question_content': is empty"),
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
    chosen = programs[::2] + [program for program in programs[1::2] if NEAR & set(program.split("\n")[0].split())]
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
    monkeypatch.setattr("verikit.verifiers.code.packed.MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        unpacked(packed("x" * 10_000))
    with pytest.raises(ValueError, match="break off"):
        unpacked(base64.b64encode(zlib.compress(b"abc")[:-5]).decode())


def test_a_preset_goes_with_no_other_way_to_run():
    with pytest.raises(UsageError, match="its own way"):
        Code(preset="livecodebench", children="row")
    with pytest.raises(UsageError, match="preset must be one of livecodebench"):
        Code(preset="apps")


def test_packed_instructions_without_end_are_not_read_on():
    bomb = pickle.PROTO + b"\x04" + pickle.MEMOIZE * 2_000_000 + pickle.STOP
    packed = base64.b64encode(zlib.compress(bomb)).decode()
    with pytest.raises(ValueError, match="packed"):
        count_calls(lambda: unpacked(packed), most=10_000)


def test_right_outputs_and_values_of_any_length_pass():
    lines = "\n".join(map(str, range(170_000)))
    long = official.row([("170000", lines)] * 2)
    printing = "```python\nprint('\\n'.join(map(str, range(int(input())))))\n```"
    numbers = official.row([("90000", str(list(range(90_000))))] * 2, "all")
    listing = "```python\nclass Solution:\n    def all(self, n):\n        return list(range(n))\n```"
    nested = official.row([("[0]", "[0]")] * 2, "all")
    endless = "```python\nclass Solution:\n    def all(self, n):\n        return list(range(10**6))\n```"
    assert len(lines) > 1 << 20
    assert official.verdicts([(printing, long), (listing, numbers), (endless, nested)]) == [1.0, 1.0, 0.0]


def test_the_name_of_a_function_alone_decides_how_a_test_is_run():
    held = {"public_test_cases": '[{"input": "1\\n2", "output": "3", "testtype": "stdin"}]', "private_test_cases": ""}
    (called,) = cases({**held, "metadata": '{"func_name": "f"}'})
    assert (called.call, called.expected) == (("f", [1, 2], {}), 3)
    (piped,) = cases({**held, "metadata": "{}"})
    assert (piped.stdin, piped.stdout) == ("1\n2", "3")


@pytest.mark.parametrize(
    "tests",
    [
        '["assert f(1) == 2"]',
        '[{"fn": "f", "args": [1], "expected": 2}]',
        '[{"input": "1", "output": "2"}, "assert f(1) == 2"]',
        '[{"input": [1], "output": "2"}]',
        '[{"input": "1", "output": "2"}',
        '[{"input": "1", "output": "2"}] 1',
        '[{"input": "1", "output": "2",}]',
        '{"input": "1", "output": "2"}',
        "[" * 200_000,
        "[" + "[]," * 100_000 + "[]]",
        "[]",
        '"text"',
        "[{}]",
    ],
)
def test_tests_of_another_form_leave_the_row_unscored(tests):
    for held in ({"public_test_cases": tests}, {"private_test_cases": packed(tests)}):
        (score,) = Code(preset="livecodebench").score([Sample("", RIGHT, meta={**held, "metadata": "{}"})])
        assert (score.value, score.status) == (None, "error")
        assert "tests can't be read" in score.reason


def test_arguments_that_nest_without_end_leave_the_row_unscored():
    held = {"public_test_cases": json.dumps([{"input": "[" * 200_000, "output": "1"}])}
    for verifier in (Code(preset="livecodebench"), Code()):
        (score,) = verifier.score([Sample("", RIGHT, meta={**held, "metadata": '{"func_name": "f"}'})])
        assert (score.value, score.status) == (None, "error")


texts = st.text(st.characters(exclude_categories=()), max_size=20)


@given(st.lists(st.fixed_dictionaries({"input": texts, "output": texts}, optional={"testtype": texts})))
@pytest.mark.parametrize("layout", [{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}])
def test_tests_are_read_as_json_has_them(layout, tests):
    text = json.dumps(tests, **layout)
    assert pairs(text) == [(test["input"], test["output"]) for test in json.loads(text)]


@given(st.text('[]{},:"ab inputo\\', max_size=40))
def test_any_text_is_read_as_json_has_it_or_refused(text):
    try:
        found = pairs(text)
    except ValueError:
        return
    assert found == [(test["input"], test["output"]) for test in json.loads(text)]
