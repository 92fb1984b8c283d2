"""`verikit.train`: the command as a Python function."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from verikit.errors import ConfigError, UsageError
from verikit.platform.folders import code_only_from
from verikit.results.data import is_path, is_table, keep_rows
from verikit.results.folders import CallFolder
from verikit.results.run import FinishedRun
from verikit.trainers.config import Config, changed, load_config, read_config, shipped
from verikit.trainers.run import METRICS, SAMPLES, is_begun, read_log, read_settings
from verikit.trainers.session import changed_settings, run_training
from verikit.trainers.view import HELD_OUT, summary


class TrainRun(FinishedRun):
    """The result of `train`: metrics step by step, logged samples, and the model to export."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """Steps and seconds, and the first and last values of the reward and of each held-out metric."""
        rows = [row for row in self.records() if not str(row["phase"]).startswith("0")]
        found: dict[str, Any] = {
            "steps": max((row["step"] for row in rows), default=0),
            "seconds": rows[-1]["seconds"] if rows else 0.0,
        }
        for row in rows:
            for name in row:
                if name == "reward" or name.startswith(HELD_OUT):
                    found.setdefault(name, {"first": row[name]})["last"] = row[name]
        return found

    def lines(self) -> Iterator[str]:
        """The lines that `verikit train` prints at the end."""
        lines = list(summary(self.records()))
        return iter(lines or [f"trained for {self.summary['steps']:,} steps"])

    def records(self) -> Iterator[dict[str, Any]]:
        """Iterate over metrics.jsonl: one line per step, and one per held-out evaluation."""
        return read_log(self.path / METRICS)

    def samples(self) -> Iterator[dict[str, Any]]:
        """Iterate over samples.jsonl: some completions with their rewards and parts."""
        return read_log(self.path / SAMPLES)

    def export(self, folder: str | PathLike[str], *, step: int | None = None, best: bool = False) -> Path:
        """Write the model and tokenizer as a plain transformers folder, and return its path.

        Args:
            folder: The output folder.
            step: The checkpoint's step. Default: the last one.
            best: Write the weights that `run.best` kept, instead of a checkpoint's.

        Raises:
            ConfigError: The checkpoint doesn't exist, or the folder can't be written or contains other files.
        """
        from verikit.trainers.export import export_run

        path = Path(fspath(folder)).expanduser()
        export_run(self.path, read_settings(self.path), path, step, best=best)
        return path


def train(
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    out: str | PathLike[str] | None = None,
    resume: str | PathLike[str] | TrainRun | None = None,
    quiet: bool = False,
    **settings: Any,
) -> TrainRun:
    """Train a model by reinforcement learning on a verifier's rewards, or supervised.

    The same as `verikit train`, as a function. `train(resume=FOLDER)` continues a run that stopped for any reason. The
    result is the same.

    Args:
        config: A FILE.toml, the name of a built-in config (`arithmetic` is self-contained), or its tables.
        out: The run's folder. Default: runs/NAME, because a run contains a model.
        resume: A run or its folder to continue. Settings that don't affect the result may change.
        quiet: Show no progress on stderr.
        settings: Overrides of the config's settings, by table: `run={"steps": 20}`, `options={"data": rows}`. Options
            that name files also accept rows and data frames, which are saved in the run's folder.

    Returns:
        The finished run.

    Raises:
        ConfigError: A setting is wrong, or the folder already contains a run.
        TrainerError: Training can't continue. The checkpoints remain.
        MissingExtra: The extra `train` is not installed.
    """
    if (config is None) == (resume is None):
        hint = f"configs: {', '.join(shipped())}, or a FILE.toml"
        raise UsageError("train requires either a config or resume=", hint=hint)
    if resume is not None:
        path = resume.path if isinstance(resume, TrainRun) else Path(fspath(resume)).expanduser()
    else:
        path = _folder(config, out, settings)
    notes: list[str] = []
    changes = list(_changes(_with_files(settings, path)))
    with code_only_from(_texts(settings)) if resume is not None else nullcontext():
        loaded = _loaded(config, changes) if config is not None else changed_settings(path, changes, notes.append)
        try:
            run_training(loaded, path, resume=resume is not None, quiet=quiet)
        except KeyboardInterrupt as error:
            if is_begun(path):
                error.add_note(f"verikit.train(resume={str(path)!r}) continues from the last checkpoint")
            raise
    return TrainRun(CallFolder(path, None), notes)


def _loaded(config: str | PathLike[str] | Mapping[str, Any], changes: list[str]) -> Config:
    if isinstance(config, Mapping):
        return read_config(changed({"folder": str(Path.cwd()), **config}, changes))
    return load_config(str(Path(fspath(config)).expanduser()) if _is_file(config) else fspath(config), changes)


def _is_file(config: str | PathLike[str]) -> bool:
    return isinstance(config, PathLike) or config.endswith(".toml") or "/" in config


def _folder(config: Any, out: str | PathLike[str] | None, settings: Mapping[str, Any]) -> Path:
    if out is not None:
        return Path(fspath(out)).expanduser()
    own = config if isinstance(config, Mapping) else {"name": Path(fspath(config)).stem}
    name = settings.get("name") or own.get("name") or own.get("recipe", "run")
    return Path("runs", str(name))


def _with_files(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the settings, with each option given as rows replaced by a file."""
    options = settings.get("options", {})
    if not isinstance(options, Mapping):
        raise ConfigError("options is a table", hint='options={"data": rows}')
    rows = {name: value for name, value in options.items() if not is_path(value) and is_table(value)}
    files = {name: keep_rows(value, folder, f"{name}.jsonl", restart=False) for name, value in rows.items()}
    return {**settings, **({"options": {**options, **files}} if options else {})}


def _changes(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield settings as `a.b=c` changes, with values as in TOML."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _changes(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}={_toml(value, prefix + name)}"


def _toml(value: Any, name: str) -> str:
    plain = str(Path(value).resolve()) if isinstance(value, PathLike) else value
    if plain is None or (isinstance(plain, list) and None in plain):
        raise ConfigError(f"{name}: None is not a valid setting", hint="remove it to use the default")
    try:
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}", hint="use strings, numbers, lists and tables") from None


def _texts(settings: Any) -> Iterator[str]:
    """Yield every string in the settings."""
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        for value in settings.values():
            yield from _texts(value)
