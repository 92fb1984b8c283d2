"""One edit away from a gold: what changes its value is no longer right, and what only changes its dress still is."""

import pytest

from verikit.answers import Equality, verify
from verikit.answers.algebra.equality import EqualityResult

UNEQUAL = [
    # signs, digits and words right beside a formula
    ("5", "The answer is ≥$5$."), ("$3$", "The answer is 2$3$."), ("n^2", "The answer is half $n^2$."),
    ("$k=n+1$", "The answer is $k=n+1$2."), (r"$28\%$", r"The answer is <$28\%$."), ("$100$", "The answer is $100$>."),
    ("5", "The total cost is therefore -$5$"),
    ("$x$", "The answer is minus $x$."), ("$5", "The answer is the square of $5."),
    ("5 km", "It is 5 km and above."), ("5 km", "The answer is 5 km minus one."),
    # numbers in words
    ("twelve", "-twelve"), ("twelve", "twelve squared"), ("twelve", "twelve negated"),
    ("twelve", "twelve or more"), ("twelve", "twelve is wrong"), ("twelve", "twelve x"), ("-twelve", "twelve"),
    ("1 million", "1 million million"),
    # digit groups and decimal commas
    ("135,000", "135,00"), ("14,000", "14,.000"), ("276,000", "276, 0"), ("0,5", "-0,5"), ("1,045", "{1, 45}"),
    # marks of a base
    ("-7", "0x-7"), (r"-\frac{1}{2}", r"\boxed{0x-\frac{1}{2}}"),
    # dates
    ("December 13, 1877", "non-December 13, 1877"), ("December 1974", "mid-December 1974"),
    ("23 December 1893", "23 December 1893e"),
    # names and abbreviations
    ("WB Television Network", r"\boxed{WB Television Netork}"), ("UDC", r"\boxed{UCD}"), ("C#", r"\boxed{<C#}"),
    # labels
    ("x = 2, y = 3", "The answer is at most x = 2, y = 3."),
    ("5 apples", "multiple of 5 apples"),
    ("x = 4", "at least x = 4"), ("x = 4", "The answer is at least x = 4."), ("x = 4", "more than x = 4"),
    ("195", "wrong: 195"), ("117", "false: 117"),
    # ratios
    ("3:1", "3:1 is wrong"), ("3:1", "3:1 is not right"),
    # operations and limits in words
    ("100", "100 halved"), ("2 hours", "2 hours doubled"), ("-0.5", "-0.5 at least"), ("12", "So we get 12 at most."),
    ("11.9", "a divisor of 11.9"), ("5 km", "It is a divisor of 5 km."), ("1974", "It is the first digit of 1974."),
    (r"$\sqrt{3}$", r"the logarithm of $\sqrt{3}$"), ("2760", "It is the difference of 2760."),
    ("$x = 3$", "The answer is different from $x = 3$."), ("280", "It is 280x."), ("420", "It is 420ish."),
    ("2560", "2560 to the power of 2"), ("$3$", "So we get $3$ + 1."), ("(2,-2)", r"It is 2 \cdot (2,-2)."),
    ("5 March 2021", "5 March 2021 squared"), ("November 6, 1905", "no November 6, 1905"),
    ("4:30 p.m.", "the reciprocal of 4:30 p.m."), ("infinitely many", "the opposite of infinitely many"),
    ("-7", "#### -7 fails"), ("2024", r"\boxed{2024 does not hold}"), ("105", "105 is too large"),
    ("1,200", "1,200 times two"), ("3.2 m/s", "It is 3.2 m/s doubled."),
    ("x = 2, y = 3", "the logarithm of x = 2, y = 3"),
    ("December 13, 1877", "December 13, 1877 dozen"), ("12", "It is 12 π."),
    # classes of residues
    ("3", "3 mod 5"), ("3", r"\boxed{3 \pmod{5}}"), ("3", "The answer is $3$ (mod 5)."), ("x=3", "x = 3 mod 5"),
    ("2, 3", "2, 3 mod 5"), ("1:2", "1:2 mod 5"), ("3", r"x \equiv 3 \pmod 5"),
    (r"x \equiv 3 \pmod 5", "3"), ("3 mod 5", r"\boxed{3}"), (r"x \equiv 3 \pmod 5", "x = 3"),
    # labels that deny the value or are part of it
    ("195", "It is wrong: 195"), ("195", "That was incorrect: 195"), ("AB = 5", "multiple of AB = 5"),
    ("P(A) = 0.3", "the difference of P(A) = 0.3"),
    # limits, conditions and open lists
    ("2024", "It was before 2024."), ("2024", "prior to 2024"), ("(3, 2)", "It is (3, 2) unless n = 3."),
    ("$x = 3$", "We get $x = 3$ only if n = 2."), ("100%", "up to 100%"),
    ("18", "18 and others"), ("4", "It is 4 etc."),
    ("10 July 1099", "different from 10 July 1099"), ("10 July 1099", "10 July 1099 is excluded"),
    ("5 km", "5 km fails"), ("5 km", "5 km is not enough"), ("87°", "87° cannot be right"),
    ("10 to 20", "10 to 20 isn't correct"),
    # operations
    ("3-5", "3-5 factorial"), ("10 to 20", "10 to 20 squared"), ("284", "It is a factor of 284."),
    ("9", "It is 20% of 9."), ("888", "It is 888²."), (r"\frac{6}{5}", r"It is d/dx \frac{6}{5}."),
    (r"12.5\%", r"12.5\% π"), (r"18^\circ", r"18^\circ times two"), (r"\$36", r"It is the difference of \$36."),
    (r"\$20", r"It is ≥\$20."), ("$19$", "It is $19$-ish."),
    ("100%", "100%e"), ("100%", "100% e"), ("5 km", "5 km x"),
    # the opposite, some cases only, a modulus of the whole
    ("5", "the opposite: 5"), ("x = 4", "It is the opposite: x = 4."), ("Monday", "the opposite: Monday"),
    ("5", "5 when n is even"), ("$n+1$", "The answer is $n+1$ when $n$ is even."), ("(2, 3)", "(2, 3) for odd n"),
    ("5", r"\boxed{5 \text{ if } n \text{ is divisible by 3}}"), ("red", "red when n is prime"),
    ("n^2+1", r"n^2+1 \bmod 4"), ("y = 2x+1", r"y = 2x + 1 \bmod 4"), ("8", r"5 + 3 \bmod 5"),
    ("n^2+1", "n^2+1 mod 4"),
    # prefixes, signs and words beyond a unit
    ("no solution", "ex-no solution"), ("4:30 p.m.", "post-4:30 p.m."),
    ("convergent", "The answer is under convergent."),
    ("4:30 p.m.", "The answer is 4:30 p.m. plus one."), ("5 km", "5 km degrees below zero"),
    ("5 km", "It is 5 km dozen."),
    ("1 million", "1 million-like"), ("psilocin", "It is -psilocin."), ("July 27, 1953", "It is ∂July 27, 1953."),
    ("$n=1$", "-($n=1$"), (r"\angle ABC = 60^\circ", r"at most \angle ABC = 60^\circ"),
    (r"\$3800", r"It is mod \$3800."),
    ("22.1cm^{2}", "The answer is $22.1cm^{2}1$."), ("12 cm^2", "#### 12 cm^2e-3"),
    ("3.2 m/s", "It is 3.2 m/s or less."), ("898", r"\boxed{898 etc.}"),
    ("50%", "before 50%"), (r"$\frac{1}{2}$", r"It is before $\frac{1}{2}$."),
    ("$(2, 3)$", r"It is $(2, 3)$ \pmod{3}."),
    (r"\angle ABC = 60^\circ", r"different from \angle ABC = 60^\circ"), ("F# minor", "So we get $wrong: F# minor$."),
    ("infinitely many", "It is -infinitely many."), ("10 to 20", "10 to 20 below zero"),
    (r"45^\circ", r"It is 45^\circ BC."), ("50%", "The answer is $50% ish$."), ("30 minutes", "30 minutes -like"),
    ("3.2 m/s", "So we get $anti 3.2 m/s$."), ("5 m", r"So we get $no 5\text{ m}$."),
    (r"\frac{N}{2}", r"It is \frac{N}{2} x."), ("5 apples", "5 apples ish"), ("1974", "It is anti 1974."),
    ("$125$ miles", "It is $125$ miles is too small."), ("125 miles", "125 miles BC"),
    ("2 hours", "It is 2 hours ish."),
    (r"\frac{1}{99}", r"It is d/dx  \frac{1}{99}."), (r"\frac{7}{27}", r"It is \frac{7}{27} e5."),
    ("2.5", "It is 2.5 -free."),
    (r"\angle ABC = 60^\circ", r"about twice \angle ABC = 60^\circ"), ("May 13, 1877", "May 13, 1877 e"),
    ("44", "It was 44 BC."),
    ("20 kg", "It is 20 kg-1."), ("3-5", "3-5 etc."), ("10 to 20", "10 to 20 times two"), ("Yes", "Yes-ish"),
    (r"7\%", r"It is 7\% e."), (r"\frac{2}{\pi}", r"It is \frac{2}{\pi} i."),
    ("May 13, 1877", "strictly between May 13, 1877"),
    ("May 13, 1877", "May 13, 1877 -like"), ("odd", "∂odd"),
    ("5 apples", "5 apples is not right"), (r"\$32", r"It is \$32 is out."), ("none", "different from none"),
    ("5 March 2021", "-5 March 2021"),
    ("convergent", "So we get $Δ convergent$."), ("(1, 2)", "It is Δ (1, 2)."),
    ("December 13, 1877", "December 13, 1877 π"),
    # half a line is not a line
    ("((-700)u, 9)", "(|-14 + u|, 9)"), ("(19, u(-14))", "(19, (-14)*|u|)"),
    (r"((-14) \cdot u, 9)", r"(\sqrt{(14 \cdot k)^2}, 9)"),
    # a degree, a base and a modulus are those of the gold answer
    (r"35^\circ", r"95^\circ"), ("35 degrees", "95°"), ("A3_{16}", "So we get $A3_{11}$."),
    (r"n \equiv 2 \pmod 7", r"n \equiv 2 \pmod 7^2"),
    # a full stop of an abbreviation doesn't end the sentence
    ("4:30 p.m.", "The answer is 4:30 p.m. is wrong."), ("4:30 p.m.", "The answer is 4:30 p.m. does not work."),
    # words and operations beside a value
    (r"\$ 139", r"a factor of \$ 139"), (r"$28\%$", r"So we get $no longer $28\%$$."),
    ("12 students", "It is 12 students is not enough."), ("5", "5小时半"), ("5", "用了5个半小时。"),
    # another value beside a conjugate, an inverse, a list, a yes
    ("2i + k", r"2i + \bar{k}"), ("5", "R^{-1} = 5"), ("42", "零下42度"), ("1/2", "doble 1/2 manzanas"),
    ("Yes", "Yes – not always."), ("no solution", "Неверно, что нет решений."), ("128", "x = 3.\nAlso, x = 128."),
    # some cases only, in words and in collections
    ("three quarters", "three quarters when n is even"), ("AB = 5", "The answer is AB = 5 when n is even."),
    ("x = 1 or x = 2", "x = 1 or x = 2 when n is even"),
    # a counted noun between the value and its denial
    ("128", "128 pages does not hold"), ("5", "5 apples fails"),
]  # fmt: skip
EQUAL = [
    ("5", "The answer is x =$5$."), ("7/2", r"The answer is 3$\frac{1}{2}$."), ("5", "The answer is <b>$5$</b>."),
    ("5", "We find the value – $5$."), ("8", "So we end with a $8$-gon, and that is all of it."),
    ("twelve", "12"), ("-12", "minus twelve"), ("-12", "-twelve"), ("twelve", "twelve red apples"),
    ("-0.5", "-0,5"), ("135,000", "135000"), ("2,125", "2, 125"), ("5", "5 more apples"), ("5", "But the answer: 5"),
    ("31", "0x1F"), ("x^2-4", "x^2+0x-4"), ("March 5, 2021", "2021年3月5日生まれ"), ("13 May 1877", "May 13th, 1877"),
    ("UDC", r"\boxed{UDC}"), ("AB", r"\boxed{BA}"), ("m/s", r"\boxed{metres per second}"),
    ("C_1=2, C_2=-3", "C_{1}=2, C_{2}=-3"),
    ("x = 4", "x = 4"), ("x = 4", "At last x = 4."), ("4", "At least one of them is 4."), ("195", "A: 195"),
    ("3:1", "The ratio is 3:1."), ("3:1", "3:1 is right"), ("1000.99", "not it's not 10 it's 1,000.99m²"),
    ("5", "They have a difference of 5."), ("2x", "We get the derivative $2x$."), ("26", "They add up to $26$."),
    ("3, 5, 7", "This gives us the roots $3, 5, 7.$"), ("2", "The product has a ones digit of $2$."),
    ("5 km", "It is 5 km long."),
    ("5", "5 times"), ("x = 2, y = 3", "we find x = 2, y = 3"), (r"12\pi", "12 π"),
    ("280", "It is 280m."), ("5 March 2021", "on 5 March 2021"),
    ("no solution", "The equation has no solution."), ("5", "5, not 6"),
    ("195", "12 is wrong: 195"), ("195", "It is right: 195"), ("AB = 5", "The length is AB = 5."),
    ("5 hours", "They meet after 5 hours."), ("1500", "He stops after 1500 steps."), ("2024", "It ended in 2024."),
    ("3-5", "3-5 apples"), ("5", "It grows by a factor of 5."), ("5 km", "5 km works"), ("10 to 20", "10 to 20 years"),
    ("(3, 2)", "It is (3, 2) if n = 3."), ("20%", r"It is 20\%."), ("18", "18 others"), ("5 cm^2", "5 cm squared"),
    (r"x \equiv 3 \pmod 5", "x = 5k + 3"), (r"\$36", r"The cost is \$36."), ("12%", r"12\% alcohol"),
    ("5", "I do not hesitate to say that the answer is 5."), ("5", "If I had to choose, I would say the answer is 5."),
    ("4:30 p.m.", "The answer is 4:30 p.m. because it is late."),
    ("4:30 p.m.", "The train leaves at 4:30 p.m. and is red."),
    ("5 km", "It is 5 km below the peak."), ("90 degrees", "It is 90 degrees."), ("AB = 5", "Side AB = 5"),
    ("psilocin", "It is psilocin."), ("22.1 cm^{2}", "$22.1cm^{2}$"), ("5 m/s^2", "5 m s^{-2}"),
    ("$x$", "the result ($x$)"), ("F# minor", "So we get: F# minor."), ("3.2 m/s", "We get 3.2 m/s."),
    ("50%", "It was 50% before."), ("3, 5", "Las raíces son 3 y 5."),
    ("5 m", "No. It is 5 m."), ("$125$ miles", "It is $125$ miles."),
    ("20", "It is 20! That is all."), ("Yes", "Yes - it is."),
    ("3-5", "3-5 times"), (r"((-14) \cdot u, 9)", "(14+k, 9)"), ("5 kg", "5 kg - not 6"), ("5", "5 apples is right"),
    ("5", "5 apples are not eaten."), ("none", "There is none."), ("Yes", "Yes, it is."),
    ("10 to 20", "10 to 20 degrees"), ("infinitely many", "There are infinitely many."),
    ("100%", "100% pure"), ("100%", r"The answer is 100\%."), ("1.5 h", "1 h e 30 min"),
    ("5", "The side opposite: 5"), ("5 when n is even", "It is 5 when n is even."), ("3", "3 is an odd prime."),
    ("n+1", "n+1 for all positive integers n"), ("even", "The function is even."),
    ("5", "We get 5 where x is largest."),
    ("3", r"5 + 3 \bmod 5"), (r"(n^2+1) \bmod 4", r"n^2+1 \bmod 4"), ("3", r"-7 \bmod 5"), ("2", r"2 + 5 - 5 \bmod 7"),
    # units and moduli in another notation
    ("35 °C", "95 degrees"), ("£5", "5 pounds"), (r"x \equiv 3 \pmod{10}", r"x \equiv 3 \pmod{2 \cdot 5}"),
    (r"x \equiv 3 \pmod 5", r"3x \equiv 9 \pmod{15}"), ("A3_{16}", "A3_{16}, where A_{16} = 10_{10}"),
    ("R = 1/5", "R^{-1} = 5"), ("北京, 上海", "- 北京\n- 上海"), ("A3_{16}", "So we get $A3_{16}$."),
    ("4:30 p.m.", "The answer is 4:30 p.m. and not 5."), ("5", "Step 1 - $5$"),
    ("5 km", "It is 5 km north of the town."),
    # a conclusion, and a unit after a number that is no digit
    ("33_4", "Doubling 11_4, we get 33"), ("30_4", "If you convert 12_4, you get 30."),
    ("128", "Therefore, x = 128."), ("42", "So 42, not 7"), ("-7", "Portanto, x = -7."), ("7", "所以x=7。"),
    ("5", "一共有5个半圆。"), ("5", "他工作了5天半工半读。"),
    # yes with its reasons
    ("Yes", "Yes. No counterexample exists."),
    ("128", "128 pages hold"), ("5", "5 students failed."), ("128", "It is 128 pages, which is right."),
    ("2", "7 mod 5"), ("1", "10 mod 3 = 1"), ("3", r"\boxed{3 \bmod 5}"), ("3 mod 5", "8 mod 5"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), UNEQUAL)
