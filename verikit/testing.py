"""Runs in tests: score a model's output, and assert a metric. In pytest, the fixture is `verikit_score`.

`run = verikit_score("candidates.jsonl", "answer")`, then `assert_at_least(run, 0.9, metric="pass@4")`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from verikit.base import Verifier
from verikit.report.floors import SHOWN, check_floors, unscored_share
from verikit.results.data import Data, write_rows
from verikit.scoring.plan import DEFAULT_KS, ScoringPlan
from verikit.scoring.run import score_file


class HasPath(Protocol):
    """A finished run of any origin."""

    @property
    def path(self) -> Path:
        """Its folder."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """A score run created by a test."""

    path: Path
    """Its folder, which `verikit report` and `verikit compare` accept."""
    summary: Mapping[str, Any]
    """Content of summary.json: `metrics` by name, counts, reasons."""

    def value(self, metric: str = "mean") -> float:
        """Return the value of a metric: `mean`, `selected`, `pass@4`, `maj@4`."""
        value: float = self.summary["metrics"][metric]["value"]
        return value


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """Scores files or rows into separate folders."""

    folder: Callable[[], Path]
    """Creates a new folder."""

    def __call__(
        self,
        data: str | PathLike[str] | Data,
        verifier: str | Verifier = "answer",
        *,
        by: str | Verifier | None = None,
        select: str | None = None,
        k: Sequence[int] = DEFAULT_KS,
        mapping: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> ScoredRows:
        """Score candidates as `verikit score` does.

        Args:
            data: A file in any of verikit's formats, or its rows: `{"prompt": …, "completions": […], "answer": …}`, a
                data frame, or any other input of `verikit.score`.
            verifier: Decides which candidates are right: a spec or a verifier.
            by: Ranks the candidates instead, without seeing the truth.
            select: Keeps one candidate per prompt.
            k: The k of pass@k, maj@k and bon@k.
            mapping: Maps verikit's fields to the rows' keys.
            seed: Random seed.

        Raises:
            UsageError: The data or the spec can't be read.
        """
        folder = self.folder()
        if isinstance(data, str | PathLike):
            path = fspath(data)
        else:
            path = str(folder / "rows.jsonl")
            write_rows(data, Path(path))
        plan = ScoringPlan.of(verifier, by, select=select, ks=tuple(k), seed=seed, mapping=dict(mapping or {}))
        return ScoredRows(folder / "run", score_file(path, plan, folder / "run"))


def assert_at_least(
    run: str | PathLike[str] | HasPath,
    least: float,
    metric: str = "",
    *,
    sure: bool = False,
    unscored: float = 0.0,
    rows: int = SHOWN,
) -> None:
    """Fail a test whose run does not reach a value. The failure shows the difference, its interval and the wrong rows.

    Args:
        run: A run of `verikit score` or `verikit eval`: its folder, or the result of `verikit_score`.
        least: The smallest value that passes, such as 0.8.
        metric: `mean` (the default of a score run), `selected`, `pass@4`, `maj@8`, …. For an eval run, a task's name or
            a metric of its questions. Defaults to each task's own.
        sure: Require the lower end of the 95 % interval to reach it, not only the value, so a few lucky rows don't
            pass.
        unscored: Fraction of rows that may be unscored. Such rows are in no metric.
        rows: Number of wrong rows that the failure shows.

    Raises:
        AssertionError: A metric is too low, or too many rows are unscored.
        UsageError: The run has no such metric, or is not a run.
    """
    __tracebackhide__ = True
    folder = Path(fspath(run)) if isinstance(run, str | PathLike) else run.path
    problems = []
    if (lost := unscored_share(folder)) > unscored:
        problems.append(f"{lost:.1%} of the rows have no score, {unscored:.1%} are allowed: verikit report {folder}")
    for check in check_floors(folder, least, metric, sure=sure, most=rows):
        if not check.passed:
            problems.append("\n".join([check.told(), *(f"  {row}" for row in check.rows)]))
    if problems:
        raise AssertionError("\n".join(problems))
