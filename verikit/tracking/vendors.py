"""The trackers, each through its own package: metrics of a step, a run's summary, tables of samples.

`import_module` replaces `import`: these packages are extras, imported when a run names one.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from verikit.platform.terminal import markdown_table
from verikit.tracking.spec import TrackerSpec

PROJECT = "verikit"
"""Default project for specs that name none."""
PARAMETER_CHARS = 500
"""Maximum characters of an MLflow parameter. The whole configuration is also logged as an artifact."""
AT_ONCE = 100
"""Maximum parameters per MLflow request."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run's data for opening a tracker."""

    name: str
    folder: Path | None
    """The run's folder. None if nothing is stored."""
    config: Mapping[str, Any] = field(default_factory=dict)
    kept: str = ""
    """The tracker's own name of the run to resume. "" starts a new one."""


class Tracker(ABC):
    """An open run of one tracker."""

    run: str = ""
    """Value of `TrackedRun.kept` with which another process can resume it."""

    @abstractmethod
    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Add a step's numbers."""

    def summary(self, metrics: Mapping[str, float]) -> None:
        """Set the numbers of a finished run."""
        self.log(metrics, 0)

    @abstractmethod
    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], step: int) -> None:
        """Add a table."""

    @abstractmethod
    def close(self) -> None:
        """Hand in everything."""


def open_tracker(spec: TrackerSpec, run: TrackedRun) -> Tracker:
    """Start or resume a tracker's run. Raises any exception of the tracker's package."""
    kinds: dict[str, Callable[[TrackerSpec, TrackedRun], Tracker]] = {
        "wandb": _WandB,
        "tensorboard": _TensorBoard,
        "trackio": _Trackio,
        "mlflow": _MLflow,
    }
    return kinds[spec.kind](spec, run)


class _WandB(Tracker):
    """Weights & Biases; `WANDB_MODE=offline` writes to the run's folder, for `wandb sync`."""

    def __init__(self, spec: TrackerSpec, run: TrackedRun) -> None:
        self._wandb: Any = import_module("wandb")
        entity, _, project = (spec.project or PROJECT).rpartition("/")
        self.run = run.kept or uuid.uuid4().hex[:12]
        self._run = self._wandb.init(
            project=project,
            entity=entity or None,
            name=run.name,
            id=self.run,
            resume="allow",
            reinit="create_new",  # a run that the caller has open is his
            dir=None if run.folder is None else str(run.folder),
            config=dict(run.config),
            settings=self._wandb.Settings(console="off"),
        )
        # W&B's own steps only grow: a warm-up's would hide those after it.
        self._run.define_metric("*", step_metric="step")
        self._run.define_metric("warmup/*", step_metric="warmup/step")

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        warming = any(name.startswith("warmup/") for name in metrics)
        self._run.log({**metrics, "warmup/step" if warming else "step": step})

    def summary(self, metrics: Mapping[str, float]) -> None:
        self._run.summary.update(dict(metrics))

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], step: int) -> None:
        table = self._wandb.Table(columns=list(columns), data=[list(row) for row in rows], allow_mixed_types=True)
        self._run.log({name: table, "step": step})

    def close(self) -> None:
        self._run.finish()


class _TensorBoard(Tracker):
    """Event files, in `tensorboard/` in the run's folder, or in a folder with the run's name in the named folder."""

    def __init__(self, spec: TrackerSpec, run: TrackedRun) -> None:
        writer = import_module("tensorboard.summary.writer.event_file_writer")
        self._events: Any = import_module("tensorboard.compat.proto.event_pb2")
        self._summaries: Any = import_module("tensorboard.compat.proto.summary_pb2")
        self._tensors: Any = import_module("tensorboard.compat.proto.tensor_pb2")
        self._types: Any = import_module("tensorboard.compat.proto.types_pb2")
        if not spec.project and run.folder is None:
            raise ValueError("TensorBoard needs a folder: tensorboard:DIR")
        path = Path(spec.project, run.name) if spec.project else Path(run.folder or "", "tensorboard")
        self._writer: Any = writer.EventFileWriter(str(path))
        self.run = str(path)
        if not run.kept:
            told = json.dumps(run.config, indent=2, ensure_ascii=False, default=str)
            self._text("config", "".join(f"    {line}\n" for line in told.splitlines()), 0)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        values = [self._summaries.Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._add(values, step)

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], step: int) -> None:
        cells = [["" if cell is None else _flat(str(cell)) for cell in row] for row in rows]
        self._text(name, "\n".join(markdown_table(list(columns), cells)), step)

    def close(self) -> None:
        self._writer.close()

    def _text(self, name: str, text: str, step: int) -> None:
        data = self._summaries.SummaryMetadata.PluginData(plugin_name="text")
        tensor = self._tensors.TensorProto(dtype=self._types.DT_STRING, string_val=[text.encode("utf-8", "replace")])
        metadata = self._summaries.SummaryMetadata(plugin_data=data)
        self._add([self._summaries.Summary.Value(tag=f"{name}/text_summary", metadata=metadata, tensor=tensor)], step)

    def _add(self, values: Sequence[Any], step: int) -> None:
        summary = self._summaries.Summary(value=values)
        self._writer.add_event(self._events.Event(wall_time=time.time(), step=step, summary=summary))
        self._writer.flush()


