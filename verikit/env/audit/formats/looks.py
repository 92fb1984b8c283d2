"""The named checks of each format. Checks that are meaningless without running are `not_run`, with the requirement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from verikit.env.audit.formats.code import PythonCode, code_of
from verikit.env.audit.formats.find import FoundEnv
from verikit.env.audit.formats.graders import check_graders
from verikit.env.audit.formats.judges import check_judges
from verikit.env.audit.formats.nemo_gym import (
    check_gym_alike,
    check_gym_judge,
    check_gym_pins,
    check_gym_reach,
    check_gym_schema,
)
from verikit.env.audit.formats.nemo_gym import grader_code as gym_code
from verikit.env.audit.formats.openenv import (
    check_openenv_alike,
    check_openenv_pins,
    check_openenv_reach,
    check_openenv_schema,
)
from verikit.env.audit.formats.openenv import grader_code as openenv_code
from verikit.env.audit.formats.spec_looks import (
    check_rows_declared,
    check_rows_judge,
    check_rows_mode,
    check_rows_schema,
)
from verikit.env.audit.formats.verifiers import (
    check_verifiers_alike,
    check_verifiers_pins,
    check_verifiers_reach,
    check_verifiers_schema,
)
from verikit.env.audit.formats.workspace_rows import check_rows_alike, check_rows_reach
from verikit.env.audit.records import CheckRecord
from verikit.env.audit.task import AuditedTask

Look = Callable[[AuditedTask], CheckRecord]
_DECLARED = "declared outputs: only Harbor's tasks declare the files that are collected for their tests"


def _needs(what: str, task: AuditedTask) -> CheckRecord:
    return CheckRecord("not_run", needs=what)


def _graded(code: Callable[[AuditedTask], PythonCode], task: AuditedTask) -> CheckRecord:
    return check_graders(code(task))


def _judged(code: Callable[[AuditedTask], PythonCode], task: AuditedTask) -> CheckRecord:
    return check_judges(code(task))


def _nothing_to_pin(task: AuditedTask) -> CheckRecord:
    return CheckRecord("pass", notes=("rows name no packages and no images",))


def looks_of(found: FoundEnv) -> Mapping[str, Look]:
    """The checks of an environment that is not Harbor's."""
    if found.format != "rows":
        return _LOOKS[found.format]
    file, spec = found.file, found.spec
    return {
        "schema": partial(check_rows_schema, file=file, given=spec),
        "declared": partial(check_rows_declared, file=file, given=spec),
        "mode": partial(check_rows_mode, file=file, given=spec),
        "reach": partial(check_rows_reach, file=file),
        "pins": _nothing_to_pin,
        "judge": partial(check_rows_judge, file=file, given=spec),
        "alike": partial(check_rows_alike, file=file),
    }


_LOOKS: Mapping[str, Mapping[str, Look]] = {
    "openenv": {
        "schema": check_openenv_schema,
        "declared": partial(_needs, _DECLARED),
        "mode": partial(_graded, openenv_code),
        "reach": check_openenv_reach,
        "pins": check_openenv_pins,
        "judge": partial(_judged, openenv_code),
        "alike": check_openenv_alike,
    },
    "verifiers": {
        "schema": check_verifiers_schema,
        "declared": partial(_needs, _DECLARED),
        "mode": partial(_graded, code_of),
        "reach": check_verifiers_reach,
        "pins": check_verifiers_pins,
        "judge": partial(_judged, code_of),
        "alike": check_verifiers_alike,
    },
    "nemo-gym": {
        "schema": check_gym_schema,
        "declared": partial(_needs, _DECLARED),
        "mode": partial(_graded, gym_code),
        "reach": check_gym_reach,
        "pins": check_gym_pins,
        "judge": check_gym_judge,
        "alike": check_gym_alike,
    },
}
