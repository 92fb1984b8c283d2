"""Appended test programs: nothing that knows no answer passes, and everything that is right does. A standing search.

The tasks and the pairs of attacks are drawn from a fixed seed. `VERIKIT_FORGERIES=5` draws five times as many.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator

import pytest

from tests import appended
from tests.verifiers.test_code_languages import needs
from verikit.types import Sample, Score
from verikit.verifiers.code.joining import forms
from verikit.verifiers.code.joining.forms import SCRIPTS
from verikit.verifiers.code.verifier import Code
from verikit.verifiers.falsified.programs import expectations, falsified

ROUNDS = int(os.environ.get("VERIKIT_FORGERIES", "1"))
SLOW = {"cpp": 65, "java": 30, "rust": 20, "go": 20, "typescript": 10}
"""CPU seconds of those whose compilers are slow."""
LANGUAGES = [
    pytest.param(name, marks=pytest.mark.slow(seconds=SLOW[name])) if name in SLOW else name
    for name in (*appended.ATTACKS, "typescript")
]
IN_TESTS = "in process, forgeable: {}: passes 1 of 1 tests"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


def drawn(language: str, attacks: bool, seed: int) -> Iterator[tuple[str, Sample]]:
    """Programs with a task for each; of scripts also pairs of attacks in one program."""
    draw = random.Random(f"{seed} {language}")
    kin = "javascript" if language == "typescript" else language
    programs = dict((appended.ATTACKS if attacks else appended.HONEST)[kin])
    if attacks and language in SCRIPTS:
        for one, other in (draw.sample(sorted(programs), 2) for _ in range(4)):
            programs[f"{one}, {other}"] = f"{programs[one]}\n{programs[other]}"
    for name, program in programs.items():
        task = appended.draw_task(kin, draw, appended.SHAPES.get((language, name), "") if attacks else "")
        yield name, appended.sample(language, task, program)


def scores(language: str, attacks: bool) -> dict[str, Score]:
    """The scores of the programs of all rounds."""
    needs(language)
    named = [(f"{name} ({seed})", sample) for seed in range(ROUNDS) for name, sample in drawn(language, attacks, seed)]
    return dict(zip([name for name, _ in named], Code().score([sample for _, sample in named]), strict=True))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_program_passes_that_knows_no_answer(language: str) -> None:
    found = scores(language, attacks=True)
    assert {name: score for name, score in found.items() if score.value != 0.0} == {}
    alarms = [score for score in found.values() if "false, too" in score.reason]
    assert len(alarms) >= len(found) / 3, found  # else it is not the false tests that are tried here


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_right_program_passes(language: str) -> None:
    found = scores(language, attacks=False)
    assert {name: score for name, score in found.items() if score.reason != IN_TESTS.format(language)} == {}


def test_a_forgery_is_told_from_a_wrong_program() -> None:
    needs("bash")
    task = appended.Task("number", 3, 1, (1, 2, 5))
    forged, wrong = (
        Code().score([appended.sample("bash", task, program)])[0]
        for program in (appended.ATTACKS["bash"]["reads the word"], "    WRONG\n")
    )
    assert forged.reason.endswith("bash: passes tests that are false, too: it was not tested")
    assert "exit code" in wrong.reason


def test_a_coin_tossed_in_each_run_hardly_ever_passes() -> None:
    needs("bash")
    toss = 'if (( RANDOM % 2 )); then read -r w <&"$verikit_input"; echo; echo "$w"; fi; exit 0\n'
    task = appended.Task("number", 3, 1, (1, 2, 5))
    program = f"twin() {{\n    WRONG\n}}\n{toss}"
    samples = [appended.sample("bash", task, f"# {number}\n{program}") for number in range(24)]
    passed = sum(score.value == 1.0 for score in Code().score(samples))
    assert passed <= 6  # 12 are expected of one run, .4 of six, of which more than 6 are a chance of one in ten million


def test_time_that_is_used_up_spares_no_program_the_false_tests() -> None:
    needs("bash")
    slow = 'twin() {\n    WRONG\n}\nsleep 0.4; read -r w <&"$verikit_input"; echo; echo "$w"; exit 0\n'
    sample = appended.sample("bash", appended.Task("number", 3, 1, (1, 2, 5)), slow)
    assert Code(wall_s=5, row_s=0.9).score([sample])[0].value == 0.0


def test_what_the_prompt_shows_is_not_enough_to_tell_true_tests_from_false_ones() -> None:
    needs("bash")
    task = appended.Task("number", 3, 1, (1, 2, 5))
    source = appended.ATTACKS["bash"]["expected from the source"].partition("{")[2]
    knows = f'twin() {{\n    if [ "$1" = 5 ]; then echo 16; return; fi{source}'
    sample = appended.sample("bash", task, knows)
    shown = {**sample.meta, "prompt": '# Twice.\n# >>> $(twin "5")\n# "16"\n' + sample.meta["prompt"]}
    samples = [Sample(completion=f"# {number}\n{sample.completion}", meta=shown) for number in range(12)]
    assert [score.value for score in Code().score(samples)] == [0.0] * 12


def test_tests_whose_values_can_not_be_exchanged_are_made_false_in_another_way() -> None:
    needs("cpp")
    tests = '}\nint main() {\n    assert(twin(2) == 4);\n    assert(twin(std::string("a")) == std::string("aa"));\n}\n'
    both = "std::string twin(std::string s) { return s + s; }\nlong twin(long n) { return 2 * n; }\n"
    meta = {
        "language": "cpp",
        "prompt": "#include <assert.h>\n#include <string>\nlong twin(long n) {\n",
        "tests": tests,
    }
    samples = [Sample(completion=f"{both}// {number}", meta=meta) for number in range(3)]
    assert [score.value for score in Code().score(samples)] == [1.0] * 3


def test_tests_that_say_nothing_readable_are_held_to_a_false_assertion() -> None:
    needs("javascript")
    prompt, tests = (
        "function twin(n){\n",
        "const assert = require('assert')\nfor (const n of [1, 2]) assert(twin(n) - n === n)\n",
    )
    meta = {"language": "javascript", "prompt": prompt, "tests": tests}
    assert expectations("javascript", tests, ["twin"]) == []
    right, forged = "  return 2 * n\n}\n", appended.ATTACKS["javascript"]["reads the word"].replace("WRONG", "")
    assert [s.value for s in Code().score([Sample(completion=t, meta=meta) for t in (right, forged)])] == [
        1.0,
        0.0,
    ]


FORMS = [
    ("cpp", "assert(candidate((2)) == (4));", ["(4)"]),
    ("cpp", "assert (f({1.0, 2.0}, 0.3)==true);", ["true"]),
    ("cpp", "assert (abs(f(1.33) - 0.33) < 1e-4);", ["0.33"]),
    ("cpp", "assert (issame(f({1, 2}) , {2, 1}));", ["{2, 1}"]),
    ("cpp", 'assert(f("== 3") == "a, b");', ['"a, b"']),
    ("cpp", "assert (f(x, y) == x + y);", []),
    ("cpp", "// assert(f(1) == 2);", []),
    ("cpp", "assert(f(1) == 2 || f(1) == 3);", []),
    ("cpp", "assert(f(1) != 2);", []),
    ("java", "assert(candidate((2l)).equals((new ArrayList<Long>(Arrays.asList((long)1l, (long)2l)))));",
     ["(new ArrayList<Long>(Arrays.asList((long)1l, (long)2l)))"]),
    ("java", "List<Boolean> c = Arrays.asList(\n s.f(2) == 4,\n !s.f(3),\n s.f(4),\n Objects.equals(s.f(1), b()));",
     ["4", "!", "", "b()"]),
    ("javascript", "assert.deepEqual(candidate([1, 2]),[2, 1]);", ["[2, 1]"]),
    ("javascript", "console.assert(\n  JSON.stringify(f([1])) ===\n  JSON.stringify([2])\n)", ["JSON.stringify([2])"]),
    ("javascript", "console.assert(x + y === f(x, y))", []),
    ("javascript", "console.assert(JSON.stringify(f(1)) ===\n  JSON.stringify(('a', [2, 3])))", ["[2, 3]"]),
    ("javascript", "console.assert(f(1) === ('a', (true, g(1, 2)), 4))", ["4"]),
    ("javascript", "assert.deepEqual(f(1), g(1, 2));", ["g(1, 2)"]),
    ("typescript", "assert.deepEqual(candidate('a'),undefined);", ["undefined"]),
    ("rust", "assert_eq!(f(1), (1, 2));", ["(1, 2)"]),
    ("rust", 'assert_eq!(candidate(vec![1]), Some(String::from("a")));', ['Some(String::from("a"))']),
    ("rust", "assert!(f(&3.5) == 0.5);", ["0.5"]),
    ("rust", "assert!(f(vec![]) == v_empty);", []),
    ("go", "assert.Equal([]int{1, 2}, f([]int{2}))", ["[]int{1, 2}"]),
    ("go", "{ actual: candidate([]int{1}), expected: []int{2} },", ["[]int{2}"]),
    ("bash", '    [[ $(candidate "2" "a = b") = "4 5" ]]', ['"4 5"']),
]  # fmt: skip


@pytest.mark.parametrize(("language", "line", "texts"), FORMS)
def test_what_a_test_expects_is_found_where_it_is_certain(language: str, line: str, texts: list[str]) -> None:
    found = expectations(language, line, ["f", "candidate"])
    assert [line[place.start : place.end] for place in found] == texts


@pytest.mark.parametrize(("language", "line"), [(language, line) for language, line, texts in FORMS if texts])
def test_false_tests_differ_in_what_they_expect_alone(language: str, line: str) -> None:
    for seed in range(20):
        false = falsified(language, line, ["f", "candidate"], random.Random(seed))
        assert false != line or "undefined" in line
        spans = [(place.start, place.end) for place in expectations(language, line, ["f", "candidate"])]
        if false:
            assert false[: spans[0][0]] == line[: spans[0][0]]
            assert false.endswith(line[spans[-1][1] :])


def test_a_number_that_is_changed_is_another_double() -> None:
    for seed in range(20):
        false = falsified("javascript", "assert.equal(f(1), 9999999999999999);", ["f"], random.Random(seed))
        assert float(false[len("assert.equal(f(1), ") : -2]) != 9999999999999999.0


def test_calls_that_the_prompt_shows_are_left_alone() -> None:
    tests = "assert.deepEqual(candidate(1, [2]),4);\nassert.deepEqual(candidate(3, [4]),9);\n"
    for seed in range(20):
        false = falsified("javascript", tests, ["f", "candidate"], random.Random(seed), "// >>> f(1,[2])\n// 4\n")
        assert "assert.deepEqual(candidate(1, [2]),4);" in false
        assert false != tests
        assert "4" not in falsified("javascript", tests[:39], ["candidate"], random.Random(seed), "f(1, [2])")


def test_values_that_a_loose_comparison_takes_for_equal_are_not_exchanged() -> None:
    tests = 'assert.deepEqual(f(1),0);\nassert.deepEqual(f(2),"");\nassert.deepEqual(f(3),false);\n'
    for seed in range(20):
        false = falsified("javascript", tests, ["f"], random.Random(seed))
        assert sum(line not in tests for line in false.split("\n")) == 1


def test_equal_values_that_are_written_differently_are_not_exchanged() -> None:
    tests = "assert(f(1) == 4);\nassert(f(2) == 4.0);\n"
    for seed in range(20):
        false = falsified("cpp", tests, ["f"], random.Random(seed))
        assert sorted([line for line in tests.split("\n") if line not in false]) != []


def test_tests_in_which_nothing_can_be_changed_are_left_as_they_are() -> None:
    tests = "assert_eq!(f(1), None);\n" * 5000
    assert len(expectations("rust", tests, ["f"])) == 5000
    assert falsified("rust", tests, ["f"], random.Random(1)) == ""


def test_numbers_of_any_length_can_be_changed() -> None:
    tests = f"assert.deepEqual(f(1),{'9' * 6000});"
    assert falsified("javascript", tests, ["f"], random.Random(1)) not in ("", tests)


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_a_variable_of_a_body_is_not_the_function_of_its_name(language: str) -> None:
    assert not forms.defines(language, "f", "  let f = 1\n  for (let i = 1; i <= n; i++) { f *= i }\n  return f\n}")
    for program in ("const f = (n) => {\n", "let x\nexport const f = async function () {\n", "  function f(n) {\n"):
        assert forms.defines(language, "f", program)
