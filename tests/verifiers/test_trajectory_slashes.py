"""`trajectory` compares paths in one form: repeated slashes, `.`, `..` and a final slash change nothing."""

import pytest

import verikit
from tests.verifiers.test_trajectory_paths import bash, call, score
from verikit.workspaces import Workspace

RULES = (
    "tests/**",
    "tests/",
    "tests",
    "./tests",
    "x/../tests/**",
    "tests//**",
    "/workspace/tests",
    "//workspace//tests/",
)
SAME = (
    "//workspace/tests/a.py",
    "///workspace/tests/a.py",
    "/workspace//tests/a.py",
    "/workspace/./tests/a.py",
    "/workspace/x/../tests/a.py",
    "/workspace/../workspace/tests/a.py",
    "/./workspace/tests//a.py",
    "./tests/./a.py",
    "x/y/../../tests/a.py",
    "//workspace/tests/",
)
OTHER = (
    "//workspace/src/a.py",
    "//tests/a.py",
    "//workspace/tests/../src/a.py",
    "/workspace/tests/../../tests/a.py",
    "//workspace2/tests/a.py",
    "//workspace/tests_old/",
)


@pytest.mark.parametrize("root", ["/workspace", "/workspace/", "//workspace", "/x/..//workspace/."])
@pytest.mark.parametrize("rule", RULES)
def test_a_forbidden_path_is_the_same_however_its_slashes_are_written(root, rule):
    never = verikit.trajectory("none", never_writes=[rule], root=root)
    for path in SAME:
        assert score(never, bash(f"rm -r {path}")).value == 0.0, path
        assert score(never, call("write_file", path=path)).value == 0.0, path
    for path in OTHER:
        assert score(never, bash(f"rm -r {path}")).value == 1.0, path
        assert score(never, call("write_file", path=path)).value == 1.0, path


@pytest.mark.parametrize(
    "command",
    [
        "cat //workspace/tests/a.py",
        "cd //workspace && cat tests/a.py",
        "cd //workspace//tests/ && cat a.py",
        "git -C //workspace/tests grep x",
        "wc -l < //workspace/tests/a.py",
        "cat //workspace/tests/*",
    ],
)
def test_reads_and_the_order_of_steps_know_the_path_too(command):
    assert score(verikit.trajectory("none", never_reads=["tests/**"]), bash(command)).value == 0.0
    assert score(verikit.trajectory("none", order=["reads tests/**"]), bash(command)).value == 1.0
    assert score(verikit.trajectory("none", never_reads=["src/**"]), bash(command)).value == 1.0


@pytest.mark.parametrize("rule", RULES)
def test_the_files_before_and_after_show_an_edit_for_every_form_of_the_rule(rule):
    never = verikit.trajectory("none", never_writes=[rule])
    for before, value in (("1", 0.0), ("2", 1.0)):
        files = Workspace({"tests/a.py": "2"}, {"tests/a.py": before})
        assert score(never, bash("ls"), workspace=files).value == value


@pytest.mark.parametrize("rule", ["../tests", "../tests/**", "src/../../tests"])
def test_a_rule_for_a_folder_beside_the_workspace_is_not_one_for_the_same_name_inside(rule):
    files = Workspace({"tests/a.py": "2"}, {"tests/a.py": "1"})
    never = verikit.trajectory("none", never_writes=[rule])
    assert score(never, bash("ls"), workspace=files).value == 1.0
    assert score(never, bash("touch /tests/a.py"), workspace=files).value == 0.0
