"""The language of text, by the package `langdetect` with a fixed seed: the same text has the same verdict."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec

from verikit.errors import MissingExtra
from verikit.verifiers.style.language import detector_factory


@lru_cache(maxsize=64)
def language(text: str) -> str | None:
    """The language code of the text (`en`, `zh-cn`); None if detection fails."""
    if find_spec("langdetect") is None:
        raise MissingExtra("detecting the language of a reply", "instructions")
    detector = detector_factory().create()
    from langdetect import LangDetectException

    try:
        detector.append(text)
        return str(detector.detect())
    except LangDetectException:
        return None
