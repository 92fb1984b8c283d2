"""Runs made by the real commands, and the page's data read back."""

import json
import math
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from verikit.cli import main
from verikit.report import Options, report
from verikit.scoring.folder import Folder

EXAMPLES = ROOT / "examples"
HOSTILE = [
    "</script><script>window.pwned = 1</script>",
    "<!--<script>",
    "<!-- <script> </script> -->",
    "]]><![CDATA[",
    "<img src=x onerror='window.pwned = 2'>",
    "<svg onload=window.pwned=3>",
    "javascript:window.pwned=4",
    "\u2028\u2029 \u0000 \ud800 \ufeff",
    "</pre></main><style>*{display:none}</style><iframe src='https://example.org/'></iframe>",
    '"}];window.pwned=5;//',
    "%%POLICY%% %%DATA%% ${window.pwned=6} {{7*7}}",
    "<base href='https://example.org/'><meta http-equiv=refresh content='0;url=https://example.org/'>",
    "\u202egnorw si rewsna siht\u202c " + "Z\u0351\u036b\u0343" * 50,
]


@pytest.fixture
def verikit(monkeypatch, tmp_path):
    """The command in this process, in the folder of the test; returns its exit code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["verikit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return run


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def edited(run, config):
    """Another config.json, as if the run had been made with it."""
    (run / "config.json").write_text(json.dumps(config))
    with Folder(run, ()) as folder:
        folder.seal("config.json", "summary.json")


def island(page: bytes):
    """The page's data, cut out as a browser's parser does: up to the first end of a script."""
    start = page.index(b'id="data">') + len(b'id="data">')
    return json.loads(page[start : page.index(b"</script", start)])


def shown(*runs, **options):
    """The data of a page of runs."""
    return island(report([Path(run) for run in runs], Options(**options)))


def texts(data, item):
    """A sample's texts by their titles."""
    return {entry[0]: data["strings"][entry[1]] for entry in item["texts"]}


def table(run, title):
    return next(entry for entry in run["tables"] if entry["title"] == title)


def chart(run, key):
    return next(entry for entry in run["charts"] if entry["key"] == key)


CONFIG = {"recipe": "arithmetic", "seed": 0, "model": {"path": "m"}, "optimizer": {"lr": 0.1}, "run": {"steps": 3}}


def row(step, phase="1-train", **more):
    return {"phase": phase, "step": step, "seconds": step * 2.0, **more}


def sample(step, reward, **more):
    base = {"step": step, "role": "policy", "task": "", "prompt": "1+1=", "completion": f"{step}", "answer": "2"}
    return base | {"reward": reward, "finished": True, "parts": {}} | more


def training_run(run):
    """The folder of a small training run with a warm-up, one step's KL being no number."""
    run.mkdir()
    (run / "config.json").write_text(json.dumps(CONFIG))
    warm = [row(step, "0-warmup", loss=3 / step, tokens=9.0 + step) for step in (1, 2, 3)]
    held = [row(0, **{"held-out/greedy": 0.25}), row(3, **{"held-out/greedy": 0.75})]
    steps = [row(i, reward=i / 4, passed=i / 4, loss=-0.1 * i, kl=math.nan, unscored=1.0, tokens=i) for i in (1, 2, 3)]
    write(run / "metrics.jsonl", [*warm, held[0], *steps, held[1]])
    parts = {"format": 1.0, "answer": 0.0}
    write(run / "samples.jsonl", [sample(1, 1.0), sample(1, None), sample(3, 0.0, finished=False, parts=parts)])
    return run
