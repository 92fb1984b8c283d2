# ruff: noqa: E501 - scripts of planted tasks in one line each
"""Environments made here, in many shapes: Harbor tasks as different people write them, each sound or with one fault.

`SOUND` and `FAULTS` map a name to a function that writes a folder. A fault has the check (or the checks) that should
find it. `tests/env/audit/made_envs.py` makes the folders of the other formats.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.env.audit import made_envs

DIGEST = "@sha256:" + "ab" * 32
TEXT = "/logs/verifier/reward.txt"
Make = Callable[[Path], object]
TOML = """schema_version = "1.4"
artifacts = {artifacts}

[metadata]
author_name = "someone"
difficulty = "easy"

[verifier]
timeout_sec = 300.0
environment_mode = "separate"

[agent]
timeout_sec = 300.0

[environment]
network_mode = "no-network"
memory_mb = 2048
{more}"""
SALES = "region,month,amount\nnorth,jan,1204\nsouth,jan,873\nnorth,feb,1420\nsouth,feb,655\neast,feb,98\n"
IF = f"if [ $? -eq 0 ]; then\n  echo 1 > {TEXT}\nelse\n  echo 0 > {TEXT}\nfi\n"


def put(folder: Path, path: str, text: str) -> None:
    """Write a file."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def change(folder: Path, path: str, old: str, new: str) -> None:
    """Replace a text that is there."""
    text = (folder / path).read_text()
    assert old in text, (path, old)
    (folder / path).write_text(text.replace(old, new))


def task(folder: Path, artifacts: str, asks: str, solve: str, more: str = "", **files: str) -> None:
    """A Harbor task; `files` have `__` for `/` and `_dot_` for `.` in their names."""
    put(folder, "task.toml", TOML.format(artifacts=artifacts, more=more))
    put(folder, "instruction.md", f"# Task\n\n{asks}\n")
    image = f"FROM python:3.12-slim{DIGEST}\n"
    put(folder, "environment/Dockerfile", f"{image}WORKDIR /app\nCOPY sales.csv /app/sales.csv\n")
    put(folder, "environment/sales.csv", SALES)
    put(folder, "tests/Dockerfile", f"{image}WORKDIR /app\nRUN pip install --no-cache-dir pytest==8.4.1\n")
    put(folder, "solution/solve.sh", f"#!/bin/bash\n{solve}\n")
    for name, text in files.items():
        put(folder, name.replace("__", "/").replace("_dot_", "."), text)


def pytest_ctrf(folder: Path) -> None:
    """Harbor's own template."""
    test = (
        f"#!/bin/bash\nmkdir -p /logs/verifier\npytest --ctrf /logs/verifier/ctrf.json /tests/test_state.py -rA\n{IF}"
    )
    py = (
        '"""Checks."""\n\nfrom pathlib import Path\n\nOUT = Path("/app/total.txt")\n\n\ndef test_exists():\n'
        '    assert OUT.is_file(), "no total.txt"\n\n\ndef test_value():\n    assert OUT.read_text().strip() == "2624"\n'
    )
    solve = "awk -F, '$1==\"north\" {s+=$3} END {print s}' /app/sales.csv > /app/total.txt"
    task(folder, '["/app/total.txt"]', "Add up the amounts of north in sales.csv. Write the sum to /app/total.txt.", solve,
         tests__test_dot_sh=test, tests__test_state_dot_py=py)  # fmt: skip


def pytest_plain(folder: Path) -> None:
    """Pytest from the agent's folder, with relative paths, a fixture and parameters."""
    py = (
        "import csv\n\nimport pytest\n\n\n@pytest.fixture\ndef rows():\n    with open('result.csv', newline='') as f:\n"
        "        return list(csv.DictReader(f))\n\n\n@pytest.mark.parametrize(('region', 'total'), [('north', 2624), "
        "('south', 1528), ('east', 98)])\ndef test_total(rows, region, total):\n    found = [int(r['total']) for r in rows "
        "if r['region'] == region]\n    assert found == [total]\n\n\ndef test_count(rows):\n    assert len(rows) == 3\n"
    )
    solve = (
        "python3 - <<'EOF'\nimport csv, collections\ns = collections.Counter()\nfor r in csv.DictReader(open('/app/sales.csv')):\n"
        "    s[r['region']] += int(r['amount'])\nwith open('/app/result.csv', 'w', newline='') as f:\n    w = csv.writer(f)\n"
        "    w.writerow(['region', 'total'])\n    w.writerows(s.items())\nEOF"
    )
    task(folder, '["/app/result.csv"]', "Write /app/result.csv with columns region and total.", solve,
         tests__test_dot_sh=f"#!/usr/bin/env bash\ncd /app\npython3 -m pytest -q /tests/test_result.py\n{IF}",
         tests__test_result_dot_py=py)  # fmt: skip


