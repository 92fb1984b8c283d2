"""Decks of slides: what a person sees in the show counts, wherever the file has it."""

from dataclasses import replace

import pytest

import verikit
from tests.artifacts.books import left
from tests.artifacts.decks import (
    NS,
    OPAQUE,
    SEE_THROUGH,
    box,
    deck,
    group,
    holder,
    packed,
    para,
    parts,
    picture,
    place,
    relations,
    run,
    slide,
    solid,
    table,
    words,
)
from verikit.errors import SpecError, UsageError

SENTENCE = "Costs fell by 4% in May."
WHITE, DARK = solid("FFFFFF"), solid("203040")
GREYS = "".join(f'<a:gs pos="{at}"><a:srgbClr val="{ink}"/></a:gs>' for at, ink in ((0, "F0F0F0"), (100_000, "C0C0C0")))
GRADIENT = f"<a:gradFill><a:gsLst>{GREYS}</a:gsLst></a:gradFill>"
TO_WHITE = GRADIENT.replace("C0C0C0", "000000")


def graded(data, **options):
    made = data if isinstance(data, bytes) else deck(data if isinstance(data, tuple) else slide(data))
    return verikit.pptx(**options).score([left(made, "deck_pptx")])[0]


def themed(name, *changes):
    inside = "".join(f'<a:{kind} val="{value}"/>' for kind, value in changes)
    return f'<a:solidFill><a:schemeClr val="{name}">{inside}</a:schemeClr></a:solidFill>'


def in_cell(text):
    return words(text).replace("p:tx", "a:tx")


def over(covering, files=()):
    return slide(box(SENTENCE), covering, files=files)


def alternatives(one, other):
    return (
        f'<mc:AlternateContent><mc:Choice Requires="p14">{one}</mc:Choice>'
        f"<mc:Fallback>{other}</mc:Fallback></mc:AlternateContent>"
    )


def gone(effect):
    return (
        '<p:timing><p:tnLst><p:par><p:cTn><p:childTnLst><p:set><p:cBhvr><p:cTn/></p:cBhvr></p:set>'
        f'<p:par><p:cTn presetClass="{effect}"><p:childTnLst><p:set><p:cBhvr><p:tgtEl><p:spTgt spid="2"/>'
        "</p:tgtEl></p:cBhvr></p:set></p:childTnLst></p:cTn></p:par></p:childTnLst></p:cTn></p:par></p:tnLst></p:timing>"
    )  # fmt: skip


