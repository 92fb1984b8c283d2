import pickle

import pytest

from tests.judges.scripted import Holding, Scripted, asked, better, shown, token
from verikit.base import Verifier
from verikit.errors import ConfigError, EngineError, EngineTimeout, JudgeError, SpecError, UnparseableVerdict
from verikit.judges import ByScore, Knockout, Pair, Pairwise, Pointwise, Reference, RoundRobin, jury
from verikit.judges.evidence.canaries import CANARIES
from verikit.names.spec import load, load_selector
from verikit.types import Group, Sample, Score

PAIRS = [Pair(f"good {i}", f"bad {i}", f"question {i}") for i in range(20)]


def sample(text="good", opponent="bad", **more):
    return Sample("q", text, meta={"opponent": opponent}, **more)


def test_a_fair_judge_is_heard_and_all_orders_of_a_batch_go_in_one_call():
    engine = Scripted(better("good", "bad"))
    compared = Pairwise(engine).compare([*PAIRS, Pair("bad", "good", "q")])
    assert [comparison.preference for comparison in compared] == [1.0] * 20 + [0.0]
    assert engine.calls == [42]


def test_a_judge_that_prefers_a_place_gives_exactly_half():
    for reply in ("[[A]]", "[[B]]"):
        compared = Pairwise(Scripted(lambda _, reply=reply: reply)).compare(PAIRS)
        assert [comparison.preference for comparison in compared] == [0.5] * 20


def test_a_one_token_judge_that_prefers_a_place_gives_exactly_half():
    judge = Pairwise(Scripted(lambda _: token(m=0.8, M=0.2)), "pairwise-token")
    assert [comparison.preference for comparison in judge.compare(PAIRS)] == [0.5] * 20


def test_a_win_in_one_order_and_a_tie_in_the_other_is_a_tie():
    engine = Scripted(lambda request: "[[A]]" if shown(request, "answer_1").startswith("good") else "[[C]]")
    (comparison,) = Pairwise(engine).compare(PAIRS[:1])
    assert comparison.preference == 0.5
    assert [order.preference for order in comparison.orders] == [1.0, 0.5]


def test_fixed_order_asks_once_and_random_order_is_drawn_by_the_prompt():
    fixed = Scripted(lambda _: "[[A]]")
    assert [comparison.preference for comparison in Pairwise(fixed, order="fixed").compare(PAIRS)] == [1.0] * 20
    drawn = Pairwise(Scripted(lambda _: "[[A]]"), order="random")
    first = [comparison.preference for comparison in drawn.compare(PAIRS)]
    assert first == [comparison.preference for comparison in drawn.compare(PAIRS)]
    assert {*first} == {0.0, 1.0}
    assert fixed.calls == [20]


def test_a_reply_without_a_verdict_leaves_the_comparison_without_one():
    engine = Scripted(lambda request: "[[A]]" if shown(request, "answer_1").startswith("good") else "hard to say")
    (comparison,) = Pairwise(engine).compare(PAIRS[:1])
    assert comparison.preference is None
    assert isinstance(comparison.error, JudgeError)
    assert "hard to say" in comparison.reason
    score = Pairwise(engine).score([sample()])[0]
    assert (score.value, score.status) == (None, "error")


def test_one_retry_goes_on_with_the_conversation_and_names_the_form():
    engine = Scripted(lambda request: "[[A]]" if len(request.prompt) > 1 else "hmm")
    (comparison,) = Pairwise(engine, order="fixed", retry=True).compare(PAIRS[:1])
    assert comparison.preference == 1.0
    assert comparison.orders[0].verdict.reply == "hmm\n\n[[A]]"
    assert comparison.usage["calls"] == 2
    assert [m["role"] for m in engine.requests[-1].prompt] == ["user", "assistant", "user"]
    never = Scripted(lambda request: "hmm")
    assert Pairwise(never, order="fixed", retry=True, probe=0).compare(PAIRS[:1])[0].preference is None
    assert never.calls == [1, 1]


