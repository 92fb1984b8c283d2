"""The rows that docs/formats.md shows are read as the format whose heading they stand under."""

import re
from pathlib import Path

import pytest

from verikit.readers import FORMATS, read
from verikit.types import Group

PAGE = (Path(__file__).parents[2] / "docs/formats.md").read_text()
EXAMPLES = dict(re.findall(r"^### `([\w-]+)`.*?\n```json\n((?:.*\n)+?)```", PAGE, re.MULTILINE))


def test_every_format_has_an_example():
    assert EXAMPLES.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_an_example_row_is_read_as_its_format(tmp_path, name):
    path = tmp_path / "rows"
    path.write_text(EXAMPLES[name])
    reader = read(path)
    [group] = reader
    assert isinstance(group, Group)
    assert reader.format == name
    assert all(group.completions)
