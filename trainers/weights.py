"""What samples from the policy, and how it gets the weights after an update.

`hf`: our decoder on the policy itself, nothing to copy. `vllm`: vLLM in the same process and on the same device; it
sleeps while the policy learns, and its weights are replaced in place (`reload_weights`, which works on CPU and GPU).
`server`: a vLLM server elsewhere that reads the weights from a folder both see. After every update the prefix cache is
dropped: its keys and values are of the old weights.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import torch

from verikit.engines.hf.engine import HF
from verikit.engines.types import Engine
from verikit.errors import ConfigError, TrainerError
from verikit.trainers.config import Config
from verikit.trainers.distributed import World
from verikit.trainers.precision import in_bf16


class LiveEngine:
    """Our decoder on the policy itself: nothing to copy in one process, unless it computes in another number format."""

    def __init__(self, policy: Any, tokenizer: Any, world: World, rows: int) -> None:
        """Decode with the policy's own weights, or with a bf16 copy where the policy computes in bf16 over fp32."""
        self._policy, self._world = policy, world
        model = world.sampling_model(policy)
        apart = policy.bf16 and model.dtype != torch.bfloat16
        self._copy: Any = in_bf16(deepcopy(model)).requires_grad_(False) if apart else None
        self.engine: Engine = HF.of(model if self._copy is None else self._copy, tokenizer, rows=rows, tempered=True)

    def rest(self) -> None:
        """Give memory back while the policy learns."""
        self._world.rest()

    @torch.no_grad()
    def refresh(self) -> None:
        """Bring the engine's weights up to date; every process calls it after each update."""
        self._world.refresh(self._policy)
        if self._copy is not None:
            now = dict(self._world.sampling_model(self._policy).named_parameters())
            for name, parameter in self._copy.named_parameters():
                parameter.copy_(now[name])

    def close(self) -> None:
        """Give back what the engine holds."""
        self.engine.close()


class VLLMEngine(LiveEngine):
    """vLLM in this process."""

    engine: Engine

    def __init__(self, policy: Any, tokenizer: Any, world: World, options: dict[str, Any]) -> None:
        """Start vLLM on a copy of the policy.

        Raises:
            MissingExtra: vLLM is not installed.
            SpecError: it can't run the model.
        """
        from verikit.engines.vllm import VLLM

        self._policy, self._world = policy, world
        self._sleeps = world.device.type == "cuda"
        with tempfile.TemporaryDirectory() as folder:
            save(policy, world, tokenizer, Path(folder))
            # The log-probabilities of what was drawn from, the temperature applied.
            defaults = {"logprobs_mode": "processed_logprobs", "enable_sleep_mode": self._sleeps}
            self.engine = VLLM(folder, **defaults | options)

    def rest(self) -> None:
        """Drop the weights, which will be replaced, and the cache."""
        if self._sleeps:
            self._llm.sleep(level=2)

    def refresh(self) -> None:
        """Replace the weights. The cache gets its memory after them: the other order runs out."""
        self._world.refresh(self._policy)
        if self._sleeps and self._llm.llm_engine.is_sleeping():
            self._llm.wake_up(tags=["weights"])
        weights = each_weight(self._policy, self._world)
        self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": weights})
        if self._sleeps:
            self._llm.wake_up(tags=["kv_cache"])
        self._llm.reset_prefix_cache()

    @property
    def _llm(self) -> Any:
        return self.engine.llm  # type: ignore[attr-defined]


class ServerEngine(LiveEngine):
    """A vLLM server, started with VLLM_SERVER_DEV_MODE=1 and `--logprobs-mode processed_logprobs`."""

    engine: Engine

    def __init__(self, policy: Any, tokenizer: Any, world: World, options: dict[str, Any]) -> None:
        """Reach the server; `options` hold `url` (…/v1#model) and `folder`, which the server sees under the same path.

        Raises:
            ConfigError: one of them is missing.
        """
        from verikit.engines.load import load_engine

        if missing := {"url", "folder"} - options.keys():
            raise ConfigError(f"engine.options.{min(missing)} is missing", hint="kind = server needs url and folder")
        others = {key: value for key, value in options.items() if key not in ("url", "folder")}
        self._policy, self._world, self._tokenizer = policy, world, tokenizer
        self._folder = Path(options["folder"])
        self._root = str(options["url"]).partition("#")[0].rstrip("/").removesuffix("/v1")
        self.engine = load_engine(f"openai:{options['url']}", **others)

    def refresh(self) -> None:
        """Write the weights, and have the server read them and drop its prefix cache."""
        self._world.refresh(self._policy)
        main = self._world.rank == 0
        save(self._policy, self._world, self._tokenizer, self._folder, writes=main)
        if main:
            reload = {"method": "reload_weights", "kwargs": {"weights_path": str(self._folder)}}
            self._post("collective_rpc", reload)
            self._post("reset_prefix_cache", {})
        self._world.barrier()

    def _post(self, path: str, body: dict[str, Any]) -> None:
        try:
            httpx.post(f"{self._root}/{path}", json=body, timeout=600).raise_for_status()
        except httpx.HTTPError as error:
            hint = "start the server with VLLM_SERVER_DEV_MODE=1, and let it see engine.options.folder"
            raise TrainerError(f"the server did not take the new weights: {error}", hint=hint) from None


def make_engine(config: Config, policy: Any, tokenizer: Any, world: World) -> LiveEngine:
    """Return what samples from the policy."""
    if config.engine.kind == "vllm":
        return VLLMEngine(policy, tokenizer, world, config.engine.options)
    if config.engine.kind == "server":
        return ServerEngine(policy, tokenizer, world, config.engine.options)
    return LiveEngine(policy, tokenizer, world, config.engine.rows)


@torch.no_grad()
def each_weight(policy: Any, world: World) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the present weights by transformers' names, whole, one after another; every process must take them all.

    Under FSDP2 no more than one is whole at a time, unless there are adapters to merge in.
    """
    if not hasattr(policy.model, "merge_adapter"):
        yield from world.weights(policy)
        return
    model = world.sampling_model(policy)
    model.merge_adapter()
    try:
        for name, tensor in model.get_base_model().state_dict().items():
            if "lora_" not in name:
                yield name.replace(".base_layer", ""), tensor.clone()
    finally:
        model.unmerge_adapter()


def whole_weights(policy: Any, world: World) -> dict[str, torch.Tensor]:
    """Return the present weights by transformers' names, adapters merged in; under FSDP2 on the CPU."""
    return {name: tensor.cpu() if world.sharded else tensor for name, tensor in each_weight(policy, world)}


def save(policy: Any, world: World, tokenizer: Any, folder: Path, *, writes: bool = True) -> None:
    """Write the present weights as a transformers folder, where `writes`; under FSDP2 every process calls it."""
    if not writes:
        for _ in each_weight(policy, world) if world.sharded else ():
            pass
        return
    model = policy.model
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    inner.save_pretrained(folder, state_dict=whole_weights(policy, world))
    tokenizer.save_pretrained(folder)
