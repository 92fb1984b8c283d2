"""Right solutions of public suites' rows in every form that models give them in. The rows are made here.

With a folder of published files (`VERIKIT_SUITES`: `humaneval.jsonl`, `mbpp.jsonl`) their own solutions are tried, too.
"""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.verifiers.test_code_languages import needs
from verikit.types import Sample
from verikit.verifiers.code.verifier import Code

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

Row = dict[str, Any]
HUMANEVAL: list[Row] = [
    {
        "task_id": "Made/0",
        "prompt": "from typing import List\n\n\ndef halves(numbers: List[int], least: int) -> List[int]:\n"
        '    """ Half of each even number that is not below least.\n    >>> halves([4, 5], 1)\n    [2]\n    """\n',
        "entry_point": "halves",
        "canonical_solution": "    found: List[int] = []\n    for number in numbers:\n        if number % 2 == 0 and number >= least:\n"
        "            found.append(number // 2)\n    return found\n",
        "test": "\n\nMETADATA = {'author': 'made'}\n\n\ndef check(candidate):\n    assert candidate([4, 5], 1) == [2]\n"
        "    assert candidate([4, 5, 8], 6) == [4]\n    assert candidate([], 0) == []\n",
    },
    {
        "task_id": "Made/1",
        "prompt": "\n\ndef shifted(text: str) -> str:\n    return ''.join(chr(ord(c) + 1) for c in text)\n\n\n"
        'def back(text: str) -> str:\n    """\n    The text of which shifted gives this one.\n    """\n',
        "entry_point": "back",
        "canonical_solution": "    return ''.join(chr(ord(c) - 1) for c in text)\n",
        "test": "def check(candidate):\n    for text in ('abc', 'xyz', 'm'):\n        assert candidate(shifted(text)) == text\n",
    },
    {
        "task_id": "Made/2",
        "prompt": "def sign(n):\n    # 1, 0 or -1\n",
        "entry_point": "sign",
        "canonical_solution": "    if n > 0:\n        return 1\n    return -1 if n else 0\n",
        "test": "def check(candidate):\n    assert candidate(5) == 1\n    assert candidate(0) == 0\n    assert candidate(-2) == -1\n",
    },
]
MBPP: list[Row] = [
    {
        "text": "Write a function to give the greatest item.", "code": "import heapq as hq\r\ndef greatest(items):\r\n  return hq.nlargest(1, items)[0]",
        "task_id": 1, "test_setup_code": "", "test_list": ["assert greatest([1, 3, 2])==3", "assert greatest([7])==7"], "challenge_test_list": [],
    },
    {
        "text": "Write a function to give the length of the hypotenuse.", "code": "def hypotenuse(a, b):\n    return (a * a + b * b) ** .5",
        "task_id": 2, "test_setup_code": "", "test_imports": ["import math"],
        "test_list": ["assert math.isclose(hypotenuse(3, 4), 5)", "assert math.isclose(hypotenuse(1, 1), math.sqrt(2))"],
    },
]  # fmt: skip
ASSERTION = """import numpy as np

def is_floats(x) -> bool:
    if isinstance(x, float):
        return True
    if isinstance(x, (list, tuple)):
        return all(isinstance(i, float) for i in x)
    return False


def assertion(out, exp, atol):
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp, f"out: {out}, exp: {exp}"


"""
LOOP = "for i, (inp, exp) in enumerate(zip(inputs, results)):\n"


def prompted(prompt: str, body: str) -> dict[str, str]:
    """A solution that goes on with a prompt, in each form."""
    lines = body.strip("\n").split("\n")
    dedented = "\n".join(line[4:] for line in lines)
    return {
        "continuation": body,
        "runs on": f"{body}\n\ndef another(\n",
        "whole in a fence": f"Here it is.\n\n```python\n{prompt}{body}\n```\nDone.",
        "body in a fence": f"```python\n{body}\n```",
        "body without its indent": f"```python\n{dedented}\n```",
        "body with its first indent lost": body.lstrip(),
        "prompt and body": prompt + body,
    }


def evaluated(rows: list[Row]) -> Iterator[tuple[str, Sample]]:
    """Each form of each row's solution, as the task of the suite and as a row of a file."""
    docs, grade = pytest.importorskip("verikit.evals.docs"), pytest.importorskip("verikit.evals.grade")
    for row in rows:
        doc = docs.code_doc(row)
        for form, text in prompted(row["prompt"], row["canonical_solution"]).items():
            yield f"{row['task_id']} task, {form}", grade.sample(doc, text, text)
            yield f"{row['task_id']} row, {form}", Sample(row["prompt"], text, meta=row)


