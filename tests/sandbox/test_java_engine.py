"""Java's cases in one virtual machine: which programs share it, and that each case is what it is in one of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from verikit.sandbox import RunLimits, RunResult, case_engines
from verikit.sandbox.java_plain import plain
from verikit.sandbox.pool import Pool
from verikit.sandbox.programs import BuiltProgram, Programs
from verikit.sandbox.toolchains import Missing, toolchain

STDIN = ["1 2\n", "30 4\n", "5 6"]
READ = "Scanner s=new Scanner(System.in);int a=s.nextInt(),b=s.nextInt();"
PLAIN = {
    "scanner": READ + "System.out.println(a+b);",
    "lines": "BufferedReader r=new BufferedReader(new InputStreamReader(System.in));"
    "StringTokenizer t=new StringTokenizer("
    "r.readLine());PrintWriter p=new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));"
    "p.println(Integer.parseInt(t.nextToken())*2);p.flush();",
    "tokens": "StreamTokenizer t=new StreamTokenizer(System.in);t.nextToken();System.out.printf(\"%.1f%n\",t.nval);",
    "statics": READ + "seen.add(a);count++;System.out.println(seen+\" \"+count);",
    "lambdas": READ + "System.out.println(IntStream.rangeClosed(a,a+b).boxed().filter(i->i%2==0)"
    ".map(i->\"<\"+i+\">\").collect(Collectors.joining(\",\")));",
    "kinds": READ + "record P(int x,String y){}enum E{"
    "A,B}System.out.println(new P(a,\"z\")+\" \"+E.values()[a%2]+\" \"+"
    "switch(\"k\"+a){case \"k1\"->\"one\";default->\"more\";}+new Object(){public String toString(){"
    "return \"anon\";}});",
    "switches": READ + "enum E{A,B}switch(E.values()[a%2]){case A:System.out.println(b);break;"
    "default:System.out.println(a);}",
    "concurrent": READ + "Map<Integer,Integer> m=new java.util.concurrent.ConcurrentHashMap<>();"
    "m.merge(a,b,Integer::sum);System.out.println(m);",
    "big": READ + "System.out.println(BigInteger.valueOf(a).pow(70).add(new BigInteger(\"9\").mod(BigInteger.TEN)));",
    "queue": READ + "PriorityQueue<int[]> q=new PriorityQueue<>((u,v)->v[0]-u[0]);q.add(new int[]{a});"
    "q.add(new int[]{b});"
    "System.out.println(q.poll()[0]+String.format(\" %5.2f %s\",a/3.0,Arrays.asList(a,b)));",
    "exits": READ + "System.out.println(a);if(a>0)System.exit(0);System.out.println(\"not here\");",
    "exit_in_lambda": READ + "new ArrayList<>(Arrays.asList(a)).forEach(i->{System.out.println(i);System.exit(0);});",
    "exit_in_try": READ + "try{System.out.println(a);System.exit(0);}finally{System.out.println(\"not here\");}",
    "exit_is_not_caught": READ + "try{System.out.println(a);System.exit(0);}catch(Throwable t){"
    "System.out.println(\"caught\");}",
    "exit_code": READ + "System.out.println(a);System.exit(a==30?4:0);",
    "throws": READ + "System.out.println(a);if(a==30)throw new IllegalStateException(\"no\");",
    "deep": READ + "System.out.println(deep(200000*(a%2)));if(a==5)deep(1<<30);",
    "deep_is_caught": READ + "try{deep(1<<30);}catch(Throwable t){System.out.println(a+t.getClass().getSimpleName());}",
    "asserts": READ + "assert a<30:\"big\";System.out.println(a);",
    "big_stack": "Thread t=new Thread(null,()->System.out.println(deep(300000)+new Scanner(System.in).nextInt()),\"\","
    "1<<28);t.start();t.join();System.out.println(\"joined\");",
    "thread_after_main": READ + "new Thread(()->{try{Thread.sleep(30);}catch(InterruptedException e){"
    "}System.out.println(a);"
    "},\"t\").start();System.out.println(\"first\");",
    "thread_waits_for_main": READ + "Thread m=Thread.currentThread();new Thread(()->{try{m.join();"
    "}catch(InterruptedException e"
    "){}System.out.println(a+\" last\");},\"t\").start();",
    "thread_exits": READ + "new Thread(()->{System.out.println(a);System.exit(0);},\"t\").start();Thread.sleep(9000);",
    "thread_throws": READ + "new Thread(()->{throw new IllegalStateException();},\"t\").start();System.out.println(a);",
    "interrupts": READ + "Thread.currentThread().interrupt();"
    "System.out.println(a+\" \"+Thread.currentThread().isInterrupted());",
    "no_line_end": READ + "System.out.print(a);System.out.write('x');System.out.print(\"\");",
    "closes": READ + "s.close();System.out.println(a);System.out.close();System.err.close();"
    "System.out.println(\"lost\");",
    "errors": READ + "System.err.println(\"e\"+a);new Exception(\"seen\").printStackTrace();"
    "System.out.println(\"ä€\");",
    "digest": READ + "byte[] d=MessageDigest.getInstance(\"MD5\").digest((\"\"+a).getBytes(StandardCharsets.UTF_8));"
    "System.out.println(new BigInteger(1,d).toString(16));",
    "reads_all": "int n=0,c;while((c=System.in.read())>=0)n+=c;System.out.println(n);",
}  # fmt: skip
"""Bodies of `main` that share a virtual machine."""
FAIL = {"exit_code", "throws", "deep", "asserts"}
"""Those that do not end well with every input."""
ALONE = {
    "file": 'new FileReader("/dev/stdin").read();', "writer": 'new PrintWriter("f").close();',
    "stream": 'new PrintStream("f","UTF-8").close();', "scanner": 'new Scanner(new File("/dev/stdin"));',
    "scanner_path": 'new Scanner(Paths.get("f"));', "formatter": 'new Formatter("f").close();',
    "files": 'Files.readAllBytes(Paths.get("f"));', "descriptor": "new FileOutputStream(FileDescriptor.out).write(1);",
    "reflects": 'Class.forName("java.lang.Integer").getDeclaredFields();', "loader": "Main.class.getClassLoader();",
    "unsafe": "sun.misc.Unsafe u=null;u.allocateMemory(1);", "handles": "java.lang.invoke.MethodHandles.lookup();",
    "sets_out": "System.setOut(System.err);", "sets_in": "System.setIn(null);",
    "property": 'System.setProperty("a","b");', "properties": 'System.getProperties().put("a","b");',
    "locale": "Locale.setDefault(Locale.US);", "zone": "TimeZone.setDefault(null);",
    "hook": "Runtime.getRuntime().addShutdownHook(null);", "halt": "Runtime.getRuntime().halt(0);",
    "process": 'new ProcessBuilder("x").start();', "handler": "Thread.setDefaultUncaughtExceptionHandler(null);",
    "daemon": 'Thread t=new Thread(()->{},"t");t.setDaemon(true);', "unnamed": "new Thread(()->{}).start();",
    "group": 'new Thread(new ThreadGroup("g"),()->{},"t").start();',
    "groups": "Thread.currentThread().getThreadGroup();",
    "subclass": "class T extends Thread{T(){super(null,null,\"t\");}}new T().setDaemon(true);",
    "executor": "java.util.concurrent.Executors.newFixedThreadPool(2);",
    "future": "java.util.concurrent.CompletableFuture.runAsync(()->{});",
    "timer": "new Timer().cancel();", "local": "new ThreadLocal<String>().set(\"\");",
    "parallel_map": "new java.util.concurrent.ConcurrentHashMap<Integer,Integer>().forEach(1,(k,v)->{});",
    "parallel": "IntStream.range(0,9).parallel().sum();", "parallel_list": "Arrays.asList(1).parallelStream().count();",
    "parallel_sort": "Arrays.parallelSort(new int[9]);"
    "", "method_reference": "Function<List<Integer>,?> f=List::parallelStream;",
    "parallel_inherited": "class L extends ArrayList<Integer>{}new L().parallelStream();",
    "finalizer": "new Object(){protected void finalize(){System.out.println(1);}};",
    "cleaner": "java.lang.ref.Cleaner.create();", "weak": "new java.lang.ref.WeakReference<>(\"\");",
    "intern": '"a".intern();', "identity": "System.identityHashCode(\"a\");", "environment": "System.getenv().size();",
    "collector": "System.gc();", "library": 'System.load("/x.so");', "trace": "new Exception().getStackTrace();",
    "trace_out": "new Exception().printStackTrace(System.out);", "error": "try{deep(9);}catch(StackOverflowError e){}",
    "unpickles": "new ObjectInputStream(System.in).readObject();", "socket": 'new java.net.Socket("x",1);',
    "scripts": "java.util.ServiceLoader.load(Runnable.class);", "random": "new java.security.SecureRandom();",
}  # fmt: skip
"""Bodies of `main` that reach what may outlive a case."""
IMPORTS = (
    "import java.io.*;import java.math.*;import java.nio.charset.*;import java.nio.file.*;import java.security.*;"
    "import java.util.*;import java.util.function.*;import java.util.stream.*;\n"
)
NATIVE = "public class Main{static native void f();public static void main(String[] x){f();}}"


def source(body: str) -> str:
    return (
        f"{IMPORTS}class Main{{static int count;static final List<Integer> seen=new ArrayList<>();"
        "static int deep(int n){return n<1?0:1+deep(n-1);}"
        f"public static void main(String[] x)throws Throwable{{{body}}}}}"
    )


def compiled(sources: dict[str, str], folder: Path) -> dict[str, dict[str, bytes]]:
    """The class files of programs of ours, each with its own class Main, by one compiler."""
    chain = toolchain("java")
    if isinstance(chain, Missing):
        pytest.skip(f"no Java: {chain.install}")
    for name, text in sources.items():
        (folder / name).mkdir()
        (folder / name / "Main.java").write_text(text)
    compiler = (
        "import javax.tools.*;public class All{public static void main(String[] all){JavaCompiler c=ToolProvider."
        "getSystemJavaCompiler();for(String f:all)if(c.run(null,null,null,\"-nowarn\",\"-d\",f,f+\"/Main.java\")!=0)"
        "System.exit(1);}}"
    )  # fmt: skip
    (folder / "All.java").write_text(compiler)
    java = chain.run[0]
    subprocess.run([java, "All.java", *sources], cwd=folder, check=True)
    return {name: {file.name: file.read_bytes() for file in (folder / name).glob("*.class")} for name in sources}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    sources = {f"plain_{name}": source(body) for name, body in PLAIN.items()}
    sources |= {f"alone_{name}": source(body) for name, body in ALONE.items()} | {"native": NATIVE}
    return compiled(sources, tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="module")
def box() -> Iterator[Programs]:
    if any(isinstance(toolchain(name), Missing) for name in ("c", "java")):
        pytest.skip("no C compiler or no Java")
    pool = Pool(1, paranoid=False, namespaces=True)
    found = Programs(pool)
    try:
        if problem := found.problem("java"):
            pytest.skip(problem)
        yield found
    finally:
        pool.close()


def told(runs: list[RunResult]) -> list[tuple[str, int, str]]:
    return [(run.status, run.exit_code, run.stdout) for run in runs]


def test_an_engine_is_made_where_there_is_java_and_a_compiler(box: Programs) -> None:
    assert "verikit-engine/verikit/Engine.class" in box._engine_files("java")


@pytest.mark.parametrize("name", ALONE)
def test_what_may_outlive_a_case_is_not_plain(classes: dict[str, dict[str, bytes]], name: str) -> None:
    assert plain(classes[f"alone_{name}"]) is None


@pytest.mark.parametrize("name", PLAIN)
def test_what_dies_with_its_case_is_plain(classes: dict[str, dict[str, bytes]], name: str) -> None:
    assert plain(classes[f"plain_{name}"])


def test_native_methods_and_other_names_are_not_plain(classes: dict[str, dict[str, bytes]]) -> None:
    assert plain(classes["native"]) is None
    files = classes["plain_scanner"]
    assert plain({"Other.class": files["Main.class"]}) is None


def test_damaged_classes_are_not_plain_or_keep_their_uses(classes: dict[str, dict[str, bytes]]) -> None:
    """A change of any byte is read as something else or refused, and never raises; what is cut is refused."""
    content = classes["alone_sets_out"]["Main.class"]
    for at in range(0, len(content) - 1, 7):
        assert plain({"Main.class": content[:at]}) is None
        plain({"Main.class": content[:at] + bytes([content[at] ^ 0x15]) + content[at + 1 :]})


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("name", PLAIN)
def test_a_case_does_what_it_does_in_a_machine_of_its_own(
    box: Programs, classes: dict[str, dict[str, bytes]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = BuiltProgram("java", classes[f"plain_{name}"])
    shared = box.run(program, STDIN, RunLimits(wall_s=20))
    monkeypatch.setattr(case_engines, "PAYS", 100)
    alone = box.run(program, STDIN, RunLimits(wall_s=20))
    assert told(shared) == told(alone)
    assert name in FAIL or [run.status for run in shared] == ["ok"] * len(STDIN), shared
    assert [run.stderr.split("\n")[0] for run in shared] == [run.stderr.split("\n")[0] for run in alone]


def test_sharing_is_cheaper_than_starting(
    box: Programs, classes: dict[str, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = BuiltProgram("java", classes["plain_scanner"])
    shared = box.run(program, ["1 2"] * 8, RunLimits(wall_s=20))
    monkeypatch.setattr(case_engines, "PAYS", 100)
    alone = box.run(program, ["1 2"] * 8, RunLimits(wall_s=20))
    assert sum(run.cpu_s for run in shared) < 0.5 * sum(run.cpu_s for run in alone)


def test_a_case_leaves_nothing_for_the_next(box: Programs, classes: dict[str, dict[str, bytes]]) -> None:
    runs = box.run(
        BuiltProgram("java", classes["plain_statics"]), [f"{number} 0" for number in range(5)], RunLimits(wall_s=20)
    )
    assert [run.stdout for run in runs] == [f"[{number}] 1\n" for number in range(5)]


def test_limits_are_each_cases_own(box: Programs, tmp_path: Path) -> None:
    busy = "long t=System.nanoTime();while(System.nanoTime()-t<700_000_000L);System.out.println(1);"
    bodies = {
        "busy": busy, "loop": READ + "System.out.println(a);if(a==1)for(;;);",
        "flood": READ + "for(;a==1;)System.out.println(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\");",
        "grow": READ + "List<long[]> l=new ArrayList<>();for(;a==1;)l.add(new long[1<<16]);System.out.println(a);",
        "sleep": READ + "if(a==1)Thread.sleep(60000);",
    }  # fmt: skip
    classes = compiled({name: source(body) for name, body in bodies.items()}, tmp_path)

    def ended(name: str, stdins: list[str], limits: RunLimits) -> list[str]:
        return [run.status for run in box.run(BuiltProgram("java", classes[name]), stdins, limits)]

    assert all(plain(files) for files in classes.values())
    assert ended("busy", [""] * 5, RunLimits(wall_s=20, cpu_s=2)) == ["ok"] * 5
    assert ended("loop", ["0 0", "1 0", "0 0"], RunLimits(wall_s=2)) == ["ok", "timeout"]
    assert ended("sleep", ["0 0", "1 0", "0 0"], RunLimits(wall_s=2)) == ["ok", "timeout"]
    assert ended("flood", ["0 0", "1 0", "0 0"], RunLimits(wall_s=20)) == ["ok", "output"]
    assert ended("grow", ["0 0", "1 0", "0 0"], RunLimits(wall_s=20, memory_mb=128)) == ["ok", "memory"]


def test_an_engine_that_does_not_start_leaves_each_case_to_itself(
    box: Programs, classes: dict[str, dict[str, bytes]]
) -> None:
    program, chain = BuiltProgram("java", classes["plain_scanner"]), toolchain("java")
    assert not isinstance(chain, Missing)
    engine = box._engine(chain, program)
    assert engine is not None
    broken = case_engines.CaseEngine(
        {**engine.files, "verikit-engine/verikit/Engine.class": b"no class"}, {}, engine.fill, True
    )
    runs = box._run(chain, program, [b"1 2", b"3 4"], RunLimits(wall_s=20), 60, broken)
    assert told(runs) == [("ok", 0, "3\n"), ("ok", 0, "7\n")]


@pytest.mark.parametrize("package", ["stdin", "stdout", "stderr"])
def test_a_package_with_the_name_of_a_stream_is_a_package(box: Programs, package: str) -> None:
    text = f"package {package};public class Main{{public static void main(String[] a){{System.out.println(1);}}}}"
    program = box.build("java", text)
    assert isinstance(program, BuiltProgram)
    for cases in (1, 3):
        runs = box.run(program, [""] * cases, RunLimits(wall_s=20))
        assert told(list(runs)) == [("ok", 0, "1\n")] * cases
