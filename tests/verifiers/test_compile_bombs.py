"""Programs that keep their compiler busy: its time is the row's, and each is 0.0 within the row's seconds."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.verifiers.test_code_languages import SUM, TESTS, needs
from verikit.sandbox import RunLimits, RunResult, default_sandbox
from verikit.sandbox.budget import Budget
from verikit.sandbox.meter import metered
from verikit.sandbox.programs import BUILD, BuiltProgram
from verikit.types import Sample, Score
from verikit.verifiers.code.verifier import Code

ROW_S = 2.0
MOST_CPU_S = 4 * ROW_S
"""Of two processors' worth of a compiler and its helpers, whose limits count whole seconds."""


def sums_of_constants(draw: random.Random) -> str:
    return (
        f"constexpr long f(long n){{long s=0;for(long i=0;i<200000;++i)s+=i^n;return s;}}\n"
        f"template<long N> struct T{{static constexpr long v=f(N)+T<N-1>::v;}};\n"
        f"template<> struct T<0>{{static constexpr long v=0;}};\n"
        f"constexpr long X=T<{draw.randint(700, 850)}>::v;\nint main(){{return X;}}"
    )


def types_of_types(draw: random.Random) -> str:
    return (
        "template<int N,class A> struct T{using l=T<N-1,T<N,A>>;using r=T<N-1,T<N+1,A>>;"
        "static constexpr long v=l::v+r::v;};\ntemplate<class A> struct T<0,A>{static constexpr long v=1;};\n"
        f"long x=T<{draw.randint(24, 30)},int>::v;\nint main(){{}}"
    )


def doubled_macros(draw: random.Random) -> str:
    depth = draw.randint(28, 34)
    lines = [f"#define M{i} M{i - 1}+M{i - 1}" for i in range(1, depth)]
    return "\n".join(["#define M0 1", *lines, f"int main(void){{return M{depth - 1};}}"])


def endless_file(draw: random.Random) -> str:
    return f'#include "/dev/{draw.choice(["zero", "urandom", "full"])}"\nint main(void){{}}'


def huge_data(draw: random.Random) -> str:
    return f"char x[{draw.randint(2, 6)}L<<30]={{1}};\nint main(void){{return x[0];}}"


def constant_of_rust(draw: random.Random) -> str:
    return (
        "#![allow(long_running_const_eval)]\nconst fn f()->u64{let mut i=0u64;let mut s=0u64;"
        f'while i<{draw.randint(10**11, 10**12)}{{s^=i;i+=1;}}s}}\nconst X:u64=f();\nfn main(){{println!("{{}}",X);}}'
    )


BOMBS: dict[Callable[[random.Random], str], str] = {
    sums_of_constants: "cpp", types_of_types: "cpp", doubled_macros: "c", endless_file: "c", huge_data: "c",
    constant_of_rust: "rust",
}  # fmt: skip


def score(language: str, text: str, code: Code) -> Score:
    meta = {"tests": TESTS, "language": language}
    return code.score([Sample(completion=f"```{language}\n{text}\n```", meta=meta)])[0]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: str(bomb.__name__))
def test_a_program_that_keeps_its_compiler_busy_is_a_zero_within_its_row(bomb: Callable[[random.Random], str]) -> None:
    language = BOMBS[bomb]
    needs(language)
    with metered() as used:
        found = score(language, bomb(random.Random(bomb.__name__)), Code(row_s=ROW_S))
    assert (found.value, found.status) == (0.0, "ok"), found.reason
    assert "does not compile" in found.reason
    assert used.cpu_s < MOST_CPU_S


def test_an_honest_program_beside_them_passes() -> None:
    needs("c")
    assert score("c", SUM["c"], Code(row_s=ROW_S)).value == 1.0


def test_what_a_compiler_took_is_taken_off_the_row() -> None:
    def build(limits: RunLimits) -> BuiltProgram | RunResult:
        assert (limits.cpu_s, limits.memory_mb) == (5.0, BUILD.memory_mb)
        return BuiltProgram("c", cpu_s=4.0)

    budget = Budget(RunLimits(wall_s=3.0), 5.0)
    assert isinstance(budget.build(build, 30.0), BuiltProgram)
    seen: list[float] = []

    def run(limits: RunLimits) -> RunResult:
        seen.append(limits.wall_s)
        return RunResult("ok", seconds=1.0)

    assert budget.run(run).status == "ok"
    assert seen == [1.0]
    assert budget.run(run).status == "timeout"
    late = budget.build(build)
    assert isinstance(late, RunResult)
    assert "row together" in str(late.error)


def test_a_kept_program_costs_the_row_what_its_build_did_and_the_processor_nothing() -> None:
    needs("c")
    programs, text = default_sandbox().programs, SUM["c"] + "/* kept */"
    with metered() as first:
        built = programs.build("c", text)
    with metered() as second:
        again = programs.build("c", text)
    assert isinstance(built, BuiltProgram)
    assert again is built
    assert built.cpu_s == first.cpu_s > 0
    assert second.cpu_s == 0


def test_a_build_that_had_too_little_is_tried_again_with_more() -> None:
    needs("c")
    programs, text = default_sandbox().programs, SUM["c"] + "/* more */"
    little = RunLimits(wall_s=60, cpu_s=10.0, memory_mb=8)
    assert isinstance(programs.build("c", text, little), RunResult)
    assert isinstance(programs.build("c", text), BuiltProgram)
