r"""`--search`: a strategy as a string.

beam(4, 4, prm=prm('models/my-prm'))
dvts(4, 4, prm="my.py:prm", step='\n', step_tokens=64)
my.py:strategy                                  an object in Python code
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from verikit.errors import SpecError, nearest
from verikit.guided.beam import Beam
from verikit.guided.best_of import BestOf
from verikit.guided.critic import CriticLoop
from verikit.guided.dvts import DVTS
from verikit.guided.stepwise import Stepwise
from verikit.guided.strategy import SearchStrategy
from verikit.names.named_call import read_call
from verikit.names.spec import import_object, load, names_object
from verikit.platform.folders import check_code

STRATEGIES: Mapping[str, tuple[type[SearchStrategy], tuple[str, ...]]] = {
    "beam": (Beam, ("width", "expand")),
    "best_of": (BestOf, ("n",)),
    "critic": (CriticLoop, ("turns", "n")),
    "dvts": (DVTS, ("width", "expand")),
    "stepwise": (Stepwise, ("n",)),
}
"""The strategies by name, each with its positional options."""
_COMMON = ("prm", "step", "step_tokens", "max_steps")
_EXAMPLE = "beam(4, 4, prm=prm('DIR'))"


def load_strategy(spec: str) -> SearchStrategy:
    """Create the strategy that a spec describes.

    Raises:
        SpecError: The spec can't be parsed, names no strategy, or names a verifier that does not exist.
        UsageError: An option is out of range.
    """
    if names_object(spec.strip()):
        check_code(spec.strip())
        made = import_object(spec.strip())
        if isinstance(made, SearchStrategy):
            return made
        raise SpecError(f"{spec!r} is a {type(made).__name__}, not a strategy")
    call = read_call(spec)
    if call is None or call.name not in STRATEGIES:
        name, example = spec.partition("(")[0].strip(), f"one of {', '.join(STRATEGIES)}, as in {_EXAMPLE}"
        hint = example if name in STRATEGIES else nearest(name, STRATEGIES, example)
        raise SpecError(f"search {spec!r} not found", hint=hint)
    make, own = STRATEGIES[call.name]
    try:
        given = call.bound((*own, *_COMMON))
        if not given.get("prm"):
            raise ValueError("it needs a verifier, prm=SPEC")
        options = {name: _literal(name, text) for name, text in given.items() if name != "prm"}
    except ValueError as error:
        raise SpecError(f"{spec!r}: {error}", hint=f"as in {_EXAMPLE}") from None
    return make(prm=load(_unquoted(given["prm"])), **options)


def _literal(name: str, text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = None
    wanted = str if name == "step" else int
    if type(value) is not wanted:
        raise ValueError(f"{name} must be {'a quoted string' if wanted is str else 'an integer'}, got {text}")
    return value


def _unquoted(text: str) -> str:
    """A verifier's spec, which may be quoted."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