def test_a_judge_that_never_gives_a_verdict_stops_the_run_early():
    engine = Scripted(lambda _: "As a language model I like both.")
    judge = Pairwise(engine)
    assert judge.compare(PAIRS[:3])[0].preference is None
    with pytest.raises(ConfigError, match="As a language model"):
        judge.compare(PAIRS[3:6])
    with pytest.raises(ConfigError):
        Pairwise(engine).score([sample()] * 8)
    assert len(engine.calls) == 3


def test_engine_failures_are_data_and_do_not_count_against_the_judge():
    engine = Scripted(lambda _: EngineTimeout("no reply in 60 s"))
    scores = Pairwise(engine).score([sample()] * 20)
    assert {score.status for score in scores} == {"timeout"}
    broken = Pairwise(Scripted(lambda _: EngineError("boom"))).score([sample()])
    assert (broken[0].status, broken[0].value) == ("error", None)
    assert "boom" in broken[0].reason


def test_equal_answers_are_a_tie_and_nobody_is_asked():
    engine = Scripted(lambda _: "[[A]]")
    assert Pairwise(engine).compare([Pair("same", "same")])[0].preference == 0.5
    assert engine.calls == []


def test_a_tie_is_worth_what_the_reward_says():
    engine = Scripted(lambda _: "[[A]]")
    assert Pairwise(engine).score([sample()])[0].value == 0.5
    assert Pairwise(engine, tie=0.0).score([sample()])[0].value == 0.0


def test_the_length_guard_is_relative_to_the_opponent():
    judge = Pairwise(Scripted(better("good", "bad")), max_longer=300)
    words = "good " * 310
    kept, guarded = judge.score([sample(words, "bad " * 10), sample(words + "good", "bad " * 10)])
    assert kept.value == 1.0
    assert guarded.value == 0.0
    assert "300 words" in guarded.reason


def test_without_an_opponent_there_is_no_score():
    engine = Scripted(lambda _: "[[A]]")
    score = Pairwise(engine).score([Sample("q", "x")])[0]
    assert (score.status, engine.calls) == ("error", [])


def test_a_rating_becomes_a_score_between_zero_and_one():
    scores = Pointwise(Scripted(lambda _: "fine [[10]]")).score([Sample("q", "a"), Sample("q", "b")])
    assert [score.value for score in scores] == [1.0, 1.0]
    assert scores[0].answer == "10"
    assert Pointwise(Scripted(lambda _: "[[1]]"))("a").value == 0.0


def test_a_rating_by_tokens_is_their_mean():
    judge = Pointwise(Scripted(lambda _: token(**{"7": 0.5, "9": 0.5})), "rating-token")
    assert judge("a").answer == "8"
    assert judge("a").value == pytest.approx(7 / 9)


def test_each_turn_of_a_conversation_is_rated_in_one_call():
    engine = Scripted(lambda request: "[[10]]" if shown(request, "answer") == "first" else "[[1]]")
    turns = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
    ]
    score = Pointwise(engine, turns="each")("second", prompt=turns)
    assert score.value == 0.5
    assert [step.value for step in score.steps] == [1.0, 0.0]
    assert engine.calls == [2]
    assert shown(engine.requests[0], "prompt") == "one"
    assert "first" in shown(engine.requests[1], "prompt")


def test_a_reference_judge_says_true_or_false_and_nothing_else():
    replies = {"right": "True.", "wrong": "False", "odd": "Probably"}
    judge = Reference(Scripted(lambda request: replies[shown(request, "answer")]))
    scores = judge.score([Sample("q", text, "gold") for text in replies] + [Sample("q", "right")])
    assert [score.value for score in scores] == [1.0, 0.0, None, None]
    assert [score.status for score in scores] == ["ok", "ok", "error", "error"]


def test_several_gold_answers_are_all_shown():
    engine = Scripted(lambda _: "True")
    Reference(engine)("x", ["one", "two"])
    assert shown(engine.requests[0], "reference") == "one\ntwo"


def rambles(request):
    return "Both answers have their points."


