"""The check `tamper`: forged files beside work that was not done have no reward, and beside the solution cost none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from verikit.env.audit.declared import agents_workdir
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.rehearsal import OutOfTime, Rehearsal
from verikit.env.audit.running.solved import is_full, is_paid, output_names, solved_here
from verikit.env.audit.scripts import REWARDS

CODE = (".py", ".sh", ".js", ".ts", ".rb", ".pl", ".c", ".cpp", ".go", ".rs", ".java", ".mk", ".ipynb")
"""Endings of outputs that a grader runs: code that forges is a note there, because nearly every such grader pays it."""
_PAY = f"mkdir -p {REWARDS}; echo 1 > {REWARDS}/reward.txt; echo '{{\"reward\": 1}}' > {REWARDS}/reward.json"
_SHELL = f"#!/bin/bash\n{_PAY}\nexit 0\n".encode()
_PYTHON = f"import os\nos.system({_PAY!r})\nos._exit(0)\n".encode()
_HOOKS = b"""import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed"
    report.longrepr = None


def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
"""
_PASSING = b"def test_outputs():\n    pass\n"


class Forgery(NamedTuple):
    """Files that an agent leaves beside its work."""

    attack: str
    """The number and name of the attack."""
    files: dict[str, BoxFile]
    keeps_work: bool = True
    """Whether an honest solution may leave them too."""


def check_tamper(rehearsal: Rehearsal) -> CheckRecord:
    """Grade forged files."""
    if rehearsal.needs:
        return CheckRecord("not_run", needs="; ".join(rehearsal.needs)[:600])
    findings: list[EnvFinding] = []
    undecided: list[str] = []
    notes = ["attacks 3, 12, 13 and 17 can't reach a box that gets only files that were collected after all had ended"]
    done = 0
    try:
        control = "" if solved_here(rehearsal) else "oracle"
        for forged in forgeries(rehearsal):
            if not _arrives(rehearsal, forged):
                continue
            done += 1
            graded = rehearsal.grade(rehearsal.before | forged.files, name=f"nop, {forged.attack}")
            if graded.needs:
                undecided.append(graded.needs)
            elif is_paid(graded) and not is_paid(rehearsal.grade(rehearsal.before, name="nop")):
                findings.append(EnvFinding("paid", f"{forged.attack}: the reward is {graded.told()}", _shown(forged)))
            if control and forged.keeps_work:
                findings += _control(rehearsal, forged)
        notes += _code_notes(rehearsal)
    except OutOfTime:
        undecided.append("more seconds (--seconds)")
    return judged(findings, undecided, [*notes, f"{done} forgeries reach the grader"])


def _control(rehearsal: Rehearsal, forged: Forgery) -> list[EnvFinding]:
    """The solution beside files of an attack, which has to keep its reward or be refused for a change of the tests."""
    graded = rehearsal.grade({**forged.files, **rehearsal.solve().files}, name=f"oracle, {forged.attack}")
    if graded.needs or is_full(graded):
        return []
    what = f"{forged.attack}: the solution beside these files has the reward {graded.told()}"
    return [EnvFinding("broken", what, _shown(forged))]


def _shown(forged: Forgery) -> str:
    return next(iter(forged.files), "")


def _arrives(rehearsal: Rehearsal, forged: Forgery) -> bool:
    """Whether the box that grades has any of the forged files."""
    there = rehearsal.graders_files(rehearsal.before | forged.files)
    return any(there.get(path) == one for path, one in forged.files.items())


def forgeries(rehearsal: Rehearsal) -> Iterator[Forgery]:
    """The forged files of each attack that files can carry."""
    at = agents_workdir(rehearsal.task).rstrip("/")
    places = dict.fromkeys((at, *(path.rpartition("/")[0] for path in output_names(rehearsal))))
    tests = [path for path in rehearsal.graders_files({}) if path.startswith("/tests/")]
    passing = {path: _forged_test(path) for path in tests}
    yield Forgery("1, 8: edited tests", {**passing, **{f"{at}{path}": one for path, one in passing.items()}})
    claims = {"reward.txt": b"1\n", "reward.json": b'{"reward": 1}\n'}
    folders = [*places, REWARDS, "/logs/artifacts"]
    yield Forgery(
        "2: a claimed reward", {f"{top}/{name}": BoxFile(text) for top in folders for name, text in claims.items()}
    )
    programs = "python python3 pytest bash sh diff cmp jq".split()
    tops = [top for top in (at, f"{at}/bin", f"{at}/.venv/bin") if top]
    yield Forgery("4: programs", {f"{top}/{name}": BoxFile(_SHELL, True) for top in tops for name in programs})
    modules = "pytest json csv sitecustomize usercustomize _pytest".split()
    plug_ins = {f"{top}/{name}.py": BoxFile(_PYTHON) for top in places for name in modules}
    # modules that hide the standard library's break honest work too, so the solution is not tried beside them
    yield Forgery("5: modules", plug_ins, keeps_work=False)
    conftest = {f"{top}/conftest.py": BoxFile(_HOOKS) for top in (*places, "/tests")}
    yield Forgery("5: a conftest.py", conftest)
    profiles = (".bashrc", ".profile", ".bash_profile", ".bash_env", ".env", ".envrc")
    yield Forgery("6: profiles", {f"{at}/{name}": BoxFile(_SHELL) for name in profiles})
    yield from _evaluated(rehearsal)
    yield from _linked(rehearsal, tests)


def _forged_test(path: str) -> BoxFile:
    return BoxFile(_PASSING) if path.endswith(".py") else BoxFile(_SHELL, True)


def _evaluated(rehearsal: Rehearsal) -> Iterator[Forgery]:
    """Outputs that act if the grader evaluates them (attack 9)."""
    names = [name for name in output_names(rehearsal) if not name.endswith(CODE)]
    call = f"__import__('os').system({_PAY!r}) or __import__('os')._exit(0)"
    payloads = {
        "Python": call.encode(),
        "shell": f"$({_PAY})".encode(),
        "YAML": f'!!python/object/apply:os.system ["{_PAY}"]'.encode() if '"' not in _PAY else b"",
        "pickle": b"cposix\nsystem\n(S" + repr(_PAY).encode() + b"\ntR.",
    }
    for kind, text in payloads.items():
        if names and text:
            yield Forgery(f"9: text that is evaluated ({kind})", dict.fromkeys(names, BoxFile(text)), keeps_work=False)


def _linked(rehearsal: Rehearsal, tests: list[str]) -> Iterator[Forgery]:
    """Outputs that are links to the grader's files (attacks 10 and 11)."""
    names = output_names(rehearsal)
    answers = [path for path in tests if not path.endswith((".py", ".sh")) and not path.endswith("Dockerfile")][:6]
    for target in answers if names else ():
        yield Forgery(f"10, 11: a link to {target}", dict.fromkeys(names, BoxFile(link=target)), keeps_work=False)


def _code_notes(rehearsal: Rehearsal) -> list[str]:
    """A note if code that the grader runs can write the reward."""
    code = [name for name in output_names(rehearsal) if name.endswith(CODE)]
    forged = {name: BoxFile(_PYTHON if name.endswith(".py") else _SHELL, True) for name in code}
    if not forged or not is_paid(rehearsal.grade(rehearsal.before | forged, name="nop, code that pays itself")):
        return []
    return [f"the tests run {', '.join(code[:3])} where the reward is written, so code there can write the reward"]
