"""Does a reply follow the instructions of its row?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

from verikit.base import TextVerifier, unique_names
from verikit.errors import MissingExtra, UsageError
from verikit.types import Sample, Score
from verikit.verifiers.instructions.arguments import Arguments, BadArgument, Check
from verikit.verifiers.instructions.repairs import REPAIRED
from verikit.verifiers.instructions.row import instructions
from verikit.verifiers.instructions.table import INSTRUCTIONS
from verikit.verifiers.reading.gold import check_choice

HOW = ("strict", "loose")
LEVELS = (("prompt", "prompts", "prompts_judged"), ("instruction", "followed", "instructions"))
"""The levels of accuracies: whole prompts, and all instructions together."""
Preset = Literal["official", "repaired"]
Value = Literal["all", "share"]


def _part(followed: bool) -> Score:
    return Score(float(followed), reason="followed" if followed else "not followed")


@dataclass(frozen=True)
class Instructions(TextVerifier):
    """1.0 if the reply follows all instructions of its row: IFEval's 25, IFBench's 58 and its 29 for training.

    The row gives them by id with arguments (`instruction_id_list` and `kwargs`, or both in a string `ground_truth`).
    The parts are the single instructions. An unknown id or a missing argument leaves the row unscored.
    """

    preset: Preset = "official"
    """`official`: the verdicts of the published scorers. `repaired`: without their known errors."""
    loose: bool = False
    """Whether a reply may follow an instruction without its first line, its last, or its asterisks."""
    value: Value = "all"
    """`all`: 1.0 if every instruction is followed. `share`: the fraction of instructions followed, IF-RLVR's reward."""
    max_chars: int = 200_000
    """A longer reply is 0.0 without being read."""
    name = "instructions"
    tallied: ClassVar[tuple[str, ...]] = (
        "prompts_judged",
        "instructions",
        *(f"{what}_{how}" for what in ("prompts", "followed") for how in HOW),
    )
    rates: ClassVar[Mapping[str, tuple[str, str]]] = MappingProxyType(
        {f"{what}_{how}_accuracy": (f"{key}_{how}", of) for what, key, of in LEVELS for how in HOW}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("preset", self.preset, get_args(Preset))
        check_choice("value", self.value, get_args(Value))
        if self.max_chars < 1:
            raise UsageError(f"max_chars must be at least 1, got {self.max_chars!r}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def score_missing(self, sample: Sample, reason: str) -> Score:
        """The score with all instructions not followed; a row that can't be judged is unscored here too."""
        score = self._score_sample(sample)
        return score if score.value is None else replace(score, answer=None, reason=reason)

    def _score_sample(self, sample: Sample) -> Score:
        try:
            given = instructions(sample)
            checks = [self._check(id, arguments) for id, arguments in given]
        except BadArgument as error:
            return Score.error(str(error))
        names = unique_names(id for id, _ in given)
        if len(sample.completion) > self.max_chars:
            verdicts = [(False, False)] * len(given)
        else:
            variants = list(dict.fromkeys(v for v in loose_variants(sample.completion) if v.strip()))
            verdicts = []
            for (id, arguments), check in zip(given, checks, strict=True):
                try:
                    verdicts.append(_verdicts(check, arguments, sample.completion, variants))
                except MissingExtra as error:
                    return Score.error(f"{id}: {error} ({error.hint})")
        return self._summed(sample, names, verdicts)

    def _check(self, id: str, arguments: Arguments) -> Check:
        if id not in INSTRUCTIONS:
            raise BadArgument(f"no instruction is called {id[:80]!r}")
        instruction = INSTRUCTIONS[id]
        try:
            instruction.look(arguments)
            if self.preset == "repaired" and id in REPAIRED:
                return REPAIRED[id]
            instruction.look_at_patterns(arguments)
        except BadArgument as error:
            raise BadArgument(f"{id}: {error}") from None
        return instruction.check

    def _summed(self, sample: Sample, names: Sequence[str], verdicts: Sequence[tuple[bool, bool]]) -> Score:
        followed = [verdict[self.loose] for verdict in verdicts]
        missed = [name for name, ok in zip(names, followed, strict=True) if not ok]
        strict, loose = ([verdict[how] for verdict in verdicts] for how in (0, 1))
        reason = f"{sum(followed)} of {len(names)} followed" + (f"; not {', '.join(missed)}" if missed else "")
        if len(sample.completion) > self.max_chars:
            reason = f"{len(sample.completion)} characters, over the cap of {self.max_chars}"
        return Score(
            float(not missed) if self.value == "all" else sum(followed) / len(followed),
            answer=sample.completion,
            reason=reason,
            parts={name: _part(ok) for name, ok in zip(names, followed, strict=True)},
            usage={
                "prompts_judged": 1,
                "instructions": len(names),
                "followed_strict": sum(strict),
                "followed_loose": sum(loose),
                "prompts_strict": all(strict),
                "prompts_loose": all(loose),
            },
        )


def _verdicts(check: Check, arguments: Arguments, text: str, variants: Sequence[str]) -> tuple[bool, bool]:
    """Whether text follows an instruction unchanged, and whether one of its variants does."""
    if not text.strip():
        return False, False
    strict = _follows(check, arguments, text)
    return strict, strict or any(_follows(check, arguments, variant) for variant in variants if variant != text)


def _follows(check: Check, arguments: Arguments, text: str) -> bool:
    """Whether text passes a check; if it makes a row's pattern time out, it fails every check, including bans."""
    try:
        return check(text, arguments)
    except TimeoutError:
        return False


def loose_variants(text: str) -> list[str]:
    """IFEval's eight readings of a reply: without its first line, its last or both, each with and without asterisks."""
    lines = text.split("\n")
    cut = ["\n".join(lines[1:]).strip(), "\n".join(lines[:-1]).strip(), "\n".join(lines[1:-1]).strip()]
    return [variant for body in (text, *cut) for variant in (body, body.replace("*", ""))]
