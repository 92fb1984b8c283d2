/* Runs the cases of a program: each a fresh process, whose time is kept and whose output is written down.

   Process 1 of a pid namespace of its own, put in the place of `supervisor.py`, which has restricted it and written the
   plan. A system call here costs what it costs; in Python each case takes more than a small program does. Built by the
   machine's own C compiler, without a C library: what is forked is a few pages.

   A static program is mapped here once and never run here: each case is a fork that goes on at its entry, which spares
   an exec and most page faults. An engine is started once and runs each case, in a fork of it or by itself (`engine.h`).
   A mapped program may be its own engine (`program_fork.c`). Other programs are executed. Descriptors: 3 record,
   4 contents, 5 plan. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "calls.h"

enum { RECORD = 3, CONTENTS = 4, PLAN = 5, CHUNK = 1 << 16, TICK_MS = 50, MOST_SEALS = 4096, MOST_SEGMENTS = 16 };
enum { HIGHEST = 1ul << 32 }; /* of a mapped program's addresses; this one lies far above */

/* What the plan says; `supervisor.py` writes it. Seals are of folders and files that no case may change. */
struct head {
    u64 argv, alone, env, seals, cases, wall_ns, budget_ns, output, stop, engine, program_start, program_size;
};
struct span {
    u64 start, size;
};

static struct head *head;
static struct span *spans;
static char *base, *work, *paths[3], **argv, **alone, **env, **sealed;
static struct stat *seals;
static char *buffer;
static u64 entry, program_headers;
static u64 header_count;
static int has_run; /* whether the program was let loose: what goes wrong after that is its own doing */

void *memset(void *to, int value, u64 size) {
    for (u8 *at = to; size--;) *at++ = (u8)value;
    return to;
}
void *memcpy(void *to, const void *from, u64 size) {
    u8 *at = to;
    for (const u8 *next = from; size--;) *at++ = *next++;
    return to;
}

static u64 length(const char *text) {
    u64 size = 0;
    while (text[size]) size++;
    return size;
}

static u64 now(void) {
    struct timespec at;
    CALL(SYS_clock_gettime, CLOCK_MONOTONIC, &at, 0, 0);
    return at.tv_sec * 1000000000ul + at.tv_nsec;
}

static void put(const char *data, u64 size) {
    while (size) {
        long written = CALL(SYS_write, RECORD, data, size, 0);
        if (written <= 0) CALL(SYS_exit_group, 1, 0, 0, 0);
        data += written, size -= written;
    }
}

static char *digits(char *to, long value) {
    char text[24], *at = text + sizeof text;
    u64 left = value < 0 ? -(u64)value : (u64)value;
    do *--at = '0' + left % 10;
    while (left /= 10);
    if (value < 0) *--at = '-';
    while (at < text + sizeof text) *to++ = *at++;
    return to;
}

static char *say(char *to, const char *text) {
    while (*text) *to++ = *text++;
    return to;
}

static char *seconds(char *to, u64 microseconds) {
    to = digits(to, microseconds / 1000000);
    *to++ = '.';
    for (u64 unit = 100000; unit; unit /= 10) *to++ = '0' + microseconds / unit % 10;
    return to;
}

static void fail(const char *what, long code) {
    char line[200], *at = say(say(line, has_run ? "{\"spoiled\":\"" : "{\"infra\":\""), what);
    at = say(digits(say(at, ": error "), code), "\"}\n");
    put(line, at - line);
    CALL(SYS_exit_group, 1, 0, 0, 0);
}

/* Memory that no fork inherits: a case sees neither the plan nor what another one wrote. */
static void *own(u64 size) {
    long at = sys(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0) fail("no memory", at);
    CALL(SYS_madvise, at, size, MADV_DONTFORK, 0);
    return (void *)at;
}

