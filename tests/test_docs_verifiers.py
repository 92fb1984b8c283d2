"""The examples of docs/verifiers.md are run as they stand."""

import re

import pytest

from tests.conftest import ROOT
from verikit.registry import registered

TEXT = (ROOT / "docs" / "verifiers.md").read_text("utf-8")
SECTIONS = {part.partition("\n")[0].strip(): part for part in re.split(r"^## ", TEXT, flags=re.M)[1:]}
NEEDS = {"`reasoning_gym`": ["reasoning_gym"], "`rm`": ["torch", "transformers"]}
"""Packages that a section's examples need, of extras."""
NAMED = {title: part for title, part in SECTIONS.items() if title.startswith("`")}


@pytest.mark.parametrize("title", NAMED)
def test_each_verifier_is_registered_and_shows_an_accepted_and_a_refused_example(title, monkeypatch):
    for package in NEEDS.get(title, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(ROOT)
    for name in re.findall(r"`(\w+)`", title):
        assert name in registered("verifiers")
    blocks = re.findall(r"^```python\n(.*?)^```", NAMED[title], re.S | re.M)
    assert sum(block.count("assert ") for block in blocks) >= 2, f"{title} shows no two examples"
    for block in blocks:
        exec(compile(block, f"docs/verifiers.md {title}", "exec"), {})


def test_sections_stand_in_alphabetical_order():
    assert list(NAMED) == sorted(NAMED)
