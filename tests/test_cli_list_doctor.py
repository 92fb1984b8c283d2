import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from verikit.artifacts import box as readers
from verikit.artifacts.browser import box as pages
from verikit.artifacts.service import box as services
from verikit.cli import COMMANDS, cli, doctor
from verikit.errors import SandboxUnavailable, SpecError, VerikitError
from verikit.names.registry import registered

VERIKIT = [sys.executable, "-m", "verikit"]


def run(*args):
    return subprocess.run([*VERIKIT, *args], capture_output=True, text=True, check=False)


def test_help_lists_every_command_of_the_table():
    done = run("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("args", [("nope",), ("list", "nope"), ("list", "--nope"), ("doctor", "x")])
def test_a_wrong_command_line_exits_with_2_and_says_so_on_stderr(args):
    done = run(*args)
    assert done.returncode == 2
    assert not done.stdout
    assert "Error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_is_the_packages():
    assert run("--version").stdout.startswith("verikit, version ")


@pytest.mark.parametrize(
    ("error", "code"),
    [(SpecError("wrong", hint="do"), 2), (VerikitError("broke", hint="do"), 1), (KeyboardInterrupt(), 1)],
)
def test_errors_become_a_line_a_hint_and_an_exit_code(error, code, monkeypatch, capsys):
    import verikit.cli as module

    def main(**options):
        raise error

    monkeypatch.setattr(module.click.Command, "invoke", lambda self, ctx: main())
    monkeypatch.setattr(sys, "argv", ["verikit", "doctor"])
    with pytest.raises(SystemExit) as caught:
        module.main()
    assert caught.value.code == code
    written = capsys.readouterr().err.strip()
    assert written.startswith("Interrupted" if isinstance(error, KeyboardInterrupt) else "Error: ")
    assert isinstance(error, KeyboardInterrupt) or "Hint: do" in written


def test_a_reader_that_stops_reading_ends_the_command_quietly():
    command = f"{sys.executable} -m verikit list | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "v"
    assert "Traceback" not in done.stderr


def test_list_shows_each_name_with_one_line_of_help_and_in_json_its_options():
    table = json.loads(CliRunner().invoke(cli, ["list", "--json"]).output)
    assert set(table) == {"verifiers", "selectors", "engines", "recipes", "retrievers", "tasks", "adapters"}
    for kind in ("verifiers", "selectors", "engines"):
        assert list(table[kind]) == list(registered(kind))
        for name, entry in table[kind].items():
            assert entry["call"].startswith(f"{name}(")
            assert name == "answer" or len(entry["help"]) > 10
            assert "\n" not in entry["help"]
            assert "object at 0x" not in entry["call"]
    assert table["verifiers"]["numeric"]["call"] == "numeric(rel_tol=0.0, abs_tol=0.0, extract='stated', reads='reply')"
    assert table["verifiers"]["tags"]["call"] == "tags(*names, strict=True)"
    text = CliRunner().invoke(cli, ["list"]).output
    shown = text.splitlines()
    for name, entry in ((name, entry) for entries in table.values() for name, entry in entries.items()):
        assert any(line.split() == [name, *entry["help"].split()] for line in shown)


def test_verifiers_are_listed_under_the_headings_of_their_page():
    shown = CliRunner().invoke(cli, ["list", "verifiers"]).output.splitlines()
    jobs = [line.strip() for line in shown if line.startswith("  ") and not line.startswith("    ")]
    page = [line[3:] for line in (ROOT / "docs" / "verifiers.md").read_text("utf-8").splitlines() if line[:3] == "## "]
    assert jobs == [heading for heading in page if heading in jobs]
    assert shown.index("  A choice") + 1 == next(at for at, line in enumerate(shown) if line.split()[0] == "choice")


def test_the_list_loads_no_verifier_of_ours():
    code = "from verikit.cli.list import lines; lines('verifiers'); import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "verikit.cli.list" in loaded
    assert not [name for name in loaded if name.startswith(("verikit.verifiers.", "verikit.answers"))]


def test_a_mistyped_command_is_answered_by_the_nearest_one():
    done = CliRunner().invoke(cli, ["scor", "rows.jsonl"])
    assert done.exit_code == 2
    assert "Did you mean 'score'?" in done.output
    assert "Did you mean" not in CliRunner().invoke(cli, ["xyz"]).output


def test_list_of_one_kind_shows_only_that():
    assert "numeric" not in CliRunner().invoke(cli, ["list", "selectors"]).output
    assert "numeric" in CliRunner().invoke(cli, ["list", "verifiers"]).output


def test_another_packages_broken_entry_does_not_break_the_list(monkeypatch):
    from importlib.metadata import EntryPoint

    import verikit.cli.list as module

    broken = {"theirs": EntryPoint("theirs", "no_such_package:Thing", "verikit.verifiers")}
    monkeypatch.setattr(module, "registered", lambda kind: broken if kind == "verifiers" else {})
    monkeypatch.setattr("verikit.names.registry.registered", lambda kind: broken)
    done = CliRunner().invoke(cli, ["list"])
    assert done.exit_code == 0
    assert "can't be imported" in done.output


def test_doctor_tells_versions_and_what_each_extra_has():
    found = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).output)
    assert found["python"] == sys.version.split()[0]
    assert {"click", "pydantic", "sympy"} <= set(found["extras"][""]["have"])
    assert not found["extras"][""]["missing"]
    assert "pytest" in found["extras"]["dev"]["have"]