MEDIA = (("rId9", "image", "media/image1.png", OPAQUE),)
THIN = (("rId9", "image", "media/image1.png", SEE_THROUGH),)
STYLE_2 = "{5C22544A-7EE6-4342-B048-85BDC9FD1C3A}"
IN_SIGHT = {
    "a text box": box(SENTENCE),
    "a title": holder("title", SENTENCE),
    "a body": holder("", SENTENCE, idx="1"),
    "four runs": box(para("Costs ", run("fell ", b=1), "by 4% ", "in May.")),
    "a break": box(para("Costs fell", "<a:br/>", "by 4% in May.")),
    "a trailing blank": box(SENTENCE + "  "),
    "a group": group(box(SENTENCE)),
    "a group in a group": group(group(box(SENTENCE, at=(100, 200, 600, 100)), at=(10, 20, 60, 10),
                                      inner=(100, 200, 600, 100)), inner=(10, 20, 60, 10)),
    "white on a dark shape": box(para(run(SENTENCE, WHITE)), fill=DARK),
    "white over a dark shape": box(fill=DARK, at=(0, 1, 10, 4)) + box(para(run(SENTENCE, WHITE))),
    "white on a dark slide": slide(box(para(run(SENTENCE, WHITE))), ground=DARK),
    "black on a light gradient": slide(box(SENTENCE), ground=GRADIENT),
    "dark by a colour of the theme": box(para(run(SENTENCE, themed("bg1", ("lumMod", 25_000))))),
    "outlined in dark": box(para(run(SENTENCE, f"<a:ln>{DARK}</a:ln><a:noFill/>"))),
    "highlighted": box(para(run(SENTENCE, f'{WHITE}<a:highlight><a:srgbClr val="000000"/></a:highlight>'))),
    "beside a shape": box(SENTENCE) + box(at=(1, 4, 6, 1), fill=DARK),
    "under a line": box(SENTENCE) + "<p:cxnSp><p:spPr>" + place(0, 2.2, 9, 0) + DARK + "</p:spPr></p:cxnSp>",
    "under a hidden shape": over(box(at=(0, 0, 10, 7), fill=DARK, hidden=True)),
    "under a thin veil": over(box(at=(0, 0, 10, 7), fill=DARK.replace("/>", '><a:alpha val="10000"/></a:srgbClr>'))),
    "over a picture of one colour": slide(picture(at=(0, 4, 9, 3)), box(SENTENCE), files=MEDIA),
    "a cell": table([["a", SENTENCE]], style=STYLE_2, flags='firstRow="1" bandRow="1"'),
    "a cell of a style that no file tells": table([["a", SENTENCE]], style="{0000}"),
    "a white cell on dark": table([["a", "<a:tc>" + words(para(run(SENTENCE, WHITE))).replace("p:tx", "a:tx")
                                    + f"<a:tcPr>{DARK}</a:tcPr></a:tc>"]]),
    "on its side": box(SENTENCE, at=(4, 2, 1, 4), body=' vert="vert270"'),
    "turned": box(SENTENCE, rot=30),
    "partly off, its text is not": box(SENTENCE, at=(1, 2, 12, 1)),
    "shrunk to be read": box(SENTENCE, body='<a:normAutofit fontScale="60000"/>'),
    "twice for programs of two ages": alternatives(box(SENTENCE), box(SENTENCE)),
    "in an entrance": slide(box(SENTENCE), after=gone("entr")),
    "in a flipped group": group(box(SENTENCE, at=(11, 2, 6, 1)), box("x", at=(0, 2, 1, 1)), at=(0, 2, 17, 1), flip="H"),
    "an entity": box("A &amp; B") + box(SENTENCE, at=(1, 4, 6, 1)),
}  # fmt: skip
OUT_OF_SIGHT = {
    "a hidden slide": slide(box(SENTENCE), show="0"),
    "a hidden slide in words": slide(box(SENTENCE), show="false"),
    "a hidden shape": box(SENTENCE, hidden=True),
    "a hidden group": group(box(SENTENCE), hidden=True),
    "beside the slide": box(SENTENCE, at=(11, 2, 6, 1)),
    "above the slide": box(SENTENCE, at=(1, -3, 6, 1)),
    "moved off by its group": group(box(SENTENCE), at=(11, 2, 6, 1), inner=(1, 2, 6, 1)),
    "moved off by a flipped group": group(box(SENTENCE), at=(0, 2, 20, 1), flip="H"),
    "moved off by its inset": box(SENTENCE, body=' tIns="9144000"'),
    "moved off by room before it": box(para(SENTENCE, inside='<a:spcBef><a:spcPts val="100000"/></a:spcBef>')),
    "below the slide by what is before it": box(*["x"] * 40, SENTENCE),
    "white on white": box(para(run(SENTENCE, WHITE))),
    "nearly white": box(para(run(SENTENCE, solid("FEFDF0")))),
    "white by the theme": box(para(run(SENTENCE, themed("bg1")))),
    "nearly white by a tint": box(para(run(SENTENCE, themed("tx1", ("lumMod", 5000), ("lumOff", 95_000))))),
    "white by its list": box(SENTENCE, style=f"<a:lvl1pPr><a:defRPr>{WHITE}</a:defRPr></a:lvl1pPr>"),
    "black on a black shape": box(SENTENCE, fill=solid("000000")),
    "black on a black slide": slide(box(SENTENCE), ground=solid("101010")),
    "light on a light gradient": slide(box(para(run(SENTENCE, solid("D8D8D8")))), ground=GRADIENT),
    "the colour of a shape under it": box(fill=solid("112220"), at=(0, 1, 10, 4)) + box(SENTENCE),
    "without any fill": box(para(run(SENTENCE, "<a:noFill/>"))),
    "transparent": box(para(run(SENTENCE, solid("000000").replace("/>", '><a:alpha val="0"/></a:srgbClr>')))),
    "nearly transparent": box(para(run(SENTENCE, solid("000000").replace("/>", '><a:alpha val="9%"/></a:srgbClr>')))),
    "two points": box(para(run(SENTENCE, sz=200))),
    "shrunk to one point": box(SENTENCE, body='<a:normAutofit fontScale="5000"/>'),
    "covered": over(box(fill=WHITE)),
    "covered by a shape of the theme": over(box(fill=themed("accent1"), at=(0, 1, 10, 3))),
    "covered by a group": over(group(box(fill=WHITE))),
    "covered by a picture": over(picture(), files=MEDIA),
    "covered on its text alone": slide(box(SENTENCE, at=(0, 2, 10, 5)), box(fill=WHITE, at=(0, 2, 6, 0.6))),
    "without size": box(SENTENCE, at=(1, 2, 0, 0)),
    "a font of symbols": box(para(run(SENTENCE, '<a:latin typeface="Wingdings"/>'))),
    "half of it white": box(para(run("Costs fell by 4% "), run("in May.", WHITE))),
    "a cell that another one covers": table([["a", f'<a:tc hMerge="1">{in_cell(SENTENCE)}</a:tc>']]),
    "the white of a cell": table([["a", f"<a:tc>{in_cell(para(run(SENTENCE, WHITE)))}</a:tc>"]]),
    "what an empty placeholder says": slide(holder("title"), holder("", idx="1")),
    "the notes": slide(box("x"), notes=SENTENCE),
    "the name of a picture": slide(picture().replace('name="x"', f'descr="{SENTENCE}"'), files=MEDIA),
    "an old text of a field": box(para(f'<a:fld type="slidenum" id="a"><a:rPr/><a:t>{SENTENCE}</a:t></a:fld>')),
    "cut by a paragraph": box("Costs fell by 4%", "in May."),
    "another number": box(SENTENCE.replace("4%", "40%")),
}  # fmt: skip
UNDECIDED = {
    "over a picture": slide(box(SENTENCE), ground='<a:blipFill><a:blip r:embed="rId9"/></a:blipFill>', files=MEDIA),
    "on a shape filled with one": box(SENTENCE, fill='<a:blipFill><a:blip r:embed="rId9"/></a:blipFill>'),
    "on a gradient from light to dark": slide(box(SENTENCE), ground=TO_WHITE),
    "under a picture with holes": over(picture(), files=THIN),
    "half covered": over(box(fill=WHITE, at=(1, 2, 2, 1))),
    "under an ellipse": over(box(fill=WHITE, geometry="ellipse")),
    "partly off the slide": box(SENTENCE, at=(8, 2, 6, 1), body=' wrap="none"'),
    "half on a dark shape": box(fill=solid("000000"), at=(2, 1, 4, 3)) + box(SENTENCE),
    "turned in space": box(SENTENCE, more='<a:scene3d><a:camera prst="x"><a:rot lat="0" lon="5400000" rev="0"/>'
                           "</a:camera></a:scene3d>"),
    "bent": box(SENTENCE, body='<a:prstTxWarp prst="textWave1"/>'),
    "taken away": slide(box(SENTENCE), after=gone("exit")),
    "moved away": slide(box(SENTENCE), after=gone("path")),
    "hidden by a set": slide(box(SENTENCE), after=gone("entr").replace("</p:cBhvr></p:set></p:childTnLst>",
                             '</p:cBhvr><p:to><p:strVal val="hidden"/></p:to></p:set></p:childTnLst>')),
    "different for programs of two ages": alternatives(box(SENTENCE), box("x")),
    "a field of a date": box(para(f'<a:fld type="datetime1" id="a"><a:rPr/><a:t>{SENTENCE}</a:t></a:fld>')),
    "white in a cell of a style that no file tells": table([["a", "<a:tc>" + words(para(run(SENTENCE, WHITE)))
                                                             .replace("p:tx", "a:tx") + "</a:tc>"]], style="{0000}"),
}  # fmt: skip


