"""The state machine of one path: the next request to the engine, and the code to run, step after step.

    analysis -> code -> (run, output, code | judgement)* -> next step
        |                          |
        +--- no code in this mode  +--- calls or tokens used up: judgement after the analysis only

If a judgement has no verdict, it is started again up to its opened box, and the verdict is read from the next token.

`walk` is a generator. It yields a request and receives the engine's generation, or it yields a text whose last code
block must be run and receives the cell. It does not handle batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from verikit.engines import Generation, Output, Request, Structured
from verikit.engines.errors import BadRequest, Unsupported
from verikit.engines.usage import added, counted
from verikit.errors import EngineError
from verikit.judges.genprm.notebook import Cell
from verikit.judges.genprm.protocol import Mode, Protocol
from verikit.judges.genprm.review import How, Path, Solution, StepReview
from verikit.judges.genprm.verdict import TOP_LOGPROBS, StepVerdict, forced_verdict, read_verdict
from verikit.types import Message

CHARS_A_TOKEN = 4
"""Characters per token, if an engine returns neither ids nor tokens."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How steps are reviewed."""

    protocol: Protocol
    mode: Mode
    temperature: float
    top_p: float
    top_k: int
    seed: int
    force: bool = False
    """If a judgement has no verdict, request only the verdict's token."""
    choice: bool = False
    """Whether the engine constrains that token to one of the two words."""


@dataclass(frozen=True, slots=True)
class RunCode:
    """Requests a run of the last code block of a text."""

    text: str


Walk = Generator[Request | RunCode, Any, None]


def walk(plan: Plan, solution: Solution, number: int, path: Path) -> Walk:
    """Review a solution's steps in order and record them in `path`. `number` separates its samples from other paths'.

    Steps already in `path` are not reviewed again. The samples of a step depend on the steps up to it.

    Raises:
        EngineError: The engine returned no output.
    """
    messages = [plan.protocol.opening(plan.mode)]
    for index in range(len(solution.steps)):
        messages.append(plan.protocol.asking(solution.problem, solution.steps, index))
        if index == len(path.steps):
            begun = Solution(solution.problem, solution.steps[: index + 1])
            turn = _Turn(plan, begun, f"{number}/{index}", tuple(messages))
            path.steps.append((yield from turn.review(index)))
        review = path.steps[index]
        messages.append(Message(role="assistant", content=review.text))


