"""What a run's scores rest on is kept beside them."""

import json

from verikit import Score, Verifier, all_of, exact
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file


class Boxed(Verifier):
    name = "in_a_box"

    def score_batch(self, samples):
        return [Score(1.0) for _ in samples]

    def environment(self):
        return {"box": {"walls": 4}}


nested = all_of(exact(), Boxed())


def test_the_environment_of_a_part_is_kept_in_the_folder(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"prompt": "p", "completions": ["a"], "answer": "a"}\n')
    score_file(str(tmp_path / "in.jsonl"), ScoringPlan(verifier=f"{__file__}:nested"), tmp_path / "out")
    assert json.loads((tmp_path / "out/environment.json").read_text()) == {"box": {"walls": 4}}


def test_a_verifier_that_rests_on_nothing_leaves_no_file(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"prompt": "p", "completions": ["a"], "answer": "a"}\n')
    score_file(str(tmp_path / "in.jsonl"), ScoringPlan(verifier="exact"), tmp_path / "out")
    assert not (tmp_path / "out/environment.json").exists()
