"""A run's verdicts, of `verikit score` or of `verikit judge`, in one format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verikit.errors import UsageError
from verikit.judges.match.labels import Key, Label
from verikit.judges.match.run import VERDICTS
from verikit.platform.folders import refuse_links
from verikit.report.criteria import evidence_of
from verikit.report.kinds import kind_of
from verikit.scoring.chunk import SCORES
from verikit.scoring.rows import read_rows
from verikit.scoring.sums import verify
from verikit.types import PASS_MARK

SCORE, JUDGE = "score", "judge"


@dataclass
class RunVerdicts:
    """A run's verdict on each candidate or comparison."""

    kind: str
    values: dict[Key, float] = field(default_factory=dict)
    """1 if right or the first answer, 0 if wrong or the second, .5 for a tie. Unscored keys are missing."""
    raw: dict[Key, float] = field(default_factory=dict)
    """The values behind them, as the judge gave them: a score, or a preference for the first answer."""
    without: set[Key] = field(default_factory=set)
    """Keys without a verdict."""
    labels: dict[Key, Label] = field(default_factory=dict)
    """Labels in the run's own rows."""
    longer: dict[Key, bool] = field(default_factory=dict)
    """For a comparison: whether the first answer is longer."""
    shown: dict[Key, str] = field(default_factory=dict)
    """What the judge was shown of an agent's run."""
    models: dict[Key, tuple[str, str]] = field(default_factory=dict)
    """For a comparison: the models that gave the answers."""

    @property
    def unscored(self) -> int:
        """Number of keys without a verdict."""
        return len(self.without)

    @property
    def ids(self) -> set[str]:
        """Ids of all prompts, including those without a verdict."""
        return {id for id, _ in (*self.values, *self.without)}

    def of(self, ids: Collection[str]) -> RunVerdicts:
        """The verdicts on these prompts."""
        return RunVerdicts(
            self.kind,
            _only(self.values, ids),
            _only(self.raw, ids),
            {key for key in self.without if key[0] in ids},
            _only(self.labels, ids),
            _only(self.longer, ids),
            _only(self.shown, ids),
            _only(self.models, ids),
        )


def _only(held: Mapping[Key, Any], ids: Collection[str]) -> dict[Key, Any]:
    return {key: value for key, value in held.items() if key[0] in ids}


def read_verdicts(run: Path, *, ranking: bool = False) -> RunVerdicts:
    """Read a run of score or judge.

    Args:
        run: The run's folder.
        ranking: For a score run, use the verifier that ranked the candidates (`--by`) instead of the one that decided
            which are right.

    Raises:
        UsageError: It is not such a run, it is unfinished, or it is damaged.
    """
    refuse_links(run)
    verify(run)
    kind = kind_of(run)
    if kind is None or kind.name not in (SCORE, JUDGE):
        raise UsageError(f"{run} is not a run of verikit score or judge", hint="give its folder, -o's")
    try:
        return _scores(run, ranking) if kind.name == SCORE else _comparisons(run)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{run} is damaged: {type(error).__name__}: {error}") from error


def _scores(run: Path, ranking: bool) -> RunVerdicts:
    found = RunVerdicts(SCORE)
    for row in read_rows(run / SCORES):
        score = row["by"] if ranking else row
        value = score["value"]
        found.shown[row["id"], row["index"]] = evidence_of(score.get("reason", ""))
        if value is None:
            found.without.add((row["id"], row["index"]))
        else:
            found.values[row["id"], row["index"]] = float(value >= PASS_MARK)
            found.raw[row["id"], row["index"]] = float(value)
    return found


def _comparisons(run: Path) -> RunVerdicts:
    """Read comparisons. The index distinguishes the pairs of models, in the run's order."""
    found = RunVerdicts(JUDGE)
    pairs: dict[tuple[str, str], int] = {}
    for row in read_rows(run / VERDICTS):
        key = row["id"], pairs.setdefault((row["a"], row["b"]), len(pairs))
        found.models[key] = row["a"], row["b"]
        found.longer[key] = row["lengths"][0] > row["lengths"][1]
        if "label" in row:
            found.labels[key] = Label(row["label"])
        if row["preference"] is None:
            found.without.add(key)
        else:
            found.values[key] = _side(row["preference"])
            found.raw[key] = float(row["preference"])
    return found


def _side(preference: float) -> float:
    return ((preference > PASS_MARK) - (preference < PASS_MARK) + 1) / 2


def common(first: Mapping[Key, Any], second: Mapping[Key, Any]) -> list[Key]:
    """The keys of both, in the first one's order."""
    return [key for key in first if key in second]
