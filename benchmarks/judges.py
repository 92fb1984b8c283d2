"""Judges: win rates against the leaderboard and alpaca_eval, recorded replies, a judge that prefers a place.

    python benchmarks/judges.py DATA [PEER]

DATA is a folder with alpaca/ and judges/ (AlpacaEval 2, LLMBar, JudgeBench and PandaLM recordings). PEER is the Python
of an environment with alpaca-eval 0.6.6 and setuptools < 81; its download of df_gamed.csv is pointed at the same file
as ours. Both work on each model in turn, so that whatever else the machine does strikes both alike.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from verikit.engines import Engine, Generation, Output, Request
from verikit.judges import Pair, Pairwise, ReplyFormat, load_prompt
from verikit.judges.asking.reply import preference_of
from verikit.judges.rates.agreement import accuracy, both_orders, cohen_kappa
from verikit.judges.rates.length_control import Gamed, length_controlled, predicted_win_rate, read_weights
from verikit.judges.rates.winrate import alpaca_preference, win_rate

PEER = """
import json, sys, time, warnings, logging
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
import pandas as pd
from alpaca_eval.metrics import glm_winrate
glm_winrate.hf_hub_download = lambda **kwargs: sys.argv[1]
for line in sys.stdin:
    row = json.loads(line)
    frame = pd.DataFrame({
        "preference": row["preference"], "index": row["index"], "annotator": "a",
        "generator_1": "b", "generator_2": "m",
        "output_1": ["x" * n for n in row["len_1"]], "output_2": ["x" * n for n in row["len_2"]],
    })
    if row["by_position"]:
        frame = frame.drop(columns="index")
    start = time.perf_counter()
    found = glm_winrate.get_length_controlled_winrate(frame, row["form"], None, is_add_glm_preference_inplace=False)
    seconds = time.perf_counter() - start
    print(json.dumps([found["length_controlled_winrate"], found["lc_standard_error"], seconds]), flush=True)
"""
AB = {"a": 1.0, "b": 0.0}
LINE = ReplyFormat("Output ({})", "line_start", AB, several="first_label")
PHRASE = ReplyFormat("Output ({}) is better", "anywhere", AB, several="first_label")


def rows(path: Path) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def win_rates(alpaca: Path) -> None:
    worst = 0.0
    models = rows(alpaca / "annotations.jsonl")
    for row in models:
        rate, expected = win_rate(list(map(alpaca_preference, row["preference"]))), row["expected"]
        worst = max(worst, abs(100 * rate.value - expected["win_rate"]))
        worst = max(worst, abs(100 * rate.stderr - expected["standard_error"]))
        worst = max(worst, abs(100 * rate.discrete - expected["discrete_win_rate"]))
    print(f"win rate, standard error, discrete: {len(models)} models, at most {worst:.1e} points from the leaderboard")


def length_control(alpaca: Path, peer: str | None) -> None:
    path = alpaca / "df_gamed_recovered.csv"
    gamed = Gamed.read(path)
    process = None
    if peer:
        command = [peer, "-c", PEER, str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    gaps: dict[str, list[float]] = {"fast to exact": [], "exact to alpaca_eval": [], "fast to leaderboard": []}
    seconds: dict[str, list[float]] = {"fast": [], "exact": [], "alpaca_eval": []}
    models = rows(alpaca / "annotations.jsonl")
    for row in [models[0], *models]:  # the first one once more: it pays for imports
        preferences = list(map(alpaca_preference, row["preference"]))
        for by_position in (False, True) if len(row["index"]) < 805 else (False,):

            def fit(exact: bool, by_position: bool = by_position, row: Any = row, known: Any = preferences) -> Any:
                return length_controlled(
                    known,
                    row["len_1"],
                    row["len_2"],
                    instructions=row["index"],
                    gamed=gamed,
                    exact=exact,
                    by_position=by_position,
                )

            fast, fast_s = timed(lambda fit=fit: fit(False))  # type: ignore[misc]
            exact, exact_s = timed(lambda fit=fit: fit(True))  # type: ignore[misc]
            seconds["fast"].append(fast_s)
            seconds["exact"].append(exact_s)
            gaps["fast to exact"].append(100 * abs(fast.value - exact.value))
            if not by_position and len(row["index"]) == 805:
                gaps["fast to leaderboard"].append(abs(100 * fast.value - row["expected"]["lc_leaderboard"]))
            if process:
                theirs, their_error, their_s = asked(process, row, by_position, "length_controlled_v1")
                seconds["alpaca_eval"].append(their_s)
                gaps["exact to alpaca_eval"].append(abs(100 * exact.value - theirs))
                gaps["exact to alpaca_eval"].append(abs(100 * exact.stderr - their_error))
    for name, found in gaps.items():
        if found:
            print(f"length control, {name}: at most {max(found):.2g}, median {median(found):.2g} points")
    for name, taken in seconds.items():
        if taken:
            taken = taken[1:]
            print(f"length control, {name}: {1e3 * median(taken):.2f} ms a model (slowest {1e3 * max(taken):.2f})")
    if process:
        ratios = [b / a for a, b in zip(seconds["fast"][1:], seconds["alpaca_eval"][1:], strict=True)]
        print(f"length control, fast against alpaca_eval: {median(ratios):.0f}x (least {min(ratios):.0f}x)")
        forms(process, models, gamed)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def forms(process: Any, models: Sequence[dict[str, Any]], gamed: Gamed) -> None:
    """The forms without gamed rows and without difficulty, against alpaca_eval's."""
    for form in ("noreg", "minimal"):
        worst = fast_worst = 0.0
        for row in models[:6]:
            known = list(map(alpaca_preference, row["preference"]))
            theirs, _, _ = asked(process, row, False, f"length_controlled_{form}")
            for exact in (True, False):
                ours = length_controlled(
                    known, row["len_1"], row["len_2"], instructions=row["index"], gamed=gamed, form=form, exact=exact
                )
                gap = abs(100 * ours.value - theirs)
                worst, fast_worst = (max(worst, gap), fast_worst) if exact else (worst, max(fast_worst, gap))
        print(f"length control, {form}: exact at most {worst:.1e}, fast {fast_worst:.2g} points from alpaca_eval")


