"""What callers of `LocalSandbox` count on; benign programs only (hostile ones run caged, in tests/hostile)."""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.processes import children
from tests.waiting import until
from verikit.errors import SandboxUnavailable, UsageError
from verikit.sandbox import Array, Job, LocalSandbox, OpaqueValue, RunLimits, RunResult, Symbolic
from verikit.sandbox.client import Flight


def test_output_input_and_errors_come_back(box: LocalSandbox) -> None:
    result = box.run("print(input()[::-1])\nraise KeyError('k')", stdin="abc\n")
    assert (result.status, result.stdout, result.error.type, result.error.line) == ("error", "cba\n", "KeyError", 2)
    assert result.stderr.endswith("KeyError: 'k'\n")
    assert "verikit" not in result.stderr


VALUES = [
    None,
    True,
    0,
    -(1 << 5000),
    0.1 + 0.2,
    float("inf"),
    -0.0,
    1 + 2j,
    "a\ud800\0é",
    b"\x00\xff",
    [1, (2, [3])],
    {1, "a"},
    frozenset({1.5}),
    {"k": {(1, 2): None}},
    Fraction(-7, 3),
    [],
]


def test_values_cross_the_wall_exactly(box: LocalSandbox) -> None:
    result = box.run("def f(*a, **k): return [a, k]", call=("f", VALUES, {"key": VALUES}))
    assert result.value == [tuple(VALUES), {"key": VALUES}]
    assert repr(result.value) == repr([tuple(VALUES), {"key": VALUES}])


def test_foreign_values_arrive_as_plain_data_or_opaque(box: LocalSandbox) -> None:
    code = "import numpy, sympy\ndef f():\n    return numpy.eye(2), numpy.float64(.5), sympy.Rational(1, 2), f"
    array, number, half, function = box.run(code, call=("f", [], {})).value
    assert array == Array("<f8", (2, 2), (1.0, 0.0, 0.0, 1.0))
    assert number == Array("<f8", None, (0.5,))
    assert half == Symbolic("Rational(1, 2)")
    assert isinstance(function, OpaqueValue)
    assert function != function


def test_symbolic_values_compare_in_a_child_of_their_own(box: LocalSandbox) -> None:
    x = "Symbol('x')"
    square = Symbolic(f"Pow(Add({x}, Integer(1)), Integer(2))")
    assert box.equivalent(square, Symbolic(f"Add(Pow({x}, Integer(2)), Mul(Integer(2), {x}), Integer(1))"))
    assert not box.equivalent(square, Symbolic(x))
    assert not box.equivalent(Symbolic("exit(0)"), Symbolic("exit(0)"))
    for forged in (
        "Add('1+1', Integer(0))",
        "Poly(Integer(0), Symbol('x'), modulus=1)",
        "Poly(Integer(0), Symbol('x'), modulus=2)",
        "Float('2.0', precision=1)",
        "Float('2.0')",
        "Float('2.0', precision=53)",
        "Add(Integer(2), Symbol('x', zero=True))",
        "Add(Float('1e-200', precision=53), Integer(2))",
        "Dummy('x')",
        "Eq(Integer(2), Integer(2), evaluate=False)",
        "nan",
    ):
        assert not box.equivalent(Symbolic(forged), Symbolic("Integer(2)")), forged
        assert not box.equivalent(Symbolic("Integer(2)"), Symbolic(forged)), forged
    sine = "Add(Pow(sin(Symbol('x')), Integer(2)), Pow(cos(Symbol('x')), Integer(2)))"
    assert box.equivalent(Symbolic(sine), Symbolic("Integer(1)"))
    assert box.equivalent(
        Symbolic("MutableDenseMatrix([[Integer(1), pi]])"), Symbolic("ImmutableDenseMatrix([[Rational(2, 2), pi]])")
    )


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("while True: pass", "timeout"),
        ("x = bytearray(1 << 34)", "memory"),
        ("while True: print('x' * 9999)", "output"),
        ("with open('f', 'wb') as f:\n    while True: f.write(b'x' * 99999)", "disk"),
        ("import os; os.abort()", "killed"),
        ("import os; os._exit(0)", "no_result"),
        ("import os; os.write(3, b'{}')", "no_result"),
        ("raise SystemExit", "ok"),
        ("raise SystemExit(3)", "error"),
        ("def f(:", "error"),
        ("\0", "error"),
    ],
)
def test_every_end_has_its_status(box: LocalSandbox, code: str, status: str) -> None:
    limits = RunLimits(wall_s=1.5 if status != "disk" else 5)
    assert box.run(code, limits=limits).status == status


