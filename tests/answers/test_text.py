import pytest

from verikit.answers import Equality, verify

SAME = [
    ("paris", "Paris"), ("the Unification Church", "Unification Church"), ("8 January 1891", "January 8, 1891"),
    ("Kevin Kuranyi", "Kevin Kurányi"), ("190,000", "190,000 employees"), ("twelve", "12 members"),
    ("Edward II", "King Edward II"), ("Gerald Ford", "Gerald R. Ford"), ("Noel M. Smith", "Noel Mason Smith"),
    ("BBC", "British Broadcasting Corporation (BBC)"), ("Cyndi Lauper", 'Cynthia Ann Stephanie "Cyndi" Lauper'),
    ("Bergen County", "Bergen"), ("Nairobi", "Nairobi, Kenya"), ("1520", "from around 1520"), ('"Macbeth"', "Macbeth"),
    ("circle and line segment", "line segment, circle"), (r"\text{odd}", "odd"), ("USS Monitor", 'USS "Monitor"'),
    ("The capital of France is Paris", "capital of france is paris"), (r"\textbf{Evelyn}", r"\text{Evelyn}"),
]  # fmt: skip
OTHER = [
    ("London", "Paris"), ("not Paris", "Paris"), ("yes", "no"), ("May 2011", "2011"), ("3 June 2016", "3 December"),
    ("23 January 1348", "24 January 1348"), ("-Yes", "Yes"), ("Quebec City", "Quebec"), ("Anne Smith", "Ann Smith"),
    ("64 pages", "128 pages"), ("Mac OS X Snow Leopard", "Mac OS X 10.3"), ("Paris or London", "Paris"), ("", "Paris"),
    ("George W. Bush", "George Bush Intercontinental"), ("5 million", "5"), ("the correct answer", "Paris"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), SAME)
def test_texts_that_say_the_same_match(answer, gold):
    assert verify(answer, gold).equal


@pytest.mark.parametrize(("answer", "gold"), OTHER)
def test_texts_that_say_something_else_do_not(answer, gold):
    assert not verify(answer, gold).equal


FORMULAS = ["velocity/time", "velocity*time", "velocity + time", "velocity = time", "velocity^time", "velocity > time"]


@pytest.mark.parametrize("gold", FORMULAS)
@pytest.mark.parametrize("answer", FORMULAS)
def test_formulas_of_words_differ_by_their_operators(answer, gold):
    assert verify(answer, gold).equal == (answer == gold)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("velocity / time", "velocity/time"), ("Velocity ÷ Time", "velocity/time"), ("force × area", "force * area"),
        ("input-output", "input/output"), ("the **red** *house*", "the red house"), ("A *red* house", "a red house"),
        ("mass*acceleration", "mass·acceleration"),
    ],
)  # fmt: skip
def test_words_with_the_same_operators_match(answer, gold):
    assert verify(answer, gold).equal


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("Boise, Idaho", "Boise", True), ("Sergei Prokofiev's Montagues and Capulets", "Montagues and Capulets", True),
        ("southern California", "California", True), ("not California", "California", False),
        ("1348", "23 January 1348", False),
        ("Pippa and Piper", "Piper", False), ("London", "Paris", False),
    ],
)  # fmt: skip
def test_lenient_texts_may_contain_each_other(answer, gold, same):
    assert verify(answer, gold, equality=Equality(policy="lenient")).equal is same


MARKS = [
    ("loss of 3 %", "a loss of 3 %", ["a loss of -3 %", "a loss of 3.5 %"]),
    ("moved -2 steps left", "moved −2 steps left", ["moved 2 steps left", "moved +2 steps left"]),
    ("the line where x = 4 meets it", "the line where x = 4 meets it", ["the line where x = -4 meets it"]),
    ("the point (-1, 2) on the curve", "the point (−1, 2) on the curve", ["the point (1, 2) on the curve"]),
    ("about 3 x 10^5 stars", "about 3 x 10^5 stars", ["about 3 x 10^-5 stars", "about 3 x 10^6 stars"]),
    ("C sharp minor", "C♯ minor", ["C minor", "C flat minor", "D sharp minor"]),
    ("F# major", "F sharp major", ["F major", "F flat major"]),
    ("B♭ minor", "B flat minor", ["B minor", "B# minor"]),
    ("at least 3 people", "at least 3 people", ["3 people", "at most 3 people"]),
    ("1990-1995 in Rome", "1990–1995 in Rome", ["1990 in Rome"]),
    ("state-of-the-art model", "state of the art model", ["art model"]),
    ("(R)-2-butanol", "(R)-2-butanol", ["(S)-2-butanol", "R"]),
    ("near Ottawa", "near Ottawa", ["Ottawa"]),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "same", "others"), MARKS)
def test_signs_and_marks_of_a_text_count(gold, same, others):
    assert verify(same, gold).equal
    assert verify(gold, gold).equal
    assert [other for other in others if verify(other, gold).equal] == []
