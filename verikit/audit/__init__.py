"""Audits: is this dataset gradable, and is this reward hackable?

`audit(FILE, SPEC)` returns an `AuditResult`: findings by row, counts by check, and the rewards of each hack.
"""

from verikit.audit.findings import CHECKS, AuditResult, Finding
from verikit.audit.run import audit

__all__ = ["CHECKS", "AuditResult", "Finding", "audit"]
