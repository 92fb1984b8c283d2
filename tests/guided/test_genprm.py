"""A search led by a generative reward model: a scripted reviewer, whose code is really run."""

from dataclasses import replace
from functools import partial

import pytest

from tests.guided.tree import Tree
from tests.judges.genprm.reviewer import Reviewer, careful, output
from verikit.guided import Beam, CriticLoop, guided_search
from verikit.guided.files import SearchFile
from verikit.judges.genprm import Classifier, GenPRM
from verikit.sampling import SamplingSettings
from verikit.sampling.run import SamplingRun
from verikit.types import Group, Sample

TEXT = SamplingSettings(max_tokens=60, chat=False)
PROMPTS = [(line, Group(f"p{line}=", id=f"q{line}")) for line in range(1, 5)]


def by_seed(paragraph, request):
    return 0.05 + (request.seed or 0) % 89 / 100


def reviewer():
    return Reviewer(careful(by_seed))


def tokens(engine):
    return sum(engine.reply(request).usage["completion_tokens"] for request in engine.requests)


def test_every_step_is_reviewed_once_and_as_in_a_review_of_the_whole_solution():
    engine = reviewer()
    prm = GenPRM(engine, paths=2, mode="analysis")
    rows = list(guided_search(Tree(), PROMPTS, TEXT, Beam(2, 2, prm=prm)))
    asked = {(repr(request.prompt), request.seed) for request in engine.requests}
    assert len(asked) == len(engine.requests)
    assert sum(row.search["judged"] for row in rows) == tokens(engine)
    for row in rows:
        for candidate in row.candidates:
            meta = {"steps": candidate["steps"]}
            (alone,) = GenPRM(reviewer(), paths=2, mode="analysis").score(
                [Sample(row.group.prompt, candidate["text"], meta=meta)]
            )
            assert [float(step) for step in alone.steps] == candidate["step_scores"]
            assert alone.value == candidate["value"]


def test_code_of_a_step_goes_on_with_the_names_of_the_steps_before_it():
    """The code counts its own runs, and the verdict is a yes only if it printed the number of the paragraph."""
    code = "try:\n    k += 1\nexcept NameError:\n    k = 1\nprint('run', k)\n"

    def rule(turn, paragraph, request):
        if turn.endswith("step by step: "):
            return "So.\n"
        if turn.endswith("```python\n"):
            return code
        yes = 0.9 if f"run {paragraph}\n" in turn else 0.1
        word = "Yes" if yes > 0.5 else "No"
        return output(f"So.\n</verify>\n<output>\n**Judgement**: $\\boxed{{{word}}}$\n", yes, 1 - yes)

    prm = GenPRM(Reviewer(rule), paths=1)
    rows = list(guided_search(Tree(), PROMPTS, TEXT, Beam(2, 2, prm=prm)))
    counts = [len(candidate["steps"]) for row in rows for candidate in row.candidates]
    assert max(counts) > 2
    scores = [score for row in rows for candidate in row.candidates for score in candidate["step_scores"]]
    assert scores == [pytest.approx(0.9)] * sum(counts)


def test_the_critic_loop_says_what_the_reviewer_said():
    class Spoken(Tree):
        def answer(self, request):
            return super().answer(replace(request, prompt=request.prompt[0]["content"]))

    engine = Spoken()
    prm = GenPRM(Reviewer(careful(lambda paragraph, request: 0.1)), paths=1, mode="analysis")
    (row,) = guided_search(engine, PROMPTS[:1], SamplingSettings(max_tokens=60), CriticLoop(1, 1, prm=prm))
    first = row.candidates[0]["turns"][0]
    assert engine.requests[1].prompt[-2]["content"] == first["text"]
    assert engine.requests[1].prompt[-1]["content"].endswith(f"answer:\n>{first['steps'][0]}\n\nParagraph 1 it is.")


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_run_that_was_stopped_ends_in_the_same_rows_and_counts(tmp_path, stop):
    def run(path, rows=None):
        strategy = Beam(2, 2, prm=GenPRM(reviewer(), paths=2, mode="analysis"))
        with SearchFile(path, {"n": 1}) as out:
            sampler = partial(guided_search, strategy=strategy, budget=2000)
            going = SamplingRun(Tree(), TEXT, sampler=sampler).rows(PROMPTS, out)
            for count, _ in enumerate(going, 1):
                if count == rows:
                    break
            journal = path.with_name(path.name + ".run").read_bytes()
            going.close()
        return journal

    run(tmp_path / "whole")
    journal = run(tmp_path / "out", stop)
    lines = journal.splitlines(keepends=True)
    (tmp_path / "out").write_bytes(b"")
    (tmp_path / "out.run").write_bytes(b"".join(lines[: 1 + (len(lines) - 1) * stop // 4]))
    run(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_only_a_reviewer_that_guides_keeps_what_it_said():
    plain = GenPRM(reviewer(), paths=1, mode="analysis")
    assert not plain.incremental
    guiding = plain.guiding()
    assert guiding.incremental
    assert not guiding.cache
    assert repr(guiding) == repr(plain)
    sample = Sample("p", "a\n\nb")
    assert guiding.score([sample])[0].steps == plain.score([sample])[0].steps
    asked = len(guiding.engine.requests)
    longer = guiding.score([Sample("p", "a\n\nb\n\nc")])[0]
    assert len(guiding.engine.requests) == asked + 2  # an analysis and a judgement of the third step
    assert longer.steps[:2] == plain.score([sample])[0].steps
    assert not getattr(Classifier("m"), "incremental", False)
