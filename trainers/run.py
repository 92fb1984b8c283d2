"""A run's folder: settings, environment, logs, checkpoints; one writer at a time.

    config.json        the resolved settings, which fully determine the run
    environment.json   versions, machine, processes
    model/             the model's config and tokenizer (weights are in the checkpoints)
    metrics.jsonl      one line per step, and one per held-out evaluation
    samples.jsonl      some completions with their rewards and parts
    checkpoints/       see `checkpoint`
    best/              see `best`

Logs are append-only. A checkpoint records their sizes, and resuming truncates them to those sizes.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verikit.errors import ConfigError, TrainerError
from verikit.platform.folders import refuse_links
from verikit.platform.secrets import strike_all
from verikit.platform.system import lock_file, processors
from verikit.scoring.manifest import MANIFEST, SIGNATURE, write_manifest
from verikit.tracking import Trackers, read_trackers
from verikit.tracking.trackers import STATE as TRACKERS
from verikit.trainers.config import Config

if TYPE_CHECKING:
    from verikit.trainers.batch import TrainRow

CONFIG, ENVIRONMENT, MODEL, CHECKPOINTS = "config.json", "environment.json", "model", "checkpoints"
REFERENCE = "reference"
"""The folder of the reference weights for a KL, if they are not the policy's own without adapters."""
METRICS, SAMPLES, LOCK = "metrics.jsonl", "samples.jsonl", ".lock"
PACKAGES = ("verikit", "torch", "transformers", "tokenizers", "peft", "torchao", "vllm")


