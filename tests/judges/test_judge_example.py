import importlib.util
import json
from pathlib import Path

from click.testing import CliRunner

from verikit.cli import cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "judge"


def test_the_recording_is_that_of_the_prompt_and_answers_as_they_are(tmp_path):
    spec = importlib.util.spec_from_file_location("record_judge_example", EXAMPLE / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.record(tmp_path / "judge.jsonl")
    assert (tmp_path / "judge.jsonl").read_bytes() == (EXAMPLE / "judge.jsonl").read_bytes()


def test_the_readmes_example_replays(tmp_path):
    spec = f"pairwise('replay:{EXAMPLE / 'judge.jsonl'}')"
    files = [str(EXAMPLE / "ours.jsonl"), str(EXAMPLE / "theirs.jsonl")]
    arguments = ["judge", *files, "-j", spec, "-o", str(tmp_path / "out"), "--fail-over", "20%", "--json", "-q"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.return_value == 0
    (pair,) = json.loads(result.output)["pairs"]
    assert (pair["wins"], pair["ties"], pair["losses"], pair["unjudged"]) == (3, 3, 1, 1)


def test_a_judge_selects_among_candidates_in_a_score_run(tmp_path):
    (tmp_path / "in.jsonl").write_text(
        json.dumps({"id": "q", "prompt": "p", "completions": ["short", "the longest of all", "longer"], "answer": "x"})
    )
    (tmp_path / "longest.py").write_text(
        "from verikit.base import verifier\n@verifier\ndef judge(sample):\n    return float(len(sample.completion))\n"
    )
    for selector in ("knockout", "round_robin"):
        select = f'{selector}("{tmp_path / "longest.py"}:judge")'
        arguments = [
            "score",
            str(tmp_path / "in.jsonl"),
            "--select",
            select,
            "-v",
            "exact",
            "-o",
            str(tmp_path / selector),
        ]
        result = CliRunner().invoke(cli, [*arguments, "--k", "1", "-q"], catch_exceptions=False, standalone_mode=False)
        assert result.return_value == 0, result.output
        assert json.loads((tmp_path / selector / "selected.jsonl").read_text())["selected"] == 1
