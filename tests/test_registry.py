import ast
import importlib
import json
import pickle
import random
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from verikit import Verifier
from verikit.cli import cli
from verikit.errors import SpecError
from verikit.names import registry
from verikit.names.registry import find, registered
from verikit.names.spec import load
from verikit.workspaces.grading import WorkspaceVerifier

# What each registered verifier is given here; a name that is missing fails, so that none is forgotten.
OPTIONS = {
    "by": "by('task', {'a': exact}, default=exact)",
    "cached": "cached(exact, 100)",
    "cascade": "cascade(judge('replay:/dev/null'), reference_judge('replay:/dev/null'), until=[0.1, None])",
    "clip": "clip(exact, 0, 0.5)",
    "column": "column('rm')",
    "cosine_length": "cosine_length(exact, 1000)",
    "gate": "gate(exact, f1)",
    "genprm": "genprm('replay:/dev/null')",
    "judge": "judge('replay:/dev/null')",
    "jury": "jury(judge('replay:/dev/null'), reference_judge('replay:/dev/null'))",
    "json_schema": "json_schema({'type': 'object', 'patternProperties': {'^a': {}}})",
    "files": "files(exist=['out.csv'])",
    "length": "length(max=100, unit='words')",
    "state": "state('app.db')",
    "table": "table('out.csv')",
    "echo_guard": "echo_guard(exact)",
    "rubric": "rubric('replay:/dev/null')",
    "rescue": "rescue(exact, f1)",
    "length_guard": "length_guard(exact, 100)",
    "openai_grader": "openai_grader({'type': 'string_check', 'input': 'a', 'reference': 'a', 'operation': 'eq'})",
    "pairwise": "pairwise('replay:/dev/null')",
    "prm": "prm('/dev/null')",
    "reference_judge": "reference_judge('replay:/dev/null')",
    "rm": "rm('hf:/dev/null')",
    "with_timeout": "with_timeout(exact, 5)",
    "regex": r"regex('(\d+)', True)",
    "tags": "tags('think', 'answer')",
    "turns": "turns(exact)",
    **{name: f"{name}(exact, 0.5*f1)" for name in ("all_of", "first_of", "majority", "maximum", "mean", "minimum")},
}
OURS = [name for name, entry in registered("verifiers").items() if entry.value.startswith("verikit.")]


def spec_of(name):
    return OPTIONS.get(name, name)


@pytest.mark.parametrize("name", OURS)
def test_every_registered_name_makes_a_verifier_that_shows_its_options(name):
    v = load(spec_of(name))
    assert isinstance(v, Verifier)
    assert v.name
    assert "0x" not in repr(v)
    assert v.fingerprint == load(spec_of(name)).fingerprint
    hash(v)
    if isinstance(v, WorkspaceVerifier):
        assert {v, load(spec_of(name))} == {v}


def test_all_verifiers_have_distinct_fingerprints():
    assert len({load(spec_of(name)).fingerprint for name in OURS}) == len(OURS)


@pytest.mark.parametrize("name", [name for name in OURS if name != "answer"])
def test_every_verifier_is_equal_to_itself_and_symmetric(name):
    v = load(spec_of(name))
    for a, b in [("1", "1.0"), ("a b", "A the b"), ("", " "), ("x", "y"), ("10-20", "-20")]:
        assert v.equal(a, b) == v.equal(b, a)
        assert v.equal(a, a) is not False


