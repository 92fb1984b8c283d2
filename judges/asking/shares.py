"""How probable each verdict was where a reply gives one, by the likeliest tokens at that place.

A verdict may be a part of a token, a token, or several: tokens are followed from where the verdict starts for as long
as what they spell may become verdicts that are worth different things. A token that leaves that open and was not
sampled counts for none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from verikit.engines.types import Output, TopLogprobs

_SPACE = " \t\r\n"


def verdict_shares(
    output: Output, values: Mapping[str, float], *, start: int = 0, after: str = "", whole: bool = False
) -> dict[str, float]:
    """The probability of each verdict; what is missing to 1 lies on other tokens, or on such as leave it open.

    Args:
        output: A reply with the likeliest tokens at each of its own.
        values: The verdicts as they are written, and what each is worth: where all that a token may become are worth
            the same, it counts as the first of them.
        start: The character of the joined tokens at which the verdict starts.
        after: What follows a verdict; where nothing does, one may be the beginning of another ("1" and "10").
        whole: Count a token only where it is all of a verdict, or was sampled and leads to one.
    """
    tokens = output.tokens or (output.text,)
    position, before = _position(tokens, start)
    stem, weight = "", 1.0
    shares: dict[str, float] = {}
    while position < len(output.top_logprobs):
        said = _spelled(output.top_logprobs[position], stem, before, after)
        sampled = _joined(stem, tokens[position], before, after) if position < len(tokens) else ""
        claims, unknown = _claims(said, values, stem, after, whole)
        going_on = unknown.get(sampled, 0.0)
        if stem in values and not after:
            claims[stem] = max(0.0, 1.0 - math.fsum(claims.values()) - math.fsum(unknown.values()))
        for name, probability in claims.items():
            shares[name] = shares.get(name, 0.0) + weight * probability
        if not going_on:
            break
        stem, weight, before, position = sampled, weight * going_on, "", position + 1
    return shares


def _claims(
    said: Mapping[str, float], values: Mapping[str, float], stem: str, after: str, whole: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """The probability that is a verdict's, by verdict; and what may become several, by what was said."""
    claims: dict[str, float] = {}
    unknown: dict[str, float] = {}
    for text, probability in said.items():
        if text == stem:
            continue  # nothing was added: what there is ends here
        fits = [name for name in values if _fits(text, name, after)]
        if text in fits and all(name in said for name in fits):
            fits = [text]  # the longer ones are tokens of their own
        if len({values[name] for name in fits}) > 1:
            unknown[text] = probability
        elif fits and not (whole and text not in fits and not stem):
            claims[fits[0]] = claims.get(fits[0], 0.0) + probability
    return claims, unknown


def _fits(text: str, name: str, after: str) -> bool:
    """Whether what was said may become this verdict, or has become it."""
    return (name + after).startswith(text) or (after != "" and text.startswith(name + after))


def _position(tokens: Sequence[str], start: int) -> tuple[int, str]:
    """The token that holds a character of the joined text, and what of the token is before that."""
    for position, token in enumerate(tokens):
        if start < len(token):
            return position, token[:start]
        start -= len(token)
    return len(tokens), ""


def _spelled(top: TopLogprobs, stem: str, before: str, after: str) -> dict[str, float]:
    """What each token makes of the stem, with its probability; spellings that differ in spaces are added."""
    said: dict[str, float] = {}
    for candidate in top:
        if before.strip(_SPACE) and not candidate.token.startswith(before):
            continue
        if text := _joined(stem, candidate.token, before, after):
            said[text] = said.get(text, 0.0) + math.exp(min(candidate.logprob, 0.0))
    return said


def _joined(stem: str, token: str, before: str, after: str) -> str:
    text = stem + token if stem else token.removeprefix(before).lstrip(_SPACE)
    return text if after else text.rstrip(_SPACE)
