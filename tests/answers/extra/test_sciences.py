"""Genotypes, shares, chemical formulas and equations, isotopes,
electron configurations: case and order mean something."""

import random
from fractions import Fraction

import pytest

from tests.answers.families.helpers import assert_different, assert_same
from verikit.answers import verify
from verikit.answers.extra.chemistry import read_configuration, read_equation, read_species
from verikit.answers.extra.elements import NAMES, NUMBER, SYMBOLS

ORDER = "1s 2s 2p 3s 3p 4s 3d 4p 5s 4d 5p 6s 4f 5d 6p".split()
ROOM = {"s": 2, "p": 6, "d": 10, "f": 14}


@pytest.mark.parametrize("seed", range(8))
def test_a_genotype_is_its_pairs_of_alleles_and_their_case(seed):
    rng = random.Random(seed)
    loci = rng.sample("ABDEGHRT", rng.randrange(1, 4))
    pairs = [rng.choice((c + c, c + c.lower(), c.lower() * 2)) for c in loci]
    forms = ["".join(pairs), " ".join(reversed(pairs)), rf"\text{{{''.join(pairs)}}}", "".join(p[::-1] for p in pairs)]
    assert_same(forms)
    changed = list(pairs)
    changed[0] = {"both": loci[0].lower() * 2, "mixed": loci[0] * 2, "none": loci[0] + loci[0].lower()}[
        "both" if pairs[0].isupper() else "none" if pairs[0].islower() else "mixed"
    ]
    assert_different(
        forms,
        [
            "".join(changed),
            "".join(pairs).swapcase() if len(set(pairs[0])) == 1 else "".join(changed),
            "".join(pairs).replace(loci[0], "Q").replace(loci[0].lower(), "q"),
            "".join(pairs) + "Zz",
        ],
    )


def test_alleles_on_chromosomes():
    assert_same(["X^{H}X^{h}", "X^hX^H", r"\text{X}^{h}\text{X}^{H}"])
    assert_different(["X^{H}X^{h}"], ["X^{h}X^{h}", "X^{H}X^{H}", "X^{H}Y"])
    assert_same(["I^A i", "I^{A}i"])
    assert_different(["I^A i"], ["I^B i", "I^A I^B", "ii"])


@pytest.mark.parametrize("seed", range(6))
def test_shares_by_label_total_the_whole(seed):
    rng = random.Random(seed)
    parts = [rng.randrange(1, 9) for _ in range(3)]
    total = sum(parts)
    ratio = " : ".join(f"{n} {g}" for n, g in zip(parts, ("AA", "Aa", "aa"), strict=True))
    fractions = ", ".join(f"{Fraction(n, total)} {g}" for n, g in zip(parts, ("AA", "Aa", "aa"), strict=True))
    plain = ":".join(map(str, parts))
    assert_same([ratio, fractions, f"AA:Aa:aa = {plain}"])
    assert verify(plain, ratio).equal
    other = [parts[0] + 1, *parts[1:]]
    assert_different([ratio, fractions], [
        " : ".join(f"{n} {g}" for n, g in zip(other, ("AA", "Aa", "aa"), strict=True)), ":".join(map(str, other)),
        " : ".join(f"{n} {g}" for n, g in zip(parts, ("AA", "Aa", "bb"), strict=True)),
        fractions.replace("aa", "AA"),
        ", ".join(f"{Fraction(n, total + 1)} {g}" for n, g in zip(parts, ("AA", "Aa", "aa"), strict=True)),
    ])  # fmt: skip
    assert_same(["1 AA : 2 Aa : 1 aa", "25% AA, 50% Aa, 25% aa", "1/4 AA, 1/2 Aa, and 1/4 aa", "2 AA : 4 aA : 2 aa"])
    assert_different(["1 AA : 2 Aa : 1 aa"], ["25% AA, 50% Aa, 20% aa", "25% AA, 25% Aa, 50% aa", "3:1"])
    assert_same(["3 tall : 1 short", "75% tall, 25% short"])
    assert_different(["3 tall : 1 short"], ["3 short : 1 tall", "1:3"])