def test_an_edit_that_changes_the_value_is_refused(gold, answer):
    assert not verify(answer, gold).equal


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_an_edit_that_keeps_the_value_is_right(gold, answer):
    assert verify(answer, gold).equal


DENIED = [
    "So, x = 42 rejected", "So x = 42 invalid", "So, x = 42 excluded", "Daher 42 nicht.", "Yani 42 değil.",
    "Daher x=42 ist falsch",
]  # fmt: skip


@pytest.mark.parametrize("answer", DENIED)
def test_a_conclusion_that_denies_the_value_is_no_label(answer):
    assert not verify(answer, "42").equal


LIMITS = [
    "Es sind mehr als 42.", "Es sind mindestens 42 Stück.", "Die Hälfte von 42.", "Das Doppelte von 42.",
    "Au moins 42.", "Il y en a plus de 42.", "C'est la moitié de 42.", "Son más de 42.", "Como máximo 42.",
    "Es el doble de 42.", "Almeno 42.", "È la metà di 42.", "São mais de 42.", "No mínimo 42.", "Minstens 42.",
    "De helft van 42.", "Co najmniej 42.", "En az 42.", "Больше 42.", "Это половина от 42.", "至少42个。",
    "是42的一半。", "42より大きい。", "42の半分です。", "42개초과", "42个以上",
]  # fmt: skip


