import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import count_calls
from tests.verifiers.instruction_cases import CAPITAL, CASES, ENGLISH, FRENCH, PROMPT
from verikit import Sample
from verikit.errors import UsageError
from verikit.verifiers.instructions import Instructions, loose_variants, sentences, words
from verikit.verifiers.instructions.language import language
from verikit.verifiers.instructions.repairs import REPAIRED, REPAIRS
from verikit.verifiers.instructions.table import IFBENCH, IFEVAL, INSTRUCTIONS, TRAINING

LANGUAGES = {id for id in INSTRUCTIONS if id.startswith("language:") or "english_" in id}


def judged(reply, *given, **options):
    """The score of a reply under instructions `(id, arguments)`."""
    row = {"instruction_id_list": [id for id, _ in given], "kwargs": [arguments for _, arguments in given]}
    return Instructions(**options)(reply, **row)


@pytest.fixture(autouse=True)
def extras():
    pytest.importorskip("langdetect")
    pytest.importorskip("syllapy")


def test_ids_are_those_of_the_benchmarks():
    assert (len(IFEVAL), len(IFBENCH), len(TRAINING)) == (25, 58, 29)
    assert len(INSTRUCTIONS) == 112 == len(CASES)
    assert CASES.keys() == INSTRUCTIONS.keys()
    assert {id: set(arguments) for id, (arguments, _, _) in CASES.items()} == {
        id: set(instruction.keys) for id, instruction in INSTRUCTIONS.items()
    }


@pytest.mark.parametrize("id", INSTRUCTIONS)
def test_a_reply_that_follows_is_accepted_and_a_near_miss_refused(id):
    arguments, followed, missed = CASES[id]
    right, wrong = judged(followed, (id, arguments)), judged(missed, (id, arguments))
    assert (right.value, right.status, right.parts[id].value) == (1.0, "ok", 1.0)
    assert (wrong.value, wrong.status, wrong.parts[id].value) == (0.0, "ok", 0.0)
    assert wrong.reason == f"0 of 1 followed; not {id}"
    assert right.usage["followed_strict"] == 1
    assert wrong.usage["followed_strict"] == 0


@pytest.mark.parametrize("id", INSTRUCTIONS)
def test_an_argument_that_is_missing_or_of_the_wrong_kind_leaves_the_row_unscored(id):
    for key in INSTRUCTIONS[id].keys:
        for bad in (None, {"a": 1}, [], -1, "", float("nan")):
            score = judged("Any text.", (id, CASES[id][0] | {key: bad}))
            assert (score.value, score.status) == (None, "error"), (key, bad)
            assert key in score.reason


def test_an_unknown_id_leaves_the_row_unscored_and_says_which():
    score = judged("No comma.", ("punctuation:no_comma", {}), ("punctuation:no_commas", {}))
    assert (score.value, score.status) == (None, "error")
    assert "'punctuation:no_commas'" in score.reason


def test_all_instructions_count_and_equal_ids_keep_parts_of_their_own():
    given = (
        ("keywords:word_once", {"keyword": "sea"}),
        ("keywords:word_once", {"keyword": "sky"}),
        ("format:newline", {}),
    )
    score = judged("sea\nsee", *given)
    assert score.value == 0.0
    assert [part.value for part in score.parts.values()] == [1.0, 0.0, 1.0]
    assert list(score.parts) == ["keywords:word_once", "keywords:word_once_2", "format:newline"]
    assert score.reason == "2 of 3 followed; not keywords:word_once_2"
    assert judged("sea\nsee", *given, value="share").value == pytest.approx(2 / 3)
    assert judged("sea\nsky", *given).value == 1.0


def test_loose_forgives_a_first_line_a_last_line_and_asterisks():
    asked = ("detectable_format:json_format", {})
    for reply in ("Sure:\n{}", "{}\nDone.", "Sure:\n{}\nDone.", "Sure:\n**{}**\nDone.", "**{}**"):
        assert judged(reply, asked).value == 0.0
        score = judged(reply, asked, loose=True)
        assert score.value == 1.0
        assert (score.usage["followed_strict"], score.usage["followed_loose"]) == (0, 1)
    assert judged("Sure:\nHere:\n{}", asked, loose=True).value == 0.0
    assert len(loose_variants("a\nb")) == 8


@pytest.mark.parametrize("reply", ["", "  \n", "x" * 200_001])
def test_an_empty_or_very_long_reply_follows_nothing(reply):
    score = judged(reply, ("punctuation:no_comma", {}), loose=True)
    assert (score.value, score.status) == (0.0, "ok")
    assert score.parts["punctuation:no_comma"].value == 0.0


