"""Test programs of other languages: rows whose tests are appended to the program (MultiPL-E, HumanEval-X).

At the end of its tests, a program reads a word from its standard input and writes it; the word is not in the source.
`appended` runs these programs and decides how much a pass shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from verikit.verifiers.code.joining import go, java, rust
from verikit.verifiers.code.joining.brackets import blanked, depth
from verikit.verifiers.code.joining.java import goes_on

_C = (
    '{ char verikit_word[99] = { 0 }; if (fgets(verikit_word, 99, stdin)) { puts(""); puts(verikit_word); } '
    "fflush(stdout); }"
)
_NODE = (
    'console.log("\\n" + (typeof require === "function" ? require("fs") : process.getBuiltinModule("fs"))'
    '.readFileSync(0, "utf8"));'
)
_WRITE = {
    "c": _C, "cpp": _C, "java": 'System.out.println("\\n" + new java.util.Scanner(System.in).nextLine());',
    "rust": "{ let mut word = ::std::string::String::new(); ::std::io::stdin().read_line(&mut word).unwrap(); "
    'println!("\\n{}", word); }',
    "javascript": _NODE, "typescript": _NODE,
    "bash": "IFS= read -r verikit_word <&\"$verikit_input\"; printf '\\n%s\\n' \"$verikit_word\"",
}  # fmt: skip
"""Code at the end of the tests that writes the word it reads."""
_SHELL_INPUT = "exec {verikit_input}<&0 </dev/null\n"
"""Commands that a shell program starts would otherwise read the word."""
_FALSE = {
    "c": "assert({one} == {other});", "cpp": "assert({one} == {other});", "java": "assert {one} == {other};",
    "rust": "assert_eq!({one}, {other});", "javascript": "console.assert({one} === {other});",
    "typescript": "console.assert({one} === {other});", "bash": '[[ "{one}" = "{other}" ]]',
    "go": 't.Error("{one} is not {other}")',
}  # fmt: skip
_HELD = "console.assert = (good, ...about) => { if (!good) throw new Error(`assertion ${about.join(' ')}`) };\n"
_BEFORE = {"javascript": _HELD, "typescript": _HELD}
"""Code needed by tests that report a failure on standard error only."""
_RUST_TEST = re.compile(r"#\[test\]\s*(?:pub[ \t]+)?fn[ \t]+(\w+)")
_EMPTY_MAIN = re.compile(r"^fn[ \t]+main[ \t]*\([ \t]*\)[ \t]*\{\s*\}", re.MULTILINE)
_GUARD = {
    "c": "\n#undef main\n#undef assert\n#undef NDEBUG\n#include <assert.h>\n#include <stdio.h>\n",
    "cpp": "\n#undef main\n#undef assert\n#undef NDEBUG\n#include <cassert>\n#include <cstdio>\n",
}  # fmt: skip
_END = {
    "c": re.compile(r"(?:return[ \t]+0[ \t]*;\s*)?\}\s*\Z"), "cpp": re.compile(r"(?:return[ \t]+0[ \t]*;\s*)?\}\s*\Z"),
    "java": re.compile(r"\}\s*\}\s*\Z"), "rust": re.compile(r"\}\s*\Z"),
}  # fmt: skip
_HEAD = re.compile(r"^[ \t]*(?:#include|import|using|use|package|const .*require)\b[^\n]*", re.MULTILINE)
_SHELL_FUNCTION = re.compile(r"^[ \t]*(?:function[ \t]+)?\w+[ \t]*\([ \t]*\)[ \t]*\{[ \t]*$", re.MULTILINE)
_BRACED = frozenset({"c", "cpp", "java", "rust", "go"})
"""Languages whose braces are counted."""
_ASSIGNED = re.compile(r"^[ \t]*(?:const|let|var)[ \t]+(\w+)[ \t]*=")
_NAME = re.compile(r"([A-Za-z_]\w*)[ \t]*(?:<[^<>\n]*>)?[ \t]*\(")
_SCRIPT = r"\bfunction[ \t*]+{name}\b|^(?:export[ \t]+)?(?:const|let|var)[ \t]+{name}\b"
"""A variable must be at the start of a line: the function may have a local one of the same name."""
_DEFINES = {
    "javascript": _SCRIPT, "typescript": _SCRIPT,
    "rust": r"\bfn[ \t]+{name}\b", "go": r"^func[ \t]+{name}\b",
    "bash": r"^[ \t]*(?:function[ \t]+)?{name}[ \t]*\([ \t]*\)",
}  # fmt: skip
_STATEMENTS = frozenset({"return", "else", "throw", "case", "new", "delete", "goto", "co_return", "if", "while", "for"})
_LONGEST = 300
"""Maximum characters before a function's name on its line."""
FORMS = frozenset({*_WRITE, "go"})
"""Languages whose test programs are run."""
SCRIPTS = frozenset({"javascript", "typescript", "bash"})
"""Languages that are not compiled, or only a little."""