@pytest.mark.parametrize("answer", LIMITS)
def test_a_limit_or_part_of_a_value_is_another_value_in_each_language(answer):
    assert not verify(answer, "42").equal


@pytest.mark.parametrize(("answer", "question"), [
    ("Man braucht mindestens 42.", "Wie viele braucht man mindestens?"), ("至少42个硬币", "小明至少需要几个?"),
    ("Mehr als 40, genau 42.", ""), ("Le double de 21 est 42.", ""), ("Mehr als die Hälfte fehlt, es bleiben 42.", ""),
    ("至少有一个,所以答案是42。", ""), ("以上より、答えは42です。", ""), ("Al menos sabemos que x = 42.", ""),
    ("Man braucht mindestens 42.", "What is the minimum number?"), ("至少42个硬币。", "最少需要几个硬币?"),
    ("答案是42, 以上是解题过程。", ""), ("計算結果は42, 以上です。", ""), ("정답은 42, 이상입니다.", ""),
    ("最大值是42，不能大于42。", ""), ("Mindestens 42 und höchstens 42.", ""), ("x=42보다 크지 않다", ""),
    ("Mehr als 42 Türme passen nicht aufs Brett.", ""), ("84 ist das Doppelte von 42.", ""),
    ("Il doppio della metà di 42.", ""),
])  # fmt: skip
def test_a_limit_that_the_question_names_or_that_limits_something_else_is_right(answer, question):
    assert verify(answer, "42", question=question).equal


