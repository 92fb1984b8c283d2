"""Planted faults and near misses of the environments in `made_envs`, by format and name."""

from __future__ import annotations

from pathlib import Path

from tests.env.audit.made_envs import GYM_JUDGE, Change, add_line, change, copy_row, data, edit_row, module, put

SERVER = "server/shop_environment.py"
CONFIG = "configs/shop.yaml"
JUDGE = '''

def grade(client, question, reply):
    """Whether a judge finds the reply right."""
    verdict = client.chat.completions.create({settings}messages=[{{"role": "user", "content": reply}}])
    return "yes" in verdict.choices[0].message.content
'''


def judge(path: str | None, settings: str) -> Change:
    """Add a call of a judge to the grader."""

    def plant(folder: Path) -> None:
        add_line(folder, path or module(folder), JUDGE.format(settings=settings))

    return plant


def edit(path: str | None, old: str, new: str) -> Change:
    """Replace a text of a file; None: of the package's module."""
    return lambda folder: change(folder, path or module(folder), old, new)


def reward(new: str) -> Change:
    """Another way to find the answer in a verifiers package."""
    return edit(None, 're.findall(r"\\d+", completion[-1]["content"])', new)


def of_row(name: str, number: int, text: str) -> Change:
    """Append to the prompt of a row; `{gold}` is its answer."""

    def apply(row: dict) -> None:
        gold = row.get("answer") or row.get("expected_answer")
        if "responses_create_params" in row:
            row["responses_create_params"]["input"][0]["content"] += text.format(gold=gold)
        else:
            key = "question" if "question" in row else "prompt"
            row[key] += text.format(gold=gold)

    return lambda folder: edit_row(folder, data(folder, name), number, apply)


def of_rows(name: str, text: str, numbers: range) -> Change:
    """The same for several rows."""

    def plant(folder: Path) -> None:
        for number in numbers:
            of_row(name, number, text)(folder)

    return plant


def copied(source: str, target: str) -> Change:
    """Copy the first row of one file to another."""
    return lambda folder: copy_row(folder, data(folder, source), data(folder, target))


def workspace(number: int, **values: object) -> Change:
    """Change the workspace of a row."""
    return lambda folder: edit_row(folder, "train.jsonl", number, lambda row: row["workspace"].update(values))


def fields(number: int, **values: object) -> Change:
    """Change a row."""
    return lambda folder: edit_row(folder, "train.jsonl", number, lambda row: row.update(values))


def judge_config(settings: str) -> Change:
    """Other settings of the judge in a configuration of NeMo-Gym."""

    def apply(folder: Path) -> None:
        text = (folder / CONFIG).read_text().replace(GYM_JUDGE, "")
        put(folder, CONFIG, text.replace("      domain", settings + "      domain"))

    return apply


def rollouts(folder: Path) -> None:
    """The first task again, each time with other work of an agent."""
    for number in range(2):
        copied("train.jsonl", "train.jsonl")(folder)
        workspace(0, after={"total.txt": str(number)})(folder)


def rare_answer(row: dict) -> None:
    """A long answer that the prompt announces."""
    row["answer"] = "quartz-7742-lantern"
    row["question"] += " Answer: quartz-7742-lantern"


LEAK = " The correct answer is {gold}."
STEP = "told = action.message.strip()"
TEXT = "text = body.response.output_text"
GPT = 'model="gpt-4o-2024-08-06", temperature=0, '

PLAY = '{"responses_create_params": {"input": "Play."}%s}\n'
INCLUDE = '\n[tool.hatch.build]\ninclude = ["{}"]\n'
POLICY = "      judge_model_server: {type: responses_api_models, name: policy_model}\n"
CHANCE = "      judge_responses_create_params: {input: []}\n"
HELPER = '''

def _run(program):
    """The text that a program prints."""
    names = {}
    exec(program, names)
    return [str(names.get("result"))]
'''
BUILT = '''

def build(rows):
    """The rows of a data set."""
    return [{"question": f"{row['text']} ({row['answer']})", "answer": row["answer"]} for row in rows]
'''
NEAR_BUILT = '''

def build(rows):
    """Words to be turned round, and questions with a system prompt."""
    words = [{"question": f"Reverse {row['word']}", "answer": row["word"][::-1]} for row in rows]
    return words + [{"question": f"{SYSTEM} {row['text']}", "answer": row["answer"]} for row in rows]


def ask(judge, row, completion):
    """A judge may see the answer."""
    return judge(prompt=f"Is {completion} the same as {row['answer']}?", answer=row["answer"])
'''
CHILD = '''

def run_apart(completion):
    """Run a program of the model in a process of its own."""
    return subprocess.run([sys.executable, "-c", completion], capture_output=True, timeout=5)
'''


