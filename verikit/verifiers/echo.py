r"""The echo guard: no reward for a formula of the question as its answer, or for an answer left to compute.

"Compute $(1+2i)6-3i$." answered by `\boxed{(1+2i)6-3i}` equals the gold answer without any work. A policy that is
rewarded for it learns to copy. Both rules check the form of the answer and ignore neutral parts and invisible
characters.

An answer is an echo if it contains a right formula of the prompt. This can be a whole formula, a side of a relation or
an element of a list. It is not an echo if the gold answer has that form too (the same tree, or it appears in the prompt
itself). Nor is it one if the question is a choice among listed answers. Only formulas can be echoes: a word, a symbol
or a number in digits from the prompt may well be the answer.

An answer is unevaluated if it leaves more to compute than the gold answer: `\gcd(84, 36)` for 12. This rule applies if
the gold answer is a plain number or the question requires computing a value. See `verikit.answers.forms`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import ClassVar

from verikit.answers.forms import claims, holds, ordered, plain, same_value, unevaluated, unsigned, written
from verikit.answers.gold import NUMERAL, read_gold
from verikit.answers.parser.tree import Node
from verikit.base import Verifier
from verikit.compose.combine import Part, as_verifier
from verikit.messages import content_text
from verikit.names.spec import load
from verikit.replies.split import Reads
from verikit.replies.text import accepted
from verikit.replies.unseen import without_unseen
from verikit.stats import Estimate, mean_interval
from verikit.types import Prompt, Sample, Score

MAX_CHARS = 2_000
"""Maximum characters of an answer that is searched for in the prompt. A longer formula is unevaluated."""
REFUSED = ("echoes", "unevaluated")
"""Keys of `Score.usage` that show why an answer was rejected."""
MAX_REMEMBERED = 300
"""Maximum characters of an answer whose rejection is cached; its question may have ten times as many."""
MAX_FORMULAS = 400
"""Maximum formulas of a prompt that are checked."""
_SIMPLE = ("num", "sym", "const")
_REPEATING = re.compile(r"\\(?:overline|dot|bar)")
"""A repeating decimal, which is a formula although its tree is a number."""
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]+|\d+(?:\.\d+)?|\S", re.DOTALL)
_SKIPPED = frozenset((r"\left", r"\right", r"\displaystyle", r"\,", r"\;", r"\!", r"\:", r"\ ", r"\quad", r"\qquad"))
_SAME = {r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cdot": "*", r"\times": "*", r"\leq": r"\le", r"\geq": r"\ge"}
_EDGES = frozenset((*"$,;:.?!=<>&\"'`", r"\\", r"\[", r"\]", r"\(", r"\)", r"\le", r"\ge"))
"""Characters that may appear next to a whole formula, as words may."""
_CHOICE = re.compile(
    r"(?:^|[.?!:;]\s{0,3}|\b(?:determine|decide|find|say|tell|state|identify|out)\s{1,3})which\b"
    r"|\b(?:choose|select|pick|options?|choices?|(?:one|any|all|either) of (?:the|these)|true or false)\b"
    r"|[\[(]\s{0,3}[A-E]\s{0,3}[\])]",
    re.IGNORECASE,
)
_FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$([^$]+)\$|\\\[(.{1,2000}?)\\\]|\\\((.{1,2000}?)\\\)", re.DOTALL)


def is_echo(answer: str, prompt: Prompt, golds: Iterable[str]) -> bool:
    """Whether an answer contains a right formula of the question in a form that the gold answer does not have."""
    text, answer, golds = without_unseen(_text(prompt)), without_unseen(answer).strip(), list(golds)
    if len(answer) > MAX_CHARS or NUMERAL.fullmatch(answer) or _CHOICE.search(text):
        return False
    tree = written(answer)
    if tree is None or any(_stands_in(gold, text) for gold in golds):
        return False
    trees = [read for gold in golds if (read := written(read_gold(gold).text)) is not None]
    if any(plain(gold) == plain(tree) for gold in trees):
        return False
    if tree.op not in ("sym", "const") and _stands_in(answer, text):
        return True
    return all(_copied(claim, text, trees) for claim in claims(tree, trees))


def _copied(claim: Node, text: str, golds: Sequence[Node]) -> bool:
    """Whether a value of an answer is or contains a right formula of the text, ignoring neutral parts."""
    if any(plain(gold) == plain(claim) for gold in golds):
        return False
    whole = ordered(claim)
    return any(
        holds(whole, formula) and (whole == formula or any(same_value(gold, formula) for gold in golds))
        for formula in _formulas(text)
    )


@lru_cache(maxsize=256)
def _formulas(text: str) -> tuple[Node, ...]:
    """The formulas of the text that are more than a number or a letter, whole ones and parts, their terms in order."""
    pieces = dict.fromkeys(next(filter(None, found)).strip() for found in _FORMULA.findall(text))
    pieces.update(dict.fromkeys(_between_edges(text)))
    found: dict[Node, None] = {}
    for piece in islice(pieces, MAX_FORMULAS):
        tree = written(piece.rstrip(".,;:?")) if len(piece) <= MAX_CHARS else None
        if tree is not None and (unsigned(tree).op not in _SIMPLE or _REPEATING.search(piece)):
            found[ordered(tree)] = None
    return tuple(found)


def _between_edges(text: str) -> Iterator[str]:
    """The pieces of the text between characters that may appear next to a whole formula."""
    start = 0
    for match in _TOKEN.finditer(text):
        if _edge(match[0]):
            yield text[start : match.start()].strip()
            start = match.end()
    yield text[start:].strip()


def _edge(token: str) -> bool:
    return token in _EDGES or (token.isalpha() and len(token) > 1)


def _stands_in(formula: str, prompt: str) -> bool:
    """Whether a formula is a whole formula of the prompt, ignoring spacing and delimiters."""
    wanted = [token for token in _tokens(formula.strip().rstrip(".,;:?")) if token != "$"]
    there = _tokens(prompt)
    for start in range(len(there) - len(wanted) + 1) if wanted else ():
        end = start + len(wanted)
        if there[start] == wanted[0] and there[start:end] == tuple(wanted):
            beside = [*there[start - 1 : start], *there[end : end + 1]]
            if all(map(_edge, beside)):
                return True
    return False


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(str(_SAME.get(token, token)) for token in _TOKEN.findall(text) if token not in _SKIPPED)


def _text(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n".join(content_text(message.get("content")) for message in prompt if message.get("role") != "assistant")


@dataclass(frozen=True)
class EchoGuard(Verifier):
    """A verifier that gives 0.0 for a formula of the question or an unevaluated answer; see `echo_guard`."""

    part: Verifier
    evaluated: bool = True
    """Whether answers that are left to compute get 0.0 too."""
    name = "echo_guard"
    reads: ClassVar[Reads | None] = None
    tallied: ClassVar[tuple[str, ...]] = REFUSED

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score, then set rejected answers to 0.0; rows with `options` are unchanged."""
        return [self.guarded(sample, score) for sample, score in zip(samples, self.part.score(samples), strict=True)]

    def guarded(self, sample: Sample, score: Score) -> Score:
        """The part's score of a sample, or 0.0 if its answer is an echo or is not evaluated."""
        if not score.value or score.value < 0 or score.answer is None or sample.meta.get("options"):
            return score
        golds, asked = tuple(accepted(sample.answer)), _text(sample.prompt)
        is_short = len(score.answer) <= MAX_REMEMBERED and len(asked) <= 10 * MAX_REMEMBERED
        refused = (_remembered if is_short else _refusal)(score.answer, asked, golds, self.evaluated)
        if refused is None:
            return score
        kind, reason = refused
        return replace(score, value=0.0, reason=reason, usage={**score.usage, kind: 1.0})

    def equal(self, a: str, b: str) -> bool | None:
        """Delegate to the part."""
        return self.part.equal(a, b)

    def matches(self, score: Score) -> bool:
        """Delegate to the part."""
        return self.part.matches(score)

    def doubts(self, score: Score) -> bool:
        """Rejected answers stay rejected regardless of a judge; for the others, the part decides."""
        return not refusals(score) and self.part.doubts(score)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """Delegate to the part."""
        return self.part.keys(answer)


