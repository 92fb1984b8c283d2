"""Experiment trackers: Weights & Biases, TensorBoard, trackio and MLflow, each imported only where a run names it.

A run's own files hold everything; what goes to a tracker is a copy, and a tracker that fails never costs the run.
"""

from verikit.tracking.finished import track_run
from verikit.tracking.spec import TRACKERS, TrackerSpec, read_trackers
from verikit.tracking.trackers import Trackers

__all__ = ["TRACKERS", "TrackerSpec", "Trackers", "read_trackers", "track_run"]
