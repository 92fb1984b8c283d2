"""`trajectory` with shells that last over calls: only certain folders are carried, and hiding one gains nothing."""

import pytest

import verikit
from tests.growth import check_linear
from tests.verifiers.test_trajectory_paths import bash, call, score
from verikit.verifiers.tools.folders import CallResult, KeptShell
from verikit.verifiers.tools.watch import StepRules

NEVER = {"never_writes": ["tests/**"], "kept_shells": ["bash"]}
SYNTAX = "bash: syntax error near unexpected token `)'"


def value(*steps, results=None, **options):
    """The score of calls with their results, which are empty unless given."""
    turns = []
    for number, step in enumerate(steps):
        turns.append(bash(step) if isinstance(step, str) else step)
        told = (results or {}).get(number, "")
        turns += [] if told is None else [{"role": "tool", "content": told} if isinstance(told, str) else told]
    return score(verikit.trajectory("none", **{**NEVER, **options}), *turns).value


LASTS = [
    ["cd tests", "rm a.py"],
    ["cd 'tests'", "rm a.py"],
    ['cd "tests"', "rm a.py"],
    ["  cd ./tests/ ", "rm a.py"],
    ["cd /workspace/tests", "rm a.py"],
    ["cd src && cd ../tests", "rm a.py"],
    ["cd src; cd ../tests\n", "rm a.py"],
    ["cd tests && ls", "rm a.py"],
    ["cd tests && ls -l | head -3", "rm a.py"],
    ["cd tests && cat > /tmp/x <<EOF\n)\nEOF", "rm a.py"],
    ["cd tests && python -c 'print(\"(;)\")'", "rm a.py"],
    ["pushd tests", "rm a.py"],
    ["pushd tests", "pushd ../src", "popd", "rm a.py"],
    ["cd tests/unit", "cd ..", "rm a.py"],
    ["cd tests", "(cd ../src && ls)", "rm a.py"],
    ["cd tests", "ls; git status | head; python x.py", "rm a.py"],
    ["cd tests", "for f in a b; do cat $f; done", "rm a.py"],
    ["cd tests", "x=1; export PATH=$PATH:/opt; printf '%s' \"$x\"", "rm a.py"],
    ["cd src", "rm ../tests/a.py"],
    ["cd $X", "cd /workspace/tests", "rm a.py"],
    ["cd $X", "cd /workspace/tests && rm a.py"],
]


@pytest.mark.parametrize("steps", LASTS)
def test_a_folder_lasts_where_the_user_declares_one_shell(steps):
    assert value(*steps) == 0.0
    assert value(*(step.replace("tests", "docs") for step in steps)) == 1.0


def test_a_shell_per_call_is_the_rule_without_a_declaration():
    assert value("cd tests", "rm a.py", kept_shells=[]) == 1.0
    assert value("cd tests", "rm a.py", kept_shells=["shell"]) == 1.0
    assert value("cd tests", "rm a.py", kept_shells="bash") == 0.0


@pytest.mark.parametrize("steps", [
    ["cd tests", "cd ..", "rm a.py"], ["pushd tests", "popd", "rm a.py"], ["(cd tests && ls)", "rm a.py"],
    ["cd tests && ls", "cd /workspace && ls", "rm a.py"], ["cd $X", "cd /workspace", "rm a.py"],
    ["cd $X", "cd /workspace/src && sed -i s/a/b/ a.py"],
])  # fmt: skip
def test_an_agent_that_is_surely_elsewhere_may_write(steps):
    assert value(*steps) == 1.0


UNSURE = [
    "cd $X",
    'cd "$X"',
    "cd",
    "cd -",
    "cd ~",
    "cd ~/x",
    "cd -P tests",
    "cd -- tests",
    "cd te*",
    "cd {tests,x}",
    "cd $(echo tests)",
    "cd `echo tests`",
    "cd\ttests # x",
    "cd tests 2>/dev/null",
    "cd tests >x",
    "cd nope || cd tests",
    "cd tests || true",
    "true && cd tests",
    "false && cd tests",
    "ls; cd tests",
    "cd tests; ls",
    "cd tests\nls",
    "cd tests && ls; clear",
    "cd tests && ls || clear",
    "cd tests && ls &",
    "cd tests &",
    "cd tests | cat",
    "ls | cd tests",
    "cd tests && (ls) &",
    "cd tests && { ls; } &",
    "if cd tests; then ls; fi",
    "for i in 1; do cd tests; done",
    "! cd tests",
    "{ cd tests; }",
    "command cd tests",
    "builtin cd tests",
    "time cd tests",
    "\\cd tests",
    "c''d tests",
    '"cd" tests',
    "chdir tests",
    "cd tests x",
    "pushd",
    "pushd +1",
    "pushd -n tests",
    "popd",
    "dirs -c",
    "exit",
    "kill -9 $$",
    "cd tests && popd",
    "cd tests && cd -",
    "cd ''",
    "cd tests\r",
    "cd tests\\",
    "cd tests &&",
    "(cd src); cd tests",
    "echo $(cd src); cd tests",
]


@pytest.mark.parametrize("step", UNSURE)
def test_after_a_move_that_is_not_certain_relative_paths_are_undecided(step):
    assert value(step, "rm a.py") is None
    assert value(step, "rm a.py", undecided=0.0) == 0.0
    assert value(step, "rm /workspace/tests/a.py") == 0.0


