"""Engines that sample from the policy, and the transfer of weights to them after an update.

`hf`: verikit's decoder on the policy itself, or on a copy with merged adapters or in bf16. `vllm`: vLLM on the same
device, in a separate process. It sleeps while the policy trains, and its weights are replaced (`vllm_engine`).
`server`: a separate vLLM server that reads the weights from a shared folder. After every update the prefix cache is
dropped, because its keys and values come from the old weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import torch
from safetensors.torch import save_file
from transformers.core_model_loading import revert_weight_conversion

from verikit.engines.hf.engine import HF
from verikit.engines.hf.head import head_of
from verikit.engines.types import Engine
from verikit.errors import ConfigError, TrainerError
from verikit.trainers.config import Config
from verikit.trainers.distributed import World
from verikit.trainers.merge import (
    BASE,
    PlainWeight,
    SamplingCopy,
    adapted_layers,
    frame_of,
    plain_of,
    plain_weights,
)

FILE = 2**30
"""Approximate bytes of a file that a server reads weights from."""
BLOCK = re.compile(r".*?\.\d+\.")
"""Prefix of the names of a block's weights."""


class SamplingEngine:
    """An engine that samples from a policy."""

    engine: Engine

    def rest(self) -> None:
        """Release memory while the policy trains."""
        return

    def refresh(self, changed: bool = True) -> None:
        """Update the engine's weights. Every process calls it after each step.

        Args:
            changed: Whether the policy has changed since the last call. If not, the engine only resumes work.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release the engine's resources."""
        self.engine.close()


class LiveEngine(SamplingEngine):
    """verikit's decoder on the policy itself. A single process needs no copy, except for another number format."""

    def __init__(
        self, policy: Any, tokenizer: Any, world: World, rows: int, *, apart: bool = False, merged: bool = True
    ) -> None:
        """Decode with the policy's own weights, or with a copy: with merged adapters, in bf16 if products are.

        With `apart` the copy shares no weight, so it can sample while the policy trains. Without `merged` there is no
        copy, and the policy's adapters compute beside its frozen weights.
        """
        self._policy, self._rested = policy, True
        self._copy = sampling_copy(policy, world, apart) if merged else None
        self.refresh()
        model = policy.model if self._copy is None else self._copy.model
        self.engine = HF.of(model, tokenizer, rows=rows, tempered=True)

    def rest(self) -> None:
        """Release the copy's memory while the policy trains."""
        if self._copy is not None:
            self._copy.rest()
            self._rested = True

    def refresh(self, changed: bool = True) -> None:
        """Fill the copy, if there is one, one weight after another."""
        if self._copy is not None and (changed or self._rested):
            self._copy.fill(plain_weights(self._policy.model, sampling_dtype(self._policy)))
            self._rested = False


class ServerEngine(SamplingEngine):
    """A vLLM server, started with VLLM_SERVER_DEV_MODE=1 and `--logprobs-mode processed_logprobs`."""

    def __init__(self, policy: Any, tokenizer: Any, world: World, options: dict[str, Any]) -> None:
        """Connect to the server; `options` has `url` (…/v1#model) and `folder`, at the same path for the server.

        Raises:
            ConfigError: One of them is missing.
        """
        from verikit.engines.load import load_engine

        if missing := {"url", "folder"} - options.keys():
            raise ConfigError(f"engine.options.{min(missing)} is missing", hint="kind = server needs url and folder")
        others = {key: value for key, value in options.items() if key not in ("url", "folder")}
        self._policy, self._world, self._tokenizer = policy, world, tokenizer
        self._folder = Path(options["folder"])
        self._root = str(options["url"]).partition("#")[0].rstrip("/").removesuffix("/v1")
        self.engine = load_engine(f"openai:{options['url']}", **others)
        self.refresh()  # it may have another model's weights, or an earlier run's

    def refresh(self, changed: bool = True) -> None:
        """Write the weights if they changed. The server then reads them and drops its prefix cache."""
        if not changed:
            return
        main = self._world.rank == 0
        save(self._policy, self._tokenizer, self._folder, writes=main)
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


