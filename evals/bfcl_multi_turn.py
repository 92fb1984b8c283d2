"""BFCL's multi-turn items: the model calls simulated services and reads the results until it makes no more calls.

The prompts are the leaderboard's own for models without tool calling (BFCL v4). Calls run on the services of bfcl-eval
in the sandbox. Each step replays all calls of its conversation, since the services are small and deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from verikit.engines import Engine, Request
from verikit.errors import SchemaError
from verikit.evals.bfcl import described, instructions
from verikit.evals.docs import Doc, Row
from verikit.evals.replies import Failed, Noted, finish_of, texts
from verikit.evals.rollouts import ASSISTANT, USER, ReplyRequest
from verikit.replies.split import CUT, FINISH_KEYS, reply_text
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, default_sandbox
from verikit.sandbox.guest import source
from verikit.sandbox.guest.bfcl import MODULES
from verikit.types import Message
from verikit.verifiers.tools.bfcl_multi_turn import MAX_MADE, Played, has_long_context, need_services, reply_calls

MAX_STEPS = 20
"""Number of steps in a turn after which the leaderboard ends the conversation."""
LIMITS = RunLimits(wall_s=20.0, memory_mb=1024)
"""Limits of a conversation's calls, as in `bfcl_multi_turn`."""
PLAYED = ("initial_config", "involved_classes", "ground_truth")
MORE_FUNCTIONS = "{functions}\nI have updated some more functions you can choose from. What about now?"


def multi_turn_doc(row: Row) -> Doc:
    """Return the messages of each turn and the tools, with the fields that `bfcl_multi_turn` replays.

    Raises:
        MissingExtra: bfcl-eval is not installed.
        SchemaError: The row is not one of BFCL's multi-turn items, or has no expected calls.
    """
    need_services()
    for key in ("id", "question", *PLAYED):
        if row.get(key) is None:
            hint = "the expected calls are in the folder possible_answer next to the file" if key == PLAYED[-1] else ""
            raise SchemaError("is missing", field=key, hint=hint)
    if not all(name in MODULES for name in row["involved_classes"]):
        raise SchemaError(f"services of {', '.join(MODULES)} are expected", field="involved_classes")
    missed: Mapping[str, Sequence[str]] = row.get("missed_function") or {}
    tools = {tool["name"]: tool for name in row["involved_classes"] for tool in _tools(name)}
    later = {number: [tools.pop(name) for name in names if name in tools] for number, names in missed.items()}
    asked = [_asked(turn, later.get(str(number))) for number, turn in enumerate(row["question"])]
    if len(asked) != len(row["ground_truth"]):
        raise SchemaError(f"expected calls of {len(asked)} turns", field="ground_truth")
    # String columns: dataset columns have one type each.
    return {
        "id": str(row["id"]),
        "question": "\n\n".join(message["content"] for turn in row["question"] for message in turn),
        "answer": [],
        "category": str(row.get("category") or str(row["id"]).rpartition("_")[0]),
        "tools": json.dumps(list(tools.values())),
        "asked": json.dumps(asked),
        "tests": json.dumps({**{key: row[key] for key in PLAYED[:-1]}, "calls": row["ground_truth"]}),
    }


def _asked(turn: Any, functions: Sequence[Mapping[str, Any]] | None) -> list[Message]:
    if functions is not None:
        return [{"role": "user", "content": MORE_FUNCTIONS.format(functions=functions)}]
    if not isinstance(turn, list) or not all(isinstance(message, Mapping) for message in turn):
        raise SchemaError("a list of messages per turn is expected", field="question")
    return [{"role": str(message["role"]), "content": str(message["content"])} for message in turn]


@cache
def _tools(service: str) -> Sequence[Mapping[str, Any]]:
    """The descriptions of a service's functions, as the leaderboard shows them."""
    spec = find_spec("bfcl_eval")
    (folder,) = (spec.submodule_search_locations if spec else None) or [""]
    file = Path(folder) / "data/multi_turn_func_doc" / f"{MODULES[service]}.json"
    return [described(json.loads(line), None) for line in file.read_text("utf-8").splitlines()]


def prompt(doc: Doc) -> str:
    """The instructions with the tools; the turns follow in the rollout."""
    return instructions(json.loads(doc["tools"]))


