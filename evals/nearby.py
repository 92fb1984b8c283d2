"""The files that a task file names: found from the working folder, or next to the task file.

So a task, its verifier and its rows can be copied to another machine as one folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verikit.names.spec import move_files


def find_files(config: dict[str, Any], folder: Path) -> None:
    """Replace the paths of data files and of verifiers' Python files that only exist in the task file's folder."""
    options = config.get("dataset_kwargs") or {}
    if "data_files" in options:
        config["dataset_kwargs"] = {**options, "data_files": _found(options["data_files"], folder)}
    for pipeline in config.get("filter_list") or ():
        for stage in pipeline["filter"]:
            if isinstance(metrics := stage.get("metrics"), Mapping):
                stage["metrics"] = {name: _in_spec(spec, folder) for name, spec in metrics.items()}


def replace_rows(config: dict[str, Any], data: str | None) -> None:
    """Make `--data` the file of the evaluated split, if the task reads its rows from files."""
    split = config.get("test_split") or config.get("validation_split")
    options = config.get("dataset_kwargs") or {}
    if data and split and "data_files" in options:
        files = options["data_files"]
        config["dataset_kwargs"] = {
            **options,
            "data_files": {**(files if isinstance(files, Mapping) else {}), split: data},
        }


def _found(files: Any, folder: Path) -> Any:
    if isinstance(files, Mapping):
        return {split: _found(some, folder) for split, some in files.items()}
    if isinstance(files, list):
        return [_found(file, folder) for file in files]
    return _near(files, folder) if isinstance(files, str) else files


def _in_spec(spec: Any, folder: Path) -> Any:
    return move_files(spec, lambda file: _near(file, folder)) if isinstance(spec, str) else spec


def _near(file: str, folder: Path) -> str:
    """The path in the folder, if it exists only there, relative if the task's is: results contain it.

    Otherwise the path unchanged.
    """
    near = folder / file
    return str(near) if not Path(file).exists() and near.exists() else file
