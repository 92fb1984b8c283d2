"""Hostile programs in C, Go and TypeScript: those of `languages`, in these languages' own words."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

READS = [
    "FIELD/home/notes", "FIELD/home/.ssh/id_rsa", "FIELD/precious", "/proc/self/environ", "/proc/1/environ",
    "/proc/VICTIM/environ", "/proc/VICTIM/root/FIELD/precious", "../../../../..FIELD/home/notes", "/proc/self/fd/3",
    "/dev/fd/3", "/proc/1/root/FIELD/precious", "/etc/shadow", "/root/.bashrc",
]  # fmt: skip
WRITES = [
    "FIELD/precious", "FIELD/home/new", "FIELD/home/.ssh/authorized_keys", "/etc/ld.so.preload", "/usr/lib/new.so",
    "/dev/shm/left", "/var/tmp/left", "/proc/self/oom_score_adj", "/proc/VICTIM/mem", "/srv/left",
]  # fmt: skip
REMOVES = ["FIELD/precious", "FIELD/home/notes", "/usr/lib/os-release", "FIELD/home/.ssh"]
_RECORD = (
    '{\\"why\\":\\"exit\\",\\"exit\\":0,\\"seconds\\":0,\\"cpu\\":0,\\"full\\":false,\\"out\\":3,\\"err\\":0}\\n42\\n'
)


def _go_main(body: str, imports: str = "os", before: str = "") -> str:
    names = "".join(f'import "{name}"\n' for name in imports.split())
    return f"package main\n{names}{before}\nfunc main() {{ {body} }}"


def go() -> dict[str, str]:
    """Of Go; `GAINED` or `ALL` on standard output says that an attack worked."""
    own = {f"read/{n}": _go_main(f'b,_:=os.ReadFile("{p}");os.Stdout.Write(b)') for n, p in enumerate(READS)}
    own |= {f"write/{n}": _go_main(f'os.WriteFile("{p}",[]byte("OVER"),0666)') for n, p in enumerate(WRITES)}
    own |= {f"remove/{n}": _go_main(f'os.Remove("{p}");os.RemoveAll("{p}");os.Rename("{p}","/tmp/x");os.Truncate("{p}",0)')
            for n, p in enumerate(REMOVES)}  # fmt: skip
    dial = 'c,e:=net.Dial("{kind}","{to}");if e==nil{{c.Write([]byte("x"));{said}}}'
    listens = {"tcp": ("tcp", "127.0.0.1:4711", 'println("x");os.Stdout.WriteString("GAINED")'),
               "tcp6": ("tcp", "[::1]:4711", 'os.Stdout.WriteString("GAINED")'),
               "udp": ("udp", "127.0.0.1:4711", ""),
               "unix": ("unix", "FIELD.stream", 'os.Stdout.WriteString("GAINED")'),
               "abstract": ("unix", "@verikit-abstract", 'os.Stdout.WriteString("GAINED")')}  # fmt: skip
    own |= {f"net/{name}": _go_main(dial.format(kind=kind, to=to, said=said) + ";os.Exit(0)", "net os")
            for name, (kind, to, said) in listens.items()}  # fmt: skip
    own["net/http"] = _go_main(
        'r,e:=http.Get("http://127.0.0.1:4711/");if e==nil{os.Stdout.WriteString(r.Status+"GAINED")}', "net/http os"
    )
    own["net/listen"] = _go_main(
        '_,e:=net.Listen("tcp",":5000");if e==nil{println("x");os.Stdout.WriteString("GAINED")}', "net os"
    )
    kernel = {
        "signal/victim": "syscall.Kill(VICTIM,9)",
        "signal/all": "syscall.Kill(-1,9)",
        "signal/parent": "syscall.Kill(syscall.Getppid(),9);select{}",
        "signal/first": "syscall.Kill(1,9);syscall.Kill(1,15)",
        "signal/many": "for i:=2;i<70000;i++{syscall.Kill(i,9)}",
        "fork/raw": "for{syscall.RawSyscall(57,0,0,0)}",
        "fork/clone": "for{syscall.RawSyscall6(56,17,0,0,0,0,0)}",
        "privilege/ids": 'if _,_,e:=syscall.RawSyscall(105,0,0,0);e==0{print("");syscall.Write(1,[]byte("GAINED"))}',
        "privilege/ptrace": 'if syscall.PtraceAttach(VICTIM)==nil{syscall.Write(1,[]byte("GAINED"))}',
        "privilege/unshare": 'if syscall.Unshare(0x10000000)==nil{syscall.Write(1,[]byte("GAINED"))}',
        "privilege/mount": 'if syscall.Mount("x","/tmp","tmpfs",0,"")==nil{syscall.Write(1,[]byte("GAINED"))}',
        "privilege/chroot": 'if syscall.Chroot("/tmp")==nil{syscall.Write(1,[]byte("GAINED"))}',
        "privilege/bpf": 'if _,_,e:=syscall.Syscall(321,0,0,0);e==0{syscall.Write(1,[]byte("GAINED"))}',
        "privilege/keys": 'if r,_,_:=syscall.Syscall6(248,0,0,0,0,0xfffffffc,0);int(r)>0{syscall.Write(1,[]byte("GAINED"))}',
        "memory/map": "for{b,e:=syscall.Mmap(-1,0,1<<26,3,0x21);if e!=nil{panic(e)};for i:=0;i<len(b);i+=4096{b[i]=1}}",
        "memory/sysv": 'if _,_,e:=syscall.Syscall(29,0,1<<28,01666);e==0{syscall.Write(1,[]byte("GAINED"))}',
        "spoof/records": f'for f:=3;f<60;f++{{syscall.Write(f,[]byte("{_RECORD}"))}};syscall.Exit(3)',
        "spoof/replace": 'syscall.Unlink("/tmp/.verikit/main");f,_:=syscall.Open("/tmp/.verikit/main",65,0777);syscall.Write(f,[]byte("#!/bin/sh\\necho GAINED"))',
        "spoof/stdin": 'f,_:=syscall.Open("/tmp/.verikit/.stdin",513,0);syscall.Write(f,[]byte("GAINED"));syscall.Exit(3)',
        "spoof/streams": 'syscall.Unlink("/tmp/.verikit/.stdout");syscall.Symlink("FIELD/precious","/tmp/.verikit/.stdout")',
        "crash/exit": "syscall.Exit(0)",
        "crash/abort": "syscall.Kill(syscall.Getpid(),6)",
        "time/stopped": "syscall.Kill(syscall.Getpid(),19);select{}",
    }
    own |= {name: _go_main(body, "syscall") for name, body in kernel.items()}
    own |= {
        "fork/shell": _go_main('b,_:=exec.Command("/bin/sh","-c","cat FIELD/precious;touch FIELD/home/new").CombinedOutput();os.Stdout.Write(b)', "os os/exec"),
        "fork/daemon": _go_main('os.StartProcess("/bin/sleep",[]string{"sleep","100"},&os.ProcAttr{Sys:&syscall.SysProcAttr{Setsid:true}})', "os syscall"),
        "fork/itself": _go_main('for{os.StartProcess(os.Args[0],os.Args,&os.ProcAttr{})}'),
        "fork/threads": _go_main("for i:=0;i<5000;i++{go func(){runtime.LockOSThread();for{}}()};select{}", "runtime"),
        "signal/deaf": _go_main("signal.Ignore();for{}", "os/signal"),
        "memory/grow": _go_main("var a [][]byte;for{b:=make([]byte,1<<24);for i:=range b{b[i]=1};a=append(a,b);println(len(a))}", ""),
        "memory/stack": _go_main("println(f(0))", "", "func f(n int) int { var b [500]int; b[n%500]=n; return f(n+1)+b[n%499] }"),
        "memory/routines": _go_main("for{go func(){select{}}()}", ""),
        "memory/string": _go_main('s:="x";for{s+=s}', ""),
        "output/flood": _go_main("b:=make([]byte,65536);for{os.Stdout.Write(b)}"),
        "output/errors": _go_main("b:=make([]byte,65536);for{os.Stderr.Write(b)}"),
        "disk/file": _go_main('f,_:=os.Create("big");b:=make([]byte,1<<20);for i:=0;i<4000;i++{if _,e:=f.Write(b);e!=nil{os.Exit(7)}};os.Stdout.WriteString("ALL\\n")'),
        "disk/files": _go_main('for i:=0;i<200000;i++{if os.WriteFile(strconv.Itoa(i),nil,0666)!=nil{os.Exit(7)}};os.Stdout.WriteString("ALL\\n")', "os strconv"),
        "disk/deep": _go_main('for i:=0;i<3000;i++{os.Mkdir("d",0700);os.Chdir("d")}'),
        "time/loop": _go_main("for{}", ""),
        "time/sleep": _go_main("time.Sleep(600*time.Second)", "time"),
        "time/lock": _go_main("var m sync.Mutex;m.Lock();go func(){for{}}();m.Lock()", "sync"),
        "crash/null": _go_main("var p *int;*p=1", ""),
        "crash/unsafe": _go_main("*(*int)(unsafe.Pointer(uintptr(16)))=1", "unsafe"),
        "secret/environ": _go_main("for _,v:=range os.Environ(){println(v);os.Stdout.WriteString(v)}"),
        "compile/embed": 'package main\nimport _ "embed"\n//go:embed precious\nvar s string\nfunc main(){print(s)}',
        "compile/embed_up": 'package main\nimport _ "embed"\n//go:embed ../../../srv/field/precious\nvar s string\nfunc main(){print(s)}',
        "compile/cgo": 'package main\n// #include "FIELD/precious"\nimport "C"\nfunc main(){}',
        "compile/cgo_flags": 'package main\n// #cgo LDFLAGS: -Wl,-T,FIELD/precious\nimport "C"\nfunc main(){}',
        "compile/linkname": 'package main\nimport _ "unsafe"\n//go:linkname x syscall.runtime_envs\nfunc x() []string\nfunc main(){for _,v:=range x(){print(v)}}',
        "compile/generate": "package main\n//go:generate cat FIELD/precious\nfunc main(){}",
        "compile/line": 'package main\n//line FIELD/precious:1\nfunc main(){ x }',
        "compile/import": 'package main\nimport "FIELD/precious"\nfunc main(){}',
        "compile/import_up": 'package main\nimport "../../../srv/field/home"\nfunc main(){}',
        "compile/network": 'package main\nimport "example.com/x"\nfunc main(){}',
        "compile/init": 'package main\nimport "os"\nvar x = func() int { b,_:=os.ReadFile("FIELD/precious"); os.Stdout.Write(b); os.Exit(0); return 0 }()\nfunc main(){}',
        "compile/big": "package main\nvar a [1<<40]byte\nfunc main(){a[5]=1}",
        "compile/constant": "package main\nconst a = 1<<500\nconst b = a*a*a*a*a*a*a*a*a*a\nfunc main(){println(b)}",
        "compile/errors": "package main\nfunc main(){" + "x;" * 20000 + "}",
        "compile/nested": "package main\nfunc main(){var x " + "[]" * 20000 + "int;_=x}",
        "compile/empty": "",
    }  # fmt: skip
    return own


def typescript(javascript: dict[str, str]) -> dict[str, str]:
    """Of TypeScript: the programs of JavaScript in its syntax, and attacks on what takes the types away."""
    own = {name: f"const verikitTyped: number = 1;\n{code}" for name, code in javascript.items()
           if not name.startswith("compile/") and name != "spoof/replace"}  # fmt: skip
    return own | {
        "spoof/replace": "const s: string = 'console.log(\"GAINED\")';require('fs').writeFileSync(__filename, s)",
        "spoof/source": "require('fs').writeFileSync('/tmp/.verikit/main.ts', 'console.log(\"GAINED\")' as string)",
        "spoof/settings": "require('fs').writeFileSync('/tmp/.verikit/tsconfig.json', '{\"extends\":\"FIELD/precious\"}')",
        "compile/reference": '/// <reference path="FIELD/precious" />\nconsole.log(3 as number)',
        "compile/types": '/// <reference types="FIELD/precious" />\nconsole.log(3 as number)',
        "compile/import": "import x = require('FIELD/precious');console.log(x)",
        "compile/import_up": "import * as x from '../../../../..FIELD/home/notes';console.log(x)",
        "compile/json": "import x from '/proc/self/environ';console.log(x)",
        "compile/recursive": "type A<T> = T extends 0 ? 1 : A<A<T>>;let x: A<5>;console.log(1)",
        "compile/union": "type D = 0|1|2|3|4|5|6|7|8|9;type N = `${D}${D}${D}${D}${D}${D}${D}${D}`;let n: N;console.log(1)",
        "compile/nested": "let x: " + "Array<" * 50000 + "number" + ">" * 50000 + ";",
        "compile/parens": "((((((((" * 500,
        "compile/enum": "enum E { " + ",".join(f"a{n} = {n}" for n in range(100000)) + " }",
        "compile/decorators": "function d(...a: any[]): any { process.exit(0) }\n@d class A { @d m(@d x: number) {} }",
        "compile/map": "//# sourceMappingURL=FIELD/precious\nthrow new Error('x' as string)",
        "compile/empty": "",
    }  # fmt: skip


def c(cpp: dict[str, str]) -> dict[str, str]:
    """Of C: the programs of C++ without its own words, and attacks on the C compiler."""
    plain = {name: code.replace("sockaddr_in a", "struct sockaddr_in a").replace("sockaddr_un a", "struct sockaddr_un a")
             .replace("(sockaddr*)", "(struct sockaddr*)").replace("main.cpp", "main.c")
             for name, code in cpp.items()
             if name not in ("compile/templates", "compile/constexpr", "compile/incbin", "memory/stack", "compile/before_main")}  # fmt: skip
    head = cpp["time/loop"].partition("int main")[0]
    return plain | {
        "memory/stack": f"{head}int f(int n){{volatile char b[4096];b[0]=n;return f(n+1)+b[0];}}int main(){{return f(0);}}",
        "compile/incbin": '__asm__("s: .incbin \\"FIELD/precious\\"\\n e:");extern char s[];\n#include <stdio.h>\n'
        "int main(){fwrite(s,1,30,stdout);}",
        "compile/before_main": f'{head}__attribute__((constructor)) void f(){{char b[99];int n=read(open("FIELD/precious",0),b,99);'
        "if(n>0)write(1,b,n);_exit(0);}int main(){}",
        "compile/before_all": f"{head}void f(){{write(1,\"GAINED\",0);kill(1,9);kill(-1,9);}}"
        '__attribute__((section(".preinit_array"),used)) void(*p)()=f;int main(){for(;;);}',
        "compile/resolver": f'{head}static int g(){{return 3;}}static void*r(){{char b[99];int n=read(open("FIELD/precious",0),b,99);'
        'if(n>0)write(1,b,n);kill(1,9);return g;}int h()__attribute__((ifunc("r")));int main(){return h();}',
        "compile/own_start": '__asm__(".globl _start\\n_start: mov $62,%eax\\n mov $-1,%rdi\\n mov $9,%esi\\n syscall\\n hlt");int main(){}',
        "compile/own_libc": f'{head}int __libc_start_main(){{char b[99];int n=read(open("FIELD/precious",0),b,99);if(n>0)write(1,b,n);'
        "_exit(0);}int main(){}",
        "compile/high_segment": '__asm__(".section .high,\\"awx\\"\\n .byte 1");int main(){for(;;);}',
        "compile/huge_bss": "char a[1ul<<40];int main(){a[5]=1;return a[6];}",
        "compile/executable_stack": '__asm__(".section .note.GNU-stack,\\"x\\"");int main(){char c[1]={(char)0xc3};((void(*)())c)();return 3;}',
        "spoof/own_image": f'{head}int main(){{for(unsigned long a=0x100000000000;a<0x100000010000;a+=4096){{mprotect((void*)a,4096,7);'
        'write(1,"",0);if(write(1,(void*)a,0)==0)memset((void*)a,0xcc,1);}return 3;}',
        "spoof/descriptors": f'{head}int main(){{for(int f=3;f<1000;f++){{char b[64];int n=pread(f,b,64,0);if(n>0)puts("GAINED");}}return 3;}}',
        "spoof/parents_memory": f'{head}int main(){{char b[4096];long v[2]={{(long)b,4096}},r[2]={{0x100000000000,4096}};'
        'if(syscall(310,1,v,1,r,1,0)>0)puts("GAINED");if(ptrace(PTRACE_ATTACH,1,0,0)==0)puts("GAINED");return 3;}',
        "spoof/parents_limits": f'{head}int main(){{long l[2]={{0,0}};if(syscall(302,1,0,l,0)==0)puts("GAINED");return 3;}}',
        "compile/loop_macros": "#define A B B\n#define B C C\n#define C D D\n#define D E E\n#define E F F\n#define F G G\n"
        + "".join(f"#define {x} {y} {y} {y} {y} {y} {y} {y} {y}\n" for x, y in zip("GHIJKLMN", "HIJKLMNO", strict=True))
        + "#define O 1+\nint main(){return A 1;}",
    }  # fmt: skip
