"""The reward of a review: P(Yes) / (P(Yes) + P(No)) at the verdict's token.

The position is found in the tokens: it is the token that starts the verdict in the judgement's last box. The analysis,
the code and quoted steps are outside that part and are never read. A box that the judgement only quotes or rejects does
not count.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from verikit.engines import Output
from verikit.judges.asking import asserted
from verikit.judges.genprm.protocol import Protocol
from verikit.types import PASS_MARK

TOP_LOGPROBS = 20
FORCED_MASS = 0.1
"""Minimum probability on the two words if another was written. Below it, their tails would decide."""


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """The decision of a review."""

    label: bool
    """Whether Yes was written."""
    reward: float | None
    """None if the engine returned no log-probabilities, or NaN."""


def read_verdict(protocol: Protocol, begun: str, output: Output) -> StepVerdict | None:
    """Read the verdict of an output. None if it contains none.

    Args:
        protocol: The strings around the verdict.
        begun: The part of the judgement that the output continues. "" if the judgement has not started.
        output: The model's output, with tokens and the likeliest alternatives at each position if available.
    """
    said = begun + ("".join(output.tokens) or output.text)
    tag = said.rfind(protocol.judgement_tag)
    boxes = _verdicts(protocol).finditer(said, tag) if tag >= 0 else ()
    found = [box for box in boxes if asserted.given(said, box.start(), box.end(), set_off=False)]
    if not found or found[-1].start(1) < len(begun):
        return None
    label = found[-1][1] == protocol.yes
    if not output.top_logprobs:
        return StepVerdict(label, None)
    ends = list(accumulate(map(len, output.tokens), initial=len(begun)))
    index = bisect_right(ends, found[-1].start(1)) - 1
    before = said[min(found[-1].start(), ends[index]) : ends[index]]
    listed = {top.token: top.logprob for top in reversed(output.top_logprobs[index])}
    listed.setdefault(output.tokens[index], output.logprobs[index])
    return StepVerdict(label, _reward(protocol, before, listed))


def forced_verdict(protocol: Protocol, output: Output) -> StepVerdict | None:
    """Read the verdict of an output that continues from the opened box, from its first token's probabilities only.

    None if neither word was written and less than `FORCED_MASS` of the probability is on them.
    """
    written, listed = _written(protocol, output), _first_tokens(output)
    before = f"{protocol.box}{{"
    sides = [logprob for token, logprob in listed.items() if _side(protocol, before + token) is not None]
    if written is None and not _mass(sides) >= FORCED_MASS:  # NaN is not
        return None
    reward = _reward(protocol, before, listed) if sides else None
    if written is not None:
        return StepVerdict(written, reward)
    return None if reward is None else StepVerdict(reward >= PASS_MARK, reward)


def _written(protocol: Protocol, output: Output) -> bool | None:
    words = {True: protocol.yes, False: protocol.no}
    return next((side for side, word in words.items() if output.text.lstrip().startswith(word)), None)


def _mass(logprobs: Sequence[float]) -> float:
    return math.fsum(math.exp(min(logprob, 0.0)) for logprob in logprobs)


def _first_tokens(output: Output) -> dict[str, float]:
    """The log-probabilities of the first token: of the likeliest ones, and of the one that was sampled."""
    listed = {top.token: top.logprob for top in reversed(output.top_logprobs[0])} if output.top_logprobs else {}
    if output.tokens and output.logprobs:
        listed.setdefault(output.tokens[0], output.logprobs[0])
    return listed


def _reward(protocol: Protocol, before: str, listed: Mapping[str, float]) -> float | None:
    """P(Yes) / (P(Yes) + P(No)) of the tokens listed at one position.

    A side that is not listed gets the smallest listed probability. None if they are not probabilities: a model that
    overflows gives NaN.
    """
    mass = {True: 0.0, False: 0.0}
    for token, logprob in listed.items():
        if (side := _side(protocol, before + token)) is not None:
            mass[side] += math.exp(min(logprob, 0.0))
    least = math.exp(min(*listed.values(), 0.0))
    yes, no = mass[True] or least, mass[False] or least
    return yes / (yes + no) if yes + no > 0 else None


def _verdicts(protocol: Protocol) -> re.Pattern[str]:
    words = "|".join(map(re.escape, (protocol.yes, protocol.no)))
    return re.compile(rf"{re.escape(protocol.box)} ?\{{ ?({words}) ?\}}")


def _side(protocol: Protocol, text: str) -> bool | None:
    """The verdict that a text spells or starts to spell after its box. None while it is open."""
    begun = re.search(rf"{re.escape(protocol.box)} ?\{{ ?(.+)", text)
    for side, word in ((True, protocol.yes), (False, protocol.no)):
        if begun is not None and (begun[1].startswith(word) or word.startswith(begun[1])):
            return side
    return None
