"""A text has one reading, chosen before its gold is looked at, and one that can't be read equals no formula.

Two standing searches of fixed size and seed; `VERIKIT_FORGERIES=50 pytest tests/answers/test_one_reading.py` searches
50 times as much, from another seed.
"""

import os
import random
import re

import pytest

from verikit.answers import verify
from verikit.answers.gold import read, read_gold
from verikit.answers.parser.clean import trimmed
from verikit.verifiers.answer import Answer

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))

READINGS = [  # gold, what is no answer to it, what is a right one
    # signs after a number
    (r"9\pi", "9-", r"\pi\cdot 9"), (r"9\pi", "9#", r"9 \pi"), (r"9\pi", "9 -", r"\frac{18\pi}{2}"),
    ("2b", "2-", r"2\,b"), ("8-i", "8-", "-i+8"), ("3!", "3-", "6"), ("3!", "3 min", "3!"), ("3i", "3@", r"3\cdot i"),
    ("(3,x)", "3-", "( 3, x )"), (r"(5,\infty)", "5-", "x>5"), (r"(5,\infty)", "#5", r"5 < x"),
    ('5"', "5 min", "5''"),
    ("42", "42@", "42."), ("42", "?42", "x = 42"), ("42", "42 of", "42 apples"), ("42", "42th", "forty-two"),
    (r"\{1,2\}", "1#2", "2, 1"), (r"\frac{1}{2}", "1#2", "0.5"), (r"90^\circ", "90^", "90"), ("x^2", "x^", "x^{2}"),
    (r"25\text{ cm}", "25 -", "25"), (r"25\text{ cm}", "sin 25", "25 cm"), (r"25\text{ cm}", "25 and a half", "250 mm"),
    (r"25\text{ cm}", "25 cm and a half", "25 centimeters"), ("25", "25 apples and a half", "25 apples"),
    (r"25\text{ cm}", "half of 25", "The length is 25 cm."), (r"25^\circ", r"25^\circ\cdot", "25 degrees"),
    # bases
    ("0", "0x1", "0.0"), ("0", "0b1", r"0\cdot x"), ("0", "0xAF", "0x0"), ("0", "0b102", "0b0"),
    ("175", "0b102", "0xAF"), ("31", "0x31", "0x1F"), ("5", "101_2", "0b101"), ("101", "0b101", "101_2"),
    ("101_2", "101_3", "101"),
    # separators
    ("0.5", "0,5", "0.50"), (r"\{0,5\}", "0.5", "0,5"), ("1.5", "1,5", "1{,}5"), ("125", "0,125", "125.0"),
    ("0.125", "125", "0,125"), ("1234", "1.234", "1,234"), (r"\{1,234\}", "1,234", "1, 234"),
    ("1234", "(1,234)", "1 234"), ("7654.5", "7.6545", "7.654,5"), ("101", "0'101", "101"),
    # signs and units inside
    ("100", "10°10", "100°"), ("1.03", "1%3", "1.030"), ("120", "10%12", r"120\%"), ("0", "2h0", "2h-2h"),
    (r"5.5^\circ", "5°5", "5°30'"), ("17", "5 12", "17"), (r"\frac{11}{2}", r"5 3/2", r"5\frac12"),
    ("1", r"0 1/1", "1/1"),
    # percent, logarithms, thousands, dates
    ("0.5", "50%", r"\frac{1}{2}"), (r"50\%", "50.5", "0.5"), ("2", r"\log 100", r"\log_{10} 100"),
    (r"\ln 5", r"\log_{10} 5", r"\log 5"), ("1000", "1k", "1K"), ("35", "35K", "35 K"), ("March 4", "3/4", "4 March"),
    ("March 2021", "3/2021", "03/2021"), ("3rd", r"3^\circ", "third"), ("3rd", "3%", "3"),
    # rounding and what has no value
    ("1", r"1 \approx 2", "1"), ("2", r"1 \approx 2", r"\frac{7}{3} \approx 2"), ("313", "312 ≈ 313", "312.6 ≈ 313"),
    ("k", r"\log 0", "k"), ("n!", r"\log 0", "n!"), ("a", "a third", "a"), (r"\frac13", "a", "a third"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "wrong", "right"), READINGS)
def test_a_text_is_right_only_as_what_it_is_read_as(gold, wrong, right):
    assert not verify(rf"\boxed{{{wrong}}}", gold).equal
    assert not verify(f"The answer is {wrong}", gold).equal
    assert verify(rf"\boxed{{{right}}}", gold).equal


