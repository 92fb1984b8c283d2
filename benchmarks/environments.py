"""Specs of docs/environments.md beside the rewards that NeMo-Gym stored.

    python benchmarks/environments.py DIR

DIR is a checkout of NeMo-Gym, or its wheel unpacked: `pip download --no-deps nemo-gym==0.7.0`, then `unzip`. Each
server ships a few rollouts with the reward that it gave. Those of servers that need no judge and no database are
scored by the spec of their row in docs/environments.md; what differs is listed. Rewards are equal if they are within
1e-3: some are stored rounded. A rollout is left out if neither it nor the server's example with its prompt has the
reference.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import verikit
from verikit.env import check
from verikit.responses import from_responses
from verikit.types import Sample

PAGE = Path(__file__).parents[1] / "docs" / "environments.md"
ROW = re.compile(r"^\| `(\w+)` \|[^|]*\| `((?:[^`]|\\\|)+)` \|", re.M)
JsonRow = dict[str, Any]


def specs(page: str) -> dict[str, str]:
    """The spec of each environment in the page's table."""
    return {name: spec.replace("\\|", "|") for name, spec in ROW.findall(page)}


def _key(*path: str) -> Callable[[JsonRow], Any]:
    def get(row: JsonRow) -> Any:
        value: Any = row
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    return get


def _calls(*path: str) -> Callable[[JsonRow], Any]:
    """Expected calls of a row, with their names and arguments alone."""

    def get(row: JsonRow) -> Any:
        found = _key(*path)(row)
        if found is None:
            raise KeyError(path[-1])
        found = [found] if isinstance(found, Mapping) else found
        if any(call.get("type") == "message" for call in found):
            return []
        return [{"name": call["name"], "arguments": call["arguments"]} for call in found]

    return get


GOLDS: dict[str, Callable[[JsonRow], Any]] = {
    "arc_agi": lambda row: json.dumps(row["expected_output"]),
    "example_mcp_weather": _key("expected_weather"),
    "bunsenbench_chemistry_mcq": lambda row: next(
        option[row["expected_answer"]] for option in row["options"] if row["expected_answer"] in option
    ),
    "iheval": lambda row: json.loads(row["answer"]),
    "math_proof_judgement": lambda row: row["expected_judgement"].split()[-1],
    "math_with_code": _key("expected_result"),
    "nvarc": lambda row: json.dumps(row["expected_output"]),
    "proof_genselect": lambda row: str(row["correct_index"]),
    "rolemrc": _key("reference"),
    "ruler": lambda row: row["outputs"] if str(row["subset"]).startswith("qa") else " ".join(row["outputs"]),
    "asr_with_pc": lambda row: row.get("expected_answer") or row.get("text"),
    "spartqa": _key("target"),
    "wmt_translation": _key("translation"),
    "reasoning_gym": _key("answer"),
}
"""The gold answer of a row, where it is not under `expected_answer`."""

CALLS: dict[str, Callable[[JsonRow], Any]] = {
    "example_mcp_weather": lambda row: [
        {"name": "get_weather", "arguments": {"city": row["verifier_metadata"]["expected_city"]}}
    ],
    "example_multi_step": lambda row: [
        {"name": "extract_synonym_values", "arguments": {"synonym_values": row["expected_synonym_values"]}}
    ],
    "example_single_tool_call": lambda row: [{"name": "get_weather", "arguments": {}}],
    "single_step_tool_use_with_argument_comparison": _calls("expected_action"),
    "terminal_multi_harness": _calls("expected_action"),
    "workplace_assistant": _calls("ground_truth"),
    "xlam_fc": _calls("expected_answers"),
}
"""The expected calls of a row."""


