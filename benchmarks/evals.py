"""The benchmark tasks: load time, verdicts on stored outputs beside lm-eval's own tasks, and throughput.

    python benchmarks/evals.py [--data DIR] [--only load,math,mmlu,multihop,docs] [--peers]

Data: stored model outputs (`VERIKIT_DATA`, or ../shared/data). With --peers, also lm-eval's load time with its own
tasks, and its hendrycks_math and minerva_math graders (antlr 4.11 and math-verify).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import string
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LOAD = """
import time; start, cpu = time.perf_counter(), time.process_time()
from lm_eval.tasks import TaskManager
from verikit.evals import TASKS
from verikit.evals.loading import Settings, build, expand
for name in expand(["verikit_all"])[:7]:
    build(name, Settings(data={data!r}))
TaskManager(include_path=str(TASKS), include_defaults=False)
print(time.perf_counter() - start, time.process_time() - cpu)
"""
DEFAULTS = """
import time; start, cpu = time.perf_counter(), time.process_time()
from lm_eval.tasks import TaskManager
TaskManager()
print(time.perf_counter() - start, time.process_time() - cpu)
"""
BAD_GOLD = 3
"""idx of the stored MATH row whose gold is damaged."""
DOCS = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("VERIKIT_DATA", "../shared/data")))
    parser.add_argument("--only", default="load,math,mmlu,multihop,docs")
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    parts = {"load": load, "math": math, "mmlu": mmlu, "multihop": multihop, "docs": docs}
    for name in given.only.split(","):
        parts[name](given.data, given.peers)


def load(data: Path, peers: bool) -> None:
    print("## Load time of the suite, offline, in a fresh process (s wall, s CPU)")
    rows = tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False)  # noqa: SIM115
    with rows:
        rows.write(json.dumps({"problem": "1 + 1?", "answer": "2"}) + "\n")
    runs = [LOAD.format(data=rows.name)] * 3 + ([DEFAULTS] if peers else [])
    for code in runs:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        wall, cpu = map(float, done.stdout.split())
        print(f"{'lm-eval with its own tasks' if code == DEFAULTS else 'verikit_math, 7 tasks'}: {wall:.2f} {cpu:.2f}")


def run(task: str, rows: Path, **settings: Any) -> list[Row]:
    """The sample rows of a task over stored outputs."""
    from verikit.evals.loading import Settings, build
    from verikit.evals.run import quiet, run_task
    from verikit.evals.stored import Stored

    chosen = Settings(data=str(rows), **settings)
    with quiet():
        return run_task(build(task, chosen), Stored(str(rows)), chosen)


def math(data: Path, peers: bool) -> None:
    print("\n## Stored Qwen2.5-Math answers (bon): accepted of the stored-correct, and of the wrong")
    file = data / "bon/qwen_math_cot_100.jsonl"
    stored = [row for row in read(file) if row["idx"] != BAD_GOLD]
    labels = {
        (str(row["idx"]), i): bool(candidate["correct"])
        for row in stored
        for i, candidate in enumerate(row["candidates"])
    }
    start = time.process_time()
    verdicts = {
        (row["doc"]["id"], i): grade["acc"]["value"] == 1
        for row in run("verikit_math500", file, repeats=8)
        for i, grade in enumerate(row["filtered_resps"][0])
        if row["doc"]["id"] != str(BAD_GOLD)
    }
    tell("verikit", labels, verdicts, time.process_time() - start)
    if not peers:
        return
    from lm_eval.tasks.hendrycks_math import utils as hendrycks
    from lm_eval.tasks.minerva_math import utils as minerva

    golds = {str(row["idx"]): row["gold"] for row in stored}
    docs = {str(row["idx"]): {"solution": row["solution"], "answer": golds[str(row["idx"])]} for row in stored}
    texts = {(str(row["idx"]), i): candidate["text"] for row in stored for i, candidate in enumerate(row["candidates"])}
    for name, grade, metric in (
        ("hendrycks_math exact_match", hendrycks.process_results, "exact_match"),
        ("minerva_math exact_match", minerva.process_results, "exact_match"),
        ("minerva_math math_verify", minerva.process_results, "math_verify"),
    ):
        start = time.process_time()
        found = {key: bool(grade(docs[key[0]], [text])[metric]) for key, text in texts.items()}
        tell(name, labels, found, time.process_time() - start)


def tell(name: str, labels: dict[Any, bool], verdicts: dict[Any, bool], seconds: float) -> None:
    right = [verdicts[key] for key, label in labels.items() if label]
    wrong = [verdicts[key] for key, label in labels.items() if not label]
    print(f"{name}: {sum(right)} of {len(right)} ({sum(right) / len(right):.2%}), {sum(wrong)} of {len(wrong)} wrong;"
          f" {seconds:.2f} CPU s")  # fmt: skip


def mmlu(data: Path, peers: bool) -> None:
    print("\n## Stored MMLU-Pro texts: accuracy, share unparsed, CPU s")
    for file in sorted((data / "mmlu_pro").glob("*.jsonl")):
        rows = read(file)
        print(file.stem)
        start = time.process_time()
        samples = [row for name in categories(rows) for row in run(f"verikit_mmlu_pro_{name}", file)]
        grades = [sample["filtered_resps"][0][0]["acc"] for sample in samples]
        values = [grade["value"] for grade in grades]
        unparsed = sum(grade.get("answer") is None for grade in grades)
        print(f"  verikit: {sum(values) / len(rows):.2%} {unparsed / len(rows):.2%} {time.process_time() - start:.2f}")
        for name, read_letter in (("lm-eval's regex", first_match), ("three levels", three_levels)):
            start = time.process_time()
            letters = [read_letter(row["text"]) for row in rows]
            right = sum(letter == row["answer"] for letter, row in zip(letters, rows, strict=True))
            seconds = time.process_time() - start
            print(f"  {name}: {right / len(rows):.2%} {letters.count(None) / len(rows):.2%} {seconds:.2f}")
        right = sum(row["pred"] == row["answer"] for row in rows)
        print(f"  the repository's: {right / len(rows):.2%} {sum(row['pred'] is None for row in rows) / len(rows):.2%}")


def categories(rows: list[Row]) -> list[str]:
    return sorted({row["category"].replace(" ", "_") for row in rows})


def first_match(text: str) -> str | None:
    """lm-eval 0.4.13's filter."""
    found = re.search(r"answer is \(?([ABCDEFGHIJ])\)?", text)
    return found[1] if found else None


