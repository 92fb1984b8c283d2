from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from verikit.sandbox import LocalSandbox

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", params=["namespaces", "bare"])
def box(request: pytest.FixtureRequest) -> Iterator[LocalSandbox]:
    """A sandbox with all its layers, and one without namespaces."""
    with LocalSandbox(namespaces=request.param == "namespaces", workers=2) as box:
        yield box
