"""Read torch's distributed checkpoints as data. torch itself unpickles their `.metadata` and non-tensor values.

The metadata goes through an unpickler that allows only the classes that torch writes there. Those classes only store
values. Everything else goes through torch's own restricted unpickler (`weights_only`).
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta
from torch.distributed.checkpoint.planner import ReadItem

_DCP = "torch.distributed.checkpoint"
_CLASSES = {
    (f"{_DCP}.metadata", name)
    for name in (
        "BytesStorageMetadata",
        "ChunkStorageMetadata",
        "Metadata",
        "MetadataIndex",
        "StorageMeta",
        "TensorProperties",
        "TensorStorageMetadata",
        "_MEM_FORMAT_ENCODING",
    )
} | {
    (f"{_DCP}.filesystem", "_StorageInfo"),
    ("torch", "Size"),
    ("torch.serialization", "_get_layout"),
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
    ("pathlib._local", "PosixPath"),
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _CLASSES or (module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"its .metadata names {module}.{name}, which is not part of a checkpoint")


class PlainReader(FileSystemReader):  # type: ignore[misc]
    """torch's reader of a folder, with a safe way to read metadata."""

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Read `.metadata`.

        Raises:
            UnpicklingError: It contains anything but metadata, or leads out of the folder.
        """
        with open(Path(self.path) / ".metadata", "rb") as stream:
            found = _Unpickler(stream).load()
        if not isinstance(found, Metadata) or not isinstance(found.storage_data, dict):
            raise pickle.UnpicklingError("its .metadata is not from a checkpoint")
        for stored in found.storage_data.values():
            if Path(stored.relative_path).name != stored.relative_path:
                raise pickle.UnpicklingError(f"its .metadata leads out of the folder, to {stored.relative_path}")
        found.storage_meta = StorageMeta(load_id=self.load_id)
        return found


class PlainPlanner(DefaultLoadPlanner):  # type: ignore[misc]
    """torch's planner, with a safe way to read non-tensor values (settings of the optimizer)."""

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Load a value with torch's restricted unpickler and save it again, since torch's planner unpickles all values.

        Raises:
            UnpicklingError: It contains more than plain values.
        """
        written = io.BytesIO()
        try:
            torch.save(torch.load(value, weights_only=True), written)
        except pickle.UnpicklingError:  # its message advises to unpickle everything
            name = read_item.dest_index.fqn
            raise pickle.UnpicklingError(f"{name} contains code or an unsupported value") from None
        written.seek(0)
        super().load_bytes(read_item, written)
