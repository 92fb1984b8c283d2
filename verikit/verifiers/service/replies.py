"""Checks of a reply. The service is in its box, and expected replies never enter it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.answers.claims.json_fields import JsonRules, TooMuchWork, compare_fields, unfit
from verikit.artifacts.service.call import HttpReply
from verikit.errors import AgentFault
from verikit.verifiers.reading.json_reply import parsed
from verikit.verifiers.service.asks import filled

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
        or _json_fault(reply, expect, kept, rules)
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
    text = _text(reply).rstrip("\r\n")
    return "" if text == expect["text"].rstrip("\r\n") else f"the body is {text[:160]!r}"


def _json_fault(reply: HttpReply, expect: Mapping[str, Any], kept: Mapping[str, str | int], rules: JsonRules) -> str:
    if "json" not in expect:
        return ""
    try:
        fields = compare_fields(filled(expect["json"], kept), json_of(reply), rules)
    except TooMuchWork as problem:
        return str(problem)
    wrong = [f"{field.path or 'the body'} is {field.problem}" for field in fields if field.problem]
    return "; ".join(wrong[:_TOLD])[:300]


def json_of(reply: HttpReply) -> Any:
    """The JSON that is a reply's body.

    Raises:
        AgentFault: It is not JSON.
    """
    document = parsed(_text(reply).strip())
    problem = document.problem or unfit(document.value)
    if problem:
        raise AgentFault(f"the body is {problem}" if document.problem else f"the body has JSON with {problem}")
    return document.value


def _text(reply: HttpReply) -> str:
    try:
        return reply.body.decode("utf-8")
    except UnicodeDecodeError:
        raise AgentFault("the body is not UTF-8") from None
