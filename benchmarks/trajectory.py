"""`trajectory` beside agentevals: the same verdicts on made trajectories, and the speed.

    python benchmarks/trajectory.py --peer DIR      # DIR: the site-packages that hold agentevals and what it needs

Trajectories are drawn from few tools and arguments, so that near misses and repeated calls are common: a reference, and
an output made from it by dropping, doubling, swapping and changing calls. agentevals pairs each call with the first
that fits; where arguments need not be equal that may leave a call over that a better pairing would not, which is
counted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from verikit.types import Sample
from verikit.verifiers.tools.trajectory import Arguments, Trajectory, TrajectoryMode

MATCHES: tuple[TrajectoryMode, ...] = ("strict", "unordered", "subset", "superset")
ARGUMENTS: tuple[Arguments, ...] = ("exact", "ignore", "subset", "superset")
Conversation = list[dict[str, Any]]
Calls = list[tuple[str, dict[str, int]]]


def drawn(rng: random.Random) -> list[Calls]:
    """The calls of each assistant's turn."""
    return [[call(rng) for _ in range(rng.randrange(3))] for _ in range(rng.randrange(1, 4))]


def call(rng: random.Random) -> tuple[str, dict[str, int]]:
    """One of few calls."""
    return rng.choice("fgh"), {key: rng.randrange(2) for key in "xy" if rng.random() < 0.7}


def changed(turns: list[Calls], rng: random.Random) -> list[Calls]:
    """A copy with a few changes."""
    copy = [list(turn) for turn in turns]
    for _ in range(rng.randrange(3)):
        turn = rng.choice(copy)
        change = rng.randrange(4)
        if change == 0 and turn:
            turn.pop(rng.randrange(len(turn)))
        elif change == 1:
            turn.append(call(rng))
        elif change == 2:
            rng.shuffle(turn)
        elif turn:
            name, arguments = turn[0]
            turn[0] = (name, {**arguments, "x": rng.randrange(2)})
    return copy


def conversation(turns: Sequence[Calls]) -> Conversation:
    """Turns as messages, each call answered."""
    found: Conversation = []
    for number, calls in enumerate(turns):
        made = [
            {"id": f"c{number}.{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(calls)
        ]
        found.append({"role": "assistant", "content": "so"} | ({"tool_calls": made} if made else {}))
        found += [{"role": "tool", "content": "ok", "tool_call_id": call["id"]} for call in made]
    return found


def main() -> None:
    """Compare verdicts and speed for each way of matching."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="the folder that holds agentevals")
    parser.add_argument("--trajectories", type=int, default=1000)
    args = parser.parse_args()
    if args.peer:
        sys.path.append(args.peer)
    make = importlib.import_module("agentevals.trajectory.match").create_trajectory_match_evaluator
    rng = random.Random(0)
    made = []
    for _ in range(args.trajectories):
        turns = drawn(rng)
        made.append((conversation(changed(turns, rng)), conversation(turns)))
    samples = [Sample("", output, meta={"trajectory": reference}) for output, reference in made]
    for match in MATCHES:
        for arguments in ARGUMENTS:
            peer = make(trajectory_match_mode=match, tool_args_match_mode=arguments)
            verifier = Trajectory(match, arguments)
            start = time.process_time()
            theirs = [bool(peer(outputs=output, reference_outputs=wanted)["score"]) for output, wanted in made]
            middle = time.process_time()
            ours = [score.value == 1.0 for score in verifier.score(samples)]
            end = time.process_time()
            table = Counter(zip(theirs, ours, strict=True))
            differ = {pair: count for pair, count in table.items() if pair[0] is not pair[1]}
            ratio = (middle - start) / (end - middle)
            print(f"{match:10} {arguments:9} both yes {table[True, True]:5}  both no {table[False, False]:5}  ", end="")
            print(f"differ (theirs, ours) {differ}  {len(made) / (end - middle):,.0f} a second, {ratio:.0f}x")


if __name__ == "__main__":
    main()
