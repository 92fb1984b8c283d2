"""Specs that name files: any path can be written in a sum."""

from __future__ import annotations

from pathlib import Path

import pytest

from verikit import load
from verikit.names.spec import move_files, names_code

OWN = "from verikit import Sample, verifier\n\n\n@verifier\ndef brief(sample: Sample) -> float:\n    return 0.5\n"


@pytest.mark.parametrize("folder", ["ma tâche", "50%20off", "été", "2nd try", "a+b*c"])
@pytest.mark.parametrize("spec", ["own.py:brief", "0.5*own.py:brief + 0.5*exact"])
def test_a_moved_spec_finds_its_file_in_a_folder_of_any_name(spec, folder, tmp_path, monkeypatch):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    for place in (Path(folder), tmp_path / folder):
        moved = move_files(spec, lambda file, place=place: str(place / file))
        assert load(moved)("2", "2").value == pytest.approx(0.5 if spec.startswith("own") else 0.75)


def test_a_path_with_a_space_names_a_verifier(tmp_path, monkeypatch):
    (tmp_path / "my rules").mkdir()
    (tmp_path / "my rules/own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert load("my rules/own.py:brief")("2", "2").value == 0.5


@pytest.mark.parametrize("unit", ["f", "a.", "%2F", ".toml", "~/"])
def test_names_are_sought_in_linear_time(linear, unit):
    linear(names_code, unit)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("0.5*evil.py:grade", True),
        ("2x.py:grade", True),
        ("f(a.toml#b)", True),
        ("a%2", False),
        ("a%2Fb.py:c", True),
        ("f('a.py:b')", False),
        ("f(.toml#b)", False),
        ("a-b.c*2", False),
    ],
)
def test_a_name_is_found_after_other_characters_of_names(spec, named):
    assert names_code(spec) == named
