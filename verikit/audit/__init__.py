"""Audits: is this data set gradable, and is this reward hackable?

`audit(FILE, SPEC)` returns an `AuditResult`: findings by row, counts by check, what each hack was paid.
"""

from verikit.audit.findings import CHECKS, AuditResult, Finding
from verikit.audit.run import audit

__all__ = ["CHECKS", "AuditResult", "Finding", "audit"]