ONE = {
    "instruction_id": ["keywords:word_once", "punctuation:no_comma"],
    "kwargs": [{"keyword": "sea", "N": None}, None],
}
TWO = {"instruction_id_list": ONE["instruction_id"], "kwargs": ONE["kwargs"]}


@pytest.mark.parametrize(
    ("answer", "meta"),
    [
        (None, TWO),
        (None, TWO | {"kwargs": json.dumps(TWO["kwargs"])}),
        (None, {"doc": TWO}),
        (json.dumps([ONE]), {}),
        (repr([ONE]), {}),
        ([repr([ONE])], {}),
        (json.dumps(ONE), {}),
        (repr([json.dumps(ONE)]), {}),
        (None, {"ground_truth": repr([ONE])}),
    ],
    ids=["IFEval", "text", "lm-eval", "JSON", "literal", "list", "object", "nested", "IF-RLVR"],
)
def test_instructions_are_read_in_every_published_form(answer, meta):
    right, wrong = (Instructions().score([Sample("", text, answer, meta=meta)])[0] for text in ("Sea.", "Sea, see."))
    assert (right.value, wrong.value) == (1.0, 0.0)
    assert wrong.reason == "1 of 2 followed; not punctuation:no_comma"


@pytest.mark.parametrize(
    ("answer", "meta"),
    [
        (None, {}),
        ("Paris", {}),
        ("[" * 5000, {}),
        ("{'func_name': 'validate_no_commas'}", {}),
        (None, {"instruction_id_list": []}),
        (None, {"instruction_id_list": 3, "kwargs": [{}]}),
        (None, {"instruction_id_list": ["punctuation:no_comma"], "kwargs": []}),
        (None, {"instruction_id_list": ["punctuation:no_comma"], "kwargs": ["x"]}),
        (None, {"instruction_id_list": ["punctuation:no_comma"], "kwargs": 5}),
        ("__import__('os').getcwd()", {}),
    ],
)
def test_a_row_without_readable_instructions_is_unscored(answer, meta):
    score = Instructions().score([Sample("", "A text.", answer, meta=meta)])[0]
    assert (score.value, score.status) == (None, "error")


def test_numbers_may_have_become_floats_or_texts_on_the_way():
    for n in (2, 2.0, "2"):
        assert judged("1 and 2", ("count:numbers", {"N": n})).value == 1.0
        assert judged("1, 2 and 3", ("count:numbers", {"N": n})).value == 0.0


def test_a_keyword_is_a_pattern_officially_and_a_word_when_repaired():
    for keyword, text, official, repaired in [
        ("U.S.", "The UxSx", 1, 0),
        ("U.S.", "in the U.S. of", 1, 1),
        ("he", "the", 1, 0),
        ("c++", "In C++ now", None, 1),
        ("(a", "(a)", None, 1),
    ]:
        for preset, wanted in (("official", official), ("repaired", repaired)):
            if preset == "official" and keyword == "c++":
                continue  # Python 3.11 reads it as a possessive repeat, earlier ones refuse it
            score = judged(text, ("keywords:existence", {"keywords": [keyword]}), preset=preset)
            assert score.value == wanted, (keyword, preset)


