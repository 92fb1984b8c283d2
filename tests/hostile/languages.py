"""Hostile programs in other languages: the same attacks in each language's own words, and attacks on its compiler.

`programs(language)` gives them as `{id, code, never}`. All of a language run in one cage, one after another, and what
is outside is looked at when all are done; `FIELD` and `VICTIM` are filled in by the stage.
"""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import json
from collections.abc import Callable

from tests.hostile import more_languages

READS = [
    "FIELD/home/notes", "FIELD/home/.ssh/id_rsa", "FIELD/precious", "/proc/self/environ", "/proc/1/environ",
    "/proc/VICTIM/environ", "/proc/VICTIM/root/FIELD/precious", "../../../../..FIELD/home/notes", "/proc/self/fd/3",
    "/dev/fd/3", "/proc/1/root/FIELD/precious", "/proc/self/../1/environ", "/etc/shadow", "/root/.bashrc",
    "/tmp/.verikit/../..FIELD/precious",
]  # fmt: skip
WRITES = [
    "FIELD/precious", "FIELD/home/new", "FIELD/home/.ssh/authorized_keys", "/etc/ld.so.preload", "/usr/lib/new.so",
    "/dev/shm/left", "/var/tmp/left", "../../../../..FIELD/precious", "/proc/self/oom_score_adj", "/proc/VICTIM/mem",
    "/srv/left", "/usr/bin/new",
]  # fmt: skip
REMOVES = ["FIELD/precious", "FIELD/home/notes", "/usr/lib/os-release", "FIELD/home/.ssh"]
PORTS = ["127.0.0.1", "localhost", "0.0.0.0"]

_C = (
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <fcntl.h>\n"
    "#include <signal.h>\n#include <sys/mman.h>\n#include <sys/stat.h>\n#include <sys/socket.h>\n#include <sys/un.h>\n"
    "#include <sys/syscall.h>\n#include <netinet/in.h>\n#include <arpa/inet.h>\n#include <sys/ptrace.h>\n"
)


def _main(body: str) -> str:
    return f"{_C}int main(){{{body}}}"


_TO_PORT = (
    "sockaddr_in a;memset(&a,0,sizeof a);a.sin_family=AF_INET;a.sin_port=htons(4711);"
    "a.sin_addr.s_addr=htonl(0x7f000001);"
)


