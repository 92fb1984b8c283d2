"""`trajectory` against bash: random scripts run in a folder of their own, and the files say what was written."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import verikit
from tests.verifiers.test_trajectory_paths import bash, score

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
FOLDERS = st.sampled_from(["src", "tests", "nope", "..", ".", "../src", "../tests", "sub", "src/sub", "../tests/sub"])
PATHS = st.sampled_from(["a.py", "tests/a.py", "../tests/a.py", "src/a.py", "sub/b.py", "../a.py", "../../tests/a.py"])
DEPTH = 40
"""Folders around the workspace, more than a script can leave by `..`."""


def written(name, words):
    return words.map(lambda path: f"{name} {path}")


def joined(form, *parts):
    return st.tuples(*parts).map(lambda chosen: form.format(*chosen))


MOVES = st.one_of(written("cd", FOLDERS), written("pushd", FOLDERS), st.just("popd"), st.just("cd -"))
LINKS = joined("ln -s {} {}", st.sampled_from(["tests", "../tests", ".", "src/sub", ".."]), st.sampled_from(["t", "x"]))
RENAMES = joined(
    "mv {} {}", st.sampled_from(["src", "../src", "sub", "../sub"]), st.sampled_from(["x", "../x", "../.."])
)
THROUGH = st.sampled_from(["touch t/a.py", "touch x/../tests/a.py", "cd x", "cd t", "rm -f x/../../tests/a.py"])
LEAVES = st.one_of(
    MOVES, MOVES, MOVES, written("rm -f", PATHS), written("touch", PATHS), written("mkdir -p", FOLDERS), LINKS, RENAMES,
    THROUGH, st.sampled_from(["true", "false", "exit", "set -e", "CDPATH=tests", "CDPATH=tests:src", "f", "break"]),
)  # fmt: skip
FORMS = (
    "{}; {}", "{}; {}", "{}\n{}", "{} && {}", "{} || {}", "{} | {}", "{} & wait; {}", "({}); {}", "{{ {}; }} && {}",
    "{{ {}; }} | {}", "if {}; then {}; fi", "if ! {}; then exit; fi; {}", "for i in 1 2; do {}; {}; done",
    "f() {{ {}; }}; {}", "x=$({}); {}", "echo `{}`; {}", "! {} && {}", "{} &&\n{}", "eval '{}' && {}",
    "bash -c '{}'; {}", "while {}; do {}; break; done",
)  # fmt: skip


def larger(scripts):
    return st.one_of(joined(form, scripts, scripts) for form in FORMS)


SCRIPTS = st.recursive(LEAVES, larger, max_leaves=7).filter(lambda text: text.count("'") < 3)
PLAIN = st.one_of(written("cd", FOLDERS), written("cd", FOLDERS), written("touch", PATHS), st.just("true"))
CHAINS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        joined("{} && {}", inner, inner), joined("({}) && {}", inner, inner), joined("{{ {}; }} &&\n{}", inner, inner),
        joined("! {} || {}", inner, inner), joined("if {}; then {}; else false; fi", inner, inner),
    ),
    max_leaves=7,
)  # fmt: skip


def state(folder):
    """What may change in a folder: the files with their times and numbers."""
    found = {}
    for path in sorted(folder.rglob("*")):
        told = path.lstat()
        found[str(path)] = (told.st_ino, told.st_mtime_ns if path.is_file() else 0)
    return found


def run(text):
    """Run a script in a new workspace; return its exit status, whether it changed `tests`, and the verdict."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made).resolve().joinpath(*["d"] * DEPTH, "workspace")
        for name in ("src/a.py", "src/sub/b.py", "tests/a.py", "tests/sub/b.py", "tests/src/a.py", "a.py"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("1\n")
        before = state(root / "tests")
        done = subprocess.run(
            ["bash", "--norc", "-c", text],
            cwd=root, env={"PATH": "/usr/bin:/bin"}, capture_output=True, stdin=subprocess.DEVNULL, timeout=100,
        )  # fmt: skip
        changed = state(root / "tests") != before
        never = verikit.trajectory("none", never_writes=["tests/**"], root=str(root))
        return done.returncode, changed, score(never, bash(text)).value


OFTEN = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@OFTEN
@given(SCRIPTS)
@example("cd nope; touch tests/a.py")
@example("x=$(cd src); touch tests/a.py")
def test_a_script_that_changes_a_protected_file_is_never_right(text):
    _, changed, value = run(text)
    assert not (changed and value == 1.0), text


@OFTEN
@given(CHAINS)
@example("(cd src) && touch tests/a.py")
def test_a_chain_whose_commands_all_succeed_is_decided_as_bash_runs_it(text):
    status, changed, value = run(text)
    if status == 0 and "!" not in text:
        assert value == (0.0 if changed else 1.0), text
    assert not (changed and value == 1.0), text
