"""Dates, times of the day, ranges, scores, ratios and blood pressure: the order of what they are made of counts."""

import random
from datetime import date, timedelta

import pytest

from tests.answers.families.helpers import assert_different, assert_same
from verikit.answers import verify

GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
SPANISH = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()


def formats(day):
    ending = "th" if 10 < day.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    month = day.strftime("%B")
    return [
        f"{month} {day.day}, {day.year}", f"{day.day} {month} {day.year}", day.isoformat(),
        f"{day.day}{ending} of {month}, {day.year}", f"{day:%b}. {day.day}{ending}, {day.year}",
        f"{day:%A}, {month} {day.day}, {day.year}", f"{day.day}. {GERMAN[day.month - 1]} {day.year}",
        f"le {day.day} {FRENCH[day.month - 1]} {day.year}", f"{day.day} de {SPANISH[day.month - 1]} de {day.year}",
        f"{day.year}年{day.month}月{day.day}日", f"{day:%d-%b-%Y}",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_a_date_matches_its_formats_and_no_other_day(seed):
    rng = random.Random(seed)
    day = date(1890, 1, 1) + timedelta(days=rng.randrange(60_000))
    assert_same(formats(day))
    later = day + timedelta(days=rng.choice((1, 7, 31, 365)))
    assert_different(formats(day)[:3], formats(later))
    assert_different(formats(day)[:3], [str(day.year), f"{day:%B} {day.day}", f"{day:%B} {day.year}"])


def test_numeric_dates_are_read_in_the_order_of_the_gold_or_not_at_all():
    assert verify("25/03/2021", "2021-03-25").equal
    assert verify("03/25/2021", "2021-03-25").equal
    assert verify("3/5/2021", "March 5, 2021").equal
    assert not verify("5/3/2021", "March 5, 2021").equal
    assert verify("5/3/2021", "5 March 2021").equal
    assert not verify("3/5/2021", "5 March 2021").equal
    assert not verify("3/5/2021", "2021-03-05").equal
    assert verify("3/3/2021", "2021-03-03").equal
    assert_different(["2021-03-25"], ["26/03/2021", "25/04/2021", "2021-25-03", "25/03/2012"])
    assert_same(["July 1969", "July, 1969", "juillet 1969"])
    assert verify("07/1969", "July 1969").equal
    assert_different(["July 1969"], ["June 1969", "July 1996", "07/1996"])
    assert_same(["7 July", "July 7th", "the 7th of July"])
    assert_different(["7 July"], ["July 17", "7 June"])
    assert not verify("44 AD", "44 BC").equal
    assert not verify("March 15, 44 AD", "March 15, 44 BC").equal


@pytest.mark.parametrize("seed", range(8))
def test_a_time_matches_its_twelve_and_twenty_four_hour_notations_only(seed):
    rng = random.Random(seed)
    hour, minute = rng.randrange(1, 12), rng.randrange(1, 60)
    afternoon = [f"{hour}:{minute:02d} pm", f"{hour + 12}:{minute:02d}", f"{hour}:{minute:02d} p.m.",
                 f"{hour}:{minute:02d}PM", f"{hour + 12}:{minute:02d}:00"]  # fmt: skip
    assert_same(afternoon, question="At what time do they meet?")
    assert_different(afternoon, [f"{hour}:{minute:02d} am", f"{hour}:{(minute + 7) % 60:02d} pm",
                                 f"{hour % 11 + 1}:{minute:02d} pm"], question="At what time?")  # fmt: skip
    assert verify(f"{hour}:{minute:02d}", f"{hour}:{minute:02d} pm").equal
    assert not verify(f"{hour}:{minute:02d}", f"{hour + 12}:{minute:02d}", question="At what time?").equal


def test_named_and_spoken_times():
    assert_same(["12:00", "noon", "12 noon", "12:00 pm"])
    assert_different(["12:00", "noon"], ["1:00", "12:30", "midnight", "12:00 am", "0:00"])
    assert_same(["3:30 pm", "half past three in the afternoon", "15:30", "15:30 Uhr"])
    assert_same(["3:45 pm", "quarter to four in the afternoon"])
    assert_different(["3:45 pm"], ["quarter past four in the afternoon", "quarter to four in the morning"])
    assert verify("The train leaves at 3:45 pm.", "15:45").equal
    assert not verify("The train leaves at 3:45 pm or 4:45 pm.", "15:45").equal
    assert not verify("5 pm EST", "5 pm PST").equal


def test_two_numbers_with_a_colon_stay_a_ratio_where_nothing_says_time():
    assert verify("2:5", "12:30").equal
    assert not verify("2:5", "12:30", question="At what time does it leave?").equal
    assert verify("2:3", "20:30").equal


@pytest.mark.parametrize("seed", range(8))
def test_a_range_keeps_both_ends_their_order_and_the_unit(seed):
    rng = random.Random(seed)
    low = rng.randrange(2, 50)
    high = low + rng.randrange(1, 40)
    forms = [f"{low}-{high} kg", f"{low} to {high} kg", f"between {low} and {high} kg", f"{low}–{high} kg",
             f"from {low} kg to {high} kg", f"{low}000-{high}000 g",
             rf"{low}\text{{--}}{high}\text{{ kg}}"]  # fmt: skip
    assert_same(forms)
    assert_different(forms, [f"{low - high} kg", f"{high - low} kg", f"{low} kg", f"{high} kg", f"{low}-{high + 1} kg",
                             f"{high}-{low} kg", f"{low + 1} to {high} kg", f"{low}-{high} m",
                             f"{low - high}"])  # fmt: skip
    assert_different(forms[1:2], [f"{low}-{high} g"])
    percents = [rf"{low}–{high}\%", f"{low}% to {high}%", f"between {low} and {high} percent"]
    assert_same(percents)
    assert_different(percents, [rf"{low - high}\%", rf"{low}\%", f"{low} to {high + 1}%"])
    assert_same([f"${low}-${high}", f"${low} to ${high}", f"{low} to {high} dollars"])
    assert_different([f"${low}-${high}"], [f"€{low}-€{high}", f"${low}"])


@pytest.mark.parametrize("seed", range(8))
def test_scores_and_years_are_pairs_in_order(seed):
    rng = random.Random(seed)
    first, second = rng.sample(range(8), 2)
    forms = [f"{first}-{second}", f"{first} to {second}", f"{first}–{second}", f"{first} - {second}"]
    assert_same(forms)
    assert verify(f"{first}:{second}", forms[0]).equal
    assert_different(
        forms, [f"{second}-{first}", str(first), str(first - second), f"{first}-{second + 1}", f"{second} to {first}"]
    )
    year = rng.randrange(1800, 1990)
    years = [f"{year}-{year + 5}", f"{year} to {year + 5}", f"from {year} to {year + 5}"]
    assert_same(years)
    assert_different(years, ["-5", f"{year}", f"{year}-{year + 4}", f"{year + 5}-{year}"])
    assert verify("1990-95", "1990-1995").equal


def test_ratios_in_words_and_shares():
    assert_same(["2:3", "2 : 3", "4:6"])
    assert verify("2 to 3", "2:3").equal
    assert verify("two to three", "2:3").equal
    assert_different(["2:3"], ["3 to 2", "3:2", "2:4", "2 to 3 to 4"])
    assert_same(["9:3:3:1", "18:6:6:2"])
    assert verify("9/16, 3/16, 3/16, 1/16", "9:3:3:1").equal
    assert_different(["9:3:3:1"], ["9:3:4", "9:3:1:3", "9/16, 3/16, 1/16, 3/16", "9/20, 3/20, 3/20, 1/20"])
    assert verify("25%, 50%, 25%", "1:2:1").equal
    assert_different(["1:2:1"], ["25%, 25%, 50%", "20%, 40%, 20%"])


def test_blood_pressure_is_no_fraction():
    assert_same(["120/80 mmHg", "120/80 mm Hg", "120 over 80 mmHg"])
    assert_different(["120/80 mmHg"], ["1.5 mmHg", "80/120 mmHg", "120/90 mmHg", "1.5"])
    asked = "What is the patient's blood pressure?"
    assert verify("120/80 mmHg", "120/80", question=asked).equal
    assert not verify("3/2", "120/80", question=asked).equal
    assert verify("3/2", "120/80", question="Simplify.").equal
