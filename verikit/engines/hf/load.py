"""Importing transformers, which is loud about what concerns others."""

from __future__ import annotations

import logging
from typing import Any

from verikit.errors import MissingExtra


def import_transformers(what: str, extra: str) -> Any:
    """Import torch and transformers and return the latter, its progress bars off.

    It imports torchao where that is installed, which tells at length which GPU kernels it does without.

    Raises:
        MissingExtra: one of them is not installed; `what` needs them.
    """
    for name in ("torchao", "torch.utils._pytree"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        import torch  # noqa: F401 - transformers imports without it, and fails later
        import transformers
    except ImportError as error:
        raise MissingExtra(f"{what} (no {error.name})", extra) from None
    transformers.utils.logging.disable_progress_bar()
    return transformers
