"""The texts of a review, by the word: a TOML file, so that a checkpoint trained on others brings its own.

One user turn a step; the reviewer's turn is begun for it and continued: analysis, code with its output, judgement.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verikit.errors import ConfigError
from verikit.types import Message

Mode = Literal["full", "unexecuted", "analysis", "direct"]
"""`full`: analysis, code run, judgement. `unexecuted`: the same, and the model imagines its code's output.
`analysis`: analysis and judgement. `direct`: the judgement alone."""
_HOLE = re.compile(r"\{(\w+)\}")
MODES: tuple[Mode, ...] = ("full", "unexecuted", "analysis", "direct")


class _Part(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class Messages(_Part):
    """What stands in the place of a code's output where there is none."""

    no_code: str
    timeout: str
    error: str
    """`{error}` is the exception's type and text."""


class PathLimits(_Part):
    """What the review of one step may use; past it, the judgement is asked for after the analysis alone."""

    calls: int = Field(3, ge=1)
    """Times the model is asked to go on with code, its output and the judgement."""
    tokens: int = Field(2048, ge=1)
    """Tokens the model writes."""
    judgement_tokens: int = Field(20, ge=1)
    """Tokens of a judgement asked for at the limit."""


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
    """The first user turn; the later ones are the steps alone."""
    analysis: str
    """How the reviewer's turn begins; `{number}` is the step's, from 1."""
    analysis_end: str
    code: str
    """How the part with code begins: a fence is left open."""
    code_end: str
    code_output: str
    """What follows the code where it was run."""
    output_begun: str
    """What follows where the model is to imagine the output."""
    judgement: str
    """How the judgement begins where it is asked for at once: up to the box."""
    judgement_tag: str
    """Only a verdict behind it counts."""
    judgement_end: str
    box: str
    yes: str
    no: str
    tags: tuple[str, ...] = ()
    """Texts that neither a candidate nor a code's output may bring in as they stand."""
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
        """The user turn that shows a step (counted from 0); the first shows the problem too."""
        content = steps[index] if index else _fill(self.first, problem=problem, step=steps[0])
        return Message(role="user", content=content)

    def analysis_of(self, index: int) -> str:
        """How the review of a step (counted from 0) begins."""
        return _fill(self.analysis, number=str(index + 1))

    def output_of(self, output: str) -> str:
        """A code's output as the reviewer is shown it."""
        return _fill(self.code_output, output=output)


def _fill(template: str, **texts: str) -> str:
    """Put texts into a template; not `format`, as templates hold braces and texts may hold holes."""
    return _HOLE.sub(lambda hole: texts.get(hole[1], hole[0]), template)


def load_protocol(name: str) -> Protocol:
    """Read one of our protocols by name, or a file by path.

    Raises:
        ConfigError: there is none, or it can't be read.
    """
    own = "/" not in name and not name.endswith(".toml")
    folder = files("verikit.judges.genprm") / "protocols"
    path = folder / f"{name}.toml" if own else Path(name)
    try:
        return Protocol.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        ours = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())
        raise ConfigError(f"GenPRM protocol {name!r} not found", hint=f"available: {', '.join(ours)}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"GenPRM protocol {name}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"GenPRM protocol {name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
