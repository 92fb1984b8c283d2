"""Draw docs/casts/JOB.svg, a recording of each job in a terminal: `python -m benchmarks.casts [JOB]…`.

The commands run on the project's examples, in this process. A recording has a screen per command: what it is for, the
command as if typed, and its output cut at the edges. It takes a minute or more, most of it to read in, and stops at its
last screen. Readers whose system asks for less motion see only that screen. `tests/test_casts.py` compares the stored
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
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from pathlib import Path

from click.testing import CliRunner

from verikit.cli import cli
from verikit.platform.terminal import printable

ROOT = Path(__file__).parents[1]
CASTS = ROOT / "docs" / "casts"
ROWS = "examples/candidates.jsonl"
WEIGHTED = '"0.9*answer + 0.1*boxed"'
JOBS = {
    "score": [
        ("Each row has a prompt, its gold answer and eight candidates", f"head -n 4 {ROWS}"),
        ("See how one candidate is scored", f"verikit explain {ROWS} --id ex02 --index 0"),
        (
            "Score all of them, and keep the best of eight by a reward model's numbers",
            f"verikit score {ROWS} --by \"column('rm')\" --select best",
        ),
    ],
    "judge": [
        ("A file has the replies of one model", "head -n 4 examples/judge/ours.jsonl"),
        ("Another file has the replies of another to the same prompts", "head -n 4 examples/judge/theirs.jsonl"),
        (
            "A judge compares each pair in both orders. Here its verdicts are recorded",
            "verikit judge examples/judge/ours.jsonl examples/judge/theirs.jsonl "
            "-j \"pairwise('replay:examples/judge/judge.jsonl')\" --fail-over 50%",
        ),
    ],
    "reward": [
        (
            "Try the reward on a completion",
            f"verikit explain --completion 'The sum is \\boxed{{7}}.' --answer 7 -v {WEIGHTED}",
        ),
        ("Before training, check that it can't be cheated", f"verikit audit {ROWS} --by {WEIGHTED} -q"),
        (
            "Write it as a file that the trainer's config can name",
            f"verikit adapter write verl {WEIGHTED} -o reward.py",
        ),
        ("The file needs nothing but verikit", "cat reward.py"),
    ],
    "train": [
        ("Problems have a prompt and an answer", "head -n 4 examples/train/sums.jsonl"),
        ("A recipe has options with defaults", "verikit list single-turn"),
        ("Check what a run needs, before a model is loaded", "verikit train arithmetic --check"),
    ],
    "suites": [
        ("A suite lists tasks and models", "cat examples/eval/suite.toml"),
        ("Run it. Here the models' replies are recorded", "verikit eval examples/eval/suite.toml -q -o runs/suite"),
        ("See which differences are significant", "verikit compare runs/suite/small runs/suite/large"),
    ],
    "audit": [
        ("Can this dataset be graded? Can the reward be cheated?", f"verikit audit {ROWS} --by answer -q"),
        ("A weak reward, for comparison: any digit counts", f"verikit audit {ROWS} --by \"regex('[0-9]')\" -q"),
    ],
}
"""For each job the purpose and the text of each command."""
COLUMNS, LINES = 96, 20
LETTER, LINE, EDGE = 7.3, 17, 14
SECONDS = 90.0
"""Maximum length of a recording."""
TYPED_S, LINE_S = 2.0, 0.12
"""Seconds in which a command is typed, and until the next line of its output appears."""
READ_S = 2.0
"""Seconds to read a line, or less in a recording that would last longer than `SECONDS`."""
NOTE, COMMAND, PLAIN, NEXT = "#8fbf8f", "#ffffff", "#c9ccd1", "#7fb2f0"
STYLE = (
    "@keyframes in{from{opacity:0}}@keyframes out{to{opacity:0}}@keyframes typed{from{clip-path:inset(0 100% 0 0)}}"
    "text{animation:in .01s both}.c{animation:typed 2s steps(40) both}"
    "@media (prefers-reduced-motion:reduce){*{animation:none!important}g:not(:last-child){display:none}}"
)


@dataclass(frozen=True)
class Screen:
    """One command: its purpose, its text, and the lines that it printed."""

    note: str
    command: str
    printed: Sequence[str]

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line with its colour."""
        yield f"# {self.note}", NOTE
        for number, text in enumerate(textwrap.wrap(self.command, COLUMNS - 4, break_on_hyphens=False)):
            yield f"{'    ' if number else '$ '}{text}", COMMAND
        left = len(self.printed) - LINES
        for text in [*self.printed[:LINES], f"… {left} more lines"] if left > 1 else self.printed:
            yield text, NEXT if text.startswith("next: ") else PLAIN


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
            return svg([Screen(note, command, output(command)) for note, command in JOBS[job]])


def output(command: str) -> list[str]:
    """Return the lines that a command prints, with the suggested next command. Progress depends on the machine."""
    program, *arguments = shlex.split(command)
    if program in ("cat", "head"):
        lines = Path(arguments[-1]).read_text("utf-8").splitlines()
        return lines[: int(arguments[1])] if program == "head" else lines
    os.environ["COLUMNS"] = str(COLUMNS)
    done = CliRunner().invoke(cli, arguments, prog_name=program)
    if done.exit_code:
        raise RuntimeError(f"{command}: exit code {done.exit_code}\n{done.output}")
    return [*done.stdout.splitlines(), *(line for line in done.stderr.splitlines() if line.startswith("next: "))]


def svg(screens: Sequence[Screen]) -> str:
    """Return the screens as SVG, one after another."""
    rows = [list(screen.lines()) for screen in screens]
    width, height = round(COLUMNS * LETTER + 2 * EDGE), max(map(len, rows)) * LINE + 2 * EDGE
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="12"'
    starts = [0.0, *accumulate(shown_s(rows))]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}>',
        f"<title>{escape('; '.join(screen.command for screen in screens))}</title><style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#16181b"/>',
    ]
    for number, drawn in enumerate(rows):
        last = number == len(rows) - 1
        leaves = "" if last else f' style="animation:out .01s {starts[number + 1]:.2f}s forwards"'
        lines += [f"<g{leaves}>", *_drawn(drawn, starts[number]), "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"


def shown_s(rows: Sequence[Sequence[object]]) -> list[float]:
    """Return the seconds of each screen: to appear, and to read its lines."""
    appear = [TYPED_S + LINE_S * len(drawn) for drawn in rows]
    read_s = min(READ_S, (SECONDS - sum(appear)) / sum(map(len, rows)))
    return [seconds + read_s * len(drawn) for seconds, drawn in zip(appear, rows, strict=True)]


def _drawn(rows: Sequence[tuple[str, str]], start: float) -> Iterator[str]:
    """Yield the lines of a screen as SVG."""
    seconds = start
    for number, (text, colour) in enumerate(rows):
        typed = ' class="c"' if colour == COMMAND else ""
        yield (
            f'<text x="{EDGE}" y="{EDGE + LINE * number + 12}" xml:space="preserve" fill="{colour}"{typed} '
            f'style="animation-delay:{seconds:.2f}s">{escape(printable(_cut(text)))}</text>'
        )
        seconds += TYPED_S if typed else LINE_S


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 1]}…"


if __name__ == "__main__":
    main(sys.argv[1:])