def test_doctor_gives_the_line_that_adds_what_is_missing(doctor_of_packages, monkeypatch):
    real = doctor.version

    def version(name):
        if name in ("pyarrow", "sympy"):
            raise PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor, "version", version)
    found = doctor.examine()["extras"]
    assert found["parquet"] == {"have": {}, "missing": ["pyarrow"], "fix": "pip install 'verikit[parquet]'"}
    assert (found[""]["missing"], found[""]["fix"]) == (["sympy"], "pip install verikit")
    text = CliRunner().invoke(cli, ["doctor"]).output
    assert "core" in text
    assert "missing pyarrow: pip install 'verikit[parquet]'" in text


def test_doctor_gives_the_lines_that_open_pages_and_start_services(monkeypatch):
    def refused(self):
        raise SandboxUnavailable("unshare: Operation not permitted", hint="an AppArmor profile with `userns`")

    monkeypatch.setattr(doctor, "_sandbox", str)
    monkeypatch.setattr(doctor, "_sandboxes", dict)
    monkeypatch.setattr(doctor, "_languages", dict)
    monkeypatch.setattr(pages, "program", lambda: "")
    monkeypatch.setattr(services.ServiceBox, "_reply", refused)
    monkeypatch.setattr(readers, "find_spec", lambda package: None if package == "pypdfium2" else package)
    told = doctor.examine()["artifacts"]
    assert "apt-get install chromium" in told["html"]
    assert "Operation not permitted (an AppArmor profile" in told["service"]
    assert told["pdf"].endswith("(pip install 'verikit[image]')")
    assert told["docx"] == told["pptx"] == "read in the sandbox"


@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["explain", "--completion", "5", "--answer", "5"]])
def test_a_full_disk_behind_stdout_is_an_error_of_one_line(arguments):
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run([*VERIKIT, *arguments], stdout=nowhere, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "can't write the results out: No space left" in done.stderr


def test_a_closed_stdout_or_stdin_is_no_crash():
    silent = subprocess.run(["sh", "-c", '"$@" >&-', "", *VERIKIT, "list"], stderr=subprocess.PIPE)
    assert silent.returncode == 0
    assert silent.stderr.startswith(b"next: ")
    command = [*VERIKIT, "score", "-", "-o", "-"]
    closed = subprocess.run(["sh", "-c", '"$@" <&-', "", *command], capture_output=True, text=True)
    assert closed.returncode == 2
    assert "stdin is closed" in closed.stderr


def test_doctor_names_each_row_of_a_file_that_cant_be_used_by_line_and_field(tmp_path):
    rows = [
        '{"prompt": "?", "completions": ["5"], "answer": "5"}',
        '{"prompt": "?", "completions": [{"text": null}], "answer": "5"}',
        '{"id": "x", "prompt": "?", "completions": ["5"], "answer": null}',
        '{"prompt": "?", "completions": ["5"]',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    done = run("doctor", "--data", str(tmp_path / "rows.jsonl"))
    second, third, fourth, last = done.stdout.splitlines()
    assert done.returncode == 1
    assert second.startswith(
        "line 2: field 'completions[0]': text not found in an object with the keys 'text' (text goes"
    )
    assert third.startswith("id x: ")
    assert fourth.startswith("line 4: invalid JSON")
    assert last == "1 rows are good, 3 are not (read as verikit)"
    assert "()" not in done.stdout


def test_doctor_tells_which_sandbox_code_uses_and_what_each_proves(monkeypatch):
    for name in ("browser_told", "office_told", "service_told"):
        monkeypatch.setattr(doctor, name, lambda: "not tried")
    monkeypatch.setattr(doctor, "_file_readers", dict)
    found = doctor.examine()["sandboxes"]
    assert found["chosen"] == "local"
    assert {"process", "http://HOST", "docker:IMAGE"} <= set(found)
    monkeypatch.setenv("VERIKIT_SANDBOX", "process")
    monkeypatch.setenv("PATH", "/nowhere")
    text = CliRunner().invoke(cli, ["doctor"]).output
    assert "uses the sandbox process" in text
    assert "sandbox process on" in text
    assert "file_reads    NO  succeeded" in text
    assert "cpu           yes" in text
    assert "bwrap is not on PATH (apt-get install bubblewrap)" in text
    monkeypatch.setenv("VERIKIT_SANDBOX", "http://any:secret-word@127.0.0.1:9")
    text = CliRunner().invoke(cli, ["doctor"]).output
    assert "not available" in text
    assert "secret-word" not in text
    monkeypatch.setenv("VERIKIT_SANDBOX", "nonsense")
    assert "names no sandbox" in CliRunner().invoke(cli, ["doctor"]).output
