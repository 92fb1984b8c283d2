"""One model, several engines: the same tables."""

import pytest

pytest.importorskip("lm_eval")
pytest.importorskip("torch")

from tests.engines.server import Server
from tests.engines.tiny import model, tokenizer
from tests.evals.scripted import MATH, ROWS, write
from verikit.engines import Request, load_engine
from verikit.engines.hf.engine import HF
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks

TASKS = {"math500": MATH, "mmlu_pro": ROWS["mmlu_pro"], "hotpotqa": ROWS["hotpotqa"]}


@pytest.mark.parametrize("chat", [True, False])
def test_one_tiny_model_gives_identical_tables_in_process_and_behind_a_server(tmp_path, chat):
    engine = HF.of(model(max_position_embeddings=2048), tokenizer())

    def answer(body, k):
        prompt = body["messages"] if chat else body["prompt"]
        limit = body.get("max_tokens") or body["max_completion_tokens"]
        output = engine.generate([Request(prompt, max_tokens=limit)])[0].outputs[0]
        said = {"message": {"content": output.text}} if chat else {"text": output.text}
        choice = {"index": 0, "finish_reason": output.finish_reason, **said}
        return {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": len(output.ids)}}

    data = {f"verikit_{name}": write(tmp_path / name, rows) for name, rows in TASKS.items()}
    settings = Settings(data=data, chat=chat, generation={"max_gen_toks": 8})
    with Server(answer) as server:
        served = load_engine(f"openai:{server.url}#tiny")
        engines = {"hf": engine, "openai": served}
        tables = {
            name: run_tasks(list(data), "tiny", EngineLM(engine), settings, tmp_path / f"run-{name}")
            for name, engine in engines.items()
        }
        served.close()
    for name in tables["hf"]["tasks"]:
        assert tables["hf"]["tasks"][name]["metrics"] == tables["openai"]["tasks"][name]["metrics"]
        assert not tables["hf"]["tasks"][name]["unscored"]
        files = [(tmp_path / f"run-{engine}" / f"samples_{name}.jsonl").read_bytes() for engine in engines]
        assert files[0] == files[1]
    assert (tmp_path / "run-hf/report.md").read_bytes() == (tmp_path / "run-openai/report.md").read_bytes()
