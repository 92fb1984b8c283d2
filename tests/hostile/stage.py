"""Inside the cage: plant what must stay untouched, run one hostile program through verikit, look at what is left.

    stage.py < job.json > findings.json

Every program is held to the same list: no file outside is read, made, changed or removed; nothing is heard on the
network; no other process is hurt; none is left; the caller lives, stays small and is done in time; no secret comes out.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cage  # type: ignore[import-not-found]

CANARY = "CANARY-" + os.urandom(4).hex()
FIELD = "/srv/field"


def worker() -> None:
    """The caller of verikit: one program, one result on standard output."""
    job = json.load(sys.stdin)
    if job["deny_namespaces"]:
        cage.deny_namespaces()
    if "language" in job["program"]:
        found = run_all(job["program"])
    else:
        found = run(job["program"], over_http=job.get("over_http", False))
    print(json.dumps(found), flush=True)


@contextmanager
def opened(*, over_http: bool) -> Iterator[Any]:
    """A sandbox of this process, or one behind a server of this machine."""
    from verikit.sandbox import LocalSandbox
    from verikit.sandbox.http import HttpSandbox

    if not over_http:
        with LocalSandbox() as box:
            yield box
        return
    command = [sys.executable, "-m", "verikit", "serve", "--sandbox", "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            told = server.stderr.readline()
            assert " on http" in told, told + server.stderr.read()
            with HttpSandbox(told.rpartition(" on ")[2].strip(), retries=0) as box:
                assert box.run("print(1)").stdout == "1\n"
                yield box
        finally:
            server.terminate()


def run(program: dict[str, Any], *, over_http: bool = False) -> dict[str, Any]:
    from verikit.sandbox import RunLimits, same

    science = any(name in program["code"] for name in ("sympy", "numpy"))
    limits = RunLimits(wall_s=4 if science else 2)
    call = tuple(program["call"]) if "call" in program else None
    with opened(over_http=over_http) as box:
        start = time.monotonic()
        result = box.run(program["code"], stdin=program.get("stdin", ""), call=call, limits=limits)
        seen: dict[str, Any] = {"status": result.status, "text": result.stdout + result.stderr + str(result.error)}
        seen["seconds"] = time.monotonic() - start - limits.wall_s
        if "expected" in program:
            seen["verdict"] = result.status == "ok" and same(result.value, ast.literal_eval(program["expected"]))
        if "then" in program:
            seen["then"] = box.run(program["then"], limits=limits).stdout
    return seen


def run_all(job: dict[str, Any]) -> dict[str, Any]:
    """All programs of a language in one sandbox, and a right one at the end; what each came to."""
    from dataclasses import replace

    from verikit.sandbox import LocalSandbox, RunLimits, RunResult
    from verikit.sandbox.programs import BUILD
    from verikit.sandbox.toolchains import Missing, toolchain

    limits = RunLimits(wall_s=2, memory_mb=128, disk_mb=8, files=512, output_kb=256)
    language, ended, bad, latest = job["language"], dict[str, str](), list[str](), 0.0
    chain = toolchain(language)
    if isinstance(chain, Missing):
        return {"text": chain.install, "status": "absent"}
    with LocalSandbox(workers=1) as box:
        if problem := box.programs.problem(language):
            return {"text": problem, "status": "absent"}
        for program in job["programs"]:
            start = time.monotonic()
            built = box.programs.build(
                language, program["code"], replace(BUILD, wall_s=120.0, cpu_s=12.0, memory_mb=1024)
            )
            runs = [built] if isinstance(built, RunResult) else box.programs.run(built, ["6 7\n"] * 2, limits)
            said = "".join(run.stdout for run in runs)
            if isinstance(built, RunResult) and not program["id"].split("/")[1].startswith("compile"):
                bad.append(f"{program['id']} does not compile: {built.stderr[:300]} {built.error}")
            if any(run.status == "infra_error" for run in runs):
                bad.append(f"{program['id']} broke the sandbox: {runs[-1].error}")
            text = said + "".join(run.stderr + str(run.error) for run in runs)
            if CANARY in text or job["canary"] in text or "root:x:" in text:
                bad.append(f"{program['id']} read what it must not")
            if not isinstance(built, RunResult) and any(word in said for word in ("GAINED", "ALL\n")):
                bad.append(f"{program['id']} got through: {said[:100]}")
            latest = max(latest, sum(run.seconds for run in runs[-1:]))
            ended[program["id"]] = f"{runs[-1].status} {time.monotonic() - start:.1f}s"
        built = box.programs.build(language, chain.hello)
        last = built if isinstance(built, RunResult) else box.programs.run(built, ["fine\n"], RunLimits(wall_s=9))[0]
        if last.stdout.strip() != "fine":
            bad.append(f"a right program fails after them: {last}")
    return {"text": "\n".join(bad), "bad": bad, "ended": ended, "status": "ok", "latest": latest}


def plant(uid: int) -> dict[str, tuple[int, ...]]:
    os.makedirs(FIELD + "/home/.ssh")
    for name in ("precious", "home/.ssh/id_rsa", "home/notes"):
        with open(f"{FIELD}/{name}", "w") as file:
            file.write(CANARY)
    for where, _, files in os.walk(FIELD):
        os.chmod(where, 0o777)
        os.chown(where, uid, uid)
        for name in files:
            os.chmod(f"{where}/{name}", 0o666)
            os.chown(f"{where}/{name}", uid, uid)
    return picture()


def picture() -> dict[str, tuple[int, ...]]:
    """Everything in the field: size, mode, owner and time of change of content."""
    found: dict[str, tuple[int, ...]] = {}
    for where, names, files in os.walk(FIELD):
        for name in [*names, *files]:
            st = os.lstat(f"{where}/{name}")
            size = st.st_size if name in files else 0
            found[f"{where}/{name}"] = (size, st.st_mode, st.st_uid, st.st_mtime_ns if name in files else 0)
    return found


def listeners() -> list[socket.socket]:
    made = [socket.socket(), socket.socket(type=socket.SOCK_DGRAM)]
    made += [
        socket.socket(socket.AF_UNIX),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
        socket.socket(socket.AF_UNIX),
    ]
    made[0].bind(("127.0.0.1", 4711))
    made[1].bind(("127.0.0.1", 4711))
    for listener, address in zip(made[2:], (FIELD + ".stream", FIELD + ".dgram", "\0verikit-abstract"), strict=True):
        listener.bind(address)
    for path in (FIELD + ".stream", FIELD + ".dgram"):
        os.chmod(path, 0o777)
    for listener in made:
        listener.setblocking(False)
        if listener.type == socket.SOCK_STREAM:
            listener.listen()
    return made


def heard(listener: socket.socket) -> bool:
    try:
        listener.accept() if listener.type == socket.SOCK_STREAM else listener.recv(1)
    except OSError:
        return False
    return True


def processes() -> dict[int, tuple[str, int]]:
    """State and peak MB of each process but this one."""
    found = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"):
        try:
            with open(f"/proc/{pid}/status") as file:
                lines = dict(line.split(":", 1) for line in file)
        except OSError:
            continue
        found[pid] = (lines["State"].strip()[0], int(lines.get("VmHWM", "0 kB").split()[0]) >> 10)
    return found


def temporary() -> set[str]:
    """What lies in the temporary folders."""
    return {f"{folder}/{name}" for folder in ("/tmp", "/dev/shm") for name in os.listdir(folder)}


def main() -> None:
    job = json.load(sys.stdin)
    many = "language" in job["program"]
    cage.enter(job["keep"], 1 << 12 if many else 3)
    uid = job["user"]
    kept = temporary()  # the project or its environment may lie in a temporary folder
    before = plant(uid)
    ears = listeners()
    who = {"user": uid, "group": uid, "extra_groups": []} if uid else {}
    victim = subprocess.Popen(["sleep", "3000"], env={"CANARY": CANARY}, **who)
    secret = os.open(FIELD + "/home/notes", os.O_RDONLY)
    if many:
        job["program"]["canary"] = CANARY
    text = json.dumps(job["program"]).replace("VICTIM", str(victim.pid)).replace("FIELD", FIELD)
    env = {
        "PATH": job.get("path", "") + "/usr/bin:/bin",
        "HOME": FIELD + "/home",
        "CANARY": CANARY,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    env["PYTHONPATH"] = job["pythonpath"]
    caller = subprocess.Popen(
        [sys.executable, __file__, "worker", CANARY],
        env=env,
        cwd="/tmp",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[secret],
        start_new_session=True,
        text=True,
        **who,
    )
    failures, largest = list[str](), 0
    seen: dict[str, Any] = {}
    try:
        out, err = caller.communicate(json.dumps(job | {"program": json.loads(text)}), timeout=1500 if many else 40)
        seen = json.loads(out.rsplit("\n", 2)[-2]) if caller.returncode == 0 else {"text": err[-800:]}
        failures += ["the caller died"] if caller.returncode else []
    except subprocess.TimeoutExpired:
        failures.append("the caller hung")
    for _ in range(40):
        now = processes()
        left = [pid for pid, (state, _) in now.items() if state not in "ZX" and pid not in (victim.pid, caller.pid)]
        largest = max([largest, *(mb for _, mb in now.values())])
        if not left:
            break
        time.sleep(0.05)
    failures += [f"left behind: {left}"] if left else []
    failures += ["the victim is hurt"] if now.get(victim.pid, ("X",))[0] in "ZXT" else []
    failures += ["heard on the network"] if any(map(heard, ears)) else []
    failures += ["a secret came out"] if CANARY in seen.get("text", "") else []
    failures += ["files outside changed"] if picture() != before else []
    failures += ["too late"] if seen.get("seconds", 0) > 1 else []
    failures += [f"litter: {found}"] if (found := temporary() - kept) else []
    print(json.dumps(seen | {"failures": failures, "text": seen.get("text", "")[-600:]}), flush=True)
    os.kill(-1, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    try:
        worker() if sys.argv[1:2] == ["worker"] else main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
