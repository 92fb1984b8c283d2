"""Writes the stubs by which type checkers see the names that `verikit` and `verikit.selectors` resolve when asked.

`python -m tests.stubs` after an entry point was added; a test compares them with the registry.
"""

from pathlib import Path

from verikit import CALLS
from verikit.names.registry import Kind, registered

PACKAGE = Path(__file__).resolve().parents[1] / "verikit"
NOTE = "# Written by `python -m tests.stubs` from the entry points: don't edit.\n"


def registered_imports(kind: Kind) -> list[str]:
    """An import line for each registered name of ours."""
    values = {name: entry.value.split(":") for name, entry in registered(kind).items()}
    ours = {name: (module, attr) for name, (module, attr) in values.items() if module.startswith("verikit.")}
    return [f"from {module} import {attr} as {name}" for name, (module, attr) in ours.items()]


def stubs() -> dict[Path, str]:
    """Each stub's path with its text."""
    source = (PACKAGE / "__init__.py").read_text()
    imports = [line for line in source.splitlines() if line.startswith("from verikit.")]
    own = [
        f"from {line.split()[1]} import {name.strip()} as {name.strip()}"
        for line in imports
        for name in line.partition(" import ")[2].split(",")
    ]
    calls = [f"from {value.replace(':', ' import ')} as {name}" for name, value in CALLS.items()]
    verifiers = [line for line in registered_imports("verifiers") if line not in own]
    return {
        PACKAGE / "__init__.pyi": stub([*own, *calls, *verifiers], "__version__: str\n"),
        PACKAGE / "selectors.pyi": stub(registered_imports("selectors")),
    }


def stub(imports: list[str], more: str = "") -> str:
    """A stub of these imports; `__all__` makes public what is imported under another name."""
    names = "".join(f"    {line.split()[-1]!r},\n" for line in sorted(imports, key=lambda line: line.split()[-1]))
    return f"{NOTE}{chr(10).join(sorted(imports))}\n\n{more}__all__ = [\n{names}]\n"


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
