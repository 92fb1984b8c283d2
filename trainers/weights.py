"""What samples from the policy, and how it gets the weights after an update.

`hf`: our decoder on the policy itself, or on a copy: with adapters merged in, or in bf16. `vllm`: vLLM on the same
device, in a process of its own; it sleeps while the policy learns, and its weights are replaced in place
(`vllm_engine`). `server`: a vLLM server elsewhere that reads the weights from a folder both see. After every update the
prefix cache is dropped: its keys and values are of the old weights.
"""

from __future__ import annotations

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
from verikit.trainers.merge import MergedCopy, adapted_layers, merged_weight
from verikit.trainers.precision import in_bf16


class LiveEngine:
    """Our decoder on the policy itself: nothing to copy in one process, unless it computes in another number format."""

    def __init__(self, policy: Any, tokenizer: Any, world: World, rows: int) -> None:
        """Decode with the policy's own weights, or with a copy: adapters merged in, in bf16 where products are."""
        self._policy, self._world = policy, world
        model = world.sampling_model(policy)
        self._merged = MergedCopy(model, bf16=policy.bf16) if hasattr(model, "merge_adapter") else None
        if self._merged is not None:
            self._copy: Any = None
            self._merged.refresh(model)
            self.engine: Engine = HF.of(self._merged.model, tokenizer, rows=rows, tempered=True)
            return
        apart = policy.bf16 and model.dtype != torch.bfloat16
        self._copy = in_bf16(deepcopy(model)).requires_grad_(False) if apart else None
        self.engine = HF.of(model if self._copy is None else self._copy, tokenizer, rows=rows, tempered=True)

    def rest(self) -> None:
        """Give memory back while the policy learns."""
        self._world.rest()

    @torch.no_grad()
    def refresh(self, changed: bool = True) -> None:
        """Bring the engine's weights up to date; every process calls it after each step.

        Args:
            changed: Whether the policy has changed since the last time; else the engine only takes up work again.
        """
        if not changed and not self._world.sharded:  # whose copy was given back while the policy learnt
            return
        self._world.refresh(self._policy)
        if self._merged is not None:
            self._merged.refresh(self._world.sampling_model(self._policy))
        if self._copy is not None:
            now = dict(self._world.sampling_model(self._policy).named_parameters())
            for name, parameter in self._copy.named_parameters():
                parameter.copy_(now[name])

    def close(self) -> None:
        """Give back what the engine holds."""
        self.engine.close()


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
        self.refresh()  # it may hold another model's weights, or an earlier run's

    def refresh(self, changed: bool = True) -> None:
        """Write the weights if they changed, and have the server read them and drop its prefix cache."""
        if not changed:
            return
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
        from verikit.trainers.vllm_engine import VLLMEngine

        return VLLMEngine(config, policy, tokenizer, world)
    if config.engine.kind == "server":
        return ServerEngine(policy, tokenizer, world, config.engine.options)
    return LiveEngine(policy, tokenizer, world, config.engine.rows)


@torch.no_grad()
def each_weight(policy: Any, world: World) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the present weights by transformers' names, whole, one after another; every process must take them all.

    Under FSDP2 no more than one is whole at a time, unless there are adapters to merge in.
    """
    if not hasattr(policy.model, "merge_adapter"):
        yield from world.weights(policy, sampling_dtype(policy) if world.sharded else None)
        return
    model = world.sampling_model(policy).get_base_model()
    adapted = {f"{name}.base_layer.weight": layer for name, layer in adapted_layers(model).items()}
    for name, tensor in model.state_dict().items():
        if "lora_" not in name:
            whole = merged_weight(adapted[name]).to(tensor.dtype) if name in adapted else tensor
            yield name.replace(".base_layer", ""), whole


def whole_weights(policy: Any, world: World) -> dict[str, torch.Tensor]:
    """Return the present weights by transformers' names, adapters merged in; under FSDP2 on the CPU."""
    return {name: tensor.cpu() if world.sharded else tensor for name, tensor in each_weight(policy, world)}


def sampling_dtype(policy: Any) -> torch.dtype:
    """Return the number format the policy computes in: what samples is to be the same policy."""
    return torch.bfloat16 if policy.bf16 else next(policy.parameters()).dtype


def inner_model(policy: Any) -> Any:
    """Return the transformers model, without peft's wrapper."""
    return policy.model.get_base_model() if hasattr(policy.model, "get_base_model") else policy.model


def save(policy: Any, world: World, tokenizer: Any, folder: Path, *, writes: bool = True) -> None:
    """Write the present weights as a transformers folder, in the number format the policy computes in, where `writes`.

    Under FSDP2 every process calls it.
    """
    if not writes:
        for _ in each_weight(policy, world) if world.sharded else ():
            pass
        return
    dtype = sampling_dtype(policy)
    weights = {
        name: weight.to(dtype) if weight.is_floating_point() and weight.element_size() > dtype.itemsize else weight
        for name, weight in whole_weights(policy, world).items()
    }
    inner_model(policy).save_pretrained(folder, state_dict=weights)
    tokenizer.save_pretrained(folder)