def _cpp() -> dict[str, str]:
    own = {f"read/{n}": _main(f'char b[4096];int f=open("{p}",O_RDONLY);int n=read(f,b,4096);if(n>0)write(1,b,n);')
           for n, p in enumerate(READS)}  # fmt: skip
    own |= {f"write/{n}": _main(f'int f=open("{p}",O_WRONLY|O_CREAT|O_TRUNC,0666);write(f,"OVER",4);')
            for n, p in enumerate(WRITES)}  # fmt: skip
    own |= {f"remove/{n}": _main(f'unlink("{p}");rmdir("{p}");rename("{p}","/tmp/x");chmod("{p}",0);truncate("{p}",0);')
            for n, p in enumerate(REMOVES)}  # fmt: skip
    bodies = {
        "net/tcp": f'{_TO_PORT}int s=socket(2,1,0);connect(s,(sockaddr*)&a,sizeof a);write(s,"x",1);',
        "net/udp": f'{_TO_PORT}int s=socket(2,2,0);sendto(s,"x",1,0,(sockaddr*)&a,sizeof a);',
        "net/unix": 'sockaddr_un a;a.sun_family=1;strcpy(a.sun_path,"FIELD.stream");int s=socket(1,1,0);'
        "connect(s,(sockaddr*)&a,sizeof a);",
        "net/abstract": 'sockaddr_un a;memset(&a,0,sizeof a);a.sun_family=1;memcpy(a.sun_path,"\\0verikit-abstract",17);'
        "int s=socket(1,1,0);connect(s,(sockaddr*)&a,19);",
        "net/raw": f'{_TO_PORT}int s=syscall(41,2,2,0);syscall(44,s,"x",1,0,&a,sizeof a);',
        "signal/victim": "kill(VICTIM,9);",
        "signal/all": "kill(-1,9);",
        "signal/parent": "kill(getppid(),9);sleep(5);",
        "signal/first": "kill(1,9);kill(1,15);",
        "signal/many": "for(int i=2;i<70000;i++)kill(i,9);",
        "signal/deaf": "for(int i=1;i<65;i++)signal(i,SIG_IGN);for(;;);",
        "fork/bomb": "for(;;)fork();",
        "fork/daemon": 'if(fork()==0){setsid();if(fork()==0){sleep(3);int f=open("/tmp/late",O_CREAT|O_WRONLY,0666);'
        'write(f,"x",1);for(;;)sleep(9);}}',
        "fork/many": "for(int i=0;i<500;i++)if(fork()==0)pause();",
        "fork/exec": 'execl("/bin/sh","sh","-c","cat FIELD/precious",(char*)0);execl("/usr/bin/python3","p",(char*)0);',
        "fork/shell": 'system("cat FIELD/home/notes; touch FIELD/home/new");',
        "privilege/ids": 'if(setuid(0)==0)puts("GAINED");',
        "privilege/ptrace": 'if(ptrace(PTRACE_ATTACH,VICTIM,0,0)==0)puts("GAINED");',
        "privilege/unshare": 'if(syscall(272,0x10000000)==0)puts("GAINED");',
        "privilege/mount": 'if(syscall(165,"x","/tmp","tmpfs",0,0)==0)puts("GAINED");',
        "privilege/vm_write": 'char b[8];void*v[2]={b,(void*)8};if(syscall(310,getppid(),v,1,v,1,0)>0)puts("GAINED");',
        "privilege/keys": 'if(syscall(248,"user","x","y",1,-2)>0)puts("GAINED");',
        "privilege/bpf": 'if(syscall(321,0,0,0)>=0)puts("GAINED");',
        "privilege/uring": 'char p[200]={0};if(syscall(425,8,p)>=0)puts("GAINED");',
        "memory/grow": "for(;;){char*p=(char*)malloc(1<<24);if(!p)abort();memset(p,1,1<<24);}",
        "memory/map": "for(;;){void*p=mmap(0,1<<26,3,MAP_SHARED|MAP_ANONYMOUS,-1,0);if(p==MAP_FAILED)abort();"
        "memset(p,1,1<<26);}",
        "memory/forked": "for(int i=0;i<20;i++)if(fork()==0){for(int k=0;k<30;k++){char*p=(char*)malloc(1<<24);if(p)"
        "memset(p,1,1<<24);}pause();}pause();",
        "memory/stack": "struct R{static int f(int n){volatile char b[4096];b[0]=n;return f(n+1)+b[0];}};return R::f(0);",
        "memory/sysv": 'if(syscall(29,0,1<<28,0666|01000)>=0)puts("GAINED");',
        "output/flood": 'for(;;)puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");',
        "output/errors": 'for(;;)fputs("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",stderr);',
        "disk/deep": 'for(int i=0;i<3000;i++){mkdir("d",0700);chdir("d");}',
        "disk/file": 'int f=open("big",O_CREAT|O_WRONLY,0666);static char b[1<<20];for(int i=0;i<4000;i++)'
        'if(write(f,b,1<<20)<0)return 7;puts("ALL");',
        "disk/files": 'char n[40];for(int i=0;i<200000;i++){sprintf(n,"f%d",i);int f=open(n,O_CREAT|O_WRONLY,0666);'
        'if(f<0)return 7;close(f);}puts("ALL");',
        "time/loop": "for(volatile int i=0;;)i=i+1;",
        "time/sleep": "sleep(600);",
        "time/stopped": "raise(SIGSTOP);",
        "spoof/records": 'for(int f=3;f<60;f++)write(f,"{\\"why\\":\\"exit\\",\\"exit\\":0,\\"seconds\\":0,\\"cpu\\":0,'
        '\\"full\\":false,\\"out\\":3,\\"err\\":0}\\n42\\n",80);return 3;',
        "spoof/replace": 'unlink("/tmp/.verikit/main");int f=open("/tmp/.verikit/main",O_CREAT|O_WRONLY,0777);'
        'write(f,"#!/bin/sh\\necho GAINED",21);',
        "spoof/stdin": 'int f=open("/tmp/.verikit/.stdin",O_RDWR|O_TRUNC);write(f,"GAINED",6);'
        'symlink("FIELD/precious","/tmp/.verikit/next");return 3;',
        "spoof/streams": 'unlink("/tmp/.verikit/.stdout");symlink("FIELD/precious","/tmp/.verikit/.stdout");',
        "crash/null": "*(volatile int*)0=1;",
    }
    own |= {name: _main(body) for name, body in bodies.items()}
    own |= {
        "compile/include": '#include "/etc/passwd"\nint main(){}',
        "compile/include_field": '#include "FIELD/precious"\nint main(){}',
        "compile/include_up": '#include "../../../..FIELD/home/notes"\nint main(){}',
        "compile/include_self": '#include "main.cpp"\nint main(){}',
        "compile/include_endless": '#include "/dev/zero"\nint main(){}',
        "compile/incbin": '__asm__("s: .incbin \\"FIELD/precious\\"\\n e:");extern "C" char s[];\n#include <stdio.h>\n'
        "int main(){fwrite(s,1,30,stdout);}",
        "compile/templates": "template<int N>struct A{typedef typename A<N-1>::x a;typedef typename A<N-2>::x b;};"
        "template<int N,int M>struct B{B<N-1,M*2>a;B<N-1,M*2+1>b;};int main(){B<60,0> b;}",
        "compile/constexpr": "constexpr long f(long n){long s=0;for(long i=0;i<n;i++)for(long k=0;k<n;k++)s+=i^k;return s;}"
        "\nstatic_assert(f(100000)==1);int main(){}",
        "compile/big": "char a[1ul<<33]={1};int main(){return a[5];}",
        "compile/errors": "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(x)))))))\nint main(){B(y=;)}",
        "compile/section": '__attribute__((section(".interp"))) const char i[]="FIELD/precious";int main(){return 3;}',
        "compile/macro": '#pragma GCC optimize("-fplugin=FIELD/precious")\n#pragma GCC dependency "FIELD/precious"\n'
        "int main(){return 3;}",
        "compile/before_main": f'{_C}__attribute__((constructor)) void f(){{char b[99];int n=read(open("FIELD/precious",0),'
        "b,99);if(n>0)write(1,b,n);_exit(0);}int main(){}",
        "compile/empty": "",
    }
    return own


