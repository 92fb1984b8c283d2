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


def pytest_collection_modifyitems(items):
    """Put slow tests first, longest first (`@pytest.mark.slow(seconds=90)`), so that no worker ends with a long one."""
    items.sort(key=lambda item: -max((mark.kwargs.get("seconds", 0) for mark in item.iter_markers("slow")), default=0))


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
