"""The exceptions that verikit raises.

Inside scoring, a failure is data (a `Score` without a value). These exceptions are for errors of the caller, the
configuration or the machine.

    VerikitError                the problem, and `hint`: how to fix it
    ├── UsageError              the caller must change something (exit code 2)
    │   ├── SpecError           a verifier spec that can't be read or found
    │   ├── SchemaError         a row of a file, identified by file, line and field
    │   └── ConfigError         a configuration value
    ├── MissingExtra            an optional dependency; names the pip extra
    ├── Unscored                a number was requested from a score without a value
    ├── EngineError             a generation engine (`retryable`: whether a retry may help)
    │   ├── RateLimited
    │   ├── EngineTimeout
    │   ├── ContextOverflow
    │   ├── AuthError
    │   └── …               further failures of an exchange with a server: verikit.engines.errors
    ├── JudgeError              a judge answered, but gave no verdict
    │   ├── UnparseableVerdict
    │   └── Refusal
    ├── SandboxError            the sandbox itself, never the program in it
    │   └── SandboxUnavailable  a required property is not available on this machine
    ├── RetrievalError          a retriever failed; an empty result is not a failure
    │   └── RetrievalTimeout
    ├── WorkspaceError          an agent's files can't be judged: not collected, too large for verikit, or a bad row
    ├── AgentFault              the agent left files that no verifier has to read; the score is 0.0
    ├── HelperError             a helper process of verikit died or could not be started
    │   └── HelperTimeout       one call in it used up its time or its memory
    └── TrainerError
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from errno import EDQUOT, EFBIG, ENOSPC
from heapq import nlargest
from os import PathLike
from typing import Literal

from verikit.platform.secrets import strike

DISK_FULL = (ENOSPC, EDQUOT, EFBIG)
"""Values of `errno` in an OSError that mean the disk is full."""
LONGEST_NAME = 80
"""Characters of a name that `nearest` compares. Longer known names are not suggested."""
CONSIDERED = 1000
"""Names whose letters `nearest` counts."""
COMPARED = 50
"""Names that `nearest` compares letter by letter: those whose letters agree best."""
LISTED = 10
"""Names that `nearest` lists if none is similar."""


class VerikitError(Exception):
    """Base of all errors. `hint` describes how to fix the problem. Keys are redacted in both."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(strike(message))
        self.hint: str = strike(hint)


def with_hint(problem: str, hint: str) -> str:
    """Return a problem and its remedy, on one line."""
    return f"{problem} ({hint})" if hint else problem


def nearest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the hint for a name that was not found: up to three similar names.

    Args:
        name: The name as given.
        known: All valid names.
        otherwise: The hint if no name is similar. By default it lists the first ten names.
    """
    # The names may be a row's keys: any number, and each as long as a document.
    names = [one for one in map(str, known) if 0 < len(one) <= LONGEST_NAME]
    near = _similar(str(name)[:LONGEST_NAME], names[:CONSIDERED])
    if near:
        return f"did you mean {' or '.join(map(_printed, near))}?"
    if otherwise or not names:
        return otherwise
    more = f", and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"available: {', '.join(map(_printed, names[:LISTED]))}{more}"


def _similar(name: str, names: Sequence[str]) -> list[str]:
    """Up to three names that are similar to one, the nearest first."""
    matcher = SequenceMatcher(b=name)

    def bound(other: str) -> float:
        matcher.set_seq1(other)
        return matcher.quick_ratio()

    return get_close_matches(name, nlargest(COMPARED, names, key=bound), n=3)


def _printed(name: str) -> str:
    return name if name.isprintable() else repr(name)


class UsageError(VerikitError):
    """The caller must change something: a flag, a file, a value."""


class SpecError(UsageError):
    """A verifier spec that can't be read or found."""


class SchemaError(UsageError):
    """A row that can't be used. Names the file, the line (1-based) and the field."""

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
    """An optional dependency is not installed. The hint contains the pip command that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra {extra!r}", hint=f"pip install 'verikit[{extra}]'")
        self.feature: str = feature
        self.extra: str = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        # Pickle rebuilds exceptions from their message only, and this one takes two arguments.
        return (type(self), (self.feature, self.extra))


class Unscored(VerikitError):
    """A number was requested from a score without a value."""


class EngineError(VerikitError):
    """A generation engine failed."""

    retryable = False
    engine_wide = False
    """Whether no single request is the cause: no server, no key, no such model."""


class RateLimited(EngineError):
    """The server requires a lower request rate."""

    retryable = True


class EngineTimeout(EngineError):
    """No reply within the deadline."""

    retryable = True


class ContextOverflow(EngineError):
    """Prompt and reply don't fit into the model's context."""


class AuthError(EngineError):
    """The server rejected the credentials."""

    engine_wide = True


def raise_if_gone(errors: Sequence[BaseException | None], *, again: bool = False) -> None:
    """Stop a run whose engine is unreachable, before it spends more or stores failures as results.

    Args:
        errors: Errors of a batch's requests. None if a request was answered.
        again: The same requests failed before while others were answered. So they may be the cause themselves.

    Raises:
        EngineError: No request of the batch was answered, and no request is the cause: no server, no key, no such
            model, or every one of several requests failed in a way that a retry may fix.
    """
    # A single request may time out because of its content. A whole batch doesn't.
    gone = [
        error
        for error in errors
        if isinstance(error, EngineError) and (error.engine_wide or (error.retryable and len(errors) > 1 and not again))
    ]
    if gone and len(gone) == len(errors):
        hint = "This batch was not saved. Run the command again. It resumes where it stopped"
        raise type(gone[0])(str(gone[0]), hint=". ".join(filter(None, (gone[0].hint, hint)))) from gone[0]


class JudgeError(VerikitError):
    """A judge answered, but gave no verdict."""


class UnparseableVerdict(JudgeError):
    """The reply has no verdict from the offered set."""


class Refusal(JudgeError):
    """The judge declined to judge."""


class SandboxError(VerikitError):
    """The sandbox itself failed, not the program in it."""


class SandboxUnavailable(SandboxError):
    """A required property is not available on this machine. The hint names the remedy."""


class RetrievalError(VerikitError):
    """A retriever failed. An empty result is never this error."""


class RetrievalTimeout(RetrievalError):
    """The retriever gave no reply within the deadline."""


class WorkspaceError(VerikitError):
    """An agent's files can't be judged because of verikit or the row. The score has no value.

    `kind` tells audits what is wrong with a row: a path is `missing` or `outside` of its folder, a key is `unknown`, or
    something else is `wrong`.
    """

    def __init__(
        self, message: str, *, hint: str = "", kind: Literal["missing", "outside", "unknown", "wrong"] = "wrong"
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class AgentFault(VerikitError):
    """The agent left nothing, or files that no verifier has to read.

    The score is 0.0, and the message is its reason.
    """


class HelperError(VerikitError):
    """A helper process of verikit died or could not be started."""


class HelperTimeout(HelperError):
    """One call in a helper process used up its time or its memory. The helper itself still works."""


class TrainerError(VerikitError):
    """Training can't continue."""
