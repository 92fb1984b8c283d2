"""The small worlds that CI trains: what each must reach, and by how much it does on other processors' arithmetic.

    python -m benchmarks.learning measure RUNS      # every world, arithmetic and seed that RUNS lacks, two at a time
    python -m benchmarks.learning table RUNS

The kernels that torch picks for a processor round differently, and training enlarges the last bits. A bar that a world
passes on one machine can therefore fail on another. `WORLDS` holds the bars that the tests assert, in one place. The
table shows, over seeds and arithmetics, how many standard deviations each bar is away from what was measured.

A processor's arithmetic is set by environment variables (`arithmetics`). Where two of them give the same weights after
`PROBE` steps of a world's warm-up, they are one arithmetic, and only the first is trained. With AVX2 and AVX-512 a
second thread changes nothing in models this small. With the base instruction set it does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SEEDS = range(5)
PROBE = 10
LEVELS = {
    "default": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2"},
    "avx512": {"ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
}
"""Instruction sets, by the variables of torch's kernels, oneDNN and MKL."""
FLAGS = {"avx2": "avx2", "avx512": "avx512f"}
"""What Linux calls them. torch does not check that the processor has what it is told to use."""
Figures = dict[str, float]


def arithmetics() -> dict[str, dict[str, str]]:
    """Return the arithmetics that this processor can do, each with its environment variables."""
    information = Path("/proc/cpuinfo")
    flags = set(information.read_text("utf-8").split()) if information.exists() else set()
    return {
        f"{level}, {threads} thread{'s' if threads > 1 else ''}": settings
        | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
        for level, settings in LEVELS.items()
        if level not in FLAGS or FLAGS[level] in flags
        for threads in (1, 2)
    }


@dataclass(frozen=True)
class World:
    """A world that is trained from a seed, and the least that it must reach."""

    measure: Callable[[Path, int], Figures]
    """Trains in a folder from a seed; returns the figures that `bars` names."""
    bars: Mapping[str, float]
    config: str = ""
    """The config of `verikit train`, if it has a warm-up; its arithmetic is probed by it."""
    seconds: int = 60
    """About how long it takes, in CPU seconds. CI starts with the longest."""


def failures(world: str, figures: Figures) -> list[str]:
    """Return which figures of a world are below their bars."""
    found = [(name, figures[name], bar) for name, bar in WORLDS[world].bars.items()]
    return [f"{world}: {name} is {value:.3f}, below {bar}" for name, value, bar in found if not value >= bar]


def check(world: str, folder: Path, seed: int = 0) -> None:
    """Train a world and hold it to its bars.

    Raises:
        AssertionError: it does not reach them.
    """
    figures = WORLDS[world].measure(folder, seed)
    print(f"{world}, seed {seed}: {figures}")
    assert not failures(world, figures)


Logged = dict[str, list[float]]
"""Each number of a run's metrics.jsonl, by its name, without the warm-up's."""


def trained(folder: Path, seed: int, config: str, **settings: Any) -> Logged:
    """Train a config in a folder; settings are tables, as `verikit.train` takes them."""
    import verikit

    found: Logged = {}
    for row in verikit.train(config, out=folder / "run", quiet=True, seed=seed, **settings).records():
        for name, value in row.items():
            if row["phase"] != "0-warmup" and isinstance(value, (int, float)):
                found.setdefault(name, []).append(value)
    return found


def rises(config: str, *names: str, **settings: Any) -> Callable[[Path, int], Figures]:
    """Return what trains a config and measures how far held-out numbers rise from the first evaluation to the last."""

    def measure(folder: Path, seed: int) -> Figures:
        logged = trained(folder, seed, config, **settings)
        return {f"{name}, rise": _rise(logged[f"held-out/{name}"]) for name in names}

    return measure


def _rise(values: list[float]) -> float:
    return values[-1] - values[0]


def _arithmetic(folder: Path, seed: int) -> Figures:
    sampled = trained(folder, seed, "arithmetic", run={"evaluate_every": 60})["held-out/sampled"]
    return {"sampled, end": sampled[-1], "sampled, rise": _rise(sampled)}


