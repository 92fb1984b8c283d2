"""In the sandbox: stands in for `verifiers`, as far as its environments of one turn grade replies with functions."""

import inspect
import json
import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

Messages = list[dict[str, Any]] | str
RewardFunc = Callable[..., Any]
State = dict[str, Any]


def _for_form(func: RewardFunc) -> RewardFunc:
    """A function that rewards the form of a reply, whatever the answer is."""
    func.for_form = True  # type: ignore[attr-defined]
    return func


class PlainParser:
    """Reads the answer in a reply."""

    def __init__(self, extract_fn: Callable[[str], Any] = lambda text: text, **options: Any) -> None:
        self.extract_fn = extract_fn

    def parse(self, text: str) -> Any:
        """The answer in a text."""
        return self.extract_fn(text)

    def get_assistant_messages(self, completion: Any) -> list[dict[str, Any]]:
        """The messages of the model."""
        return [one for one in completion if one["role"] == "assistant"]

    def parse_answer(self, completion: Any) -> Any:
        """The answer in a completion."""
        if isinstance(completion, str):
            return self.parse(completion)
        return self.parse(self.get_assistant_messages(completion)[-1]["content"])

    def get_format_reward_func(self) -> RewardFunc:
        """1 for any reply."""
        return _for_form(lambda completion, **more: 1.0)


class ThinkParser(PlainParser):
    """Reads the answer after the thoughts."""

    def parse(self, text: str) -> Any:
        """The answer in a text."""
        return self.extract_fn(text.split("</think>")[-1].strip()) if "</think>" in text else ""

    def get_format_reward_func(self) -> RewardFunc:
        """1 for a reply with thoughts and an answer."""

        def formed(completion: Any, **more: Any) -> float:
            text = self.get_assistant_messages(completion)[-1]["content"]
            return float(text.strip().startswith("<think>") and text.count("</think>") == 1)

        return _for_form(formed)


class MaybeThinkParser(ThinkParser):
    """Reads the answer after the thoughts, if there are any."""

    def parse(self, text: str) -> Any:
        """The answer in a text."""
        return self.extract_fn(text.split("</think>")[-1].strip())


class XMLParser(PlainParser):
    """Reads tags."""

    def __init__(
        self, fields: Iterable[Any], answer_field: str = "answer", extract_fn: Any = lambda text: text, **options: Any
    ) -> None:
        super().__init__(extract_fn)
        self.answer_field = answer_field
        self.fields = [[one] if isinstance(one, str) else list(one) for one in fields]

    def parse(self, text: str, strip: bool = True, last: bool = False) -> Any:
        """The content of each tag."""
        found = {}
        for name in (name for names in self.fields for name in names):
            texts = re.findall(rf"<{name}>\s*(.*?)\s*</{name}>", text, re.DOTALL)
            chosen = texts[-1:] if last else texts[:1]
            found[name] = next((one.strip() if strip else one for one in chosen), None)
        return SimpleNamespace(**found)

    def parse_answer(self, completion: Any) -> Any:
        """The content of the tag of the answer."""
        texts = [completion] if isinstance(completion, str) else [one["content"] for one in completion]
        found = (getattr(self.parse(text, last=True), self.answer_field, None) for text in reversed(texts))
        return next((one for one in found if one is not None), None)

    def format(self, **values: Any) -> str:
        """The tags with these contents."""
        return "\n".join(f"<{name}>\n{value}\n</{name}>" for name, value in values.items())

    def get_format_str(self) -> str:
        """The tags."""
        return "\n".join(f"<{names[0]}>\n...\n</{names[0]}>" for names in self.fields)

    def get_format_reward_func(self) -> RewardFunc:
        """1 for a reply with all tags."""

        def formed(completion: Any, **more: Any) -> float:
            told = self.parse(completion if isinstance(completion, str) else completion[-1]["content"])
            return float(all(any(getattr(told, name) is not None for name in names) for names in self.fields))

        return _for_form(formed)


