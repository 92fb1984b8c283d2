"""Quantities: units that convert, unknown units, money, percentages and their points, angles, durations, changes."""

import random
from fractions import Fraction

import pytest

from tests.answers.families.helpers import assert_different, assert_same
from verikit.answers import Equality, verify


def shown(value):
    """An exact decimal of a fraction that terminates."""
    return f"{float(value):.12g}"


@pytest.mark.parametrize("seed", range(10))
def test_units_that_convert_match_exactly_and_nothing_else_does(seed):
    rng = random.Random(seed)
    speed = 18 * rng.randrange(2, 50)
    assert_same([f"{speed} km/h", rf"{speed} \text{{ km/h}}", f"{speed} kilometers per hour", f"{speed * 5 // 18} m/s",
                 rf"{speed * 5 // 18}\,\mathrm{{m\,s^{{-1}}}}", f"{speed * 5 // 18} m·s⁻¹"])  # fmt: skip
    assert_different([f"{speed} km/h"], [f"{speed} m/s", f"{speed + 18} km/h", f"{speed * 5 // 18 + 1} m/s",
    f"-{speed} km/h",
                                         f"{speed} km", f"{speed} km/h^2", f"{speed} mph",
                                         f"{speed} h/km"])  # fmt: skip
    grams = rng.randrange(11, 999) * 10
    assert_same([f"{grams} g", f"{shown(Fraction(grams, 1000))} kg", f"{grams * 1000} mg", f"{grams} grams"])
    assert_different(
        [f"{grams} g"], [f"{grams} kg", f"{grams + 1} g", f"{grams} mg", f"{grams} m", f"{grams / 10:g} kg"]
    )
    litres = rng.randrange(2, 90)
    assert_same([f"{litres} L", f"{litres * 1000} mL", f"{litres * 1000} cm^3", f"{litres} dm³", f"{litres} liters"])
    assert_different([f"{litres} L"], [f"{litres} mL", f"{litres} cm^3", f"{litres * 100} mL", f"{litres} m^3"])


@pytest.mark.parametrize("seed", range(6))
def test_energies_and_inverse_units(seed):
    rng = random.Random(seed)
    n = rng.randrange(12, 900)
    assert_same([f"{n * 1000} J", f"{n} kJ", f"{n} kilojoules"])
    assert_same(
        [f"-{n} kJ/mol", rf"-{n} \text{{ kJ mol}}^{{-1}}", f"−{n} kJ·mol⁻¹", f"-{n}000 J/mol", f"-{n} kJ per mole"]
    )
    assert_different([f"-{n} kJ/mol"], [f"{n} kJ/mol", f"-{n} kJ", f"-{n} J/mol", f"-{n} kJ mol", f"-{n} kJ/g"])
    assert_same([rf"0.{n} \text{{ mol}}^{{-1}}", f"0.{n} /mol", f"0.{n} per mole", f"0.{n} mol⁻¹"])
    assert_different(
        [rf"0.{n} \text{{ mol}}^{{-1}}"], [f"0.{n} mol", f"0.{n} s^{{-1}}", f"0.{n} mol^{{-2}}", f"0.{n + 1} /mol"]
    )


def test_converted_values_may_be_rounded_to_three_digits_and_not_beyond():
    assert verify("56.3 mph", "90.6 km/h").equal
    assert verify("2.179e-18 J", "13.6 eV").equal
    assert not verify("2.17e-18 J", "13.6 eV").equal
    assert not verify("2.175e-18 J", "13.6 eV").equal
    assert verify("100 min", "1.67 h").equal
    assert not verify("2e-18 J", "13.6 eV").equal
    assert not verify("56 mph", "90.6 km/h").equal
    assert not verify("1004 m", "1.00 km").equal


@pytest.mark.parametrize("celsius", [-40, 0, 25, 37, 100])
def test_temperatures_convert_with_their_zero(celsius):
    fahrenheit, kelvin = (
        celsius * 9 // 5 + 32 if celsius % 5 == 0 else shown(celsius * 1.8 + 32),
        shown(celsius + 273.15),
    )
    forms = [f"{celsius}^\\circ C", f"{celsius} °C", f"{celsius} degrees Celsius", f"{fahrenheit} °F", f"{kelvin} K",
             rf"{celsius}\,^{{\circ}}\mathrm{{C}}"]  # fmt: skip
    assert_same(forms)
    assert_different([f"{celsius} °C"], [f"{celsius} K", f"{celsius + 1} °C", f"{kelvin} °C"])


