"""Harbor tasks made here: sound ones of several makes, one planted fault of each kind, and near misses.

A task asks for a sum over a table. `sound` writes one, `FAULTS` change one into a faulty one, `NEAR_MISSES` change one
into another sound one that looks like a fault.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
from pathlib import Path

DIGEST = "@sha256:" + "ab" * 32
TOML = """schema_version = "1.4"
artifacts = ["/app/{output}"]

[task]
name = "made/{name}"

[verifier]
timeout_sec = 120.0
environment_mode = "separate"

[agent]
timeout_sec = 600.0

[environment]
build_timeout_sec = 600.0
cpus = 1
memory_mb = 2048
network_mode = "no-network"
"""
TEST_SH = """#!/bin/bash
mkdir -p /logs/verifier
if pytest /tests/test_outputs.py -rA; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""
TEST_PY = '''"""Grades {output}."""

from pathlib import Path

OUTPUT = Path("/app") / "{output}"


def test_the_sum():
    assert OUTPUT.exists(), "/app/{output} is missing"
    assert OUTPUT.read_text().strip() == "{gold}"
'''
TEST_JSON = """import json


def load(name):
    with open(name) as stream:
        return json.load(stream)


def test_the_sum():
    assert load("/app/{output}")["total"] == {gold}
"""
DOCKERFILE = f"FROM python:3.13-slim{DIGEST}\nWORKDIR /app\nCOPY {{data}} /app/{{data}}\n"
GRADER = f"FROM python:3.13-slim{DIGEST}\nRUN pip install pytest==8.4.1\nWORKDIR /app\nCOPY . /tests/\n"
PLACES = "harbour orchard station library bakery market museum garden clinic airport".split()
GOODS = "apples lamps tickets books loaves spoons prints roses doses meals".split()


def sound(folder: Path, number: int) -> Path:
    """Write a sound task. Its make, its words and its numbers come from `number`."""
    draw = random.Random(f"task {number}")
    place, goods = draw.choice(PLACES), draw.choice(GOODS)
    rows = [(f"day{day}", draw.randrange(1000, 99999)) for day in range(draw.randrange(5, 12))]
    gold = sum(amount for _, amount in rows)
    output = ("total.txt", "out/sum.json")[number % 2]
    data = f"{place}.csv"
    names = {"output": output, "gold": gold, "data": data, "name": f"task{number}"}
    shape = ("alone on one line", 'as JSON: {"total": …}')[number % 2]
    asks = (
        f"Add up the {goods} sold at the {place} in `/app/{data}`, and write the sum to `/app/{output}`, {shape}.",
        f"The {place} keeps its sales of {goods} in /app/{data}. How many in all? Put it in /app/{output} {shape}.",
        f"Read /app/{data}. Sum the column of {goods} for the {place}. Save the result as /app/{output}, {shape}.",
    )
    put(folder, "task.toml", TOML.format(**names))
    put(folder, "instruction.md", f"{asks[number % 3]}\n\nRun {number}.\n")
    put(folder, "environment/Dockerfile", DOCKERFILE.format(**names))
    put(folder, f"environment/{data}", "day,sold\n" + "".join(f"{day},{amount}\n" for day, amount in rows))
    put(folder, "tests/Dockerfile", GRADER)
    put(folder, "tests/test.sh", TEST_SH)
    put(folder, "tests/test_outputs.py", (TEST_PY, TEST_JSON)[number % 2].format(**names))
    result = (f"{gold}", f'{{"total": {gold}}}')[number % 2]
    put(folder, "solution/solve.sh", f"#!/bin/bash\nmkdir -p /app/out\necho '{result}' > /app/{output}\n")
    return folder


