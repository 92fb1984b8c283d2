import pytest

from verikit.answers import Equality, check_gold, verify

EQUAL = [
    # numbers
    ("1000.0", "1000"), ("1,000.0", "1000.0"), (r"11,\! 111", "11111"), (r"\frac{5}{2}", "2.5"), ("+320", "320"),
    ("(8)", "8"), ("149^{1}", "149"), (r"\frac{-16}{65}", r"-\frac{16}{65}"), (r"1.080\times 10^{3}", "1080"),
    ("3 1/2", r"\frac{7}{2}"), (r"918\frac{1}{2}", "918.5"), ("0.111", "0,111"), (r"\frac{9}{96}", r"\frac{3}{32}"),
    ("10!", "3628800"), (r"0.\overline{3}", r"\frac13"), ("10^{20}+1", "100000000000000000001"),
    # roots and functions
    (r"\sqrt{117}", r"3\sqrt{13}"), ("22^{1/2}", r"\sqrt{22}"), (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt6}"),
    (r"\frac{1}{\sqrt[3]{4}}", "2^{-2/3}"), (r"\log_2 8", "3"), (r"e^{i\pi}", "-1"), (r"\arctan 1", r"\frac{\pi}{4}"),
    (r"\cos 75^\circ", r"\frac{\sqrt6-\sqrt2}{4}"), (r"\gcd(2.4, 3.6)", r"\frac65"), (r"\max(7.1, 9)", "9"),
    # expressions
    ("x^2+2x+1", "(x+1)^2"), (r"\sin^2 x + \cos^2 x", "1"), (r"\ln x^2", r"2 \ln x"), ("n + 1", "k=n+1"),
    (r"\frac{x^{60}-y^{60}}{x-y}", r"\sum_{k=0}^{59}x^{k}y^{59-k}"), ("2^{n+1}", r"2\cdot 2^n"),
    (r"\dfrac{\dbinom{d}{k} (k - 1)!}{2}", r"\frac{d !}{2 k(d-k) !}"), (r"\frac{11+9a}{20}", r"\frac{9a+11}{20}"),
    # huge, by structure
    ("2^{2^{2^{100}}}", "2^{2^{2^{100}}}"), (r"\frac{2004}{2004!}", r"\frac{1}{2003!}"),
    ("3^{2005}", r"3\cdot 3^{2004}"),
    # equations and inequalities
    ("x=5", "5"), ("5", "x=5"), ("25=n", "n=25"), (r"y=-\frac{1}{2}x+\frac{3}{4}", "2x+4y-3=0"), ("f(x)=x", "f(z)=z"),
    ("x <= 2", r"x \leq 2"), (r"-a-b < -2", "a+b>2"), (r"x \neq 3", "x != 3"), ("1", "A:B=1"), ("2+2=4", "4"),
    (r"\frac{\sqrt2}{2}", r"x=y=z=\frac{\sqrt{2}}{2}"), (r"[0,\infty)", r"a \ge 0"), ("(-4, 0]", r"-4<m\leq0"),
    (r"(-\infty, -2] \cup \{1\}", r"a \leqslant -2 \text{ or } a = 1"), ("2x+1<5", "x<2"),
    (r"\sqrt3\csc t", r"r\sin t=\sqrt3"),
    # collections
    ("1,2", "2,1"), (r"6 \text{ and } 8", "8, 6"), ("(1,2)", r"\left( 1, 2 \right)"), ("1,2,3,4", r"\{4,3,2,1\}"),
    ("3+2\\sqrt2, 3-2\\sqrt2", r"3 \pm 2\sqrt{2}"), ("x=1000, y=10", "10^3, 10"), ("Max = 2, Min = 1", "1,2"),
    (r"(\pm 1, 0)", "(1,0),(-1,0)"), ("(p,q)=(3,2)", "(3,2)"), (r"\{1,2\} \cup \{3\}", r"\{1,2,3\}"),
    (r"[0,1]\setminus\{0.5\}", r"[0,0.5)\cup(0.5,1]"), ("(-2, 3)", r"\{x|-2<x<3\}"), ("3 < t \\le 4", "(3,4]"),
    (r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}"),
    (r"\begin{pmatrix}1&2\end{pmatrix}+\begin{pmatrix}3&4\end{pmatrix}", r"\begin{pmatrix}4&6\end{pmatrix}"),
    (r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", "-2"), ("x_1=3, x_2=-2", "x_1=-2, x_2=3"), ("3:1", "3"), ("2:4", "1:2"),
    # units
    ("110 \\text{ units}", "110"), ("864", r"864 \mbox{ inches}^2"), ("500 cm", r"5 \text{ m}"), ("$148", "148"),
    ("1 hour", "60 minutes"), ("28 percent", r"28\%"), ("0.33", r"33\%"), ("33", r"33\%"), ("45", r"45^\circ"),
    (r"135^\circ", r"\frac{3\pi}{4}"), ("60 degrees", r"60^\circ"), ("1680 cm", "1680"), (r"\frac{1}{15}", r"6.67\%"),
    (r"1\cdot(12\mathrm{~min})", r"12 \mathrm{~min}"), ("2516", "2516_8"), (r"\frac{542}{3}", "180.67"),
]  # fmt: skip
DIFFERENT = [
    ("5", "5.001"), ("0.3", r"\frac13"), ("3.1", r"\pi"), ("4.0", r"\frac{255}{64}"), ("10^{20}", "10^{20}+1"),
    ("86.01", "86"), (r"2\sqrt{13}", r"\sqrt{13}"), (r"5\sqrt[3]{21}", r"5\sqrt{21}"), (r"\sqrt{990}", "990"),
    (r"\arctan(10^{50})", r"\frac{\pi}{2}"), (r"e^{\pi\sqrt{163}}", "262537412640768744"),
    ("2^{2^{2^{99}}}", "2^{2^{2^{100}}}"),
    (r"\sqrt{x^2}", "x"), ("x^3+2x+1", "x^2+2x+1"), (r"\lfloor m/3 \rfloor", r"\lfloor m/2 \rfloor"), ("-(x)", "x"),
    ("x", "y"), ("0", "a^2+b=0"), ("1", "2x+z=1"), ("x > -1", "x < 1"), ("-a-b>-2", "a+b>2"), ("x<=5", "x>=5"),
    ("2,1", "(1,2)"), (r"\{1,3\}", "(3,1)"), ("1", "1,-1"), ("1, 2, 1009", "1,2"), ("(0,1)", "[0,1]"),
    ("[0,1)", "[0,9)"),
    (r"7 \text{ or } 8", "7"), ("700%", "7%"), ("5 cm", "5 m"), ("60^\\circ", r"C = \frac{2\pi}{3}"), ("15", "15,600"),
    ("1 = 2 = 4", "4"), ("f(x)=x", "f(x)=2x"), ("x=5", "y=5"), (r"\frac{1}{0}", "1"), ("20:7", "6.67"),
    (r"\begin{pmatrix}7&1\\-1&3\end{pmatrix}", r"\begin{pmatrix}-1&3\\7&1\end{pmatrix}"),
    ("P(1)=2, P(3)=4", "P(1)=2, P(2)=4"),
    ("1, 2", r"\text{No solution}"), ("16", "15th Day"), ("", "5"), ("5", "Paris"), (r"\cos(4\pi)=0", "0"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), EQUAL)
def test_equal_answers_match_in_a_box_and_bare(answer, gold):
    assert verify(answer, gold).equal
    assert verify(f"So the answer is $\\boxed{{{answer}}}$.", gold).equal


@pytest.mark.parametrize(("answer", "gold"), DIFFERENT)
def test_different_answers_do_not_match(answer, gold):
    assert not verify(answer, gold).equal
    assert not verify(f"So the answer is $\\boxed{{{answer}}}$.", gold).equal


@pytest.mark.parametrize(
    ("answer", "gold", "option", "strict", "loose"),
    [
        ("5", r"5 \text{ m}", {"units": "required"}, True, False),
        ("5 cm", r"5 \text{ m}", {"units": "ignored"}, False, True),
        ("0.05", r"5\%", {"percent": False}, True, False),
        ("x=5", "5", {"assignment": False}, True, False),
        ("2,1", "1,2", {"order": "ordered"}, True, False),
        ("(2,1)", "(1,2)", {"order": "unordered"}, False, True),
        (r"\frac{542}{3}", "180.67", {"rounding": "off"}, True, False),
        ("3.1416", r"\pi", {"tolerance": 1e-3}, False, False),
        ("100.05", "100", {"tolerance": 1e-3}, False, True),
        ("the Eiffel Tower in Paris", "Eiffel Tower", {"policy": "lenient"}, False, True),
    ],
)
def test_each_option_decides_what_it_says(answer, gold, option, strict, loose):
    assert verify(answer, gold).equal is strict
    assert verify(answer, gold, equality=Equality(**option)).equal is loose


def test_any_of_several_golds_is_enough():
    assert verify("7", ["5", "7"]).equal
    assert not verify("6", ["5", "7"]).equal
    assert verify("7", ["", "7"]).equal


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("8 bytes", "8 bytes", True),
        ("8 kilobytes", "8000 bytes", True),
        ("8 bytes", "8 lumens", False),
        ("2 candelas", "2 candelas", True),
        ("2 cd", "3 candelas", False),
    ],
)
def test_units_whose_dimension_has_a_name_of_several_letters_are_read(answer, gold, same):
    assert verify(answer, [gold]).equal == same


