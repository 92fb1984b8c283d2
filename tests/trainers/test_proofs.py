"""The proofs' problems, labels, tables and curves; the training itself is too long for a test."""

import importlib
import json
import re
import sys
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from verikit import load

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/train"


def imported(name: str, folder: Path) -> Any:
    """A script as a module."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


page = imported("proofs_page", ROOT / "benchmarks")


@pytest.fixture(scope="module")
def word_sums() -> Any:
    return imported("word_sums", EXAMPLES)


@pytest.fixture(scope="module")
def proofs() -> Any:
    pytest.importorskip("bm25s")
    return imported("proofs", ROOT / "benchmarks")


def computed(prompt: str) -> int | None:
    """What a question asks for, by its words alone."""
    total: int | None = None
    for before, number, after in re.findall(r"(\w+) (\d+)(?= (\w+)|)", prompt):
        change = int(number)
        if total is None:
            total = change
        else:
            total += -change if before == "minus" or after == "away" else change
    return total


def test_each_answer_is_what_its_question_says_and_no_question_comes_twice(word_sums: Any) -> None:
    rows = list(islice(word_sums.problems(3), 400))
    assert [int(row["answer"]) for row in rows] == [computed(row["prompt"]) for row in rows]
    assert len({row["prompt"] for row in rows}) == len(rows)
    assert {row["steps"] for row in rows} == {1, 2}
    assert min(int(row["answer"]) for row in rows) >= 1


def test_a_working_is_right_and_one_with_another_result_is_not(word_sums: Any) -> None:
    verifier = load("answer")
    for row in islice(word_sums.problems(4), 60):
        lines = row["working"].split("\n")
        assert len(lines) == row["steps"]
        assert all(eval(left) == int(right) for left, right in (line.split(" = ") for line in lines))
        assert verifier(row["working"], row["answer"]).value == 1
        wrong = lines[-1].rpartition(" ")[0] + f" {int(row['answer']) + 1}"
        assert verifier("\n".join([*lines[:-1], wrong]), row["answer"]).value == 0


def test_no_held_out_sum_is_learnt_and_demonstrations_are_conversations(word_sums: Any, tmp_path: Path) -> None:
    word_sums.write(tmp_path, train=300, held_out=100, demonstrations=40)
    read = {file.stem: [json.loads(line) for line in file.read_text().splitlines()] for file in tmp_path.iterdir()}
    assert {name: len(rows) for name, rows in read.items()} == {"train": 300, "held_out": 100, "demonstrations": 40}
    learnt = {row["working"] for row in read["train"]}
    learnt |= {row["messages"][2]["content"] for row in read["demonstrations"]}
    assert not learnt & {row["working"] for row in read["held_out"]}
    system = tomllib.loads((EXAMPLES / "word_sums.toml").read_text())["options"]["system"]
    assert [turn["role"] for turn in read["demonstrations"][0]["messages"]] == ["system", "user", "assistant"]
    assert read["demonstrations"][0]["messages"][0]["content"] == system


def test_the_form_alone_is_paid_whatever_the_numbers_and_answers_only_in_the_form(proofs: Any) -> None:
    right = load(tomllib.loads((EXAMPLES / "word_sums.toml").read_text())["options"]["reward"])
    form = load(proofs.ARMS["form"]["options.reward"])
    for text, formed, paid in (
        ("3 + 4 = 7", 1, 1), ("9 - 4 = 2", 1, 0), ("it is 7", 0, 0), ("3 + 4", 0, 0), ("3 + 5 = 7", 1, 0),
        ("1 + 2 = 3\n3 + 4 = 7", 1, 1),
    ):  # fmt: skip
        assert form(text, "7").value == formed, text
        assert right(text, "7").value == paid, text


def test_replies_are_labelled_right_or_wrong_in_equal_numbers_and_none_twice(proofs: Any) -> None:
    row = {"prompt": "q", "answer": "9"}
    texts = ["2 + 3 + 4 = 9", "2 + 3 + 4 = 8", "2 + 3 = 5", "2 + 3 = 5", "5 + 4 = 9"]
    rows = proofs.step_rows([row | {"replies": texts}], 10, 0)
    assert {made["steps"][0]: made["labels"] for made in rows} == {text: [int(text.endswith("= 9"))] for text in texts}
    assert len(rows) == 4
    for count, labels in ((2, [0, 1]), (3, [0, 0, 1])):
        assert sorted(made["labels"][0] for made in proofs.step_rows([row | {"replies": texts}], count, 0)) == labels


KEYS = ("last number", "last number, 1", "last number, 2", "answer", "form")
FOUND = {
    "start": {"before": dict.fromkeys(KEYS, 0.1)},
    "grpo-answer-0": {"held_out": dict.fromkeys(KEYS, 0.5)},
    "grpo-answer-1": {"held_out": dict.fromkeys(KEYS, 0.7)},
}


def test_a_table_has_the_mean_and_the_range_of_the_seeds() -> None:
    found = FOUND | {"start": {**FOUND["start"], "held_out": FOUND["start"]["before"]}}
    table = page.tables(found)["grpo"]
    assert "| GRPO, right answers, 2 seeds | 60.0 [50.0, 70.0] |" in table
    assert "| the model as it comes | 10.0 | 10.0 |" in table
    assert "LoRA" not in table
    table = page.tables(found | {"grpo-form-1": {"held_out": dict.fromkeys(KEYS, 0.4)}})["grpo"]
    assert "Right answers above the form alone: +30.0 [+30.0, +30.0] points." in table  # seed 1, which both have


def test_only_what_stands_between_the_marks_is_written_anew() -> None:
    text = "before\n<!-- measured best -->\nold\n<!-- end -->\nafter\n"
    assert page.replaced(text, "best", "new\n") == "before\n<!-- measured best -->\n\nnew\n\n<!-- end -->\nafter\n"
    assert page.replaced(text, "grpo", "new\n") == text


def test_curves_are_xml_with_a_line_for_each_arm_within_the_frame() -> None:
    curves = {arm: [[{"right": step / 10} for step in range(10)]] * 2 for arm in ("answer", "form")}
    drawn = ElementTree.fromstring(page.svg(curves))
    lines = [node for node in drawn if node.tag.endswith("polyline")]
    assert len(lines) == 2
    points = [tuple(map(float, point.split(","))) for point in lines[0].attrib["points"].split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert all(page.LEFT <= x <= page.WIDTH and page.TOP <= y <= page.HEIGHT for x, y in points)
    assert points[-1][1] < points[0][1]


def searched(em: float, searches: float) -> dict[str, Any]:
    return {"held_out": {"em": em, "f1": em, "searches": searches, "searched": searches / 2}}


def test_a_seed_rose_where_right_answers_and_searches_are_both_above_the_start() -> None:
    found = {"search-start": searched(0.1, 1.0), "search-0": searched(0.5, 2.0), "search-1": searched(0.3, 1.0)}
    table = page.tables(found)["search"]
    assert "| the cold start | 10.0 | 10.0 | 1.00 | 50.0 |" in table
    assert "| R1-Searcher, 2 seeds | 40.0 [30.0, 50.0] | 40.0 [30.0, 50.0] | 1.50 [1.00, 2.00] |" in table
    assert "rose in 1 of 2" in table
    assert "search" not in page.tables({"search-start": searched(0.1, 1.0)})
