import pytest

from verikit.answers.parser import parse
from verikit.answers.parser.tree import Node, NotMath, TooBig, from_json, num, show, to_json


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (r"\frac12", "div(1, 2)"),
        (r"\frac\pi4", "div(pi, 4)"),
        (r"{17 \over 2}", "div(17, 2)"),
        ("3 1/2", "add(3, div(1, 2))"),
        (r"-3\frac{1}{4}", "neg(add(3, div(1, 4)))"),
        (r"2\frac{3}{2}", "mul(2, div(3, 2))"),
        ("5√2", "mul(5, pow(2, 1/2))"),
        (r"\sqrt[3]{x}", "pow(x, 1/3)"),
        ("x² + 1", "add(pow(x, 2), 1)"),
        (r"\sin^{-1} x", "fn(arcsin, x)"),
        (r"\sin 2x \cos y", "mul(fn(sin, mul(2, x)), fn(cos, y))"),
        (r"\log_2 8", "div(fn(ln, 8), fn(ln, 2))"),
        ("2^{3^2}", "pow(2, pow(3, 2))"),
        ("n!", "fact(n)"),
        (r"\binom{5}{2}", "fn(binom, 5, 2)"),
        (r"\lfloor x \rfloor", "fn(floor, x)"),
        ("|x-2|", "fn(abs, add(x, neg(2)))"),
        ("1,234,567", "1234567"),
        (r"1,\!234", "1234"),
        ("1{,}234", "1234"),
        ("1 000 000", "1000000"),
        ("(1,234)", "tuple(1, 234)"),
        (r"0.\overline{3}", "1/3"),
        ("1.50", "3/2:2d"),
        ("1.5e-3", "3/2000:1d"),
        ("2516_8", "based(1358, 2516, 8)"),
        ("x=1, y=2", "list(rel([=], x, 1), rel([=], y, 2))"),
        (r"5 \text{ or } 7", "list(5, 7)"),
        (r"1 \pm \sqrt{2}", "pm(1, pow(2, 1/2))"),
        (r"(2,3]\cup[5,\infty)", "union(interval(2, 3, False, True), interval(5, inf, True, False))"),
        (r"]1,2[", "interval(1, 2, False, False)"),
        (r"\{1,2\}", "set(1, 2)"),
        (r"\{x \mid x>0\}", "builder(x, [rel([>], x, 0)])"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "matrix([1, 2], [3, 4])"),
        (r"a \neq 3", "rel([!=], a, 3)"),
        ("3:1", "ratio(3, 1)"),
        ("50%", "pct(50)"),
        ("28 percent", "pct(28)"),
        (r"60^\circ", "deg(60)"),
        ("60 degrees", "deg(60)"),
        ("Maximum = 2", "2"),
        ("f(x)=x", "rel([=], apply(f, x), x)"),
        (r"x_{1}", "x_1"),
        ("xy", "mul(x, y)"),
        (r"\sum_{k=1}^{n} k", "sum(k, 1, n, k)"),
        (r"\int_0^1 x\,dx", "int(x, 0, 1, x, True)"),
        (r"\int \frac{3 dz}{z}", "int(z, 0, 0, div(3, z), False)"),
        (r"\lim_{x \to 0^-} x", "lim(x, 0, -, x)"),
        (r"\frac{d}{dx} x^2", "deriv(x, 1, pow(x, 2))"),
        ("3×4", "mul(3, 4)"),
        ("–7", "neg(7)"),
        ("x≥2", "rel([>=], x, 2)"),
        ("𝟒𝟐", "42"),
    ],
)
def test_each_spelling_is_read_as_what_it_means(text, tree):
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    "text",
    [
        "Paris", "the lake trip", "x is 5", "1 2", "()", r"\frac{}{}", r"\frac{1}{2", "1/", "(1,2", r"\unknown{3}",
        "sys.exit(1)", "__import__('os')", "$", "", "MAKE", "3 December", "not 5", "5 is wrong", "1+", "=",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_never_half_read(text):
    with pytest.raises(NotMath):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["(" * 500 + "1" + ")" * 500, r"\sqrt{" * 200 + "2" + "}" * 200, "1+" * 4000 + "1", "9" * 5000, "x" * 20_000,
     "-" * 9_000 + "1", r"\text{" * 50 + "a" + "}" * 50, "1=" * 60 + "1"],
)  # fmt: skip
def test_caps_come_before_work(text):
    with pytest.raises(TooBig):
        parse(text)


def test_units_know_what_they_measure():
    metres, inches = parse(r"5 \text{ m}"), parse(r"864 \mbox{ inches}^2")
    assert metres.op == "qty"
    assert metres.args[1].dimension == (("m", 1),)
    assert inches.args[1].dimension == (("m", 2),)
    assert parse("40 km/h").args[1].dimension == (("m", 1), ("s", -1))
    assert parse("3 apples").args[1].dimension == ()


def test_a_tree_survives_json():
    for text in (r"\frac{x^2}{3}", r"(1.5, 2]", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\int_0^1 x dx"):
        tree = parse(text)
        assert from_json(to_json(tree)) == tree


def test_show_is_cut():
    assert len(show(Node("list", tuple(num(k) for k in range(900))))) <= 400
