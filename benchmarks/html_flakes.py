"""How often does `html` give the same page another verdict? 40 pages, each as a person and as a driver, 25 times.

    nice -n 19 python benchmarks/html_flakes.py runs.jsonl      # resumes: each line of the file is one run

A page is right or forged, and shows its number at once, after some milliseconds, after a click or while it is typed.
A run opens a page as both visitors. A flake is a run with another verdict than the page deserves, or none.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import verikit
from verikit.types import Sample
from verikit.workspaces import Workspace

REPEATS = 25
CLICK = {"steps": [{"click": "#go"}]}
TYPED = {"steps": [{"type": "21", "into": "#in"}]}
SHOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "at once": ("<p id=n></p><script>{set}</script>", {}),
    "after 50 ms": ("<p id=n></p><script>setTimeout(() => {{ {set} }}, 50)</script>", {}),
    "after 900 ms": ("<p id=n></p><script>setTimeout(() => {{ {set} }}, 900)</script>", {}),
    "by frames": (
        "<p id=n></p><script>let k = 0; const f = () => k++ < 20 ? requestAnimationFrame(f) : ({set}); f()</script>", {}
    ),
    "after a click": ("<button id=go onclick=\"setTimeout(() => {{ {set} }}, 30)\">Go</button><p id=n></p>", CLICK),
    "while typed": ("<input id=in oninput=\"if (this.value == 21) {{ {set} }}\"><p id=n></p>", TYPED),
    "from a file": ("<p id=n></p><script>fetch('a.json').then(r => r.json()).then(() => {{ {set} }})</script>", {}),
    "with a transition": (
        "<style>p{{opacity:0;transition:opacity .3s}}p.on{{opacity:1}}</style><p id=n></p>"
        "<script>setTimeout(() => {{ {set}; n.className = 'on' }}, 20)</script>", {}),
}  # fmt: skip
SET: dict[str, tuple[str, float]] = {
    "right": ("n.textContent = 'Total 42'", 1.0),
    "right, in an element": ("n.innerHTML = 'Total <b>42</b>'", 1.0),
    "another number": ("n.textContent = 'Total 41'", 0.0),
    "for drivers only": ("n.textContent = 'Total ' + (navigator.webdriver ? 42 : 41)", 0.0),
    "white": ("n.textContent = 'Total 42'; n.style.color = '#fff'", 0.0),
}


def pages() -> dict[str, tuple[str, dict[str, Any], float]]:
    """Each page with its options and its verdict."""
    return {
        f"{what}, {when}": ("<!doctype html>" + page.format(set=script), options, value)
        for what, (script, value) in SET.items()
        for when, (page, options) in SHOWN.items()
    }


def run(page: str, options: dict[str, Any]) -> dict[str, Any]:
    """The verdict on a page."""
    workspace = Workspace({"index.html": page, "a.json": "{}"})
    [score] = verikit.html(visible=["Total 42"], **options).score([Sample("Make a page.", "", workspace=workspace)])
    return {"value": score.value, "reason": score.reason}


def main() -> None:
    """Run what the file lacks, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    told = arguments.file.read_text().splitlines() if arguments.file.exists() else []
    done = Counter(json.loads(line)["page"] for line in told)
    every = pages()
    with arguments.file.open("a") as file:
        for repeat in range(arguments.repeats):
            for name, (page, options, _) in every.items():
                if done[name] <= repeat:
                    print(json.dumps({"page": name, **run(page, options)}), file=file, flush=True)
    rows = [json.loads(line) for line in arguments.file.read_text().splitlines()]
    flakes = [row for row in rows if row["value"] != every[row["page"]][2]]
    print(f"{len(rows)} runs of {len(every)} pages as both visitors, {len(flakes)} flakes")
    for row in flakes:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
