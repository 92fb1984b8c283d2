"""Findings of `verikit env audit` in environments that come with published packages.

    pip download --no-deps -d wheels nemo-gym==0.4.0 harbor==0.26.0 openenv-core==0.3.0
    for one in wheels/*.whl; do unzip -q "$one" -d "unpacked/$(basename "$one" .whl)"; done
    python benchmarks/environment_wheels.py unpacked

Only files are read. A finding is about the folder in the package, which may lack files that its repository has. Each
is listed by `verikit env audit unpacked/PACKAGE --examples 1000`.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from verikit.env.audit import ENV_CHECKS, audit_tasks
from verikit.errors import UsageError


def main(root: Path) -> None:
    """Print one table: a row per package and check."""
    print("| package | check | pass | findings | not run | environments by finding |\n|---|---|---|---|---|---|")
    for folder in sorted(root.iterdir()):
        try:
            records = list(audit_tasks(folder))
        except UsageError as error:
            print(f"| {folder.name} | – | – | – | – | {error} |")
            continue
        for name in ENV_CHECKS:
            found = [one.checks[name] for one in records if name in one.checks]
            statuses = Counter(one.status for one in found)
            kinds = Counter(kind for one in found for kind in {finding.kind for finding in one.findings})
            told = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
            print(
                f"| {folder.name} | {name} | {statuses['pass']} | {statuses['fail']} | {statuses['not_run']} | {told} |"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