@pytest.mark.parametrize(
    ("question", "gold", "answer", "same"),
    [
        ("Was kostet das? Ein Heft kostet 2,50 Euro.", "3.75", "3,75", True), ("Find all x.", "3.75", "3,75", False),
        ("Was kostet das? Ein Heft kostet 2,50 Euro.", r"\{3,75\}", "3,75", False),
        ("Find all x.", r"\{3,75\}", "3,75", True), ("Choose from 1,2 and 3.", r"\{3,75\}", "3,75", True),
        ("Was ist ein Viertel von 15?", "3.75", "3,75", True), ("Quelle est la moitié de 7,5 ?", "3.75", "3,75", True),
        ("Сколько будет 15 разделить на 4?", "3.75", "3,75", True), ("¿Cuánto es 15 entre 4?", "3.75", "3,75", True),
        ("What is a quarter of 15?", "3.75", "3,75", False), ("15を4で割るといくつですか", "3.75", "3,75", False),
        (r"Solve $x^2 - 78x + 225 = 0$", r"\{3,75\}", "3,75", True), (r"$\sqrt{225}/4$", "3.75", "3,75", False),
        ("Was ist ein Viertel von 15?", r"\{3,75\}", "3,75", False),
        ("Was ist ein Viertel von 15?", "375", "3,75", False),
    ],
)  # fmt: skip
def test_the_questions_numbers_and_language_tell_whether_a_comma_is_decimal(question, gold, answer, same):
    assert verify(rf"\boxed{{{answer}}}", gold, question=question).equal is same


def test_a_mark_behind_a_boxed_number_is_the_factorial_and_behind_a_sentence_its_end():
    gold = r"8\text{ cm}"
    assert not verify(r"\boxed{8!}", gold).equal
    assert verify("The length is 8 cm!", gold).equal
    assert verify("The answer is 8!", gold).equal


def test_an_answer_that_cannot_be_read_is_left_to_a_second_opinion():
    verifier = Answer()
    assert verifier.doubts(verifier(r"\boxed{9-}", r"9\pi"))
    assert not verifier.doubts(verifier(r"\boxed{9}", r"9\pi"))


def test_a_counted_noun_is_read_in_other_scripts_and_a_scale_is_no_noun():
    for text in ("12 Äpfel", "12 яблок", "12个", "12 μήλα"):
        assert verify(text, "12").equal, text
    for text in ("12 миллионов", "12千", "12 тысяч", "12 процентов", "12 - Äpfel"):
        assert not verify(text, "12").equal, text


# ---- texts that can't be read ---------------------------------------------------------------------------------------

SYMBOLS = ["x", "b", "i", "k", r"\pi", "e", "n", r"\alpha", r"\sqrt{7}", "!", "^2", "m", "h", "!+1", r"\cdot x"]
FORMS = [
    "{n}{s}", "{n}", "-{n}", "{n}+{m}i", "{n}-i", r"({n},\infty)", "({n},x)", "[{n},{m}]", "({n},{m},{n})",
    r"\{{{n},{m}\}}", r"\frac{{{n}}}{{{m}}}", r"{n}\frac{{1}}{{{m}}}", r"{n}\sqrt{{{m}}}", "{n}x^{m}-{m}", "{n}:{m}",
    r"{n}\%", r"{n}^\circ", r"{n}\text{{ cm}}", "{n} cm", r"\${n}", "{n}_9", "0.{n}", "x={n}", r"x \ge {n}", "{n}'",
    "0", r"(-\infty,{n}]\cup({m},\infty)", "{n}e^{m}", r"\begin{{pmatrix}}{n}\\{m}\end{{pmatrix}}", "{n},{m}",
    "{n} apples",
]  # fmt: skip
SIGNS = [
    "-", "+", "/", "^", "_", "<", ">", "#", "&", "|", "'", '"', "@", "?", "(", ")", "[", "]", "°", " -", " +", " #",
    " &", " /", " @", " ?", " )", "--", "+-", r"\cdot", r"\times", " #2", "%%",
]  # fmt: skip
NUMBER = re.compile(r"\d+")


def drawn(rng):
    """A gold of one of the forms."""
    return rng.choice(FORMS).format(n=rng.randint(2, 99), m=rng.randint(2, 9), s=rng.choice(SYMBOLS))


def damaged(gold, rng):
    """A text of the gold's own digits and letters: cut, with signs before, behind or inside, or a character less."""
    at = rng.randrange(1, len(gold)) if len(gold) > 1 else 1
    part = rng.choice([gold, gold[:at], gold[at:], rng.choice(NUMBER.findall(gold))])
    sign = rng.choice(SIGNS)
    inside = gold[:at] + sign + gold[at:]
    return rng.choice([part + sign, sign + part, part, inside, gold[: at - 1] + gold[at:], sign + part + sign])


def unreadable(text):
    """Whether a text can't be read as mathematics, with or without the marks that verify takes off."""
    return all(read(form).tree is None for form in (text, trimmed(text), text.strip(" .,;:!=*$")))


def paid(golds, count, rng):
    """Unreadable texts that are right for the gold they are made of."""
    found, tried = [], 0
    for _ in range(count):
        gold = rng.choice(golds) if golds else drawn(rng)
        text = damaged(gold, rng)
        if read_gold(gold).tree is None or not unreadable(text) or text.count("{") != text.count("}") or r"\-" in text:
            continue  # \- only tells where a word may be broken
        tried += 1
        verdict = verify(rng.choice([r"\boxed{%s}", "Answer: %s", "<answer>%s</answer>"]) % text, gold)
        if verdict.equal and verdict.rule != "same text":
            found.append((gold, text, verdict.rule, verdict.extracted))
    return found, tried