@pytest.mark.parametrize("made", IN_SIGHT.values(), ids=IN_SIGHT)
def test_a_text_in_sight_counts(made):
    score = graded(made, text=[SENTENCE])
    assert score.value == 1.0, score.reason
    assert graded(made, absent=[SENTENCE]).value == 0.0


@pytest.mark.parametrize("made", OUT_OF_SIGHT.values(), ids=OUT_OF_SIGHT)
def test_a_text_out_of_sight_does_not_count(made):
    score = graded(made, text=[SENTENCE])
    assert score.value == 0.0, score.reason
    assert graded(made, absent=[SENTENCE]).value == 1.0


@pytest.mark.parametrize("made", UNDECIDED.values(), ids=UNDECIDED)
def test_what_a_renderer_alone_can_tell_has_no_value_unless_the_row_says_so(made):
    score = graded(made, text=[SENTENCE])
    assert score.value is None, score.reason
    assert graded(made, text=[SENTENCE], undecided=0.0).value == 0.0
    assert graded(made, text=["Costs rose."]).value == 0.0
    assert graded(made, absent=[SENTENCE]).value == 0.0


def test_text_on_a_layout_or_a_master_is_shown_unless_the_slide_leaves_it_out():
    assert graded(deck(slide(), layout=box(SENTENCE)), text=[SENTENCE]).value == 1.0
    assert graded(deck(slide(), master=box(SENTENCE)), text=[SENTENCE]).value == 1.0
    assert graded(deck(slide(showMasterSp="0"), layout=box(SENTENCE)), text=[SENTENCE]).value == 0.0
    assert graded(deck(slide(box(SENTENCE)), master=box(fill=WHITE)), text=[SENTENCE]).value == 1.0


