"""Bad rows of a file of pairs are reported together, before a judge is queried."""

from __future__ import annotations

import json

import pytest

from verikit.errors import SchemaError, UsageError
from verikit.judges.match.entrants import read_entrants
from verikit.readers.files import BAD_ROWS

GOOD = json.dumps({"instruction": "a", "output_1": "x", "output_2": "y"})
BAD = ('{"instruction": "a", "output_1": "x"}', "{bad", '{"output_1": "x", "output_2": "y"}')


def test_all_bad_rows_of_a_file_of_pairs_are_named_together(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join([GOOD, *BAD]) + "\n")
    with pytest.raises(UsageError) as raised:
        read_entrants([str(path)])
    assert [f"{path}:{line}:" in str(raised.value) for line in (1, 2, 3, 4)] == [False, True, True, True]


def test_a_first_row_that_is_not_json_does_not_hide_the_others(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join([BAD[1], GOOD, BAD[0]]) + "\n")
    with pytest.raises(UsageError, match=r"(?s)pairs.jsonl:1:.*pairs.jsonl:3:"):
        read_entrants([str(path)])


def test_a_single_bad_pair_is_the_error_itself_and_many_are_cut(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join([GOOD, BAD[0]]) + "\n")
    with pytest.raises(SchemaError, match=r"pairs.jsonl:2: text not found"):
        read_entrants([str(path)])
    path.write_text("\n".join([GOOD, *[BAD[0]] * 50]) + "\n")
    with pytest.raises(UsageError) as raised:
        read_entrants([str(path)])
    assert str(raised.value).count("text not found") == BAD_ROWS
