import pickle
import sys
import threading
import warnings
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verikit import Sample, Verifier
from verikit.compose.choose import by, gate
from verikit.compose.combine import clip, mean
from verikit.errors import SpecError, UsageError
from verikit.names.registry import registered
from verikit.names.spec import load, load_selector
from verikit.platform.folders import code_only_from
from verikit.verifiers.column import Column
from verikit.verifiers.documents.json_schema import JsonSchema
from verikit.verifiers.overlap.exact import Exact
from verikit.verifiers.regex import Regex
from verikit.verifiers.style.length import Length
from verikit.verifiers.tags import Tags

SAME = {
    "exact": Exact(),
    " exact ": Exact(),
    "exact('squad', extract='boxed')": Exact("squad", "boxed"),
    "0.9*exact + 0.1*tags('think', 'answer')": 0.9 * Exact() + 0.1 * Tags("think", "answer"),
    "-1*length(max=5) + exact*2": -1 * Length(max=5) + Exact() * 2,
    "-exact": Exact() * -1,
    "2*0.5*exact": 1.0 * Exact(),
    "gate(exact, then=0.5, otherwise=-0.5)": gate(Exact(), 0.5, -0.5),
    "by('task', {'a': exact, 'b': column('rm')}, default=0)": by("task", {"a": Exact(), "b": Column("rm")}, 0),
    "mean(exact, clip(column('rm'), -1, 1))": mean(Exact(), clip(Column("rm"), -1, 1)),
    r"regex('\d+', match_answer=True)": Regex(r"\d+", True),
    "json_schema({'type': 'object', 'required': ['a'], 'minProperties': 1})": JsonSchema(
        {"type": "object", "required": ["a"], "minProperties": 1}
    ),
    "length(max=None)": Length(max=None),
}


@pytest.mark.parametrize("spec", SAME)
def test_a_spec_is_the_same_verifier_as_its_python(spec):
    assert load(spec) == SAME[spec]
    assert load(spec).fingerprint == SAME[spec].fingerprint


def test_a_verifier_is_its_own_spec():
    exact = Exact()
    assert load(exact) is exact


@pytest.mark.parametrize("text", ["5", "'exact'", "None", "[exact]", "{'a': exact}", "-1", "2*3"])
def test_a_literal_is_no_verifier(text):
    with pytest.raises(SpecError, match="not a verifier"):
        load(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "exact.__class__",
        "exact.score",
        "(lambda: 1)()",
        "[exact for x in 'ab']",
        "exact if 1 else exact",
        "exact - exact",
        "exact / 2",
        "exact ** 2",
        "exact @ exact",
        "exact | exact",
        "not exact",
        "exact[0]",
        "f'{exact}'",
        "(x := exact)",
        "exact(*['squad'])",
        "exact(**{'normalizer': 'squad'})",
        "{**{'a': exact}}",
        "open('/etc/passwd')",
        "eval('1')",
        "print",
        "exact; exact",
        "exact = 1",
        "import os",
        "'a' * 100000000",
        "[1] * 100000000",
        "1j * exact",
        "b'x'",
        "...",
        "exact + 1",
        "exact * exact",
        "yield exact",
    ],
)
def test_only_the_whitelist_is_read(text):
    with pytest.raises(UsageError):
        load(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "exact(",
        "exact)",
        "exact +",
        "exactt",
        "exact(normalizer='nope')",
        "exact(nope=1)",
        "exact('squad', normalizer='squad')",
        "exact('squad', 'whole', 'x', 'y')",
        "length(min='a')",
        "length(5, 2)",
        "choice(last=5)",
        "choice(last='JK')",
        "choice(last='j')",
        "column()",
        "column(5)",
        "regex('(')",
        "regex(5)",
        "regex('a', timeout_s='x')",
        "regex('a', timeout_s=0)",
        "json_schema(5)",
        "json_schema({}, max_chars='x')",
        "json_schema('no such file.json')",
        "numeric(rel_tol='x')",
        "numeric(extract='nope')",
        "tags()",
        "tags(5)",
        "tags('a b')",
        "cached(exact, 'x')",
        "cached(exact, -1)",
        "cached('exact')",
        "length_guard(exact, 'x')",
        "by('task', 5)",
        "by('task', {'a': 'exact'})",
        "mean()",
        "1e999*exact",
        "9" * 400 + "*exact",
        "9" * 5000 + "*exact",
        "(" * 5000 + "exact" + ")" * 5000,
        "-" * 5000 + "exact",
        "exact" + "+exact" * 1600,
        "x" * 20_000,
        "\0",
        "exact\0",
        "\ud800",
        "nope:attr",
        "..:attr",
        ".x:attr",
        "\0:a",
        "verikit:nope",
        "verikit.types:Score",
        "verikit.types:Sample",
        "verikit.verifiers.regex:Regex",
        "verikit.types:PASS_MARK",
        "nope.py:attr",
        "\0.py:attr",
        "~nosuchuser/x.py:attr",
        "nope.toml#x",
        "\0.toml#x",
    ],
)
def test_what_cannot_be_read_or_made_is_a_usage_error(text):
    with pytest.raises(UsageError):
        load(text)


