"""OpenEnv folders whose own code resets and steps in the sandbox, without the framework."""

import json

import pytest

from tests.env.audit.made_envs import add_line, change, openenv, put
from tests.env.audit.test_packages_run import kinds
from verikit.env.audit.running.box import BoxFile, BoxRun
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.mutated import check_mutants
from verikit.env.audit.running.packages.episodes import EpisodeRehearsal, check_episodes_replay, state_forms
from verikit.env.audit.running.packages.rehearsed import RESULT, check_range, check_replies
from verikit.env.audit.running.rehearsal import RehearsalLimits
from verikit.env.audit.running.run import RunningChecks
from verikit.env.audit.running.solved import check_nop
from verikit.env.audit.task import AuditedTask

pytest.importorskip("yaml")
CODE = "server/shop_environment.py"
GRADED = "1.0 if told == self._answer else 0.0"
TASK = "task = TASKS[(self._at if seed is None else seed) % len(TASKS)]"
SEVERAL = """class ShopAction(Action):
    message: str
    currency: str
    note: str = ""
"""
TWO = "class Two(ShopEnvironment):\n    reset = step = None\n\n\nprint("
HIDDEN = "_answer = property(lambda self: self._right(), lambda self, value: None)"
FORGED = (
    "import json, os\nrows = [{'prompt': '{}', 'seed': 0, 'resets': 1, 'values': [['a', '1']]}] * 4\n"
    "open('/logs/verifier/result.json', 'w').write(json.dumps({'word': '', 'result': rows}))\nos._exit(0)\n"
)
ODD = """
MANY, DEEP = list(range(10**6)), []
for _ in range(5000):
    DEEP = [DEEP]


class Odd:
    def __init__(self):
        self.me, self.many, self.deep = self, MANY, DEEP

    def __getattr__(self, name):
        raise RuntimeError(name)

"""


@pytest.fixture(scope="module")
def running():
    with RunningChecks(60.0) as checks:
        yield checks


@pytest.fixture
def shop(tmp_path):
    openenv(tmp_path, 1)
    return tmp_path


def rehearsed(running, folder):
    task = AuditedTask.open(str(folder), ())
    found = EpisodeRehearsal.of(task, "openenv", running._box, RehearsalLimits(60.0, 30.0))
    found.begin()
    return found


def replay_kinds(running, folder):
    return kinds(check_episodes_replay, rehearsed(running, folder))


@pytest.mark.slow(seconds=4)
def test_the_values_of_the_state_get_the_full_reward_and_undone_work_none(shop, running):
    sound = rehearsed(running, shop)
    assert (sound.needs, sound.solution_needs, sound.path) == ([], [], "_answer")
    assert kinds(check_replies, sound) == kinds(check_nop, sound) == kinds(check_range, sound) == set()
    assert [one.content.decode() for one in sound.right.values()] == [row["answer"] for row in sound.rows]
    assert len(sound.rows) == 3


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("graded", ["1.0 if told in ('', self._answer) else 0.0", "1.0 if len(told) > 3 else 0.0"])
def test_an_environment_that_pays_undone_work_is_found(shop, running, graded):
    change(shop, CODE, GRADED, graded)
    assert kinds(check_nop, rehearsed(running, shop)) == {"paid"}


@pytest.mark.slow(seconds=3)
def test_a_task_with_a_value_that_its_grader_never_accepts_is_found(shop, running):
    more = [{"question": f"What is {n} + {n}?", "answer": str(n + n)} for n in (1200, 2300, 3400)]
    change(shop, CODE, "class Shop", f"TASKS += {more}\n\n\nclass Shop")
    assert kinds(check_replies, rehearsed(running, shop)) == set()
    change(shop, CODE, 'self._answer = task["answer"]', 'self._answer = task["answer"] + " " * (task is TASKS[1])')
    assert kinds(check_replies, rehearsed(running, shop)) == {"unsolved"}


@pytest.mark.slow(seconds=3)
def test_a_task_whose_largest_reward_is_lower_is_no_task_without_a_right_reply(shop, running):
    more = [{"question": f"What is {n} + {n}?", "answer": str(n + n)} for n in (1200, 2300, 3400)]
    change(shop, CODE, "class Shop", f"TASKS += {more}\n\n\nclass Shop")
    change(shop, CODE, GRADED, "(0.5 if self._answer == '2400' else 1.0) * (told == self._answer)")
    assert kinds(check_replies, rehearsed(running, shop)) == set()


@pytest.mark.parametrize(("last", "unsolved"), [(0.0, [3]), (None, []), (0.5, [])])
def test_a_task_is_without_a_right_reply_only_if_each_form_was_tried(monkeypatch, last, unsolved):
    rehearsal = EpisodeRehearsal(None, None, None, RehearsalLimits())
    rehearsal.rows = [{"values": [["answer", str(n)]]} for n in range(4)]

    def rewards_of(forms):
        return [[0.0, *[float(at < 3)] * (len(one) - 2), last if at == 3 else 1.0] for at, one in enumerate(forms)]

    monkeypatch.setattr(rehearsal, "rewards_of", rewards_of)
    best = rehearsal._best_forms()
    assert rehearsal._unlike([at for at, one in enumerate(best) if one]) == unsolved


