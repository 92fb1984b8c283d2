"""One definition of "good" inside other stacks: each `to_…` turns a verifier (or its spec) into what that stack calls.

What comes out can be pickled, has a `__name__` and may be called from any thread. A candidate that could not be scored
is `None` where the stack knows that (TRL, lm-eval), unscored, an error or taken out where it has such a state (Inspect,
verifiers, slime, AReaL), and elsewhere what the option `unscored` says (the mean of the prompt's other samples, a
number, or an exception): never a silent zero. `counts` tells how many there were.
"""

from verikit.adapters.areal import to_areal
from verikit.adapters.forge import to_forge
from verikit.adapters.gather import Gather
from verikit.adapters.inspect import to_inspect
from verikit.adapters.lm_eval import to_lm_eval
from verikit.adapters.open_instruct import to_open_instruct
from verikit.adapters.openrlhf import to_openrlhf
from verikit.adapters.rllm import to_rllm
from verikit.adapters.slime import to_slime
from verikit.adapters.swift import to_swift
from verikit.adapters.tinker import to_tinker
from verikit.adapters.trl import to_trl
from verikit.adapters.verifiers import to_verifiers
from verikit.adapters.verl import to_verl

__all__ = [
    "Gather",
    "to_areal",
    "to_forge",
    "to_inspect",
    "to_lm_eval",
    "to_open_instruct",
    "to_openrlhf",
    "to_rllm",
    "to_slime",
    "to_swift",
    "to_tinker",
    "to_trl",
    "to_verifiers",
    "to_verl",
]