def unittest_discover(folder: Path) -> None:
    """unittest, with a helper module beside the tests."""
    py = (
        "import json\nimport unittest\n\nfrom helpers import close\n\n\nclass Report(unittest.TestCase):\n    def setUp(self):\n"
        "        with open('/app/out/report.json') as f:\n            self.report = json.load(f)\n\n"
        "    def test_mean(self):\n        self.assertTrue(close(self.report['mean'], 850.0))\n\n"
        "    def test_months(self):\n        self.assertEqual(sorted(self.report['months']), ['feb', 'jan'])\n\n\n"
        "if __name__ == '__main__':\n    unittest.main()\n"
    )
    solve = 'mkdir -p /app/out\necho \'{"mean": 850.0, "months": ["jan", "feb"]}\' > /app/out/report.json'
    task(folder, '["/app/out"]', "Write out/report.json with the mean amount (mean) and the list of months (months).", solve,
         tests__test_dot_sh=f"#!/bin/bash\ncd /tests && python3 -m unittest -v check_report\n{IF}",
         tests__check_report_dot_py=py, tests__helpers_dot_py="def close(a, b):\n    return abs(a - b) < 1e-6\n")  # fmt: skip


def script_json(folder: Path) -> None:
    """A plain script that writes several rewards as JSON."""
    py = (
        "import json, os, sys\n\nEXPECTED = {'north': 2624, 'south': 1528, 'east': 98}\nLOGS = os.environ.get('LOGS', "
        "'/logs/verifier')\n\n\ndef main():\n    try:\n        told = json.load(open('/app/totals.json'))\n    except "
        "(OSError, ValueError) as e:\n        return 0.0, str(e)\n    if not isinstance(told, dict):\n        return 0.0, "
        "'not an object'\n    return float(told == EXPECTED), ''\n\n\nreward, why = main()\nos.makedirs(LOGS, exist_ok=True)\n"
        "with open(os.path.join(LOGS, 'reward.json'), 'w') as f:\n    json.dump({'reward': reward}, f)\nprint(why)\n"
    )
    solve = "python3 /solution/solve.py"
    task(folder, '["/app/totals.json"]', "Sum the amounts per region into /app/totals.json (region to total).", solve,
         tests__test_dot_sh="#!/bin/bash\nset -e\npython3 /tests/grade.py\n", tests__grade_dot_py=py,
         solution__solve_dot_py="import csv, json\nt = {}\nfor r in csv.DictReader(open('/app/sales.csv')):\n    "
         "t[r['region']] = t.get(r['region'], 0) + int(r['amount'])\njson.dump(t, open('/app/totals.json', 'w'))\n")  # fmt: skip


def sh_functions(folder: Path) -> None:
    """POSIX sh with functions, and a reward for each exit."""
    test = (
        f'#!/bin/sh\nset -u\nREWARD={TEXT}\nfail() {{ echo "FAIL: $1"; echo 0 > "$REWARD"; exit 0; }}\n'
        "[ -f /app/top.txt ] || fail 'no top.txt'\n[ \"$(wc -l < /app/top.txt)\" -ge 1 ] || fail 'no lines'\n"
        "[ \"$(head -n 1 /app/top.txt | tr -d '[:space:]')\" = \"north\" ] || fail 'wrong region'\n"
        "grep -q '1420' /app/top.txt || fail 'wrong amount'\necho 1 > \"$REWARD\"\n"
    )
    task(folder, '["/app/top.txt"]', "Write the region with the largest single amount to the first line of top.txt, and "
         "that amount to the second.", "printf 'north\\n1420\\n' > /app/top.txt", tests__test_dot_sh=test)  # fmt: skip


