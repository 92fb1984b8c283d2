"""Rows of an environment: prompts with their expected values, from JSON Lines and from literals of its code."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verikit.adapters.harbor import ORACLE
from verikit.adapters.nemo_gym import GOLDS
from verikit.env.audit.alike import SPLITS
from verikit.env.audit.formats.code import PythonCode
from verikit.env.audit.golds import bits
from verikit.env.audit.reach import RARE
from verikit.env.audit.task import AuditedTask
from verikit.env.gym_fields import MORE_GOLDS
from verikit.errors import UsageError
from verikit.messages import content_text
from verikit.workspaces.names import shown

MAX_ROWS = 20_000
"""Of a file."""
MAX_LINE = 2**22
"""Characters of a row."""
MAX_MADE = 4000
"""Characters of a solution's file that counts as an expected value."""
MIN_WORDS = 4
"""Words of a string that counts as a question without a key."""
_PROMPTS = ("prompt", "question", "problem", "instruction", "messages", "input", "query")
_GOLDS = (*GOLDS, *(name for name in MORE_GOLDS if name != "text"), "gold", "expected", "target", "ground_truth")
_NAMES = frozenset(
    """id uuid idx index row_id task_id task_index example_id question_id split source subset agent_ref agent
    responses_create_params workspace completion system_prompt oracle checks""".split()
).union(_PROMPTS)
"""Keys that don't distinguish tasks: its name, its origin, and fields that are compared separately."""
_HELD = ("verifier_metadata", "info", "reward_model", "metadata", "extra_info")
"""Objects of a row that may contain expected values."""


@dataclass(frozen=True, slots=True)
class EnvRow:
    """One task among rows."""

    where: str
    """The file and the line."""
    prompt: str
    golds: tuple[str, ...]
    split: str = ""
    data: str = ""
    """A digest of all other data that the agent receives."""
    left: str = ""
    """A digest of an agent's work. Rows with different work are different rollouts of one task."""


def json_rows(task: AuditedTask, path: str) -> Iterator[tuple[int, Any]]:
    """The objects of a JSON Lines file with their lines. A line that can't be read comes as a `ValueError`."""
    entry = task.tree.manifest[path]
    if not entry.sha256:
        yield 0, ValueError("it is too large to be read")
        return
    text = task.tree.content(entry).decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        if number > MAX_ROWS:
            yield number, ValueError(f"rows after {MAX_ROWS} are not read")
            return
        if line.strip():
            yield number, _parsed(line)


def _parsed(line: str) -> Any:
    if len(line) > MAX_LINE:
        return ValueError(f"it has more than {MAX_LINE >> 20} M characters")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        return ValueError(f"it is not JSON ({type(error).__name__})")
    return found if isinstance(found, dict) else ValueError("it is not an object")


def env_row(row: Mapping[str, Any], where: str, split: str = "") -> EnvRow:
    """A row by its usual keys."""
    workspace = row.get("workspace")
    told = workspace if isinstance(workspace, Mapping) else {}
    golds = golds_of_row(row)
    before = [told.get("before"), told.get("before_tar"), told.get("task"), row.get("tools"), row.get("options")]
    after = [told.get("after"), told.get("after_tar"), told.get("trial"), row.get("completion")]
    if not any(bits(gold, frozenset()) >= RARE for gold in golds):
        # Seeds and levels distinguish tasks with one prompt. A rare expected value is sufficient.
        before += [{name: held for name, held in row.items() if name not in _NAMES}]
    return EnvRow(where, prompt_of(row), golds, split, _digest(before), _digest(after))


def _digest(value: list[Any]) -> str:
    if not any(value):
        return ""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def prompt_of(row: Mapping[str, Any]) -> str:
    """The text that the agent gets: the instructions and the messages."""
    params = row.get("responses_create_params")
    holder = params if isinstance(params, Mapping) else row
    pieces = [holder.get("instructions"), row.get("system_prompt")]
    pieces.append(next((holder[name] for name in _PROMPTS if holder.get(name)), None))
    return "\n".join(text for piece in pieces if (text := _text(piece)))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = []
    for message in value:
        if isinstance(message, Mapping) and message.get("role") != "assistant":
            try:
                texts.append(content_text(message.get("content")))
            except UsageError:
                continue
    return "\n".join(texts)


def golds_of_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The expected values of a row, as strings."""
    holders = [row, *(held for name in _HELD if isinstance(held := row.get(name), Mapping))]
    found: dict[str, None] = {}
    for holder in holders:
        for name in _GOLDS:
            for value in _scalars(holder.get(name)):
                found[value] = None
    return (*found, *_made(row))[:20]


def _made(row: Mapping[str, Any]) -> Iterator[str]:
    """The strings of files that only the row's solution has."""
    told, solved = row.get("workspace"), row.get(ORACLE)
    before = told.get("before") if isinstance(told, Mapping) else None
    given = list(before.values()) if isinstance(before, Mapping) else []
    for text in solved.values() if isinstance(solved, Mapping) else ():
        if isinstance(text, str) and text.strip() and text not in given and len(text) <= MAX_MADE:
            yield text.strip()


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif isinstance(value, int | float):
        yield json.dumps(value)[:400]
    elif isinstance(value, list):
        for one in value[:20]:
            if not isinstance(one, list):
                yield from _scalars(one)


def literal_rows(code: PythonCode) -> Iterator[EnvRow]:
    """Rows that a file has as literals: lists of mappings with a prompt. The list's name may contain a split."""
    for path, tree in code.trees.items():
        names = _list_names(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.List | ast.Tuple):
                continue
            split = split_of(names.get(id(node), ""))
            for element in node.elts[:MAX_ROWS]:
                row = _mapping(element) or _pair(element)
                if row and prompt_of(row):
                    yield env_row(row, f"{shown(path)}:{element.lineno}", split)


def _list_names(tree: ast.Module) -> dict[int, str]:
    """The name that each list of a file is assigned or passed to."""
    found: dict[int, str] = {}
    for node in ast.walk(tree):
        name = _name(node)
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign | ast.keyword) else None
        if name and value is not None:
            found.update((id(one), name) for one in ast.walk(value))
    return found


def _name(node: ast.AST) -> str:
    """The name that an assignment or an argument gives a value, or ""."""
    if isinstance(node, ast.keyword):
        return node.arg or ""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def _pair(node: ast.expr) -> dict[str, Any]:
    """A question with its answer as a tuple or list of two constants; empty for anything else."""
    told = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    values = [one.value for one in told if isinstance(one, ast.Constant)]
    if len(values) != 2 or len(told) != 2 or not _is_question(values[0]):
        return {}
    return {"question": values[0], "answer": values[1]}


def _is_question(value: object) -> bool:
    """Whether a constant asks something. Pairs of other texts occur in tables that are no rows."""
    return isinstance(value, str) and "?" in value and len(value.split()) >= MIN_WORDS


def _mapping(node: ast.expr) -> dict[str, Any]:
    """The constant items of a mapping; empty for anything else."""
    if not isinstance(node, ast.Dict):
        return {}
    found: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            try:
                found[key.value] = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
    return found


def split_of(name: str) -> str:
    """The split that a file, a folder or a variable names; empty if none."""
    words = name.lower().replace(".", "_").replace("-", "_").replace("/", "_").split("_")
    return next((SPLITS[word] for word in words if word in SPLITS), "")
