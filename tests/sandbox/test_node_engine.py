"""JavaScript in forks of a node that is started once: what a program does is what it does in a node of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from verikit.sandbox import RunLimits, RunResult, case_engines
from verikit.sandbox.pool import Pool
from verikit.sandbox.program_runs import ProgramJob, ProgramRun
from verikit.sandbox.programs import BuiltProgram, Programs
from verikit.sandbox.toolchains import Missing, toolchain

STDIN = ["1 2\n", "30 4\n", "5 6"]
SAME = {
    "large_array": "const a=new Int32Array(2e7);a[5]=1;console.log(a[5])",
    "many_buffers": "let s=0;for(let i=0;i<200;i++)s+=new ArrayBuffer(1e6).byteLength;console.log(s)",
    "many_objects": "const a=[];for(let i=0;i<1e6;i++)a.push({i});console.log(a.length)",
    "many_strings": "const m=new Map();for(let i=0;i<3e5;i++)m.set('k'+i,i);console.log(m.size)",
    "large_array_and_lines": "const rl=require('readline').createInterface({input:process.stdin});"
    "rl.on('line',l=>{});rl.on('close',()=>{const a=new Int32Array(2e7);console.log(a.length)})",
    "many_numbers": "let s=0;for(let i=0;i<60;i++)s+=new Array(2e5).fill(i+.5).length;console.log(s)",
    "large_array_and_folder": "require('fs').mkdirSync('d');const a=new Int32Array(2e7);console.log(a.length)",
    "large_array_and_file": "const fs=require('fs');fs.appendFileSync('f','x');const a=new Int32Array(2e7);"
    "console.log(a.length,fs.readFileSync('f','utf8'))",
    "large_array_and_environment": "const s=process.env.SEEN;process.env.SEEN='1';const a=new Int32Array(2e7);"
    "console.log(a.length,s)",
    "large_array_and_closed_input": "require('fs').closeSync(0);const a=new Int32Array(2e7);console.log(a.length)",
    "large_array_for_one_input": "const s=require('fs').readFileSync(0,'utf8');"
    "console.log(s.startsWith('30')?new Int32Array(2e7).length:s)",
    "prints before it waits": "console.log(1);console.error(2);const a=new Int32Array(2e7);console.log(a.length)",
    "reads before it waits": "const fs=require('fs');const s=fs.readFileSync(0,'utf8');const a=new Int32Array(2e7);"
    "console.log(s,a.length)",
    "waits with a thread": "const {Worker}=require('worker_threads');const a=new Int32Array(2e7);new Worker("
    "'require(\"worker_threads\").parentPort.postMessage(1)',{eval:true}).on('message',m=>console.log(m,a.length))",
    "imitates a fork that needs threads": "console.log(1);process.exit(113)",
    "no_timer_is_ours": "console.log(process.getActiveResourcesInfo().length)",
    "sync": "const [a,b]=require('fs').readFileSync(0,'utf8').split(' ').map(Number);console.log(a+b)",
    "path": "console.log(require('fs').readFileSync('/dev/stdin','utf8').length)",
    "lines": "const rl=require('readline').createInterface({input:process.stdin});let n=0;"
    "rl.on('line',l=>{n+=l.length});rl.on('close',()=>console.log('read',n))",
    "iterated": "(async()=>{for await(const l of require('readline').createInterface({input:process.stdin}))"
    "console.log(l.toUpperCase())})()",
    "data": "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>console.log(s.trim(),process.stdin.readableEnded))",
    "timers": "setImmediate(()=>{console.log('a');setTimeout(()=>console.log('b'),20)});"
    "process.nextTick(()=>console.log(0))",
    "threads": "const {promisify:p}=require('util'),{pbkdf2}=require('crypto'),{deflate}=require('zlib');Promise.all(["
    "require('fs').promises.readFile(__filename),p(pbkdf2)('a','b',9,8,'sha1'),p(deflate)('x'.repeat(999))])"
    ".then(([file,key,packed])=>console.log(file.length>0,key.toString('hex'),packed.length))",
    "workers": "const {Worker}=require('worker_threads');const run=()=>new Promise(done=>{const w=new Worker("
    "\"require('worker_threads').parentPort.postMessage(21*2)\",{eval:true});let n=0;w.on('message',m=>{n+=m});"
    "w.on('exit',c=>done(n+c))});Promise.all([run(),run(),run()]).then(all=>console.log(all))",
    "wasm": "WebAssembly.instantiate(new Uint8Array([0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,102,0,0,10,"
    "6,1,4,0,65,42,11])).then(m=>console.log(m.instance.exports.f()))",
    "main": "console.log(require.main===module,process.argv.length,process.argv[1]===__filename,process.argv0,"
    "__filename.endsWith('main.js'),process.env.LD_PRELOAD,process.pid>1,Object.keys(process.env).sort().join())",
    "clocks": "console.log(performance.now()>0,process.uptime()>0,Date.now()>1.7e12,"
    "process.hrtime.bigint()>0n,process.memoryUsage().heapUsed>0)",
    "exit": "process.on('exit',c=>console.log('bye',c));process.exitCode=3",
    "exits": "process.on('exit',()=>{process.exitCode=9});setTimeout(()=>process.exit(4),5)",
    "exits as late as it can": "process.on('beforeExit',()=>console.log('last')).on('exit',()=>{process.exitCode=7})",
    "never settles": "import fs from 'fs';console.log(typeof fs);await new Promise(()=>{})",
    "holds much": "const a=Array.from({length:2e5},(_,i)=>({i,b:Buffer.alloc(9)}));console.log(a.length)",
    "throws": "process.on('exit',c=>console.log('bye',c));null.x",
    "rejects": "Promise.reject(new Error('no'))",
    "aborts": "process.abort()",
    "signals": "process.on('SIGUSR2',()=>{console.log('got');clearInterval(t)});const t=setInterval(()=>{},9);"
    "process.kill(process.pid,'SIGUSR2')",
    "parses": "((((",
    "deep": "const f=n=>n?1+f(n-1):0;console.log(f(20000))",
    "sorts": "const a=Array.from({length:300000},(_,i)=>(i*7919)%300007);a.sort((x,y)=>x-y);console.log(a[77])",
    "garbage": "let k=0;for(let i=0;i<300;i++){const a=new Array(20000).fill({i});k+=a.length}console.log(k)",
    "big": "process.stdout.write('x'.repeat(300000))",
    "strict": "console.log([this===module.exports,typeof globalThis.warm,typeof begun,Object.keys(globalThis).length])",
    "weak": "const r=new FinalizationRegistry(()=>0);r.register({});console.log(typeof r)",
}


@pytest.fixture(scope="module")
def box() -> Iterator[Programs]:
    if any(isinstance(toolchain(name), Missing) for name in ("c", "javascript")):
        pytest.skip("no C compiler or no node")
    pool = Pool(1, paranoid=False, namespaces=True)
    found = Programs(pool)
    try:
        if problem := found.problem("javascript"):
            pytest.skip(problem)
        yield found
    finally:
        pool.close()


def ran(box: Programs, code: str, stdins: list[str], limits: RunLimits | None = None) -> list[RunResult]:
    built = box.build("javascript", code)
    assert isinstance(built, BuiltProgram), built
    return box.run(built, stdins, limits or RunLimits(wall_s=20))


def told(runs: list[RunResult]) -> list[tuple[str, int, str]]:
    return [(run.status, run.exit_code, run.stdout) for run in runs]


def test_an_engine_is_made_where_there_is_node_and_a_compiler(box: Programs) -> None:
    assert set(box._engine_files("javascript")) == {"node_engine.js", "node_fork.node"}


@pytest.mark.parametrize("name", SAME)
def test_a_fork_does_what_a_node_of_its_own_does(box: Programs, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = ran(box, SAME[name], STDIN)
    monkeypatch.setattr(case_engines, "PAYS", 100)
    alone = ran(box, SAME[name], STDIN)
    assert told(forked) == told(alone)
    assert len(forked) == (3 if alone[0].status == "ok" else 1)
    if alone[0].status == "error":
        kinds = ("Error", "TypeError", "SyntaxError")
        assert [kind in forked[0].stderr for kind in kinds] == [kind in alone[0].stderr for kind in kinds]


def test_a_module_that_the_program_does_not_name_is_not_loaded_for_it(box: Programs) -> None:
    code = "console.log(process.moduleLoadList.some(name=>name.endsWith(' read'+'line')))"
    assert [run.stdout for run in ran(box, code, STDIN)] == ["false\n"] * 3
    assert [run.stdout for run in ran(box, f"{code}// readline", STDIN)] == ["true\n"] * 3


def test_forks_are_cheaper_than_starts(box: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = ran(box, SAME["sync"], ["1 2"] * 10)
    monkeypatch.setattr(case_engines, "PAYS", 100)
    alone = ran(box, SAME["sync"], ["1 2"] * 10)
    assert sum(run.cpu_s for run in forked) < 0.5 * sum(run.cpu_s for run in alone)


def test_a_programs_clock_begins_with_it(box: Programs) -> None:
    busy = "const t=Date.now();while(Date.now()-t<500);"
    runs = ran(box, f"console.log(performance.now(),1000*process.uptime());{busy}", [""] * 4)
    first, last = ([float(word) for word in run.stdout.split()] for run in (runs[0], runs[-1]))
    assert all(late - early < 1200 for early, late in zip(first, last, strict=True))  # the engine is 1500 ms older


@pytest.mark.parametrize(
    "leave",
    [
        "require('fs').writeFileSync('left','x')", "process.chdir('/');", "process.env.LEFT='x'", "globalThis.left=1",
        "require('fs').left=1", "Array.prototype.left=1",
        "require('child_process').spawn(process.execPath,['-e','for(;;);'],{detached:true,stdio:'ignore'}).unref()",
        "process.on('exit',()=>{});process.stdout.left=1", "require('fs').closeSync(0)",
    ],
)  # fmt: skip
def test_a_case_leaves_nothing_for_the_next(box: Programs, leave: str) -> None:
    look = (
        "const fs=require('fs');console.log([fs.readdirSync('.').length,process.cwd()===__dirname,process.env.LEFT,"
        "globalThis.left,fs.left,[].left,process.stdout.left,fs.readFileSync(0,'utf8')].join());"
    )
    runs = ran(box, look + leave, ["a", "b", "c", "d"])
    assert [run.status for run in runs] == ["ok"] * 4
    assert [run.stdout.strip().rpartition(",") for run in runs] == [
        (runs[0].stdout.strip().rpartition(",")[0], ",", name) for name in "abcd"
    ]


@pytest.mark.parametrize(
    "code",
    [
        "process.kill(process.ppid,'SIGKILL');setTimeout(()=>console.log('on'),500)",
        "process.kill(process.ppid,'SIGTERM');setTimeout(()=>console.log('on'),500)",
        "process.kill(-1,'SIGKILL');console.log('on')",
    ],
)
def test_who_ends_the_engine_ends_itself(box: Programs, code: str) -> None:
    runs = ran(box, code, ["a", "b", "c"])
    assert (len(runs), runs[0].status) == (1, "killed")


@pytest.mark.parametrize("signal", ["SIGSTOP", "SIGUSR1"])
def test_an_engine_that_is_stopped_or_asked_to_be_debugged_serves_no_other(box: Programs, signal: str) -> None:
    code = f"process.kill(process.ppid,'{signal}');console.log(require('fs').readFileSync(0,'utf8'))"
    runs = ran(box, code, ["a", "b", "c"], RunLimits(wall_s=1.5))
    if signal == "SIGSTOP":
        assert (len(runs), runs[0].status) == (1, "timeout")
    else:
        assert told(runs) == [("ok", 0, f"{name}\n") for name in "abc"]


def test_an_engine_that_does_not_start_again_is_no_fault_of_the_program(box: Programs) -> None:
    chain = toolchain("javascript")
    assert not isinstance(chain, Missing)
    engine = case_engines.needs_of("javascript", {})
    assert engine is not None
    files = dict(box._engine_files("javascript"))
    end = int(1000 * (time.time() + 1.5))
    files["node_engine.js"] = f"if (Date.now() > {end}) process.exit(1);\n".encode() + files["node_engine.js"]
    leave = (
        "require('child_process').spawn(process.execPath,['-e','for(;;);'],{detached:true,stdio:'ignore'}).unref();"
        f"while(Date.now()<={end});"
    )
    program = BuiltProgram("javascript", {"main.js": leave.encode()})
    runs = box._run(chain, program, [b"", b""], RunLimits(wall_s=20), 60, replace(engine, files=files))
    assert [run.status for run in runs] == ["infra_error"]
    assert "engine does not start" in str(runs[0].error)


def test_a_case_that_starts_anew_has_all_of_its_limits(box: Programs) -> None:
    used = "const s=process.cpuUsage();let x=0,c;do{for(let i=0;i<3e6;i++)x+=i%7;c=process.cpuUsage(s)}"
    used += "while(c.user+c.system<7e5);"
    code = used + "const a=new Int32Array(2e7);console.log(a.length)"
    assert told(ran(box, code, ["", "", ""], RunLimits(wall_s=60, cpu_s=1))) == [("ok", 0, "20000000\n")] * 3


def test_a_program_is_tried_in_an_engine_once(box: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    engines = list[bool]()
    fly = box._fly

    def watched(job: ProgramJob, tools: tuple[str, ...]) -> ProgramRun:
        engines.append(job.engine)
        return fly(job, tools)

    monkeypatch.setattr(box, "_fly", watched)
    code = "const s=require('fs').readFileSync(0,'utf8');if(s==='b'&&process.ppid!==1)process.exit(113);console.log(s)"
    for _ in range(2):
        assert told(ran(box, code, list("abbab"))) == [("ok", 0, f"{letter}\n") for letter in "abbab"]
    assert engines == [True, False, False]


def test_limits_are_each_cases_own(box: Programs) -> None:
    slow = "const t=Date.now();while(Date.now()-t<400);console.log('done')"
    assert told(ran(box, slow, ["", "", "", ""], RunLimits(wall_s=10, cpu_s=1))) == [("ok", 0, "done\n")] * 4
    assert [run.status for run in ran(box, "for(;;);", ["", "", ""], RunLimits(wall_s=0.5))] == ["timeout"]
    flood = "for(;;)require('fs').writeSync(1,'x'.repeat(65536))"
    assert [run.status for run in ran(box, flood, ["", "", ""])] == ["output"]
    grow = "const a=[];for(;;)a.push(new Array(1e6).fill(1.5))"
    assert [run.status for run in ran(box, grow, ["", "", ""], RunLimits(wall_s=20, memory_mb=128))] == ["memory"]