@dataclass
class _Conversation:
    """The messages of a conversation, and its calls."""

    ask: ReplyRequest
    asked: list[list[Message]]
    messages: list[Message] = field(default_factory=list)
    replies: list[list[str]] = field(default_factory=list)
    calls: list[Played] = field(default_factory=list)
    steps: int = 0
    """Requests so far, for the seeds."""
    finish: str = ""
    """Why a reply was cut, if one was."""
    failed: Failed | None = None
    over: bool = False

    def begin_turn(self) -> None:
        """Show the next turn's messages. If there is none, the conversation is over."""
        if len(self.replies) == len(self.asked):
            self.over = True
            return
        self.messages += self.asked[len(self.replies)]
        self.replies.append([])

    def request(self) -> Request:
        """Return the request for the next reply."""
        request = self.ask.request
        if request.seed is not None:
            request = replace(request, seed=request.seed * 1000 + self.steps)
        if request.kind != "chat":
            names = {"user": USER, "assistant": ASSISTANT.lstrip() + " "}
            said = "".join(f"{names.get(turn['role'], '')}{turn['content']}\n" for turn in self.messages)
            text = f"{request.prompt}\n{said.rstrip()}{ASSISTANT}"
            return replace(request, prompt=text, stop=(*request.stop, f"\n{USER.strip()}"))
        given = [turn for turn in request.prompt if isinstance(turn, dict)]
        told = [str(turn["content"]) for turn in given if turn.get("role") in ("system", "user")]
        system = Message(role="system", content="\n\n".join(told))
        return replace(request, prompt=[system, *self.messages])

    def read(self, reply: str) -> list[Played]:
        """Process a reply: collect its calls to run. A reply without calls ends the turn."""
        self.steps += 1
        if isinstance(reply, Failed):
            self.failed, self.over = reply, True
            return []
        if (finish := finish_of(reply)) in CUT:
            self.finish = finish
        text = reply_text(reply)
        self.replies[-1].append(text)
        self.messages.append({"role": "assistant", "content": text})
        calls = reply_calls(text)
        if not calls:
            self.begin_turn()
        return calls

    def show(self, calls: Sequence[Played], results: Sequence[str]) -> None:
        """Show the results of calls; a turn with too many steps ends the conversation."""
        told = [
            {"role": "tool", "name": _written(call), "content": text} for call, text in zip(calls, results, strict=True)
        ]
        self.calls += calls
        self.messages.append({"role": "user", "content": repr(told)})
        self.over = len(self.replies[-1]) > MAX_STEPS or len(self.calls) > MAX_MADE

    def result(self) -> str:
        """The replies of each turn, as bfcl-eval stores them."""
        if self.failed is not None:
            return self.failed
        notes = {"transcript": self.messages} | ({FINISH_KEYS[0]: self.finish} if self.finish else {})
        return Noted(json.dumps(self.replies), notes)


def services(engine: Engine, asks: Sequence[ReplyRequest], retriever: object = None) -> list[str]:
    """Let the model call the services turn by turn. All documents advance step by step together.

    Raises:
        SandboxUnavailable: This machine can't isolate programs. The error names the missing parts.
    """
    box = default_sandbox(ISOLATION)
    conversations = [_Conversation(ask, json.loads(ask.doc["asked"])) for ask in asks]
    for conversation in conversations:
        conversation.begin_turn()
    with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-bfcl") as threads:
        while live := [conversation for conversation in conversations if not conversation.over]:
            generations = engine.generate([conversation.request() for conversation in live])
            called = []
            for conversation, generation in zip(live, generations, strict=True):
                made = conversation.read(texts(generation, 1)[0])
                if made:
                    called.append((conversation, made))
            list(threads.map(lambda pair: _play(pair[0], pair[1], box), called))
    return [conversation.result() for conversation in conversations]


def _play(conversation: _Conversation, calls: Sequence[Played], box: LocalSandbox) -> None:
    """Run the new calls after the earlier ones, and show their results.

    Calls that take too long end the conversation. Its remaining turns are then missing, and the verdict is 0.0.
    """
    doc = conversation.ask.doc
    tests = json.loads(doc["tests"])
    row = {
        "config": tests["initial_config"],
        "classes": tests["involved_classes"],
        "long": has_long_context(f"{doc['id']} {doc['category']}"),
        "calls": [*conversation.calls, *calls],
        "since": len(conversation.calls),
    }
    result = box.run(source("bfcl"), call=("results", [json.dumps(row)], {}), limits=LIMITS)
    if result.status == "infra_error":
        conversation.failed, conversation.over = Failed(f"The sandbox failed: {result.error}"), True
    elif result.status != "ok":
        conversation.over = True
    elif result.value[0] == "row":
        conversation.failed, conversation.over = Failed(str(result.value[1])[:500]), True
    else:
        conversation.show(calls, result.value[1])


def _written(call: Played) -> str:
    name, _, arguments = call
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
