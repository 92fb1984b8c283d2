"""The engine's settings, checked before anything is sent: address, key, options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from pydantic import SecretStr

from verikit.errors import SpecError


def check_address(url: str) -> None:
    """Check that a string is an address. Errors don't repeat it, because it may contain a key.

    Raises:
        SpecError: It is not an address, or contains credentials.
    """
    if "@" in url or "?" in url:
        raise SpecError("put no key into the address", hint="set OPENAI_API_KEY, or the option api_key")
    if not re.fullmatch(r"https?://([^/:\[\]\s]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(/\S*)?", url):
        raise SpecError("the server's address is not http://HOST[:PORT][/PATH] or https://…")


def check_model(model: str) -> None:
    """Check that a string is a model's name. Errors don't repeat it, because it may contain a key.

    Raises:
        SpecError: It contains parameters, whitespace or a second #.
    """
    if re.search(r"[?&#=\s]", model):
        raise SpecError("the model's name contains parameters", hint="put no key there: set OPENAI_API_KEY")


def check_spec(spec: str) -> None:
    """Check that a spec `URL#model` is valid for an engine. Nothing is loaded.

    Raises:
        SpecError: Its address or its model's name is invalid.
    """
    url, _, model = spec.partition("#")
    check_address(url)
    check_model(model)


def header_key(key: str) -> SecretStr:
    """Return the key in a form that is valid in a header.

    Raises:
        SpecError: It has invalid characters.
    """
    if not isinstance(key, str) or not re.fullmatch("[!-~]*", key.strip()):
        raise SpecError(
            "the API key contains characters that are invalid in an HTTP header", hint="correct OPENAI_API_KEY"
        )
    return SecretStr(key.strip())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


_FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "concurrency": (lambda value: _is_count(value) and value > 0, "an integer >= 1"),
    "timeout_s": (_is_positive, "a number > 0"),
    "deadline_s": (_is_positive, "a number > 0"),
    "retries": (lambda value: _is_count(value) and value >= 0, "an integer >= 0"),
    "requests_per_minute": (lambda value: value is None or _is_positive(value), "a number > 0, or None"),
    "tokens_per_minute": (lambda value: value is None or _is_positive(value), "a number > 0, or None"),
    "prices": (
        lambda value: (
            value is None or (isinstance(value, (tuple, list)) and len(value) in (2, 3) and all(map(_is_number, value)))
        ),
        "two numbers, for a million prompt and a million reply tokens, and perhaps one for cached prompt tokens",
    ),
    "server": (lambda value: value in ("auto", "vllm", "openai"), "auto, vllm or openai"),
    "body": (lambda value: value is None or isinstance(value, Mapping), "a table of further keys"),
    "pictures": (lambda value: isinstance(value, bool), "true or false"),
}


def check_options(options: Mapping[str, Any]) -> None:
    """Check the options' values, which come directly from specs and command lines.

    Raises:
        SpecError: One is invalid. The message describes valid values.
    """
    for name, value in options.items():
        fits, form = _FORMS[name]
        if not fits(value):
            raise SpecError(f"engine openai: {name} must be {form}, got {value!r}")