static void read_plan(void) {
    struct stat plan;
    long got = CALL(SYS_fstat, PLAN, &plan, 0, 0);
    if (got < 0) fail("no plan", got);
    char *text = own(plan.st_size + 1);
    for (long size = 0; size < plan.st_size; size += got)
        if ((got = CALL(SYS_pread64, PLAN, text + size, plan.st_size - size, size)) <= 0) fail("no plan", got);
    CALL(SYS_close, PLAN, 0, 0, 0);
    head = (struct head *)text;
    spans = (struct span *)(text + sizeof *head);
    u64 strings = head->argv + head->alone + head->env + head->seals;
    argv = own((strings + 3) * sizeof *argv);
    alone = argv + head->argv + 1;
    env = alone + head->alone + 1;
    sealed = env + head->env + 1;
    seals = own((head->seals + 1) * sizeof *seals);
    char *at = (char *)(spans + head->cases), **fixed[] = {&base, &work, paths, paths + 1, paths + 2};
    for (u64 i = 0; i < sizeof fixed / sizeof *fixed; i++, at += length(at) + 1) *fixed[i] = at;
    for (u64 i = 0; i < head->argv; i++, at += length(at) + 1) argv[i] = at;
    for (u64 i = 0; i < head->alone; i++, at += length(at) + 1) alone[i] = at;
    for (u64 i = 0; i < head->env; i++, at += length(at) + 1) env[i] = at;
    for (u64 i = 0; i < head->seals; i++, at += length(at) + 1) sealed[i] = at;
}

/* ---- what a case must leave as it was ---- */

static void look(const char *path, struct stat *state) {
    if (CALL(SYS_newfstatat, AT_FDCWD, path, state, AT_SYMLINK_NOFOLLOW) < 0) state->st_ino = 0;
}

/* Our own descriptors of a case's streams, kept for all cases. */
static int files[3];

/* A folder's time tells of a change only after the clock's next tick: the streams are also compared by themselves. */
static int unchanged(void) {
    for (int i = 0; i < 3; i++) {
        struct stat is, was = {0};
        look(paths[i], &is);
        CALL(SYS_fstat, files[i], &was, 0, 0);
        if (is.st_ino != was.st_ino) return 0;
    }
    for (u64 i = 0; i < head->seals; i++) {
        struct stat is, *was = seals + i;
        look(sealed[i], &is);
        if (is.st_ino != was->st_ino || is.st_mode != was->st_mode || is.st_size != was->st_size ||
            is.st_mtim.tv_sec != was->st_mtim.tv_sec || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec ||
            is.st_ctim.tv_sec != was->st_ctim.tv_sec || is.st_ctim.tv_nsec != was->st_ctim.tv_nsec)
            return 0;
    }
    return 1;
}

struct entry {
    u64 number, offset;
    unsigned short size;
    u8 kind;
    char name[];
};

/* Empty the working directory; 0 if something in it does not go away by one call. */
static int emptied(void) {
    long folder = CALL(SYS_open, work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, 0), size;
    if (folder < 0) return 0;
    int gone = 1;
    while (gone && (size = CALL(SYS_getdents64, folder, buffer, CHUNK, 0)) > 0)
        for (long at = 0; at < size; at += ((struct entry *)(buffer + at))->size) {
            const char *name = ((struct entry *)(buffer + at))->name;
            if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]))) continue;
            gone &= CALL(SYS_unlinkat, folder, name, 0, 0) == 0 ||
                    CALL(SYS_unlinkat, folder, name, AT_REMOVEDIR, 0) == 0;
        }
    CALL(SYS_close, folder, 0, 0, 0);
    return gone && size == 0;
}

#include "mapping.h"

/* ---- a case ---- */

