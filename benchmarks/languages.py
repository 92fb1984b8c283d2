"""Measure cases of other languages in the sandbox beside a subprocess for each case, interleaved in one run.

    python benchmarks/languages.py [--workers 2] [cpp|javascript|java|rust ...]

Both sides run programs that are compiled already: the subprocess as a person would build it (`g++ -O2`, `javac`), the
sandbox as it builds it itself, whose compile time is told apart. Each round runs CASES in one row a worker, on both
sides with as many rows at once as there are workers, and a loop over one row by itself, as most scripts run cases.
Ratios are medians over the rounds: of cases a second, and of seconds of a processor (of the caller, the servers and all
that they start), which depend less on other work of the machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verikit.sandbox import LocalSandbox, RunLimits, RunResult
from verikit.sandbox.programs import BuiltProgram

SUMS = {
    "cpp": ("a.cpp", "#include <iostream>\nint main(){long a,b;std::cin>>a>>b;std::cout<<a+b<<'\\n';}"),
    "javascript": (
        "a.js",
        "const [a,b]=require('fs').readFileSync(0,'utf8').split(' ').map(Number);console.log(a+b)",
    ),
    "java": (
        "Main.java",
        "import java.util.*;public class Main{public static void main(String[] x){Scanner s=new Scanner(System.in);"
        "System.out.println(s.nextLong()+s.nextLong());}}",
    ),
    "rust": (
        "a.rs",
        "use std::io;fn main(){let mut s=String::new();io::stdin().read_line(&mut s).unwrap();"
        'println!("{}",s.split_whitespace().map(|x|x.parse::<i64>().unwrap()).sum::<i64>());}',
    ),
}
CASES = {"cpp": 40, "rust": 40, "javascript": 10, "java": 10}
ROUNDS = 5
TIMES = 6
"""Rows a round whose seconds of a processor are measured; the system counts them in hundredths."""


def built(language: str, folder: Path) -> list[str]:
    """The command of the program as a person would build it."""
    name, text = SUMS[language]
    (folder / name).write_text(text)
    how = {
        "cpp": ["g++", "-O2", "-o", "a", name], "java": ["javac", name], "rust": ["rustc", "-O", "-o", "a", name],
        "javascript": ["true"],
    }  # fmt: skip
    subprocess.run(how[language], cwd=folder, check=True)
    run = {"java": ["java", "-cp", str(folder), "Main"], "javascript": ["node", str(folder / name)]}
    return run.get(language, [str(folder / "a")])


def rate(row: Callable[[], None], cases: int, rows: int) -> float:
    """Cases a second of some rows at once."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(rows) as threads:
        for done in [threads.submit(row) for _ in range(rows)]:
            done.result()
    return rows * cases / (time.perf_counter() - begun)


def processor_seconds(box: LocalSandbox) -> float:
    """What this process, its children that have ended, and the idle fork servers with theirs have used by now."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    for server in [server for idle in box._pool._idle.values() for server in idle]:
        fields = Path(f"/proc/{server._process.pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def measure(language: str, box: LocalSandbox, workers: int) -> str:
    """Cases a second on both sides, and medians of the ratios."""
    inputs = [f"{number} 2\n" for number in range(CASES[language])]
    with tempfile.TemporaryDirectory() as folder:
        command = built(language, Path(folder))
        program = box.programs.build(language, SUMS[language][1])
        if isinstance(program, RunResult):
            return f"{language}: {program.error}"

        def plain() -> None:
            for text in inputs:
                subprocess.run(command, input=text, text=True, capture_output=True, check=True)

        def ours() -> None:
            results = box.programs.run(program, inputs, RunLimits())
            assert [run.stdout.strip() for run in results] == [str(number + 2) for number in range(len(inputs))]

        rate(ours, len(inputs), workers)
        rates, used = list[tuple[float, float, float]](), list[tuple[float, float]]()
        for _ in range(ROUNDS):
            rates.append(
                (rate(plain, len(inputs), 1), rate(plain, len(inputs), workers), rate(ours, len(inputs), workers))
            )
            marks = [processor_seconds(box)]
            for work in (plain, ours):
                for _ in range(TIMES):
                    work()
                marks.append(processor_seconds(box))
            used.append((marks[1] - marks[0], marks[2] - marks[1]))
    loop, same, sandbox = (statistics.median(column) for column in zip(*rates, strict=True))
    alike = statistics.median(row[2] / row[1] for row in rates)
    told = f"{language}: {sandbox:.0f} cases a second, {alike:.2f}x of subprocesses by as many threads ({same:.0f})"
    if workers > 1:
        told += f", {statistics.median(row[2] / row[0] for row in rates):.2f}x of a loop ({loop:.0f})"
    apart = statistics.median(theirs / own for theirs, own in used)
    each = statistics.median(own for _, own in used) / TIMES / len(inputs) * 1e3
    return f"{told}; {apart:.2f}x by seconds of a processor ({each:.1f} ms a case); {compiling(program)}"


def compiling(program: BuiltProgram) -> str:
    """What a program's compiler took, which no case pays for again."""
    return f"compiled once in {program.cpu_s:.1f} s of a processor" if program.cpu_s else "nothing to compile"


def main() -> None:
    """Measure some languages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("language", nargs="*", help=", ".join(SUMS))
    parser.add_argument("--workers", type=int, default=1, help="Rows at once.")
    given = parser.parse_args()
    with LocalSandbox(workers=given.workers) as box:
        for chosen in given.language or SUMS:
            problem = box.programs.problem(chosen)
            print(f"{chosen}: {problem}" if problem else measure(chosen, box, given.workers), flush=True)


if __name__ == "__main__":
    main()
