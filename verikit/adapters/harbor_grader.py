"""The grader of a written Harbor task: `python3 -P -m verikit.adapters.harbor_grader TESTS WORK REWARD`.

It scores the files in WORK with the row and the spec in TESTS. A score is written to REWARD (`reward.json`), and its
parts and reasons to `verikit.json` next to it. Without a value, no reward is written and the exit code is 1, because an
infrastructure error must not count against the agent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from verikit.names.spec import load
from verikit.types import Sample, Score
from verikit.workspaces import Workspace

EXPECTED, BEFORE = "expected.json", "before.tar"
WORK, REWARD = "/app", "/logs/verifier/reward.json"
TESTS = "tests:"
"""Begins a spec whose file is in the folder of the tests."""
UNSCORED = "verikit: no value"
"""Prefix of the line that the grader prints for an unscored sample."""


def graded(tests: Path, work: Path) -> Score:
    """Return the score of an agent's files.

    Args:
        tests: The folder with the row, the spec and the agent's input files.
        work: The agent's files.
    """
    told: dict[str, Any] = json.loads((tests / EXPECTED).read_text("utf-8"))
    if not work.is_dir():
        return Score.error(f"{work} was not collected")
    before = tests / BEFORE
    workspace = Workspace(
        work,
        before if before.is_file() else None,
        outputs=told["outputs"],
        limits=told["limits"],
        links=told["links"],
    )
    spec: str = told["spec"]
    if spec.startswith(TESTS):
        spec = f"{tests}/{spec.removeprefix(TESTS)}"
    sample = Sample(told["prompt"], "", told["answer"], told["id"], told["meta"], workspace=workspace)
    return load(spec).score([sample])[0]


def main(tests: str, work: str, reward: str) -> int:
    """Grade, and write the reward if there is a value."""
    score = graded(Path(tests), Path(work))
    target = Path(reward)
    target.parent.mkdir(parents=True, exist_ok=True)
    details = json.dumps(score.as_dict(), default=str)
    (target.parent / "verikit.json").write_text(details + "\n", encoding="utf-8")
    if score.value is None:
        print(f"{UNSCORED} ({score.status}): {score.reason}"[:2000].encode("ascii", "backslashreplace").decode())
        return 1
    target.write_text(json.dumps({"reward": score.value}) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
