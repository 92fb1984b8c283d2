"""Experiment trackers: Weights & Biases, TensorBoard, trackio and MLflow, each imported only if a run names it.

A run's own files are complete. A tracker receives a copy, and its failures do not affect the run.
"""

from verikit.tracking.finished import track_run
from verikit.tracking.spec import TRACKERS, TrackerSpec, read_trackers
from verikit.tracking.trackers import Trackers

__all__ = ["TRACKERS", "TrackerSpec", "Trackers", "read_trackers", "track_run"]
