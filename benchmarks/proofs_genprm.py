"""GenPRM on a pretrained model of 135 million parameters: are its step rewards worth more than a vote? On a CPU.

    python benchmarks/proofs_genprm.py policy            # SmolLM2-135M-Instruct, shown chains of sums
    python benchmarks/proofs_genprm.py reviewer          # the same model, shown reviews of a program's solutions
    python benchmarks/proofs_genprm.py samples           # the policy's replies to the held-out chains
    python benchmarks/proofs_genprm.py data 0            # `verikit synth genprm`; 0 is the seed
    python benchmarks/proofs_genprm.py train 0           # a GenPRM and a discriminative model from the same data
    python benchmarks/proofs_genprm.py measure 0         # the rewards of steps, the choice among eight, the critic
    python benchmarks/proofs_genprm.py protocols 0       # ProcessBench's and PRMBench's protocols by `verikit eval`
    python benchmarks/proofs_genprm.py page docs/genprm.md

A problem is a chain such as 63 - 27 + 48. Chains of two to four operations are reviewed in training, and chains of two
to six are held out. No person labels a step: labels are relative progress, and a rationale is kept if its verdicts are
the labels. Each part writes one JSON file to `WORK/results`, and does nothing where that exists. A part that was
stopped continues. The models are stored in bf16, trained in fp32 with bf16 products, on one thread each.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from proofs import VERIKIT, export, once, pretrained, read, run, train, write
from proofs_genprm_chains import Chain, JsonObject, doubted, labels, numbers, prmbench_rows, processbench_rows, review
from proofs_genprm_page import write_page

from verikit import Group, Sample, Score, answer
from verikit.engines import Engine, Output, Request, load_engine
from verikit.evals.processbench import auc
from verikit.judges.genprm import Classifier, Critic, GenPRM
from verikit.judges.genprm.steps import split_steps
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.judges.genprm.synth.sampling import Asking
from verikit.select import Best, Majority, Selector, Weighted
from verikit.types import Message

PROTOCOL = Path(__file__).with_name("proofs_genprm.toml")
REVIEWED, HELD_OUT = (2, 3, 4), (2, 3, 4, 5, 6)
"""Operations of the chains in training and of those held out."""
QUESTIONS, REPLIES, CHOSEN_FROM = 40, 32, 8
PROBLEMS = 40
"""Problems that a seed's labels are made from."""
LESSONS = 64
"""Rationales at most that a GenPRM learns from."""
TURNS, AT_ONCE = 3, 32
SOLUTIONS, PLANTED = 60, 40
"""Rows in the forms of ProcessBench and PRMBench."""
REPLY_TOKENS, REVIEW_TOKENS = 90, 96


def policy(work: Path) -> JsonObject:
    """Show the model how chains are solved, and how a doubted step is corrected."""
    rng = random.Random("policy")
    rows = []
    base(work)
    tokenizer = load_tokenizer(work / "base")
    for _ in range(16 * 40):
        chain = Chain.draw(rng, rng.choice(HELD_OUT))
        messages: list[JsonObject] = [{"role": "user", "content": chain.prompt}]
        if rng.random() < 0.5:  # the synthesis asks with this system message, and the critic without one
            messages = [{"role": "system", "content": Asking().system}, *messages]
        elif rng.random() < 0.4:
            messages += doubted(chain, rng)
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        rows.append({"prompt": prompt, "completion": "\n\n".join(chain.solution())})
    return taught(work, "policy", rows, batch=16, epochs=1, rate=2e-4)


def reviewer(work: Path) -> JsonObject:
    """Show the model reviews of a program's solutions. It stands for a model that can follow instructions."""
    rng = random.Random("reviewer")
    rows = []
    for _ in range(8 * 18):
        chain = Chain.draw(rng, rng.choice(REVIEWED), most=99)
        reviews = review(chain, chain.solution(0.25, rng))
        rows.append({"messages": [{"role": "system", "content": "Review each step."}, *reviews]})
    return taught(work, "reviewer", rows, batch=8, epochs=1, rate=1e-4)


def taught(
    work: Path,
    name: str,
    rows: Sequence[JsonObject],
    batch: int,
    epochs: int,
    rate: float,
    start: str = "base",
    **more: Any,
) -> JsonObject:
    """Train a model on rows, and store it in bf16."""
    write(work / f"{name}.jsonl", rows)
    steps = len(rows) * epochs // batch
    settings = {
        "model.path": work / start, "precision.master": "float32", "options.data": work / f"{name}.jsonl",
        "options.batch": batch, "optimizer.lr": rate, "optimizer.warmup_steps": 3, "optimizer.schedule": "cosine",
        "batch.tokens": 2048, "run.steps": steps, "run.evaluate_every": 0, "run.save_every": 10,
    }  # fmt: skip
    base(work)
    train("sft", settings | more, work / f"{name}-run")
    export(work / f"{name}-run", work / name)
    return {"rows": len(rows), "steps": steps}


