"""`verikit synth absolute-zero` and `verikit synth spice`: the same files from the same replies, also in two goes."""

import json
from contextlib import closing

import pytest
from click.testing import CliRunner

from tests.trainers.recipes.test_absolute_zero import Honest
from tests.trainers.recipes.test_spice import CHOICE, DOCUMENT, reply
from verikit.cli import cli
from verikit.engines.replay import Recorder
from verikit.engines.types import Engine, Generation, Output
from verikit.errors import ConfigError, SchemaError
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions
from verikit.trainers.recipes.absolute_zero.problem import read_held_out
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.absolute_zero.synth import Maker
from verikit.trainers.recipes.offline import Offline, fill_file, read_rows
from verikit.trainers.recipes.spice import problems
from verikit.verifiers.proposals.program import Program

SMALL = {"batch": 2, "estimates": 2, "inputs": 4, "wall_s": 2.0, "memory_mb": 256, "chat": False}
SETS = [word for key, value in SMALL.items() for word in ("--set", f"{key}={json.dumps(value)}")]


class Scripted(Engine):
    """Answers by a function of the prompt."""

    name = "scripted"

    def __init__(self, answer):
        self.answer = answer

    def generate(self, requests):
        return [Generation(tuple(Output(self.answer(str(r.prompt), n)) for n in range(r.n))) for r in requests]


@pytest.fixture
def recording(tmp_path):
    """Three rounds of a policy that proposes well, as a file to replay."""
    path = tmp_path / "replies.jsonl"
    with closing(Offline(Recorder(Scripted(Honest()), path), 0)) as sampler:
        maker = Maker(AbsoluteZero(AbsoluteZeroOptions(**SMALL), Setting(sampler.tokenizer, 0, tmp_path)), sampler, 0)
        for number in (1, 2, 3):
            maker.round(number)
    return path


def run(*words):
    done = CliRunner().invoke(cli, ["synth", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_problems_are_written_as_verify_and_train_read_them(tmp_path, recording):
    out = tmp_path / "problems.jsonl"
    run("absolute-zero", "-e", f"replay:{recording}", "-o", out, "-n", 15, "-q", *SETS)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 15
    assert {row["task"] for row in rows} == {"deduction", "abduction", "induction"}
    held_out = read_held_out(out)
    right = {
        "deduction": "```output\n{output}\n```",
        "abduction": "```input\n{input}\n```",
        "induction": "```python\n{program}\n```",
    }
    for row, problem in zip(rows, held_out, strict=True):
        completion = right[row["task"]].format(**row)
        assert Program()(completion, prompt=row["prompt"], **problem.meta()).value == 1.0
        assert 0 <= row["solve_rate"] <= 1


def test_a_run_that_stopped_goes_on_to_the_same_file(tmp_path, recording):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    command = ["absolute-zero", "-e", f"replay:{recording}", "-q", *SETS]
    run(*command, "-o", whole, "-n", 15)
    run(*command, "-o", parts, "-n", 8)
    with open(parts, "ab") as stream:
        stream.write(b'{"id": "2-')  # as a kill may leave it
    run(*command, "-o", parts, "-n", 15)
    assert parts.read_bytes() == whole.read_bytes()


def test_questions_are_written_as_training_reads_them(tmp_path):
    corpus, replies, out = tmp_path / "corpus.jsonl", tmp_path / "replies.jsonl", tmp_path / "questions.jsonl"
    corpus.write_text(json.dumps({"text": DOCUMENT}) + "\n")

    def answer(prompt, number):
        if "BEGINNING OF THE DOCUMENT" not in prompt:
            return r"\boxed{B}" if "A) Anna" in prompt else rf"\boxed{{{11 + number}}}"
        return reply(CHOICE) if "four options" in prompt else reply()

    from verikit.trainers.recipes.spice.options import SpiceOptions
    from verikit.trainers.recipes.spice.recipe import Spice
    from verikit.trainers.recipes.spice.synth import synth_round

    options = SpiceOptions(corpus=[str(corpus)], documents=3, attempts=2, group=2, formats="alternate")
    with closing(Offline(Recorder(Scripted(answer), replies), 0)) as sampler:
        expected = synth_round(Spice(options, Setting(sampler.tokenizer, 0, tmp_path)), sampler, 0, 1)
    sets = [w for k in ("documents=3", "attempts=2", "group=2", 'formats="alternate"') for w in ("--set", k)]
    run("spice", corpus, "-e", f"replay:{replies}", "-o", out, "-n", len(expected), "-q", *sets)
    assert [json.loads(line) for line in out.read_text().splitlines()] == expected
    assert {row["answer"]: row["solve_rate"] for row in expected} == {"B": 1.0, "12": 0.5}
    assert [question.answer for question in problems.read_held_out(out)] == [row["answer"] for row in expected]


def test_a_model_that_makes_nothing_is_told_of(tmp_path):
    with pytest.raises(ConfigError, match="no valid row"):
        fill_file(tmp_path / "out.jsonl", 5, lambda number: [], [], quiet=True)


def test_another_file_is_not_added_to(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"prompt": "p"}\n')
    with pytest.raises(SchemaError, match=r"other\.jsonl:1"):
        read_rows(path)
    assert path.read_text() == '{"prompt": "p"}\n'


def test_a_wrong_option_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"did you mean batch\?"):
        run("absolute-zero", "-e", "replay:none", "-o", tmp_path / "x", "--set", "bacth=3")
