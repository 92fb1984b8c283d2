"""Claims of the program's objects about plain values: equality, order, membership.

Only the program can decide whether its object is equal to a value. So it is called in separate processes, with the
value and with others that it cannot distinguish from it. Order and membership are evaluated in the object's own
process, because the call may change the object. A true answer is then tested in the same way. A comparison may also
return an object, and the truth of that object is a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, NamedTuple

from verikit.sandbox.guest.strict import Unchanged
from verikit.sandbox.lost import EndedCallError
from verikit.sandbox.proxies import containers, plain
from verikit.sandbox.proxies.mirror import far_of
from verikit.sandbox.proxies.near import VARIANTS, far_values, near

if TYPE_CHECKING:
    from verikit.sandbox.proxies.tests import TestsSide

_OPPOSITES = {
    "__lt__": ("__gt__", "__ge__"), "__le__": ("__gt__",), "__gt__": ("__lt__", "__le__"), "__ge__": ("__lt__",),
    "__contains__": (),
}  # fmt: skip
_MOST_TESTED = 20
"""Maximum claims that are tested per run of the tests. Later ones are trusted."""


class ObjectClaim(NamedTuple):
    """A comparison with another value that is true according to an object of the program."""

    value: Any
    name: str
    other: Any
    turn: int
    """Lines that were sent before it was evaluated."""


class ObjectClaims:
    """Tests the program's claims.

    Args:
        peer: reaches it.
    """

    def __init__(self, peer: TestsSide) -> None:
        self._peer = peer
        self._given: dict[str, ObjectClaim] = {}
        """By key, the comparison that gave an object."""
        self._tested = 0
        self._is_spent = False
        """Whether the limit of tested equalities is reached. Later equalities are evaluated without a test."""

    def equal(self, value: Any, other: Any) -> Any:
        """Whether an object of the program is equal to a value.

        An object without its own `__eq__` is compared by its plain content, or by identity if it has none. Otherwise
        the program decides in another process, and information from there never returns here.
        """
        cls = type(value)
        if not cls._verikit_equality:
            base = cls._verikit_base
            return base.__eq__(value, other) if base is not None else object.__eq__(value, other)
        if value is other:
            return self._peer.ask("special", value, "__eq__", value)
        if far_of(other) is None and not _is_data(other):
            return NotImplemented
        try:
            verdict = ... if self._is_spent else self._asked_elsewhere(value, other)
        except ValueError:
            return NotImplemented  # the tests' own objects do the comparison
        self._is_spent = self._is_spent or verdict is MISSING
        if verdict is not ... and verdict is not MISSING:
            return verdict
        claim = ObjectClaim(value, "__eq__", other, self._peer.turns)
        result = self._peer.ask("special", value, "__eq__", other)
        return result if far_of(other) is not None and far_of(result) is None else self._weighed(claim, result)

    def _asked_elsewhere(self, value: Any, other: Any) -> Any:
        """The answer of fresh children about an equality; `...` or `MISSING` if the object's own child must answer."""
        border, mine, far = self._peer.border, far_of(value), far_of(other)
        assert mine is not None
        left, right = border.pack(value), border.pack_copy(other)
        others = [border.pack_copy(item) for item in (_others(other) if far is None else [])]
        born = [str(mine.born), str(far.born) if far is not None else ""]
        return self._peer.outcome(self._peer.exchange("compare", lambda: ["equal", left, right, others, born]))

    def unequal(self, value: Any, other: Any) -> Any:
        """Whether an object of the program is not equal to a value, or the object that its `!=` returns."""
        found = self.equal(value, other)
        if found is NotImplemented or far_of(found) is None:
            return found if found is NotImplemented else not found
        result = self._peer.ask("special", value, "__ne__", other)
        if (far := far_of(result)) is None:
            return True
        self._given[far.key] = ObjectClaim(value, "__ne__", other, self._peer.turns)
        return result

    def weighed(self, value: Any, name: str, args: Sequence[Any], result: Any, turn: int) -> Any:
        """The result of a method that Python looks up on the class.

        Args:
            value: the object.
            name: of the method.
            args: its arguments.
            result: its result.
            turn: lines that were sent before it was called.
        """
        if name == "__bool__":
            return self.truth(value, result)
        if name not in _OPPOSITES or far_of(args[0]) is not None or not _is_data(args[0]):
            return result
        return self._weighed(ObjectClaim(value, name, args[0], turn), result)

    def truth(self, value: Any, result: bool) -> bool:
        """The truth of an object that claims to be `result`."""
        far = far_of(value)
        claim = self._given.get(far.key) if far is not None else None
        if claim is None:
            return result
        return claim.name == "__ne__" or (result and self._is_founded(claim))

    def _weighed(self, claim: ObjectClaim, result: Any) -> Any:
        """The result of a comparison: false if the object claims the same of other values."""
        if claim.name == "__contains__":  # `in` takes the truth of anything
            return result is not NotImplemented and bool(result) and self._is_founded(claim)
        if (far := far_of(result)) is not None:
            self._given[far.key] = claim
            return result
        if result is NotImplemented or not result or self._is_founded(claim):
            return result
        return False

    def _is_founded(self, claim: ObjectClaim) -> bool:
        """Whether an object claims this only of some values. If it claims it of every value, a test has failed."""
        if far_of(claim.other) is not None:
            return self._refused(claim)
        if self._tested >= _MOST_TESTED:
            return True
        self._tested += 1
        border, kind = self._peer.border, type(claim.value)
        try:
            right = border.pack_copy(claim.other)
            others = [(name, border.pack_copy(other)) for name, other in _contrary(claim) if hasattr(kind, name)]
        except ValueError:
            return True  # there are objects of the tests in it
        asked = ["claim", border.pack(claim.value), claim.name, right, others, str(claim.turn)]
        return self._peer.outcome(self._peer.exchange("compare", lambda: asked)) is True or self._refused(claim)

    def _refused(self, claim: ObjectClaim) -> bool:
        message = f"an object of the program answers every comparison ({claim.name}) alike"
        self._peer.failed.append(EndedCallError(message))
        return False


def _contrary(claim: ObjectClaim) -> list[tuple[str, Any]]:
    """Comparisons that can't be true together with a claim. For `==` and `in` the list is incomplete."""
    if claim.name == "__eq__":
        return [(claim.name, other) for other in _others(claim.other)]
    if claim.name == "__contains__":
        return [(claim.name, other) for other in (*_others(claim.other), *far_values(claim.other))]
    return [(name, claim.other) for name in _OPPOSITES[claim.name]]


def _others(value: Any) -> list[Any]:
    """Plain values that differ from one."""
    found = []
    for variant in range(VARIANTS):
        try:
            found.append(near(value, variant))
        except Unchanged:
            break
    return found


def _is_data(value: Any) -> bool:
    """Whether a value crosses as a copy."""
    return type(value) in (tuple, frozenset) or containers.kind_of(value) is not None or plain.pack(value) is not None
