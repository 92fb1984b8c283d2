"""How `code` scores programs whose tests touch objects of the program: right ones, near misses and forgeries.

`python -m benchmarks.objects` prints a table by theme and form of `tests/objects`, then the programs that are scored
wrongly. `--forgeries N` limits the forgeries of each problem. `--other-forms` adds problems recast into other forms and
those with main parts, `--in-process` scores with `in_process=True`, where programs can forge their verdict.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import verikit
from tests.objects.corpus import FORMS, Problem, problems, recast
from tests.objects.forgeries import forged, sample
from tests.objects.main_guards import guarded

COLUMNS = ("right 1.0", "right 0.0", "right unscored", "wrong 0.0", "wrong 1.0", "wrong unscored")
FORGED = ("forged 0.0", "forged 1.0", "forged unscored")


def programs(problem: Problem, limit: int | None) -> Iterator[tuple[str, str, str]]:
    """What a program is, its label and itself."""
    for at, program in enumerate(problem.right, 1):
        yield "right", str(at), program
    for label, program in problem.wrong:
        yield "wrong", label, program
    for label, program in forged(problem) if limit is None else sample(problem, limit):
        yield "forged", label, program


def outcome(score: verikit.Score) -> str:
    """The column of a score."""
    return "unscored" if score.value is None else f"{score.value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forgeries", type=int, help="forgeries per problem (default: all)")
    parser.add_argument("--other-forms", action="store_true", help="add recast problems and main parts")
    parser.add_argument("--in-process", action="store_true", help="run tests beside the program")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    options = parser.parse_args()
    held = problems()
    if options.other_forms:
        held += [new for old in held for new in recast(old)] + [new for form in FORMS for new in guarded(form)]
    held = [p for p in held if options.only in p.name and all(find_spec(package) for package in p.needs)]
    code = verikit.code(in_process=options.in_process)
    jobs = [(p, *row) for p in held for row in programs(p, options.forgeries)]
    with ThreadPoolExecutor(2) as threads:
        scores = list(threads.map(lambda job: code(f"```python\n{job[3]}```\n", **job[0].meta), jobs))
    tables: dict[str, Counter[str]] = defaultdict(Counter)
    misses = []
    for (problem, what, label, _), score in zip(jobs, scores, strict=True):
        theme = "hard" if problem.hard else problem.theme
        for row in ("all", f"form {problem.form}", f"theme {theme}"):
            tables[row][f"{what} {outcome(score)}"] += 1
        if outcome(score) != ("1.0" if what == "right" else "0.0"):
            misses.append(f"{problem.name} | {what} {label} | {outcome(score)} | {(score.reason or '')[:100]!r}")
    print("| rows |", " | ".join(COLUMNS + FORGED), "|")
    print("|---" * (len(COLUMNS + FORGED) + 1) + "|")
    for row, count in sorted(tables.items()):
        print(f"| {row} |", " | ".join(str(count[column]) for column in COLUMNS + FORGED), "|")
    print(f"\n{len(held)} problems, {len(jobs)} programs; scored wrongly: {len(misses)}")
    print("\n".join(misses))


if __name__ == "__main__":
    main()
