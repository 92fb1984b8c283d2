"""The reader of decks: broken and hostile files end it neither by a crash nor by endless work."""

import io
import random

import pytest

from tests.artifacts.decks import box, deck, group, holder, packed, para, parts, picture, run, slide, solid, table
from verikit.artifacts.readers import slides
from verikit.artifacts.readers.slides import package as of_package

WHITE = solid("FFFFFF")
RICH = parts(
    slide(holder("title", "Costs"), holder("", "one", para("two", lvl=1), idx="1"), notes="Say more."),
    slide(group(box("A", fill=WHITE)), table([["a", "b"], ["c", "d"]]), picture(), ground=solid("203040")),
    layout=box("On all"), master=box(para(run("x", WHITE))),
)  # fmt: skip


def read(data):
    """The observation, which is either a refusal or the slides."""
    told = slides.read([data], {})
    assert set(told) in ({"refused"}, {"slides", "links"})
    return told


@pytest.mark.parametrize("seed", range(60))
def test_damaged_bytes_and_damaged_parts_are_read_or_refused(seed):
    draw = random.Random(seed)
    data = bytearray(packed(RICH))
    for _ in range(draw.randint(1, 30)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    read(bytes(data))
    name = draw.choice([name for name in RICH if name.endswith("xml")])
    start = draw.randrange(len(RICH[name]))
    damage = draw.choice(('"', "<a:p>", "-9", "&", ""))
    read(packed({**RICH, name: RICH[name][:start] + damage + RICH[name][start + 5 :]}))


@pytest.mark.parametrize("seed", range(60))
def test_attributes_of_any_value_and_parts_that_are_missing_are_read_or_refused(seed):
    draw = random.Random(seed)
    wrong = ("", "-1", "999999999999", "9" * 30, "x", "NaN", "1e9", "true", "-0", "50%", "nan%", "\u0664")
    made = dict(RICH)
    for name in [name for name in made if name.endswith(".xml")]:
        pieces = made[name].split('="')
        for place in range(1, len(pieces)):
            if draw.random() < 0.15 and "http" not in pieces[place]:
                pieces[place] = draw.choice(wrong) + pieces[place][pieces[place].index('"') :]
        made[name] = '="'.join(pieces)
    read(packed(made))
    missing = draw.choice(list(RICH))
    read(packed({name: content for name, content in RICH.items() if name != missing}))


def test_very_many_elements_are_refused_before_they_are_work(monkeypatch):
    monkeypatch.setattr(of_package, "_MOST_ELEMENTS", 500)
    assert "elements" in read(deck(slide(*[box("x")] * 40)))["refused"]
    assert "slides" in read(deck(slide(*[box("x")] * 10)))


def test_details_that_are_inherited_again_and_again_are_few():
    style = "<a:lvl1pPr><a:defRPr>" + "<a:b/>" * 101 + "</a:defRPr></a:lvl1pPr>"
    assert "details" in read(deck(slide(box("x", style=style))))["refused"]


def test_alternatives_in_alternatives_end():
    nested = "<mc:AlternateContent><mc:Choice>" * 3000 + "</mc:Choice></mc:AlternateContent>" * 3000
    assert "groups in groups" in read(deck(slide(nested)))["refused"]


def test_nested_animations_are_one_pass(linear):
    def timed(text):
        inner = '<p:cTn presetClass="exit">' * len(text) + "</p:cTn>" * len(text)
        slides.read([deck(slide(box("x"), after=f"<p:timing>{inner}</p:timing>"))], {})

    linear(timed, "t", 2000)


@pytest.mark.parametrize("layout", [0, 1, 3], ids=["a title slide", "title and content", "two contents"])
def test_what_python_pptx_writes_is_in_sight(layout):
    pptx = pytest.importorskip("pptx")
    out, made = io.BytesIO(), pptx.Presentation()
    new = made.slides.add_slide(made.slide_layouts[layout])
    for number, place in enumerate(list(new.placeholders)[:3]):
        place.text = f"Text {number}"
    made.save(out)
    (told,) = read(out.getvalue())["slides"]
    texts = ["".join(one["text"] for one in block["runs"]) for block in told["blocks"]]
    assert len(texts) >= 2
    assert texts == [f"Text {number}" for number in range(len(texts))]
    assert not any(one["hidden"] or one["doubt"] for block in told["blocks"] for one in block["runs"])