def _javascript() -> dict[str, str]:
    own = {f"read/{n}": f"console.log(require('fs').readFileSync('{p}','latin1'))" for n, p in enumerate(READS)}
    own |= {f"write/{n}": f"require('fs').writeFileSync('{p}','OVER')" for n, p in enumerate(WRITES)}
    own |= {f"remove/{n}": f"const fs=require('fs');for(const f of ['unlinkSync','rmdirSync','truncateSync'])"
            f"try{{fs[f]('{p}')}}catch(e){{}}\ntry{{fs.rmSync('{p}',{{recursive:true}})}}catch(e){{}}"
            for n, p in enumerate(REMOVES)}  # fmt: skip
    own |= {f"net/tcp{n}": f"require('net').connect(4711,'{host}').on('connect',s=>console.log('GAINED')).write('x')"
            for n, host in enumerate(PORTS)}  # fmt: skip
    return own | {
        "net/udp": "const s=require('dgram').createSocket('udp4');s.send('x',4711,'127.0.0.1')",
        "net/unix": "require('net').connect('FIELD.stream').on('connect',()=>console.log('GAINED'))",
        "net/fetch": "fetch('http://127.0.0.1:4711/').then(()=>console.log('GAINED'))",
        "signal/victim": "process.kill(VICTIM,9)",
        "signal/all": "process.kill(-1,9)",
        "signal/parent": "process.kill(process.ppid,9);setTimeout(()=>{},5000)",
        "signal/deaf": "for(const s of ['SIGTERM','SIGINT','SIGHUP','SIGXCPU'])process.on(s,()=>{});for(;;);",
        "fork/shell": "console.log(require('child_process').execSync('cat FIELD/precious').toString())",
        "fork/spawn": "require('child_process').spawn('/bin/sh',['-c','touch FIELD/home/new'])",
        "fork/bomb": "const c=require('child_process');for(;;)c.spawn(process.execPath,[__filename])",
        "fork/daemon": "require('child_process').spawn(process.execPath,['-e','setInterval(()=>{},9)'],"
        "{detached:true,stdio:'ignore'}).unref()",
        "fork/workers": "const {Worker}=require('worker_threads');for(let i=0;i<500;i++)new Worker('for(;;);',{eval:true})",
        "privilege/ids": "process.setuid(0);console.log('GAINED')",
        "privilege/binding": "process.binding('fs').internalModuleReadJSON;console.log(process.binding('spawn_sync')"
        ".spawn({file:'/bin/sh',args:['sh','-c','cat FIELD/precious'],stdio:[]}).status===0?'GAINED':'')",
        "privilege/addon": "require('fs').writeFileSync('x.node','x');process.dlopen({exports:{}},'./x.node')",
        "privilege/inspector": "require('inspector').open(9229,'127.0.0.1',false);console.log('x')",
        "memory/grow": "const a=[];for(;;)a.push(new Array(1e6).fill(1.5))",
        "memory/buffers": "const a=[];for(;;)a.push(Buffer.alloc(1<<26,1))",
        "memory/shared": "const a=[];for(;;){const b=new Uint8Array(new SharedArrayBuffer(1<<26));b.fill(1);a.push(b)}",
        "memory/string": "let s='x';for(;;)s+=s",
        "memory/wasm": "const a=[];for(;;){const m=new WebAssembly.Memory({initial:2000});"
        "new Uint8Array(m.buffer).fill(1);a.push(m)}",
        "memory/stack": "const f=n=>f(n+1)+1;f(0)",
        "memory/regex": "/^(a+)+$/.test('a'.repeat(40)+'!')",
        "output/flood": "for(;;)require('fs').writeSync(1,'x'.repeat(65536))",
        "output/errors": "for(;;)require('fs').writeSync(2,'x'.repeat(65536))",
        "output/huge": "process.stdout.write('x'.repeat(2**28))",
        "disk/file": "const fs=require('fs'),f=fs.openSync('big','w'),b=Buffer.alloc(1<<20);"
        "for(let i=0;i<4000;i++)fs.writeSync(f,b);console.log('ALL')",
        "disk/files": "for(let i=0;i<200000;i++)require('fs').writeFileSync('f'+i,'');console.log('ALL')",
        "disk/deep": "for(let i=0;i<2000;i++){require('fs').mkdirSync('d');process.chdir('d')}",
        "time/loop": "for(;;);",
        "time/timers": "setInterval(()=>{},1)",
        "time/promises": "const f=()=>Promise.resolve().then(f);f()",
        "time/atomics": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)",
        "spoof/records": 'for(let f=3;f<60;f++)try{require(\'fs\').writeSync(f,\'{"why":"exit","exit":0,"seconds":0,'
        '"cpu":0,"full":false,"out":3,"err":0}\\n42\\n\')}catch(e){}\nprocess.exit(3)',
        "spoof/replace": "require('fs').writeFileSync(__filename,'console.log(\"GAINED\")')",
        "spoof/modules": "const fs=require('fs');fs.mkdirSync('/tmp/node_modules/fs',{recursive:true});"
        "fs.writeFileSync('/tmp/.verikit/package.json','{\"type\":\"module\"}');fs.writeFileSync('/tmp/.verikit/x.js','')",
        "spoof/streams": "const fs=require('fs');fs.unlinkSync('/tmp/.verikit/.stdout');"
        "fs.symlinkSync('FIELD/precious','/tmp/.verikit/.stdout')",
        "crash/abort": "process.abort()",
        "crash/quiet": "process.reallyExit(0)",
        "compile/syntax": "((((((((" * 500,
        "compile/nested": "[" * 200000,
        "compile/empty": "",
    }


