"""What each tracker holds of a run, read by the tracker's own package: values by metric and step, and tables."""

import json
import struct
from pathlib import Path


def tensorboard(folder):
    """Scalars by tag as lists of (step, value), and texts by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), size_guidance={"tensors": 0, "scalars": 0})
    found.Reload()
    tags = found.Tags()
    scalars = {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in tags["scalars"]}
    texts = {tag: [e.tensor_proto.string_val[0].decode() for e in found.Tensors(tag)] for tag in tags["tensors"]}
    return scalars, texts


def wandb(folder):
    """Of each session that was written offline: the run's id, its history rows, its summary and its configuration."""
    from wandb.proto.wandb_internal_pb2 import Record

    sessions = []
    for file in sorted(Path(folder).glob("wandb/offline-run-*/*.wandb")):
        session = {"id": "", "history": [], "summary": {}, "config": {}}
        for data in wandb_records(file.read_bytes()):
            record = Record()
            record.ParseFromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                session["id"] = record.run.run_id
                session["config"] |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
            elif kind == "history":
                items = {(item.key or ".".join(item.nested_key)): item.value_json for item in record.history.item}
                session["history"].append({key: json.loads(value) for key, value in items.items()})
            elif kind == "summary":
                items = {(i.key or ".".join(i.nested_key)): i.value_json for i in record.summary.update}
                session["summary"] |= {key: json.loads(value) for key, value in items.items()}
        sessions.append(session)
    return sessions


def wandb_records(data):
    """The records of a `.wandb` file: LevelDB's log format (blocks of 32 KiB, records in fragments) after 7 bytes."""
    at, record = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        record += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last fragment
            yield record
            record = b""


def wandb_tables(folder):
    """The tables that were written offline, as lists of rows by column."""
    files = sorted(Path(folder).glob("wandb/offline-run-*/files/media/table/*.json"))
    tables = [json.loads(file.read_text()) for file in files]
    return [[dict(zip(table["columns"], row, strict=True)) for row in table["data"]] for table in tables]


def trackio(project):
    """Logged rows by run."""
    from trackio.sqlite_storage import SQLiteStorage

    return {run: SQLiteStorage.get_logs(project, run) for run in SQLiteStorage.get_runs(project)}


def mlflow(uri, experiment):
    """The experiment's runs, each with its metrics as lists of (step, value), and its artifacts that are JSON."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    found = []
    for run in client.search_runs([client.get_experiment_by_name(experiment).experiment_id]):
        id = run.info.run_id
        history = {key: client.get_metric_history(id, key) for key in run.data.metrics}
        files = [artifact.path for artifact in client.list_artifacts(id)]
        found.append(
            {
                "id": id,
                "name": run.info.run_name,
                "status": run.info.status,
                "params": run.data.params,
                "tags": run.data.tags,
                "metrics": {key: [(point.step, point.value) for point in points] for key, points in history.items()},
                "files": {path: json.loads(Path(client.download_artifacts(id, path)).read_text()) for path in files},
            }
        )
    return found
