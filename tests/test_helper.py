import asyncio
import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.processes import children, runs
from tests.waiting import until
from verikit.errors import HelperError, HelperTimeout
from verikit.helper import Helper


@pytest.fixture
def helper():
    made = Helper(workers=2, memory_mb=512)
    yield made
    made.close()


def test_a_call_returns_what_the_function_returns(helper):
    assert helper.call("math:gcd", 12, 18, timeout=60) == 6
    assert helper.call("json:loads", '{"a": [1, null]}', timeout=60) == {"a": [1, None]}


def test_nothing_starts_before_the_first_call():
    helper = Helper()
    assert helper._process is None


def test_a_call_that_runs_too_long_is_ended_and_the_next_one_works(helper):
    helper.call("math:gcd", 1, 1, timeout=60)
    with pytest.raises(HelperTimeout):
        helper.call("time:sleep", 60, timeout=0.3)
    assert helper.call("math:gcd", 12, 18, timeout=60) == 6


def test_a_call_that_wants_too_much_memory_is_ended(helper):
    with pytest.raises(HelperTimeout, match=r"memory|died"):
        helper.call("operator:mul", b"x", 2**31, timeout=60)
    assert helper.call("math:gcd", 12, 18, timeout=60) == 6


def test_a_function_that_raises_tells_what(helper):
    with pytest.raises(HelperError, match="ValueError"):
        helper.call("math:sqrt", -1, timeout=60)
    with pytest.raises(HelperError, match="not JSON serializable"):
        helper.call("builtins:complex", 1, 2, timeout=60)
    with pytest.raises(HelperError, match="ModuleNotFoundError"):
        helper.call("no_such_module:f", timeout=60)


def test_what_a_function_prints_does_not_disturb_the_replies(helper):
    assert helper.call("builtins:print", '{"id": 0}', timeout=60) is None
    assert helper.call("math:gcd", 12, 18, timeout=60) == 6


def test_many_threads_share_one_helper(helper):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: helper.call("math:gcd", 12 * k, 18 * k, timeout=60), range(1, 41)))
    assert found == [6 * k for k in range(1, 41)]


def test_it_works_under_a_running_event_loop(helper):
    async def main():
        calls = (asyncio.to_thread(helper.call, "math:gcd", 4, 6, timeout=60) for _ in range(4))
        return [helper.call("math:gcd", 2, 4, timeout=60), *await asyncio.gather(*calls)]

    assert asyncio.run(main()) == [2, 2, 2, 2, 2]


def test_a_killed_helper_is_started_again(helper):
    helper.call("math:gcd", 1, 1, timeout=60)
    os.kill(helper._process.pid, signal.SIGKILL)
    until(lambda: helper._process is None, "processes to end")
    assert helper.call("math:gcd", 12, 18, timeout=60) == 6


def test_a_helper_that_dies_in_a_call_fails_that_call_only(helper):
    helper.call("math:gcd", 1, 1, timeout=60)
    pid = helper._process.pid
    threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(HelperError, match="died"):
        helper.call("time:sleep", 30, timeout=30)
    assert helper.call("math:gcd", 12, 18, timeout=60) == 6


def test_closing_leaves_no_process_behind():
    helper = Helper()
    helper.call("math:gcd", 1, 1, timeout=60)
    pid = helper._process.pid
    workers = [child for child in children(pid) if runs(child)]
    assert workers
    helper.close()
    gc.collect()
    until(lambda: not any(map(runs, [pid, *workers])), "processes to end")


def test_a_helper_nobody_holds_any_more_ends():
    helper = Helper()
    helper.call("math:gcd", 1, 1, timeout=60)
    pid = helper._process.pid
    del helper
    gc.collect()
    until(lambda: not runs(pid), "processes to end")


def gcd_in_child(helper, queue):
    queue.put(helper.call("math:gcd", 12, 18, timeout=60))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_daemonic_child_process_starts_its_own(helper, method):
    helper.call("math:gcd", 1, 1, timeout=60)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=gcd_in_child, args=(helper, queue), daemon=True)
    child.start()
    assert queue.get(timeout=60) == 6
    child.join(60)
    assert child.exitcode == 0
    assert helper.call("math:gcd", 12, 18, timeout=60) == 6


SCRIPT = """
    import os, sys, time
    from verikit.helper import Helper
    helper = Helper()
    helper.call("math:gcd", 1, 1, timeout=60)
    print(helper._process.pid, flush=True)
    {then}
"""


@pytest.mark.parametrize("then", ["os.kill(os.getpid(), 9)", "sys.exit(0)", "os._exit(1)", "raise SystemExit(3)"])
def test_the_helper_ends_with_its_parent_however_that_ends(then):
    script = textwrap.dedent(SCRIPT).format(then=then)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    pid = int(ran.stdout)
    until(lambda: not runs(pid), "processes to end")


def test_an_unguarded_main_runs_once(tmp_path):
    script = tmp_path / "main.py"
    script.write_text(
        "print('main')\nfrom verikit.helper import Helper\nprint(Helper().call('math:gcd', 4, 6, timeout=60))\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["main", "2"], ran.stderr


def test_a_forked_child_lets_the_helper_see_its_parent_end(tmp_path):
    script = textwrap.dedent("""
        import os, time
        from verikit.helper import Helper
        helper = Helper()
        helper.call("math:gcd", 1, 1, timeout=60)
        print(helper._process.pid, flush=True)
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        os._exit(0)
    """)
    run = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script], stdout=subprocess.PIPE, text=True)
    pid = int(run.stdout.readline())
    until(lambda: not runs(pid), "processes to end")
    run.stdout.close()
    run.wait()


def test_a_reply_is_json():
    assert json.loads(json.dumps(Helper(1, 64, ("math",)).preload)) == ["math"]
