"""What a client may name: no spec and no file name reaches code, a server or anything beside the folder."""

import ast
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from verikit.errors import SpecError, UsageError
from verikit.mcp.rules import TEXT_RULES, allowed_spec, file_below
from verikit.names.registry import registered
from verikit.names.spec import load
from verikit.platform.folders import code_only_from


@pytest.mark.parametrize(
    "spec",
    [
        "answer",
        " answer ",
        "0.9*answer + 0.1*boxed",
        "first_of(math, exact(normalizer='squad'))",
        "-0.1*length(max=500) + 1.0*answer",
        "json_schema({'type': 'object', 'required': ['a']}, bare=True)",
        "toml(schema={'type': 'object'})",
        "regex('[0-9]+:[a-z]+')",
        "gate(boxed, answer)",
        "tags('think', 'answer')",
    ],
)
def test_rules_on_texts_are_let_through_and_load(spec):
    with code_only_from(()):
        assert load(allowed_spec(spec, {})).name


@pytest.mark.parametrize(
    "spec",
    [
        "os:system",
        "my_rules.py:house",
        "/tmp/x.py:f",
        "0.5*answer + 0.5*my.py:brief",
        "0.5*answer + 0.5*os:system",
        "rules.toml#strict",
        "grader.json",
        "code",
        "code(in_process=True)",
        "program",
        "sql(root='/')",
        "patch(root='/')",
        "judge('openai:http://127.0.0.1:1/v1#m')",
        "rm('hf:/models/x')",
        "prm('/models/x')",
        "openai_grader('/etc/passwd')",
        "with_timeout(answer, 1e9)",
        "trajectory(state='os:system')",
        "xml(schema='/etc/passwd')",
        "json_schema('/etc/passwd')",
        "json_schema(schema='/etc/passwd')",
        "json_schema(**{'schema': '/etc/passwd'})",
        "json_schema(*['/etc/passwd'])",
        "csv('/etc/passwd')",
        "toml(schema='/etc/passwd')",
        "yaml(bare)",
        "answer.score",
        "answer if boxed else exact",
        "(lambda: answer)()",
        "[answer for answer in 'ab']",
        "__import__('os')",
        "f'{answer}'",
        "by('task', {None:answer})",
        "tool_calls({None:os})",
        "tool_calls({True:answer})",
        "answer(answer:=1)",
        "",
        "answer + " * 500 + "answer",
        "(" * 900 + "answer" + ")" * 900,
        "answer\0",
    ],
)
def test_what_may_reach_beyond_the_texts_is_refused(spec):
    with pytest.raises(SpecError):
        allowed_spec(spec, {})


def test_names_of_the_servers_own_specs_stand_for_them_whatever_they_are():
    named = {"tests": "code", "house": "my.py:house"}
    assert allowed_spec("tests", named) == "code"
    assert allowed_spec(" house ", named) == "my.py:house"
    with pytest.raises(SpecError, match="'house' is not among them"):
        allowed_spec("0.5*house", named)
    assert allowed_spec("my.py:brief", {}, anything=True) == "my.py:brief"


@pytest.mark.parametrize("spec", ["all_of#os:system", "answer # x.toml#name", "answer\n#os:system", "(answer)#a.py:f"])
def test_what_stands_in_a_comment_is_not_read(spec):
    assert allowed_spec(spec, {}) in ("all_of", "answer")


@pytest.mark.parametrize("text", ["it's", 'a "b"', "x:y", "a#b", "a\\nb", "\\d+", "\n", "é", "'''x:y'''", '"""os:x"""'])
def test_texts_in_a_spec_stay_what_they_are(text):
    with code_only_from(()):
        assert load(allowed_spec(f"regex({text!r})", {})).pattern == text


def test_every_rule_on_texts_is_a_registered_verifier():
    assert set(registered("verifiers")) >= TEXT_RULES


def calls(spec):
    return {node.id for node in ast.walk(ast.parse(spec, mode="eval")) if isinstance(node, ast.Name)}


PIECES = st.sampled_from(
    [*sorted(TEXT_RULES)[:8], "code", "os:system", "a.py:f", "'x'", '"""', "'", "{", "}", "(", ")", ":", "#", ".toml#x",
     "*", "+", "0.5", ",", "None", "=", "[", "]", " ", "\\", "r'", "f'", "lambda", "json_schema", "schema="]
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_whatever_is_let_through_names_only_rules_and_imports_nothing(spec):
    try:
        allowed = allowed_spec(spec, {})
    except SpecError:
        return
    assert calls(allowed) <= TEXT_RULES
    problem = ""
    with code_only_from(()):
        try:
            load(allowed)
        except UsageError as error:
            problem = str(error)
    assert "name the code" not in problem


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    (root / "below").mkdir(parents=True)
    (root / "rows.jsonl").write_text("{}")
    (root / "below/rows.jsonl").write_text("{}")
    (tmp_path / "secret.jsonl").write_text("{}")
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2/secret.jsonl").write_text("{}")
    (root / "out.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (root / "up").symlink_to(tmp_path)
    (root / "in.jsonl").symlink_to(root / "rows.jsonl")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize("name", ["rows.jsonl", "below/rows.jsonl", "below/../rows.jsonl", "in.jsonl", "./rows.jsonl"])
def test_files_below_the_folder_are_found(root, name):
    assert file_below(root, name, 100).is_relative_to(root)
    assert file_below(root, str(root / "rows.jsonl"), 100) == root / "rows.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.jsonl",
        "../root2/secret.jsonl",
        "below/../../secret.jsonl",
        "/etc/passwd",
        "~/x",
        "out.jsonl",
        "up/secret.jsonl",
        "loop",
        "pipe",
        "below",
        ".",
        "",
        "-",
        "*.jsonl",
        "a\0b",
        "x" * 5000,
        "nothing.jsonl",
    ],
)
def test_no_name_leads_out_of_the_folder_or_to_what_is_no_file(root, name):
    with pytest.raises(UsageError):
        file_below(root, name, 100)


def test_a_large_file_and_a_server_without_a_folder_are_told(root):
    with pytest.raises(UsageError, match="more than 1 bytes"):
        file_below(root, "rows.jsonl", 1)
    with pytest.raises(UsageError, match="reads no files"):
        file_below(None, "rows.jsonl", 100)


@pytest.mark.parametrize("spec", ["-" * 1900 + "answer", "1*" * 950 + "answer"])
def test_a_spec_that_is_nested_very_deeply_is_refused_by_our_own_error(spec):
    with pytest.raises(SpecError):
        allowed_spec(spec, {})
