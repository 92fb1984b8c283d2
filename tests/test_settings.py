"""What is wrong with settings is named at its place, unknown keys with the nearest known one."""

from dataclasses import dataclass

import pytest
from pydantic import BaseModel, ConfigDict

from verikit.errors import ConfigError
from verikit.names.settings import checked


@dataclass
class Form:
    find: str = ""


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: str = ""


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid")

    steps: int = 1
    entry: Entry | None = None
    entries: list[Entry] = []
    form: Form = Form()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"step": 2}, "unknown key 'step' (did you mean steps?)"),
        ({"entry": {"modl": "x"}}, "unknown key 'entry.modl' (did you mean model?)"),
        ({"entries": [{}, {"modl": "x"}]}, "unknown key 'entries.1.modl' (did you mean model?)"),
        ({"form": {"fnd": "x"}}, "unknown key 'form.fnd' (did you mean find?)"),
        ({"other": 1}, "unknown key 'other'"),
        (
            {"steps": "x", "step": 1},
            "steps: Input should be a valid integer, unable to parse string as an integer, got 'x'",
        ),
    ],
)
def test_a_wrong_key_or_value_is_named_at_its_place(table, told):
    with pytest.raises(ConfigError) as error:
        checked(Table, table, where="my.toml: ")
    assert str(error.value).startswith(f"my.toml: {told}")


def test_every_problem_is_told_at_once_and_keys_stand_under_their_prefix():
    with pytest.raises(ConfigError, match=r"options\.steps: .*; unknown key 'options\.step'"):
        checked(Table, {"steps": "x", "step": 1}, "options.")
