"""A GPU that is not there: tensors without numbers on a device of their own, and counts of what a GPU would be told.

`FakeTensorMode` refuses operations across devices; `Gpu`, a mode above it, answers `.item()` and counts where the host
would wait, what is copied between host and device, and how much the device holds. The device is registered for the
whole process, so tests run these cases in a process of their own: `python -m tests.fake_gpu CASE…` prints JSON.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import sys
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten
NAME = "fakegpu"
VOCABULARY = 512
LARGE = 4 * VOCABULARY
"""Numbers of a tensor that is not to be computed on the host."""
WAITING = {aten.nonzero.default, aten._unique2.default, aten.masked_select.default, aten.repeat_interleave.Tensor}
"""Operations whose result's size is known on the device only: the host waits to allocate it."""
PRODUCTS = {aten.mm.default, aten.mm.out}


@dataclass
class Counts:
    """What one case did."""

    waits: Counter[str] = field(default_factory=Counter)
    """Times the host waits for the device, by reason and line."""
    copied: Counter[str] = field(default_factory=Counter)
    """Bytes copied: `to device`, `to host`."""
    flops: float = 0.0
    """Of matrix products."""
    product_bytes: float = 0.0
    """What the matrix products read and write."""
    peak: int = 0
    """Most bytes the device held at once."""
    wrong: list[str] = field(default_factory=list)
    """Large tensors computed on the host, and states left there."""
    units: int = 1
    """Micro-batches, or decoded tokens a row."""


class _Backend(backend_registration._DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def get_rng_state(self, device: Any = 0) -> torch.Tensor:
        return torch.empty(0, dtype=torch.uint8)

    def set_rng_state(self, state: Any, device: Any = 0) -> None: ...

    def _lazy_call(self, function: Any) -> None: ...

    def synchronize(self, device: Any = None) -> None: ...

    def device(self, device: Any) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()


def register() -> torch.device:
    """Make the device known to torch, once in a process."""
    if torch._C._get_privateuse1_backend_name() != NAME:
        backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=_Backend())
        register.library = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")  # type: ignore[attr-defined]
        register.library.fallback(torch.library.fallthrough_kernel)  # type: ignore[attr-defined]
    return torch.device(NAME, 0)


