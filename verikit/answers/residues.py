"""Residue classes ("3 mod 5") against values, and against classes of another modulus."""

from __future__ import annotations

import re

from verikit.answers.algebra.identity import identical
from verikit.answers.gold import ReadGold
from verikit.answers.parser.tree import Node, children

_CLASS = re.compile(r"(?<!\\)(?<!\\b)\bmod(?:ulo)?\b|\\pmod(?![a-z])|\\equiv|≡")
"""Words for a residue class. `\\bmod` and `\\mod` are operations, whose result is a number."""
_ANY_MODULUS = re.compile(r"mod|equiv|≡|remainder|residue|congruen|divided by", re.IGNORECASE)


def is_another_class(answer: Node, text: str, gold: ReadGold, question: str) -> bool:
    """Whether only one of answer and gold answer is a residue class, "3 mod 5", and the question has no modulus.

    A modulus that changes the number is an operation: "7 mod 5" is 2.
    """
    of_answer, of_gold = _CLASS.search(text), _CLASS.search(gold.text)
    if not (of_answer or of_gold) or _ANY_MODULUS.search(question):
        return False
    if of_answer and not _ANY_MODULUS.search(gold.text):
        return any(map(_is_reduced, (answer, *children(answer))))
    if of_gold and gold.tree is not None and not _ANY_MODULUS.search(text):
        return any(map(_is_reduced, (gold.tree, *children(gold.tree))))
    return False


def are_classes(*texts: str) -> bool:
    """Whether all texts name residue classes."""
    return all(map(_CLASS.search, texts))


def has_another_modulus(gold: Node, answer: Node) -> bool:
    """Whether classes of the same value have different moduli. 3x ≡ 9 (mod 15) may well be x ≡ 3 (mod 5).

    Raises:
        TooBig: A modulus is over a budget.
    """
    ours, theirs = _class(gold), _class(answer)
    if ours is None or theirs is None:
        return False
    (name, modulus), (other_name, other) = ours, theirs
    return (None in (name, other_name) or name == other_name) and identical(modulus, other)[0] is False


def _class(node: Node) -> tuple[Node | None, Node] | None:
    """What is in a residue class, and its modulus. "3 mod 5" alone names nothing."""
    name, value = (node.args[1], node.args[-1]) if node.op == "rel" else (None, node)
    is_class = value.op == "fn" and value.args[0] in ("mod", "residue") and _is_reduced(value)
    return (name, value.args[2]) if is_class else None


def _is_reduced(node: Node) -> bool:
    """Whether a modulus leaves a number, a ratio or the value of a name unchanged."""
    if node.op != "fn" or node.args[0] not in ("mod", "residue"):
        return any(_is_reduced(child) for child in children(node)) if node.op in ("rel", "ratio") else False
    value, modulus = node.args[1:]
    if value.op == "rel":
        return True
    return value.op != "num" or modulus.op != "num" or bool(0 <= value.args[0] < modulus.args[0])