@pytest.mark.parametrize("seed", range(10))
def test_a_formula_matches_its_notations_and_no_other_formula(seed):
    rng = random.Random(seed)
    atoms = [(rng.choice(SYMBOLS[:60]), rng.choice((1, 2, 3, 4, 12))) for _ in range(rng.randrange(2, 5))]
    if all(count == 1 for _, count in atoms):
        atoms[0] = (atoms[0][0], 2)

    def show(parts, pattern="{}{}"):
        return "".join(pattern.format(s, c) if c > 1 else s for s, c in parts)

    latex, braces, glued = show(atoms, "{}_{}"), show(atoms, "{}_{{{}}}"), show(atoms)
    subs = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    forms = [braces, glued, rf"\mathrm{{{braces}}}", rf"\ce{{{glued}}}", show(atoms, r"\text{{{}}}_{{{}}}"),
             glued.translate(subs)]  # fmt: skip
    assert_same(forms)
    assert latex  # read where every count has one digit
    changed = [(s, c + 1) if i == 0 else (s, c) for i, (s, c) in enumerate(atoms)]
    assert_different(forms, [show(changed), show([*atoms, ("O", 1)]), show(atoms[1:]), f"2{glued}", f"{glued}^{{2+}}"])


def test_case_tells_cobalt_from_carbon_monoxide():
    assert_same(["CO", r"\text{CO}", r"\mathrm{CO}"])
    assert_different(["CO"], ["Co", "CO2", "co"])
    assert_different(["Co"], ["CO", "Cu"])
    assert verify("no", "No").equal
    assert verify("OC", "CO", question="Which segment is longest?").equal


@pytest.mark.parametrize(("ion", "charge"), [("SO_4", "2-"), ("NH_4", "+"), ("PO_4", "3-"), ("Fe", "3+"), ("Na", "+")])
def test_charges_count(ion, charge):
    glued = ion.replace("_", "")
    forms = [f"{ion}^{{{charge}}}", f"{glued}^{{{charge}}}", rf"\mathrm{{{ion}^{{{charge}}}}}",
    rf"\ce{{{glued}^{charge}}}",
             glued.translate(str.maketrans("4", "₄")) + charge.translate(str.maketrans("23+-", "²³⁺⁻"))]  # fmt: skip
    assert_same(forms)
    flipped = charge.translate(str.maketrans("+-", "-+"))
    assert_different(forms, [glued, ion, f"{ion}^{{{flipped}}}", f"{ion}^{{4{charge[-1]}}}", f"{ion}_2^{{{charge}}}"])


def test_hydrates_and_groups():
    assert_same([r"CuSO_4 \cdot 5H_2O", "CuSO4·5H2O", "CuSO4*5H2O", "CuSO₄·5H₂O"])
    assert_different([r"CuSO_4 \cdot 5H_2O"], ["CuSO4·4H2O", "CuSO4", "CuSO4·H2O", "5CuSO4·H2O"])
    assert_same(["Ca(OH)_2", "Ca(OH)2", r"\text{Ca(OH)}_2"])
    assert_different(["Ca(OH)_2"], ["CaOH_2", "Ca(OH)_3", "CaOH"])
    assert_different(["CH_3CH_2OH"], ["CH3OCH3", "CH3CH2CH3", "C2H5OH2"])