def put(folder: Path, name: str, text: str) -> None:
    """Write a file of a task."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def change(folder: Path, name: str, old: str, new: str) -> None:
    """Replace a text of a file, which has to be there."""
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text, (name, old)
    path.write_text(text.replace(old, new, 1), "utf-8")


def gold(folder: Path) -> str:
    """The expected value of a task."""
    digits = "".join(c if c.isdigit() else " " for c in (folder / "solution/solve.sh").read_text().split("echo")[1])
    return digits.split()[0]


def output(folder: Path) -> str:
    """The path of the file that a task asks for."""
    return (folder / "solution/solve.sh").read_text().split("> ")[1].strip()


def data(folder: Path) -> str:
    """The name of a task's table."""
    return next(path.name for path in (folder / "environment").glob("*.csv"))


def commit(folder: Path, *, then: str) -> None:
    """A history in `environment/` with a file that a later commit takes away."""
    environment = folder / "environment"
    put(folder, "environment/notes.txt", then)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(environment)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["rm", "-q", "notes.txt"]):
        subprocess.run([*git, *words], check=True, env={"GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nowhere"})
    subprocess.run([*git, "commit", "-qm", "two"], check=True, env={"GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nowhere"})
    change(folder, "environment/Dockerfile", "WORKDIR /app\n", "WORKDIR /app\nCOPY . /app\n")


def copied(folder: Path, name: str, text: str) -> None:
    """A file that the agent's image gets."""
    put(folder, f"environment/{name}", text)
    change(folder, "environment/Dockerfile", "WORKDIR /app\n", f"WORKDIR /app\nCOPY {name} /app/{name}\n")


def script(folder: Path, text: str) -> None:
    """Another test script."""
    put(folder, "tests/test.sh", text)


def pytest_then(lines: str) -> str:
    """A test script with lines in the place of the usual end."""
    return f"#!/bin/bash\nmkdir -p /logs/verifier\npytest /tests/test_outputs.py\n{lines}"


