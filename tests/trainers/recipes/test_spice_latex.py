"""LaTeX in a Challenger's JSON, expressions as answers, labels of options, and restated formulas."""

import contextlib
import json
import random
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verikit.trainers.recipes.spice.checks import TypedEquality, check
from verikit.trainers.recipes.spice.expressions import is_expression
from verikit.trainers.recipes.spice.formats import InvalidQuestion, last_object, parse_free_form, parse_mcq, shuffled
from verikit.trainers.recipes.spice.latex import COMMANDS, mended
from verikit.trainers.recipes.spice.options import SpiceOptions

WORDS = st.sampled_from(["Let x", "the sum", "If n", "holds", "Find a", "so that", "item b", "of form", "rules"])
PIECES = st.one_of(
    st.sampled_from(sorted(COMMANDS)).map(lambda name: f"\\{name}{{a}}"),
    st.sampled_from(sorted(COMMANDS)).map(lambda name: f"\\{name} "),
    st.sampled_from(["\\{", "\\}", "\\,", "\\;", "\\!", "\\%", "\\$", "\\(", "\\)", "\\[", "\\]", "\\|", "\\ "]),
    st.sampled_from([r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{cases}x\\-x\\\frac{1}{2}\end{cases}"]),
    st.sampled_from(["1", "x", "x^2", "+", " = ", "{", "}", "_1", " ", '"', "/", "é", "∑", ", "]),
    WORDS.map(lambda text: f" {text} "),
)
FORMULAS = st.lists(PIECES, min_size=1, max_size=12).map("".join)


def raw(text):
    """A string of JSON by somebody who doubles no backslash."""
    return '"' + text.replace('"', '\\"').replace("\n", "\\n") + '"'


@given(FORMULAS, st.booleans())
@example("\\frac{1}{2}", True)
@example("a\\!\\ni b", False)
@example("\\theta \\neq \\rho", False)
@example("\\underline{a} \\uparrow", False)
@example("\\begin{cases}a\\\\b\\end{cases}", False)
def test_latex_is_the_same_text_written_with_single_and_with_doubled_backslashes(formula, thoughts):
    before = "By \\frac{1}{2} {and} \\n we see\n" if thoughts else ""
    escaped = f'{before}{{"question": {json.dumps(formula)}, "quotes": [{json.dumps(formula)}]}}'
    single = f'{before}{{"question": {raw(formula)}, "quotes": [{raw(formula)}]}}'
    meant = {"question": formula, "quotes": [formula]}
    assert last_object(escaped) == meant
    if not formula.endswith("\\"):
        assert last_object(single) == meant


@given(st.text(st.characters(codec="utf-8"), max_size=60), st.lists(WORDS, min_size=2, max_size=5))
def test_json_of_texts_without_latex_is_left_as_it_is(text, lines):
    text = text.translate(dict.fromkeys(map(ord, "\\\n\r\t\b\f"), " "))
    row = {"question": text + "\n".join(lines) + "\n\n\tA) 1\r\nB) 2"}
    assert json.loads(mended(json.dumps(row))) == row
    assert json.loads(mended(json.dumps(row, ensure_ascii=False))) == row


@pytest.mark.parametrize("letter", "nrt")
def test_who_doubles_backslashes_means_the_end_of_a_line(letter):
    control = {"n": "\n", "r": "\r", "t": "\t"}[letter]
    for name in (name for name in COMMANDS if name.startswith(letter)):
        text = f"so \\frac{{1}}{{2}}:{control}{name[1:]} follows"
        assert last_object(json.dumps({"question": text})) == {"question": text}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"\frac{1}{2}", "\\frac{1}{2}"),
        (r"\\frac{1}{2}", "\\frac{1}{2}"),
        (r"\beta \bar{x} \boxed{1}", "\\beta \\bar{x} \\boxed{1}"),
        (r"\nabla f \neq \rho \to \tan\theta", "\\nabla f \\neq \\rho \\to \\tan\\theta"),
        (r"x\ne y, $\nu$, (\nu)", "x\\ne y, $\\nu$, (\\nu)"),
        (r"Which hold?\ni) one\nii) two\niii) all", "Which hold?\ni) one\nii) two\niii) all"),
        (r"Parts:\na) x\nb) y\ne) z", "Parts:\na) x\nb) y\ne) z"),
        (r"Who?\nA) \pi\nB) \tau\nC) 1\nD) 2", "Who?\nA) \\pi\nB) \\tau\nC) 1\nD) 2"),
        (r"\nevery day\nthe sun\ttomorrow\rrain", "\nevery day\nthe sun\ttomorrow\rrain"),
        (r"caf\u00e9 \u2211 \underline{a} \uparrow", "café ∑ \\underline{a} \\uparrow"),
        (r"say \"yes\" and\/or \"no\"", 'say "yes" and/or "no"'),
        (r"a form feed \f and \b alone", "a form feed \f and \b alone"),
        (r"C:\\new\\table", "C:\\new\\table"),
        (r"\\theta lies below\nnu", "\\theta lies below\nnu"),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
        (r"\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
        (r"\\{1, 2\\}", "\\{1, 2\\}"),
    ],
)
def test_escapes_are_read_as_they_were_meant(written, meant):
    assert last_object(f'{{"question": "{written}"}}') == {"question": meant}


