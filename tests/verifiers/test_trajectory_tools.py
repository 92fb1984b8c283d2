"""`trajectory` over the tools of agents in use: what their names and arguments say about the paths they touch."""

import json

import pytest

import verikit
from verikit import Sample
from verikit.calls import ToolCall
from verikit.judges.evidence.entries import entries
from verikit.verifiers.tools.steps import effects_of

CHANGED, KEPT, UNDECIDED = 0.0, 1.0, None
PATCH = "*** Begin Patch\n*** {} File: {}\n*** End Patch"
HEREDOC = "apply_patch <<'E'\n{}\nE"


def score(name, **arguments):
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    turns = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "assistant", "content": "Done."}]
    verifier = verikit.trajectory("none", never_writes=["tests/**"])
    return verifier.score([Sample("p", turns)])[0].value


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["bash", "-lc", "rm -rf tests"], CHANGED),
        (["bash", "-lc", "cd tests && rm a.py"], CHANGED),
        (["bash", "-lc", "cat tests/a.py"], KEPT),
        (["rm -rf tests"], CHANGED),
        (["rm", "tests/a.py"], CHANGED),
        (["grep", "-r", "a > tests/x", "."], KEPT),
        (["bash", "-lc", HEREDOC.format(PATCH.format("Delete", "tests/a.py"))], CHANGED),
        (["apply_patch", PATCH.format("Update", "tests/a.py")], CHANGED),
        (["apply_patch", PATCH.format("Update", "src/a.py")], KEPT),
    ],
)
def test_the_words_of_a_command_keep_their_quotes(words, verdict):
    assert score("shell", command=words) == verdict


@pytest.mark.parametrize(
    ("scripts", "verdict"),
    [
        (["ls", "rm -rf tests"], CHANGED),
        (["cd tests", "rm a.py"], CHANGED),
        (["cd src", "rm -rf x"], KEPT),
        (["cd src", "rm -rf tests"], UNDECIDED),
        (["exit", "rm -rf tests"], UNDECIDED),
        ([{"keystrokes": "rm -rf tests\n", "duration": 0.1}], CHANGED),
        ([{"keystrokes": "ls tests\n"}, {"keystrokes": "pytest tests\n"}], KEPT),
    ],
)
def test_scripts_of_a_list_may_share_a_shell_or_not(scripts, verdict):
    assert score("run_commands", commands=scripts) == verdict


@pytest.mark.parametrize("key", ["workdir", "Cwd", "working_directory", "workingDirectory"])
def test_a_command_runs_in_the_folder_that_its_call_names(key):
    assert score("exec_command", cmd="rm a.py", **{key: "tests"}) == CHANGED
    assert score("exec_command", cmd="rm a.py", **{key: "/workspace/tests"}) == CHANGED
    assert score("exec_command", cmd="rm -r build", **{key: "src"}) == KEPT
    assert score("exec_command", cmd="rm -r tests", **{key: "src"}) is UNDECIDED  # a tool may ignore the folder


@pytest.mark.parametrize("tool", ["str_replace_editor", "str_replace_based_edit_tool"])
def test_an_editors_command_says_whether_it_writes(tool):
    assert score(tool, command="view", path="/workspace/tests/a.py") == KEPT
    assert score(tool, command="str_replace", path="/workspace/tests/a.py", old_str="1", new_str="2") == CHANGED
    assert score(tool, command="create", path="/workspace/src/a.py", file_text="tests/a.py") == KEPT


@pytest.mark.parametrize(
    "arguments",
    [
        {"operation": {"type": "delete_file", "path": "tests/a.py"}},
        {"edits": [{"path": "src/a.py"}, {"path": "tests/a.py"}]},
        {"notebook_path": "tests/a.ipynb"},
        {"targetFile": "file:///workspace/tests/a.py"},
        {"files": ["src/a.py", "tests/a.py"]},
    ],
)
def test_paths_are_found_within_the_arguments_of_an_edit(arguments):
    assert score("multi_edit", **arguments) == CHANGED
    assert score("multi_edit", **json.loads(json.dumps(arguments).replace("tests/", "src/"))) == KEPT


