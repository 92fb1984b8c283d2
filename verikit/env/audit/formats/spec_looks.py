"""Checks of rows and the specs that grade them: form, declared outputs, place of grading, judges. Nothing is graded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from verikit.adapters.harbor import ORACLE
from verikit.audit.undone import named_paths
from verikit.env.audit.formats.judges import model_findings
from verikit.env.audit.formats.row_specs import RowSpec, spec_of_row
from verikit.env.audit.formats.workspace_rows import MAX_FINDINGS, row_findings, rows_of
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.schema import linked_outside
from verikit.env.audit.task import AuditedTask
from verikit.errors import WorkspaceError
from verikit.types import WORKSPACE
from verikit.workspaces.grading import WorkspaceVerifier
from verikit.workspaces.names import has_wildcards, shown
from verikit.workspaces.row import workspace_of_row

NO_SPEC = "the spec that grades the rows: their key checks, or --spec"
_BOXED = "verikit grades outside of the agent's box, and the expected values stay there"


def specs_of(task: AuditedTask, file: str, given: str) -> Iterator[tuple[str, Mapping[str, Any], RowSpec]]:
    """Each row with its place and its spec. Rows that can't be read are skipped, because `schema` has them."""
    for where, row, _ in rows_of(task, file):
        if not isinstance(row, ValueError):
            yield where, row, spec_of_row(row, given)


def check_rows_schema(task: AuditedTask, file: str, given: str) -> CheckRecord:
    """Compare each row with the form of workspaces, load its spec, and look for the files that it names."""
    findings: list[EnvFinding] = []
    count = 0
    for where, row, _ in rows_of(task, file):
        count += 1
        findings += row_findings(task, row, where)
        if not isinstance(row, ValueError):
            findings += _grading(task, row, spec_of_row(row, given), where)
        if len(findings) >= MAX_FINDINGS:
            break
    if not count:
        findings.append(EnvFinding("missing", "there are no rows"))
    return judged([*findings, *linked_outside(task)])


def _grading(task: AuditedTask, row: Mapping[str, Any], spec: RowSpec, where: str) -> Iterator[EnvFinding]:
    """Errors of a row's `checks` and `oracle`."""
    if spec.problem:
        yield EnvFinding("wrong", spec.problem, where)
    if row.get(ORACLE) is not None:
        try:
            workspace_of_row({"after": row[ORACLE]}, os.path.join(task.root, *task.within))
        except WorkspaceError as error:
            yield EnvFinding(error.kind, shown(f"{ORACLE}: {error}"[:200]), where)


def check_rows_declared(task: AuditedTask, file: str, given: str) -> CheckRecord:
    """Compare the paths that a row's spec names with the outputs that the row declares."""
    findings: list[EnvFinding] = []
    undecided: list[str] = []
    folder = os.path.join(task.root, *task.within)
    for where, row, spec in specs_of(task, file, given):
        if spec.verifier is None:
            undecided.append(spec.foreign or NO_SPEC)
            continue
        if len(findings) < MAX_FINDINGS:
            findings += _undeclared(row, spec, where, folder)
        if spec.code:
            undecided.append(f"the paths that {shown(spec.text[:80])} reads")
    return judged(findings, undecided)


def _undeclared(row: Mapping[str, Any], spec: RowSpec, where: str, folder: str) -> Iterator[EnvFinding]:
    try:
        workspace = workspace_of_row(row.get(WORKSPACE), folder)
    except WorkspaceError:
        return  # an error of `schema`
    graders = [one for one in spec.parts if isinstance(one, WorkspaceVerifier)]
    for path in dict.fromkeys(named_paths(graders, row)):
        if not has_wildcards(path) and not workspace.declares(path.strip("/")):
            what = f"the spec reads {shown(path)}, which is not among the outputs"
            yield EnvFinding("undeclared", what, where)


def check_rows_mode(task: AuditedTask, file: str, given: str) -> CheckRecord:
    """The place of grading. verikit's own verifiers grade collected files, outside of the agent's box."""
    undecided: dict[str, None] = {}
    for _, _, spec in specs_of(task, file, given):
        if spec.verifier is None:
            undecided[spec.foreign or NO_SPEC] = None
        elif spec.code:
            undecided[f"the code of {shown(spec.text[:80])}"] = None
    return judged([], list(undecided), (_BOXED,))


def check_rows_judge(task: AuditedTask, file: str, given: str) -> CheckRecord:
    """The models of the judges that a spec names."""
    findings: dict[EnvFinding, None] = {}
    undecided: dict[str, None] = {}
    for where, _, spec in specs_of(task, file, given):
        if spec.verifier is None:
            undecided[spec.foreign or NO_SPEC] = None
        for judge in spec.judges:
            engine = getattr(judge, "engine", None)
            if not isinstance(engine, str):
                undecided[f"the engine of {judge.name}"] = None
            elif len(findings) < MAX_FINDINGS:
                model = engine.rpartition("#")[2].rpartition(":")[2]
                findings.update(dict.fromkeys(model_findings(model, "--spec" if given else where)))
    return judged(list(findings), list(undecided))
