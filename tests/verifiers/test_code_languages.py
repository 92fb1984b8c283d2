"""`code` on programs of other languages: right ones pass, wrong twins fail, what is missing is unscored by name."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from verikit.sandbox import default_sandbox, toolchains
from verikit.sandbox.toolchains import LANGUAGES, Missing, toolchain
from verikit.types import Sample, Score
from verikit.verifiers.code import Code
from verikit.verifiers.code_languages import fence_language, program, row_language

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


@pytest.mark.parametrize("language", [name for name in LANGUAGES if name not in ("go", "lean", "typescript")])
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
    assert score.reason == "no tool chain for go on this machine: apt-get install golang-go"


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
    assert Code().score([other])[0].status == "abstained"


def test_compilers_see_no_file_of_the_machine() -> None:
    assert shutil.which("gcc") is None or "No such file" in scored("c", '#include "/etc/passwd"\nint main(){}').reason
