"""`audit`: is this data set gradable, and is this reward hackable?"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from verikit.audit.candidates import (
    Candidates,
    check_labels,
    check_noise,
    check_suspects,
    check_unscored,
    score_candidates,
)
from verikit.audit.findings import CHECKS, AuditResult, CheckCount, Finding, counted
from verikit.audit.golds import check_gold
from verikit.audit.kept import KeptScores
from verikit.audit.patches import PatchSweep, has_patch_rows, patch_of
from verikit.audit.reward import RewardTrial
from verikit.audit.rows import AuditRow, read_rows
from verikit.audit.twins import check_leaks, check_twins
from verikit.audit.undone import UndoneTrial, reads_files
from verikit.base import Verifier, walk
from verikit.errors import SchemaError, UsageError
from verikit.names.spec import load
from verikit.readers.reader import NO_MAPPING
from verikit.types import PASS_MARK

PROBED = 500
"""Rows on which a reward is tried unless more are asked for."""
NOISE_ROWS = 50
"""Texts that are scored again to see whether scores are steady."""
_RUNS_PROGRAMS = frozenset(("code", "program"))
_TESTS = frozenset(("tests", "test", "test_list", "test_cases", "inputs", "input_output", "public_test_cases"))


def audit(
    file: str,
    by: str | Verifier = "",
    *,
    mapping: Mapping[str, str] = NO_MAPPING,
    format: str | None = None,
    against: str = "",
    probed: int = PROBED,
    repeats: int = 2,
    mark: float = PASS_MARK,
    programs: bool | None = None,
    seed: int = 0,
    tick: Callable[[int], None] = lambda count: None,
    begun: Callable[[str, int], None] = lambda check, texts: None,
    keep: str | Path | None = None,
    resume: bool = True,
) -> AuditResult:
    """Look for faults of a data set and, with `by`, of the reward that is to be used on it.

    Args:
        file: Rows with a prompt and a gold, with or without candidates; in any format that `verikit score` reads.
        by: The reward, a verifier or its spec; without it only golds and twins are looked at. Rows with a `repository`
            and tests of it are judged by `patch` then.
        mapping: From prompt, completions, answer, id, solution, label to the rows' keys.
        format: The file's format, where its keys don't tell.
        against: Another file (the training data of this test, say) whose questions must not stand in this one.
        probed: Rows on which the reward is tried, drawn by `seed`; 0 for all. Candidates are all scored.
        repeats: How often texts are scored to see whether the reward is steady; below 2 not at all.
        mark: The least reward that counts as paid.
        programs: Whether hacks that are programs are tried; None: where the reward runs programs, or rows hold tests.
        seed: Of the rows that are drawn.
        tick: Called with the number of texts that were scored since it was called last.
        begun: Called with the name of each check of the reward and the number of texts that it scores.
        keep: A folder. Scores of rows' patches are kept in it as they come, and an audit that was cut off goes on from
            them. A row is run again if its repository, its tests or the reward's options have changed.
        resume: Use the scores that `keep` holds; False runs every row again.

    Raises:
        UsageError: a file that can't be read or has no readable row, an unknown field, a spec that can't be read, or
            a folder that can't be written.
    """
    verifier = load(by) if by else None
    kept = partial(KeptScores, Path(keep) if keep else None, restart=not resume)
    rows, bad = _readable(file, mapping, format)
    result = AuditResult(file, verifier.name if isinstance(by, Verifier) and verifier else str(by), len(rows), bad)
    others = _readable(against, mapping, None)[0] if against else None
    _check_data(result, rows, others, against)
    if verifier is not None:
        _check_reward(result, rows, verifier, (probed, repeats, mark, seed), programs, (tick, begun), kept)
    elif has_patch_rows(rows):
        result.by = "patch"
        drawn = _drawn(result, rows, probed, seed)
        _check_unscored(result, *_check_patches(result, drawn, load("patch"), (tick, begun), kept))
    order = list(CHECKS)
    result.checks.sort(key=lambda count: order.index(count.check))
    result.findings.sort(key=lambda finding: (order.index(finding.check), finding.line))
    return result


def _readable(file: str, mapping: Mapping[str, str], format: str | None) -> tuple[list[AuditRow], int]:
    items = list(read_rows(file, mapping, format))
    rows = [item for item in items if isinstance(item, AuditRow)]
    if not rows:
        first = next((item for item in items if isinstance(item, SchemaError)), None)
        raise first or UsageError(f"{file} has no rows")
    return rows, len(items) - len(rows)


def _check_data(result: AuditResult, rows: Sequence[AuditRow], others: Sequence[AuditRow] | None, name: str) -> None:
    with_golds = any(row.golds for row in rows)
    found = list(chain.from_iterable(map(check_gold, rows))) if with_golds else []
    if not with_golds and not has_patch_rows(rows) and not any(row.workspace for row in rows):
        result.notices.append("no row has a gold answer: golds are not looked at (--map answer=KEY names their key)")
    found += check_twins(rows)
    if others is not None:
        found += check_leaks(rows, others, name)
    for check in CHECKS:
        if _runs(check, rows, others is not None, with_golds):
            result.checks.append(_counted(check, rows, found))
    result.findings += found


def _counted(check: str, rows: Sequence[AuditRow], findings: Sequence[Finding]) -> CheckCount:
    """How many rows a check looks at, and what it found."""
    looked = [row for row in rows if check not in _NEEDS or _NEEDS[check](row)]
    return counted(check, len(looked), [finding for finding in findings if finding.check == check])


_NEEDS: Mapping[str, Callable[[AuditRow], bool]] = {
    "contradiction": lambda row: bool(row.golds) and bool(row.solution or "####" in row.golds[0]),
    "option": lambda row: bool(row.options),
}
"""What a row must have for a check to look at it."""


def _runs(check: str, rows: Sequence[AuditRow], leaks: bool, golds: bool) -> bool:
    if check in _NEEDS:
        return golds and any(map(_NEEDS[check], rows))
    return leaks if check == "leak" else CHECKS[check].group == "twins" or (CHECKS[check].group == "golds" and golds)


def _runs_programs(verifier: Verifier, rows: Sequence[AuditRow]) -> bool:
    """Whether the reward runs programs, by its verifiers and by the tests in rows."""
    if any(part.name in _RUNS_PROGRAMS for part in walk(verifier)):
        return True
    return any(_TESTS & row.meta.keys() for row in rows)


def _check_reward(
    result: AuditResult,
    rows: Sequence[AuditRow],
    verifier: Verifier,
    settings: tuple[int, int, float, int],
    programs: bool | None,
    watched: tuple[Callable[[int], None], Callable[[str, int], None]],
    kept: Callable[[], KeptScores],
) -> None:
    probed, repeats, mark, seed = settings
    drawn = _drawn(result, rows, probed, seed)
    if programs is None:
        programs = _runs_programs(verifier, drawn)
    of_files = reads_files(verifier)
    by_text = [row for row in drawn if row.workspace is None or not of_files]
    trial = RewardTrial(verifier, by_text, mark, *watched)
    trial.run(programs=programs, seed=seed)
    result.probed = len(trial.rows)
    result.forms = trial.forms
    result.checks += trial.checks
    result.probes += trial.probes
    result.findings += trial.findings
    undone = UndoneTrial(verifier, drawn, mark, *watched)
    undone.run()
    result.probed = max(result.probed, len(undone.rows))
    result.checks += undone.checks
    result.probes += undone.probes
    result.findings += undone.findings
    if trial.rows and not trial.forms:
        result.notices.append("no form that an answer is stated in is paid: near misses and hacks say little")
    candidates = score_candidates(verifier, rows)
    looked = {row.line for row in (*trial.rows, *(row for row, _ in candidates))}
    unscored = {finding.line: finding for finding in check_unscored(candidates)} | trial.unscored
    run, not_run = _check_patches(result, drawn, verifier, watched, kept)
    looked |= {row.line for row in undone.rows}
    _check_unscored(result, looked | run, undone.unscored | unscored | not_run)
    _check_candidates(result, candidates, verifier, mark)
    if repeats > 1:
        _check_noise(result, trial, repeats, rows)


def _drawn(result: AuditResult, rows: Sequence[AuditRow], probed: int, seed: int) -> list[AuditRow]:
    """The rows on which a reward is tried."""
    if not 0 < probed < len(rows):
        return list(rows)
    picked = set(random.Random(seed).sample(range(len(rows)), probed))
    result.notices.append(f"the reward was tried on {probed:,} of {len(rows):,} rows (--rows 0 tries all)")
    return [row for i, row in enumerate(rows) if i in picked]


def _check_patches(
    result: AuditResult,
    rows: Sequence[AuditRow],
    verifier: Verifier,
    watched: tuple[Callable[[int], None], Callable[[str, int], None]],
    kept: Callable[[], KeptScores],
) -> tuple[set[int], dict[int, Finding]]:
    """Run the own patches of rows and the empty patch, if the reward runs patches.

    Returns:
        The lines that were run, and by line why one could not be.
    """
    patch = patch_of(verifier)
    if patch is None:
        return set(), {}
    if not has_patch_rows(rows):
        return set(), {}
    with kept() as scores:
        sweep = PatchSweep(patch, rows, *watched, scores)
        sweep.run()
    result.checks += sweep.checks
    result.findings += sweep.findings
    result.probed = max(result.probed, len(sweep.rows))
    return {row.line for row in sweep.rows}, sweep.unscored


def _check_unscored(result: AuditResult, lines: set[int], found: Mapping[int, Finding]) -> None:
    """A text without a score passes no check: rows with one fail a check of their own."""
    result.checks.append(counted("unscored", len(lines), list(found.values())))
    result.findings += found.values()


def _check_candidates(result: AuditResult, candidates: Candidates, verifier: Verifier, mark: float) -> None:
    looked, found = check_suspects(verifier, candidates, mark)
    if looked:
        result.checks.append(counted("suspect", looked, found))
        result.findings += found
    result.labels, found, labelled = check_labels(candidates, mark)
    if labelled:
        result.checks.append(counted("label", labelled, found))
        result.findings += found


def _own_texts(row: AuditRow) -> Sequence[str]:
    """The first completion of a row. One with a workspace needs none."""
    return row.completions[:1] or ([] if row.workspace is None else [""])


def _check_noise(result: AuditResult, trial: RewardTrial, repeats: int, rows: Sequence[AuditRow]) -> None:
    samples = [(row, row.sample(text)) for row in rows for text in _own_texts(row)][:NOISE_ROWS]
    samples += [(row, trial.honest(row)) for row in trial.rows[: NOISE_ROWS - len(samples)]]
    found: list[Finding]
    result.noise, found = check_noise(trial.verifier, samples, repeats, trial.mark)
    result.checks.append(counted("noise", result.noise.candidates, found))
    result.findings += found
