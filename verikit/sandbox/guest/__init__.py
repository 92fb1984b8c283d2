"""verikit's own programs that run inside the sandbox: they read hostile text, or test the walls.

Loaded as text by `source` and run like any other program, in a child without candidate code.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def source(name: str) -> str:
    """The text of a guest program."""
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