@pytest.mark.parametrize("action", ["Add", "Update", "Delete"])
def test_a_patch_names_the_files_that_it_changes(action):
    for tool, key in (("apply_patch", "input"), ("bash", "command")):
        given = PATCH if tool == "apply_patch" else HEREDOC.format(PATCH)
        assert score(tool, **{key: given.format(action, "tests/a.py")}) == CHANGED
        assert score(tool, **{key: given.format(action, "src/a.py")}) == KEPT
    moved = "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: tests/a.py\n*** End Patch"
    assert score("apply_patch", patch=moved) == CHANGED


def test_a_patch_that_is_not_shown_may_change_any_file():
    assert score("apply_patch", input="what I said before") is UNDECIDED
    assert score("bash", command="apply_patch < /tmp/p") is UNDECIDED
    assert score("bash", command="cd tests && " + HEREDOC.format(PATCH.format("Add", "b.py"))) == CHANGED


@pytest.mark.parametrize("tool", ["python", "execute_ipython_cell", "run_code", "code_interpreter"])
def test_code_of_another_language_is_undecided_if_it_mentions_the_path(tool):
    assert score(tool, code="import shutil; shutil.rmtree('tests')") is UNDECIDED
    assert score(tool, code="print(1)") == KEPT


def test_the_language_of_code_may_be_told():
    assert score("execute", language="bash", code="rm -rf tests") == CHANGED
    assert score("execute", language="python", code="open('tests/a.py', 'w')") is UNDECIDED
    assert score("execute_bash", code="rm -rf tests") == CHANGED


@pytest.mark.parametrize("key", ["command", "CommandLine", "shell_command", "cmd"])
def test_a_script_is_found_whatever_its_argument_is_called(key):
    assert score("run_command", **{key: "rm -rf tests"}) == CHANGED
    assert score("run_command", **{key: "ls tests"}) == KEPT


def test_a_shell_without_a_known_argument_is_undecided_if_it_mentions_the_path():
    assert score("bash", said="rm -rf tests") is UNDECIDED
    assert score("bash", restart=True) == KEPT


@pytest.mark.parametrize(
    "tool", ["Read", "LS", "Grep", "view_image", "list_directory", "search_dir", "read_many_files"]
)
def test_a_tool_that_looks_at_files_changes_none(tool):
    assert score(tool, path="tests") == KEPT


def test_a_tool_that_runs_tests_reads_them():
    assert score("run_tests", files=["tests/a.py"]) == KEPT
    assert score("apply_diff", path="tests/a.py", diff="@@") == CHANGED


def test_text_typed_into_a_shell_is_a_script():
    assert score("write_stdin", session_id=1, chars="rm -rf tests\n") == CHANGED
    assert score("write_stdin", session_id=1, chars="ls tests\n") == KEPT


REMOVAL = {"command": "rm -rf tests"}
RESULT = {"role": "user", "content": "ok"}
DONE = {"role": "assistant", "content": "Done."}
TAGGED = f"<tool_call>\n{json.dumps({'name': 'bash', 'arguments': REMOVAL})}\n</tool_call>"
FORMATS = {
    "Anthropic": {"content": [{"type": "text", "text": "So."}, {"type": "tool_use", "name": "bash", "input": REMOVAL}]},
    "LangChain": {"content": [{"type": "tool_call", "id": "1", "name": "bash", "args": REMOVAL}]},
    "function_call": {"content": None, "function_call": {"name": "bash", "arguments": json.dumps(REMOVAL)}},
    "tags": {"content": TAGGED},
    "bash": {"content": "THOUGHT: tidy up\n```bash\nrm -rf tests\n```"},
}


@pytest.mark.parametrize("turn", FORMATS.values(), ids=FORMATS)
def test_the_calls_of_a_run_are_read_in_the_formats_in_use(turn):
    never = verikit.trajectory("none", never_writes=["tests/**"])
    run = [{"role": "assistant", **turn}, RESULT, DONE]
    assert never(run).value == CHANGED
    assert never(json.loads(json.dumps(run).replace("rm -rf", "ls"))).value == KEPT