@pytest.mark.parametrize("symbol", ["C", "U", "Fe", "K", "Pb"])
def test_isotopes_have_the_atomic_number_of_their_element(symbol):
    number = NUMBER[symbol]
    mass, name = 2 * number + 2, NAMES[number - 1]
    forms = [f"^{{{mass}}}_{{{number}}}{symbol}", f"^{{{mass}}}{symbol}", f"{symbol}-{mass}", f"{name}-{mass}",
             rf"{{}}^{{{mass}}}_{{{number}}}\text{{{symbol}}}", rf"{{}}_{{{number}}}^{{{mass}}}{symbol}"]  # fmt: skip
    assert_same(forms)
    other = SYMBOLS[number]
    assert_different(forms, [f"^{{{mass + 1}}}{symbol}", f"{symbol}-{mass - 1}",
    f"^{{{mass}}}_{{{number + 1}}}{symbol}",
                             f"^{{{mass}}}_{{{number + 1}}}{other}", f"{other}-{mass}"])  # fmt: skip


def test_the_order_of_species_on_a_side_is_free_and_nothing_else():
    forms = [r"2H_2 + O_2 \to 2H_2O", "O2 + 2H2 -> 2H2O", "2 H2 + O2 → 2 H2O", r"2H_2 + O_2 \rightarrow 2H_2O",
             "2H2(g) + O2(g) -> 2H2O(l)", r"\ce{2H2 + O2 -> 2H2O}", "2H2 + O2 = 2H2O"]  # fmt: skip
    assert_same(forms)
    assert_different(forms, ["H2 + O2 -> H2O", "2H2O -> 2H2 + O2", "2H2 + O2 -> 2H2O2", "2H2 + O -> 2H2O", "2H2 + O2"])
    assert_same([r"Ag^+ + Cl^- \to AgCl", "Cl- + Ag+ -> AgCl(s)", r"Ag^{+} + Cl^{-} \rightarrow AgCl"])
    assert_different([r"Ag^+ + Cl^- \to AgCl"], ["Ag + Cl -> AgCl", r"Ag^{2+} + Cl^- \to AgCl"])
    decay = [r"^{238}_{92}U \to {}^{234}_{90}Th + {}^{4}_{2}He", r"^{238}U \to ^{4}He + ^{234}Th"]
    assert_same(decay)
    assert_different(
        decay, [r"^{238}_{92}U \to ^{234}_{90}Th + ^{3}_{2}He", r"^{238}_{92}U \to ^{234}_{91}Pa + ^{4}_{2}He"]
    )


@pytest.mark.parametrize("electrons", [3, 8, 11, 15, 20, 26, 33, 47])
def test_configurations_with_and_without_the_core(electrons):
    left, filled = electrons, []
    for orbital in ORDER:
        here = min(left, ROOM[orbital[1]])
        if here:
            filled.append((orbital, here))
        left -= here
    core, size = max(
        ((c, n) for c, n in {"He": 2, "Ne": 10, "Ar": 18, "Kr": 36}.items() if n < electrons), key=lambda p: p[1]
    )
    inner = {o for o, _ in filled} & set(read_configuration(f"[{core}] 7s1"))
    outer = [(o, n) for o, n in filled if o not in inner]
    forms = [" ".join(f"{o}^{n}" for o, n in filled), " ".join(f"{o}^{{{n}}}" for o, n in filled),
             " ".join(f"{o}{n}" for o, n in filled), f"[{core}] " + " ".join(f"{o}^{{{n}}}" for o,
             n in reversed(outer))]  # fmt: skip
    if len(filled) > 1:
        assert sum(n for o, n in filled) == electrons
        assert size < electrons
        assert_same(forms)
        (last, n), others = filled[-1], filled[:-1]
        assert_different(forms, [" ".join(f"{o}^{m}" for o, m in others), f"[{core}]",
                                 " ".join(f"{o}^{m}" for o, m in [*others, (last, n - 1 or 2)])])  # fmt: skip


@pytest.mark.parametrize(
    "text", ["x^2", "AB", "2x+3", "PQ_1", "P(x)", "n^{+}", r"\mathbb{R}^+", "f(2)", "A_2x", "2.5", ""]
)
def test_mathematics_is_no_chemistry(text):
    assert read_species(text) is None
    assert read_equation(f"{text} = 3") is None
    assert read_configuration(text) is None
