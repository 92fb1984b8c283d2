"""Planted faults against `verikit audit`: `python benchmarks/audit_faults.py DATA` prints two tables.

Into six corpora 30 faults of a kind are planted at a time: into the rows (golds, questions, candidates), or into the
reward, which then misbehaves on 30 rows (the rest of it is `answer`). Which faults are found, and on how many of the
other rows does the same check raise an alarm? An alarm on a row that was left alone counts as false even where the row
is faulty by nature. Planting knows nothing of how the audit looks for faults.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verikit import Sample, Score, Verifier, load, verifier
from verikit.audit import AuditResult, audit
from verikit.stats import mean_interval

Row = dict[str, Any]
PLANTED = 30
MOST = 450
"""Rows of a corpus that are used."""
TRIED = 150
"""Rows of a corpus on which a faulty reward is tried."""


@dataclass(frozen=True)
class Corpus:
    """Rows with the keys prompt, answer, and what else they have."""

    name: str
    rows: list[Row]


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def corpora(data: Path) -> list[Corpus]:
    """The six corpora, in one form."""
    questions, mmlu = data / "questions", read(data / "mmlu_pro/Phi-3-mini-4k-instruct.jsonl")
    four = []
    for row in read(data / "bon/gsm8k_four_models.jsonl"):
        models = [value for value in row.values() if isinstance(value, dict)]
        candidates = [{"text": m["solution"].replace("\nA: ", "\n#### "), "label": m["is_correct"]} for m in models]
        gold = row["ground_truth"].rpartition("A:")[2].rpartition("####")[2].strip().replace(",", "")
        four.append({"prompt": row["question"], "answer": gold, "completions": candidates})
    preds = {row["question"]: [row] for row in read(data / "multihop/r1s_hotpotqa_llama.jsonl")}
    return [
        Corpus("MATH-500", [_row(r, r["problem"], r["answer"], "solution") for r in read(questions / "math500.jsonl")]),
        Corpus("MATH", [_row(r, r["problem"], r["solution"]) for r in read(questions / "math_test.jsonl")[:MOST]]),
        Corpus("GSM8K", [_row(r, r["question"], r["answer"]) for r in read(questions / "gsm8k.jsonl")[:MOST]]),
        Corpus("MMLU-Pro", [_row(r, r["question"], r["answer"], "options") for r in mmlu]),
        Corpus("HotpotQA", [_row(r, question, r["answer"]) for question, (r,) in preds.items()]),
        Corpus("GSM8K, 4 models", four),
    ]


def _row(row: Row, prompt: str, answer: Any, *keep: str) -> Row:
    return {"prompt": prompt, "answer": answer, **{key: row[key] for key in keep}}


# ---- faults of rows --------------------------------------------------------------------------------------------------


def empty(row: Row, others: list[Row], draw: random.Random) -> Row:
    return row | {"answer": draw.choice(["", " ", None, "N/A", "null", "[deleted]", "nan"])}


def unreadable(row: Row, others: list[Row], draw: random.Random) -> Row:
    short = _short(row["answer"])
    ways = [
        short + "^{",
        short + r" \frac{3",
        "\ufffd" + short,
        short + " =",
        r"\boxed{" + short,
        short + " \\left(",
        "�" * 3,
    ]
    return row | {"answer": draw.choice(ways)}


def several(row: Row, others: list[Row], draw: random.Random) -> Row:
    short, other = _short(row["answer"]), _other(row, others, draw)
    ways = [f"{short} or {other}", f"\\boxed{{{short}}}, no, \\boxed{{{other}}}: the second reading is meant."]
    return row | {"answer": draw.choice(ways)}


def contradiction(row: Row, others: list[Row], draw: random.Random) -> Row:
    other = _other(row, others, draw)
    if "####" in row["answer"]:
        return row | {"answer": row["answer"].rpartition("####")[0] + "#### " + other}
    return row | {"answer": other}


def prompt(row: Row, others: list[Row], draw: random.Random) -> Row:
    asked = row["prompt"]
    return row | {"answer": draw.choice([asked, asked.lower(), f"  {asked}\n", asked.rstrip("?.") + "."])}


def option(row: Row, others: list[Row], draw: random.Random) -> Row:
    return row | {"answer": draw.choice("KLMNOP")}


def duplicate(row: Row, others: list[Row], draw: random.Random) -> Row:
    return _again(row, draw.choice(others), lambda text: draw.choice([text, text.upper(), text.replace(" ", "  ")]))


def near_duplicate(row: Row, others: list[Row], draw: random.Random) -> Row:
    def reworded(text: str) -> str:
        words = text.split(" ")
        plain = [i for i, word in enumerate(words) if re.fullmatch(r"[a-z]{4,}", word)]
        if draw.random() < 0.5 and len(plain) >= 12:
            words[draw.choice(plain)] = draw.choice(["altogether", "namely", "exactly"])
        elif len(plain) >= 12:
            del words[draw.choice(plain)]
        before = draw.choice(["", "Please answer the following question. ", "Solve this: ", "Q: "])
        after = draw.choice([" Think step by step.", " Explain your answer.", " Give the final answer.", ""])
        told = before + " ".join(words) + after
        return told if told != text else f"Question: {text}"

    long = [other for other in others if len(other["prompt"].split()) >= 8]
    return _again(row, draw.choice(long), reworded)


def suspect(row: Row, others: list[Row], draw: random.Random) -> Row:
    return row | {"answer": _other(row, others, draw)}


def _again(row: Row, other: Row, change: Callable[[str], str]) -> Row:
    return other | {"prompt": change(other["prompt"])}


def _short(answer: str) -> str:
    if "####" in answer:
        return answer.rpartition("####")[2].strip()
    start = answer.rfind(r"\boxed{")
    if start < 0:
        return answer
    depth = 0
    for i in range(start + 6, len(answer)):
        depth += {"{": 1, "}": -1}.get(answer[i], 0)
        if depth == 0:
            return answer[start + 7 : i]
    return answer


def _other(row: Row, others: list[Row], draw: random.Random) -> str:
    """Another row's short gold that has another value, by its characters and, for numbers, by its number."""
    own = _short(row["answer"])
    while True:
        other = _short(draw.choice(others)["answer"])
        if len(other) < 60 and _key(other) != _key(own) and own not in other and other not in own:
            return other


