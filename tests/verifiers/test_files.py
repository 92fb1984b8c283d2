"""`files`: what was left, changed and let be."""

import hashlib

import pytest

import verikit
from verikit.errors import UsageError
from verikit.workspaces import Workspace

BEFORE = {"conf.ini": "port=80\n", "in/data.csv": "a\n1\n", "old.txt": "text\n"}


def value(verifier, after, before=BEFORE, **more):
    return verifier("", workspace={"after": after, "before": before, **more}).value


def test_exist_and_absent():
    after = {**BEFORE, "out/a.csv": ""}
    assert value(verikit.files(exist=["out/*.csv", "conf.ini"]), after) == 1.0
    assert value(verikit.files(exist="out/b.csv"), after) == 0.0
    assert value(verikit.files(exist="out"), after) == 0.0
    assert value(verikit.files(absent="tmp/**"), after) == 1.0
    assert value(verikit.files(absent="out"), after) == 0.0
    assert value(verikit.files(absent="**/*.csv"), after) == 0.0


def test_a_rename_is_accepted_and_one_with_an_edit_beside_it_refused():
    files = verikit.files(absent="old.txt", same_as={"new.txt": "old.txt"}, only=["old.txt", "new.txt"])
    after = {key: text for key, text in BEFORE.items() if key != "old.txt"} | {"new.txt": "text\n"}
    assert value(files, after) == 1.0
    assert value(files, {**after, "conf.ini": "port=81\n"}) == 0.0
    assert value(files, {**after, "new.txt": "text"}) == 0.0
    assert value(files, {**after, "__pycache__/x.pyc": ""}) == 0.0
    assert value(files, {key: text for key, text in after.items() if key != "conf.ini"}) == 0.0
    assert value(files, {**after, "old.txt": "text\n"}) == 0.0


def test_unchanged_sees_what_was_edited_added_or_removed_under_a_pattern():
    for files in (verikit.files(unchanged="in/**"), verikit.files(unchanged="in")):
        assert value(files, {**BEFORE, "new": "1"}) == 1.0
        assert value(files, {**BEFORE, "in/data.csv": "a\n2\n"}) == 0.0
        assert value(files, {**BEFORE, "in/more.csv": ""}) == 0.0
        assert value(files, {"conf.ini": ""}) == 0.0
    assert value(verikit.files(unchanged="nowhere"), BEFORE) is None


def test_changed_needs_another_content_of_what_was_there():
    assert value(verikit.files(changed="conf.ini"), {**BEFORE, "conf.ini": "port=81\n"}) == 1.0
    assert value(verikit.files(changed="conf.ini"), BEFORE) == 0.0
    assert value(verikit.files(changed="conf.ini"), {}) == 0.0
    assert value(verikit.files(changed="new.ini"), {**BEFORE, "new.ini": ""}) is None


def test_a_mode_that_lets_a_file_run_and_a_link_in_its_place_are_changes_and_times_are_none(tmp_path):
    for side in ("before", "after"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.sh").write_text("echo\n")
        (tmp_path / side / "b").write_text("echo\n")
    workspace = Workspace(tmp_path / "after", tmp_path / "before")
    assert verikit.files(only=[])("", workspace=workspace).value == 1.0
    (tmp_path / "after/a.sh").chmod(0o755)
    assert verikit.files(only=[])("", workspace=Workspace(tmp_path / "after", tmp_path / "before")).value == 0.0
    (tmp_path / "after/a.sh").chmod(0o644)
    (tmp_path / "after/b").unlink()
    (tmp_path / "after/b").symlink_to("a.sh")
    for links in ("refused", "inside"):
        workspace = Workspace(tmp_path / "after", tmp_path / "before", links=links)
        assert verikit.files(only=[])("", workspace=workspace).value == 0.0
        assert verikit.files(unchanged="b")("", workspace=workspace).value == 0.0


def test_sha256_and_content_of_any_verifier():
    digest = hashlib.sha256(b"port=80\n").hexdigest()
    assert value(verikit.files(sha256={"conf.ini": digest.upper()}), BEFORE) == 1.0
    assert value(verikit.files(sha256={"conf.ini": digest}), {"conf.ini": "port=80"}) == 0.0
    files = verikit.load("files(content={'conf.ini': regex('port=[0-9]+')}, exist=['old.txt'])")
    assert value(files, BEFORE) == 1.0
    assert value(files, {**BEFORE, "conf.ini": "none"}) == 0.0
    assert value(verikit.files(content={"x": "f1"}), {"x": b"\xff"}) == 0.0
    part = verikit.files(content={"x": verikit.f1()})("", "blue sky", workspace={"after": {"x": "blue"}})
    assert 0.0 < part.value < 1.0


def test_one_check_that_fails_is_enough_and_one_without_a_value_leaves_none():
    files = verikit.files(exist=["a"], unchanged=["a"])
    assert files("", workspace={"after": {"b": ""}}).value == 0.0
    score = files("", workspace={"after": {"a": ""}})
    assert score.status == "error"
    assert score.parts["exist a"].value == 1.0
    assert "before" in score.parts["unchanged a"].reason


def test_what_was_not_collected_is_no_removal():
    files = verikit.files(exist="out.csv", only=["out.csv"])
    assert value(files, {"out.csv": "1"}, outputs=["out.csv"]) is None
    assert value(files, {"out.csv": "1", **BEFORE}, outputs=["out.csv"]) == 1.0
    assert value(files, {"out.csv": "1", "conf.ini": "port=80\n"}, outputs=["out.csv"]) == 0.0


@pytest.mark.parametrize("options", [{}, {"exist": [""]}, {"sha256": {"a": "12"}}, {"exist": [1]}])
def test_options_that_check_nothing_are_refused(options):
    with pytest.raises(UsageError):
        verikit.files(**options)
