"""Specs of trackers: `wandb:project`, `tensorboard`, `trackio:project`, `mlflow:experiment`, and options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module

from verikit.errors import MissingExtra, UsageError, nearest

TRACKERS: Mapping[str, str] = {
    "wandb": "wandb",
    "tensorboard": "tensorboard.summary.writer.event_file_writer",
    "trackio": "trackio",
    "mlflow": "mlflow.tracking",
}
"""Each tracker's name, and the module that it needs."""
SAMPLES = 100
"""Default number of samples per table."""
_FORMS = "wandb:PROJECT, tensorboard, trackio:PROJECT or mlflow:EXPERIMENT; behind it ,samples=N and ,name=RUN"


@dataclass(frozen=True, slots=True)
class TrackerSpec:
    """A tracker, and the project that receives the run."""

    kind: str
    project: str = ""
    """A project (`entity/project` for W&B), an experiment, or TensorBoard's folder; "" is `verikit`, or the run's."""
    samples: int = SAMPLES
    """Maximum samples per table. 0 sends no texts."""
    name: str = ""
    """The run's name; "": its folder's."""

    @classmethod
    def read(cls, text: str) -> TrackerSpec:
        """Parse a spec.

        Raises:
            UsageError: The spec is invalid.
        """
        head, *options = text.split(",")
        kind, _, project = head.partition(":")
        if kind not in TRACKERS:
            raise UsageError(f"tracker {text!r} not found", hint=nearest(kind, TRACKERS, _FORMS))
        found: dict[str, str] = {}
        for option in options:
            key, sign, value = option.partition("=")
            if not sign or key not in ("samples", "name") or (key == "samples" and not value.isdecimal()):
                raise UsageError(f"tracker {text!r}: option {option!r} not found", hint=_FORMS)
            found[key] = value
        return cls(kind, project, int(found.get("samples", SAMPLES)), found.get("name", ""))

    @property
    def key(self) -> str:
        """Identifies it among a run's trackers: its name and its project."""
        return f"{self.kind}:{self.project}" if self.project else self.kind

    def check(self) -> None:
        """Import the tracker's package.

        Raises:
            MissingExtra: It is not installed.
        """
        try:
            import_module(TRACKERS[self.kind])
        except ImportError:
            raise MissingExtra(f"the tracker {self.kind}", "trackers") from None


def read_trackers(specs: Iterable[str]) -> list[TrackerSpec]:
    """Parse specs, each of another tracker or project.

    Raises:
        UsageError: A spec is invalid, or two are the same.
        MissingExtra: A tracker's package is not installed.
    """
    found: dict[str, TrackerSpec] = {}
    for text in specs:
        spec = TrackerSpec.read(text)
        if spec.key in found:
            raise UsageError(f"the tracker {spec.key} is named twice")
        found[spec.key] = spec
    for spec in found.values():
        spec.check()
    return list(found.values())
