import time

import pytest

from verikit.verifiers.citations import Citations

PASSAGES = [
    {
        "title": "Ada Lovelace",
        "text": "Ada Lovelace was an English mathematician — she wrote the first program in 1843",
    },
    "Charles Babbage designed the Analytical Engine. It was never finished during his lifetime.",
    {"contents": "Alan Turing proposed the imitation game in 1950; “can machines think?” he asked."},
]


def verdict(reply, passages=PASSAGES, **options):
    return Citations(**options)(reply, passages=passages)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Ada wrote it [1], for Babbage's machine [2].", 1),
        ("Ada wrote it [4].", 0),
        ("Ada wrote it [0].", 0),
        ("All of this is known [1-3].", 1),
        ("All of this is known [1, 2; 5].", 0),
        ("All of this is known [1][2][3].", 1),
        ("Known 【2】 and 【3†source】.", 1),
        ('It says that "it was never finished during his lifetime" [2].', 1),
        ('It says that "it was never finished during his lifetime."[2]', 1),
        ('It says that "it was never finished during his lifetime" [1].', 0),
        ('It says that "it was never finished during her lifetime".', 0),
        ('It says that "IT WAS NEVER   finished during his lifetime".', 1),
        ("It says “Charles Babbage designed the … finished during his lifetime”.", 1),
        ("It says “Charles Babbage designed the … never finished”.", 0),
        ("It says “Charles Babbage designed the … finish”.", 0),
        ("It says “Charles Babbage designed the … finish” of [2].", 0),
        ("It says “finished during his life”.", 0),
        ("It says “ever finished during his lifetime”.", 0),
        ("It says “a … e … i … o … u”.", 0),
        ("It says “Charles … designed … never … lifetime” [2].", 0),
        ("It says “Charles … loathed … never … lifetime” [2].", 0),
        ("It says “Charles … designed … never … lifetime”.", 0),
        ("On [2024-01-15] Ada wrote it [1].", 1),
        ("On [2024-01] and [1-2-3] Ada wrote it [1].", 1),
        ("On [2024-01-15] Ada wrote it.", 0),
        ("It says “never finished … Charles Babbage designed”.", 0),
        ("He asked “'can machines think?' he asked”.", 0),
        ("> Ada Lovelace was an English mathematician - she wrote the first program in 1843. [1]", 1),
        ("> Ada Lovelace was a French mathematician. [1]", 0),
        ("« Alan Turing proposed the imitation game »", 1),
        ('The "imitation game" is his [3].', 1),
        ("Nothing is cited here.", 0),
        ("An array a[1] and a[2] are references too.", 1),
        ("", 0),
    ],
)
def test_quotations_occur_in_the_passages_they_name_and_references_resolve(reply, value):
    score = verdict(reply)
    assert (score.status, score.value) == ("ok", value), score


def test_parts_can_be_rewarded_and_least_numbers_asked_for():
    reply = 'Ada [1] and "it was never finished during his lifetime" [2], but see [9].'
    assert verdict(reply, reward="fraction").value == pytest.approx(3 / 4)
    assert verdict("Ada [1].", min_references=2).value == 0.0
    assert verdict("Ada [1].", min_quotes=1).value == 0.0
    assert verdict("No citation.", min_citations=0).value == 1.0
    assert verdict('"imitation game" [3]', min_words=2, min_quotes=1).value == 1.0


@pytest.mark.parametrize("meta", [{}, {"passages": []}, {"passages": [{"title": "x"}]}, {"passages": [5]}])
def test_a_row_without_passages_is_unscored(meta):
    assert Citations()("Ada [1].", **meta).status == "error"


def test_passages_are_found_under_the_usual_keys():
    for key in ("contexts", "documents", "ctxs", "sources"):
        assert Citations()("Ada [2].", **{key: PASSAGES}).value == 1.0
    assert Citations()("Ada [1].", context="Ada wrote it.").value == 1.0


def test_hostile_replies_of_the_capped_size_end_soon():
    begun = time.monotonic()
    for unit in ('"', "“", "> ", "[1,", "[1][", "[1-9999]", '"a b c d e" [1] ', "…", '"… " ', "«", "[", "【1†"):
        assert verdict((unit * 50_000)[:50_000]).status == "ok"
    assert verdict('"a b c d e f" ' * 3000, ["a b c d e " * 20_000]).status == "ok"
    assert time.monotonic() - begun < 30
    assert verdict("x" * 50_001).value == 0.0
