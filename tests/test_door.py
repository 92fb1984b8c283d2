"""Every registered name can be had from `verikit`, seen by type checkers, listed, and explained option by option."""

import json
import re

import pytest
from click.testing import CliRunner

import verikit
import verikit.selectors
from tests.stubs import stubs
from verikit.cli.list import list_
from verikit.engines import load_engine
from verikit.errors import ConfigError, SpecError
from verikit.names.option_docs import options
from verikit.names.registry import find, registered
from verikit.names.spec import load_selector
from verikit.trainers.config import find_recipe

DOORS = [(verikit, "verifiers"), (verikit.selectors, "selectors")]
NAMES = [(door, kind, name) for door, kind in DOORS for name in registered(kind)]


@pytest.mark.parametrize(("door", "kind", "name"), NAMES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_registered_name_resolves_and_is_in_dir(door, kind, name):
    assert getattr(door, name) is find(kind, name)
    assert name in dir(door)


def test_no_verifier_shares_its_name_with_a_module_of_the_package():
    assert not {name for name in registered("verifiers") if (verikit.__path__ and _is_module(name))}


def _is_module(name):
    from importlib.util import find_spec

    return find_spec(f"verikit.{name}") is not None


@pytest.mark.parametrize("door", [verikit, verikit.selectors])
def test_what_is_not_registered_is_no_attribute(door):
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = door.nothing_of_the_kind


def test_the_version_is_the_distributions():
    from importlib.metadata import version

    assert verikit.__version__ == version("verikit")


def test_the_stubs_hold_every_name():
    for path, text in stubs().items():
        assert path.read_text() == text, "python -m tests.stubs writes them"


EXPLAINED = [(kind, name) for kind in ("verifiers", "selectors", "engines") for name in registered(kind)]


@pytest.mark.parametrize(("kind", "name"), EXPLAINED)
def test_every_option_has_a_type_and_a_meaning(kind, name):
    for option in options(find(kind, name)):
        assert option.type, option
        assert option.meaning, option


def test_help_explains_the_options():
    text = verikit.answer.__doc__
    assert text is not None
    assert all(option.name in text and option.meaning.splitlines()[0] in text for option in options(verikit.answer))


def run(*arguments):
    return CliRunner().invoke(list_, arguments)


def test_list_name_tells_type_default_and_meaning_of_each_option():
    shown = run("numeric").output
    assert "rel_tol: float = 0.0\n      Allowed |answer - gold| / |gold|." in shown
    assert "extract: 'stated' | 'whole'" in shown


def test_list_name_shows_all_that_share_it():
    assert "majority (verifiers)" in run("majority").output
    assert "majority (selectors)" in run("majority").output


def test_a_recipes_options_are_those_of_its_config():
    assert "samples: int >= 1 = 16" in run("arithmetic").output


def test_list_json_can_be_read():
    [found] = json.loads(run("numeric", "--json").output)
    assert {"rel_tol", "abs_tol", "extract"} <= {option["name"] for option in found["options"]}
    assert set(json.loads(run("adapters", "--json").output)["adapters"]) >= {"trl", "verl"}


@pytest.mark.parametrize("kind", ["verifiers", "selectors", "engines", "recipes", "retrievers", "tasks", "adapters"])
def test_list_shows_each_kind(kind):
    done = run(kind)
    assert done.exit_code == 0
    assert done.output.startswith(kind)
    assert re.search(r"^  \S", done.output, re.MULTILINE)


def test_list_of_an_unknown_name_says_what_is_near():
    done = run("numric")
    assert done.exit_code != 0
    assert done.exception.hint.startswith("did you mean numeric")


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        """
from verikit.engines.types import Engine, Generation, Output
from verikit.select import Selector
from verikit.trainers.recipe import Recipe


class Echo(Engine):
    \"\"\"Says what it is asked.\"\"\"
    name = "echo"

    def generate(self, requests):
        return [Generation([Output(str(request.prompt))]) for request in requests]


class Last(Selector):
    def select(self, group, scores):
        return list(range(len(scores)))[::-1]


def last():
    return Last()


class Mine(Recipe):
    pass


number = 3
"""
    )


@pytest.mark.usefixtures("mine")
def test_an_engine_a_selector_and_a_recipe_can_be_your_own_file():
    assert load_engine("mine.py:Echo").name == "echo"
    assert type(load_selector("mine.py:Last")).__name__ == "Last"
    assert type(load_selector("mine.py:last")).__name__ == "Last"
    assert find_recipe("mine.py:Mine").__name__ == "Mine"
    assert run("mine.py:Echo").output.startswith("mine.py:Echo\n\nSays what it is asked.")


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("name", ["mine.py:number", "mine.py:Last", "mine.py:nope", "nope.py:Echo", "no.such:Echo"])
def test_what_is_no_engine_or_recipe_is_refused_by_name(name):
    with pytest.raises(SpecError, match=r"mine\.py|nope|no\.such"):
        load_engine(name)
    with pytest.raises(ConfigError):
        find_recipe(name)