def test_a_raw_fraction_is_a_gold_that_its_answer_equals_and_a_quote_that_the_document_holds():
    document = r"The mean is \frac{a+b}{2}, and \theta lies between \neg p and \sqrt{2}."
    reply = (
        r'{"question": "What is half of 1?", "answer": "\frac{1}{2}", "answer_type": "Expression", '
        r'"relevant_quotes": ["The mean is \frac{a+b}{2}", "\theta lies between \neg p"]}'
    )
    question = parse_free_form(reply, "Expression")
    check(question, document, SpiceOptions())
    assert TypedEquality().score(question, r"\boxed{0.5}").value == 1.0
    assert TypedEquality().score(question, r"\boxed{0.6}").value == 0.0
    wrong = parse_free_form(reply.replace("a+b", "a-b"), "Expression")
    with pytest.raises(InvalidQuestion, match="quotes"):
        check(wrong, document, SpiceOptions())


def test_hostile_backslashes_cost_little():
    for text in ("\\" * 99_999, '{"a": "' + "\\n" * 40_000 + '"}', "\\begin{" * 14_000, '{"' + "\\u12" * 20_000):
        with contextlib.suppress(InvalidQuestion):
            last_object(text)
        assert len(mended(text)) <= 3 * len(text)


@pytest.mark.parametrize(
    "text",
    [
        "x^2+1", r"\frac{a}{b}", "2πr", r"2\pi r", "x**2 + 1", "1/2", "0.5", "y = 2x+1", "(1, 2)", "[0, 1)", "sin(x)",
        r"\{1,2\}", "n log n", "O(n^2)", "5 kg", "3 square meters", r"\int_0^1 x dx", "n!", r"v_{\text{max}}^2/2",
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "rho g h", "mgh", "sin alpha cos beta", r"90^\circ", "x=1 or x=2", "a",
        "velocity/time", "distance / time", "force = mass × acceleration", "mass*speed^two", "2 sqrt 3", "lim x",
    ],
)  # fmt: skip
def test_expressions_are_mathematics_that_equals_itself(text):
    assert is_expression(text)
    row = json.dumps({"question": "What?", "answer": text, "answer_type": "Expression"})
    question = parse_free_form(row, "Expression")
    assert TypedEquality().score(question, rf"\boxed{{{text}}}").value == 1.0


@pytest.mark.parametrize("reply", ["time / distance", "distance * time", "distance", "distance / time / time"])
def test_a_formula_of_words_is_compared_by_its_words_and_operators(reply):
    row = json.dumps({"question": "What?", "answer": "distance / time", "answer_type": "Expression"})
    question = parse_free_form(row, "Expression")
    assert TypedEquality().score(question, rf"\boxed{{{reply}}}").value == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "the red house on the hill", "red house", "red", r"\text{red}", r"\text{red house}", "Maria Vant", "is it",
        "hill-climbing", "x^2 +", "(((", r"\frac{1}", "n/a", "unknown", "yes", "mass times speed", "1/0",
        "a cat", "x cat", "a dog b", "a+b cats", "and/or", "red house/tree", "velocity/", "/time", "well-known",
    ],
)  # fmt: skip
def test_words_and_broken_formulas_are_no_expressions(text):
    assert not is_expression(text)
    with pytest.raises(InvalidQuestion, match="expression"):
        parse_free_form(json.dumps({"question": "?", "answer": text, "answer_type": "Expression"}), "Expression")