def test_unknown_units_agree_as_words_or_not_at_all():
    assert_same(["3 blorps", r"3 \text{ blorp}", "three blorps"])
    assert_different(["3 blorps"], ["3 flarns", "3 MPa", "4 blorps", "3 torr"])
    assert_different(["3 torr", "3 MPa"], ["3 blorps", "3 Pa"])
    assert_same(["3 torr", "3 mmHg"])
    assert verify("3", "3 blorps").equal
    assert verify("3 red apples", "3 apples").equal
    assert not verify("3", "3 blorps", equality=Equality(units="required")).equal
    assert verify("3 MPa", "3 torr", equality=Equality(units="ignored")).equal


@pytest.mark.parametrize("seed", range(6))
def test_angles_in_degrees_radians_gradians_and_minutes(seed):
    rng = random.Random(seed)
    twelfths = rng.choice((1, 5, 7, 11))
    degrees = 15 * twelfths
    forms = [rf"{degrees}^\circ", f"{degrees} degrees", rf"\frac{{{twelfths}\pi}}{{12}} \text{{ radians}}",
             f"{twelfths}π/12 rad", f"{degrees}°0'"]  # fmt: skip
    assert_same(forms)
    assert_different(forms, [f"{degrees} radians", f"{degrees} gradians", f"{degrees + 1}°", f"-{degrees}°",
                             rf"\frac{{{twelfths + 2}\pi}}{{12}} \text{{ rad}}"])  # fmt: skip
    assert_same(["100 gradians", "90°", "100 gon", r"\pi/2 \text{ rad}"])
    minutes = 3 * rng.randrange(1, 19)
    dms = [
        rf"32^\circ {minutes}'",
        f"32 degrees {minutes} minutes",
        f"32°{minutes}′",
        f"{shown(32 + Fraction(minutes, 60))}°",
    ]
    assert_same(dms)
    assert_different(dms[:1], [f"32.{minutes:02d}°" if minutes != 0 else "33°", f"{minutes}°32'", f"32°{minutes + 1}'"])


@pytest.mark.parametrize("seed", range(8))
def test_money_in_signs_codes_and_words_matches_its_currency_only(seed):
    rng = random.Random(seed)
    whole, cents = rng.randrange(3, 90), 5 * rng.randrange(2, 19)
    dollars = [rf"\${whole}.{cents:02d}", f"{whole}.{cents:02d} dollars", f"USD {whole}.{cents:02d}",
               f"US${whole}.{cents:02d}", f"{whole} dollars and {cents} cents",
               f"{100 * whole + cents} cents"]  # fmt: skip
    assert_same(dollars)
    assert_different(dollars[:-1], [f"{whole}.{cents:02d} yen", f"€{whole}.{cents:02d}", f"£{whole}.{cents:02d}",
                               rf"\${whole + 1}.{cents:02d}", f"{whole}.{cents:02d} cents",
                               rf"-\${whole}.{cents:02d}"])  # fmt: skip
    assert_same(
        [f"€{whole}.{cents:02d}", f"{whole},{cents:02d} €", f"EUR {whole}.{cents:02d}", f"{whole}.{cents:02d} euros"]
    )
    assert_same([f"{whole}.{cents:02d} million dollars", rf"\${whole}.{cents:02d}M", f"${whole}.{cents:02d} million",
                 rf"\${whole * 10**6 + cents * 10**4:,}"])  # fmt: skip
    assert_different([f"{whole}.{cents:02d} million dollars"], [rf"\${whole}.{cents:02d}",
    rf"\${whole}.{cents:02d} billion",
                                                                f"{whole}.{cents:02d} million euros"])  # fmt: skip
    assert_same([f"Rs {whole} lakh", f"₹{whole},00,000", f"INR {whole}00000", f"{whole} lakh rupees"])
    assert_different([f"Rs {whole} lakh"], [f"Rs {whole} crore", f"Rs {whole},000", rf"\${whole}00000"])
    assert_same([f"¥{whole}00", f"{whole}00 yen", f"JPY {whole}00"])
    assert_same([f"£{whole}", f"{whole} pounds", f"GBP {whole}"])
    assert_different([f"£{whole}"], [f"{whole} dollars", f"{whole} kg"])


