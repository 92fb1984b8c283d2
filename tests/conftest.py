import json
import os
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


ROOT = Path(__file__).resolve().parent.parent
for _folder in ("judges", "trainers", "evals"):  # a source distribution holds no links
    if not os.path.lexists(ROOT / "verikit" / _folder):
        (ROOT / "verikit" / _folder).symlink_to(f"../{_folder}")


SLOWEST = float(os.environ.get("VERIKIT_SLOWEST", "inf"))
"""CPU seconds: a slow test that takes longer, by its mark, is left out."""
PASSED = os.environ.get("VERIKIT_PASSED")
"""A file of names of tests: what it holds is left out, and what passes is added. So CI runs no test twice."""


def _seconds(item):
    return max((mark.kwargs.get("seconds", 0) for mark in item.iter_markers("slow")), default=0)


def pytest_collection_modifyitems(config, items):
    """Put slow tests first, longest first (`@pytest.mark.slow(seconds=90)`), so that no worker ends with a long one."""
    done = set(Path(PASSED).read_text("utf-8").split("\n")) if PASSED and os.path.exists(PASSED) else set()
    left_out = [item for item in items if item.nodeid in done or _seconds(item) > SLOWEST]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid not in done and _seconds(item) <= SLOWEST]
    items.sort(key=lambda item: -_seconds(item))


def pytest_sessionfinish(session):
    """Add what passed to the file of tests that need not run again; only the process that leads the workers knows."""
    if not PASSED or hasattr(session.config, "workerinput"):
        return
    passed = session.config.pluginmanager.get_plugin("terminalreporter").stats.get("passed", [])
    with open(PASSED, "a", encoding="utf-8") as file:
        file.writelines(f"{report.nodeid}\n" for report in passed if report.when == "call")


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