@pytest.mark.parametrize("gold", ["", "  ", r"\frac{1}{0}", "9" * 20_000])
def test_a_bad_gold_is_no_verdict_on_the_answer(gold):
    assert check_gold(gold)
    assert verify("5", gold).outcome == "bad gold"


@pytest.mark.parametrize("gold", ["5", r"\text{(A)}", "Paris", r"x \in \mathbb{R}", r"\int_0^1 x dx", "185\\"])
def test_a_usable_gold_has_no_problem(gold):
    assert check_gold(gold) is None
    assert verify(gold, gold).equal


def test_outcomes_are_told_apart():
    assert verify(r"\int_0^1 x^2 dx", r"\frac13").outcome == "undecided"
    assert verify(r"\boxed{\sum_{k=1}^{10^{12}} \frac{1}{k}}", r"\frac13").outcome == "limit"
    assert verify("(" * 300 + "1" + ")" * 300, "1").outcome == "limit"


def test_a_verdict_shows_extraction_trees_rule_and_stage():
    text = str(verify(r"so it is \boxed{\sqrt{8}}", r"2\sqrt2"))
    assert "answer: \\sqrt{8}" in text
    assert "found in: box" in text
    assert "answer tree: pow(8, 1/2)" in text
    assert "stage: modular" in text
    assert "not understood" in str(verify("the tower of x", "x+1"))