class SummedRubric:
    """A weighted sum of functions."""

    def __init__(self, funcs: Any = (), weights: Any = None, parser: Any = None, **options: Any) -> None:
        self.funcs: list[RewardFunc] = list(funcs or ())
        self.weights = list(weights) if weights else [1.0] * len(self.funcs)
        self.parser = parser or PlainParser()
        self.class_objects: dict[str, Any] = {"parser": self.parser}

    def add_reward_func(self, func: RewardFunc, weight: float = 1.0) -> None:
        """Add a function."""
        self.funcs.append(func)
        self.weights.append(weight)

    def add_metric(self, func: RewardFunc, weight: float = 0.0) -> None:
        """Add a function that counts nothing."""
        self.add_reward_func(func, 0.0)

    def add_class_object(self, name: str, value: Any) -> None:
        """A further argument of the functions."""
        self.class_objects[name] = value

    async def reward(self, row: dict[str, Any], reply: str) -> float:
        """The reward of a reply."""
        completion = [{"role": "assistant", "content": reply}]
        told = {"prompt": row["prompt"], "answer": row.get("answer", ""), "info": row.get("info") or {}}
        told |= {"task": row.get("task", "default"), "completion": completion}
        told["state"] = {**told, "turn": 1, "responses": [], "trajectory": [], "input": row}
        return sum([weight * await _called(func, {**self.class_objects, **told}) for func, weight in self._graded()])

    def weight_of_form(self) -> float:
        """The weights of the functions for the form."""
        return sum(max(weight, 0.0) for func, weight in self._graded() if getattr(func, "for_form", False))

    def _graded(self) -> list[tuple[RewardFunc, float]]:
        return [(func, weight) for func, weight in zip(self.funcs, self.weights, strict=True) if weight]


async def _called(func: RewardFunc, told: dict[str, Any]) -> float:
    names = inspect.signature(func).parameters
    if "completions" in names:
        raise NotImplementedError("several replies of a prompt, for a function of a group")
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in names.values())
    found = func(**(told if open_ended else {name: value for name, value in told.items() if name in names}))
    return float(await found if inspect.isawaitable(found) else found)


class RowsEnvironment:
    """Rows and a rubric."""

    def __init__(
        self, dataset: Any = None, eval_dataset: Any = None, system_prompt: str | None = None, parser: Any = None,
        rubric: Any = None, **options: Any,
    ) -> None:  # fmt: skip
        self.dataset, self.eval_dataset = dataset, eval_dataset
        self.system_prompt, self.parser = system_prompt, parser
        self.rubric = rubric if rubric is not None else SummedRubric()

    def rows(self) -> list[dict[str, Any]]:
        """The rows, each with a prompt of messages."""
        held: Any = self.dataset if self.dataset is not None else self.eval_dataset
        made: Any = held() if callable(held) else held
        return [self._row(dict(row)) for row in made]

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        system = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        prompt = row.get("prompt") or [*system, {"role": "user", "content": row.get("question", "")}]
        info = row.get("info")
        tags = [names[0] for names in self.parser.fields] if isinstance(self.parser, XMLParser) else []
        return {**row, "prompt": prompt, "info": json.loads(info) if isinstance(info, str) else info, "tags": tags}


class SingleTurnEnv(RowsEnvironment):
    """One reply is graded."""


class MultiTurnEnv(RowsEnvironment):
    """A conversation is graded."""


Parser, Rubric, Environment = PlainParser, SummedRubric, RowsEnvironment


class _Unknown:
    """Any other class of the package. It can be named and subclassed, not made."""

    def __init__(self, *given: Any, **options: Any) -> None:
        raise NotImplementedError(f"verifiers, for {type(self).__name__}")


def extract_boxed_answer(text: str, *more: Any, **options: Any) -> str:
    r"""The content of the last `\boxed{}`; the text if there is none."""
    begin = text.rfind("\\boxed{")
    if begin < 0:
        return text
    depth = 0
    for at in range(begin + 6, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[begin + 7 : at]
    return text


def __getattr__(name: str) -> Any:
    """Another class of the package."""
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (_Unknown,), {})
