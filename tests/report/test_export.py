"""Tables and charts as files: they parse, hold the run's own numbers, and no text in them becomes a command."""

import csv
import io
import json
import math
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from tests.hostile_texts import HOSTILE as UNITS
from tests.report.conftest import EXAMPLES, HOSTILE, training_run
from verikit.report import Options
from verikit.report.compare import collect_all
from verikit.report.drawing import Area, Dot, Line, TextLabel, draw
from verikit.report.export import csv_table, exports, files, markdown, shown, stem
from verikit.report.latex import escape, latex_table
from verikit.report.model import Chart, Metric, Series, Table
from verikit.report.pictures import pdf, svg

SVG = "{http://www.w3.org/2000/svg}"
CANDIDATES = EXAMPLES / "candidates.jsonl"
TEXTS = [*HOSTILE, *(unit * 50 for unit in UNITS), "100 % of $x_1$ & #2 {~^\\} \"a\" 'b' `c` --- [1] <x> |y|"]


@pytest.fixture
def run(verikit, tmp_path):
    verikit("score", CANDIDATES, "-v", "0.9*answer + 0.1*boxed", "--by", "column('rm')", "--select", "best", "-q")
    return tmp_path / "runs/candidates"


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def charts(*values, kind="line", **how):
    return Chart("key", "Title", "x", "y", [Series(f"s{i}", points) for i, points in enumerate(values)], kind, **how)


def test_the_metrics_of_a_run_come_back_from_csv_to_the_last_digit(run, verikit, tmp_path):
    assert verikit("report", run, "--csv", "-o", "paper") == 0
    metrics = json.loads((run / "summary.json").read_bytes())["metrics"]
    every = {row["metric"]: row for row in read((tmp_path / "paper/candidates-every-metric.csv").read_text())}
    assert every.keys() == metrics.keys()
    for name, row in metrics.items():
        assert [float(every[name][key]) for key in ("value", "low", "high")] == [row["value"], row["low"], row["high"]]
    tidy = {row["metric"]: row for row in read((tmp_path / "paper/metrics.csv").read_text())}
    mean = tidy["Mean of one candidate"]
    assert (mean["run"], mean["kind"]) == ("candidates", "score")
    assert [float(mean[key]) for key in ("value", "low", "high")] == [
        metrics["mean"][key] for key in ("value", "low", "high")
    ]


def test_the_numbers_behind_a_chart_come_back_from_csv(run):
    (found,), together = collect_all([run], Options())
    named = dict(files([found], together, ["csv"]))
    curve = next(chart for chart in found.charts if chart.key == "over_k")
    rows = read(named["candidates-over-k.csv"].decode())
    told = [(row["series"], *(float(row[key]) for key in ("k", "value", "low", "high"))) for row in rows]
    assert told == [(series.name, *point) for series in curve.series for point in series.points]


def test_every_chart_is_a_picture_and_every_table_a_file_under_a_name_of_its_own(run, verikit, tmp_path):
    training_run(tmp_path / "trained")
    runs, together = collect_all([run, run, tmp_path / "trained"], Options())
    found = list(exports(runs, together))
    assert len({held.stem for held in found}) == len(found)
    assert sum(isinstance(held.content, Chart) for held in found) == sum(
        len(each.charts) for each in [*runs, *together]
    )
    assert verikit("report", run, run, tmp_path / "trained", "--svg", "--latex", "--csv", "-o", "out") == 0
    for held in found:
        endings = {"svg", "csv"} if isinstance(held.content, Chart) else {"tex", "csv"}
        assert {path.suffix[1:] for path in (tmp_path / "out").glob(f"{held.stem}.*")} == endings
    assert {"candidates-over-k", "candidates-metrics", "candidates-2-over-k", "trained-1-train-reward"} <= {
        held.stem for held in found
    }
    assert "side-by-side-score-over-k-candidates-pass-at-k" in {held.stem for held in found}


def test_text_formats_are_printed_where_no_folder_is_named_and_pictures_want_one(run, verikit, capsys):
    assert verikit("report", run, "--markdown") == 0
    assert "| Mean of one candidate | " in capsys.readouterr().out
    assert verikit("report", run, "--latex") == 0
    assert r"\toprule" in capsys.readouterr().out
    assert verikit("report", run, "--csv") == 0
    assert {row["metric"] for row in read(capsys.readouterr().out)} >= {"Mean of one candidate", "Selected by best"}
    for formats in (["--svg"], ["--latex", "--csv"]):
        assert verikit("report", run, *formats) == 2
        assert "-o DIR" in capsys.readouterr().err
    assert verikit("report", run, "-o", "out") == 2
    assert "--csv" in capsys.readouterr().err