@pytest.mark.parametrize(
    ("id", "arguments", "text", "official", "repaired"),
    [
        ("keywords:frequency", {"keyword": "sea", "frequency": 1, "relation": "less than"}, "A season.", 0, 1),
        ("keywords:forbidden_words", {"forbidden_words": ["a.c"]}, "abc", 0, 1),
        ("keywords:exclude_word_harder", {"keyword": "sea"}, "By the sea.", 1, 0),
        ("count:person_names", {"N": 1}, "Available.", 1, 0),
        ("count:count_increment_word", {"keyword1": "ant", "keyword2": "bee"}, "ants, ant bee bee", 0, 1),
        ("language:response_language", {"language": "fr"}, "1 + 1 = 2", 1, 0),
        ("change_case:english_lowercase", {}, ENGLISH.lower(), 1, 1),
        ("change_case:english_capital", {}, CAPITAL, 1, 1),
        ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "don't stop", 0, 1),
        ("count:word_count_range", {"min_words": 2, "max_words": 2}, "don't stop", 0, 1),
        ("detectable_format:constrained_response", {}, "My answer is yes. My answer is no.", 1, 0),
        ("detectable_content:number_placeholders", {"num_placeholders": 1}, "[here](http://x.org) [x]", 1, 0),
        ("detectable_format:number_bullet_lists", {"num_bullets": 1}, "* a\n---\n-5 degrees", 0, 1),
        ("detectable_format:multiple_sections", {"section_spliter": "Day", "num_sections": 1}, "On Day 1", 1, 0),
        ("detectable_format:multiple_sections", {"section_spliter": "Day", "num_sections": 1}, "## **Day 1**", 1, 1),
        ("detectable_content:postscript", {"postscript_marker": "P.S."}, "As I said in the p.s. above", 1, 0),
        ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\n\n**P.S.** Call.", 1, 1),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "elm"},
            "One.\n\n\n\n**Elm** two.",
            0,
            1,
        ),
        ("startend:quotation", {}, "“All of it.”", 0, 1),
        ("count:numbers", {"N": 2}, "It is 1-2.", 0, 1),
        ("ratio:overlap", {"percentage": 100, "reference_text": "a long tail of words"}, "long tail of words", 1, 1),
        ("ratio:overlap", {"percentage": 100, "reference_text": "abcdefgh"}, "abcdef", 1, 0),
        ("format:options", {"options": "for or against"}, " for", 0, 1),
        ("format:emoji", {}, "Go. 🇫🇷", 0, 1),
        ("format:line_indent", {}, "a\n\n\n b", 0, 1),
        ("format:no_bullets_bullets", {}, "One.\n\nTwo.\n* a\n* b", 0, 1),
        ("words:paragraph_last_first", {}, "Sea is sea\n---\nSky is sky", 0, 1),
        ("format:thesis", {}, "<em>All.</em>", 1, 0),
        ("format:sub-bullets", {}, "No bullets.", 1, 0),
        ("custom:date_format_list", {}, "1800-00-10", 1, 0),
        ("custom:date_format_list", {}, "1801-02-29", 1, 0),
        ("words:words_position", {"keyword": "sea"}, "The sea is sea here.", 0, 1),
        ("copy:repeat_phrase", {"phrase": "an old sea", "small_n": 2}, "an old sea, an odd sea", 1, 0),
        ("new:copy_span_idx", {"prompt_to_repeat": PROMPT, "n_start": 6, "n_end": 12}, "a short", 0, 1),
        ("keywords:palindrome", {}, "I am a boy.", 1, 0),
        ("count:count_unique", {}, "One, two, three.", 0, 1),
        ("count:counting_composition", {"n_sent": 1, "n_words": 2}, "Go on. * * * Go on. * * * Go on.", 0, 1),
        ("words:prime_lengths", {}, "?!", 1, 0),
    ],
)
def test_a_repair_changes_the_verdict_it_is_for(id, arguments, text, official, repaired):
    assert judged(text, (id, arguments)).value == official
    assert judged(text, (id, arguments), preset="repaired").value == repaired


def test_each_repair_has_a_name_a_reason_and_instructions_of_its_own():
    ids = [id for repair in REPAIRS for id in repair.checks]
    assert len(ids) == len(set(ids)) == len(REPAIRED)
    assert set(ids) <= INSTRUCTIONS.keys()
    assert len({repair.name for repair in REPAIRS}) == len(REPAIRS)
    assert all(repair.reason for repair in REPAIRS)


def test_the_language_of_a_text_is_told_the_same_way_every_time():
    texts = [FRENCH, ENGLISH, "La la la", "no si da", "Hallo Welt"]
    for code in ("fr", "en", "de", "it"):
        given = ("language:response_language", {"language": code})
        assert len({tuple(judged(text, given).value for text in texts) for _ in range(5)}) == 1


# Sentences as NLTK 3.10 splits them with its English model; benchmarks/instructions.py compares on many texts.
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Dr. Smith met J. Bach. They talked.", ["Dr. Smith met J. Bach.", "They talked."]),
        ("At 5 p.m. He left. At 5 p.m. on Monday.", ["At 5 p.m.", "He left.", "At 5 p.m. on Monday."]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("(It is so.) Then it was not.", ["(It is so.)", "Then it was not."]),
        ("Wait... what? Yes! No", ["Wait... what?", "Yes!", "No"]),
        ("It costs $3.50. Buy it", ["It costs $3.50.", "Buy it"]),
        ("one\n\ntwo. three", ["one\n\ntwo.", "three"]),
        ("", []),
    ],
)
def test_sentences_are_split_at_full_stops_that_end_one(text, wanted):
    assert sentences.split(text) == wanted
    assert sentences.count(text) == len(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Mr. O'Neill can't pay $5.50, e.g.", ["Mr.", "O'Neill", "ca", "n't", "pay", "$", "5.50", ",", "e.g", "."]),
        ('"It\'s well-known," (he) said.', ["``", "It", "'s", "well-known", ",", "''", "(", "he", ")", "said", "."]),
        ("I cannot -- wanna go...", ["I", "can", "not", "--", "wan", "na", "go", "..."]),
    ],
)
def test_words_are_cut_as_the_treebank_has_them(text, wanted):
    assert words.tokenize(text) == wanted


