"""vLLM's loop in a thread of its own: requests join whatever it is generating, and leave when they are done.

The loop's thread alone touches vLLM while a request is under way; with none it waits, so others may then put vLLM to
sleep or replace its weights. Whatever vLLM raises is told to all whose requests are under way: none waits for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from verikit.engines.errors import BadRequest, ServerFailed
from verikit.engines.types import TakeBack

Done = Callable[[Any], None]
"""Is given vLLM's output of a request, or an exception: an EngineError where it is the request's or a dead engine's."""


class _Joining(NamedTuple):
    """A request that wants in: its name, its prompt's ids, vLLM's parameters, and whom to tell."""

    name: str
    ids: list[int]
    params: Any
    done: Done


class _Leaving(NamedTuple):
    """A request that nobody wants any more."""

    name: str


class VLLMLoop:
    """Steps a `vllm.LLM` as long as there is something to do."""

    def __init__(self, llm: Any) -> None:
        """Take a `vllm.LLM` whose `generate` nobody calls."""
        self._engine: Any = llm.llm_engine
        self._coming: SimpleQueue[_Joining | _Leaving] = SimpleQueue()
        self._under_way: dict[str, Done] = {}
        self._names = count(1)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._dead: type[Exception] = import_module("vllm.v1.engine.exceptions").EngineDeadError
        self._refused: type[Exception] = import_module("vllm.exceptions").VLLMClientError
        self._final: Any = import_module("vllm.sampling_params").RequestOutputKind.FINAL_ONLY

    def add(self, ids: list[int], params: Any, done: Done) -> TakeBack:
        """Have a prompt continued; `done` is called in the loop's thread, and must not raise.

        Returns what ends it at the next step, untold.
        """
        name = str(next(self._names))
        self._coming.put(_Joining(name, ids, params, done))
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="verikit-vllm", daemon=True)
                self._thread.start()
        return partial(self._coming.put, _Leaving(name))

    def _run(self) -> None:
        while True:
            try:
                for coming in self._next():
                    if isinstance(coming, _Leaving):
                        self._leave(coming.name)
                    else:
                        self._join(coming)
                outputs = self._engine.step() if self._under_way else ()
            except self._dead as error:
                self._fail(ServerFailed(f"vLLM has died: {error}"))
            except Exception as error:  # noqa: BLE001 - raised where results are waited for
                self._fail(error)
            else:
                for output in outputs:
                    if output.finished and output.request_id in self._under_way:
                        self._under_way.pop(output.request_id)(output)

    def _next(self) -> Iterator[_Joining | _Leaving]:
        """Yield what comes and goes; with nothing under way, wait for it."""
        if not self._under_way:
            yield self._coming.get()
        while True:
            try:
                yield self._coming.get_nowait()
            except Empty:
                return

    def _join(self, joining: _Joining) -> None:
        joining.params.output_kind = self._final
        # Before vLLM has it: whatever adding it raises, it is told with the others.
        self._under_way[joining.name] = joining.done
        try:
            prompt = {"type": "token", "prompt_token_ids": joining.ids}
            self._engine.add_request(joining.name, prompt, joining.params)
        except (ValueError, self._refused) as error:
            del self._under_way[joining.name]
            joining.done(BadRequest(f"vLLM refuses the request: {' '.join(str(error).split())[:300]}"))

    def _leave(self, name: str) -> None:
        if self._under_way.pop(name, None) is not None:
            self._engine.abort_request([name])

    def _fail(self, error: Exception) -> None:
        """Tell all that are under way."""
        waiting, self._under_way = self._under_way, {}
        for done in waiting.values():
            done(error)