def _absolute_zero(folder: Path, seed: int) -> Figures:
    logged = trained(folder, seed, "absolute-zero-tiny", run={"steps": 20, "evaluate_every": 20})
    found = [_rise(logged[f"held-out/{task}"]) for task in ("deduction", "abduction", "induction")]
    return {"mean of the tasks, rise": statistics.fmean(found), "least of the tasks, rise": min(found)}


def _elo(folder: Path, seed: int) -> Figures:
    logged = trained(folder, seed, "elo-evolve-tiny")
    opponents = logged["opponent_rating"]
    return {
        "win rate, rise": _rise(logged["held-out/win_rate"]),
        "rating, rise": _rise(logged["held-out/rating"]),
        "opponents' rating, rise": statistics.fmean(opponents[-10:]) - statistics.fmean(opponents[:10]),
    }


def _script(name: str, *options: str) -> Callable[[Path, int], dict[str, Any]]:
    def run(folder: Path, seed: int) -> dict[str, Any]:
        command = [sys.executable, str(ROOT / "examples/genprm" / name), str(folder / "out"), "--seed", str(seed)]
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=2400)
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])
        found: dict[str, Any] = json.loads((folder / "out/metrics.json").read_text())
        return found

    return run


def _execution(folder: Path, seed: int) -> Figures:
    found = _script("prove.py", "--short", "--steps", "700")(folder, seed)
    ran, read, best = found["full, T=0"], found["unexecuted, T=0"], found["best of 8"]
    return {
        "AUC": ran["AUC"],
        "AUC up to the first error, over reading": ran["AUC up to the first error"] - read["AUC up to the first error"],
        "AUC of result errors, over reading": ran["AUC of result errors"] - read["AUC of result errors"],
        "best of 8, over the majority": best["min"] - best["majority"],
    }


def _policy(folder: Path, seed: int) -> Figures:
    found = _script("policy.py", "--short")(folder, seed)
    labels, executed = found["labels against the truth"], found["critic: executed"]["right"]
    paths = found["synthesis"]["paths"]
    return {
        "rationales a path": found["synthesis"]["rationales"]["written"] / (paths["right"] + paths["wrong"]),
        "right labels of what is kept": labels["kept: steps"],
        "… over all": labels["kept: steps"] - labels["labelled: steps"],
        "AUC, over reading": found["executed"]["AUC"] - found["unexecuted"]["AUC"],
        "right after a critic, rise": executed[-1] - executed[0],
        "… over doubts at random": executed[-1] - found["critic: random step of every solution"]["right"][-1],
    }


def _demonstrations(folder: Path, seed: int) -> Figures:
    from tests.engines import tiny

    tiny.save(folder / "model")
    rows = [{"prompt": f"{i} +", "completion": f" {i % 3} = yes"} for i in range(40)]
    options = {"data": _written(folder, rows), "batch": 16, "held_out_size": 8}
    run = {"steps": 30, "evaluate_every": 30}
    model = {"path": str(folder / "model")}
    logged = trained(folder, seed, "sft", model=model, options=options, optimizer={"lr": 3e-3}, run=run)
    losses = logged["held-out/loss"]
    return {"held-out loss, share that falls": 1 - losses[-1] / losses[0]}


def _step_labels(folder: Path, seed: int) -> Figures:
    import torch
    import transformers

    from tests.engines import tiny

    torch.manual_seed(seed)
    tokenizer = tiny.tokenizer()
    size: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
    }
    heads: dict[str, Any] = {"num_attention_heads": 2, "num_key_value_heads": 2, "num_labels": 2}
    model = transformers.Qwen2ForTokenClassification(transformers.Qwen2Config(**size, **heads))
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    labels = {"fox": 1, "dog": 0}
    rows = [{"problem": "x", "steps": list(labels), "labels": list(labels.values())}] * 16
    options = {"data": _written(folder, rows), "batch": 8}
    supervised: dict[str, Any] = {
        "recipe": "step-labels",
        "model": {"path": str(folder / "model")},
        "run": {"steps": 20},
    }
    losses = trained(folder, seed, "sft", options=options, optimizer={"lr": 1e-2}, **supervised)["loss"]
    return {"loss, share that falls": 1 - losses[-1] / losses[0]}


