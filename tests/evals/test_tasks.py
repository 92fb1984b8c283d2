import json
import subprocess
import sys

import pytest

pytest.importorskip("lm_eval")

from lm_eval.tasks import TaskManager

from tests.evals.scripted import MATH, ROWS, Scripted, down, write
from verikit.base import Verifier
from verikit.errors import EngineError, SchemaError, UsageError
from verikit.evals import TASKS
from verikit.evals.data import EmptySplit
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings, benchmarks, build, expand, task_file, task_names
from verikit.evals.run import run_tasks

JUDGED = {"alpaca", "healthbench", "imo_answerbench", "mtbench", "simpleqa"}


def run(tmp_path, task, rows, engine, **settings):
    data = write(tmp_path / f"{task}.jsonl", rows)
    lm = EngineLM(engine, seed=settings.get("seed", 0), retriever=settings.pop("retriever", None))
    return run_tasks([f"verikit_{task}"], "scripted", lm, Settings(data=data, **settings), tmp_path / "run")


def only(results):
    (task,) = results["tasks"].values()
    return task


@pytest.mark.parametrize("task", sorted(ROWS))
def test_every_task_runs_offline_on_a_file_in_its_published_form(task, tmp_path):
    settings = {"judge": "tests.evals.test_tasks:HALF"} if task in JUDGED else {}
    results = run(tmp_path, task, ROWS[task], Scripted(lambda request: "\\boxed{0}"), **settings)
    for name, found in results["tasks"].items():
        assert not found["unscored"], (name, found["reasons"])
        assert found["metrics"], name


class HALF:
    """A judge that gives every answer one half."""

    def __new__(cls):
        from verikit import verifier

        return verifier(lambda sample: 0.5, name="half")


def test_the_name_of_a_file_is_the_name_of_its_task_or_group():
    from lm_eval.tasks._yaml_loader import load_yaml

    for file in TASKS.glob("[!_]*.yaml"):
        config = load_yaml(file, resolve_func=False)
        name = config.get("group") or config["task"]
        assert name == f"verikit_{file.stem}"
        if "group" not in config:
            assert config["dataset_kwargs"]["task"] == name


def test_groups_hold_every_task_and_plain_lm_eval_finds_them_all():
    from lm_eval.tasks._yaml_loader import load_yaml

    manager = TaskManager(include_path=str(TASKS), include_defaults=False)
    assert set(task_names()) == set(manager.all_subtasks) | set(manager.all_groups)
    modes = {name for name in manager.all_subtasks if name.endswith(("_rag", "_search"))}
    local = {name for name in manager.all_subtasks if not load_yaml(task_file(name))["dataset_kwargs"].get("hub")}
    ranked = {name for name in manager.all_subtasks if load_yaml(task_file(name))["metadata"].get("ranks")}
    assert set(expand(["verikit_all"])) == set(manager.all_subtasks) - modes - local - ranked
    assert {"verikit_math", "verikit_reasoning", "verikit_multihop", "verikit_all"} <= set(manager.all_groups)


def test_only_the_parts_of_one_benchmark_are_asked_together():
    assert benchmarks("verikit_mmlu_pro") == ["verikit_mmlu_pro"]
    assert benchmarks("verikit_gsm8k") == ["verikit_gsm8k"]
    parts = benchmarks("verikit_all")
    assert "verikit_all" not in parts
    assert "verikit_simpleqa" in parts
    assert sorted(expand(parts)) == sorted(expand(["verikit_all"]))


def test_plain_lm_eval_grades_with_our_verifiers(tmp_path):
    from lm_eval.evaluator import evaluate

    data = write(tmp_path / "rows.jsonl", MATH)
    manager = TaskManager(include_path=str(TASKS), include_defaults=False, metadata={"data": data})
    engine = Scripted(lambda request: "It is \\boxed{0.5}." if "half" in request.prompt else "\\boxed{5}")
    results = evaluate(EngineLM(engine), manager.load(["verikit_math500"]), bootstrap_iters=0)
    assert results["results"]["verikit_math500"]["acc,verikit"] == pytest.approx(2 / 3)


