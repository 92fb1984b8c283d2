"""vLLM's loop in a separate thread. Requests join the current generation, and leave when they are done.

Only the loop's thread uses vLLM while a request is in progress. Without requests it waits, so others may then put vLLM
to sleep or replace its weights. Any exception of vLLM is reported to all requests in progress, so none waits forever.
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
"""Called with vLLM's output of a request, or an exception: an EngineError if the request or a dead engine caused it."""


class _Joining(NamedTuple):
    """A request to add: its name, its prompt's ids, vLLM's parameters, and its callback."""

    name: str
    ids: list[int]
    params: Any
    done: Done


class _Leaving(NamedTuple):
    """A request to cancel."""

    name: str


class VLLMLoop:
    """Steps a `vllm.LLM` as long as there are requests."""

    def __init__(self, llm: Any) -> None:
        """Use a `vllm.LLM` whose `generate` is not called elsewhere."""
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
        """Add a prompt to continue. `done` is called in the loop's thread, and must not raise.

        Returns a function that ends it at the next step, without a call of `done`.
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
        """Yield new and cancelled requests. If none is in progress, wait for one."""
        if not self._under_way:
            yield self._coming.get()
        while True:
            try:
                yield self._coming.get_nowait()
            except Empty:
                return

    def _join(self, joining: _Joining) -> None:
        joining.params.output_kind = self._final
        # Register it before vLLM has it, so an exception while adding it is reported to it as well.
        self._under_way[joining.name] = joining.done
        try:
            prompt = {"type": "token", "prompt_token_ids": joining.ids}
            self._engine.add_request(joining.name, prompt, joining.params)
        except (ValueError, self._refused) as error:
            del self._under_way[joining.name]
            joining.done(BadRequest(f"vLLM rejects the request: {' '.join(str(error).split())[:300]}"))

    def _leave(self, name: str) -> None:
        if self._under_way.pop(name, None) is not None:
            self._engine.abort_request([name])

    def _fail(self, error: Exception) -> None:
        """Report an error to all requests in progress."""
        waiting, self._under_way = self._under_way, {}
        for done in waiting.values():
            done(error)