def _java_class(body: str) -> str:
    return (
        "import java.io.*;import java.net.*;import java.nio.file.*;import java.util.*;\npublic class Main{"
        f"public static void main(String[] x)throws Throwable{{{body}}}}}"
    )


def _java() -> dict[str, str]:
    bodies = {f"read/{n}": f'System.out.write(Files.readAllBytes(Paths.get("{p}")));' for n, p in enumerate(READS)}
    bodies |= {f"write/{n}": f'Files.write(Paths.get("{p}"),"OVER".getBytes());' for n, p in enumerate(WRITES)}
    bodies |= {f"remove/{n}": f'new File("{p}").delete();new File("{p}").renameTo(new File("/tmp/x"));'
               for n, p in enumerate(REMOVES)}  # fmt: skip
    bodies |= {f"net/tcp{n}": f'new Socket("{host}",4711).getOutputStream().write(1);System.out.println("GAINED");'
               for n, host in enumerate(PORTS)}  # fmt: skip
    bodies |= {
        "net/udp": 'new DatagramSocket().send(new DatagramPacket(new byte[1],1,InetAddress.getByName("127.0.0.1"),4711));',
        "net/url": 'new URL("http://127.0.0.1:4711/").openStream();',
        "net/listen": 'new ServerSocket(5000);System.out.println("GAINED");',
        "signal/victim": "ProcessHandle.of(VICTIM).ifPresent(p->{p.destroyForcibly();});",
        "signal/parent": "ProcessHandle.current().parent().ifPresent(p->p.destroyForcibly());Thread.sleep(5000);",
        "fork/shell": 'Process p=new ProcessBuilder("/bin/sh","-c","cat FIELD/precious").inheritIO().start();p.waitFor();',
        "fork/exec": 'Runtime.getRuntime().exec("touch FIELD/home/new").waitFor();',
        "fork/threads": "for(int i=0;i<5000;i++)new Thread(()->{for(;;);}).start();",
        "fork/daemon": 'new ProcessBuilder("/bin/sleep","100").start();System.exit(3);',
        "memory/grow": "List<long[]> a=new ArrayList<>();for(;;)a.add(new long[1<<20]);",
        "memory/direct": "List<Object> a=new ArrayList<>();for(;;)a.add(java.nio.ByteBuffer.allocateDirect(1<<26));",
        "memory/unsafe": 'var f=Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");f.setAccessible(true);'
        "var u=(sun.misc.Unsafe)f.get(null);for(;;){long p=u.allocateMemory(1<<24);u.setMemory(p,1<<24,(byte)1);}",
        "memory/string": 'StringBuilder s=new StringBuilder("x");for(;;)s.append(s);',
        "memory/classes": "for(int i=0;;i++)java.lang.reflect.Proxy.newProxyInstance(new ClassLoader(){},new Class<?>[]{"
        "Runnable.class},(a,b,c)->null);",
        "output/flood": "byte[] b=new byte[65536];for(;;)System.out.write(b);",
        "output/errors": "byte[] b=new byte[65536];for(;;)System.err.write(b);",
        "disk/file": 'OutputStream o=new FileOutputStream("big");for(int i=0;i<4000;i++)o.write(new byte[1<<20]);'
        'System.out.println("ALL");',
        "disk/files": 'for(int i=0;i<200000;i++)new File("f"+i).createNewFile();System.out.println("ALL");',
        "disk/mapped": 'var c=new RandomAccessFile("m","rw").getChannel().map(java.nio.channels.FileChannel.MapMode.'
        'READ_WRITE,0,1<<30);for(int i=0;i<1<<30;i+=4096)c.put(i,(byte)1);System.out.println("ALL");',
        "time/loop": "for(;;);",
        "time/sleep": "Thread.sleep(600000);",
        "time/lock": "Object o=new Object();synchronized(o){o.wait();}",
        "time/hook": "Runtime.getRuntime().addShutdownHook(new Thread(()->{for(;;);}));",
        "time/finalizer": "new Thread(()->{for(;;);}).start();System.out.println(1);",
        "spoof/records": "for(int f=3;f<60;f++)try{var c=FileDescriptor.class.getDeclaredConstructor(int.class);"
        'c.setAccessible(true);new FileOutputStream(c.newInstance(f)).write("{\\"why\\":\\"exit\\"}".getBytes());}'
        "catch(Throwable t){}System.exit(3);",
        "spoof/replace": 'Files.write(Paths.get("/tmp/.verikit/Main.class"),new byte[9]);',
        "spoof/classes": 'Files.createDirectories(Paths.get("/tmp/.verikit/java/lang"));'
        'Files.write(Paths.get("/tmp/.verikit/java/lang/String.class"),new byte[9]);',
        "spoof/streams": 'Files.delete(Paths.get("/tmp/.verikit/.stdout"));'
        'Files.createSymbolicLink(Paths.get("/tmp/.verikit/.stdout"),Paths.get("FIELD/precious"));',
        "privilege/library": 'System.load("/tmp/x.so");',
        "privilege/attach": "System.out.println(System.getenv());System.out.println(ProcessHandle.allProcesses().count());",
        "crash/halt": "Runtime.getRuntime().halt(0);",
        "crash/stack": "class R{int f(int n){return f(n+1)+1;}}new R().f(0);",
    }
    own = {name: _java_class(body) for name, body in bodies.items()}
    return own | {
        "compile/huge": "public class Main{static int a="
        + "+".join(["1"] * 20000)
        + ";public static void main(String[] x){}}",
        "compile/errors": "public class Main{" + "int a;" * 20000 + "}",
        "compile/generics": "class A<T>{}class Main{A<A<A<A<A<A<A<A<A<A<A<A<? super A<?>>>>>>>>>>>>> f;"
        "static <T extends Comparable<? super T>> T m(T a){return m(m(m(m(m(m(m(m(m(m(null))))))))));}}",
        "compile/other_class": "public class Main2{static{System.out.println(System.getenv());}}",
        "compile/name": "public class Main{}\nclass $$$ { public static void main(String[] a){System.exit(0);} }",
        "compile/processor": '@javax.annotation.processing.SupportedAnnotationTypes("*")public class Main{}',
        "compile/empty": "",
    }


