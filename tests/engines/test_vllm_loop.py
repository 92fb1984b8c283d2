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
        self.left, self.together, self.thread, self.aborted = {}, [], None, []
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
        assert self.go.wait(30)
        assert self.left, "a step with nothing to do would wait for ever"
        self.together.append(len(self.left))
        if any(ids[0] == 98 for ids in self.left.values()):
            self.left.clear()
            raise RuntimeError("a bug of vLLM's")
        if any(ids[0] == 99 for ids in self.left.values()):
            self.left.clear()
            raise Dead("out of memory")
        for ids in self.left.values():
            ids[0] -= 1
        over = [name for name, ids in self.left.items() if ids[0] <= 0]
        found = [SimpleNamespace(request_id=name, finished=True, ids=self.left.pop(name)) for name in over]
        return [*found, SimpleNamespace(request_id="another", finished=False)]

    def abort_request(self, names):
        self.alone()
        self.aborted += names
        for name in names:
            del self.left[name]


def test_a_request_joins_those_under_way_and_each_ends_at_its_own_time():
    engine, ended = Engine(), SimpleQueue()
    loop = VLLMLoop(SimpleNamespace(llm_engine=engine))

    def again(output):  # what follows joins while the long one is still going
        ended.put("short")
        loop.add([1, 2], SimpleNamespace(), lambda output: ended.put("next"))

    loop.add([5], SimpleNamespace(), lambda output: ended.put("long"))
    loop.add([1], SimpleNamespace(), again)
    engine.go.set()
    assert [ended.get(timeout=30) for _ in range(3)] == ["short", "next", "long"]
    assert max(engine.together) == 2


def test_a_refused_request_fails_alone_and_a_dead_engine_fails_all_under_way():
    engine, ended = Engine(), SimpleQueue()
    engine.go.set()
    loop = VLLMLoop(SimpleNamespace(llm_engine=engine))
    loop.add([-1], SimpleNamespace(), ended.put)
    refused = ended.get(timeout=30)
    assert isinstance(refused, BadRequest)
    assert str(refused) == "vLLM rejects the request: a negative token"
    loop.add([1, 7], SimpleNamespace(), ended.put)
    assert ended.get(timeout=30).ids == [0, 7]
    for ids in ([99], [99]):
        loop.add(ids, SimpleNamespace(), ended.put)
        dead = ended.get(timeout=30)
        assert isinstance(dead, ServerFailed)
        assert "out of memory" in str(dead)


def test_whatever_vllm_raises_is_told_to_all_that_wait_and_the_loop_goes_on():
    engine, ended = Engine(), SimpleQueue()
    loop = VLLMLoop(SimpleNamespace(llm_engine=engine))
    for ids in ([5], [98]):
        loop.add(ids, SimpleNamespace(), ended.put)
    engine.go.set()
    for _ in range(2):
        error = ended.get(timeout=30)
        assert isinstance(error, RuntimeError)
        assert str(error) == "a bug of vLLM's"
    loop.add([1], SimpleNamespace(), ended.put)
    assert ended.get(timeout=30).ids == [0]
    engine.add_request = None  # not callable: a fault of adding a request is told too
    loop.add([1], SimpleNamespace(), ended.put)
    assert isinstance(ended.get(timeout=30), TypeError)


def test_a_request_that_is_taken_back_ends_untold():
    engine, ended = Engine(), SimpleQueue()
    loop = VLLMLoop(SimpleNamespace(llm_engine=engine))
    take_back = loop.add([10_000_000], SimpleNamespace(), ended.put)
    loop.add([1], SimpleNamespace(), ended.put)
    engine.go.set()
    assert ended.get(timeout=30).ids == [0]
    take_back()
    loop.add([1], SimpleNamespace(), ended.put)
    assert ended.get(timeout=30).ids == [0]
    assert engine.aborted == ["1"]
    assert engine.left == {}
    take_back()  # of what has ended does nothing
    loop.add([1], SimpleNamespace(), ended.put)
    assert ended.get(timeout=30).ids == [0]
    assert engine.aborted == ["1"]


def engine_of(loop_output):
    """vLLM's engine over a loop that gives each prompt this output."""
    from verikit.engines.vllm import VLLM

    made = VLLM.__new__(VLLM)
    made.name, made.tokenizer, made._context = "vllm:x", range(9), 100
    taken_back = []

    class Loop:
        def add(self, ids, params, done):
            if loop_output is not None:
                done(loop_output)
            return lambda: taken_back.append(ids)

    made._loop = Loop()
    return made, taken_back


def test_an_output_that_cannot_be_read_is_raised_where_it_is_waited_for(monkeypatch):
    from verikit.engines import vllm as module
    from verikit.engines.types import Request

    monkeypatch.setattr(module, "_params", lambda request, limit: None)
    made, taken_back = engine_of(SimpleNamespace(prompt_token_ids=None))
    with pytest.raises(TypeError, match="NoneType"):
        list(made.stream([Request([1]), Request([2])]))
    assert taken_back == [[2]]
    told = []
    made.submit(Request([1]), told.append)
    assert isinstance(told[0], TypeError)
