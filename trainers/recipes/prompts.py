"""Prompts of the recipes: files of templates. Their {names} are filled in once, and values are never expanded."""

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
    """Replace {names} by their values. Other braces stay unchanged, including braces inside a value."""
    return _NAME.sub(lambda match: values.get(match[1], match[0]), template)


class PromptSet(BaseModel):
    """A recipe's prompts. Built-in sets are in the folder `prompts` next to the class's module."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @classmethod
    def load(cls, name: str, folder: Path) -> Self:
        """Read a built-in set by its name, or a FILE.toml; relative paths start in `folder`.

        Raises:
            ConfigError: The set doesn't exist, or a prompt is missing.
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
