"""The browser's box: no network, no file of the machine but libraries, limits, and an end with all that was started."""

import json
import os
import sys

import pytest

from tests.artifacts.pages import need_browser
from tests.processes import below, runs
from tests.waiting import until
from verikit.artifacts.browser import box as boxes
from verikit.artifacts.browser.box import BrowserBox
from verikit.errors import WorkspaceError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the browser's box needs Linux")

PROBE = """
import ctypes, json, os, resource, socket, sys
def refused(act):
    try:
        act()
    except (OSError, PermissionError) as error:
        return type(error).__name__
    return ""
libc = ctypes.CDLL(None, use_errno=True)
found = {
    "inet": refused(lambda: socket.socket(socket.AF_INET)),
    "inet6": refused(lambda: socket.socket(socket.AF_INET6)),
    "netlink": refused(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    "local": refused(lambda: socket.socket(socket.AF_UNIX).bind("/tmp/s")),
    "canary": refused(lambda: open(sys.argv[1])),
    "passwd": refused(lambda: open("/etc/passwd")),
    "root": refused(lambda: open("/new", "w")),
    "work": refused(lambda: open("/tmp/new", "w").write("x")),
    "parent": os.path.exists("/proc/" + sys.argv[2] + "/status") and open("/proc/" + sys.argv[2] + "/cmdline").read(),
    "processes": sorted(name for name in os.listdir("/proc") if name.isdigit()),
    "unshare": libc.unshare(0x10000000),
    "user": os.getuid(),
    "devices": [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line],
    "environment": sorted(os.environ),
    "descriptors": sorted(map(int, os.listdir("/proc/self/fd"))),
    "data": resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20,
}
os.write(4, json.dumps(found).encode() + b"\\0")
os.read(3, 1)
"""


def need_box():
    """Skip where namespaces can't be had; a browser is not needed."""
    box = BrowserBox([sys.executable, "-I", "-S", "-c", "import os; os.write(4, b'x')"])
    try:
        if os.read(box.answers, 1) != b"x":
            pytest.skip(f"no box for a browser here: {box.told()}")
    finally:
        box.close()


def test_the_box_has_no_network_no_files_and_no_other_process(tmp_path):
    need_box()
    canary = tmp_path / "canary"
    canary.write_text("x")
    box = BrowserBox([sys.executable, "-I", "-S", "-c", PROBE, str(canary), str(os.getpid())])
    try:
        said = b""
        while not said.endswith(b"\0"):
            more = os.read(box.answers, 1 << 16)
            assert more, box.told()
            said += more
        found = json.loads(said[:-1])
    finally:
        box.close()
    assert all(found[name] for name in ("inet", "inet6", "netlink", "canary", "passwd", "root"))
    assert not any(found[name] for name in ("local", "work", "parent"))
    assert found["processes"] == ["1", "2"]
    assert found["unshare"] == -1
    assert found["user"] != 0
    assert found["devices"] in ([], ["lo"])
    assert found["environment"] == ["HOME", "LANG", "PATH", "TZ"]
    assert [number for number in found["descriptors"] if number > 4] in ([], [5])
    assert found["data"] == boxes.MEMORY_MB


def test_all_that_the_box_started_ends_with_it():
    need_box()
    fork = "import os; os.setsid(); os.fork(); os.fork(); os.write(4, b'x'); os.read(3, 1)"
    box = BrowserBox([sys.executable, "-I", "-S", "-c", fork])
    try:
        said = b""
        while len(said) < 4:
            said += os.read(box.answers, 4)
        started = below(box._process.pid)
        assert len(started) >= 6
    finally:
        box.close()
    until(lambda: not any(map(runs, started)), "the end of all that was started")


def test_without_a_browser_there_is_no_value(monkeypatch):
    monkeypatch.setattr(boxes, "program", lambda: "")
    with pytest.raises(WorkspaceError, match="not installed") as error:
        BrowserBox()
    assert "apt-get install chromium" in error.value.hint


def test_the_browsers_own_program_is_found():
    need_browser()
    assert os.path.basename(boxes.program())
    with open(boxes.program(), "rb") as file:
        assert file.read(4) == b"\x7fELF"
