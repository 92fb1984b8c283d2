"""Other names of the same thing: those of the tables count, near misses don't, nor a name that the question gave."""

import json
from pathlib import Path

import pytest

import verikit
from tests.answers import country_names
from verikit.answers import aliases, verify
from verikit.answers.aliases import Aliases
from verikit.answers.extra.elements import NAMES, SYMBOLS
from verikit.errors import SpecError, UsageError
from verikit.mcp.rules import allowed_spec
from verikit.types import Sample

TABLES = [
    (name, others)
    for file in ("countries.json", "short_names.json")
    for name, others in json.loads((Path(aliases.__file__).parent / file).read_text("utf-8")).items()
]
FORMS = ("{}", r"\boxed{{{}}}", "The answer is {}.", "**{}**")


def is_right(gold, answer, question="", **options):
    verdicts = {verify(form.format(answer), gold, question=question, **options).equal for form in FORMS}
    assert len(verdicts) == 1, "the form of a reply decides"
    return verdicts.pop()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("World War I", "WWI"), ("World War II", "Second World War"), ("World War II", "World War Two"),
        ("United States", "USA"), ("the United States of America", "the U.S."), ("Germany", "Deutschland"),
        ("Germany", "德国"), ("Czech Republic", "Czechia"), ("Ivory Coast", "Côte d'Ivoire"), ("Myanmar", "Burma"),
        ("January", "Jan"), ("September", "Sept."), ("iron", "Fe"), ("sodium", "Na"), ("aluminium", "aluminum"),
        ("oganesson", "Og"), ("water", "H_2O"), ("DNA", "deoxyribonucleic acid"), ("UN", "United Nations"),
        ("NYC", "New York City"), ("m/s", "meters per second"), ("kg", "kilograms"), ("km/h", "kilometres per hour"),
        ("m/s^2", "metres per second squared"), ("°C", "degrees Celsius"),
    ],
)  # fmt: skip
def test_another_name_of_the_same_thing_is_right_both_ways(one, other):
    assert is_right(one, other)
    assert is_right(other, one)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("World War I", "WWII"), ("World War I", "World War Two"), ("United States", "us"), ("Niger", "Nigeria"),
        ("Guinea", "Guinea-Bissau"), ("Guinea", "Equatorial Guinea"), ("Dominica", "Dominican Republic"),
        ("Republic of the Congo", "Democratic Republic of the Congo"), ("South Korea", "DPRK"),
        ("Sudan", "South Sudan"),
        ("Austria", "Australien"), ("China", "Republic of China"), ("Ireland", "Northern Ireland"),
        ("United Kingdom", "England"), ("World Health Organization", "who"), ("Mars", "March"), ("tin", "Ti"),
        ("cobalt", "CO"), ("carbon monoxide", "Co"), ("potassium", "P"), ("newton meter", "joule"), ("kg", "grams"),
        ("m/s", "meters per second squared"), ("km/h", "miles per hour"), ("RNA", "deoxyribonucleic acid"),
        ("March", "May"), ("June", "Jul"), ("Tuesday", "Thu"),
    ],
)  # fmt: skip
def test_a_near_miss_is_wrong_both_ways(gold, answer):
    assert not is_right(gold, answer)
    assert not is_right(answer, gold)


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        ("What is the chemical symbol of the metal with 11 protons?", "Na", "sodium"),
        ("What does DNA stand for?", "deoxyribonucleic acid", "DNA"),
        ("What is the usual abbreviation?", "UN", "United Nations"),
        ("What do Germans call Germany?", "Deutschland", "Germany"),
        ("In which war, WWI or WWII, was it used?", "First World War", "WWI"),
    ],
)
def test_a_question_that_asks_for_one_name_or_gives_it_takes_no_other(question, gold, answer):
    assert not is_right(gold, answer, question)
    assert is_right(gold, gold, question)


def test_a_symbol_of_one_letter_or_one_that_is_a_word_counts_where_elements_are_asked_for():
    asked = "Which element has this spectrum?"
    assert is_right("tungsten", "W", asked)
    assert not is_right("tungsten", "W")
    assert is_right("He", "helium", asked)
    assert not is_right("He", "helium", "Who wrote it?")


def test_a_symbol_of_a_unit_of_one_letter_counts_where_units_are_asked_for():
    assert is_right("newton", "N", "What is the SI unit of force?")
    assert not is_right("newton", "N", "Who found the law?")


def test_options_of_a_question_are_told_apart_by_their_own_names():
    options = ["USA", "United States"]
    assert not verify("The answer is (B).", "USA", options=options).equal


def test_names_of_the_tables_mean_one_thing():
    """No name of two countries; a name of two things helps none where it is the gold."""
    shipped = aliases._shipped()
    for name, others in TABLES:
        clear = [other for other in (name, *others) if shipped.same(other, other)]
        assert name in clear
        for other in clear:
            assert shipped.same(name, other), (name, other)
            assert shipped.same(other, name), (name, other)
    heads = [name for name, _ in TABLES]
    for name, others in TABLES:
        for other in (name, *others):
            assert [head for head in heads if shipped.same(head, other)].count(name) == 1
            assert all(head == name or not shipped.same(other, head) for head in heads), other


def test_the_table_of_elements_is_whole():
    assert len(SYMBOLS) == len(NAMES) == len(set(SYMBOLS)) == len(set(NAMES)) == 118


def test_the_countries_are_those_of_the_script():
    pytest.importorskip("babel")
    assert country_names.FILE.read_text("utf-8") == country_names.text()


def test_a_users_file_adds_names_and_false_takes_no_other_name(tmp_path):
    file = tmp_path / "names.json"
    file.write_text(json.dumps({"Robert Zimmerman": ["Bob Dylan"]}))
    sample = Sample(completion=r"\boxed{Bob Dylan}", answer="Robert Zimmerman")
    war = Sample(completion=r"\boxed{WWI}", answer="World War I")
    own = verikit.load(f"answer(aliases={str(file)!r})")
    assert [score.value for score in own.score([sample, war])] == [1.0, 1.0]
    assert [score.value for score in verikit.load("answer").score([sample, war])] == [0.0, 1.0]
    assert [score.value for score in verikit.load("answer(aliases=False)").score([sample, war])] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "must be JSON"),
        ("[1]", "must be an object"),
        ('{"a": "b"}', "'a' needs a list"),
        ("[" * 10_000, "must be JSON"),
    ],
)
def test_a_file_of_names_that_cannot_be_used_is_told(tmp_path, text, problem):
    file = tmp_path / "names.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        verikit.load(f"answer(aliases={str(file)!r})")
    with pytest.raises(UsageError, match="can't be read"):
        Aliases.read(str(tmp_path / "missing.json"))


@pytest.mark.parametrize(
    "spec",
    [
        "answer(aliases='/etc/passwd')",
        "math(aliases='x.json')",
        "all_of(answer(**{'aliases': 'x.json'}))",
        "answer('strict', 'last', 'optional', True, True, 'typed', 'gold', 0.0, 'zero', 0.2, 'x.json')",
    ],
)
def test_a_client_of_a_server_names_no_file_of_names(spec):
    with pytest.raises(SpecError):
        allowed_spec(spec, {})
    assert allowed_spec("answer(aliases=False)", {})
