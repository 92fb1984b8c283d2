"""Sample candidates from a model folder, for `verikit score`: python sample.py MODEL OUT.jsonl."""

import json
import random
import sys

from verikit.engines import Request, load_engine


def main(model: str, out: str, problems: int = 64, samples: int = 8) -> None:
    draw = random.Random(0)
    pairs = [(draw.randrange(10, 100), draw.randrange(10, 100)) for _ in range(problems)]
    requests = [
        Request(f"{a}+{b}=", n=samples, max_tokens=32, temperature=1.0, seed=n) for n, (a, b) in enumerate(pairs)
    ]
    with load_engine(f"hf:{model}") as engine, open(out, "w", encoding="utf-8") as stream:
        for (a, b), found in zip(pairs, engine.generate(requests), strict=True):
            texts = [output.text for output in found.outputs]
            row = {"id": f"{a}+{b}", "prompt": f"{a}+{b}=", "completions": texts, "answer": str(a + b)}
            stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
