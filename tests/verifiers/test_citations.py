import random

import pytest

from verikit.errors import UsageError
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
        ("An array a[1] and a[2] are no references.", 0),
        ("Known [1]: the item arr[5] is the last.", 1),
        ("Known [1], and arr[i] is arr[9] there.", 1),
        ("Known [1], where table[9] is what `table[i]` was.", 1),
        ("Known [1]; set total_sums[9] and x1[7] first.", 1),
        ("Known [1]; items[9] = 4, and items[8] + 2.", 1),
        ("Known [1]; rows[9].append(3) and rows[0].", 1),
        ("Known [1]; use `items[9]` there.", 1),
        ("Known [1]; a matrix m[2][9] and m[2][8][9].", 1),
        ("Known [1]. Fake[0][9].", 0),
        ("Ada Lovelace took b12[2][3] daily.", 1),
        ("Emissions of co2[1][2] rose.", 1),
        ("Known [1][9].", 0),
        ("Known [1].\n```python\nprint(rows[9], [7])\n```\nSo [2].", 1),
        ("Known [1].\n```python\nprint(rows[9])\n```\nSo [9].", 0),
        ("```markdown\nKnown [9].\n```", 0),
        ("Known[1], since 1843[2].", 1),
        ("Known [1], as machines[9] show.", 0),
        ("Known [1], since 1843[9].", 0),
        ("Known [1] (as Ada wrote)[9].", 0),
        ("Known [1], as machines[9] - and people - show.", 0),
        ("Known `[1]`.", 1),
        ("Known [1] and `[9]`.", 0),
        ("", 0),
    ],
)
def test_quotations_occur_in_the_passages_they_name_and_references_resolve(reply, value):
    score = verdict(reply)
    assert (score.status, score.value) == ("ok", value), score


MARKS = ["“{}”", '"{}"', "‘{}’", "'{}'", "''{}''", "``{}''", "＂{}＂", "«{}»", "»{}«", "„{}“", "”{}”", "‚{}‘", "‹{}›",
         "「{}」", "『{}』",
         "〝{}〞", "❝{}❞", '“{}"', "\u200b“\u2060{}”"]  # fmt: skip
OPEN = ["“{}", '"{}', "‘{}", "„{}", "«{}", "＂{}", "''{}", "``{}", "「{}", "> {}", "'{}"]
TRUE = ["it was never finished during his lifetime", "Charles Babbage designed the Analytical Engine"]
FALSE = ["it was nearly finished during his lifetime", "Charles Babbage designed the Difference Engine"]


@pytest.mark.parametrize("marks", MARKS)
def test_quotations_in_all_usual_marks_are_read(marks):
    for true, false in zip(TRUE, FALSE, strict=True):
        assert verdict(f"It says that {marks.format(true)} [2].").value == 1.0
        assert verdict(f"It says that {marks.format(false)} [2].").value == 0.0
        assert verdict(f"It says that {marks.format(true)} and {marks.format(true)}.", min_quotes=2).value == 1.0


@pytest.mark.parametrize("marks", OPEN)
def test_a_quotation_that_is_not_closed_ends_with_its_paragraph(marks):
    line = "\n" if marks[0] == ">" else ""
    assert verdict(f"It says, as [2] has it: {line}{marks.format(TRUE[0])}\n\nSo it is.").value == 1.0
    assert verdict(f"It says, as [2] has it: {line}{marks.format(FALSE[0])}\n\nSo it is.").value == 0.0


def test_a_quotation_may_go_on_in_the_next_line():
    assert verdict('It says "it was never\nfinished during his lifetime" [2].').value == 1.0
    assert verdict('It says "it was never\nfinished during her lifetime" [2].').value == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "The engines' design wasn't the owner's, it's said, and 'tis so [2].",
        "A 6\" pipe and a 4' pole are in it, as every engineer of the '90s and the workers' union knew [2].",
        "The rock 'n' roll of those days isn't the workers' music [2].",
        "It’s Babbage’s engine, and the engineers’ work wasn’t theirs [2].",
    ],
)
def test_apostrophes_and_inches_are_no_quotations(text):
    assert verdict(text).value == 1.0


def test_an_ellipsis_beside_a_short_piece_is_refused_unless_the_option_says_so():
    pieced = 'It says that "It was … during his … Analytical Engine" [2].'
    reply = 'It says that "Charles Babbage … the Analytical Engine … never finished" [2].'
    assert verdict(reply).value == 0.0
    assert "an ellipsis beside a piece of 2 words, fewer than 3" in verdict(reply).reason
    assert verdict(reply, min_piece=2).value == 1.0
    assert verdict(pieced, min_piece=2).value == 0.0
    assert verdict('It says that "Charles Babbage designed … finished during his lifetime" [2].').value == 1.0
    with pytest.raises(UsageError):
        Citations(min_piece=0)


def test_no_false_quotation_is_paid_in_any_marks():
    """A standing search: a passage's words with one changed, between generated marks, beside the true ones."""
    draw = random.Random(1)
    passage = "the first engine of its kind had never been finished in any workshop of that large city before this year"
    words = passage.split()
    for _ in range(400):
        start = draw.randrange(len(words) - 6)
        said = words[start : start + draw.randrange(5, 8)]
        changed = list(said)
        changed[draw.randrange(len(said))] = draw.choice(["always", "twice", "small"])
        if draw.random() < 0.3:
            changed, said = ([*text[:3], "…", *text[3:]] for text in (changed, said))
        marks, before = (
            draw.choice([*MARKS, *OPEN[:-2]]),
            draw.choice(["He says ", "", "As it's said (", "See: ", "In [1] it is "]),
        )
        after = draw.choice([" [1]", ".[1]", "\n\n[1]"]) if marks in MARKS else "\n\n[1]"
        gap = draw.choice([" ", " ", "\n", "\u200b "]) if marks not in OPEN else " "
        if "…" in said and len(said) < 7:
            continue
        assert verdict(before + marks.format(gap.join(said)) + after, [passage]).value == 1.0
        assert verdict(before + marks.format(gap.join(changed)) + after, [passage]).value == 0.0


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


def test_hostile_replies_are_read_in_linear_time_up_to_the_cap(linear):
    for unit in ('"', "“", "> ", "[1,", "[1][", "[1-9999]", '"a b c d e" [1] ', "…", '"… " ', "«", "[", "【1†"):
        assert verdict((unit * 50_000)[:50_000]).status == "ok"
        linear(verdict, unit, most=50_000)
    linear(lambda text: verdict(text, ["a b c d e " * 2_000]), '"a b c d e f" ', most=50_000)
    linear(lambda text: verdict('"a b c d e f" ' * 300, [text]), "a b c d e ", most=200_000)
    assert verdict("x" * 50_001).value == 0.0


@pytest.mark.parametrize("unit", ["`", "```a\n", "a[1]", "`a[1]` ", "a[", "[1] = ", "~~~x\n~~~\n", "aaaa"])
def test_code_is_told_from_references_in_linear_time(unit):
    for size in (20_000, 40_000):
        Citations()(unit * (size // len(unit)), passages=PASSAGES)