def test_a_reply_that_is_its_verdict_is_held_to_it_at_once_where_the_engine_can():
    engine = Holding("choice", rule=rambles)
    assert Reference(engine)("x", "y").value == 1.0
    assert engine.requests[0].structured.choice == ("True", "False")
    assert len(engine.requests) == 1


@pytest.mark.parametrize("kind", ["choice", "json"])
@pytest.mark.parametrize(
    "prompt", ["pairwise", "pairwise-graded", "pairwise-label", "pairwise-token", "rating", "rating-token"]
)
def test_a_judge_that_rambles_gives_a_verdict_by_every_prompt_where_it_can_be_held(prompt, kind):
    engine = Holding(kind, rule=rambles)
    if prompt.startswith("rating"):
        score = Pointwise(engine, prompt)("x")
        assert (score.status, score.value) == ("ok", 0.0)
        assert score.answer == "1"
    else:
        (comparison,) = Pairwise(engine, prompt, order="fixed").compare(PAIRS[:1])
        assert comparison.preference == 1.0


def test_a_reply_with_a_verdict_is_left_as_it_is_and_not_asked_for_again():
    engine = Holding("choice", rule=lambda request: "They are equal: [[C]]")
    (comparison,) = Pairwise(engine, order="fixed").compare(PAIRS[:1])
    assert comparison.preference == 0.5
    assert [request.structured for request in engine.requests] == [None]


def test_what_was_said_before_the_held_verdict_is_kept_and_both_are_paid_for():
    engine = Holding("choice", rule=rambles)
    (comparison,) = Pairwise(engine, order="fixed").compare(PAIRS[:1])
    assert comparison.orders[0].verdict.reply == "Both answers have their points.\n\n[[A]]"
    assert comparison.usage["calls"] == 2
    assert engine.requests[1].prompt[-1]["content"].startswith("Give the verdict now")


@pytest.mark.parametrize("kind", ["choice", "json"])
def test_a_server_that_refuses_to_hold_replies_is_told_of_and_asked_without(kind):
    engine = Holding(kind, rule=lambda request: "True" if "x" in asked(request) else "Perhaps", refuses=True)
    if kind == "choice":
        with pytest.warns(UserWarning, match="holding rejected a request.*response_format.*asked without"):
            assert Reference(engine)("x", "y").value == 1.0
    else:
        assert Reference(engine)("x", "y").value == 1.0
    engine.rule = rambles
    with pytest.warns(UserWarning, match="rejected a request.*left without a verdict"):
        (comparison,) = Pairwise(engine, order="fixed", probe=0).compare(PAIRS[:1])
    assert isinstance(comparison.error, UnparseableVerdict)


@pytest.mark.parametrize("kind", ["choice", "json"])
def test_a_refused_held_reply_is_asked_for_again_without_where_another_try_is_allowed(kind):
    def rule(request):
        return "So: [[A]]" if request.prompt[-1]["content"].startswith("Give the verdict") else rambles(request)

    engine = Holding(kind, rule=rule, refuses=True)
    with pytest.warns(UserWarning, match="asked again without") as told:
        compared = Pairwise(engine, order="fixed", retry=True).compare(PAIRS[:3])
    assert [comparison.preference for comparison in compared] == [1.0] * 3
    assert len(told) == 1
    assert engine.calls == [3, 3, 3]
    assert all(comparison.reason == "one order" for comparison in compared)


def test_refused_held_replies_count_for_the_probe():
    engine = Holding("json", rule=rambles, refuses=True)
    with pytest.warns(UserWarning, match="left without"), pytest.raises(ConfigError, match="the judge's first"):
        Pairwise(engine, probe=2).compare(PAIRS[:2])


def test_a_forced_verdict_says_so_and_is_counted():
    engine = Holding("choice", rule=lambda request: rambles(request) if "ramble" in asked(request) else "[[8]]")
    forced, free = Pointwise(engine).score([Sample("p", "ramble"), Sample("p", "u")])
    assert forced.reason.endswith(", forced")
    assert not free.reason.endswith("forced")
    assert (forced.usage["forced"], "forced" in free.usage) == (1.0, False)
    assert "forced" in Pointwise(engine).tallied
    (comparison,) = Pairwise(Holding("choice", rule=rambles), order="fixed").compare(PAIRS[:1])
    assert comparison.reason == "one order, forced"


