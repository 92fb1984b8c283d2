"""Only the converters that a command uses are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from verikit.convert import FORMS


def test_the_table_of_forms_imports_no_converter():
    code = (
        "import sys; from verikit.cli.data import data; from verikit.convert import FORMS; "
        "print([form.name for form in FORMS.values() "
        "if 'verikit.convert.' + form.maker.partition('.')[0] in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_the_converter_of_each_form_exists(form):
    assert callable(form.make)
