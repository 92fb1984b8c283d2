"""The smallest world that needs a tool: sums that the model can't add, and an interpreter that can.

`478+359=` is a sum of three-digit numbers. The warm-up teaches writing a call and reading its result, but hardly the
decision to call. Of the demonstrations that train the decision, a fraction `calling` calls and the others guess. In the
other transcripts that call, the decision (the first token of the first turn) is masked. Guesses are random, so the
model does not learn to add.
"""

from __future__ import annotations

import json
import random
from typing import Any, ClassVar

from pydantic import BaseModel, Field, PositiveInt

from verikit.calls import ToolCall
from verikit.engines.types import Request
from verikit.trainers.recipe import Sampler, Trajectory, Transcript
from verikit.trainers.recipes.arithmetic import BOX
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer
from verikit.trainers.recipes.tools.forms import CLOSING, OPENING
from verikit.trainers.recipes.tools.recipe import ToolOptions, ToolRecipe
from verikit.trainers.recipes.tools.toolbox import INTERPRETER, ToolResult
from verikit.types import Group

ROLES = ("<user>", "<assistant>", "<tool>", "<tools>")
UNKNOWN = "?"
TEMPLATE = (
    "{% if tools %}<tools>{% endif %}{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}<eos>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
SMALLEST, LARGEST = 100, 999


class ToolWorldOptions(ToolOptions):
    """[options] of `tools-world`."""

    max_tokens: PositiveInt = 24
    turns: PositiveInt = 2
    total_tokens: PositiveInt = 96
    problems: PositiveInt = 4096
    """Problems to train on."""
    held_out_size: int = Field(default=128, ge=0)
    """Held-out problems. All problems are generated: `data`, `map` and `held_out` have no effect."""
    batch: PositiveInt = 64
    """Demonstrations per step of the warm-up."""
    reading: float = Field(default=0.6, ge=0, le=1)
    """Fraction of demonstrations that teach continuing after a decision, not the decision itself."""
    calling: float = Field(default=0.04, ge=0, le=1)
    """Fraction of the others that call."""


class ToolWorld(ToolRecipe):
    """Sums with an interpreter, by a model created at the start of the run."""

    name: ClassVar[str] = "tools-world"
    Options: ClassVar[type[BaseModel]] = ToolWorldOptions
    options: ToolWorldOptions

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any]:
        """Make a two-layer Llama with a tokenizer of digits and of the pieces of a call."""
        before, _, after = call_text("@").partition("@")
        frame = (before.removeprefix(OPENING), after.removesuffix(CLOSING))
        tokenizer = make_tokenizer([*ROLES, OPENING, CLOSING, *frame, BOX, "}", *"0123456789+=", UNKNOWN])
        tokenizer.backend_tokenizer.model.unk_token = UNKNOWN  # otherwise unknown text would become the end token
        tokenizer.add_special_tokens({"additional_special_tokens": list(ROLES)})
        tokenizer.chat_template = TEMPLATE
        return make_llama(tokenizer, seed, positions=options.total_tokens), tokenizer

    def load_problems(self) -> tuple[list[Group], list[Group]]:
        """Return sums to train on, and held-out ones."""
        draw = random.Random(f"{self.setting.seed} problems")
        numbers = range(SMALLEST, LARGEST + 1)
        count = self.options.problems + self.options.held_out_size
        pairs = [divmod(index, len(numbers)) for index in draw.sample(range(len(numbers) ** 2), count)]
        problems = [sum_of(SMALLEST + a, SMALLEST + b) for a, b in pairs]
        return problems[self.options.held_out_size :], problems[: self.options.held_out_size]

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return guesses, a few calls, and calls with a masked decision."""
        draw = random.Random(f"{self.setting.seed} demonstrations {step}")
        made = []
        for _ in range(self.options.batch):
            reading = draw.random() < self.options.reading
            calls = reading or draw.random() < self.options.calling
            made.append(self._demonstration(draw.choice(self.problems), calls, not reading, draw))
        return made

    def gate(self, sampler: Sampler) -> float:
        """Return the fraction of held-out problems with a right call, given its start, and a right final answer."""
        prompts = [self._encode(sampler, problem) for problem in self.held_out]
        begun = self.form.encode(OPENING)
        calls = [self.form.encode(call_text(_program(problem))) for problem in self.held_out]
        eos = self.setting.tokenizer.eos_token_id
        results = [self._result(str(problem.answer)) for problem in self.held_out]
        asked = [
            *(Request([*prompt, *begun], max_tokens=24, temperature=0.0) for prompt in prompts),
            *(
                Request([*prompt, *call, eos, *result], max_tokens=24, temperature=0.0)
                for prompt, call, result in zip(prompts, calls, results, strict=True)
            ),
        ]
        said = [self.form.text(generation.first.ids, ended=True)[0] for generation in sampler.generate(asked)]
        half = len(prompts)
        right = [
            OPENING + said[index] == call_text(_program(problem)) and said[half + index] == f"{BOX}{problem.answer}}}"
            for index, problem in enumerate(self.held_out)
        ]
        return sum(right) / len(right)

    def _result(self, text: str) -> list[int]:
        return self.form.observation(
            "", self.setting.tokenizer.eos_token, [ToolCall(INTERPRETER, {})], [ToolResult(text)]
        )

    def _demonstration(self, problem: Group, calls: bool, decides: bool, draw: random.Random) -> Trajectory:
        eos = self.setting.tokenizer.eos_token_id
        transcript = Transcript(self.form.prompt([{"role": "user", "content": str(problem.prompt)}]))

        def own(text: str, first: bool) -> None:
            ids = [*self.form.encode(text), eos]
            transcript.ids += ids
            transcript.mask += [first, *[True] * (len(ids) - 1)]
            transcript.logprobs += [0.0] * len(ids)

        if calls:
            own(call_text(_program(problem)), decides)
            transcript.foreign(self._result(str(problem.answer)))
            own(f"{BOX}{problem.answer}}}", True)
        else:
            own(f"{BOX}{draw.randint(2 * SMALLEST, 2 * LARGEST)}}}", decides)
        return transcript.trajectory(None, problem.id)


def sum_of(a: int, b: int) -> Group:
    """Return the problem of adding two numbers."""
    return Group(f"{a}+{b}=", answer=str(a + b), id=f"{a}+{b}")


def call_text(code: str) -> str:
    """Return a call of the interpreter that prints an expression, in the format of Hermes and Qwen."""
    return f"{OPENING}{json.dumps({'name': INTERPRETER, 'arguments': {'code': f'print({code})'}})}{CLOSING}"


def _program(problem: Group) -> str:
    return str(problem.prompt).rstrip("=")