def base(work: Path) -> None:
    """The pretrained model in bf16."""
    if not (work / "base").exists():
        import transformers

        source = pretrained().smollm2()
        transformers.AutoModelForCausalLM.from_pretrained(source, dtype="bfloat16").save_pretrained(work / "base.part")
        transformers.AutoTokenizer.from_pretrained(source).save_pretrained(work / "base.part")
        (work / "base.part").rename(work / "base")


def load_tokenizer(folder: Path) -> Any:
    """A model's tokenizer."""
    import transformers

    return transformers.AutoTokenizer.from_pretrained(folder)


def engine(model: Path) -> Engine:
    """A model's engine on one thread."""
    import torch

    torch.set_num_threads(1)
    return load_engine(f"hf:{model}", dtype="bfloat16")


def samples(work: Path) -> JsonObject:
    """Sample the policy's replies to the held-out chains."""
    rng = random.Random("held out")
    chains = [Chain.draw(rng, HELD_OUT[number % len(HELD_OUT)]) for number in range(QUESTIONS)]
    requests = [
        Request(
            [Message(role="user", content=chain.prompt)],
            n=REPLIES,
            max_tokens=REPLY_TOKENS,
            temperature=1.0,
            seed=number,
        )
        for number, chain in enumerate(chains)
    ]
    generations = engine(work / "policy").generate(requests)
    rows: list[JsonObject] = [
        {"prompt": chain.prompt, "answer": chain.answer, "replies": [output.text for output in generation.outputs],
         "tokens": [length(output) for output in generation.outputs]}
        for chain, generation in zip(chains, generations, strict=True)
    ]  # fmt: skip
    write(work / "samples.jsonl", rows)
    right = [[is_right(text, row["answer"]) for text in row["replies"]] for row in rows]
    return {"right": fmean(map(fmean, right)), "questions": len(rows), "right by length": {
        str(steps): fmean(fmean(flags) for flags, chain in zip(right, chains, strict=True)
                          if len(chain.operations) == steps)
        for steps in HELD_OUT
    }}  # fmt: skip


def length(output: Output) -> int:
    """Tokens of an output."""
    return len(output.ids)


def is_right(text: str, gold: str) -> bool:
    """Whether a reply's last number is the answer."""
    return numbers(text)[-1:] == [gold]


def data(work: Path, seed: int) -> JsonObject:
    """Label the policy's solutions by completing them, and keep rationales whose verdicts are the labels."""
    rng = random.Random(f"problems {seed}")
    chains = [Chain.draw(rng, rng.choice(REVIEWED)) for _ in range(PROBLEMS)]
    rows = [{"id": f"p{number}", "prompt": chain.prompt, "answer": chain.answer} for number, chain in enumerate(chains)]
    write(work / f"problems-{seed}.jsonl", rows)
    out = work / f"data-{seed}"
    command = [
        *VERIKIT, "synth", "genprm", work / f"problems-{seed}.jsonl", "-q", "-o", out, "--policy",
        f"hf:{work / 'policy'}", "--reviewer", f"hf:{work / 'reviewer'}", "--protocol", PROTOCOL, "--paths", 4,
        "--attempts", 32, "--draws", 8, "--completions", "12,10,8", "--drafts", 1, "--temperature", 1, "--max-tokens",
        REPLY_TOKENS, "--batch", 16, "--seed", seed,
    ]  # fmt: skip
    run([str(word) for word in command])
    found: JsonObject = {"report": json.loads((out / "report.json").read_text("utf-8"))}
    paths = read(out / "steps.jsonl")
    kept = {row["id"] for row in read(out / "train.jsonl")}
    for name, some in (("labelled", paths), ("kept", [path for path in paths if path["id"] in kept])):
        same = [
            bool(label) is good
            for path in some
            for label, good in zip(path["labels"], labels(Chain.read(path["prompt"]), path["steps"]), strict=True)
        ]
        found[name] = {"solutions": len(some), "true labels": fmean(same)}
    return found


