"""Audits of environments: errors of Harbor task folders, found without running any of their files.

audit_tasks(folder)     one record per task, each with the result of every check
ENV_CHECKS              the named checks
"""

from verikit.env.audit.checks import ENV_CHECKS
from verikit.env.audit.records import CheckRecord, EnvFinding, TaskRecord
from verikit.env.audit.run import AuditSums, audit_tasks

__all__ = ["ENV_CHECKS", "AuditSums", "CheckRecord", "EnvFinding", "TaskRecord", "audit_tasks"]
