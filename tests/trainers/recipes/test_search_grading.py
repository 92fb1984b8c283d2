"""`verikit synth difficulty`, and the addresses that shipped configs name, asked of verikit's own server."""

import json
import re
from collections import Counter
from urllib.parse import urlsplit

import pytest

for needed in ("torch", "transformers", "numpy", "bm25s", "starlette", "uvicorn"):
    pytest.importorskip(needed)

from click.testing import CliRunner  # noqa: E402

from tests.engines.server import Server, chat_reply  # noqa: E402
from tests.retrieval.worlds import write_corpus  # noqa: E402
from tests.trainers.recipes.test_r1_retrieval import served  # noqa: E402, F401
from verikit.cli import cli  # noqa: E402
from verikit.retrieval import build_index, load_retriever  # noqa: E402
from verikit.trainers.config import load_config, shipped  # noqa: E402
from verikit.trainers.recipe import Setting  # noqa: E402
from verikit.trainers.recipes.r1_searcher.recipe import R1Searcher  # noqa: E402

FIRST_RIGHT = {1: "easy", 9: "easy", 10: "medium", 20: "medium", 21: "hard"}


@pytest.fixture
def index(tmp_path):
    write_corpus(tmp_path / "corpus.jsonl", count=60)
    build_index([tmp_path / "corpus.jsonl"], tmp_path / "index")
    return f"bm25:{tmp_path / 'index'}"


@pytest.mark.parametrize("name", [name for name in shipped() if re.match(r"r1-searcher-(paper|repo)", name)])
def test_a_shipped_config_s_address_is_answered_by_verikit_s_own_server(index, served, name):  # noqa: F811
    server = served(load_retriever(index))
    named = urlsplit(load_config(name).options["retriever"])
    running = urlsplit(server.url)
    assert (named.scheme, named.hostname, named.port) == ("http", "127.0.0.1", 5004)
    (found,) = load_retriever(named._replace(netloc=running.netloc).geturl()).retrieve(["w1 w2"], 3)
    assert len(found) == 3


@pytest.fixture
def model():
    """A model that searches, and whose n-th rollout is the first right one where a question says so."""
    asked = Counter()

    def answer(body, k):
        text = json.dumps(body["messages"])
        number = int(re.search(r"right at (\d+)", text)[1])
        if "end_of_documents" not in body["messages"][-1]["content"].split("right at")[-1]:
            return chat_reply("<think> I look it up. <|begin_of_query|> w1 w2", stop_reason="<|end_of_query|>")
        asked[number] += 1
        said = "Royals" if asked[number] == number else "Nobody"
        return chat_reply(f"So it is. </think><answer>{said}</answer>")

    with Server(answer, models=[{"id": "m", "owned_by": "vllm"}]) as server:
        yield server, asked


def graded_rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def grade(*words):
    return CliRunner().invoke(cli, ["synth", "difficulty", *map(str, words), "-q"])


def test_questions_are_graded_by_command_and_read_by_the_recipe_s_mix(tmp_path, index, model):
    server, asked = model
    questions = [
        {"id": f"q{n}", "question": f"Who? right at {n}", "answer": ["Royals", "The Royals"], "level": "x"}
        for n in FIRST_RIGHT
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    out = tmp_path / "graded.jsonl"
    words = [tmp_path / "questions.jsonl", "-e", f"openai:{server.url}#m", "-r", index, "-o", out]
    words += ["--map", "prompt=question", "--source", "hotpotqa"]
    done = grade(*words)
    assert done.exit_code == 0, done.output
    rows = graded_rows(out)
    assert [(row["rollouts"], row["difficulty"]) for row in rows] == [
        (n if n <= 20 else 0, level) for n, level in FIRST_RIGHT.items()
    ]
    assert {(row["source"], row["level"]) for row in rows} == {("hotpotqa", "x")}
    assert asked == {1: 1, 9: 9, 10: 10, 20: 20, 21: 20}
    options = R1Searcher.Options(data="graded.jsonl", retriever=index, mix={"hotpotqa/medium": 2, "hotpotqa/hard": 1})
    recipe = R1Searcher(options, Setting(None, 0, tmp_path))
    assert {question.id for question in recipe.stages[1]} == {"q10", "q20", "q21"}


def test_grading_goes_on_where_it_stopped_and_takes_a_second_file(tmp_path, index, model):
    server, asked = model
    questions = [{"id": f"q{n}", "prompt": f"Who? right at {n}", "answer": "Royals"} for n in (1, 2, 3)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    out = tmp_path / "graded.jsonl"
    words = [tmp_path / "questions.jsonl", "-e", f"openai:{server.url}#m", "-r", index, "-o", out]
    assert grade(*words, "--limit", 2).exit_code == 0
    with open(out, "a") as file:
        file.write('{"id": "q3", "pro')
    assert grade(*words).exit_code == 0
    assert [row["rollouts"] for row in graded_rows(out)] == [1, 2, 3]
    assert asked == {1: 1, 2: 2, 3: 3}
    # A second file whose questions have the same ids joins the first.
    (tmp_path / "questions.jsonl").write_text(json.dumps(questions[0] | {"prompt": "Where? right at 4"}) + "\n")
    assert grade(*words).exit_code == 0
    assert [row["rollouts"] for row in graded_rows(out)] == [1, 2, 3, 4]
    with open(out, "a") as file:
        file.write('{"id": "q3", "prompt": "?"}\n')
    assert "not from `verikit synth" in str(grade(*words).exception)


def test_a_retriever_that_fails_makes_no_question_hard(tmp_path, index, model, served):  # noqa: F811
    (tmp_path / "questions.jsonl").write_text('{"prompt": "Who? right at 1", "answer": "Royals"}\n')
    words = [tmp_path / "questions.jsonl", "-o", tmp_path / "graded.jsonl"]
    wrong = served(load_retriever(index)).url.replace("/queries", "/search")
    failed = grade(*words, "-e", f"openai:{model[0].url}#m", "-r", wrong)
    assert "404" in str(failed.exception)
    assert not (tmp_path / "graded.jsonl").exists()


@pytest.mark.parametrize("text", ['{"id": "q1", "prompt": "Who?", "answer": "I"}', "[1, 2]", "notes"])
def test_a_file_of_something_else_is_not_cut_even_without_a_last_newline(text, tmp_path):
    questions, out = tmp_path / "questions.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"id": "q1", "prompt": "Who?", "answer": "I"}\n')
    out.write_text(text)
    words = [questions, "-e", "openai:http://127.0.0.1:9/v1#m", "-r", "bm25:absent", "-o"]
    assert "out.jsonl:1: this row is not from" in str(grade(*words, out).exception)
    assert out.read_text() == text
    assert "can't write" in str(grade(*words, tmp_path).exception)


def test_a_question_without_an_answer_is_refused_and_not_called_hard(tmp_path):
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"id": "q1", "prompt": "Who?", "answer": "I"}\n{"id": "q2", "prompt": "Who?"}\n')
    words = [questions, "-e", "openai:http://127.0.0.1:9/v1#m", "-r", "bm25:absent", "-o", tmp_path / "out.jsonl"]
    error = grade(*words).exception
    assert "'q2' has no answer" in str(error)
    assert error.field == "answer"
