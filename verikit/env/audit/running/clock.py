"""A library that changes what a program sees: built here, loaded by `LD_PRELOAD`.

It moves the clock and the number of CPUs. It also opens `/dev/fd/N` and `/dev/stdin`, which need `/proc`, so that
`diff <(…) <(…)` works.
"""

from __future__ import annotations

from verikit.sandbox.local import LocalSandbox
from verikit.sandbox.toolchains import Missing, toolchain
from verikit.sandbox.types import RunLimits

SECONDS, CPUS = "VERIKIT_CLOCK_SECONDS", "VERIKIT_CPUS"
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static int held(const char *path) {
    if (!path || strncmp(path, "/dev/", 5)) return -1;
    if (!strncmp(path, "/dev/fd/", 8)) return atoi(path + 8);
    return !strcmp(path, "/dev/stdin") ? 0 : !strcmp(path, "/dev/stdout") ? 1 : !strcmp(path, "/dev/stderr") ? 2 : -1;
}
#define BEGIN(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name); int fd = held(path)
#define MODE mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }
#define OPEN(name) int name(const char *path, int flags, ...) { \
    BEGIN(name); MODE return fd < 0 ? real(path, flags, mode) : dup(fd); }
#define OPEN_AT(name) int name(int at, const char *path, int flags, ...) { \
    BEGIN(name); MODE return fd < 0 ? real(at, path, flags, mode) : dup(fd); }
#define OPEN_2(name) int name(const char *path, int flags); int name(const char *path, int flags) { \
    BEGIN(name); return fd < 0 ? real(path, flags) : dup(fd); }
#define STREAM(name) FILE *name(const char *path, const char *mode) { \
    BEGIN(name); return fd < 0 ? real(path, mode) : fdopen(dup(fd), mode); }
#define STATE(name, type, by) int name(const char *path, struct type *into) { \
    BEGIN(name); return fd < 0 ? real(path, into) : by(fd, into); }
OPEN(open) OPEN(open64) OPEN_AT(openat) OPEN_AT(openat64) OPEN_2(__open_2) OPEN_2(__open64_2)
STREAM(fopen) STREAM(fopen64)
STATE(stat, stat, fstat) STATE(lstat, stat, fstat) STATE(stat64, stat64, fstat64) STATE(lstat64, stat64, fstat64)
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