pieces = st.sampled_from(
    [
        *registered("verifiers"),
        *"()[]{},:=*+-'\"#.0123456789 \n\\",
        "0.5*",
        "'a'",
        "**",
        ".py:x",
        ".toml#x",
        "None",
        "=1",
    ]
)


@given(st.text() | st.lists(pieces, max_size=12).map("".join))
@example("regex(regex)")
@example("by(by, {by: by})")
@example("tags(tags)")
def test_arbitrary_text_gives_a_verifier_or_a_usage_error(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(UsageError):
            assert isinstance(load(text), Verifier)


@given(st.text(max_size=30))
def test_arbitrary_text_gives_a_selector_or_a_usage_error(text):
    with pytest.raises(UsageError):
        load_selector(text)


def test_the_error_shows_the_place_and_what_is_near():
    with pytest.raises(SpecError, match="exac") as caught:
        load("0.5*exac + length")
    assert "exact" in caught.value.hint
    with pytest.raises(SpecError, match=r"length - 1"):
        load("exact + (length - 1)")


MODULE = """
from dataclasses import dataclass
from verikit import Score, Verifier, verifier

@verifier
def decorated(sample):
    return 0.25

def plain(sample):
    return sample.completion == "yes"

class Mine(Verifier):
    name = "mine"
    def score_batch(self, samples):
        return [Score(0.75)] * len(samples)

class Space:
    inner = Mine()

def wrong():
    pass
number = 5
"""


def test_objects_of_a_file_can_be_a_verifier_its_class_or_a_function(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MODULE)
    assert load(f"{file}:decorated")("x").value == 0.25
    assert load(f"{file}:plain")("yes").value == 1.0
    assert load(f"{file}:Mine")("x").value == 0.75
    assert load(f"{file}:Space.inner")("x").value == 0.75
    assert load(f"{file}:plain").name == "plain"
    with pytest.raises(SpecError, match="not a verifier"):
        load(f"{file}:number")
    with pytest.raises(SpecError, match="nope"):
        load(f"{file}:nope")


def test_a_file_cannot_shadow_an_installed_module(tmp_path):
    file = tmp_path / "json.py"
    file.write_text(MODULE)
    load(f"{file}:plain")
    import json

    assert sys.modules["json"] is json
    assert hasattr(json, "loads")


def test_a_file_that_fails_shows_its_own_error_each_time(tmp_path):
    file = tmp_path / "broken.py"
    for code, problem in {
        "a = 1\n1/0": "ZeroDivisionError: division by zero (broken.py:2)",
        "if": "SyntaxError",
    }.items():
        file.write_text(code)
        for _ in range(2):
            with pytest.raises(SpecError) as told:
                load(f"{file}:x")
            assert str(told.value).startswith(f"{file} can't be imported: {problem}")


def test_objects_and_files_specs_are_named_within_expressions(tmp_path):
    file, table = tmp_path / "my-own.py", tmp_path / "specs.toml"
    file.write_text(MODULE + "def half(sample):\n    return 0.5\n")
    table.write_text("[verifiers]\nthird = 'exact'\n")
    both = load(f"0.5*exact + 0.5*{file}:half + mean({table}#third, exact)")
    assert [score.value for score in both.score([Sample("", "a", "a")])] == [0.5 + 0.25 + 1]
    assert load("by('task', {'a:b.py:c': exact, 'a': regex('x:y')})").name
    with pytest.raises(SpecError, match=r"my-own.py has no 'quarter'"):
        load(f"exact + {file}:quarter")
    with pytest.raises(SpecError, match=r"exact\(nothing=1\)': option 'nothing' not found"):
        load(f"{file}:half + exact(nothing=1)")


def test_code_named_within_an_expression_runs_only_where_its_folder_is_trusted(tmp_path):
    file = tmp_path / "evil.py"
    file.write_text("raise RuntimeError('imported')")
    spec = f"0.5*exact + 0.5*{file}:x"
    with code_only_from([]), pytest.raises(SpecError, match="the folder may not be trustworthy"):
        load(spec)
    with code_only_from([spec]), pytest.raises(SpecError, match="can't be imported: RuntimeError: imported"):
        load(spec)


def test_threads_that_load_one_file_get_one_complete_module(tmp_path):
    file = tmp_path / "slow.py"
    file.write_text("import time\ntime.sleep(0.2)\n" + MODULE)
    found = []
    threads = [threading.Thread(target=lambda: found.append(load(f"{file}:Space.inner"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert len(set(map(id, found))) == 1


def test_a_module_on_the_path_loads_and_pickles(tmp_path, monkeypatch):
    (tmp_path / "a_reward_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    for attr in ("decorated", "plain", "Mine"):
        v = load(f"a_reward_module:{attr}")
        assert pickle.loads(pickle.dumps(v))("yes").value == v("yes").value


def test_a_toml_file_names_specs_that_may_use_each_other(tmp_path):
    file = tmp_path / "rewards.toml"
    file.write_text(
        "[verifiers]\n"
        "format = \"tags('think', 'answer')\"\n"
        'reward = "0.9*exact + 0.1*format"\n'
        'exact = "2*exact"\n'
        'a = "b"\nb = "a"\nself = "self"\nnumber = 5\n'
    )
    assert load(f"{file}#format") == Tags("think", "answer")
    assert load(f"{file}#reward") == 1.8 * Exact() + 0.1 * Tags("think", "answer")
    assert load(f"{file}#exact") == 2 * Exact()
    for circular in ("a", "self", "number", "nope"):
        with pytest.raises(SpecError):
            load(f"{file}#{circular}")


def test_files_that_a_toml_file_names_lie_beside_it(tmp_path, monkeypatch):
    (tmp_path / "rewards").mkdir()
    (tmp_path / "rewards/mine.py").write_text(MODULE)
    (tmp_path / "rewards/other.toml").write_text('[verifiers]\nmine = "mine.py:Mine"\n')
    (tmp_path / "rewards/some.toml").write_text('[verifiers]\nmine = "other.toml#mine"\nboth = "0.5*exact + mine"\n')
    for spec, folder in (("rewards/some.toml", tmp_path), (f"{tmp_path}/rewards/some.toml", tmp_path / "rewards")):
        monkeypatch.chdir(folder)
        assert load(f"{spec}#both")("x", "x").value == 1.25
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "home.toml").write_text('[verifiers]\nmine = "~/rewards/mine.py:Mine"\n')
    assert load("~/home.toml#mine")("x").value == 0.75


@pytest.mark.parametrize(
    "content", [b"[verifiers", b"verifiers = 5", b"verifiers = ['a']", b"\xff", b"", b"[other]\na='exact'"]
)
def test_a_bad_toml_file_is_a_spec_error(tmp_path, content):
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(SpecError):
        load(f"{file}#a")


def test_a_pattern_in_a_spec_warns_of_nothing(recwarn):
    load(r"regex('\d+\s')")
    assert not recwarn.list


@pytest.mark.parametrize(
    ("spec", "problem", "hint"),
    [
        ("answer(tolerence=1)", "option 'tolerence' not found", "did you mean tolerance?"),
        ("exact(zzz=1)", "option 'zzz' not found", "its options are"),
        ("f1(3, 4, 5, 6)", "4 values where", "its options are"),
        ("column", "it needs", "verikit list"),
        ("length(max=x)", r"option 'max' must be int \| None$", ""),
        ("length(max='x')", r"option 'max' must be int \| None, got 'x'$", ""),
        ("length('5')", "option 'min' must be int, got '5'$", ""),
        ("numeric(rel_tol='a')", "option 'rel_tol' must be float, got 'a'$", ""),
    ],
)
def test_a_call_that_does_not_fit_is_told_in_words_of_options(spec, problem, hint):
    with pytest.raises(SpecError, match=problem) as told:
        load(spec)
    assert hint in told.value.hint


@pytest.mark.parametrize(
    ("spec", "problem", "hint"),
    [
        ("exact(", r"'\(' was never closed at character 6$", "0.9"),
        ("rewards.toml", "does not name an object in rewards.toml", "rewards.toml#NAME"),
        ("rewards.toml#a b", "does not name", "rewards.toml#NAME"),
        ("style.py", "does not name", "style.py:NAME"),
        ("style.py:a-b", "does not name", "style.py:NAME"),
        ("exact - boxed", r"only names, calls, literals, \* and \+", "a + -1*b"),
        ("tags()", "needs the names of its tags", "tags('think'"),
        ("answer(policy='lax')", "policy must be one of strict, lenient", ""),
        ("nope.toml#x", "nope.toml can't be read: No such file", ""),
    ],
)
def test_a_mistyped_spec_says_where_and_which_form_was_meant(spec, problem, hint):
    with pytest.raises(UsageError, match=problem) as caught:
        load(spec)
    assert hint in caught.value.hint


def test_a_bad_spec_of_a_toml_file_is_told_with_file_and_name(tmp_path):
    file = tmp_path / "rewards.toml"
    file.write_text('[verifiers]\ngood = "0.9*answr"\n')
    with pytest.raises(SpecError, match=r"rewards\.toml#good: verifier 'answr' not found") as caught:
        load(f"{file}#good")
    assert "did you mean answer" in caught.value.hint


@pytest.mark.parametrize("spec", [None, 5, ["exact"], b"exact"])
def test_what_is_no_text_is_no_spec(spec):
    with pytest.raises(SpecError, match="a spec must be a string"):
        load(spec)


@pytest.mark.parametrize(
    "text", ["length(max=300, unit=words)", "exact(squad)", "all_of(answer, length(max=300, unit=words))"]
)
def test_a_bare_word_as_an_argument_is_answered_by_how_a_text_is_written(text):
    with pytest.raises(SpecError, match="is not a number, a string or a name") as caught:
        load(text)
    assert caught.value.hint in ("write strings in quotes: unit='words'", "write strings in quotes: 'squad'")


def test_a_mistyped_verifier_as_an_argument_is_answered_by_the_nearest_one():
    with pytest.raises(SpecError, match="verifier 'answr' not found") as caught:
        load("all_of(answr, length(max=300))")
    assert caught.value.hint == "did you mean answer?"
