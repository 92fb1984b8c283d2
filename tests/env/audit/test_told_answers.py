"""Static checks of formats: answers in pairs and columns, splits by names, judges behind servers, paths in specs."""

import json

import pytest

from tests.env.audit.made_envs import add_line, change, make, module, put
from verikit.env.audit import audit_tasks
from verikit.env.audit.formats.row_specs import spec_of_row

pytest.importorskip("yaml")
SERVER = "server/shop_environment.py"


def kinds(folder):
    (record,) = audit_tasks(folder)
    return {f"{check}.{one.kind}" for check, found in record.checks.items() for one in found.findings}


PAIRS = (
    "\n\nMORE = (\n    ('Which bridge of the town is the oldest?', 'the north bridge'),\n"
    "    ('Who built the mill at the weir?', 'Ines Roth'),\n    ('{}', '{}'),\n)\n"
)


@pytest.mark.parametrize(
    ("question", "answer", "found"),
    [
        ("Which bridge of the town is the oldest?", "the north bridge", {"alike.duplicate"}),
        ("Which bridge of the town is the oldest?", "another bridge", set()),
        ("Which bridge of the town is the longest?", "the north bridge", set()),
        ("After some thought, the answer is 1716", "1716", set()),  # no question: a table of something else
        ("Who led the choir? Answer: Ottilie Vandermeer-Quist", "Ottilie Vandermeer-Quist", {"reach.prompt"}),
    ],
)
def test_pairs_of_questions_and_answers_are_rows(tmp_path, question, answer, found):
    folder = make("verifiers", tmp_path, 0)
    add_line(folder, module(folder), PAIRS.format(question, answer))
    assert kinds(folder) == found


@pytest.mark.parametrize(("shown", "found"), [("1", {"reach.observation"}), ("2", set())])
def test_reset_shows_the_column_that_step_compares(tmp_path, shown, found):
    folder = make("openenv", tmp_path, 0)
    put(
        folder, SERVER,
        "from models import ShopAction, ShopObservation\n\n\nclass ShopEnvironment:\n"
        "    def reset(self, seed=None):\n"
        f"        return ShopObservation(question=ROWS[self.at][0], hint=ROWS[self.at][{shown}])\n\n"
        "    def step(self, action):\n"
        "        right = action.message.strip() == ROWS[self.at][1].strip()\n"
        "        return ShopObservation(question='', reward=1.0 if right else 0.0)\n",
    )  # fmt: skip
    assert {one for one in kinds(folder) if one.startswith("reach")} == found


@pytest.mark.parametrize(
    "test",
    [
        "message in self.row['options']",
        "message == self.row['options'][self.row['right']]",
        "message != self.row['options']",
    ],
)
def test_options_that_the_agent_sees_are_no_answer(tmp_path, test):
    folder = make("openenv", tmp_path, 0)
    put(
        folder, SERVER,
        "from models import ShopAction, ShopObservation\n\n\nclass ShopEnvironment:\n"
        "    def reset(self, seed=None):\n"
        "        return ShopObservation(question=self.row['text'], hint=self.row['options'])\n\n"
        "    def step(self, action):\n"
        f"        return ShopObservation(question='', reward=1.0 if action.{test} else 0.0)\n",
    )  # fmt: skip
    assert not {one for one in kinds(folder) if one.startswith("reach")}


def test_files_of_a_server_are_splits_by_their_names(tmp_path):
    folder = make("nemo-gym", tmp_path, 0)
    row = {"responses_create_params": {"input": "Name the river of the old tannery."}, "expected_answer": "Elverwater"}
    for name in ("train", "validation"):
        put(folder, f"data/{name}.jsonl", json.dumps(row) + "\n")
    assert kinds(folder) == {"alike.leak"}
    (folder / "data" / "validation.jsonl").rename(folder / "data" / "example_validation.jsonl")
    assert kinds(folder) == set()


@pytest.mark.parametrize(("model", "found"), [("gpt-4.1", {"judge.model"}), ("gpt-4.1-2025-04-14", set())])
def test_the_model_of_a_judge_s_server_is_checked(tmp_path, model, found):
    folder = make("nemo-gym", tmp_path, 0)
    put(
        folder, "configs/judged.yaml",
        "a:\n  resources_servers:\n    a:\n      entrypoint: app.py\n      judge_model_server:\n        name: referee\n"
        "referee:\n  responses_api_models:\n    openai_model:\n      entrypoint: app.py\n"
        f"      openai_model: {model}\n",
    )  # fmt: skip
    assert kinds(folder) == found


def test_a_class_of_an_older_environment_does_not_replace_the_loader(tmp_path):
    folder = make("verifiers", tmp_path, 0)
    add_line(folder, module(folder), "\n\nclass Game(vf.MultiTurnEnv):\n    pass\n")
    change(folder, module(folder), "def load_environment", "def load_env")
    assert "schema.missing" in kinds(folder)
    change(folder, module(folder), "vf.MultiTurnEnv", "vf.Env")
    assert "schema.missing" not in kinds(folder)


@pytest.mark.parametrize(
    ("spec", "loads"),
    [
        ("files(exist=['conf.json'])", True),
        ("files(content={'conf.json': 'json_match'})", True),
        ("files(content={'conf.txt': 'grader.json'})", False),
        ("grader.json", False),
    ],
)
def test_a_path_of_json_in_a_row_s_checks_is_no_file_of_a_grader(spec, loads):
    assert (spec_of_row({"checks": spec}).verifier is not None) is loads


def test_a_sum_that_the_prompt_calls_right_is_announced(tmp_path):
    rows = [
        {"prompt": f"Add the lines. The right total is {gold}.", "answer": str(gold), "workspace": {"before": {}}}
        for gold in (80393, 95456)
    ]
    put(tmp_path, "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert "reach.prompt" in kinds(tmp_path)
