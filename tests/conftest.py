import gc
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.growth import check_linear

# How long examples take to run or to draw says more of the machine than of the code.
OPTIONS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
WHOLE = 100
settings.register_profile("verikit", max_examples=WHOLE * 2 // 5, **OPTIONS)
settings.register_profile("thorough", max_examples=WHOLE, **OPTIONS)  # pytest --hypothesis-profile thorough
settings.load_profile("verikit")


def examples(count):
    """The share of so many examples that a property is tried on in a run of this profile."""
    return count * settings().max_examples // WHOLE


# Hundreds of tests start a process of their own. Without bytecode, most of its time would be compiling.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parent.parent
for _folder in ("judges", "trainers", "evals"):  # a source distribution holds no links
    if not os.path.lexists(ROOT / "verikit" / _folder):
        (ROOT / "verikit" / _folder).symlink_to(f"../{_folder}")


SLOWEST = float(os.environ.get("VERIKIT_SLOWEST", "inf"))
"""CPU seconds: a slow test that takes longer, by its mark, is left out."""
PASSED = os.environ.get("VERIKIT_PASSED")
"""A file of names of tests: what it holds is left out, and what passes is added. So CI runs no test twice."""
QUICK = "VERIKIT_QUICK" in os.environ
"""Whether only the first case of each test is run."""
TIMES = ROOT / "tests" / "times.json"
"""Seconds of the cases that take a second or more. `VERIKIT_TIMES=1 pytest` writes them anew for what it runs."""
A_SECOND = 1.0


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector off the tests: tens of thousands of them stay until the end of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _seconds(item):
    return max((mark.kwargs.get("seconds", 0) for mark in item.iter_markers("slow")), default=0)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked slow
def pytest_collection_modifyitems(config, items):
    """Mark the cases that are known to be slow; put the longest first, so that no worker ends with a long one."""
    whole = any(
        (config.invocation_params.dir / argument).resolve() in (ROOT, ROOT / "tests") for argument in config.args
    )
    if whole and "VERIKIT_TIMES" not in os.environ:  # a file that is named runs all of its cases
        known = json.loads(TIMES.read_text("utf-8"))
        for item in items:
            if item.nodeid in known:
                item.add_marker(pytest.mark.slow(seconds=known[item.nodeid]))
    done = set(Path(PASSED).read_text("utf-8").split("\n")) if PASSED and os.path.exists(PASSED) else set()
    wanted = [item for item in items if item.nodeid not in done and _seconds(item) <= SLOWEST]
    if QUICK:
        cases = [item for item in wanted if not item.get_closest_marker("slow")]
        wanted = list({item.nodeid.partition("[")[0]: item for item in reversed(cases)}.values())
    if len(wanted) < len(items):
        kept = set(wanted)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = wanted
    items.sort(key=lambda item: -_seconds(item))


def pytest_sessionfinish(session):
    """Add what passed to the file of tests that need not run again; only the process that leads the workers knows."""
    if hasattr(session.config, "workerinput"):
        return
    reports = session.config.pluginmanager.get_plugin("terminalreporter").stats
    passed = [report for report in reports.get("passed", []) if report.when == "call"]
    if PASSED:
        with open(PASSED, "a", encoding="utf-8") as file:
            file.writelines(f"{report.nodeid}\n" for report in passed)
    if "VERIKIT_TIMES" in os.environ:
        write_times({report.nodeid: report.duration for report in passed})


def write_times(seconds):
    """Replace the times of what ran; cases below a second are not kept, nor is what no longer exists in these files."""
    files = {name.partition("::")[0] for name in seconds}
    kept = {
        name: old for name, old in json.loads(TIMES.read_text("utf-8")).items() if name.partition("::")[0] not in files
    }
    kept |= {name: round(new, 1) for name, new in seconds.items() if new >= A_SECOND}
    TIMES.write_text(json.dumps(dict(sorted(kept.items())), indent=0, ensure_ascii=False) + "\n", "utf-8")


@pytest.fixture(scope="session", autouse=True)
def inner_runs_choose_their_own_tests():
    """A test that runs pytest itself, as that of mutants does, must not leave out what this run leaves out."""
    for name in ("VERIKIT_SLOWEST", "VERIKIT_PASSED"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def data():
    """The folder of real data beside the repository; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("VERIKIT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data in {folder}")
    return folder


@pytest.fixture(scope="session")
def rows(data):
    """Read a JSON Lines file of the data folder."""
    return lambda name: [json.loads(line) for line in (data / name).read_text("utf-8").split("\n") if line]


@pytest.fixture
def linear():
    """Check that work on a hostile text grows with its length, not with the square of it."""
    return check_linear


@pytest.fixture
def doctor_of_packages(monkeypatch):
    """`verikit doctor` that looks at packages only: to try each sandbox and each program takes seconds."""
    from verikit.cli import doctor

    for name in ("_sandbox", "browser_told", "office_told", "service_told"):
        monkeypatch.setattr(doctor, name, lambda: "not tried")
    for name in ("_languages", "_file_readers"):
        monkeypatch.setattr(doctor, name, dict)
    monkeypatch.setattr(doctor, "_sandboxes", lambda: {"chosen": "local"})
