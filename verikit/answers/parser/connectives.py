"""The meaning of words between conditions: "x > 2 and x < 5" is an intersection, "x < 2 or x > 5" a union."""

from __future__ import annotations

from verikit.answers.parser.tree import Node, symbols


def connected(items: list[Node], words: list[str]) -> list[Node]:
    """Join conditions by the words between them: first and, then or. Commas don't join conditions."""
    for connective, operator in (("and", "inter"), ("or", "union")):
        if connective not in words:
            continue
        joined, left = items[:1], []
        for word, item in zip(words, items[1:], strict=True):
            if word == connective and _are_conditions(joined[-1], item, connective):
                joined[-1] = Node(operator, (joined[-1], item))
            else:
                joined.append(item)
                left.append(word)
        items, words = joined, left
    return items


def _are_conditions(left: Node, right: Node, connective: str) -> bool:
    """Whether two items restrict variables: the same one, or either of two."""
    if not {left.op, right.op} <= {"rel", "inter", "union"}:
        return False
    equations = sum(node.op == "rel" and {"=", "≈"}.issuperset(node.args[0]) for node in (left, right))
    if symbols(left) == symbols(right):
        return equations < 2 and len(symbols(left)) == 1
    return connective == "or" and not equations
