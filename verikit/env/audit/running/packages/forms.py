"""Replies that consist of a row's expected value, in the usual forms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verikit.env.audit.formats.rows import golds_of_row

MAX_FORMS = 60
MAX_FORM = 20_000
"""Characters of a reply."""
_FORMS = (
    "{}", "\\boxed{{{}}}", "<answer>{}</answer>", "<think>\nI think.\n</think>\n<answer>\n{}\n</answer>",
    "Answer: {}", "The answer is {}.", "#### {}", "Final answer: {}", "```json\n{}\n```", "```python\n{}\n```",
    "<think>\nI think.\n</think>\n{}", "<think>\nI think.\n</think>\n\\boxed{{{}}}", "[[{}]]", "({})",
)  # fmt: skip
_PLACES = ("verifier_metadata", "info", "reward_model", "metadata", "extra_info")


def reply_forms(row: Mapping[str, Any]) -> list[str]:
    """Replies to a row that may be right."""
    forms = dict.fromkeys(form.format(value) for value in _values(row) for form in (*_tagged(row), *_FORMS))
    return [one for one in forms if len(one) <= MAX_FORM][:MAX_FORMS]


def _tagged(row: Mapping[str, Any]) -> list[str]:
    """The form of the tags that the environment's parser reads: the last one has the answer."""
    tags = row.get("tags")
    names = [one for one in tags if isinstance(one, str) and one.isidentifier()] if isinstance(tags, list) else []
    if not names:
        return []
    answer = "answer" if "answer" in names else names[-1]
    return ["\n".join(f"<{name}>\n{'{}' if name == answer else 'I think.'}\n</{name}>" for name in names)]


def _values(row: Mapping[str, Any]) -> list[str]:
    """The expected values: strings, values as JSON, and several in a line."""
    golds = list(golds_of_row(row))
    found = golds[:2] + list(_objects(row))
    if len(golds) > 1:
        found += [json.dumps(golds), ", ".join(golds), "\n".join(golds), " ".join(golds)]
    return list(dict.fromkeys(found))[:6]


def _objects(row: Mapping[str, Any]) -> Iterator[str]:
    holders: Sequence[Any] = [row, *(row.get(name) for name in _PLACES)]
    for holder in holders:
        for name, value in holder.items() if isinstance(holder, Mapping) else ():
            if isinstance(value, dict) and value and name not in (*_PLACES, "responses_create_params", "agent_ref"):
                yield json.dumps(value)