def test_a_task_is_graded_in_one_call_over_all_documents_and_repeats(tmp_path, monkeypatch):
    seen = []
    score = Verifier.score

    def counted(verifier, samples):
        seen.append(len(samples))
        return score(verifier, samples)

    monkeypatch.setattr(Verifier, "score", counted)
    run(tmp_path, "math500", MATH, Scripted(lambda request: "\\boxed{5}"), repeats=4)
    assert seen == [len(MATH) * 4]


def test_repeats_are_one_request_of_n_and_give_mean_pass_maj_and_bon(tmp_path):
    texts = ["\\boxed{5}", "\\boxed{5}", "\\boxed{4}", "no idea, maybe longer"]
    engine = Scripted(lambda request: texts)
    found = only(run(tmp_path, "math500", MATH[:1], engine, repeats=4, by="length(50)"))
    assert [request.n for request in engine.calls[0]] == [4]
    metrics = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert metrics["acc"] == 0.5
    assert metrics["pass@2"] == pytest.approx(1 - 1 / 6)
    assert metrics["pass@4"] == 1.0
    assert metrics["maj@4"] == 1.0
    assert {"bon@2", "bon@4"} <= set(metrics)
    assert found["repeats"] == 4


def test_a_failed_request_is_counted_by_reason_and_never_a_zero(tmp_path):
    engine = Scripted(lambda request: down(request) if "half" in request.prompt else "\\boxed{5}")
    found = only(run(tmp_path, "math500", MATH, engine))
    assert found["metrics"]["acc"]["n"] == 2
    assert found["metrics"]["acc"]["value"] == 0.5
    assert found["unscored"] == {"acc": 1}
    assert found["reasons"] == {"Unreachable: nobody is at home": 1}


def test_an_answer_that_is_not_found_is_wrong_counted_and_never_guessed(tmp_path):
    engine = Scripted(lambda request: "I can't say whether A or B." if "Who" in request.prompt else "the answer is (A)")
    results = run(tmp_path, "mmlu_pro", ROWS["mmlu_pro"], engine)
    law, math = (results["tasks"][f"verikit_mmlu_pro_{name}"] for name in ("law", "math"))
    assert (law["metrics"]["acc"]["value"], law["unparsed"]) == (0.0, 1)
    assert (math["metrics"]["acc"]["value"], math["unparsed"]) == (1.0, 0)
    assert results["groups"]["verikit_mmlu_pro"]["metrics"]["acc"]["value"] == 0.5
    assert len(results["empty"]) == 12
    assert [len(call) for call in engine.calls] == [2], "a group's tasks are asked in one batch"


def test_a_judge_that_fails_half_way_leaves_its_rows_without_a_score(tmp_path):
    rows = [{"instruction": f"Say {n}.", "output": "Hi."} for n in range(4)]
    judge = "tests.evals.test_tasks:Halting"
    found = only(run(tmp_path, "alpaca", rows, Scripted(lambda request: "Hello."), judge=judge))
    assert found["metrics"]["win_rate"]["n"] == 2
    assert found["metrics"]["win_rate"]["value"] == 1.0
    assert found["unscored"] == {"win_rate": 2}


class Halting:
    """A judge that has no verdict on odd questions."""

    def __new__(cls):
        from verikit import Score, verifier

        def judge(sample):
            return Score.error("the judge is gone") if sample.prompt[4] in "13" else 1.0

        return verifier(judge, name="halting")


def test_a_gold_that_cant_be_read_is_unscored(tmp_path):
    rows = [*MATH[:1], {"problem": "Which?", "solution": "No box here."}]
    found = only(run(tmp_path, "math500", rows, Scripted(lambda request: "\\boxed{5}")))
    assert found["metrics"]["acc"]["n"] == 1
    assert found["unscored"] == {"acc": 1}


def test_a_missing_column_names_file_line_and_the_keys_there_are(tmp_path):
    with pytest.raises(
        SchemaError, match=r"gsm8k.jsonl:1: field 'answer': answer, solution not found among the keys q"
    ):
        run(tmp_path, "gsm8k", [{"question": "How many?", "result": 5}], Scripted(lambda request: ""))


def test_an_empty_split_is_named(tmp_path):
    with pytest.raises(EmptySplit, match=r"no rows for verikit_mmlu_pro_physics \(category=physics\)"):
        run(tmp_path, "mmlu_pro_physics", ROWS["mmlu_pro"], Scripted(lambda request: ""))
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UsageError, match="empty"):
        build("verikit_math500", Settings(data=str(tmp_path / "empty.jsonl")))


