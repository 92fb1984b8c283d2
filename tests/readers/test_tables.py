"""CSV and TSV, as spreadsheets and data frames write them and as they come broken."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import SchemaError, UsageError
from verikit.readers import read, rows
from verikit.readers import table as tables
from verikit.readers.table import rows as table_rows
from verikit.types import Group
from verikit.verifiers.column import Column

LATEX = r'\boxed{\frac{a}{b}}, \text{so } x = ""2"" & \\ \[y\]'


@pytest.fixture
def write(tmp_path):
    def make(data, name="rows.csv"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return make


def table(*found, delimiter=","):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(found)
    return out.getvalue()


def told(path):
    return [(line, row.problem if isinstance(row, SchemaError) else row) for _, line, row in rows(path)]


def test_a_table_is_read_with_latex_line_ends_and_quotes_as_they_are(write):
    path = write(table(["id", "prompt", "completion", "answer"], ["1", "a\nb", LATEX, "007"], ["2", 'q "x"', "", "7"]))
    first, second = read(path)
    assert (first.id, first.prompt, first.completions, first.answer) == ("1", "a\nb", [LATEX], "007")
    assert (second.prompt, second.completions) == ('q "x"', [""])


@pytest.mark.parametrize(("name", "delimiter"), [("a.tsv", "\t"), ("a.csv", ";"), ("a.csv", "\t"), ("a.CSV", ",")])
def test_tabs_and_semicolons_separate_where_the_name_or_the_header_says_so(write, name, delimiter):
    [group] = read(write(table(["prompt", "completion"], ["p, 1", "c"], delimiter=delimiter), name))
    assert (group.prompt, group.completions) == ("p, 1", ["c"])


def test_a_mark_crlf_and_blank_lines_are_no_matter_and_rows_are_told_by_the_line_they_begin_on(write):
    path = write(b'\xef\xbb\xbfprompt,completion\r\n\r\n"a\r\nb",c\r\n\r\nd\r\ne,f\r\n')
    assert told(path) == [
        (3, {"prompt": "a\r\nb", "completion": "c"}),
        (6, "the row has 1 columns, the header has 2"),
        (7, {"prompt": "e", "completion": "f"}),
    ]


def test_lists_in_cells_are_read_as_json_and_gathered_rows_and_rewards_as_well(write):
    cells = [json.dumps(["[1, 2]", LATEX]), "[0.5, 1]", json.dumps([{"role": "user", "content": "p"}])]
    path = write(table(["samples", "rewards", "prompt", "answer", "completion_list"], [*cells, "[1, 2]", "[3]"]))
    [group] = read(path)
    assert group.completions == ["[1, 2]", LATEX]
    assert [keys["rewards"] for keys in group.candidate_meta] == [0.5, 1]
    assert group.prompt == [{"role": "user", "content": "p"}]
    assert (group.answer, group.meta["completion_list"]) == ("[1, 2]", "[3]")  # no list by its column: text


def test_a_column_of_numbers_and_truths_is_a_reward(write):
    path = write(table(["prompt", "completion", "rm", "ok"], ["p", "a", " 0.5", "True"], ["q", "b", "high", "false"]))
    samples = [group.samples()[0] for group in read(path)]
    assert [score.value for score in Column("rm").score(samples)] == [0.5, None]
    assert [score.value for score in Column("ok").score(samples)] == [1.0, 0.0]


def test_a_mapped_column_is_a_list_too_and_one_of_python_is_told(write):
    path = write(table(["q", "tries"], ["p", '["a", "b"]'], ["r", "['a', 'b']"]))
    group, error = read(path, mapping={"prompt": "q", "completions": "tries"})
    assert group.completions == ["a", "b"]
    assert (error.field, "json.dumps" in error.hint) == ("tries", True)


def test_a_field_far_longer_than_the_module_allows_is_read(write):
    [group] = read(write(table(["prompt", "completion"], ["p", "x" * 1_000_000])))
    assert len(group.completions[0]) == 1_000_000


def test_a_quote_that_is_never_closed_hides_no_row_after_it(write):
    good = "".join(f"p{n},c\n" for n in range(1000))
    path = write(f'prompt,completion\na,b\n"open,c\n{good}')
    found = told(path)
    assert len(found) == 1002
    assert [line for line, row in found if isinstance(row, str)] == [3]
    assert found[-1] == (1003, {"prompt": "p999", "completion": "c"})


def test_a_line_and_a_quoted_field_over_the_limit_are_bad_rows_and_the_others_are_read():
    long = "x" * 500
    data = f'prompt,completion\na,b\n{long},c\nd,"{"y" * 60}\n{"z" * 60}"\ne,f\n'
    found = list(table_rows(io.BufferedReader(io.BytesIO(data.encode())), "t.csv", ",", cap=100))
    lines = [(line, row.problem if isinstance(row, SchemaError) else row["prompt"]) for line, row in found]
    assert lines[0] == (2, "a")
    assert lines[1] == (3, "the row has 503 bytes, more than the limit of 100")
    assert lines[2][0] == 4
    assert "a quote may not be closed" in lines[2][1]
    assert lines[-1] == (6, "e")


def test_nul_and_bytes_that_are_no_utf8_do_not_stop_the_reading(write):
    path = write(b"prompt,completion\na\0b,c\n\xff,d\ne,f\n")
    assert told(path) == [
        (2, {"prompt": "a\0b", "completion": "c"}),
        (3, "invalid UTF-8"),
        (4, {"prompt": "e", "completion": "f"}),
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\n", "without a header"),
        (b"a,a\n1,2\n", "two columns are called 'a'"),
        (b"a,b\n", "no rows"),
        (b"\xff,b\n1,2\n", "UTF-8"),
        (b"p\0r\0,\0c\0\n", "UTF-8"),
        (b'"open\n', "header can't be read"),
    ],
)
def test_a_table_that_can_not_be_read_as_a_whole_is_refused(write, data, problem):
    with pytest.raises(UsageError, match=problem):
        list(read(write(data)))


def test_stdin_is_a_table_where_the_format_says_so(monkeypatch):
    data = b"id\tprompt\tcompletion\n1\tp\tc\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    [group] = read("-", format="tsv")
    assert group.id == "1"


def test_an_index_column_without_a_name_gets_one(write):
    [group] = read(write(table(["", "prompt", "completion"], ["0", "p", "c"])))
    assert group.meta == {"column_1": "0"}


cell = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12) | st.sampled_from(
    ['"', '""', "a,b", "\n", "\\", "\t", ";", "[1]", "x\0y"]
)


@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=6), st.sampled_from([",", "\t"]))
def test_what_python_writes_is_read_back_whatever_the_cells(tmp_path_factory, pairs, delimiter):
    data = table(("one", "two"), *pairs, delimiter=delimiter)
    path = tmp_path_factory.mktemp("table") / ("x.csv" if delimiter == "," else "x.tsv")
    path.write_bytes(data.encode())
    assert [row for _, _, row in rows(path)] == [{"one": a, "two": b} for a, b in pairs]


@given(
    st.lists(st.sampled_from(['"', "a", ",", "\n", "\r\n", "\0", "\\", "é", "\n\n", '""']), max_size=60).map("".join)
)
def test_whatever_a_table_holds_every_whole_row_after_the_last_quote_is_read(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("table") / "x.csv"
    path.write_bytes(f"prompt,completion\n{text}\nlast,row\n".encode())
    found = list(read(str(path)))
    assert all(isinstance(item, Group) or (item.line and item.hint) for item in found)
    if text.count('"') == 0:
        assert isinstance(found[-1], Group)
        assert found[-1].completions[-1] == "row"


def test_quotes_that_open_on_every_line_and_never_close_do_not_have_the_table_read_without_end(write, monkeypatch):
    monkeypatch.setattr(tables, "MAX_REREAD", 1_000_000)
    path = write("prompt,completion\np,c\n" + 'x","y\n' * 20_000)
    found = told(path)
    assert found[0] == (2, {"prompt": "p", "completion": "c"})
    assert 3 <= len(found) < 20
    assert all(problem.startswith("the line is not a table row") for _, problem in found[1:-1])
    assert found[-1][1] == "the quotes don't match: the rows from here on are not read"
