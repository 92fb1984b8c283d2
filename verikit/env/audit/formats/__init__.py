"""Environments of other formats than Harbor's: OpenEnv, verifiers, NeMo-Gym, and rows with workspaces.

found_environments(root)    the environments below a folder, each with its format
looks_of(found)             the checks of one of them
"""

from verikit.env.audit.formats.find import FORMATS, FoundEnv, found_environments, rows_file
from verikit.env.audit.formats.looks import looks_of

__all__ = ["FORMATS", "FoundEnv", "found_environments", "looks_of", "rows_file"]