def test_examples_come_from_a_file_and_are_shown_as_turns_in_a_conversation(tmp_path):
    shots = write(tmp_path / "shots.jsonl", [{"question": "1 + 1?", "answer": "It is 2.\n#### 2"}])
    engine = Scripted(lambda request: "\\boxed{5}")
    found = only(run(tmp_path, "gsm8k", ROWS["gsm8k"], engine, shots=shots, fewshot=1, chat=True, system="Be brief."))
    roles = [turn["role"] for turn in engine.calls[0][0].prompt]
    assert roles == ["system", "user", "assistant", "user"]
    assert engine.calls[0][0].prompt[2]["content"] == "It is 2.\n#### 2"
    assert found["fewshot"] == 1
    with pytest.raises(UsageError, match="has no 2 examples"):
        build("verikit_gsm8k", Settings(data=shots, fewshot=2))


def test_generation_settings_reach_the_request(tmp_path):
    engine = Scripted(lambda request: "\\boxed{5}")
    run(tmp_path, "math500", MATH[:1], engine, generation={"temperature": 0.7, "top_p": 0.9, "max_gen_toks": 7}, seed=3)
    (request,) = engine.calls[0]
    assert (request.temperature, request.top_p, request.max_tokens) == (0.7, 0.9, 7)
    with pytest.raises(UsageError, match="no generation setting beams"):
        run(tmp_path, "math500", MATH[:2], engine, generation={"beams": 4})


def test_each_question_is_sampled_by_a_seed_of_its_own_which_the_runs_seed_decides(tmp_path):
    seeds = []
    for number, seed in enumerate((3, 3, 4)):
        engine = Scripted(lambda request: "\\boxed{5}")
        folder = tmp_path / str(number)
        folder.mkdir()
        run(folder, "math500", MATH[:2], engine, generation={"temperature": 0.7}, seed=seed)
        seeds.append([request.seed for call in engine.calls for request in call])
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 4


@pytest.mark.parametrize(
    "wrong", [{"temperature": "x"}, {"temperature": -1}, {"temperature": None}, {"top_p": 2}, {"max_gen_toks": -5}]
)
def test_a_generation_setting_of_no_use_is_named_and_asks_nothing(wrong, tmp_path):
    engine = Scripted(lambda request: "\\boxed{5}")
    run(tmp_path, "math500", MATH[:1], engine)
    with pytest.raises(UsageError, match="settings"):
        run(tmp_path, "math500", MATH[:1], engine, generation=wrong)
    assert len(engine.calls) == 1


def test_the_second_turn_is_asked_with_the_first_reply(tmp_path):
    engine = Scripted(lambda request: f"reply {len(request.prompt)}")
    judge = "tests.evals.test_tasks:HALF"
    results = run(tmp_path, "mtbench", ROWS["mtbench"], engine, chat=True, judge=judge)
    first, second = (call[0].prompt for call in engine.calls)
    assert [turn["content"] for turn in first] == ["Write a line."]
    assert [turn["content"] for turn in second] == ["Write a line.", "reply 1", "Make it shorter."]
    assert only(results)["metrics"]["rating"]["value"] == 0.5


def test_two_turns_are_rated_one_by_one_on_the_judges_own_scale(tmp_path):
    from verikit.judges import Pointwise

    said = iter(["[[4]]", "[[9]]"])
    RATING.judge = Pointwise(Scripted(lambda request: next(said)), turns="each")
    judge = "tests.evals.test_tasks:RATING"
    found = only(run(tmp_path, "mtbench", ROWS["mtbench"], Scripted(lambda request: "a line"), judge=judge))
    assert found["metrics"]["score_of_10"]["value"] == 6.5
    assert found["metrics"]["rating"]["value"] == pytest.approx((3 / 9 + 8 / 9) / 2)


class RATING:
    """A judge that a test sets."""

    def __new__(cls):
        return cls.judge


class Passages:
    def __init__(self, fail=False):
        self.fail = fail

    def retrieve(self, queries, k):
        from verikit.errors import RetrievalError
        from verikit.retrieval import Passage

        if self.fail:
            raise RetrievalError("the index is gone")
        return [[Passage("Foxes", "The brown fox is a dog.")] for _ in queries]


