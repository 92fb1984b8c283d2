/* Lets a started node run program after program, each in a fork of it: `node_engine.js` calls `serve`.

   Preloaded into node (LD_PRELOAD) by the native supervisor (`cases.c`) and loaded again as an addon. The interface of
   addons is declared here: it is stable, and its headers are seldom installed.

   A fork has the calling thread alone. node is started single-threaded (`--single-threaded`), so that none of V8's work
   is on another; what is left are node's idle threads, which exit would wait for. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct napi_env_s *napi_env;
typedef struct napi_value_s *napi_value;
typedef struct napi_info_s *napi_info;
typedef napi_value (*napi_callback)(napi_env, napi_info);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_get_cb_info(napi_env, napi_info, size_t *, napi_value *, napi_value *, void **);
extern int napi_get_value_string_utf8(napi_env, napi_value, char *, size_t, size_t *);
extern int napi_create_int32(napi_env, int, napi_value *);
extern int napi_get_uv_event_loop(napi_env, void **);
extern int napi_add_env_cleanup_hook(napi_env, void (*)(void *), void *);
extern int uv_loop_fork(void *);

enum { ORDERS = 3, REPORTS = 4, LONGEST = 4096, IDLE_STACK = 1 << 20, LARGE = 1 << 20 };

/* What `cases.c` reads of each case. */
struct report {
    unsigned long status, left, microseconds;
};

/* V8 keeps its heap out of forks. */
int madvise(void *at, size_t size, int advice) {
    return advice == MADV_DONTFORK ? 0 : (int)syscall(SYS_madvise, at, size, advice);
}

/* Exit waits for node's idle threads, which a fork does not have, and for what they wait on. Their stacks are given to
   them here: the C library would give them to threads of the fork, whose handles then would be the same. */
static pthread_t idle[16];
static int idle_count, forked;

int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    if (forked || idle_count == sizeof idle / sizeof *idle) return real(made, how, run, argument);
    pthread_attr_t own;
    void *stack = mmap(0, IDLE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || pthread_attr_init(&own) || pthread_attr_setstack(&own, stack, IDLE_STACK)) return EAGAIN;
    int failed = real(made, &own, run, argument);
    if (!failed) idle[idle_count++] = *made;
    return failed;
}

int pthread_join(pthread_t handle, void **result) {
    int (*real)(pthread_t, void **) = dlsym(RTLD_NEXT, "pthread_join");
    for (int i = 0; forked && i < idle_count; i++)
        if (pthread_equal(idle[i], handle)) return 0;
    return real(handle, result);
}

/* V8 gives work of a collection of its whole heap to node's threads, which a fork lacks, and node ends only when that is
   done. So a fork whose first thread begins to wait ends with this code, and its case is run alone (`engine.h`). */
enum { NEEDS_THREADS = 113 };
static pthread_t forker;

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *);
    if (forked && pthread_equal(pthread_self(), forker)) _exit(NEEDS_THREADS);
    if (!real) real = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2"); /* the first one differs on x86 */
    if (!real) real = dlsym(RTLD_NEXT, "pthread_cond_wait");
    return real(condition, mutex);
}

int pthread_cond_destroy(pthread_cond_t *condition) { return (void)condition, 0; }
int pthread_mutex_destroy(pthread_mutex_t *mutex) { return (void)mutex, 0; }

/* A fork that ends gives its memory back as a whole: node would go through all of it, and so copy much of it. */
extern void __libc_free(void *);
static int ending;

void free(void *at) {
    if (!ending) __libc_free(at);
}

int munmap(void *at, size_t size) { return ending ? 0 : (int)syscall(SYS_munmap, at, size); }

static void begin_to_end(void *none) { (void)none, ending = 1; }

/* The first of the functions that exit calls, and so the only one: the others free what is node's. */
static void leave(int status, void *none) {
    (void)none;
    fflush(0);
    _exit(status);
}

/* Forks copy where the code lies in memory, instead of asking the kernel for each part: they do so for what is partly
   their own, here a page that is written back as it is. */
static int copy_code_map(struct dl_phdr_info *program, size_t size, void *none) {
    (void)size, (void)none;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = program->dlpi_phdr + i;
        volatile char *page = (char *)((program->dlpi_addr + part->p_vaddr) & ~4095ul);
        int mode = PROT_READ | (part->p_flags & PF_X ? PROT_EXEC : 0);
        if (part->p_type != PT_LOAD || part->p_flags & PF_W || part->p_memsz < LARGE) continue;
        if (mprotect((void *)page, 4096, mode | PROT_WRITE)) continue;
        *page = *page;
        mprotect((void *)page, 4096, mode);
    }
    return 1; /* the program itself comes first */
}

static void stream(const char *folder, const char *name, int flags, int number) {
    char path[LONGEST + 16];
    strcat(strcat(strcpy(path, folder), "/"), name);
    int file = open(path, flags | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0 || dup2(file, number) < 0) _exit(125);
    close(file);
}

/* serve(folder): fork for each order; returns in the fork, whose standard streams are the files in `folder`. */
static napi_value serve(napi_env env, napi_info info) {
    size_t count = 1, size = 0;
    napi_value folder_value, done;
    char folder[LONGEST], order;
    void *loop;
    if (napi_get_cb_info(env, info, &count, &folder_value, 0, 0) || napi_get_uv_event_loop(env, &loop) ||
        napi_get_value_string_utf8(env, folder_value, folder, sizeof folder, &size))
        _exit(125);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, own;
    sigaction(SIGUSR1, &ignore, &own); /* or a program could start this process's debugger */
    struct report ready = {0};
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) || write(REPORTS, &ready, sizeof ready) != sizeof ready) _exit(125);
    dl_iterate_phdr(copy_code_map, 0);
    while (read(ORDERS, &order, 1) == 1) {
        pid_t child = fork();
        if (child < 0) _exit(125);
        if (child == 0) {
            forker = pthread_self(), forked = 1;
            sigaction(SIGUSR1, &own, 0);
            close(ORDERS), close(REPORTS);
            stream(folder, ".stdin", O_RDONLY, 0);
            stream(folder, ".stdout", O_RDWR | O_APPEND, 1);
            stream(folder, ".stderr", O_RDWR | O_APPEND, 2);
            if (uv_loop_fork(loop) || napi_create_int32(env, (int)getpid(), &done) || on_exit(leave, 0) ||
                napi_add_env_cleanup_hook(env, begin_to_end, 0))
                _exit(125);
            return done;
        }
        int status;
        struct rusage usage;
        while (wait4(child, &status, 0, &usage) < 0) continue;
        struct timeval user = usage.ru_utime, kernel = usage.ru_stime;
        struct report report = {status, 0, (user.tv_sec + kernel.tv_sec) * 1000000ul + user.tv_usec + kernel.tv_usec};
        pid_t orphan;
        while ((orphan = waitpid(-1, 0, WNOHANG | __WALL)) > 0) continue;
        report.left = orphan == 0; /* what the case started and is not over */
        if (write(REPORTS, &report, sizeof report) != sizeof report) _exit(125);
    }
    _exit(0);
}

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
    napi_value function = 0;
    (void)exports;
    napi_create_function(env, "serve", strlen("serve"), serve, 0, &function);
    return function;
}
