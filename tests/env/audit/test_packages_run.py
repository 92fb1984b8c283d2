"""Verifiers packages and NeMo-Gym servers whose own code grades replies in the sandbox, without their frameworks."""

import json
import os

import pytest

from tests.env.audit.made_envs import change, put
from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.packages.rehearsed import PackageRehearsal, check_range, check_replies
from verikit.env.audit.running.rehearsal import RehearsalLimits
from verikit.env.audit.running.run import RunningChecks
from verikit.env.audit.running.solved import check_nop
from verikit.env.audit.task import AuditedTask

pytest.importorskip("yaml")
PACKAGE = """import verifiers as vf
from datasets import Dataset

ROWS = [{"question": f"What is 12 times {n}?", "answer": str(12 * n)} for n in range(3, 8)]


def load_environment():
    parser = vf.XMLParser(["think", "answer"], answer_field="answer")

    def right(completion, answer, **more):
        return 1.0 if parser.parse_answer(completion) == answer else 0.0

    rubric = vf.Rubric(funcs=[right, parser.get_format_reward_func()], weights=[1.0, 0.2], parser=parser)
    return vf.SingleTurnEnv(dataset=Dataset.from_list(ROWS), parser=parser, rubric=rubric)
"""
SERVER = """from nemo_gym.base_resources_server import BaseResourcesServerConfig, BaseVerifyRequest, BaseVerifyResponse
from nemo_gym.base_resources_server import SimpleResourcesServer


class WordRequest(BaseVerifyRequest):
    expected_answer: str


class WordServer(SimpleResourcesServer):
    config: BaseResourcesServerConfig

    async def verify(self, body: WordRequest) -> BaseVerifyResponse:
        text = body.response.output[-1].content[0].text
        return BaseVerifyResponse(**body.model_dump(), reward=float(text.strip() == body.expected_answer))
"""
FORGED = (
    "import json, os\nrows = [{'prompt': 'What?', 'answer': '12345'}] * 4\n"
    "open('/logs/verifier/result.json', 'w').write(json.dumps({'word': '', 'result': rows}))\nos._exit(0)\n"
)
CONFIG = "words:\n  resources_servers:\n    words:\n      entrypoint: app.py\n      domain: other\n"


def package(folder):
    put(folder, "pyproject.toml", '[project]\nname = "twelves"\nversion = "1"\ndependencies = ["verifiers==0.1.9"]\n')
    put(folder, "twelves.py", PACKAGE)
    return folder


def server(folder):
    put(folder, "words/app.py", SERVER)
    put(folder, "words/configs/words.yaml", CONFIG)
    rows = [{"responses_create_params": {"input": f"Spell {word}."}, "expected_answer": word} for word in ("ox", "elk")]
    put(folder, "words/data/example.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return folder / "words"


MADE = {"verifiers": package, "nemo-gym": server}


@pytest.fixture(scope="module")
def running():
    with RunningChecks(60.0) as checks:
        yield checks


def rehearsed(running, folder, form):
    found = PackageRehearsal.of(AuditedTask.open(str(folder), ()), form, running._box, RehearsalLimits(60.0, 30.0))
    found.begin()
    return found


def kinds(look, rehearsal):
    found = RunFindings()
    look(rehearsal, found)
    return {one.kind for one in found.findings}


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("form", MADE)
def test_the_expected_values_get_the_full_reward_and_undone_work_none(tmp_path, running, form):
    sound = rehearsed(running, MADE[form](tmp_path), form)
    assert (sound.needs, sound.solution_needs) == ([], [])
    assert kinds(check_replies, sound) == kinds(check_nop, sound) == set()


@pytest.mark.slow(seconds=3)
def test_a_grader_that_pays_for_an_empty_reply_is_found(tmp_path, running):
    folder = package(tmp_path)
    change(folder, "twelves.py", "== answer else", "in ('', None, answer) else")
    assert kinds(check_nop, rehearsed(running, folder, "verifiers")) == {"paid"}


@pytest.mark.slow(seconds=3)
def test_a_row_with_a_wrong_expected_value_is_found_among_right_ones(tmp_path, running):
    folder = package(tmp_path)
    change(folder, "twelves.py", "range(3, 8)]", "range(3, 8)] + [{'question': 'Say x.', 'answer': ' x '}]")
    assert kinds(check_replies, rehearsed(running, folder, "verifiers")) == {"unsolved"}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    ("old", "new", "needs"),
    [
        ("import verifiers as vf\n", "import verifiers as vf\nimport notthere_x\n", "the Python package notthere_x"),
        ("vf.SingleTurnEnv(", "vf.ToolEnv(", "verifiers, for ToolEnv"),
        ("rubric=rubric)", "rubric=type('Own', (vf.Rubric,), {})(funcs=[right]))", "a rubric of functions, not Own"),
        ("weights=[1.0, 0.2]", "weights=[0.0, 0.0]", "a function with a weight above 0"),
        ("ROWS = [", f"{FORGED}ROWS = [", "a grader that writes no file of this audit"),
        ("ROWS = [", "import os\nos._exit(3)\nROWS = [", "its process ended with exit code 3"),
        ("    parser = vf", "    import random\n    random.shuffle(ROWS)\n    parser = vf", "the same rows each time"),
    ],
)
def test_an_environment_that_cant_run_here_is_not_run_with_what_it_needs(tmp_path, running, old, new, needs):
    folder = package(tmp_path)
    change(folder, "twelves.py", old, new)
    rehearsal = rehearsed(running, folder, "verifiers")
    assert needs in " ".join([*rehearsal.needs, *rehearsal.solution_needs])
    assert kinds(check_nop, rehearsal) == set()