/* The program as a file, to be executed. */
static void write_program(void) {
    long file = CALL(SYS_open, argv[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700, 0), sent;
    if (file < 0) fail("no program", file);
    for (long at = head->program_start, end = at + head->program_size; at < end;)
        if ((sent = CALL(SYS_sendfile, file, CONTENTS, &at, end - at)) <= 0) fail("no program", sent);
    CALL(SYS_close, file, 0, 0, 0);
}

static void open_streams(int *opened, int input, int output) {
    for (int i = 0; i < 3; i++) {
        int flags = i ? output : input;
        long file = CALL(SYS_open, paths[i], flags | O_CLOEXEC | O_NOFOLLOW, 0600, 0);
        if (file < 0) fail("no stream", file);
        opened[i] = (int)file;
    }
}

static void empty_outputs(void) {
    for (int i = 1; i < 3; i++) CALL(SYS_ftruncate, files[i], 0, 0, 0);
}

static void give_input(const struct span *span) {
    long from = span->start, end = span->start + span->size, sent;
    CALL(SYS_ftruncate, files[0], 0, 0, 0);
    CALL(SYS_lseek, files[0], 0, SEEK_SET, 0);
    while (from < end)
        if ((sent = CALL(SYS_sendfile, files[0], CONTENTS, &from, end - from)) <= 0) fail("no input", sent);
}

static void streams(const int *opened) {
    for (int i = 0; i < 3; i++) CALL(SYS_dup2, opened[i], i, 0, 0);
}

/* A fork that goes on at the entry of the mapped program, as a case, or as its engine (`program_fork.c`). Its memory is a
   copy without what is our own: all it needs lies on this stack. */
static __attribute__((noinline)) long begin_mapped(const int *opened, const int *pipes) {
    u64 size = 0, number = 0;
    for (char **at = argv; at < sealed; at++) size += *at ? length(*at) + 1 : 0;
    for (int i = 0; i < 3; i++) size += length(paths[i]) + 1;
    char **pointers = __builtin_alloca((sealed - argv) * sizeof *argv), *text = __builtin_alloca(size + 1);
    for (char **at = argv; at < sealed; at++) {
        pointers[number++] = *at ? text : 0;
        if (*at) text = say(text, *at), *text++ = 0;
    }
    char *own_paths[3];
    for (int i = 0; i < 3; i++) own_paths[i] = text, text = say(text, paths[i]), *text++ = 0;
    u64 variables = env - argv;
    long child = sys(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    if (child) return child;
    streams(opened);
    for (int i = 0; pipes && i < 2; i++) CALL(SYS_dup2, pipes[i], ENGINE_ORDERS + i, 0, 0);
    unsigned first = pipes ? ENGINE_REPORTS + 1 : ENGINE_ORDERS;
    if (CALL(SYS_close_range, first, ~0u, 0, 0) < 0) /* a kernel before 5.9 */
        for (unsigned file = first; file < 1024; file++) CALL(SYS_close, file, 0, 0, 0);
    enter(pointers, pointers + variables, pipes ? own_paths : 0);
}

/* The number of a new process, or a negative error. */
static __attribute__((noinline)) long begin(const int *opened, volatile long *failed) {
    if (entry) return begin_mapped(opened, 0);
    long child = sys(SYS_vfork, 0, 0, 0, 0, 0, 0);
    if (child) return child;
    streams(opened);
    char **command = head->alone ? alone : argv;
    *failed = -CALL(SYS_execve, command[0], command, env, 0);
    CALL(SYS_exit_group, 127, 0, 0, 0);
    __builtin_unreachable();
}

static u64 size_of(int file) {
    struct stat state;
    return CALL(SYS_fstat, file, &state, 0, 0) < 0 ? 0 : state.st_size;
}

static const char *wait_for(long handle, u64 deadline) {
    for (;;) {
        u64 time = now(), left = time < deadline ? (deadline - time) / 1000000 + 1 : 0;
        struct pollfd waiting = {(int)handle, POLLIN, 0};
        if (CALL(SYS_poll, &waiting, 1, left < TICK_MS ? left : TICK_MS, 0) > 0) return "exit";
        if (size_of(files[1]) > head->output || size_of(files[2]) > head->output) return "output";
        if (now() >= deadline) return "wall";
    }
}

static u64 microseconds(const struct rusage *usage) {
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000ul + usage->ru_utime.tv_usec +
           usage->ru_stime.tv_usec;
}

#include "engine.h"

/* Write down a file behind what waits in the buffer; what waits then. Each write wakes the reader, so few are made. */
static u64 append(u64 held, int file, u64 size) {
    for (u64 at = 0; at < size;) {
        if (held == CHUNK) put(buffer, held), held = 0;
        u64 most = size - at < CHUNK - held ? size - at : CHUNK - held;
        long got = CALL(SYS_pread64, file, buffer + held, most, at);
        if (got <= 0) fail("an output shrank", got);
        held += got, at += got;
    }
    return held;
}

/* Run the program as a process of its own, and say what ended it. */
static const char *run_process(u64 deadline, int *status, u64 *cpu, volatile long *failed) {
    int own_files[3];
    open_streams(own_files, O_RDONLY, O_RDWR | O_APPEND);
    long child = begin(own_files, failed);
    for (int i = 0; i < 3; i++) CALL(SYS_close, own_files[i], 0, 0, 0);
    if (child < 0) *failed = -child;
    if (child <= 0) return "exec";
    long handle = CALL(SYS_pidfd_open, child, 0, 0, 0);
    if (handle < 0) fail("no handle", handle);
    const char *why = wait_for(handle, deadline);
    struct rusage usage = {0};
    int over = why[0] == 'e';
    if (!over) CALL(SYS_kill, -1, SIGKILL, 0, 0);
    CALL(SYS_wait4, child, status, 0, &usage);
    CALL(SYS_close, handle, 0, 0, 0);
    /* What a case started and is not over has become a child of this process, or is below one. To look for it costs less
       than a signal to all, for which the kernel goes through every process of the machine. */
    if (!over || CALL(SYS_wait4, -1, 0, WNOHANG | __WALL, 0) != -ECHILD) {
        CALL(SYS_kill, -1, SIGKILL, 0, 0);
        while (CALL(SYS_wait4, -1, 0, __WALL, 0) > 0) continue;
    }
    *cpu = microseconds(&usage);
    return why;
}

/* The cases that are not written down need a fresh surrounding, `alone` without an engine. */
static int again(const char *how) {
    char line[40];
    put(line, say(say(say(line, "{\"again\":\""), how), "\"}\n") - line);
    return 0;
}

/* Run one case and write it down; whether the next one may follow. */
static int run_case(const struct span *span, u64 *left) {
    give_input(span);
    empty_outputs();
    if (head->engine && !engine) start_engine();
    u64 begun = now(), wall = head->wall_ns < *left ? head->wall_ns : *left, cpu = 0, tried = 0;
    volatile long failed = 0;
    has_run = 1;
    int status = 0;
    const char *why = engine ? run_in_engine(begun + wall, &status, &cpu) : 0;
    if (!why) {
        empty_outputs();
        if (head->engine && !head->alone && (!entry || !emptied())) return again("alone");
        tried = now() - begun, begun += tried;
        why = run_process(begun + wall, &status, &cpu, &failed);
    }
    long code = failed ? failed : WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    if (failed) why = "exec";
    u64 took = now() - begun, sizes[] = {size_of(files[1]), size_of(files[2])}, cap = head->output + 1;
    for (int i = 0; i < 2; i++) sizes[i] = sizes[i] < cap ? sizes[i] : cap;
    struct statfs space;
    int full = code && CALL(SYS_statfs, base, &space, 0, 0) == 0 && (space.f_bavail == 0 || space.f_ffree == 0);
    char *at = say(say(say(buffer, "{\"why\":\""), why), "\",\"exit\":");
    at = seconds(say(digits(at, code), ",\"seconds\":"), took / 1000);
    at = seconds(say(at, ",\"cpu\":"), cpu);
    at = say(at, full ? ",\"full\":true,\"out\":" : ",\"full\":false,\"out\":");
    at = say(digits(say(digits(at, sizes[0]), ",\"err\":"), sizes[1]), "}\n");
    put(buffer, append(append(at - buffer, files[1], sizes[0]), files[2], sizes[1]));
    took += tried;
    *left -= took < *left ? took : *left;
    int well = code == 0 && why[0] == 'e' && why[2] == 'i' && sizes[0] < cap && sizes[1] < cap;
    return *left && (well || !head->stop);
}

static __attribute__((used, noreturn)) void start(u64 *stack) {
    bottom = stack;
    auxiliary = stack + stack[0] + 2;
    while (*auxiliary++) continue;
    struct {
        void *handler;
        u64 flags, restorer, mask;
    } plain = {0};
    int ignored[] = {SIGPIPE, SIGXFSZ};
    for (int i = 0; i < 2; i++) CALL(SYS_rt_sigaction, ignored[i], &plain, 0, 8);
    read_plan();
    buffer = own(CHUNK);
    int inherited[] = {RECORD, CONTENTS};
    for (int i = 0; i < 2; i++) CALL(SYS_fcntl, inherited[i], F_SETFD, FD_CLOEXEC, 0);
    long moved = CALL(SYS_chdir, work, 0, 0, 0);
    if (moved < 0) fail("no working directory", moved);
    CALL(SYS_unlink, stack[1], 0, 0, 0);
    if (head->program_size && !map_program()) write_program(), head->engine = 0;
    open_streams(files, O_RDWR | O_CREAT | O_EXCL, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
    for (u64 i = 0; i < head->seals; i++) look(sealed[i], seals + i);
    u64 left = head->budget_ns;
    for (u64 number = 0; number < head->cases && run_case(spans + number, &left); number++)
        if (number + 1 < head->cases && !(emptied() && unchanged())) {
            again("engine");
            break;
        }
    if (engine) end_engine(); /* waited for, or its time of a processor would count for nobody */
    CALL(SYS_exit_group, 0, 0, 0, 0);
    __builtin_unreachable();
}

__asm__(".globl _start\n_start:\n xor %ebp,%ebp\n mov %rsp,%rdi\n and $-16,%rsp\n call start\n");
