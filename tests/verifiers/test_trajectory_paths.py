"""`trajectory` over paths and programs: what commands do, by labels; what a text doesn't tell is named."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from tests.growth import check_linear
from verikit import Sample
from verikit.errors import UsageError
from verikit.verifiers.tools.effects import shell_effects
from verikit.verifiers.tools.shell import MAX_CHARS, parsed
from verikit.verifiers.tools.watch import StepRules
from verikit.workspaces import Workspace


def call(name, **arguments):
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}],
    }


def bash(command):
    return call("bash", command=command)


def score(verifier, *turns, workspace=None):
    return verifier.score([Sample("p", list(turns), workspace=workspace)])[0]


YES, NO, UNKNOWN = 0.0, 1.0, None
WRITES = {
    "rm tests/a.py": YES,
    "rm -rf tests": YES,
    "rm -rf .": YES,
    "rm tests/*": YES,
    "cd tests && rm a.py": YES,
    "cd src; rm ../tests/a.py": YES,
    "(cd tests; sed -i s/1/2/ a.py)": YES,
    "echo 1 > tests/a.py": YES,
    "echo 1 >> /workspace/tests/a.py": YES,
    "echo 1 2>&1 | tee tests/log": YES,
    "cat > 'tests/a.py' <<EOF\npass\nEOF": YES,
    "sed -i.bak 's/a/b/' tests/a.py": YES,
    "cp src/a.py tests/": YES,
    "cp -r src tests": YES,
    "mv tests/a.py /tmp": YES,
    "sudo -u root rm tests/a.py": YES,
    "env A=1 rm tests/a.py": YES,
    "A=1 rm tests/a.py": YES,
    "timeout 5 rm tests/a.py": YES,
    "bash -c 'rm tests/a.py'": YES,
    'sh -c "bash -c \'touch tests/b\'"': YES,
    "eval 'rm tests/a.py'": YES,
    "d=tests; rm $d/a.py": YES,
    "rm te''st\\s/a.py": YES,
    "rm $'tests/\\x61.py'": YES,
    "if true; then rm tests/a.py; fi": YES,
    "x=$(rm tests/a.py)": YES,
    "git checkout -- tests/a.py": YES,
    "dd if=/dev/zero of=tests/a.py": YES,
    "true || chmod 000 tests/a.py": YES,
    "bash <<'EOF'\nrm tests/a.py\nEOF": YES,
    ": > tests/a.py": YES,
    "cat tests/a.py": NO,
    "grep -rn foo tests": NO,
    "echo 'rm tests/a.py'": NO,
    "echo \"> tests/a.py\"": NO,
    "# rm tests/a.py": NO,
    "rm src/a.py": NO,
    "rm -r tests_old": NO,
    "cd tests; cat a.py; cd ..; rm src/a.py": NO,
    "cp tests/a.py src/": NO,
    "cp tests/a.py .": NO,
    "diff tests/a.py src/a.py > /tmp/x": NO,
    "rm /tests/a.py": NO,
    "cat <<EOF > out.txt\nrm tests/a.py\nEOF": NO,
    "ls tests | wc -l": NO,
    "python solve.py": NO,
    "python -c 'print(1)'": NO,
    "rm /tmp/$x": NO,
    "mkdir -p build/tests": NO,
    "rm $d/a.py": UNKNOWN,
    "rm \"$(ls)\"": UNKNOWN,
    "cd $d && rm a.py": UNKNOWN,
    "eval $c": UNKNOWN,
    "echo cm0gdGVzdHM= | base64 -d | sh": UNKNOWN,
    "$c tests/a.py": UNKNOWN,
    "rm {src,tests}/a.py": UNKNOWN,
    "python -c 'open(\"tests/a.py\", \"w\")'": UNKNOWN,
    "python - <<EOF\nimport os; os.remove('tests/a.py')\nEOF": UNKNOWN,
    "frob tests/a.py": UNKNOWN,
    "find . -name '*.py' -delete": UNKNOWN,
    "ls | xargs rm": UNKNOWN,
    "rm -rf ..": YES,
    "rm -rf /*": UNKNOWN,
    "find .. -name a.py -exec rm {} +": UNKNOWN,
    "find . -name '*.py' -exec sh -c 'rm \"$1\"' _ {} \\;": UNKNOWN,
    "find tests -execdir rm a.py \\;": UNKNOWN,
    "find -L tests -delete": UNKNOWN,
    "find src -fprint tests/a.py": YES,
    "find src -exec rm tests/a.py \\;": YES,
    "find src -exec rm a.py": UNKNOWN,
    "find . -name '*.py' -exec grep -n area {} +": NO,
    "find src -name '*.pyc' -delete": NO,
    "find . -name '*.py' | xargs grep -n area": NO,
    "ls | xargs -I{} mv {} tests": UNKNOWN,
    "ls | xargs -Ia rm a": UNKNOWN,
    "cp -t tests src/a.py": YES,
    "mv --target-directory=tests src/a.py": YES,
    "cp -t src tests/a.py": NO,
    "git -C tests checkout a.py": YES,
    "git -C src checkout a.py": NO,
    "git -c alias.x='!rm tests/a.py' x": UNKNOWN,
    "python3.11 -c 'open(\"tests/a.py\", \"w\")'": UNKNOWN,
    "pytest tests/test_a.py::test_b -q --tb=short": NO,
    "python -m pytest -x tests": NO,
    "pytest --basetemp tests": UNKNOWN,
    "pytest --cov-report=html:tests tests": UNKNOWN,
    "pytest --basetemp=tests": UNKNOWN,
    "sort -o tests/a.py src/a.py": YES,
    "sort src/a.py --output=tests/a.py": YES,
    "sort -o src/a.py tests/a.py": NO,
    "uniq src/a.py tests/a.py": YES,
    "awk '{print > \"tests/a.py\"}' src/a.py": UNKNOWN,
    "awk '$3 > 5' tests/a.py": NO,
    "env -S 'rm tests/a.py'": UNKNOWN,
    "sudo --user root rm tests/a.py": YES,
    "timeout --signal KILL 5 rm tests/a.py": YES,
    "rm 'tests/a.py": UNKNOWN,
    "git stash": UNKNOWN,
}  # fmt: skip


@pytest.mark.parametrize(("command", "wanted"), WRITES.items(), ids=map(str, range(len(WRITES))))
def test_what_a_command_writes(command, wanted):
    found = score(verikit.trajectory("none", never_writes=["tests/**"]), bash(command))
    assert found.value == wanted, (command, found.reason)
    if wanted is None:
        assert "undecided" in found.reason


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("cat /solution/solve.sh", YES), ("cd /solution; cat solve.sh", YES), ("cp -r /solution /tmp/x", YES),
        ("base64 < /solution/solve.sh", YES), ("grep -r answer /", YES), ("bash /solution/solve.sh", YES),
        ("python /solution/a.py", YES), ("cat README.md", NO), ("cat solution/notes.md", NO), ("echo /solution", NO),
        ("ls /solution", NO), ("frob --in /solution/x", UNKNOWN), ("cat $x", UNKNOWN), ("cat /tmp/$x", NO),
        ("grep -rn answer .", NO), ("find . -exec cat {} +", NO), ("find / -name '*.sh' -exec cat {} +", UNKNOWN),
        ("ls / | xargs cat", UNKNOWN), ("pytest -q", NO),
    ],
)  # fmt: skip
def test_what_a_command_reads(command, wanted):
    assert score(verikit.trajectory("none", never_reads="/solution/**"), bash(command)).value == wanted


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("git push origin main", YES), ("git add . && git push", YES), ("sudo git push", YES),
        ("bash -c 'git push'", YES), ("git pull", NO), ("echo git push", NO), ("cat git push", NO),
        ("$x push", UNKNOWN), ("git -C /app push", YES), ("git --no-pager -c a.b=c push", YES),
        ("git -C push status", NO), ("git commit -m push", NO), ("git log --oneline push", NO),
        ("git $(echo push)", UNKNOWN),
        ("git -c alias.p=push p", UNKNOWN), ("echo push | xargs git", UNKNOWN), ("find . -exec git push \\;", YES),
        ("uv run --with x git push", YES), ("env -u X git push", YES), ("watch 'git push'", UNKNOWN),
        ("xargs -n 1 git push < a", YES), ("/usr/bin/git push", YES), ("time -p git push", YES),
    ],
)  # fmt: skip
def test_what_programs_run(command, wanted):
    assert score(verikit.trajectory("none", never_runs=["git push"]), bash(command)).value == wanted


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("pip3 install x", YES), ("python -m pip install x", YES), ("python3.11 -W ignore -mpip install x", YES),
        ("pip --quiet install x", UNKNOWN), ("pip list", NO), ("python -c 'import pip' -m pip install", UNKNOWN),
        ("python a.py -m pip install", NO),
    ],
)  # fmt: skip
def test_modules_and_versions_are_programs(command, wanted):
    assert score(verikit.trajectory("none", never_runs=["pip install"]), bash(command)).value == wanted


def test_git_history_is_read_by_git_too():
    never = verikit.trajectory("none", never_reads=[".git/**"])
    assert score(never, bash("git show HEAD~1")).value == 0.0
    assert score(never, bash("git status")).value == 1.0


def test_calls_of_other_tools_count_by_their_names_and_paths():
    never = verikit.trajectory("none", never_writes=["tests/**"])
    assert score(never, call("write_file", path="tests/a.py", content="x")).value == 0.0
    assert score(never, call("str_replace_editor", command="view", path="/workspace/tests/a.py")).value in (0.0, 1.0)
    assert score(never, call("read_file", path="tests/a.py")).value == 1.0
    assert score(never, call("frob", path="tests/a.py")).value is None
    assert score(never, call("write_file", path="src/a.py")).value == 1.0


def test_edit_and_restore_is_seen_by_the_steps_and_an_edit_by_the_manifests():
    never = verikit.trajectory("none", never_writes=["tests/**"])
    same = Workspace({"tests/a.py": "1"}, {"tests/a.py": "1"})
    edited = Workspace({"tests/a.py": "2"}, {"tests/a.py": "1"})
    assert (
        score(never, bash("cp tests/a.py /tmp/a; echo 2 > tests/a.py; cp /tmp/a tests/a.py"), workspace=same).value
        == 0.0
    )
    assert score(never, bash("cat tests/a.py"), workspace=same).value == 1.0
    found = score(never, bash("cat tests/a.py"), workspace=edited)
    assert found.value == 0.0
    assert "tests/a.py has changed" in found.reason


def test_the_harness_s_record_counts_and_no_record_is_unscored():
    record = [bash("rm tests/a.py")]
    never = verikit.trajectory("none", never_writes=["tests/**"])
    assert score(never, bash("ls"), workspace=Workspace({"a": ""}, trajectory=record)).value == 0.0
    assert never.score([Sample("p", "all tests pass")])[0].value is None


def test_the_undecided_has_the_value_that_a_task_gives_it():
    assert score(verikit.trajectory("none", never_writes="tests", undecided=0.0), bash("rm $d/a")).value == 0.0
    assert score(verikit.trajectory("none", never_writes="tests", undecided=0.0), bash("rm a")).value == 1.0


def test_steps_and_their_order():
    order = verikit.trajectory("none", order=["runs pytest", "writes src/**", "runs pytest"], max_steps=3)
    assert score(order, bash("pytest"), bash("echo 1 > src/a"), bash("pytest -q")).value == 1.0
    assert score(order, bash("python -m pytest"), bash("echo 1 > src/a"), bash("uv run pytest")).value == 1.0
    assert score(order, bash("pytest"), bash("pytest"), bash("echo 1 > src/a")).value == 0.0
    assert score(order, *[bash("ls")] * 4).value == 0.0
    with pytest.raises(UsageError):
        verikit.trajectory("none", order=["does this"])


@given(st.text("ab '\"\\$`(){}<>|&;\n#=*", max_size=60))
def test_any_text_is_read_to_its_end(text):
    parsed(text)


@given(st.lists(st.text("ab c'\"$*;>\\\n", max_size=6), min_size=1, max_size=4))
def test_quoted_words_come_back_as_they_were(words):
    import shlex

    [command] = parsed(shlex.join(["x", *words])).commands
    assert [word.text for word in command.words] == ["x", *words]
    assert all(word.known for word in command.words)
    assert not any(word.pattern for word in command.words)


COMMANDS = {
    "if (( errors == 0 )); then echo a; fi": ["((", "echo"],
    "for ((i=0; i<3; i++)); do ls; done": ["ls"],
    "((cd a; ls); b)": ["cd", "ls", "b"],
    'case "$1" in\n  start|stop) a;;\n  (x) b ;;\n  *)\n c\n d;;\nesac\ne': ["case", "a", "b", "c", "d", "esac", "e"],
    "case $x in a) b;; c) d;; esac; (e)": ["b", "d", "esac", "e"],
    "((a); (b))": ["a", "b"],
    "((a) | (b))": ["a", "b"],
    "echo $((a); (b))": ["a", "b", "echo"],
    "(( x=$(a; b) )); c": ["a", "b", "((", "c"],
    "(( x=`a` ))": ["a", "(("],
    "for (( i=$(a); i<1; i++ )); do b; done": ["a", "b"],
    "echo $(( $(a) + $(b) )) $(( `c` ))": ["a", "b", "c", "echo"],
    'echo "$(( $(a) ))"': ["a", "echo"],
    "(( $(( $(a) )) ))": ["a", "(("],
    "(( ${x:-$(a)} ))": ["a", "(("],
    "echo ${x:-`a`}": ["a", "echo"],
    '(( "$(a ")" )" )); b': ["a", "((", "b"],
    'echo "$\'"; a; b "\'"': ["echo", "a", "b"],
    "'case' x in y | a | b": ["case", "a", "b"],
    "\\case x in y | a | b": ["case", "a", "b"],
    "case x in esac | a | b": ["case", "a", "b"],
    "(( i++ )); a": ["((", "a"],
    "while (( i << 2 )); do a; done": ["((", "a"],
    "a $((b + c)) $(( (b + c) * 2 ))": ["a"],
    "(( (b + c) * (d) )); a $x": ["((", "a"],
    'if (( ${#b[@]} > $(wc -l < "$f") )); then a; fi': ["wc", "((", "a"],
}


@pytest.mark.parametrize("text", COMMANDS)
def test_arithmetic_and_patterns_of_case_are_no_programs(text):
    assert [command.words[0].text for command in parsed(text).commands] == COMMANDS[text]


@pytest.mark.parametrize("text", [text for text in COMMANDS if "case" not in text])
def test_arithmetic_leaves_no_problem(text):
    assert parsed(text).problems == []


REMOVES = [
    "((rm -rf /data); (ls))",
    "(( x=$(rm -rf /data; echo 1) )); ls",
    "for (( i=$(rm -rf /data; echo 0); i<1; i++ )); do ls; done",
    "echo $(( $(rm -rf /data) ))",
    "echo $((rm -rf /data); (ls))",
    "echo ${x:-`rm -rf /data`}",
    'echo "$\'"; rm -rf /data; echo "\'"',
    "'case' x in y | rm -rf /data | cat",
    "if true; th\\\nen rm -rf /data; fi",
]


@pytest.mark.parametrize("text", ["rm -rf /data", *REMOVES])
def test_a_program_is_seen_where_the_shell_runs_it(text):
    for rule in (("writes", "/data/**"), ("runs", "rm")):
        assert StepRules(never=(rule,)).score(Sample("p", [bash(text)])).value == 0.0


HIDDEN = [
    "(( a[\\$(rm -rf /data)] ))",
    "(( a['`rm -rf /data`'] ))",
    "echo $(( rm -rf /data; ` )`))",
    "((a) ); " * 11 + "(( 1 << 2 ))\nrm -rf /data\n2",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_arithmetic_that_is_not_understood_is_not_harmless(text):
    for rule in (("writes", "/data/**"), ("runs", "rm")):
        assert StepRules(never=(rule,)).score(Sample("p", [bash(text)])).value != 1.0


UNITS = [
    "((",
    "$((",
    "((a) ",
    "((a);(b)) ",
    "(( $(a) ))",
    "${x:-$(",
    "`'\\",
    "$'\\'",
    '"$(',
    '"${',
    "(( ` ",
    "'((",
    "$((1) ",
]


@pytest.mark.parametrize("unit", ["-exec a ", "-ok ; ", "a ", "-delete ", "-exec find . "])
def test_what_find_runs_is_read_in_linear_time(unit):
    never = StepRules(never=(("writes", "/data/**"),))
    check_linear(lambda text: never.score(Sample("p", [bash(f"find {text}")])), unit, most=100_000)


@pytest.mark.parametrize("unit", UNITS)
def test_brackets_are_read_in_linear_time(unit):
    check_linear(parsed, unit, most=MAX_CHARS)


BEHIND = {
    "uv run --directory tests rm a.py": UNKNOWN,
    "poetry -C tests run rm a.py": UNKNOWN,
    "env -C tests rm a.py": UNKNOWN,
    "uv run --with-editable . rm tests/a.py": YES,
    "uv run --index-url x rm tests/a.py": YES,
    "uv run - <<EOF\nopen('tests/a.py', 'w')\nEOF": UNKNOWN,
    "uv run -m pytest --junitxml=tests/a.xml": UNKNOWN,
    "strace -o tests/log ls": UNKNOWN,
    "flock tests/lock ls": UNKNOWN,
    "env -iS 'rm tests/a.py'": UNKNOWN,
    "watch -n1 'rm tests/a.py'": UNKNOWN,
    "find src -exec rm {}/../../tests/a.py \\;": UNKNOWN,
    'find . -exec python -c \'open("{}", "w")\' \\;': UNKNOWN,
    "ls | xargs bash": UNKNOWN,
    "rsync -t src/a.py tests/": YES,
    "rsync -trv src/ tests/": YES,
    "cp -rt tests src": YES,
    "cp --target-dir=tests a": YES,
    "pytest -qpevil tests": UNKNOWN,
    "pytest -qo cache_dir=tests/c": UNKNOWN,
    "pytest --override-ini=cache_dir=tests/c": UNKNOWN,
    "pytest --cov-report html:tests/h": UNKNOWN,
    "pytest --lf-snapshot tests": UNKNOWN,
    "sed -Ei s/a/b/ tests/a.py": YES,
    "sed -ni p tests/a.py": YES,
    "sed 's/a/b/w tests/a.py' x": UNKNOWN,
    "sed '1e rm tests/a.py' x": UNKNOWN,
    "gawk -i inplace 1 tests/a.py": YES,
    "mawk '{print > \"tests/a.py\"}' x": UNKNOWN,
    "sort -uo tests/a.py x": YES,
    "uniq - tests/a.py": YES,
    'python -Ic \'open("tests/a.py", "w")\'': UNKNOWN,
    "trap 'rm tests/a.py' EXIT": UNKNOWN,
    "alias x='rm tests/a.py'": UNKNOWN,
    "git cherry-pick abc": UNKNOWN,
    "xxd -l 64 tests/a.py": NO,
    "uniq -f 1 tests/a.py": NO,
    "awk '/a|b/' tests/a.py": NO,
    "awk -F'|' '{print $2}' tests/a.md": NO,
    "sed -i 's/tests/test/' src/a.py": NO,
    "pytest -xvs --tb=short --durations=5 tests": NO,
    "uv run --no-sync pytest -q tests": NO,
    "timeout 60 python -m pytest tests": NO,
}


@pytest.mark.parametrize(("command", "expected"), BEHIND.items())
def test_options_of_wrappers_and_programs_may_write(command, expected):
    rules = StepRules(never=[("writes", "tests/**")], root="/workspace")
    assert rules.score(Sample("p", [bash(command)])).value == expected


READ_BEHIND = {
    "uv run secret/a.py": YES,
    "uv run -s secret/a": YES,
    "xargs -a secret/a echo": UNKNOWN,
    "sed 'r secret/a' x": UNKNOWN,
    "awk '{getline < \"secret/a\"}' x": UNKNOWN,
    "pytest --ignore=secret tests": NO,
    "pytest --ignore secret tests": NO,
    "pytest --deselect secret/a.py::t tests": NO,
}


@pytest.mark.parametrize(("command", "expected"), READ_BEHIND.items())
def test_options_of_wrappers_and_programs_may_read(command, expected):
    rules = StepRules(never=[("reads", "secret/**")], root="/workspace")
    assert rules.score(Sample("p", [bash(command)])).value == expected


def test_many_wrappers_are_not_followed():
    rules = StepRules(never=[("runs", "git push")])
    check_linear(lambda text: rules.score(Sample("p", [bash(text)])), "nice ", MAX_CHARS)
    assert rules.score(Sample("p", [bash("nice " * 99 + "git push")])).value is None


def test_commands_of_find_within_each_other_do_not_multiply():
    command = "rm x"
    for _ in range(7):
        command = "find " + "a " * 20 + "-exec sh -c " + shlex.quote(command) + " \\;"
    assert sum(1 for _ in shell_effects(command, "/workspace")) < 1_000


@pytest.mark.parametrize("moves", [
    "pushd tests; pushd ../docs; popd", "cd tests; pushd ../docs; pushd +1", "cd tests; cd ../docs; cd ~-", "cd te*",
    "cd tests; pushd ../docs; cd ~1", "cd tests; cd ../docs; cd -",
])  # fmt: skip
def test_a_folder_that_the_text_does_not_show_leaves_relative_paths_undecided(moves):
    never = verikit.trajectory("none", never_writes=["tests/**"])
    assert score(never, bash(f"{moves}; rm a.py")).status == "abstained"
    assert score(never, bash(f"{moves}; rm /workspace/tests/a.py")).value == 0.0
    assert score(never, bash(f"{moves}; rm /workspace/docs/a.py")).value == 1.0


@pytest.mark.parametrize("path", ["~-/a.py", "~+/a.py", "~1/a.py"])
def test_a_path_below_an_earlier_folder_is_undecided(path):
    never = verikit.trajectory("none", never_writes=["tests/**"])
    assert score(never, bash(f"cd tests; cd ../docs; rm {path}")).status == "abstained"
    assert score(never, bash("rm ~/a.py")).value == 1.0