def trap_zero(folder: Path) -> None:
    """Set -e with a trap that writes the reward."""
    test = (
        "#!/bin/bash\nset -euo pipefail\nscore=0\nmkdir -p /logs/verifier\n"
        f"trap 'echo \"$score\" > {TEXT}' EXIT\ntest -s /app/sorted.csv\n"
        "diff <(tail -n +2 /tests/want.csv | sort) <(tail -n +2 /app/sorted.csv | tr -d '\\r' | sort)\n"
        "[ \"$(sed -n 2p /app/sorted.csv | cut -d, -f3 | tr -d '\\r')\" = 1420 ]\nscore=1\n"
    )
    head, *rows = SALES.splitlines()
    want = "\n".join([head, *sorted(rows, key=lambda r: -int(r.split(",")[2]))]) + "\n"
    task(folder, '["/app/sorted.csv"]', "Sort the rows by amount, largest first, into /app/sorted.csv. Keep the header.",
         "(head -n 1 sales.csv; tail -n +2 sales.csv | sort -t, -k3,3nr) > sorted.csv",
         tests__test_dot_sh=test, tests__want_dot_csv=want)  # fmt: skip


def partial_credit(folder: Path) -> None:
    """A fraction of cases as the reward, by awk."""
    test = (
        "#!/bin/bash\npassed=0; total=0\nwhile IFS=, read -r region want; do\n  total=$((total+1))\n"
        "  got=$(awk -F= -v r=\"$region\" '$1==r {print $2}' /app/answers.env 2>/dev/null | tr -d '\\r')\n"
        '  [ "$got" = "$want" ] && passed=$((passed+1))\ndone < /tests/cases.csv\n'
        f"awk -v p=$passed -v t=$total 'BEGIN {{ printf \"%.4f\\n\", p/t }}' > {TEXT}\n"
    )
    task(folder, '["/app/answers.env"]', "Write lines region=total for each region to answers.env.",
         "awk -F, 'NR>1 {s[$1]+=$3} END {for (r in s) print r \"=\" s[r]}' sales.csv > answers.env",
         tests__test_dot_sh=test, tests__cases_dot_csv="north,2624\nsouth,1528\neast,98\n")  # fmt: skip


def code_module(folder: Path) -> None:
    """A program of the agent's, run in a process of its own on several inputs."""
    py = (
        "import subprocess, sys, json, pathlib\n\nCASES = [('3 4 5', '12'), ('10', '10'), ('-1 1', '0'), ('7 7 7 7', '28')]\n\n\n"
        "def run(text):\n    done = subprocess.run([sys.executable, '/app/total.py'], input=text, capture_output=True, text=True, "
        "timeout=20)\n    return done.stdout.strip()\n\n\ngood = 0\nfor given, want in CASES:\n    try:\n        good += run(given) "
        "== want\n    except Exception as error:\n        print(error)\n"
        "pathlib.Path('/logs/verifier/reward.txt').write_text('1' if good == len(CASES) else '0')\n"
    )
    task(folder, '["/app/total.py"]', "Write total.py. It reads integers from stdin and prints their sum.",
         "cat > total.py <<'PY'\nimport sys\nprint(sum(map(int, sys.stdin.read().split())))\nPY",
         tests__test_dot_sh="#!/bin/bash\npython3 /tests/run_cases.py\n", tests__run_cases_dot_py=py)  # fmt: skip


def database(folder: Path) -> None:
    """A database, read by a script within test.sh."""
    test = (
        "#!/bin/bash\npython3 - <<'EOF'\nimport sqlite3, os\nok = False\npath = '/app/shop.db'\nif os.path.exists(path):\n    try:\n"
        "        db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)\n        ok = db.execute('select region, sum(amount) from "
        "sales group by region order by region').fetchall() == [('east', 98), ('north', 2624), ('south', 1528)]\n    except "
        f"sqlite3.Error as e:\n        print(e)\nopen('{TEXT}', 'w').write(str(int(ok)))\nEOF\n"
    )
    solve = (
        "python3 - <<'EOF'\nimport csv, sqlite3\ndb = sqlite3.connect('/app/shop.db')\ndb.execute('create table sales (region text, "
        "month text, amount integer)')\ndb.executemany('insert into sales values (?, ?, ?)', list(csv.reader(open('/app/sales.csv')))[1:])\n"
        "db.commit()\nEOF"
    )
    task(folder, '["/app/shop.db"]', "Load sales.csv into the table sales of shop.db.", solve, tests__test_dot_sh=test)


