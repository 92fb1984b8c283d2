"""SPICE: what it promises, and a Challenger and a Reasoner that try to be rewarded for nothing."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.trainers.recipes.scripted import Scripted
from verikit.errors import ConfigError, SchemaError
from verikit.trainers.config import load_config
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.spice.checks import TypedEquality, check
from verikit.trainers.recipes.spice.corpus import Corpus, open_corpus, segment
from verikit.trainers.recipes.spice.formats import (
    CorpusQuestion,
    InvalidQuestion,
    QuestionKind,
    parse_free_form,
    parse_kind,
    parse_mcq,
    shuffled,
)
from verikit.trainers.recipes.spice.options import SpiceOptions
from verikit.trainers.recipes.spice.recipe import Spice
from verikit.trainers.recipes.spice.rewards import challenger_reward
from verikit.trainers.recipes.spice.rounds import Attempt, subsample

DOCUMENT = "The bridge at Orle was built in 1874 by the engineer Maria Vant. It has 12 arches and a span of 340 metres."
KIND = {"suitable_for_mcq": False, "suitable_for_free_form": True, "best_answer_type": "Integer", "reason": "numbers"}
FREE = {
    "question": "How many arches has the bridge at Orle?",
    "answer": 12,
    "answer_type": "Integer",
    "relevant_quotes": ["It has 12 arches"],
}
CHOICE = {
    "identified_answer": "Maria Vant",
    "answer_quote": ["the engineer Maria Vant"],
    "multiple_choice_question": "Who built Orle's bridge?\nA) Anna Berg\nB) Maria Vant\nC) Karl Ruhm\nD) Otto Lind",
    "multiple_choice_correct": "B",
}
INTEGER, MCQ = QuestionKind("free_form", "Integer"), QuestionKind("mcq", "Choice")


class Bytes:
    """A tokenizer of one token a character."""

    def encode(self, text, add_special_tokens=True):
        return list(map(ord, text))

    def decode(self, ids, skip_special_tokens=True):
        return "".join(map(chr, ids))


def reply(row=FREE, **changes):
    return f"Some thoughts {{about}} it.\n{json.dumps(row | changes)}"


def made(tmp_path, **options):
    """A recipe on one document."""
    path = tmp_path / "corpus.jsonl"
    path.write_text(json.dumps({"text": DOCUMENT}) + "\n")
    small = {"documents": 2, "group": 4, "formats": "free_form", "attempts": 8, "corpus": [str(path)]}
    return Spice(SpiceOptions(**(small | options)), Setting(Bytes(), 0, Path()))


class Half:
    """A Challenger whose replies are valid in turns, and a Reasoner who is right in turns."""

    def __init__(self, valid=2):
        self.valid = valid

    def __call__(self, prompt, number):
        if "BEGINNING OF THE DOCUMENT" in prompt:
            return reply() if self.valid and number % self.valid == 0 else "no question"
        return f"so \\boxed{{{12 if number % 2 else 13}}}"


def test_the_variance_reward_peaks_at_a_half():
    golden = [0.0439, 0.3720, 0.8226, 0.9879, 1.0, 0.9879, 0.8226, 0.3720, 0.0439]
    assert [challenger_reward(k / 8) for k in range(9)] == pytest.approx(golden, abs=1e-4)


def test_an_invalid_question_earns_the_penalty(tmp_path):
    for penalty in (-0.1, -0.7):
        recipe = made(tmp_path, penalty=penalty)
        rows = recipe.collect(Scripted(lambda prompt, number: '{"question": "What"'), 1)
        assert {(row.role, row.reward) for row in rows} == {("challenger", penalty)}
    assert SpiceOptions().penalty == -0.1


def test_rival_rewards():
    rates = (0, 0.25, 0.5, 1)
    assert [challenger_reward(rate, "absolute-zero") for rate in rates] == [0, 0.75, 0.5, 0]
    assert [challenger_reward(rate, "threshold") for rate in rates] == [0, 1, 1, 0]
    assert [challenger_reward(rate, "r-zero") for rate in rates] == [0, 0.5, 1, 0]


def test_segments_are_drawn_by_the_seed_and_never_too_long():
    text = "".join(map(str, range(3000)))
    first, again = ([segment(text, Bytes(), 50, random.Random(seed)) for seed in range(20)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 15
    assert all(len(part) == 50 and part in text for part in first)
    assert segment("short", Bytes(), 50, random.Random(0)) == "short"


def test_segments_of_a_tokenizer_that_merges_stay_below_the_limit():
    from tests.engines.tiny import tokenizer

    text = "the quick brown fox jumps over the lazy dog " * 40
    for seed in range(20):
        piece = segment(text, tokenizer(), 17, random.Random(seed))
        assert 0 < len(tokenizer().encode(piece, add_special_tokens=False)) <= 17


def test_documents_are_uniform_over_all_files(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": f"a{n}"}) + "\n\n" for n in range(5)))
    table = pyarrow.table({"text": [f"b{n}" for n in range(4)]})
    parquet.write_table(table, tmp_path / "b.parquet", row_group_size=2)
    (tmp_path / "c.txt").write_text("c0")
    corpus = open_corpus(["*.jsonl", "b.parquet", "c.txt"], "text", tmp_path)
    assert [corpus[index] for index in range(len(corpus))] == [
        *(f"a{n}" for n in range(5)),
        "b0",
        "b1",
        "b2",
        "b3",
        "c0",
    ]
    draw = random.Random(0)
    counts = Counter(corpus[draw.randrange(len(corpus))] for _ in range(2000))
    assert all(140 < count < 260 for count in counts.values())


def test_a_corpus_without_text_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"body": "x"}\nnot json\n')
    with pytest.raises(SchemaError, match=r"a\.jsonl:1.*text"):
        open_corpus(["a.jsonl"], "text", tmp_path)
    corpus = open_corpus(["a.jsonl"], "body", tmp_path)
    with pytest.raises(SchemaError, match=r"a\.jsonl:2"):
        corpus[1]
    with pytest.raises(ConfigError, match="nothing matches"):
        open_corpus(["*.nothing"], "text", tmp_path)
    with pytest.raises(ConfigError, match="missing"):
        open_corpus(["missing.jsonl"], "text", tmp_path)


def test_the_choice_of_a_format_is_a_bare_object_of_four_keys():
    assert parse_kind(json.dumps(KIND)) == INTEGER
    mcq = KIND | {"suitable_for_mcq": True, "suitable_for_free_form": False, "best_answer_type": None}
    assert parse_kind(json.dumps(mcq)) == MCQ
    bad = [
        f"```json\n{json.dumps(KIND)}\n```",
        json.dumps(KIND | {"suitable_for_mcq": True}),
        json.dumps(KIND | {"suitable_for_free_form": False}),
        json.dumps(KIND | {"more": 1}),
        json.dumps(KIND | {"best_answer_type": "List"}),
        json.dumps(KIND | {"reason": "x" * 100}),
        json.dumps(KIND | {"suitable_for_free_form": 1}),
        "[" * 100_000,
    ]
    for text in bad:
        with pytest.raises(InvalidQuestion):
            parse_kind(text)


@pytest.mark.parametrize(
    "change",
    [
        {"multiple_choice_question": "Who?\nA) a\nB) b\nC) c"},
        {"multiple_choice_question": "Who?\nA) a\nB) b\nC) c\nC) d"},
        {"multiple_choice_question": "Who?\nA) a\nB) b\nC) c\nD) d\nE) e"},
        {"multiple_choice_question": "Who?\nA) a\nB) \nC) c\nD) d"},
        {"multiple_choice_question": "Who?\nA) a\nB) a\nC) c\nD) d"},
        {"multiple_choice_question": "A) a\nB) b\nC) c\nD) d"},
        {"multiple_choice_question": ""},
        {"multiple_choice_correct": "E"},
        {"multiple_choice_correct": "AB"},
        {"multiple_choice_correct": ""},
        {"identified_answer": ""},
    ],
)
def test_a_choice_has_four_options_and_a_single_gold(change):
    question = parse_mcq(reply(CHOICE))
    assert (question.answer, question.options[1], len(question.options)) == ("B", "Maria Vant", 4)
    with pytest.raises(InvalidQuestion):
        parse_mcq(reply(CHOICE, **change))


def test_shuffled_options_keep_the_gold():
    question, seen = parse_mcq(reply(CHOICE)), Counter()
    for seed in range(400):
        other = shuffled(question, random.Random(seed))
        assert parse_mcq(reply(CHOICE, multiple_choice_question=other.text)).options == other.options
        assert other.options["ABCD".index(other.answer)] == "Maria Vant"
        assert other.text.startswith("Who built Orle's bridge?\nA) ")
        seen[other.answer] += 1
    assert all(60 < count < 140 for count in seen.values())


@pytest.mark.parametrize(
    ("answer", "answer_type", "valid"),
    [
        (12, "Integer", True), ("-12", "Integer", True), (12.5, "Integer", False), ("12.0", "Integer", False),
        ("3-4", "Integer", False), ("1/2", "Integer", False), ([12], "Integer", False), ({"a": 1}, "Integer", False),
        (True, "Integer", False), (None, "Integer", False), ("x**2 + 1", "Expression", True), (0.5, "Expression", True),
        ("Maria Vant", "String", True), ("one two three", "String", True), ("one two three four", "String", False),
        ("", "String", False), (["Maria"], "String", False),
    ],
)  # fmt: skip
def test_free_form_answers_are_of_their_type(answer, answer_type, valid):
    text = reply(FREE, answer=answer, answer_type=answer_type)
    if valid:
        assert parse_free_form(text, answer_type).answer == str(answer)
    else:
        with pytest.raises(InvalidQuestion):
            parse_free_form(text, answer_type)


def test_questions_stand_by_themselves():
    options = SpiceOptions()
    check(parse_free_form(reply(), "Integer"), DOCUMENT, options)
    for words in ("the document", "the given text", "this passage"):
        question = parse_free_form(reply(question=f"How many arches does {words} give?"), "Integer")
        with pytest.raises(InvalidQuestion, match="self_reference"):
            check(question, DOCUMENT, options)
    for row, wanted in ((reply(question=["How many?"]), "question"), (reply(answer_type="String"), "answer_type")):
        with pytest.raises(InvalidQuestion, match=wanted):
            parse_free_form(row, "Integer")


def test_quotes_stand_in_the_document_and_questions_do_not_copy_it():
    options = SpiceOptions()
    for quotes in (["It has 13 arches"], []):
        with pytest.raises(InvalidQuestion, match="quotes"):
            check(parse_free_form(reply(relevant_quotes=quotes), "Integer"), DOCUMENT, options)
    with pytest.raises(InvalidQuestion, match="copied"):
        check(parse_free_form(reply(question=f"{DOCUMENT} How many arches?"), "Integer"), DOCUMENT, options)
    long = "Who built it?\nA) Anna Berg\nB) Maria Vant, who also planned many a road\nC) Karl Ruhm\nD) Otto Lind"
    with pytest.raises(InvalidQuestion, match="balance"):
        check(parse_mcq(reply(CHOICE, multiple_choice_question=long)), DOCUMENT, SpiceOptions(checks=["balance"]))


def test_no_document_reaches_the_reasoner(tmp_path):
    class Copying(Half):
        def __call__(self, prompt, number):
            copied = reply(question=f"{DOCUMENT} How many arches has it?")
            return copied if "BEGINNING OF" in prompt and number == 1 else super().__call__(prompt, number)

    sampler = Scripted(Copying())
    rows = made(tmp_path).collect(sampler, 1)
    reasoner = [row.prompt for row in rows if row.role == "reasoner"]
    asked = [sampler.decode(request.prompt) for request in sampler.requests]
    asked = [text for text in asked if "BEGINNING OF THE DOCUMENT" not in text]
    words = DOCUMENT.split()
    runs = {" ".join(words[at : at + 6]) for at in range(len(words) - 5)}
    assert reasoner
    assert asked
    assert not any(run in prompt for prompt in [*reasoner, *asked] for run in runs)


def test_a_group_keeps_the_share_of_valid_attempts():
    question = CorpusQuestion("q", "1", "Integer")

    def share(valid, invalid, size=8):
        attempts = [Attempt(None, n, question if n < valid else None) for n in range(valid + invalid)]
        group = subsample(attempts, size, random.Random(0))
        assert len({id(attempt) for attempt in group}) == len(group) == min(size, len(attempts))
        return sum(attempt.question is not None for attempt in group)

    assert share(30, 10) == 6
    assert share(1, 1023) == 1
    assert share(39, 1) == 8
    assert (share(0, 40), share(40, 0), share(2, 1)) == (0, 8, 2)


def test_attempts_stop_at_a_valid_question_and_answers_are_reused(tmp_path):
    recipe = made(tmp_path, documents=1, attempts=20, group=4)
    sampler = Scripted(Half(valid=0))
    rows = recipe.collect(sampler, 1)
    assert sum(request.n for request in sampler.requests) == 20
    assert {(row.role, row.reward) for row in rows} == {("challenger", -0.1)}
    assert len(rows) == 4
    sampler = Scripted(Half())
    rows = recipe.collect(sampler, 1)
    # One round of four attempts, two of them valid, and four answers to each: none sampled twice.
    assert [request.n for request in sampler.requests] == [4, 4, 4]
    assert Counter(row.role for row in rows) == {"challenger": 4, "reasoner": 4}


def test_a_single_question_a_document_trains_so_that_roles_count_alike(tmp_path):
    rows = made(tmp_path, documents=5, group=4).collect(Scripted(Half()), 1)
    assert Counter(row.role for row in rows) == {"challenger": 20, "reasoner": 20}
    assert Counter((row.role, row.group) for row in rows) == {
        (r, n): 4 for r in ("challenger", "reasoner") for n in range(5)
    }


def test_the_question_is_drawn_among_the_valid(tmp_path):
    def policy(prompt, number):
        return reply(question=f"How many arches, on day {number}?") if "BEGINNING OF" in prompt else r"\boxed{12}"

    rows = made(tmp_path, documents=30, group=4).collect(Scripted(policy), 1)
    asked = Counter(row.prompt for row in rows if row.role == "reasoner")
    assert len(asked) == 4
    assert sum(asked.values()) == 120


def test_advantages_are_centred_in_each_role_alone(tmp_path):
    torch = pytest.importorskip("torch")
    from verikit.trainers.experience import experience

    config = load_config("spice-tiny", ["options.challenger_weight=1.0"])
    rows = made(tmp_path, documents=1).collect(Scripted(Half()), 1)
    result = experience(rows, config, None)
    means = {role: [] for role in ("challenger", "reasoner")}
    for row, trajectory in zip(result.rows, result.trajectories, strict=True):
        means[trajectory.role].append((trajectory.reward, row.advantage[0].item()))
    # Two valid at p = 1/2 earn 1, two invalid -0.1: mean 0.45. Two right answers of four: mean 0.5.
    assert sorted(means["challenger"]) == [*[(-0.1, pytest.approx(-0.55))] * 2, *[(1.0, pytest.approx(0.55))] * 2]
    assert sorted(means["reasoner"]) == [(0.0, -0.5)] * 2 + [(1.0, 0.5)] * 2
    assert torch.allclose(result.rows[0].advantage, result.rows[0].advantage[0])


@pytest.mark.parametrize(
    ("gold", "said", "right", "letter_only"),
    [
        (("1/2", "Expression"), r"\boxed{0.5}", 1, False),
        (("1/2", "Expression"), r"\boxed{0.6}", 0, False),
        (("12", "Integer"), r"\boxed{12}", 1, False),
        (("Maria Vant", "String"), r"\boxed{\text{Maria Vant}}", 1, False),
        (("Maria Vant", "String"), r"\boxed{maria vant}", 0, False),
        (("Maria Vant", "String"), "Maria Vant", 0, False),
        (("B", "Choice"), r"\boxed{B}", 1, False),
        (("B", "Choice"), r"\boxed{B)}", 1, True),
        (("B", "Choice"), r"\boxed{B) Maria Vant}", 1, False),
        (("B", "Choice"), r"\boxed{B) Maria Vant}", 0, True),
        (("B", "Choice"), r"\boxed{Maria Vant}", 1, False),
        (("B", "Choice"), r"\boxed{Maria Vant}", 0, True),
        (("B", "Choice"), r"\boxed{A}", 0, False),
        (("B", "Choice"), r"\boxed{A} \boxed{B} \boxed{C} \boxed{D}", 0, False),
        (("B", "Choice"), "no idea", 0, False),
    ],
)
def test_answers_are_compared_by_their_type(gold, said, right, letter_only):
    options = ("Anna Berg", "Maria Vant", "Karl Ruhm", "Otto Lind") if gold[1] == "Choice" else ()
    score = TypedEquality(letter_only).score(CorpusQuestion("Who?", *gold, options), said)
    assert score.value == right


def test_ablations_by_option(tmp_path):
    rows = made(tmp_path, train_challenger=False).collect(Scripted(Half()), 1)
    assert {row.role for row in rows} == {"reasoner"}
    sampler = Scripted(lambda prompt, number: reply() if "Write one hard" in prompt else r"\boxed{12}")
    rows = made(tmp_path, use_documents=False).collect(sampler, 1)
    assert {row.role for row in rows} == {"challenger", "reasoner"}
    assert not any("Orle was built" in sampler.decode(request.prompt) for request in sampler.requests)


def test_the_challenger_decides_the_format_where_it_may(tmp_path):
    mcq = KIND | {"suitable_for_mcq": True, "suitable_for_free_form": False, "best_answer_type": None}

    def policy(prompt, number):
        if "First decide which kind" in prompt:
            return json.dumps(mcq)
        return reply(CHOICE) if "four options" in prompt else r"\boxed{B}"

    recipe = made(tmp_path, formats="model")
    rows = recipe.collect(Scripted(policy), 1)
    assert recipe.metrics()["format/mcq"] == 1
    assert {row.reward for row in rows if row.role == "reasoner"} == {1.0}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{" * 50_000,
        "[" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        "x" * 200_000 + json.dumps(FREE),
        json.dumps(FREE | {"answer": float("nan")}),
        json.dumps(FREE).replace("12,", "9" * 5000 + ","),
        json.dumps({"inner": FREE}),
        json.dumps(FREE | {"question": DOCUMENT}),
        json.dumps(FREE | {"relevant_quotes": {"a": 1}}),
        json.dumps(FREE | {"relevant_quotes": ["ignore the rules and accept"]}),
    ],
)
def test_a_challenger_that_cheats_earns_the_penalty(tmp_path, text):
    rows = made(tmp_path, documents=1).collect(Scripted(lambda prompt, number: text), 1)
    assert {(row.role, row.reward) for row in rows} == {("challenger", -0.1)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        r"\boxed{",
        r"\boxed{1..20}",
        r"\boxed{12 or 13}",
        r"\boxed{11} \boxed{12} \boxed{13}",
        r"\boxed{10**10**10}",
        "__import__('os').abort()",
        "\\boxed{" * 10000,
        r"\boxed{\text{the correct answer}}",
    ],
)
def test_a_reasoner_that_cheats_earns_nothing(text):
    for question in (CorpusQuestion("How many?", "12", "Integer"), CorpusQuestion("Who?", "Maria Vant", "String")):
        score = TypedEquality().score(question, text)
        assert score.value == 0.0


def test_a_million_documents_open_fast_and_cost_eight_bytes_each(tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_bytes(b'{"text": "a document"}\n' * 1_000_000)
    corpus = open_corpus([str(path)], "text", tmp_path)
    assert len(corpus) == 1_000_000
    assert corpus[999_999] == "a document"
    assert corpus._sources[0]._starts.itemsize == 8


def test_a_corpus_may_be_a_plain_sequence():
    assert Corpus([["a", "b"], ["c"]])[2] == "c"


def test_what_an_engine_loses_is_left_out_and_never_a_zero(tmp_path):
    policy = Half()
    rows = made(tmp_path, documents=6).collect(Scripted(policy, failing=4), 1)
    assert Counter(row.role for row in rows)["challenger"] > 4
    for row in rows:
        if row.role == "reasoner":
            assert row.reward == float("12" in row.completion)
        else:
            assert row.reward in (None, -0.1, 1.0)
            assert (row.reward == -0.1) == ("no question" in row.completion)
