"""Read a judge's reply strictly, in the format that its prompt requires.

With `member`, the reply is one JSON object, bare or in a fence, and the verdict is that field. Otherwise a format
defines how a verdict is written (`find`, with `{}` for the label or number), where it may appear, and the value of each
label.

Verdicts that the judge only quotes or rejects do not count (`asserted.py`). A reply has no verdict if it contains none,
two different ones, or a number out of range. That is an error with the reply's text attached, never a guess and never a
zero.

Patterns are literals around a label or a short number, so matching is linear. Thoughts are ignored, whether closed or
cut off.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, get_args

from verikit.engines.types import Output
from verikit.errors import ConfigError, JudgeError, Refusal, UnparseableVerdict
from verikit.judges.asking import asserted
from verikit.judges.asking.shares import verdict_shares
from verikit.replies.split import split
from verikit.verifiers.reading.json_reply import document

Where = Literal["end", "line_end", "whole", "first_line", "line_start", "anywhere"]
"""Where a verdict may appear in the reply.

`end`: the end of the reply, or a line that announces the verdict. `line_end`: the end of any line. `whole`: the whole
reply, except spaces, quotes and a full stop. `first_line`: the first line. `line_start`: the start of any line.
`anywhere`: any place.
"""
Read = Literal["text", "logprobs"]
Several = Literal["error", "first_label"]
MIN_MASS = 0.5
"""Minimum probability mass on the labels for a verdict by log-probabilities."""
_TRIM = " \t\r\n\"'`*."
_NUMBER = r"(-?\d{1,6}(?:\.\d{1,6})?)"
_SHOWN = 300
_LOOKED_AT = 1000
"""Number of verdicts of one reply whose sentences are read, counted from the end."""


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """The result of one reply: a value, or the error that explains why there is no value."""

    value: float | None
    """A preference for the answer shown first, or a score, in the format's unit."""
    label: str = ""
    """The verdict as found. By log-probabilities, the likeliest label."""
    reply: str = ""
    """The judge's whole text."""
    error: Exception | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    unasked: str = ""
    """Why the value was set without a reply."""


