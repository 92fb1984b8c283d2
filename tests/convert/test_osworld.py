"""OSWorld's evaluators over files: right files get 1.0, forged ones never, and what can't be checked has no value."""

import io
import json
import tarfile

import pytest

import verikit
from tests.artifacts.books import cells, parts_changed, sales
from tests.artifacts.decks import box, deck, slide
from tests.artifacts.pdfs import pdf, shown
from tests.verifiers.test_docx import STYLES, p, r
from tests.verifiers.test_docx import packed as document
from verikit.convert import FORMS
from verikit.convert.osworld import osworld
from verikit.convert.run import convert
from verikit.errors import SchemaError, UsageError
from verikit.types import Sample
from verikit.workspaces import Workspace

RATE = "The rate is 4.2 %."
SPACED = '<w:spacing w:line="240" w:lineRule="auto"/>'
HOISTED = STYLES.replace("</w:styles>", "").replace(
    '<w:name w:val="Normal"/>', '<w:name w:val="Normal"/><w:rPr><w:rFonts w:ascii="Courier"/></w:rPr>'
) + "</w:styles>"  # fmt: skip
DIRECT = '<w:rFonts w:ascii="Courier"/>'


@pytest.fixture
def task(tmp_path):
    """A function that converts a task, with its expected files written where OSWorld keeps them."""

    def make(func, name="out.docx", gold=None, rules=None, options=None, **more):
        expected = {}
        if gold is not None:
            expected = {"type": "cloud_file", "path": "https://example.org/gold", "dest": "gold"}
            golds = gold if isinstance(gold, dict) else {"gold": gold}
            if isinstance(gold, dict):
                expected |= {"dest": list(gold), "multi": True}
            for told, data in golds.items():
                path = tmp_path / "cache/t1" / told
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        elif rules is not None:
            expected = {"type": "rule", "rules": rules}
        result = {"type": "vm_file", "path": f"/home/user/{name}", "dest": name}
        told = {"func": func, "result": result, "expected": expected, "options": options or {}, **more}
        evaluator = {key: value for key, value in told.items() if value is not None}
        row = {"id": "t1", "instruction": "Do it.", "evaluator": evaluator, "source_folder": str(tmp_path)}
        [found] = osworld(row)
        return json.loads(json.dumps(found))

    return make


def scored(row, data, name="out.docx"):
    """The score of an agent that left a file."""
    data = data if isinstance(data, bytes) else data.encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo(f"home/user/{name}")
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    sample = Sample(row["prompt"], "", id="t1", workspace=Workspace(out.getvalue()), meta={"osworld": row["osworld"]})
    return verikit.osworld().score([sample])[0]


FALSE_ZEROES = {
    "a trailing blank": ("compare_docx_files", {"ignore_blanks": False}, p(r(RATE)), p(r(RATE + " ")), STYLES),
    "line spacing left out is one line": ("compare_line_spacing", {}, p(r(RATE), props=SPACED), p(r(RATE)), STYLES),
    "a font of the style": ("compare_font_names", {"font_name": "Courier"}, None, p(r(RATE)), HOISTED),
}


@pytest.mark.parametrize("name", FALSE_ZEROES)
def test_what_osworld_wrongly_refuses_is_accepted_and_its_near_misses_are_not(task, name):
    func, told, gold, right, styles = FALSE_ZEROES[name]
    if gold is None:
        row = task(func, rules=told)
        misses = [document(p(r(RATE)))]
    else:
        row = task(func, gold=document(gold), options=told)
        misses = [document(p(r("The rate is 4.3 %.")), styles)]
        if func == "compare_line_spacing":
            misses += [document(p(r(RATE), props='<w:spacing w:line="360"/>')),
                       document(p(r(RATE), props='<w:spacing w:line="240" w:lineRule="exact"/>'))]  # fmt: skip
    score = scored(row, document(right, styles))
    assert score.value == 1.0, score
    assert [scored(row, miss).value for miss in misses] == [0.0] * len(misses)


def test_a_run_that_names_only_another_scripts_font_keeps_the_styles_font(task):
    row = task("compare_font_names", rules={"font_name": "Courier"})
    other_script = p(r(RATE, '<w:rFonts w:eastAsia="SimSun"/>'))
    assert scored(row, document(other_script, HOISTED)).value == 1.0
    for theme in ('w:asciiTheme="minorHAnsi"', 'w:ascii="Courier" w:asciiTheme="minorHAnsi"'):
        assert scored(row, document(p(r(RATE, f"<w:rFonts {theme}/>")), HOISTED)).value == 0.0


