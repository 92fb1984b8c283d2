"""NeMo-Gym's resources servers: `app.py`, `configs/*.yaml` and `data/example.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from verikit.env.audit.formats.code import PythonCode, code_of, reached
from verikit.env.audit.formats.documents import Unread, place, walked, yaml_document
from verikit.env.audit.formats.judges import check_judges
from verikit.env.audit.formats.row_checks import alike_rows, reached_rows
from verikit.env.audit.formats.rows import EnvRow, env_row, json_rows, prompt_of, split_of
from verikit.env.audit.formats.shared import data_pins, package_pins
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.schema import linked_outside
from verikit.env.audit.task import AuditedTask
from verikit.workspaces.names import parts, shown

EXAMPLE = "data/example.jsonl"
TYPES = ("train", "validation", "example", "benchmark")
_REPOSITORY = "resources_servers"
MAX_WRONG = 20
"""Maximum wrong rows to report."""


def configs_of(task: AuditedTask) -> tuple[dict[str, tuple[str, Any]], list[EnvFinding], str]:
    """The configurations with their text, their errors, and missing requirements for reading them."""
    found: dict[str, tuple[str, Any]] = {}
    findings: list[EnvFinding] = []
    for path in sorted(task.files("configs")):
        text = task.text(path) if path.endswith((".yaml", ".yml")) else None
        if text is None:
            continue
        try:
            found[path] = text, yaml_document(text)
        except Unread as missing:
            return {}, [], str(missing)
        except ValueError as error:
            findings.append(EnvFinding("wrong", f"it is not YAML: {shown(str(error)[:200])}", shown(path)))
    return found, findings, ""


def check_gym_schema(task: AuditedTask) -> CheckRecord:
    """Compare a server with NeMo-Gym's format."""
    configs, findings, needs = configs_of(task)
    code = code_of(task)
    findings += [EnvFinding("wrong", f"it can't be parsed ({why})", shown(path)) for path, why in code.broken.items()]
    if not configs and not findings and not needs:
        findings.append(EnvFinding("missing", "there is no configuration: configs/NAME.yaml", "configs"))
    for path, (text, value) in configs.items():
        findings += _server(task, path, text, value)
        for dataset in _datasets(value):
            findings += _dataset(task, path, text, dataset)
    findings += _example(task)
    return judged([*findings, *linked_outside(task)], [needs] if needs else [])


def _server(task: AuditedTask, path: str, text: str, value: Any) -> Iterator[EnvFinding]:
    """Files that the entry of the server names."""
    if not isinstance(value, Mapping):
        yield EnvFinding("wrong", "it is not a mapping", shown(path))
        return
    for entry in _entries(value):
        yield from _entry(task, path, text, entry)


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    """The settings of each server."""
    for key, held, _ in walked(value):
        if key == "resources_servers" and isinstance(held, Mapping):
            yield from (entry for entry in held.values() if isinstance(entry, Mapping))


def _entry(task: AuditedTask, path: str, text: str, entry: Mapping[str, Any]) -> Iterator[EnvFinding]:
    point = entry.get("entrypoint", "app.py")
    if not isinstance(point, str):
        yield EnvFinding("missing", "a server has no entrypoint", shown(path))
    elif task.text(point) is None:
        yield EnvFinding("missing", f"entrypoint {shown(point)} is not there", place(path, text, "entrypoint"))
    for key, held, _ in walked(entry):
        if key.endswith("_fpath") and isinstance(held, str):
            yield from _file(task, held, f"{key} {shown(held)}", place(path, text, key))


def _file(task: AuditedTask, named: str, told: str, where: str) -> Iterator[EnvFinding]:
    """A path that is relative to this server or to NeMo-Gym's repository."""
    inside = _inside(named)
    if inside is None:
        yield EnvFinding("outside", f"{told} leaves the server", where)
    elif inside and inside not in task.tree.manifest and not _is_elsewhere(task, named):
        yield EnvFinding("missing", f"{told} is not there", where)


def _inside(named: str) -> str | None:
    """The path within the server's folder; None if it leaves it."""
    names = parts(named)
    if names is None:
        return None
    return "/".join(names[2:] if names[:1] == [_REPOSITORY] else names)


def _is_elsewhere(task: AuditedTask, named: str) -> bool:
    """Whether a path of the repository belongs to another server, or to a folder next to the servers."""
    names = PurePosixPath(named).parts
    own = task.within[-1] if task.within else PurePosixPath(task.root).name
    if names[:1] == (_REPOSITORY,):
        return len(names) > 1 and names[1] != own
    return names[:1] in (("benchmarks",), ("nemo_gym",), ("responses_api_agents",), ("environments",), ("data",))


def _datasets(value: Any) -> Iterator[Mapping[str, Any]]:
    for key, held, _ in walked(value):
        if key == "datasets" and isinstance(held, list):
            yield from (one for one in held if isinstance(one, Mapping))


