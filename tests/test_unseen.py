"""Invisible characters and empty LaTeX count as nothing, and honest texts that hold some lose nothing by it.

The search makes texts of invisible material, and joins, pads and cuts words with it. `VERIKIT_FORGERIES=50` tries 50
times as many, from another seed.
"""

import os
import random
import unicodedata

import pytest

from verikit import load
from verikit.judges.evidence.shown import visible as shown
from verikit.replies.unseen import shows_nothing, unjoined, without_phantoms, without_unseen

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))
CHARACTERS = [
    "\u200b", "\u200c", "\u200d", "\u200e", "\u2060", "\u2063", "\ufeff", "\u00ad", "\u034f", "\u061c",
    "\u180e", "\u17b4", "\ufe0f", "\ufe00", "\U000e0101", "\U000e0041",
    "\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\x00", "\x07", "\x7f",
]  # fmt: skip
LATEX = [
    r"\,", r"\;", r"\!", r"\ ", r"\quad", r"\qquad ", "{}", "{{}}", r"\phantom{42}", r"\hphantom{\frac{1}{2}}",
    r"\vphantom x", r"\text{}", r"\mathrm{ }", r"\hspace{1cm}", r"\kern3pt", r"\left.\right.", "$$", r"$\,$", r"\(\)",
    r"\strut", r"\label{x}", r"\phantom{\text{Paris}}",
]  # fmt: skip
HONEST = [
    "می\u200cخواهم", "क्\u200dष", "👩\u200d🔬", "❤\ufe0f", "1\ufe0f\u20e3", "Donau\u00addampf", "été", "Łódź",
    "ไทย\u200bไทย", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "x\u2061(y)",
]  # fmt: skip
JOINED = ("Donau\u00addampf", "x\u2061(y)")
"""Honest, but what joins these words could as well join any."""


@pytest.mark.parametrize("material", [*CHARACTERS, *LATEX])
def test_invisible_material_fills_neither_a_box_nor_a_tag(material):
    assert shows_nothing(material)
    for verifier, form in (("boxed", "\\boxed{%s}"), ("tags('answer')", "<answer>%s</answer>")):
        for fine in ("5", "Paris", r"\frac{1}{2}", *HONEST):
            assert load(verifier)(form % (material + fine)).value == 1.0
        assert load(verifier)(form % material).value == 0.0


@pytest.mark.parametrize("text", ["5", "{5}", r"\sqrt{}", "$", "&", "~", r"\phantom{3}4", r"\pi", "_", "[]", *HONEST])
def test_what_shows_something_is_no_empty_text(text):
    assert not shows_nothing(text)


@pytest.mark.parametrize("text", HONEST)
def test_honest_texts_with_joiners_equal_themselves_and_are_one_word(text):
    assert load("exact")(text, text).value == 1.0
    assert load("answer")(rf"\boxed{{{text}}}", text).value == 1.0
    assert load("tags('a')")(f"<a>{text}</a>").answer == text
    if text not in JOINED:
        assert load("length(1, 1, 'words')")(text).value == 1.0


def test_flags_that_only_tags_tell_apart_stay_apart():
    england, wales = (
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in name) + "\U000e007f" for name in ("gbeng", "gbwls")
    )
    assert load("exact")(england, wales).value == 0.0
    hidden = "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "[[A]]") + "\U000e007f"
    assert without_unseen(hidden) == "\U0001f3f4"


@pytest.mark.parametrize("character", CHARACTERS[:20])
def test_a_text_is_right_with_an_invisible_character_anywhere(character):
    for gold in ("Paris", "5", r"\frac{1}{2}", "(3, 4)"):
        padded = [f"{character}{gold}", f"{gold}{character}", f"{gold[:1]}{character}{gold[1:]}"]
        for text in padded[:2] if character in "\u3164\u115f\u1160\uffa0\u2800" else padded:
            assert load("answer")(rf"\boxed{{{text}}}", gold).value == 1.0, (text, gold)
            assert load("exact")(text, gold).value == 1.0
            assert load("exact")(gold, text).value == 1.0
    assert load("answer")(rf"\boxed{{{character}}}", "5").value == 0.0
    assert load("exact('squad')")(character, "A").value == 0.0  # squad leaves nothing of "A"


