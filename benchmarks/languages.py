"""Measure cases of other languages in the sandbox beside a subprocess for each case, interleaved in one run.

    python benchmarks/languages.py [cpp|javascript|java|rust ...]

Both sides run programs that are compiled already: the subprocess as a person would build it (`g++ -O2`, `javac`), the
sandbox as it builds it itself. Ratios are medians over the rounds; the sandbox runs CASES in one row.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from verikit.sandbox import LocalSandbox, RunLimits, RunResult

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


def measure(language: str, box: LocalSandbox) -> str:
    """Milliseconds a case on both sides and the ratio of their medians."""
    with tempfile.TemporaryDirectory() as folder:
        command = built(language, Path(folder))
        begun = time.perf_counter()
        program = box.programs.build(language, SUMS[language][1])
        compiling = time.perf_counter() - begun
        if isinstance(program, RunResult):
            return f"{language}: {program.error}"
        inputs = [f"{number} 2\n" for number in range(CASES[language])]
        box.programs.run(program, inputs[:1], RunLimits())
        plain, ours = [], []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            for text in inputs:
                subprocess.run(command, input=text, text=True, capture_output=True, check=True)
            plain.append((time.perf_counter() - begun) / len(inputs))
            begun = time.perf_counter()
            results = box.programs.run(program, inputs, RunLimits())
            ours.append((time.perf_counter() - begun) / len(inputs))
            assert [run.stdout.strip() for run in results] == [str(number + 2) for number in range(len(inputs))]
    ratio = statistics.median(a / b for a, b in zip(plain, ours, strict=True))
    a, b = statistics.median(plain) * 1e3, statistics.median(ours) * 1e3
    return f"{language}: subprocess {a:.1f} ms a case, sandbox {b:.1f} ms, {ratio:.2f}x (compiled in {compiling:.1f} s)"


if __name__ == "__main__":
    with LocalSandbox(workers=1) as sandbox:
        for chosen in sys.argv[1:] or list(SUMS):
            problem = sandbox.programs.problem(chosen)
            print(f"{chosen}: {problem}" if problem else measure(chosen, sandbox), flush=True)