def test_leaving_by_exit_gives_no_value(box: LocalSandbox) -> None:
    assert box.run("def f(): raise SystemExit(0)", call=("f", [], {})).status == "error"


def test_ordinary_programs_keep_working(box: LocalSandbox) -> None:
    code = """
        import asyncio, shutil, tempfile, sqlite3, zoneinfo, os, threading, logging, dataclasses, random
        with tempfile.TemporaryDirectory() as d:
            open(d + '/a', 'w').write('x'); shutil.copy2(d + '/a', d + '/b'); os.rename(d + '/b', d + '/c')
            assert sorted(os.listdir(d)) == ['a', 'c']
        async def two(): return 2
        assert asyncio.run(two()) == 2
        @dataclasses.dataclass
        class P: x: int
        t = threading.Thread(target=lambda: print(P(1))); t.start(); t.join()
        zoneinfo.ZoneInfo('Europe/Paris')
        logging.warning('careful')
        print(sqlite3.connect('f.db').execute('select 1').fetchone(), __name__)
    """
    result = box.run(textwrap.dedent(code))
    assert (result.status, result.stdout) == ("ok", "P(x=1)\n(1,) __main__\n"), result


def test_files_come_in_and_nothing_stays(box: LocalSandbox) -> None:
    assert box.run("print(open('d/in.txt').read())", files={"d/in.txt": "hello"}).stdout == "hello\n"
    assert box.run("import os; print(os.listdir())").stdout == "[]\n"
    with pytest.raises(ValueError):
        box.run("", files={"../x": ""})


def test_runs_share_no_state(box: LocalSandbox) -> None:
    box.run("import json, builtins; json.mark = builtins.mark = 1")
    assert box.run("import json; print(hasattr(json, 'mark'), 'mark' in dir(__builtins__))").stdout == "False False\n"


def test_random_numbers_differ_between_runs(box: LocalSandbox) -> None:
    code = "import random, numpy\nprint(random.random(), numpy.random.rand())"
    assert len({word for _ in range(3) for word in box.run(code).stdout.split()}) == 6


def test_map_keeps_the_order(box: LocalSandbox) -> None:
    results = box.map([Job(f"import time; time.sleep({0.05 if n == 0 else 0}); print({n})") for n in range(8)])
    assert [int(r.stdout) for r in results] == list(range(8))


def test_a_session_keeps_names_and_survives_errors_but_not_its_limits(box: LocalSandbox) -> None:
    with box.session(RunLimits(wall_s=1), science=False) as session:
        assert session.run("x = 41").status == "ok"
        assert session.run("1 / 0").error.type == "ZeroDivisionError"
        assert session.run("print(x + 1)").stdout == "42\n"
        assert session.run("while True: pass").status == "timeout"
        assert session.run("print(x)").status == "timeout"
    assert session.run("print(1)").status == "timeout"
    assert box.run("print(1)").status == "ok"


def test_two_sessions_talk_about_an_object_that_lives_in_one_of_them(box: LocalSandbox) -> None:
    program = "class Count:\n    n = 0\n    def up(self, by=1):\n        self.n += by\n        return self"
    tests = "c = Count()\nprint(c.up().up(4).n)\ntry: c.up(z=1)\nexcept TypeError as e: print(e)"
    with (
        box.session(science=False, loaded=["talking"]) as home,
        box.session(science=False, loaded=["talking"]) as session,
    ):
        home.begin(program, "program")
        result = session.run(tests, role="tests", relay=lambda line: str(home.exchange(line)))
    assert result.stdout.startswith("5\n"), result
    assert "unexpected keyword" in result.stdout


