"""C, C++ and Rust in forks of a program that has not begun: a case does what it does in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from verikit.sandbox import RunLimits, RunResult
from verikit.sandbox.pool import Pool
from verikit.sandbox.programs import BuiltProgram, Programs
from verikit.sandbox.toolchains import Missing, toolchain

STDIN = ["1 2\n", "30 4\n", "5 6"]
HEADERS = "".join(
    f"#include <{name}.h>\n"
    for name in (
        "stdio", "stdlib", "string", "unistd", "fcntl", "signal", "pthread", "sys/auxv", "sys/wait", "sys/syscall",
        "sys/prctl", "sys/resource", "errno", "sys/stat",
    )
)  # fmt: skip
SAME = {
    "itself": 'int r;prctl(PR_GET_CHILD_SUBREAPER,&r);printf("%d %d %d",getpid()==syscall(SYS_gettid),'
    "pthread_kill(pthread_self(),0),r);extern char**environ;for(char**e=environ;*e;e++)puts(*e);"
    'printf("%d %lu %d",c,getauxval(AT_PHNUM),wait(0)<0&&errno==ECHILD);raise(SIGUSR1);',
    "streams": 'char b[9]="";for(int i=0;i<3;i++)fprintf(stderr,"%x %ld ",fcntl(i,F_GETFL),lseek(i,0,SEEK_CUR));'
    'read(0,b,2);write(2,b,2);fcntl(0,F_SETFL,O_NONBLOCK);fcntl(1,F_SETFL,O_NONBLOCK);puts("x");fflush(stdout);'
    'for(int i=0;i<900;i++)if(fcntl(i,F_GETFD)>=0)fprintf(stderr,"%d ",i);',
    "descriptors": 'for(int i=3;i<300;i++)write(i,v[0],24);puts("x");fflush(stdout);for(int i=0;i<900;i++)close(i);',
    "kills its parent": 'int f=open("made",O_CREAT|O_EXCL,0600);printf("%d ",f>0);fflush(stdout);'
    'kill(getppid(),SIGKILL);usleep(20000);puts("alive");exit(3);',
    "kills its parent after folders": 'mkdir("a",0700);printf("%d",mkdir("a/b",0700));fflush(stdout);'
    'kill(getppid(),SIGKILL);usleep(20000);puts("alive");',
    "kills all": 'puts("x");fflush(stdout);kill(-1,SIGKILL);usleep(20000);kill(0,SIGTERM);',
    "replaces its streams": 'char n[99]="";readlink("/dev/stdout",n,98);unlink(n);symlink("/dev/null",n);'
    'memset(n,0,99);readlink("/dev/stdin",n,98);unlink(n);close(open(n,O_CREAT|O_RDWR,0600));puts("x");',
    "leaves processes": 'if(!fork()){setsid();for(;;)pause();}puts("x");',
    "floods": 'for(;;)puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxx");',
    "deep": "c==1<<30?c:main(c+1,v);volatile char b[1<<20];b[c]=main(c,v);",
}
"""Bodies of `main(c, v)`."""
UNTIL_STOPPED = {"hangs": "for(;;)pause();", "stops its parent": 'kill(getppid(),SIGSTOP);puts("alive");'}
WHOLE = {
    "before main": "#include <stdio.h>\nstatic long p;static int one(void){return 1;}static int(*pick(void))(void){"
    '__asm__ volatile("syscall":"=a"(p):"a"(3),"D"(3):"rcx","r11","memory");return one;}'
    'int f(void)__attribute__((ifunc("pick")));static void a(void){printf("a");}'
    '__attribute__((section(".preinit_array"),used))static void*q=a;__attribute__((destructor))static void d(void){'
    'puts("d");}int main(void){printf("%d %ld",f(),p);}',
    "its own relocations": 'int puts(const char*);__asm__(".globl __rela_iplt_start\\n.globl __rela_iplt_end\\n.data\\n'
    "__rela_iplt_start: .quad x,37,k\\n__rela_iplt_end:\\n.bss\\nx: .quad 0\\n.text\\nk: mov $1,%eax\\nmov $1,%edi\\n"
    'lea m(%rip),%rsi\\nmov $3,%edx\\nsyscall\\nret\\nm: .ascii \\"kk\\\\n\\"\\n");int main(void){puts("x");}',
    "not mapped": 'int puts(const char*);__asm__(".section .note.GNU-stack,\\"x\\",@progbits\\n.text");'
    'int main(void){puts("x");}',
}
YIELDING = {
    "c": "__attribute__((weak,noinline)) int read(int n){return n+7;}int printf(const char*,...);"
    'int main(int c,char**v){printf("%d",read(c));}',
    "cpp": 'extern\n"C" inline __attribute__((noinline)) int write(int n){return n+7;}int main(int c,char**v){'
    "return write(c)-8;}",
}
"""Programs whose functions the C library's would replace if they came first."""
FAULTY = {
    "c": ("int errno;int main(void){return errno;}", "libc.a: error adding symbols"),
    "rust": ('unsafe extern "system"{fn none();}fn main(){unsafe{none()}}', "undefined reference to `none'"),
}
OWN = {
    "malloc": "static char m[9999];void*malloc(unsigned long n){return m+n*0;}void free(void*p){(void)p;}"
    "void*calloc(unsigned long n,unsigned long k){return m+n*k*0;}void*realloc(void*p,unsigned long n){return m+n*0;}"
    'int printf(const char*,...);int main(void){printf("%d",malloc(1)==m);}',
    "the start": "int __libc_start_main(void){for(;;);}int main(void){}",
    "the start by a version": "int mine(void){for(;;);}"
    '__asm__(".symver mine, __libc_start_main@@GLIBC_2.34");int main(void){}',
    "the engine": "void __wrap__dl_relocate_static_pie(void){for(;;);}int main(void){}",
}
"""Programs with functions of the C library's names, or of the engine's."""


