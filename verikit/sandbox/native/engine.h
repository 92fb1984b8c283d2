/* Cases in an engine that is started once: it waits for an order, and reports how the case ended.

   A part of cases.c. An engine that forks for each case (node's, a mapped program's) runs nothing of the program's
   itself. One that runs cases in its own process (Java's, for programs that leave nothing behind: `java_plain.py`)
   comes with a command that runs a case alone: a case that does not end well there is run again by it, and that counts.
   A mapped program's case that ends or stops its engine, which is its parent, is also run again alone, and has no such
   parent there. A case of node that needs threads is run again in a fresh surrounding, and all that follow it run
   without an engine. Each engine says whether something that the case started is left: then it ends with it, and the
   next case has a new one. */

enum { START_MS = 30000 };
enum { NEEDS_THREADS = 113 << 8 }; /* the status of node_fork.c; a program may imitate it, and is run alone then */

static long engine;
static int orders[2], reports[2];

/* 0 if the engine is gone. */
static int read_report(struct report *report) {
    return CALL(SYS_read, reports[0], report, sizeof *report, 0) == sizeof *report;
}

static __attribute__((noinline)) long spawn_engine(volatile long *failed) {
    long child = sys(SYS_vfork, 0, 0, 0, 0, 0, 0);
    if (child) return child;
    streams(files);
    CALL(SYS_dup2, orders[0], head->alone ? 0 : ENGINE_ORDERS, 0, 0);
    CALL(SYS_dup2, reports[1], head->alone ? 1 : ENGINE_REPORTS, 0, 0);
    *failed = -CALL(SYS_execve, argv[0], argv, env, 0);
    CALL(SYS_exit_group, 127, 0, 0, 0);
    __builtin_unreachable();
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

static void start_engine(void) {
    volatile long failed = 0;
    has_run = 0; /* nothing of the program is alive: an engine that does not start is no fault of its */
    long made = CALL(SYS_pipe2, orders, O_CLOEXEC, 0, 0);
    if (made < 0 || (made = CALL(SYS_pipe2, reports, O_CLOEXEC, 0, 0)) < 0) fail("no pipe", made);
    int pipes[] = {orders[0], reports[1]};
    engine = entry ? begin_mapped(files, pipes) : spawn_engine(&failed);
    if (engine < 0 || failed) fail("no engine", engine < 0 ? engine : failed);
    CALL(SYS_close, orders[0], 0, 0, 0);
    CALL(SYS_close, reports[1], 0, 0, 0);
    struct pollfd waiting = {reports[0], POLLIN, 0};
    struct report ready = {0};
    int heard = CALL(SYS_poll, &waiting, 1, START_MS, 0) > 0 && read_report(&ready);
    if (!heard || ready.status || ready.left) { /* a virtual machine may also write warnings there */
        if (!head->alone && !entry) fail("the engine does not start", 0);
        end_engine(), head->engine = 0; /* all cases run alone */
    }
    empty_outputs();
}

/* What a process has taken of a processor by now. */
static u64 microseconds_of(long process) {
    struct timespec used = {0, 0};
    CALL(SYS_clock_gettime, (~(u64)process << 3) | 2, &used, 0, 0);
    return used.tv_sec * 1000000ul + used.tv_nsec / 1000;
}

/* Run a case in the engine, and say what ended it; null if it has to be run alone. */
static const char *run_in_engine(u64 deadline, int *status, u64 *cpu) {
    struct report report = {0};
    u64 before = head->alone ? microseconds_of(engine) : 0;
    int ordered = CALL(SYS_write, orders[1], "r", 1, 0) == 1;
    const char *why = ordered ? wait_for(reports[0], deadline) : "exit";
    u64 used = head->alone ? microseconds_of(engine) - before : 0;
    if (why[0] != 'e') {
        int stopped = entry && CALL(SYS_wait4, engine, status, WUNTRACED | WNOHANG, 0) == engine;
        *status = SIGKILL, *cpu = end_engine() + used;
        return stopped ? 0 : why;
    }
    int reported = ordered && read_report(&report);
    if (!reported || report.left || (head->alone && report.status)) end_engine();
    if ((head->alone && report.status) || ((head->alone || entry) && !reported)) return 0;
    if (!reported) fail("the engine is gone", 0);
    if (!head->alone && !entry && report.status == NEEDS_THREADS) return 0;
    *status = (int)report.status, *cpu = report.microseconds + used;
    return why;
}
