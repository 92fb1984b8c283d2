"""Sampling by this process's own vLLM, in a separate process and, on GPUs, on the trainer's device."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from verikit.errors import ConfigError
from verikit.platform.system import processor_numbers
from verikit.trainers.config import Config
from verikit.trainers.distributed import World
from verikit.trainers.memory import expected_memory
from verikit.trainers.merge import plain_of, plain_weights
from verikit.trainers.vllm_worker import WeightSender
from verikit.trainers.weights import SamplingEngine, sampling_dtype, save_shape

TORCHRUN = ("MASTER_", "RANK", "LOCAL_", "WORLD_SIZE", "GROUP_", "ROLE_", "TORCHELASTIC_")
"""Prefixes of the variables that contain torchrun's rank and addresses. vLLM's process must not inherit them."""
PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
MOST = 0.9
"""The fraction of a GPU's free memory that vLLM may use while it samples."""
CACHE = 4 * 2**30
"""Default maximum bytes of keys and values on a CPU."""


class VLLMEngine(SamplingEngine):
    """vLLM in a separate process. It sleeps while the policy trains, unless it samples ahead."""

    def __init__(self, config: Config, policy: Any, tokenizer: Any, world: World) -> None:
        """Start vLLM with the policy's architecture and send it the weights.

        Raises:
            ConfigError: The options shard the model, and there are several processes.
            MissingExtra: vLLM is not installed.
            SpecError: It can't run the model.
        """
        from verikit.engines.vllm import VLLM

        self._policy, self._asleep = policy, False
        options = vllm_options(config, policy, world)
        self._sleeps = bool(options["enable_sleep_mode"])
        with tempfile.TemporaryDirectory() as folder, own_process(world):
            save_shape(plain_of(policy.model), tokenizer, Path(folder))
            made = VLLM(folder, **options)
        self.engine = made
        self._llm: Any = made.llm
        self._dtype: torch.dtype = self._llm.model_config.dtype
        self._sender = WeightSender(self._llm.collective_rpc, world.device)
        self._send()

    def rest(self) -> None:
        """Drop the weights, which will be replaced, and the cache."""
        if self._sleeps and not self._asleep:
            self._llm.sleep(level=2)
            self._asleep = True

    def refresh(self, changed: bool = True) -> None:
        """Replace the weights. The cache gets its memory after them, because the other order runs out of memory."""
        if self._asleep:
            torch.cuda.empty_cache()  # free the policy's training memory, otherwise cached for its next step
            self._llm.wake_up(tags=["weights"])
        if changed or self._asleep:
            self._send()
        if self._asleep:
            self._llm.wake_up(tags=["kv_cache"])
            self._asleep = False
        self._llm.reset_prefix_cache()

    def close(self) -> None:
        """Stop vLLM's process."""
        self._llm.llm_engine.engine_core.shutdown()

    def _send(self) -> None:
        self._sender.send(list(plain_weights(self._policy.model, self._dtype)))


def vllm_options(config: Config, policy: Any, world: World) -> dict[str, Any]:
    """Return the arguments of `vllm.LLM`: defaults that fit next to a policy, overridden by engine.options.

    Raises:
        ConfigError: They shard the model, and there are several processes.
    """
    asked = config.engine.options
    split = [name for name in PARALLEL if int(asked.get(name, 1)) > 1]
    if split and world.size > 1:
        raise ConfigError(
            f"engine.options.{split[0]}: each of the {world.size} processes runs its own vLLM on its own device",
            hint="remove it, train in one process, or use engine.kind = server for a sharded model",
        )
    cuda = world.device.type == "cuda"
    options = {
        # Log-probabilities of the sampling distribution, with the temperature applied.
        "logprobs_mode": "processed_logprobs",
        "dtype": str(sampling_dtype(policy)).removeprefix("torch."),
        "enable_sleep_mode": cuda and not config.batch.ahead,
        "seed": config.seed,
    } | asked
    if cuda and not split:
        options.setdefault("device_ids", [world.device.index or 0])
    if not asked.keys() & {"gpu_memory_utilization", "kv_cache_memory_bytes"}:
        options |= gpu_memory(config, policy, world, options) if cuda else cpu_memory()
    worker = {"worker_extension_cls": "verikit.trainers.vllm_worker.WeightReceiver", "load_format": "dummy"}
    return options | worker


def gpu_memory(config: Config, policy: Any, world: World, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return vLLM's fraction of the GPU: the free memory minus the optimizer's state and the reference.

    Without sleep mode it is half of that, because the gradients and activations of training need memory at the same
    time.
    """
    free, total = torch.cuda.mem_get_info(world.device)
    made = expected_memory(policy.model, config, world.size, bf16=policy.bf16)
    coming = made.optimizer + made.reference
    share = (MOST if options["enable_sleep_mode"] else MOST / 2) * (free - coming) / total
    return {"gpu_memory_utilization": max(0.01, math.floor(100 * share) / 100)}


def cpu_memory() -> dict[str, Any]:
    """Return the bytes for keys and values on a CPU. vLLM's default would reserve 90% of the machine's memory."""
    if "VLLM_CPU_KVCACHE_SPACE" in os.environ:
        return {}
    pages = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    sharing = 4 * int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return {"kv_cache_memory_bytes": min(CACHE, pages // sharing)}


@contextmanager
def own_process(world: World) -> Iterator[None]:
    """Make vLLM start a fresh process that does not join torchrun's group."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(TORCHRUN):
            del os.environ[name]
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "1"
    os.environ["VLLM_WORKER_MULTIPROCESSING_METHOD"] = "spawn"  # a fork would inherit gloo's and torch's threads
    if world.device.type == "cpu" and world.size > 1:
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", _cores(before))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _cores(environment: Mapping[str, str]) -> str:
    """Return this process's part of the cores. By default, every vLLM would bind to the same ones."""
    here, size = int(environment.get("LOCAL_RANK", "0")), int(environment.get("LOCAL_WORLD_SIZE", "1"))
    mine = processor_numbers()[here::size]
    return ",".join(map(str, mine)) or "nobind"