def test_scripts_in_the_text_are_no_actions_if_nothing_answers_them_or_calls_exist():
    never = verikit.trajectory("none", never_writes=["tests/**"])
    told = {"role": "assistant", "content": "Now you may run\n```bash\nrm -rf tests\n```"}
    assert never([told]).value == KEPT
    call = {"function": {"name": "bash", "arguments": {"command": "pytest tests"}}}
    tested = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert never([tested, RESULT, told, RESULT, DONE]).value == KEPT


def test_a_fence_without_a_label_may_be_an_action_or_a_quotation():
    never = verikit.trajectory("none", never_writes=["tests/**"])

    def run(text):
        return never([{"role": "assistant", "content": text}, RESULT, DONE]).value

    assert run("DISCUSSION\ntidy up\n```\nrm -rf tests\n```") is UNDECIDED
    assert run("First\n```\nrm -rf tests\n```\nand\n```bash\nls tests\n```") is UNDECIDED
    assert run("It says\n```\n3 passed in tests\n```\nso\n```bash\nls tests\n```") == KEPT
    assert run("a.txt\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```") == KEPT


HONEST = [
    "```python\nprint(1)\n```",
    "f(x)",
    "```bash\ngrep -rn '<tool_call>' src\n```",
    "The tag <tool_call> and [TOOL_CALLS] are not closed.",
    "x" * 100_001,
]


@pytest.mark.parametrize("text", HONEST, ids=lambda text: text[:20])
def test_a_text_that_is_no_call_fails_no_run(text):
    never = verikit.trajectory("none", never_writes=["tests/**"], forbidden=["rm"])
    assert never([{"role": "assistant", "content": text}, RESULT, DONE]).value == KEPT


def test_many_tagged_calls_are_read():
    never = verikit.trajectory("none", never_writes=["tests/**"])
    turn = {"role": "assistant", "content": TAGGED.replace("rm -rf", "ls")}
    assert never([turn, RESULT] * 300 + [DONE]).value == KEPT
    assert never([turn, RESULT] * 300 + [{"role": "assistant", "content": TAGGED}, RESULT, DONE]).value == CHANGED


def test_padding_hides_no_call_in_the_text():
    never = verikit.trajectory("none", never_writes=["tests/**"])
    padded = {"role": "assistant", "content": "x" * 100_001 + TAGGED}
    assert never([padded, RESULT, DONE]).value is UNDECIDED


CALLED = {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}
STORED = {"name": "f", "args": {"x": 1}, "id": "c"}
LEGACY = {"name": "f", "arguments": '{"x": 1}'}


@pytest.mark.parametrize(
    "turn",
    [
        {"content": [CALLED], "tool_calls": [STORED]},
        {"content": None, "tool_calls": [STORED], "function_call": LEGACY},
        {"content": None, "tool_calls": [STORED], "function_call": {"name": None, "arguments": None}},
        {"content": [CALLED], "tool_calls": [], "function_call": {}},
    ],
)
def test_a_call_that_is_stored_twice_or_empty_counts_once(turn):
    expected = json.dumps([{"name": "f", "arguments": {"x": 1}}])
    run = [{"role": "assistant", **turn}, DONE]
    assert verikit.tool_calls()(run, expected).value == 1.0
    assert len([entry for entry in entries(run) if entry.kind == "calls"]) == 1


@pytest.mark.parametrize("name", ["", None, "d", ["c"]])
def test_calls_with_other_names_or_none_are_all_read(name):
    turn = {"role": "assistant", "content": [{**CALLED, "id": name}], "tool_calls": [{**STORED, "id": name and "e"}]}
    assert len([entry for entry in entries([turn, DONE]) if entry.kind == "calls"]) == 2


def test_an_empty_call_beside_text_is_none():
    for empty in ({}, {"name": None, "arguments": None}):
        run = [{"role": "assistant", "content": "7", "function_call": empty}]
        assert verikit.trajectory("none")(run).value == KEPT
        assert [entry.kind for entry in entries(run)] == ["says"]


