"""`verikit synth search`: questions that two passages answer, and transcripts that are rollouts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.engines import tiny
from tests.search.scripted import Table
from verikit.cli import cli
from verikit.errors import RetrievalError, UsageError
from verikit.retrieval import Passage
from verikit.search import read_trace
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.r1_searcher.hops import life, two_hop_questions
from verikit.trainers.recipes.r1_searcher.rewards import stage1_reward, stage2_reward
from verikit.trainers.recipes.r1_searcher.synth import Demonstrator, as_row, divided
from verikit.trainers.recipes.sft import SFT, SFTOptions

FILM = Passage(
    "The Glass Harbour", "The Glass Harbour is a 1962 drama film directed by Marta Oyelaran, about the sea.", "1"
)
MARTA = Passage("Marta Oyelaran", "Marta Oyelaran (12 May 1921 – 3 June 1998) was a film director.", "2")
BORN = "In which year was the director of the film The Glass Harbour born?"
DIED = "In which year did the director of the film The Glass Harbour die?"


def answers(*passages: Passage) -> dict[str, str]:
    return {question.prompt: question.answer for question in two_hop_questions(passages)}


def test_a_film_and_its_director_make_two_questions() -> None:
    assert answers(FILM, MARTA) == {BORN: "1921", DIED: "1998"}
    assert answers(MARTA, FILM) == {BORN: "1921", DIED: "1998"}


@pytest.mark.parametrize(
    "told",
    [
        "directed by Marta Oyelaran and Henrik Vale.",
        "directed by Marta Oyelaran & Henrik Vale.",
        "directed by Marta Oyelaran, Henrik Vale and Osric Penhallow.",
        "directed by Marta Oyelarans.",
        "directed by Marta.",
        "edited by Marta Oyelaran.",
        "directed by",
    ],
)
def test_a_film_that_does_not_name_one_director_with_a_passage_makes_none(told: str) -> None:
    assert answers(Passage("The Glass Harbour", f"It is a film {told}", "1"), MARTA) == {}


@pytest.mark.parametrize(
    "told", ["directed by Marta Oyelaran", "directed by Marta Oyelaran; it", "directed by Marta Oyelaran, about"]
)
def test_what_ends_a_name_is_no_part_of_it(told: str) -> None:
    assert set(answers(Passage("The Glass Harbour", told, "1"), MARTA)) == {BORN, DIED}


def test_a_name_of_two_passages_and_the_later_piece_of_a_document_make_none() -> None:
    namesake = Passage("Marta Oyelaran (painter)", "Marta Oyelaran (born 1950) is a painter.", "3")
    assert answers(FILM, MARTA, namesake) == {}
    assert answers(FILM, Passage(MARTA.title, MARTA.text, "2#1")) == {}
    assert set(answers(FILM, Passage(MARTA.title, MARTA.text, "2#0"))) == {BORN, DIED}


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("X (born 12 May 1950) is", {"born": "1950"}),
        ("X( born May 12, 1950) is", {"born": "1950"}),
        ("X (born Y Z, 16 September 1893 – 23 January 1956) was", {"born": "1893", "died": "1956"}),
        ("X (– 31 January 1758) was", {"died": "1758"}),
        ("X (1672 or 1673 – 1745) was", {"died": "1745"}),
        ("X (c. 1672 – 1745) was", {"died": "1745"}),
        ("X (1921–1998–2001) was", {}),
        ("X (active 1950) is", {}),
        ("X (born Y (1886), 1887) was", {}),
        ("X (born 19501) is", {}),
        ("X (born 1950", {}),
        ("X was born in 1950.", {}),
        (f"X {'was ' * 40} (born 1950)", {}),
        ("", {}),
    ],
)
def test_years_of_life_are_read_where_one_stands_on_a_side(text: str, years: dict[str, str]) -> None:
    assert life(text) == years


@given(st.integers(1000, 2099), st.integers(1000, 2099), st.sampled_from([" – ", "–"]), st.text("ab,. ", max_size=9))
def test_any_two_years_are_told_apart(born: int, died: int, dash: str, around: str) -> None:
    assert life(f"X ({around}{born}{dash}{around}{died}) was").items() <= {"born": str(born), "died": str(died)}.items()
    assert life(f"X ({born}{dash}{died}) was") == {"born": str(born), "died": str(died)}


@given(st.text("(–)born 19", max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert set(life(text)) <= {"born", "died"}
    two_hop_questions([Passage("T", f"directed by {text}", "1"), MARTA])


class Real:
    """Finds the passage whose title a query holds; remembers the queries."""

    def __init__(self, *passages: Passage) -> None:
        self.passages, self.queries = passages, list[str]()

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        self.queries += queries
        return [[passage for passage in self.passages if passage.title in query][:k] for query in queries]


@pytest.mark.parametrize("prompt", ["base", "instruct"])
def test_a_transcript_is_a_rollout_that_both_stages_reward_in_full(prompt: Any) -> None:
    retriever = Real(FILM, MARTA)
    made = Demonstrator(tiny.tokenizer(), retriever, prompt)
    [question, _] = two_hop_questions([FILM, MARTA])
    trace = made.transcript(question)
    assert retriever.queries == ["director of the film The Glass Harbour", "Marta Oyelaran born"]
    assert made.is_good(trace, question)
    for reward in (stage1_reward, stage2_reward):
        assert reward(trace, [question.answer], thinks=prompt == "base").value == 1.0
    guess = made.transcript(question, "1800")
    assert (guess.answer, guess.searches) == ("1800", [])
    assert stage2_reward(guess, [question.answer], thinks=prompt == "base").value == 0.0


def test_supervised_learning_gets_the_rollouts_tokens_and_not_its_evidence(tmp_path: Path) -> None:
    tokenizer = tiny.tokenizer()
    made = Demonstrator(tokenizer, Real(FILM, MARTA), "instruct")
    rows = list(made.rows(two_hop_questions([FILM, MARTA])))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    learnt = SFT(SFTOptions(data="rows.jsonl", max_tokens=100_000), Setting(tokenizer, 0, tmp_path)).rows
    for row, trajectory in zip(rows, learnt, strict=True):
        own = [token for token, learns in zip(trajectory.ids, trajectory.mask, strict=True) if learns]
        assert own[-1] == tokenizer.eos_token_id
        assert tokenizer.decode(own[:-1]) == read_trace(row["completion"]).own
        assert "documents" not in tokenizer.decode(own)


def test_what_was_not_found_is_left_out_and_a_failing_retriever_is_no_empty_result() -> None:
    questions = two_hop_questions([FILM, MARTA])
    other = Passage("Marta Oyelaran", "Another Marta Oyelaran.", "9")
    assert list(Demonstrator(tiny.tokenizer(), Real(FILM, other)).rows(questions)) == []
    failing = Table({"director of the film The Glass Harbour": [FILM]}, fail="Marta Oyelaran born")
    with pytest.raises(RetrievalError):
        list(Demonstrator(tiny.tokenizer(), failing).rows(questions))


def people(count: int) -> list[Passage]:
    """Films and their directors, each of whom made two."""
    names = [f"Ada Vale{number}" for number in range(count)]
    films = [
        Passage(f"Film {number}", f"It was directed by {names[number // 2]}.", f"f{number}")
        for number in range(2 * count)
    ]
    return films + [Passage(name, f"{name} (born {1900 + n}) is.", f"p{n}") for n, name in enumerate(names)]


@given(st.integers(1, 20), st.integers(1, 9), st.integers(1, 9), st.integers(0, 3))
def test_no_person_is_in_two_sets(count: int, first: int, second: int, seed: int) -> None:
    questions = two_hop_questions(people(count))
    assert len(questions) == 2 * count
    sets = divided(questions, (first, second), seed)
    persons = [{question.person for question in chosen} for chosen in sets]
    assert not persons[0] & persons[1]
    assert not (persons[0] | persons[1]) & persons[2]
    assert [len(chosen) for chosen in sets[:2]] == [
        min(first, 2 * count), min(second, max(0, 2 * count - first - first % 2)),
    ]  # fmt: skip


def test_the_command_writes_what_training_reads(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    from verikit.readers.problems import read_problems
    from verikit.retrieval import build_index

    corpus, index, model = tmp_path / "corpus.jsonl", tmp_path / "index", tmp_path / "model"
    rows = [{"title": made.title, "text": made.text, "id": made.id} for made in people(12)]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_index([corpus], index)
    tiny.tokenizer().save_pretrained(model)
    command = ["synth", "search", corpus, "-r", f"bm25:{index}", "--tokenizer", model, "--guesses", 0.4, "-k", 2]

    def run(out: Path, *more: Any) -> Any:
        return CliRunner().invoke(cli, [*map(str, command), *map(str, more), "-o", str(out)])

    done = run(tmp_path / "out", "--demonstrations", 10, "--held-out", 6)
    assert done.exit_code == 0, done.output
    made = [json.loads(line) for line in (tmp_path / "out/demonstrations.jsonl").read_text().splitlines()]
    assert {row["searches"] for row in made} == {0, 2}
    assert len(read_problems(tmp_path / "out/held_out.jsonl", {})) == 6
    train = read_problems(tmp_path / "out/train.jsonl", {})
    assert len(train) == 8
    assert not {question.prompt for question in train} & {row["prompt"] for row in made}
    run(tmp_path / "again", "--demonstrations", 10, "--held-out", 6)
    for name in ("demonstrations", "held_out", "train"):
        assert (tmp_path / f"again/{name}.jsonl").read_bytes() == (tmp_path / f"out/{name}.jsonl").read_bytes()
    short = run(tmp_path / "short", "--demonstrations", 20, "--held-out", 20)
    assert isinstance(short.exception, UsageError)
    assert not (tmp_path / "short").exists()


def test_a_row_is_what_the_recipe_reads() -> None:
    [question, _] = two_hop_questions([FILM, MARTA])
    assert as_row(question) == {
        "prompt": BORN, "answer": "1921", "source": "born", "gold_titles": ["The Glass Harbour", "Marta Oyelaran"],
    }  # fmt: skip