class Gpu(TorchDispatchMode):
    """Counts what concerns the device; goes above a FakeTensorMode."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self.counts, self._held = counts, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        there = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        on_device = any(tensor.device.type == NAME for tensor in there)
        if func in (aten._local_scalar_dense.default, aten.is_nonzero.default, aten.item.default):
            if on_device:
                self._wait("item")
            dtype = args[0].dtype
            return True if dtype == torch.bool else 0.5 if dtype.is_floating_point else 4
        if func is aten.is_pinned.default:
            return bool(getattr(args[0], "pinned", False))
        if func in (aten._pin_memory.default, aten.pin_memory.default):
            pinned = args[0].clone()
            pinned.pinned = True
            return pinned
        if on_device and self._waits(func, args):
            self._wait(func.name())
        if func is aten.repeat_interleave.Tensor and (known := getattr(args[0], "known", None)):
            return args[0].new_empty(sum(known))
        if torch.is_inference_mode_enabled() and func.namespace == "aten":  # composite operations come here whole
            with self:
                if (made := func.decompose(*args, **kwargs)) is not NotImplemented:
                    return made
        out = func(*args, **kwargs)
        results = [leaf for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        self._count_copy(func, args, kwargs, results)
        self._count_memory(results)
        if func in PRODUCTS and on_device:
            self.counts.product_bytes += sum(tensor.nbytes for tensor in [*there, *results])
            self.counts.flops += flop_registry[func._overloadpacket](*args, **kwargs, out_val=results[0])
        elif (
            there and not on_device and any(result.numel() > LARGE and result.is_floating_point() for result in results)
        ):
            self.counts.wrong.append(f"{func.name()} on the host {_line()}")
        return out

    def _waits(self, func: Any, args: Any) -> bool:
        masked = func in (aten.index.Tensor, aten.index_put_.default) and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
        return func in WAITING or masked

    def _count_copy(self, func: Any, args: Any, kwargs: Any, results: list[torch.Tensor]) -> None:
        if func is aten._to_copy.default:
            source, target, at_once = args[0], results[0], not kwargs.get("non_blocking")
        elif func is aten.copy_.default:
            source, target, at_once = args[1], args[0], not (len(args) > 2 and args[2])
        else:
            return
        if source.device.type == target.device.type:
            return
        way = "to device" if target.device.type == NAME else "to host"
        self.counts.copied[way] += source.nbytes
        # A copy that is not to block needs pinned memory; to the host it is ready only after a wait.
        if at_once or way == "to host" or not getattr(source, "pinned", False):
            self._wait(way)

    def _count_memory(self, results: list[torch.Tensor]) -> None:
        for result in results:
            storage = result.untyped_storage()
            if result.device.type != NAME or getattr(storage, "counted", False):
                continue
            storage.counted = True  # type: ignore[attr-defined]
            size = storage.nbytes()
            self._held += size
            self.counts.peak = max(self.counts.peak, self._held)
            weakref.finalize(storage, self._free, size)

    def _free(self, size: int) -> None:
        self._held -= size

    def _wait(self, reason: str) -> None:
        self.counts.waits[f"{reason} {_line()}"] += 1


def _line() -> str:
    """The innermost line of the package, and what it calls elsewhere."""
    for frame in reversed(traceback.extract_stack()):
        if "/verikit/" in frame.filename and "fake_gpu" not in frame.filename:
            return f"{frame.filename.split('/verikit/')[-1]}:{frame.lineno} {frame.line}"
    return "?"


@contextlib.contextmanager
def device(counts: Counts) -> Iterator[torch.device]:
    """A block in which tensors may be put on the device."""
    made = torch.tensor

    def tensor(data: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> torch.Tensor:
        built = made(data, dtype=dtype, **options)  # as torch does: on the host first
        built = built if device is None else built.to(device)
        built.known = data  # type: ignore[attr-defined]
        return built

    def tolist(self: torch.Tensor) -> Any:
        if self.device.type == NAME:
            gpu._wait("tolist")
        value: Any = 0.5 if self.dtype.is_floating_point else 4
        for size in reversed(self.shape):
            value = [value] * size
        return value

    place, gpu = register(), Gpu(counts)
    patches = mock.patch.object(torch, "tensor", tensor), mock.patch.object(FakeTensor, "tolist", tolist)
    with patches[0], patches[1], FakeTensorMode(), gpu:
        yield place


def move(module: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """Put the module's weights and buffers there, tied ones once; not counted as a copy."""
    seen: dict[int, tuple[Any, Any]] = {}
    for part in list(module.modules()):
        for store, parameters in ((part._parameters, True), (part._buffers, False)):
            for name, old in list(store.items()):
                if old is None:
                    continue
                if id(old) not in seen:
                    new = torch.empty(old.shape, dtype=old.dtype, device=device)
                    seen[id(old)] = (torch.nn.Parameter(new, old.requires_grad) if parameters else new, old)
                store[name] = seen[id(old)][0]
    return module


def model() -> Any:
    import transformers

    options = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, num_key_value_heads=2, max_position_embeddings=256, **options
    )
    return transformers.LlamaForCausalLM(config).eval()


def learn(*settings: str, bf16: bool = False, prompts: int = 8) -> Counts:
    """One optimizer step over eight rows in several micro-batches; with fewer prompts than rows, rows share them."""
    from verikit.trainers import batch, learner
    from verikit.trainers.config import load_config
    from verikit.trainers.distributed import World
    from verikit.trainers.policy import PolicyModel
    from verikit.trainers.precision import prepare_model
    from verikit.trainers.recipe import Trajectory

    config = load_config("arithmetic", ["batch.tokens=64", 'precision.master="float32"', *settings])
    draw, rows = random.Random(0), []
    begun = [[draw.randrange(VOCABULARY) for _ in range(4 if prompts == 8 else 12)] for _ in range(prompts)]
    for number in range(8):
        prompt = begun[number % prompts]
        ids = [*prompt, *(draw.randrange(VOCABULARY) for _ in range(8 + number))]
        own = [False] * len(prompt) + [True] * (8 + number)
        row = batch.as_row(number, Trajectory(ids, own, [-1.0] * len(ids), 1.0, 0))
        row.advantage = torch.full((len(row.where),), 0.5 - number / 8)
        row.reference = row.sampled - 0.1 if config.kl.coefficient else None
        rows.append(row)
    policy = PolicyModel(prepare_model(model(), config), bf16)  # compares head and body on numbers
    shared = policy.shares_prompts and batch.worth_sharing(rows)
    assert shared == (prompts < 8)
    counts = Counts(units=len(batch.micro_batches(rows, 64, packed=config.batch.packing, shared=shared)))
    with device(counts) as gpu:
        rows = [_fake(row) for row in rows]
        move(policy, gpu)
        world = World()
        world.device = gpu
        made = learner.Learner(policy, world, config, config.optimizer, config.loss, 10)
        made._step(rows)
        states = [leaf for state in made.optimizer.state.values() for leaf in tree_leaves(state)]
        held = [*policy.parameters(), *(state for state in states if isinstance(state, torch.Tensor) and state.dim())]
        counts.wrong += [f"{tuple(tensor.shape)} on {tensor.device}" for tensor in held if tensor.device != gpu]
        if not made.optimizer.state:
            counts.wrong.append("no step was taken")
    return counts