def _written(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


WORLDS = {
    "demonstrations": World(_demonstrations, {"held-out loss, share that falls": 0.7}, seconds=6),
    "step labels": World(_step_labels, {"loss, share that falls": 0.8}, seconds=6),
    "arithmetic": World(_arithmetic, {"sampled, end": 0.85, "sampled, rise": 0.4}, "arithmetic", 30),
    "tools": World(
        rises("tools-tiny", "greedy", run={"steps": 15}, options={"evaluate_samples": 0}),
        {"greedy, rise": 0.8},
        "tools-tiny",
        35,
    ),
    "Absolute Zero": World(
        _absolute_zero, {"mean of the tasks, rise": 0.15, "least of the tasks, rise": 0.05}, "absolute-zero-tiny", 50
    ),
    "SPICE": World(
        rises("spice-tiny", "accuracy", run={"steps": 100, "evaluate_every": 100}),
        {"accuracy, rise": 0.08},
        "spice-tiny",
        75,
    ),
    "Elo-Evolve": World(
        _elo, {"win rate, rise": 0.15, "rating, rise": 15, "opponents' rating, rise": 0.0}, "elo-evolve-tiny", 32
    ),
    "R1-Searcher": World(
        rises("r1-searcher-tiny", "cover-em", "searches"),
        {"cover-em, rise": 0.15, "searches, rise": 0.15},
        "r1-searcher-tiny",
        30,
    ),
    "GenPRM executes": World(
        _execution,
        {
            "AUC": 0.9,
            "AUC up to the first error, over reading": 0.15,
            "AUC of result errors, over reading": 0.25,
            "best of 8, over the majority": 0.05,
        },
        seconds=100,
    ),
    "GenPRM of a policy": World(
        _policy,
        {
            "rationales a path": 1.0,
            "right labels of what is kept": 0.9,
            "… over all": 0.0,
            "AUC, over reading": 0.1,
            "right after a critic, rise": 0.0,
            "… over doubts at random": 0.0,
        },
        seconds=75,
    ),
}


def fingerprint(world: str) -> str:
    """Return a hash of a world's weights after a few steps of its warm-up, on this process's arithmetic."""
    import torch

    from verikit.trainers.config import load_config
    from verikit.trainers.distributed import World as Processes
    from verikit.trainers.experience import supervised
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.run import RunFolder

    with tempfile.TemporaryDirectory() as folder:
        config = load_config(WORLDS[world].config or "arithmetic", ["seed=0"])
        opened = RunFolder(Path(folder) / "run")
        opened.begin(config, 1)
        trainer = Trainer(config, opened, Processes())
        try:
            for step in range(1, PROBE + 1):
                trainer.learner.learn(supervised(trainer.recipe.demonstrations(step)).rows, step)
            sums = hashlib.sha256()
            for parameter in trainer.policy.parameters():
                sums.update(parameter.detach().view(torch.uint8).numpy().tobytes())
        finally:
            trainer.close()
            opened.close()
    return sums.hexdigest()[:12]


def in_a_process(kind: str, world: str, arithmetic: str, seed: int = 0) -> dict[str, Any]:
    """Train or probe a world in a process of its own, on an arithmetic; returns a row with `error` if that fails."""
    command = [sys.executable, "-m", "benchmarks.learning", kind, world, str(seed)]
    environment = {**os.environ, **arithmetics()[arithmetic]}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    told = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"error": done.stderr[-2000:]}
    return {"kind": kind, "world": world, "arithmetic": arithmetic, "seed": seed, **told}


def _read(runs: Path) -> list[dict[str, Any]]:
    path = runs / "rows.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def _distinct(rows: list[dict[str, Any]], world: str) -> Iterator[str]:
    """The arithmetics that give a world other weights than those before them."""
    seen = set()
    for arithmetic in arithmetics():
        (print_of,) = [
            row["fingerprint"]
            for row in rows
            if (row["kind"], row["world"], row["arithmetic"]) == ("probe", world, arithmetic)
        ]
        if print_of not in seen:
            seen.add(print_of)
            yield arithmetic