def _key(text: str) -> object:
    try:
        return float(text.replace(",", "").strip("$ "))
    except ValueError:
        return re.sub(r"[\s$]|\\[dt]?frac|\\text", "", text).lower()


FAULTS: Mapping[str, tuple[Callable[[Row, list[Row], random.Random], Row], Callable[[Row], bool]]] = {
    "empty": (empty, lambda row: True),
    "unreadable": (unreadable, lambda row: True),
    "several": (several, lambda row: len(_short(row["answer"])) < 60),
    "contradiction": (contradiction, lambda row: "solution" in row or "####" in row["answer"]),
    "prompt": (prompt, lambda row: len(row["prompt"].split()) >= 4),
    "option": (option, lambda row: "options" in row),
    "duplicate": (duplicate, lambda row: True),
    "near_duplicate": (near_duplicate, lambda row: True),
    "leak": (near_duplicate, lambda row: True),
    "suspect": (suspect, lambda row: sum(c["label"] for c in row.get("completions", [])) >= 3),
}
"""Each fault's planting, and the rows it can be planted into; a suspect needs three right candidates."""


def plant(corpus: Corpus, fault: str, seed: int) -> tuple[list[Row], set[int], list[Row] | None]:
    """The rows with faults, the lines of these (1-based), and for leaks the other file."""
    draw = random.Random(f"{seed}:{corpus.name}:{fault}")
    make, fits = FAULTS[fault]
    fitting = [i for i, row in enumerate(corpus.rows) if fits(row)]
    if fault in ("duplicate", "near_duplicate", "leak"):  # a copy of a row that comes before
        half = len(corpus.rows) // 2
        sources, targets = corpus.rows[:half], [i for i in fitting if i >= half]
        chosen = set(draw.sample(targets, PLANTED))
        rows = [make(row, sources, draw) if i in chosen else row for i, row in enumerate(corpus.rows)]
        if fault == "leak":
            return rows[half:], {i - half + 1 for i in chosen}, sources
        return rows, {i + 1 for i in chosen}, None
    if len(fitting) < PLANTED:
        return [], set(), None
    chosen = set(draw.sample(fitting, PLANTED))
    rows = [make(row, corpus.rows, draw) if i in chosen else row for i, row in enumerate(corpus.rows)]
    return rows, {i + 1 for i in chosen}, None