def make_engine(config: Config, policy: Any, tokenizer: Any, world: World) -> SamplingEngine:
    """Return the engine that samples from the policy."""
    if config.engine.kind == "vllm":
        from verikit.trainers import vllm_engine

        made: Any = vllm_engine.VLLMEngine(config, policy, tokenizer, world)
        engine: SamplingEngine = made
        return engine
    if config.engine.kind == "server":
        return ServerEngine(policy, tokenizer, world, config.engine.options)
    merged = config.precision.lora_merged
    return LiveEngine(policy, tokenizer, world, config.engine.rows, apart=config.batch.ahead, merged=merged)


def sampling_copy(policy: Any, world: World, apart: bool = False) -> SamplingCopy | None:
    """Return a model to sample from instead of the policy, with its own weights not yet filled; None: not needed.

    With `apart` it shares none of the policy's weights.
    """
    bf16 = torch.bfloat16 if policy.bf16 else None
    inner = plain_of(policy.model)
    rounded = any(parameter.element_size() > 2 for parameter in inner.parameters()) and policy.bf16
    if not world.sharded and not rounded and inner is policy.model and not apart:
        return None
    frame = world.frame if world.sharded else frame_of(policy.model, bf16)
    shared: dict[str, torch.nn.Parameter] = {}
    if not world.sharded and not apart:
        formats = {name: parameter.dtype for name, parameter in frame.named_parameters()}
        own = dict(inner.named_parameters())
        adapted = {f"{name}.weight" for name in adapted_layers(inner)}
        plain = {name.replace(BASE, ""): parameter for name, parameter in own.items()}
        shared = {name: plain[name] for name in formats.keys() - adapted if plain[name].dtype == formats[name]}
    return SamplingCopy(frame, shared, world.device)


def sampling_dtype(policy: Any) -> torch.dtype:
    """Return the number format that the policy computes in. The sampler must use the same, to be the same policy."""
    if policy.bf16:
        return torch.bfloat16
    computed: torch.dtype = head_of(plain_of(policy.model)).weight.dtype
    return computed


def save(policy: Any, tokenizer: Any, folder: Path, *, writes: bool = True) -> None:
    """If `writes`, save the current weights as a transformers folder, in the policy's computing format.

    Only one file's weights are in memory at a time. Under FSDP2 every process must call it.
    """
    model = plain_of(policy.model)
    if writes:
        save_shape(model, tokenizer, folder)
        for left in folder.glob("model*.safetensors*"):
            left.unlink()
    files: dict[str, str] = {}
    total = 0
    for number, part in enumerate(_parts(plain_weights(policy.model, sampling_dtype(policy)), keeps=writes), 1):
        if not writes:
            continue
        name = f"model-{number:05d}.safetensors"
        stored = {key: value.cpu().contiguous() for key, value in revert_weight_conversion(model, part).items()}
        save_file(stored, folder / name, metadata={"format": "pt"})
        files |= dict.fromkeys(stored, name)
        total += sum(value.nbytes for value in stored.values())
    if len(set(files.values())) == 1:
        (folder / name).rename(folder / "model.safetensors")
    elif writes:
        index = {"metadata": {"total_size": total}, "weight_map": files}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n", "utf-8")


def _parts(weights: Iterable[PlainWeight], *, keeps: bool) -> Iterator[dict[str, torch.Tensor]]:
    """Cut a model's weights into parts of about `FILE` bytes, without splitting a block of the model.

    A folder may name or split a block's weights in another way than the model, so they are converted together.
    """
    part: dict[str, torch.Tensor] = {}
    size, last = 0, ""
    for weight in weights:
        block = BLOCK.match(weight.name)
        now = block.group() if block else ""
        if size > FILE and now != last:
            yield part
            part, size = {}, 0
        last, size = now, size + weight.size
        whole = weight.whole()
        if keeps:
            part[weight.name] = whole
    if size:
        yield part


def save_shape(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a transformers folder without weights: config, generation config, and tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(folder)
    if getattr(model, "generation_config", None) is not None:
        # Not its save_pretrained, which rejects sampling settings that published models have.
        model.generation_config.to_json_file(folder / "generation_config.json")
    tokenizer.save_pretrained(folder)