@pytest.mark.parametrize(
    ("code", "settled"),
    [
        ("def f(): return [{'b': 1}, {3, 4}, 0.5]", True),
        ("def f(): return list({'a', 'b', 'c', 'd', 'e', 'f'})", False),
        ("def f(): return id(object())", False),
        ("def f(): return repr(object())", False),
        ("n = [0]\ndef f(): n[0] += 1; return n[0]", False),
        ("import random\ndef f(): return random.random()", False),
        ("import numpy\ndef f(): return float(numpy.random.rand())", False),
        ("def f(): return f", False),
        ("def f(): return 1 / 0", False),
        ("def f(): return float('nan')", True),
    ],
)
def test_determinism_is_seen_over_seeds_processes_and_calls(box: LocalSandbox, code: str, settled: bool) -> None:
    assert box.deterministic(code, call=("f", [], {})) is settled


def test_output_can_be_nondeterministic_too(box: LocalSandbox) -> None:
    assert box.deterministic("print(sorted({'a', 'b'}))")
    assert not box.deterministic("print({'a', 'b', 'c', 'd', 'e'})")


# ---- where it runs ---------------------------------------------------------------------------------------------------


def test_threads_share_a_box(box: LocalSandbox) -> None:
    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda n: box.run(f"print({n})").stdout, range(24)))
    assert got == [f"{n}\n" for n in range(24)]


def test_the_thread_that_started_a_server_may_end(box: LocalSandbox) -> None:
    found = []
    with LocalSandbox(workers=1) as own:
        thread = threading.Thread(target=lambda: found.append(own.run("import sympy; print(1)").stdout))
        thread.start()
        thread.join()
        time.sleep(0.1)
        found.append(own.run("import sympy; print(2)").stdout)
    assert found == ["1\n", "2\n"]


def test_asyncio_is_not_blocked(box: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    both_run = threading.Barrier(2, timeout=60)
    run = box.run

    def meeting(code: str) -> RunResult:
        both_run.wait()
        return run(code)

    async def both() -> list[RunResult]:
        return await asyncio.gather(box.arun("print(1)"), box.arun("print(2)"))

    monkeypatch.setattr(box, "run", meeting)
    assert [result.stdout for result in asyncio.run(both())] == ["1\n", "2\n"]


def _in_child(box: LocalSandbox, pipe: multiprocessing.connection.Connection) -> None:  # type: ignore[name-defined]
    with LocalSandbox(workers=1) as own:
        pipe.send((box.run("print('inherited')").stdout, own.run("print('own')").stdout))
    os._exit(0)


def test_daemonic_and_forked_processes_can_use_it(box: LocalSandbox) -> None:
    box.run("1")
    ours, theirs = multiprocessing.Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = multiprocessing.get_context("fork").Process(target=_in_child, args=(box, theirs), daemon=True)
        process.start()
    assert ours.poll(30)
    assert ours.recv() == ("inherited\n", "own\n")
    process.join(60)
    assert box.run("print('still')").stdout == "still\n"


def _actor(pipe: multiprocessing.connection.Connection) -> None:  # type: ignore[name-defined]
    """As Ray's actors do: a process of its own whose methods run in threads that come and go."""
    box = LocalSandbox(workers=1)
    while (code := pipe.recv()) is not None:
        thread = threading.Thread(target=lambda code=code: pipe.send(box.run(code).stdout))
        thread.start()
        thread.join()
    box.close()


def test_actors_in_processes_of_their_own_can_use_it() -> None:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_actor, args=(theirs,))
    process.start()
    for n in range(3):
        ours.send(f"print({n})")
        assert ours.poll(60)
        assert ours.recv() == f"{n}\n"
    ours.send(None)
    process.join(60)
    assert process.exitcode == 0


# ---- life and death --------------------------------------------------------------------------------------------------