def test_every_verifier_survives_a_spawned_process(tmp_path):
    texts = ["7", "<think>a</think><answer>7</answer>", r"so \boxed{7}", '{"a": 7}', "", "answer is (C)"]
    need_a_model = ("prm", "rm")  # see their own tests
    verifiers = [load(spec_of(name)) for name in OURS if name not in need_a_model]
    for v in verifiers:
        v("warm", "7", rm=1.0)  # what a verifier keeps for later must not keep it from pickling
    here = [[(s.value, s.status, s.reason) for s in (v(t, "7", rm=0.5) for t in texts)] for v in verifiers]
    (tmp_path / "v.pickle").write_bytes(pickle.dumps((verifiers, texts)))
    script = (
        "import pickle, sys; verifiers, texts = pickle.load(open(sys.argv[1], 'rb'));"
        "rows = [[(s.value, s.status, s.reason) for s in (v(t, '7', rm=0.5) for t in texts)] for v in verifiers];"
        "pickle.dump((rows, [v.fingerprint for v in verifiers]), sys.stdout.buffer)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "v.pickle"], capture_output=True, check=True)
    there, fingerprints = pickle.loads(done.stdout)
    assert there == here
    assert fingerprints == [v.fingerprint for v in verifiers]


def test_an_unknown_name_hints_at_what_is_near():
    with pytest.raises(SpecError, match="verifier 'numric' not found") as caught:
        find("verifiers", "numric")
    assert "numeric" in caught.value.hint
    with pytest.raises(SpecError, match="selector") as caught:
        find("selectors", "zzzz")
    assert "verikit list" in caught.value.hint


VALUES = {
    "verifiers": ("answer", "verikit.verifiers.boxed:Boxed"),
    "selectors": ("best", "verikit.select:First"),
    "engines": ("openai", "verikit.engines.replay:Replay"),
    "recipes": ("sft", "verikit.trainers.recipes.sft:StepLabels"),
    "tables": ("tasks", "verikit.adapters.stacks:table"),
}


def distribution(folder, name, entries, version="1.0", **more):
    """Install a distribution that is metadata alone; `entries` are lines by kind."""
    home = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    home.mkdir(parents=True)
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"[verikit.{kind}]\n{line}" for kind, line in entries.items()]
    (home / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for file, text in more.items():
        (home / f"{file}.json").write_text(text)
    return folder


@pytest.fixture
def on_path(monkeypatch):
    """Put folders before or behind all others on the path, as an installation there would be."""

    def put(*folders, behind=False):
        for folder in folders:
            if behind:
                monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
            else:
                monkeypatch.syspath_prepend(str(folder))
        _forget()

    yield put
    monkeypatch.undo()
    _forget()


def _forget():
    for kept in (registry.registered, registry._claims):
        kept.cache_clear()


def found(kind, name):
    return registry.tables()[name].load() if kind == "tables" else find(kind, name)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("kind", VALUES)
def test_metadata_of_another_distribution_never_reroute_a_name_of_verikits(tmp_path, on_path, kind, behind):
    name, value = VALUES[kind]
    own = registry._own(kind)[name].value
    on_path(distribution(tmp_path, "evil", {kind: f"{name} = {value}"}), behind=behind)
    with pytest.raises(SpecError, match=rf"{name} is registered by verikit \S+ and by evil 1\.0") as caught:
        found(kind, name)
    assert "uninstall" in caught.value.hint
    assert registry._own(kind)[name].value == own
    other = next(entry for entry in registry._own("verifiers") if entry not in (name, "answer"))
    assert find("verifiers", other)


def test_a_spec_with_a_rerouted_name_is_refused_and_others_score_as_ever(tmp_path, on_path):
    on_path(distribution(tmp_path, "evil", {"verifiers": "answer = verikit.verifiers.boxed:Boxed"}))
    with pytest.raises(SpecError, match=r"evil 1\.0"):
        load("answer")
    with pytest.raises(SpecError, match=r"evil 1\.0"):
        load("mean(answer, exact)")
    assert load("exact")("a", "a").value == 1.0


def test_two_other_distributions_with_one_name_are_both_named(tmp_path, on_path):
    on_path(
        distribution(tmp_path / "a", "left", {"verifiers": "theirs = verikit.verifiers.overlap.exact:Exact"}),
        distribution(tmp_path / "b", "right", {"verifiers": "theirs = verikit.verifiers.boxed:Boxed"}),
    )
    with pytest.raises(SpecError, match=r"theirs is registered by (left|right) 1\.0 and by (left|right) 1\.0"):
        find("verifiers", "theirs")


def test_another_distribution_may_add_names(tmp_path, on_path):
    (tmp_path / "theirs.py").write_text(
        "from verikit.verifiers.overlap.exact import Exact\n\nclass Mine(Exact):\n    pass\n"
    )
    on_path(
        distribution(
            tmp_path, "theirs", {"verifiers": "mine = theirs:Mine\nalias = verikit.verifiers.overlap.exact:Exact"}
        )
    )
    assert load("mine")("a", "a").value == 1.0
    assert find("verifiers", "alias").__module__ == "verikit.verifiers.overlap.exact"
    told = {entry.name: (entry.distribution, entry.others) for entry in registry.foreign()}
    assert told["mine"] == told["alias"] == ("theirs 1.0", ())


def test_a_distribution_that_is_on_the_path_twice_is_one(tmp_path, on_path):
    line = {"verifiers": "mine = verikit.verifiers.overlap.exact:Exact"}
    on_path(distribution(tmp_path / "old", "theirs", line), distribution(tmp_path / "new", "theirs", line, "2.0"))
    assert find("verifiers", "mine").__module__ == "verikit.verifiers.overlap.exact"


def test_a_name_that_one_distribution_registers_is_found_without_reading_metadata(monkeypatch):
    read = []
    registered("verifiers")
    registry._claims.cache_clear()
    monkeypatch.setattr(registry, "_label", read.append)
    find("verifiers", "exact")
    assert read == []


@pytest.mark.parametrize("value", ["no_such_package:Thing", "verikit.verifiers.overlap.exact:Nope"])
def test_another_packages_broken_entry_breaks_only_itself(tmp_path, on_path, value):
    on_path(distribution(tmp_path, "theirs", {"verifiers": f"theirs = {value}"}))
    with pytest.raises(SpecError, match="theirs is registered as"):
        find("verifiers", "theirs")
    assert load("exact")("a", "a").value == 1.0


def test_metadata_of_another_version_of_verikit_change_no_name(tmp_path, on_path):
    here, before = registry.version(), dict(registered("verifiers"))
    lines = {"verifiers": "answer = verikit.verifiers.boxed:Boxed\nold = verikit.verifiers.overlap.exact:Exact"}
    on_path(distribution(tmp_path, "verikit", lines, "0.0.1"))
    assert registry.version() == here
    assert registered("verifiers") == before
    assert find("verifiers", "answer").__module__ == "verikit.verifiers.answer"


def test_metadata_without_a_name_or_a_version_are_no_crash(tmp_path, on_path):
    home = tmp_path / "nameless-1.0.dist-info"
    home.mkdir()
    (home / "entry_points.txt").write_text("[verikit.verifiers]\nanswer = verikit.verifiers.boxed:Boxed\n")
    on_path(tmp_path)
    with pytest.raises(SpecError, match="without a name"):
        find("verifiers", "answer")


def test_doctor_lists_what_other_distributions_register(tmp_path, on_path, doctor_of_packages):
    lines = {"verifiers": "answer = verikit.verifiers.boxed:Boxed\nmine = theirs:Mine"}
    on_path(distribution(tmp_path, "evil", lines))
    told = {
        entry["name"]: entry
        for entry in json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).output)["entry_points"]
    }
    assert told["mine"] == {
        "kind": "verifiers", "name": "mine", "value": "theirs:Mine", "distribution": "evil 1.0", "others": [],
    }  # fmt: skip
    assert told["answer"]["others"] == [f"verikit {registry.version()}"]
    text = CliRunner().invoke(cli, ["doctor"]).output
    assert "verifiers mine = theirs:Mine (evil 1.0)" in text
    assert "evil 1.0; refused: verikit" in text