def test_formulas_are_compared_where_both_have_a_value():
    gold = r"U\sqrt[5]{U}(\sqrt{\tan(4c)})^2yu"
    assert not verify(r"U\sqrt[5]{|U|}\tan(4(\sqrt{c})^2)yu", gold).equal
    assert verify(r"yuU\sqrt[5]{U}(\sqrt{\tan(4c)})^2", gold).equal
    gold = r"\sqrt{\ln(a+1)}\sqrt[4]{a}\sqrt{\ln a}|a-2|a"
    assert not verify(r"\sqrt{\ln(a+1)}\sqrt[4]{a}\sqrt{\ln a}(a-2)a", gold).equal


@pytest.mark.parametrize("modulus", ["7^{7^{7^7}}", r"\sum_{k=1}^{100000} k", "2^{1000}!"])
def test_a_modulus_over_the_budget_is_a_limit(modulus):
    assert verify(rf"x \equiv 3 \pmod{{{modulus}}}", r"x \equiv 3 \pmod 5").outcome == "limit"
    assert verify(r"x \equiv 3 \pmod 5", rf"x \equiv 3 \pmod{{{modulus}}}").outcome == "limit"


def test_a_class_of_residues_is_a_value_where_the_question_has_a_modulus():
    assert verify("3 mod 5", "3", question="What is the remainder of 23 divided by 5?").equal
    assert not verify("3 mod 5", "3", question="How many apples are left?").equal
    assert verify("3", r"x \equiv 3 \pmod 5", question=r"Solve $2x \equiv 1 \pmod 5$.").equal