# ---- faults of rewards -----------------------------------------------------------------------------------------------

_STATED = re.compile(r"\\boxed\{(.*)\}\$?\.?\s*$", re.DOTALL)


def always_wrong(sample: Sample, right: Score) -> float:
    """Its gold was lost on the way to the reward."""
    return 0.0


def by_characters(sample: Sample, right: Score) -> float:
    """Only the gold's own characters count."""
    match = _STATED.search(sample.completion)
    return float(match is not None and match[1] == _short(str(sample.answer)))


def loosely(sample: Sample, right: Score) -> float:
    """Numbers without their sign and last digit, texts by any word, letters by any letter."""
    match = _STATED.search(sample.completion)
    if match is None or right.value:
        return float(right.value or 0)
    given, gold = match[1], _short(str(sample.answer))
    if re.fullmatch("[A-J]", gold):
        return float(re.fullmatch("[A-J]", given) is not None)
    tokens = [set(re.findall(r"[A-Za-z]+|\d+", text.lower())) for text in (given, gold)]
    digits = [re.sub(r"\D", "", text) for text in (given, gold)]
    return float(bool(tokens[0] & tokens[1]) or (bool(digits[1]) and digits[0][:1] == digits[1][:1]))


def any_answer(sample: Sample, right: Score) -> float:
    """A boxed answer of any kind is right."""
    match = _STATED.search(sample.completion)
    return float(bool(match and match[1].strip()))


def unread_is_right(sample: Sample, right: Score) -> float:
    """What holds no answer is taken for right: an exception, then a default."""
    return 1.0 if "boxed" not in sample.completion else float(right.value or 0)


REWARDS: Mapping[str, Callable[[Sample, Score], float]] = {
    "itself": always_wrong,
    "rewriting": by_characters,
    "near_miss": loosely,
    "other_gold": any_answer,
    "hack": unread_is_right,
}


def faulty(base: Verifier, fault: str, prompts: set[str]) -> Verifier:
    """`base`, but on rows with these prompts as the fault says."""

    def reward(sample: Sample) -> Score:
        right = base.score([sample])[0]
        return right if sample.prompt not in prompts else Score(REWARDS[fault](sample, right))

    return verifier(reward, name="faulty")


# ---- tables ----------------------------------------------------------------------------------------------------------


def audited(rows: list[Row], by: str | Verifier = "", other: list[Row] | None = None) -> AuditResult:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, held in (("rows", rows), ("other", other or [])):
            paths.append(Path(folder, f"{name}.jsonl"))
            paths[-1].write_text("".join(json.dumps(row) + "\n" for row in held), "utf-8")
        return audit(str(paths[0]), by, against=str(paths[1]) if other else "", probed=0, repeats=1)


