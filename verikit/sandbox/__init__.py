"""Runs model-written programs: fast, truthfully, and isolated.

`LocalSandbox` is the default; `Sandbox` is the interface of all backends.
"""

from verikit.sandbox.foreign import Array, OpaqueValue, Symbolic
from verikit.sandbox.local import LocalSandbox, default_sandbox
from verikit.sandbox.records import same
from verikit.sandbox.report import ISOLATION, PROPERTIES, Report
from verikit.sandbox.session import Session
from verikit.sandbox.types import Failure, FunctionCall, Job, RunLimits, RunResult, Sandbox, Status

__all__ = [
    "ISOLATION",
    "PROPERTIES",
    "Array",
    "Failure",
    "FunctionCall",
    "Job",
    "LocalSandbox",
    "OpaqueValue",
    "Report",
    "RunLimits",
    "RunResult",
    "Sandbox",
    "Session",
    "Status",
    "Symbolic",
    "default_sandbox",
    "same",
]