ENDS = "if [ $? -eq 0 ]; then\n  echo 1 > /logs/verifier/reward.txt\nelse\n  echo 0 > /logs/verifier/reward.txt\nfi\n"
FAULTS = {
    # schema
    "a misspelled field": (
        "schema.unknown",
        lambda f: change(f, "task.toml", "timeout_sec = 600", "timeout_secs = 600"),
    ),
    "an unknown table": ("schema.unknown", lambda f: change(f, "task.toml", "[agent]", "[agents]")),
    "an old field": ("schema.deprecated", lambda f: change(f, "task.toml", "memory_mb = 2048", 'memory = "2G"')),
    "a text for a number": ("schema.wrong", lambda f: change(f, "task.toml", "cpus = 1", 'cpus = "many"')),
    "an unknown mode": ("schema.wrong", lambda f: change(f, "task.toml", '"no-network"', '"offline"')),
    "an artifact that leaves": (
        "schema.wrong",
        lambda f: change(f, "task.toml", 'artifacts = ["/app', 'artifacts = ["/app/../x'),
    ),
    "no instruction": ("schema.missing", lambda f: (f / "instruction.md").unlink()),
    "a missing copied file": ("schema.missing", lambda f: (f / "environment" / data(f)).unlink()),
    "a copy from outside": (
        "schema.outside",
        lambda f: change(f, "environment/Dockerfile", "WORKDIR /app\n", "WORKDIR /app\nCOPY ../tests /app/t\n"),
    ),
    "a link out": ("schema.outside", lambda f: (f / "solution/link").symlink_to("/etc/passwd")),
    # declared
    "no artifact": ("declared.undeclared", lambda f: change(f, "task.toml", f'artifacts = ["{output(f)}"]\n', "")),
    "another artifact": ("declared.undeclared", lambda f: change(f, "task.toml", output(f), "/app/other.txt")),
    "a second output": (
        "declared.undeclared",
        lambda f: (
            change(f, "tests/test.sh", "if pytest", "test -f /app/log.txt && if pytest")
            or change(f, "instruction.md", "Run ", "Log to log.txt. Run ")
        ),
    ),
    "an excluded artifact": (
        "declared.undeclared",
        lambda f: change(f, "task.toml", f'["{output(f)}"]', '[{source = "/app", exclude = ["*.txt", "*.json"]}]'),
    ),
    # mode
    "a shared box": ("mode.shared", lambda f: change(f, "task.toml", '"separate"', '"shared"')),
    "no mode": ("mode.shared", lambda f: change(f, "task.toml", 'environment_mode = "separate"\n', "")),
    "the agent's reward": (
        "mode.claimed",
        lambda f: script(f, "#!/bin/bash\ncp /app/reward.txt /logs/verifier/reward.txt\n"),
    ),
    "a reward by cat": ("mode.claimed", lambda f: script(f, "cat /app/score > /logs/verifier/reward.txt\n")),
    "a reward in the agent's folder": ("mode.owned", lambda f: script(f, pytest_then("echo $? > /app/reward.txt\n"))),
    "a reward by a trap": (
        "mode.owned",
        lambda f: script(
            f, "trap 'echo $score > /app/reward.txt' EXIT\nmkdir -p /logs/verifier\npytest /tests && score=1\n"
        ),
    ),
    "an image that opens the folder": (
        "mode.owned",
        lambda f: change(
            f,
            "environment/Dockerfile",
            "WORKDIR /app\n",
            "WORKDIR /app\nRUN mkdir -p /logs/verifier && chmod 777 /logs/verifier\n",
        ),
    ),
    "an exit": ("mode.exit", lambda f: script(f, pytest_then(f"exit $?\n{ENDS}"))),
    "an exit for a missing file": (
        "mode.exit",
        lambda f: script(f, f"if [ ! -f {output(f)} ]; then\n  echo none\n  exit 1\nfi\npytest /tests\n{ENDS}"),
    ),
    "an exit after ||": (
        "mode.exit",
        lambda f: script(f, "pytest /tests || exit 1\necho 1 > /logs/verifier/reward.txt\n"),
    ),
    "set -e": ("mode.exit", lambda f: script(f, f"#!/bin/bash\nset -euo pipefail\npytest /tests\n{ENDS}")),
    "no reward": ("mode.none", lambda f: script(f, "#!/bin/bash\npytest /tests\n")),
    # reach
    "the solution in the image": (
        "reach.copy",
        lambda f: copied(f, "helper.sh", (f / "solution/solve.sh").read_text()),
    ),
    "the tests in the image": (
        "reach.copy",
        lambda f: copied(f, "checks.py", (f / "tests/test_outputs.py").read_text()),
    ),
    "the wanted file": (
        "reach.copy",
        lambda f: (
            put(f, "tests/want.txt", f"The sum is {gold(f)}.\n"),
            copied(f, "x.txt", f"The sum is {gold(f)}.\n"),
        ),
    ),
    "a file of answers": ("reach.value", lambda f: copied(f, "expected.json", f'{{"t": {gold(f)}}}')),
    "a line with the answer": ("reach.value", lambda f: copied(f, "app.cfg", f"[main]\n# the answer is {gold(f)}\n")),
    "notes with the number": (
        "reach.value",
        lambda f: copied(f, "NOTES.md", f"Last time it was {int(gold(f)):,} in all.\n"),
    ),
    "a hash of the answer": (
        "reach.hash",
        lambda f: copied(f, "sums.txt", hashlib.sha256(gold(f).encode()).hexdigest()),
    ),
    "a variable": (
        "reach.image",
        lambda f: change(f, "environment/Dockerfile", "WORKDIR /app\n", f"WORKDIR /app\nENV CHECK={gold(f)}\n"),
    ),
    "a variable of the task": (
        "reach.image",
        lambda f: change(f, "task.toml", "cpus = 1", f'env = {{EXPECTED = "{gold(f)}"}}\ncpus = 1'),
    ),
    "a comment in the prompt": (
        "reach.prompt",
        lambda f: change(f, "instruction.md", "Run ", f"<!-- {gold(f)} -->\nRun "),
    ),
    "a git history": ("reach.history", lambda f: commit(f, then=f"it is {gold(f)} in the end\n")),
    # pins
    "an image without a digest": ("pins.image", lambda f: change(f, "environment/Dockerfile", DIGEST, "")),
    "a grader's image without a digest": ("pins.image", lambda f: change(f, "tests/Dockerfile", DIGEST, "")),
    "pip without a version": ("pins.package", lambda f: change(f, "tests/Dockerfile", "pytest==8.4.1", "pytest")),
    "a range of versions": ("pins.package", lambda f: change(f, "tests/Dockerfile", "pytest==8.4.1", "'pytest>=8'")),
    "apt without a version": (
        "pins.package",
        lambda f: change(f, "tests/Dockerfile", "RUN pip", "RUN apt-get update && apt-get install -y curl\nRUN pip"),
    ),
    "a requirement": ("pins.package", lambda f: copied(f, "requirements.txt", "numpy==2.1.0\npandas\n")),
    "a download": (
        "pins.download",
        lambda f: change(f, "tests/test.sh", "mkdir", "curl -LsSf https://example.org/install.sh | sh\nmkdir"),
    ),
    "a clone": (
        "pins.download",
        lambda f: change(
            f, "environment/Dockerfile", "WORKDIR /app\n", "WORKDIR /app\nRUN git clone https://example.org/a/b\n"
        ),
    ),
}
"""From a fault's name to the check and kind that must find it, and the change that plants it."""
RUN_TESTS = "pytest /tests/test_outputs.py -rA"
NEAR_MISSES = {
    "an old field of an old version": lambda f: (
        change(f, "task.toml", 'schema_version = "1.4"', 'version = "1.0"'),
        change(f, "task.toml", "memory_mb = 2048", 'memory = "2G"'),
    ),
    "metadata of any kind": lambda f: change(f, "task.toml", "[agent]", "[metadata]\nanything = {a = [1]}\n[agent]"),
    "a link inside": lambda f: (f / "solution/link").symlink_to("solve.sh"),
    "a wildcard": lambda f: change(f, "environment/Dockerfile", f"COPY {data(f)}", "COPY *.csv"),
    "a whole folder declared": lambda f: change(f, "task.toml", f'["{output(f)}"]', '["/app"]'),
    "outputs in the usual folder": lambda f: [
        change(f, name, output(f).replace("/app", "", 1)[1:], "sum.any") if False else None for name in ("task.toml",)
    ],
    "a hidden file of the home": lambda f: change(
        f, "tests/test.sh", "mkdir -p", "source $HOME/.local/bin/env\nmkdir -p"
    ),
    "a variable in a path": lambda f: change(f, "tests/test.sh", "mkdir -p", 'mkdir -p "$WHERE/x"\nmkdir -p'),
    "an unread path of a route": lambda f: change(
        f, "tests/test_outputs.py", "def test", 'ROUTE = "/api/v1/items"\n\n\ndef test'
    ),
    "an exit for a wrong folder": lambda f: script(
        f, f'#!/bin/bash\nif [ "$PWD" = "/" ]; then\n  exit 1\nfi\n{TEST_SH}'
    ),
    "an exit at the end": lambda f: script(f, f"{TEST_SH}exit 0\n"),
    "an exit after a reward of 0": lambda f: script(
        f, f"echo 0 > /logs/verifier/reward.txt\npytest /tests || exit 0\n{ENDS}"
    ),
    "set -e with a condition": lambda f: script(f, f"#!/bin/bash\nset -e\n{TEST_SH}"),
    "set -e and set +e": lambda f: script(
        f, f"#!/bin/bash\nset -e\nmkdir -p /logs/verifier\nset +e\npytest /tests\n{ENDS}"
    ),
    "set -e with a trap": lambda f: script(
        f,
        f"set -e\ntrap 'echo 0 > /logs/verifier/reward.txt' EXIT\npytest /tests\n{ENDS}",
    ),
    "an exit in a trap": lambda f: script(f, f"trap 'exit 1' INT\n{TEST_SH}"),
    "|| true": lambda f: script(
        f, "set -e\npytest /tests --junit-xml /tmp/r.xml || true\npython /tests/sum.py > /logs/verifier/reward.txt\n"
    ),
    "a reward by Python": lambda f: (
        script(f, "#!/bin/bash\nset -e\npython3 /tests/grade.py\n"),
        put(f, "tests/grade.py", "open('/logs/verifier/reward.json', 'w').write('{\"reward\": 1}')\n"),
    ),
    "an output called reward": lambda f: change(
        f, "tests/test_outputs.py", "def test", 'OTHER = "reward.txt"\n\n\ndef test'
    ),
    "a folder for the reward": lambda f: change(
        f, "environment/Dockerfile", "WORKDIR /app\n", "WORKDIR /app\nRUN mkdir -p /data\n"
    ),
    "an input that the tests have too": lambda f: put(f, f"tests/{data(f)}", (f / "environment" / data(f)).read_text()),
    "the sum among the data": lambda f: put(
        f, f"environment/{data(f)}", (f / "environment" / data(f)).read_text() + f"all,{gold(f)}\n"
    ),
    "an ignored solution": lambda f: (
        put(f, "environment/solve.sh", (f / "solution/solve.sh").read_text()),
        put(f, "environment/.dockerignore", "*.sh\n"),
        change(f, "environment/Dockerfile", f"COPY {data(f)} /app/{data(f)}", "COPY . /app/"),
    ),
    "a solution that no line copies": lambda f: put(f, "environment/solve.sh", (f / "solution/solve.sh").read_text()),
    "words of the prompt": lambda f: (
        change(f, "instruction.md", "Run ", f"The expected answer for the test run is {gold(f)}. Run "),
        copied(f, "README.md", f"The answer is {gold(f)}.\n"),
    ),
    "tests that the prompt names": lambda f: (
        copied(f, "test_outputs.py", (f / "tests/test_outputs.py").read_text()),
        change(f, "instruction.md", "Run ", "/app/test_outputs.py has to pass. Run "),
    ),
    "a usual variable": lambda f: change(
        f, "environment/Dockerfile", "WORKDIR /app\n", "WORKDIR /app\nENV LANG=C.UTF-8 PYTHONHASHSEED=0\n"
    ),
    "a history without it": lambda f: commit(f, then="nothing to see\n"),
    "an image by its stage": lambda f: change(
        f, "environment/Dockerfile", "FROM", f"FROM node:22{DIGEST} AS tools\nFROM tools AS more\nFROM"
    ),
    "an image by an argument": lambda f: change(
        f, "environment/Dockerfile", "FROM python", f"ARG BASE=python:3{DIGEST}\nFROM ${{BASE}} AS a\nFROM python"
    ),
    "a download with a version": lambda f: change(
        f, "tests/test.sh", "mkdir", "curl -LsSf https://example.org/uv/0.9.7/install.sh | sh\nmkdir"
    ),
    "a download with a checksum": lambda f: change(
        f,
        "environment/Dockerfile",
        "WORKDIR /app\n",
        "WORKDIR /app\nRUN curl -o a.bin https://example.org/a.bin && echo '12 a.bin' | sha256sum -c\n",
    ),
    "a clone with a commit": lambda f: change(
        f,
        "environment/Dockerfile",
        "WORKDIR /app\n",
        "WORKDIR /app\nRUN git clone https://example.org/a/b && git -C b checkout 0123456789abcdef\n",
    ),
    "a local package": lambda f: change(f, "tests/Dockerfile", "pytest==8.4.1", "pytest==8.4.1 ./wheels/a.whl"),
    "uvx with versions": lambda f: change(f, "tests/test.sh", RUN_TESTS, f"uvx -p 3.13 -w pytest==8.4.1 {RUN_TESTS}"),
}
"""Changes after which a task is as sound as before."""
del NEAR_MISSES["outputs in the usual folder"]