MARKS = [
    "*",
    "-",
    " ",
    "\n",
    "[",
    "]",
    "<",
    ">",
    ".",
    "“",
    '"',
    "'",
    "a",
    "Question 1",
    "the ",
    "<i>",
    "𝄞",
    "\x1c",
    "***",
]


@given(st.lists(st.sampled_from(MARKS), max_size=40).map("".join), st.sampled_from(sorted(INSTRUCTIONS)))
def test_any_text_gets_a_verdict_under_either_preset_and_loose_is_never_stricter(text, id):
    for preset in ("official", "repaired"):
        strict, loose = (judged(text, (id, CASES[id][0]), preset=preset, loose=loose) for loose in (False, True))
        assert strict.status == loose.status == "ok"
        assert strict.value in (0.0, 1.0)
        assert strict.value <= loose.value


HOSTILE = {
    "spaces": " " * 100_000 + "x",
    "lines": "\n" * 100_000 + "x",
    "blank lines": "x\n" + " \n\n" * 40_000,
    "brackets": "[" * 100_000,
    "angles": "<<" * 50_000,
    "stars": "*" * 100_001,
    "star lines": "*\n" * 50_000,
    "dots": "." * 100_000,
    "spaced dots": ". " * 50_000,
    "stops": "a.b." * 25_000,
    "marks": "!?" * 50_000,
    "quotes": "\"'" * 50_000,
    "letters": "a" * 100_000,
    "deep": '{"a":' * 20_000,
    "digits": "1" * 100_000,
    "mails": "a@" * 50_000,
    "closers": ")" * 100_000 + ".",
    "sea": "the sea " * 12_000,
    "phrases": "the " * 25_000,
    "questions": "Question 1:\n" * 9_000,
    "fields": '"' + "#" * 99_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_work_on_hostile_text_is_linear(linear, name):
    unit = HOSTILE[name]
    checks = {(id, "official"): instruction.check for id, instruction in INSTRUCTIONS.items() if id not in LANGUAGES}
    checks |= {(id, "repaired"): check for id, check in REPAIRED.items() if id not in LANGUAGES}
    for (id, _), check in checks.items():
        assert check(unit[-1000:], CASES[id][0]) in (True, False)
        linear(lambda text, check=check, id=id: check(text + unit[-1], CASES[id][0]), unit, most=8_000)


@pytest.mark.parametrize("unit", ["a@", "a" * 64 + "@", "http://", "a\u0301", "*"])
def test_the_language_of_hostile_text_is_told_in_linear_time(linear, unit):
    assert language(unit * 100) is None or language(unit * 100).isascii()
    linear(language, unit)


def test_a_pattern_of_the_row_that_a_text_makes_hang_is_given_up():
    for instruction in (
        ("keywords:existence", {"keywords": ["(a|a)+$"]}),
        ("keywords:forbidden_words", {"forbidden_words": ["(a|a)+$"]}),
    ):
        score = judged("a" * 40 + "!", instruction)
        assert (score.value, score.status) == (0.0, "ok")


@pytest.mark.parametrize("preset", ["official", "repaired"])
def test_sentences_are_counted_before_their_words_are(preset):
    instruction = ("count:counting_composition", {"n_sent": 3, "n_words": 2})
    text = "a..." * 12_000
    scores = []
    hostile = f"{text}\n***\n{text}\n***\na b. a b. a b."
    count_calls(lambda: scores.append(judged(hostile, instruction, preset=preset)), most=1_000_000)
    assert scores[0].value == 0.0


def test_options_are_checked():
    for bad in ({"preset": "fixed"}, {"value": "mean"}, {"max_chars": 0}):
        with pytest.raises(UsageError):
            Instructions(**bad)
    assert pickle.loads(pickle.dumps(Instructions(preset="repaired"))) == Instructions(preset="repaired")