def failed(named: list[tuple[str, Sample]]) -> dict[str, str]:
    """Why those without the full score have it not."""
    scores = Code(row_s=60).score([sample for _, sample in named])
    return {name: f"{s.value} {s.reason}" for (name, _), s in zip(named, scores, strict=True) if s.value != 1.0}


def test_solutions_of_humaneval_score_in_every_form() -> None:
    assert failed(list(evaluated(HUMANEVAL))) == {}


def test_solutions_of_humaneval_x_score_in_every_form_and_wrong_ones_do_not() -> None:
    named, wrong = [], []
    for row in HUMANEVAL:
        name = row["entry_point"]
        test = row["test"].replace("candidate", name) + f"\n\ncheck({name})\n"
        other = {key: row[key] for key in ("task_id", "prompt")} | {"test": test, "declaration": f"def {name}():\n"}
        named += [
            (f, Sample(row["prompt"], text, meta=other))
            for f, text in prompted(row["prompt"], row["canonical_solution"]).items()
        ]
        wrong.append(Sample(row["prompt"], "    return None\n", meta=other))
    assert failed(named) == {}
    assert [(score.value, score.status) for score in Code().score(wrong)] == [(0.0, "ok")] * len(wrong)


def test_a_whole_function_may_leave_the_imports_and_helpers_of_its_prompt_out() -> None:
    row = HUMANEVAL[0]
    whole = row["prompt"].partition("\n\n\n")[2] + row["canonical_solution"]
    other = {
        **HUMANEVAL[1],
        "test": "def check(candidate):\n    assert candidate('b') == 'a'\n    assert candidate('c') == 'b'\n",
    }
    asks = "def back(text):\n    return next(c for c in map(chr, range(40, 130)) if shifted(c) == text)\n"
    named = [("imports", Sample(row["prompt"], f"```python\n{whole}\n```", meta=row))]
    assert failed([*named, ("helpers", Sample(other["prompt"], f"```python\n{asks}```", meta=other))]) == {}


def test_a_wrong_completion_is_not_made_right_by_the_way_it_is_joined() -> None:
    row = HUMANEVAL[2]
    for text in ("    return 1\n", "return 1", "", "I can't do it.", "    return 1\n\ndef another(", "    if n\n"):
        assert Code().score([Sample(row["prompt"], text, meta=row)])[0].value == 0.0, text


def test_a_prompt_without_its_last_line_break_is_gone_on_with_on_the_next_line() -> None:
    row = HUMANEVAL[0]
    stripped = {**row, "prompt": row["prompt"].strip()}
    samples = [
        Sample(stripped["prompt"], text, meta=stripped)
        for text in prompted(row["prompt"], row["canonical_solution"]).values()
    ]
    assert [score.value for score in Code().score(samples)] == [1.0] * len(samples)


def marked(code: str) -> dict[str, str]:
    """A program between the marks that few-shot prompts of MBPP show."""
    return {
        "whole": code, "fence": f"```python\n{code}\n```", "marks": f"[BEGIN]\n{code}\n[DONE]",
        "no end": f"[BEGIN]\n{code}", "no beginning": f"{code}\n[DONE]", "fence in marks": f"[BEGIN]\n```python\n{code}\n```\n[DONE]",
        "marks in a fence": f"```python\n[BEGIN]\n{code}\n[DONE]\n```",
        "runs on": f"{code}\n[DONE]\n\nYou are an expert Python programmer, and here is your task: More.\n[BEGIN]\ndef more(",
        "talks": f"Put between [BEGIN] and [DONE]:\n[BEGIN]\n{code}\n[DONE]\nThat is it.",
    }  # fmt: skip


def test_solutions_of_mbpp_score_in_every_form() -> None:
    docs, grade = pytest.importorskip("verikit.evals.docs"), pytest.importorskip("verikit.evals.grade")
    named = []
    for row in MBPP:
        for form, text in marked(row["code"]).items():
            named += [(f"{row['task_id']} task, {form}", grade.sample(docs.code_doc(row), text, text))]
            named += [(f"{row['task_id']} row, {form}", Sample(row["text"], text, meta=row))]
    assert failed(named) == {}


