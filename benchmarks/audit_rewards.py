"""`verikit audit` of rewards that other packages install: `python benchmarks/audit_rewards.py DATA` prints a table.

Each reward is the package's own function, called as its trainer calls it, and tried on rows of the corpus that it is
made for (GSM8K, MATH-500, HotpotQA). `--venvs FOLDER` runs each in FOLDER/PACKAGE/bin/python, so that no two packages
share an environment; without it all run here, and what is not installed is skipped by name. Rewards that run programs
are left out: these packages run them in the trainer's own process or on a server (`forge.py` tries them in a sandbox).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from verikit import Sample, load, verifier
from verikit.audit import AuditResult, audit
from verikit.audit.folder import result_of, summary

ROOT = Path(__file__).resolve().parents[1]
Reward = Callable[[Sample], Any]
HACKS_SHOWN = 4


class Peer(NamedTuple):
    """One reward function."""

    package: str
    corpus: str
    make: Callable[[], Reward]
    note: str = ""


def _turn(sample: Sample) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": sample.completion}]


def trl_accuracy() -> Reward:
    from trl.rewards import accuracy_reward

    return lambda sample: accuracy_reward([_turn(sample)], [f"${sample.answer}$"])[0]


def trl_reasoning_accuracy() -> Reward:
    from trl.rewards import reasoning_accuracy_reward

    return lambda sample: reasoning_accuracy_reward([_turn(sample)], [f"${sample.answer}$"])[0]


def trl_think_format() -> Reward:
    from trl.rewards import think_format_reward

    return lambda sample: think_format_reward([_turn(sample)])[0]


def math_verify() -> Reward:
    from math_verify import parse, verify

    return lambda sample: float(verify(parse(f"${sample.answer}$"), parse(sample.completion)))


def verl(source: str) -> Callable[[], Reward]:
    def make() -> Reward:
        from verl.utils.reward_score import default_compute_score

        gold: Callable[[Sample], Any] = lambda sample: sample.answer  # noqa: E731
        if source.startswith("searchR1"):
            gold = lambda sample: {"target": [sample.answer]}  # noqa: E731

        def score(sample: Sample) -> float:
            found = default_compute_score(source, sample.completion, gold(sample))
            return float(found["score"] if isinstance(found, dict) else found)

        return score

    return make


def verl_math_verify() -> Reward:
    from verl.utils.reward_score.math_verify import compute_score

    return lambda sample: float(compute_score(sample.completion, str(sample.answer)))


def verifiers_math() -> Reward:
    import asyncio

    from verifiers.rubrics.math_rubric import MathRubric

    rubric, loop = MathRubric(), asyncio.new_event_loop()
    return lambda sample: loop.run_until_complete(
        rubric.correct_answer(rubric.parser, _turn(sample), str(sample.answer))
    )


def openrlhf_math() -> Reward:
    from openrlhf.utils.math_utils import extract_boxed_answer, grade_answer

    def score(sample: Sample) -> float:
        answer = extract_boxed_answer(sample.completion)
        return float(answer is not None and grade_answer(answer, str(sample.answer)))

    return score


def lm_eval_hendrycks() -> Reward:
    from lm_eval.tasks.hendrycks_math.utils import process_results

    return lambda sample: process_results({"solution": f"\\boxed{{{sample.answer}}}"}, [sample.completion])[
        "exact_match"
    ]


def verikit_answer() -> Reward:
    own = load("answer")
    return lambda sample: own.score([sample])[0]


PEERS: Mapping[str, Peer] = {
    "TRL accuracy_reward": Peer("trl", "MATH-500", trl_accuracy),
    "TRL reasoning_accuracy_reward": Peer("trl", "MATH-500", trl_reasoning_accuracy),
    "TRL think_format_reward": Peer("trl", "MATH-500", trl_think_format, "a form, no answer"),
    "math-verify": Peer("math_verify", "MATH-500", math_verify),
    "verl openai/gsm8k": Peer("verl", "GSM8K", verl("openai/gsm8k")),
    "verl MATH": Peer("verl", "MATH-500", verl("HuggingFaceH4/MATH-500")),
    "verl math_dapo": Peer("verl", "MATH-500", verl("math_dapo"), "from -1 to 1"),
    "verl prime_math": Peer("verl", "MATH-500", verl("numina_aops_forum")),
    "verl math_verify": Peer("verl", "MATH-500", verl_math_verify),
    "verl searchR1": Peer("verl", "HotpotQA", verl("searchR1_hotpotqa")),
    "verifiers MathRubric": Peer("verifiers", "MATH-500", verifiers_math),
    "OpenRLHF math_utils": Peer("openrlhf", "MATH-500", openrlhf_math),
    "lm-eval hendrycks_math": Peer("lm_eval", "MATH-500", lm_eval_hendrycks, "a benchmark's check"),
    "verikit answer, GSM8K": Peer("verikit", "GSM8K", verikit_answer),
    "verikit answer, MATH-500": Peer("verikit", "MATH-500", verikit_answer),
    "verikit answer, HotpotQA": Peer("verikit", "HotpotQA", verikit_answer),
}


@cache
def rows(data: Path, corpus: str) -> list[dict[str, Any]]:
    """Rows of a corpus with short golds."""

    def read(path: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (data / path).read_text("utf-8").splitlines() if line.strip()]

    if corpus == "GSM8K":
        found = [
            (r["question"], r["answer"].rpartition("####")[2].strip().replace(",", ""))
            for r in read("questions/gsm8k.jsonl")
        ]
    elif corpus == "MATH-500":
        found = [(r["problem"], r["answer"]) for r in read("questions/math500.jsonl")]
    else:
        found = [(r["question"], r["answer"]) for r in read("multihop/r1s_hotpotqa_llama.jsonl")]
    return [{"prompt": prompt, "answer": answer} for prompt, answer in found]


def audited(name: str, data: Path, count: int) -> AuditResult:
    """The audit of one reward, here."""
    peer = PEERS[name]
    reward = peer.make()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(data, peer.corpus)[:count]), "utf-8")
        return audit(str(path), verifier(reward, name="reward", reads="all"), repeats=1)


def elsewhere(name: str, data: Path, count: int, python: Path) -> AuditResult | str:
    """The audit of one reward by another interpreter, or why there is none."""
    command = [str(python), __file__, str(data.resolve()), "--rows", str(count), "--json", name]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no reason given"])[-1][:150]
    result = result_of(json.loads(done.stdout.splitlines()[-1]), [])
    return result if any(count.rows for count in result.probes) else "no text gets a score"


def line(name: str, result: AuditResult, told: str) -> str:
    """A row of the table."""
    share = {check: _share(result, check) for check in ("itself", "rewriting", "near_miss", "other_gold")}
    paid = sorted((c for c in result.probes if c.check == "hack" and c.paid), key=lambda c: -c.share)
    hacks = ", ".join(f"{count.transform} {count.share:.0%}" for count in paid[:HACKS_SHOWN])
    more = f", {len(paid) - HACKS_SHOWN} more" if len(paid) > HACKS_SHOWN else ""
    form = ", ".join(sorted(set(result.forms.values()))) or "none"
    note = f" ({PEERS[name].note})" if PEERS[name].note else ""
    cells = (f"{name}{note}", told, form, *share.values(), f"{hacks}{more}" or "none")
    return f"| {' | '.join(cells)} |"


def _share(result: AuditResult, check: str) -> str:
    counts = [count for count in result.probes if count.check == check]
    tried = sum(count.rows for count in counts)
    return f"{sum(count.paid for count in counts) / tried:.0%}" if tried else "-"


def main() -> None:
    """Print the table, or with `--json` one reward's audit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--venvs", type=Path, help="a folder with an environment for each package")
    parser.add_argument("--only", nargs="*", default=list(PEERS), help="names of rewards")
    parser.add_argument("--json", metavar="REWARD", help="print the audit of one reward as JSON")
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps(summary(audited(arguments.json, arguments.data, arguments.rows))))
        return
    columns = (
        "reward",
        "corpus, version",
        "format",
        "gold answer",
        "other spellings",
        "near misses",
        "other gold answers",
    )
    print(f"| {' | '.join(columns)} | rewarded hacks |\n|{'---|' * (len(columns) + 1)}")
    for name in arguments.only:
        peer = PEERS[name]
        python = (arguments.venvs or Path()) / peer.package / "bin/python"
        chosen = python.absolute() if arguments.venvs and python.exists() else Path(sys.executable)
        result = elsewhere(name, arguments.data, arguments.rows, chosen)
        if isinstance(result, str):
            print(f"... {name} is skipped: {result}", file=sys.stderr)
        else:
            print(line(name, result, f"{peer.corpus}, {_version(chosen, peer.package)}"), flush=True)


def _version(python: Path, package: str) -> str:
    if package == "verikit":
        return "here"
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or version(package)


if __name__ == "__main__":
    main()
