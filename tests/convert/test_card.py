"""`verikit data --card`: a folder that the Hugging Face Hub and `datasets` take as a dataset."""

import json

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.convert.card import split_files, write_card


def run(*words):
    return CliRunner().invoke(cli, ["data", "gsm8k", *map(str, words)], standalone_mode=False)


@pytest.fixture
def made(tmp_path):
    rows = [{"question": f"{i}+1?", "answer": f"so #### {i + 1}"} for i in range(5)]
    (tmp_path / "gsm.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run(tmp_path / "gsm.jsonl", "-o", tmp_path / "sums", "--held-out", 2, "--card")
    assert "hf upload ORG/sums" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("next: verikit score")
    return tmp_path / "sums"


def test_the_card_names_the_file_of_each_split_and_its_rows(made):
    yaml = pytest.importorskip("yaml")
    front, text = (made / "README.md").read_text().split("---\n")[1:]
    (config,) = yaml.safe_load(front)["configs"]
    assert config["data_files"] == [{"split": name, "path": f"{name}.jsonl"} for name in ("train", "held_out")]
    write_card(made.parent, "", "", "", {made / "on.jsonl": 1})
    front = (made.parent / "README.md").read_text().split("---\n")[1]
    assert yaml.safe_load(front)["configs"][0]["data_files"][0]["split"] == "on"
    assert "`train.jsonl`: 3 rows" in text
    assert "`held_out.jsonl`: 2 rows" in text


@pytest.mark.slow(seconds=3)
def test_datasets_loads_the_folder(made, tmp_path):
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(str(made), cache_dir=str(tmp_path / "cache"))
    assert {name: len(rows) for name, rows in found.items()} == {"train": 3, "held_out": 2}
    assert sorted([*found["train"]["answer"], *found["held_out"]["answer"]]) == list("12345")


def test_an_edited_card_is_kept_and_rows_of_an_earlier_split_are_not_mixed_in(made):
    (made / "README.md").write_text("mine")
    source = made.parent / "gsm.jsonl"
    assert "an earlier conversion" in str(run(source, "-o", made, "--card").exception)
    assert "kept" in run(source, "-o", made, "--held-out", 1, "--card").stderr
    assert (made / "README.md").read_text() == "mine"
    for words in (["-o", "-"], ["-o", made, "--held-out", 1, "--held-out-file", made / "x"]):
        assert "--card goes with" in str(run(source, *words, "--card").exception)


def test_names_from_outside_stay_in_one_line_of_the_card(tmp_path):
    folder = tmp_path / "a\n---\n<script>"
    folder.mkdir()
    write_card(folder, "GSM8K", "x\n---\nlicense: mit", "numeric", {folder / "train.jsonl": 1})
    text = (folder / "README.md").read_text()
    assert text.split("\n").count("---") == 2
    assert "<script>" not in text
    assert split_files(folder, "../x")[0].name == "train.jsonl"
    assert [path.name for path in split_files(folder, "test")] == ["test.jsonl", "held_out.jsonl"]
    assert [path.name for path in split_files(folder, "held_out")] == ["train.jsonl", "held_out.jsonl"]