def test_a_text_that_cannot_be_read_is_right_for_no_formula():
    found, tried = paid([], 6_000 * EFFORT, random.Random(EFFORT))
    assert not found
    assert tried > 2_000 * EFFORT


# ---- ambiguous notations --------------------------------------------------------------------------------------------

POOL = [
    *"0 1 2 3 5 8 10 11 12 15 20 31 50 55 90 100 101 110 120 125 235 500 512 1000".split(),
    *"1001 1200 1512 2000 5000 12000 12125".split(), "-1", "-2", "-5", "-12", "0.5", "0.05", "0.1", "0.12", "1.5",
    "1.2", "1.05", "2.5", "5.5", "12.5", "1.125", "5.12", "0.001", r"\frac{1}{3}", r"\frac{2}{3}", r"\frac{1}{12}",
    r"\frac{5}{12}", r"\frac{12}{5}", r"\frac{5}{3}", r"\frac{16}{3}", r"\{1,5\}", r"\{2,12\}", r"\{0,5\}",
    r"\{5,12\}", r"\{1,2,5\}", r"\{1,125\}", r"\{12,125\}", "(3,1)", "(12,3)", "(0,12)", r"(5,\infty)", r"(1,\infty)",
    r"(-\infty,12]", "[1,12]", "[5,12)", r"\emptyset", "x", "k", "a", "2k", "5x", "5b", "12x", "5i", "1+5i", "i", "e",
    "5e", r"\pi", r"5\pi", "n!", "x^5", "x^{12}", "2^n", "x_1", r"\sqrt{5}", r"\ln 5", r"\log_{10} 5", r"\sin 5",
    "-x", "x+5", "5-x", r"\infty", "March 5", "May 12", "December 5, 2012",
]  # fmt: skip
"""Golds that differ, by more than a unit, a percent sign, a base or a name that a text may leave out."""
NOTATIONS = [
    "{a},{b}", "{a}, {b}", "{a};{b}", "{a}.{b}", "{a} {b}", "{a}'{b}", "{a}{{,}}{b}", "{a}e{b}", "{a} e{b}",
    "{a}e-{b}", "{a}x{b}", "{a}^{b}", "{a}/{b}", "{a} {b}/3", "{a} 1/{b}", r"{a}\frac{{{b}}}{{3}}", "{a}%{b}", "{a}%",
    r"{a}\%", "{a}‰", "{a}°{b}", "{a}°", "{a}h{b}", "{a}'", "{a}\"", "{a}k", "{a}K", "{a} k", "{a}M", "{a}b", "{a}i",
    "{a}e", "{a}th", "{a}!", "{a}!{b}", "0x{a}", "0b{a}", "0o{a}", "0X{a}", "-0x{a}", "0x{a}F", "#{a}", "${a}$",
    "{a}$", "+{a}", "--{a}", "~{a}", "|{a}|", "({a},{b})", "[{a},{b}]", "({a})", r"\{{{a},{b}\}}", "({a};{b})",
    "({a}){b}", "{a}({b})", "{a}≈{b}", r"{a}\approx {b}", "{a}={b}", "{a} or {b}", "{a} and {b}", "{a} of {b}",
    "{a} out of {b}", "{a} and a half", "half of {a}", "{a},000", "{a}.000", "{a} 000", "{a}'000", "{a}*{b}",
    r"{a}\cdot {b}", r"{a}\,{b}", r"\frac{a}{b}", r"\sqrt{a}{b}", r"\log {a}", r"\lg {a}", r"\ln {a}", r"\sin {a}",
    "{a}#{b}", "{a}&{b}", "{a}_{b}", "{a}-", "{a}@", "0.({a})", "0,{a}", ".{a}", ",{a}", "{a}.", "{a},", "0{a}",
    "{a}…{b}", "{a}±{b}", "{a}x", "x{a}", "{a}\u00b7{b}", "{a}\u2009{b}", "{a} mod {b}", "{a}C{b}", "{a} percent",
    "{a} per cent", "{a}/{b}/2012", "{a}.{b}.2012",
]  # fmt: skip
PARTS = "0 1 2 3 5 12 101 125".split()


def shared(count, rng):
    """Texts in ambiguous notations that are right for several golds, with those golds."""
    found = {}
    for _ in range(count):
        text = rng.choice(NOTATIONS).format(a=rng.choice(PARTS), b=rng.choice(PARTS))
        form = rng.choice([r"\boxed{%s}", "The final answer is %s"])
        right = [gold for gold in POOL if verify(form % text, gold).equal]
        if len(right) > 1:
            found[text] = right
    return found


def test_no_notation_is_right_for_two_golds_that_differ():
    assert all(verify(rf"\boxed{{{gold}}}", gold).equal for gold in POOL)
    assert shared(500 * EFFORT, random.Random(EFFORT)) == {}


def test_the_searches_find_what_they_are_for():
    assert damaged(r"9\pi", random.Random(3)) != r"9\pi"
    assert unreadable("9-")
    assert not unreadable("9.")
    options = [verify(r"\boxed{\log 5}", gold).equal for gold in (r"\log 5", r"\ln 5", r"\log_{10} 5")]
    assert options == [True, True, False]