def choice(labels, gold, before="Who built it?", options=("Berg", "Vant", "Ruhm", "Lind")):
    lines = "".join(f"\n{label} {option}" for label, option in zip(labels, options, strict=True))
    row = {"identified_answer": "x", "multiple_choice_question": before + lines, "multiple_choice_correct": gold}
    return json.dumps(row)


LABELS = ("{})", "({})", "{}.", "{}:")


@pytest.mark.parametrize("style", LABELS)
@pytest.mark.parametrize("gold", ["B", "(B)", "B)", "B.", "B:"])
def test_options_and_golds_may_be_labelled_in_any_usual_way(style, gold):
    question = parse_mcq(choice([style.format(letter) for letter in "ABCD"], gold))
    assert question.text == "Who built it?\nA) Berg\nB) Vant\nC) Ruhm\nD) Lind"
    assert (question.answer, question.options) == ("B", ("Berg", "Vant", "Ruhm", "Lind"))
    other = shuffled(question, random.Random(1))
    assert other.options["ABCD".index(other.answer)] == "Vant"
    assert [line[3:] for line in other.text.splitlines()[1:]] == [*other.options]


@pytest.mark.parametrize(
    ("labels", "gold"),
    [
        (["A)", "B)", "C.", "D."], "B"),
        (["A)", "C)", "B)", "D)"], "B"),
        (["(A", "(B", "(C", "(D"], "B"),
        (["a)", "b)", "c)", "d)"], "B"),
        (["A", "B", "C", "D"], "B"),
        (["A)", "B)", "C)", "D)"], "(B"),
        (["A)", "B)", "C)", "D)"], "B or C"),
        (["A)", "B)", "C)", "D)"], "((B))"),
        (["A)", "B)", "C)", "D)"], "(E)"),
        (["A)", "B)", "C)", "D)"], "b"),
    ],
)
def test_other_labels_are_invalid(labels, gold):
    with pytest.raises(InvalidQuestion):
        parse_mcq(choice(labels, gold))


def test_a_line_that_begins_like_a_label_is_no_option():
    before = "Who built it?\nA. Smith said:\nU.S. troops did."
    question = parse_mcq(choice([f"{letter})" for letter in "ABCD"], "(C)", before))
    assert question.text.startswith(before)
    assert (question.answer, question.options[2]) == ("C", "Ruhm")


FORMULA = r"\int_0^\infty x^{s-1} e^{-x} dx = \Gamma(s), \sum_{n=1}^\infty \frac{1}{n^s} = \prod_p \frac{1}{1-p^{-s}}"
PROSE = "the engineers measured every arch of the long bridge twice before they let heavy trains cross it in winter"


def asked(text):
    row = {"question": text, "answer": 12, "answer_type": "Integer", "relevant_quotes": ["of the long bridge"]}
    return parse_free_form(json.dumps(row), "Integer")


def test_a_restated_formula_is_no_copy_but_prose_is():
    document, options = f"As known, {FORMULA}. There {PROSE}.", SpiceOptions()
    check(asked(f"Given {FORMULA}, what is s?"), document, options)
    words = PROSE.split()
    check(asked(" ".join(words[:12]) + ", how often?"), document, options)
    check(asked(" ".join(words[:8]) + " and " + " ".join(words[9:]) + ", how often?"), document, options)
    for copied in (
        " ".join(words[:13]),
        " ".join(words[:13]).upper(),
        f"{' '.join(words[:6])} $x^2$ {' '.join(words[6:13])}",
        " ".join(words[:13]).replace(" ", ", "),
    ):
        with pytest.raises(InvalidQuestion, match="copied"):
            check(asked(f"{copied}, how often?"), document, options)


def test_a_page_of_formulas_is_a_copy():
    draw = random.Random(0)
    page = " + ".join(f"{draw.choice(string.ascii_lowercase)}^{draw.randrange(100)}" for _ in range(60))
    with pytest.raises(InvalidQuestion, match="copied"):
        check(asked(f"What is {page}?"), f"{page}. He spoke of the long bridge.", SpiceOptions())