def sample(name: str, row: JsonRow) -> Sample:
    """A stored rollout as a sample: the output items as messages, all other fields as its meta."""
    gold = GOLDS.get(name, _key("expected_answer"))(row)
    meta = {key: value for key, value in row.items() if key not in ("responses_create_params", "response")}
    meta |= row.get("verifier_metadata") or {}
    tests = meta.get("unit_tests")
    if tests:
        pairs = zip(tests["inputs"], tests["outputs"], strict=True)
        meta["tests"] = [{"input": given, "output": wanted} for given, wanted in pairs]
    if meta.get("agent_mode") == "inductive":
        meta["tests"] = [{"fn": "transform", "args": [row["test_input"]], "expected": row["expected_output"]}]
    if isinstance(gold, dict) and "instruction_id_list" in gold:
        meta |= gold
        gold = None
    if name in CALLS:
        meta["calls"] = meta["trajectory"] = CALLS[name](row)
        gold = gold if name in GOLDS else None
    asked = row.get("responses_create_params") or {}
    meta.setdefault("tools", asked.get("tools") or [])
    return Sample(asked.get("input") or "", from_responses(row["response"]["output"]), gold, meta=meta)


def rows(folder: Path) -> list[JsonRow]:
    """The stored rollouts of a server, each with what its row of the examples has besides."""
    examples = _lines(folder / "data" / "example.jsonl")
    found = []
    for row in _lines(folder / "data" / "example_rollouts.jsonl"):
        same = [example for example in examples if _asked(example) == _asked(row)]
        number = row.get("_ng_task_index", -1)  # tells rows apart that differ in their images alone
        if len(same) > 1 and 0 <= number < len(examples) and examples[number] in same:
            same = [examples[number]]
        found.append((same or [{}])[0] | row)
    return found


def _lines(path: Path) -> list[JsonRow]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line] if path.exists() else []


def _asked(row: JsonRow) -> str:
    """The texts of a prompt; images are stored in several forms."""
    asked = (row.get("responses_create_params") or {}).get("input") or ""
    if isinstance(asked, str):
        return asked.strip()
    contents = [turn.get("content") or "" for turn in asked]
    parts = [[text] if isinstance(text, str) else [part.get("text") or "" for part in text] for text in contents]
    return "\n".join(text.strip() for texts in parts for text in texts if text.strip())


def main(folder: Path) -> None:
    """Print for each server how many rewards are equal, and the rewards that are not."""
    equal = total = 0
    for name, spec in specs(PAGE.read_text("utf-8")).items():
        if "openai:" in spec or not (folder / name / "data" / "example_rollouts.jsonl").exists():
            continue
        stored, samples = [], []
        for row in rows(folder / name):
            try:
                samples.append(sample(name, row))
            except (KeyError, TypeError, AttributeError):
                continue  # an old rollout, without the fields that its server reads today
            stored.append(row["reward"])
        scores = verikit.load(spec).score(samples)
        scored = [pair for pair in zip(stored, scores, strict=True) if pair[1].value is not None]
        lines = [
            f"    stored {reward}, here {score.value} ({score.reason})"[:200]
            for reward, score in scored
            if score.value is None or abs(score.value - reward) >= 1e-3
        ]
        print(f"{name}: {len(scored) - len(lines)} of {len(scored)}, {len(stored) - len(scored)} without a score")
        print(*lines, sep="\n", end="\n" if lines else "")
        equal, total = equal + len(scored) - len(lines), total + len(scored)
    print(f"equal: {equal} of {total}")
    as_read(folder)


def as_read(folder: Path) -> None:
    """Print how many are equal where rollouts and tasks are read by `verikit.env`, without a word on any server."""
    equal = total = unscored = 0
    for name, spec in specs(PAGE.read_text("utf-8")).items():
        data = folder / name / "data"
        if "openai:" in spec or not (data / "example_rollouts.jsonl").exists():
            continue
        tasks = data / "example.jsonl"
        found = check(data / "example_rollouts.jsonl", spec, tasks=tasks if tasks.exists() else None)
        equal, total, unscored = equal + found.equal, total + found.compared, unscored + len(found.unscored)
    print(f"as verikit.env reads them: {equal} of {total}, {unscored} without a score")


if __name__ == "__main__":
    servers = Path(sys.argv[1]).resolve() / "resources_servers"
    os.chdir(PAGE.parents[1])  # specs of the page name files of the repository
    main(servers)
