"""Tables and curves of what `benchmarks.proofs` found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

JsonObject = dict[str, Any]
MARKS = ("<!-- measured", "<!-- end -->")
"""What stands between these lines of the page is written anew: `<!-- measured NAME -->`."""
ARM_NAMES = {
    "answer": "GRPO, right answers",
    "form": "GRPO, form alone",
    "LoRA": "GRPO, right answers, LoRA r16",
    "longer": "GRPO, right answers, 50 steps",
}
COLORS = {"answer": "#1b6ac9", "form": "#8a8a8a", "LoRA": "#d1651b", "longer": "#1a8f4b"}
WINDOW = 4
"""Steps averaged for a point of a curve: a step has 64 replies."""
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 320, 52, 16, 16, 44


def write_page(results: Path, page: Path) -> None:
    """Put the tables into the page, and the curves into an SVG beside it."""
    found = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(results.glob("*.json"))}
    text = page.read_text("utf-8")
    for name, table in tables(found).items():
        text = replaced(text, name, table)
    page.write_text(text, "utf-8")
    curves = {arm: [run["curve"] for run in runs(found, f"grpo-{arm}-")] for arm in ARM_NAMES}
    page.with_suffix(".svg").write_text(svg({arm: some for arm, some in curves.items() if some}), "utf-8")


def replaced(text: str, name: str, table: str) -> str:
    """Put a table between the marks of its name; a page without them stays as it is."""
    begin = f"{MARKS[0]} {name} -->\n"
    if begin not in text:
        return text
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n{table}\n{MARKS[1]}{rest.split(MARKS[1], 1)[1]}"


def tables(found: Mapping[str, JsonObject]) -> dict[str, str]:
    """Return each table of which there is anything."""
    made = {}
    if "start" in found and runs(found, "grpo-"):
        made["grpo"] = grpo_table(found)
    if some := runs(found, "best-"):
        made["best"] = best_table(some)
    before = found.get("search-start")
    if before and (some := [run for run in runs(found, "search-") if run is not before]):
        made["search"] = search_table(before, some)
    if "retrieval" in found:
        made["retrieval"] = retrieval_table(found["retrieval"])
    return made


def runs(found: Mapping[str, JsonObject], prefix: str) -> list[JsonObject]:
    """The results of which the name begins so, by name."""
    return [found[name] for name in sorted(found) if name.startswith(prefix)]


def grpo_table(found: Mapping[str, JsonObject]) -> str:
    """Held-out greedy accuracy of each arm, and how far it is above the reward for the form alone."""
    keys = ("last number", "last number, 1", "last number, 2", "answer", "form")
    lines = ["| | last number right | one step | two steps | `answer` | form kept |", "|---|---|---|---|---|---|"]
    for label, key in (("the model as it comes", "before"), ("shown the form: the start of all", "held_out")):
        lines.append(row(label, [percent([found["start"][key][name]]) for name in keys]))
    for arm, label in ARM_NAMES.items():
        if some := [run["held_out"] for run in runs(found, f"grpo-{arm}-")]:
            seeds = f"{label}, {len(some)} seed{'s' if len(some) > 1 else ''}"
            lines.append(row(seeds, [percent([held_out[name] for held_out in some]) for name in keys]))
    told = [
        f"{label}: {points(gained)} points."
        for label, gained in (
            ("Right answers above the form alone", differences(found, "answer", "form")),
            ("LoRA above full training", differences(found, "LoRA", "answer")),
            ("50 steps above the form alone", differences(found, "longer", "form")),
        )
        if gained
    ]
    return "\n".join([*lines, *(["", *told] if told else [])]) + "\n"


def differences(found: Mapping[str, JsonObject], arm: str, other: str) -> list[float]:
    """How far an arm's held-out share is above another's, for each seed that both have."""
    shares = [
        {name.rpartition("-")[2]: run["held_out"]["last number"] for name, run in found.items() if name.startswith(key)}
        for key in (f"grpo-{arm}-", f"grpo-{other}-")
    ]
    return [shares[0][seed] - shares[1][seed] for seed in sorted(shares[0].keys() & shares[1].keys())]


def points(values: Sequence[float]) -> str:
    """The mean in points with its sign, and the range."""
    return f"{100 * fmean(values):+.1f} [{100 * min(values):+.1f}, {100 * max(values):+.1f}]"


def best_table(some: Sequence[JsonObject]) -> str:
    """Shares of right answers by who chooses among eight."""
    lines = ["| | right |", "|---|---|"]
    for name in ("mean of 8", "majority of 8", "weighted", "best of 8", "any of 8", "judged right"):
        lines.append(row(name, [percent([run[name] for run in some])]))
    return "\n".join(lines) + "\n"


def search_table(start: JsonObject, some: Sequence[JsonObject]) -> str:
    """Held-out answers and searches before and after the rewards, and how many seeds rose in both."""
    lines = ["| | right | F1 | searches a question | searched |", "|---|---|---|---|---|"]
    label = f"R1-Searcher, {len(some)} seed{'s' if len(some) > 1 else ''}"
    for name, told in (("the cold start", [start]), (label, some)):
        held_out = [run["held_out"] for run in told]
        cells = [percent([metrics[key] for metrics in held_out]) for key in ("em", "f1")]
        searches = [metrics["searches"] for metrics in held_out]
        spread = f" [{min(searches):.2f}, {max(searches):.2f}]" if len(told) > 1 else ""
        cells += [f"{fmean(searches):.2f}{spread}", percent([metrics["searched"] for metrics in held_out])]
        lines.append(row(name, cells))
    rose = sum(all(run["held_out"][key] > start["held_out"][key] for key in ("em", "searches")) for run in some)
    return "\n".join([*lines, "", f"Right answers and searches rose in {rose} of {len(some)}."]) + "\n"


def retrieval_table(found: JsonObject) -> str:
    """Recall at k."""
    keys = [f"recall@{k}" for k in (2, 5, 10, 20, 100)] + ["mrr"]
    lines = ["| | R@2 | R@5 | R@10 | R@20 | R@100 | MRR |", "|---|---|---|---|---|---|---|"]
    for name, metrics in found.items():
        if name != "n":
            lines.append(row(f"`{name}`", [f"{metrics[key]:.3f}".removeprefix("0") for key in keys]))
    return "\n".join(lines) + "\n"


def row(label: str, cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {label} | {' | '.join(cells)} |"


def percent(values: Sequence[float]) -> str:
    """The mean in percent, and where there are several their range."""
    mean = f"{100 * fmean(values):.1f}"
    return f"{mean} [{100 * min(values):.1f}, {100 * max(values):.1f}]" if len(values) > 1 else mean


def svg(curves: Mapping[str, Sequence[Sequence[JsonObject]]]) -> str:
    """Draw, for each arm, the share of right replies over steps: the seeds' mean, and their range as a band."""
    last = max((len(curve) for some in curves.values() for curve in some), default=1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *axes(last),
    ]
    for number, (arm, some) in enumerate(curves.items()):
        steps = min(map(len, some))
        means = [[fmean(point["right"] for point in curve[max(0, at - WINDOW) : at]) for curve in some]
                 for at in range(1, steps + 1)]  # fmt: skip
        upper = [at_point(step, max(values), last) for step, values in enumerate(means, 1)]
        lower = [at_point(step, min(values), last) for step, values in enumerate(means, 1)]
        middle = [at_point(step, fmean(values), last) for step, values in enumerate(means, 1)]
        color = COLORS[arm]
        parts.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{color}" fill-opacity="0.18"/>')
        parts.append(f'<polyline points="{" ".join(middle)}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{LEFT + 12}" y="{TOP + 16 + 17 * number}" fill="{color}">{ARM_NAMES[arm]}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def axes(last: int) -> list[str]:
    """Lines and labels: shares from 0 to 100 %, steps from 0."""
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = at_point(0, share, last).split(",")[1]
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for step in range(0, last + 1, 5):
        x = at_point(step, 0, last).split(",")[0]
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{step}</text>')
    label = "step (64 sampled replies to questions not seen before; mean of four steps)"
    return [*parts, f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{label}</text>']


def at_point(step: float, share: float, last: int) -> str:
    """The point of a step and a share, as `x,y`."""
    x = LEFT + (WIDTH - LEFT - RIGHT) * step / last
    y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)
    return f"{x:.1f},{y:.1f}"