def test_a_function_with_a_name_of_pythons_is_the_programs_where_a_test_calls_nothing_else() -> None:
    def value(program: str, test: str) -> float | None:
        return Code().score([Sample("Go.", program, meta={"test_list": [test]})])[0].value

    assert value("def sum(a, b):\n    return a * b", "assert sum(2, 3) == 6") == 1.0
    assert value("def sum(a, b):\n    return a - b", "assert sum(2, 3) == 6") == 0.0
    assert value("def f(a):\n    return a\ndef len(a):\n    return 3", "assert len(f([1, 2])) == 3") == 0.0
    assert (
        value("def f(a):\n    return 0\ndef all(a):\n    return True", "assert all(f(n) == n for n in [1, 2])") == 0.0
    )


def test_marks_that_are_part_of_a_program_are_no_marks() -> None:
    code = "DONE, BEGIN = 1, 2\ndef f(n):\n    x = [DONE]\n    return (\n        [BEGIN][0] + n\n    )\n"
    assert Code().score([Sample(completion=code, meta={"tests": ["assert f(1) == 3"]})])[0].value == 1.0


@pytest.mark.parametrize("right", [True, False])
def test_tests_in_the_form_of_evalplus_are_run_whole(right: bool) -> None:
    last = "[[9, 1]]" if right else "[[9, 2]]"
    inputs = f"inputs = {[[[4, 5], 1], [[4, 5, 8], 6], [[18, 2], 0]]}\n    results = [[2], [4], {last[1:-1]}]\n"
    body = f"    {inputs}    {LOOP}        assertion(candidate(*inp), exp, 0)\n"
    human = {**HUMANEVAL[0], "test": f"{ASSERTION}def check(candidate):\n{body}"}
    listed = "results = [3, 7, {}]\n".format("9" if right else "8")
    plus = {
        **MBPP[0], "test": f"{ASSERTION}inputs = [[[1, 3, 2]], [[7]], [[9, -4]]]\n{listed}{LOOP}    assertion(greatest(*inp), exp, 0)\n",
    }  # fmt: skip
    samples = [
        Sample(human["prompt"], human["canonical_solution"], meta=human),
        Sample(plus["text"], f"[BEGIN]\n{plus['code']}\n[DONE]", meta=plus),
    ]
    # A row whose own solution fails its tests has no score.
    assert [score.value for score in Code(row_s=60).score(samples)] == [1.0 if right else None] * 2


def test_solutions_of_bigcodebench_score_in_every_form() -> None:
    prompt = (
        'import itertools\nLIMIT = 3\n\ndef task_func(numbers, most=LIMIT):\n    """\n    Pairs of numbers.\n    """\n'
    )
    body = "    return [list(pair) for pair in itertools.combinations(numbers, 2)][:most]\n"
    row = {
        "task_id": "BigCodeBench/0", "complete_prompt": prompt, "entry_point": "task_func", "canonical_solution": body,
        "code_prompt": "import itertools\nLIMIT = 3\ndef task_func(numbers, most=LIMIT):\n",
        "instruct_prompt": "Pairs of numbers.\nYou should write self-contained code starting with:\n```\nimport itertools\nLIMIT = 3\ndef task_func(numbers, most=LIMIT):\n```",
        "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_case_1(self):\n        self.assertEqual(task_func([1, 2]), [[1, 2]])\n"
        "    def test_case_2(self):\n        self.assertEqual(len(task_func([1, 2, 3, 4])), 3)\n",
        "libs": "['itertools']",
    }  # fmt: skip
    named = [
        (f"{key} {form}", Sample(row[key], text, meta=row))
        for key in ("complete_prompt", "instruct_prompt")
        for form, text in prompted(prompt, body).items()
    ]
    assert failed(named) == {}


def test_solutions_of_apps_codecontests_and_livecodebench_score() -> None:
    program = "n = int(input())\nprint(n * n)"
    pairs = [{"input": "3\n", "output": "9\n"}, {"input": "4", "output": "16"}]
    rows = [
        {"input_output": json.dumps({"inputs": ["3\n", "4\n"], "outputs": ["9\n", "16\n"]}), "difficulty": "introductory"},
        {"public_tests": {"input": ["3\n"], "output": ["9\n"]}, "private_tests": {"input": ["4\n"], "output": ["16\n"]}, "generated_tests": {"input": [], "output": []}},
        {"public_test_cases": json.dumps(pairs), "private_test_cases": json.dumps(pairs), "metadata": "{}"},
    ]  # fmt: skip
    called = {"input_output": json.dumps({"fn_name": "square", "inputs": [[3], [4]], "outputs": [[9], [16]]})}
    method = "class Solution:\n    def square(self, n):\n        return n * n"
    named = [
        (f"{number} {form}", Sample("Square it.", text, meta=row))
        for number, row in enumerate(rows)
        for form, text in marked(program).items()
    ]
    named += [(f"method {form}", Sample("Square it.", text, meta=called)) for form, text in marked(method).items()]
    assert failed(named) == {}


