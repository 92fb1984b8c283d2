"""The pytest plugin of verikit: the fixture `verikit_score`.

It is outside the package because pytest imports it in every run of its environment, and `import verikit` takes a third
of a second. Here nothing is imported until the fixture is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from verikit.testing import ScoreRows


@pytest.fixture(scope="session")
def verikit_score(tmp_path_factory: pytest.TempPathFactory) -> ScoreRows:
    """Score a file or rows: `verikit_score("candidates.jsonl", "answer", by=…, k=(1, 8))`; see verikit.testing."""
    from verikit.testing import ScoreRows

    return ScoreRows(lambda: tmp_path_factory.mktemp("verikit"))
