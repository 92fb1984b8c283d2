"""Benchmark suites on lm-eval.

tasks/          the tasks: YAML that plain lm-eval can also load
docs.py         rows of benchmark files as documents of one format
data.py         sources of a task's documents: a file or the Hugging Face Hub
prompts.py      the tasks' prompts
grade.py        grading a whole task in one batch, as an lm-eval filter
judging.py      the choice of judge
multihop.py, pairs.py, processbench.py, prmbench.py, hard2verify.py, turns.py, bfcl.py, bfcl_multi_turn.py, aggregate.py
                code for single benchmarks
steps.py        a process reward model as the model of a task; ranker.py: a verifier as one
lm.py           any engine as an lm-eval model; replies.py: its replies
rollouts.py     replies that take several steps: two turns, retrieval, search
stored.py       stored outputs as an lm-eval model; typed.py: lm-eval's base classes, with types
models.py       a model by its spec
loading.py      tasks by name, with a run's settings
run.py          runs tasks into a run's folder; samples.py, run_folder.py: its content
summary.py      a task's metrics; groups.py: a group's; report.py, page.py: for people
suite.py        tasks and models from a TOML file
outcomes.py     a run's values by question, for `verikit compare`
session.py      a model on tasks, for cli.py (`verikit eval`) and call.py (`verikit.evaluate`)
"""

from pathlib import Path

TASKS = Path(__file__).parent / "tasks"
"""Folder of the tasks, for lm-eval's `--include_path`."""

__all__ = ["TASKS"]