@pytest.fixture(scope="module")
def box() -> Iterator[Programs]:
    if isinstance(toolchain("c"), Missing):
        pytest.skip("no C compiler")
    pool = Pool(1, paranoid=False, namespaces=True)
    found = Programs(pool)
    try:
        if problem := found.problem("c"):
            pytest.skip(problem)
        yield found
    finally:
        pool.close()


def ran(box: Programs, program: BuiltProgram, cases: int, wall_s: float) -> list[tuple[str, int, str, str]]:
    """How each case ends. A failed one is the last of its run, and the next run begins after it."""
    runs = list[RunResult]()
    while len(runs) < cases:
        made = box.run(program, [*STDIN[len(runs) :], "one more"], RunLimits(wall_s=wall_s))
        assert made
        runs += made[: cases - len(runs)]
    return [(run.status, run.exit_code, run.stdout if run.status != "output" else "", run.stderr) for run in runs]


def same(box: Programs, code: str, cases: int = len(STDIN), wall_s: float = 20) -> list[tuple[str, int, str, str]]:
    program = box.build("c", code)
    assert isinstance(program, BuiltProgram), program
    assert program.has_engine
    forked = ran(box, program, cases, wall_s)
    alone = ran(box, replace(program, has_engine=False), cases, wall_s)
    assert forked == alone
    return forked


@pytest.mark.parametrize("language", ["c", "cpp", "rust"])
def test_an_engine_is_linked_where_there_is_a_compiler(box: Programs, language: str) -> None:
    if isinstance(toolchain(language), Missing):
        pytest.skip(f"no compiler of {language}")
    assert sorted(box._engine_files(language)) == ["program_fork.o", "program_fork.specs"]


@pytest.mark.parametrize("name", SAME)
def test_a_case_is_the_same_in_a_fork_and_alone(box: Programs, name: str) -> None:
    assert len(same(box, f"{HEADERS}int main(int c,char**v){{{SAME[name]}}}")) == len(STDIN)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("name", UNTIL_STOPPED)
def test_a_case_that_hangs_or_stops_its_parent_is_the_same_in_a_fork_and_alone(box: Programs, name: str) -> None:
    assert same(box, f"{HEADERS}int main(void){{{UNTIL_STOPPED[name]}}}", 1, 1.0)


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_of_a_program_runs_in_its_engine(box: Programs, name: str) -> None:
    """Not what runs before `main` either: it would see the engine's descriptors."""
    assert len(same(box, WHOLE[name])) == len(STDIN)


@pytest.mark.parametrize("name", OWN)
def test_a_program_with_the_c_librarys_functions_has_no_engine(box: Programs, name: str) -> None:
    program = box.build("c", OWN[name])
    assert isinstance(program, BuiltProgram), program
    assert not program.has_engine


@pytest.mark.parametrize("language", YIELDING)
def test_functions_that_yield_to_the_c_librarys_stay_the_programs(box: Programs, language: str) -> None:
    if isinstance(toolchain(language), Missing):
        pytest.skip(f"no compiler of {language}")
    program = box.build(language, YIELDING[language])
    assert isinstance(program, BuiltProgram), program
    told = [(run.status, run.stdout) for run in box.run(program, STDIN, RunLimits())]
    assert told == [("ok", "8" if language == "c" else "")] * 3


@pytest.mark.parametrize("language", FAULTY)
def test_the_linkers_errors_are_those_without_an_engine(box: Programs, language: str) -> None:
    if isinstance(toolchain(language), Missing):
        pytest.skip(f"no compiler of {language}")
    failed = box.build(language, FAULTY[language][0])
    assert isinstance(failed, RunResult)
    assert FAULTY[language][1] in failed.stderr
    assert "program_fork" not in failed.stderr


def test_the_engines_copy_of_a_large_program_is_not_counted_as_the_cases_memory(box: Programs) -> None:
    body = 'char*p=malloc(180<<20);memset(p,1,180<<20);usleep(200000);printf("%d%d",p[9],a[0]);'
    program = box.build("c", f"{HEADERS}char a[55<<20]={{1}};int main(void){{{body}}}")
    assert isinstance(program, BuiltProgram), program
    assert [run.status for run in box.run(program, STDIN, RunLimits(memory_mb=256))] == ["ok"] * 3


def test_each_case_has_its_own_random_bytes(box: Programs) -> None:
    body = (
        'unsigned long r,k;memcpy(&r,(void*)getauxval(AT_RANDOM),8);__asm__("mov %%fs:0x28,%0":"=r"(k));'
        'printf("%d %lu",(r&~255ul)==k,r);'
    )
    program = box.build("c", f"{HEADERS}int main(void){{{body}}}")
    assert isinstance(program, BuiltProgram), program
    told = [run.stdout.split() for run in box.run(program, STDIN, RunLimits())]
    assert [is_canary for is_canary, _ in told] == ["1"] * 3
    assert len({number for _, number in told}) == 3