class _Turn:
    """The review of one step."""

    def __init__(self, plan: Plan, solution: Solution, key: str, messages: tuple[Message, ...]) -> None:
        self._plan, self._protocol = plan, plan.protocol
        self._messages, self._text = messages, ""
        self._draw = hashlib.blake2b(f"{plan.seed}\0{solution!r}\0{key}".encode("utf-8", "replace"), digest_size=8)
        self._left = plan.protocol.limits.tokens
        self._cells: list[Cell] = []
        self._usage: dict[str, float] = {}

    def review(self, index: int) -> Generator[Request | RunCode, Any, StepReview]:
        """Analyse, verify and judge."""
        protocol, mode = self._protocol, self._plan.mode
        if mode == "direct":
            review = yield from self._judge("direct")
            return replace(review, usage=self._usage)
        self._text = protocol.analysis_of(index)
        output = yield from self._go_on(protocol.analysis_end, judging=False)
        self._text += output.text + protocol.analysis_end
        analysis = self._text
        if mode == "analysis":
            review = yield from self._judge("analysis")
        else:
            review = yield from self._verify(analysis)
        usage = added(self._usage, {"code_runs": len(review.cells)}) if review.cells else self._usage
        return replace(review, analysis=analysis, usage=usage)

    def _verify(self, analysis: str) -> Generator[Request | RunCode, Any, StepReview]:
        """Let the model write code, show it the code's output, and repeat until it judges."""
        protocol, run = self._protocol, self._plan.mode == "full"
        self._text += protocol.code
        stops = (protocol.code_end, protocol.judgement_end) if run else (protocol.judgement_end,)
        for call in range(protocol.limits.calls):
            if self._left <= 0:
                break
            output = yield from self._go_on(*stops, judging=call > 0 or not run)
            self._text += output.text
            if protocol.judgement_tag in output.text and not self._in_code(analysis):
                verdict = read_verdict(protocol, "", output)
                if verdict is None and self._plan.force:
                    self._text = self._text[: self._text.rindex(protocol.judgement_tag)]
                    return (yield from self._force())
                if verdict is not None or output.finish_reason != "length":
                    self._text += protocol.judgement_end
                    return self._reviewed(verdict, "verified")
            if output.finish_reason == "length":
                break
            if run:
                self._text += protocol.code_end
                cell = yield RunCode(self._text)
                self._cells.append(cell)
                self._text += protocol.output_of(self._clean(cell.output))
            else:
                self._text += protocol.output_begun
        self._text = analysis
        return (yield from self._judge("at the limit"))

    def _judge(self, how: How) -> Generator[Request | RunCode, Any, StepReview]:
        """Start the judgement for the model, up to the box."""
        before, begun, limit = self._text, self._protocol.judgement, self._protocol.limits.judgement_tokens
        self._text += begun
        output = yield from self._go_on(self._protocol.judgement_end, limit=limit)
        self._text += output.text + self._protocol.judgement_end
        verdict = read_verdict(self._protocol, begun, output)
        if verdict is None and self._plan.force:
            self._text = before
            return (yield from self._force())
        return self._reviewed(verdict, how)

    def _force(self) -> Generator[Request | RunCode, Any, StepReview]:
        """Open the judgement's box too, to make the next token the verdict, and read only that token.

        There is no verdict if the engine rejects the request.

        Raises:
            EngineError: The engine returned no output.
        """
        protocol = self._protocol
        self._text += f"{protocol.judgement}{{"
        words = (f"{protocol.yes}}}", f"{protocol.no}}}")
        request = Request(
            [*self._messages, Message(role="assistant", content=self._text)],
            max_tokens=protocol.limits.judgement_tokens if self._plan.choice else 1,
            logprobs=TOP_LOGPROBS,
            structured=Structured(choice=words) if self._plan.choice else None,
        )
        try:
            verdict = forced_verdict(protocol, (yield from self._ask(request)))
        except (BadRequest, Unsupported):  # the context is used up, or the engine can't constrain choices
            return self._reviewed(None, "forced")
        if verdict is not None:
            self._text += f"{protocol.yes if verdict.label else protocol.no}}}{protocol.judgement_end}"
        return self._reviewed(verdict, "forced")

    def _reviewed(self, verdict: StepVerdict | None, how: How) -> StepReview:
        cells = tuple(self._cells)
        if verdict is None:
            return StepReview(self._text, None, None, how, "no verdict", cells)
        reason = "" if verdict.reward is not None else "the engine gave no log-probabilities"
        return StepReview(self._text, verdict.reward, verdict.label, how, reason, cells)

    def _in_code(self, analysis: str) -> bool:
        """Whether the text after the analysis has an open fence."""
        lines = self._text[len(analysis) :].split("\n")
        return sum(line.startswith("```") for line in lines) % 2 == 1

    def _clean(self, output: str) -> str:
        """A code's output without anything that could pass for the protocol's own strings."""
        return neutral(self._protocol, output).replace("```", "'''")

    def _go_on(self, *stops: str, limit: int = 0, judging: bool = True) -> Generator[Request | RunCode, Any, Output]:
        """Continue the turn. `limit` replaces the remaining tokens.

        Log-probabilities are expensive, so they are requested only if a verdict is expected (`judging`). If one appears
        unexpectedly, the request is repeated with log-probabilities.

        Raises:
            EngineError: The engine returned no output.
        """
        self._draw.update(b"+")
        request = Request(
            [*self._messages, Message(role="assistant", content=self._text)],
            max_tokens=limit or self._left,
            temperature=self._plan.temperature,
            top_p=self._plan.top_p,
            top_k=self._plan.top_k,
            stop=stops,
            seed=None if self._plan.temperature == 0 else int.from_bytes(self._draw.digest(), "big") >> 1,
            logprobs=TOP_LOGPROBS if judging else None,
        )
        output = yield from self._ask(request)
        if not judging and self._protocol.judgement_tag in output.text:
            output = yield from self._ask(replace(request, logprobs=TOP_LOGPROBS))
        # Not from the usage, which a cache omits: a repeated run must send the same next request.
        self._left -= len(output.ids) or len(output.tokens) or len(output.text) // CHARS_A_TOKEN
        return output

    def _ask(self, request: Request) -> Generator[Request | RunCode, Any, Output]:
        generation: Generation = yield request
        self._usage = added(self._usage, counted(generation))
        if generation.error is not None:
            raise generation.error
        if not generation.outputs:
            raise EngineError("the engine gave no output")
        return generation.outputs[0]


def neutral(protocol: Protocol, text: str) -> str:
    """A text with the protocol's own tags broken by a space."""
    for tag in protocol.tags:
        text = text.replace(tag, tag[0] + " " + tag[1:])
    return text
