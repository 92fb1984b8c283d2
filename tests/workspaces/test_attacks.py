"""Attacks on what grades an agent's files, each with its honest twin: forged 0.0 (or no value), honest 1.0."""

import pytest

from tests.artifacts.pages import need_browser
from tests.workspaces.attacks import ATTACKS

CASES = [
    pytest.param(
        attack, id=f"{attack.number} {attack.agent}",
        marks=[pytest.mark.slow(seconds=attack.seconds)] if attack.seconds else [],
    )
    for attack in ATTACKS
]  # fmt: skip


@pytest.mark.parametrize("attack", CASES)
def test_a_forged_workspace_is_never_paid_and_its_honest_twin_always(attack, tmp_path):
    if attack.needs == "browser":
        need_browser()
    elif attack.needs:
        pytest.importorskip(attack.needs)
    for name, make, expected in (
        ("forged", attack.forged, None if attack.unscored else 0.0), ("honest", attack.control, 1.0),
    ):  # fmt: skip
        place = tmp_path / name
        place.mkdir()
        score = make().score(place)
        assert score.value == expected, (name, score)


def test_attacks_have_their_numbers():
    assert {attack.number for attack in ATTACKS} == set(range(1, 56))