def test_a_case_or_an_opposite_that_the_question_is_about_is_an_answer():
    assert verify("It is 5 when n is even.", "5", question="What is f(n) for even n?").equal
    assert not verify("It is 5 when n is odd.", "5", question="What is f(n) for even n?").equal
    assert verify("the opposite: 5", "5", question="What is the opposite of -5?").equal


@pytest.mark.parametrize(("gold", "answer", "same"), [
    (r"k\pi", r"k\pi i", False), (r"x = i+k\pi", r"x = 2i+k\pi", False), (r"2ik, k \in \mathbb{Z}", r"4ik-2i", False),
    (r"x = 2\pi i k, k \in \mathbb{Z}", r"x = -2\pi i n", True), (r"x = i + k\pi", r"x = i + \pi - n\pi", True),
    (r"x = \ln 2 + 2\pi i k, k \in \mathbb{Z}", r"x = \ln 2 - 2\pi i n", True),
])  # fmt: skip
def test_complex_numbers_for_every_integer_are_compared(gold, answer, same):
    assert verify(answer, gold).equal == same


def test_a_remembered_verdict_counts_for_its_question_and_its_rules_alone():
    assert verify("0,5", "0.5", question="Wie viel? Rechne mit 1,5 Euro.").equal
    assert not verify("0,5", "0.5").equal
    assert verify("5 kg", "5", equality=Equality(units="ignored")).equal
    assert not verify("5", "5 kg", equality=Equality(units="required")).equal
    assert verify("5", "5 kg").equal


def test_computer_algebra_is_asked_however_often_a_pair_was_left_undecided():
    asked = []

    def tail(gold, answer):
        asked.append(answer)
        return EqualityResult("equal", "by hand")

    gold, answer = r"\int_0^1 x^2 dx", r"\boxed{1/3}"
    assert verify(answer, gold).outcome == "undecided"
    assert verify(answer, gold, tail=tail).equal
    assert verify(answer, gold).outcome == "undecided"
    assert asked
