"""docs/verifiers.md shows every verifier with an accepted and a refused example, which are run as they stand."""

import ast
import re

import pytest
from click.testing import CliRunner

import verikit
from tests.artifacts.pages import need_browser
from tests.conftest import ROOT
from verikit.base import Verifier
from verikit.cli import cli
from verikit.cli.list import combines
from verikit.names.option_docs import options
from verikit.names.registry import find, registered

TEXT = (ROOT / "docs" / "verifiers.md").read_text("utf-8")
GROUPS = {part.partition("\n")[0].strip(): part for part in re.split(r"^## ", TEXT, flags=re.M)[1:]}
NEEDS = {
    "`bfcl_multi_turn`": ["bfcl_eval", "mpmath"],
    "`html`": ["numpy", "PIL"],
    "`image`": ["numpy", "PIL"],
    "`pdf`": ["numpy", "pypdfium2"],
    "`prm`": ["torch", "transformers"],
    "`reasoning_gym`": ["reasoning_gym"],
    "`rm`": ["torch", "transformers"],
    "`xlsx`": ["openpyxl", "formulas", "formualizer"],
}
"""Packages that a section's examples need, of extras."""


def _sections():
    """The heading, the code before the group's first section, and the code of each section."""
    for part in GROUPS.values():
        intro, *sections = re.split(r"^### ", part, flags=re.M)
        for section in sections:
            yield section.partition("\n")[0].strip(), _code(intro), _code(section)


def _code(text):
    return "".join(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M))


SECTIONS = list(_sections())
TITLES = [title for title, _, _ in SECTIONS]
NAMES = [name for title in TITLES for name in re.findall(r"`(\w+)`", title)]


def test_every_registered_verifier_has_one_section():
    assert sorted(NAMES) == sorted(registered("verifiers"))


def run(title, intro, code, monkeypatch):
    """Run a section's examples, and return for each verifier of its title the scores its own calls gave."""
    made, scores = {}, {}
    for name in re.findall(r"`(\w+)`", title):
        make, scores[name] = getattr(verikit, name), []
        monkeypatch.setattr(verikit, name, _noting(make, name, made), raising=False)
    own_call = Verifier.__call__

    def call(self, *args, **meta):
        score = own_call(self, *args, **meta)
        for name in made.get(id(self), (self, []))[1]:
            scores[name].append(score)
        return score

    monkeypatch.setattr(Verifier, "__call__", call)
    exec(compile(intro + "\n" + code, f"docs/verifiers.md {title}", "exec"), {"__name__": "docs_example"})
    return scores


def _noting(make, name, made):
    def make_and_note(*args, **options):
        verifier = make(*args, **options)
        made.setdefault(id(verifier), (verifier, []))[1].append(name)
        return verifier

    return make_and_note


def has_both(scores):
    """Whether some example got a value, and another one a lower value or, by somebody's fault, none."""
    values = [score.value for score in scores]
    high = max((value for value in values if value is not None), default=None)
    return high is not None and any(value is None or value < high for value in values)


@pytest.mark.parametrize(("title", "intro", "code"), SECTIONS, ids=TITLES)
def test_each_verifier_shows_an_accepted_and_a_refused_example(title, intro, code, monkeypatch):
    for package in NEEDS.get(title, ()):
        pytest.importorskip(package)
    if title == "`html`":
        need_browser()
    monkeypatch.chdir(ROOT)
    scores = run(title, intro, code, monkeypatch)
    assert [name for name, given in scores.items() if not has_both(given)] == []


def test_an_example_that_only_accepts_or_calls_another_verifier_does_not_count(monkeypatch):
    only = "import verikit\nassert verikit.boxed()(r'\\boxed{4}').value == 1.0\n"
    assert not has_both(run("`boxed`", "", only, monkeypatch)["boxed"])
    other = "import verikit\nfor text in '45': verikit.answer()(text, '4')\n"
    assert not has_both(run("`boxed`", "", other, monkeypatch)["boxed"])
    both = only + "assert verikit.boxed()('4').value == 0.0\n"
    assert has_both(run("`boxed`", "", both, monkeypatch)["boxed"])


def test_every_selector_is_told_and_the_examples_of_selectors_and_sums_run():
    for group, shown in (("Choose among candidates", "selectors"), ("Put verifiers together", "verikit")):
        code = _code(GROUPS[group].partition("\n### ")[0])
        assert f"{shown}." in code
        exec(compile(code, f"docs/verifiers.md {group}", "exec"), {})
    told = GROUPS["Choose among candidates"]
    assert [name for name in registered("selectors") if f"`{name}`" not in told] == []


def test_the_sections_of_a_group_stand_in_alphabetical_order():
    for part in GROUPS.values():
        titles = re.findall(r"^### (.*)$", part, re.M)
        assert titles == sorted(titles)


def test_the_table_by_what_one_has_names_every_verifier_and_group():
    head = TEXT.partition("\n## ")[0]
    anchors = {re.sub(r"[^\w -]", "", group).lower().replace(" ", "-") for group in GROUPS}
    assert set(re.findall(r"\]\(#(.*?)\)", head)) <= anchors
    told = set(re.findall(r"`(\w+)", head))
    grouped = NAMES[NAMES.index("all_of") :]
    assert [name for name in NAMES if name not in told and name not in grouped] == ["rescue"]


ASSIGNED = re.compile(r"""(?:^|[(, ])(\w+)=('[^']*'|"[^"]*"|[\d.]+|True|False|None)(?=[,)]|$)""")
LISTED = re.compile(r"'[^']*'( \| ('[^']*'|None))*")


@pytest.mark.parametrize("title", TITLES)
def test_options_that_a_section_names_are_its_verifiers_and_take_the_value(title):
    [part] = [part for part in re.split(r"^###? ", TEXT, flags=re.M) if part.partition("\n")[0].strip() == title]
    prose = re.sub(r"^```.*?^```", "", part, flags=re.S | re.M)
    names, wrong = re.findall(r"`(\w+)`", title), []
    for code in re.findall(r"`([^`]+)`", prose):
        called = [name for name in re.findall(r"(\w+)\(", code) if name in registered("verifiers")]
        known = [option for name in called or names for option in options(find("verifiers", name))]
        for option, value in ASSIGNED.findall(code):
            types = [each.type for each in known if each.name == option]
            if not any(not LISTED.fullmatch(type_) or repr(ast.literal_eval(value)) in type_ for type_ in types):
                wrong.append(f"{option}={value}")
    assert wrong == []


def test_the_page_and_the_list_count_verifiers_apart_from_what_combines_them():
    own = [name for name, entry in registered("verifiers").items() if entry.value.startswith("verikit.")]
    combining = [name for name in own if combines(name)]
    assert {"mean", "gate", "by", "jury", "with_timeout", "echo_guard"} < set(combining)
    assert not {"answer", "column", "rm", "rubric"} & set(combining)
    counted = re.search(r"registers (\d+) verifiers, and (\d+) functions that combine", " ".join(TEXT.split()))
    assert (int(counted[1]), int(counted[2])) == (len(own) - len(combining), len(combining))
    listed = CliRunner().invoke(cli, ["list", "verifiers"]).output.partition("\n")[0]
    assert re.fullmatch(r"verifiers \(\d+, and \d+ that combine or guard verifiers\)", listed)
