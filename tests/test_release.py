"""What a release stands on: versions that agree, workflows and an image that name what is there, a citation."""

import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from tests import release
from tests.conftest import ROOT
from tests.release_installs import switch

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture
def tree(tmp_path):
    for name in ("pyproject.toml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    sections = ["## [Unreleased]", "### Added", "- A thing.", "## [0.1.0] - 2026-01-02", "### Added", "- First.\n"]
    (tmp_path / "CHANGELOG.md").write_text("\n\n".join(["# Changelog", *sections]))
    return tmp_path


def test_a_release_that_was_prepared_agrees_with_its_tag_and_with_no_other(tree):
    assert release.problems(tree, "v9.8.7")
    release.prepare(tree, "9.8.7", "2026-11-23")
    assert release.problems(tree, "v9.8.7") == []
    assert release.problems(tree, "v9.8.8")
    assert release.problems(tree, "9.8.7") == ["9.8.7 is no tag such as v0.2.0"]
    assert release.notes(tree, "9.8.7") == "### Added\n\n- A thing.\n"
    assert release.notes(tree, "0.1.0") == "### Added\n\n- First.\n"
    changed = tomllib.loads((tree / "pyproject.toml").read_text())
    assert changed["project"].pop("version") == "9.8.7"
    assert changed["project"] == {key: value for key, value in CONFIG["project"].items() if key != "version"}
    cited = yaml.safe_load((tree / "CITATION.cff").read_text())
    assert (str(cited["version"]), str(cited["date-released"])) == ("9.8.7", "2026-11-23")


@pytest.mark.parametrize("file", ["pyproject.toml", "CITATION.cff"])
def test_a_version_forgotten_in_one_file_is_named(tree, file):
    release.prepare(tree, "9.8.7", "2026-11-23")
    (tree / file).write_text((tree / file).read_text().replace("9.8.7", "9.8.6"))
    [problem] = release.problems(tree, "v9.8.7")
    assert problem.startswith(f"{file} says 9.8.6")


def test_an_empty_section_and_a_version_that_is_there_are_refused(tree):
    release.prepare(tree, "9.8.7", "2026-11-23")
    with pytest.raises(SystemExit, match="has a section"):
        release.prepare(tree, "9.8.7", "2026-11-24")
    release.prepare(tree, "9.8.8", "2026-11-24")
    assert release.problems(tree, "v9.8.8") == ["CHANGELOG.md tells nothing of 9.8.8"]
    with pytest.raises(SystemExit, match="is no version"):
        release.prepare(tree, "nine", "2026-11-24")


def test_links_are_written_once_and_rewritten(tree):
    for owner in ("first", "second"):
        release.link(tree, f"https://host.example/{owner}/verikit/")
        urls = tomllib.loads((tree / "pyproject.toml").read_text())["project"]["urls"]
        assert urls["Repository"] == f"https://host.example/{owner}/verikit"
        assert urls["Issues"].endswith(f"{owner}/verikit/issues")
        cited = yaml.safe_load((tree / "CITATION.cff").read_text())
        assert cited["repository-code"] == urls["Repository"]
    with pytest.raises(SystemExit, match="is no address"):
        release.link(tree, "host.example")


def test_this_tree_can_be_released(tmp_path):
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    release.prepare(tmp_path, "999.0.0", "2999-01-01")
    version = CONFIG["project"]["version"]
    found = release.problems(tmp_path, "v999.0.0")
    assert found in ([], ["CHANGELOG.md tells nothing of 999.0.0"])  # the latter just after a release
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == version


def test_the_citation_has_what_the_format_requires():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert all(set(author) == {"name"} for author in cited["authors"])
    assert cited["license"] == CONFIG["project"]["license"]
    assert cited["keywords"] == CONFIG["project"]["keywords"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_give_no_rights_by_default_pin_their_actions_and_name_files_that_are_there(path):
    flow = yaml.safe_load(path.read_text("utf-8"))
    assert flow["permissions"] == {}
    for name, job in flow["jobs"].items():
        assert "timeout-minutes" in job, name
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), step
            for file in re.findall(r"\b(?:tests|\.ci)/[\w/.]+", step.get("run", "")):
                assert (ROOT / file).exists(), file


def test_only_the_publishing_job_may_publish_and_only_behind_the_checks():
    flow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    granted = {name: job["permissions"] for name, job in flow["jobs"].items()}
    assert granted == {"build": {"contents": "read"}, "publish": {"id-token": "write"}}
    publish = flow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert "github.event_name == 'push'" in publish["if"]
    assert publish["environment"] == "pypi"
    assert "password" not in path_text("release.yml")
    assert "secrets." not in path_text("release.yml")


def path_text(name):
    return (ROOT / ".github/workflows" / name).read_text("utf-8")


def test_the_matrix_holds_every_python_of_the_classifiers():
    flow = yaml.safe_load(path_text("test.yml"))
    tested = flow["jobs"]["core"]["strategy"]["matrix"]["python"]
    said = [c.rpartition(" ")[2] for c in CONFIG["project"]["classifiers"] if ":: 3." in c]
    assert set(said) <= set(tested)
    assert tested[0] == CONFIG["project"]["requires-python"].removeprefix(">=")


def test_the_image_takes_what_it_needs_from_the_tree_and_runs_as_nobody():
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in kept)
    assert {"verikit", "judges", "trainers", "evals", "pyproject.toml", "README.md", "LICENSE"} <= set(kept)
    copied = [line.split()[1] for line in lines if line.startswith("COPY") and "--from" not in line]
    assert all((ROOT / name).exists() for name in copied)
    assert all(name == "." or name in kept for name in copied)
    last = max(number for number, line in enumerate(lines) if line.startswith("USER"))
    assert not any(line.startswith("RUN") for line in lines[last:])
    assert lines[last].split()[1].isdigit()


def test_smoke_passes_here():
    done = subprocess.run([sys.executable, "tests/smoke.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT" not in done.stdout


def test_one_command_switches_how_to_install_and_back_and_no_page_keeps_the_other_form(tmp_path):
    for name in ("README.md", "docs", "examples/ci"):
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    pages = [page for page in tmp_path.rglob("*") if page.suffix in (".md", ".yml")]

    def texts():
        return {page: page.read_text("utf-8") for page in pages}

    def found(pattern):
        return {page.name for page, text in texts().items() if re.search(pattern, text)}

    from_checkout, from_pypi = r"verikit is not on PyPI|  verikit: git", r"(?m)pip install verikit\b|default: verikit$"
    before, registered = texts(), "install.md" not in found("verikit is not on PyPI")
    switch(tmp_path, registered)
    assert texts() == before, "run `python tests/release.py registered`, with no or yes"
    switch(tmp_path, False)
    assert found(from_checkout) - {"releasing.md"} == {"install.md", "action.yml", "workflow.yml", "README.md"}
    assert found(from_pypi) == set()
    switch(tmp_path, True)
    switch(tmp_path, True)
    assert found(from_checkout) - {"releasing.md"} == set()
    assert found(from_pypi) == {"README.md", "install.md", "action.yml"}
    switch(tmp_path, registered)
    assert texts() == before
    (tmp_path / "docs/install.md").write_text("pip install it\n")
    with pytest.raises(SystemExit, match=r"install\.md has neither form"):
        switch(tmp_path, not registered)
    assert (tmp_path / "README.md").read_text("utf-8") == (ROOT / "README.md").read_text("utf-8")
