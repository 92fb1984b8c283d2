import json

import pytest
from click.testing import CliRunner

pytest.importorskip("lm_eval")

from verikit.cli import cli


def test_the_examples_run_as_the_readme_shows_them(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    suite = ["eval", "examples/eval/suite.toml", "-q", "--json", "-o", str(tmp_path / "suite")]
    found = json.loads(CliRunner().invoke(cli, suite).stdout)
    large = found["models"]["large"]
    assert large["tasks"]["verikit_math500"]["metrics"]["acc"]["value"] == 0.95
    assert large["groups"]["verikit_mmlu_pro"]["metrics"]["acc"]["value"] == 1.0
    assert large["tasks"]["verikit_hotpotqa"]["metrics"]["cover_em_r1_searcher"]["value"] == 1.0
    assert {difference["task"] for difference in found["differences"]} == {
        "verikit_math500",
        "verikit_mmlu_pro",
        "verikit_hotpotqa",
    }
    arguments = [
        "eval",
        "verikit_math500",
        "--model",
        "replay:examples/eval/large.jsonl",
        "--data",
        "examples/eval/math.jsonl",
    ]
    done = CliRunner().invoke(cli, [*arguments, "-q", "-o", str(tmp_path / "one")])
    assert "100.00" in done.stdout
    runs = [str(tmp_path / "suite" / name) for name in ("small", "large")]
    assert "gained" in CliRunner().invoke(cli, ["compare", *runs]).stdout