def test_a_ground_is_inherited_from_the_master():
    ground = f"<p:bg><p:bgPr>{solid('000000')}</p:bgPr></p:bg>"
    assert graded(deck(slide(box(SENTENCE)), bg=ground), text=[SENTENCE]).value == 0.0
    assert graded(deck(slide(box(SENTENCE), ground=WHITE), bg=ground), text=[SENTENCE]).value == 1.0
    referred = '<p:bg><p:bgRef idx="1001"><a:schemeClr val="tx1"/></p:bgRef></p:bg>'
    assert graded(deck(slide(box(SENTENCE)), bg=referred), text=[SENTENCE]).value == 0.0


def test_a_slide_that_is_very_large_makes_its_letters_small():
    poster = slide(box(para(run(SENTENCE, sz=1200))))
    assert graded(deck(poster), text=[SENTENCE]).value == 1.0
    assert graded(deck(poster, size=(56, 40)), text=[SENTENCE]).value == 0.0


def test_a_deck_may_show_some_of_its_slides():
    two = parts(slide(box(SENTENCE)), slide(box("x")))
    two["ppt/_rels/presentation.xml.rels"] = relations(
        ("rId1", "slide", "slides/slide1.xml"), ("rId2", "slide", "slides/slide2.xml"), ("rId3", "presProps", "p.xml"),
    )  # fmt: skip
    some = "<p:presentationPr {NS}><p:showPr>{told}</p:showPr></p:presentationPr>"
    own = '<p:custShowLst><p:custShow id="4"><p:sldLst><p:sld r:id="rId2"/></p:sldLst></p:custShow></p:custShowLst>'
    two["ppt/presentation.xml"] = two["ppt/presentation.xml"].replace("</p:presentation>", own + "</p:presentation>")
    for told, value in (("<p:sldAll/>", 1.0), ('<p:sldRg st="1" end="1"/>', 1.0), ('<p:sldRg st="2" end="2"/>', 0.0),
                        ('<p:custShow id="4"/>', 0.0)):  # fmt: skip
        made = packed({**two, "ppt/p.xml": some.format(NS=NS, told=told)})
        assert graded(made, text=[SENTENCE]).value == value, told


