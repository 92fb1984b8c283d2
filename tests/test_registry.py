import pickle
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from verikit import Verifier, registry
from verikit.errors import SpecError
from verikit.registry import find, registered
from verikit.spec import load

# What each registered verifier is given here; a name that is missing fails, so that none is forgotten.
OPTIONS = {
    "by": "by('task', {'a': exact}, default=exact)",
    "cached": "cached(exact, 100)",
    "clip": "clip(exact, 0, 0.5)",
    "column": "column('rm')",
    "gate": "gate(exact, f1)",
    "genprm": "genprm('replay:/dev/null')",
    "judge": "judge('replay:/dev/null')",
    "jury": "jury(judge('replay:/dev/null'), reference_judge('replay:/dev/null'))",
    "json_schema": "json_schema({'type': 'object', 'patternProperties': {'^a': {}}})",
    "length": "length(max=100, unit='words')",
    "echo_guard": "echo_guard(exact)",
    "rubric": "rubric('replay:/dev/null')",
    "rescue": "rescue(exact, f1)",
    "length_guard": "length_guard(exact, 100)",
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
    with pytest.raises(SpecError, match="no verifier is called 'numric'") as caught:
        find("verifiers", "numric")
    assert "numeric" in caught.value.hint
    with pytest.raises(SpecError, match="no selector") as caught:
        find("selectors", "zzzz")
    assert "verikit list" in caught.value.hint


@pytest.fixture
def entries(monkeypatch):
    def register(*pairs):
        points = [EntryPoint(name, value, "verikit.verifiers") for name, value in pairs]
        monkeypatch.setattr(registry, "entry_points", lambda group: points)
        registered.cache_clear()

    yield register
    registered.cache_clear()


@pytest.mark.parametrize("flip", [False, True])
def test_where_two_distributions_register_one_name_ours_wins(entries, flip):
    pairs = [("exact", "aaa.theirs:Exact"), ("exact", "verikit.verifiers.exact:Exact"), ("exact", "zzz.theirs:Exact")]
    entries(*(pairs[::-1] if flip else pairs))
    assert find("verifiers", "exact").__module__ == "verikit.verifiers.exact"


@pytest.mark.parametrize("value", ["no_such_package:Thing", "verikit.verifiers.exact:Nope"])
def test_another_packages_broken_entry_breaks_only_itself(entries, value):
    entries(("theirs", value), ("exact", "verikit.verifiers.exact:Exact"))
    with pytest.raises(SpecError, match="theirs is registered as"):
        find("verifiers", "theirs")
    assert load("exact")("a", "a").value == 1.0
