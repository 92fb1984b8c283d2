"""A step of R1-Searcher by exact numbers: draws of both stages, limits, rewards by option, evaluation, grading."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.judges.scripted import Scripted as ScriptedEngine  # noqa: E402
from tests.trainers.recipes.test_r1_rewards import ANSWER, HIT, QUERY, rollout  # noqa: E402
from tests.trainers.recipes.test_tools import tokenizer  # noqa: E402
from tests.trainers.recipes.writer import Writer  # noqa: E402
from verikit.errors import RetrievalError  # noqa: E402
from verikit.search import SearchLimits, search_messages, search_prompt  # noqa: E402
from verikit.trainers.recipe import Setting  # noqa: E402
from verikit.trainers.recipes.r1_searcher import recipe as recipes  # noqa: E402
from verikit.trainers.recipes.r1_searcher.accuracy import PredictedAnswer, judged, report  # noqa: E402
from verikit.trainers.recipes.r1_searcher.difficulty import by_searching, graded, mixed  # noqa: E402
from verikit.trainers.recipes.r1_searcher.recipe import R1Searcher, SearchOptions  # noqa: E402
from verikit.trainers.recipes.r1_searcher.rewards import measure, stage1_reward, stage2_reward  # noqa: E402
from verikit.types import Group  # noqa: E402

SEARCHES, ANSWERS = "<|begin_of_query|>stadium<|end_of_query|>", "</think><answer>Kauffman Stadium</answer>"


class Finder:
    """Finds one passage, or is down."""

    def __init__(self, down=lambda query: False):
        self.down, self.asked = down, []

    def retrieve(self, queries, k):
        self.asked += [(query, k) for query in queries]
        if any(map(self.down, queries)):
            raise RetrievalError("the index is gone")
        return [[HIT] for _ in queries]


class Local(R1Searcher):
    """The recipe with that retriever."""

    def make_retriever(self):
        return Finder()


@pytest.fixture
def made(tmp_path):
    """Makes a recipe on questions q0, q1, …"""

    def make(count=6, held_out=0, seed=0, **options):
        for name, first, size in (("train", 0, count), ("held", 100, held_out)):
            rows = [{"prompt": f"q{first + n}", "answer": "Kauffman Stadium"} for n in range(size)]
            (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        small = {"data": "train.jsonl", "prompts": 2, "samples": 2, "leg_tokens": 80, "total_tokens": 9000}
        small |= {"held_out": "held.jsonl"} if held_out else {}
        return Local(SearchOptions(**small | options), Setting(tokenizer(""), seed, tmp_path))

    return make


def says(recipe, write):
    return Writer(recipe.setting.tokenizer, write)


def searching(text):
    """Searches once, then answers."""
    return ANSWERS if "Kansas" in text else SEARCHES


def test_the_stages_draw_their_own_questions_each_once_an_epoch_and_count_them(made):
    recipe = made(stage1_steps=2, samples=1)
    sampler = says(recipe, lambda text: ANSWERS)
    rows = [recipe.collect(sampler, step) for step in range(1, 6)]
    assert [row.reward for row in rows[1]] == [0.5, 0.5]  # nothing searched: half for the format
    assert [row.reward for row in rows[2]] == [1.0, 1.0]  # the answer's F1
    prompts = [[row.prompt for row in made_rows] for made_rows in rows]
    assert len(set(prompts[0] + prompts[1])) == 4
    assert sorted(prompts[2] + prompts[3] + prompts[4]) == [f"q{n}" for n in range(6)]
    assert recipe.positions == [4, 6]
    assert [[row.group for row in made_rows] for made_rows in rows] == [[1, 2], [3, 4], [1, 2], [3, 4], [5, 6]]
    again = made(stage1_steps=2, samples=1)
    again.restore(json.loads(json.dumps(recipe.state())))
    assert again.collect(sampler, 6) == recipe.collect(sampler, 6)
    assert made(seed=1)._next(1) != made()._next(1)


def test_a_step_s_metrics_tell_stage_searches_and_the_share_of_right_formats(made):
    recipe = made(stage1_steps=1)
    turns = iter([ANSWERS, SEARCHES, "no tags", SEARCHES, ANSWERS, ANSWERS])
    recipe.retriever = Finder()
    rows = recipe.collect(says(recipe, lambda text: next(turns)), 1)
    assert [row.reward for row in rows] == [0.5, 1.0, 0.0, 1.0]
    metrics = recipe.metrics()
    assert (metrics["stage"], metrics["format_right"], metrics["searches"]) == (1.0, 0.75, 0.5)
    assert metrics["retrieval_seconds"] > 0
    assert len({row.group for row in rows}) == 2
    recipe.collect(says(recipe, searching), 2)
    assert recipe.metrics()["stage"] == 2.0
    recipe.retriever = Finder(lambda query: True)
    rows = recipe.collect(says(recipe, searching), 3)
    assert {row.reward for row in rows} == {None}
    assert (recipe.metrics()["format_right"], recipe.metrics()["failed"]) == (0.0, 1.0)


def test_rollouts_have_the_options_limits_and_seeds_of_their_own(made):
    options = {"k": 4, "retrievals": 2, "leg_tokens": 55, "total_tokens": 8000, "temperature": 0.7, "top_p": 0.9}
    recipe = made(held_out=2, evaluate_k=6, evaluate_retrievals=3, **options)
    assert recipe.limits() == SearchLimits(4, 2, 55, 8000, 0.7, 0.9)
    sampler = says(recipe, lambda text: SEARCHES)
    (row, *_) = recipe.collect(sampler, 1)
    assert (row.finished, row.completion.count("<|begin_of_documents|>"), row.temperature) == (False, 2, 0.7)
    assert {(request.temperature, request.top_p, request.max_tokens) for request in sampler.requests} == {
        (0.7, 0.9, 55)
    }
    assert {request.logprobs for request in sampler.requests} == {0}
    assert len({request.seed for request in sampler.requests}) == len(sampler.requests) == 4 * 3
    assert {k for _, k in recipe.retriever.asked} == {4}
    sampler.requests.clear()
    recipe.retriever.asked.clear()
    recipe.evaluate(sampler, 1)
    assert {(request.temperature, request.max_tokens) for request in sampler.requests} == {(0.0, 55)}
    assert {request.logprobs for request in sampler.requests} == {None}
    assert all("</answer>" in request.stop for request in sampler.requests)
    assert len(sampler.requests) == 2 * 4
    assert {k for _, k in recipe.retriever.asked} == {6}


def test_evaluation_leaves_out_what_the_retriever_failed_on_and_a_rollout_cut_off_does_not_know(made, monkeypatch):
    judge = ScriptedEngine(lambda request: "False" if recipes.UNKNOWN in request.prompt[0]["content"] else "True")
    monkeypatch.setattr(recipes, "load_engine", lambda spec: judge)
    recipe = made(held_out=3, judge="any", evaluate_retrievals=1)

    def write(text):
        if "q100" in text:
            return ANSWERS
        return "<|begin_of_query|>down<|end_of_query|>" if "q101" in text else "of " * 90

    recipe.retriever = Finder(lambda query: "down" in query)
    found = recipe.evaluate(says(recipe, write), 1)
    wanted = {"cover-em": 0.5, "em": 0.5, "f1": 0.5, "judged": 0.5, "unjudged": 0.0}
    assert {name: found[name] for name in wanted} == wanted
    assert found["failed"] == pytest.approx(1 / 3)
    assert len(judge.requests) == 2
    assert made().evaluate(says(recipe, write), 1) == {}


def test_prompts_and_what_a_right_format_is_are_those_of_the_kind_of_model(made):
    base, chat = made(), made(prompt="instruct")
    question = Group("Where?", answer="Kauffman Stadium")
    assert base.ask(question) == search_prompt("Where?")
    assert chat.ask(question) == search_messages("Where?")
    opened, whole = rollout("hm" + ANSWER), rollout("<think>hm" + ANSWER)
    golds = ["Kauffman Stadium"]
    for first, right, wrong in ((True, 0.5, 0.0), (False, 1.0, -1.0)):
        assert base.reward(opened, golds, first).value == chat.reward(whole, golds, first).value == right
        assert base.reward(whole, golds, first).value == wrong


def test_preset_and_measure_are_the_options(made):
    trace, golds = rollout(QUERY, [HIT], ANSWER), ["Stadium Kauffman"]
    values = {how: made(measure=how).reward(trace, golds, False).value for how in ("f1", "cover-em", "em")}
    assert values == {"f1": 1.0, "cover-em": 1.0, "em": 0.0}
    bad = rollout("<answer>Kauffman Stadium</answer>")
    penalties = {preset: made(preset=preset).reward(bad, golds, False).value for preset in ("paper", "repo-llama")}
    assert penalties == {"paper": -1.0, "repo-llama": 0.0}
    assert made(preset="repo-llama").reward(trace, golds, True).value == 2.0
    # The Qwen run has one stage.
    assert made(preset="repo-qwen").reward(trace, golds, True).parts == {"answer": 1.0, "format": 0.0}


def test_the_repositorys_first_stage_wants_one_end_of_thinking_and_both_answer_tags():
    def parts(text, golds=("Kauffman Stadium",)):
        return stage1_reward(rollout(text), golds, "repo-llama").parts

    assert parts(ANSWER) == {"answer": 1.0, "searched": 0.0, "format": 0.5}
    assert parts("</think>" + ANSWER)["format"] == parts("<think>" + ANSWER)["format"] == 0.0
    assert parts("</think> nothing") == {"answer": -1.0, "searched": 0.0, "format": 0.0}
    assert parts(ANSWER, ["Boston", "Kauffman"])["answer"] == 1.0
    assert stage1_reward(rollout("</think> nothing"), ["x"]).answer == ""
    assert stage2_reward(rollout("</think> nothing"), ["x"]).parts["answer"] == 0.0


@pytest.mark.parametrize("how", ["f1", "cover-em", "em"])
def test_of_several_golds_the_best_counts(how):
    assert measure("Rome", ["Paris", "Rome"], how) == measure("Rome", ["Rome", "Paris"], how) == 1.0
    assert measure("Oslo", ["Paris", "Rome"], how) == 0.0


def test_check_asks_data_retriever_and_judge_and_closing_gives_the_judge_back(made, monkeypatch):
    judge = ScriptedEngine(lambda request: "True")
    closed = []
    judge.close = lambda: closed.append(1)
    monkeypatch.setattr(recipes, "load_engine", lambda spec: judge)
    recipe = made(held_out=2, judge="any", retriever="somewhere")
    probes = dict(recipe.probes())
    assert list(probes) == ["data", "retriever", "judge"]
    assert probes["data"]() == "6 and 6 questions, 2 held out"
    assert probes["retriever"]() == "somewhere found 1 passages"
    assert recipe.retriever.asked == [("q0", 3)]
    recipe.close()
    assert closed == [1]
    assert list(dict(made().probes())) == ["data", "retriever"]
    assert "Finder found" in dict(made().probes())["retriever"]()
    made().close()


def test_no_questions_have_no_metrics_and_a_judge_is_shown_all_golds():
    assert report([]) == {}
    assert judged(ScriptedEngine(None), []) == []
    asked = [PredictedAnswer("Which city?", ["Rome", "Roma"], "Rome"), PredictedAnswer("Which city?", ["x"], "Oslo")]
    assert report(asked) == {"cover-em": 0.5, "em": 0.5, "f1": 0.5}
    engine = ScriptedEngine(lambda request: "maybe")
    assert report(asked, engine) == {"cover-em": 0.5, "em": 0.5, "f1": 0.5, "unjudged": 2.0}
    texts = [request.prompt[0]["content"] for request in engine.requests]
    assert {request.max_tokens for request in engine.requests} == {8}
    assert "Rome or Roma" in texts[0]
    marks = [next(line for line in text.splitlines() if line.startswith("====") and len(line) > 4) for text in texts]
    assert [len(mark) for mark in marks] == [16, 16]
    assert len(set(marks)) == 2


def test_grading_stops_when_all_are_answered_and_keeps_what_is_known_of_a_question():
    rounds = []
    made = graded([Group("q", answer="x", meta={"source": "2wiki"})], lambda asked, at: rounds.append(at) or [at == 10])
    assert rounds == list(range(1, 11))
    assert made[0].meta == {"source": "2wiki", "difficulty": "medium", "rollouts": 10}
    never = graded([Group("q", answer="x")], lambda asked, at: [False])
    assert never[0].meta == {"difficulty": "hard", "rollouts": 0}


def test_a_graded_rollout_is_right_where_it_covers_a_gold_and_has_seeds_of_its_own():
    questions = [Group("q0", answer=["Boston", "Stadium"]), Group("q1", answer="Kansas"), Group("q2", answer="x")]
    sampler = Writer(tokenizer(""), lambda text: "no answer" if "q2" in text else ANSWERS)
    attempt = by_searching(sampler, Finder(), search_prompt, SearchLimits(leg_tokens=80, temperature=0.3), seed=1)
    assert attempt(questions, 1) == [True, False, False]
    first = [request.seed for request in sampler.requests]
    attempt(questions, 2)
    assert by_searching(sampler, Finder(), search_prompt, SearchLimits(leg_tokens=80), seed=2)(questions, 1)[0] is True
    seeds = [request.seed for request in sampler.requests]
    assert len(set(seeds)) == len(seeds) == 9
    assert {(request.temperature, request.max_tokens) for request in sampler.requests} == {(1.0, 80)}
    assert all(0 <= seed < 2**63 for seed in first)


def test_a_mix_is_drawn_by_the_seed_and_shuffled():
    metas = [{"source": "2wiki", "difficulty": level} for level in "ab"]
    questions = [Group(f"{meta['difficulty']}{n}", meta=meta) for meta in metas for n in range(9)]
    counts = {"2wiki/a": 6, "2wiki/b": 6}
    first, other = ([str(question.prompt) for question in mixed(questions, counts, seed)] for seed in (1, 2))
    assert len(set(first)) == 12
    assert sorted(first) != sorted(other)
    assert first != sorted(first)
    assert {prompt[0] for prompt in first[:6]} == {"a", "b"}
    assert len(mixed(questions, {"2wiki/a": 9}, 1)) == 9
