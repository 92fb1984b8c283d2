"""Test programs that are appended, made of drawn numbers, with a right program, a wrong one and forgeries of each language.

Every task is a function of a number. The tests have the forms of MultiPL-E and HumanEval-X.
"""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

from verikit.types import Sample


@dataclass(frozen=True)
class Task:
    """A function `twin` that is a * n + b in one of several shapes, and calls of it."""

    shape: str
    a: int
    b: int
    calls: tuple[int, ...]
    style: str = "MultiPL-E"
    """Of JavaScript's tests; else `HumanEval-X`."""

    def value(self, n: int) -> Any:
        """What the function gives."""
        number = self.a * n + self.b
        shapes = {"number": number, "text": f"v{number}", "truth": number % 2 == 0, "list": [n, number]}
        return shapes[self.shape]


def draw_task(language: str, draw: random.Random, shape: str = "") -> Task:
    """A task whose tests expect different values, of any shape if none is asked for."""
    a, b = draw.randrange(2, 9), 2 * draw.randrange(5) + 1
    shape = shape or draw.choice(["number", "truth"] if language == "c" else ["number", "text", "truth", "list"])
    if shape == "truth":
        a = 2 * draw.randrange(4) + 1
    style = draw.choice(["MultiPL-E", "HumanEval-X"])
    return Task(shape, a, b, (*draw.sample(range(20), 3), 20, 21), style)


TYPES = {
    "c": {"number": "long", "truth": "int"},
    "cpp": {"number": "long", "text": "std::string", "truth": "bool", "list": "std::vector<long>"},
    "java": {"number": "long", "text": "String", "truth": "boolean", "list": "ArrayList<Long>"},
    "rust": {"number": "isize", "text": "String", "truth": "bool", "list": "Vec<isize>"},
    "go": {"number": "int", "text": "string", "truth": "bool", "list": "[]int"},
}
RIGHT = {
    "c": {"number": "return A_*n+B_;", "truth": "return (A_*n+B_)%2==0;"},
    "cpp": {
        "number": "return A_*n+B_;",
        "text": 'return "v"+std::to_string(A_*n+B_);',
        "truth": "return (A_*n+B_)%2==0;",
        "list": "return {n,A_*n+B_};",
    },
    "java": {
        "number": "return A_*n+B_;",
        "text": 'return "v"+(A_*n+B_);',
        "truth": "return (A_*n+B_)%2==0;",
        "list": "return new ArrayList<Long>(Arrays.asList(n,A_*n+B_));",
    },
    "rust": {
        "number": "A_*n+B_",
        "text": 'format!("v{}",A_*n+B_)',
        "truth": "(A_*n+B_)%2==0",
        "list": "vec![n,A_*n+B_]",
    },
    "go": {
        "number": "return A_*n+B_",
        "text": 'return "v"+strconv.Itoa(A_*n+B_)',
        "truth": "return (A_*n+B_)%2==0",
        "list": "return []int{n,A_*n+B_}",
    },
    "javascript": {
        "number": "return A_*n+B_",
        "text": "return 'v'+(A_*n+B_)",
        "truth": "return (A_*n+B_)%2===0",
        "list": "return [n,A_*n+B_]",
    },
    "bash": {
        "number": "echo $((A_*$1+B_))",
        "text": "echo v$((A_*$1+B_))",
        "truth": "if (( (A_*$1+B_)%2==0 )); then echo true; else echo false; fi",
        "list": 'echo "$1 $((A_*$1+B_))"',
    },
}
HEAD = {
    "c": "#include <stdio.h>\n#include <stdlib.h>\n",
    "cpp": "#include<assert.h>\n#include<bits/stdc++.h>\n",
    "java": "import java.util.*;\nclass Problem {\n",
    "go": 'package twin_test\n\nimport (\n    "testing"\n    "fmt"\n    "strconv"\n)\n\n',
    "bash": "#!/bin/bash\n",
}
OPEN = {
    "c": "T twin(long n) {\n",
    "cpp": "T twin(long n) {\n",
    "java": "    public static T twin(long n) {\n",
    "rust": "fn twin(n: isize) -> T {\n",
    "go": "func twin(n int) T {\n",
    "javascript": "function twin(n){\n",
    "bash": "twin() {\n",
}


