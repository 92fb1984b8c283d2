"""The synthesis of training data: problems to solutions, step values, labels, rationales, files to train on.

    OUT/solutions/   the sampled solutions of each problem, and the balanced paths
    OUT/values/      each path with the value after every step
    OUT/rationales/  each labelled path with its reviewer's verdicts, accepted or not
    OUT/train.jsonl  conversations of the accepted ones, for `verikit train sft`
    OUT/steps.jsonl  labelled steps of all paths, for `recipe = "step-labels"`
    OUT/report.json  the counts of every stage

Each stage resumes where it stopped, and gives the result of an uninterrupted run. (GenPRM, arXiv 2504.00891, section
3.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from verikit.base import Verifier
from verikit.engines.types import Engine
from verikit.judges.genprm.synth.estimates import estimate_values
from verikit.judges.genprm.synth.labels import Variant, step_labels
from verikit.judges.genprm.synth.rationales import write_rationales
from verikit.judges.genprm.synth.sampling import Asking
from verikit.judges.genprm.synth.solutions import Balance, sample_solutions
from verikit.judges.genprm.verifier import GenPRM
from verikit.scoring.folder import Folder
from verikit.scoring.rows import to_line
from verikit.scoring.stages import begin, run_stage
from verikit.types import Group

REPORT, TRAIN, STEPS = "report.json", "train.jsonl", "steps.jsonl"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The components and settings of the stages."""

    verifier: Verifier
    """Decides which solutions are right."""
    policy: Engine
    completer: Engine
    reviewer: GenPRM
    """Its paths are the drafts of a rationale."""
    asking: Asking = field(default_factory=Asking)
    balance: Balance = field(default_factory=Balance)
    completions: tuple[int, int, int] | None = None
    """Completion counts that replace 128, 64 and 32."""
    variant: Variant = "ratio"
    threshold: Fraction = Fraction(4, 5)
    batch: int = 64
    """Problems (or solutions) per call."""


def synthesise(
    problems: Sequence[Group],
    out: Path,
    parts: Synthesis,
    config: Mapping[str, Any],
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Run all stages into a folder and return the report.

    Args:
        problems: Problems with answers, in the order of the folder's first run.
        out: The folder. It is created if absent.
        parts: Engines, verifier and settings.
        config: The settings that affect the result. A folder is resumed only with the same settings.
        progress: Called with a stage's name, the number of finished items, and the total.

    Raises:
        UsageError: The folder was created under another config, or is in use.
    """
    with Folder(out, ()) as folder:
        begin(folder, config, out)

        def solve(batch: Sequence[Group]) -> list[dict[str, Any]]:
            return sample_solutions(batch, parts.policy, parts.verifier, parts.asking, parts.balance)

        drawn = run_stage(out / "solutions", problems, solve, parts.batch, _reporting(progress, "solutions"))

        def estimate(batch: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
            found = estimate_values(batch, parts.completer, parts.verifier, parts.asking, parts.completions)
            return [path for paths in found for path in paths]

        balanced = [row for row in drawn if row["paths"]]
        valued = run_stage(out / "values", balanced, estimate, parts.batch, _reporting(progress, "values"))
        labelled = [path | {"labels": labels(path, parts)} for path in valued if has_values(path)]

        def review(batch: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
            return write_rationales(batch, parts.reviewer)

        reviewed = run_stage(out / "rationales", labelled, review, parts.batch, _reporting(progress, "rationales"))
        report = count(problems, drawn, valued, labelled, reviewed)
        kept = [{name: row[name] for name in ("id", "messages", "labels")} for row in reviewed if row["kept"]]
        steps = [{name: path[name] for name in ("id", "prompt", "steps", "labels")} for path in labelled]
        folder.replace(TRAIN, b"".join(map(to_line, kept)))
        folder.replace(STEPS, b"".join(map(to_line, steps)))
        folder.write_json(REPORT, report)
    return report


def has_values(path: Mapping[str, Any]) -> bool:
    """Whether every step has counted completions."""
    return all(counted for _, counted in path["values"])


def labels(path: Mapping[str, Any], parts: Synthesis) -> list[int]:
    """Each step's label, 1 or 0."""
    values = [Fraction(right, counted) for right, counted in path["values"]]
    found = step_labels(Fraction(*path["pass_at_1"]), values, parts.variant, parts.threshold)
    return [int(label) for label in found]


def count(
    problems: Sequence[Group],
    drawn: Sequence[Mapping[str, Any]],
    valued: Sequence[Mapping[str, Any]],
    labelled: Sequence[Mapping[str, Any]],
    reviewed: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the counts of every stage."""
    steps = Counter(label for path in labelled for label in path["labels"])
    why = Counter(row["why"] for row in reviewed if not row["kept"])
    kept = sum(row["kept"] for row in reviewed)
    return {
        "problems": len(problems),
        "solutions": {
            name: sum(row[name] for row in drawn) for name in ("tried", "right", "unscored", "errors")
        } | {"problems of one kind only": sum(not row["paths"] for row in drawn)},
        "paths": {"right": sum(path["right"] for path in valued), "wrong": sum(not path["right"] for path in valued),
                  "without values": len(valued) - len(labelled)},
        "completions": sum(counted for path in valued for _, counted in path["values"][:-1]),
        "steps": {"progress": steps[1], "no progress": steps[0]},
        "rationales": {"written": len(reviewed), "kept": kept, **dict(sorted(why.items()))},
        "kept share": kept / len(reviewed) if reviewed else None,
    }  # fmt: skip


def _reporting(progress: Progress, stage: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(stage, done, total)