HIDDEN = p(r(RATE, "<w:vanish/>"))
TABLE = "<w:tbl><w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr></w:tbl>"
TABLES = TABLE.format(p(r("a")), p(r("b")))
DOCUMENTS = {
    "words": ("compare_docx_files", {}, p(r("The  rate")) + p(r("is 4.2 %.")), p(r(RATE)), [HIDDEN, p(r("The rate"))]),
    "case": ("compare_docx_files", {"ignore_case": True}, p(r(RATE)), p(r(RATE.upper())), [p(r("the rate"))]),
    "order": ("compare_docx_files", {"ignore_order": True}, p(r("a")) + p(r("b")),
              p(r("b")) + p() + p(r("a")), [p(r("a"))]),
    "order and empty lines": ("compare_docx_files", {"ignore_order": True, "ignore_blanks": False}, p(r("a")) + p(),
                              p() + p(r("a")), [p(r("a"))]),
    "lines": ("compare_docx_lines", {}, p(r("a")) + p(r("b")), p(r("b")) + p() + p(r("a")), [p(r("a")) + HIDDEN]),
    "empty lines": ("compare_docx_files", {"ignore_blanks": False, "delete_empty_lines": True}, p(r("a")),
                    p() + p(r("a")), [p(r("a")) + p(r("b"))]),
    "tables": ("compare_docx_tables", {}, TABLES, p(r("x")) + TABLES,
               [TABLE.format(p(r("a")), p(r("c"))), TABLES + TABLES, p(r("a b"))]),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_compared_by_what_is_in_sight(task, name):
    func, options, gold, right, misses = DOCUMENTS[name]
    row = task(func, gold=document(gold), options=options)
    assert scored(row, document(right)).value == 1.0
    assert [scored(row, document(miss)).value for miss in misses] == [0.0] * len(misses)
    assert scored(row, b"PK no document").value == 0.0


ONLY_TEXT = dict.fromkeys(
    (f"examine_{name}" for name in (
        "shape", "indent", "font_name", "font_size", "font_bold", "font_italic", "color_rgb", "font_underline",
        "strike_through", "alignment", "bullets", "background_color")), False,
)  # fmt: skip


def test_a_deck_is_refused_by_its_text_and_not_accepted_while_properties_are_unknown(task):
    gold, moved, other = (
        deck(slide(box(RATE))),
        deck(slide(box(RATE, at=(2, 3, 6, 1)))),
        deck(slide(box("The rate is 4.3 %."))),
    )
    row = task("compare_pptx_files", "out.pptx", gold=gold, options=ONLY_TEXT)
    assert [scored(row, data, "out.pptx").value for data in (gold, moved, other)] == [1.0, 1.0, 0.0]
    row = task("compare_pptx_files", "out.pptx", gold=gold)
    assert [scored(row, data, "out.pptx").value for data in (gold, other)] == [None, 0.0]
    assert "font_name" in scored(row, gold, "out.pptx").reason


@pytest.fixture
def books():
    for package in ("openpyxl", "formulas", "formualizer"):
        pytest.importorskip(package)


DATA = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}


@pytest.mark.slow(seconds=3)
def test_a_sheet_has_the_expected_values_recalculated_and_nothing_else(task, books):
    def stale(name, content):
        return content.replace(b"<v />", b"<v>7</v>").replace(b"<v></v>", b"<v>7</v>")

    row = task("compare_table", "out.xlsx", gold=sales(cells(D6=7)), options={"rules": [DATA, {"type": "sheet_name"}]})
    right = [sales(cells(D6=7)), sales(cells(D6="=SUM(3,4)")), sales(cells(D6=7.00001))]
    wrong = [sales(cells(D6=8)), sales(cells(D6="7")), sales(), sales(cells(D6=7, F9=1)),
             parts_changed(sales(cells(D6="=SUM(3,5)")), stale)]  # fmt: skip
    renamed = sales(lambda book, sheet: (sheet.__setitem__("D6", 7), setattr(sheet, "title", "Other")))
    assert [scored(row, data, "out.xlsx").value for data in right] == [1.0, 1.0, 1.0]
    assert [scored(row, data, "out.xlsx").value for data in [*wrong, renamed]] == [0.0] * 6
    assert scored(task("compare_table", "out.xlsx", gold=sales(cells(D6=7)), options={"rules": [DATA]}),
                  renamed, "out.xlsx").value == 1.0  # fmt: skip
    [check] = task("compare_table", "out.xlsx", gold=parts_changed(sales(cells(D6="=SUM(3,5)")), stale),
                   options={"rules": [DATA]})["osworld"]["functions"][0]["checks"]  # fmt: skip
    assert check["kind"] == "unscored"  # the gold itself is stale