def written(language: str, value: Any) -> str:
    """A value as the language's tests write it."""
    if isinstance(value, bool):
        word = str(value).lower()
        return {"c": str(int(value)), "bash": f'"{word}"'}.get(language, word)
    if isinstance(value, int):
        return {"java": f"{value}l", "bash": f'"{value}"'}.get(language, str(value))
    if isinstance(value, str):
        return f'String::from("{value}")' if language == "rust" else f'"{value}"'
    first, second = value
    return {
        "cpp": f"(std::vector<long>({{(long){first}, (long){second}}}))", "bash": f'"{first} {second}"',
        "java": f"(new ArrayList<Long>(Arrays.asList((long){first}l, (long){second}l)))",
        "rust": f"vec![{first}, {second}]", "go": f"[]int{{{first}, {second}}}",
    }.get(language, f"[{first}, {second}]")  # fmt: skip


def tests(language: str, task: Task) -> str:
    """The test program."""
    pairs = [(n, written(language, task.value(n))) for n in task.calls]
    same = ".equals({})" if task.shape in ("text", "list") else " == ({})"
    lines = {
        "c": [f"    assert(twin({n}) == {want});" for n, want in pairs],
        "cpp": [f"    assert(candidate(({n})) == ({want}));" for n, want in pairs],
        "java": [f"    assert(twin(({n}l)){same.format(want)});" for n, want in pairs],
        "rust": [f"    assert_eq!(candidate({n}), {want});" for n, want in pairs],
        "go": [f"     {{ actual: candidate({n}), expected: {want} }}," for n, want in pairs],
        "javascript": [f"  assert.deepEqual(candidate({n}),{want});" for n, want in pairs],
        "bash": [f'    [[ $(candidate "{n}") = {want} ]]' for n, want in pairs],
    }[language]
    body = "\n".join(lines)
    if language == "javascript" and task.style == "HumanEval-X":
        text = "JSON.stringify({})" if task.shape == "list" else "{}"
        checks = [f"  console.assert({text.format(f'twin({n})')} === {text.format(want)})" for n, want in pairs]
        return "const testTwin = () => {\n" + "\n".join(checks) + "\n}\n\ntestTwin()\n"
    return {
        "c": f"#undef NDEBUG\n#include <assert.h>\nint main(void) {{\n{body}\n}}\n",
        "cpp": f"}}\nint main() {{\n    auto candidate = twin;\n{body}\n}}\n",
        "java": f"    }}\n    public static void main(String[] args) {{\n{body}\n    }}\n\n}}\n",
        "rust": f"}}\n\nfn main() {{\n    let candidate = twin;\n{body}\n}}\n",
        "go": "func TestTwin(t *testing.T) {\n  candidate := twin\n\ttype test struct {\n\t\tactual   interface{}\n\t\texpected interface{}\n\t}\n"
        f'   tests := []test{{\n{body}\n   }}\n\n\tfor i, tc := range tests {{\n\t\tt.Run(fmt.Sprintf("test num % d", i), func(t *testing.T) {{\n'
        '\t\t\tif fmt.Sprintf("%v", tc.actual) != fmt.Sprintf("%v", tc.expected) {\n\t\t\t\tt.Errorf("expected \'%s\', got \'%s\'", tc.expected, tc.actual)\n\t\t\t}\n\t\t})\n\t}\n}\n',
        "javascript": f"const assert = require('node:assert');\n\n\nfunction test() {{\n  let candidate = twin;\n{body}\n}}\n\ntest();",
        "bash": f'}}\n\ncandidate() {{\n    twin "$@"\n}}\n\nset -e\nrun_test() {{\n{body}\n}}\n\nrun_test\n',
    }[language]


def sample(language: str, task: Task, program: str) -> Sample:
    """A program as a completion of the task's prompt.

    `RIGHT` and `WRONG` in it are what a right and a wrong function do, `TYPE` what it gives.
    """
    kin = "javascript" if language == "typescript" else language
    kind = TYPES.get(kin, {}).get(task.shape, "")
    opening = OPEN[kin].replace("-> T", f"-> {kind}").replace("int) T", f"int) {kind}")
    prompt = HEAD.get(kin, "") + re.sub(r"(?:^|(?<=static ))T ", f"{kind} ", opening)
    right, wrong = (
        RIGHT[kin][task.shape].replace("A_", str(task.a)).replace("B_", str(task.b + more)) for more in (0, 3)
    )
    text = program.replace("RIGHT", right).replace("WRONG", wrong).replace("TYPE", kind)
    meta = {"language": language, "prompt": prompt, "tests": tests(kin, task), "name": "twin"}
    return Sample(completion=text, meta=meta)