def test_a_killed_server_is_replaced_and_the_run_retried() -> None:
    with LocalSandbox(workers=1) as box:
        box.run("1")
        for _ in range(3):
            (server,) = (s for idle in box._pool._idle.values() for s in idle)
            os.kill(server._process.pid, signal.SIGKILL)
            assert box.run("print(1)").stdout == "1\n"


def test_a_server_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalSandbox(workers=1) as box:
        box.run("1")
        monkeypatch.setattr("verikit.sandbox.local.GRACE_S", 0.3)
        monkeypatch.setattr("verikit.sandbox.client.GRACE_S", 0.3)
        (server,) = (s for idle in box._pool._idle.values() for s in idle)
        os.kill(server._process.pid, signal.SIGSTOP)
        assert box.run("print(1)", limits=RunLimits(wall_s=2)).status == "ok"
        assert server._process.poll() == -signal.SIGKILL


def test_a_copy_that_holds_the_pipes_does_not_hold_up_the_result() -> None:
    pipes = [os.pipe2(os.O_NONBLOCK) for _ in range(3)]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        flight = Flight(ours, [read for read, _ in pipes], limits=RunLimits())
        os.write(pipes[0][1], b"out")
        theirs.send(json.dumps({"why": "exit", "cpu": 0.0}).encode())
        flight.pump(time.monotonic() + 600)
    assert (flight.ended, bytes(flight.data["stdout"])) == ({"why": "exit", "cpu": 0.0}, b"out")
    for _, write in pipes:
        os.close(write)


def test_processor_time_is_limited_too(box: LocalSandbox) -> None:
    result = box.run("while True: pass", limits=RunLimits(wall_s=120, cpu_s=1))
    assert (result.status, result.error.message) == ("timeout", "CPU time")


def test_half_characters_do_not_reach_an_error(box: LocalSandbox) -> None:
    result = box.run("raise ValueError(chr(0xd800))")
    assert result.error.message == "?"
    result.stderr.encode()


@pytest.mark.parametrize(
    "limits", [{"wall_s": 0}, {"wall_s": float("nan")}, {"wall_s": float("inf")}, {"memory_mb": -1}]
)
def test_limits_are_positive_numbers(limits: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        RunLimits(**limits)  # type: ignore[arg-type]


def test_worn_servers_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verikit.sandbox.pool.MAX_RUNS", 8)
    with LocalSandbox(workers=1) as box:
        pids = set()
        for _ in range(20):
            assert box.run("1").status == "ok"
            pids |= {s._process.pid for idle in box._pool._idle.values() for s in idle}
        assert len(pids) >= 2


def test_a_server_that_can_not_start_is_an_infrastructure_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalSandbox(workers=1) as box:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        box._pool.close()
        box._pool._closed = False
        result = box.run("print(1)")
    assert result.status == "infra_error"
    assert "start" in str(result.error)


def test_nothing_is_left_when_the_box_is_closed_or_forgotten() -> None:
    gc.collect()  # what earlier tests forgot has descriptors too
    before, descriptors = children(os.getpid()), set(os.listdir("/proc/self/fd"))
    box = LocalSandbox(workers=2)
    box.map([Job("1")] * 4)
    box.close()
    assert box.run("1").status == "infra_error"
    forgotten = LocalSandbox(workers=1)
    forgotten.run("1")
    del forgotten, box
    gc.collect()
    assert children(os.getpid()) <= before  # what earlier tests left may end meanwhile
    assert set(os.listdir("/proc/self/fd")) <= descriptors


def test_everything_ends_with_its_owner() -> None:
    script = """
        import os, sys, threading, time
        from verikit.sandbox import LocalSandbox
        box = LocalSandbox(namespaces=sys.argv[1] == 'yes')
        threading.Thread(target=box.run, args=('while True: pass',), daemon=True).start()
        time.sleep(0.3)
        print(*[s._process.pid for s in box._pool._lent], flush=True)
        time.sleep(60)
    """
    for namespaces in ("yes", "no"):
        owner = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), namespaces], stdout=subprocess.PIPE, text=True
        )
        with owner:
            servers = [int(word) for word in owner.stdout.readline().split()]
            assert servers
            owner.kill()
        for pid in servers:
            until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), "the end of a server")


