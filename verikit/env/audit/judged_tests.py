"""The check `judge` of a Harbor task: judges that its Python tests call."""

from __future__ import annotations

import ast

from verikit.env.audit.formats.code import PythonCode
from verikit.env.audit.formats.judges import check_judges
from verikit.env.audit.records import CheckRecord
from verikit.env.audit.task import AuditedTask


def check_judge(task: AuditedTask) -> CheckRecord:
    """Look at each judge that the tests call."""
    code = PythonCode()
    for path in {path for part in task.parts for folder in part.tests for path in task.files(folder)}:
        text = task.text(path) if path.endswith(".py") else None
        if text is None:
            continue
        try:
            code.trees[path] = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # `declared` reports it
    return check_judges(code)
