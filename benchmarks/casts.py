"""Draw docs/casts/JOB.svg, a recording of each job in a terminal: `python -m benchmarks.casts [JOB]…`.

The commands run on the project's examples, in this process. A recording shows their output, cut at its edges. The lines
appear one after another, unless the reader's system asks for less motion. `tests/test_casts.py` compares the stored
recordings with new ones.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from click.testing import CliRunner

from verikit.cli import cli
from verikit.platform.terminal import printable

ROOT = Path(__file__).parents[1]
CASTS = ROOT / "docs" / "casts"
JOBS = {
    "score": ["verikit score examples/candidates.jsonl --by \"column('rm')\" --select best"],
    "judge": [
        "verikit judge examples/judge/ours.jsonl examples/judge/theirs.jsonl "
        "-j \"pairwise('replay:examples/judge/judge.jsonl')\" --fail-over 50%"
    ],
    "reward": ['verikit adapter write verl "0.9*answer + 0.1*boxed" -o reward.py', "cat reward.py"],
    "train": ["verikit train arithmetic --check"],
    "suites": ["verikit eval examples/eval/suite.toml -q -o runs/suite"],
    "audit": ["verikit audit examples/candidates.jsonl --by answer"],
}
"""The commands of each job."""
COLUMNS, LINES = 96, 20
LETTER, LINE, EDGE = 7.3, 17, 14
LINE_S, COMMAND_S = 0.12, 0.8
"""Seconds until the next line appears, and until a command's output starts."""
STYLE = (
    "@keyframes shown{from{opacity:0}to{opacity:1}}text{animation:shown .01s both}"
    "@media (prefers-reduced-motion:reduce){text{animation:none}}"
)


def main(jobs: Sequence[str]) -> None:
    """Write the recordings."""
    CASTS.mkdir(exist_ok=True)
    for job in jobs or JOBS:
        (CASTS / f"{job}.svg").write_text(cast(job), "utf-8")


def cast(job: str) -> str:
    """Run a job's commands in a folder of its own, and return the recording as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        with contextlib.chdir(folder):
            return svg(job, [(command, output(command)) for command in JOBS[job]])


def output(command: str) -> list[str]:
    """Return the lines that a command prints, with the suggested next command. Progress depends on the machine."""
    program, *arguments = shlex.split(command)
    if program == "cat":
        return Path(arguments[0]).read_text("utf-8").splitlines()
    os.environ["COLUMNS"] = str(COLUMNS)
    done = CliRunner().invoke(cli, arguments, prog_name=program)
    if done.exit_code:
        raise RuntimeError(f"{command}: exit code {done.exit_code}\n{done.output}")
    return [*done.stdout.splitlines(), *(line for line in done.stderr.splitlines() if line.startswith("next: "))]


def svg(job: str, recorded: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return commands with their output as SVG."""
    rows = list(_rows(recorded))
    width, height = round(COLUMNS * LETTER + 2 * EDGE), len(rows) * LINE + 2 * EDGE
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="12"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}>',
        f"<title>{escape(recorded[0][0])}</title><style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#16181b"/>',
        *(
            f'<text x="{EDGE}" y="{EDGE + LINE * number + 12}" xml:space="preserve" fill="{colour}" '
            f'style="animation-delay:{seconds:.2f}s">{escape(printable(_cut(text)))}</text>'
            for number, (text, colour, seconds) in enumerate(rows)
        ),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _rows(recorded: Sequence[tuple[str, Sequence[str]]]) -> Iterator[tuple[str, str, float]]:
    """Yield each line with its colour and the second at which it appears."""
    seconds = 0.0
    for command, printed in recorded:
        for number, text in enumerate(textwrap.wrap(command, COLUMNS - 4, break_on_hyphens=False)):
            yield f"{'    ' if number else '$ '}{text}", "#ffffff", seconds
        seconds += COMMAND_S
        left = len(printed) - LINES
        shown = [*printed[:LINES], f"… {left} more lines"] if left > 1 else printed
        for text in shown:
            yield text, "#7fb2f0" if text.startswith("next: ") else "#c9ccd1", seconds
            seconds += LINE_S


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 1]}…"


if __name__ == "__main__":
    main(sys.argv[1:])