class RunFolder:
    """The open folder of one run; `main` is False on processes that write nothing."""

    path: Path
    main: bool

    def __init__(self, path: Path, *, main: bool = True) -> None:
        """Open a folder, and create it if it doesn't exist.

        Raises:
            ConfigError: It can't be written, or another process trains in it.
            UsageError: It contains a link that leads out of it.
        """
        self.path, self.main = path, main
        refuse_links(path)
        if not main:
            return
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = open(path / LOCK, "a+b")  # noqa: SIM115 - open until close
            lock_file(self._lock)
        except BlockingIOError:
            self._lock.close()
            raise ConfigError(f"another process trains in {path}", hint="choose another folder with -o") from None
        except OSError as error:
            raise ConfigError(f"can't write to {path}: {error.strerror}", hint="choose another with -o") from None
        self._trackers: Trackers | None = None

    def begin(self, config: Config, world_size: int) -> None:
        """Write the first files of a new run. A run that never took a step does not block its folder.

        Raises:
            ConfigError: The folder contains a run.
        """
        if not self.main:
            return
        if (self.path / METRICS).exists() or (self.path / CHECKPOINTS).exists():
            hint = f"`verikit train --resume {self.path}` continues it; -o chooses another folder"
            raise ConfigError(f"{self.path} contains a run", hint=hint)
        for left in (MODEL, REFERENCE):
            shutil.rmtree(self.path / left, ignore_errors=True)
        (self.path / TRACKERS).unlink(missing_ok=True)
        self.note(config)
        self._write(ENVIRONMENT, environment(world_size))

    def note(self, config: Config) -> None:
        """Write the settings. The run is not finished from here on, so an earlier manifest is deleted."""
        if self.main:
            for name in (MANIFEST, SIGNATURE):
                (self.path / name).unlink(missing_ok=True)
            self._write(CONFIG, config.model_dump(mode="json"))

    def track(self, config: Config) -> None:
        """Also send metrics and samples to the trackers in the settings.

        Raises:
            UsageError: A tracker doesn't exist.
            MissingExtra: A tracker's package isn't installed.
        """
        if self.main and (specs := read_trackers(config.run.track)):
            self._trackers = Trackers(specs, self.path, config.model_dump(mode="json"), name=config.name)

    def append(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Add lines to a log.

        Raises:
            TrainerError: They can't be written, for example because the disk is full.
        """
        if not self.main or not rows:
            return
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            with open(self.path / name, "ab") as stream:
                stream.write(text.encode("utf-8", "replace"))
        except OSError as error:
            hint = "make room, then go on with `verikit train --resume`"
            raise TrainerError(f"can't write {self.path / name}: {error.strerror}", hint=hint) from None

    def metrics(self, row: dict[str, Any]) -> None:
        """Add one line of metrics."""
        self.append(METRICS, [row])
        if self.main and self._trackers is not None:
            warming = "warmup/" if row["phase"].startswith("0") else ""
            held_out = any(name.startswith("held-out/") for name in row)
            numbers = {f"{warming}{name}": value for name, value in row.items() if name != "step"}
            self._trackers.log(numbers, row["step"], f"{row['phase']} held-out" if held_out else row["phase"])

    def samples(self, rows: list[dict[str, Any]]) -> None:
        """Add lines of samples, all of one step."""
        self.append(SAMPLES, rows)
        if self.main and self._trackers is not None and rows:
            self._trackers.table("samples", rows, rows[0]["step"])

    def bad_batch(self, step: int, metrics: Mapping[str, float], rows: Sequence[TrainRow]) -> None:
        """Write a batch whose gradient was not finite to a separate file, for inspection."""
        if not self.main:
            return
        learnt = [{"ids": list(row.ids), "targets": row.targets, "advantage": row.advantage.tolist()} for row in rows]
        text = json.dumps({"step": step, "metrics": metrics, "rows": learnt})
        (self.path / f"not-finite-{step:06d}.json").write_text(text, "utf-8")

    def sizes(self) -> dict[str, int]:
        """Return the size of each log, for a checkpoint."""
        return {name: (self.path / name).stat().st_size for name in (METRICS, SAMPLES) if (self.path / name).exists()}

    def cut(self, sizes: Mapping[str, int]) -> None:
        """Truncate the logs to the sizes in a checkpoint."""
        for name in (METRICS, SAMPLES):
            path = self.path / name
            if self.main and path.exists():
                os.truncate(path, min(sizes.get(name, 0), path.stat().st_size))

    def seal(self, inputs: Iterable[str] = ()) -> None:
        """Write the manifest, because the run is finished.

        Raises:
            TrainerError: A file can't be read, or the manifest can't be written.
        """
        if not self.main:
            return
        try:
            write_manifest(self.path, inputs, {})
        except OSError as error:
            raise TrainerError(f"can't write {self.path / MANIFEST}: {error.strerror}") from None

    def close(self) -> None:
        """Release the folder."""
        if self.main:
            if self._trackers is not None:
                self._trackers.close()
            self._lock.close()

    def _write(self, name: str, value: Any) -> None:
        (self.path / name).write_text(json.dumps(strike_all(value), indent=2, ensure_ascii=False) + "\n", "utf-8")


def is_begun(path: Path) -> bool:
    """Whether a folder contains settings that `--resume` can continue with."""
    return (path / CONFIG).exists()


def read_settings(path: Path) -> Config:
    """Return the settings of a run.

    Raises:
        ConfigError: The folder has no settings.
        UsageError: It contains a link that leads out of it.
    """
    refuse_links(path)
    try:
        return Config.model_validate_json((path / CONFIG).read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} is not the folder of a training run: {CONFIG}: {error.strerror}") from None
    except ValueError as error:
        first = " ".join(str(error).split("\n")[1:3]) or str(error)  # pydantic's first problem: its key, and what it is
        told = f"{CONFIG}: {' '.join(first.partition(' [')[0].split())[:200]}"
        raise ConfigError(f"{path} has no valid settings of a training run: {told}") from None


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log; empty if the file doesn't exist.

    Raises:
        ConfigError: A line is not JSON.
    """
    if path.exists():
        with open(path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise ConfigError(f"{path}:{number}: the line is not JSON ({error})") from None
                yield row


def environment(world_size: int, device: str = "cpu") -> dict[str, Any]:
    """Return versions and machine; `device` is the device of the model."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": processors(),
        "processes": world_size,
        "arithmetic": _arithmetic(device),
        "command": sys.argv,
        "versions": found,
    }


def _arithmetic(device: str) -> dict[str, Any]:
    """Return the facts other than settings that determine the last bits of a result, through the choice of kernels."""
    import torch

    found: dict[str, Any] = {"torch": torch.__version__, "cpu": torch.backends.cpu.get_cpu_capability()}
    found["threads"] = torch.get_num_threads()
    if device.startswith("cuda"):
        found["gpu"] = torch.cuda.get_device_name()
    return found


def other_arithmetic(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how two environments differ in facts that determine the last bits of a result, "" if they don't.

    Checkpoints from before 0.3 lack these facts. Facts that only one of both has are ignored.
    """
    old, new = ({"processes": each.get("processes"), **each.get("arithmetic", {})} for each in (before, now))
    return ", ".join(f"{key} {old[key]} -> {new[key]}" for key in old if key in new and old[key] != new[key])
