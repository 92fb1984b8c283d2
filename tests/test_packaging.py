"""What is shipped: built from the tree, installed where nothing else of ours is, and used from there."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile

import pytest

from tests.conftest import ROOT

FOLDERS = ("verikit", "judges", "trainers", "evals")
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LEFT_OUT = shutil.ignore_patterns(
    ".git", "build", "dist", "out", ".venv*", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
)


def run(*command, cwd=None, env=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | (env or {})
    done = subprocess.run([*map(str, command)], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def modules_of_the_tree():
    """Path inside the package of every module, e.g. `verikit/judges/__init__.py`."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).parts
            if not any((ROOT.joinpath(*parts[:i])).is_symlink() for i in range(1, len(parts))):
                yield "/".join(parts if folder == "verikit" else ("verikit", *parts))


def build(tree, out, *kinds):
    run(sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", out, tree)
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist of a copy of the tree."""
    tree = tmp_path_factory.mktemp("tree") / "verikit"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=LEFT_OUT)
    wheel, sdist = sorted(
        build(tree, tmp_path_factory.mktemp("dist"), "--wheel", "--sdist"), key=lambda p: p.suffix != ".whl"
    )
    return wheel, sdist


def wheel_of(sdist, folder):
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        assert len(names) == len(set(names))
        archive.extractall(folder / "source", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    [tree] = (folder / "source").iterdir()
    assert (tree / "LICENSE").is_file()
    [wheel] = build(tree, folder / "rebuilt", "--wheel")
    return wheel


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_list_of_packages_is_the_tree():
    listed = CONFIG["tool"]["setuptools"]["packages"]
    folders = {name.rpartition("/")[0].replace("/", ".") for name in modules_of_the_tree()}
    assert sorted(listed) == sorted(folders)
    assert len(set(listed)) == len(listed)


def test_the_links_make_the_tree_importable_uninstalled():
    for folder in FOLDERS[1:]:
        assert (ROOT / "verikit" / folder).is_dir()
        assert os.readlink(ROOT / "verikit" / folder) == f"../{folder}"


def test_the_wheel_holds_every_module_and_nothing_else(built):
    assert contents(built[0]) >= set(modules_of_the_tree()) | {"verikit/py.typed"}
    data = {name for name in contents(built[0]) if not name.endswith(".py")}
    assert all((ROOT / name).is_file() for name in data)
    assert {name.split("/")[0] for name in contents(built[0])} == {"verikit", "pytest_verikit.py"}


def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    assert contents(wheel_of(built[1], tmp_path)) == contents(built[0])


def test_the_sdist_holds_the_tests_and_what_they_read_and_they_pass_from_it(built, tmp_path):
    with tarfile.open(built[1]) as archive:
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    [tree] = tmp_path.iterdir()
    for name in ("AGENTS.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "Dockerfile", ".ci/run", "docs/cli.md"):
        assert (tree / name).is_file(), name
    told = run(*(sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider"), "tests/test_spec.py", cwd=tree)
    assert " passed" in told
    assert (tree / "verikit/judges/__init__.py").is_file()  # the links were made


@pytest.mark.parametrize("lost", ["missing", "text"])
def test_a_copy_that_lost_its_links_builds_the_same_wheel(built, tmp_path, lost):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=LEFT_OUT)
    for folder in FOLDERS[1:]:
        (tree / "verikit" / folder).unlink()
        if lost == "text":  # as zipfile, and git with core.symlinks=false, leave them
            (tree / "verikit" / folder).write_text(f"../{folder}")
    [wheel] = build(tree, tmp_path / "dist", "--wheel")
    assert contents(wheel) == contents(built[0])


EXERCISE = """
import importlib, pathlib, pkgutil, sys
from importlib.metadata import entry_points
import verikit
home = pathlib.Path(verikit.__file__).resolve()
assert pathlib.Path(sys.prefix).resolve() in home.parents, home
assert (home.parent / "py.typed").is_file()
for module in pkgutil.walk_packages(verikit.__path__, "verikit."):
    if module.name in ("verikit.__main__", "verikit.sandbox.boot"):  # scripts
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:  # an extra that is not installed
        extras = {
            ".engines.hf": "torch transformers",
            ".trainers": "torch transformers",
            ".evals": "lm_eval datasets numpy",
            ".mcp": "mcp mcp_types anyio",
            ".retrieval": "bm25s faiss numpy starlette",
            ".sandbox.guest.gym_score": "reasoning_gym",
            ".serve": "httptools prometheus_client python_multipart starlette uvicorn",
        }
        found = [missing.name in names.split() for part, names in extras.items() if part in module.name]
        assert any(found), (module.name, missing.name)
for group in ("verikit.verifiers", "verikit.selectors"):
    found = entry_points(group=group)
    assert found, group
    for entry in found:
        entry.load()
from verikit.names.spec import load
assert load("0.9*exact + 0.1*length(max=5)")("a", "a").value == 1.0
assert load("json_schema({'type': 'object'})")("{}").value == 1.0
print("exercised")
"""


def exercise(environment):
    python = environment / "bin" / "python"
    assert run(python, "-c", EXERCISE, cwd=environment).strip() == "exercised"
    assert "Usage: verikit" in run(environment / "bin" / "verikit", "--help", cwd=environment)
    assert "    numeric " in run(environment / "bin" / "verikit", "list", cwd=environment)
    assert run(python, "-m", "verikit", "--version", cwd=environment).startswith("verikit, version")


@pytest.mark.parametrize("kind", [0, 1], ids=["wheel", "sdist"])
def test_the_package_works_from_a_clean_environment(built, tmp_path, kind):
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps"),
        *("--no-build-isolation", built[0] if kind == 0 else wheel_of(built[1], tmp_path)),
    )
    # What it depends on is borrowed from here; a path in a .pth file brings no editable install along.
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    with open(f"{site}/borrowed.pth", "w", encoding="utf-8") as file:
        file.write("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    exercise(environment)


@pytest.mark.slow(seconds=90)
def test_the_wheel_installs_with_all_it_needs_and_no_torch(built, tmp_path):
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    run(sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "-q", built[0])
    exercise(environment)
    have = run(sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "list", "--format=freeze")
    assert not {line.split("==")[0].lower() for line in have.split()} & {
        "torch",
        "numpy",
        "transformers",
        "antlr4",
        "hydra-core",
    }