def test_percent_is_no_percentage_point():
    assert_same(["2.5 pp", "2.5 percentage points", r"2.5 \text{ p.p.}", "250 basis points"])
    assert_different(["2.5 pp", "2.5 percentage points"], ["2.5%", "2.5 percent", "25 pp", "2.5 bp"])
    assert_different([r"2.5\%"], ["2.5 pp", "2.5 percentage points", "0.25%"])
    assert_same(["1,000 pp", "1000 percentage points"])
    assert_different(["1,000 pp"], ["1 pp", "1000%"])


@pytest.mark.parametrize("fell", ["fell by", "a decrease of", "decreased by", "down", "dropped", "declined by"])
@pytest.mark.parametrize("rose", ["rose by", "an increase of", "grew by", "up"])
def test_changes_have_a_sign(fell, rose):
    assert_same([r"-3\%", f"{fell} 3%"])
    assert_same([r"+3\%", f"{rose} 3%"])
    assert_different([r"-3\%", f"{fell} 3%"], [f"{rose} 3%", f"{fell} 4%", f"{fell} -3%", "3%", r"30\%"])
    assert_different([f"{rose} 3%"], [f"{fell} 3%", "-3%", f"{rose} 13%"])


def test_a_change_that_is_denied_or_hedged_is_none():
    assert_different([r"-3\%"], ["not a decrease of 3%", "at least decreased by 3%", "fell by 3% or 4%"])
    assert_different(["6-9 kg"], ["from 6 kg to 9 kg or 5", "6 to 9 kg or 10 kg"])
    assert_different(["90 km/h", "3 blorps"], ["90 kph 7", "3 blorps 7"])


def test_a_fall_against_an_amount_is_right_where_the_question_asks_for_a_fall():
    assert verify(r"\boxed{fell by 3\%}", r"3\%", question="By how much did the price decrease?").equal
    assert not verify(r"\boxed{fell by 3\%}", r"3\%", question="By how much did the price change?").equal


@pytest.mark.parametrize("seed", range(6))
def test_durations_add_up(seed):
    rng = random.Random(seed)
    hours, minutes = rng.randrange(1, 9), 3 * rng.randrange(1, 20)
    total = 60 * hours + minutes
    forms = [f"{hours} h {minutes} min", f"{total} minutes", f"{hours} hours and {minutes} minutes", f"{60 * total} s",
             f"{hours}:{minutes:02d} h", f"{hours}h{minutes:02d}", f"{shown(Fraction(total, 60))} hours"]  # fmt: skip
    assert_same(forms)
    assert_different(forms[:2], [f"{hours}.{minutes:02d} h" if minutes * 100 != minutes * 60 else "0 h", f"{total} s",
                                 f"{hours} h {minutes + 1} min", f"{minutes} h {hours} min",
                                 f"{total + 10} min"])  # fmt: skip
    assert_same(["90 minutes", "an hour and a half", "one and a half hours", "1.5 hours"])
    assert_same(["5 ft 6 in", "66 inches", "5.5 feet"])
    assert_same(["2 years", "24 months", "two years"])
    assert_different(["2 years"], ["2 months", "2 decades", "2 days"])


def test_a_sentence_with_a_single_quantity_states_it_and_others_do_not():
    for text in ("The speed is 25 m/s.", "The train moves at 25 m/s on average.", "about 90 km/h", "v = 25 m/s"):
        assert verify(text, "90 km/h").equal, text
    for text in ("The speed is 26 m/s.", "The speed is not 25 m/s.", "The speed is 25 m/s or 30 m/s.",
                 "The speed is at least 25 m/s.", "The train moves at 26 m/s on average."):  # fmt: skip
        assert not verify(text, "90 km/h").equal, text


@pytest.mark.parametrize("gold", ["5m", "2g+3", "4s^2", "3A", r"2\pi r", "6h", "3ab"])
def test_letters_glued_to_a_number_stay_factors(gold):
    assert not verify(gold[0], gold).equal
    assert verify(gold, gold).equal


def test_a_rest_that_calculates_is_no_remark_and_a_constant_no_label():
    assert_different([r"6/5 \text{ N-m}", "6/5 N-m"], ["6/5 N+m", "6/5 N/m", "6/5 N^m"])
    assert_different(["3"], [r"\pi=3", "π = 3"])


@pytest.mark.parametrize("accented", ["Fría", "Grün", "Été", "Łódź"])
def test_names_in_latin_letters_with_and_without_accents_are_compared(accented):
    assert not verify("A Sangre Grande", f"A Sangre {accented}").equal
    assert verify(f"A Sangre {accented}", f"A Sangre {accented}").equal
    assert verify("5 яблок", "5 apples").equal  # scripts that can't be compared
