"""Stored runs of agents as an lm-eval model: the files that each run left, instead of replies.

`replay:FOLDER` is a folder of Harbor's trials, or a folder with one folder per document, named by its id. The trials of
a task are its repeats.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.env.harbor import trials
from verikit.evals.deliverables import ROOT
from verikit.evals.replies import FilesReply
from verikit.evals.stored import Replayed
from verikit.readers.trials import RESULT, is_trials


class StoredFiles(Replayed):
    """Workspaces from a folder."""

    def __init__(self, path: str) -> None:
        """List the folder's trials, if it has any."""
        super().__init__(path)
        self._folder = os.path.realpath(path)
        self._trials: dict[str, list[str]] | None = None
        if is_trials(path):
            self._trials = {}
            for trial, _ in trials(Path(path)):  # a trial whose trajectory can't be read has files all the same
                name = str(json.loads(Path(trial, RESULT).read_bytes()).get("task_name"))
                self._trials.setdefault(name, []).append(os.path.realpath(trial))

    @property
    def identity(self) -> str:
        """Changes with the names, sizes and times of the files."""
        total = hashlib.sha256()
        for at, folders, names in os.walk(self._folder):
            folders.sort()
            for name in sorted(names):
                stat = os.lstat(os.path.join(at, name))
                total.update(os.fsencode(f"{at}/{name}\0{stat.st_size}\0{stat.st_mtime_ns}\0"))
        return total.hexdigest()

    def outputs(self, doc: Mapping[str, Any]) -> Sequence[str]:
        """Return the workspaces of a document, each as a reply without text."""
        id = str(doc["id"])
        if self._trials is not None:
            found = self._trials.get(id) or self._trials.get(str(doc["category"]), [])
            return [_reply("trial", trial) for trial in found]
        own = os.path.join(self._folder, id)
        if os.path.basename(own) != id or not os.path.isdir(own):
            return []
        return [_reply("after", own)]


def _reply(key: str, path: str) -> FilesReply:
    return FilesReply({key: os.path.relpath(path, ROOT)})
