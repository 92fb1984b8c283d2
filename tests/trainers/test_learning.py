"""Every small world learns: the bars of `benchmarks/learning.py`, which are measured on other arithmetics too."""

import pytest

from benchmarks.learning import WORLDS, arithmetics, check, failures, in_a_process

pytest.importorskip("torch")
pytest.importorskip("transformers")


QUICK = 10
"""CPU seconds: worlds that take longer are slow tests."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow(seconds=world.seconds)] if world.seconds > QUICK else [])
        for name, world in WORLDS.items()
    ],
)
def test_a_world_reaches_its_bars(name, tmp_path):
    check(name, tmp_path)


@pytest.mark.slow(seconds=WORLDS["arithmetic"].seconds)
def test_sums_are_learnt_without_the_processors_wide_instructions_too():
    row = in_a_process("train", "arithmetic", "default, 1 thread", seed=2)
    assert not failures("arithmetic", row["figures"])


def test_a_figure_below_its_bar_is_named():
    assert failures("tools", {"greedy, rise": 0.7}) == ["tools: greedy, rise is 0.700, below 0.8"]
    assert failures("tools", {"greedy, rise": float("nan")})
    assert not failures("tools", {"greedy, rise": 0.8})


@pytest.mark.slow(seconds=15)
def test_an_instruction_set_gives_the_same_weights_twice_and_another_one_others():
    def probe(arithmetic):
        return in_a_process("probe", "arithmetic", arithmetic)["fingerprint"]

    narrow, *others = arithmetics()
    assert probe(narrow) == probe(narrow)
    if others[1:]:
        assert probe(narrow) != probe(others[-1])
