"""A training run, from its settings to the finished folder, shared by the command and the Python function."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from verikit.engines.hf.load import import_transformers
from verikit.errors import ConfigError
from verikit.platform.terminal import Watch, printable
from verikit.trainers.config import Config, changed, differences, read_config
from verikit.trainers.run import RunFolder, read_settings
from verikit.trainers.view import View

FIXED = ("recipe", "seed", "model.")
"""Settings that must not change when a run is resumed."""
ROUTING = (
    "This model has experts (MoE). Sampler and trainer can choose different experts for a token."
    ' `mismatch` in metrics.jsonl measures it, and loss.mismatch = "sequence-mask" corrects for it.'
)


def run_training(settings: Config, path: Path, *, resume: bool = False, quiet: bool = False) -> bool:
    """Train into a folder, or continue its run; return whether this process is the main one.

    Raises:
        ConfigError: The settings don't fit together, or the folder contains a run or can't be written.
        TrainerError: Training can't continue.
        MissingExtra: torch or transformers is not installed.
    """
    import_transformers("training", "train")
    from verikit.engines.cache import training_cache
    from verikit.judges.asking.ask import caching_in
    from verikit.trainers.distributed import join
    from verikit.trainers.experts import has_experts
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.precision import set_threads

    set_threads(settings.run.threads)
    with closing(join(settings.distributed)) as world, closing(RunFolder(path, main=world.rank == 0)) as folder:
        if resume:
            folder.note(settings)
        else:
            folder.begin(settings, world.size)
        folder.track(settings)
        view = View(settings)
        with caching_in(training_cache()), Watch(quiet=quiet or world.rank > 0) as watch:

            def report(row: dict[str, Any]) -> None:
                if told := view(row):
                    watch.note(told)

            def answered(line: str) -> None:
                watch.note(printable(line))

            watch.start(view.describe)
            with closing(Trainer(settings, folder, world, report, answered)) as trainer:
                if trainer.policy.bf16 and settings.precision.master == "auto":
                    fp32 = 'model.dtype = "float32" with precision.master = "same"'
                    watch.note(f"products in bf16, which this device is fast at; {fp32} keeps fp32")
                if trainer.policy.bf16 and has_experts(trainer.policy.model):
                    watch.note(ROUTING)
                if resume and not trainer.resume():
                    watch.note(f"{path} has no checkpoint yet: starting from the beginning")
                trainer.run()
        folder.seal(value for _, value in _strings(settings.model_dump(mode="json")))
    return world.rank == 0


def option_in(settings: Config) -> Callable[[str], str]:
    """Return a function from code named in a run's settings to its command-line option, including the key."""
    keys = {value: key for key, value in _strings(settings.model_dump(mode="json"))}
    return lambda name: f"--set {keys.get(name, 'KEY')}={shlex.quote(name)}"


def _strings(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each setting that is a string, with its dotted key."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _strings(value, f"{prefix}{name}.")
        elif isinstance(value, str):
            yield f"{prefix}{name}", value


def changed_settings(run: Path, changes: Sequence[str], told: Callable[[str], None]) -> Config:
    """Return a run's settings with `a.b=c` changes, and pass each difference to the callback.

    Raises:
        ConfigError: A change affects a fixed setting of the run.
    """
    old = read_settings(run)
    new = read_config(changed(old.model_dump(mode="json"), changes))
    for line in differences(old, new):
        if line.startswith(FIXED):
            raise ConfigError(
                f"{run} can't be resumed with another {line}", hint="train a new run, with -o for its folder"
            )
        told(f"changed: {printable(line)}")
    return new