def _dataset(task: AuditedTask, path: str, text: str, dataset: Mapping[str, Any]) -> Iterator[EnvFinding]:
    name, kind, file = dataset.get("name"), dataset.get("type"), dataset.get("jsonl_fpath")
    where = place(path, text, str(file or name))
    if kind not in TYPES:
        yield EnvFinding("wrong", f"the type of a dataset is one of {', '.join(TYPES)}", where)
    if not isinstance(file, str):
        yield EnvFinding("missing", f"the dataset {shown(str(name))} has no jsonl_fpath", where)
        return
    if kind in ("train", "validation") and not dataset.get("license"):
        yield EnvFinding("missing", f"the dataset {shown(str(name))} has no license", where)
    fetched = any(dataset.get(key) for key in ("source", "huggingface_identifier", "gitlab_identifier"))
    if kind == "example" and not fetched:
        yield from _file(task, file, f"the examples {shown(file)}", where)
    elif _inside(file) is None:
        yield EnvFinding("outside", f"{shown(file)} leaves the server", where)


def _example(task: AuditedTask) -> Iterator[EnvFinding]:
    if EXAMPLE not in task.tree.manifest:
        if not any(path.startswith("data/example") for path in task.files("data")):
            yield EnvFinding("missing", "there are no examples", EXAMPLE)
        return
    count = wrong = 0
    for number, row in json_rows(task, EXAMPLE):
        problem = str(row) if isinstance(row, ValueError) else _row_problem(row)
        count += 1
        if problem and wrong < MAX_WRONG:
            wrong += 1
            yield EnvFinding("wrong", problem, f"{EXAMPLE}:{number}")
    if not count:
        yield EnvFinding("missing", "the file of examples is empty", EXAMPLE)


def _row_problem(row: Mapping[str, Any]) -> str:
    params = row.get("responses_create_params")
    if not isinstance(params, Mapping):
        return "the row has no responses_create_params"
    if not isinstance(params.get("input"), str | list):
        return "responses_create_params has no input"
    return ""


def rows_of(task: AuditedTask) -> tuple[list[EnvRow], list[str]]:
    """The rows of the data files, with their splits, and what of them can't be read."""
    found: list[EnvRow] = []
    undecided: list[str] = []
    splits = _splits(task)
    for path in sorted(task.files("data")):
        if not path.endswith(".jsonl") or "rollout" in path or "output" in path:
            continue
        for number, row in json_rows(task, path):
            if isinstance(row, ValueError):
                undecided.append(f"the row {shown(path)}:{number} ({row})")
            elif prompt_of(row):
                found.append(env_row(row, f"{shown(path)}:{number}", splits.get(path, "") or _named_split(path)))
    return found, undecided


def _named_split(path: str) -> str:
    """The split that the name of a data file has. Examples belong to none."""
    return "" if "example" in path else split_of(path.removeprefix("data/"))


def _splits(task: AuditedTask) -> dict[str, str]:
    """The split of each data file by the configurations. Examples belong to none."""
    configs, _, _ = configs_of(task)
    found = {}
    for _, value in configs.values():
        for dataset in _datasets(value):
            kind, file = dataset.get("type"), dataset.get("jsonl_fpath")
            if kind in ("train", "validation") and isinstance(file, str):
                found[_inside(file) or ""] = kind
    return found


def grader_code(task: AuditedTask) -> PythonCode:
    """The Python files that the entry points reach."""
    configs, _, _ = configs_of(task)
    found = [point for _, value in configs.values() for entry in _entries(value) if (point := entry.get("entrypoint"))]
    return reached(code_of(task), {"app.py", *(one for one in found if isinstance(one, str))})


def check_gym_pins(task: AuditedTask) -> CheckRecord:
    """Packages and data without versions. NeMo-Gym's configuration has no field for a dataset's revision."""
    notes = []
    if any("huggingface_identifier" in text or "type: huggingface" in text for text in _config_texts(task)):
        notes.append("Hugging Face datasets have no revision: the format has no field for it")
    return judged([*package_pins(task), *data_pins(grader_code(task))], notes=notes)


def _config_texts(task: AuditedTask) -> list[str]:
    return [task.text(path) or "" for path in task.files("configs")]


def check_gym_judge(task: AuditedTask) -> CheckRecord:
    """Judges of the code and of the configurations."""
    configs, _, needs = configs_of(task)
    found = check_judges(grader_code(task), configs)
    return CheckRecord("not_run", needs=needs) if needs and found.status == "pass" else found


def check_gym_reach(task: AuditedTask) -> CheckRecord:
    """Prompts that have their own answer."""
    rows, undecided = rows_of(task)
    if not rows and not undecided:
        undecided.append("rows with prompts in data/")
    return judged(list(reached_rows(rows)), undecided[:5])


def check_gym_alike(task: AuditedTask) -> CheckRecord:
    """Duplicate rows, including duplicates across splits."""
    rows, undecided = rows_of(task)
    if not rows and not undecided:
        undecided.append("rows with prompts in data/")
    return judged(list(alike_rows(rows)), undecided[:5])