def train_both(work: Path, seed: int) -> JsonObject:
    """Train the reviewer on its kept rationales, and a discriminative model on the labels of the same solutions."""
    rationales = read(work / f"data-{seed}/train.jsonl")[:LESSONS]
    found = taught(work, f"genprm-{seed}", rationales, batch=8, epochs=2, rate=5e-5, start="reviewer", seed=seed)
    kept = {row["id"] for row in rationales}
    steps = [row for row in read(work / f"data-{seed}/steps.jsonl") if row["id"] in kept]
    head = {"recipe": "step-labels", "options.separator": "\n\n", "seed": seed}
    taught(work, f"head-{seed}", steps, batch=8, epochs=3, rate=1e-4, start="reviewer", **head)
    return found


class HeldOut:
    """Eight replies to each held-out question, each scored once however often it was drawn."""

    def __init__(self, work: Path) -> None:
        self.rows = read(work / "samples.jsonl")
        pairs = [(row["prompt"], text) for row in self.rows for text in row["replies"][:CHOSEN_FROM]]
        self.different = list(dict.fromkeys(pairs))
        self.samples = [Sample(prompt, text) for prompt, text in self.different]
        self.truth = [labels(Chain.read(prompt), split_steps(text)) for prompt, text in self.different]

    def auc(self, rewards: Sequence[Sequence[float | None]], lengths: Sequence[int] = HELD_OUT) -> float:
        """AUC of right steps against first errors, on chains of some lengths."""
        steps = []
        for (prompt, _), values, truth in zip(self.different, rewards, self.truth, strict=True):
            if len(Chain.read(prompt).operations) in lengths:
                known = truth.index(False) + 1 if False in truth else len(truth)
                steps += [
                    (value, good) for value, good in zip(values[:known], truth, strict=False) if value is not None
                ]
        return auc(steps)

    def vote(self) -> list[list[float | None]]:
        """The majority as a step reward: how many of the eight replies begin with the same lines."""
        found: list[list[float | None]] = []
        for prompt, text in self.different:
            row = next(row for row in self.rows if row["prompt"] == prompt)
            others = [split_steps(other) for other in row["replies"][:CHOSEN_FROM]]
            steps = split_steps(text)
            found.append([fmean(other[: index + 1] == steps[: index + 1] for other in others)
                          for index in range(len(steps))])  # fmt: skip
        return found

    def chosen(self, scores: Sequence[float | None] | None, selector: Selector, count: int = CHOSEN_FROM) -> float:
        """Share of questions whose chosen reply is right."""
        by_pair = dict(zip(self.different, scores, strict=True)) if scores else {}
        hits = []
        for row in self.rows:
            texts = row["replies"][:count]
            given = [Score(by_pair[row["prompt"], text] if scores else 1.0, answer="".join(numbers(text)[-1:]))
                     for text in texts]  # fmt: skip
            picked = selector.select(Group(row["prompt"], tuple(texts)), given)[0]
            hits.append(is_right(texts[picked], row["answer"]))
        return fmean(hits)


class Counted(Engine):
    """An engine that counts the tokens it writes."""

    name = "counted"

    def __init__(self, inner: Engine) -> None:
        self.inner, self.tokens = inner, 0

    def generate(self, requests: Sequence[Request]) -> list[Any]:
        """The inner engine's."""
        return [generation for _, generation in sorted(self.stream(requests), key=lambda item: item[0])]

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Any]]:
        """The inner engine's, counted."""
        for number, generation in self.inner.stream(requests):
            self.tokens += sum(map(length, generation.outputs))
            yield number, generation


def measure(work: Path, seed: int) -> JsonObject:
    """AUC of step rewards, the choice among eight, and the critic, each with its tokens."""
    held = HeldOut(work)
    writer = Counted(engine(work / f"genprm-{seed}"))
    judges: dict[str, StepVerifier] = {
        mode: GenPRM(writer, 1, mode=mode, protocol=str(PROTOCOL), temperature=0, seed=seed)
        for mode in ("full", "unexecuted")
    }
    judges["head"] = Classifier(str(work / f"head-{seed}"))
    found: JsonObject = {"vote": {"AUC": held.auc(held.vote()), "seen lengths": held.auc(held.vote(), REVIEWED)}}
    for name, judge in judges.items():
        reviews = reviewed(work / f"rewards-{name}-{seed}.jsonl", judge, held.samples, writer)
        rewards = [row["steps"] for row in reviews]
        values = [row["value"] for row in reviews]
        found[name] = {
            "AUC": held.auc(rewards), "seen lengths": held.auc(rewards, REVIEWED),
            "no verdict": sum(value is None for steps in rewards for value in steps),
            "best of 8": held.chosen(values, Best()), "weighted": held.chosen(values, Weighted(weights="raw")),
            "tokens": sum(row["tokens"] for row in reviews) / len(held.rows),
        }  # fmt: skip
    found["majority"] = {str(n): held.chosen(None, Majority(), n) for n in (1, 8, 16, 24, 32)}
    found["reply tokens"] = fmean(tokens for row in held.rows for tokens in row["tokens"])
    found["critic"] = refined(work, held, writer, judges["full"], seed)
    return found


