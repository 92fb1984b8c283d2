"""Engines that answer by a rule, so that a judge's behaviour can be set up exactly."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from verikit.engines import Engine, Generation, Output, Request, TopLogprob
from verikit.engines.errors import BadRequest
from verikit.engines.types import StructuredKind

DATA = Path(os.environ.get("VERIKIT_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))


def rows(name: str) -> Iterator[dict[str, Any]]:
    """Rows of a data file; skips the test where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs the data file {name}")
    with open(path, encoding="utf-8") as stream:
        return iter([json.loads(line) for line in stream])


def data(name: str) -> Path:
    """Path of a data file; skips the test where it is absent."""
    if not (DATA / name).exists():
        pytest.skip(f"needs the data file {name}")
    return DATA / name


class Scripted(Engine):
    """Answers each request by a function of it: a text, an output, or an error."""

    structured: frozenset[StructuredKind] = frozenset()

    def __init__(self, rule: Callable[[Request], Any], name: str = "scripted") -> None:
        self.rule, self.name = rule, name
        self.calls: list[int] = []
        self.requests: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        self.calls.append(len(requests))
        self.requests += requests
        return [self._answer(self.rule(request)) for request in requests]

    @staticmethod
    def _answer(answer: Any) -> Generation:
        usage = {"prompt_tokens": 10.0, "completion_tokens": 2.0, "calls": 1.0}
        if isinstance(answer, Exception):
            return Generation(error=answer)
        return Generation(outputs=(answer if isinstance(answer, Output) else Output(answer),), usage=usage)


class Holding(Scripted):
    """A rambler that can be held: to choices, to JSON schemas, or it says so and refuses."""

    def __init__(self, *kinds: StructuredKind, rule: Callable[[Request], Any], refuses: bool = False) -> None:
        super().__init__(rule, "holding")
        self.structured, self.refuses = frozenset(kinds), refuses

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        made = super().generate(requests)
        return [self._held(request, given) for request, given in zip(requests, made, strict=True)]

    def _held(self, request: Request, given: Generation) -> Generation:
        form = request.structured
        if form is None or given.error:
            return given
        if self.refuses:
            return self._answer(BadRequest("no such thing as response_format"))
        if form.json is not None:
            return self._answer(json.dumps({"verdict": form.json["properties"]["verdict"]["enum"][0]}))
        top = (TopLogprob("The", -0.1), TopLogprob("A", -3.0))
        return self._answer(Output(form.choice[0], tokens=(form.choice[0],), logprobs=(-9.0,), top_logprobs=(top,)))


def asked(request: Request) -> str:
    """All that a request says."""
    return "\n".join(message["content"] for message in request.prompt)


def shown(request: Request, name: str) -> str:
    """The text that stands fenced under a name."""
    match = re.search(rf"<{name} (\w+)>\n(.*)\n</{name} \1>", asked(request), re.DOTALL)
    assert match, f"{name} is not shown"
    return match[2]


def better(a: str, b: str) -> Callable[[Request], str]:
    """A fair judge's rule: the answer that holds `a` beats the one that holds `b`, wherever it stands."""

    def rule(request: Request) -> str:
        return "So: [[A]]" if a in shown(request, "answer_1") else "So: [[B]]"

    assert a != b
    return rule


def token(**shares: float) -> Output:
    """A one-token reply with these probabilities."""
    top = tuple(TopLogprob(text, math.log(share)) for text, share in sorted(shares.items(), key=lambda kv: -kv[1]))
    return Output(top[0].token, tokens=(top[0].token,), logprobs=(top[0].logprob,), top_logprobs=(top,))
