"""vLLM's loop in a thread of its own: requests join whatever it is generating, and leave when they are done.

The loop's thread alone touches vLLM while a request is under way; with none it waits, so others may then put vLLM to
sleep or replace its weights.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from verikit.engines.errors import BadRequest, ServerFailed
from verikit.errors import EngineError

Done = Callable[[Any], None]
"""Is given vLLM's output of a request, or an EngineError."""


class _Joining(NamedTuple):
    """A request that wants in: its prompt's ids, vLLM's parameters, and whom to tell."""

    ids: list[int]
    params: Any
    done: Done


class VLLMLoop:
    """Steps a `vllm.LLM` as long as there is something to do."""

    def __init__(self, llm: Any) -> None:
        """Take a `vllm.LLM` whose `generate` nobody calls."""
        self._engine: Any = llm.llm_engine
        self._joining: SimpleQueue[_Joining] = SimpleQueue()
        self._under_way: dict[str, Done] = {}
        self._count = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def add(self, ids: list[int], params: Any, done: Done) -> None:
        """Have a prompt continued; `done` is called in the loop's thread."""
        self._joining.put(_Joining(ids, params, done))
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="verikit-vllm", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        dead = import_module("vllm.v1.engine.exceptions").EngineDeadError
        final = import_module("vllm.sampling_params").RequestOutputKind.FINAL_ONLY
        while True:
            for joining in self._next():
                joining.params.output_kind = final
                self._join(joining, dead)
            try:
                outputs = self._engine.step() if self._under_way else ()
            except dead as error:
                self._fail(ServerFailed(f"vLLM has died: {error}"))
                continue
            for output in outputs:
                if output.finished and output.request_id in self._under_way:
                    self._under_way.pop(output.request_id)(output)

    def _next(self) -> Iterator[_Joining]:
        """Yield what wants in; with nothing under way, wait for it."""
        if not self._under_way:
            yield self._joining.get()
        while True:
            try:
                yield self._joining.get_nowait()
            except Empty:
                return

    def _join(self, joining: _Joining, dead: type[Exception]) -> None:
        refused = import_module("vllm.exceptions").VLLMClientError
        self._count += 1
        name = str(self._count)
        try:
            prompt = {"type": "token", "prompt_token_ids": joining.ids}
            self._engine.add_request(name, prompt, joining.params)
        except dead as error:
            joining.done(ServerFailed(f"vLLM has died: {error}"))
        except (ValueError, refused) as error:
            joining.done(BadRequest(f"vLLM refuses the request: {' '.join(str(error).split())[:300]}"))
        else:
            self._under_way[name] = joining.done

    def _fail(self, error: EngineError) -> None:
        """Tell all that are under way."""
        waiting, self._under_way = self._under_way, {}
        for done in waiting.values():
            done(error)
