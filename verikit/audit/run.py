"""`audit`: checks whether a dataset is gradable and whether a reward is hackable."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
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
"""Default number of rows on which a reward is tried."""
NOISE_ROWS = 50
"""Number of texts that are scored again to check that scores are deterministic."""
_RUNS_PROGRAMS = frozenset(("code", "program"))
_TESTS = frozenset(("tests", "test", "test_list", "test_cases", "inputs", "input_output", "public_test_cases"))


def audit(
    file: str,
    by: str | Verifier = "",
    *,
    mapping: Mapping[str, str] = NO_MAPPING,
    format: str | None = None,
    limit: int | None = None,
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
    """Check a dataset for errors and, with `by`, the reward that is to be used on it.

    Args:
        file: Rows with a prompt and a gold answer, with or without candidates, in any format that `verikit score`
            reads.
        by: The reward, as a verifier or its spec. Without it only gold answers and twins are checked. With it, rows
            with a `repository` and tests are judged by `patch`.
        mapping: From prompt, completions, answer, id, solution, label to the rows' keys.
        format: The file's format, if it can't be detected from the keys.
        limit: Only the first rows of the file are read. None reads all. `against` is always read whole.
        against: Another file (for example this test's training data) that must not contain any of these questions.
        probed: Number of rows on which the reward is tried, sampled with `seed`. 0 tries all. All candidates are
            scored.
        repeats: Number of times texts are scored to check that the reward is deterministic. Below 2 skips the check.
        mark: Minimum reward that counts as rewarded.
        programs: Whether to try hacks that are programs. None tries them if the reward runs programs or rows have
            tests.
        seed: Random seed for sampling rows.
        tick: Called with the number of texts scored since the last call.
        begun: Called with the name of each check of the reward and the number of texts that it scores.
        keep: A folder in which the scores of rows' patches are stored as they arrive. An interrupted audit resumes from
            them. A row is run again if its repository, its tests or the reward's options have changed.
        resume: Reuse the scores stored in `keep`. False runs every row again.

    Raises:
        UsageError: A file can't be read or has no readable row, a field is unknown, a spec can't be parsed, or a folder
            can't be written.
    """
    verifier = load(by) if by else None
    kept = partial(KeptScores, Path(keep) if keep else None, restart=not resume)
    rows, bad = _readable(file, mapping, format, limit)
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


def _readable(
    file: str, mapping: Mapping[str, str], format: str | None, limit: int | None = None
) -> tuple[list[AuditRow], int]:
    items = list(islice(read_rows(file, mapping, format), limit))
    rows = [item for item in items if isinstance(item, AuditRow)]
    if not rows:
        first = next((item for item in items if isinstance(item, SchemaError)), None)
        raise first or UsageError(f"{file} has no rows")
    return rows, len(items) - len(rows)


def _check_data(result: AuditResult, rows: Sequence[AuditRow], others: Sequence[AuditRow] | None, name: str) -> None:
    with_golds = any(row.golds for row in rows)
    found = list(chain.from_iterable(map(check_gold, rows))) if with_golds else []
    if not with_golds and not has_patch_rows(rows) and not any(row.workspace for row in rows):
        result.notices.append("no row has a gold answer, so none is checked (--map answer=KEY names their key)")
    found += check_twins(rows)
    if others is not None:
        found += check_leaks(rows, others, name)
    for check in CHECKS:
        if _runs(check, rows, others is not None, with_golds):
            result.checks.append(_counted(check, rows, found))
    result.findings += found


def _counted(check: str, rows: Sequence[AuditRow], findings: Sequence[Finding]) -> CheckCount:
    """Count the rows that a check covers, and its findings."""
    looked = [row for row in rows if check not in _NEEDS or _NEEDS[check](row)]
    return counted(check, len(looked), [finding for finding in findings if finding.check == check])


_NEEDS: Mapping[str, Callable[[AuditRow], bool]] = {
    "contradiction": lambda row: bool(row.golds) and bool(row.solution or "####" in row.golds[0]),
    "option": lambda row: bool(row.options),
}
"""For each check with a requirement, tests whether a row meets it."""


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
        result.notices.append("no form of an answer is rewarded, so near misses and hacks show little")
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
    """Return the rows on which a reward is tried."""
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
    """Add the check of unscored texts. They pass no other check, so their rows are reported by this one."""
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
