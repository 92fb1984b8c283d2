"""The answer verifier beside its peers: accuracy by slice, and time per pair.

    python benchmarks/answers.py [--data DIR] [--peers] [--rows N] [--timing]

Data: the JSONL corpora described in docs/answer.md (`VERIKIT_DATA`/answers, or ../shared/data/answers). Peers, for the
benchmark only: math-verify (raw text, as its README uses it) and lm-eval's hendrycks_math and minerva_math checks
(antlr 4.11), which get one shared extractor. Timing is interleaved in one process: blocks of rows, every grader on each
block, medians over blocks of the CPU time, since the machine may be busy.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trl_reward import cpu

from verikit import Sample
from verikit.verifiers.answer import Answer

Row = dict[str, Any]
Grader = Callable[[Row], bool]
SLICES = [
    "gold_self", "equiv_peer", "HardVerify", "MATH outputs", "GSM8K outputs", "option letters", "QA text", "hostile",
]  # fmt: skip
HANGS = ("math-verify", "minerva")
"""Peers that can't be run on hostile rows in one process."""
MARK = "/tmp/verikit-answers-mark"


def data_folder(given: str | None) -> Path:
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(given) if given else Path(os.environ.get("VERIKIT_DATA", default)) / "answers"


def load(folder: Path) -> dict[str, list[Row]]:
    """Rows by slice; policy conflicts left out, generated predictions expanded."""
    slices: dict[str, list[Row]] = {name: [] for name in SLICES}
    for file in ("gold_self", "equiv_peer", "equiv_real", "hostile"):
        for line in (folder / f"{file}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            if not row.get("policy_conflict"):
                row["prediction"] = expand(row).replace("@MARK@", MARK)
                slices[slice_of(file, row)].append(row)
    return slices


def expand(row: Row) -> str:
    if row["prediction"] is not None:
        return str(row["prediction"])
    gen = row["prediction_gen"]
    if "unit" in gen:
        return str(gen["prefix"] + gen["unit"] * gen["n"] + gen["suffix"])
    return str(gen["prefix"] + gen["open"] * gen["n"] + gen["core"] + gen["close"] * gen["n"] + gen["suffix"])


def slice_of(file: str, row: Row) -> str:
    if file != "equiv_real":
        return file
    source = row["source"]
    if "HardVerify" in source:
        return "HardVerify"
    if row["kind"] == "mcq":
        return "option letters"
    if "R1-Searcher" in source:
        return "QA text"
    return "GSM8K outputs" if "gsm8k" in source else "MATH outputs"


def ours(verifier: Answer) -> Grader:
    def grade(row: Row) -> bool:
        sample = Sample(row.get("question") or "", row["prediction"], row["gold"])
        return verifier.score([sample])[0].value == 1.0

    return grade


def short_answer(text: str) -> str:
    """The extractor shared by the graders that take an answer, not a text."""
    from lm_eval.tasks.hendrycks_math.utils import last_boxed_only_string, remove_boxed

    try:
        return str(remove_boxed(last_boxed_only_string(text)))
    except (AssertionError, TypeError, IndexError, ValueError):
        pass
    for pattern in (r"####\s*(.+)", r"(?i)answer(?: is|:)\s*:?\s*(.{1,300}?)(?:\.\s|\.?$|\n)"):
        found = re.findall(pattern, text[-5_000:])
        if found:
            return str(found[-1]).strip().strip("*$. ")
    return text.strip() if len(text) < 300 else text.strip().rsplit("\n", 1)[-1]


def peers() -> dict[str, Grader]:
    """The graders to compare with; imports them here, as they are no dependency."""
    import logging

    logging.disable(logging.CRITICAL)
    import math_verify
    from lm_eval.tasks.hendrycks_math.utils import is_equiv as hendrycks_equiv
    from lm_eval.tasks.minerva_math.utils import is_equiv as minerva_equiv
    from lm_eval.tasks.minerva_math.utils import normalize_final_answer

    def wrapped(text: str) -> str:
        return f"${text}$" if len(text) < 300 and "$" not in text and "\\boxed" not in text else text

    def by_math_verify(row: Row) -> bool:
        gold, answer = (math_verify.parse(wrapped(row[key])) for key in ("gold", "prediction"))
        return bool(math_verify.verify(gold, answer))

    def by_hendrycks(row: Row) -> bool:
        return bool(hendrycks_equiv(short_answer(row["prediction"]), row["gold"].strip("$")))

    def by_minerva(row: Row) -> bool:
        answer, gold = short_answer(row["prediction"]), row["gold"]
        return bool(minerva_equiv(normalize_final_answer(answer), normalize_final_answer(gold)))

    return {"math-verify": by_math_verify, "hendrycks": by_hendrycks, "minerva": by_minerva}


def measure(grader: Grader, rows: list[Row]) -> dict[str, Any]:
    """Accuracy, false positives and negatives, exceptions, slow rows and the slowest."""
    right = false_positive = false_negative = errors = slow = 0
    negatives = positives = 0
    worst = 0.0
    for row in rows:
        start = time.perf_counter()
        try:
            passed = grader(row)
        except Exception:  # noqa: BLE001 - a peer's exception is a result here
            passed, errors = False, errors + 1
        took = time.perf_counter() - start
        worst, slow = max(worst, took), slow + (took > 0.25)
        if row["label"] is None:
            continue
        positives, negatives = positives + row["label"], negatives + (not row["label"])
        right += passed == row["label"]
        false_positive += passed and not row["label"]
        false_negative += row["label"] and not passed
    return {
        "n": positives + negatives, "accuracy": 100 * right / max(1, positives + negatives),
        "fpr": 100 * false_positive / max(1, negatives), "fnr": 100 * false_negative / max(1, positives),
        "errors": errors, "slow": slow, "worst_ms": 1_000 * worst,
    }  # fmt: skip


def table(slices: dict[str, list[Row]], graders: dict[str, Grader], limit: int) -> None:
    print("| slice (n) | " + " | ".join(graders) + " |")
    print("|---|" + "---|" * len(graders))
    for name, rows in slices.items():
        rows = sample(rows, limit)
        cells = []
        for label, grader in graders.items():
            if name == "hostile" and label in HANGS:
                cells.append("hangs")
                continue
            found = measure(grader, rows)
            cell = f"{found['accuracy']:.2f} ({found['fpr']:.2f}/{found['fnr']:.2f})"
            cell += f" {found['errors']} errors" if found["errors"] else ""
            cells.append(cell + (f" {found['slow']} over 250 ms" if found["slow"] else ""))
        labelled = sum(row["label"] is not None for row in rows)
        size = f"{len(rows)}" if labelled == len(rows) else f"{len(rows)}, {labelled} labelled"
        print(f"| {name} ({size}) | " + " | ".join(cells) + " |", flush=True)
    print("accuracy % (false positive % / false negative %)")


def sample(rows: list[Row], limit: int) -> list[Row]:
    return random.Random(7).sample(rows, limit) if limit and len(rows) > limit else rows


def timing(slices: dict[str, list[Row]], block: int = 40, blocks: int = 7) -> None:
    """CPU time per pair of ours and math-verify, interleaved block by block."""
    theirs = peers()["math-verify"]
    in_process, whole = Answer(tail_seconds=0), Answer()
    ours(whole)({"prediction": r"\int_0^1 x^2 dx", "gold": "1/3"})
    real = [row for name in SLICES[2:7] for row in slices[name]]
    print("| set | verikit ms | math-verify ms | ratio | decided in process |\n|---|---|---|---|---|")
    for name, rows, verifier in (
        ("gold_self", slices["gold_self"], in_process), ("MATH outputs", slices["MATH outputs"], in_process),
        ("gold_self, with the tail", slices["gold_self"], whole),
        ("MATH outputs, with the tail", slices["MATH outputs"], whole),
        ("all of equiv_real, with the tail", real, whole),
    ):  # fmt: skip
        rows = [row for row in rows if len(row["prediction"]) < 20_000]
        undecided = sum("undecided" in score(in_process, row).reason for row in rows)
        chosen = random.Random(11).sample(rows, min(len(rows), block * blocks))
        mine, peer = [], []
        for start in range(0, len(chosen) - block + 1, block):
            part = chosen[start : start + block]
            mine.append(timed(ours(verifier), part))
            peer.append(timed(theirs, part))
        ratio = statistics.median(p / m for p, m in zip(peer, mine, strict=True))
        share = 100 * (1 - undecided / len(rows))
        times = f"{statistics.median(mine):.3f} | {statistics.median(peer):.2f}"
        print(f"| {name} | {times} | {ratio:.0f}x | {share:.1f} % |", flush=True)


def score(verifier: Answer, row: Row) -> Any:
    return verifier.score([Sample(row.get("question") or "", row["prediction"], row["gold"])])[0]


def timed(grader: Grader, rows: list[Row]) -> float:
    """Mean milliseconds of CPU per pair, those of helper processes included."""
    start = cpu()
    for row in rows:
        try:
            grader(row)
        except Exception:  # noqa: BLE001 - a peer's exception costs its time
            continue
    return 1_000 * (cpu() - start) / len(rows)


def checks(slices: dict[str, list[Row]], verifier: Answer) -> None:
    """Symmetry, threads against serial, side effects, memory growth over the hostile rows."""
    import resource

    pairs = [r for name in SLICES[:2] for r in slices[name] if r["kind"] in ("numeric", "expr")]
    answers = [(score(verifier, r).answer or r["prediction"], r["gold"]) for r in pairs]
    lopsided = sum(verifier(a, g).value != verifier(g, a).value for a, g in answers)
    unequal = sum(verifier.equal(a, g) != verifier.equal(g, a) for a, g in answers)
    print(f"symmetry: {lopsided} of {len(answers)} pairs differ when exchanged; equal(): {unequal}")
    rows = [r for name in SLICES[:7] for r in slices[name]]
    serial = [score(verifier, r).value for r in rows]
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(lambda r: score(verifier, r).value, rows))
    unlike = sum(a != b for a, b in zip(serial, threaded, strict=True))
    print(f"8 threads against serial: {unlike} of {len(rows)} differ")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for row in slices["hostile"]:
        score(verifier, row)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"hostile: peak memory grew by {grown:.1f} MB; side effects: {Path(MARK).exists()}")
    print(f"threads left: {threading.active_count()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the corpora")
    parser.add_argument("--peers", action="store_true", help="also run math-verify and lm-eval's checks")
    parser.add_argument("--timing", action="store_true", help="also time against math-verify")
    parser.add_argument("--slice", choices=SLICES, help="only this slice")
    parser.add_argument("--rows", type=int, default=0, help="at most so many rows of each slice (0: all)")
    options = parser.parse_args()
    slices = load(data_folder(options.data))
    graders = {"answer strict": ours(Answer()), "answer lenient": ours(Answer(policy="lenient"))}
    score(Answer(), {"prediction": r"\int_0^1 x^2 dx", "gold": "1/3"})
    if not options.slice:
        checks(slices, Answer())
    chosen = {options.slice: slices[options.slice]} if options.slice else slices
    table(chosen, graders | (peers() if options.peers else {}), options.rows)
    if options.timing:
        timing(slices)


if __name__ == "__main__":
    main()
