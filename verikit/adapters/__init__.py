"""Verifiers in other stacks: each `to_…` turns a verifier (or its spec) into an object that the stack can call.

The result can be pickled, has a `__name__` and may be called from any thread. An unscored candidate is `None` in stacks
that support it (TRL, lm-eval), and uses the stack's own unscored, error or removed state if there is one (Inspect,
verifiers, slime, AReaL). In other stacks the option `unscored` decides (the mean of the prompt's other samples, a
number, or an exception). It is never a silent zero. `counts` has their number.
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
