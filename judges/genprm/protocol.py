"""The exact strings of a review, in a TOML file. A checkpoint trained on other strings can bring its own file.

There is one user turn per step. The reviewer's turn is started for it and continued: analysis, code with its output,
judgement.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verikit.errors import ConfigError, nearest
from verikit.types import Message

Mode = Literal["full", "unexecuted", "analysis", "direct"]
"""`full`: analysis, code run, judgement. `unexecuted`: the same, but the model imagines its code's output.

`analysis`: analysis and judgement. `direct`: only the judgement.
"""
_HOLE = re.compile(r"\{(\w+)\}")
MODES: tuple[Mode, ...] = ("full", "unexecuted", "analysis", "direct")


class _Part(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class Messages(_Part):
    """Replacements for a code's output if there is no output."""

    no_code: str
    timeout: str
    error: str
    """`{error}` is the exception's type and message."""


class PathLimits(_Part):
    """Limits for the review of one step. Past them, the judgement is requested after the analysis only."""

    calls: int = Field(3, ge=1)
    """Number of requests for code, its output and the judgement."""
    tokens: int = Field(2048, ge=1)
    """Maximum tokens that the model writes."""
    judgement_tokens: int = Field(20, ge=1)
    """Maximum tokens of a judgement requested at the limit."""


class PathSampling(_Part):
    """How rationales are sampled."""

    temperature: float = Field(0.6, ge=0)
    top_p: float = Field(0.95, gt=0, le=1)
    top_k: int = Field(0, ge=0)


class Protocol(_Part):
    """One protocol file."""

    about: str = ""
    system: str
    system_direct: str
    first: str = "{problem}\n{step}"
    """The first user turn. Later user turns are only the steps."""
    analysis: str
    """The start of the reviewer's turn. `{number}` is the step's number, counted from 1."""
    analysis_end: str
    code: str
    """The start of the part with code. It leaves a fence open."""
    code_end: str
    code_output: str
    """The text after the code if it was run."""
    output_begun: str
    """The text after the code if the model must imagine the output."""
    judgement: str
    """The start of a judgement that is requested directly, up to the box."""
    judgement_tag: str
    """Verdicts are read only after this tag."""
    judgement_end: str
    box: str
    yes: str
    no: str
    tags: tuple[str, ...] = ()
    """Strings that neither a candidate nor a code's output may contain unchanged."""
    messages: Messages
    limits: PathLimits = PathLimits()  # type: ignore[call-arg]
    sampling: PathSampling = PathSampling()  # type: ignore[call-arg]

    @property
    def digest(self) -> str:
        """8 hex digits that change with the content."""
        return hashlib.sha256(self.model_dump_json(exclude={"about"}).encode()).hexdigest()[:8]

    def opening(self, mode: Mode) -> Message:
        """The system turn."""
        return Message(role="system", content=self.system_direct if mode == "direct" else self.system)

    def asking(self, problem: str, steps: tuple[str, ...], index: int) -> Message:
        """The user turn that shows a step (counted from 0). The first also shows the problem."""
        content = steps[index] if index else _fill(self.first, problem=problem, step=steps[0])
        return Message(role="user", content=content)

    def analysis_of(self, index: int) -> str:
        """The start of a step's review (counted from 0)."""
        return _fill(self.analysis, number=str(index + 1))

    def output_of(self, output: str) -> str:
        """A code's output as the reviewer sees it."""
        return _fill(self.code_output, output=output)


def _fill(template: str, **texts: str) -> str:
    """Fill strings into a template. `format` can't be used: templates contain braces, and strings may contain holes."""
    return _HOLE.sub(lambda hole: texts.get(hole[1], hole[0]), template)


def load_protocol(name: str) -> Protocol:
    """Read a built-in protocol by name, or a file by path.

    Raises:
        ConfigError: It does not exist, or it can't be read.
    """
    own = "/" not in name and not name.endswith(".toml")
    folder = files("verikit.judges.genprm") / "protocols"
    path = folder / f"{name}.toml" if own else Path(name)
    try:
        return Protocol.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        names = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())
        raise ConfigError(f"GenPRM protocol {name!r} not found", hint=nearest(name, names)) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"GenPRM protocol {name}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"GenPRM protocol {name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
