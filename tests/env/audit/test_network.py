"""The check `network`: hosts that solutions and tests name, against the network mode that the task declares."""

import pytest

from tests.env.audit.harbor_tasks import change, sound
from verikit.env.audit import audit_tasks


def reached(folder):
    (record,) = audit_tasks(folder)
    return [(one.what.split()[2].rstrip(","), one.where.partition(":")[0]) for one in record.checks["network"].findings]


def planted(folder, path, line):
    file = folder / path
    text = file.read_text() if file.exists() else ""
    file.write_text(f"{text}\n{line}\n")


@pytest.mark.parametrize(
    ("path", "line", "host"),
    [
        ("solution/solve.sh", "curl -sSf https://data.example.org/v1/a.csv -o a.csv", "data.example.org"),
        ("solution/solve.sh", "sudo wget -q http://mirror.example.org:8080/x", "mirror.example.org"),
        ("solution/solve.sh", "git clone https://user:key@git.example.org/a/b.git", "git.example.org"),
        ("solution/solve.sh", "python3 -m pip install requests==2.32.3", "pypi.org"),
        ("solution/more.py", "import requests\nrequests.get('https://api.example.org/v1')", "api.example.org"),
        ("tests/more.py", "from urllib.request import urlopen\nurlopen(f'https://x.example.org/{1}')", "x.example.org"),
        ("tests/more.py", "import httpx\nhttpx.request('GET', 'https://y.example.org')", "y.example.org"),
    ],
)
def test_a_host_is_found_if_the_task_declares_no_network_and_only_then(tmp_path, path, line, host):
    folder = sound(tmp_path, 1)
    planted(folder, path, line)
    assert reached(folder) == [(host, path)]
    change(
        folder, "task.toml", 'network_mode = "no-network"', f'network_mode = "allowlist"\nallowed_hosts = ["{host}"]'
    )
    assert reached(folder) == []
    change(folder, "task.toml", f'"allowlist"\nallowed_hosts = ["{host}"]', '"public"')
    assert reached(folder) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("solution/solve.sh", "curl -s http://localhost:8000/health; curl -s http://127.0.0.1/"),
        ("solution/solve.sh", "echo see https://docs.example.org; # curl https://x.example.org"),
        (
            "solution/solve.sh",
            "pip install ./wheels/a-1-py3-none-any.whl; pip install --no-index -f wheels a; git status",
        ),
        ("tests/more.py", "LINK = 'https://docs.example.org'\nprint(LINK.get if False else 1)"),
        ("tests/more.py", "def get(url): ...\nget('https://docs.example.org')"),
    ],
)
def test_addresses_that_nothing_reaches_are_no_finding(tmp_path, path, line):
    folder = sound(tmp_path, 1)
    planted(folder, path, line)
    assert reached(folder) == []