# Pictures.


@pytest.mark.parametrize("text", TEXTS)
def test_a_picture_is_xml_that_holds_any_name_as_text_alone(text):
    chart = Chart("key", text, text, text, [Series(text, [(1, 0.5)]), Series(text * 2, [(2, 0.5)])])
    root = ET.fromstring(svg(draw(chart)))
    allowed = {f"{SVG}{tag}" for tag in ("svg", "title", "rect", "path", "circle", "text")}
    assert {element.tag for element in root.iter()} <= allowed
    assert not any(name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_numbers_all_of_a_picture_lies_within_it(seed):
    rng = random.Random(seed)
    far = 10.0 ** rng.randint(-6, 7)
    low = rng.uniform(-far, far)

    def value():
        return low + rng.random() * far

    kind = rng.choice(["line", "histogram", "forest"])
    series = []
    for number in range(rng.randint(1, 9)):
        points = {
            "line": [(x, v := value(), v - far / 9, v + far / 9) for x in range(1, rng.choice([2, 5, 80]))],
            "histogram": [(x, x + 1, rng.randint(0, 50)) for x in range(12)],
            "forest": [(v := value(), v - far / 9, v + far / 9)],
        }[kind]
        series.append(Series(f"series number {number}", points))
    drawing = draw(Chart("key", "Title", "x", "y", series, kind, log=rng.random() < 0.5, reference=value()))
    for shape in drawing.shapes:
        points = shape.points if isinstance(shape, Line | Area) else [(shape.x, shape.y)]
        for x, y in points:
            assert math.isfinite(x)
            assert -0.01 <= x <= drawing.width + 0.01
            assert -0.01 <= y <= drawing.height + 0.01


def test_a_line_is_drawn_where_its_numbers_are():
    drawing = draw(charts([(1, 0.0, 0.0, 0.1), (2, 0.5, 0.4, 0.6), (4, 1.0, 0.9, 1.0)], percent=True, log=True))
    dots = [shape for shape in drawing.shapes if isinstance(shape, Dot)]
    labels = {shape.text: shape for shape in drawing.shapes if isinstance(shape, TextLabel) and shape.anchor == "end"}
    assert dots[1].x - dots[0].x == pytest.approx(dots[2].x - dots[1].x)  # powers of two are equally far apart
    assert dots[1].y == pytest.approx((dots[0].y + dots[2].y) / 2)
    zero, whole = labels["0"], labels["100"]
    assert dots[0].y - zero.y == pytest.approx(dots[2].y - whole.y)
    bands = [shape for shape in drawing.shapes if isinstance(shape, Area)]
    assert len(bands) == 1
    assert len(bands[0].points) == 6


def test_bars_are_as_high_as_their_counts():
    drawing = draw(charts([(0, 1, 4), (1, 2, 2), (2, 3, 0)], [(0, 1, 1), (1, 2, 8), (2, 3, 0)], kind="histogram"))
    bars = [shape.points for shape in drawing.shapes if isinstance(shape, Area)]
    heights = [max(y for _, y in points) - min(y for _, y in points) for points in bars]
    assert [height / heights[0] * 4 for height in heights] == pytest.approx([4, 2, 1, 8])


def test_a_forest_tells_each_value_with_its_interval():
    drawing = draw(charts([(0.25, 0.0, 0.5)], [(0.5, None, None)], kind="forest", percent=True, reference=0.5))
    first, second = (shape for shape in drawing.shapes if isinstance(shape, Dot))
    whisker = next(s for s in drawing.shapes if isinstance(s, Line) and s.points[0][1] == s.points[1][1] == first.y)
    assert first.x == pytest.approx((whisker.points[0][0] + whisker.points[1][0]) / 2)
    reference = next(shape for shape in drawing.shapes if isinstance(shape, Line) and shape.dash)
    assert reference.points[0][0] == pytest.approx(second.x)
    assert {"25.0 %", "50.0 %"} <= {shape.text for shape in drawing.shapes if isinstance(shape, TextLabel)}


def test_the_page_holds_the_same_picture_as_the_file(run):
    from tests.report.conftest import shown as page_of

    (found,), together = collect_all([run], Options())
    named = dict(files([found], together, ["svg"]))
    pictures = {entry["key"]: entry["picture"] for entry in page_of(run)["runs"][0]["charts"]}
    assert pictures["over_k"].encode() == named["candidates-over-k.svg"]
    assert len(pictures) == len(named)


def test_a_pdf_opens_holds_its_text_and_embeds_its_letters():
    pytest.importorskip("matplotlib")
    pypdf = pytest.importorskip("pypdf")
    chart = Chart("key", "Cost $5_x", "k of $n$", "right", [Series("pass@k", [(1, 0.5, 0.4, 0.6), (2, 0.7, 0.6, 0.8)])])
    content = pdf(draw(chart))
    assert content == pdf(draw(chart))
    (page,) = pypdf.PdfReader(io.BytesIO(content)).pages
    assert [float(side) for side in page.mediabox[2:]] == [480.0, 300.0]
    assert "k of $n$" in page.extract_text()
    fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
    assert fonts
    for font in fonts:
        inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        assert inner["/Subtype"] in ("/CIDFontType2", "/TrueType")
        assert "/FontFile2" in inner["/FontDescriptor"].get_object()


@pytest.mark.parametrize("text", TEXTS[-1:] + HOSTILE[:13:3])
def test_a_pdf_can_be_made_of_any_name(text):
    pytest.importorskip("matplotlib")
    chart = Chart("key", text, text, text, [Series(text, [(1, 0.5)]), Series("b", [(2, 0.5)])])
    assert pdf(draw(chart)).startswith(b"%PDF")


# Tables.


def commands(latex):
    """LaTeX's own tokens: commands and characters that mean something, escapes aside."""
    return re.findall(r"\\[a-zA-Z]+|(?<!\\)(?:\\\\)*[&%$#_~^{}]", re.sub(r"\\[&%$#_{}]", "", latex))


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_becomes_a_command_of_latex(text):
    told = set(commands(escape(text))) - {"{", "}", "$"}
    known = {f"\\text{name}" for name in ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar")}
    known |= {"\\textasciigrave", "\\textquotesingle", "\\textendash", "\\textemdash", "\\ldots", "\\char"}
    assert told <= known | {"\\leq", "\\geq", "\\neq", "\\times", "\\pm", "\\rightarrow"}
    assert escape(text).count("\n") == 0
    plain = re.sub(r"\\[{}]", "", escape(text))
    assert plain.count("{") == plain.count("}")


def test_a_latex_table_has_as_many_cells_in_each_row_as_columns():
    rows = [[text[:80], "62.5 % [1.0, 2.0]", "&"] for text in TEXTS]
    lines = latex_table(["name", "value", "x & y"], rows, "a_b", "tab:x").splitlines()
    body = lines[lines.index(r"\toprule") + 1 : lines.index(r"\bottomrule")]
    for line in body:
        if line != r"\midrule":
            assert line.endswith(r" \\")
            assert len(re.findall(r"(?<!\\)&", line)) == 2
    assert r"\begin{tabular}{lrl}" in lines
    assert r"\caption{a\_b}" in lines


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX")
def test_pdflatex_sets_the_tables_of_a_run(run, tmp_path):
    (found,), together = collect_all([run], Options())
    texts = [text for text in TEXTS if text.isascii()]
    hostile = latex_table(["a", "b"], [[text[:60], text[-60:]] for text in texts], texts[-1], "tab:hostile")
    tables = [content.decode() for name, content in files([found], together, ["latex"])]
    document = "\n".join([r"\documentclass{article}\usepackage{booktabs}\begin{document}", *tables, hostile])
    (tmp_path / "paper.tex").write_text(document + r"\end{document}")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "\tx"])