def given(name: str, text: str):
    """Give the agent a file with the answer of a row."""

    def apply(row: dict) -> None:
        row["workspace"]["before"] = {"sales.csv": "day,sold\n1,2\n", name: text.format(row["answer"]) + "\n"}

    return apply


def named_file(row: dict) -> None:
    """A file of answers that the prompt asks to use."""
    row["prompt"] += " Check answers.txt, which has an answer for each day."
    row["workspace"]["before"] = {"answers.txt": row["answer"] + "\n"}


FAULTS: dict[str, dict[str, tuple[str, Change]]] = {
    "openenv": {
        "unknown field": ("schema.unknown", edit("openenv.yaml", "runtime:", "runtme:")),
        "wrong port": ("schema.wrong", edit("openenv.yaml", "port: 8000", "port: eight")),
        "no module": ("schema.missing", edit("openenv.yaml", "server.app:app", "server.main:app")),
        "no object": ("schema.missing", edit("server/app.py", "app = create_app", "application = create_app")),
        "copy from outside": ("schema.outside", edit("server/Dockerfile", "COPY . ", "COPY ../tests ")),
        "copy of nothing": ("schema.missing", edit("server/Dockerfile", "COPY . ", "COPY weights.bin ")),
        "base image": ("pins.image", edit("server/Dockerfile", "@sha256:", "#")),
        "dependency": ("pins.package", edit("pyproject.toml", "openenv-core==0.2.2", "openenv-core>=0.2.2")),
        "data": ("pins.data", lambda f: add_line(f, SERVER, '\n\ndef more():\n    return load_dataset("a/b")\n')),
        "answer shown": ("reach.observation", edit(SERVER, "done=False", "correct_answer=self._answer, done=False")),
        "answer in metadata": ("reach.observation", edit(SERVER, "done=False", 'metadata={"answer": self._answer}')),
        "eval of the action": ("mode.evaluates", edit(SERVER, STEP, "told = str(eval(action.message))")),
        "shell": (
            "mode.evaluates",
            edit(SERVER, STEP, "told = subprocess.run(action.message, shell=True, text=True).stdout"),
        ),
        "claimed": ("mode.claimed", edit(SERVER, "1.0 if told == self._answer else 0.0", "action.reward")),
        "judge's name": ("judge.model", judge(SERVER, 'model="gpt-4o", temperature=0, ')),
        "judge's chance": ("judge.sampling", judge(SERVER, 'model="gpt-4o-2024-08-06", temperature=0.7, ')),
    },
    "verifiers": {
        "no loader": ("schema.missing", edit(None, "def load_environment", "def load_env")),
        "other module": ("schema.missing", edit("pyproject.toml", 'name = "shop', 'name = "store')),
        "no version": ("schema.missing", edit("pyproject.toml", 'version = "0.1.0"\n', "")),
        "no Python": ("schema.wrong", edit(None, "import json", "import json json")),
        "included": ("schema.missing", lambda f: add_line(f, "pyproject.toml", INCLUDE.format("nothing.py"))),
        "outside": ("schema.outside", lambda f: add_line(f, "pyproject.toml", INCLUDE.format("../shared"))),
        "dependency": ("pins.package", edit("pyproject.toml", "verifiers==0.1.9", "verifiers")),
        "data": (
            "pins.data",
            edit(None, "    def correct", '    more = load_dataset("made/shop", split=split)\n\n    def correct'),
        ),
        "prompt": ("reach.prompt", lambda f: edit_row(f, data(f, "train.jsonl"), 1, rare_answer)),
        "short values": ("reach.prompt", of_rows("train.jsonl", LEAK, range(3))),
        "comment": ("reach.prompt", of_row("train.jsonl", 1, " <!-- {gold} -->")),
        "built prompt": ("reach.prompt", lambda f: add_line(f, module(f), BUILT)),
        "eval": ("mode.evaluates", reward('[str(eval(completion[-1]["content"]))]')),
        "exec by a helper": (
            "mode.evaluates",
            lambda f: (reward('_run(completion[-1]["content"])')(f), add_line(f, module(f), HELPER))[1],
        ),
        "claimed": (
            "mode.claimed",
            edit(
                None, "1.0 if found and found[-1] == answer else 0.0", 'json.loads(completion[-1]["content"])["score"]'
            ),
        ),
        "judge's name": ("judge.model", judge(None, 'model="claude-3-5-sonnet-latest", temperature=0, ')),
        "judge's chance": ("judge.sampling", judge(None, 'model="gpt-4o-2024-08-06", ')),
        "twice": ("alike.duplicate", copied("train.jsonl", "train.jsonl")),
        "split leak": ("alike.leak", copied("train.jsonl", "test.jsonl")),
    },
    "nemo-gym": {
        "no entry point": (
            "schema.missing",
            edit(CONFIG, "entrypoint: app.py\n      ", "entrypoint: server.py\n      "),
        ),
        "no prompt file": (
            "schema.missing",
            lambda f: change(f, CONFIG, "      domain", "      grader_prompt_fpath: prompts/no.txt\n      domain"),
        ),
        "type of data": ("schema.wrong", edit(CONFIG, "type: validation", "type: dev")),
        "license": ("schema.missing", edit(CONFIG, "        license: Apache 2.0\n", "")),
        "outside": ("schema.outside", edit(CONFIG, "data/train.jsonl", "../../secret.jsonl")),
        "no examples": ("schema.missing", lambda f: (f / "data/example.jsonl").unlink()),
        "row without input": (
            "schema.wrong",
            lambda f: add_line(f, "data/example.jsonl", '{"expected_answer": "1"}\n'),
        ),
        "no Python": ("schema.wrong", edit("app.py", "import re", "import re re")),
        "dependency": ("pins.package", edit("requirements.txt", "sympy==1.13.3", "sympy")),
        "prompt": ("reach.prompt", of_rows("train.jsonl", LEAK, range(3))),
        "eval": ("mode.evaluates", edit("app.py", TEXT, "text = str(eval(body.response.output_text))")),
        "shell": (
            "mode.evaluates",
            edit("app.py", TEXT, 'text = subprocess.check_output(["bash", "-c", body.response.output_text])'),
        ),
        "judge is the policy": ("judge.model", judge_config(POLICY)),
        "judge's chance": ("judge.sampling", judge_config(CHANCE)),
        "twice": ("alike.duplicate", copied("train.jsonl", "train.jsonl")),
        "split leak": ("alike.leak", copied("train.jsonl", "validation.jsonl")),
    },
    "rows": {
        "unknown key": ("schema.unknown", workspace(0, befor={})),
        "no such folder": ("schema.missing", workspace(0, before="t99/before")),
        "leaves the folder": ("schema.outside", workspace(0, before="../other")),
        "output outside": ("schema.outside", workspace(0, outputs=["../x"])),
        "wrong outputs": ("schema.wrong", workspace(0, outputs="total.txt")),
        "no JSON": ("schema.wrong", lambda f: add_line(f, "train.jsonl", "{oops\n")),
        "no prompt": ("schema.missing", fields(0, prompt="")),
        "prompt": ("reach.prompt", of_rows("train.jsonl", LEAK, range(3))),
        "file of answers": ("reach.value", lambda f: edit_row(f, "train.jsonl", 1, given("answer_key.txt", "{}"))),
        "announced": (
            "reach.value",
            lambda f: (
                fields(1, answer="quartz-7742")(f),
                edit_row(f, "train.jsonl", 1, given("notes.md", "The answer is {}")),
            )[1],
        ),
        "twice": ("alike.duplicate", copied("train.jsonl", "train.jsonl")),
        "split leak": ("alike.leak", copied("train.jsonl", "test.jsonl")),
    },
}