@dataclass(frozen=True)
class ReplyFormat:
    """How a prompt's replies are read."""

    find: str = "{}"
    """How a verdict is written. `{}` is the place of the label or the number."""
    where: Where = "end"
    labels: Mapping[str, float] = field(default_factory=dict)
    """The value of each label. Case matters. In JSON, `true` and `false` are the labels of booleans."""
    scale: tuple[float, float] | None = None
    """Instead of labels: a number between these two, inclusive."""
    read: Read = "text"
    """`logprobs`: weight the labels by their probabilities at the verdict's position."""
    member: str = ""
    """Name of the field with the verdict, if replies are JSON objects."""
    several: Several = "error"
    """How different verdicts in one reply are read: `error`, or `first_label` (to replay LLMBar).

    `first_label` takes the label that is first in `labels`, and includes quoted and rejected verdicts.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", tuple(self.scale) if self.scale else None)
        problems = [
            text
            for text, bad in (
                ("find needs one {}", self.find.count("{}") != 1),
                ("either labels or a scale of two numbers", bool(self.labels) == bool(self.scale)),
                ("either labels or a scale of two numbers", self.scale is not None and len(self.scale) != 2),
                (f"where must be one of {', '.join(get_args(Where))}", self.where not in get_args(Where)),
                (f"read must be one of {', '.join(get_args(Read))}", self.read not in get_args(Read)),
                (f"several must be one of {', '.join(get_args(Several))}", self.several not in get_args(Several)),
            )
            if bad
        ]
        if problems:
            raise ConfigError(f"a reply format: {problems[0]}")

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest value of a verdict."""
        return self.scale or (min(self.labels.values()), max(self.labels.values()))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _compiled(self.find, self.where, () if self.scale else tuple(self.labels))

    def choices(self) -> tuple[str, ...]:
        """Every possible whole reply, for structured output. Empty if a reply is more than its verdict."""
        return self.verdicts() if self.where == "whole" and not self.member else ()

    def verdicts(self) -> tuple[str, ...]:
        """Every verdict as written in a reply, without surroundings. For a scale, one per integer."""
        names = self._names()
        if self.member:
            word = "{}" if self.scale or set(names) <= {"true", "false"} else '"{}"'
            return tuple(f'{{"{self.member}": {word.format(name)}}}' for name in names)
        return tuple(self.find.replace("{}", name) for name in names)

    def found(self, text: str) -> list[str]:
        """Each label or number that is written as a verdict, in order, including repeats."""
        if self.member:
            return self._member(text)
        if self.where == "whole":
            return self._whole(text)
        if self.where == "first_line":
            return self._whole(text.strip().partition("\n")[0])
        matches = list(self._pattern.finditer(text))
        if self.several == "first_label":
            return [match[1] for match in matches]
        return [match[1] for match in self._asserted(text, matches)]

    def mentioned(self, text: str) -> bool:
        """Whether a verdict appears anywhere in a string, even if it is not the judge's own."""
        return bool(self._member(text)) if self.member else self._pattern.search(text) is not None

    def _asserted(self, text: str, matches: Sequence[re.Match[str]]) -> list[re.Match[str]]:
        """The matches that the judge gives as its own verdict."""
        matches = matches[-_LOOKED_AT:]
        if self.where in ("anywhere", "line_start"):
            return [m for m in matches if _given(text, m, set_off=False) and asserted.kept(text, m.end())]
        given: list[re.Match[str]] = []
        for match in matches:  # one that is set off may be repeated in its line: "[[A]], yes, [[A]]"
            again = bool(given) and "\n" not in text[given[-1].end() : match.start()]
            if _given(text, match, set_off=not again):
                given.append(match)
        own = [match for match in given if asserted.ends_line(text, match.end())]
        if self.where == "line_end" or not own:
            return own
        last = own[-1]
        if not asserted.ends_reply(text, last.end()) and not asserted.announced(text, last.start(), last.end()):
            return []
        # "[[A]] or [[B]]": other verdicts given in the last line count too.
        line = text.rfind("\n", 0, last.start())
        return own + [match for match in given if line < match.start() < last.start()]

    def _whole(self, text: str) -> list[str]:
        match = self._pattern.fullmatch(text.strip()) or self._pattern.fullmatch(text.strip(_TRIM))
        return [match[1]] if match else []

    def _member(self, text: str) -> list[str]:
        """The verdict's field of a JSON reply, as JSON writes it. Empty if the field is not a verdict."""
        value = document(text, bare=True).value
        said = value.get(self.member) if isinstance(value, Mapping) else None
        if isinstance(said, str):
            return [said] if said in self.labels else []
        number = isinstance(said, (int, float)) and not isinstance(said, bool) and _finite(said)
        written = json.dumps(said) if number or isinstance(said, bool) else ""
        fits = number if self.scale else written in self.labels
        return [written] if fits else []

    def reasons(self, reply: str) -> str:
        """The text that may state reasons: all of a reply, or the other strings of a JSON reply."""
        if not self.member:
            return reply
        value = document(reply, bare=True).value
        fields = value.items() if isinstance(value, Mapping) else ()
        return "\n".join(said for name, said in fields if name != self.member and isinstance(said, str))

    def parse(self, output: Output, *, held: bool = False) -> JudgeVerdict:
        """Read a reply.

        An unreadable reply gives a verdict with an error. `held`: it was constrained to the verdicts.
        """
        try:
            by_token = self.read == "logprobs"
            value, label = self._by_logprobs(output, held=held) if by_token else self._by_text(output)
        except JudgeError as error:
            return JudgeVerdict(None, reply=output.text, error=error)
        return JudgeVerdict(value, label, output.text)

    def _by_text(self, output: Output) -> tuple[float, str]:
        reply = split(output.text)
        if reply.missing:
            raise _unreadable("thoughts and no verdict after them", output)
        text = reply.reply
        found = list(dict.fromkeys(self.found(text)))
        values = {label: self._value(label) for label in found}
        if len(set(values.values())) == 1:
            return values[found[0]], found[0]
        if found and self.several == "first_label":
            first = next(label for label in self.labels if label in values)
            return values[first], first
        if found:
            raise _unreadable(f"verdicts that contradict each other ({', '.join(found[:4])})", output)
        form = f'{{"{self.member}": …}}' if self.member else self.find.replace("{}", "…")
        raise _unreadable(f"no verdict of the form {form!r}", output)

    def _value(self, label: str) -> float:
        if self.scale is None:
            return self.labels[label]
        low, high = self.scale
        if not low <= float(label) <= high:
            raise UnparseableVerdict(f"the score {label} is not between {low:g} and {high:g}")
        return float(label)

    def _by_logprobs(self, output: Output, *, held: bool) -> tuple[float, str]:
        """Weight the labels by their probabilities at the verdict's position (see `shares.py`).

        A reply that was constrained to the labels needs no minimum mass on them: the remaining mass decides. If such a
        reply is not a label, the engine did not apply the constraint.
        """
        label, names = self._label(output), self._names()
        written = output.text.strip() if held else ""
        holds = bool(written) and (label in names or any(name.startswith(written) for name in names))
        if not output.top_logprobs and holds and label:
            return self._value(label), label
        if not output.top_logprobs:
            raise _unreadable("no log-probabilities, from which this prompt's verdict is read", output)
        if label and label not in names:
            return self._value(label), label  # a number between those of the scale, which has no token
        values = {name: self._value(name) for name in names}
        _, _, after = self._around
        start = self._start(output, label)
        shares = verdict_shares(output, values, start=start, after=after, whole=not label)
        if not shares and holds and label:
            shares = {label: 1.0}  # no label is among the likeliest tokens: the written one is the likeliest label
        mass = math.fsum(shares.values())
        if not (mass > 0 if holds else mass >= MIN_MASS):  # NaN is not either
            raise _unreadable(f"only {mass:.2g} of the probability on the labels", output)
        value = math.fsum(share * values[name] for name, share in shares.items()) / mass
        return value, max(shares, key=lambda name: shares[name])

    def _label(self, output: Output) -> str:
        """The sampled verdict. "" if it is missing but replies are only their verdict, so its position is known."""
        try:
            return self._by_text(output)[1]
        except JudgeError:
            if self.where == "whole" and self.find == "{}" and not self.member:
                return ""
            raise

    @property
    def _around(self) -> tuple[str, str, str]:
        """The string before a verdict, {}, and the string after it."""
        if self.member:
            return "", "{}", '"' if self.labels and not {*self.labels} <= {"true", "false"} else ""
        return self.find.partition("{}")

    def _start(self, output: Output, label: str) -> int:
        """The character position in the joined tokens where the verdict starts.

        Raises:
            UnparseableVerdict: The verdict is not in the tokens.
        """
        if not label:
            return 0
        joined = "".join(output.tokens or (output.text,))
        before, _, after = self._around
        if self.member:
            ends = [match.end() for match in re.finditer(rf'"{re.escape(self.member)}"\s{{0,20}}:\s{{0,20}}"?', joined)]
            at = max((end for end in ends if joined.startswith(label, end)), default=-1)
        else:
            at = joined.rfind(before + label + after)
            at += len(before) if at >= 0 else 0
        if at < 0:
            raise _unreadable("a verdict that is not where its tokens are", output)
        return at

    def _names(self) -> list[str]:
        """The labels, or the integers of the scale."""
        return list(self.labels) if self.scale is None else [f"{n}" for n in range(*self._whole_numbers())]

    def _whole_numbers(self) -> tuple[int, int]:
        low, high = self.scale or (0.0, 0.0)
        return math.ceil(low), math.floor(high) + 1


