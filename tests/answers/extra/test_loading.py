"""Rare families are found by entry point and imported for golds that look like theirs, not otherwise."""

import json
import os
import random
import subprocess
import sys

import pytest

from verikit.answers.extra import CHEMISTRY
from verikit.answers.extra.elements import SYMBOLS
from verikit.answers.families import meanings

LOADED = """
import json, sys
from verikit.answers import verify
for gold in json.loads(sys.argv[1]):
    assert verify(gold, gold).equal, gold
print(json.dumps(sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("verikit.answers.extra."))))
"""
USUAL = [
    "4",
    "-3.5",
    r"\frac{1}{2}",
    "x^2+1",
    "[2, 4]",
    "paris",
    "yes",
    "12 apples",
    "no solution",
    "5 m/s",
    r"\sqrt{3}",
]
OF_FAMILY = {
    "chemistry": ["H_2SO_4", r"SO_4^{2-}", "carbon-14", "2H_2 + O_2 \\to 2H_2O", "[Ne] 3s^1", "CO", r"\ce{NaCl}"],
    "constants": ["x^2 + C", "K e^{2x}"], "genotypes": ["TtGg", "1 AA : 2 Aa : 1 aa"], "times": ["3:45 pm", "noon"],
    "flats": [r"(1, 2, 3) + t(1, 0, -1)", "x - 1 = y - 2 = z - 3"], "parts": ["a) 3 b) 4"], "permutations": ["(1 2 3)"],
    "piecewise": [r"\begin{cases} x & x > 0 \\ 0 & x \le 0 \end{cases}"],
}  # fmt: skip


def loaded(golds, **environment):
    """The modules of rare families that a fresh process has imported once it has compared these golds."""
    command = [sys.executable, "-c", LOADED, json.dumps(golds)]
    made = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def test_usual_golds_import_no_rare_family():
    assert loaded(USUAL) == []


def test_each_family_is_imported_for_its_own_golds():
    missing = {name: golds for name, golds in OF_FAMILY.items() if name not in loaded(golds)}
    assert missing == {}


def test_golds_of_rare_families_have_their_meaning():
    for golds in OF_FAMILY.values():
        for gold in golds:
            assert meanings(gold), gold


@pytest.mark.parametrize("seed", range(20))
def test_every_way_to_write_a_formula_passes_the_cheap_test(seed):
    draw = random.Random(seed)
    atoms = [(draw.choice(SYMBOLS), draw.randint(2, 12)) for _ in range(draw.randint(1, 4))]
    bare = "".join(f"{symbol}{count}" for symbol, count in atoms)
    set_low = "".join(f"{symbol}_{{{count}}}" for symbol, count in atoms)
    unicode = bare.translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
    upright = "".join(rf"\mathrm{{{symbol}}}_{count}" for symbol, count in atoms)
    texts = (
        set_low,
        rf"\mathrm{{{set_low}}}",
        rf"\ce{{{bare}}}",
        unicode,
        upright,
        rf"\text{{{set_low}}}^{{2-}}",
        bare,
    )
    formulas = [text for text in texts if any(family.gold(text) is not None for family in CHEMISTRY.families)]
    assert len(formulas) >= 3
    assert all(CHEMISTRY.looks_like(text) for text in formulas)


def test_another_package_adds_a_family(tmp_path):
    (tmp_path / "moods.py").write_text(
        "from verikit.answers.extra import Extra\n"
        "from verikit.answers.families.base import by_reading\n"
        "read = {'glad': 1, 'happy': 1, 'sad': 2}.get\n"
        "FAMILIES = (by_reading('mood', read, lambda gold, answer: gold == answer),)\n"
        "MOODS = Extra('moods', lambda text: text.isalpha(), 'words')\n"
    )
    info = tmp_path / "moods-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moods\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[verikit.answer_families]\nmoods = moods:MOODS\n")
    script = (
        "from verikit.answers import verify; found = [verify(text, 'glad').rule for text in ('happy', 'sad')];"
        "assert found == ['mood', 'another value: mood'], found; assert not verify('happy', 'sad').equal"
    )
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