def test_multi_hop_questions_run_closed_book_with_one_retrieval_and_searching(tmp_path):
    row = ROWS["hotpotqa"]

    def answer(request):
        if "Foxes" in request.prompt:
            return "<answer>brown fox</answer>"
        if "begin_of_query" in request.prompt:
            return "<|begin_of_query|> dog "
        return "<answer>cat</answer>"

    values = {}
    for task in ("hotpotqa", "hotpotqa_rag", "hotpotqa_search"):
        found = only(run(tmp_path, task, row, Scripted(answer), retriever=Passages()))
        values[task] = found["metrics"]["em_r1_searcher"]["value"]
    assert values == {"hotpotqa": 0.0, "hotpotqa_rag": 1.0, "hotpotqa_search": 1.0}
    found = only(run(tmp_path, "hotpotqa_rag", row, Scripted(answer), retriever=Passages(fail=True), repeats=2))
    assert found["unscored"]["em_r1_searcher"] == 2
    with pytest.raises(UsageError, match="retrieves passages"):
        run(tmp_path, "hotpotqa_search", [{**row[0], "_id": "other"}], Scripted(answer))


NO_REPLY = {"an error": EngineError("gone"), "no output": []}


@pytest.mark.parametrize("failure", NO_REPLY)
@pytest.mark.parametrize(
    ("task", "bad", "settings"),
    [
        ("mtbench", "Write", {"chat": True, "judge": "tests.evals.test_tasks:HALF"}),
        ("mtbench", "shorter", {"chat": True, "judge": "tests.evals.test_tasks:HALF"}),
        ("healthbench", "sick", {"judge": "tests.evals.test_tasks:HALF"}),
        ("hotpotqa_search", "Which dog", {"retriever": Passages()}),
        ("hotpotqa_rag", "Which dog", {"retriever": Passages()}),
    ],
)
def test_a_rollout_that_gets_no_reply_has_no_score_and_the_others_go_on(task, bad, settings, failure, tmp_path):
    rows = ROWS[task.partition("_")[0]]
    other = json.loads(json.dumps(rows[0]).replace("Make it shorter", "Again").replace(bad, "Say"))
    other |= {"question_id": 82, "prompt_id": "4b", "_id": "x2"}

    def answer(request):
        said = request.prompt if isinstance(request.prompt, str) else request.prompt[-1]["content"]
        return NO_REPLY[failure] if bad in said else "<answer>the brown fox</answer>"

    found = only(run(tmp_path, task, [*rows, other], Scripted(answer), **settings))
    assert set(found["unscored"].values()) == {1}
    assert found["metrics"][found["own"]]["n"] == 1


def test_a_server_that_only_answers_users_can_search_by_turns(tmp_path):
    def answer(request):
        if request.continues:
            return EngineError("only vLLM continues a turn of the assistant's")
        if "Foxes" in request.prompt[-1]["content"]:
            return "<answer>brown fox</answer>"
        return "<|begin_of_query|> dog "

    for gen, value in (({}, None), ({"by_turns": True}, 1.0)):
        folder = tmp_path / str(bool(gen))
        folder.mkdir()
        settings = {"retriever": Passages(), "chat": True, "generation": gen}
        found = only(run(folder, "hotpotqa_search", ROWS["hotpotqa"], Scripted(answer), **settings))
        assert found["metrics"].get("em_r1_searcher", {}).get("value") == value


def test_a_name_that_is_none_is_refused_with_the_names_near_it():
    with pytest.raises(UsageError, match="task 'verikit_aime' not found") as raised:
        expand(["verikit_aime"])
    assert "verikit_aime24" in raised.value.hint


def test_loading_the_package_imports_neither_lm_eval_nor_datasets():
    code = (
        "import sys, verikit.evals, verikit.evals.cli\n"
        "assert not {'lm_eval', 'datasets', 'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["verikit_mth500", "mth500"])
def test_a_mistyped_task_is_answered_by_the_nearest_one(name):
    with pytest.raises(UsageError, match="not found") as caught:
        task_file(name)
    assert "did you mean verikit_math500" in caught.value.hint