@pytest.mark.slow(seconds=4)
def test_an_option_of_the_prompt_that_is_right_for_one_row_is_not_undone_work(tmp_path, running):
    folder = package(tmp_path)
    change(folder, "twelves.py", "times {n}?", "times {n}? It is 36, 48, 60, 72 or 84.")
    change(
        folder, "twelves.py", "parser.parse_answer(completion) == answer", "completion.split()[-1].strip('.') == answer"
    )
    change(folder, "twelves.py", "[1.0, 0.2]", "[1.0, 0.0]")
    assert kinds(check_nop, rehearsed(running, folder, "verifiers")) == set()


@pytest.mark.slow(seconds=4)
def test_a_reward_for_the_form_that_the_prompt_shows_is_not_undone_work(tmp_path, running):
    folder = package(tmp_path)
    change(folder, "twelves.py", "weights=[1.0, 0.2]", "weights=[1.0, 0.5]")
    change(folder, "twelves.py", "times {n}?", "times {n}? Reply <think>\\nwhy\\n</think>\\n<answer>\\nit\\n</answer>")
    assert kinds(check_nop, rehearsed(running, folder, "verifiers")) == set()


@pytest.mark.slow(seconds=4)
def test_a_reward_below_0_is_a_note_for_verifiers(tmp_path, running):
    folder = package(tmp_path)
    change(folder, "twelves.py", "1.0 if parser.parse_answer(completion) == answer else 0.0", "-1.0")
    change(folder, "twelves.py", "-1.0", "1.0 if parser.parse_answer(completion) == answer else -1.0")
    found = RunFindings()
    check_range(rehearsed(running, folder, "verifiers"), found)
    assert not found.findings
    assert "rewards below 0 count as 0" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("size", "count", "needs"), [(3 << 20, 1, "files of at most 2 MiB"), (2 << 20, 9, "at most 1480 files and 16 MiB")]
)
def test_large_files_are_not_run_and_not_cut(tmp_path, size, count, needs):
    folder = package(tmp_path)
    for number in range(count):
        (folder / f"data{number}.bin").touch()
        os.truncate(folder / f"data{number}.bin", size)
    task = AuditedTask.open(str(folder), ())
    assert PackageRehearsal.of(task, "verifiers", None, RehearsalLimits()).needs == [needs]


@pytest.mark.parametrize(
    ("change_it", "needs"),
    [
        (lambda f: f.rename(f.parent / "two-words"), "a folder that Python can import, not two-words"),
        (lambda f: change(f, "configs/words.yaml", "app.py", "main.py"), "the entry point app.py, not main.py"),
        (lambda f: (f / "data" / "example.jsonl").unlink(), "rows in data/example.jsonl"),
    ],
)
def test_a_server_that_cant_be_graded_is_not_run_with_the_one_reason(tmp_path, change_it, needs):
    folder = server(tmp_path)
    folder = change_it(folder) or folder
    task = AuditedTask.open(str(folder if folder.exists() else tmp_path / "two-words"), ())
    assert PackageRehearsal.of(task, "nemo-gym", None, RehearsalLimits()).needs == [needs]


@pytest.mark.slow(seconds=3)
def test_code_of_a_reply_cant_write_the_reward(tmp_path, running):
    folder = package(tmp_path)
    grade = "__import__('subprocess').run(['bash', '-c', completion[-1]['content']]) and None"
    change(folder, "twelves.py", "parser.parse_answer(completion) == answer", f"({grade}) == answer")
    rehearsal = rehearsed(running, folder, "verifiers")
    reply = b"echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json"
    files = {path: BoxFile(reply) for path in rehearsal.declared()}
    assert rehearsal.grade(files, name="forged").value == 0.0
