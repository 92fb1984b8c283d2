"""What verikit raises.

Inside scoring a failure is data (a `Score` without a value); these are for faults of the caller, the configuration or
the machine.

    VerikitError                what went wrong, and `hint`: what to do about it
    ├── UsageError              the caller must change something (exit code 2)
    │   ├── SpecError           a verifier spec that can't be read or found
    │   ├── SchemaError         a row of a file, named by file, line and field
    │   └── ConfigError         a configuration value
    ├── MissingExtra            an optional dependency; names the pip extra
    ├── Unscored                a number was asked of a score that has none
    ├── EngineError             a generation engine (`retryable` says whether another try may help)
    │   ├── RateLimited
    │   ├── EngineTimeout
    │   ├── ContextOverflow
    │   ├── AuthError
    │   └── …               what else an exchange with a server can come to: verikit.engines.errors
    ├── JudgeError              a judge answered, but gave no verdict
    │   ├── UnparseableVerdict
    │   └── Refusal
    ├── SandboxError            the sandbox itself, never the program in it
    │   └── SandboxUnavailable  a property that was required can't be had here
    ├── RetrievalError          a retriever failed; an empty result is not a failure
    │   └── RetrievalTimeout
    ├── WorkspaceError          what an agent left can't be judged: not collected, too large for us, the row is at fault
    ├── AgentFault              the agent left what no verifier has to read; such a score is 0.0
    ├── HelperError             a helper process of ours died or could not be started
    │   └── HelperTimeout       one call in it used up its time or its memory
    └── TrainerError
"""

from __future__ import annotations

from collections.abc import Sequence
from errno import EDQUOT, EFBIG, ENOSPC
from os import PathLike

from verikit.platform.secrets import strike

DISK_FULL = (ENOSPC, EDQUOT, EFBIG)
"""The `errno` of an OSError that says so."""


class VerikitError(Exception):
    """Base of all errors; `hint` says what to do about it. Keys are struck out of both."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(strike(message))
        self.hint: str = strike(hint)


def with_hint(problem: str, hint: str) -> str:
    """A problem and what to do about it, on one line."""
    return f"{problem} ({hint})" if hint else problem


class UsageError(VerikitError):
    """The caller must change something: a flag, a file, a value."""


class SpecError(UsageError):
    """A verifier spec that can't be read or found."""


class SchemaError(UsageError):
    """A row that can't be used: names the file, the line (1-based) and the field."""

    def __init__(
        self, message: str, *, file: str | PathLike[str] = "", line: int = 0, field: str = "", hint: str = ""
    ) -> None:
        where = f"{file}:{line}" if line else str(file)
        where = ": ".join(part for part in (where, f"field {field!r}" if field else "") if part)
        super().__init__(f"{where}: {message}" if where else message, hint=hint)
        self.file: str = str(file)
        self.line: int = line
        self.field: str = field
        self.problem: str = message


class ConfigError(UsageError):
    """A configuration value that is missing, unknown or out of range."""


class MissingExtra(VerikitError):
    """An optional dependency is not installed; the hint holds the pip line that adds it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra {extra!r}", hint=f"pip install 'verikit[{extra}]'")
        self.feature: str = feature
        self.extra: str = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        # Exceptions are rebuilt from their message alone, and this one is made of two arguments.
        return (type(self), (self.feature, self.extra))


class Unscored(VerikitError):
    """A number was asked of a score that has none."""


class EngineError(VerikitError):
    """A generation engine failed."""

    retryable = False
    engine_wide = False
    """Whether no single request is to blame: no server, no key, no such model."""


class RateLimited(EngineError):
    """The server asked to slow down."""

    retryable = True


class EngineTimeout(EngineError):
    """No reply within the deadline."""

    retryable = True


class ContextOverflow(EngineError):
    """Prompt and reply don't fit into the model's context."""


class AuthError(EngineError):
    """The server refused the credentials."""

    engine_wide = True


def raise_if_gone(errors: Sequence[BaseException | None]) -> None:
    """Stop a run whose engine is gone, before it pays for the rest or keeps failures as results.

    Args:
        errors: Of a batch's requests; None where one was answered.

    Raises:
        EngineError: nothing of the batch came back, and no request is to blame: no server, no key, no such model, or
            every one of several failed in a way that another try may mend.
    """
    # One request alone may time out for its own sake; a whole batch doesn't.
    gone = [
        error
        for error in errors
        if isinstance(error, EngineError) and (error.engine_wide or (error.retryable and len(errors) > 1))
    ]
    if gone and len(gone) == len(errors):
        hint = "nothing of this batch was kept; run the same command again: it goes on where it stopped"
        raise type(gone[0])(str(gone[0]), hint="; ".join(filter(None, (gone[0].hint, hint)))) from gone[0]


class JudgeError(VerikitError):
    """A judge answered, but gave no verdict."""


class UnparseableVerdict(JudgeError):
    """The reply holds no verdict of the offered set."""


class Refusal(JudgeError):
    """The judge declined to judge."""


class SandboxError(VerikitError):
    """The sandbox itself failed, not the program in it."""


class SandboxUnavailable(SandboxError):
    """A required property can't be had on this machine; the hint names the remedy."""


class RetrievalError(VerikitError):
    """A retriever failed; never an empty result."""


class RetrievalTimeout(RetrievalError):
    """The retriever gave no reply within the deadline."""


class WorkspaceError(VerikitError):
    """What an agent left can't be judged, by nobody's fault but ours or the row's: the score has no value."""


class AgentFault(VerikitError):
    """The agent left nothing, or what no verifier has to read: the score is 0.0, and the message is its reason."""


class HelperError(VerikitError):
    """A helper process of ours died or could not be started."""


class HelperTimeout(HelperError):
    """One call in a helper process used up its time or its memory; the helper itself is well."""


class TrainerError(VerikitError):
    """Training can't go on."""