class _Trackio(Tracker):
    """trackio: local, unless its own environment variables name a Space or a server."""

    def __init__(self, spec: TrackerSpec, run: TrackedRun) -> None:
        self._trackio: Any = import_module("trackio")
        self.run = run.kept or f"{run.name}-{uuid.uuid4().hex[:6]}"
        self._run = self._trackio.init(
            project=spec.project or PROJECT,
            name=self.run,
            config=_plain(run.config),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self._run.log(dict(metrics), step=step)

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], step: int) -> None:
        table = self._trackio.Table(columns=list(columns), data=[list(row) for row in rows])
        self._run.log({name: table}, step=step)

    def close(self) -> None:
        self._run.finish()


class _MLflow(Tracker):
    """MLflow: the store that `MLFLOW_TRACKING_URI` names, or files in `./mlruns` by default."""

    def __init__(self, spec: TrackerSpec, run: TrackedRun) -> None:
        self._entities: Any = import_module("mlflow.entities")
        uri = os.environ.get("MLFLOW_TRACKING_URI") or Path("mlruns").resolve().as_uri()
        if uri.startswith("file:") or "://" not in uri:
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # otherwise MLflow 3 requires a database
        self._client: Any = import_module("mlflow.tracking").MlflowClient(uri)
        if run.kept:
            self.run = run.kept
            self._client.update_run(self.run, status="RUNNING")
            return
        name = spec.project or PROJECT
        found = self._client.get_experiment_by_name(name)
        experiment = self._client.create_experiment(name) if found is None else found.experiment_id
        self.run = self._client.create_run(experiment, run_name=run.name).info.run_id
        parameters = [
            self._entities.Param(_name(key), str(value)[:PARAMETER_CHARS]) for key, value in _leaves(run.config)
        ]
        for start in range(0, len(parameters), AT_ONCE):
            self._client.log_batch(self.run, params=parameters[start : start + AT_ONCE])
        self._client.log_dict(self.run, _plain(run.config), "config.json")

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        now = time.time_ns() // 10**6
        heads = {name[:at] for name in metrics for at in range(len(name)) if name[at] == "/"}
        # A file store can't have both `reward` and `reward/solver`: one is a file, the other in a folder.
        named = {f"{name}/all" if name in heads else name: value for name, value in metrics.items()}
        made = [self._entities.Metric(_name(name), float(value), now, step) for name, value in named.items()]
        self._client.log_batch(self.run, metrics=made)

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], step: int) -> None:
        path = f"{name}-{step:06d}.json"
        self._client.log_dict(self.run, {"columns": list(columns), "data": [list(row) for row in rows]}, path)
        # What mlflow.log_table does as well (it needs pandas): the page shows such files as tables.
        known = json.loads(self._client.get_run(self.run).data.tags.get("mlflow.loggedArtifacts", "[]"))
        if (entry := {"path": path, "type": "table"}) not in known:
            self._client.set_tag(self.run, "mlflow.loggedArtifacts", json.dumps([*known, entry]))

    def close(self) -> None:
        self._client.set_terminated(self.run)


def _name(text: str) -> str:
    """Return a name in characters that MLflow accepts. `pass@8` and `pass^8` stay distinct."""
    return re.sub(r"[^\w\-. :/]", "_", text.replace("@", "_at_").replace("^", "_hat_"))


def _leaves(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in config.items():
        nested = isinstance(value, Mapping) and value
        found += _leaves(value, f"{prefix}{key}.") if nested else [(f"{prefix}{key}", value)]
    return found


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(config, default=str))
    return plain


def _flat(text: str) -> str:
    """Convert a string to a Markdown table cell."""
    return text.replace("\r", "").replace("\n", "<br>")