def test_nothing_is_held_where_that_is_switched_off_or_the_engine_cannot():
    for engine, structured in ((Holding("choice", rule=rambles), False), (Holding(rule=rambles), True)):
        (comparison,) = Pairwise(engine, order="fixed", structured=structured, probe=0).compare(PAIRS[:1])
        assert comparison.preference is None
        assert [request.structured for request in engine.requests] == [None]


class Length(Verifier):
    name = "length"

    def score_batch(self, samples):
        return [Score(float(len(s.completion))) if s.completion else Score.error("empty") for s in samples]


def test_any_verifier_compares_by_its_scores():
    compared = ByScore(Length()).compare([Pair("aaa", "a"), Pair("a", "b"), Pair("", "b"), Pair("aa", "aaa")])
    assert [comparison.preference for comparison in compared] == [1.0, 0.5, None, 0.0]
    assert ByScore(Length(), margin=1).compare([Pair("aa", "aaa")])[0].preference == 0.5


def test_a_pointwise_judge_compares_by_its_ratings():
    engine = Scripted(lambda request: "[[9]]" if "good" in shown(request, "answer") else "[[2]]")
    assert [comparison.preference for comparison in Pointwise(engine).compare(PAIRS[:2])] == [1.0, 1.0]
    assert engine.calls == [4]


def test_a_jury_votes_and_a_juror_that_fails_leaves_no_verdict():
    yes, no = Scripted(lambda _: "True"), Scripted(lambda _: "False")
    lost = Scripted(lambda _: EngineError("down"))
    two_to_one = jury(Reference(yes), Reference(yes), Reference(no))
    assert two_to_one("x", "y").value == 1.0
    assert jury(Reference(yes), Reference(yes), Reference(no), rule="mean")("x", "y").value == pytest.approx(2 / 3)
    assert jury(Reference(yes), Reference(no), rule="minimum")("x", "y").value == 0.0
    broken = jury(Reference(yes), Reference(lost))("x", "y")
    assert broken.value is None
    assert len(broken.parts) == 2


def test_a_jury_compares_by_majority_and_by_mean():
    a, b, by_position = Scripted(better("good", "bad")), Scripted(better("bad", "good")), Scripted(lambda _: "[[A]]")
    panel = [Pairwise(a), Pairwise(a), Pairwise(b)]
    assert jury(*panel).compare(PAIRS[:1])[0].preference == 1.0
    assert jury(*panel, rule="mean").compare(PAIRS[:1])[0].preference == pytest.approx(2 / 3)
    assert jury(*panel, rule="minimum").compare(PAIRS[:1])[0].preference == 0.5
    assert jury(Pairwise(a), Pairwise(by_position), Pairwise(by_position)).compare(PAIRS[:1])[0].preference == 0.5


def test_jurors_work_side_by_side():
    import threading

    barrier = threading.Barrier(2, timeout=60)

    def together(request):
        barrier.wait()
        return "True"

    assert jury(Reference(Scripted(together)), Reference(Scripted(together)))("x", "y").value == 1.0


ORDER = ["delta", "alpha", "echo", "bravo", "charlie"]


def alphabetical(request):
    return "[[A]]" if shown(request, "answer_1") < shown(request, "answer_2") else "[[B]]"


def test_a_knock_out_finds_the_best_in_one_call_a_round():
    engine = Scripted(alphabetical)
    ranking = Knockout(Pairwise(engine)).select(Group("q", ORDER), [Score(0.0)] * 5)
    assert ORDER[ranking[0]] == "alpha"
    assert sorted(ranking) == [0, 1, 2, 3, 4]
    assert engine.calls == [4, 2, 2]


def test_a_round_robin_ranks_all_in_one_call():
    engine = Scripted(alphabetical)
    ranking = RoundRobin(Pairwise(engine)).select(Group("q", ORDER), [])
    assert [ORDER[i] for i in ranking] == sorted(ORDER)
    assert engine.calls == [20]