def measure(runs: Path, worlds: list[str], trained_on: list[str], workers: int) -> None:
    """Measure what is missing; rows are added as they come, so an interrupted call goes on where it was.

    Args:
        runs: The folder of the rows.
        worlds: The names of those to train.
        trained_on: The arithmetics to train on, of those that differ for a world.
        workers: Processes at a time.
    """
    runs.mkdir(parents=True, exist_ok=True)

    def add(wanted: list[tuple[str, str, str, int]]) -> None:
        done = {(row["kind"], row["world"], row["arithmetic"], row["seed"]) for row in _read(runs)}
        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(in_a_process, *one) for one in wanted if one not in done]
            for number, future in enumerate(futures, 1):
                row = future.result()
                if "error" in row:
                    raise SystemExit(f"{row['world']}, {row['arithmetic']}, seed {row['seed']}: {row['error']}")
                with open(runs / "rows.jsonl", "a", encoding="utf-8") as stream:
                    stream.write(json.dumps(row) + "\n")
                print(f"{number}/{len(futures)} {row}", flush=True)

    add([("probe", world, arithmetic, 0) for world in worlds for arithmetic in arithmetics()])
    probed = _read(runs)
    add(
        [
            ("train", world, arithmetic, seed)
            for seed in SEEDS
            for world in worlds
            for arithmetic in _distinct(probed, world)
            if arithmetic in trained_on
        ]
    )


def missed(runs: Path) -> list[str]:
    """Return every bar that a run did not reach."""
    return [
        f"{row['arithmetic']}, seed {row['seed']}: {told}"
        for row in _read(runs)
        if row["kind"] == "train"
        for told in failures(row["world"], row["figures"])
    ]


def table(runs: Path) -> Iterator[str]:
    """Yield the table of docs/benchmarks.md: each figure over its runs, and how far its bar is away."""
    yield "| world | figure | runs | arithmetics | least | mean | s.d. | bar | s.d. to the bar |"
    yield "|---|---|---|---|---|---|---|---|---|"
    rows = [row for row in _read(runs) if row["kind"] == "train"]
    for name, world in WORLDS.items():
        own = [row for row in rows if row["world"] == name]
        for figure, bar in world.bars.items() if len(own) > 1 else ():
            values = [row["figures"][figure] for row in own]
            mean, deviation = statistics.fmean(values), statistics.stdev(values)
            distance = f"{(mean - bar) / deviation:.1f}" if deviation else "∞"
            arithmetics = len({row["arithmetic"] for row in own})
            yield (
                f"| {name} | {figure} | {len(values)} | {arithmetics} | {min(values):.3f} | {mean:.3f}"
                f" | {deviation:.3f} | {bar:g} | {distance} |"
            )


def main() -> None:
    """Measure, or print the table; `train` and `probe` are what `measure` runs for one world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measures = commands.add_parser("measure", help="Train what is missing.")
    measures.add_argument("runs", type=Path)
    measures.add_argument("--worlds", nargs="*", choices=WORLDS, default=list(WORLDS))
    measures.add_argument("--arithmetics", nargs="*", choices=arithmetics(), default=list(arithmetics()))
    measures.add_argument("--workers", type=int, default=2)
    commands.add_parser("table", help="Print the table.").add_argument("runs", type=Path)
    for kind in ("train", "probe"):
        one = commands.add_parser(kind, help="One world, on this process's arithmetic.")
        one.add_argument("world", choices=WORLDS)
        one.add_argument("seed", type=int)
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.runs, given.worlds, given.arithmetics, given.workers)
    elif given.command == "table":
        print("\n".join(table(given.runs)))
        if told := missed(given.runs):
            raise SystemExit("\n".join(told))
    elif given.command == "probe":
        print(json.dumps({"fingerprint": fingerprint(given.world)}))
    else:
        before = os.times()
        with tempfile.TemporaryDirectory() as folder:
            figures = WORLDS[given.world].measure(Path(folder), given.seed)
        cpu = sum(os.times()[:4]) - sum(before[:4])
        print(json.dumps({"figures": figures, "cpu_s": round(cpu, 1)}))


if __name__ == "__main__":
    main()
