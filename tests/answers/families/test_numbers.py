"""Numbers in other bases, in words, as ordinals and Roman numerals, and with the separators of other countries."""

import random
from fractions import Fraction

import pytest

from tests.answers.families.helpers import assert_different, assert_same
from tests.growth import count_calls
from verikit.answers import verify
from verikit.answers.families import meanings
from verikit.answers.families.numerals import roman
from verikit.answers.families.spelled import in_words

DIGITS = "0123456789ABCDEFGHIJ"
BASE_NAMES = {2: "two", 3: "three", 4: "four", 5: "five", 8: "eight", 12: "twelve", 16: "sixteen"}
SMALL = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
         "seventeen eighteen nineteen").split()  # fmt: skip
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def in_base(value, base):
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = DIGITS[digit] + digits
    return digits or "0"


def english(n):
    """An independent speller of numbers below a million."""
    if n < 20:
        return SMALL[n]
    if n < 100:
        return TENS[n // 10] + (f"-{SMALL[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{SMALL[n // 100]} hundred" + (f" and {english(n % 100)}" if n % 100 else "")
    return f"{english(n // 1000)} thousand" + (f" {english(n % 1000)}" if n % 1000 else "")


def german(n):
    small = ("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
             "siebzehn achtzehn neunzehn").split()  # fmt: skip
    tens = "_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
    if n < 20:
        return small[n]
    if n < 100:
        unit = "ein" if n % 10 == 1 else small[n % 10]
        return f"{unit}und{tens[n // 10]}" if n % 10 else tens[n // 10]
    scale, name = (100, "hundert") if n < 1000 else (1000, "tausend")
    count = german(n // scale)
    count = count[:-1] if count.endswith("eins") else count
    return count + name + (german(n % scale) if n % scale else "")


def french(n):
    small = ("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
             "dix-huit dix-neuf").split()  # fmt: skip
    tens = "_ _ vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt".split()
    if n < 20:
        return small[n]
    if n < 100:
        ten, rest = tens[n // 10], n - (n // 10 - (n // 10 in (7, 9))) * 10
        if not rest:
            return ten + ("s" if n == 80 else "")
        return f"{ten} et {small[rest]}" if rest in (1, 11) and n < 80 else f"{ten}-{small[rest]}"
    if n < 1000:
        head = "cent" if n < 200 else f"{small[n // 100]} cent"
        return f"{head} {french(n % 100)}" if n % 100 else head + ("s" if n >= 200 else "")
    head = "mille" if n < 2000 else f"{french(n // 1000).replace('cents', 'cent')} mille"
    return f"{head} {french(n % 1000)}" if n % 1000 else head


def chinese(n):
    digits, found, zero = "零一二三四五六七八九", "", False
    for scale, name in ((10_000, "万"), (1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, n = divmod(n, scale)
        if digit:
            found += ("零" if zero and found else "") + digits[digit] + name
        zero = digit == 0
    return found


def to_roman(n):
    found = ""
    for value, letters in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
                           (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):  # fmt: skip
        count, n = divmod(n, value)
        found += letters * count
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_number_in_a_base_matches_its_notations_and_no_other_base_or_digits(seed):
    rng = random.Random(seed)
    base = rng.choice(list(BASE_NAMES))
    value = rng.randrange(base**2, base**5)
    digits, name = in_base(value, base), BASE_NAMES[base]
    notations = [
        f"{digits}_{{{base}}}", f"$({digits})_{{{base}}}$", f"({digits})_{{({base})}}", f"{digits} (base {base})",
        rf"{digits}_{{\text{{base }}{base}}}", rf"{digits}_{{\text{{{name}}}}}", f"{digits} in base {name}",
        rf"\text{{{digits}}}_{{{base}}}",
    ]  # fmt: skip
    if base in (2, 8, 16):
        notations.append({2: "0b", 8: "0o", 16: "0x"}[base] + digits.lower())
    assert_same(notations)
    other = in_base(value + rng.choice((1, base, base + 1)), base)
    more = 20 if any(c.isalpha() for c in digits) else base + 1
    assert_different(notations, [f"{other}_{{{base}}}", f"({other})_{{{base}}}", f"{digits}_{{{more}}}",
                                 f"{digits} (base {more})", f"{other} (base {base})"])  # fmt: skip


def test_decimal_digits_match_a_prefixed_number_of_the_same_value_only():
    for value in (5, 31, 255, 700, 4095):
        assert_same([str(value), hex(value), bin(value), oct(value)])
        assert_different([str(value)], [hex(value + 1), bin(value - 1), oct(value + 8)])


@pytest.mark.parametrize("seed", range(10))
def test_numbers_in_the_words_of_four_languages_match_digits(seed):
    rng = random.Random(seed)
    n = rng.choice((rng.randrange(13, 100), rng.randrange(100, 1000), rng.randrange(1000, 99_999)))
    while (m := rng.choice((n + 1, n + 10, n * 10, int(str(n)[::-1])))) == n:
        pass
    assert_same([str(n), english(n), german(n), french(n), chinese(n), f"{n:,}"])
    assert_different([str(n), english(n)], [english(m), german(m), french(m), chinese(m) if m < 99_999 else str(m)])


def test_every_number_below_two_thousand_is_read_as_it_was_spelled():
    for n in range(1, 2000):
        for spell in (english, german, french, chinese):
            word = spell(n)
            if word not in ("cent", "un", "sept"):
                assert in_words(word) == (Fraction(n), False), word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("three quarters", "3/4"), ("two and a half", "5/2"), ("drei Viertel", "3/4"), ("cinq sixièmes", "5/6"),
        ("tres cuartos", "3/4"), ("三分之二", "2/3"), ("one point two five", "5/4"), ("thirty-three and a third",
        "100/3"),
        ("minus five", "-5"), ("half a dozen", "6"), ("treinta y tres", "33"), ("trentatré", "33"), ("vinte e um",
        "21"),
        ("cent", None), ("thirty fifty", None), ("two three", None), ("hundred point", None), ("seventh", None),
        ("one thousand thousand", None), ("elephants", None), ("十百", None), ("分之二", None),
    ],
)  # fmt: skip
def test_fractions_and_decimals_in_words(text, value):
    found = in_words(text)
    assert (None if found is None else found[0]) == (None if value is None else Fraction(value))


def test_fractions_in_words_match_digits_and_no_other_fraction():
    assert_same([r"\frac{3}{4}", "three quarters", "three-fourths", "trois quarts", "0.75", "四分之三"])
    assert_different(
        [r"\frac{3}{4}", "three quarters"], ["two quarters", "four thirds", "trois cinquièmes", "三分之四"]
    )
    assert_same([r"35\%", "thirty-five percent", "35 per cent", "fünfunddreißig Prozent", "百分之三十五"])
    assert_different([r"35\%"], ["thirty-six percent", "fifty-three percent", "35 percentage points"])


@pytest.mark.parametrize("seed", range(6))
def test_ordinals_match_ordinals_of_the_same_rank_only(seed):
    rng = random.Random(seed)
    rank = rng.randrange(4, 100)
    ending = "th" if rank in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    forms = [f"{rank}{ending}", rf"{rank}^{{\text{{{ending}}}}}", rf"\text{{{rank}{ending}}}"]
    assert_same(forms)
    assert_different(forms, [f"{rank + 1}th", f"{rank + 10}{ending}", str(rank + 1)])
    assert_same(["11th", "eleventh", "the eleventh"])
    assert_different(["eleventh"], ["twelfth", "eleven percent", "12th"])


@pytest.mark.parametrize("n", [14, 27, 49, 94, 444, 1994, 2026, 3888])
def test_roman_numerals_match_their_value_and_not_their_letters_in_another_order(n):
    assert roman(to_roman(n)) == n
    assert_same([str(n), to_roman(n)])
    assert_different([str(n), to_roman(n)], [to_roman(n + 1), to_roman(n + 2), str(n + 1)])
    assert_different(["XIV"], ["XVI"])
    assert not verify("DC", "CD" * 2).equal


@pytest.mark.parametrize("seed", range(8))
def test_separators_of_other_countries_keep_the_value_and_changed_digits_do_not(seed):
    rng = random.Random(seed)
    whole, cents = rng.randrange(1_000, 9_999_999), rng.randrange(1, 99)
    english_form = f"{whole:,}.{cents:02d}"
    swap = str.maketrans({",": ".", ".": ","})
    forms = [
        f"{whole}.{cents:02d}", english_form, english_form.replace(",", "'"), english_form.translate(swap),
        f"{whole:,}".replace(",", " ") + f",{cents:02d}", f"{whole:,}".replace(",", r"\,") + f".{cents:02d}",
    ]  # fmt: skip
    assert_same(forms)
    other = f"{whole + 100:,}.{cents:02d}"
    assert_different(forms, [other, other.replace(",", "'"), other.translate(swap), f"{whole}{cents:02d}"])


def test_lakh_and_crore_grouping():
    assert_same(["12,34,567", "1234567", "1,234,567", "1'234'567"])
    assert_different(["1234567"], ["12,34,568", "12,34,5670", "1,234.567"])
    assert_same(["1,200,000", "1.2 million", "12 lakh", "one million two hundred thousand"])


def test_a_comma_before_three_digits_separates_thousands():
    assert_same(["35,000", "35000", "35 thousand", "thirty-five thousand"])
    assert verify("35K", "35,000").equal
    assert_different(["35,000"], ["35", "35.0", "3500"])
    assert_different(["35"], ["35,000"])
    assert verify("0,125", "0.125").equal


def test_a_sentence_counts_only_if_it_states_a_single_number():
    assert verify(r"\boxed{There are thirty-three apples}", "33").equal
    for text in ("1 = 2 = 4", "not thirty-three", "thirty-three or thirty-four", "at least thirty-three", "33, 34"):
        assert not verify(text, "33").equal
        assert not verify(text, "4").equal


@pytest.mark.parametrize("char", ["1", "a", " ", ",", "'", "_", "(", "{", "$", "一", "-", "\\text{", "/", "^{", ".1"])
def test_work_of_readers_on_hostile_texts_is_bounded(linear, char):
    def read(text):
        meanings(text)
        verify(text, "33")
        verify(text, "5 km/h")

    for text in (char * 10_000, char * 150, char * 150 + "!", "1" + char * 150 + "x", "one " + char * 140):
        count_calls(lambda text=text: read(text), most=100_000)
    linear(read, char, most=16_000)
