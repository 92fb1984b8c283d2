"""`code` on programs of other languages: right ones pass, wrong twins fail, what is missing is unscored by name."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from verikit.sandbox import default_sandbox, toolchains
from verikit.sandbox.java_source import main_class
from verikit.sandbox.toolchains import LANGUAGES, Missing, toolchain
from verikit.types import Sample, Score
from verikit.verifiers.code.languages import fence_language, program, row_language
from verikit.verifiers.code.verifier import Code

SUM = {
    "c": '#include <stdio.h>\nint main(void){long a,b;if(scanf("%ld %ld",&a,&b)!=2)return 3;printf("%ld\\n",a+b);}',
    "cpp": "#include <iostream>\nint main(){long a,b;std::cin>>a>>b;std::cout<<a+b<<'\\n';}",
    "java": "import java.util.*;\nclass Helper{static long add(long a,long b){return a+b;}}\npublic class Sum{\n"
    "public static void main(String[] x){Scanner s=new Scanner(System.in);\n"
    "System.out.println(Helper.add(s.nextLong(),s.nextLong()));}}",
    "javascript": "let [a,b]=require('fs').readFileSync('/dev/stdin','utf8').split(' ').map(Number)\nconsole.log(a+b)",
    "typescript": "const [a,b]: number[]=require('fs').readFileSync(0,'utf8').split(' ').map(Number)\nconsole.log(a+b)",
    "go": 'package main\nimport "fmt"\nfunc main(){var a,b int;fmt.Scan(&a,&b);fmt.Println(a+b)}',
    "rust": "use std::io;\nfn main(){let mut s=String::new();io::stdin().read_line(&mut s).unwrap();\n"
    'let t:i64=s.split_whitespace().map(|x|x.parse::<i64>().unwrap()).sum();println!("{}",t);}',
    "bash": "read -r a b\necho \"$((a + b))\" | sed 's/^/ /' | tr -d ' '",
    "lean": "def main : IO Unit := do\n  let s ← (← IO.getStdin).getLine\n"
    '  IO.println (s.trim.splitOn " " |>.map String.toInt! |>.foldl (· + ·) 0)',
}
TESTS = [{"input": "1 2\n", "output": "3\n"}, {"input": "-5 3\n", "output": "-2\n"}, {"input": "9 9\n", "output": "18"}]
LOOPS = {
    "c": "int main(void){volatile int x=1;while(x);}",
    "cpp": "int main(){volatile int x=1;while(x);}",
    "java": "public class Main{public static void main(String[] a){while(true);}}",
    "javascript": "for(;;);",
    "rust": "fn main(){loop{std::hint::black_box(1);}}",
    "bash": "while :; do :; done",
}


def needs(language: str) -> None:
    chain = toolchain(language)
    if isinstance(chain, Missing):
        pytest.skip(f"no tool chain for {language}: {chain.install}")
    problem = default_sandbox().programs.problem(language)
    if "namespaces" in problem:
        pytest.skip(problem)
    assert problem == ""


def scored(language: str, text: str, **options: Any) -> Score:
    needs(language)
    reply = f"Here it is:\n```{language}\n{text}\n```\nDone."
    return Code(**options).score([Sample(completion=reply, meta={"tests": TESTS, "language": language})])[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_right_program_passes(language: str) -> None:
    score = scored(language, SUM[language])
    assert (score.value, score.reason) == (1.0, f"{language}: passes 3 of 3 tests")


@pytest.mark.parametrize("language", LANGUAGES)
def test_wrong_twins_fail(language: str) -> None:
    wrong = SUM[language].replace("a+b", "a+b+1").replace("a + b", "a + b + 1").replace(".sum()", ".sum::<i64>()+1")
    if language == "rust":
        wrong = SUM[language].replace('println!("{}",t)', 'println!("{}",t+1)')
    score = scored(language, wrong)
    assert (score.value, score.reason) == (0.0, f"{language}: standard output: another output")
    assert scored(language, SUM[language] + "\n}}}{{{ §").value == 0.0


@pytest.mark.parametrize("language", LOOPS)
def test_a_loop_is_ended_in_time(language: str) -> None:
    score = scored(language, LOOPS[language], wall_s=1.0)
    assert score.value == 0.0
    assert "timeout" in score.reason


def test_a_program_that_does_not_compile_is_told_by_its_first_lines() -> None:
    score = scored("cpp", "int main(){ return undefined_name; }")
    assert score.value == 0.0
    assert score.reason.startswith("does not compile: error: ")
    assert "undefined_name" in score.reason


def test_a_program_is_compiled_once() -> None:
    needs("c")
    box = default_sandbox()
    assert box.programs.build("c", SUM["c"]) is box.programs.build("c", SUM["c"])


def test_cases_share_nothing() -> None:
    text = (
        'if [ -e seen ] || [ -e ../seen ]; then echo left; else echo fresh; fi\ntouch seen ../seen\nrm -f "$0"\n'
        "(sleep 60; echo late) &\n"
    )
    needs("bash")
    tests = [{"input": "", "output": "fresh"}] * 4
    score = Code(language="bash").score([Sample(completion=text, meta={"tests": tests})])[0]
    assert score.value == 1.0, score.reason


def test_a_share_counts_the_cases_after_a_crash() -> None:
    text = 'read -r a b\n[ "$a" = -5 ] && kill -9 $$\necho $((a + b))\n'
    assert scored("bash", text, reward="fraction").value == pytest.approx(2 / 3)


def test_a_missing_tool_chain_is_named_and_never_a_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(toolchains._FIND, "go", (lambda: None, "apt-get install golang-go"))
    toolchain.cache_clear()
    try:
        score = Code(language="go").score([Sample(completion=SUM["go"], meta={"tests": TESTS})])[0]
    finally:
        toolchain.cache_clear()
    assert (score.value, score.status) == (None, "error")
    assert score.reason == "the toolchain is missing for go on this machine: apt-get install golang-go"


def test_the_language_is_the_rows_or_the_fences() -> None:
    assert row_language({"lang": "C++"}) == "cpp"
    assert row_language({"language": "en"}) == ""
    assert row_language({"task_id": "Rust/3", "declaration": "fn f()"}) == "rust"
    assert fence_language("```js\nf()\n```") == "javascript"
    assert fence_language("```python\nf()\n```\n```cpp\nint main(){}\n```") == ""
    assert fence_language("```bash\npip install x\n```") == ""
    assert fence_language("no fence") == ""


def test_the_block_that_starts_the_program_counts() -> None:
    reply = "```cpp\nint helper();\nint main(){}\n```\nUse it so:\n```cpp\nhelper();\n```\n```\noutput\n```"
    assert program(reply, "cpp") == "int helper();\nint main(){}"
    assert program("int main(){}", "c") == "int main(){}"
    assert program("```python\nx\n```", "java") == ""


def test_tests_of_python_functions_stay_with_python() -> None:
    sample = Sample(completion="```python\ndef f(x): return x\n```", meta={"tests": ["assert f(1) == 1"]})
    assert Code().score([sample])[0].value == 1.0
    other = Sample(completion="```cpp\nint f(int x){return x;}\n```", meta={"tests": ["assert f(1) == 1"]})
    assert Code().score([other])[0].value == 0.0


def test_a_go_program_may_import_what_its_tool_chain_holds_in_assembler() -> None:
    needs("go")
    text = (
        'package main\nimport ("fmt";"crypto/sha1")\nfunc main(){var a,b int;fmt.Scan(&a,&b);sha1.Sum(nil);'
        "fmt.Println(a+b)}"
    )
    assert scored("go", text).value == 1.0


def test_compilers_see_no_file_of_the_machine() -> None:
    assert shutil.which("gcc") is None or "No such file" in scored("c", '#include "/etc/passwd"\nint main(){}').reason


FORMS = {
    "cpp": (
        "#include<assert.h>\n#include<cstdlib>\n// Twice.\nlong twice(long n) {\n",
        "    return 2 * n;\n",
        "}\nint main() {\n    auto candidate = twice;\n    assert(candidate((2)) == (4));\n"
        "    assert(candidate((0)) == (0));\n}\n",
        ["    exit(0);\n", "    return 4;\n", "    return 2*n; }\n#define assert(x)\nlong other(){ return 1;\n"],
    ),
    "java": (
        "import java.util.*;\nclass Problem {\n    // Twice.\n    public static long twice(long n) {\n",
        "        return 2 * n;\n",
        "    }\n    public static void main(String[] args) {\n    assert(twice((2l)) == (4l));\n"
        "    assert(twice((0l)) == (0l));\n    }\n\n}\n",
        ["        System.exit(0); return 0;\n", "        return 4;\n"],
    ),
    "javascript": (
        "//Twice.\nfunction twice(n){\n",
        "  return 2 * n\n}\n",
        "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = twice;\n"
        "  assert.deepEqual(candidate(2),4);\n  assert.deepEqual(candidate(0),0);\n}\n\ntest();",
        ["  process.exit(0)\n}\n", "  return 4\n}\n"],
    ),
    "rust": (
        "/// Twice.\nfn twice(n: isize) -> isize {\n",
        "    2 * n\n",
        "}\n\nfn main() {\n    let candidate = twice;\n    assert_eq!(candidate(2), 4);\n"
        "    assert_eq!(candidate(0), 0);\n}\n",
        ["    std::process::exit(0)\n", "    4\n"],
    ),
    "bash": (
        "#!/bin/bash\n# Twice.\n#\n# $1 is an integer\ntwice() {\n",
        '    echo $((2 * $1))\n',
        '}\n\ncandidate() {\n    twice "$@"\n}\n\nset -e\nrun_test() {\n    [[ $(candidate "2") = "4" ]]\n'
        '    [[ $(candidate "0") = "0" ]]\n}\n\nrun_test\n',
        ["    :\n}\nexit 0\n{\n", "    echo 4\n"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", FORMS)
def test_appended_tests_pass_right_programs_and_fail_wrong_and_forging_ones(language: str) -> None:
    needs(language)
    prompt, right, tests, wrong = FORMS[language]
    meta = {"language": language, "prompt": prompt, "tests": tests, "name": "HumanEval_0_twice"}
    closed = right if language == "javascript" else right + "}\n"
    lone = prompt + closed + ("}\n" if language == "java" else "")
    good, fenced, *bad = Code().score(
        [Sample(completion=text, meta=meta) for text in (right, f"```{language}\n{lone}```", *wrong)]
    )
    assert good.value == 1.0, good
    assert fenced.value == 1.0, fenced
    assert good.reason == f"in process, forgeable: {language}: passes 1 of 1 tests"
    assert [score.value for score in bad[:2]] == [0.0, 0.0], bad
    assert all(score.scored for score in bad)


def test_test_programs_of_lean_and_go_files_without_tests_are_unscored_by_name() -> None:
    meta = {"language": "lean", "tests": "#guard twice 2 = 4", "prompt": "def twice (n : Nat) : Nat :="}
    score = Code().score([Sample(completion="2 * n", meta=meta)])[0]
    assert (score.status, score.reason) == ("error", "test programs in lean can't be run")
    meta = {"language": "go", "tests": "func Example() {}", "prompt": "func twice(n int) int {"}
    score = Code().score([Sample(completion="return n}", meta=meta)])[0]
    assert score.status == "error"
    assert "without functions TestX" in score.reason


ANY_PAIR = "def check(given, expected, output):\n    a, b = map(int, output.split())\n    return a + b == int(given)\n"


@pytest.mark.parametrize(
    ("program", "value"),
    [("print(1, int(input()) - 1)", 1.0), ("print(2, int(input()))", 0.0), ("print('no numbers')", 0.0)],
)
def test_a_checker_judges_outputs_of_which_several_are_right(program: str, value: float) -> None:
    meta = {"tests": [{"input": "7", "output": "3 4"}, {"input": "9", "output": "0 9"}], "checker": ANY_PAIR}
    assert Code().score([Sample(completion=program, meta=meta)])[0].value == value


def test_a_checker_that_does_not_work_is_the_rows_fault() -> None:
    meta = {"tests": [{"input": "7", "output": "3 4"}], "checker": "def check(a, b, c): return undefined"}
    score = Code().score([Sample(completion="print(3, 4)", meta=meta)])[0]
    assert score.status == "error"
    assert "checker failed" in score.reason


def test_a_checker_judges_other_languages_too() -> None:
    needs("bash")
    meta = {"tests": [{"input": "7\n", "output": "3 4"}], "checker": ANY_PAIR, "language": "bash"}
    right, wrong = Code().score([Sample(completion=f"read n; echo {x} $((n - 2))", meta=meta) for x in (2, 3)])
    assert (right.value, wrong.value) == (1.0, 0.0)


def test_several_outputs_may_be_right() -> None:
    meta = {"tests": [{"input": "", "any_of": ["1 2", "2 1"]}]}
    texts = ("print(1, 2)", "print(2, 1)", "print(3)")
    assert [s.value for s in Code().score([Sample(completion=t, meta=meta) for t in texts])] == [1.0, 1.0, 0.0]


def test_tests_of_codecontests_are_read() -> None:
    meta = {
        "public_tests": {"input": ["1\n"], "output": ["2\n"]},
        "private_tests": {"input": ["5\n"], "output": ["6\n"]},
        "generated_tests": {"input": [], "output": []},
    }
    texts = ("print(int(input()) + 1)", "print(2)")
    assert [s.value for s in Code().score([Sample(completion=t, meta=meta) for t in texts])] == [1.0, 0.0]


def test_the_java_class_around_main_is_started() -> None:
    nested = "class Problem {\n  static class Box { int n; }\n  public static void main(String[] a) {}\n}"
    assert main_class(nested) == ("Problem", "Problem")
    assert main_class("class Helper { }\npublic class Sum { public static void main(String[] a) {} }") == ("Sum", "Sum")
    assert main_class("class Solution { }") == ("Main", "Main")
