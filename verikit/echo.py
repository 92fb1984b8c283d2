r"""Echoes: a formula of the question handed back as its answer.

"Compute $(1+2i)6-3i$." answered by `\boxed{(1+2i)6-3i}` equals the gold and shows no thought; a policy that is paid
for it learns to copy. An answer is an echo if it stands in the prompt as a whole formula, a side of a relation or an
element of a list, unless the gold has that form too (the same tree, or it stands there itself), or the question asks to
choose from what it lists. Only formulas can be echoes: a word, a symbol or a number in digits that stands in the prompt
may well be the answer.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from verikit.answers.gold import NUMERAL, read, read_gold
from verikit.base import Verifier, score_all
from verikit.combine import Part, as_verifier
from verikit.reply import Reads
from verikit.spec import load
from verikit.stats import Estimate, mean_interval
from verikit.text import accepted
from verikit.types import Prompt, Sample, Score

MAX_CHARS = 300
"""Characters of an answer that is looked for in the prompt."""
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]+|\d+(?:\.\d+)?|\S", re.DOTALL)
_SKIPPED = frozenset((r"\left", r"\right", r"\displaystyle", r"\,", r"\;", r"\!", r"\:", r"\ ", r"\quad", r"\qquad"))
_SAME = {r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cdot": "*", r"\times": "*", r"\leq": r"\le", r"\geq": r"\ge"}
_EDGES = frozenset((*"$,;:.?!=<>&\"'`", r"\\", r"\[", r"\]", r"\(", r"\)", r"\le", r"\ge"))
"""What may stand beside a whole formula, as words may."""
_CHOICE = re.compile(
    r"\b(?:which|choose|select|pick|options?|choices?|(?:one|any|all|either) of (?:the|these)|true or false)\b"
    r"|[\[(]\s{0,3}[A-E]\s{0,3}[\])]",
    re.IGNORECASE,
)
_FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$([^$]+)\$|\\\[(.{1,2000}?)\\\]|\\\((.{1,2000}?)\\\)", re.DOTALL)


def is_echo(answer: str, prompt: Prompt, golds: Iterable[str]) -> bool:
    """Whether an answer is a formula of the question in a form that the gold does not have."""
    text = _text(prompt)
    if len(answer) > MAX_CHARS or NUMERAL.fullmatch(answer.strip()) or _CHOICE.search(text):
        return False
    tree = read(answer).tree
    if tree is None or tree.op in ("sym", "const") or not _stands_in(answer, text):
        return False
    return not any(read_gold(gold).tree == tree or _stands_in(gold, text) for gold in golds)


def _stands_in(formula: str, prompt: str) -> bool:
    """Whether a formula is a whole formula of the prompt, spacing and delimiters aside."""
    wanted = [token for token in _tokens(formula.strip().rstrip(".,;:?")) if token != "$"]
    there = _tokens(prompt)
    for start in range(len(there) - len(wanted) + 1) if wanted else ():
        end = start + len(wanted)
        if there[start] == wanted[0] and there[start:end] == tuple(wanted):
            beside = [*there[start - 1 : start], *there[end : end + 1]]
            if all(token in _EDGES or (token.isalpha() and len(token) > 1) for token in beside):
                return True
    return False


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(str(_SAME.get(token, token)) for token in _TOKEN.findall(text) if token not in _SKIPPED)


def _text(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n".join(str(message.get("content", "")) for message in prompt if message.get("role") != "assistant")


@dataclass(frozen=True)
class EchoGuard(Verifier):
    """A verifier that pays nothing for a formula of the question; see `echo_guard`."""

    part: Verifier
    name = "echo_guard"
    reads: ClassVar[Reads | None] = None
    tallied: ClassVar[tuple[str, ...]] = ("echoes",)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score, then take the value of echoes; rows with `options` are left alone."""
        return [
            self._guarded(sample, score) for sample, score in zip(samples, score_all(self.part, samples), strict=True)
        ]

    def _guarded(self, sample: Sample, score: Score) -> Score:
        if not score.value or score.value < 0 or score.answer is None or sample.meta.get("options"):
            return score
        if not is_echo(score.answer, sample.prompt, accepted(sample.answer)):
            return score
        usage = {**score.usage, "echoes": 1.0}
        return replace(score, value=0.0, reason="echo: the answer is a formula of the question", usage=usage)

    def equal(self, a: str, b: str) -> bool | None:
        """Ask the part."""
        return self.part.equal(a, b)

    def matches(self, score: Score) -> bool:
        """Ask the part."""
        return self.part.matches(score)

    def doubts(self, score: Score) -> bool:
        """An echo is one whatever a judge says; of the rest the part."""
        return "echoes" not in score.usage and self.part.doubts(score)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """Ask the part."""
        return self.part.keys(answer)


def echo_guard(part: Part) -> Verifier:
    """Give 0.0 to an answer that is a formula of the question, unless the gold has that form or choosing is asked for.

    Args:
        part: A verifier that gives the answer it read (`Score.answer`).
    """
    verifier = as_verifier(part)
    return verifier if isinstance(verifier, EchoGuard) else EchoGuard(verifier)


def echo_rate(verifier: str | Verifier, samples: Iterable[Sample]) -> Estimate:
    r"""How often a verifier pays for the question's last formula in a box: a policy's score for copying alone.

    Args:
        verifier: A verifier or its spec, with or without `echo_guard`.
        samples: Questions with their golds; completions are not looked at. One without a formula can't be echoed.

    Raises:
        SpecError: the spec can't be read.
        UsageError: there are no samples, or none has a score.
    """
    asked = list(samples)
    last = [_last_formula(_text(sample.prompt)) for sample in asked]
    echoes = [replace(sample, completion=rf"\boxed{{{formula}}}") for sample, formula in zip(asked, last, strict=True)]
    return mean_interval(score.value for score in score_all(load(verifier), echoes) if score.value is not None)


def _last_formula(text: str) -> str:
    found = _FORMULA.findall(text)
    return next(filter(None, found[-1])).strip() if found else ""