def test_titles_are_placeholders_and_never_big_letters():
    two = deck(
        slide(holder("ctrTitle", "Costs ")), slide(holder("title", "In", "May")), slide(holder("title", "x"), show="0")
    )
    assert graded(two, title=["Costs", "In May"]).value == 1.0
    assert graded(two, title={"Costs": 1, "In May": 2}).value == 1.0
    assert graded(two, title={"Costs": 2}).value == 0.0
    assert graded(two, title=["x"]).value == 0.0
    assert graded(box(para(run("Costs", sz=4400, b=1))), title=["Costs"]).value == 0.0
    assert graded(holder("title", para(run("Costs", WHITE))), title=["Costs"]).value == 0.0


def test_slides_of_the_show_are_counted():
    three = deck(slide(box("a")), slide(box("b"), show="0"), slide(box("c")))
    assert graded(three, slides=2).value == 1.0
    assert graded(three, slides=3).value == 0.0
    assert graded(three, slides=[1, 2]).value == 1.0
    assert graded(three, title={"b": 2}).value == 0.0


def test_bullets_are_items_by_their_inherited_style_in_order():
    listed = slide(holder("title", "Results"), holder("", "one", para("two", lvl=1), "three", idx="1"))
    assert graded(listed, bullets=["two", "three"]).value == 1.0
    assert graded(listed, bullets={"Results": ["one", "three"]}).value == 1.0
    assert graded(listed, bullets={"Results": ["three", "one"]}).value == 0.0
    assert graded(listed, bullets={"Other": ["one"]}).value == 0.0
    assert graded(box("• one"), bullets=["one"]).value == 0.0
    assert graded(box(para("one", inside='<a:buAutoNum type="arabicPeriod"/>')), bullets=["one"]).value == 1.0
    assert graded(holder("", para("one", inside="<a:buNone/>"), idx="1"), bullets=["one"]).value == 0.0
    assert graded(holder("", para(run("one", WHITE)), idx="1"), bullets=["one"]).value == 0.0


def test_a_table_is_compared_cell_by_cell():
    rows = [["a", "1 "], ["b", "2"]]
    assert graded(table(rows), table=[[["a", "1"], ["b", "2"]]]).value == 1.0
    assert graded(table(rows), table=[[["a", "1"], ["b", "3"]]]).value == 0.0
    assert graded(table(rows), table=[[["a", "1"]]]).value == 0.0
    assert graded(box("a 1") + box("b 2", at=(1, 4, 6, 1)), table=[rows]).value == 0.0
    assert graded(table(rows, cell=solid("000000")), table=[rows]).value == 0.0


def test_the_text_of_a_merged_cell_stands_where_it_begins():
    inside = words("both").replace("p:tx", "a:tx")
    rows = [[f'<a:tc gridSpan="2">{inside}</a:tc>', f'<a:tc hMerge="1">{inside}</a:tc>'], ["1", "2"]]
    assert graded(table(rows), table=[[["both", ""], ["1", "2"]]]).value == 1.0
    assert graded(table(rows), table=[[["both", "both"], ["1", "2"]]]).value == 0.0


def test_29_a_picture_of_a_table_is_no_table_and_a_table_no_picture():
    shown = slide(picture(), files=MEDIA)
    assert graded(shown, image=1).value == 1.0
    assert graded(shown, table=[[["a"]]]).value == 0.0
    assert graded(shown, text=[SENTENCE]).value == 0.0
    assert graded(table([["a", "b"]]), image=1).value == 0.0


BLIP = '<a:blipFill><a:blip r:embed="rId9"/></a:blipFill>'
PICTURES = {
    "hidden": (slide(picture(hidden=True), files=MEDIA), 1, 0.0),
    "off the slide": (slide(picture(at=(11, 2, 6, 1)), files=MEDIA), 1, 0.0),
    "as small as a point": (slide(picture(at=(1, 2, 0.01, 0.01)), files=MEDIA), 1, 0.0),
    "covered": (slide(picture(), box(fill=WHITE), files=MEDIA), 1, 0.0),
    "no picture by its bytes": (slide(picture(), files=[("rId9", "image", "media/image1.png", b"no")]), 1, 0.0),
    "not in the file": (slide(picture(link="link"), files=[("rId9", "image", "http://host/a.png", b"")]), 1, 0.0),
    "fewer than asked for": (slide(picture(), files=MEDIA), 2, 0.0),
    "a fill of a shape": (slide(picture(), box(at=(1, 4, 6, 1), fill=BLIP), files=MEDIA), 2, 1.0),
    "mostly under another one": (slide(picture(), picture(at=(1.5, 2, 6, 1)), files=THIN), 2, None),
}


