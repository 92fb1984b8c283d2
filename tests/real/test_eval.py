"""A benchmark task on a pretrained model: its replies are the engine's own, and its figure is of those replies."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import write
from verikit.engines import Request, load_engine

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
ROWS = [
    {"question": "What is 2 + 2?", "answer": "2 + 2 = 4\n#### 4"},
    {"question": "Ann has 3 apples and buys 5. How many has she?", "answer": "#### 8"},
]
TOKENS = 48


def test_a_task_scores_what_the_model_replies(smollm2: str, folder: Path) -> None:
    from verikit.evals.lm import EngineLM
    from verikit.evals.loading import Settings
    from verikit.evals.run import run_tasks

    engine = load_engine(f"hf:{smollm2}", dtype="float32")
    settings = Settings(
        data={"verikit_gsm8k": write(folder / "m.jsonl", ROWS)}, chat=True, generation={"max_gen_toks": TOKENS}
    )
    found = run_tasks(["verikit_gsm8k"], "smollm2", EngineLM(engine), settings, folder / "run")["tasks"][
        "verikit_gsm8k"
    ]
    samples = [json.loads(line) for line in (folder / "run/samples_verikit_gsm8k.jsonl").read_text().splitlines()]
    assert len(samples) == len(ROWS)
    for sample in samples:
        [[asked]] = [arguments["arg_0"] for arguments in sample["arguments"].values()]
        [own] = engine.generate([Request(json.loads(asked), max_tokens=TOKENS)])
        assert sample["resps"] == [[own.text]]
    # What a line of code finds: the last number of the reply.
    right = [re.findall(r"\d+", row["resps"][0][0])[-1:] == [row["target"]] for row in samples]
    assert [row["acc"] for row in samples] == list(map(float, right))
    assert found["metrics"]["acc"]["value"] == sum(right) / len(right)
    assert not found["unscored"]