@pytest.mark.slow(seconds=3)
def test_a_string_of_a_branch_that_pays_is_found(shop, running):
    change(shop, CODE, "told == self._answer", 'told == self._answer or told == "open sesame"')
    assert kinds(check_mutants, rehearsed(running, shop)) == {"keyed"}


@pytest.mark.slow(seconds=6)
def test_a_seed_that_is_ignored_is_found(shop, running):
    change(shop, CODE, TASK, "import random\n        task = random.choice(TASKS)")
    assert replay_kinds(running, shop) == {"task"}


@pytest.mark.slow(seconds=9)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TASK, f"import random\n        {TASK.replace('TASKS[', 'random.Random(seed).sample(TASKS, 3)[')}"),
        ('question=task["question"], done', "question=f\"{__import__('uuid').uuid4()}: {task['question']}\", done"),
        ('question=task["question"], done', "question=f\"{__import__('time').time_ns()}: {task['question']}\", done"),
        ('question=task["question"], done', "question=__import__('uuid').uuid4().hex[:6] + task['question'], done"),
    ],
)
def test_a_task_that_the_seed_draws_and_identifiers_are_no_change(shop, running, old, new):
    change(shop, CODE, old, new)
    assert replay_kinds(running, shop) == set()


@pytest.mark.slow(seconds=3)
def test_a_duration_in_an_observation_is_no_other_task(shop, running):
    timed = "question=f\"{task['question']} ms={__import__('time').perf_counter() % 1:.6f}\", done"
    change(shop, CODE, 'question=task["question"], done', timed)
    assert replay_kinds(running, shop) == set()


@pytest.mark.slow(seconds=6)
def test_a_seed_that_is_ignored_is_found_in_the_last_observation(shop, running):
    change(shop, CODE, TASK, "import random\n        task = random.choice(TASKS)")
    change(shop, CODE, 'self._answer = task["answer"]', 'self._right = lambda: task["answer"]')
    change(shop, CODE, "    def step(", f"    {HIDDEN}\n\n    def step(")
    assert rehearsed(running, shop).path == "observation.correct_answer"
    assert replay_kinds(running, shop) == {"task"}


@pytest.mark.slow(seconds=6)
def test_an_environment_that_draws_its_task_and_takes_no_seed_can_be_graded(shop, running):
    change(shop, CODE, "def reset(self, seed=None):", "def reset(self):")
    change(shop, CODE, TASK, "import random\n        task = random.choice(TASKS)")
    rehearsal = rehearsed(running, shop)
    assert (rehearsal.needs, rehearsal.solution_needs, len(rehearsal.rows)) == ([], [], 3)
    assert kinds(check_episodes_replay, rehearsal) == set()


@pytest.mark.slow(seconds=6)
def test_a_reward_that_is_drawn_is_found_although_tasks_are_seeded(shop, running):
    change(shop, CODE, GRADED, "float(told == self._answer and __import__('random').random() < 0.5)")
    assert replay_kinds(running, shop) == {"reward"}


@pytest.mark.slow(seconds=4)
def test_an_action_of_several_fields_is_filled_from_the_state(shop, running):
    change(shop, "models.py", "class ShopAction(Action):\n    message: str\n", SEVERAL)
    change(shop, CODE, GRADED, "float(told == self._answer and action.currency == 'euro')")
    change(shop, CODE, 'self._answer = task["answer"]', 'self._answer = task["answer"]\n        self._set(task)')
    change(
        shop,
        CODE,
        "    @property\n",
        '    def _set(self, task):\n        self._task = {"expected_message": task["answer"], "currency": "euro"}\n\n'
        "    @property\n",
    )
    rehearsal = rehearsed(running, shop)
    assert rehearsal.path == "_task"
    first = json.loads(next(iter(rehearsal.right.values())).content)
    assert first == {"message": json.loads(rehearsal.rows[0]["answer"])["message"], "currency": "euro"}
    assert kinds(check_replies, rehearsal) == kinds(check_nop, rehearsal) == set()


@pytest.mark.slow(seconds=4)
def test_an_episode_of_several_steps_has_the_reward_of_its_last(shop, running):
    change(shop, CODE, "done=True, reward=reward", "done=self._at > 2 or reward > 0, reward=reward")
    change(shop, CODE, "        told = action", "        self._at += 1\n        told = action")
    rehearsal = rehearsed(running, shop)
    assert kinds(check_replies, rehearsal) == kinds(check_nop, rehearsal) == set()
    change(shop, CODE, "reward > 0, reward=reward", "reward > 0, reward=max(reward, 0.5 * (self._at > 2))")
    assert kinds(check_nop, rehearsed(running, shop)) == {"paid"}