def globbed(folder: Path) -> None:
    """Outputs by a pattern, in a folder that is declared with an exclusion."""
    py = (
        "import glob, json, os\n\nwant = {'north': 2624, 'south': 1528, 'east': 98}\nfound = {}\nfor path in "
        "sorted(glob.glob('/app/out/*.json')):\n    try:\n        with open(path) as f:\n            found[os.path.splitext("
        "os.path.basename(path))[0]] = json.load(f)['total']\n    except (ValueError, KeyError, TypeError):\n        found['?'] = path\n"
        f"with open('{TEXT}', 'w') as f:\n    f.write('1.0' if found == want else '0.0')\n"
    )
    task(folder, '[{source = "/app/out", exclude = ["*.log"]}]', "For each region write out/REGION.json as {\"total\": …}.",
         "mkdir -p out\nfor r in north south east; do t=$(awk -F, -v r=$r '$1==r {s+=$3} END {print s}' sales.csv); "
         "echo \"{\\\"total\\\": $t}\" > out/$r.json; done",
         tests__test_dot_sh="#!/bin/bash\nexec python3 /tests/verify.py\n", tests__verify_dot_py=py)  # fmt: skip


def variable_path(folder: Path) -> None:
    """Paths from variables that the image sets."""
    py = (
        "import os\nfrom pathlib import Path\n\nHOME = Path(os.environ.get('APP_DIR', '/app'))\n\n\ndef test_list():\n    lines = "
        "(HOME / 'regions.txt').read_text().split()\n    assert sorted(lines) == ['east', 'north', 'south']\n"
    )
    task(folder, '["/app/regions.txt"]', "List the different regions in regions.txt, one per line.",
         "cut -d, -f1 sales.csv | tail -n +2 | sort -u > \"$APP_DIR/regions.txt\"", 'env = {APP_DIR = "/app"}\n',
         tests__test_dot_sh="#!/bin/bash\nLOG_DIR=${LOG_DIR:-/logs/verifier}\nif pytest -p no:cacheprovider /tests/test_regions.py; "
         "then r=1; else r=0; fi\necho $r > \"$LOG_DIR/reward.txt\"\n", tests__test_regions_dot_py=py)  # fmt: skip


def several_outputs(folder: Path) -> None:
    """Two outputs, a conftest and a package of tests."""
    task(folder, '["/app/min.txt", "/app/max.txt"]', "Write the smallest amount to min.txt and the largest to max.txt.",
         "echo 98 > min.txt\necho 1420 > max.txt",
         tests__test_dot_sh=f"#!/bin/bash\npytest -q /tests/suite > /logs/verifier/out.txt 2>&1\n{IF}",
         tests__suite__conftest_dot_py="from pathlib import Path\n\nimport pytest\n\n\n@pytest.fixture\ndef app():\n    return Path('/app')\n",
         tests__suite__test_min_dot_py="def test_min(app):\n    assert float((app / 'min.txt').read_text()) == 98\n",
         tests__suite__test_max_dot_py="def test_max(app):\n    assert float((app / 'max.txt').read_text()) == 1420\n")  # fmt: skip


def tolerant(folder: Path) -> None:
    """A number with a tolerance, compared with a file of the tests."""
    py = (
        "import json, math, pathlib\n\nwant = json.loads(pathlib.Path(__file__).with_name('expected.json').read_text())\n\ntry:\n"
        "    got = float(pathlib.Path('/app/stdev.txt').read_text())\n    ok = math.isfinite(got) and math.isclose(got, want['stdev'], "
        "rel_tol=1e-3)\nexcept (OSError, ValueError):\n    ok = False\npathlib.Path('/logs/verifier').mkdir(parents=True, "
        "exist_ok=True)\npathlib.Path('/logs/verifier/reward.json').write_text(json.dumps({'reward': int(ok)}))\n"
    )
    task(folder, '["/app/stdev.txt"]', "Write the sample standard deviation of the amounts to stdev.txt.",
         "python3 -c \"import csv, statistics; print(statistics.stdev(int(r['amount']) for r in csv.DictReader(open('sales.csv'))))\" > stdev.txt",
         tests__test_dot_sh="python3 /tests/check.py\n", tests__check_dot_py=py,
         tests__expected_dot_json='{"stdev": 513.3892}\n')  # fmt: skip


