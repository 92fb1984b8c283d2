"""Benchmark suites on lm-eval.

tasks/          the tasks: YAML that plain lm-eval loads too
docs.py         rows of benchmark files as documents of one form
data.py         where a task's documents come from: a file or the hub
prompts.py      what the tasks ask
grade.py        grading a whole task in one batch, as an lm-eval filter
judging.py      which judge grades
multihop.py, pairs.py, processbench.py, prmbench.py, hard2verify.py, turns.py, bfcl.py, bfcl_multi_turn.py, aggregate.py
                what single benchmarks have of their own
steps.py        a process reward model as the model of a task; ranker.py: a verifier as one
lm.py           any engine as an lm-eval model; replies.py: what it answers
rollouts.py     replies that take several steps: two turns, retrieval, search
stored.py       stored outputs as an lm-eval model; typed.py: lm-eval's base classes, with types
models.py       a model by its spec
loading.py      tasks by name, with a run's settings
run.py          tasks into a run's folder; samples.py, run_folder.py: what it holds
summary.py      a task's metrics; groups.py: a group's; report.py, page.py: for people
suite.py        tasks and models by a TOML file
outcomes.py     a run's values by question, for `verikit compare`
session.py      a model on tasks, for cli.py (`verikit eval`) and call.py (`verikit.evaluate`)
"""

from pathlib import Path

TASKS = Path(__file__).parent / "tasks"
"""Folder of the tasks, for lm-eval's `--include_path`."""

__all__ = ["TASKS"]
