"""Rows of HumanEval-X and MultiPL-E as they are published, in each language, with wrong twins; standard input likewise."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.verifiers.test_code_languages import needs
from verikit.types import Sample, Score
from verikit.verifiers.code.joining.forms import defines
from verikit.verifiers.code.verifier import Code

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

Row = tuple[dict[str, Any], dict[str, str]]

GO_TESTS = """func TestTwice(t *testing.T) {
  candidate := twice
\ttype test struct {
\t\tactual   interface{}
\t\texpected interface{}
\t}
   tests := []test{
     { actual: candidate(3), expected: 6 },
     { actual: candidate(0), expected: 0 },
   }

\tfor i, tc := range tests {
\t\tt.Run(fmt.Sprintf("test num % d", i), func(t *testing.T) {
\t\t\tif fmt.Sprintf("%v", tc.actual) != fmt.Sprintf("%v", tc.expected) {
\t\t\t\tt.Errorf("expected '%s', got '%s'", tc.expected, tc.actual)
\t\t\t}
\t\t})
\t}
}
"""
MULTIPLE: dict[str, Row] = {
    "cpp": (
        {
            "prompt": "#include<assert.h>\n#include<bits/stdc++.h>\n// Twice.\nlong twice(long n) {\n",
            "tests": "}\nint main() {\n    auto candidate = twice;\n    assert(candidate((3)) == (6));\n"
            "    assert(candidate((0)) == (0));\n}\n",
            "stop_tokens": ["\n}"],
        },
        {
            "right": "    return 2 * n;\n}\n\nlong unfinished(", "calls itself": "    if (n == 0) return 0;\n    return 2 + twice(n - 1);\n",
            "off by one": "    return 2 * n + 1;\n}", "endless": "    for (volatile int i = 0;; i++);\n",
            "another form": "    return \"6\";\n", "ends early": "    exit(0);\n",
        },
    ),
    "java": (
        {
            "prompt": "import java.util.*;\nclass Problem {\n    // Twice.\n    public static long twice(long n) {\n",
            "tests": "    }\n    public static void main(String[] args) {\n    assert(twice((3l)) == (6l));\n"
            "    assert(twice((0l)) == (0l));\n    }\n\n}\n",
            "stop_tokens": ["\n    }\n"],
        },
        {
            "right": "        return 2 * n;\n    }\n    static void more() {", "calls itself": "        return n == 0 ? 0 : 2 + twice(n - 1);\n",
            "off by one": "        return 2 * n + 1;\n", "endless": "        while (n == n);\n        return 0;\n",
            "another form": "        return \"6\";\n", "ends early": "        System.exit(0);\n        return 0;\n",
        },
    ),
    "js": (
        {
            "prompt": "//Twice.\nfunction twice(n){\n",
            "tests": "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = twice;\n"
            "  assert.deepEqual(candidate(3),6);\n  assert.deepEqual(candidate(0),0);\n}\n\ntest();",
            "stop_tokens": ["\nfunction ", "\n/*", "\n//", "\nconsole.log"],
        },
        {
            "right": "  return 2 * n\n}\nconsole.log(twice(", "calls itself": "  return n === 0 ? 0 : 2 + twice(n - 1)\n}\n",
            "off by one": "  return 2 * n + 1\n}\n", "endless": "  for (;;);\n}\n", "another form": "  return '6:'\n}\n",
            "ends early": "  process.exit(0)\n}\n",
        },
    ),
    "ts": (
        {
            "prompt": "//Twice.\nfunction twice(n: number): number {\n",
            "tests": "declare var require: any;\nconst assert = require('node:assert');\n\n\nfunction test() {\n"
            "  let candidate = twice;\n  assert.deepEqual(candidate(3),6);\n  assert.deepEqual(candidate(0),0);\n}\n\ntest();",
            "stop_tokens": ["\nfunction ", "\n/*", "\n//", "\nclass"],
        },
        {
            "right": "  const two: number = 2\n  return two * n\n}\nclass X {", "off by one": "  return 2 * n + 1\n}\n",
            "endless": "  for (;;);\n}\n", "another form": "  return 6 +\n}\n", "ends early": "  process.exit(0)\n}\n",
        },
    ),
    "rs": (
        {
            "prompt": "/// Twice.\nfn twice(n: isize) -> isize {\n",
            "tests": "}\n\nfn main() {\n    let candidate = twice;\n    assert_eq!(candidate(3), 6);\n"
            "    assert_eq!(candidate(0), 0);\n}\n",
            "stop_tokens": ["\n}"],
        },
        {
            "right": "    2 * n\n}\n\nfn more(", "calls itself": "    if n == 0 { 0 } else { 2 + twice(n - 1) }\n",
            "off by one": "    2 * n + 1\n", "endless": "    loop { std::hint::black_box(n); }\n",
            "another form": "    \"6\"\n", "ends early": "    std::process::exit(0)\n",
        },
    ),
    "sh": (
        {
            "prompt": "#!/bin/bash\n# Twice.\n#\n# $1 is an integer\ntwice() {\n",
            "tests": '}\n\ncandidate() {\n    twice "$@"\n}\n\nset -e\nrun_test() {\n    [[ $(candidate "3") = "6" ]]\n'
            '    [[ $(candidate "0") = "0" ]]\n}\n\nrun_test\n',
            "stop_tokens": ["\n}"],
        },
        {
            "right": "    echo $((2 * $1))\n}\ntwice 4", "off by one": "    echo $((2 * $1 + 1))\n",
            "endless": "    while :; do :; done\n", "another form": '    echo "is $((2 * $1))"\n',
            "ends early": "    :\n}\nexit 0\n{\n",
        },
    ),
    "go_test.go": (
        {
            "prompt": 'package twice_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n// Twice.\nfunc twice(n int) int {\n',
            "tests": GO_TESTS,
            "stop_tokens": ["\nfunc", "struct", "\n// "],
        },
        {
            "right": "    return 2 * n\n}\n\nfunc more(", "calls itself": "    if n == 0 {\n        return 0\n    }\n    return 2 + twice(n-1)\n}\n",
            "off by one": "    return 2*n + 1\n}\n", "endless": "    for {\n    }\n}\n", "another form": '    return "6"\n}\n',
            "ends early": "    panic(nil)\n}\n",
        },
    ),
}  # fmt: skip
HUMANEVAL_X: dict[str, Row] = {
    "CPP": (
        {
            "declaration": "#include<stdio.h>\n#include<vector>\nusing namespace std;\nint twice(int n){\n",
            "test": "#undef NDEBUG\n#include<assert.h>\nint main(){\n    assert (twice(3)==6);\n    assert (twice(0)==0);\n}\n",
        },
        {"right": "    return 2*n;\n}\n", "calls itself": "    return n ? 2 + twice(n-1) : 0;\n}\n",
         "off by one": "    return 2*n+1;\n}\n", "endless": "    for(volatile int i=0;;i++);\n}\n", "another form": "    return;\n}\n"},
    ),
    "Java": (
        {
            "declaration": "import java.util.*;\nimport java.lang.*;\n\nclass Solution {\n    public int twice(int n) {\n",
            "test": "public class Main {\n    public static void main(String[] args) {\n        Solution s = new Solution();\n"
            "        List<Boolean> correct = Arrays.asList(\n            s.twice(3) == 6,\n            s.twice(0) == 0\n        );\n"
            "        if (correct.contains(false)) {\n            throw new AssertionError();\n        }\n    }\n}\n",
        },
        {"right": "        return 2 * n;\n    }\n}\n", "calls itself": "        return n == 0 ? 0 : 2 + twice(n - 1);\n    }\n}\n",
         "whole": "```java\nclass Solution {\n    public int twice(int n) {\n        return n + n;\n    }\n}\n```",
         "off by one": "        return 2 * n + 1;\n    }\n}\n", "endless": "        while (n == n);\n        return 0;\n    }\n}\n",
         "another form": "        return \"6\";\n    }\n}\n"},
    ),
    "JavaScript": (
        {
            "declaration": "const twice = (n) => {\n",
            "test": "const testTwice = () => {\n  console.assert(twice(3) === 6)\n  console.assert(twice(0) === 0)\n}\n\ntestTwice()\n",
        },
        {"right": "  return 2 * n\n}\n\n", "calls itself": "  return n ? 2 + twice(n - 1) : 0\n}\n\n",
         "whole": "```js\nconst twice = n => n + n\n```", "off by one": "  return 2 * n + 1\n}\n\n",
         "endless": "  for (;;);\n}\n", "another form": "  return '6'\n}\n"},
    ),
    "Go": (
        {
            "declaration": 'import (\n    "math"\n)\n\nfunc Twice(n int) int {\n',
            "test_setup": 'package main\n\nimport (\n    "testing"\n    "github.com/stretchr/testify/assert"\n)\n',
            "test": "func TestTwice(t *testing.T) {\n    assert := assert.New(t)\n    assert.Equal(6, Twice(3))\n    assert.Equal(0, Twice(0))\n}\n",
        },
        {"right": "    return int(math.Round(float64(2 * n)))\n}\n", "calls itself": "    if n == 0 {\n        return 0\n    }\n    return 2 + Twice(n-1)\n}\n",
         "whole": "```go\npackage main\n\nimport \"fmt\"\n\nfunc Twice(n int) int { return n + n }\n\nfunc main() { fmt.Println(Twice(2)) }\n```",
         "off by one": "    return 2*n + 1\n}\n", "endless": "    for {\n    }\n}\n", "another form": "    return \"6\"\n}\n"},
    ),
    "Rust": (
        {
            "declaration": "use std::collections::HashMap;\nfn twice(n: i32) -> i32{\n",
            "test": "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn test_twice() {\n        assert_eq!(twice(3), 6);\n"
            "        assert_eq!(twice(0), 0);\n    }\n\n}\n",
        },
        {"right": "    2 * n\n}\n", "calls itself": "    if n == 0 { 0 } else { 2 + twice(n - 1) }\n}\n",
         "off by one": "    2 * n + 1\n}\n", "endless": "    loop { std::hint::black_box(n); }\n}\n", "another form": "    \"6\"\n}\n"},
    ),
}  # fmt: skip
RIGHT = ("right", "calls itself", "whole")
SLOW = ("java", "Java", "rs", "Rust", "go_test.go", "Go", "cpp")
NAMES = {"js": "javascript", "ts": "typescript", "rs": "rust", "sh": "bash", "go_test.go": "go"}


def of_each(rows: dict[str, Row]) -> list[Any]:
    """Every language; those with slow compilers are for the slow run."""
    return [pytest.param(name, marks=pytest.mark.slow if name in SLOW else []) for name in rows]


def check(scores: dict[str, Score]) -> None:
    seen = {name: score.value for name, score in scores.items()}
    assert seen == {name: float(name in RIGHT) for name in scores}, scores


@pytest.mark.parametrize("language", of_each(MULTIPLE))
def test_rows_of_multipl_e_pass_the_right_and_fail_wrong_twins(language: str) -> None:
    needs(NAMES.get(language, language))
    meta, replies = MULTIPLE[language]
    meta = {"name": "HumanEval_0_twice", "language": language, "doctests": "transform", **meta}
    samples = [Sample(completion=text, meta=meta) for text in replies.values()]
    check(dict(zip(replies, Code(wall_s=2).score(samples), strict=True)))


@pytest.mark.parametrize("language", of_each(HUMANEVAL_X))
def test_rows_of_humaneval_x_pass_the_right_and_fail_wrong_twins(language: str) -> None:
    needs(language.lower())
    meta, replies = HUMANEVAL_X[language]
    meta = {"task_id": f"{language}/0", "prompt": meta["declaration"], **meta}
    samples = [Sample(completion=text, meta=meta) for text in replies.values()]
    check(dict(zip(replies, Code(wall_s=2).score(samples), strict=True)))


STANDARD_INPUT: dict[str, dict[str, Any]] = {
    "plain": {"tests": [{"input": "3\n", "output": "6\n"}, {"input": "0\n", "output": "0\n"}]},
    "APPS": {"input_output": '{"inputs": ["3\\n", "0\\n"], "outputs": ["6\\n", "0\\n"]}'},
    "CodeContests": {
        "public_tests": {"input": ["3\n"], "output": ["6\n"]},
        "private_tests": {"input": ["0\n"], "output": ["0\n"]},
        "generated_tests": {"input": [], "output": []},
    },
    "LiveCodeBench": {
        "public_test_cases": '[{"input": "3\\n", "output": "6\\n", "testtype": "stdin"}]',
        "private_test_cases": '[{"input": "0\\n", "output": "0\\n", "testtype": "stdin"}]',
    },
}
PROGRAMS = {
    "python": {
        "right": "print(2 * int(input()))", "off by one": "print(2 * int(input()) + 1)", "endless": "while True: pass",
        "another form": "print('Twice:', 2 * int(input()))", "ends early": "import os; os._exit(0)",
    },
    "bash": {
        "right": "read n; echo $((2 * n))", "off by one": "read n; echo $((2 * n + 1))", "endless": "while :; do :; done",
        "another form": "read n; echo Twice: $((2 * n))", "ends early": "exit 0",
    },
    "cpp": {
        "right": "#include <iostream>\nint main(){int n;std::cin>>n;std::cout<<2*n;}",
        "off by one": "#include <iostream>\nint main(){int n;std::cin>>n;std::cout<<2*n+1;}",
        "endless": "int main(){for(volatile int i=0;;i++);}",
        "another form": '#include <cstdio>\nint main(){int n;scanf("%d",&n);printf("Twice: %d",2*n);}',
        "ends early": "int main(){return 0;}",
    },
}  # fmt: skip


@pytest.mark.parametrize("form", STANDARD_INPUT)
@pytest.mark.parametrize("language", PROGRAMS)
def test_formats_of_standard_input_pass_the_right_and_fail_wrong_twins(form: str, language: str) -> None:
    if language != "python":
        needs(language)
    replies = PROGRAMS[language]
    meta = {**STANDARD_INPUT[form], "language": language}
    samples = [Sample(completion=text, meta=meta) for text in replies.values()]
    check(dict(zip(replies, Code(wall_s=1).score(samples), strict=True)))


@pytest.mark.parametrize(
    ("language", "program", "answer"),
    [
        ("cpp", "long twice(long n) { return 2; }", True), ("cpp", "std::vector<int> *twice (int n)\n{", True),
        ("cpp", "    return twice(n - 1);\n}", False), ("cpp", "    long m = twice(n);\n", False),
        ("cpp", "    if (n) { return twice(n) ; }", False), ("cpp", "  twice(n);", False),
        ("java", "class P { public static long twice(long n) {", True), ("java", "  return 1 + twice(2);", False),
        ("javascript", "const twice = (n) => n", True), ("javascript", "  return twice(n)\n}", False),
        ("rust", "pub fn twice<T>(n: T) {", True), ("rust", "  twice(n)", False), ("go", "func twice(n int) {", True),
        ("go", "  twice(n)", False), ("bash", "function twice() {", True), ("bash", '  twice "$1"\n', False),
    ],
)  # fmt: skip
def test_a_call_of_itself_is_no_definition(language: str, program: str, answer: bool) -> None:
    assert defines(language, "twice", program) is answer
