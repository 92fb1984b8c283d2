"""Checks of a reply. The service is in its box, and expected replies never enter it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.answers.claims.json_fields import JsonRules, TooMuchWork, compare_fields, unfit
from verikit.artifacts.service.call import HttpReply
from verikit.errors import AgentFault
from verikit.verifiers.reading.json_reply import parsed
from verikit.verifiers.service.values import filled

_TOLD = 3


def fault(reply: HttpReply, expect: Mapping[str, Any], kept: Mapping[str, str | int], rules: JsonRules) -> str:
    """The problem with a reply, "" if there isn't one.

    Raises:
        AgentFault: Its body can't be read.
    """
    wanted = expect.get("status")
    right = reply.status == wanted if wanted is not None else 200 <= reply.status < 300
    if not right:
        return f"the status is {reply.status}, not {wanted or '2xx'}"
    return (
        _headers_fault(reply, expect.get("headers", {}))
        or _text_fault(reply, expect)
        or (json_fault(text_of(reply), expect["json"], kept, rules) if "json" in expect else "")
    )


def _headers_fault(reply: HttpReply, wanted: Mapping[str, str]) -> str:
    for name, value in wanted.items():
        seen = [told for key, told in reply.headers if key == name.lower()]
        # `application/json` also takes `application/json; charset=utf-8`
        plain = seen if ";" in value else [told.partition(";")[0].strip() for told in seen]
        if plain != [value]:
            return f"the header {name} is {str(seen)[:160]}, not {value!r}"
    return ""


def _text_fault(reply: HttpReply, expect: Mapping[str, Any]) -> str:
    if "text" not in expect:
        return ""
    text = text_of(reply).rstrip("\r\n")
    return "" if text == expect["text"].rstrip("\r\n") else f"the body is {text[:160]!r}"


def json_fault(text: str, wanted: Any, kept: Mapping[str, str | int], rules: JsonRules) -> str:
    """The problem with a reply's JSON, "" if there isn't one.

    Raises:
        AgentFault: It is not JSON.
    """
    try:
        fields = compare_fields(filled(wanted, kept), json_of(text), rules)
    except TooMuchWork as problem:
        return str(problem)
    wrong = [f"{field.path or 'the body'} is {field.problem}" for field in fields if field.problem]
    return "; ".join(wrong[:_TOLD])[:300]


def json_of(text: str) -> Any:
    """The JSON that is a reply's body or line.

    Raises:
        AgentFault: It is not JSON.
    """
    document = parsed(text.strip())
    problem = document.problem or unfit(document.value)
    if problem:
        raise AgentFault(f"the body is {problem}" if document.problem else f"the body has JSON with {problem}")
    return document.value


def text_of(reply: HttpReply) -> str:
    """A reply's body.

    Raises:
        AgentFault: It is not UTF-8.
    """
    try:
        return reply.body.decode("utf-8")
    except UnicodeDecodeError:
        raise AgentFault("the body is not UTF-8") from None
