"""Text documents: what a person sees counts, by effective style, however the text is cut into runs."""

import io
import zipfile

import pytest

import verikit
from tests.artifacts.books import left
from verikit.errors import UsageError
from verikit.verifiers.docx.verifier import table_cells

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
STYLES = f"""<w:styles {W}>
<w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val="22"/></w:rPr></w:rPrDefault></w:docDefaults>
<w:style w:type="paragraph" w:default="1" w:styleId="N"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:basedOn w:val="N"/>
  <w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="My heading"/><w:basedOn w:val="H1"/></w:style>
<w:style w:type="paragraph" w:styleId="Ghost"><w:name w:val="Ghost"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Strong"><w:name w:val="Strong"/><w:rPr><w:b/></w:rPr></w:style>
<w:style w:type="table" w:styleId="Dark"><w:name w:val="Dark"/><w:tblStylePr w:type="firstRow">
  <w:tcPr><w:shd w:val="clear" w:fill="203040"/></w:tcPr></w:tblStylePr></w:style>
</w:styles>"""


def packed(body, styles=STYLES, root=f"w:document {W}"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("word/document.xml", f"<{root}><w:body>{body}</w:body></w:document>")
        archive.writestr("word/styles.xml", styles)
    return out.getvalue()


def p(*runs, style="", props=""):
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{props}</w:pPr>{''.join(runs)}</w:p>"


def r(text, props=""):
    return f'<w:r><w:rPr>{props}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def graded(body, **options):
    data = body if isinstance(body, bytes) else packed(body)
    return verikit.docx(**options).score([left(data, "report_docx")])[0]


SENTENCE = "Costs fell by 4% in May."
WHITE = '<w:color w:val="FFFFFF"/>'
DARK_ROW = (
    '<w:tbl><w:tblPr><w:tblStyle w:val="Dark"/></w:tblPr><w:tr><w:tc>'
    + p(r(SENTENCE, WHITE))
    + "</w:tc></w:tr></w:tbl>"
)


TIGHT = STYLES.replace(
    '<w:name w:val="Normal"/>',
    '<w:name w:val="Normal"/><w:pPr><w:spacing w:line="%s" w:lineRule="exact"/></w:pPr>',
)


def drawn(style, around="w:pict"):
    """The sentence in a shape of programs before 2010."""
    shape = f'<v:shape style="{style}"><v:textbox><w:txbxContent>{p(r(SENTENCE))}</w:txbxContent></v:textbox></v:shape>'
    group = f'<{around} xmlns:v="urn:schemas-microsoft-com:vml">{shape}</{around}>'
    return f"<w:p><w:r><w:pict>{group}</w:pict></w:r></w:p>"


IN_SIGHT = {
    "four runs": p(r("Costs "), r("fell ", "<w:b/>"), r("by 4% "), r("in May.")),
    "a trailing blank": p(r(SENTENCE + "  ")),
    "a tracked insertion": p(r("Costs fell "), f'<w:ins w:id="1">{r("by 4% ")}</w:ins>', r("in May.")),
    "a field's result": p(r("Costs fell by "), f'<w:fldSimple w:instr="X">{r("4%")}</w:fldSimple>', r(" in May.")),
    "a link": p(f"<w:hyperlink>{r(SENTENCE)}</w:hyperlink>"),
    "white on a dark ground": p(r(SENTENCE, '<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="203040"/>')),
    "a dark row of a table's style": DARK_ROW,
    "a hidden style undone": p(r(SENTENCE, '<w:vanish w:val="0"/>'), style="Ghost"),
    "an entity": p(r("A &amp; B")) + p(r(SENTENCE)),
    "exact lines": p(r(SENTENCE), props='<w:spacing w:line="240" w:lineRule="exact"/>'),
    "an old text box in a group": drawn("position:absolute;left:90000;top:3600", "v:group"),
    "lines of an unknown rule": p(r(SENTENCE), props='<w:spacing w:line="20" w:lineRule="a pt, exact"/>'),
    "an old text box with a false length": drawn("position:absolute;margin-left:--9pt"),
    "lines of an automatic height": packed(
        p(r(SENTENCE), style="N", props='<w:spacing w:lineRule="auto" w:line="240"/>'), TIGHT % "20"),
    "lines of no height": p(r(SENTENCE), props='<w:spacing w:line="0" w:lineRule="exact"/>'),
    "a wide old text box": drawn("position:absolute;margin-left:-500pt;width:800pt"),
    "an old text box low on a large page": drawn("position:absolute;margin-top:1600pt"),
    "an old text box": drawn("position:absolute;margin-left:90pt;margin-top:-2in"),
    "a text box": "<w:p><w:r><w:pict><w:txbxContent>" + p(r(SENTENCE)) + "</w:txbxContent></w:pict></w:r></w:p>",
}  # fmt: skip
OUT_OF_SIGHT = {
    "a tracked deletion": p(f'<w:del w:id="1"><w:r><w:delText>{SENTENCE}</w:delText></w:r></w:del>'),
    "moved away": p(f'<w:moveFrom w:id="1">{r(SENTENCE)}</w:moveFrom>'),
    "hidden text": p(r(SENTENCE, "<w:vanish/>")),
    "hidden by its style": p(r(SENTENCE), style="Ghost"),
    "half hidden": p(r("Costs fell by 4% "), r("in May.", "<w:vanish/>")),
    "white": p(r(SENTENCE, '<w:color w:val="FFFFFF"/>')),
    "nearly white": p(r(SENTENCE, '<w:color w:val="FEFDF0"/>')),
    "the colour of its ground": p(r(SENTENCE, '<w:color w:val="204060"/><w:shd w:val="clear" w:fill="203040"/>')),
    "one point": p(r(SENTENCE, '<w:sz w:val="2"/>')),
    "an instruction of a field": p(f"<w:r><w:instrText>{SENTENCE}</w:instrText></w:r>"),
    "cut by a paragraph": p(r("Costs fell by 4%")) + p(r("in May.")),
    "lines of a point": p(r(SENTENCE), props='<w:spacing w:line="20" w:lineRule="exact"/>'),
    "an old text box off the page": drawn("position:absolute; margin-left:-900pt; margin-top:2pt"),
    "lines of a style's rule": packed(p(r(SENTENCE), style="N", props='<w:spacing w:line="20"/>'), TIGHT % "240"),
    "lines of a twentieth": p(r(SENTENCE), props='<w:spacing w:line="12" w:lineRule="auto"/>'),
    "lines of a negative height": p(r(SENTENCE), props='<w:spacing w:line="-20"/>'),
    "an old text box by its left side": drawn("position:absolute;left:-900pt"),
    "an old text box without a unit": drawn("position:absolute;margin-left:-9000000"),
    "an old text box with a sign": drawn("position:absolute;margin-left:+9000pt"),
    "an important old text box": drawn("position:absolute;margin-left:-900pt !important"),
    "an old text box that is not displayed": drawn("position:absolute;display:none"),
    "an old text box without a size": drawn("position:absolute;width:0;height:0"),
    "an old text box with a long style": drawn(f"x:{'y' * 2000};position:absolute;margin-left:-900pt"),
    "a hidden old text box": drawn("position:absolute;visibility:hidden"),
    "a denial": p(r("Costs fell by 40% in May.")),
}


@pytest.mark.parametrize("body", IN_SIGHT.values(), ids=IN_SIGHT)
def test_a_text_in_sight_counts(body):
    assert graded(body, text=[SENTENCE]).value == 1.0
    assert graded(body, absent=[SENTENCE]).value == 0.0


@pytest.mark.parametrize("body", OUT_OF_SIGHT.values(), ids=OUT_OF_SIGHT)
def test_a_text_out_of_sight_does_not_count(body):
    assert graded(body, text=[SENTENCE]).value == 0.0
    assert graded(body, absent=[SENTENCE]).value == 1.0


def test_a_heading_is_one_by_style_or_level_and_never_by_looks():
    assert graded(p(r("Results"), style="H1"), heading={"Results": 1}).value == 1.0
    assert graded(p(r("Results "), style="Mine"), heading=["Results"]).value == 1.0
    assert graded(p(r("Results"), props='<w:outlineLvl w:val="1"/>'), heading={"Results": 2}).value == 1.0
    assert graded(p(r("Results", '<w:b/><w:sz w:val="40"/>')), heading=["Results"]).value == 0.0
    assert graded(p(r("Results"), style="H1"), heading={"Results": 2}).value == 0.0


def test_a_section_ends_at_the_next_heading_of_its_level():
    body = p(r("One"), style="H1") + p(r("alpha")) + p(r("Two"), style="H1") + p(r("beta"))
    assert graded(body, under={"One": ["alpha"], "Two": ["beta"]}).value == 1.0
    assert graded(body, under={"One": ["beta"]}).value == 0.0


def test_a_table_is_compared_cell_by_cell():
    rows = "".join(
        "<w:tr>" + "".join(f"<w:tc>{p(r(cell))}</w:tc>" for cell in row) + "</w:tr>"
        for row in (["a", "1 "], ["b", "2"])
    )
    assert graded(f"<w:tbl>{rows}</w:tbl>", table=[[["a", "1"], ["b", "2"]]]).value == 1.0
    assert graded(f"<w:tbl>{rows}</w:tbl>", table=[[["a", "1"], ["b", "3"]]]).value == 0.0
    assert graded(p(r("a 1")) + p(r("b 2")), table=[[["a", "1"], ["b", "2"]]]).value == 0.0


def test_very_many_tables_are_read_in_linear_time(linear):
    def cells(text):
        run = {"text": "x", "hidden": ""}
        found = table_cells([{"table": number, "row": 0, "column": 0, "runs": [run]} for number in range(len(text))])
        assert found == [[["x"]]] * len(text)

    linear(cells, "t", 16_000)


def test_styles_are_effective_ones_however_they_come_about():
    wanted = {"Total": {"bold": True, "size": 11}}
    assert graded(p(r("Total"), style="H1"), style=wanted).value == 1.0
    assert graded(p(r("To", '<w:rStyle w:val="Strong"/>'), r("tal", "<w:b/>")), style=wanted).value == 1.0
    assert graded(p(r("To", "<w:b/>"), r("tal")), style=wanted).value == 0.0
    assert graded(p(r("Total", '<w:b w:val="0"/>'), style="H1"), style=wanted).value == 0.0
    assert graded(p(r("Total"), props='<w:jc w:val="center"/>'), style={"Total": {"align": "center"}}).value == 1.0


def test_revisions_left_behind_are_refused_where_the_row_says_so():
    changed = p(r("done"), f'<w:ins w:id="1">{r("!")}</w:ins>')
    assert graded(changed, revision=False).value == 0.0
    assert graded(p(r("done")), revision=False).value == 1.0


def test_list_items_and_pictures_are_counted():
    item = p(r("one"), props='<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>')
    assert graded(item, list=["one"]).value == 1.0
    assert graded(p(r("• one")), list=["one"]).value == 0.0
    assert graded(item, image=1).value == 0.0


BILLION = '<!DOCTYPE a [<!ENTITY l "ha"><!ENTITY m "&l;&l;">]>'


@pytest.mark.parametrize("data", [
    b"{\\rtf1 Costs}", packed(p(r(SENTENCE)))[:-40], packed(p(r(SENTENCE)), BILLION + STYLES), packed(p(r("<b>"))),
    packed("", root=f"w:other {W}"),
], ids=["another format", "cut off", "entities", "no XML", "another root"])  # fmt: skip
def test_a_file_that_is_no_document_is_the_agents_fault(data):
    score = graded(data, text=[SENTENCE])
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(UsageError):
        verikit.docx(text=SENTENCE)
    with pytest.raises(UsageError):
        verikit.docx(style={"a": {"bolt": True}})
    assert graded(p(r("x"))).value is None