NEAR_MISSES: dict[str, dict[str, Change]] = {
    "openenv": {
        "literal_eval": edit(SERVER, STEP, "told = str(ast.literal_eval(action.message))"),
        "eval of a constant": edit(SERVER, STEP, 'told, limit = action.message, eval("2 ** 10")'),
        "model.eval": lambda f: add_line(
            f, SERVER, "\n\ndef ready(model, action):\n    model.eval()\n    return model(action)\n"
        ),
        "answer after the end": edit(SERVER, "done=True", "metadata={'answer': self._answer}, done=True"),
        "no answer yet": edit(SERVER, "done=False", "correct_answer=None, done=False"),
        "lock file": lambda f: (put(f, "uv.lock", "version = 1\n"), change(f, "pyproject.toml", "==0.2.2", ">=0.2.2"))[
            1
        ],
        "local data": lambda f: add_line(
            f, SERVER, '\n\ndef more():\n    return load_dataset("json", data_files="x.json")\n'
        ),
        "settled judge": judge(SERVER, GPT),
        "open weights": judge(SERVER, 'model="openai/gpt-oss-20b", temperature=0.0, '),
        "eval in a client": lambda f: put(f, "client.py", "def show(action):\n    return eval(action)\n"),
        "shell without the model": lambda f: add_line(
            f, SERVER, '\n\ndef clean(action):\n    subprocess.run("rm -rf /tmp/x", shell=True)\n'
        ),
    },
    "verifiers": {
        "format of the answer": of_rows("train.jsonl", " End with: the answer is NUMBER.", range(4)),
        "an example": of_rows("train.jsonl", " For example: 1 and 2 more. Answer: 3", range(4)),
        "options": of_rows("train.jsonl", " The answer is one of: {gold}, 17, 18.", range(4)),
        "value among the words": of_rows("train.jsonl", " Yesterday it was {gold} in all.", range(4)),
        "built prompts": lambda f: add_line(f, module(f), NEAR_BUILT),
        "a process": lambda f: add_line(f, module(f), CHILD),
        "arithmetic only": reward(
            '[str(eval(completion[-1])) if re.fullmatch(r"[0-9+* ]{1,40}", completion[-1]) else ""]'
        ),
        "judge's score": lambda f: add_line(
            f, module(f), "\n\ndef rated(completion, judge):\n    return json.loads(judge(completion))['score']\n"
        ),
        "revision": edit(
            None, "    def correct", '    more = load_dataset("made/shop", revision="1f0a")\n\n    def correct'
        ),
        "other numbers": lambda f: add_line(
            f,
            data(f, "test.jsonl"),
            '{"question": "A shop sells 11 mirrors on day 0 and 12 more at night. How many in all?", "answer": "23"}\n',
        ),
        "simulated user": lambda f: add_line(
            f,
            module(f),
            "\n\ndef next_turn(client, text):\n    return client.chat.completions.create(model='gpt-4o', text=text)\n",
        ),
    },
    "nemo-gym": {
        "judge is off": judge_config(POLICY + CHANCE + "      should_use_judge: false\n"),
        "fetched examples": lambda f: change(f, CONFIG, "data/train.jsonl", "data/more.jsonl"),
        "seeds": lambda f: add_line(f, "data/train.jsonl", "".join(PLAY % f', "seed": {n}' for n in range(3))),
        "a game": lambda f: add_line(f, "data/train.jsonl", 3 * (PLAY % "")),
        "source of data": lambda f: change(
            f, CONFIG, "type: validation\n", "type: validation\n        huggingface_identifier: {repo_id: a/b}\n"
        ),
        "compiled pattern": edit("app.py", TEXT, "text = re.compile('x').sub('', body.response.output_text)"),
    },
    "rows": {
        "rollouts of one task": rollouts,
        "named file": lambda f: edit_row(f, "train.jsonl", 1, named_file),
        "value in data": lambda f: edit_row(f, "train.jsonl", 1, given("log.csv", "day,sold\n1,{}")),
        "own words": lambda f: (
            fields(1, answer="lanterns on day")(f),
            edit_row(f, "train.jsonl", 1, given("notes.md", "Sold: {}")),
        )[1],
        "tar in the row": workspace(
            0, before=None, before_tar="H4sIAAAAAAAAA+3BMQEAAADCoPVPbQwfoAAAAAAAAAAAAAAAAAAAAIC3AYbSVKsAQAAA"
        ),
        "limits": workspace(0, limits={"mb": 2}, links="inside"),
    },
}
