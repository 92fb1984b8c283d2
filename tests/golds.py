"""Golds of every kind, no two of which mean the same: what is right for one of them is wrong for all others.

Documented pairs are left out by construction: a bare number is right for that number of any unit, for that many percent
and for `x =` it, a decimal gold takes what rounds to it, and a bare list is right for a tuple of its items.
"""

MATHS = [
    "0", "1", "-1", "2", "-2", "7", "17", "42", "-42", "81", "1000", "1234567", "10^{15}", "10^{15}+1",
    r"\frac{1}{3}", r"\frac{3}{4}", r"-\frac{3}{4}", "0.125", "2.71", "12.50", r"3\frac{2}{5}", r"\frac{22}{7}",
    r"\pi", r"2\pi", r"\sqrt{2}", r"-\sqrt{2}", r"3\sqrt{5}", "e", r"e^2", "i", "3+4i", "3-4i", r"\log_2 5", r"\infty",
    r"-\infty", "x", "y", "x^2+1", "x^2-1", "(x+1)(x+3)", r"\frac{x}{x+2}", r"\sin x", r"\cos x", "2^n", "n!",
    r"\binom{9}{4}",
    "(11,12)", "(13,14,15)", "(15,14,13)", r"\{21,22\}", r"\{23\}", r"\emptyset", "[31,32]", "(33,34]", "[33,34)",
    r"(-\infty,35]", r"(35,\infty)", r"(-\infty,36)\cup(37,\infty)", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
    r"\begin{pmatrix}1&3\\2&4\end{pmatrix}", "y=2x+51", "y=2x-51", "x>61", r"x\ge 61", "x<61", "f(x)=x^3", "x=71",
    "x=72,73",
    r"91\%", r"92^\circ", r"93\text{ cm}", r"94\text{ kg}", r"\$95", "1202_3", "2101_3", "0.\\overline{27}", "-8.5",
    "2:3",  "5!+1", r"\frac{\pi}{7}", r"\alpha", r"|x-3|", r"\lfloor x \rfloor", "10-x", r"\pm 4", "100!",
]  # fmt: skip

TEXTS = [
    "Paris", "London", "New York", "York", "Napoleon Bonaparte", "King Charles", "12 March 1901", "13 March 1901",
    "Isaac Newton", "Albert Einstein", "the Red Sea", "the Black Sea", "three dogs", "four dogs", "John Smith",
    "sodium chloride", "sodium", "World War I", "World War II", "Monday", "Tuesday", "yes", "no", "not guilty",
    "guilty",
]  # fmt: skip

NUMBERS = ["0", "1", "-1", "2", "0.5", "-0.5", "3/7", "1e-9", "1e9", "1,000", "1000000", "12345678901234567890"]

LETTERS = list("ABCDEFGHIJ")

VALUES = [
    None, True, 2, -3, 0.5, -7.25, 10**30, 1e300, 1 + 2j, "", "a", "2", "None", b"a", [], [2], [2, 3], (4,), (4, 5),
    [[6]],
    {}, {"a": 2}, {"a": 3}, {2: "a"}, {"b": [7]}, set(), {8}, {8, 9}, frozenset({10}), [None], [0.25], ["a"], "é" * 50,
]  # fmt: skip
"""Plain values that no `==` of Python's takes for one another."""

FORGERIES = [
    "", " ", "nan", "NaN", "inf", "-inf", r"\infty-\infty", r"0\cdot\infty", r"\frac{0}{0}", "0/0", "1/0", "*", "?",
    "_",
    "any", "all of them", "true", "x", r"\text{any}", r"\mathbb{R}", r"\{\}", "()", "[]", "...", r"\dots", r"\pm 1",
    "whatever", "None", "1e999", "0.0000001", "+-1", "==", r"\square", r"a\ \text{or}\ b", "answer", "the", "A B C D",
    "1 = 2",
]  # fmt: skip
"""What stands for nothing, or might be taken for anything."""

JOINTS = [
    "{0}", "{1}", "{0} or {1}", "{0} and {1}", "{0}, {1}", "{0}; {1}", "{0} = {1}", "{0}/{1}", "{0} ({1})", "{0} {1}",
    r"{0} \text{{ or }} {1}", r"\boxed{{{0}}}\boxed{{{1}}}", r"\boxed{{{0}}} or \boxed{{{1}}}", r"{0} \neq {1}",
    r"{0} \pm {1}", r"{0} \approx {1}", r"\{{{0}, {1}\}}", "({0}, {1})", "[{0}, {1}]", "not {0} but {1}", "{0} | {1}",
    "either {0} or else {1}", "{0}\n{1}", "{0} -> {1}", "between {0} and {1}", "{0} % {1}", "{0}:{1}", "-{0}+{1}",
    r"\begin{{cases}}{0}\\{1}\end{{cases}}", "The answer is {0}. The answer is {1}.", r"\frac{{{0}}}{{{1}}}",
    "{0}_{1}", "{0}^{1}",
    "#### {0} #### {1}", "<answer>{0}</answer><answer>{1}</answer>", "{0} (also known as {1})", "{0} aka {1}",
]  # fmt: skip
"""How two answers are put into one text."""
