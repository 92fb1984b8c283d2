"""Each strategy against one that is written down in the plainest way, on a tree of solutions that a test can walk."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.guided.tree import SEPARATOR, StepScores, Tree, child_seed, next_step, step_score
from verikit import load
from verikit.engines import Generation, Output
from verikit.errors import EngineError, SpecError, UsageError
from verikit.guided import (
    DVTS,
    Beam,
    BestOf,
    CriticLoop,
    Draft,
    Growth,
    SearchStrategy,
    Stepwise,
    TokenBudget,
    guided_search,
    load_strategy,
)
from verikit.guided.draft import steps_of
from verikit.sampling import SamplingSettings, sample
from verikit.types import Group

TEXT = SamplingSettings(n=4, max_tokens=200, chat=False)


def search(strategy, ids=("q",), engine=None, budget=None, settings=TEXT):
    prompts = [(line, Group(f"{id}=", answer="1", id=id)) for line, id in enumerate(ids, 1)]
    return list(guided_search(engine or Tree(), prompts, settings, strategy, budget=budget))


def found(row):
    return [(candidate["text"], candidate["value"]) for candidate in row.candidates]


# The plain way: a node is (text, whether it ended); its value is the least of its steps' scores.


def value(text):
    return min(step_score(step.strip()) for step in text.split(SEPARATOR) if step.strip())


def children(id, text, numbers, deepest=4):
    for number in numbers:
        step, ends = next_step(text, child_seed(id, text, number), deepest)
        yield text + step + ("" if ends else SEPARATOR), ends


def leaves(id, text, count, expand, deepest):
    for child, ended in children(id, text, range(count), deepest):
        if ended:
            yield child
        else:
            yield from leaves(id, child, expand, expand, deepest)


def plain_beam(id, width, expand):
    ended, live, count = {}, [""], width * expand
    while live:
        grown = {}
        for text in live:
            grown.update(dict(children(id, text, range(count))))
        count = expand
        ended |= {text: None for text, over in grown.items() if over}
        pool = [*ended, *(text for text, over in grown.items() if not over)]
        best = sorted(pool, key=value, reverse=True)[:width]
        live = [text for text in best if text not in ended]
    return sorted(ended, key=value, reverse=True)[:width]


def plain_greedy(id, numbers):
    text, ended = "", False
    while not ended:
        text, ended = max(children(id, text, numbers), key=lambda node: value(node[0]))
    return text


NAMES = st.text("abcdefgh", min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(id=NAMES, width=st.integers(1, 4), expand=st.integers(1, 4))
def test_beam_search_keeps_what_the_plain_one_keeps(id, width, expand):
    (row,) = search(Beam(width, expand, prm=StepScores()), [id])
    assert found(row) == [(text, value(text)) for text in plain_beam(id, width, expand)]


@settings(max_examples=15, deadline=None)
@given(id=NAMES)
def test_a_beam_as_wide_as_the_tree_finds_the_best_of_all_solutions(id):
    (row,) = search(Beam(40, 2, prm=StepScores()), [id], Tree(deepest=3))
    whole = list(leaves(id, "", 80, 2, deepest=3))
    assert found(row)[0][1] == max(map(value, whole))
    assert row.candidates[0]["text"] in whole


@settings(max_examples=40, deadline=None)
@given(id=NAMES, n=st.integers(1, 5))
def test_best_of_n_at_each_step_is_greedy(id, n):
    (row,) = search(Stepwise(n, prm=StepScores()), [id])
    text = plain_greedy(id, range(n))
    assert found(row) == [(text, value(text))]


@settings(max_examples=40, deadline=None)
@given(id=NAMES, width=st.integers(1, 4), expand=st.integers(1, 4))
def test_the_trees_of_a_dvts_are_greedy_and_know_nothing_of_each_other(id, width, expand):
    (row,) = search(DVTS(width, expand, prm=StepScores()), [id])
    trees = [plain_greedy(id, range(tree * expand, (tree + 1) * expand)) for tree in range(width)]
    assert sorted(found(row)) == sorted((text, value(text)) for text in trees)
    assert [v for _, v in found(row)] == sorted((v for _, v in found(row)), reverse=True)


@settings(max_examples=20, deadline=None)
@given(id=NAMES, n=st.integers(1, 6))
def test_best_of_n_are_the_samples_that_sampling_gives_with_their_steps_scored(id, n):
    (row,) = search(BestOf(n, prm=StepScores()), [id])
    (plain,) = sample(Tree(), [(1, Group(f"{id}=", id=id))], SamplingSettings(n=n, max_tokens=200, chat=False))
    texts = [candidate["text"] for candidate in plain.candidates]
    assert sorted(found(row)) == sorted((text, value(text)) for text in texts)
    assert found(row)[0][1] == max(map(value, texts))
    assert row.search["rounds"] == 1


ASKED = "There might be some problem in this paragraph of your reasoning, please rethink and refine your answer:\n"


def refined(id, number, turns, n=1):
    """A chain of whole solutions: each doubtful one is shown with its first doubtful step."""
    history, said = [], ()
    for turn in range(turns + 1):
        seed, text, ended = child_seed(id, "", number + turn * n, *said), "", False
        while not ended:
            step, ended = next_step(text, seed)
            text += step + ("" if ended else SEPARATOR)
        history.append(text)
        bad = next((step for step in text.split(SEPARATOR) if step_score(step) < 0.5), None)
        if bad is None:
            break
        said = ({"role": "assistant", "content": text}, {"role": "user", "content": f"{ASKED}>{bad}"})
    return history


@settings(max_examples=40, deadline=None)
@given(id=NAMES, turns=st.integers(1, 3), n=st.integers(1, 3))
def test_the_critic_loop_refines_each_solution_while_a_step_is_doubtful(id, turns, n):
    class Conversations(Tree):
        def answer(self, request):
            assert [message["role"] for message in request.prompt[1:]] in ([], ["assistant", "user"])
            text, ended = "", False
            while not ended:
                step, ended = next_step(text, request.seed)
                text += step + ("" if ended else SEPARATOR)
            return Generation((Output(text, tuple(range(9)), finish_reason="stop"),))

    spoken = SamplingSettings(max_tokens=200, chat=True)
    (row,) = search(CriticLoop(turns, n, prm=StepScores()), [id], Conversations(), settings=spoken)
    chains = [refined(id, number, turns, n) for number in range(n)]
    told = [[*(turn["text"] for turn in c.get("turns", ())), c["text"]] for c in row.candidates]
    assert sorted(told) == sorted(chains)


def test_rows_hold_steps_and_their_scores_and_the_gold_is_hidden_from_the_verifier():
    seen = []

    class Watching(StepScores):
        def score_batch(self, samples):
            seen.extend(samples)
            return super().score_batch(samples)

    (row,) = search(Beam(2, 3, prm=Watching()))
    for candidate in row.candidates:
        assert candidate["steps"] == [step.strip() for step in candidate["text"].split(SEPARATOR)]
        assert candidate["step_scores"] == [step_score(step) for step in candidate["steps"]]
        assert candidate["finish_reason"] == "stop"
    assert {sample.answer for sample in seen} == {None}
    assert row.to_json()["answer"] == "1"


def test_a_draft_that_has_no_score_is_left_out_and_told_and_is_no_zero():
    plain = search(Stepwise(4, prm=StepScores()))[0]
    best = plain.candidates[0]["steps"][0]
    row = search(Stepwise(4, prm=StepScores(broken=frozenset({best}))))[0]
    assert row.candidates[0]["steps"][0] != best
    assert row.search["unscored"] >= 1
    firsts = frozenset(next_step("", child_seed("q", "", number))[0] for number in range(4))
    lost = search(Stepwise(4, prm=StepScores(broken=firsts)))[0]
    assert lost.candidates == ()
    assert {failure["error"]["type"] for failure in lost.failed} == {"Unscored"}


def test_equal_drafts_are_judged_once():
    class Same(Tree):
        def answer(self, request):
            return super().answer(replace(request, seed=7))

    (row,) = search(Stepwise(5, prm=StepScores()), engine=Same())
    lengths = [len("".join(row.candidates[0]["steps"][:k])) for k in range(1, len(row.candidates[0]["steps"]) + 1)]
    assert row.search["judged"] == sum(lengths)
    assert row.search["requests"] == 5 * len(lengths)


def test_what_is_told_of_tokens_is_what_was_written_and_read():
    engine = Tree()
    (row,) = search(Beam(3, 2, prm=StepScores()), engine=engine)
    outputs = [engine.answer(request).outputs[0] for request in engine.requests]
    assert row.search["generated"] == sum(len(output.ids) for output in outputs)
    assert row.search["read"] == sum(len(request.prompt) for request in engine.requests)
    assert row.search["requests"] == len(engine.requests)
    for candidate in row.candidates:
        assert candidate["usage"]["completion_tokens"] == sum(len(step.split(" ")) for step in candidate["steps"])


STRATEGIES = [
    Beam(2, 3, prm=StepScores()),
    Stepwise(4, prm=StepScores()),
    DVTS(2, 3, prm=StepScores()),
    BestOf(6, prm=StepScores()),
    CriticLoop(3, 2, prm=StepScores()),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
@pytest.mark.parametrize("budget", [1, 5, 30, 120, 400])
def test_no_request_can_pass_the_budget_and_what_is_left_of_a_search_is_told(strategy, budget):
    engine = Tree()
    rows = search(strategy, [f"q{i}" for i in range(12)], engine, budget)
    for row in rows:
        spent = row.search["generated"] + row.search["judged"]
        assert row.search["generated"] <= budget
        assert row.candidates
        assert all(c["finish_reason"] in ("stop", "length", "budget") for c in row.candidates)
        if spent < budget:
            assert {c["finish_reason"] for c in row.candidates} == {"stop"}
    if budget == 1:
        assert all(row.search["requests"] == 1 for row in rows)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_a_budget_that_is_enough_changes_nothing(strategy):
    free = [row.to_json() for row in search(strategy, ["a", "b"])]
    most = max(row["search"]["generated"] + row["search"]["judged"] for row in free)
    held = [row.to_json() for row in search(strategy, ["a", "b"], budget=200 * most)]
    assert [row["completions"] for row in held] == [row["completions"] for row in free]


def test_a_long_step_is_judged_as_far_as_it_is_written_and_goes_on():
    whole = search(Stepwise(2, prm=StepScores()), engine=Tree())[0]
    cut = search(Stepwise(2, prm=StepScores(), step_tokens=1), engine=Tree())[0]
    assert cut.search["rounds"] > whole.search["rounds"]
    limited = search(Stepwise(2, prm=StepScores(), max_steps=1), engine=Tree(deepest=9), ids=list("abcdefgh"))
    assert {len(row.candidates[0]["steps"]) for row in limited} == {1}
    assert {row.candidates[0]["finish_reason"] for row in limited} == {"stop", "length"}


def test_an_engine_that_does_not_tell_what_ended_a_step_is_refused():
    class Silent(Tree):
        def answer(self, request):
            generation = super().answer(request)
            return replace(generation, outputs=(replace(generation.outputs[0], stopped_by=None),))

    rows = search(Beam(2, 2, prm=StepScores()), engine=Silent())
    assert rows[0].candidates == ()
    assert "does not report whether" in rows[0].failed[0]["error"]["message"]
    assert search(BestOf(2, prm=StepScores()), engine=Silent())[0].candidates


def test_an_engine_that_is_gone_ends_the_run():
    with pytest.raises(EngineError):
        search(Beam(2, 2, prm=StepScores()), [f"q{i}" for i in range(9)], Tree(failing=1.0))


def test_a_verifier_without_steps_leads_by_its_value_after_each_of_them():
    class Whole(StepScores):
        def whole(self, steps):
            return replace(super().whole(steps), steps=())

    (row,) = search(Stepwise(3, prm=Whole()))
    (plain,) = search(Stepwise(3, prm=StepScores()))
    scores = plain.candidates[0]["step_scores"]
    assert row.candidates[0]["text"] == plain.candidates[0]["text"]
    assert row.candidates[0]["step_scores"] == [min(scores[: k + 1]) for k in range(len(scores))]


def test_a_strategy_of_ones_own_needs_one_method():
    class Longest(SearchStrategy):
        def search(self, budget):
            draft = Draft()
            while not draft.finish:
                (grown,) = yield [Growth(draft, 3)]
                draft = max(grown, key=lambda d: len(d.text))
            return [draft]

    (row,) = search(Longest(prm=StepScores()))
    text, ended = "", False
    while not ended:
        text, ended = max(children("q", text, range(3)), key=lambda node: len(node[0]))
    assert row.candidates[0]["text"] == text


@pytest.mark.parametrize(
    ("text", "separator", "steps"),
    [
        ("a\n\nb\n\n", "\n\n", ("a", "b")),
        ("\n\n\n\n a", "\n\n", ("a",)),
        ("", "\n", ()),
        ("x\nStep 1: y\nStep 2: z", "\nStep", ("x", "Step 1: y", "Step 2: z")),
        ("x\nStep", "\nStep", ("x",)),
    ],
)
def test_steps_of_a_text(text, separator, steps):
    assert steps_of(text, separator) == steps


def test_budgets_tell_what_is_left():
    assert TokenBudget().left == float("inf")
    assert TokenBudget(10, 3, 4).left == 3
    assert TokenBudget(10, 30, 4).left == 0


def test_strategies_are_made_of_specs():
    assert load_strategy("beam(2, expand=3, prm=column('x'), step='\\n')") == Beam(
        2, 3, prm=load("column('x')"), step="\n"
    )
    assert load_strategy("dvts(prm=\"column('x')\", step_tokens=9)") == DVTS(prm=load("column('x')"), step_tokens=9)
    for spec, told in (
        ("beem(2)", "not found"),
        ("beam(2)", "needs a verifier"),
        ("beam(2, prm=nothing)", "nothing"),
        ("beam(x, prm=column('x'))", "an integer"),
        ("beam(True, prm=column('x'))", "an integer"),
        ("beam(1, 2, 3, 4, 5, 6, 7, prm=column('x'))", "it takes"),
        ("beam(n=1, prm=column('x'))", "option 'n' not found"),
    ):
        with pytest.raises(SpecError, match=told):
            load_strategy(spec)
    for spec in ("beam(0, prm=column('x'))", "stepwise(2, prm=column('x'), step='')"):
        with pytest.raises(UsageError):
            load_strategy(spec)