SOURCE = Path(registry.__file__).parents[1]


def copied(folder):
    """The package's registry in a folder of its own, as an installation or a source tree has it."""
    for room in (".", "names", "platform"):
        (folder / "verikit" / room).mkdir(parents=True, exist_ok=True)
        (folder / "verikit" / room / "__init__.py").touch()
    for name in ("names/registry.py", "errors.py", "platform/secrets.py"):
        shutil.copy(SOURCE / name, folder / "verikit" / name)
    return folder


def registry_of(*path):
    """What the registry of a copy finds, without this environment's packages."""
    script = (
        "import sys; sys.path[:0] = sys.argv[1:]; from verikit.names.registry import registered, version, foreign;"
        "print({n: e.value for n, e in registered('verifiers').items()}, version(), len(foreign()), sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, *map(str, path)], capture_output=True, text=True, check=True
    )
    entries, number, others = done.stdout.strip().split("|")
    return ast.literal_eval(entries), number, int(others)


OWN = {"verifiers": "answer = verikit.verifiers.answer:Answer"}
EVIL = {"verifiers": "answer = verikit.verifiers.boxed:Boxed"}
READ = {"answer": "verikit.verifiers.answer:Answer"}


def test_an_installed_package_takes_its_names_from_the_metadata_beside_it(tmp_path):
    site = distribution(copied(tmp_path / "site"), "verikit", OWN, "0.2")
    assert registry_of(site) == (READ, "0.2", 0)
    assert registry_of(distribution(tmp_path / "old", "verikit", EVIL, "0.1"), site) == (READ, "0.2", 0)
    assert registry_of(distribution(tmp_path / "evil", "evil", EVIL), site) == (READ, "0.2", 1)


