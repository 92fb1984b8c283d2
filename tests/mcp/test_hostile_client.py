"""A client that was talked into anything: calls drawn from hostile arguments, and honest ones between."""

# ruff: noqa: E501 - texts are lines as they are
from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

from tests.mcp.test_server import asked

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))
SECRET = "a-secret-that-no-client-reads"
HONEST = ("score", {"replies": ["The answer is 4.", "5"], "gold": "4"})
NAMES = [
    "@secret@", "../secret.jsonl", "link.jsonl", "folder/../../secret.jsonl", "pipe", "folder", ".", "", "-", "*", "a\0b",
    "/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:9/x", "data.jsonl\n", "x" * 999, "~/.ssh/id_rsa", "/proc/self/environ",
    "data.jsonl#x",
]  # fmt: skip
SPECS = [
    "@secret@", "@secret@#x", "@code@:f", "column('@secret@')", "json_schema('@secret@')", "yaml(schema='@secret@')", "csv('@secret@')",
    "code", "program", "sql", "patch", "rm('@secret@')", "judge('replay:@secret@')", "openai_grader('@secret@')", "os:system",
    "answer#@secret@", "answer if 1 else code", "(lambda: answer)()", "answer.__class__", "[answer][0]", "f'@code@'", "regex('(a+)+$')",
    "exact(**{'normalizer': '@code@:f'})", "exact(normalizer='@code@:f')", "first_of(answer, @code@:f)", "json_schema({'$ref': 'file://@secret@'})",
    "json_schema({'$ref': 'http://127.0.0.1:9/x'})", "turns(code)", "echo_guard(code)", "9" * 2000 + "*answer", "answer" + "+answer" * 300,
    "(" * 900 + "answer" + ")" * 900, "# code\nanswer", "", "\0", "answer;code", "instructions('@secret@')", "language('@secret@')",
    "bleu(tokenize='@secret@')", "columns('x')", "majority(code)", "xml(schema='@secret@')", "tags()", "-answer", "1e999*answer", "nan*answer",
]  # fmt: skip
TEXTS = [
    "4",
    "",
    "x" * 200_001,
    "\0",
    "$" * 9_999,
    "(" * 9_999,
    "\u202e",
    "@secret@",
    "```python\nopen('@secret@')\n```",
]
METAS: list[Any] = [
    None, {}, {"tests": ["open('@code@', 'w')"]}, {"schema": "@secret@"}, {"passages": "@secret@"}, {"instruction_id_list": ["@secret@"], "kwargs": [1]},
    {"a": [[[[[]]]]]}, {"a": 10**400}, {"calls": {"x": 1}}, [], "x", {"state": "os:system"},
]  # fmt: skip
TOOLS = ["score", "explain", "audit", "list_verifiers", "run", "__init__", "", "close", "_work", "score\0"]


def drawn(draw: random.Random) -> tuple[str, Any]:
    """A call, most of whose arguments are hostile."""
    tool = draw.choice([*TOOLS[:4] * 4, *TOOLS])
    if tool == "audit":
        given: dict[str, Any] = {"file": draw.choice(NAMES), "spec": draw.choice(["", *SPECS])}
        given |= {
            "against": draw.choice(["", *NAMES]),
            "mapping": draw.choice([{}, {"prompt": "@secret@"}, {"x": "y"}]),
        }
        given |= {"rows": draw.choice([1, 0, 10**9, "x"])}
    elif tool == "list_verifiers":
        given = {"name": draw.choice([*SPECS, *NAMES])}
    else:
        key, text = ("reply", draw.choice(TEXTS)) if tool == "explain" else ("replies", [draw.choice(TEXTS)])
        given = {key: text, "gold": draw.choice(["4", *TEXTS]), "spec": draw.choice(SPECS), "meta": draw.choice(METAS)}
    if draw.random() < 0.1:
        given[draw.choice(["extra", "self", "spec", "file", "settings"])] = draw.choice([1, None, [], {}, "x", True])
    return tool, given


def test_no_call_reads_a_file_runs_code_or_ends_the_server(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    secret, code, mark = tmp_path / "secret.jsonl", tmp_path / "code.py", tmp_path / "mark"
    secret.write_text(json.dumps({"prompt": SECRET, "answer": SECRET, "completion": SECRET}) + "\n", "utf-8")
    code.write_text(f"open({str(mark)!r}, 'w')\ndef f(*a):\n    return 1.0\n", "utf-8")
    (root / "data.jsonl").write_text('{"prompt": "1+1?", "answer": "2"}\n', "utf-8")
    (root / "link.jsonl").symlink_to(secret)
    os.mkfifo(root / "pipe")
    draw, calls = random.Random(0), []
    for _ in range(120 * EFFORT):
        tool, given = drawn(draw)
        plain = json.dumps(given).replace("@secret@", str(secret)).replace("@code@", str(code))
        calls.append((tool, json.loads(plain)))
    told = asked([HONEST, *calls, HONEST, ("audit", {"file": "data.jsonl"})], "--root", str(root), "--deadline", "10")
    for (tool, given), each in zip(calls, told[1:-2], strict=True):
        assert SECRET not in each.text, (tool, given)
        assert "Traceback" not in each.text, (tool, given)
        assert "raised" not in each.text, (tool, given)
    assert not mark.exists()
    for each in (told[0], told[-2]):
        assert [row["value"] for row in each.value["scores"]] == [1.0, 0.0]
    assert not told[-1].failed
