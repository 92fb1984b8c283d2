"""Go's test functions and a program, joined into one program that runs them (HumanEval-X, MultiPL-E, `go test` files).

Imports are gathered. Unused imports are removed, since Go rejects them, and missing ones are added, as in HumanEval-X's
own script. The part of testify that assertions of such rows use is included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_IMPORT = re.compile(r'^import[ \t]+(?:\(([^)]*)\)|((?:[\w.]+[ \t]+)?"[^"\n]+"))[ \t]*;?', re.MULTILINE)
_SPEC = re.compile(r'(?:([\w.]+)[ \t]+)?"([^"\n]+)"')
_PACKAGE = re.compile(r"^package[ \t]+\w+[ \t]*;?[ \t]*$", re.MULTILINE)
_TEST = re.compile(r"^func[ \t]+(Test\w*)[ \t]*\([ \t]*\w+[ \t]+\*testing\.T[ \t]*\)", re.MULTILINE)
_MAIN = re.compile(r"^func[ \t]+main[ \t]*\(", re.MULTILINE)
_OFTEN = ("math", "strings", "fmt", "strconv", "time", "bytes", "regexp", "sort", "math/rand", "crypto/md5", "errors")
_TESTIFY = "github.com/stretchr/testify/assert"
_ASSERT = """
type verikitAssertion struct{ t *testing.T }

type verikitAssertions struct{}

var assert verikitAssertions

func (verikitAssertions) New(t *testing.T) verikitAssertion { return verikitAssertion{t} }

func (a verikitAssertion) hold(good bool, about ...interface{}) bool {
	a.t.Helper()
	if !good {
		a.t.Error(about...)
	}
	return good
}

func (a verikitAssertion) Equal(want, got interface{}, _ ...interface{}) bool {
	return a.hold(reflect.DeepEqual(want, got), "want", want, "got", got)
}

func (a verikitAssertion) NotEqual(want, got interface{}, _ ...interface{}) bool {
	return a.hold(!reflect.DeepEqual(want, got), "got", got)
}

func (a verikitAssertion) True(got bool, _ ...interface{}) bool { return a.hold(got, "not true") }

func (a verikitAssertion) False(got bool, _ ...interface{}) bool { return a.hold(!got, "not false") }

func (a verikitAssertion) Nil(got interface{}, _ ...interface{}) bool { return a.hold(got == nil, "not nil") }

func (a verikitAssertion) InDelta(want, got, delta float64, _ ...interface{}) bool {
	return a.hold(want-got <= delta && got-want <= delta, "want", want, "got", got)
}

func (verikitAssertions) Equal(t *testing.T, want, got interface{}, _ ...interface{}) bool {
	return verikitAssertion{t}.Equal(want, got)
}

func (verikitAssertions) NotEqual(t *testing.T, want, got interface{}, _ ...interface{}) bool {
	return verikitAssertion{t}.NotEqual(want, got)
}

func (verikitAssertions) True(t *testing.T, got bool, _ ...interface{}) bool { return verikitAssertion{t}.True(got) }

func (verikitAssertions) False(t *testing.T, got bool, _ ...interface{}) bool { return verikitAssertion{t}.False(got) }

func (verikitAssertions) Nil(t *testing.T, got interface{}, _ ...interface{}) bool {
	return verikitAssertion{t}.Nil(got)
}

func (verikitAssertions) InDelta(t *testing.T, want, got, delta float64, _ ...interface{}) bool {
	return verikitAssertion{t}.InDelta(want, got, delta)
}
"""


def whole(parts: Sequence[str], tests: str, last: str = "") -> str:
    """One program of the candidate's parts and the tests; it writes the word that it reads if all tests passed.

    Args:
        parts: parts of the candidate's program.
        tests: the row's tests.
        last: an assertion to append after all others.

    Raises:
        ValueError: There is no test function.
    """
    names = list(dict.fromkeys(_TEST.findall(tests)))
    if not names:
        raise ValueError("a Go test file without functions TestX(t *testing.T)")
    own = _MAIN.sub("func verikitOtherMain(", "\n".join(_bare(part) for part in parts))
    body = f"{own}\n{_bare(tests)}\n"
    specs = {found for part in (*parts, tests) for found in _imports(part)}
    if ("", _TESTIFY) in specs or "assert.New(" in tests:
        specs -= {("", _TESTIFY)}
        body += _ASSERT
        specs.add(("", "reflect"))
    known = {_called(spec) for spec in specs}
    specs |= {("", path) for path in _OFTEN if path.rpartition("/")[2] not in known}
    used = sorted(
        spec for spec in specs if spec[0] in ("_", ".") or re.search(rf"\b{re.escape(_called(spec))}\.", body)
    )
    needed = {("verikitExit", "os"), ("verikitPrint", "fmt"), ("verikitTesting", "testing")}
    lines = "".join(f'\t{alias} "{path}"\n' for alias, path in [*used, *sorted(needed)])
    runs = "".join(f"\t\t\tt.Run({_quoted(name)}, {name})\n" for name in names)
    if last:
        runs += f'\t\t\tt.Run("last", func(t *verikitTesting.T) {{ {last} }})\n'
    return (
        f"package main\n\nimport (\n{lines})\n{body}\nfunc verikitAll(t *verikitTesting.T) {{\n"
        f'\tif t.Run("tests", func(t *verikitTesting.T) {{\n{runs}\t}}) {{\n'
        "\t\tvar verikitWord string\n\t\tverikitPrint.Scanln(&verikitWord)\n"
        "\t\tverikitPrint.Println()\n\t\tverikitPrint.Println(verikitWord)\n"
        "\t\tverikitExit.Exit(0)\n\t}\n}\n\nfunc main() {\n"
        '\tall := []verikitTesting.InternalTest{{Name: "all", F: verikitAll}}\n'
        "\tverikitTesting.Main(func(_, _ string) (bool, error) { return true, nil }, all, nil, nil)\n}\n"
    )


def head(text: str) -> str:
    """Only the imports of a source text."""
    return "".join(f'import {alias} "{path}"\n' for alias, path in sorted(_imports(text)))


def _quoted(text: str) -> str:
    return f'"{text}"'


def _bare(text: str) -> str:
    """A source text without its package line and imports."""
    return _PACKAGE.sub("", _IMPORT.sub("", text))


def _imports(text: str) -> set[tuple[str, str]]:
    """(alias, path) of each import."""
    return {
        (alias, path)
        for block, single in _IMPORT.findall(text)
        for alias, path in _SPEC.findall(block or single)
    }  # fmt: skip


def _called(spec: tuple[str, str]) -> str:
    """The name that refers to an import."""
    return spec[0] or spec[1].rpartition("/")[2]
