"""A small model that chats judges a stored run: a verdict is read in its form, or the run has no value."""

import pytest

from benchmarks.agent_form import Brief, read_verdicts
from benchmarks.agent_runs import runs
from verikit.engines import load_engine

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]


def test_a_constrained_verdict_is_always_read_and_a_free_one_may_not_be(smollm2):
    import torch

    torch.set_num_threads(1)
    engine = Brief(load_engine(f"hf:{smollm2}", dtype="float32"))
    found = read_verdicts(list(runs(4, seed=1))[:1], engine)
    total, read, forced = found["judge"]
    assert (total, read) == (1, 1)
    assert forced <= read
    total, read, _ = found["rubric"]
    assert total == 4
    assert 0 <= read <= total
