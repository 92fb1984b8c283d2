/* Cases in forks of an engine that is started once: it waits for an order, forks, and reports how the fork ended.

   A part of cases.c. The engine runs nothing of the program's itself, and says whether something that the case started
   is left: then it ends with it, and the next case has a new one. */

enum { ENGINE_ORDERS = 3, ENGINE_REPORTS = 4, START_MS = 30000 };

/* What an engine reports of each case, and once when it is ready. */
struct report {
    u64 status, left, microseconds;
};

static long engine;
static int orders[2], reports[2];

/* 0 if the engine is gone. */
static int read_report(struct report *report) {
    return CALL(SYS_read, reports[0], report, sizeof *report, 0) == sizeof *report;
}

static __attribute__((noinline)) long spawn_engine(const int *files, volatile long *failed) {
    long child = sys(SYS_vfork, 0, 0, 0, 0, 0, 0);
    if (child) return child;
    streams(files);
    CALL(SYS_dup2, orders[0], ENGINE_ORDERS, 0, 0);
    CALL(SYS_dup2, reports[1], ENGINE_REPORTS, 0, 0);
    *failed = -CALL(SYS_execve, argv[0], argv, env, 0);
    CALL(SYS_exit_group, 127, 0, 0, 0);
    __builtin_unreachable();
}

static void start_engine(const int *files) {
    volatile long failed = 0;
    has_run = 0; /* nothing of the program is alive: an engine that does not start is no fault of its */
    long made = CALL(SYS_pipe2, orders, O_CLOEXEC, 0, 0);
    if (made < 0 || (made = CALL(SYS_pipe2, reports, O_CLOEXEC, 0, 0)) < 0) fail("no pipe", made);
    engine = spawn_engine(files, &failed);
    if (engine < 0 || failed) fail("no engine", engine < 0 ? engine : failed);
    CALL(SYS_close, orders[0], 0, 0, 0);
    CALL(SYS_close, reports[1], 0, 0, 0);
    struct pollfd waiting = {reports[0], POLLIN, 0};
    struct report ready;
    if (CALL(SYS_poll, &waiting, 1, START_MS, 0) <= 0 || !read_report(&ready)) fail("the engine does not start", 0);
    for (int i = 1; i < 3; i++) CALL(SYS_ftruncate, files[i], 0, 0, 0);
}

/* End the engine and all else; the time of what was not its own. */
static u64 end_engine(void) {
    struct rusage usage;
    u64 cpu = 0;
    long ended;
    CALL(SYS_kill, -1, SIGKILL, 0, 0);
    while ((ended = CALL(SYS_wait4, -1, 0, 0, &usage)) > 0)
        if (ended != engine) cpu += microseconds(&usage);
    CALL(SYS_close, orders[1], 0, 0, 0);
    CALL(SYS_close, reports[0], 0, 0, 0);
    engine = 0;
    return cpu;
}

/* Run a case in a fork of the engine, and say what ended it. */
static const char *run_in_engine(const int *files, u64 deadline, int *status, u64 *cpu) {
    struct report report;
    if (CALL(SYS_write, orders[1], "r", 1, 0) != 1) fail("the engine is gone", 0);
    const char *why = wait_for(reports[0], files, deadline);
    if (why[0] != 'e') {
        *status = SIGKILL, *cpu = end_engine();
        return why;
    }
    if (!read_report(&report)) {
        end_engine();
        fail("the engine is gone", 0);
    }
    *status = (int)report.status, *cpu = report.microseconds;
    if (report.left) end_engine();
    return why;
}
