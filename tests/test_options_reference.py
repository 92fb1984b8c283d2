"""docs/options.md lists every option of what verikit registers, and every key of a training run, from the source.

`UPDATE=1 pytest tests/test_options_reference.py` writes the page.
"""

import os
import re
import textwrap
import typing
from typing import Literal

import pytest
from pydantic import BaseModel, Field, PositiveInt

from tests.conftest import ROOT
from verikit.names.option_docs import options
from verikit.names.registry import registered

PAGE = ROOT / "docs/options.md"
HEAD = """# Options

Every option of every verifier, selector, engine and recipe, and every key of a training run's settings. This page is
written from the source. `verikit list NAME` prints the part about one verifier, selector, engine or recipe.
"""


def of_names(kind):
    """One block per registered name, in alphabetical order."""
    parts = []
    for name, entry in sorted(registered(kind).items()):
        if not entry.value.startswith("verikit"):
            continue
        made = entry.load()
        listed = options(getattr(made, "Options", made))
        parts.append(block(f"### {name}", listed))
    return "".join(parts)


def of_settings():
    """One block per section of a training run's settings."""
    from verikit.trainers.config import Config

    return "".join(block(f"### {title}", listed) for title, listed in sections(Config, "", "Top level"))


def sections(section, prefix, title):
    tables, own = [], []
    for option in options(section):
        inner = table_of(section.model_fields[option.name].annotation)
        if inner is None:
            own.append(option)
        else:
            tables += sections(inner, f"{prefix}{option.name}.", f"[{prefix}{option.name}]")
    return [(title, own), *tables]


def table_of(annotation):
    from verikit.trainers.sections import Section

    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Section):
            return kind
    return None


def block(title, listed):
    assert all(option.meaning for option in listed), f"{title}: an option without a meaning"
    if not listed:
        return f"\n{title}\n\nNo options.\n"
    lines = "\n".join(f"{option}\n{textwrap.indent(option.meaning, '    ')}" for option in listed)
    return f"\n{title}\n\n```text\n{lines}\n```\n"


PARTS = {
    "Verifiers": lambda: of_names("verifiers"),
    "Selectors": lambda: of_names("selectors"),
    "Engines": lambda: of_names("engines"),
    "Recipes": lambda: of_names("recipes"),
    "Settings of a training run": of_settings,
}


def parts_of(page):
    return dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("title", PARTS)
def test_the_page_lists_every_option_as_the_source_has_it(title):
    if title in ("Recipes", "Settings of a training run"):
        pytest.importorskip("torch")
    whole = PAGE.read_text("utf-8")
    if os.environ.get("UPDATE"):
        parts = {**parts_of(whole), title: PARTS[title]()}
        whole = HEAD + "".join(f"\n## {each}\n{parts.get(each, '')}" for each in PARTS)
        whole = whole.replace("```\n\n\n", "```\n\n")
        PAGE.write_text(whole, "utf-8")
    assert parts_of(whole)[title].strip() == PARTS[title]().strip()


def test_an_option_without_a_meaning_is_found():
    def made(size: int = 1) -> None:
        """Nothing about its option."""

    with pytest.raises(AssertionError, match="an option without a meaning"):
        block("### made", options(made))


def test_types_and_defaults_read_as_a_user_writes_them():
    class Made(BaseModel):
        limit: PositiveInt | None = None
        """A limit."""
        kinds: list[Literal["a", "b"]] = Field(default_factory=list)
        """Kinds."""
        sizes: dict[str, float] = Field(default_factory=dict)
        """Sizes."""

    assert [str(option) for option in options(Made)] == [
        "limit: int > 0 | None = None",
        "kinds: list['a' | 'b'] = []",
        "sizes: dict[str, float] = {}",
    ]
