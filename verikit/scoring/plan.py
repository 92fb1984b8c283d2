"""The settings that determine a run's result. Stored as config.json. A run resumes only under the same plan."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.names.spec import load, load_selector
from verikit.platform.secrets import strike_all
from verikit.select import Random, Selector

DEFAULT_KS = (1, 2, 4, 8)
_OBJECT = 'a spec such as "answer", or a verifier; @verikit.verifier makes one of a function'


class ScoringPlan(BaseModel):
    """The settings of a score run. Specs are strings, so a worker process can load them separately."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    verifier: str = "answer"
    """Decides which candidates are right."""
    by: str | None = None
    """Ranks candidates without seeing the truth (a reward model, a judge). None: the verifier itself."""
    select: str | None = None
    """Which candidate to keep."""
    ks: tuple[int, ...] = DEFAULT_KS
    """The k of pass@k, maj@k, BoN@k."""
    seed: int = 0
    format: str | None = None
    mapping: dict[str, str] = Field(default_factory=dict)
    gold: str | None = None
    """Location of the gold answers, if they are not in the rows."""

    _objects: dict[str, Verifier] = PrivateAttr(default_factory=dict)
    """Verifiers passed as objects, by setting. The settings contain their `repr`, which is not a spec."""

    @classmethod
    def of(cls, verifier: str | Verifier, by: str | Verifier | None = None, **settings: Any) -> ScoringPlan:
        """Create a plan whose verifiers may be objects. If one is, everything is scored in this process.

        Raises:
            UsageError: One is neither a spec nor a verifier.
        """
        given: dict[str, Any] = {"verifier": verifier, "by": by}
        objects = {name: made for name, made in given.items() if isinstance(made, Verifier)}
        for name, made in given.items():
            if name not in objects and made is not None and not isinstance(made, str):
                raise UsageError(f"{name} is a {type(made).__name__}, not a verifier", hint=_OBJECT)
        plan = cls(**given | {name: repr(made) for name, made in objects.items()}, **settings)
        plan._objects.update(objects)
        return plan

    def load(self) -> tuple[Verifier, Verifier | None, Selector | None]:
        """Load the verifier, the ranking verifier and the selector.

        Raises:
            SpecError: One of the specs can't be read.
        """
        verifier = load(self._objects.get("verifier", self.verifier))
        selector = None if self.select is None else load_selector(self.select, verifier)
        if isinstance(selector, Random) and not selector.seed:
            selector = Random(self.seed)
        return verifier, None if self.by is None else load(self._objects.get("by", self.by)), selector

    def config(self, verifier: Verifier, by: Verifier | None) -> dict[str, Any]:
        """Return the plan with the current fingerprints of its specs, as stored in config.json."""
        fingerprints = {"verifier": verifier.fingerprint, "by": None if by is None else by.fingerprint}
        return self.model_dump(mode="json") | {"fingerprints": fingerprints}


def check_same(old: Any, new: dict[str, Any], folder: object) -> None:
    """Check that a folder was created under the same plan.

    Raises:
        UsageError: It was not. The error names the first setting that differs.
    """
    for key, value in strike_all(new).items():
        was = old.get(key) if isinstance(old, dict) else None
        if was != value:
            problem = f"{folder} was made with another {key}: {was!r}, not {value!r}"
            if key == "fingerprints":
                problem = f"{folder} was made with other specs: the code or its release has changed"
            raise UsageError(problem, hint="pass --restart to rescore everything, or choose another folder with -o")