def test_children_inherit_no_descriptor(tmp_path: Path) -> None:
    code = """
        import os
        for fd in range(256):
            try: os.fstat(fd); print(fd, end=' ')
            except OSError: pass
    """
    with open(tmp_path / "open", "w") as file:
        os.set_inheritable(file.fileno(), True)
        with LocalSandbox(workers=1) as own:
            assert own.run(textwrap.dedent(code)).stdout.split() == ["0", "1", "2", "3"]


def test_the_environment_is_clean(box: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    with LocalSandbox(workers=1) as own:
        assert "secret" not in own.run("import os; print(os.environ)").stdout


# ---- the report ------------------------------------------------------------------------------------------------------


def test_strict_refuses_by_name_and_remedy(box: LocalSandbox) -> None:
    if "disk_total" in box.report.unproved():
        with pytest.raises(SandboxUnavailable, match="disk_total") as caught:
            LocalSandbox(strict=True, namespaces=False)
        assert "user namespaces" in caught.value.hint
    else:
        LocalSandbox(strict=True).close()


def test_the_report_is_plain_data_and_text(box: LocalSandbox) -> None:
    facts = box.report.as_dict()
    assert facts["properties"]["network"] == "proved"
    assert facts["layers"]["seccomp"] == "active"
    assert "network" in box.report.text()
    assert set(box.report.unproved()) <= {"disk_total"}


def test_unknown_properties_are_usage_errors() -> None:
    with pytest.raises(UsageError):
        LocalSandbox(require=["peace"])  # type: ignore[list-item]


def test_paranoid_runs_alone_in_its_pid_namespace() -> None:
    with LocalSandbox(paranoid=True, workers=1) as box:
        if box.report.layers["paranoid"] != "active":
            pytest.skip("no namespaces here")
        assert box.run("import os; print(os.getpid(), os.getppid())").stdout == "2 1\n"
        assert box.run("import os; os.kill(os.getpid(), 11)").status == "killed"
        assert box.run("while True: pass", limits=RunLimits(wall_s=0.3)).status == "timeout"


def test_timeouts_are_kept_from_outside(box: LocalSandbox) -> None:
    """A program that sleeps uses no processor time and sees no signal; nothing but our clock ends it."""
    deaf = "import signal, time\nfor n in {*range(1, 32)} - {9, 19}: signal.signal(n, signal.SIG_IGN)\n"
    for code in ("while True: pass", f"{deaf}time.sleep(10 ** 6)"):
        result = box.run(code, limits=RunLimits(wall_s=0.2, cpu_s=600))
        assert (result.status, result.error.message) != ("timeout", "CPU time")
        assert result.status == "timeout"


def test_packages_of_an_environment_below_the_folder_for_temporary_files_can_be_imported() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as below:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", below], check=True)
        [site] = Path(below).glob("lib/python3*/site-packages")
        (site / "lies_in_tmp.py").write_text("x = 7\n")
        roots = [str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
        (site / "_more.pth").write_text("\n".join(roots))
        program = "import os, lies_in_tmp; open('/tmp/x', 'w'); print(lies_in_tmp.x, os.listdir())"
        code = f"""
            from verikit.sandbox import LocalSandbox
            with LocalSandbox(workers=1) as box:
                for _ in range(2):
                    print(box.run({program!r}).stdout, end="")
                print(box.run("open({str(site)!r} + '/lies_in_tmp.py', 'w')").error.type)
        """
        run = [below + "/bin/python", "-c", textwrap.dedent(code)]
        done = subprocess.run(run, capture_output=True, text=True, check=False, cwd="/")
    assert done.stdout in ("7 []\n7 []\nOSError\n", "7 []\n7 []\nPermissionError\n"), done.stderr