@pytest.mark.slow(seconds=4)
def test_rewards_of_another_scale_are_compared_with_that_of_the_right_replies(shop, running):
    change(shop, CODE, GRADED, "10.0 if told == self._answer else -5.0 if told else 1.0")
    rehearsal = rehearsed(running, shop)
    assert rehearsal.full == 10
    assert kinds(check_replies, rehearsal) == kinds(check_nop, rehearsal) == kinds(check_range, rehearsal) == set()


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(
    ("path", "old", "new", "needs"),
    [
        (
            "models.py",
            "message: str\n",
            "message: str\n    way: bool\n",
            "a fixed choice of way may be right by chance",
        ),
        (CODE, "done=True", "done=False", "an episode that ends within 16 equal actions"),
        (CODE, GRADED, "0.0 if told else 30.0", "to know the full reward"),
        (CODE, "TASKS = ", "import notthere_x\nTASKS = ", "the Python package notthere_x"),
        (CODE, "TASKS = ", f"{FORGED}TASKS = ", "a grader that writes no file of this audit"),
        (CODE, "TASKS = ", "import os\nos._exit(3)\nTASKS = ", "its process ended with exit code 3"),
        (CODE, "task = TASKS", "raise NotImplementedError\n        task = TASKS", "a method that is implemented"),
        (CODE, "TASKS = ", "while True: pass\nTASKS = ", "--seconds"),
        (
            "server/app.py",
            "app = create_app(",
            TWO,
            "one class",
        ),
        (CODE, "reward=reward", "reward='all'", "a grader that runs here: ValidationError"),
        (CODE, TASK, "task = __import__('secrets').choice(TASKS)", "the same task each time for the same seed"),
    ],
)
def test_an_environment_that_cant_run_here_is_not_run_with_what_it_needs(shop, running, path, old, new, needs):
    change(shop, path, old, new)
    task = AuditedTask.open(str(shop), ())
    rehearsal = EpisodeRehearsal.of(task, "openenv", running._box, RehearsalLimits(10.0, 2.0))
    rehearsal.begin()
    found = RunFindings()
    check_nop(rehearsal, found)
    assert needs in " ".join([*rehearsal.needs, *rehearsal.solution_needs, *found.undecided])
    assert not found.findings


@pytest.mark.slow(seconds=4)
def test_a_state_without_end_is_read_in_part(shop, running):
    change(shop, CODE, "class ShopEnvironment", f"{ODD}\nclass ShopEnvironment")
    change(shop, CODE, '        self._answer = ""\n', '        self._answer = ""\n        self._odd = Odd()\n')
    rehearsal = rehearsed(running, shop)
    assert (rehearsal.needs, rehearsal.solution_needs, rehearsal.path) == ([], [], "_answer")


@pytest.mark.slow(seconds=3)
def test_a_server_without_uvicorn_and_with_the_older_name_is_imported(shop, running):
    change(shop, "server/app.py", "from openenv.core", "import uvicorn\nfrom openenv_core")
    change(shop, CODE, "from openenv.core.env_server.interfaces", "from openenv_core.env_server.interfaces")
    put(shop, "openenv.yaml", "spec_version: 1\nname: shop\n")
    add_line(shop, "server/app.py", "\n\n@app.get('/hello')\ndef hello():\n    return {}\n")
    assert rehearsed(running, shop).path == "_answer"


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize(
    "told",
    [
        "(told, reward, True, {})",
        "(told, reward, True, False, {})",
        "{'observation': told, 'reward': reward, 'done': True}",
    ],
)
def test_a_server_with_an_app_of_its_own_is_played_by_its_class(shop, running, told):
    change(shop, "server/app.py", "app = create_app(", "app = print(")
    change(shop, CODE, "(Environment)", "")
    change(shop, CODE, 'ShopObservation(question="", done=True, reward=reward, correct_answer=self._answer)', told)
    change(shop, CODE, "ShopObservation(question", "dict(question")
    rehearsal = rehearsed(running, shop)
    assert kinds(check_replies, rehearsal) == kinds(check_nop, rehearsal) == set()
    assert rehearsal.path == "_answer"


def test_a_result_without_a_reason_is_a_need_too():
    told = json.dumps({"word": "w", "result": {"broken": ""}}).encode()
    run = BoxRun("exit", files={RESULT: BoxFile(told)})
    assert EpisodeRehearsal(None, None, None, RehearsalLimits())._result(run, "w") == (None, "a grader that runs here")


def test_only_pairs_of_a_path_and_a_text_are_tried():
    hostile = {"values": [["a"], 3, ["b.answer", "7"], {"x": 1}, ["c", ["d"]]]}
    assert list(state_forms(hostile))[:2] == [("b.answer", "7"), ("c", "['d']")]
    assert list(state_forms({"values": {"a": "b"}})) == []
    assert len(list(state_forms({"values": [["answer", str(n)] for n in range(10**5)]}))) == 300
