"""Signals, kills, full disks and two runs at once, in processes of their own."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.processes import runs
from tests.scoring.conftest import HOSTILE, content, lines, row, write
from tests.waiting import until
from verikit.scoring import pool
from verikit.scoring.plan import ScoringPlan

N = 60


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "verikit", "score", *map(str, arguments)]


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    # A session of its own, as a terminal's foreground job: an interrupt goes to the workers too. A background job of a
    # shell has interrupts ignored, and would hand that on.
    heeding = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        command(*arguments), cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True,
        preexec_fn=heeding,
    )  # fmt: skip


def pids(folder: Path) -> set[int]:
    file = folder / "pids"
    return set(map(int, file.read_text().split())) if file.exists() else set()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "in.jsonl", [row(i) for i in range(N)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What an uninterrupted run of the slow verifier leaves."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder / "in.jsonl", [row(i) for i in range(N)])
    subprocess.run(command("in.jsonl", "-v", f"{HOSTILE}:slow", "-o", "out"), cwd=folder, check=True)
    return content(folder / "out")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_stopped_run_leaves_no_process_and_goes_on_to_the_same_bytes(tmp_path, file, whole, stop, jobs):
    arguments = ("in.jsonl", "-v", f"{HOSTILE}:slow", "-o", "out", "--jobs", jobs)
    run = start(tmp_path, *arguments)
    until(lambda: (tmp_path / "out/scores.jsonl").exists() and lines(tmp_path / "out/scores.jsonl"), "a commit")
    if stop == signal.SIGINT:
        os.killpg(run.pid, stop)
    else:
        run.send_signal(stop)
    _, err = run.communicate(timeout=30)
    assert run.returncode == (1 if stop == signal.SIGINT else -stop)
    if stop == signal.SIGINT:
        assert err == "Interrupted: run the command again to resume from out\n"
    until(lambda: not any(map(runs, pids(tmp_path))), "the workers' end")
    kept = lines(tmp_path / "out/scores.jsonl")
    assert 0 < len(kept) < 2 * N
    done = subprocess.run(command(*arguments), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "out") == whole


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_workers_that_hang_end_with_the_run(tmp_path, stop):
    write(tmp_path / "in.jsonl", [row(1), *(row(i, "bad") for i in range(2, 60))])
    run = start(tmp_path, "in.jsonl", "-v", f"{HOSTILE}:hangs", "--jobs", 2)
    until(lambda: len(pids(tmp_path)) == 2, "both workers at work")
    run.send_signal(stop)
    _, err = run.communicate(timeout=30)
    assert run.returncode == (1 if stop == signal.SIGINT else -stop)
    assert "Traceback" not in err
    until(lambda: not any(map(runs, pids(tmp_path))), "the workers' end")


def test_a_row_so_slow_that_all_the_others_wait_for_it_holds_nobody_up_for_good(tmp_path):
    write(tmp_path / "in.jsonl", [row(0, "bad"), *(row(i) for i in range(1, 2000))])
    run = start(tmp_path, "in.jsonl", "-v", f"{HOSTILE}:late", "-o", "out", "--jobs", 2)
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert len(lines(tmp_path / "out/scores.jsonl")) == 1 + 2 * 1999


def test_an_interrupt_while_workers_start_prints_no_tracebacks(tmp_path, file):
    run = start(tmp_path, "in.jsonl", "-v", "exact", "-o", "out", "--jobs", 2)
    until(lambda: (tmp_path / "out/.progress").exists(), "the folder")
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert "Traceback" not in err


def test_of_two_runs_on_one_folder_the_second_is_refused_and_the_first_is_whole(tmp_path, file, whole):
    first = start(tmp_path, "in.jsonl", "-v", f"{HOSTILE}:slow", "-o", "out")
    until(lambda: (tmp_path / "out/scores.jsonl").exists() and lines(tmp_path / "out/scores.jsonl"), "a commit")
    first.send_signal(signal.SIGSTOP)
    try:
        second = subprocess.run(
            command("in.jsonl", "-v", f"{HOSTILE}:slow", "-o", "out", "--restart"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    finally:
        first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert "can't lock out: another run is writing to it" in second.stderr
    assert first.wait(timeout=30) == 0
    first.communicate()
    assert content(tmp_path / "out") == whole


def test_a_full_disk_keeps_what_was_committed_and_goes_on_when_there_is_room(tmp_path, file, whole):
    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    arguments = command("in.jsonl", "-v", f"{HOSTILE}:slow", "-o", "out")
    full = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, preexec_fn=small_files)
    assert full.returncode == 1
    assert f"can't write out/scores.jsonl: {os.strerror(errno.EFBIG)}" in full.stderr
    assert "free some space and run the command again" in full.stderr
    assert 4000 < (tmp_path / "out/scores.jsonl").stat().st_size <= 5000
    assert not (tmp_path / "out/summary.json").exists()
    again = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert content(tmp_path / "out") == whole


ON_A_SMALL_DISK = "mount -t tmpfs -o size=64k none small && exec {}"


def test_a_disk_with_no_room_left_says_so(tmp_path):
    write(tmp_path / "in.jsonl", [row(i, "x" * 400) for i in range(400)])
    (tmp_path / "small").mkdir()
    run = " ".join(command("in.jsonl", "-v", "exact", "-o", "small/out"))
    private = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if subprocess.run([*private, ON_A_SMALL_DISK.format("true")], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    full = subprocess.run([*private, ON_A_SMALL_DISK.format(run)], cwd=tmp_path, capture_output=True, text=True)
    assert full.returncode == 1
    assert f"can't write small/out/scores.jsonl: {os.strerror(errno.ENOSPC)}" in full.stderr


def test_results_that_cant_be_printed_are_an_error_of_one_line(tmp_path, file):
    for options in (("--json",), ("-o", "-"), ()):
        with open("/dev/full", "w") as nowhere:
            done = subprocess.run(
                command("in.jsonl", "-v", "exact", "-q", *options),
                cwd=tmp_path,
                stdout=nowhere,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert done.returncode == 1, done.stderr
        assert "Error: can't write the results out" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_pipe_is_read_and_written_in_a_row(tmp_path, file):
    run = " ".join(command("-", "-v", "exact", "-o", "-", "-q"))
    shell = f"gzip -c in.jsonl | {run} 2>summary.txt | head -3"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [json.loads(line)["index"] for line in done.stdout.splitlines()] == [0, 1, 0]
    assert f"{N} prompts" in (tmp_path / "summary.txt").read_text()


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_shows_in_a_terminal_unless_it_is_asked_to_be_quiet(tmp_path, file, quiet):
    import pty

    ours, theirs = pty.openpty()
    arguments = command("in.jsonl", "-v", f"{HOSTILE}:slow", *(["-q"] if quiet else []))
    run = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        shown += data
    os.close(ours)
    out, _ = run.communicate(timeout=30)
    assert (b"of 60 rows (" in shown) is not quiet
    assert b"unscored" not in out
    assert b"60 prompts, 120 candidates" in out


def test_no_more_workers_are_started_than_there_is_work_for(score, tmp_path, monkeypatch):
    started = []

    class Counted(pool._Worker):
        def __init__(self, plan: ScoringPlan) -> None:
            started.append(self)
            super().__init__(plan)

    monkeypatch.setattr(pool, "_Worker", Counted)
    rows = write(tmp_path / "few.jsonl", [row(1), row(2)])
    assert score(rows, "-o", "out", "--jobs", 500).code == 0
    assert len(started) == 2
    assert score(rows, "-o", "out", "--jobs", 500).code == 0
    assert len(started) == 2