def _rust_main(body: str) -> str:
    return (
        'use std::fs;use std::io::Write;use std::process::Command;use std::net::*;\nextern "C" {fn kill(a:i32,b:i32)->i32;'
        "fn fork()->i32;fn setuid(a:u32)->i32;fn getppid()->i32;fn write(f:i32,b:*const u8,n:usize)->isize;}\n"
        f"fn main(){{unsafe{{{body}}}}}"
    )


def _rust() -> dict[str, str]:
    bodies = {f"read/{n}": f'println!("{{}}",String::from_utf8_lossy(&fs::read("{p}").unwrap()));'
              for n, p in enumerate(READS)}  # fmt: skip
    bodies |= {f"write/{n}": f'fs::write("{p}","OVER").unwrap();' for n, p in enumerate(WRITES)}
    bodies |= {f"remove/{n}": f'let _=fs::remove_file("{p}");let _=fs::remove_dir_all("{p}");let _=fs::rename("{p}","x");'
               for n, p in enumerate(REMOVES)}  # fmt: skip
    bodies |= {f"net/tcp{n}": f'TcpStream::connect("{host}:4711").unwrap().write(b"x").unwrap();'
               for n, host in enumerate(PORTS)}  # fmt: skip
    bodies |= {
        "net/udp": 'UdpSocket::bind("0.0.0.0:0").unwrap().send_to(b"x","127.0.0.1:4711").unwrap();',
        "net/unix": 'std::os::unix::net::UnixStream::connect("FIELD.stream").unwrap();',
        "signal/victim": "kill(VICTIM,9);",
        "signal/all": "kill(-1,9);",
        "signal/parent": "kill(getppid(),9);loop{}",
        "fork/bomb": "loop{fork();}",
        "fork/shell": 'Command::new("/bin/sh").args(["-c","cat FIELD/precious;touch FIELD/home/new"]).status().unwrap();',
        "fork/many": "for _ in 0..500{if fork()==0{loop{}}}",
        "fork/threads": "for _ in 0..5000{std::thread::spawn(||loop{});}",
        "privilege/ids": 'if setuid(0)==0{println!("GAINED");}',
        "memory/grow": "let mut v=vec![];loop{v.push(vec![1u8;1<<24]);}",
        "memory/leak": "loop{std::mem::forget(vec![1u8;1<<24]);}",
        "memory/stack": 'fn f(n:u64)->u64{let b=[n;500];std::hint::black_box(b)[1]+f(n+1)}println!("{}",f(0));',
        "output/flood": 'loop{println!("{}","x".repeat(65536));}',
        "output/errors": 'loop{eprintln!("{}","x".repeat(65536));}',
        "disk/file": 'let mut f=fs::File::create("big").unwrap();for _ in 0..4000{f.write_all(&[0u8;1<<20]).unwrap();}'
        'println!("ALL");',
        "disk/files": 'for i in 0..200000{fs::write(format!("f{}",i),"").unwrap();}println!("ALL");',
        "time/loop": "loop{std::hint::black_box(1);}",
        "time/sleep": "std::thread::sleep(std::time::Duration::from_secs(600));",
        "time/park": "std::thread::park();loop{std::thread::park();}",
        "spoof/records": 'for f in 3..60{write(f,b"{\\"why\\":\\"exit\\"}\\n".as_ptr(),15);}std::process::exit(3);',
        "spoof/replace": 'let _=fs::remove_file("/tmp/.verikit/main");fs::write("/tmp/.verikit/main","GAINED").unwrap();',
        "spoof/streams": 'fs::remove_file("/tmp/.verikit/.stdout").unwrap();'
        'std::os::unix::fs::symlink("FIELD/precious","/tmp/.verikit/.stdout").unwrap();',
        "crash/null": "std::ptr::null_mut::<i32>().write_volatile(1);",
        "crash/abort": "std::process::abort();",
    }
    own = {name: _rust_main(body) for name, body in bodies.items()}
    return own | {
        "compile/include_str": 'fn main(){print!("{}",include_str!("FIELD/precious"));}',
        "compile/include_bytes": 'fn main(){println!("{:?}",include_bytes!("/etc/passwd"));}',
        "compile/include_up": 'fn main(){print!("{}",include_str!("../../../..FIELD/home/notes"));}',
        "compile/env": 'fn main(){print!("{:?} {:?}",option_env!("CANARY"),option_env!("HOME"));}',
        "compile/path": '#[path="FIELD/precious"] mod x;fn main(){}',
        "compile/proc_macro": '#![crate_type="proc-macro"]\nextern crate proc_macro;use proc_macro::*;\n#[proc_macro]pub fn f('
        "_:TokenStream)->TokenStream{std::process::Command::new(\"/bin/sh\").spawn().unwrap();TokenStream::new()}",
        "compile/link": '#[link(name="FIELD/precious")]extern "C"{fn x();}fn main(){unsafe{x()}}',
        "compile/link_args": '#![feature(link_args)]\n#[link_args="-Wl,-T,FIELD/precious"]extern "C"{}fn main(){}',
        "compile/types": "trait T{type A;}struct S<N>(N);impl<N>T for S<N> where S<S<N>>:T{type A=<S<S<N>> as T>::A;}"
        "fn main(){let _:<S<u8> as T>::A;}",
        "compile/macro": "macro_rules! b{($($t:tt)*)=>{b!{$($t)* $($t)* x}};}b!{y}fn main(){}",
        "compile/const": "const fn f(n:u64)->u64{let mut i=0;let mut s=0;while i<n{s^=i;i+=1}s}const X:u64=f(1<<60);"
        'fn main(){println!("{}",X);}',
        "compile/big": "static A:[u8;1<<34]=[1;1<<34];fn main(){println!(\"{}\",A[5]);}",
        "compile/errors": "fn main(){" + "x;" * 20000 + "}",
        "compile/empty": "",
    }  # fmt: skip


