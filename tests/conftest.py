import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long examples take to run or to draw says more of the machine than of the code.
settings.register_profile("verikit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("verikit")

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
    """Check that work on a hostile text grows with its length, not with the square of it.

    Sizes grow eightfold up to a megabyte, and a step may cost 40 times the one before (quadratic work costs 64). It
    stops at the first step that costs more, so that quadratic work fails and does not hang. What takes less than 0.1 s
    of this thread's own time is not judged: that is noise.
    """

    def cost(work, text):
        start = time.thread_time()
        work(text)
        return time.thread_time() - start

    def check(work, hostile):
        before = None
        for size in (2_000, 16_000, 128_000, 1_000_000):
            text = (hostile * (size // len(hostile) + 1))[:size]
            now = cost(work, text)
            if before is not None and now > max(0.1, 40 * before):
                now = min(now, *(cost(work, text) for _ in range(2)))
                assert now <= max(0.1, 40 * before), f"{size} characters of {hostile[:20]!r}: {now:.3f} s"
            before = now

    return check