def _refusal(answer: str, asked: str, golds: tuple[str, ...], evaluated: bool) -> tuple[str, str] | None:
    """The kind and the reason of a rejection; None if the answer is not rejected."""
    if is_echo(answer, asked, golds):
        return "echoes", "echo: the answer is a formula of the question"
    if evaluated and (left := unevaluated(without_unseen(answer), golds, asked)):
        return "unevaluated", f"unevaluated: the answer still has {left}"
    return None


_remembered = lru_cache(maxsize=2048)(_refusal)
"""The right answers of a group are often the same text."""


def refusals(score: Score) -> float:
    """How often the guard rejected an answer in a score, including its parts: 0 or more."""
    return sum(score.usage.get(kind, 0.0) for kind in REFUSED)


def echo_guard(part: Part, evaluated: bool = True) -> EchoGuard:
    """Give 0.0 to an answer that is a formula of the question, and to one that is not evaluated.

    A formula of the question is accepted if the gold has that form, or the question requires a choice. An answer is not
    evaluated if a gold answer is a plain number, or the question requires computing a value. In addition, the answer
    must have kinds of operations that the gold answers don't have (a sum, gcd, an integral, a root, …), or more
    operations than a simple form.

    Args:
        part: A verifier that returns the answer it read (`Score.answer`).
        evaluated: Whether answers that are not evaluated also get 0.0.
    """
    verifier = as_verifier(part)
    return verifier if isinstance(verifier, EchoGuard) else EchoGuard(verifier, evaluated)


def echo_rate(verifier: str | Verifier, samples: Iterable[Sample]) -> Estimate:
    r"""How often a verifier rewards the question's last formula in a box: the score of a policy that only copies.

    Args:
        verifier: A verifier or its spec, with or without `echo_guard`.
        samples: Questions with their gold answers; completions are not read. A question without a formula can't be
            echoed.

    Raises:
        SpecError: The spec can't be read.
        UsageError: There are no samples, or all are unscored.
    """
    asked = list(samples)
    last = [_last_formula(_text(sample.prompt)) for sample in asked]
    echoes = [replace(sample, completion=rf"\boxed{{{formula}}}") for sample, formula in zip(asked, last, strict=True)]
    return mean_interval(score.value for score in load(verifier).score(echoes) if score.value is not None)


def _last_formula(text: str) -> str:
    found = _FORMULA.findall(text)
    return next(filter(None, found[-1])).strip() if found else ""