OTHER = [
    "cd() { :; }",
    "cd () { :; }",
    "function cd { :; }",
    "f() { builtin cd tests; }",
    "alias cd=:",
    "source x.sh",
    ". x.sh",
    "eval 'cd tests'",
    "eval ls",
    "command eval ls",
    "exec 2>/dev/null",
    "exec bash",
    "set -e",
    "shopt -s autocd",
    "enable -n cd",
    "trap 'cd tests' DEBUG",
    "export CDPATH=/workspace/tests",
    "CDPATH=tests",
    "export CD''PATH=tests",
    "export ${D}PATH=tests",
    "for CDPATH in tests; do :; done",
    "read $V",
    "printf -v $V tests",
    "declare -n r=$V",
    ": ${!v:=tests}",
    "PROMPT_COMMAND='cd tests'",
    "PWD=/tmp",
    "TMOUT=1",
    "$C tests",
    "c[d] tests",
    "$(echo cd) tests",
    "[[ 1 ]] && cd tests",
    "case x in x) cd tests;; esac",
    "mapfile -C 'cd tests #' -c 1 x < f",
    "jobs -x cd tests",
    "fc -s cd",
    "!cd",
    "ln -s tests t",
    "cat <<E\nx",
    "echo 'x",
    "ls \\",
    "ls |",
    "ls && (cd() { :; }; ls)",
]


@pytest.mark.parametrize("step", OTHER)
def test_a_shell_that_may_know_another_cd_stays_unknown(step):
    assert value(step, "cd /tmp", "rm tests/a.py") is None
    assert value(step, "cd /tmp && rm tests/a.py") is None
    assert value(step, "cd /tmp", "rm tests/a.py", undecided=0.0) == 0.0
    assert value(step, "cd /tmp", "rm /workspace/tests/a.py") == 0.0


FAILED = [
    "bash: line 1: cd: docs: No such file or directory",
    "cd: no such file or directory: docs",
    "sh: 1: cd: can't cd to docs",
    "exit code: 1",
    "exited with code 2",
    "Exit code 127",
    "returncode=1",
    SYNTAX,
    "zsh: parse error near `)'",
    "Command timed out",
    "the shell was restarted",
    "x" * 200_000,
    None,
    {"role": "tool", "content": "", "is_error": True},
    {"role": "tool", "content": 5},
    {"role": "tool", "content": "", "status": "error"},
    {"role": "user", "content": ""},
    {"role": "tool", "content": "", "tool_call_id": "other"},
]


@pytest.mark.parametrize("result", FAILED, ids=map(str, range(len(FAILED))))
@pytest.mark.parametrize("step", ["cd docs", "cd docs && ls", "pushd docs"])
def test_a_move_without_a_sure_success_is_undecided(step, result):
    assert value(step, "rm tests/a.py", results={0: result}) is None
    assert value(step, "cd /workspace/tests", "rm a.py", results={0: result}) == 0.0


@pytest.mark.parametrize("result", ["", "a.py\nb.py", "3 passed, exit code 0", [{"type": "text", "text": ""}]])
def test_other_results_of_a_move_are_successes(result):
    assert value("cd docs && ls", "rm tests/a.py", results={0: {"role": "tool", "content": result}}) == 1.0


def test_a_shell_that_ended_is_elsewhere():
    assert value("cd docs", "sleep 999", "rm tests/a.py", results={1: "timed out"}) is None
    assert value("cd docs", call("bash", restart=True), "rm tests/a.py") is None


@pytest.mark.parametrize("more", [
    {"command": "rm tests/a.py", "cwd": "docs"}, {"command": "ls", "session": 2}, {"command": ["cd", "src"]},
    {"command": "ls", "cmd": "cd src"}, {"keystrokes": "cd src"}, {"input": "cd src"},
])  # fmt: skip
def test_a_call_that_says_more_than_a_command_is_not_followed(more):
    assert value(call("bash", **more), "rm tests/a.py") is None


def test_arguments_that_say_nothing_of_the_shell_are_followed():
    assert value(call("bash", command="cd tests", timeout=5, description="go"), "rm a.py") == 0.0


def test_calls_of_one_turn_are_in_no_order():
    both = bash("cd tests")
    both["tool_calls"] += bash("rm a.py")["tool_calls"]
    assert value(both, results={0: None}) is None
    assert value(both, "rm a.py", results={0: None}) is None
    reads = bash("ls")
    reads["tool_calls"] += bash("cat a.py")["tool_calls"]
    assert value("cd tests", reads, "rm a.py") == 0.0


def test_each_tool_has_a_shell_of_its_own():
    steps = [bash("cd tests"), call("shell", command="rm a.py"), call("shell", command="rm b.py")]
    assert value(*steps, kept_shells=["bash", "shell"]) == 1.0
    assert value(*steps, bash("rm a.py"), kept_shells=["bash", "shell"]) == 0.0


def test_reads_and_the_order_of_steps_follow_the_shell_too():
    assert value("cd secret", "cat a", never_writes=(), never_reads=["secret/**"]) == 0.0
    order = {"never_writes": (), "order": ["writes src/**"]}
    assert [value(*steps, **order) for steps in (["cd src", "touch a"], ["touch a"], ["cd $X", "touch a"])] == [
        1.0,
        0.0,
        None,
    ]


def test_paths_longer_than_any_are_unknown():
    shell = KeptShell()
    for _ in range(3000):
        shell.ran("cd abc", CallResult("", failed=False))
    assert shell.start("ls") is None


@pytest.mark.parametrize(
    "unit",
    [
        "cd a; ",
        "cd a && ",
        "pushd a\n",
        "popd; ",
        "(cd a; ",
        "ls && ",
        "cd a && (",
        "cd 'a",
        "! ",
        "((",
        "cd a && ls; ",
    ],
)
def test_moves_are_read_in_linear_time(unit):
    rules = StepRules(never=(("writes", "/data/**"),), kept_shells=["bash"])
    check_linear(lambda text: rules.score(verikit.Sample("p", [bash(text), bash("rm x")])), unit, most=50_000)
