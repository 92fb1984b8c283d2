"""Cases of programs of other languages: fresh for each, the same under the native supervisor and Python's."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from verikit.errors import SandboxUnavailable
from verikit.sandbox import RunLimits, RunResult
from verikit.sandbox.client import Broken
from verikit.sandbox.pool import Pool
from verikit.sandbox.program_runs import read_record
from verikit.sandbox.programs import BuiltProgram, Programs
from verikit.sandbox.toolchains import Missing, toolchain

HEAD = (
    "#define _GNU_SOURCE\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
    "#include <fcntl.h>\n#include <signal.h>\n#include <errno.h>\n#include <sys/stat.h>\n#include <sys/syscall.h>\n"
)


@pytest.fixture(scope="module", params=["native", "python"])
def programs(request: pytest.FixtureRequest) -> Iterator[Programs]:
    if isinstance(toolchain("c"), Missing):
        pytest.skip("no C compiler")
    pool = Pool(1, paranoid=False, namespaces=True)
    found = Programs(pool, native=request.param == "native")
    try:
        try:
            found.build("c", "int main(void){return 0;}")
        except SandboxUnavailable as problem:
            pytest.skip(str(problem))
        assert bool(found.native_supervisor()) == (request.param == "native")
        yield found
    finally:
        pool.close()


def ran(
    programs: Programs, body: str, stdins: list[str], limits: RunLimits | None = None, budget_s: float = 60.0
) -> list[RunResult]:
    built = programs.build("c", f"{HEAD}int main(int argc,char**argv){{{body}}}")
    assert isinstance(built, BuiltProgram), built
    return programs.run(built, stdins, limits or RunLimits(), budget_s=budget_s)


def test_each_case_gets_its_input_and_gives_its_output(programs: Programs) -> None:
    results = ran(
        programs, 'int c;while((c=getchar())!=EOF)putchar(c+1);fprintf(stderr,"e%d",argc);', ["HAL", "", "1\n"]
    )
    assert [(run.status, run.stdout, run.stderr) for run in results] == [
        ("ok", "IBM", "e1"), ("ok", "", "e1"), ("ok", "2\v", "e1"),
    ]  # fmt: skip


def test_a_programs_environment_is_ours(programs: Programs) -> None:
    first, second = ran(programs, 'printf("%s %s %s",getenv("HOME"),getenv("PATH"),getenv("SECRET"));', ["", ""])
    assert first.stdout == second.stdout
    assert first.stdout.startswith("/tmp")
    assert first.stdout.endswith("/work /usr/bin:/bin (null)")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return 3;", "error"),
        ("abort();", "killed"),
        ("raise(SIGPIPE);", "killed"),
        ("*(volatile int*)0=1;", "killed"),
        ("for(;;)pause();", "timeout"),
        ('for(;;)puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");', "output"),
        ("static char b[1<<16];signal(SIGXFSZ,SIG_IGN);while(write(1,b,sizeof b)>0);return 0;", "output"),
        ('FILE*f=fopen("f","w");static char b[1<<20];for(;;)if(fwrite(b,1,sizeof b,f)<sizeof b)return 1;', "disk"),
        ('char*p=malloc(1ul<<30);if(!p){fputs("out of memory",stderr);return 1;}memset(p,1,1ul<<30);', "memory"),
    ],
)
def test_how_a_case_ends_is_told_and_it_is_the_last(programs: Programs, body: str, status: str) -> None:
    results = ran(programs, body, ["", "", ""], RunLimits(wall_s=1.0, disk_mb=8, memory_mb=64))
    assert [run.status for run in results] == [status]


@pytest.mark.parametrize(
    "leave",
    [
        'close(open("left",O_CREAT|O_WRONLY,0600));',
        'mkdir("d",0700);mkdir("d/e",0700);close(open("d/e/left",O_CREAT|O_WRONLY,0600));',
        'close(open("../left",O_CREAT|O_WRONLY,0600));',
        'rename("../work","../gone");mkdir("../work",0700);close(open("../work/left",O_CREAT|O_WRONLY,0600));',
        'close(open("../.verikit/left",O_CREAT|O_WRONLY,0600));',
        'unlink("../.verikit/main");int f=open("../.verikit/main",O_CREAT|O_WRONLY,0700);'
        'write(f,"#!/bin/sh\\necho left",19);close(f);',
        'unlink("../.verikit/.stdout");symlink("left","../.verikit/.stdout");',
        'int f=open("../.verikit/.stdin",O_WRONLY|O_TRUNC);write(f,"left",4);close(f);',
        'if(fork()==0){sleep(1);close(open("/tmp/left",O_CREAT|O_WRONLY,0600));pause();}',
        'signal(SIGTERM,SIG_IGN);if(fork()==0){setsid();signal(SIGHUP,SIG_IGN);for(;;)pause();}',
    ],
)  # fmt: skip
def test_a_case_changes_nothing_for_the_next(programs: Programs, leave: str) -> None:
    look = (
        'int n=0;char l[99]="";for(int p=2;p<400;p++)n+=p!=getpid()&&p!=getppid()&&kill(p,0)==0;fgets(l,99,stdin);'
        'printf("%d %d%d%d%d %s",n,access("left",F_OK),access("d",F_OK),access("../left",F_OK),'
        'access("../.verikit/left",F_OK),l);fflush(stdout);'
    )
    results = ran(programs, look + leave, ["a\n", "b\n", "c\n"])
    assert [(run.status, run.stdout) for run in results] == [
        ("ok", f"0 -1-1-1-1 {name}\n") for name in "abc"
    ], results  # fmt: skip


def test_a_case_sees_nothing_of_the_others_in_its_memory(programs: Programs) -> None:
    """Every readable page is looked through, up to the first that is not there, from the stack upwards."""
    body = (
        "char w[99];fgets(w,99,stdin);char m[]={83,69,67,82,69,84,0};int n=0;int p[2];pipe(p);static char b[4096];"
        "for(unsigned long at=((unsigned long)&n&~4095ul)-4096*64;;at+=4096){if(write(p[1],(void*)at,4096)!=4096)"
        "{if(at>(unsigned long)&n)break;continue;}read(p[0],b,4096);"
        'for(int i=0;i<4090;i++)n+=!memcmp(b+i,m,6)&&b[i+6]>47&&b[i+6]<58&&b[i+6]!=w[6];}printf("%d",n);'
    )
    results = ran(programs, body, [f"SECRET{number}\n" for number in range(3)])
    assert [(run.status, run.stdout) for run in results] == [("ok", "0")] * 3


def test_a_budget_ends_the_cases_after_it(programs: Programs) -> None:
    results = ran(programs, "usleep(300000);", [""] * 9, budget_s=1.0)
    assert 2 <= len(results) <= 4
    assert results[-1].status == "timeout"


def test_processes_that_a_case_starts_share_its_output(programs: Programs) -> None:
    body = 'int s;if(fork()==0){write(1,"child\\n",6);_exit(4);}wait(&s);printf("end %d\\n",s>>8);'
    results = ran(programs, f"int wait(int*);{body}", ["", ""])
    assert [run.stdout for run in results] == ["child\nend 4\n"] * 2


def test_equal_programs_at_the_same_time_are_compiled_once(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, compile_one = list[str](), programs._compile

    def counted(*arguments: Any) -> BuiltProgram | RunResult:
        compiled.append("once")
        return compile_one(*arguments)

    monkeypatch.setattr(programs, "_compile", counted)
    text = "int main(void){return 0;} // at the same time"
    with ThreadPoolExecutor(3) as threads:
        built = list(threads.map(lambda _: programs.build("c", text), range(3)))
    assert compiled == ["once"]
    assert isinstance(built[0], BuiltProgram)
    assert built[0] is built[1] is built[2]


def test_processes_that_a_case_leaves_behind_are_ended_and_counted_to_no_other(programs: Programs) -> None:
    """Also one whose parent has ended, and one that tells nobody of its end."""
    leave = (
        "if(fork()==0){if(fork()==0)for(;;)pause();_exit(0);}int s;wait(&s);"
        "syscall(56,0,0,0,0,0);"  # clone without a signal: only who asks for all kinds of children sees it
    )
    look = 'int n=0;for(int p=2;p<400;p++)n+=p!=getpid()&&p!=getppid()&&kill(p,0)==0;printf("%d",n);fflush(stdout);'
    results = ran(programs, f"int wait(int*);{look}{leave}if(0)return 0;", ["", "", ""])
    assert [run.stdout[:1] for run in results] == ["0"] * 3, results


def test_deep_calls_have_the_usual_stack(programs: Programs) -> None:
    body = 'int f(int n){volatile char b[1000];b[0]=n;return n?f(n-1)+b[0]*0:7;}printf("%d",f(5000));return 0;'
    assert ran(programs, body, [""])[0].stdout == "7"


def test_code_on_the_stack_runs_where_the_compiler_asks_for_it(programs: Programs) -> None:
    body = (
        "int k=5;int add(const void*a,const void*b){return (*(int*)a-*(int*)b)*k;}int v[3]={3,1,2};"
        'qsort(v,3,sizeof(int),add);printf("%d%d%d",v[0],v[1],v[2]);'
    )
    assert [run.stdout for run in ran(programs, body, ["", ""])] == ["123"] * 2


def test_a_machine_without_room_for_a_process_is_no_fault_of_the_programs() -> None:
    case = {"why": "exec", "exit": errno.EAGAIN, "seconds": 0.0, "cpu": 0.0, "full": False, "out": 0, "err": 0}
    with pytest.raises(Broken, match="no process can be started"):
        read_record(json.dumps(case).encode() + b"\n", RunLimits())
    run = read_record(json.dumps(case | {"exit": errno.ENOEXEC}).encode() + b"\n", RunLimits())
    assert run.results[0].status == "error"


def test_a_process_may_take_the_user_it_is_and_make_programs_executable_but_change_no_other_mode(
    programs: Programs,
) -> None:
    body = """
    gid_t g = getegid(); uid_t u = geteuid(); struct stat s;
    printf("%d%d ", syscall(117, -1, u, -1) == 0, syscall(119, -1, g, -1) == 0);
    printf("%d%d", syscall(117, -1, 0, -1) == -1, syscall(119, -1, 0, -1) == -1);
    printf("%d%d ", syscall(117, 0, 0, 0) == -1, syscall(105, 0) == -1);
    close(open("made", O_CREAT | O_WRONLY, 0644));
    chmod("made", 04755); stat("made", &s); printf("%o ", s.st_mode & 07777);
    chmod("made", 0755); stat("made", &s); printf("%o ", s.st_mode & 07777);
    chmod("made", 0); stat("made", &s); printf("%o", s.st_mode & 07777);
    """
    done = ran(programs, body, [""])
    assert [(run.status, run.stdout) for run in done] == [("ok", "11 1111 644 755 755")], done