def make_target(folder: Path) -> None:
    """Edits a given file in place; bash with a report and a last exit."""
    test = (
        '#!/bin/bash\nerrors=0\ncheck() { if ! eval "$2"; then echo "not ok - $1"; errors=$((errors + 1)); fi; }\n'
        "check 'port' \"grep -Eq '^port *= *9090' /app/app.ini\"\ncheck 'debug off' \"! grep -Eqi '^debug *= *true' /app/app.ini\"\n"
        "check 'host kept' \"grep -q '^host = db.local' /app/app.ini\"\n"
        f"if (( errors == 0 )); then echo 1.0 > {TEXT}; else echo 0.0 > {TEXT}; fi\nexit 0\n"
    )
    task(folder, '["/app/app.ini"]', "In /app/app.ini set the port to 9090 and switch debug off. Leave the rest alone.",
         "sed -i -e 's/^port = .*/port = 9090/' -e 's/^debug = .*/debug = false/' /app/app.ini", tests__test_dot_sh=test,
         environment__app_dot_ini="[server]\nhost = db.local\nport = 8080\ndebug = true\n")  # fmt: skip
    change(folder, "environment/Dockerfile", "COPY sales.csv /app/sales.csv", "COPY app.ini sales.csv ./")


def database_given(folder: Path) -> None:
    """Edits a given database; tables, types and rows are checked."""
    test = (
        "#!/bin/bash\npython3 - <<'EOF'\nimport sqlite3\nok = False\ntry:\n    db = sqlite3.connect('file:/app/stock.db?mode=ro', uri=True)\n"
        "    kind = db.execute(\"select type from sqlite_master where name = 'stock'\").fetchall()\n    types = db.execute('select distinct "
        "typeof(price) from stock').fetchall()\n    rows = db.execute('select item, price from stock order by item').fetchall()\n"
        "    ok = rows == [('cup', 13), ('pan', 31), ('pot', 46)] and kind == [('table',)] and types == [('integer',)]\n"
        f"except sqlite3.Error as e:\n    print(e)\nopen('{TEXT}', 'w').write(str(int(ok)))\nEOF\n"
    )
    solve = (
        "python3 - <<'EOF'\nimport sqlite3\ndb = sqlite3.connect('/app/stock.db')\ndb.execute('update stock set price = price + 1')\n"
        "db.commit()\nEOF"
    )
    task(
        folder,
        '["/app/stock.db"]',
        "Raise each price in the table stock of /app/stock.db by 1.",
        solve,
        tests__test_dot_sh=test,
    )
    db = sqlite3.connect(folder / "environment/stock.db")
    db.execute("create table stock (item text, price integer)")
    db.executemany("insert into stock values (?, ?)", [("cup", 12), ("pan", 30), ("pot", 45)])
    db.commit()
    db.close()
    change(folder, "environment/Dockerfile", "COPY sales.csv /app/sales.csv", "COPY sales.csv stock.db ./")


def trajectory_rules(folder: Path) -> None:
    """An output, and a rule for the commands of the trajectory that the agent leaves."""
    py = (
        "import json, os\n\nSTEPS = '/logs/agent/trajectory.json'\ngood = os.path.exists('/app/total.txt') and "
        "open('/app/total.txt').read().strip() == '2624'\nsteps = json.load(open(STEPS))['steps'] if os.path.exists(STEPS) else []\n"
        "ran = [call['arguments']['command'] for step in steps for call in step.get('tool_calls', [])]\n"
        "allowed = not any('rm -rf' in command for command in ran)\n"
        f"open('{TEXT}', 'w').write(str(float(good and allowed)))\n"
    )
    solve = "awk -F, '$1==\"north\" {s+=$3} END {print s}' /app/sales.csv > /app/total.txt"
    task(folder, '["/app/total.txt", "/logs/agent/trajectory.json"]', "Add up the amounts of north in sales.csv. Write the sum "
         "to /app/total.txt. Delete no folder.", solve, tests__test_dot_sh="python3 /tests/check.py\n", tests__check_dot_py=py)  # fmt: skip


HARBOR: dict[str, Make] = {
    one.__name__: one
    for one in (
        pytest_ctrf, pytest_plain, unittest_discover, script_json, sh_functions, trap_zero, partial_credit, code_module,
        database, globbed, variable_path, several_outputs, tolerant, make_target, database_given, trajectory_rules,
    )
}  # fmt: skip
"""Sound Harbor tasks."""


def _made(format: str, number: int, folder: Path) -> Path:
    return made_envs.make(format, folder, number)


SOUND: dict[str, Make] = {
    **{f"harbor, {name}": make for name, make in HARBOR.items()},
    **{f"{format}, {number}": partial(_made, format, number) for format in made_envs.MAKERS for number in range(4)},
}
"""Sound folders of all formats."""