def test_published_solutions_score_in_every_form() -> None:
    folder = Path(os.environ.get("VERIKIT_SUITES") or "/nonexistent")
    file = folder / "humaneval.jsonl"
    if not file.exists():
        pytest.skip("VERIKIT_SUITES names no folder with humaneval.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    assert failed(list(evaluated(rows))) == {}


JAVA_IMPORTS = "import java.util.*;\nimport org.javatuples.*;\n"
FOREIGN: dict[str, tuple[str, str, str, str, list[str]]] = {
    "cpp": (
        "#include<assert.h>\n#include<bits/stdc++.h>\n// Twice; \"{\" opens nothing.\nlong twice(long n) {\n", "    if (n == '{') { return 246; }\n    return 2 * n;", "}",
        "}\nint main() {\n    auto candidate = twice;\n    assert(candidate((3)) == (6));\n    assert(candidate((5)) == (10));\n}\n", ["\n}"],
    ),
    "java": (
        f"{JAVA_IMPORTS}class Problem {{\n    // Twice; '{{' opens nothing.\n    public static Pair<Long, Long> twice(long n) {{\n", "        if (n < 0) { return Pair.with(2 * n, 0l); }\n        return Pair.with(2 * n, n);", "    }\n}",
        "    }\n    public static void main(String[] args) {\n    assert(twice((3l)).equals((Pair.with(6l, 3l))));\n    assert(twice((5l)).equals((Pair.with(10l, 5l))));\n    }\n\n}\n", ["\n    }\n"],
    ),
    "rust": (
        "use std::collections::HashMap;\nuse rand::Rng;\n\n/// Twice.\nfn twice(n: isize) -> isize {\n", "    let mut m: HashMap<char, isize> = HashMap::new();\n    m.insert('{', n);\n    2 * m[&'{']", "}",
        "}\n\nfn main() {\n    let candidate = twice;\n    assert_eq!(candidate(3), 6);\n    assert_eq!(candidate(5), 10);\n}\n", ["\n}"],
    ),
    "bash": (
        "#!/bin/bash\n# Twice.\ntwice() {\n", "    if (( $1 < 0 )); then\n        echo $((2 * $1))\n        return\n    fi\n    echo $(( 2 * $1 ))", "}",
        "}\n\ncandidate() {\n    twice \"$@\"\n}\n\nset -e\nrun_test() {\n    [[ $(candidate \"3\") = \"6\" ]]\n    [[ $(candidate \"5\") = \"10\" ]]\n}\n\nrun_test\n", ["\n}"],
    ),
    "javascript": (
        "//Twice.\nfunction twice(n){\n", "  if (n < 0) { return 2 * n }\n  return 2 * n", "}",
        "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = twice;\n  assert.deepEqual(candidate(3),6);\n  assert.deepEqual(candidate(5),10);\n}\n\ntest();", ["\nfunction ", "\n/*", "\n//", "\nconsole.log"],
    ),
    "go": (
        'package twice_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n// Twice.\nfunc twice(n int) interface{} {\n', "    if n < 0 { return 2 * n }\n    return 2 * n", "}",
        "func TestTwice(t *testing.T) {\n  candidate := twice\n\ttype test struct {\n\t\tactual   interface{}\n\t\texpected interface{}\n\t}\n   tests := []test{\n     { actual: candidate(3), expected: 6 },\n     { actual: candidate(5), expected: 10 },\n   }\n\n\tfor i, tc := range tests {\n\t\tt.Run(fmt.Sprintf(\"test num % d\", i), func(t *testing.T) {\n\t\t\tif fmt.Sprintf(\"%v\", tc.actual) != fmt.Sprintf(\"%v\", tc.expected) {\n\t\t\t\tt.Errorf(\"expected '%s', got '%s'\", tc.expected, tc.actual)\n\t\t\t}\n\t\t})\n\t}\n}\n", ["\nfunc", "struct", "\n// "],
    ),
}  # fmt: skip
"""Prompt, body, what closes it, tests and stop tokens, as MultiPL-E has them."""
MAINS = {
    "cpp": "\n#include <iostream>\nint main() { std::cout << twice(2); return 0; }\n", "rust": '\nfn main() { println!("{}", twice(2)); }\n',
    "go": "\nfunc main() { fmt.Println(twice(2)) }\n", "javascript": "\nconsole.log(twice(2));\n", "bash": "\ntwice 2\n",
}  # fmt: skip
RUNS_ON = {
    "cpp": "}\n\nint main() {\n    ", "java": "    }\n\n    public static void main(String[] args) {\n", "rust": "}\n\nfn main() {\n    ", "bash": "}\n\nmore() {\n",
    "javascript": "}\n\nfunction more(", "go": "}\n\nfunc more(",
}  # fmt: skip
SLOW = {"cpp": 70, "java": 40, "rust": 30, "go": 30}
LANGUAGES = [
    pytest.param(name, marks=pytest.mark.slow(seconds=SLOW[name])) if name in SLOW else name for name in FOREIGN
]


def foreign(language: str, body: str = "") -> dict[str, str]:
    """A right function, or another body, in each form."""
    prompt, right, close, tests, _ = FOREIGN[language]
    body = body or right
    goes_on = f"{body}\n" if tests.lstrip().startswith("}") else f"{body}\n{close}\n"
    whole = f"{prompt}{body}\n{close}\n"
    forms = {
        "continuation": goes_on, "runs on": f"{body}\n{RUNS_ON[language]}", "whole in a fence": f"Here:\n```{language}\n{whole}```\nDone.",
        "body in a fence": f"```{language}\n{goes_on}```", "closed body in a fence": f"```{language}\n{body}\n{close}\n```",
        "prompt and body": prompt + goes_on, "prompt and closed body": whole,
    }  # fmt: skip
    if language != "java":
        return forms | {"own main": f"```{language}\n{whole}{MAINS[language]}```"}
    method = prompt.partition("class Problem {\n")[2]
    main = "    public static void main(String[] args) { System.out.println(twice(2)); }\n"
    return forms | {
        "own main": f"```java\n{prompt}{body}\n    }}\n{main}}}\n```",
        "own class Main": f"```java\n{whole}class Main {{\n    public static void main(String[] args) {{ }}\n}}\n```",
        "public class of a package": f"```java\npackage demo;\n{whole.replace('class Problem', 'public class Problem')}```",
        "a method alone": f"```java\nimport java.util.Map;\n{method}{body}\n    }}\n```",
        "another class": f"```java\npackage demo;\n{JAVA_IMPORTS}public class Twice {{\n{method}{body}\n    }}\n{main}}}\n```",
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_solutions_of_multipl_e_score_in_every_form(language: str) -> None:
    needs(language)
    prompt, _, _, tests, stops = FOREIGN[language]
    meta = {"language": language, "prompt": prompt, "tests": tests, "stop_tokens": stops}
    assert failed([(form, Sample(prompt, text, meta=meta)) for form, text in foreign(language).items()]) == {}


WRONG = {
    "cpp": "    return 2 * n + 1;", "java": "        return Pair.with(2 * n + 1, n);", "rust": "    2 * n + 1",
    "bash": "    echo $((2 * $1 + 1))", "javascript": "  return 2 * n + 1", "go": "    return 2 * n + 1",
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_function_beside_a_main_of_its_own_stays_wrong(language: str) -> None:
    needs(language)
    prompt, _, _, tests, stops = FOREIGN[language]
    meta = {"language": language, "prompt": prompt, "tests": tests, "stop_tokens": stops}
    forms = foreign(language, WRONG[language])
    scores = Code(row_s=60).score([Sample(prompt, forms[form], meta=meta) for form in ("own main", "whole in a fence")])
    assert [score.value for score in scores] == [0.0, 0.0]


def test_tests_that_need_a_crate_are_the_rows_fault() -> None:
    needs("rust")
    prompt = "use rand::Rng;\nfn twice(n: isize) -> isize {\n"
    tests = "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn t() { let n = rand::random::<i8>() as isize; assert_eq!(twice(n), 2 * n); }\n}\n"
    score = Code().score(
        [Sample(prompt, "    2 * n\n}\n", meta={"language": "rust", "prompt": prompt, "test": tests})]
    )[0]
    assert score.status == "error"
    assert "crate rand" in score.reason
