"""One process of `test_shards`: trains, counts the bytes of tensors that live, and writes both down.

python -m torch.distributed.run … -m tests.trainers.counted FOLDER SETTINGS… [--resume]
"""

import sys
import weakref
from contextlib import closing
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from verikit.trainers.config import load_config
from verikit.trainers.distributed import join
from verikit.trainers.grpo import Trainer
from verikit.trainers.merge import plain_weights
from verikit.trainers.run import RunFolder


class LiveBytes(TorchDispatchMode):
    """The bytes of all storages made under it that are still held, and the most there were."""

    def __init__(self):
        super().__init__()
        self.storages = {}
        self.peak = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # its own operations on local tensors come here
        made = function(*arguments, **(keywords or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor) and not isinstance(leaf, FakeTensor) and leaf.device.type == "cpu":
                storage = leaf.untyped_storage()
                if self.storages.get(storage._cdata, lambda: None)() is None:  # an address may be another's by now
                    self.storages[storage._cdata] = weakref.ref(storage)
        self.peak = max(self.peak, self.now())
        return made

    def seen(self, tensors):
        """Those that were there before and are counted all the same, since something was a view of them."""
        return [tensor for tensor in tensors if tensor.untyped_storage()._cdata in self.storages]

    def now(self):
        live = {key: storage() for key, storage in self.storages.items()}
        self.storages = {key: self.storages[key] for key, storage in live.items() if storage is not None}
        return sum(storage.nbytes() for storage in live.values() if storage is not None)


def own_bytes(tensors):
    local = [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors]
    return sum(tensor.numel() * tensor.element_size() for tensor in local)


def main(folder: Path, changes: list[str], resume: bool) -> None:
    config = load_config("arithmetic", changes)
    counter, found = LiveBytes(), {}
    torch.set_num_threads(1)
    with (
        closing(join(config.distributed)) as world,
        closing(RunFolder(folder, main=world.rank == 0)) as opened,
        counter,
    ):
        if not resume:
            opened.begin(config, world.size)
        trainer = Trainer(config, opened, world)
        found["load"] = counter.peak
        found["weights"] = own_bytes(trainer.policy.parameters())
        clip, learn = world.clip_gradients, trainer.learner.learn

        def counted_clip(policy, limit):
            found["gradients"] = own_bytes(
                parameter.grad for parameter in policy.parameters() if parameter.grad is not None
            )
            return clip(policy, limit)

        def counted_learn(rows, step):
            trainer.engine.rest()
            counter.peak = 0
            found["before_learning"] = counter.now()
            try:
                return learn(rows, step)
            finally:
                found["learning"] = counter.peak
                found["after_learning"] = counter.now()

        world.clip_gradients, trainer.learner.learn = counted_clip, counted_learn  # type: ignore[method-assign]
        if resume:
            trainer.resume()
        trainer.run()
        state = trainer.learner.optimizer.state
        found["optimizer"] = own_bytes(
            t for value in state.values() for t in value.values() if isinstance(t, torch.Tensor)
        )
        found["now"] = counter.now()
        weights = {weight.name: weight.whole().clone() for weight in plain_weights(trainer.policy.model)}
        everywhere = world.gather(found)
        if world.rank == 0:
            torch.save({"weights": weights, "bytes": everywhere}, folder / "found.pt")
        trainer.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [text for text in sys.argv[2:] if text != "--resume"], "--resume" in sys.argv)
