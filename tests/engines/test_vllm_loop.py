"""vLLM's loop with vLLM's engine played by a script: requests join and leave while others are generated."""

import sys
import threading
from queue import SimpleQueue
from types import ModuleType, SimpleNamespace

import pytest

from verikit.engines.errors import BadRequest, ServerFailed
from verikit.engines.vllm_loop import VLLMLoop


class Refused(Exception):
    pass


class Dead(Exception):
    pass


@pytest.fixture(autouse=True)
def vllm(monkeypatch):
    """The three names the loop takes from vLLM."""
    names = {
        "vllm": {},
        "vllm.exceptions": {"VLLMClientError": Refused},
        "vllm.sampling_params": {"RequestOutputKind": SimpleNamespace(FINAL_ONLY="final")},
        "vllm.v1": {},
        "vllm.v1.engine": {},
        "vllm.v1.engine.exceptions": {"EngineDeadError": Dead},
    }
    for name, values in names.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)


class Engine:
    """Ends a request after as many steps as its prompt's first id says; one thread may touch it."""

    def __init__(self):
        self.left, self.together, self.thread = {}, [], None
        self.go = threading.Event()

    def alone(self):
        self.thread = self.thread or threading.get_ident()
        assert self.thread == threading.get_ident()

    def add_request(self, name, prompt, params):
        self.alone()
        assert (prompt["type"], params.output_kind) == ("token", "final")
        if prompt["prompt_token_ids"][0] < 0:
            raise Refused("a negative  token")
        self.left[name] = list(prompt["prompt_token_ids"])

    def step(self):
        self.alone()
        assert self.go.wait(5)
        assert self.left, "a step with nothing to do would wait for ever"
        self.together.append(len(self.left))
        if any(ids[0] == 99 for ids in self.left.values()):
            self.left.clear()
            raise Dead("out of memory")
        for ids in self.left.values():
            ids[0] -= 1
        over = [name for name, ids in self.left.items() if ids[0] <= 0]
        found = [SimpleNamespace(request_id=name, finished=True, ids=self.left.pop(name)) for name in over]
        return [*found, SimpleNamespace(request_id="another", finished=False)]


def test_a_request_joins_those_under_way_and_each_ends_at_its_own_time():
    engine, ended = Engine(), SimpleQueue()
    loop = VLLMLoop(SimpleNamespace(llm_engine=engine))

    def again(output):  # what follows joins while the long one is still going
        ended.put("short")
        loop.add([1, 2], SimpleNamespace(), lambda output: ended.put("next"))

    loop.add([5], SimpleNamespace(), lambda output: ended.put("long"))
    loop.add([1], SimpleNamespace(), again)
    engine.go.set()
    assert [ended.get(timeout=5) for _ in range(3)] == ["short", "next", "long"]
    assert max(engine.together) == 2


def test_a_refused_request_fails_alone_and_a_dead_engine_fails_all_under_way():
    engine, ended = Engine(), SimpleQueue()
    engine.go.set()
    loop = VLLMLoop(SimpleNamespace(llm_engine=engine))
    loop.add([-1], SimpleNamespace(), ended.put)
    refused = ended.get(timeout=5)
    assert isinstance(refused, BadRequest)
    assert str(refused) == "vLLM refuses the request: a negative token"
    loop.add([1, 7], SimpleNamespace(), ended.put)
    assert ended.get(timeout=5).ids == [0, 7]
    for ids in ([99], [99]):
        loop.add(ids, SimpleNamespace(), ended.put)
        dead = ended.get(timeout=5)
        assert isinstance(dead, ServerFailed)
        assert "out of memory" in str(dead)