def _fake(row: Any) -> Any:
    for name in ("sampled", "advantage", "reference"):
        tensor = getattr(row, name)
        setattr(row, name, None if tensor is None else torch.empty(tensor.shape))
    return row


def decode(copied: bool = True, tokens: int = 24, **options: Any) -> Counts:
    """Three groups of four completions."""
    from verikit.engines.hf import decoder
    from verikit.engines.hf.sampler import SamplingGroup

    counts, real = Counts(units=tokens), model()
    with mock.patch.object(decoder, "COPIED_BELOW", decoder.COPIED_BELOW if copied else 0), device(counts) as gpu:
        made = decoder.Decoder(move(real, gpu), [9])
        groups = [
            SamplingGroup([*range(1, 5 + key)], (key,), n=4, max_tokens=tokens, temperature=0.7, **options)
            for key in range(3)
        ]
        rows = made.decode(groups, tempered=True)
        assert all(len(row.ids) == tokens for group in rows for row in group)
    return counts


def head(tokens: int = 8192, vocabulary: int = 151_936, hidden: int = 1536) -> Counts:
    """The log-probabilities of a long micro-batch at a real vocabulary, forward and backward."""
    from verikit.trainers.policy import LinearLogProb

    counts = Counts()
    with device(counts) as gpu:
        states = torch.empty(tokens, hidden, dtype=torch.bfloat16, device=gpu, requires_grad=True)
        weight = torch.empty(vocabulary, hidden, dtype=torch.bfloat16, device=gpu, requires_grad=True)
        targets = torch.empty(tokens, dtype=torch.int64, device=gpu)
        apply: Any = LinearLogProb.apply
        apply(states, weight, None, targets, False)[0].sum().backward()
    return counts


def score(tokens: int = 8192, vocabulary: int = 151_936) -> Counts:
    """The log-probabilities of one long prompt; what the model holds is left out of the peak."""
    import transformers

    from verikit.engines.hf.score import score_tokens

    config = transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1,
        max_position_embeddings=2 * tokens,
    )  # fmt: skip
    counts, real = Counts(units=tokens), transformers.LlamaForCausalLM(config).eval()
    score_tokens(real, [[1, 2]])  # compares head and body on numbers
    with device(counts) as gpu:
        score_tokens(move(real, gpu), [list(range(4)) * (tokens // 4)])
    return counts


def broken(fault: str) -> Counts:
    """What each budget is there to find, done on purpose."""
    counts = Counts()
    with device(counts) as gpu:
        here, there = torch.ones(64, 64), torch.ones(64, 64, device=gpu)
        if fault == "wait":
            float(there.sum()), there.tolist()
            with contextlib.suppress(DynamicOutputShapeException):
                there[there > 0]
        elif fault == "copy":
            here.to(gpu)
            there.cpu()
        elif fault == "mixed":
            here + there
        elif fault == "host":
            torch.ones(8 * VOCABULARY) * 2
        elif fault == "memory":
            _ = [there * 2 for _ in range(4)]
    return counts


CASES: dict[str, Callable[[], Counts]] = {
    "learn": lambda: learn("kl.coefficient=0.1", "loss.entropy=0.01", "precision.checkpointing=true", bf16=True),
    "learn fp32": learn,
    "learn packed": lambda: learn("batch.packing=true", bf16=True),
    "learn gspo": lambda: learn(
        'loss.kind="gspo"', 'loss.aggregation="seq-mean-token-mean"', 'loss.mismatch="sequence-mask"', bf16=True
    ),
    "learn lora": lambda: learn("precision.lora_rank=4"),
    "learn shared": lambda: learn(bf16=True, prompts=2),
    "decode": decode,
    "decode shared": lambda: decode(copied=False),
    "decode top-p": lambda: decode(top_p=0.9),
    "head": head,
    "score": score,
} | {f"broken {fault}": (lambda fault=fault: broken(fault)) for fault in ("wait", "copy", "mixed", "host", "memory")}


def main(names: list[str]) -> None:
    """Print each case's counts, or its error, as JSON."""
    logging.disable(logging.WARNING)
    found: dict[str, Any] = {}
    for name in names or CASES:
        try:
            found[name] = vars(CASES[name]())
        except Exception as error:  # told to the test, case by case
            own = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
            found[name] = {"error": f"{type(error).__name__}: {error}"[:2000], "at": own[-6:]}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
