"""Selectors by the names they have in specs: `verikit.selectors.best()`, `verikit.selectors.majority()`."""

from typing import Any


def __getattr__(name: str) -> Any:
    from verikit.names.option_docs import explain
    from verikit.names.registry import find, registered

    if name not in registered("selectors"):
        raise AttributeError(f"module 'verikit.selectors' has no attribute {name!r}")
    return explain(find("selectors", name))


def __dir__() -> list[str]:
    from verikit.names.registry import registered

    return sorted({*globals(), *registered("selectors")})
