"""A library that moves the clock and the number of CPUs that a program sees: built here, loaded by `LD_PRELOAD`."""

from __future__ import annotations

from verikit.sandbox.local import LocalSandbox
from verikit.sandbox.toolchains import Missing, toolchain
from verikit.sandbox.types import RunLimits

SECONDS, CPUS = "VERIKIT_CLOCK_SECONDS", "VERIKIT_CPUS"
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long number(const char *name) { const char *told = getenv(name); return told ? atol(told) : 0; }

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    int day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (!failed && day) at->tv_sec += number("VERIKIT_CLOCK_SECONDS");
    return failed;
}
time_t time(time_t *into) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (into) *into = at.tv_sec;
    return at.tv_sec;
}
int gettimeofday(struct timeval *into, void *zone) {
    struct timespec at;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    if (into) { into->tv_sec = at.tv_sec; into->tv_usec = at.tv_nsec / 1000; }
    return 0;
}
long sysconf(int name) {
    static long (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "sysconf");
    long cpus = number("VERIKIT_CPUS");
    return cpus && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) ? cpus : real(name);
}
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    static int (*real)(pid_t, size_t, cpu_set_t *);
    if (!real) real = dlsym(RTLD_NEXT, "sched_getaffinity");
    long cpus = number("VERIKIT_CPUS");
    if (!cpus) return real(pid, size, set);
    memset(set, 0, size);
    for (long one = 0; one < cpus && one < (long)size * 8; one++) CPU_SET_S(one, size, set);
    return 0;
}
"""
_BUILD = RunLimits(wall_s=30, memory_mb=2048, disk_mb=64, output_kb=64, threads=64)


def built(box: LocalSandbox) -> bytes:
    """The library; empty if this machine has no C compiler."""
    chain = toolchain("c")
    if isinstance(chain, Missing):
        return b""
    files = {"clock.c": SOURCE.encode(), "out/.keep": b""}
    command = [chain.build[0], "-O1", "-shared", "-fPIC", "{kept}/clock.c", "-o", "{kept}/out/clock.so", "-ldl"]
    done = box.programs.execute(command, files, b"", _BUILD, tools=chain.tools, env=dict(chain.env), collect="out")
    return done.files.get("clock.so", b"") if done.status == "ok" else b""
