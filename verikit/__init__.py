"""verikit: is this output right, and which of these is best?

A `Verifier` maps samples to scores. Write what is good once, and use it to score and rerank candidates, as a reward in
training, and in benchmark suites. Verifiers go by the same lower-case names here as in specs: `verikit.answer()`,
`verikit.tags("think", "answer")`; each is imported when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from verikit.combine import all_of, by, clip, first_of, gate, majority, maximum, mean, minimum
from verikit.errors import VerikitError
from verikit.guards import cached, length_guard, with_timeout
from verikit.spec import load
from verikit.types import PASS_MARK, Answer, Group, Message, Prompt, Sample, Score, Status
from verikit.verifier import Verifier, score_all, verifier

if TYPE_CHECKING:
    from verikit.verifiers.answer import Answer as answer
    from verikit.verifiers.answer import Math as math
    from verikit.verifiers.boxed import Boxed as boxed
    from verikit.verifiers.choice import Choice as choice
    from verikit.verifiers.code import Code as code
    from verikit.verifiers.column import Column as column
    from verikit.verifiers.cover_em import CoverEM as cover_em
    from verikit.verifiers.exact import Exact as exact
    from verikit.verifiers.f1 import F1 as f1
    from verikit.verifiers.json_schema import JsonSchema as json_schema
    from verikit.verifiers.length import Length as length
    from verikit.verifiers.numeric import Numeric as numeric
    from verikit.verifiers.program import Program as program
    from verikit.verifiers.regex import Regex as regex
    from verikit.verifiers.search import SearchFormat as search_format
    from verikit.verifiers.tags import Tags as tags

_VERIFIERS = {
    "answer": "verikit.verifiers.answer:Answer",
    "boxed": "verikit.verifiers.boxed:Boxed",
    "choice": "verikit.verifiers.choice:Choice",
    "code": "verikit.verifiers.code:Code",
    "column": "verikit.verifiers.column:Column",
    "cover_em": "verikit.verifiers.cover_em:CoverEM",
    "exact": "verikit.verifiers.exact:Exact",
    "f1": "verikit.verifiers.f1:F1",
    "json_schema": "verikit.verifiers.json_schema:JsonSchema",
    "length": "verikit.verifiers.length:Length",
    "math": "verikit.verifiers.answer:Math",
    "numeric": "verikit.verifiers.numeric:Numeric",
    "program": "verikit.verifiers.program:Program",
    "regex": "verikit.verifiers.regex:Regex",
    "search_format": "verikit.verifiers.search:SearchFormat",
    "tags": "verikit.verifiers.tags:Tags",
}

__all__ = [
    "PASS_MARK",
    "Answer",
    "Group",
    "Message",
    "Prompt",
    "Sample",
    "Score",
    "Status",
    "Verifier",
    "VerikitError",
    "all_of",
    "answer",
    "boxed",
    "by",
    "cached",
    "choice",
    "clip",
    "code",
    "column",
    "cover_em",
    "exact",
    "f1",
    "first_of",
    "gate",
    "json_schema",
    "length",
    "length_guard",
    "load",
    "majority",
    "math",
    "maximum",
    "mean",
    "minimum",
    "numeric",
    "program",
    "regex",
    "score_all",
    "search_format",
    "tags",
    "verifier",
    "with_timeout",
]


def __getattr__(name: str) -> Any:
    if name not in _VERIFIERS:
        raise AttributeError(f"module 'verikit' has no attribute {name!r}")
    from importlib import import_module

    module, _, verifier_class = _VERIFIERS[name].partition(":")
    return getattr(import_module(module), verifier_class)
