/* Makes a static program its own engine: started by `cases.c` as one, it forks for each case, and runs nothing of it.

   Linked into programs with `--wrap=_dl_relocate_static_pie`. The C library calls that once it has looked at the
   processor (which is slow on a virtual machine: it has to leave it for each question) and before anything that belongs
   to one process, or to the program: thread, canary, relocations by functions, constructors. So a fork here is as a new
   process. No function of the C library is used: a program may bring its own. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "calls.h"

extern char **__environ;
extern void __real__dl_relocate_static_pie(void);

/* The case can't begin, which is no fault of its: without an engine it is run again alone. */
static void give_up(void) {
    CALL(SYS_kill, CALL(SYS_getppid, 0, 0, 0, 0), SIGKILL, 0, 0);
    CALL(SYS_exit_group, 125, 0, 0, 0);
}

/* Standard streams of a case's own: flags and positions are not those of another case. */
static void open_streams(char *path) {
    for (int number = 0; number < 3; number++) {
        int flags = number ? O_RDWR | O_APPEND : O_RDONLY;
        CALL(SYS_close, number, 0, 0, 0); /* the lowest number is the one that open takes */
        if (CALL(SYS_open, path, flags | O_NOFOLLOW, 0, 0) != number) give_up();
        while (*path) *path++ = 0;
        path++;
    }
}

/* In the fork: what the program sees as if it had been started for this case. */
static void become_case(Elf64_auxv_t *mark) {
    CALL(SYS_close, ENGINE_ORDERS, 0, 0, 0);
    CALL(SYS_close, ENGINE_REPORTS, 0, 0, 0);
    open_streams((char *)mark->a_un.a_val);
    mark->a_type = AT_IGNORE, mark->a_un.a_val = 0;
    for (Elf64_auxv_t *at = mark; at->a_type; at++)
        if (at->a_type == AT_RANDOM) CALL(SYS_getrandom, at->a_un.a_val, 16, 0, 0);
}

/* Wait for a case, and say how it ended. */
static void report_case(long child) {
    struct rusage usage;
    struct report report;
    int status;
    long orphan;
    while (CALL(SYS_wait4, child, &status, 0, &usage) < 0) continue;
    report.status = status;
    report.microseconds = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000ul + usage.ru_utime.tv_usec +
                          usage.ru_stime.tv_usec;
    while ((orphan = CALL(SYS_wait4, -1, 0, WNOHANG | __WALL, 0)) > 0) continue;
    report.left = orphan == 0; /* what the case started and is not over */
    if (CALL(SYS_write, ENGINE_REPORTS, &report, sizeof report, 0) != sizeof report)
        CALL(SYS_exit_group, 125, 0, 0, 0);
}

static __attribute__((noinline)) void serve(Elf64_auxv_t *mark) {
    struct report ready;
    char order;
    ready.status = ready.left = ready.microseconds = 0;
    if (CALL(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0) ||
        CALL(SYS_write, ENGINE_REPORTS, &ready, sizeof ready, 0) != sizeof ready)
        CALL(SYS_exit_group, 125, 0, 0, 0);
    while (CALL(SYS_read, ENGINE_ORDERS, &order, 1, 0) == 1) {
        long child = sys(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
        if (child < 0) CALL(SYS_exit_group, 125, 0, 0, 0);
        if (child == 0) {
            become_case(mark);
            return;
        }
        report_case(child);
    }
    CALL(SYS_exit_group, 0, 0, 0, 0);
}

/* What the engine has left on the stack, which tells of other cases. */
static __attribute__((noinline)) void wipe_stack(void) {
    volatile u64 trace[256]; /* where the frames of `serve` were */
    for (int i = 0; i < 256; i++) trace[i] = 0;
}

void __wrap__dl_relocate_static_pie(void) {
    char **at = __environ;
    while (*at++) continue;
    Elf64_auxv_t *mark = (Elf64_auxv_t *)at; /* the first pair */
    if (mark->a_type == AT_ENGINE) serve(mark);
    wipe_stack(); /* also without an engine: what the program finds there is the same */
    __real__dl_relocate_static_pie();
}
