"""Imports transformers without its irrelevant log output, and loads folders and GGUF files with it."""

from __future__ import annotations

import logging
import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from struct import error as StructError
from typing import Any

from verikit.errors import MissingExtra, SpecError
from verikit.platform.folders import nearest_path
from verikit.platform.network import why_no_model

LOUD = ("torchao", "torch.utils._pytree")
"""Loggers that report kernels and classes at import, which are irrelevant to users."""


def import_transformers(what: str, extra: str) -> Any:
    """Import torch and transformers and return the latter, its progress bars off.

    It imports torchao if installed, which logs a long list of missing GPU kernels.

    Raises:
        MissingExtra: One of them is not installed. `what` needs them.
    """
    for name in LOUD:
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"torchao\b")
    try:
        import torch  # noqa: F401 - transformers imports without it, and fails later
        import transformers
    except ImportError as error:
        raise MissingExtra(f"{what} (no {error.name})", extra) from None
    transformers.utils.logging.disable_progress_bar()
    return transformers


def require_model(path: str, what: str) -> None:
    """Check that a model may exist, before transformers retries downloads for a minute.

    Args:
        path: A folder, or a name on the Hugging Face Hub.
        what: What is loaded, for the message.

    Raises:
        SpecError: It can't exist.
    """
    if reason := why_no_model(path):
        raise SpecError(f"can't load {what}: {reason}", hint=nearest_path(path, ""))


def load_causal(path: str, dtype: str) -> tuple[Any, Any]:
    """Load a causal language model and its tokenizer from a folder, the Hugging Face Hub or a GGUF file (unpacked).

    Raises:
        MissingExtra: torch, transformers or, for a GGUF file, gguf is not installed.
        SpecError: There is no such model.
    """
    transformers = import_transformers(f"hf:{path}", "hf")
    source, options = _source(path)
    require_model(source, f"hf:{path}")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
        unpacked = getattr(transformers, "GgufConfig", None) if options else None  # later versions keep numbers packed
        plain = {"quantization_config": unpacked(dequantize=True)} if unpacked is not None else {}
        model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **options, **plain)
    # A truncated file or one of another format raises various errors in the GGUF reader.
    except (OSError, ValueError, LookupError, NotImplementedError, StructError) as error:
        told = f"can't load hf:{path}: {' '.join(str(error).split())[:300]}"
        hub = "the path does not exist, so it was used as a name on the Hugging Face Hub"
        raise SpecError(told, hint="" if os.path.exists(path) else nearest_path(path, hub)) from None
    if options:
        model.hf_quantizer = None  # the weights are unpacked now; with a quantizer, transformers does not save them
    return model, tokenizer


def _source(path: str) -> tuple[str, dict[str, str]]:
    """Return the path for transformers, and its arguments for a GGUF file there.

    Raises:
        MissingExtra: It is one, and gguf or accelerate, which its reader needs, is not installed.
        SpecError: There is no such file.
    """
    file = Path(path)
    if file.suffix != ".gguf":
        return path, {}
    if not file.is_file():
        raise SpecError(f"can't load hf:{path}: the file does not exist")
    if find_spec("gguf") is None or find_spec("accelerate") is None:
        raise MissingExtra(f"hf:{path}", "gguf")
    # It uses tqdm directly, so transformers' setting for progress bars has no effect.
    reader: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    reader.tqdm = lambda items, **options: items
    return str(file.parent), {"gguf_file": file.name}