@pytest.mark.slow(seconds=3)
def test_many_cells_beside_the_expected_ones_are_no_fault_of_the_agent(task, books):
    def many(book, sheet):
        other = book.create_sheet("Given")
        for _ in range(110):
            other.append(list(range(100)))

    row = task("compare_table", "out.xlsx", gold=sales(cells(D6=7)), options={"rules": [DATA]})
    large = sales(lambda book, sheet: (sheet.__setitem__("D6", 7), many(book, sheet)))
    assert scored(row, large, "out.xlsx").value == 1.0
    assert (
        scored(row, sales(lambda book, sheet: [sheet.append([1] * 100) for _ in range(110)]), "out.xlsx").value == 0.0
    )


def test_printed_sheets_and_cells_are_checked_and_other_rules_are_unscored_by_name(task, books):
    def shown(number):
        def fill(book, sheet):
            sheet["D6"], sheet["D6"].number_format = number, "0.00"

        return fill

    text = b"item,n,price,total\ntea,4,50,\nmilk,2,61,\nrice,10,10,\n,,,\n,,,7.00\n"
    printed = {"type": "sheet_print", "sheet_idx0": "RNSales", "sheet_idx1": "ENSales"}
    gold = {"gold.xlsx": sales(shown(7)), "gold-Sales.csv": text}
    row = task("compare_table", "out.xlsx", gold=gold, options={"rules": [printed]})
    books_left = [sales(shown(7.001)), sales(cells(D6=7)), sales(shown(7.01))]
    assert [scored(row, data, "out.xlsx").value for data in books_left] == [1.0, 0.0, 0.0]
    cell = {"type": "check_cell", "sheet_idx": 0, "coordinate": "D6", "props": {"value": {"method": "eq", "ref": 7}}}
    row = task("compare_table", "out.xlsx", options={"rules": [cell]})
    assert [scored(row, sales(cells(D6=one)), "out.xlsx").value for one in (7, 8)] == [1.0, 0.0]
    row = task("compare_table", "out.xlsx", options={"rules": [cell, {"type": "freeze", "sheet_idx0": 0}]})
    found = [scored(row, sales(cells(D6=one)), "out.xlsx") for one in (7, 8)]
    assert [score.value for score in found] == [None, 0.0]
    assert "freeze" in found[0].reason