def asked(process: Any, row: dict[str, Any], by_position: bool, form: str) -> list[float]:
    keys = ("preference", "index", "len_1", "len_2")
    process.stdin.write(json.dumps({key: row[key] for key in keys} | {"by_position": by_position, "form": form}) + "\n")
    process.stdin.flush()
    found: list[float] = json.loads(process.stdout.readline())
    return found


def published_weights(alpaca: Path) -> None:
    gamed, weights = Gamed.read(alpaca / "df_gamed_recovered.csv"), read_weights(alpaca / "lc_weights.csv")
    difficulty = [gamed.difficulty[i] for i in range(805)]
    gaps: dict[str, float] = {}
    with open(alpaca / "leaderboard.csv", newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row[""] in weights and row["length_controlled_winrate"]:
                found = predicted_win_rate(weights[row[""]], weights["gpt4_1106_preview"], difficulty)
                gaps[row[""]] = abs(100 * found - float(row["length_controlled_winrate"]))
    left_out = {name: round(gaps.pop(name), 3) for name in ("dbrx-instruct", "NullModel")}
    print(f"published weights: {len(gaps)} models, at most {max(gaps.values()):.4f} points; left out {left_out}")


def log_probabilities(alpaca: Path) -> None:
    worst, recorded = 0.0, rows(alpaca / "judge_logprobs.jsonl")
    for row in recorded:
        second = 1 - preference_of(row["top_logprobs"], "m", "M")
        found = 1 + (1 - second if row["switched"] else second)
        worst = max(worst, abs(found - row["preference"]))
    print(f"recorded one-token verdicts: {len(recorded)}, at most {worst:.2e} apart")


def llmbar(judges: Path) -> None:
    n = same = strict_same = strict_none = strict_other = statistics = 0
    recorded = rows(judges / "llmbar_judgments.jsonl")
    for row in recorded:
        if "Rating" in row["strategy"]:
            continue
        statistics += statistics_agree(row)
        if "Swap" in row["strategy"]:
            continue
        form = PHRASE if row["strategy"] == "CoT" and row["judge"] != "PaLM2" else LINE
        strict = ReplyFormat("Output ({}) is better" if row["strategy"] == "CoT" else "Output ({})", form.where, AB)
        for text, winner, swapped in recorded_replies(row):
            sides = {None: "None", 1.0: "12"[swapped], 0.0: "21"[swapped]}
            found = sides[form.parse(Output(text)).value]
            ours = sides[strict.parse(Output(text)).value]
            n, same = n + 1, same + (found == winner)
            strict_same += ours == winner
            strict_none += ours == "None" != winner
            strict_other += ours != winner and ours != "None"
    print(f"LLMBar verdicts: {same} of {n} as recorded; statistics of {statistics} result files follow from them")
    print(f"LLMBar verdicts read strictly: {strict_same} the same, {strict_none} without, {strict_other} different")


def recorded_replies(row: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    for item in row["items"]:
        for swapped, (text, winner) in enumerate(zip(item["completion"], item["winner"], strict=True)):
            yield text, winner, swapped


def statistics_agree(row: dict[str, Any]) -> bool:
    side = {"1": 1.0, "2": 0.0, "None": None}
    pairs = [(side[item["winner"][0]], side[item["winner"][1]]) for item in row["items"]]
    found = both_orders(pairs, [float(item["label"] == 1) for item in row["items"]])
    names = {"correct_False": "first", "correct_True": "second", "correct_both": "both", "equal": "consistent"}
    shares = {key: float(row["expected"][key].split("=")[1].rstrip("%")) for key in names}
    return all(abs(100 * getattr(found, name) - shares[key]) < 1e-9 for key, name in names.items())


def judgebench(judges: Path) -> None:
    side = {"A>B": 1.0, "B>A": 0.0, "A=B": 0.5, None: None}
    flip = {"A>B": "B>A", "B>A": "A>B"}
    form = load_prompt("pairwise-graded").reply
    by_judge: dict[str, list[dict[str, Any]]] = {}
    n = same = 0
    for row in rows(judges / "judgebench_decisions.jsonl"):
        by_judge.setdefault(row["judge"], []).append(row)
        for judgement in row["judgments"]:
            if "[[" in judgement["tail"]:
                n, same = n + 1, same + (form.parse(Output(judgement["tail"])).value == side[judgement["decision"]])
    print(f"JudgeBench replies whose end is stored: {same} of {n} read as recorded")
    for judge, some in by_judge.items():
        pairs = [tuple(side[judgement["decision"]] for judgement in row["judgments"]) for row in some]
        turned = [(a, None if b is None else 1 - b) for a, b in pairs]
        found = both_orders(turned, [side[row["label"]] or 0.0 for row in some])
        right = 0
        for row in some:
            first, second = (judgement["decision"] for judgement in row["judgments"])
            points = [(d == row["label"]) - (d == flip[row["label"]]) for d in (first, flip.get(second, second))]
            right += sum(points) > 0
        print(
            f"JudgeBench {judge}: {100 * found.majority:.2f} (recomputed {100 * right / len(some):.2f}), n {len(some)}"
        )


def pandalm(judges: Path) -> None:
    recorded = rows(judges / "pandalm.jsonl")
    votes = [[row[f"annotator{i}"] for row in recorded] for i in (1, 2, 3)]
    kappas = [cohen_kappa(votes[a], votes[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    counted = [recounted(votes[a], votes[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    apart = max(abs(a - b) for a, b in zip(kappas, counted, strict=True))
    print(f"PandaLM kappas of annotators: {', '.join(f'{k:.4f}' for k in kappas)}; recomputed within {apart:.0e}")
    majority = [max(set(three), key=three.count) if len(set(three)) < 3 else None for three in zip(*votes, strict=True)]
    for judge, spellings in (("gpt35", {"1": 1, "2": 2, "Tie": 0}), ("pandalm7b", {1: 1, 2: 2, 0: 0})):
        kept = [
            (spellings.get(row[judge]), gold) for row, gold in zip(recorded, majority, strict=True) if gold is not None
        ]
        verdicts, golds = [v for v, _ in kept], [gold for _, gold in kept]
        again = sum(v == g for v, g in kept) / len(kept)
        kappa = cohen_kappa(verdicts, golds)
        print(
            f"PandaLM {judge} against the majority: accuracy {accuracy(verdicts, golds):.4f} ({again:.4f}), {kappa:.4f}"
        )


def recounted(a: Sequence[int], b: Sequence[int]) -> float:
    n = len(a)
    observed = sum(x == y for x, y in zip(a, b, strict=True)) / n
    chance = sum(a.count(c) * b.count(c) for c in {*a, *b}) / n**2
    return (observed - chance) / (1 - chance)


class FirstAlways(Engine):
    """A judge that prefers whatever it is shown first."""

    name = "first-always"

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer [[A]] to everything."""
        return [Generation(outputs=(Output("[[A]]"),)) for _ in requests]


def position_bias(judges: Path) -> None:
    pairs = [Pair(row["output_1"], row["output_2"], row["input"]) for row in rows(judges / "llmbar_pairs.jsonl")]
    for order in ("both", "fixed"):
        compared, seconds = timed(lambda order=order: Pairwise(FirstAlways(), order=order).compare(pairs))  # type: ignore[misc]
        rate = win_rate([judgement.preference for judgement in compared])
        print(f"a judge that prefers the first place, {order}: {100 * rate.value} % of {rate.n} in {seconds:.2f} s")


def main() -> None:
    folder, peer = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    win_rates(folder / "alpaca")
    length_control(folder / "alpaca", peer)
    published_weights(folder / "alpaca")
    log_probabilities(folder / "alpaca")
    llmbar(folder / "judges")
    judgebench(folder / "judges")
    pandalm(folder / "judges")
    position_bias(folder / "judges")


if __name__ == "__main__":
    main()