@pytest.mark.parametrize(("made", "asked", "value"), PICTURES.values(), ids=PICTURES)
def test_pictures_count_where_they_are_in_sight(made, asked, value):
    assert graded(made, image=asked).value == value


def test_notes_are_those_of_the_speaker_and_of_the_slide():
    noted = deck(slide(holder("title", "One"), notes="Say hello."), slide(holder("title", "Two"), notes="Say more."))
    assert graded(noted, notes=["hello", "Say more."]).value == 1.0
    assert graded(noted, notes={"One": ["Say hello."]}).value == 1.0
    assert graded(noted, notes={"Two": ["Say hello."]}).value == 0.0
    assert graded(noted, notes=["Header"]).value == 0.0


def test_text_is_read_by_its_place_and_not_by_its_order_in_the_file():
    below, right, top = (
        box(text, at=at) for text, at in (("one 3", (1, 5, 3, 1)), ("and 2", (5, 3, 3, 1)), ("x 9", (1, 1, 3, 1)))
    )
    mixed = slide(below, group(right), box("in 1", at=(1, 3.1, 3, 1)), top)
    for pattern, value in ((r"x 9\nin 1\nand 2\none 3", 1.0), (r"one 3\nx 9", 0.0)):
        assert graded(mixed, text=f"regex(pattern={pattern!r})").value == value


def test_another_verifier_gets_the_text_in_sight():
    made = slide(box("The answer is 7."), box(para(run("The answer is 8.", WHITE)), at=(1, 4, 6, 1)))
    sample = left(deck(made), "deck_pptx")
    for answer, value in (("7", 1.0), ("8", 0.0)):
        assert verikit.pptx(text="numeric").score([replace(sample, answer=answer)])[0].value == value
    unclear = slide(box("The answer is 7."), box("The answer is 8.", at=(1, 4, 6, 1), fill=TO_WHITE))
    sample = left(deck(unclear), "deck_pptx")
    assert verikit.pptx(text="numeric").score([replace(sample, answer="7")])[0].value is None


def test_nothing_may_be_out_of_sight_where_the_row_says_so():
    assert graded(box(SENTENCE), visible=True).value == 1.0
    assert graded(deck(slide(box("a")), slide(box("b"), show="0")), visible=True).value == 0.0
    assert graded(box("a") + box(para(run("b", WHITE)), at=(1, 4, 6, 1)), visible=True).value == 0.0
    assert graded(box("a", fill=TO_WHITE), visible=True).value is None


CHART = (
    '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:chart><c:title><c:tx><c:rich><a:bodyPr/>'
    "<a:p><a:r><a:rPr>{ink}</a:rPr><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart><c:ser>"
    "<c:cat><c:strRef><c:strCache><c:pt><c:v>Oslo</c:v></c:pt></c:strCache></c:strRef></c:cat></c:ser></c:barChart>"
    "</c:plotArea></c:chart></c:chartSpace>"
)
FRAME = (
    '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="7" name="c"/><p:nvPr/></p:nvGraphicFramePr>'
    + place(1, 1, 6, 5).replace("a:xfrm", "p:xfrm")
    + "<a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic></p:graphicFrame>"
)  # fmt: skip


def test_the_title_of_a_chart_is_text_and_the_rest_is_undecided():
    frame = FRAME.format(
        inside='<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="rId9"/>'
    )
    shown, white = (
        slide(frame, files=[("rId9", "chart", "charts/chart1.xml", CHART.format(ink=ink))]) for ink in ("", WHITE)
    )
    assert graded(shown, text=["Sales"]).value == 1.0
    assert graded(white, text=["Sales"]).value == 0.0
    assert graded(shown, text=["Oslo"]).value is None
    assert graded(shown, text=["Rome"]).value == 0.0