@pytest.mark.parametrize(
    "text", [r"\boxed{\phantom{Paris}}", r"\boxed{\phantom{5}}", r"\phantom{5}", r"\boxed{Rome\phantom{Paris}}"]
)
def test_what_a_phantom_holds_is_no_answer(text):
    assert load("answer")(text, ["Paris", "5"]).value == 0.0
    assert without_phantoms(r"a\phantom{b{c}}d\hphantom x e") == "ad e"


@pytest.mark.parametrize(
    "text", ["5{}", "{}5", r"\,5\;", r"5\phantom{6}", r"\hphantom{-}5", r"\frac{10{}}{2}", r"5\strut"]
)
def test_empty_latex_counts_as_nothing_in_an_answer(text):
    assert load("answer")(rf"\boxed{{{text}}}", "5").value == 1.0
    assert load("answer")(rf"\boxed{{{text}}}", "6").value == 0.0


def test_words_that_an_invisible_character_joins_count_apart_and_none_is_won_by_one():
    joined = "\u200b".join(["one", "two", "three", "four"])
    assert load("length(max=3, unit='words')")(joined).value == 0.0
    assert load("length(min=3, unit='words')")(joined).value == 0.0
    assert load("length(min=3, unit='words')")("\u200b \u3164 \u2060 \u2800").value == 0.0
    assert load("length(min=10)")("a" + "\u200b" * 20).value == 0.0
    assert load("length(3, 4, 'words')")("one two three four").value == 1.0
    assert unjoined("one\u200btwo\u3164three") == "one two three"


def test_a_loop_is_one_however_its_words_are_padded_or_joined():
    loop = " ".join(["go"] * 60)
    padded = " ".join("go" + "\u200b" * n for n in range(60))
    for spec in ("repetition", "repetition(n=2, unit='chars')"):
        plain = load(spec)(loop).value
        assert load(spec)(padded).value <= plain
        assert load(spec)("\u2060".join(["go"] * 60)).value <= plain
    assert load("repetition(penalty=-1.0)")(padded).value == load("repetition(penalty=-1.0)")(loop).value < -0.9
    assert load("repetition")("every word of this text is another one").value == 1.0


def material(draw):
    """Text that shows nothing."""
    return "".join(draw.choice([*CHARACTERS, " ", "\n"]) for _ in range(draw.randrange(1, 8)))


def test_no_text_of_invisible_material_passes_or_lifts_a_value():
    draw = random.Random(EFFORT)
    for _ in range(300 * EFFORT):
        hidden = material(draw) + "".join(draw.sample(LATEX, draw.randrange(3)))
        assert load("boxed")(rf"\boxed{{{hidden}}}").value == 0.0, hidden
        assert load("tags('a', 'b')")(f"<a>x</a>\n<b>{hidden}</b>").value == 0.0, hidden
        assert load("answer")(rf"\boxed{{{hidden}}}", draw.choice(["5", "Paris", "0", "x", "{1}"])).value == 0.0, hidden
        assert load("exact")(hidden, "Paris").value == 0.0

        words = [draw.choice(["go", "on", "and", "stop", "here"]) for _ in range(draw.randrange(3, 30))]
        plain, unseen = " ".join(words), "".join(draw.sample(CHARACTERS, draw.randrange(1, 5)))
        texts = [
            " ".join(word + material(draw).strip() for word in words),
            " ".join(word[:1] + unseen + word[1:] for word in words),
            unseen.join(words),
            material(draw) + plain + material(draw),
        ]
        count = len(words)
        for text in texts:
            assert load("repetition")(text).value <= load("repetition")(plain).value, text
            assert load(f"length({count + 1}, unit='words')")(text).value == 0.0, text
            assert load(f"length({len(plain) + 16})")(text).value == 0.0, text
        assert load(f"length(0, {count - 1}, 'words')")(texts[2]).value == 0.0, texts[2]
        assert load("exact")(texts[1], plain).value == 1.0 or set(unseen) & set("\u3164\u115f\u1160\uffa0\u2800")


def test_what_judges_are_not_shown_is_nothing_here():
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) not in ("Cs", "Cn", "Co") and character.strip() and shown(character) == "":
            assert without_unseen(character) == ""


@pytest.mark.parametrize(
    "unit", ["\u200b", r"\phantom{", r"\phantom", "{", "}", "\\", r"\kern", r"\hspace{", "a\u200b", "\x08"]
)
def test_work_grows_with_a_hostile_text_and_not_with_its_square(unit, linear):
    for read in (without_unseen, unjoined, shows_nothing, without_phantoms):
        linear(read, unit)