def _bash() -> dict[str, str]:
    own = {f"read/{n}": f"cat '{p}'" for n, p in enumerate(READS)}
    own |= {f"source/{n}": f"source '{p}'; mapfile -t a < '{p}'; echo \"${{a[@]}}\"" for n, p in enumerate(READS[:4])}
    own |= {f"write/{n}": f"echo OVER > '{p}'" for n, p in enumerate(WRITES)}
    own |= {f"remove/{n}": f"rm -rf '{p}'; mv '{p}' /tmp/x; chmod 000 '{p}'; : > '{p}'" for n, p in enumerate(REMOVES)}
    own |= {f"net/tcp{n}": f"echo x > /dev/tcp/{host}/4711 && echo GAINED" for n, host in enumerate(PORTS)}
    return own | {
        "net/udp": "echo x > /dev/udp/127.0.0.1/4711",
        "signal/victim": "kill -9 VICTIM",
        "signal/all": "kill -9 -1",
        "signal/parent": "kill -9 $PPID; sleep 5",
        "signal/first": "kill -9 1; kill -15 1",
        "signal/many": "for i in {2..40000}; do kill -9 $i; done 2>/dev/null",
        "signal/deaf": "trap '' TERM INT HUP XCPU; while :; do :; done",
        "fork/bomb": ":(){ :|:& };:",
        "fork/daemon": "(setsid sleep 100 &) ; nohup sleep 100 & disown",
        "fork/many": "for i in {1..500}; do sleep 100 & done; wait",
        "fork/hidden": "( ( trap '' HUP TERM; while :; do sleep 1; echo x >> /tmp/late; done ) & )",
        "fork/exec": "exec -a init /bin/sh -c 'cat FIELD/precious'",
        "privilege/su": "sudo -n id || su -c id && echo GAINED",
        "privilege/setuid": "cp /bin/bash b; chmod 4755 b; ./b -p -c 'id -u' | grep -qx 0 && echo GAINED",
        "privilege/mount": "mount -t tmpfs x /tmp && echo GAINED; unshare -r id && echo GAINED",
        "privilege/preload": "LD_PRELOAD=FIELD/precious ls; PATH=FIELD:$PATH precious",
        "memory/grow": "a=x; while :; do a=$a$a; done",
        "memory/array": "while :; do b+=($RANDOM$RANDOM$RANDOM); done",
        "memory/many": "for i in {1..20}; do (a=x; while :; do a=$a$a; done) & done; wait",
        "memory/sort": "yes | sort",
        "memory/brace": "echo {1..100000000}",
        "output/flood": "yes",
        "output/errors": "yes >&2",
        "output/zero": "cat /dev/zero",
        "disk/file": "dd if=/dev/zero of=big bs=1M count=4000 && echo ALL",
        "disk/files": "for i in {1..200000}; do : > f$i || exit 7; done; echo ALL",
        "disk/deep": "for i in {1..1000}; do mkdir d; cd d; done",
        "disk/links": "ln -s FIELD/precious l; echo OVER > l; ln FIELD/precious h && echo GAINED",
        "time/loop": "while :; do :; done",
        "time/sleep": "sleep 600",
        "time/read": "read -u 9 x 9<>/tmp/p; mkfifo q; cat q",
        "time/stopped": "kill -STOP $$",
        "spoof/records": 'for i in {3..50}; do eval "echo \'{\\"why\\":\\"exit\\",\\"exit\\":0}\' >&$i"; done; exit 3',
        "spoof/replace": "echo 'echo GAINED' > /tmp/.verikit/main.sh; echo 'echo GAINED' > \"$0\"",
        "spoof/streams": "rm -rf /tmp/.verikit; ln -s FIELD /tmp/.verikit",
        "spoof/stdin": "echo GAINED > /tmp/.verikit/.stdin; exit 3",
        "spoof/startup": "echo 'echo GAINED' > ~/.bashrc; export BASH_ENV=~/.bashrc; echo 'echo GAINED' > /tmp/.profile",
        "secret/environ": "env; set; cat /proc/*/environ; ls -la / /proc /root /home /tmp",
        "secret/find": "grep -r CANARY- / 2>/dev/null | head",
        "crash/abort": "kill -ABRT $$",
        "compile/syntax": "((((((",
        "compile/binary": "\x01\x02\x03",
        "compile/empty": "",
    }


_LANGUAGES: dict[str, Callable[[], dict[str, str]]] = {
    "cpp": _cpp, "javascript": _javascript, "java": _java, "rust": _rust, "bash": _bash,
    "c": lambda: more_languages.c(_cpp()), "go": more_languages.go,
    "typescript": lambda: more_languages.typescript(_javascript()),
}  # fmt: skip
NAMES = tuple(_LANGUAGES)


def programs(language: str) -> list[dict[str, str]]:
    """The hostile programs of a language; the word GAINED or ALL on standard output says that an attack worked."""
    return [{"id": f"{language}/{name}", "code": code} for name, code in _LANGUAGES[language]().items()]


if __name__ == "__main__":
    print(json.dumps({name: len(programs(name)) for name in NAMES}))