@pytest.mark.parametrize(
    ("scripts", "verdict"),
    [
        ([{"command": "rm", "args": ["-rf", "tests"]}], CHANGED),
        ([["rm", "-rf", "tests"]], CHANGED),
        ([["ls", "tests"]], KEPT),
    ],
)
def test_scripts_of_a_list_may_be_words(scripts, verdict):
    assert score("run_commands", commands=scripts) == verdict


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["pwsh", "-c", "rm tests/a.py"], UNDECIDED),
        (["C:\\Windows\\powershell.exe", "-Command", "rm tests/a.py"], UNDECIDED),
        (["pwsh", "-c", "ls src"], KEPT),
        (["ls", "&&", "rm", "-rf", "tests"], UNDECIDED),
    ],
)
def test_words_that_another_shell_reads_are_undecided(words, verdict):
    assert score("shell", command=words) == verdict


def test_a_program_may_have_its_words_beside_it():
    assert score("execute", command="rm", args=["-rf", "tests"]) == CHANGED
    assert score("execute", command="ls", args=["tests"]) == KEPT


def test_a_directory_is_the_folder_of_a_script_and_a_path_otherwise():
    assert score("run_shell_command", command="pytest -q", directory="tests") == KEPT
    assert score("run_shell_command", command="rm a.py", directory="tests") == CHANGED
    assert score("delete_directory", directory="tests") == CHANGED


def test_code_that_an_editor_writes_is_not_run():
    assert score("insert_edit_into_file", filePath="src/a.py", code="import tests") == KEPT


def test_a_call_in_the_text_hides_no_script():
    never = verikit.trajectory("none", never_writes=["tests/**"])
    both = {"role": "assistant", "content": TAGGED.replace("rm -rf", "ls") + "\n```bash\nrm -rf tests\n```"}
    assert never([both, RESULT, DONE]).value == CHANGED


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": "rm -rf tests", "language": "python"}),
        ("run_command", {"command": "rm -rf tests", "language": "python"}),
        ("bash", {"command": "rm a.py", "cwd": "src", "workdir": "tests"}),
        ("bash", {"command": "rm -rf tests", "Command": "ls"}),
        ("bash", {"Command": "ls", "command": "rm -rf tests"}),
        ("write_file", {"path": "tests/a.py", "content": "", "command": "view"}),
    ],
)
def test_an_argument_that_a_tool_ignores_hides_nothing(tool, arguments):
    assert score(tool, **arguments) == CHANGED


def test_calls_in_content_parts_are_compared_with_the_expected_ones():
    parts = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "1", "name": "find", "input": {"q": "tea"}},
    ]
    expected = [{"name": "find", "arguments": {"q": "tea"}}]
    for run in (parts, [{"role": "assistant", "content": parts}, RESULT, DONE]):
        assert verikit.tool_calls()(run, json.dumps(expected)).value == 1.0
        assert verikit.tool_calls()(run, json.dumps(expected).replace("tea", "rum")).value == 0.0


def test_calls_in_the_text_of_earlier_turns_are_compared_too():
    run = [{"role": "assistant", "content": TAGGED}, RESULT, DONE]
    expected = [{"name": "bash", "arguments": REMOVAL}]
    assert verikit.trajectory("unordered")(run, json.dumps(expected)).value == 1.0


def test_a_long_run_is_read_whole():
    never = verikit.trajectory("none", never_writes=["tests/**"])
    call = {"function": {"name": "bash", "arguments": json.dumps({"command": "ls"})}}
    turn = {"role": "assistant", "content": None, "tool_calls": [call]}
    removal = {"role": "assistant", "tool_calls": [{"function": {"name": "bash", "arguments": REMOVAL}}]}
    assert never([turn, RESULT] * 300 + [DONE]).value == KEPT
    assert never([turn, RESULT] * 300 + [removal, DONE]).value == CHANGED


def test_the_work_does_not_grow_with_the_number_of_folders():
    def effects(count):
        folders = {"_" * number + "cwd": f"d{number}" for number in range(count)}
        call = ToolCall("bash", {**folders, "command": "cat a;" * 50})
        return len(list(effects_of(call, "/workspace")))

    assert effects(400) == effects(40)
    many = {"_" * number + "cwd": f"d{number}" for number in range(9)}
    assert score("bash", **many, command="ls") is UNDECIDED
    assert score("bash", **many, command="rm -rf /workspace/tests") == CHANGED


def test_the_calls_of_the_last_text_count_once():
    run = [{"role": "assistant", "content": TAGGED}, RESULT, {"role": "assistant", "content": ""}]
    assert verikit.trajectory("none", most=1)(run).value == 1.0
