"""The language of a text by the package `langdetect`, whose sampling is seeded: the same text, the same verdict."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from verikit.errors import MissingExtra


@cache
def _factory() -> Any:
    try:
        from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
    except ImportError:
        raise MissingExtra("telling the language of a text", "instructions") from None
    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(0)
    return factory


@lru_cache(maxsize=64)
def language(text: str) -> str | None:
    """The code of a text's language (`en`, `zh-cn`); None where nothing in it tells one."""
    detector = _factory().create()
    from langdetect import LangDetectException

    try:
        detector.append(text)
        return str(detector.detect())
    except LangDetectException:
        return None
