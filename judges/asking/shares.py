"""The probability of each verdict at the position of a reply's verdict, from the likeliest tokens there.

A verdict may be part of a token, one token, or several. Tokens are followed from the verdict's start as long as their
text may become verdicts with different values. A token that leaves this open and was not sampled counts for none of
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from verikit.engines.types import Output, TopLogprobs

_SPACE = " \t\r\n"


def verdict_shares(
    output: Output, values: Mapping[str, float], *, start: int = 0, after: str = "", whole: bool = False
) -> dict[str, float]:
    """The probability of each verdict. The rest of 1 is on other tokens, or on tokens that leave the verdict open.

    Args:
        output: A reply with the likeliest tokens at each position.
        values: The verdicts as written, with their values. If all verdicts that a token may become have the same value,
            it counts as the first of them.
        start: Position in the joined tokens where the verdict starts, in characters.
        after: The string that follows a verdict. If it is empty, one verdict may be the start of another ("1" and
            "10").
        whole: Count a token only if it is a whole verdict, or was sampled and leads to one.
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
    """The probability of each verdict, and the probability of each string that may become several."""
    claims: dict[str, float] = {}
    unknown: dict[str, float] = {}
    for text, probability in said.items():
        if text == stem:
            continue  # nothing was added, so the text ends here
        fits = [name for name in values if _fits(text, name, after)]
        if text in fits and all(name in said for name in fits):
            fits = [text]  # the longer ones are separate tokens
        if len({values[name] for name in fits}) > 1:
            unknown[text] = probability
        elif fits and not (whole and text not in fits and not stem):
            claims[fits[0]] = claims.get(fits[0], 0.0) + probability
    return claims, unknown


def _fits(text: str, name: str, after: str) -> bool:
    """Whether the text may become this verdict, or already contains it."""
    return (name + after).startswith(text) or (after != "" and text.startswith(name + after))


def _position(tokens: Sequence[str], start: int) -> tuple[int, str]:
    """The token that contains a character of the joined text, and the part of the token before that character."""
    for position, token in enumerate(tokens):
        if start < len(token):
            return position, token[:start]
        start -= len(token)
    return len(tokens), ""


def _spelled(top: TopLogprobs, stem: str, before: str, after: str) -> dict[str, float]:
    """The stem extended by each token, with probabilities. Spellings that differ only in spaces are added."""
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
