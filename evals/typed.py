"""lm-eval's base classes with types: it ships none, and a class of an unknown base is unknown to type checkers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:

    class LM:
        """lm-eval's interface of a model."""

    class Filter:
        """A step between a model's replies and their metrics."""

else:
    from lm_eval.api.filter import Filter
    from lm_eval.api.model import LM

__all__ = ["LM", "Filter"]
