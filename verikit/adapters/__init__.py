"""One definition of "good" inside other stacks: each `to_…` turns a verifier (or its spec) into what that stack calls.

What comes out is picklable, has a `__name__` and may be called from any thread. A candidate that could not be scored is
`None` where the stack knows that (TRL, lm-eval), unscored or an error where it has such a state (Inspect, verifiers),
and elsewhere the number `unscored`, said in the stack's own extra fields: never a silent zero.
"""

from verikit.adapters.gather import Gather
from verikit.adapters.inspect import to_inspect
from verikit.adapters.lm_eval import to_lm_eval
from verikit.adapters.openrlhf import to_openrlhf
from verikit.adapters.trl import to_trl
from verikit.adapters.verifiers import to_verifiers
from verikit.adapters.verl import to_verl

__all__ = ["Gather", "to_inspect", "to_lm_eval", "to_openrlhf", "to_trl", "to_verifiers", "to_verl"]
