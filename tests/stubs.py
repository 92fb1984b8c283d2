"""Writes the stubs by which type checkers see the names that `verikit` and `verikit.selectors` resolve when asked.

It also writes the lines of `verikit list`, which loads none of verikit's own verifiers for them.

`python -m tests.stubs` after an entry point was added; a test compares them with the registry.
"""

import json
import re
from pathlib import Path
from typing import get_args

from verikit import CALLS
from verikit.cli.list import LISTED, line_of
from verikit.names.registry import Kind, registered, tables

PACKAGE = Path(__file__).resolve().parents[1] / "verikit"
OLD = "from verikit.base import score_all as score_all  # an old name, for one release\n"
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
        PACKAGE / "__init__.pyi": stub([*own, *calls, *verifiers], f"{OLD}\n__version__: str\n"),
        PACKAGE / "selectors.pyi": stub(registered_imports("selectors")),
        LISTED: json.dumps(listed(), indent=1, ensure_ascii=False) + "\n",
    }


def listed():
    """The line of each of verikit's own names by kind, and the jobs of verifiers in their order."""
    job_of, jobs = jobs_of_verifiers()
    found = {"jobs": jobs}
    for kind in get_args(Kind):
        own = (name for name, entry in registered(kind).items() if entry.value.startswith("verikit."))
        found[kind] = {name: line_of(kind, name) for name in own}
    for name, line in found["verifiers"].items():
        line["job"] = job_of[name]
    for kind in ("retrievers", "tasks", "adapters"):
        try:
            table = tables()[kind].load()()
        except ImportError:  # tasks need lm-eval: what was written where it is installed stays
            found[kind] = json.loads(LISTED.read_text("utf-8"))[kind]
        else:
            found[kind] = {name: {"call": name, "help": line} for name, line in table.items()}
    return found


def jobs_of_verifiers():
    """What each verifier is for, by the headings of docs/verifiers.md, and these headings in their order."""
    job_of, jobs = {}, []
    for heading in re.findall(r"^##+ .*$", (PACKAGE.parent / "docs" / "verifiers.md").read_text("utf-8"), re.M):
        if heading.startswith("## "):
            jobs.append(heading[3:])
        elif heading.startswith("### "):
            job_of |= dict.fromkeys(re.findall(r"`(\w+)`", heading), jobs[-1])
    return job_of, [job for job in jobs if job in job_of.values()]


def stub(imports: list[str], more: str = "") -> str:
    """A stub of these imports; `__all__` makes public what is imported under another name."""
    names = "".join(f"    {line.split()[-1]!r},\n" for line in sorted(imports, key=lambda line: line.split()[-1]))
    return f"{NOTE}{chr(10).join(sorted(imports))}\n\n{more}__all__ = [\n{names}]\n"


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
