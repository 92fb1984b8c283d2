"""What a server may send in place of a good reply: it is refused or read as a sound generation; nothing raises."""

from __future__ import annotations

import copy
import json
import math
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from verikit.engines import Generation, Request
from verikit.engines.errors import BadReply
from verikit.engines.openai.reply import generation_of

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))
STEP = {"token": "4", "logprob": -0.5, "top_logprobs": [{"token": "4", "logprob": -0.5}, {"token": "5", "logprob": -2}]}
CHAT = {
    "choices": [
        {
            "index": index,
            "message": {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"},
            "finish_reason": "stop",
            "stop_reason": "a",
            "logprobs": {"content": [STEP, STEP]},
            "token_ids": [4, 5],
        }
        for index in range(2)
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}
TEXT = {
    "choices": [
        {
            "index": 0,
            "text": "ab",
            "logprobs": {
                "tokens": ["a", "b"],
                "token_logprobs": [-1.0, -0.25],
                "top_logprobs": [{"a": -1.0}, {"b": -0.25}],
            },
            "prompt_logprobs": [None, {"7": {"logprob": -0.5, "rank": 1, "decoded_token": "x"}}],
        }
    ],
    "prompt_token_ids": [6, 7],
    "usage": {"prompt_tokens": 2, "completion_tokens": 2},
}  # fmt: skip
CASES = [
    (CHAT, Request(({"role": "user", "content": "2+2"},), n=2, temperature=1.0, logprobs=1, stop=("a",))),
    (CHAT, Request(({"role": "user", "content": "2+2"},), n=2, temperature=1.0)),
    (TEXT, Request("2+2", logprobs=1, prompt_logprobs=1)),
    (TEXT, Request("2+2", logprobs=0)),
]
ODD = [
    None, True, False, 0, -1, 7, 10**400, -(10**400), 1e308, -1e308, math.inf, -math.inf, math.nan, "", "x", "nan",
    "inf", "-0.5", "1e999", [], [None], [[]], {}, {"a": None}, {"content": {}}, "\ud800",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each part of a reply."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


def changed(reply: Any, draw: random.Random) -> Any:
    """The reply with a part exchanged, left out, or given twice."""
    path = draw.choice(list(places(reply)))
    if not path:
        return draw.choice(ODD)
    holder = reply
    for key in path[:-1]:
        holder = holder[key]
    how = draw.random()
    if how < 0.2:
        del holder[path[-1]]
    elif how < 0.3 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[path[-1]]))
    else:
        holder[path[-1]] = copy.deepcopy(draw.choice(ODD))
    return reply


def is_logprob(value: Any) -> bool:
    return isinstance(value, float) and value <= 0


def check(made: Generation, request: Request) -> None:
    """A generation holds what its types say, and every number of it is one."""
    assert len(made.outputs) == request.n
    assert all(isinstance(count, float) and math.isfinite(count) and count >= 0 for count in made.usage.values())
    assert all(value is None or is_logprob(value) for value in made.prompt_logprobs)
    assert all(isinstance(token, int) for token in made.prompt_ids)
    for output in made.outputs:
        assert isinstance(output.text, str)
        assert isinstance(output.finish_reason, str)
        assert isinstance(output.thoughts, str)
        assert all(isinstance(token, str) for token in output.tokens)
        assert all(isinstance(token, int) for token in output.ids)
        assert all(map(is_logprob, output.logprobs))
        assert len(output.logprobs) == len(output.tokens)
    tops = [top for output in made.outputs for top in output.top_logprobs] + list(made.prompt_top_logprobs)
    for top in (each for step in tops for each in step):
        assert isinstance(top.token, str)
        assert is_logprob(top.logprob)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_no_reply_of_a_server_raises_or_gives_a_number_that_is_none(case: int) -> None:
    reply, request = CASES[case]
    check(generation_of(reply, request), request)
    draw = random.Random(case)
    read = 0
    for _ in range(1500 * EFFORT):
        made = copy.deepcopy(reply)
        for _ in range(draw.choice([1, 1, 2, 3])):
            made = changed(made, draw)
        try:
            generation = generation_of(made, request)
        except BadReply:
            continue
        check(generation, request)
        json.dumps([output.text for output in generation.outputs])
        read += 1
    assert read > 50