def three_levels(text: str) -> str | None:
    """MMLU-Pro's script, its last level (the last letter that stands alone) without the quadratic look-ahead."""
    if found := re.search(r"answer is \(?([A-J])\)?", text) or re.search(r"[aA]nswer:\s*([A-J])", text):
        return found[1]
    letters = re.findall(r"\b[A-J]\b", text)
    return letters[-1] if letters else None


def multihop(data: Path, peers: bool) -> None:
    print("\n## R1-Searcher's stored predictions: EM, F1, cover-EM by words, by a run of words; verikit = independent")
    for file in sorted((data / "multihop").glob("r1s_*.jsonl")):
        rows = read(file)
        task = f"verikit_{file.stem.split('_')[1]}"
        samples = run(task, file)
        suffix = "r1_searcher"
        names = [f"{metric}_{suffix}" for metric in ("em", "f1", "cover_em", "cover_em_contiguous")]
        ours = [sum(sample[name] for sample in samples) / len(samples) for name in names]
        theirs = [sum(column) / len(rows) for column in zip(*map(independent, rows), strict=True)]
        judged = sum(row["judge"].strip().rstrip(".") == "True" for row in rows) / len(rows)
        shown = " ".join(
            f"{a:.4f}{'=' if abs(a - b) < 1e-9 else f' NOT {b:.4f}'}" for a, b in zip(ours, theirs, strict=True)
        )
        print(f"{file.stem} n={len(rows)}: {shown}; GPT-4o {judged:.4f}")


def independent(row: Row) -> tuple[float, float, float, float]:
    """EM, F1 and both cover-EMs by R1-Searcher's normaliser, written from its description."""
    guess, gold = words(row["pred"]), words(row["answer"])
    shared = sum((Counter(guess) & Counter(gold)).values())
    special = {"yes", "no", "noanswer"}
    apart = guess != gold and (" ".join(guess) in special or " ".join(gold) in special)
    f1 = 1.0 if guess == gold else 0.0 if apart or not shared else 2 * shared / (len(guess) + len(gold))
    runs = any(guess[i : i + len(gold)] == gold for i in range(len(guess) - len(gold) + 1)) and bool(gold)
    return float(guess == gold), f1, float(set(gold) <= set(guess)), float(runs)


def words(text: str) -> list[str]:
    text = {"True": "yes", "False": "no"}.get(text.strip(), text).lower()
    plain = "".join(" " if char in string.punctuation + "‘’´`_" else char for char in text)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def docs(data: Path, peers: bool) -> None:
    print(f"\n## {DOCS:,} documents through a replay engine, with grading (s wall, s CPU)")
    from verikit.engines import Engine, Generation, Output, Recorder, load_engine
    from verikit.evals.lm import EngineLM
    from verikit.evals.loading import Settings
    from verikit.evals.run import run_tasks

    class Echo(Engine):
        name = "echo"

        def generate(self, requests: Any) -> list[Generation]:
            return [Generation((Output(f"So it is \\boxed{{{len(request.prompt) % 7}}}."),)) for request in requests]

    with tempfile.TemporaryDirectory() as folder:
        rows, record = Path(folder) / "rows.jsonl", Path(folder) / "record.jsonl"
        rows.write_text(
            "".join(json.dumps({"problem": f"{i} + {i}?", "answer": str(i % 7)}) + "\n" for i in range(DOCS)), "utf-8"
        )
        settings = Settings(data=str(rows))
        task = ["verikit_math500"]
        run_tasks(task, "echo", EngineLM(Recorder(Echo(), record)), settings, Path(folder) / "recorded")
        start, cpu = time.perf_counter(), time.process_time()
        run_tasks(task, "replay", EngineLM(load_engine(f"replay:{record}")), settings, Path(folder) / "run")
        print(f"{time.perf_counter() - start:.2f} {time.process_time() - cpu:.2f}")


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main()