def test_the_text_of_a_diagram_is_undecided():
    told = '<d:relIds xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" r:dm="rId9"/>'
    frame = FRAME.format(inside=told)
    data = (
        '<d:dataModel xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><d:ptLst><d:pt><d:t><a:bodyPr/><a:p><a:r>'
        "<a:t>Plan</a:t></a:r></a:p></d:t></d:pt></d:ptLst></d:dataModel>"
    )
    made = slide(frame, files=[("rId9", "diagramData", "diagrams/data1.xml", data)])
    assert graded(made, text=["Plan"]).value is None
    assert graded(made, text=["Plan"], undecided=0.0).value == 0.0


def test_37_a_font_that_the_file_brings_along_may_draw_any_letters():
    font = '<p:embeddedFontLst><p:embeddedFont><p:font typeface="Mine"/></p:embeddedFont></p:embeddedFontLst>'
    made = slide(box(para(run(SENTENCE, '<a:latin typeface="Mine"/>'))))
    assert graded(deck(made, presentation=font), text=[SENTENCE]).value is None
    assert graded(deck(made), text=[SENTENCE]).value == 1.0
    assert graded(deck(slide(box(SENTENCE)), presentation=font), text=[SENTENCE]).value == 1.0


GOOD = parts(slide(box(SENTENCE)))


def changed(**others):
    return packed({**GOOD, **{name.replace("__", "/"): content for name, content in others.items()}})


def twice():
    data = packed({**GOOD, "ppt/slides/slide9.xml": GOOD["ppt/slides/slide1.xml"]})
    return data.replace(b"ppt/slides/slide9.xml", b"ppt/slides/Slide1.xml")


BILLION = '<!DOCTYPE a [<!ENTITY l "ha"><!ENTITY m "&l;&l;">]>'
REFUSED = {
    "another format": b"{\\rtf1 Costs}",
    "cut off": packed(GOOD)[:-40],
    "another beginning": b"%PDF-1.7\n" + packed(GOOD),
    "one name twice": twice(),
    "entities": changed(**{"ppt/slides/slide1.xml": BILLION + GOOD["ppt/slides/slide1.xml"]}),
    "entities in a part that nothing reads": changed(**{"docProps/app.xml": BILLION + "<a/>"}),
    "a bomb": changed(**{"ppt/slides/slide1.xml": " " * 3_000_000 + GOOD["ppt/slides/slide1.xml"]}),
    "no XML": changed(**{"ppt/slides/slide1.xml": "<p:sld"}),
    "another root": changed(**{"ppt/presentation.xml": "<a/>"}),
    "no relationship to it": changed(**{"_rels/.rels": relations()}),
    "a slide outside": changed(
        **{"ppt/_rels/presentation.xml.rels": relations(("rId1", "slide", "http://host/s.xml"))}
    ),
    "a slide above": changed(
        **{"ppt/_rels/presentation.xml.rels": relations(("rId1", "slide", "../../../etc/passwd"))}
    ),
    "a slide that is missing": changed(
        **{"ppt/_rels/presentation.xml.rels": relations(("rId1", "slide", "slides/7.xml"))}
    ),
    "too many shapes": deck(slide(*[box(SENTENCE)] * 1001)),
    "groups without end": deck(slide("<p:grpSp>" * 60 + box(SENTENCE) + "</p:grpSp>" * 60)),
    "another kind of office file": packed({"[Content_Types].xml": "<Types/>", "word/document.xml": "<a/>"}),
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_a_file_that_is_no_deck_is_the_agents_fault(data):
    score = graded(data, text=[SENTENCE])
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_options_that_make_no_sense_are_refused():
    for options in ({"absent": "x"}, {"slides": [1]}, {"title": "x"}, {"bullets": {"a": "x"}}, {"text": "no_such_one"}):
        with pytest.raises((UsageError, SpecError)):
            verikit.pptx(**options)
    assert graded(box("x")).value is None


def test_a_row_has_options_of_its_own():
    sample = left(deck(slide(box(SENTENCE))), "deck_pptx", pptx={"text": [SENTENCE]})
    assert verikit.pptx().score([sample])[0].value == 1.0
    wrong = left(deck(slide(box(SENTENCE))), "deck_pptx", pptx={"texts": [SENTENCE]})
    assert verikit.pptx().score([wrong])[0].value is None
