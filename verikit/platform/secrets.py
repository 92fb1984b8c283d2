"""Redacts keys in output, by their context: an address, a parameter, a header, an option."""

from __future__ import annotations

import re
from typing import Any

STRUCK = "***"
_NAME = (
    r"(?:[\w.-]{0,40}[_-])?(?:api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?token"
    r"|access[_-]?token|refresh[_-]?token|id[_-]?token|client[_-]?secret|secret|password|passwd|passphrase|credentials?)"
)
_HEADER = r"(?:proxy-)?authorization|x-api-key|x-auth-token|set-cookie|cookie"
_FORMS = (
    # user:PASS@ of an address
    (re.compile(r"(://)[^/?#\s'\"@]{1,500}(?=@)"), rf"\1{STRUCK}"),
    # ?key=… &token=… #m?sig=… ;auth=… of an address: any name that ends like a key's
    (
        re.compile(
            r"([?&;#][\w.-]{0,40}?(?:key|token|secret|passw(?:or)?d|pass|auth|sig|signature)=)[^&#;\s'\"]{1,2000}", re.I
        ),
        rf"\1{STRUCK}",
    ),
    # Authorization: Bearer …, 'x-api-key': '…'
    (
        re.compile(
            rf"\b({_HEADER})(['\"]{{0,2}}\s{{0,3}}[:=]\s{{0,3}}['\"]?)(?:(Bearer|Basic|Token)\s{{1,3}})?[^\s'\",;}})]{{1,4000}}",
            re.I,
        ),
        rf"\1\2{STRUCK}",
    ),
    (re.compile(r"\b(Bearer|Basic) {1,3}(?=[\w.~+/-]{0,200}[\d=])[\w.~+/=-]{8,4000}", re.I), rf"\1 {STRUCK}"),
    # api_key='…', "api_key": "…", api_key=…
    (
        re.compile(
            rf"(?<![\w-])({_NAME}['\"]?\s{{0,3}}[:=]\s{{0,3}})(?:'[^']{{1,4000}}'|\"[^\"]{{1,4000}}\"|[^\s'\",;&)}}]{{1,4000}})",
            re.I,
        ),
        rf"\1{STRUCK}",
    ),
    # the forms of common services' keys
    (re.compile(r"\b(?:sk|pk|rk|hf|ghp|gho|xox[abp]|glpat)[-_][A-Za-z0-9_-]{16,400}"), STRUCK),
)
_KEYED = re.compile(rf"(?:{_NAME}|{_HEADER})", re.I)
_HINTS = ("@", "key", "token", "secret", "pass", "auth", "sig", "credential", "cookie", "bearer", "basic")
_SHAPES = ("sk-", "pk-", "rk-", "sk_", "pk_", "rk_", "hf_", "hf-", "ghp", "gho", "xox", "glpat")


def strike(text: str) -> str:
    """Return the text with its keys redacted, in linear time."""
    low = text.lower()
    if not any(hint in low for hint in _HINTS) and not any(shape in low for shape in _SHAPES):
        return text
    for pattern, instead in _FORMS:
        text = pattern.sub(instead, text)
    return text


def strike_all(value: Any) -> Any:
    """Return JSON data with the keys in its strings redacted.

    A string stored under a key's name is redacted completely.
    """
    if isinstance(value, str):
        return strike(value)
    if isinstance(value, dict):
        return {
            name: STRUCK if isinstance(item, str) and item and _KEYED.fullmatch(str(name)) else strike_all(item)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [strike_all(item) for item in value]
    return value