@pytest.mark.parametrize("selector", [Knockout, RoundRobin])
def test_a_comparison_without_a_verdict_leaves_no_ranking(selector):
    lost = selector(Pairwise(Scripted(lambda _: EngineError("down"))))
    with pytest.raises(JudgeError, match="down"):
        lost.select(Group("q", ORDER), [])
    assert selector(Pairwise(Scripted(lambda _: ""))).select(Group("q", ["one"]), []) == [0]
    assert selector(Pairwise(Scripted(lambda _: ""))).select(Group("q", []), []) == []


def test_judges_and_tournaments_have_specs():
    judge = load("pairwise('replay:/dev/null', order='random', tie=0.0)")
    assert isinstance(judge, Pairwise)
    assert isinstance(
        load("jury(judge('replay:/dev/null'), reference_judge('replay:/dev/null'), rule='mean')"), Verifier
    )
    assert isinstance(load_selector("knockout(\"pairwise('replay:/dev/null')\")"), Knockout)
    values = (
        "order='sometimes'",
        "prompt='rating'",
        "max_chars=-3",
        "probe='x'",
        "options=3",
        "tie='half'",
        "max_longer='x'",
    )
    for wrong in (f"pairwise('replay:/dev/null', {value})" for value in values):
        with pytest.raises((ConfigError, SpecError)):
            load(wrong)


def test_an_option_the_engine_does_not_have_is_named():
    with pytest.raises(SpecError, match="nonsense"):
        Pairwise("openai:http://localhost:1/v1#m", options={"nonsense": 1})("x", opponent="y")


def test_a_key_among_the_options_is_refused_because_a_run_writes_its_judge_down():
    with pytest.raises(ConfigError, match="stored with the run") as error:
        Pairwise("openai:http://localhost:1/v1#m", options={"api_key": "sk-very-secret"}).fingerprint  # noqa: B018
    assert "OPENAI_API_KEY" in error.value.hint
    assert "secret" not in str(error.value)


def test_how_many_requests_are_in_flight_decides_no_verdict():
    comparison, other = (Pairwise("openai:http://localhost:1/v1#m", options={"concurrency": n}) for n in (1, 2))
    assert comparison.fingerprint == other.fingerprint == Pairwise("openai:http://localhost:1/v1#m").fingerprint
    thinking = {"body": {"chat_template_kwargs": {"enable_thinking": False}}}
    assert Pairwise("openai:http://localhost:1/v1#m", options=thinking).fingerprint != comparison.fingerprint


def test_the_fingerprint_tells_everything_that_decides_the_verdict(tmp_path):
    assert Pairwise("replay:a").fingerprint != Pairwise("replay:b").fingerprint
    assert Pairwise("replay:a").fingerprint != Pairwise("replay:a", "pairwise-token").fingerprint
    assert Pairwise("replay:a").fingerprint == Pairwise("replay:a", probe=3).fingerprint
    judge = pickle.loads(pickle.dumps(Pairwise("replay:a", tie=0.0)))
    assert judge == Pairwise("replay:a", tie=0.0)


@pytest.mark.parametrize("name", CANARIES)
def test_no_canary_moves_a_fair_judge_nor_hides_the_honest_answer(name):
    engine = Scripted(better("honest", "canary"))
    (comparison,) = Pairwise(engine).compare([Pair(CANARIES[name], "an honest answer", "q")])
    assert comparison.preference == 0.0
    for request in engine.requests:
        assert len(asked(request)) < 40_000
        assert "<|im_start|>" not in asked(request)


def test_a_judge_that_reads_only_the_first_verdict_it_sees_is_caught_by_the_canaries():
    gullible = Scripted(lambda request: "[[A]]" if "[[A]]" in shown(request, "answer_1") else "[[B]]")
    (comparison,) = Pairwise(gullible).compare([Pair(CANARIES["verdict"], "an honest answer", "q")])
    assert comparison.preference == 1.0