SETTINGS = [{"key": ["a", "b"], "method": "eq", "ref": 1}, {"key": ["c", 0], "method": "approx:0.5", "ref": 2}]
FILES = {
    "text": ("compare_text_file", {"gold": b"  a b\n"}, {}, ["  a b \r\n\n"], ["a b\n", "  a b\nc\n", b"\xff"]),
    "blanks": ("compare_text_file", {"gold": b"A b\n"}, {"ignore_blanks": True, "ignore_case": True}, [" a\n B"],
               ["ab"]),
    "config": ("compare_config", {"rules": {"expected": "a=1\n"}}, {}, ["a=1"], ["a=2"]),
    "contains": ("file_contains", {"rules": {"expected": ["a", "b"]}}, {}, ["b a"], ["a"]),
    "csv": ("compare_csv", {"gold": b"a,b\n1,2\n"}, {}, ['"a","b"\r\n1,2 \r\n'], ["a,b\n1,2\n3,4\n", "a,b\n12\n"]),
    "records": ("check_csv", {"rules": {"expect": [{"a": "1"}], "unexpect": [{"a": "2"}]}}, {}, ["a,b\n1,2\n"],
                ["a,b\n2,1\n", "a,b\n1,1\n2,1\n", ""]),
    "json": ("check_json", {"rules": {"expect": SETTINGS, "unexpect": [{"key": ["d"], "method": "eq", "ref": None}]}},
             {}, ['{"a": {"b": 1.0}, "c": [2.4], "d": 0}'],
             ['{"a": {"b": true}, "c": [2], "d": 0}', '{"a": {"b": 1}, "c": ["2"], "d": 0}',
              '{"a": {"b": 1}, "c": [2]}',
              '{"a": {"b": 1}, "c": [], "d": 0}', '{"a": {"b": 2}, "a": {"b": 1}, "c": [2], "d": 0}', "[" * 99_999]),
    "settings": ("check_json_settings", {"rules": {"expected": {"a": 1}}}, {}, ['{"a": 1, "b": 2}'],
                 ['{"a": "1"}', "[]", "{"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_text_csv_and_json_files_are_compared_by_type(task, name):
    func, given, options, right, wrong = FILES[name]
    row = task(func, "out.txt", options=options, **given)
    assert [scored(row, data, "out.txt").value for data in right] == [1.0] * len(right)
    assert [scored(row, data, "out.txt").value for data in wrong] == [0.0] * len(wrong)


def test_a_text_over_the_limit_is_the_agents_fault(task):
    row = task("file_contains", "out.txt", rules={"expected": ["a"]})
    score = scored(row, b"a" * (5 << 20), "out.txt")
    assert (score.value, score.reason.endswith("the limit for text is 4")) == (0.0, True)


def test_and_needs_all_comparers_and_or_one_of_them(task):
    rules = {"type": "rule", "rules": {"expected": ["a"]}}
    result = {"type": "vm_file", "path": "/home/user/out.txt"}
    both = {"func": ["file_contains", "exact_match"], "result": [result] * 2, "expected": [rules] * 2}
    for conj, values in (("and", [None, 0.0]), ("or", [1.0, None])):
        row = task(**both, conj=conj)
        scores = [scored(row, text, "out.txt") for text in ("a", "b")]
        assert [score.value for score in scores] == values
    assert scores[1].reason.endswith("exact_match has no counterpart")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"result": {"type": "vm_command_line", "command": "ls"}}, "needs the running machine"),
        ({"result": {"type": "vm_file", "path": "/home/user/../x"}}, "not an absolute path"),
        ({"result": {"type": "vm_file", "path": r"C:\x"}}, "not an absolute path"),
        ({"result": {"type": "vm_file", "path": ["/a", "/b"], "gives": [0, 1]}}, "several files"),
        ({"expected": {"type": "vm_file", "path": "/x"}}, "not a rule"),
        (
            {
                "func": "compare_csv",
                "expected": {"type": "cloud_file", "dest": ["a", "b"], "multi": True, "gives": [0, 1]},
            },
            "several expected files",
        ),
        ({"func": "is_cookie_deleted"}, "no counterpart"),
        ({"func": "infeasible", "result": None}, "no counterpart"),
    ],
)
def test_what_needs_the_machine_is_unscored_by_name(task, change, reason):
    score = scored(task(**{"func": "file_contains", "rules": {"expected": ["a"]}, **change}), "a")
    assert score.value is None
    assert reason in score.reason


CELL = {"type": "check_cell", "sheet_idx": 0, "props": {"value": {"method": "eq", "ref": 5}}}
TABLE_OF = {"func": "compare_table", "rules": None}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"func": []}, "evaluator.func"),
        ({"result": [{}, {}]}, "evaluator.result"),
        ({"expected": {"type": "rule", "rules": {"expected": "a"}}}, "evaluator.expected.rules.expected"),
        ({"func": "compare_csv", "expected": {"type": "cloud_file", "dest": "none"}}, "evaluator.expected"),
        ({**TABLE_OF, "options": {"rules": [CELL]}}, "evaluator.options.rules"),
        ({**TABLE_OF, "options": {"rules": [CELL | {"coordinate": "A1:B2"}]}}, "evaluator.options.rules"),
        ({"func": "compare_csv", "expected": {"type": "cloud_file", "dest": "../../x"}}, "evaluator.expected"),
    ],
)
def test_a_task_without_its_expected_file_or_with_another_shape_is_bad(task, change, field):
    with pytest.raises(SchemaError) as problem:
        task(**{"func": "file_contains", "rules": {"expected": ["a"]}, **change})
    assert problem.value.field == field