def _given(text: str, match: re.Match[str], *, set_off: bool = True) -> bool:
    """Whether a verdict is the judge's own (see `asserted.py`)."""
    return asserted.given(text, match.start() + match[0].startswith("\n"), match.end(), set_off=set_off)


def _finite(number: float) -> bool:
    """Whether a number fits a finite float. JSON integers can be larger than any float."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


@lru_cache(maxsize=2048)
def _compiled(find: str, where: Where, labels: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of a verdict: one of these labels, or a number if there are no labels."""
    before, after = map(re.escape, find.split("{}"))
    label = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    start = r"(?:^|\n) ?" if where == "line_start" else ""
    return re.compile(f"{start}{before}(?:{f'({label})' if labels else _NUMBER}){after}")


def preference_of(logprobs: Mapping[str, float], first: str, second: str) -> float:
    """P(first) / (P(first) + P(second)) from the log-probabilities of one token (AlpacaEval's verdict).

    Raises:
        UnparseableVerdict: Neither is among them.
    """
    if first not in logprobs and second not in logprobs:
        raise UnparseableVerdict(f"neither {first!r} nor {second!r} is among the likeliest tokens")
    gap = logprobs.get(second, -math.inf) - logprobs.get(first, -math.inf)
    return 1 / (1 + math.exp(gap)) if gap < 700 else 0.0


def _unreadable(what: str, output: Output) -> JudgeError:
    text = output.text if len(output.text) <= _SHOWN else output.text[: _SHOWN - 1] + "…"
    if output.finish_reason == "content_filter":
        return Refusal(f"the judge's reply was withheld by its content filter: {text!r}")
    cut = " before max_tokens cut the reply off" if output.finish_reason == "length" else ""
    return UnparseableVerdict(f"{what}{cut}, in {text!r}")