def test_an_editable_installation_takes_its_names_from_its_metadata(tmp_path):
    tree = copied(tmp_path / "a tree")
    url = json.dumps({"url": tree.as_uri(), "dir_info": {"editable": True}})
    site = distribution(tmp_path / "site", "verikit", OWN, "0.2", direct_url=url)
    assert registry_of(tree, site) == (READ, "0.2", 0)
    assert registry_of(distribution(tmp_path / "old", "verikit", EVIL, "0.1"), tree, site) == (READ, "0.2", 0)


def test_a_source_tree_without_metadata_takes_its_names_from_its_pyproject(tmp_path):
    tree = copied(tmp_path / "tree")
    shutil.copy(SOURCE.parent / "pyproject.toml", tree)
    entries, number, _ = registry_of(distribution(tmp_path / "old", "verikit", EVIL, "0.1"), tree)
    assert entries == {name: entry.value for name, entry in registry._own("verifiers").items()}
    assert number == registry.version()


def test_a_copy_without_any_description_takes_what_is_installed_as_verikit(tmp_path):
    assert registry_of(copied(tmp_path / "copy"), distribution(tmp_path / "site", "verikit", OWN, "0.2"))[0] == READ


def loads(entry):
    """Whether what an entry point names is here; some need an extra."""
    try:
        return bool(entry.load())
    except ImportError:
        return False


def test_search_no_metadata_change_what_a_name_of_verikits_loads(tmp_path, on_path):
    """A standing search: distributions of made names, kinds and values, anywhere on the path."""
    draw = random.Random(20262)
    own = {kind: registry._own(kind) for kind in ("verifiers", "selectors", "engines", "tables")}
    targets = [entry.value for entries in own.values() for entry in entries.values()]
    names = ["evil", "Verikit-extras", "verikit.core", "verikit_", "verikit2", "aa", "zz", "VERIKIT", "verikit"]
    for number in range(60):
        kind = draw.choice(list(own))
        name, distribution_name = (
            draw.choice([name for name in own[kind] if loads(own[kind][name])]),
            draw.choice(names),
        )
        line = {kind: f"{name} = {draw.choice(targets)}"}
        folder = distribution(tmp_path / str(number), distribution_name, line, f"0.{number}")
        with pytest.MonkeyPatch.context() as patch:
            at = draw.randrange(len(sys.path) + 1)
            patch.setattr(sys, "path", [*sys.path[:at], str(folder), *sys.path[at:]])
            importlib.invalidate_caches()
            _forget()
            refused = distribution_name.lower() != "verikit"
            with pytest.raises(SpecError, match="registered by") if refused else nullcontext():
                assert found(kind, name) == own[kind][name].load(), (line, distribution_name)
            assert own[kind] == registry._own(kind)
    _forget()
