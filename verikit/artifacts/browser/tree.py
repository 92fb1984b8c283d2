"""The accessibility tree of a page: the roles and names that a browser reports to assistive technology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.artifacts.browser.pipe import Answer
from verikit.errors import AgentFault

MOST_NODES, _MOST_NAME = 50_000, 2000


def roles(answer: Answer) -> list[tuple[str, str]]:
    """The role and name of each element, from an answer to `Accessibility.getFullAXTree`.

    Raises:
        AgentFault: The tree is too large.
    """
    nodes = answer.get("nodes")
    if not isinstance(nodes, list):
        return []
    if len(nodes) > MOST_NODES:
        raise AgentFault(f"the page's accessibility tree has more than {MOST_NODES:,} nodes")
    return [
        (usual(_told(node.get("role"))), _told(node.get("name")))
        for node in nodes
        if isinstance(node, dict) and node.get("ignored") is False and _is_role(node.get("role"))
    ]


def usual(role: str) -> str:
    """A role by its usual name: `image` for its newer name `img`."""
    return "image" if role == "img" else role


def _is_role(value: Any) -> bool:
    """Whether a role is one of ARIA, not one of the browser's own for text and boxes."""
    return isinstance(value, Mapping) and value.get("type") == "role"


def _told(value: Any) -> str:
    told = value.get("value") if isinstance(value, Mapping) else None
    return told[:_MOST_NAME] if isinstance(told, str) else ""
