"""Files next to a TOML file that its specs name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from verikit import load
from verikit.names.registry import registered
from verikit.readers import Reader

EXAMPLE = ROOT / "examples/workspace"


@pytest.fixture
def specs(tmp_path, monkeypatch):
    """A folder with verifiers.toml, and another one from which it is loaded."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    def written(spec):
        Path("../specs/verifiers.toml").write_text(f"[verifiers]\none = {json.dumps(spec)}\n")
        return load("../specs/verifiers.toml#one")

    return written


def test_the_example_of_workspaces_judges_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judge = load(f"{EXAMPLE}/verifiers.toml#judged")
    samples = [sample for group in Reader(EXAMPLE / "rows.jsonl") for sample in group.samples()]
    judged = [sample for sample in samples if sample.id.startswith("rubric-")]
    assert [score.value for score in judge.score(judged)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("spec", "option"),
    [
        ("rubric('replay:data.json')", "engine"),
        ("rubric(engine='replay:data.json')", "engine"),
        ("rubric('openai:http://localhost:1/v1#m', prompt='data.json')", "prompt"),
        ("image(like='data.json')", "like"),
        ("html(shot='data.json')", "shot"),
    ],
)
def test_a_file_next_to_the_toml_file_is_found(specs, spec, option):
    Path("../specs/data.json").write_text("{}\n")
    if option == "prompt":
        Path("../specs/data.toml").write_text((ROOT / "judges/prompts/rubric.toml").read_text())
        spec = spec.replace("data.json", "./data.toml")
    assert "../specs/" in getattr(specs(spec), option)


def test_the_schema_next_to_the_toml_file_counts_before_one_of_the_current_folder(specs):
    Path("../specs/schema.json").write_text('{"type": "object"}')
    Path("schema.json").write_text('{"type": "array"}')
    assert specs("json_schema('schema.json')")("{}").value == 1.0
    Path("../specs/schema.json").unlink()
    assert specs("json_schema('schema.json')")("[]").value == 1.0


def test_paths_of_the_agents_files_and_names_of_prompts_stay_as_written(specs):
    for name in ("final.txt", "a.png"):
        Path("../specs", name).write_text("x")
    Path("../specs/rubric").mkdir()
    assert list(specs("files(exist=['final.txt'])").exist) == ["final.txt"]
    assert specs("image('a.png')").file == "a.png"
    assert specs("rubric('openai:http://localhost:1/v1#m', prompt='rubric')").prompt == "rubric"


def test_each_option_that_names_a_file_exists():
    for entry in registered("verifiers").values():
        made = entry.load()
        for option in getattr(made, "local_files", ()):
            assert option in made.__dataclass_fields__, (entry.name, option)
