"""Filling prompts in: values are put into a template once, and never looked at again."""

from __future__ import annotations

import re

_NAME = re.compile(r"\{(\w+)\}")


def fill(template: str, **values: str) -> str:
    """Put values in place of their {names}; other braces stay, and so do those inside a value."""
    return _NAME.sub(lambda match: values.get(match[1], match[0]), template)