@pytest.mark.parametrize("func", ["check_json", "check_csv"])
@pytest.mark.parametrize("rules", [None, 5, True, "abc", {"a": 1}, [5]], ids=str)
def test_rules_that_are_no_list_of_objects_are_bad(task, func, rules):
    with pytest.raises(SchemaError) as problem:
        task(func, rules={"unexpect": [], "expect": rules})
    assert problem.value.field == "evaluator.expected.rules.expect"


def test_a_row_that_is_not_of_a_local_file_names_no_local_folder(tmp_path):
    (tmp_path / "cache/t1").mkdir(parents=True)
    (tmp_path / "cache/t1/key").write_text("secret")
    evaluator = {"func": "compare_text_file", "result": {"type": "vm_file", "path": "/a"},
                 "expected": {"type": "cloud_file", "dest": "key"}}  # fmt: skip
    row = {"id": "t1", "instruction": "p", "evaluator": evaluator, "source_folder": str(tmp_path)}
    told = []
    with pytest.raises(UsageError):
        convert(FORMS["osworld"], [("hf:someone/data", 1, row)], tmp_path / "out.jsonl", tell=told.append)
    assert "only next to a local file" in str(told[0])


@pytest.mark.parametrize(
    ("func", "rules"),
    [("file_contains", {"expected": []}), ("check_json", {}), ("check_csv", {"expect": []}),
     ("check_json", {"unexpect": [{"key": ["a"], "method": "approx:nan", "ref": 1}]}),
     ("check_pdf_pages", {"relation": "ge", "ref_value": 300}),
     ("check_pdf_pages", {"relation": "eq", "ref_value": -1})],
    ids=str,
)  # fmt: skip
def test_rules_that_every_file_or_no_file_passes_are_bad(task, func, rules):
    with pytest.raises(SchemaError):
        task(func, rules=rules)


def test_half_a_character_in_a_rule_is_replaced(task):
    assert scored(task("compare_config", "out.txt", rules={"expected": "a\ud800"}), "a?", "out.txt").value == 1.0


@pytest.mark.parametrize(
    "told",
    [None, [], {"functions": []}, {"functions": [5]}, {"functions": [{"func": "x", "checks": []}]},
     {"functions": [{"func": "x", "checks": [{"kind": "lines", "file": "a"}]}]},
     {"functions": [{"func": "x", "checks": [{"kind": "os.system", "file": "a"}]}]},
     {"functions": [{"func": "x", "checks": [{"kind": "picture", "file": "out.docx", "like": "/etc/passwd"}]}]}],
    ids=str,
)  # fmt: skip
def test_a_row_with_other_checks_is_unscored(told):
    assert scored({"prompt": "", "osworld": told}, b"x").value is None


def test_a_picture_is_like_the_expected_one_or_has_a_size(task):
    pytest.importorskip("PIL")
    from PIL import Image, ImageDraw

    def drawn(high):
        made, out = Image.new("RGB", (200, 150), "white"), io.BytesIO()
        ImageDraw.Draw(made).rectangle((50, 140 - high, 90, 140), fill=(30, 90, 160))
        made.save(out, "PNG")
        return out.getvalue()

    row = task("check_structure_sim", "out.png", gold=drawn(100))
    assert [scored(row, drawn(high), "out.png").value for high in (100, 40)] == [1.0, 0.0]
    row = task("check_image_size", "out.png", rules={"width": 200, "height": 150})
    assert scored(row, drawn(40), "out.png").value == 1.0
    assert scored(task("check_image_size", "out.png", rules={"width": 200}), drawn(9), "out.png").value is None


def test_a_pdf_shows_the_expected_text_and_number_of_pages(task):
    pytest.importorskip("pypdfium2")
    row = task("compare_pdfs", "out.pdf", gold=pdf(shown(RATE)))
    files = [pdf(shown(RATE)), pdf(shown("The rate is 4.3 %.")), b"%PDF-"]
    assert [scored(row, data, "out.pdf").value for data in files] == [1.0, 0.0, 0.0]
    for relation, count, value in (("eq", 1, 1.0), ("ge", 2, 0.0), ("le", 1, 1.0), ("lt", 2, None)):
        row = task("check_pdf_pages", "out.pdf", rules={"relation": relation, "ref_value": count})
        assert scored(row, files[0], "out.pdf").value == value
