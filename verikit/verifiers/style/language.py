"""Is the text in the requested language? Detected by langdetect with a fixed seed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from verikit.base import TextVerifier
from verikit.errors import MissingExtra, UsageError
from verikit.types import Sample, Score

_LOCK = threading.Lock()
_SEED = 0


@dataclass(frozen=True)
class Language(TextVerifier):
    """1.0 if the completion is in the language, an ISO 639-1 code (`en`, `de`; `zh-cn` and `zh-tw` are separate).

    Text without a detectable language (numbers, a line of code) is 0.0.
    """

    code: str = ""
    """The language. "": the row's `meta.language`. `zh` matches both Chinese codes."""
    at_least: float = 0.5
    """Minimum probability of the language."""
    max_chars: int = 20_000
    """Number of characters read from a longer completion."""
    name = "language"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.at_least <= 1 or self.max_chars < 1:
            raise UsageError("language needs at_least in [0, 1] and max_chars >= 1")
        if self.code and find_spec("langdetect") is not None:
            _check(self.code)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately.

        Raises:
            MissingExtra: langdetect is not installed.
        """
        if find_spec("langdetect") is None:
            raise MissingExtra(self.name, "text")
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        wanted = self.code or sample.meta.get("language")
        if not isinstance(wanted, str) or not wanted:
            return Score.error("language is not set. Pass the option code or set meta.language")
        try:
            _check(wanted)
        except UsageError as problem:
            return Score.error(str(problem))
        found = _detected(sample.completion[: self.max_chars])
        share = sum(part for code, part in found.items() if _same(code, wanted))
        told = ", ".join(f"{code} {part:.2f}" for code, part in found.items()) or "no language found"
        return Score(float(share >= self.at_least and share > 0), answer=next(iter(found), None), reason=told)


def _same(code: str, wanted: str) -> bool:
    code, wanted = code.lower(), wanted.lower().replace("_", "-")
    return code == wanted or (wanted == "zh" and code.startswith("zh-"))


def _check(code: str) -> None:
    known = detector_factory().langlist
    if not any(_same(name, code) for name in known):
        raise UsageError(f"unknown language {code!r}", hint=f"known: {', '.join(sorted(known))}")


def detector_factory() -> Any:
    """The profiles of langdetect with a fixed seed, loaded once."""
    with _LOCK:
        return _factory()


@cache
def _factory() -> Any:
    from langdetect import PROFILES_DIRECTORY
    from langdetect.detector_factory import DetectorFactory

    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(_SEED)
    return factory


def _detected(text: str) -> dict[str, float]:
    """Languages with their probabilities, likeliest first; empty if detection fails."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = detector_factory().create()
    detector.append(text)
    try:
        return {found.lang: float(found.prob) for found in detector.get_probabilities()}
    except LangDetectException:
        return {}
