"""Benchmark suites on lm-eval.

docs.py         rows of benchmark files as documents of one form
data.py         where a task's documents come from: a file or the hub
prompts.py      what the tasks ask
grade.py        grading a whole task in one batch, as an lm-eval filter
lm.py           any engine as an lm-eval model
stored.py       stored outputs as an lm-eval model
loading.py      tasks by name, with a run's settings
run.py          tasks into a run's folder
page.py         a run's folder, for the HTML report
tasks/          the tasks: YAML that plain lm-eval loads too
"""

from pathlib import Path

TASKS = Path(__file__).parent / "tasks"
"""Folder of the tasks, for lm-eval's `--include_path`."""

__all__ = ["TASKS"]
