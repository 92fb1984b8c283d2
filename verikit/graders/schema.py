"""The JSON of OpenAI's graders, checked: string_check, text_similarity, python, score_model, label_model, multi."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from verikit.errors import ConfigError, UsageError
from verikit.graders.formula import Formula
from verikit.graders.similarity import METRICS, REFUSED
from verikit.graders.template import check

LARGEST = 4 * 2**20
"""Maximum size of a file in bytes."""
_WRAPPED = (("method", "reinforcement", "grader"), ("reinforcement", "grader"), ("grader",), ("testing_criteria",))
SOURCE = 256 * 1024
"""Maximum size of a Python grader's source in bytes, as defined by OpenAI."""


class _Grader(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    name: str = ""
    pass_threshold: float | None = None


class StringCheck(_Grader):
    """Checks whether two strings are equal, differ, or contain one another: 1 or 0."""

    type: Literal["string_check"]
    input: str
    reference: str
    operation: Literal["eq", "ne", "neq", "like", "ilike"]

    @field_validator("input", "reference")
    @classmethod
    def _template(cls, text: str) -> str:
        return _checked(text)


class TextSimilarity(_Grader):
    """The similarity of two strings."""

    type: Literal["text_similarity"]
    input: str
    reference: str
    evaluation_metric: str

    @field_validator("input", "reference")
    @classmethod
    def _template(cls, text: str) -> str:
        return _checked(text)

    @field_validator("evaluation_metric")
    @classmethod
    def _known(cls, metric: str) -> str:
        if metric in REFUSED:
            raise ValueError(f"{metric} {REFUSED[metric]}")
        if metric not in METRICS:
            raise ValueError(f"a metric is one of {', '.join(METRICS)}")
        return metric


class Python(_Grader):
    """A program's `grade(sample, item)`."""

    type: Literal["python"]
    source: str = Field(max_length=SOURCE)
    image_tag: str | None = Field(None, repr=False)
    """OpenAI's image for running the program. It has no effect here."""


class GraderTurn(BaseModel):
    """One message to the grading model."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    role: Literal["system", "developer", "user", "assistant"] = "user"
    content: str

    @field_validator("content", mode="before")
    @classmethod
    def _text(cls, content: Any) -> str:
        """The text of a content, which may consist of parts."""
        parts = content if isinstance(content, list) else [content]
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("only text can be shown to the grading model")
        return _checked("".join(map(str, texts)))


class GraderSampling(BaseModel):
    """Sampling settings of the grading model."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    temperature: float = Field(0.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    seed: int | None = None
    max_tokens: int = Field(4096, ge=1)
    reasoning_effort: str | None = Field(None, repr=False)
    """Stored for output only. It is not passed to engines."""

    @model_validator(mode="before")
    @classmethod
    def _names(cls, table: Any) -> Any:
        if not isinstance(table, Mapping):
            return table
        names = ("max_completions_tokens", "max_completion_tokens", "max_tokens")
        most = next((table[name] for name in names if table.get(name) is not None), None)
        kept = {key: value for key, value in table.items() if value is not None and key not in names}
        return kept if most is None else {**kept, "max_tokens": most}


class _Model(_Grader):
    model: str = ""
    input: tuple[GraderTurn, ...] = Field(min_length=1)
    sampling_params: GraderSampling = GraderSampling()  # type: ignore[call-arg]

    @field_validator("sampling_params", mode="before")
    @classmethod
    def _none(cls, table: Any) -> Any:
        return {} if table is None else table


class ScoreModel(_Model):
    """A number given by a model."""

    type: Literal["score_model"]
    range: tuple[float, float] = (0.0, 1.0)

    @field_validator("range", mode="before")
    @classmethod
    def _rising(cls, ends: Any) -> Any:
        ends = (0.0, 1.0) if ends is None else ends
        if not (isinstance(ends, (list, tuple)) and len(ends) == 2 and ends[0] < ends[1]):
            raise ValueError("a range is two numbers, the lower one first")
        return ends


class LabelModel(_Model):
    """A label given by a model. The score is 1 if it is one of the passing labels."""

    type: Literal["label_model"]
    labels: tuple[str, ...] = Field(min_length=1)
    passing_labels: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _subset(self) -> LabelModel:
        if unknown := set(self.passing_labels) - set(self.labels):
            raise ValueError(f"passing_labels contains {min(unknown)!r}, which is not a label")
        return self


Single = Annotated[StringCheck | TextSimilarity | Python | ScoreModel | LabelModel, Field(discriminator="type")]


class Multi(_Grader):
    """A formula over named graders."""

    type: Literal["multi"]
    graders: dict[str, Single] = Field(min_length=1)
    calculate_output: str

    @field_validator("graders", mode="before")
    @classmethod
    def _by_name(cls, graders: Any) -> Any:
        """Map a list of graders, or a single grader, to their own names."""
        if isinstance(graders, Mapping) and isinstance(graders.get("type"), str):
            graders = [graders]
        if isinstance(graders, list) and all(isinstance(grader, Mapping) for grader in graders):
            names = [str(grader.get("name")) for grader in graders]
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise ValueError(f"{twice[0]!r} names several graders")
            return dict(zip(names, graders, strict=True))
        return graders

    @model_validator(mode="after")
    def _names(self) -> Multi:
        if unknown := Formula(self.calculate_output).names - self.graders.keys():
            raise ValueError(f"calculate_output names {min(unknown)!r}. Available: {', '.join(self.graders)}")
        return self


Grader = StringCheck | TextSimilarity | Python | ScoreModel | LabelModel | Multi
_ADAPTER: TypeAdapter[Grader] = TypeAdapter(Annotated[Grader, Field(discriminator="type")])


def _checked(text: str) -> str:
    try:
        check(text)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return text


def read_grader(data: Any) -> Grader:
    """Read a grader from JSON, which may be nested in a job (`method.reinforcement.grader`) or a request (`grader`).

    Raises:
        ConfigError: The data is not a grader. The message lists every wrong key.
    """
    data = _unwrapped(data)
    try:
        return _ADAPTER.validate_python(data)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".lstrip(": ") for fault in error.errors()]
        raise ConfigError(f"invalid OpenAI grader: {', '.join(problems)[:1000]}") from None
    except UsageError as error:
        raise ConfigError(f"invalid OpenAI grader: {error}", hint=error.hint) from None


def _unwrapped(data: Any) -> Any:
    for path in _WRAPPED:
        found = data
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        if isinstance(found, list):
            raise ConfigError(f"expected one grader, got {len(found)}", hint="a multi grader, or a file for each")
        if found is not None:
            return found
    return data


def read_grader_file(path: str) -> Grader:
    """Read a grader from a JSON file.

    Raises:
        ConfigError: The file can't be read, or does not contain a grader.
    """
    try:
        if Path(path).stat().st_size > LARGEST:
            raise ConfigError(f"{path} is larger than {LARGEST:,} bytes")
        return read_grader(json.loads(Path(path).read_text("utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", hint=error.hint) from None