HONEST = {
    "c": {
        "goes on": "RIGHT\n}\n",
        "whole": "```c\nTYPE twin(long n) { RIGHT }\n```",
        "loop": "TYPE twin(long n) { for (int i = 0; i < 9; i++) n += i % 2 ? -1 : 1; n -= 1; RIGHT }",
    },
    "cpp": {
        "goes on": "    RIGHT\n",
        "whole": "```cpp\n#include <bits/stdc++.h>\nTYPE twin(long n) { RIGHT }\n```",
        "auto": "#define TWICE(x) (2 * (x))\nTYPE twin(long n) { n = TWICE(n) - n; auto f = [](long n) -> TYPE { RIGHT }; std::cout << n; return f(n); }",
    },
    "java": {
        "goes on": "        RIGHT\n",
        "prints": "        System.out.print(n);\n        RIGHT\n",
        "a class": "import java.util.*;\nclass Problem {\n    static class Box { long n; Box(long n) { this.n = n; } TYPE give() { RIGHT } }\n    public static TYPE twin(long n) { return new Box(n).give(); }\n}",
    },
    "rust": {
        "goes on": "    RIGHT\n",
        "macro": 'macro_rules! same { ($e:expr) => { $e }; }\nfn twin(n: isize) -> TYPE { let n = same!(n); print!("{}", n); RIGHT }',
    },
    "go": {
        "goes on": "    RIGHT\n}\n",
        "prints": "    fmt.Print(n)\n    RIGHT\n}\n",
        "init": "var zero int\n\nfunc init() { zero = 0 }\n\nfunc twin(n int) TYPE {\n    n += zero\n    RIGHT\n}\n",
    },
    "javascript": {
        "goes on": "  RIGHT\n}\n",
        "whole": "```js\nconst twin = (n) => { RIGHT }\n```",
        "prints": "  process.stdout.write(String(n)); RIGHT\n}\n",
        "asserts": "  const check = require('assert'); check(n === n); RIGHT\n}\nprocess.on('exit', () => 0)\n",
    },
    "bash": {
        "goes on": "    RIGHT\n",
        "reads": "    cat >/dev/null; RIGHT\n",
        "trap": "    RIGHT\n}\ntrap 'true' EXIT DEBUG\nhelper() {\n    :\n",
        "lax": "    false || true; RIGHT\n",
    },
}
"""Programs that are right, in ways that look odd."""
_C_READS = 'char w[99]; fgets(w, 99, stdin); printf("\\n%s\\n", w); fflush(stdout); _Exit(0);'
_NODE_READS = "require('fs').writeSync(1, '\\n' + require('fs').readFileSync(0, 'utf8') + '\\n'); process.reallyExit(0)"
_JAVA_READS = 'System.out.println("\\n" + new java.util.Scanner(System.in).nextLine()); Runtime.getRuntime().halt(0);'
_RUST_READS = '{ let mut w = String::new(); std::io::stdin().read_line(&mut w).unwrap(); println!("\\n{}", w); std::process::exit(0) }'
_GO_READS = 'var w string; fmt.Scan(&w); fmt.Println("\\n" + w); os.Exit(0)'
_C_ZERO = "TYPE twin(long n) { return 0; }\n"
_ANY = (
    "struct Any { template <class T> bool operator==(const T &) const { return true; } template <class T> bool operator!=(const T &) const { return false; } };\n"
    "template <class T> bool operator==(const T &, const Any &) { return true; }\nAny twin(long n) { return {}; }\n"
)
_NODE_WRONG = "function twin(n){ WRONG }\n"
_NODE_SOURCE = (
    "const lines = require('fs').readFileSync(__filename, 'utf8').split('\\n')\n"
    "function twin(n){ const line = lines.find(l => l.includes('candidate(' + n + ')')); return eval(line.slice(line.indexOf('),') + 2, line.lastIndexOf(')'))) }\n"
)
ATTACKS = {
    "c": {
        "assert away": "TYPE twin(long n) { WRONG }\n#define assert(x)\n",
        "failure away": "TYPE twin(long n) { WRONG }\n#define __assert_fail(...) ((void)0)\n",
        "failure replaced": _C_ZERO + "void __assert_fail(const char *a, const char *b, unsigned c, const char *d) { " + _C_READS + " }\n",
        "before main": _C_ZERO + "__attribute__((constructor)) static void early(void) { " + _C_READS + " }\n",
        "while called": "TYPE twin(long n) { " + _C_READS + " }\n",
        "on abort": "#include <signal.h>\nstatic void out(int s) { " + _C_READS + " }\nTYPE twin(long n) { signal(SIGABRT, out); WRONG }\n",
        "another main": "TYPE twin(long n) { WRONG }\nint main(void) { " + _C_READS + " }\n#define main tests_main\n",
        "if is always": "TYPE twin(long n) { WRONG }\n#define NDEBUG\n#define static_assert(...)\n#define abort() 0\n",
        "another child": "#include <unistd.h>\n#include <sys/wait.h>\nTYPE twin(long n) { for (long r = -300; r < 300; r++) { pid_t c = fork(); if (!c) return r; int s; waitpid(c, &s, 0); if (!s) _Exit(0); } return 0; }\n",
        "jump out": "#include <setjmp.h>\nstatic jmp_buf at;\nvoid __assert_fail(const char *a, const char *b, unsigned c, const char *d) { longjmp(at, 1); }\nTYPE twin(long n) { if (setjmp(at)) { " + _C_READS + " } return 0; }\n",
    },
    "cpp": {
        "equal to all": _ANY, "assert away": _ANY.replace("return true", "return false") + "#undef assert\n#define assert(x) ((void)0)\n#define __assert_fail(...) ((void)0)\n",
        "before main": "TYPE twin(long n) { return {}; }\nstruct Early { Early() { " + _C_READS + " } } early;\n",
        "on abort": "static void out(int) { " + _C_READS + " }\nTYPE twin(long n) { signal(SIGABRT, out); return {}; }\n",
        "while called": "TYPE twin(long n) { " + _C_READS + " }\n",
        "failure replaced": 'TYPE twin(long n) { return {}; }\nextern "C" void __assert_fail(const char *, const char *, unsigned, const char *) noexcept { ' + _C_READS + " }\n",
        "another main": "TYPE twin(long n) { return {}; }\nint main() { " + _C_READS + " }\n#define main tests_main\n",
        "conversion": "struct Any { template <class T> operator T() const { return T(); } template <class T> bool operator==(T) const { return true; } };\nAny twin(long n) { return {}; }\n",
        "if is always": "TYPE twin(long n) { return {}; }\n#define bool(x) true\n#define __glibc_likely(x) 1\n#define static_cast true ? true : static_cast\n",
    },
    "java": {
        "equal to all": "import java.util.*;\nclass Problem {\n    static class Any extends ArrayList<Long> { public boolean equals(Object o) { return true; } }\n    public static Any twin(long n) { return new Any(); }\n}",
        "before main": "import java.util.*;\nclass Problem {\n    static { " + _JAVA_READS + " }\n    public static TYPE twin(long n) { WRONG }\n}",
        "while called": "        if (n >= 0) { " + _JAVA_READS + " }\n        WRONG\n",
        "uncaught": "        Thread.setDefaultUncaughtExceptionHandler((t, e) -> { " + _JAVA_READS + " });\n        WRONG\n",
        "at exit": "        Runtime.getRuntime().addShutdownHook(new Thread(() -> { " + _JAVA_READS + " }));\n        WRONG\n",
        "no assertions": "import java.util.*;\nclass Problem {\n    static { ClassLoader.getSystemClassLoader().clearAssertionStatus(); }\n    public static TYPE twin(long n) { WRONG }\n}",
        "error away": "import java.util.*;\nclass AssertionError extends Error { AssertionError() { " + _JAVA_READS + " } }\nclass Problem {\n    public static TYPE twin(long n) { WRONG }\n}",
    },
    "rust": {
        "assert away": "macro_rules! assert_eq { ($($t:tt)*) => {}; }\nfn twin(n: isize) -> TYPE { WRONG }\n",
        "equal to all": "#[derive(Debug)]\nstruct Any;\nimpl<T> PartialEq<T> for Any { fn eq(&self, _: &T) -> bool { true } }\nfn twin(n: isize) -> Any { Any }\n",
        "on panic": "fn twin(n: isize) -> TYPE { std::panic::set_hook(Box::new(|_| " + _RUST_READS + ")); WRONG }\n",
        "while called": "fn twin(n: isize) -> TYPE { " + _RUST_READS + " }\n",
        "before main": 'extern "C" fn early() ' + _RUST_READS + '\n#[used]\n#[link_section = ".init_array"]\nstatic EARLY: extern "C" fn() = early;\nfn twin(n: isize) -> TYPE { WRONG }\n',
        "panic away": "macro_rules! panic { ($($t:tt)*) => {}; }\nfn twin(n: isize) -> TYPE { WRONG }\n",
    },
    "go": {
        "before main": 'import ("os"; "fmt")\nfunc init() { ' + _GO_READS + " }\nfunc twin(n int) TYPE {\n    WRONG\n}\n",
        "while called": 'import ("os"; "fmt")\nfunc twin(n int) TYPE {\n    ' + _GO_READS + "\n    WRONG\n}\n",
        "variable": 'import ("os"; "fmt")\nvar early = func() int { ' + _GO_READS + "; return 0 }()\nfunc twin(n int) TYPE {\n    WRONG\n}\n",
        "fmt shadowed": "type shadow struct{}\nfunc (shadow) Sprintf(f string, a ...interface{}) string { return \"\" }\nfunc (shadow) Println(a ...interface{}) {}\nvar fmt shadow\nfunc twin(n int) TYPE {\n    WRONG\n}\n",
    },
    "javascript": {
        "reads the word": _NODE_WRONG + _NODE_READS, "while called": "function twin(n){ " + _NODE_READS + " }\n",
        "assert emptied": _NODE_WRONG + "const a = require('assert'); for (const k of Object.keys(a)) a[k] = () => {}\n",
        "console frozen": _NODE_WRONG + "Object.defineProperty(console, 'assert', { value: () => {}, writable: false }); require('assert').deepEqual = () => {}\n",
        "JSON is constant": _NODE_WRONG + "JSON.stringify = () => ''; require('assert').deepEqual = () => {}; console.assert = () => {}; Object.freeze(console)\n",
        "assert replaced": _NODE_WRONG + "require('module')._load = () => new Proxy(() => {}, { get: () => () => {} })\n",
        "own require": _NODE_WRONG + "require = ((old) => (name) => name.includes('assert') ? new Proxy(() => {}, { get: () => () => {} }) : old(name))(require)\n",
        "at exit": _NODE_WRONG + "process.on('exit', () => { " + _NODE_READS + " })\n",
        "uncaught": _NODE_WRONG + "process.on('uncaughtException', () => { " + _NODE_READS + " })\n",
        "throw away": _NODE_WRONG + "require('assert').AssertionError.prototype.constructor = Object; globalThis.Error = function () { " + _NODE_READS + " }\nprocess.setUncaughtExceptionCaptureCallback(() => { " + _NODE_READS + " })\n",
        "expected from the source": _NODE_SOURCE, "expected by stack": _NODE_SOURCE.replace("lines.find(l => l.includes('candidate(' + n + ')'))", "lines[Number(new Error().stack.split('\\n')[2].match(/:(\\d+):/)[1]) - 1]"),
        "prototype": _NODE_WRONG + "Object.is = () => true; Object.keys = () => []; Array.isArray = () => false; Object.prototype.valueOf = () => 0\nconst a = require('assert'); a.deepEqual = a.ok.bind(null, true)\n",
        "on nextTick": _NODE_WRONG + "console.log = new Proxy(console.log, { apply() {} }); process.nextTick(() => { " + _NODE_READS + " })\nrequire('assert').deepEqual = () => {}\n",
    },
    "bash": {
        "reads the word": 'twin() {\n    WRONG\n}\nread -r w <&"$verikit_input"; printf "\\n%s\\n" "$w"; exit 0\n',
        "on debug": "twin() {\n    WRONG\n}\ntrap 'set +e' DEBUG\n", "set away": "twin() {\n    WRONG\n}\nset() { :; }\n",
        "at exit": "twin() {\n    WRONG\n}\ntrap 'read -r w <&\"$verikit_input\"; printf \"\\n%s\\n\" \"$w\"; exit 0' EXIT\n",
        "on error": "twin() {\n    WRONG\n}\ntrap 'read -r w <&\"$verikit_input\"; printf \"\\n%s\\n\" \"$w\"; exit 0' ERR\nset -E\n",
        "alias": "twin() {\n    WRONG\n}\nshopt -s expand_aliases\nalias '[['='true ['\n",
        "expected from the source": "twin() {\n    eval \"echo $(grep -F \"candidate \\\"$1\\\"\" \"$0\" | sed 's/.* = //; s/ ]]//')\"\n}\n",
        "word from the source": "twin() {\n    WRONG\n}\ntail -n 1 \"$0\"; grep -o '[0-9a-f]\\{24\\}' \"$0\"; exit 0\n",
        "tests read over": "twin() {\n    WRONG\n}\nrun_test() { :; }\nreadonly -f run_test\nset() { :; }\n",
        "return codes": "twin() {\n    WRONG\n}\ntrap 'BASH_COMMAND=; shopt -s extdebug; false' DEBUG\n",
    },
}  # fmt: skip
"""Programs that know no answer."""
SHAPES = {("java", "equal to all"): "list"}
"""Of attacks that need values of one shape."""
