"""verikit: is this output right, and which of these is best?

A `Verifier` maps samples to scores. Define quality once, and use it to score and rerank candidates, as a reward in
training, and in benchmark suites. Verifiers have the same lower-case names here as in specs: `verikit.answer()`,
`verikit.tags("think", "answer")`. Each is imported on first use, and `help(verikit.answer)` documents its options.
Selectors have the same names in `verikit.selectors`.

The package has six wings. A module imports from its own wing and from those in brackets:

- core (): `base`, `calls`, `compose`, `errors`, `helper`, `message_formats`, `messages`, `moved`, `names`, `platform`,
  `replies`, `responses`, `select`, `selectors`, `stats`, `types`, `workspaces`: samples, scores, composed verifiers.
- files (core): `readers`: files in several formats to groups.
- machines (core, files): `artifacts`, `engines`, `guided`, `retrieval`, `sampling`, `sandbox`, `search`: generation,
  retrieval, execution.
- rules (core, machines): `answers`, `graders`, `until`, `verifiers`: decide what is right.
- runs (core, files): `report`, `results`, `scoring`, `tracking`: score a file, and show the results.
- doors (core, files, machines, rules, runs): `__main__`, `adapters`, `audit`, `cli`, `convert`, `env`, `mcp`, `serve`,
  `testing`: entry points.

`verikit.judges`, `verikit.trainers` and `verikit.evals` are above all of them.

Commands are also functions, and return runs for a notebook: `score`, `compare`, `judge_answers` (the command `judge`),
`evaluate` (the command `eval`) and `train`. Each is imported on first use.
"""

# pyright: reportUnsupportedDunderAll=false
# `__getattr__` imports some names of `__all__` on first use.
from typing import Any

from verikit import moved
from verikit.base import Verifier, verifier
from verikit.compose.choose import by, first_of, gate
from verikit.compose.combine import all_of, clip, majority, maximum, mean, minimum
from verikit.compose.guards import cached, length_guard, with_timeout
from verikit.errors import VerikitError
from verikit.names.spec import load
from verikit.types import PASS_MARK, Gold, Group, Message, Prompt, Sample, Score, Status

moved.install()

__all__ = [
    "PASS_MARK",
    "Gold",
    "Group",
    "Message",
    "Prompt",
    "Sample",
    "Score",
    "Status",
    "Verifier",
    "VerikitError",
    "all_of",
    "by",
    "cached",
    "clip",
    "compare",
    "evaluate",
    "first_of",
    "gate",
    "judge_answers",
    "length_guard",
    "load",
    "majority",
    "maximum",
    "mean",
    "minimum",
    "score",
    "train",
    "verifier",
    "with_timeout",
]
CALLS = {
    "compare": "verikit.results.compare:compare",
    "evaluate": "verikit.evals.call:evaluate",
    "judge_answers": "verikit.judges.match.call:judge_answers",
    "score": "verikit.results.score:score",
    "train": "verikit.trainers.call:train",
}
"""The commands as functions, with their modules."""


def __getattr__(name: str) -> Any:
    from verikit.names.option_docs import explain
    from verikit.names.registry import find, registered

    if name in CALLS:
        from importlib import import_module

        module, _, attribute = CALLS[name].partition(":")
        return getattr(import_module(module), attribute)
    if name == "score_all":  # the old name of `Verifier.score`, for one release
        from verikit.base import score_all

        return score_all
    if name == "__version__":
        from verikit.names.registry import version

        return version()
    if name not in registered("verifiers"):
        raise AttributeError(f"module 'verikit' has no attribute {name!r}")
    return explain(find("verifiers", name))


def __dir__() -> list[str]:
    from verikit.names.registry import registered

    return sorted({*globals(), *CALLS, *registered("verifiers")})