def test_program(meta: Mapping[str, Any]) -> str:
    """The row's test program: `tests` (MultiPL-E) or `test` (HumanEval-X) as a string; empty if it is missing."""
    for key in ("tests", "test"):
        if isinstance(meta.get(key), str) and meta[key].strip():
            return str(meta[key])
    return ""


def given(meta: Mapping[str, Any], prompt: str) -> str:
    """The code that a program of the row continues: the prompt, after the extra part of HumanEval-X's `declaration`."""
    text, declaration = meta.get("prompt"), meta.get("declaration")
    if not isinstance(declaration, str) or not declaration:
        return text if isinstance(text, str) and text else prompt
    if not isinstance(text, str) or not text.strip():
        return declaration
    missing = [line for line in _HEAD.findall(declaration) if line.strip() not in text]
    return "\n".join([*missing, text])


def defined(prompt: str, language: str) -> str:
    """The name of the function that a prompt opens; empty if it is not found."""
    if language == "bash":
        return next(iter(re.findall(r"^(\w+)[ \t]*\(\)", prompt, re.MULTILINE)[-1:]), "")
    lines = [line for line in prompt.rstrip().split("\n") if line.rstrip().endswith(("{", "=>"))]
    found = (_ASSIGNED.search(lines[-1]) or _NAME.search(lines[-1])) if lines else None
    return found[1] if found else ""


def defines(language: str, name: str, program: str) -> bool:
    """Whether a program defines a function, rather than continues its body and calls it."""
    if language in _DEFINES:
        return re.search(_DEFINES[language].format(name=name), program, re.MULTILINE) is not None
    for found in re.finditer(rf"\b{name}[ \t]*(?:<[^<>\n]{{0,200}}>)?[ \t]*\(", program):
        before = program[max(0, found.start() - _LONGEST) : found.start()].rpartition("\n")[2]
        before = re.split(r"[;{}]", before)[-1].strip()
        words = before.split()
        if words and words[0] not in _STATEMENTS and not set(before) & set("=(\"'!+-") and before[-1] not in ",.:|":
            return True
    return False


def false_assertion(language: str, tests: str, one: int, other: int) -> str:
    """An assertion that two different numbers are equal, in the style of such tests."""
    text = _FALSE[language].format(one=one, other=other)
    if language == "bash" and "set -e" not in tests:
        return f"{text} || exit 1"
    return text


def whole(
    language: str, prompt: str, program: str, tests: str, stops: Sequence[str] = (), setup: str = "", last: str = ""
) -> str:
    """The program with its tests, which end by writing the word that they read from standard input.

    Args:
        language: one of `FORMS`.
        prompt: the code that the program continues, unless it defines the prompt's function itself.
        program: the candidate's program.
        tests: the row's tests.
        stops: strings that end a completion which continues the prompt (MultiPL-E's `stop_tokens`).
        setup: code before everything else (HumanEval-X's `test_setup`).
        last: an assertion to append after all others.

    Raises:
        ValueError: The tests don't have assertions.
    """
    name = defined(prompt, language)
    alone = bool(name) and defines(language, name, program)
    if language == "go":
        return _go(prompt, program, tests, stops, setup, last, alone=alone)
    if language == "rust":
        prompt, program = rust.without_crates(prompt, _EMPTY_MAIN.sub("", program), tests)
        program = rust.renamed_main(program)
        if "#[test]" in tests:
            prompt, tests = _EMPTY_MAIN.sub("", prompt), _called_tests(tests)
    tests = _ended(language, tests, last)
    if language == "java":
        return java.whole(prompt, program, tests, stops, name if alone else "")
    closes = tests.lstrip().startswith("}")
    if not alone:
        text = prompt + _continued(language, prompt, program, stops, closes=closes)
    else:
        text = _alone(language, prompt, program)
        opened = _open(language, text)
        tests = tests if opened and closes else _opened(tests)
        text += "\n" + "}" * opened if opened and not closes else ""
    if language == "bash":
        text = _SHELL_INPUT + text
    guard = _GUARD.get(language, "")
    if not guard:
        return f"{text}\n{_BEFORE.get(language, '')}{tests}\n"
    if re.search(r"\bmain\b", program):
        text = f"#define main verikit_main\n{text}"
    if tests.lstrip().startswith("}"):  # it closes the function first
        before, tests = tests[: tests.index("}") + 1], tests[tests.index("}") + 1 :]
        return f"{text}{before}{guard}{tests}\n"
    return f"{text}\n{guard}{tests}\n"


