"""LiveCodeBench (Jain et al. 2024, arXiv 2403.07974): code generation, with the prompt and the estimates of its runner.

The mean over replies is its pass@1, over all problems and by difficulty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded
from verikit.stats import mean_interval, pass_at_k

KS = (5, 10)
"""The k of pass@k that are reported in addition to 1."""
_STARTED = (
    "You will use the following starter code to write the solution to the problem and enclose your code within "
    "delimiters.\n```python\n{}\n```"
)
_PIPED = (
    "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample "
    "inputs). Enclose your code within delimiters as follows. Ensure that when the python program runs, it reads the "
    "inputs, runs the algorithm and writes output to STDOUT.\n```python\n# YOUR CODE HERE\n```"
)


def prompt(doc: Doc) -> str:
    """The problem, and the format of the program. The runner's system message is not included."""
    form = _STARTED.replace("{}", doc["starter"]) if doc["starter"] else _PIPED
    end = "### Answer: (use the provided format with backticks)\n\n"
    return f"### Question:\n{doc['question']}\n\n### Format: {form}\n\n{end}"


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """Return a problem's metrics, with pass@5 and pass@10 if it has that many graded replies."""
    found: dict[str, Any] = dict(graded(doc, filtered))
    values = [grade["acc"]["value"] for grade in filtered[0] if grade["acc"]["value"] is not None]
    right = sum(value == 1 for value in values)
    return found | {f"pass@{k}": pass_at_k(len(values), right, k) for k in KS if len(values) >= k}


pass_at: Aggregate = Aggregate(lambda values: mean_interval(values) if values else None)
