"""Completions played in a server of OpenReward's own (openreward), and in one that answers wrongly."""

import os
import subprocess
import sys

import pytest

from verikit.env import check, play_ors, tasks
from verikit.errors import SchemaError

SERVER = '''
import socket, uvicorn
from openreward.environments import Environment, Server, TextBlock, ToolOutput, tool
from pydantic import BaseModel

class Said(BaseModel):
    answer: str

class Sums(Environment):
    @classmethod
    def list_splits(cls):
        return ["train"]

    @classmethod
    def list_tasks(cls, split):
        return [{"id": str(n), "question": f"{n} + {n}?", "padding": "x" * 5000} for n in range(3)]

    def get_prompt(self):
        return [TextBlock(text=self.task_spec["question"])]

    @tool
    async def submit(self, said: Said) -> ToolOutput:
        """Take the answer."""
        if said.answer == "break":
            raise RuntimeError("the judge is away")
        right = said.answer == str(2 * int(self.task_spec["id"]))
        told = [TextBlock(text="seen " * 1000)]
        return ToolOutput(blocks=told, reward=None if said.answer == "lost" else float(right), finished=True)

taken = socket.create_server(("127.0.0.1", 0))
app = Server([Sums]).app
print(taken.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[taken])
'''


@pytest.fixture
def address():
    pytest.importorskip("openreward")
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ}) as made:
        try:
            port = next(int(line) for line in made.stdout if line.strip().isdigit())
            yield f"http://127.0.0.1:{port}"
        finally:
            made.kill()


def test_an_ors_servers_tasks_and_rewards_are_read(address):
    assert [task["prompt"] for task in tasks(address)] == ["0 + 0?", "1 + 1?", "2 + 2?"]
    rows = [{"completion": text, "answer": "4", "index": 2} for text in ("4", "5", "lost", "break")]
    right, wrong, lost, broken, absent, bad = play_ors(
        address, [*rows, {"completion": "4", "index": 9}, {"index": 1}], tool="submit"
    )
    assert (right.sample.prompt, right.reward, wrong.reward) == ("2 + 2?", 1.0, 0.0)
    assert (lost.reward, lost.why) == (None, "the environment gave no reward")
    assert broken.reward is None
    assert "away" in broken.why
    assert "400" in absent.why
    assert isinstance(bad, SchemaError)
    assert check([right, wrong], "answer").equal == 2
    (unknown,) = play_ors(address, rows[:1], tool="other")
    assert unknown.reward is None
    assert unknown.why
