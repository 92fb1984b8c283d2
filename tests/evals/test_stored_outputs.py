"""The tasks on real models' stored outputs."""

import pytest

from tests.growth import count_calls

pytest.importorskip("lm_eval")

from benchmarks.evals import independent, run, three_levels
from tests.evals.scripted import Scripted, write
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks
from verikit.evals.stored import Stored

BAD_GOLD = 3


def test_qwens_right_answers_are_accepted_and_no_wrong_one(data, rows):
    stored = {str(row["idx"]): row for row in rows("bon/qwen_math_cot_100.jsonl") if row["idx"] != BAD_GOLD}
    verdicts = {True: [], False: []}
    for sample in run("verikit_math500", data / "bon/qwen_math_cot_100.jsonl", repeats=8):
        if sample["doc"]["id"] in stored:
            labels = [bool(candidate["correct"]) for candidate in stored[sample["doc"]["id"]]["candidates"]]
            for label, grade in zip(labels, sample["filtered_resps"][0], strict=True):
                verdicts[label].append(grade["acc"]["value"])
    assert sum(verdicts[True]) >= 0.995 * len(verdicts[True])
    assert sum(verdicts[False]) == 0


@pytest.mark.parametrize("model", ["Llama-2-7b-hf", "Phi-3-mini-4k-instruct"])
def test_mmlu_pro_letters_are_read_or_counted_as_unread(model, data, rows):
    file = data / f"mmlu_pro/{model}.jsonl"
    stored = rows(f"mmlu_pro/{model}.jsonl")
    lm, settings = Stored(str(file)), Settings(data=str(file))
    for category in ("law", "physics"):
        wanted = [row for row in stored if row["category"] == category]
        (found,) = _results(f"verikit_mmlu_pro_{category}", lm, settings)
        right = sum(row["pred"] == row["answer"] for row in wanted)
        assert found["metrics"]["acc"]["value"] == pytest.approx(right / len(wanted))
        assert found["unparsed"] <= sum(row["pred"] is None for row in wanted)
        assert found["unparsed"] >= sum(three_levels(row["text"]) is None for row in wanted)


def _results(task, lm, settings):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        return list(run_tasks([task], "stored", lm, settings, Path(folder) / "run")["tasks"].values())


@pytest.mark.parametrize("name", ["hotpotqa_llama", "hotpotqa_qwen", "2wiki_qwen", "bamboogle_llama", "bamboogle_qwen"])
def test_multi_hop_metrics_are_an_independent_checks(name, data, rows):
    file = data / f"multihop/r1s_{name}.jsonl"
    samples = run(f"verikit_{name.split('_')[0]}", file)
    metrics = ("em", "f1", "cover_em", "cover_em_contiguous")
    for sample, row in zip(samples, rows(f"multihop/r1s_{name}.jsonl"), strict=True):
        ours = tuple(sample[f"{metric}_r1_searcher"] for metric in metrics)
        assert ours == pytest.approx(independent(row)), row


def test_a_judge_gives_the_stored_verdicts_back(data, rows, tmp_path):
    stored = rows("multihop/r1s_bamboogle_qwen.jsonl")
    verdicts = {row["question"]: row["judge"].strip() for row in stored}

    def answer(request):
        text = request.prompt[-1]["content"]
        return next(verdict for question, verdict in verdicts.items() if question.strip() in text)

    file = data / "multihop/r1s_bamboogle_qwen.jsonl"
    settings = Settings(data=str(file), judge="tests.evals.test_stored_outputs:JUDGE")
    JUDGE.engine = Scripted(answer)
    (found,) = _results("verikit_bamboogle", Stored(str(file)), settings)
    right = sum(verdict.startswith("True") for verdict in verdicts.values()) / len(verdicts)
    assert found["metrics"]["judge"]["value"] == pytest.approx(right)
    assert [len(call) for call in JUDGE.engine.calls] == [len(stored)]


class JUDGE:
    """The judge of references, asked of an engine that a test sets."""

    engine = None

    def __new__(cls):
        from verikit.judges import Reference

        return Reference(cls.engine)


def test_work_grows_with_the_number_of_documents_and_not_with_its_square(tmp_path):
    def work(documents):
        rows = [{"problem": f"{i}?", "answer": str(i % 7)} for i in range(documents)]
        file = write(tmp_path / f"{documents}.jsonl", rows)
        lm = EngineLM(Scripted(lambda request: f"\\boxed{{{len(request.prompt) % 7}}}"))
        folder = tmp_path / f"run{documents}"
        return count_calls(lambda: run_tasks(["verikit_math500"], "m", lm, Settings(data=file), folder), most=10**8)

    work(10)  # imports
    assert work(1600) < 16 * work(200)
