"""Process 1 of a container: reads the program, runs it in a restricted child, and reports how it ended.

Standard input contains a line of JSON (the order, with verikit's modules as strings), the payload and the program's own
input. The program itself writes to the container's standard output and error. A mark created for the run precedes and
follows its output. The end and the record come after the second mark. A program that forges these gains nothing,
because it could have written the same results anyway.
"""

import json
import os
import select
import signal
import sys
import time

_TASKS = 1 << 16
"""The container counts its own; this limit counts the user's everywhere."""


def verikit_main() -> None:
    """Serve the one order."""
    given = sys.stdin.buffer
    order = json.loads(given.readline())
    payload, stdin = given.read(order["payload"]), given.read(order["stdin"])
    globals()["verikit_load"](order["modules"])  # from the loader that precedes this text
    from verikit.sandbox import isolate, landlock, paths, runner

    record = os.memfd_create("record")
    sources = []
    for data in (stdin, payload):
        sources.append(os.memfd_create("given"))
        os.write(sources[-1], data) if data else None
        os.lseek(sources[-1], 0, os.SEEK_SET)
    mark = order["mark"].encode()
    os.write(1, mark + b"ready\n")
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        high = [os.dup2(d, 40 + n) for n, d in enumerate((sources[0], record, sources[1]))]
        for target, descriptor in zip((0, runner.RECORD, runner.COMMANDS), high, strict=True):
            os.dup2(descriptor, target)
        os.closerange(runner.COMMANDS + 1, 1 << 16)
        statm = os.open("/proc/self/statm", os.O_RDONLY)
        readable, devices = map(landlock.open_paths, (paths.readable(), paths.DEVICES))
        cage = isolate.Cage(landlock.abi(), None, 0, readable, devices, statm, _TASKS)
        isolate.confine(isolate.prepare(cage, order, os.getcwd()))
        os.closerange(runner.COMMANDS + 1, 1 << 16)
        os.environ.update(HOME=os.getcwd(), TMPDIR=os.getcwd())
        try:
            runner.main(session=False)
        finally:
            os._exit(1)
    handle = os.pidfd_open(child)
    ready = select.select([handle], [], [], order["wall"])[0]
    os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    space = os.statvfs(".")
    ended = {
        "why": "exit" if ready else "wall", "exit": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime,
        "cpu_over": usage.ru_utime + usage.ru_stime >= order["cpu"],
        "disk_full": space.f_bavail == 0 or space.f_favail == 0,
    }  # fmt: skip
    size = os.fstat(record).st_size
    out = b"\n" + mark + json.dumps(ended).encode() + b"\n" + os.pread(record, min(size, order["record"]), 0)
    while out:
        out = out[os.write(1, out) :]
    os._exit(0)


if __name__ == "__main__":
    verikit_main()
