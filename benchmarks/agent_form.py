"""How many verdicts of a small real model on stored runs of agents can be read.

    python -m benchmarks.agent_form hf:DIR OUT/runs.jsonl [--runs 8]

`agent_runs.py` writes the runs. A small model on a CPU is slow, so replies are cut early and a run is shown in
few tokens. Whether its verdicts are right is not measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from verikit.engines import Engine, Generation, Request, load_engine
from verikit.engines.types import Wrapper
from verikit.judges import Pointwise, Rubric
from verikit.judges.asking.ask import FORCED
from verikit.types import Sample

REPLY = 120
"""Tokens of a reply."""
BUDGET = 300
"""Tokens of a run that are shown."""


class Brief(Wrapper):
    """An engine whose replies are cut early."""

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """The replies, one request at a time: many long prompts at once need much memory."""
        short = [replace(request, max_tokens=min(request.max_tokens, REPLY)) for request in requests]
        return [self._engine.generate([request])[0] for request in short]


def read_verdicts(rows: Sequence[dict[str, Any]], engine: Engine) -> dict[str, tuple[int, int, int]]:
    """For each judge: its verdicts, those that were read, and those of them that were constrained."""
    samples = [Sample(row["prompt"], row["completions"][0], meta=row) for row in rows]
    rubric = Rubric(engine, shows="trajectory", budget=BUDGET, probe=0).score(samples)
    rated = Pointwise(engine, shows="trajectory", budget=BUDGET, probe=0).score(samples)
    parts = [part for score in rubric for part in score.parts.values()]
    return {
        "rubric": (len(parts), sum(part.scored for part in parts), 0),
        "judge": (len(rated), sum(s.scored for s in rated), sum(s.usage.get(FORCED, 0) > 0 for s in rated)),
    }


def main() -> None:
    """Print the verdicts of each judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=8)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.file.read_text("utf-8").splitlines()[: args.runs]]
    found = read_verdicts(rows, Brief(load_engine(args.engine)))
    for name, (total, read, forced) in found.items():
        print(f"{name}: {read} of {total} verdicts read, {forced} of them constrained")


if __name__ == "__main__":
    main()