def _go(prompt: str, program: str, tests: str, stops: Sequence[str], setup: str, last: str, *, alone: bool) -> str:
    if alone:
        parts = [go.head(prompt), _helpers("go", prompt, program), program]
    else:
        parts = [prompt + goes_on("go", prompt, program, stops, closes=False)]
    return go.whole([setup, *parts], _opened(tests), last)


def _ended(language: str, tests: str, last: str) -> str:
    """The tests with an assertion after all others, followed by the code that writes the word it reads."""
    ending = f"{last}\n{_WRITE[language]}" if last else _WRITE[language]
    end = _END.get(language)
    if end is None:
        return f"{tests}\n{ending}"
    closing = end.search(tests)
    at = closing.start() if closing else len(tests)
    return f"{tests[:at]}\n{ending}\n{tests[at:]}"


def _continued(language: str, prompt: str, program: str, stops: Sequence[str], *, closes: bool) -> str:
    """The continuation of a prompt, up to the end of its function."""
    if language in _BRACED:
        return goes_on(language, prompt, program, stops, closes=closes)
    return program[: min((at for stop in stops if stop and (at := program.find(stop)) >= 0), default=None)]


def _open(language: str, text: str) -> int:
    """How many braces of a program are open at its end."""
    if language == "bash":
        start = max((found.end() for found in _SHELL_FUNCTION.finditer(text)), default=0)
        return int(start > 0 and re.search(r"^\}", text[start:], re.MULTILINE) is None)
    return max(0, depth(blanked(language, text))) if language in _BRACED else 0


def _called_tests(tests: str) -> str:
    """Rust's test functions as ordinary ones, and a `main` that calls them."""
    module = re.search(r"\bmod[ \t]+(\w+)[ \t]*\{", tests)
    names = _RUST_TEST.findall(tests)
    tests = _RUST_TEST.sub(r"pub fn \1", tests).replace("#[cfg(test)]", "")
    prefix = f"{module[1]}::" if module else ""
    calls = "".join(f"    {prefix}{name}();\n" for name in names)
    return f"{tests}\nfn main() {{\n{calls}}}\n"


def _alone(language: str, prompt: str, program: str) -> str:
    """A program that has the whole function, with the prompt's imports and helpers that it lacks."""
    if language == "rust":
        return rust.with_imports(prompt, program + _helpers(language, prompt, program))
    missing = [line for line in _HEAD.findall(prompt) if line.strip() not in program]
    return "\n".join([*missing, _helpers(language, prompt, program) + program])


def _helpers(language: str, prompt: str, program: str) -> str:
    """The functions that a prompt has before the one it opens, if the program doesn't define any of them."""
    if language not in _BRACED:
        return ""
    given = prompt[: prompt.rstrip().rfind("\n") + 1]
    blank = blanked(language, given)
    names = [_NAME.search(line) for line in blank.split("\n") if line.rstrip().endswith("{")]
    if depth(blank) or not any(names) or any(defines(language, name[1], program) for name in names if name):
        return ""
    return given if language == "go" else _HEAD.sub("", given) + "\n"


def _opened(tests: str) -> str:
    """Tests without the brace that closes the function."""
    stripped = tests.lstrip()
    return stripped[1:] if stripped.startswith("}") else tests
