"""Prompts of the recipes: files of templates whose {names} are filled in once, and never looked at again."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from verikit.errors import ConfigError

_NAME = re.compile(r"\{(\w+)\}")


def fill(template: str, **values: str) -> str:
    """Put values in place of their {names}; other braces stay, and so do those inside a value."""
    return _NAME.sub(lambda match: values.get(match[1], match[0]), template)


class PromptSet(BaseModel):
    """A recipe's prompts; those that come with verikit lie in the folder `prompts` beside the class's module."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @classmethod
    def load(cls, name: str, folder: Path) -> Self:
        """Read a set that comes with verikit, by its name, or a FILE.toml; relative paths begin in `folder`.

        Raises:
            ConfigError: there is none, or a prompt is missing.
        """
        own = "/" not in name and not name.endswith(".toml")
        shipped = files(cls.__module__.rpartition(".")[0]) / "prompts"
        path = shipped / f"{name}.toml" if own else folder / name
        try:
            return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except ValidationError as error:
            raise ConfigError(f"{path}: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}") from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            hint = "options.prompts is the name of a set, or a FILE.toml"
            raise ConfigError(f"prompts can't be read from {path}: {error}", hint=hint) from None