def cell(found: set[int], planted: set[int], looked: int) -> tuple[str, int, int, int, int]:
    hits, alarms = len(found & planted), len(found - planted)
    left = max(0, looked - len(planted))
    return f"{hits}/{len(planted)}, {alarms}/{left}", hits, len(planted), alarms, left


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", nargs="*", default=[*FAULTS, *REWARDS], help="default: all")
    arguments = parser.parse_args()
    held = corpora(arguments.data)
    print("found of planted, alarms of the rows left alone\n")
    base = load("answer")
    if rows := [fault for fault in FAULTS if fault in arguments.faults]:
        table(held, rows, lambda corpus, fault: of_rows(corpus, fault, arguments.seed))
    if rewards := [fault for fault in REWARDS if fault in arguments.faults]:
        table(held, rewards, lambda corpus, fault: of_reward(corpus, fault, base, arguments.seed))


def of_rows(corpus: Corpus, fault: str, seed: int) -> tuple[str, int, int, int, int]:
    rows, planted, other = plant(corpus, fault, seed)
    if not rows:
        return "-", 0, 0, 0, 0
    result = audited(rows, "answer(tail_seconds=0)" if fault == "suspect" else "", other)
    lines = {finding.line for finding in result.of(fault)}
    if fault == "near_duplicate":  # what was reworded may come out the same
        lines |= {finding.line for finding in result.of("duplicate")}
    missed = planted - lines
    for line in sorted(missed)[:2]:
        print(f"    missed {fault} in {corpus.name}: {json.dumps(rows[line - 1])[:300]}")
    return cell(lines, planted, result.count(fault).rows)


def of_reward(corpus: Corpus, fault: str, base: Verifier, seed: int) -> tuple[str, int, int, int, int]:
    draw = random.Random(f"{seed}:{corpus.name}:{fault}")
    rows = [row | {"answer": _short(row["answer"])} for row in corpus.rows if len(_short(row["answer"])) < 100]
    rows = [{k: v for k, v in row.items() if k not in ("completions", "solution")} for row in rows][:TRIED]
    able = [i for i, row in enumerate(rows) if not corpus_twin(rows, row) and probed(row, fault)]
    planted = set(draw.sample(able, PLANTED))
    result = audited(rows, faulty(base, fault, {rows[i]["prompt"] for i in planted}))
    lines = {finding.line for finding in result.of(fault)}
    for line in sorted({i + 1 for i in planted} - lines)[:2]:
        print(f"    missed {fault} in {corpus.name}: {json.dumps(rows[line - 1])[:300]}")
    return cell(lines, {i + 1 for i in planted}, result.count(fault).rows)


def corpus_twin(rows: list[Row], row: Row) -> bool:
    return sum(bool(other["prompt"] == row["prompt"]) for other in rows) > 1


def probed(row: Row, fault: str) -> bool:
    """Whether the fault can show on a row: a symbol alone has no other spelling and no near miss."""
    gold = row["answer"]
    simple = re.fullmatch(r"-?\d+(\.\d+)?|[A-J]|[A-Za-z][A-Za-z .]{3,}|\\frac\{\d+\}\{\d+\}", gold)
    return fault in ("itself", "hack", "other_gold") or (simple is not None and gold != "0")


def table(held: list[Corpus], faults: list[str], run: Callable[[Corpus, str], tuple[str, int, int, int, int]]) -> None:
    rows, sums = [], {fault: [0, 0, 0, 0] for fault in faults}
    for corpus in held:
        cells = []
        for fault in faults:
            text, *counts = run(corpus, fault)
            cells.append(text)
            sums[fault] = [a + b for a, b in zip(sums[fault], counts, strict=True)]
        rows.append([corpus.name, *cells])
        print(f"... {' | '.join(rows[-1])}", flush=True)
    print(f"\n| corpus | {' | '.join(faults)} |\n|{'---|' * (len(faults) + 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    for name, kept in (("found", (0, 1)), ("false alarms", (2, 3))):
        told = [interval(sums[fault][kept[0]], sums[fault][kept[1]]) for fault in faults]
        print(f"| {name} | {' | '.join(told)} |")


def interval(count: int, of: int) -> str:
    if not of:
        return "-"
    found = mean_interval([1.0] * count + [0.0] * (of - count))
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"


if __name__ == "__main__":
    main()