def reviewed(file: Path, judge: StepVerifier, samples: Sequence[Sample], writer: Counted) -> list[JsonObject]:
    """Each sample's step rewards, value and tokens written. A stopped part continues from the file."""
    rows = read(file) if file.exists() else []
    for start in range(len(rows), len(samples), AT_ONCE):
        before = writer.tokens
        scores = judge.score(samples[start : start + AT_ONCE])
        tokens = (writer.tokens - before) / len(scores)
        rows += [
            {"steps": [step.value for step in score.steps], "value": score.value, "tokens": tokens} for score in scores
        ]
        write(file, rows)
    return rows


def refined(work: Path, held: HeldOut, writer: Counted, judge: StepVerifier, seed: int) -> JsonObject:
    """Share of right answers after each turn of the critic, from each question's first reply, and the tokens."""
    solver = Counted(engine(work / "policy"))
    before = writer.tokens
    loop = Critic(solver, judge, turns=TURNS, truth=answer(), temperature=1.0, top_p=1.0, max_tokens=REPLY_TOKENS,
                  seed=seed)  # fmt: skip
    first = [Sample(row["prompt"], row["replies"][0], row["answer"]) for row in held.rows]
    found = loop.refine(first)
    at = [[item.turns[min(turn, len(item.turns) - 1)] for item in found] for turn in range(TURNS + 1)]
    return {
        "right": [fmean(float((turn.truth.value or 0) if turn.truth else 0) for turn in turns) for turns in at],
        "tokens": (solver.tokens + writer.tokens - before) / len(held.rows),
    }


def protocols(work: Path, seed: int) -> JsonObject:
    """Run the protocols of ProcessBench (as its GSM8K part) and PRMBench on rows made of the held-out chains."""
    rng = random.Random("protocols")
    replies = [(Chain.read(prompt), list(split_steps(text))) for prompt, text in HeldOut(work).different]
    some = [(chain, steps) for chain, steps in replies if steps]
    solutions = rng.sample(some, min(SOLUTIONS, len(some)))
    chains = [Chain.draw(rng, HELD_OUT[number % len(HELD_OUT)]) for number in range(PLANTED)]
    write(work / "processbench.jsonl", processbench_rows(solutions))
    write(work / "prmbench.jsonl", prmbench_rows(chains, rng))
    genprm = f"genprm('hf:{work / f'genprm-{seed}'}', 1, protocol='{PROTOCOL}', temperature=0, seed={seed})"
    judges = {"full": genprm, "head": f"prm('{work / f'head-{seed}'}')"}
    tasks = {"processbench": "verikit_processbench_gsm8k", "prmbench": "verikit_prmbench"}
    found: JsonObject = {}
    for name, spec in judges.items():
        for rows, task in tasks.items():
            out = work / f"eval-{rows}-{name}-{seed}"
            command = ["eval", task, "-q", "--model", spec, "--data", str(work / f"{rows}.jsonl"), "-o", str(out)]
            run([*VERIKIT, *command])
            metrics = json.loads((out / "results.json").read_text("utf-8"))["tasks"][task]["metrics"]
            found[f"{rows} {name}"] = {key: metric["value"] for key, metric in metrics.items()}
    return found


PARTS: dict[str, Callable[..., JsonObject]] = {
    "policy": policy, "reviewer": reviewer, "samples": samples, "data": data, "train": train_both, "measure": measure,
    "protocols": protocols,
}  # fmt: skip
SEEDED = ("data", "train", "measure", "protocols")


def main() -> None:
    """Do one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("runs/proofs-genprm"))
    parser.add_argument("part", choices=(*PARTS, "page"))
    parser.add_argument("which", nargs="?", help="The seed, or the page's file.")
    given = parser.parse_args()
    work = given.work.resolve()
    if given.part == "page":
        write_page(work / "results", Path(given.which))
    elif given.part in SEEDED:
        seed = int(given.which)
        once(work, f"{given.part}-{seed}", lambda home: PARTS[given.part](home, seed))
    else:
        once(work, given.part, PARTS[given.part])


if __name__ == "__main__":
    main()