def test_a_spreadsheet_computes_no_text(text):
    (row,) = read(csv_table(Table("t", ("a", "b"), [(text, -0.5)])))
    assert row == {"a": f"'{text}", "b": "-0.5"}


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_one_cell_of_csv_and_of_markdown(text):
    table = Table("t", ("a", "b"), [(text, 1)])
    (row,) = read(csv_table(table))
    assert row["b"] == "1"
    lines = markdown(table).splitlines()
    assert len(re.findall(r"(?<!\\)\|", lines[4])) == 3
    csv_table(table).encode()


def test_values_are_shown_as_readers_want_them():
    assert shown(Metric("", 0.625, 0.5, 0.75)) == "62.5 % [50.0, 75.0]"
    assert shown(Metric("", 12.345678, 10.0, 15.0, percent=False)) == "12.35 [10, 15]"
    assert shown(Metric("", None)) == "\u2013"
    assert [shown(cell) for cell in (None, 12345, 0.25, "a\nb")] == ["", "12,345", "0.25", "a b"]


def test_a_name_of_a_file_holds_nothing_of_a_path():
    assert stem("../../etc", "passwd\0/..") == "etc-passwd"
    assert stem("模型", "pass@k") == "run-pass-at-k"
    assert len(stem("x" * 500, "y" * 500)) < 130
